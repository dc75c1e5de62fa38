//! obata-2001: TCP throughput over window sizes, uplink delays and uplink rates.
//!
//! Table 1 has 25 ms for the uplink delay that text and Fig 5 have as 30 ms; both are here. "kByte" is 1024 B, for window and file
//! alike. Simulations send the file of Table 1 (1024 kByte); experiments ran for 60 s, which is read as what the downlink carries then.
//! The paper assumes that nothing is sent again (§3), so that no queue here drops, but for Fig 9's.

mod claims;
pub(crate) mod experiments;

use crate::filling::{Fill, Plot, kbit_s};
use farhop_model::mended::{self, Mends};
use farhop_model::obata_2001::{
    Cycle, Readings, Redundancy, eq1_next_window, eq13_saturation_window, hasegawa_mean_throughput, table_1, throughput,
};
use farhop_model::{ModelError, Path, Segments, Symbols};
use farhop_results::reproduction::{Axis, Figure, Origin, Reproduction};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

const FILE: Bytes = Bytes::kib(1024);
/// How long experiments ran.
const EXPERIMENT: Duration = Duration::from_secs(60);
/// Windows of the simulations, in KiB; there is one more, Eq 13's.
const SIMULATED: [u64; 7] = [4, 8, 16, 32, 64, 128, 192];

/// One network of the paper.
#[derive(Debug, Clone, Copy)]
struct Network {
    down_kbps: u64,
    up_kbps: u64,
    up_ms: u64,
}

impl Network {
    const fn new(down_kbps: u64, up_kbps: u64, up_ms: u64) -> Self {
        Self { down_kbps, up_kbps, up_ms }
    }

    /// Table 1 with this window.
    fn path(self, window: Bytes) -> Result<Path, ModelError> {
        Path::new(Symbols {
            down_rate: Some(Rate::kbps(self.down_kbps)),
            up_rate: Some(Rate::kbps(self.up_kbps)),
            ..table_1(Duration::from_millis(self.up_ms), window)
        })
    }

    /// Eq 13's W_th.
    fn saturation_window(self) -> Option<Segments> {
        eq13_saturation_window(&self.path(Bytes::kib(64)).ok()?)
    }

    /// §4.2's windows for simulations: seven, and that at which the throughput saturates.
    fn simulated_windows(self) -> Vec<Bytes> {
        let mss = table_1(Duration::ZERO, FILE).mss;
        let saturation = self.saturation_window().map(|window| in_bytes(window.as_f64() * mss.as_f64()));
        let mut windows: Vec<Bytes> = SIMULATED.into_iter().map(Bytes::kib).chain(saturation).collect();
        windows.sort_unstable();
        windows
    }
}

/// Whole ones.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "windows have some kilobytes")]
fn in_bytes(bytes: f64) -> Bytes {
    Bytes::new(bytes as u64)
}

/// A window as the figures' axes have it, in KiB.
fn in_kib(window: Bytes) -> f64 {
    window.as_f64() / 1024.0
}

/// Fig 5's delays; Table 1's third is 25 ms.
const FIG_5: [Network; 4] =
    [Network::new(2048, 64, 250), Network::new(2048, 64, 125), Network::new(2048, 64, 30), Network::new(2048, 64, 25)];
/// Fig 6's uplink rates.
const FIG_6: [Network; 3] = [Network::new(2048, 64, 125), Network::new(2048, 16, 125), Network::new(2048, 4, 125)];
/// Satellite both ways.
const FIG_7: Network = Network::new(64, 64, 250);
/// Satellite down, Internet up; Fig 10 is the same with other computers.
const FIG_8: Network = Network::new(64, 737, 25);
const FIG_11: Network = Network::new(2048, 872, 19);
/// What §4.3 says of the downlink's utilization once throughput saturates, in %.
const FIG_10_UTILIZATION: f64 = 94.4;
const FIG_11_UTILIZATION: f64 = 89.6;
/// The largest window of the experiments, in KiB.
const LARGEST: u32 = 128;

