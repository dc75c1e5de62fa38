//! Fig 5 to 11 simulated: single transfers over the shipped scenario `vsat-2001` with each figure's network.
//!
//! Time counts from the server's first segment to the client's last byte, as in the formulas. The first ACK is delayed, as their d
//! of 200 ms says. Queues take whatever comes, as the paper has nothing sent again: that of the link's default would drop some of a window of
//! 192 kByte. Fig 9's is short, for its losses.
//!
//! Fig 5 and 6 are outputs of NS (§4.2.1), whose receiver delays an ACK by a timer that starts with the segment (`DelAckSink`), as the text's d does; Fig 7 to 11 are of
//! hosts with 4.4BSD's ticks, which are the same for all segments. What hangs on it is told for the smallest window.

use super::{
    EXPERIMENT, FIG_5, FIG_6, FIG_7, FIG_8, FIG_11, FILE, LARGEST, Network, SIMULATED, THROUGHPUT, WINDOW, claims,
    experiment_size, in_kib,
};
use crate::filling::{Fill, Plot};
use crate::lab::{Changes, Lab};
use farhop_model::Symbols;
use farhop_results::reproduction::{Axis, Figure, Origin, Reproduction};
use farhop_results::{Architecture, ConnectionSeries, Load};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// The figures that are simulated.
pub(crate) const FIGURES: [Figure; 7] =
    [Figure::Fig(5), Figure::Fig(6), Figure::Fig(7), Figure::Fig(8), Figure::Fig(9), Figure::Fig(10), Figure::Fig(11)];

const SCENARIO: &str = "vsat-2001";
/// Windows of the experiments, in KiB: "between 2 kByte and 128 kByte", of which the text names 2, 4, 6 and 32.
const EXPERIMENTS: [u64; 8] = [2, 4, 6, 8, 16, 32, 64, LARGEST as u64];

pub(crate) fn simulate(figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    match figure {
        Figure::Fig(5) => simulations(lab, reproduction, figure, &FIG_5),
        Figure::Fig(6) => simulations(lab, reproduction, figure, &FIG_6),
        Figure::Fig(7) => experiments(lab, reproduction, figure, FIG_7, &Run::EXPERIMENT),
        Figure::Fig(8 | 10) => experiments(lab, reproduction, figure, FIG_8, &Run::EXPERIMENT),
        Figure::Fig(11) => experiments(lab, reproduction, figure, FIG_11, &Run::EXPERIMENT),
        Figure::Fig(9) => sequence(lab, reproduction),
        _ => {}
    }
}

/// Files over several networks, and what the paper says of them.
fn simulations(lab: &mut Lab<'_>, reproduction: &mut Reproduction, figure: Figure, networks: &[Network]) {
    let all: Vec<(Network, Vec<Transfer>)> =
        networks.iter().map(|network| (*network, curve(lab, reproduction, figure, *network, &Run::FILE))).collect();
    for network in networks {
        with_ticks(lab, reproduction, figure, *network);
    }
    claims::of_simulations(reproduction, figure, &all);
}

/// The smallest window with 4.4BSD's receiver instead of NS's.
fn with_ticks(lab: &mut Lab<'_>, reproduction: &mut Reproduction, figure: Figure, network: Network) {
    let window = Bytes::kib(SIMULATED[0]);
    let runs = [Run::FILE, Run { settings: &[], ..Run::FILE }];
    let [Ok(timer), Ok(ticks)] = runs.map(|run| transfer(lab, network, &run, window)) else { return };
    let quantity = format!(
        "throughput, uplink {} ms {} kbit/s, window {:.0} kByte, simulated with 4.4BSD's ticks (kbit/s)",
        network.up_ms,
        network.up_kbps,
        in_kib(window)
    );
    let reading = format!(
        "simulated: what hangs on the receiver's 200 ms; the figure has {:.1} with a timer that starts with the segment, as NS and the text have it",
        timer.rate
    );
    reproduction.row(figure, quantity, None, ticks.rate, &reading);
}

