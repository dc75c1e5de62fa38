//! Fig 14 to 16 simulated: the 28 contents of the shipped scenario `train-2013`, whose single sizes are ours.
//!
//! Fig 16's cut is from 2 to 3 s, as its text says.

use crate::filling::{Fill, Plot};
use crate::lab::Lab;
use farhop_results::reproduction::{Axis, Claim, Figure, Origin, Reproduction, Verdict};
use farhop_results::{Architecture, Load};

/// The figures that are simulated.
pub(crate) const FIGURES: [Figure; 3] = [Figure::Fig(14), Figure::Fig(15), Figure::Fig(16)];

const SCENARIO: &str = "train-2013";
const NEVER: [&str; 2] = ["link.down.outages=none", "link.up.outages=none"];
const CUT: [&str; 2] = ["link.down.outages=at windows=2s+1s", "link.up.outages=at windows=2s+1s"];

/// Who loads, what it is called, and what the paper measured, in s.
const ACCESS: [(Architecture, &str, Option<f64>); 3] = [
    (Architecture::Direct, "normal access", Some(47.4)),
    (Architecture::PrefetchConventional, "conventional prefetching", None),
    (Architecture::Prefetch2013, "proposed", Some(4.3)),
];

pub(crate) fn simulate(figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let settings = if figure == Figure::Fig(16) { CUT } else { NEVER }.map(str::to_owned);
    let mut times = Vec::new();
    for (architecture, name, measured) in ACCESS {
        match lab.load(SCENARIO, architecture, &settings) {
            Ok((load, _)) => {
                put(reproduction, figure, name, measured, &load);
                times.push(load.page_load_s);
            }
            Err(reason) => reproduction.gap(figure, &reason),
        }
    }
    if let (Figure::Fig(14), [normal, conventional, proposed]) = (figure, &times[..]) {
        reproduction.claims.push(Claim {
            figure,
            claim: "the proposed scheme loads faster than conventional prefetching, and that than normal access"
                .to_owned(),
            verdict: Verdict::of([proposed < conventional, conventional < normal]),
            ours: format!("{proposed:.2}, {conventional:.2} and {normal:.2} s"),
            why: "round trips per content are what costs time".to_owned(),
        });
    }
}

const READING: &str = "simulated: train-2013, HTTP/1.0, one connection, Linux's TCP of today";

fn put(reproduction: &mut Reproduction, figure: Figure, name: &str, measured: Option<f64>, load: &Load) {
    let reading = match figure {
        Figure::Fig(14) => format!("{READING}; not reproduced: contents' sizes and the test's TCP are not known"),
        Figure::Fig(16) => format!("{READING}; cut from 2 to 3 s"),
        _ => READING.to_owned(),
    };
    let published = measured.filter(|_| figure == Figure::Fig(14));
    if figure != Figure::Fig(15) {
        reproduction.row(
            figure,
            format!("load time of 28 contents, {name}, simulated (s)"),
            published,
            load.page_load_s,
            &reading,
        );
    }
    let (x, y, points) = match figure {
        Figure::Fig(14) => (Axis::linear("contents loaded", "1"), Axis::linear("time", "s"), finished(load)),
        Figure::Fig(15) => (Axis::linear("elapsed time", "s"), Axis::linear("throughput", "Mbit/s"), throughput(load)),
        _ => (Axis::linear("elapsed time", "s"), Axis::linear("received", "%"), received(load)),
    };
    Plot { reproduction, figure, x, y }.points(format!("{name}, simulated"), Origin::Simulated, &reading, points);
}

/// When so many contents were there.
fn finished(load: &Load) -> Vec<(f64, f64)> {
    let mut ends: Vec<f64> = load.objects.iter().map(|object| object.end_s).collect();
    ends.sort_by(f64::total_cmp);
    (1..).map(f64::from).take(ends.len()).zip(ends).collect()
}

/// Second by second, as the paper measured.
fn throughput(load: &Load) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for sample in &load.link {
        let second = sample.start_s.floor() + 1.0;
        if points.last().is_none_or(|last| last.0 < second) {
            points.push((second, 0.0));
        }
        if let Some(last) = points.last_mut() {
            last.1 += sample.down_bit_s * sample.span_s / 1e6;
        }
    }
    points
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