pub(crate) fn reproduce() -> Reproduction {
    let mut reproduction = Reproduction::default();
    saturation_windows(&mut reproduction);
    utilization(&mut reproduction);
    simulated_throughputs(&mut reproduction);
    window_growth(&mut reproduction);
    simulations(&mut reproduction);
    let networks = [
        (7, "symmetric", FIG_7, None),
        (8, "asymmetric", FIG_8, None),
        (10, "asymmetric", FIG_8, Some(FIG_10_UTILIZATION)),
        (11, "asymmetric", FIG_11, Some(FIG_11_UTILIZATION)),
    ];
    for (figure, name, network, utilization) in networks {
        experiments(&mut reproduction, Figure::Fig(figure), name, network, utilization);
    }
    reproduction
}

fn saturation_windows(reproduction: &mut Reproduction) {
    for network in FIG_5 {
        let window = network.saturation_window();
        let quantity = format!("saturation window W_th, uplink {} ms (segments)", network.up_ms);
        let reading = "Eq 13 with P of 1500 B, 2048 and 64 kbit/s; Fig 5's 30 ms are 25 ms in Table 1";
        reproduction.row(Figure::Eq(13), quantity, None, window.map_or(f64::NAN, Segments::as_f64), reading);
    }
}

/// α of the VSAT modem.
fn vsat() -> Readings {
    let redundancy = Redundancy::new(16, 15).unwrap_or(Redundancy::NONE);
    Readings { redundancy, ..Readings::default() }
}

/// What the downlink carries during an experiment.
fn experiment_size(network: Network) -> Bytes {
    Rate::kbps(network.down_kbps).bytes_in(EXPERIMENT)
}

fn utilization(reproduction: &mut Reproduction) {
    let cases = [
        (
            10,
            FIG_8,
            FIG_10_UTILIZATION,
            vsat(),
            "Eq 10 with Eq 5' (α = 16/15); α and 1448/1500 allow 90.5 %, which the text's number exceeds, and ours as Eq 9 leaves both out of the last window",
        ),
        (10, FIG_8, FIG_10_UTILIZATION, Readings::default(), "Eq 10 with Eq 5, without the modem's redundancy"),
        (11, FIG_11, FIG_11_UTILIZATION, vsat(), "Eq 10 with Eq 5' (α = 16/15)"),
    ];
    for (figure, network, published, readings, reading) in cases {
        let rate =
            network.path(Bytes::kib(128)).and_then(|path| throughput(&path, experiment_size(network), &readings));
        let down = Rate::kbps(network.down_kbps).as_f64();
        let share = rate.map_or(f64::NAN, |rate| rate.as_f64() / down * 100.0);
        let quantity = "utilization of the downlink, window of 128 kByte (%)";
        let reading = format!("{reading}; 60 s of data");
        reproduction.row(Figure::Fig(figure), quantity, Some(published), share, &reading);
    }
}

fn simulated_throughputs(reproduction: &mut Reproduction) {
    let figures = [(5, &FIG_5[..]), (6, &FIG_6[..])];
    for (figure, networks) in figures {
        for network in networks {
            for window in network.simulated_windows() {
                let path = network.path(window);
                let rate = path.and_then(|path| throughput(&path, FILE, &Readings::default()));
                let quantity = format!(
                    "throughput, uplink {} ms {} kbit/s, window {:.0} kByte (kbit/s)",
                    network.up_ms,
                    network.up_kbps,
                    in_kib(window)
                );
                let reading = match SIMULATED.map(Bytes::kib).contains(&window) {
                    true => "Eq 10, windows in real numbers of segments",
                    false => "Eq 10, windows in real numbers of segments; Eq 13's window",
                };
                reproduction.row(Figure::Fig(figure), quantity, None, rate.map_or(f64::NAN, kbit_s), reading);
            }
        }
    }
}

