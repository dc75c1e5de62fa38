//! Fig 9 and 14 to 16 simulated: the test network of §4 and the 28 contents of the shipped scenario `train-2013`, whose single
//! sizes are ours.
//!
//! The paper says nothing of its TCP: Linux's of today is the usual reading, and beside it one that begins with three segments, as
//! Linux 2.6.18 of the test's machines did (RFC 3390). Fig 16's cut is from 2 to 3 s, as its text says.

use super::claims;
use crate::filling::{Fill, Plot};
use crate::lab::Lab;
use farhop_results::reproduction::{Axis, Figure, Origin, Reproduction};
use farhop_results::{Architecture, Load};

/// The figures that are simulated.
pub(crate) const FIGURES: [Figure; 4] = [Figure::Fig(9), Figure::Fig(14), Figure::Fig(15), Figure::Fig(16)];

const SCENARIO: &str = "train-2013";

/// Who loads.
#[derive(Debug, Clone, Copy)]
struct Access {
    architecture: Architecture,
    name: &'static str,
    settings: &'static [&'static str],
    /// What the paper measured of 28 contents, in s.
    measured: Option<f64>,
}

const NORMAL: Access =
    Access { architecture: Architecture::Direct, name: "normal access", settings: &[], measured: Some(47.4) };
const IN_THE_TRAIN: Access = Access {
    architecture: Architecture::PrefetchConventional,
    name: "conventional prefetching in the train",
    settings: &["prefetch.at=terminal"],
    measured: None,
};
const ON_THE_GROUND: Access = Access {
    name: "conventional prefetching at the ground station",
    settings: &["prefetch.at=gateway"],
    ..IN_THE_TRAIN
};
const HALFWAY: Access = Access {
    name: "conventional prefetching halfway",
    settings: &["prefetch.at=gateway", "link.down.delay=125 ms", "link.up.delay=125 ms", "wan.delay=125 ms"],
    ..IN_THE_TRAIN
};
const PROPOSED: Access =
    Access { architecture: Architecture::Prefetch2013, name: "proposed", settings: &[], measured: Some(4.3) };

/// A reading of the test's TCP: in names, in words, and in settings.
type Tcp = (&'static str, &'static str, &'static [&'static str]);
const TCP: [Tcp; 2] = [
    ("simulated", "Linux's TCP of today", &[]),
    (
        "simulated with TCP of then",
        "TCP that begins with three segments",
        &["tcp.initial_window=3", "tcp.congestion=newreno"],
    ),
];

/// 100 Mbit/s Ethernet beside the link, whose switches drop nothing.
const TEST_BED: [&str; 4] = ["lan.rate=100 Mbit/s", "lan.queue=4 MB", "wan.rate=100 Mbit/s", "wan.queue=4 MB"];
const NEVER: [&str; 2] = ["link.down.outages=none", "link.up.outages=none"];
const CUT: [&str; 2] = ["link.down.outages=at windows=2s+1s", "link.up.outages=at windows=2s+1s"];

pub(crate) fn simulate(figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let simulated = match figure {
        Figure::Fig(9) => numbers_of_contents(lab, reproduction),
        Figure::Fig(14) => load_times(lab, reproduction),
        Figure::Fig(15) => throughputs(lab, reproduction),
        _ => recovery(lab, reproduction),
    };
    if let Err(reason) = simulated {
        reproduction.gap(figure, &reason);
    }
}

fn load(lab: &mut Lab<'_>, access: Access, settings: &[&[&str]]) -> Result<Load, String> {
    let settings = settings.iter().copied().flatten().chain(access.settings);
    let settings: Vec<String> = TEST_BED.iter().chain(settings).map(ToString::to_string).collect();
    lab.load(SCENARIO, access.architecture, &settings).map(|(load, _)| load)
}

fn reading(tcp: Tcp) -> String {
    format!("simulated: train-2013 with 100 Mbit/s Ethernet, HTTP/1.0, one connection, {}", tcp.1)
}

/// Contents of 10 kB, as many as Fig 9 shows.
const COUNTS: [u32; 7] = [1, 5, 10, 25, 50, 75, 100];

