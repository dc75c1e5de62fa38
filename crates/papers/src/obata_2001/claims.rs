//! What §3 and §4 say of the figures, judged by our simulation in the place of the paper's experiments.

use super::experiments::Transfer;
use super::{FIG_8, FIG_11, FILE, Network, SIMULATED, existing, in_bytes, proposed};
use crate::filling::kbit_s;
use crate::judging::{Formula, Points, Said, apart, is_close, is_closer, mean_error};
use farhop_model::ModelError;
use farhop_model::mended::{self, Mends};
use farhop_model::obata_2001::{Cycle, Readings, throughput};
use farhop_results::ConnectionSeries;
use farhop_results::reproduction::{Figure, Reproduction, Verdict};
use farhop_units::{Bytes, Rate};

/// Repetitions of which the time is told.
const SHOWN: usize = 4;

/// A window on a figure's axis, which is in KiB.
fn on_axis(window: f64) -> Bytes {
    in_bytes(window * 1024.0)
}

/// Throughput of a file by Eq 10, in kbit/s.
fn of_file(network: Network, window: f64) -> Result<f64, ModelError> {
    throughput(&network.path(on_axis(window))?, FILE, &Readings::default()).map(kbit_s)
}

/// The same with windows of as many whole segments as TCP sends.
fn in_whole_segments(network: Network, window: f64) -> Result<f64, ModelError> {
    let mends = Mends { whole_segments: true, ..Mends::NONE };
    mended::obata_2001::throughput(&network.path(on_axis(window))?, FILE, &Readings::default(), mends).map(kbit_s)
}

/// Why the formula misses a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// With whole segments it does not.
    WholeSegments,
    /// The uplink carries ACKs all the time.
    Acks,
    /// Neither, but odd segments wait for another, which the formula leaves out.
    OddSegments,
}

/// Share of the time from which on the uplink counts as full of ACKs.
const FULL: f64 = 0.9;

impl Cause {
    /// `None` where the formula is met.
    fn of(network: Network, transfer: &Transfer) -> Option<Self> {
        let misses = |formula: Formula<'_>| !is_close(apart(transfer.point(), formula));
        if !misses(&|window| of_file(network, window)) {
            return None;
        }
        Some(match transfer.acks {
            full if full >= FULL => Self::Acks,
            _ if misses(&|window| in_whole_segments(network, window)) => Self::OddSegments,
            _ => Self::WholeSegments,
        })
    }

    /// What is to say of these transfers, all with this cause.
    fn words(self, transfers: &[&Transfer]) -> String {
        let each = |f: &dyn Fn(&Transfer) -> String| {
            transfers.iter().map(|transfer| f(transfer)).collect::<Vec<_>>().join(", ")
        };
        let windows = each(&|transfer| format!("{:.0}", transfer.point().0));
        let acks = each(&|transfer| format!("{:.2}", transfer.acks_per_segment));
        let busy = each(&|transfer| format!("{:.0}", transfer.acks * 100.0));
        match self {
            Self::WholeSegments => {
                format!("at {windows} kByte TCP sends whole segments, where the formula divides bytes")
            }
            Self::Acks => format!(
                "at {windows} kByte the uplink is full of ACKs ({busy} % of the time), each of which waits for those before it, and as odd segments are \
                 acknowledged alone there are more of them ({acks} a segment) than the formula's one for two, rounded up"
            ),
            Self::OddSegments => format!(
                "at {windows} kByte TCP sends whole segments, and an odd one waits for the next or the receiver's 200 ms ({acks} ACKs a segment)"
            ),
        }
    }
}

