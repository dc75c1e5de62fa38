//! Fig 5 to 11 simulated: single transfers over the shipped scenario `vsat-2001` with each figure's network.
//!
//! Time counts from the server's first segment to the client's last byte, as in the formulas. The first ACK is delayed, as their d
//! of 200 ms says.

use super::{FIG_5, FIG_6, FIG_7, FIG_8, FIG_11, FILE, Network, THROUGHPUT, WINDOW, claims, experiment_size};
use crate::filling::{Fill, Plot};
use crate::lab::{Changes, Lab};
use farhop_results::reproduction::{Axis, Figure, Origin, Reproduction};
use farhop_results::{Architecture, ConnectionSeries, Load};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// The figures that are simulated.
pub(crate) const FIGURES: [Figure; 7] =
    [Figure::Fig(5), Figure::Fig(6), Figure::Fig(7), Figure::Fig(8), Figure::Fig(9), Figure::Fig(10), Figure::Fig(11)];

const SCENARIO: &str = "vsat-2001";
/// Windows, in KiB.
const SIMULATED: [u64; 5] = [8, 16, 32, 64, 128];
const EXPERIMENTS: [u64; 7] = [2, 4, 6, 8, 16, 32, 64];

pub(crate) fn simulate(figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    match figure {
        Figure::Fig(5) => simulations(lab, reproduction, figure, &FIG_5),
        Figure::Fig(6) => simulations(lab, reproduction, figure, &FIG_6),
        Figure::Fig(7) => experiments(lab, reproduction, figure, FIG_7, &Run::EXPERIMENT),
        Figure::Fig(8 | 10) => experiments(lab, reproduction, figure, FIG_8, &Run::EXPERIMENT),
        Figure::Fig(11) => {
            experiments(lab, reproduction, figure, FIG_11, &Run { windows: &EXPERIMENTS[1..], ..Run::EXPERIMENT });
        }
        Figure::Fig(9) => sequence(lab, reproduction),
        _ => {}
    }
}

/// Files over several networks, and what the paper says of them.
fn simulations(lab: &mut Lab<'_>, reproduction: &mut Reproduction, figure: Figure, networks: &[Network]) {
    let throughputs: Vec<(Network, Vec<(f64, f64)>)> =
        networks.iter().map(|network| (*network, curve(lab, reproduction, figure, *network, &Run::FILE))).collect();
    claims::of_simulations(reproduction, figure, &throughputs);
}

/// An experiment's transfers over one network, and what the paper says of them.
fn experiments(lab: &mut Lab<'_>, reproduction: &mut Reproduction, figure: Figure, network: Network, run: &Run) {
    let points = curve(lab, reproduction, figure, network, run);
    claims::of_experiments(reproduction, figure, network, &points);
    let mut at = |network, window| throughput(lab, network, run, window).unwrap_or(f64::NAN);
    match figure {
        Figure::Fig(8) => {
            let symmetric = [2, 4, 6].map(|window| at(FIG_7, window));
            claims::of_small_windows(reproduction, &points, symmetric);
        }
        Figure::Fig(11) => {
            let saturated = [(FIG_8, 64), (FIG_11, 64)].map(|(network, window)| at(network, window));
            claims::of_utilization(reproduction, saturated);
        }
        _ => {}
    }
}

/// What a figure transfers, and over which link.
struct Run {
    windows: &'static [u64],
    framing: &'static str,
    size: fn(Network) -> Bytes,
    reading: &'static str,
}

impl Run {
    const FILE: Self = Self {
        windows: &SIMULATED,
        framing: "none",
        size: |_| FILE,
        reading: "simulated: 1024 kByte, bsd-1997, whole segments, first ACK delayed",
    };
    const EXPERIMENT: Self = Self {
        windows: &EXPERIMENTS,
        framing: "redundancy=16/15",
        size: experiment_size,
        reading: "simulated: 60 s of data, bsd-1997, redundancy 16/15, first ACK delayed",
    };

    fn changes(&self, network: Network, window: u64) -> Changes {
        let Network { down_kbps, up_kbps, up_ms } = network;
        vec![
            format!("link.down.rate={down_kbps} kbit/s"),
            format!("link.down.framing={}", self.framing),
            format!("link.up.rate={up_kbps} kbit/s"),
            format!("link.up.delay={up_ms} ms"),
            format!("tcp.max_window={window} KiB"),
            "tcp.first_ack=delayed".to_owned(),
            format!("page.size={} B", (self.size)(network).get()),
        ]
    }
}