fn numbers_of_contents(lab: &mut Lab<'_>, reproduction: &mut Reproduction) -> Result<(), String> {
    let figure = Figure::Fig(9);
    let reading = "simulated: contents of 10 kB over HTTP/1.0, one connection for each, TCP that begins with one segment; a handshake \
                   each, which Eq 7 to 9 leave out, and with its header a fourth round trip";
    let first_segment = ["tcp.initial_window=1", "tcp.congestion=newreno", "page.size=10 kB"];
    let mut lines = Vec::new();
    for access in [NORMAL, HALFWAY, ON_THE_GROUND, PROPOSED] {
        let mut points = Vec::new();
        for count in COUNTS {
            let objects = format!("page.objects={count}");
            let load = load(lab, access, &[&NEVER, &first_segment, &[&objects]])?;
            points.push((f64::from(count), load.page_load_s));
        }
        let (x, y) = (Axis::linear("contents", "1"), Axis::linear("load time", "s"));
        let mut plot = Plot { reproduction: &mut *reproduction, figure, x, y };
        plot.points(format!("{}, simulated", access.name), Origin::Simulated, reading, points.clone());
        lines.push(points);
    }
    if let [normal, halfway, ground, proposed] = &lines[..] {
        claims::of_numbers_of_contents(reproduction, normal, halfway, ground, proposed);
    }
    Ok(())
}

fn load_times(lab: &mut Lab<'_>, reproduction: &mut Reproduction) -> Result<(), String> {
    let figure = Figure::Fig(14);
    for tcp in TCP {
        let reading = format!("{}; contents' sizes are ours", reading(tcp));
        let mut times = Vec::new();
        for access in [NORMAL, IN_THE_TRAIN, ON_THE_GROUND, PROPOSED] {
            let load = load(lab, access, &[&NEVER, tcp.2])?;
            let quantity = format!("load time of 28 contents, {}, {} (s)", access.name, tcp.0);
            reproduction.row(figure, quantity, access.measured, load.page_load_s, &reading);
            let (x, y) = (Axis::linear("contents loaded", "1"), Axis::linear("time", "s"));
            let mut plot = Plot { reproduction: &mut *reproduction, figure, x, y };
            plot.points(format!("{}, {}", access.name, tcp.0), Origin::Simulated, &reading, finished(&load));
            times.push(load.page_load_s);
        }
        if let [normal, train, ground, proposed] = times[..] {
            claims::of_load_times(reproduction, tcp.1, normal, [train, ground], proposed);
        }
    }
    Ok(())
}

fn throughputs(lab: &mut Lab<'_>, reproduction: &mut Reproduction) -> Result<(), String> {
    let figure = Figure::Fig(15);
    for tcp in TCP {
        let reading = format!("{}; what the client has got, second by second", reading(tcp));
        let mut lines = Vec::new();
        for access in [NORMAL, PROPOSED] {
            let load = load(lab, access, &[&NEVER, tcp.2])?;
            let (x, y) = (Axis::linear("elapsed time", "s"), Axis::linear("throughput", "Mbit/s"));
            let mut plot = Plot { reproduction: &mut *reproduction, figure, x, y };
            let points = by_seconds(&load);
            plot.points(format!("{}, {}", access.name, tcp.0), Origin::Simulated, &reading, points.clone());
            let most = claims::most(&points);
            let published = access.measured.filter(|_| access.architecture == Architecture::Prefetch2013).map(|_| 14.0);
            let quantity = format!("most in a second, {}, {} (Mbit/s)", access.name, tcp.0);
            reproduction.row(figure, quantity, published, most, &reading);
            lines.push(points);
        }
        if let [normal, proposed] = &lines[..] {
            claims::of_throughputs(reproduction, tcp.1, normal, proposed);
        }
    }
    Ok(())
}

fn recovery(lab: &mut Lab<'_>, reproduction: &mut Reproduction) -> Result<(), String> {
    let figure = Figure::Fig(16);
    let reading = format!("{}; cut from 2 to 3 s, of all that the downlink delivers", reading(TCP[0]));
    for access in [NORMAL, PROPOSED] {
        let load = load(lab, access, &[&CUT])?;
        let quantity = format!("load time of 28 contents, {}, simulated (s)", access.name);
        reproduction.row(figure, quantity, None, load.page_load_s, &reading);
        let (x, y) = (Axis::linear("elapsed time", "s"), Axis::linear("received", "%"));
        let mut plot = Plot { reproduction: &mut *reproduction, figure, x, y };
        plot.points(format!("{}, simulated", access.name), Origin::Simulated, &reading, received(&load));
        if access.architecture == Architecture::Prefetch2013 {
            claims::of_recovery(reproduction, &load, &reading);
        }
    }
    Ok(())
}