/// Why the formula misses simulations over one network, cause by cause.
fn causes(network: Network, transfers: &[Transfer]) -> String {
    let of = |cause| {
        transfers.iter().filter(move |transfer| Cause::of(network, transfer) == Some(cause)).collect::<Vec<_>>()
    };
    let words: Vec<String> = [Cause::WholeSegments, Cause::OddSegments, Cause::Acks]
        .into_iter()
        .map(|cause| (cause, of(cause)))
        .filter(|(_, transfers)| !transfers.is_empty())
        .map(|(cause, transfers)| cause.words(&transfers))
        .collect();
    match words.is_empty() {
        true => "whole segments and the ACKs of odd ones change less than that".to_owned(),
        false => words.join("; "),
    }
}

/// Fig 5 and 6: the formula beside simulations, and what the uplink does.
pub(super) fn of_simulations(reproduction: &mut Reproduction, figure: Figure, all: &[(Network, Vec<Transfer>)]) {
    for (network, transfers) in all {
        let claim = format!(
            "the formula is completely consistent with the simulation, uplink {} ms {} kbit/s",
            network.up_ms, network.up_kbps
        );
        let why = causes(*network, transfers);
        let points: Vec<_> = transfers.iter().map(Transfer::point).collect();
        Said { figure, claim: &claim, why: &why }
            .agrees(reproduction, &points, "kByte", &|window| of_file(*network, window));
    }
    let (claim, why) = match figure {
        Figure::Fig(5) => (
            "throughput increases as the uplink's delay decreases",
            "a window is acknowledged sooner; once the downlink is full nothing is left to gain",
        ),
        _ => (
            "throughput deteriorates where the uplink is extremely narrow",
            "ACKs queue before an uplink that is slower than they come",
        ),
    };
    let falls = figure == Figure::Fig(6);
    let pairs = all.windows(2).flat_map(|pair| side_by_side(&pair[0].1, &pair[1].1));
    // Windows at which the link is not full in either; equal within 0.1 % is full.
    let pairs: Vec<_> = pairs.filter(|(before, after)| (after.rate / before.rate - 1.0).abs() > 0.001).collect();
    let is_so = |(before, after): &(Transfer, Transfer)| (after.rate < before.rate) == falls;
    let at = |window: u64| {
        let rate = |transfers: &[Transfer]| {
            transfers.iter().find(|transfer| transfer.window == Bytes::kib(window)).map(|one| one.rate)
        };
        let rates = all.iter().map(|(_, transfers)| format!("{:.1}", rate(transfers).unwrap_or(f64::NAN)));
        rates.collect::<Vec<_>>().join(", ")
    };
    let [least, .., most] = SIMULATED;
    let ours = format!(
        "at {} of {} pairs of neighbours; {} kbit/s at {least} kByte, {} at {most}, in the order of the figure",
        pairs.iter().filter(|pair| is_so(pair)).count(),
        pairs.len(),
        at(least),
        at(most)
    );
    let others = pairs.iter().filter(|pair| !is_so(pair)).map(|(before, after)| {
        format!(
            "; not at {:.0} kByte, where odd segments wait for the next one or the receiver's 200 ms ({:.2} and {:.2} ACKs a segment), which costs \
             more than the uplink",
            before.point().0,
            before.acks_per_segment,
            after.acks_per_segment
        )
    });
    let why = format!("{why}{}", others.collect::<String>());
    Said { figure, claim, why: &why }.judge(reproduction, pairs.iter().map(is_so), ours);
}

/// Transfers with the same window; Eq 13's is another in every network.
fn side_by_side<'a>(some: &'a [Transfer], others: &'a [Transfer]) -> impl Iterator<Item = (Transfer, Transfer)> + 'a {
    some.iter().filter_map(|one| Some((*one, *others.iter().find(|other| other.window == one.window)?)))
}

