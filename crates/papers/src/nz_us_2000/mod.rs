//! nz-us-2000: twelve ways between New Zealand and the USA, replaying a log.
//!
//! The paper's log is not public. Ours is generated in its format: as many requests in ten minutes, everything else assumed
//! (`farhop_web::logs`). One number is fitted: what the recorded times are multiplied by, so that the base case, no proxy over
//! cables with HTTP/1.0, has the paper's mean of 2.8 s. The other eleven are predictions. With faster servers and larger replies the base case
//! has the same 2.8 s, which shows what hangs on the log; and which of two ways is faster is judged over logs with other seeds, each fitted alike. Load is raised as in the paper, by the same
//! hour of further days, then by copies of all that shifted in time.
//!
//! A proxy in the USA makes the architecture `multiplexed`, without one it is `direct`; all else is a scenario with a `[log]`.

mod claims;
mod experiment;

pub(crate) use experiment::Experiment;

use crate::filling::{Fill, Plot};
use crate::lab::{Effort, Found, Lab};
use experiment::{BASE, OtherFit, Way};
use farhop_results::RequestTimes;
use farhop_results::reproduction::{Axis, Figure, Origin, Reproduction};

/// The figures that are simulated.
pub(crate) const FIGURES: [Figure; 3] = [Figure::Fig(4), Figure::Fig(5), Figure::Fig(6)];

/// The mean latency with satellites both ways, in s.
const SATELLITE: f64 = 5.8;
const LOAD: Axis = Axis::log("requests in ten minutes", "1");
const LATENCY: Axis = Axis::linear("mean latency of the sample", "s");

/// What the text says, beside which ours will lie.
pub(crate) fn reproduce() -> Reproduction {
    let mut reproduction = Reproduction::default();
    let mut plot = Plot { reproduction: &mut reproduction, figure: Figure::Fig(4), x: LOAD, y: LATENCY };
    for (way, latency) in [(Way::base(), BASE), (Way::of(false, "SS", false), SATELLITE)] {
        plot.points(
            format!("the text's {latency} s, {}", way.name()),
            Origin::Text,
            "of the base load",
            [(421.0, latency)],
        );
    }
    reproduction
}

pub(crate) fn simulate(figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let found: Found<Experiment> = lab.replays();
    let experiment = match found {
        Ok(experiment) => experiment,
        Err(reason) => return reproduction.gap(figure, &reason),
    };
    match figure {
        Figure::Fig(4) => {
            latencies(&experiment, reproduction);
            other_fits(&experiment, reproduction);
            claims::of_latencies(&experiment, reproduction);
        }
        Figure::Fig(5) => buffers(&experiment, reproduction),
        _ => sessions(&experiment, reproduction),
    }
}

fn reading(experiment: &Experiment, way: Way) -> String {
    let fit = format!("recorded times × {:.3}", experiment.server_time);
    if way == Way::base() {
        return format!("simulated: {fit}, fitted to this way's mean latency at the base load alone");
    }
    let proxies = if way.proxy {
        format!(
            ", {} connections between proxies, our choice, which decides at the highest load",
            experiment.connections
        )
    } else {
        String::new()
    };
    format!("simulated: a prediction with {fit}{proxies}")
}

fn curves(
    experiment: &Experiment,
    reproduction: &mut Reproduction,
    figure: Figure,
    y: Axis,
    value: impl Fn(&RequestTimes) -> f64,
) {
    for way in Way::all() {
        let points: Vec<_> =
            experiment.loads.iter().map(|load| f64::from(*load)).zip(experiment.of(way).iter().map(&value)).collect();
        let mut plot = Plot { reproduction: &mut *reproduction, figure, x: LOAD, y };
        plot.points(way.name(), Origin::Simulated, &reading(experiment, way), points);
    }
}