/// When so many contents were there.
fn finished(load: &Load) -> Vec<(f64, f64)> {
    let mut ends: Vec<f64> = load.objects.iter().map(|object| object.end_s).collect();
    ends.sort_by(f64::total_cmp);
    (1..).map(f64::from).take(ends.len()).zip(ends).collect()
}

/// What the client got in each second, in Mbit/s, an object's bytes spread over the time in which they came.
fn by_seconds(load: &Load) -> Vec<(f64, f64)> {
    let share = |from: f64, to: f64, second: f64| {
        // What came in no time came within a nanosecond.
        let to = to.max(from + 1e-9);
        ((to.min(second + 1.0) - from.max(second)) / (to - from)).max(0.0)
    };
    let in_second = |second: f64| {
        let bytes =
            load.objects.iter().map(|object| object.bytes as f64 * share(object.first_byte_s, object.end_s, second));
        bytes.sum::<f64>() * 8.0 / 1e6
    };
    let seconds = (0..).map(f64::from).take_while(|second| *second < load.page_load_s);
    seconds.map(|second| (second + 1.0, in_second(second))).collect()
}

/// What of all that the downlink delivers is there.
fn received(load: &Load) -> Vec<(f64, f64)> {
    let all: f64 = load.link.iter().map(|sample| sample.down_bit_s * sample.span_s).sum();
    let mut sum = 0.0;
    let samples = load.link.iter().map(|sample| {
        sum += sample.down_bit_s * sample.span_s;
        (sample.start_s + sample.span_s, sum / all * 100.0)
    });
    samples.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Effort;
    use farhop_results::reproduction::Verdict;
    use farhop_results::reproduction::Verdict::{Fails, Holds, InPart};

    fn simulated(figure: u8) -> Reproduction {
        let (mut reproduction, mut silent) = (Reproduction::default(), |_: &str| {});
        simulate(Figure::Fig(figure), &mut Lab::new(Effort::Quick, &mut silent), &mut reproduction);
        assert!(reproduction.gaps.is_empty(), "{:?}", reproduction.gaps);
        reproduction
    }

    fn verdicts(reproduction: &Reproduction) -> Vec<Verdict> {
        reproduction.claims.iter().map(|claim| claim.verdict).collect()
    }

    #[test]
    fn prefetching_pays_halfway_alone_and_two_boxes_everywhere() {
        assert_eq!(verdicts(&simulated(9)), [Holds; 3]);
        let claims = simulated(14);
        let (today, then) = ([InPart, Holds, Fails, Holds], [Fails, Fails, Fails, Holds]);
        assert_eq!(verdicts(&claims), [today, then].concat(), "{:?}", claims.claims);
    }

    #[test]
    fn the_client_gets_more_in_its_third_second_than_the_link_can_bring() {
        assert_eq!(verdicts(&simulated(15)), [Fails, Holds, Holds, Holds]);
    }

    #[test]
    fn a_cut_costs_the_wait_and_no_byte() {
        let cut = simulated(16);
        assert_eq!(verdicts(&cut), [Holds, InPart]);
        let asked = cut.claims[1].ours.strip_prefix("requests from ").and_then(|words| words.split_once(" to "));
        let first: f64 = asked.expect("it is told").0.parse().expect("it is a time");
        assert!((3.25..3.3).contains(&first), "nothing sent after the cut is there before 3.25 s: {first}");
        let proposed = cut.curves.iter().find(|curve| curve.name.starts_with("proposed")).expect("it is simulated");
        let at =
            |time: f64| proposed.points.iter().take_while(|(x, _)| *x < time).last().map_or(0.0, |(_, share)| *share);
        assert!(at(2.9) < at(3.5) && at(3.5) < at(6.9) && at(6.9) < 99.0, "{} {} {}", at(2.9), at(3.5), at(6.9));
    }
}