/// Fig 7, 8, 10, 11: which formula is more precise, and whether a larger window ever costs.
pub(super) fn of_experiments(reproduction: &mut Reproduction, figure: Figure, network: Network, points: &Points) {
    let ours = |window: f64| proposed(network, on_axis(window));
    let [theirs, full] =
        [Cycle::Sawtooth, Cycle::Full].map(|cycle| move |window: f64| existing(network, on_axis(window), cycle));
    let why = of_readings(points, &ours, [&theirs, &full]);
    let said = Said { figure, claim: "the proposed formula is more precise than the one of [4]", why: &why };
    said.is_closer(reproduction, points, "kByte", [&ours, &theirs]);
    if figure == Figure::Fig(10) {
        let said = Said {
            figure,
            claim: "with other computers throughput does not fall at 32 kByte",
            why: "what fell in Fig 8 were losses in a queue, not TCP",
        };
        let rates: Vec<String> = points.iter().map(|(_, rate)| format!("{rate:.1}")).collect();
        let parts = points.windows(2).map(|pair| pair[1].1 >= pair[0].1 * 0.999);
        said.judge(reproduction, parts, format!("{} kbit/s", rates.join(", ")));
    }
}

/// What hangs on how [4] is read: by the text, or with a window that stays full.
fn of_readings(points: &Points, ours: Formula<'_>, [theirs, full]: [Formula<'_>; 2]) -> String {
    let verdict = |theirs| Verdict::of(is_closer(points, [ours, theirs]));
    let above = points.iter().filter(|point| apart(**point, theirs) > 0.0).count();
    let depends = match verdict(theirs) == verdict(full) {
        true => "either way this",
        false => "the verdict depends on the reading: then this",
    };
    format!(
        "[4] is read as §3.1 and Fig 3 have it: its window climbs from half to all of the largest. So it is above the simulation at {above} of {} \
         points, where the text has it overestimate. If its window stays full, its mean error is {:.1} %, and {depends} {}. Both divide bytes \
         where TCP sends whole segments, so that windows of 2.8 segments (4 kByte) are 2 there",
        points.len(),
        mean_error(points, full),
        verdict(full).words()
    )
}

/// Fig 8: asymmetric beside symmetric networks, at the first windows of the experiments.
pub(super) fn of_small_windows(reproduction: &mut Reproduction, asymmetric: &Points, symmetric: [f64; 3]) {
    let said = Said {
        figure: Figure::Fig(8),
        claim: "for windows of 2, 4 and 6 kByte the asymmetric network outperforms the symmetric one",
        why: &why_small_windows(asymmetric, symmetric),
    };
    let pairs: Vec<(f64, f64)> = asymmetric.iter().map(|(_, rate)| *rate).zip(symmetric).collect();
    let words: Vec<String> = pairs.iter().map(|(ours, theirs)| format!("{ours:.1} to {theirs:.1}")).collect();
    let parts = pairs.iter().map(|(ours, theirs)| outperforms(*ours, *theirs));
    said.judge(reproduction, parts, format!("{} kbit/s", words.join(", ")));
}

/// Whether a rate is larger, by more than what still counts as the same.
fn outperforms(ours: f64, theirs: f64) -> bool {
    ours > theirs && !is_close((ours / theirs - 1.0) * 100.0)
}

/// What limits at these windows, and where it is not they.
fn why_small_windows(asymmetric: &Points, symmetric: [f64; 3]) -> String {
    let most = asymmetric.last().map_or(f64::NAN, |(_, rate)| *rate);
    let full: Vec<String> = asymmetric
        .iter()
        .zip(symmetric)
        .filter(|((_, ours), theirs)| is_close((ours / most - 1.0) * 100.0) && !outperforms(*ours, *theirs))
        .map(|((window, _), _)| format!("{window:.0}"))
        .collect();
    let why = "its round trip is shorter, where the window is all that limits";
    match full.is_empty() {
        true => why.to_owned(),
        false => format!(
            "{why}; at {} kByte both fill the link, as with larger ones, and only start differently",
            full.join(", ")
        ),
    }
}