fn window_growth(reproduction: &mut Reproduction) {
    let (x, y) = (Axis::linear("transmission n", "1"), Axis::linear("window w(n)", "segments"));
    let mut plot = Plot { reproduction, figure: Figure::Fig(2), x, y };
    plot.line("slow start up to 64 kByte", "Eq 1, then the maximum window", 0..=15_u32, |n| {
        let full = 65_536.0 / 1448.0;
        let grown = (0..n).fold(Segments::ONE, |window, _| eq1_next_window(window));
        Ok(grown.as_f64().min(full))
    });
}

const WINDOW: Axis = Axis::linear("maximum window", "kByte");
const THROUGHPUT: Axis = Axis::linear("throughput", "kbit/s");

fn simulations(reproduction: &mut Reproduction) {
    for (figure, networks) in [(5, &FIG_5[..]), (6, &FIG_6[..])] {
        let mut plot = Plot { reproduction: &mut *reproduction, figure: Figure::Fig(figure), x: WINDOW, y: THROUGHPUT };
        for network in networks {
            let way = format!("uplink {} ms, {} kbit/s", network.up_ms, network.up_kbps);
            plot.line(way.as_str(), "Eq 10, windows in real numbers of segments", 2..=192_u32, |window| {
                let path = network.path(Bytes::kib(u64::from(window)))?;
                throughput(&path, FILE, &Readings::default()).map(kbit_s)
            });
            plot.mended(format!("{way}, mended"), "Eq 10 with every mend, as packets behave", 2..=192_u32, |window| {
                let path = network.path(Bytes::kib(u64::from(window)))?;
                mended::obata_2001::throughput(&path, FILE, &Readings::default(), Mends::ALL).map(kbit_s)
            });
        }
    }
}

/// An experiment's throughput by the paper's formula, in kbit/s.
fn proposed(network: Network, window: Bytes) -> Result<f64, ModelError> {
    throughput(&network.path(window)?, experiment_size(network), &vsat()).map(kbit_s)
}

/// The same by the formula of [4], in kbit/s.
fn existing(network: Network, window: Bytes, cycle: Cycle) -> Result<f64, ModelError> {
    let path = network.path(window)?;
    hasegawa_mean_throughput(&path, &vsat(), cycle).map(kbit_s).ok_or(ModelError::UnlimitedWindow)
}

/// Readings of [4], whose own equations are not quoted: the text's, and one with which it overestimates as the text says.
const EXISTING: [(&str, Cycle, &str); 2] = [
    (
        "existing formula",
        Cycle::Sawtooth,
        "[4] by §3.1 and Fig 3, the mean of a window that climbs from half to all of the largest; its own equations are not quoted",
    ),
    (
        "existing formula, full window",
        Cycle::Full,
        "[4] if its window stays full, which is not in the text, but overestimates as §4.3 says; its own equations are not quoted",
    ),
];

fn experiments(
    reproduction: &mut Reproduction,
    figure: Figure,
    name: &str,
    network: Network,
    utilization: Option<f64>,
) {
    let mut plot = Plot { reproduction, figure, x: WINDOW, y: THROUGHPUT };
    plot.line(format!("{name}, proposed"), "Eq 10 with Eq 5' (α = 16/15), 60 s of data", 2..=LARGEST, |window| {
        proposed(network, Bytes::kib(u64::from(window)))
    });
    for (formula, cycle, reading) in EXISTING {
        plot.line(format!("{name}, {formula}"), reading, 2..=LARGEST, |window| {
            existing(network, Bytes::kib(u64::from(window)), cycle)
        });
    }
    if let Some(percent) = utilization {
        let reading =
            format!("§4.3: {percent} % of the downlink's rate once throughput saturates, here at the largest window");
        let rate = kbit_s(Rate::kbps(network.down_kbps)) * percent / 100.0;
        plot.points(format!("the text's {percent} %"), Origin::Text, &reading, [(f64::from(LARGEST), rate)]);
    }
}
