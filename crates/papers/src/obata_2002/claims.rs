//! What §3 and §4 say of the figures, judged by our simulation in the place of the paper's experiments.

use super::starts::Starts;
use super::{Formula, HTTP10, INITIAL, OLDER_10, OLDER_11, PIPELINED, REVISED, SMALL, WINDOW, network};
use crate::filling::in_s;
use crate::judging::{Points, Said, mean_error};
use farhop_model::ModelError;
use farhop_results::reproduction::{Figure, Reproduction};
use farhop_units::Bytes;

/// Data sets where their size is what varies.
const MANY: u32 = 20;

/// A formula's time at a figure's x, in s.
fn time(figure: Figure, formula: Formula, x: f64) -> Result<f64, ModelError> {
    let (count, size) = match figure {
        Figure::Fig(5 | 8) => (MANY, Bytes::new((x * 1000.0) as u64)),
        _ => (x as u32, SMALL),
    };
    formula(&network(WINDOW)?, count, size).map(in_s)
}

/// Times over one version of HTTP, and what the text says of the formulas for it.
pub(super) fn of_times(reproduction: &mut Reproduction, figure: Figure, version: &str, points: &Points) {
    let unit = unit(figure);
    let by = |formula: Formula| move |x: f64| time(figure, formula, x);
    let agrees = |reproduction: &mut Reproduction, claim, why, formula| {
        Said { figure, claim, why }.agrees(reproduction, points, unit, &by(formula));
    };
    let closer = |reproduction: &mut Reproduction, claim, why, formulas: [Formula; 2]| {
        let [first, second] = formulas.map(by);
        Said { figure, claim, why }.is_closer(reproduction, points, unit, [&first, &second]);
    };
    match (figure, version) {
        (Figure::Fig(4 | 5), _) => {
            let claim = "the initial (1.1) formula overestimates the transfer time";
            let why = "it has slow start in every data set, but the window stays as large as it was";
            let above = |(x, y): &(f64, f64)| time(figure, INITIAL, *x).is_ok_and(|ours| ours > *y);
            let count = points.iter().filter(|point| above(point)).count();
            let ours = format!("above the simulation at {count} of {} points", points.len());
            Said { figure, claim, why }.judge(reproduction, points.iter().map(above), ours);
        }
        (Figure::Fig(7 | 8), _) => {
            let why = "slow start happens once: requests follow each other sooner than the window would shrink";
            let claim = "the revised (1.1) formula mirrors the experiments better than the initial one";
            closer(reproduction, claim, why, [REVISED, INITIAL]);
        }
        (Figure::Fig(9), _) => {
            let why = "[12] sets up a connection in 3/2 of the propagation, as if both ways were the same; here that makes up for the delayed \
                       ACKs that both leave out";
            closer(reproduction, "the initial (1.0) formula is more accurate than [12]", why, [HTTP10, OLDER_10]);
        }
        (Figure::Fig(10), _) => {
            let why = "[12] has slow start in the second and later data sets";
            closer(reproduction, "the revised (1.1) formula is more accurate than [12]", why, [REVISED, OLDER_11]);
        }
        (Figure::Fig(12), "1.1-pipelined") => {
            let claim = "the pipeline formula predicts experiments and simulations well";
            let why = "Eq 14 takes a full window from the second data set on, though 5 kB have opened it to some four segments";
            agrees(reproduction, claim, why, PIPELINED);
        }
        _ => {}
    }
}

/// Fig 4 and 5 over HTTP/1.0; and the same where the receiver acknowledges the first segment of a connection at once.
pub(super) fn of_connections(reproduction: &mut Reproduction, figure: Figure, points: &Points, at_once: &Points) {
    let formula = |x: f64| time(figure, HTTP10, x);
    let why = format!(
        "each connection starts slowly, as in Eq 9, but the ACK of its first segment waits for a tick of the receiver's 200 ms: with that ACK at \
         once the mean error is {:.1} %, which whole segments and odd ones' ACKs leave",
        mean_error(at_once, &formula)
    );
    let said = Said { figure, claim: "the initial (1.0) formula is consistent with the experiments", why: &why };
    said.agrees(reproduction, points, unit(figure), &formula);
}

fn unit(figure: Figure) -> &'static str {
    if matches!(figure, Figure::Fig(5 | 8)) { "kB" } else { "data sets" }
}

/// How far what pipelining saves may be from what the text says.
const ABOUT: f64 = 0.1;

/// Fig 12: what the text says that pipelining saves, and what it saves here.
pub(super) fn of_saving(reproduction: &mut Reproduction, all: &[(f64, f64)]) {
    let said = Said {
        figure: Figure::Fig(12),
        claim: "pipelining saves about 1.5 s with 10 data sets and about 20 s with 100",
        why: "requests no longer wait for responses; the maximum window, which decides how much that is, is not in the text",
    };
    let words: Vec<String> = all.iter().map(|(_, ours)| format!("{ours:.2} s")).collect();
    let parts = all.iter().map(|(published, ours)| (ours / published - 1.0).abs() <= ABOUT);
    said.judge(reproduction, parts, words.join(" and "));
}

