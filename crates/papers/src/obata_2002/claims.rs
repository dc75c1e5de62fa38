//! What §3 and §4 say of the figures, judged by our simulation in the place of the paper's experiments.

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

#[cfg(test)]
mod tests {
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