/// A number of each way, at these places of the loads.
fn rows(
    experiment: &Experiment,
    reproduction: &mut Reproduction,
    figure: Figure,
    (what, unit): (&str, &str),
    loads: &[usize],
    value: impl Fn(&RequestTimes) -> f64,
) {
    for place in loads {
        let load = match (*place, experiment.effort) {
            (0, _) => "base load",
            (_, Effort::Full) => "highest load",
            (_, Effort::Quick) => "highest load of a quick run, far from filling the link",
        };
        let reading = format!("simulated: a prediction with recorded times × {:.3}, {load}", experiment.server_time);
        for way in Way::all() {
            let quantity = format!("{}: {what}, {} requests ({unit})", way.name(), experiment.loads[*place]);
            let ours = value(&experiment.of(way)[*place]);
            reproduction.row(figure, quantity, None, ours, &reading);
        }
    }
}

/// Fig 4.
fn latencies(experiment: &Experiment, reproduction: &mut Reproduction) {
    let told = [
        (Way::base(), BASE, "the base case"),
        (Way::of(false, "SS", false), SATELLITE, "\"doubled to 5.8 seconds\""),
        (Way::of(false, "ST", false), 0.75 * SATELLITE, "\"75 %\" of 5.8 s"),
        (
            Way::of(true, "SS", false),
            0.55 * SATELLITE,
            "\"55 % of the base satellite case\", \"50 % improvement\" elsewhere",
        ),
        (
            Way::of(false, "SS", true),
            0.82 * SATELLITE,
            "\"between 18 % and 40 %\" less than 5.8 s, the former at low load",
        ),
        (Way::of(true, "SS", true), 0.45 * SATELLITE, "\"a 55 % improvement\" on 5.8 s"),
    ];
    for way in Way::all() {
        let told = told.iter().find(|(other, ..)| *other == way);
        let quantity = format!("{}: mean latency, {} requests (s)", way.name(), experiment.loads[0]);
        let reading = match told {
            Some((_, _, text)) => format!("{text}; {}", reading(experiment, way)),
            None => reading(experiment, way),
        };
        let published = told.map(|(_, latency, _)| *latency);
        reproduction.row(Figure::Fig(4), quantity, published, experiment.latency(way), &reading);
    }
    let mean = |times: &RequestTimes| times.sample_mean_s;
    rows(experiment, reproduction, Figure::Fig(4), ("mean latency", "s"), &[experiment.highest()], mean);
    curves(experiment, reproduction, Figure::Fig(4), LATENCY, mean);
}

/// What the unknown sizes of replies would change.
fn other_fits(experiment: &Experiment, reproduction: &mut Reproduction) {
    for OtherFit { server_time, size, latencies } in &experiment.others {
        let reading = format!(
            "simulated: recorded times × {server_time}, replies × {size:.2}, so that the base case has its 2.8 s: sizes of replies are not known"
        );
        for (way, latency) in Way::all().into_iter().zip(latencies) {
            let quantity = format!("servers × {server_time}, {}: mean latency (s)", way.name());
            reproduction.row(Figure::Fig(4), quantity, None, *latency, &reading);
        }
    }
}

/// Fig 5.
fn buffers(experiment: &Experiment, reproduction: &mut Reproduction) {
    #[expect(clippy::cast_precision_loss, reason = "a buffer is small")]
    let peak = |times: &RequestTimes| times.peak_queue_bytes as f64 / 1000.0;
    rows(experiment, reproduction, Figure::Fig(5), ("peak buffer", "kB"), &[0, experiment.highest()], peak);
    curves(experiment, reproduction, Figure::Fig(5), Axis::linear("peak buffer towards New Zealand", "kB"), peak);
    claims::of_buffers(experiment, reproduction);
}

/// Fig 6.
fn sessions(experiment: &Experiment, reproduction: &mut Reproduction) {
    let count = |times: &RequestTimes| f64::from(u32::try_from(times.peak_connections).unwrap_or(u32::MAX));
    rows(experiment, reproduction, Figure::Fig(6), ("most sessions", "1"), &[0, experiment.highest()], count);
    curves(experiment, reproduction, Figure::Fig(6), Axis::log("most sessions to servers at once", "1"), count);
    claims::of_sessions(experiment, reproduction);
}
