//! What §3 and §4 say of the figures, judged by our simulation in the place of the paper's experiments.

use super::{FIG_8, FIG_11, FILE, Network, existing, proposed};
use crate::filling::kbit_s;
use crate::judging::{Points, Said};
use farhop_model::ModelError;
use farhop_model::obata_2001::{Readings, throughput};
use farhop_results::ConnectionSeries;
use farhop_results::reproduction::{Figure, Reproduction};
use farhop_units::{Bytes, Rate};

/// Repetitions of which the time is told.
const SHOWN: usize = 4;

/// A window on a figure's axis.
fn in_kib(window: f64) -> Bytes {
    Bytes::new((window * 1024.0) as u64)
}

/// Throughput of a file by Eq 10, in kbit/s.
fn of_file(network: Network, window: f64) -> Result<f64, ModelError> {
    throughput(&network.path(in_kib(window))?, FILE, &Readings::default()).map(kbit_s)
}

/// Fig 5 and 6: the formula beside simulations, and what the uplink does.
pub(super) fn of_simulations(reproduction: &mut Reproduction, figure: Figure, all: &[(Network, Vec<(f64, f64)>)]) {
    for (network, points) in all {
        let claim = format!(
            "the formula is completely consistent with the simulation, uplink {} ms {} kbit/s",
            network.up_ms, network.up_kbps
        );
        let why = "windows of few segments: TCP sends whole segments and an odd one waits for its ACK, the formula divides bytes";
        Said { figure, claim: &claim, why }.agrees(reproduction, points, &|window| of_file(*network, window));
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
    let rates = all.iter().map(|(_, points)| points.iter().map(|(_, rate)| *rate).collect::<Vec<_>>());
    let rates: Vec<Vec<f64>> = rates.collect();
    let falls = figure == Figure::Fig(6);
    // Windows at which the link is not full in either; equal within 0.1 % is full.
    let pairs = rates.windows(2).flat_map(|pair| pair[0].iter().zip(&pair[1]));
    let parts: Vec<bool> = pairs
        .filter(|(before, after)| (*after / *before - 1.0).abs() > 0.001)
        .map(|(before, after)| (after < before) == falls)
        .collect();
    let least = |rates: &Vec<f64>| rates.first().copied().unwrap_or(f64::NAN);
    let ours = rates.iter().map(|rates| format!("{:.1}", least(rates))).collect::<Vec<_>>().join(", ");
    let ours = format!("{ours} kbit/s at the smallest window, in the order of the figure");
    Said { figure, claim, why }.judge(reproduction, parts, ours);
}

/// Fig 7, 8, 10, 11: which formula is more precise, and whether a larger window ever costs.
pub(super) fn of_experiments(reproduction: &mut Reproduction, figure: Figure, network: Network, points: &Points) {
    let said = Said {
        figure,
        claim: "the proposed formula is more precise than the one of [4]",
        why: "[4] is the mean of a window that stays full: it leaves out slow start and the way of ACKs",
    };
    let ours = |window: f64| proposed(network, in_kib(window));
    let theirs = |window: f64| existing(network, in_kib(window));
    said.is_closer(reproduction, points, [&ours, &theirs]);
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

/// Fig 8: asymmetric beside symmetric networks, at the first windows of the experiments.
pub(super) fn of_small_windows(reproduction: &mut Reproduction, asymmetric: &Points, symmetric: [f64; 3]) {
    let said = Said {
        figure: Figure::Fig(8),
        claim: "for windows of 2, 4 and 6 kByte the asymmetric network outperforms the symmetric one",
        why: "its round trip is shorter and the window is all that limits",
    };
    let pairs: Vec<(f64, f64)> = asymmetric.iter().map(|(_, rate)| *rate).zip(symmetric).collect();
    let words: Vec<String> = pairs.iter().map(|(ours, theirs)| format!("{ours:.1} to {theirs:.1}")).collect();
    said.judge(reproduction, pairs.iter().map(|(ours, theirs)| ours > theirs), format!("{} kbit/s", words.join(", ")));
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
    use crate::{Paper, reproduce};
    use farhop_results::reproduction::Verdict;

    #[test]
    fn the_proposed_formula_is_closer_and_small_windows_prefer_the_internet_up() {
        let reproduction = reproduce(Paper::Obata2001, Some("8")).expect("it is a figure of the paper");
        let verdicts: Vec<Verdict> = reproduction.claims.iter().map(|claim| claim.verdict).collect();
        assert_eq!(verdicts, [Verdict::Holds, Verdict::Holds], "{:?}", reproduction.claims);
    }
}