/// Simulated throughput over the maximum window, as it was put into the figure.
fn curve(
    lab: &mut Lab<'_>,
    reproduction: &mut Reproduction,
    figure: Figure,
    network: Network,
    run: &Run,
) -> Vec<(f64, f64)> {
    let (mut points, mut failed) = (Vec::new(), None);
    for window in run.windows {
        match throughput(lab, network, run, *window) {
            Ok(rate) => points.push((as_f64(*window), rate)),
            Err(reason) => failed = Some(reason),
        }
    }
    let name = format!("uplink {} ms, {} kbit/s, simulated", network.up_ms, network.up_kbps);
    let mut plot = Plot { reproduction: &mut *reproduction, figure, x: WINDOW, y: THROUGHPUT };
    plot.points(name, Origin::Simulated, run.reading, points.clone());
    if let Some(reason) = failed {
        reproduction.gap(figure, &reason);
    }
    points
}

/// In kbit/s, with a window in KiB.
fn throughput(lab: &mut Lab<'_>, network: Network, run: &Run, window: u64) -> Result<f64, String> {
    let (load, _) = lab.load(SCENARIO, Architecture::Direct, &run.changes(network, window))?;
    kbit_s(network, (run.size)(network), &load).ok_or_else(|| "the page has no object".to_owned())
}

fn as_f64(window: u64) -> f64 {
    f64::from(u32::try_from(window).unwrap_or(u32::MAX))
}

/// The file's rate from when the server had the request: a byte with its headers, in the scenario.
fn kbit_s(network: Network, size: Bytes, load: &Load) -> Option<f64> {
    let request = Rate::kbps(network.up_kbps).transmission_time(Bytes::new(53)) + Duration::from_millis(network.up_ms);
    let file = load.objects.first()?;
    let time = file.end_s - file.request_s - request.as_secs_f64();
    Some(size.bits_f64() / time / 1000.0)
}

/// The window whose throughput fell in Fig 8, in KiB.
const FELL: u64 = 32;
/// How Fig 9 is read.
const SEQUENCE: &str = "simulated: 60 s of data as a capture at the server shows it, window of 32 kByte in Fig 8's network; the queue is ours, as \
                        the paper's is not known";
/// Queues before the modem, for 32 KiB: without losses, and one that takes all but two of the window's 22 segments and those on the way.
const QUEUES: [(&str, &str); 2] = [("no losses", "unlimited"), ("a queue of 17 packets", "17 packets")];

/// Fig 9: with 32 kByte two segments are lost before the satellite, and slow start follows.
fn sequence(lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let figure = Figure::Fig(9);
    let mut found: Vec<(f64, ConnectionSeries)> = Vec::new();
    for (name, queue) in QUEUES {
        let mut changes = Run::EXPERIMENT.changes(FIG_8, FELL);
        changes.push(format!("link.down.queue={queue}"));
        match lab.trace(SCENARIO, Architecture::Direct, &changes) {
            Ok((load, connection)) => {
                let rate = kbit_s(FIG_8, experiment_size(FIG_8), &load).unwrap_or(f64::NAN);
                sequence_numbers(reproduction, name, &connection);
                reproduction.row(figure, format!("throughput, {name} (kbit/s)"), None, rate, SEQUENCE);
                found.push((rate, connection));
            }
            Err(reason) => reproduction.gap(figure, &reason),
        }
    }
    if let [(free, _), (lossy, connection)] = &found[..] {
        let again = connection.retransmitted.len();
        reproduction.row(figure, format!("segments sent again, {}", QUEUES[1].0), Some(2.0), count(again), SEQUENCE);
        claims::of_sequence(reproduction, connection, [*free, *lossy]);
    }
}

/// What a capture at the server shows of a transfer.
fn sequence_numbers(reproduction: &mut Reproduction, name: &str, connection: &ConnectionSeries) {
    let (x, y) = (Axis::linear("time", "s"), Axis::linear("sequence number", "kB"));
    let ConnectionSeries { sent, retransmitted, acknowledged, .. } = connection;
    for (what, segments, origin) in [
        ("sent", sent, Origin::Simulated),
        ("sent again", retransmitted, Origin::Events),
        ("acknowledged", acknowledged, Origin::Simulated),
    ] {
        let points: Vec<(f64, f64)> = segments.iter().map(|point| (point.t_s, kilobytes(point.sequence))).collect();
        if !points.is_empty() {
            let mut plot = Plot { reproduction: &mut *reproduction, figure: Figure::Fig(9), x, y };
            plot.points(format!("{name}, {what}"), origin, SEQUENCE, points);
        }
    }
}

fn kilobytes(bytes: u64) -> f64 {
    Bytes::new(bytes).bits_f64() / 8000.0
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