/// An experiment's transfers over one network, and what the paper says of them.
fn experiments(lab: &mut Lab<'_>, reproduction: &mut Reproduction, figure: Figure, network: Network, run: &Run) {
    let points: Vec<_> = curve(lab, reproduction, figure, network, run).iter().map(Transfer::point).collect();
    claims::of_experiments(reproduction, figure, network, &points);
    let mut at = |network, kib| transfer(lab, network, run, Bytes::kib(kib)).map_or(f64::NAN, |transfer| transfer.rate);
    match figure {
        Figure::Fig(8) => {
            let symmetric = [2, 4, 6].map(|window| at(FIG_7, window));
            claims::of_small_windows(reproduction, &points, symmetric);
        }
        Figure::Fig(11) => {
            let saturated = [FIG_8, FIG_11].map(|network| at(network, u64::from(LARGEST)));
            claims::of_utilization(reproduction, saturated);
        }
        _ => {}
    }
}

/// What a figure transfers, and over which link.
struct Run {
    windows: fn(Network) -> Vec<Bytes>,
    framing: &'static str,
    /// The receiver's, where it is not the scenario's.
    settings: &'static [&'static str],
    size: fn(Network) -> Bytes,
    /// When it ends, whether all is there or not.
    lasts: Option<Duration>,
    reading: &'static str,
}

impl Run {
    const FILE: Self = Self {
        windows: Network::simulated_windows,
        framing: "none",
        settings: &["tcp.profile=rfc", "tcp.sack=off"],
        size: |_| FILE,
        lasts: None,
        reading: "simulated: 1024 kByte, whole segments, queues that never drop; ACKs of single segments, the first one too, delayed by a timer of 200 ms \
                  as in NS, of which the text has d (profile rfc)",
    };
    const EXPERIMENT: Self = Self {
        windows: |_| EXPERIMENTS.map(Bytes::kib).to_vec(),
        framing: "redundancy=16/15",
        settings: &[],
        size: experiment_size,
        lasts: Some(EXPERIMENT),
        reading: "simulated: 60 s, bsd-1997, redundancy 16/15, first ACK delayed, queues that never drop; of the windows the text names 2, 4, 6, 32 \
                  and 128 kByte",
    };

    /// The shipped scenario becomes this run, with this queue before the satellite.
    fn changes(&self, network: Network, window: Bytes, queue: &str) -> Changes {
        let size = (self.size)(network);
        let Network { down_kbps, up_kbps, up_ms } = network;
        let network = [
            format!("link.down.rate={down_kbps} kbit/s"),
            format!("link.down.framing={}", self.framing),
            format!("link.down.queue={queue}"),
            format!("link.up.rate={up_kbps} kbit/s"),
            format!("link.up.delay={up_ms} ms"),
            "link.up.queue=unlimited".to_owned(),
            format!("tcp.max_window={} B", window.get()),
            "tcp.first_ack=delayed".to_owned(),
            format!("page.size={} B", size.get()),
        ];
        network.into_iter().chain(self.settings.iter().map(ToString::to_string)).collect()
    }
}

/// A file's way over the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Transfer {
    pub(super) window: Bytes,
    /// In kbit/s.
    pub(super) rate: f64,
    /// Share of its time in which the uplink carries ACKs.
    pub(super) acks: f64,
    /// ACKs for each segment; one for every two is a half.
    pub(super) acks_per_segment: f64,
}

impl Transfer {
    fn new((network, run): (Network, &Run), window: Bytes, load: &Load, connection: &ConnectionSeries) -> Option<Self> {
        let (begin, end) = times(network, run, load)?;
        let time = end - begin;
        let during = || load.link.iter().filter(|sample| sample.start_s >= begin && sample.start_s < end);
        let bits: f64 = during().map(|sample| sample.up_bit_s * sample.span_s).sum();
        let Symbols { ack, mss, headers, .. } = *network.path(window).ok()?.symbols();
        let (arrived, acknowledged) = if load.objects.first()?.end_s <= end {
            // Those of the last window are still to come, or on their way.
            let acknowledged = connection.acknowledged.iter().rfind(|point| point.t_s <= end)?;
            ((run.size)(network).bits_f64(), Bytes::new(acknowledged.sequence).bits_f64())
        } else {
            // What the link has delivered, all but the last of it full segments.
            let carried: f64 = during().map(|sample| sample.down_bit_s * sample.span_s).sum();
            let payload = carried * mss.as_f64() / (mss + headers).as_f64();
            (payload, payload)
        };
        Some(Self {
            window,
            rate: arrived / time / 1000.0,
            acks: bits / (Rate::kbps(network.up_kbps).as_f64() * time),
            acks_per_segment: bits / ack.bits_f64() / (acknowledged / mss.bits_f64()),
        })
    }