/// Fig 11: throughput once it is saturated, over 64 and 2048 kbit/s, as a share of these.
pub(super) fn of_utilization(reproduction: &mut Reproduction, saturated: [f64; 2]) {
    let said = Said {
        figure: Figure::Fig(11),
        claim: "the throughput is larger than in Fig 10, and the utilization of the downlink lower (89.6 to 94.4 %)",
        why: "slow start costs the faster link more of a minute; the modem's redundancy and TCP/IP headers bound both to 90.5 %",
    };
    let [slow, fast] = saturated;
    let share = |rate: f64, network: Network| rate / kbit_s(Rate::kbps(network.down_kbps)) * 100.0;
    let (before, after) = (share(slow, FIG_8), share(fast, FIG_11));
    let ours = format!("{slow:.1} and {fast:.0} kbit/s, {before:.1} and {after:.1} %");
    said.judge(reproduction, [fast > slow, after < before], ours);
}

/// Fig 9: what losses before the satellite do to a transfer, which makes one of these throughputs of the other, in kbit/s.
pub(super) fn of_sequence(reproduction: &mut Reproduction, connection: &ConnectionSeries, [free, lossy]: [f64; 2]) {
    let figure = Figure::Fig(9);
    let again = &connection.retransmitted;
    let words: Vec<String> = again.iter().map(|point| format!("{:.1} s", point.t_s)).take(SHOWN).collect();
    let said = Said {
        figure,
        claim: "data segments are dropped before the satellite and sent again",
        why: "a window of 32 kByte is more than the link and a short queue hold",
    };
    said.judge(reproduction, [!again.is_empty()], format!("{} sent again, at {}", again.len(), words.join(", ")));
    let said = Said {
        figure,
        claim: "after the repetitions new data begins in slow start",
        why: "Reno repairs one of several losses in a window; the others wait for a timer, and slow start follows",
    };
    let least = again.first().and_then(|first| {
        let later = connection.windows.iter().filter(|point| point.t_s >= first.t_s);
        later.min_by_key(|point| point.window_bytes)
    });
    let words = least.map_or_else(
        || "no loss".to_owned(),
        |least| format!("the window is {} B at {:.1} s", least.window_bytes, least.t_s),
    );
    // When what was never sent before follows.
    let fresh = least.and_then(|least| connection.sent.iter().find(|point| point.t_s > least.t_s));
    let then = fresh.and_then(|fresh| connection.windows.iter().rfind(|point| point.t_s <= fresh.t_s));
    let slow = then.is_some_and(|then| then.threshold_bytes.is_some_and(|threshold| then.window_bytes < threshold));
    said.judge(reproduction, [slow], words);
    let said = Said {
        figure,
        claim: "the losses lower the throughput at 32 kByte",
        why: "a second or more without new data, and a small window after it",
    };
    said.judge(reproduction, [lossy < free], format!("{free:.1} kbit/s without losses, {lossy:.1} with"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Paper, reproduce};
    use farhop_results::reproduction::{Origin, Row};

    #[test]
    fn misses_are_told_by_their_causes() {
        let reproduction = reproduce(Paper::Obata2001, Some("6")).expect("it is a figure of the paper");
        let [wide, _, narrow, falls] = &reproduction.claims[..] else { panic!("{:?}", reproduction.claims) };
        assert!(wide.ours.starts_with("within 5 % at 5 of 8 points") && wide.ours.contains("+41 % at 4"), "{wide:?}");
        let (whole, odd) = wide.why.split_once("; ").expect("there are two causes");
        assert_eq!(whole, "at 4 kByte TCP sends whole segments, where the formula divides bytes");
        assert!(odd.starts_with("at 8, 16 kByte TCP sends whole segments, and an odd one waits for the next"), "{odd}");
        assert!(narrow.why.contains("at 8 kByte TCP sends whole segments, and an odd one waits"), "{narrow:?}");
        assert_eq!(falls.verdict, Verdict::InPart, "at 8 kByte odd segments hide the uplink");
        assert!(falls.ours.contains("13 of 14") && falls.why.contains("not at 8 kByte"), "{falls:?}");
    }

    #[test]
    fn acks_that_fill_the_uplink_are_a_cause() {
        let network = Network::new(2048, 4, 125);
        let rate = of_file(network, 32.0).expect("it has a value") / 1.1;
        let transfer = |acks| Transfer { window: Bytes::kib(32), rate, acks, acks_per_segment: 0.52 };
        assert_eq!(Cause::of(network, &transfer(0.97)), Some(Cause::Acks));
        assert_ne!(Cause::of(network, &transfer(0.5)), Some(Cause::Acks));
        assert_eq!(Cause::of(network, &Transfer { rate: rate * 1.1, ..transfer(0.97) }), None);
        let words = Cause::Acks.words(&[&transfer(0.97)]);
        assert!(words.starts_with("at 32 kByte the uplink is full of ACKs (97 % of the time)"), "{words}");
    }

    #[test]
    fn single_segments_wait_for_a_timer_of_their_own_as_in_ns() {
        let reproduction = reproduce(Paper::Obata2001, Some("6")).expect("it is a figure of the paper");
        let row = |name: &str| {
            let is_it = |row: &&Row| row.quantity.contains(name) && row.quantity.contains("with 4.4BSD's ticks");
            reproduction.rows.iter().find(is_it).unwrap_or_else(|| panic!("there is no {name}")).ours
        };
        let simulated = reproduction.curves.iter().filter(|curve| curve.origin == Origin::Simulated);
        let least: Vec<f64> = simulated.map(|curve| curve.points[0].1).collect();
        assert!(least.is_sorted_by(|wide, narrow| wide > narrow), "a narrower uplink costs: {least:?}");
        assert!(row("16 kbit/s") < 0.8 * least[1], "{} of {}", row("16 kbit/s"), least[1]);
    }

    #[test]
    fn a_window_of_192_kbyte_is_sent_without_losses() {
        let reproduction = reproduce(Paper::Obata2001, Some("5")).expect("it is a figure of the paper");
        for curve in reproduction.curves.iter().filter(|curve| curve.origin == Origin::Simulated) {
            let [.., before, largest] = curve.points[..] else { panic!("{curve:?}") };
            assert_eq!((curve.points.len(), largest.0), (8, 192.0), "{curve:?}");
            assert!(largest.1 >= before.1, "a larger window costs nothing: {curve:?}");
        }
    }

    #[test]
    fn which_formula_is_more_precise_depends_on_how_the_older_one_is_read() {
        for (figure, verdict, other) in [
            ("7", Verdict::InPart, "either way this holds in part"),
            ("8", Verdict::InPart, "the verdict depends on the reading: then this holds."),
            ("11", Verdict::InPart, "either way this holds in part"),
        ] {
            let reproduction = reproduce(Paper::Obata2001, Some(figure)).expect("it is a figure of the paper");
            let claim = &reproduction.claims[0];
            assert_eq!(claim.verdict, verdict, "{claim:?}");
            assert!(claim.why.contains(other), "{claim:?}");
            let at_4 = |name: &str| {
                let curve = reproduction.curves.iter().find(|curve| curve.name.ends_with(name));
                curve.expect("there is one").points[2].1
            };
            let (climbs, full) = (at_4("existing formula"), at_4("existing formula, full window"));
            assert!((climbs / full - 0.75).abs() < 0.001, "a small window limits all the way from half to full");
        }
    }

    #[test]
    fn small_windows_prefer_the_internet_up_unless_they_fill_the_link() {
        let reproduction = reproduce(Paper::Obata2001, Some("8")).expect("it is a figure of the paper");
        let claim = &reproduction.claims[1];
        assert_eq!(claim.verdict, Verdict::InPart, "{claim:?}");
        assert!(claim.why.ends_with("at 6 kByte both fill the link, as with larger ones, and only start differently"));
    }
}