/// Fig 6: data sets asked for one after another, each second and every ten, the latter also by the RFC; and the shortest interval in s after which they
/// begin slowly by that.
pub(super) fn of_starts(reproduction: &mut Reproduction, all: [&Starts; 4], shortest: f64) {
    let [following, short, long, by_rfc] = all;
    let figure = Figure::Fig(6);
    let words = |starts: &Starts| {
        let (least, most) = (starts.at_once.iter().min(), starts.at_once.iter().max());
        let (least, most) = (least.copied().unwrap_or_default(), most.copied().unwrap_or_default());
        let segments = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let noun = if most == 1 { "segment" } else { "segments" };
        format!("{segments} {noun} at once with a request every {:.2} s", starts.interval)
    };
    let said = Said {
        figure,
        claim: "several packets are sent at once when the next data set starts",
        why: "it finds the window that the data sets before have left, and 7 segments are all of it",
    };
    said.judge(reproduction, following.at_once.iter().map(|segments| *segments > 1), words(following));
    let why = format!(
        "4.4BSD begins slowly where nothing was received for longer than the timer for repetitions, and the request ends that time; where it is \
         the time since data was sent (RFC 5681 §4.1), requests from {shortest:.3} s apart on are enough"
    );
    let said = Said {
        figure,
        claim: "the sender does not go back to slow start at request intervals of 0.28 s nor of 1 s",
        why: &why,
    };
    let parts = [following, short].map(|starts| !starts.are_slow());
    said.judge(reproduction, parts, format!("{}, {}", words(following), words(short)));
    let why = format!(
        "only a sender that counts from what it last sent: 10 s are longer than the timer ({shortest:.3} s between requests are enough); 4.4BSD, \
         the experiments' stack, hears the request first"
    );
    let said = Said {
        figure,
        claim: "the server may begin slow start at a very large request interval, such as 10 s",
        why: &why,
    };
    let ours = format!("{}; by RFC 5681 {}", words(long), words(by_rfc));
    said.judge(reproduction, [long, by_rfc].into_iter().flat_map(Starts::slow), ours);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Paper, reproduce};
    use farhop_results::reproduction::{Origin, Verdict};

    fn verdicts(figure: &str) -> Vec<Verdict> {
        let reproduction = reproduce(Paper::Obata2002, Some(figure)).expect("it is a figure of the paper");
        reproduction.claims.iter().map(|claim| claim.verdict).collect()
    }

    #[test]
    fn the_revised_formula_is_closer_and_the_older_one_is_not_far_with_http_1_0() {
        assert_eq!(verdicts("7"), [Verdict::Holds]);
        assert_eq!(verdicts("9"), [Verdict::Fails]);
        assert_eq!(verdicts("10"), [Verdict::Holds]);
    }

    #[test]
    fn data_sets_begin_with_the_window_unless_the_pause_is_longer_than_the_timer() {
        let reproduction = reproduce(Paper::Obata2002, Some("6")).expect("it is a figure of the paper");
        let claims = &reproduction.claims;
        let verdicts: Vec<_> = claims.iter().map(|claim| claim.verdict).collect();
        assert_eq!(verdicts, [Verdict::Holds, Verdict::Holds, Verdict::InPart], "{claims:?}");
        assert!(claims[1].ours.ends_with("7 segments at once with a request every 1.00 s"), "{claims:?}");
        let long = "7 segments at once with a request every 10.00 s; by RFC 5681 1 segment at once with a request every 10.00 s";
        assert_eq!(claims[2].ours, long);
        let row = |quantity: &str| {
            let row = reproduction.rows.iter().find(|row| row.quantity.starts_with(quantity));
            row.unwrap_or_else(|| panic!("there is no {quantity}")).ours
        };
        let (formula, simulated) = (row("interval of data requests (s)"), row("interval of data requests, simulated"));
        assert!((simulated / formula - 1.0).abs() < 0.02, "{simulated} and {formula} s");
        assert!((row("shortest interval") - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_sender_that_begins_slowly_too_early_or_never_is_found_out() {
        let starts = |interval, at_once: &[usize]| Starts { interval, at_once: at_once.to_vec() };
        let judged = |following: &[usize], short: &[usize], long: &[usize], by_rfc: &[usize]| {
            let mut reproduction = Reproduction::default();
            let all = [starts(0.3, following), starts(1.0, short), starts(10.0, long), starts(10.0, by_rfc)];
            of_starts(&mut reproduction, all.each_ref(), 1.0);
            reproduction.claims.iter().map(|claim| claim.verdict).collect::<Vec<_>>()
        };
        assert_eq!(judged(&[5, 7], &[7, 7], &[1, 1], &[1, 1]), [Verdict::Holds; 3]);
        assert_eq!(judged(&[5, 7], &[7, 1], &[7, 7], &[1, 1]), [Verdict::Holds, Verdict::InPart, Verdict::InPart]);
        assert_eq!(judged(&[1, 1], &[1, 1], &[7, 7], &[7, 7]), [Verdict::Fails; 3]);
    }

    #[test]
    fn first_acks_are_what_the_initial_formula_misses() {
        let reproduction = reproduce(Paper::Obata2002, Some("4")).expect("it is a figure of the paper");
        let claim = &reproduction.claims[0];
        assert!(claim.ours.contains("at 0 of 6 points, mean error 5.6 %"), "{claim:?}");
        assert!(claim.why.contains("with that ACK at once the mean error is 0.4 %"), "{claim:?}");
    }

    #[test]
    fn nothing_but_the_papers_points_decides() {
        for (figure, points, all) in [("4", 6, 8), ("5", 5, 7), ("8", 5, 7), ("10", 6, 8), ("12", 2, 8)] {
            let reproduction = reproduce(Paper::Obata2002, Some(figure)).expect("it is a figure of the paper");
            let simulated: Vec<_> =
                reproduction.curves.iter().filter(|curve| curve.origin == Origin::Simulated).collect();
            assert!(simulated.iter().all(|curve| curve.points.len() == all), "{simulated:?}");
            let by_points = reproduction.claims.iter().filter(|claim| claim.ours.contains(" points"));
            let counted: Vec<_> =
                by_points.filter(|claim| !claim.ours.contains(&format!(" {points} points"))).collect();
            assert!(counted.is_empty(), "{counted:?}");
        }
    }
}