    pub(super) fn point(&self) -> (f64, f64) {
        (in_kib(self.window), self.rate)
    }
}

/// When the server had the request, a byte with its headers in the scenario, and when the transfer ends or is ended, in s.
fn times(network: Network, run: &Run, load: &Load) -> Option<(f64, f64)> {
    let on_the_way =
        Rate::kbps(network.up_kbps).transmission_time(Bytes::new(53)) + Duration::from_millis(network.up_ms);
    let file = load.objects.first()?;
    let begin = file.request_s + on_the_way.as_secs_f64();
    Some((begin, run.lasts.map_or(file.end_s, |lasts| file.end_s.min(begin + lasts.as_secs_f64()))))
}

/// Transfers with each maximum window, as they were put into the figure.
fn curve(
    lab: &mut Lab<'_>,
    reproduction: &mut Reproduction,
    figure: Figure,
    network: Network,
    run: &Run,
) -> Vec<Transfer> {
    let (mut transfers, mut failed) = (Vec::new(), None);
    for window in (run.windows)(network) {
        match transfer(lab, network, run, window) {
            Ok(transfer) => transfers.push(transfer),
            Err(reason) => failed = Some(reason),
        }
    }
    let name = format!("uplink {} ms, {} kbit/s, simulated", network.up_ms, network.up_kbps);
    let points: Vec<_> = transfers.iter().map(Transfer::point).collect();
    let mut plot = Plot { reproduction: &mut *reproduction, figure, x: WINDOW, y: THROUGHPUT };
    plot.points(name, Origin::Simulated, run.reading, points);
    if let Some(reason) = failed {
        reproduction.gap(figure, &reason);
    }
    transfers
}

fn transfer(lab: &mut Lab<'_>, network: Network, run: &Run, window: Bytes) -> Result<Transfer, String> {
    let changes = run.changes(network, window, "unlimited");
    let (load, connection) = lab.trace(SCENARIO, Architecture::Direct, &changes)?;
    let transfer = Transfer::new((network, run), window, &load, &connection);
    transfer.ok_or_else(|| "nothing was acknowledged".to_owned())
}

/// The window whose throughput fell in Fig 8.
const FELL: Bytes = Bytes::kib(32);
/// How Fig 9 is read.
const SEQUENCE: &str = "simulated: 60 s as a capture at the server shows it, window of 32 kByte in Fig 8's network; the paper's queue is \
                        not known, and ours was chosen for what it loses";
/// Queues before the modem, for 32 KiB: without losses, and one that takes all but two of the window's 22 segments and those on the way.
const QUEUES: [(&str, &str); 2] = [("no losses", "unlimited"), ("a queue of 17 packets", "17 packets")];

/// Fig 9: with 32 kByte two segments are lost before the satellite, and slow start follows.
fn sequence(lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let figure = Figure::Fig(9);
    let mut found: Vec<(f64, ConnectionSeries)> = Vec::new();
    for (name, queue) in QUEUES {
        let run = Run::EXPERIMENT;
        let changes = run.changes(FIG_8, FELL, queue);
        match lab.trace(SCENARIO, Architecture::Direct, &changes) {
            Ok((load, mut connection)) => {
                let transfer = Transfer::new((FIG_8, &run), FELL, &load, &connection);
                let end = times(FIG_8, &run, &load).map_or(f64::INFINITY, |(_, end)| end);
                let ConnectionSeries { sent, retransmitted, acknowledged, windows, .. } = &mut connection;
                [sent, retransmitted, acknowledged].into_iter().for_each(|all| all.retain(|point| point.t_s <= end));
                windows.retain(|point| point.t_s <= end);
                let rate = transfer.map_or(f64::NAN, |transfer| transfer.rate);
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
