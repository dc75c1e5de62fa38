//! Made-up predictions: what pages wait for, a ranking, users' pages, and a grid.

use farhop_results::{
    Architecture, CacheState, Difference, Distribution, Gap, Grid, GridPoint, Peaks, Quantity, Rank, Results, Row,
    Source, UserTimes, Wait, Waiting,
};

/// Two predicted rows with their waits, and the ranking of both.
pub(crate) fn predictions() -> Results {
    let mut results = crate::sample::results();
    results.loads.clear();
    results.manifest.emulation = None;
    results.gaps.retain(|gap: &Gap| gap.source == Source::Predicted && gap.architecture == Architecture::Tunnel);
    let direct = [(Waiting::Handshake, 2, 1.0), (Waiting::Request, 5, 2.5), (Waiting::Discovery, 1, 0.5)];
    let slow = [(Waiting::SlowStart, 4, 1.9), (Waiting::Transmission, 0, 0.116)];
    let accelerated = [(Waiting::Request, 1, 0.5), (Waiting::Transmission, 0, 0.153)];
    results.rows = vec![
        waiting(Architecture::Direct, direct.into_iter().chain(slow)),
        waiting(Architecture::Accelerated, accelerated.into_iter()),
    ];
    results.ranking = vec![
        rank(Architecture::Accelerated, 0.653, true),
        rank(Architecture::PrefetchConventional, 5.9, false),
        rank(Architecture::Direct, 6.016, false),
    ];
    results
}

fn waiting(architecture: Architecture, waits: impl Iterator<Item = (Waiting, u64, f64)>) -> Row {
    let breakdown: Vec<Wait> =
        waits.map(|(waiting, round_trips, time_s)| Wait { waiting, round_trips, time_s }).collect();
    let page_load_s = breakdown.iter().map(|wait| wait.time_s).sum();
    let row = crate::sample::predicted("farhop", page_load_s, "assumes queues that never drop");
    Row { architecture, breakdown, ..row }
}

fn rank(architecture: Architecture, page_load_s: f64, benefit: bool) -> Rank {
    Rank { architecture, method: "farhop".to_owned(), page_load_s, gain: 6.016 / page_load_s, benefit }
}

/// Simulated users behind three architectures, two of them with pages that were not complete in time.
pub(crate) fn populations() -> Results {
    let mut results = crate::sample::results();
    results.loads.clear();
    results.gaps.clear();
    results.rows = [
        (Architecture::Direct, 3.1, 9.4, 4.02, Some(0.11), 3),
        (Architecture::Rwbp, 2.2, 6.1, 2.71, Some(0.07), 1),
        (Architecture::Accelerated, 1.1, 4.9, 1.63, None, 0),
    ]
    .into_iter()
    .map(|(architecture, p50, p95, mean, error, unfinished)| {
        let users = UserTimes {
            count: 4821,
            page_load_p50_s: p50,
            page_load_p95_s: p95,
            page_load_mean_s: mean,
            page_load_mean_error_s: error,
            object_count: 31_577,
            object_p50_s: p50 / 3.0,
            object_p95_s: p95 / 2.0,
            object_mean_s: mean / 2.5,
            first_byte_p50_s: p50 / 4.0,
            first_byte_p95_s: p95 / 3.0,
            first_byte_mean_s: mean / 3.5,
            goodput_p5_bit_s: 40e3,
            goodput_p50_bit_s: 200e3,
            goodput_mean_bit_s: 250e3,
            down_used: Some(0.4),
            up_used: Some(0.03),
            unfinished,
            peaks: Peaks::default(),
        };
        let row = crate::sample::predicted("linux", p50, "users: zhou-2004");
        Row { architecture, source: Source::Simulated, state: CacheState::Cold, users: Some(users), ..row }
    })
    .collect();
    results.distributions =
        results.rows.iter().flat_map(|row| distributions(row.architecture, row.page_load_s)).collect();
    let means = |of: &[f64]| of.iter().map(|mean| Some(*mean)).collect::<Vec<_>>();
    let direct = (Architecture::Direct, &*means(&[3.8, 4.3, 3.96]));
    let others = [(Architecture::Rwbp, [2.5, 2.96, 2.67]), (Architecture::Accelerated, [1.5, 1.9, 1.49])];
    results.differences = others
        .into_iter()
        .filter_map(|(of, others)| Difference::of((of, &means(&others)), direct, Source::Simulated))
        .collect();
    results
}

/// What users of an architecture met, half of whose pages took so long.
fn distributions(architecture: Architecture, p50_s: f64) -> Vec<Distribution> {
    let of = |quantity, median: f64, interval_s| {
        // Lognormal, nearly: a tenth of the median to ten times it.
        let value = |percent: u32| median * libm::pow(10.0, (f64::from(percent) - 50.0) / 50.0);
        let percentiles = (1..100).map(value).collect();
        let (mean, min, max) = (median * 1.4, median / 20.0, median * 20.0);
        let source = Source::Simulated;
        Distribution { architecture, source, quantity, interval_s, mean, min, max, percentiles }
    };
    vec![
        of(Quantity::PageLoad, p50_s, None),
        of(Quantity::FirstByte, p50_s / 4.0, None),
        of(Quantity::Goodput, 200e3, None),
        of(Quantity::Connections, 12.0, None),
        of(Quantity::DownUsed, 0.08, Some(1.0)),
        of(Quantity::QueueDown, 3000.0, Some(1.0)),
    ]
}

/// Page load times over the way's delay, and over delay and rate with `rates` values of it.
pub(crate) fn grid(rates: u32) -> Grid {
    let point = |delay_ms: u32, rate: u32| {
        let (delay, transmission) = (f64::from(delay_ms) / 1000.0, 14.8 / f64::from(rate));
        let times = [(Architecture::Direct, 12.0), (Architecture::Tunnel, 6.0), (Architecture::Accelerated, 2.0)];
        let values = [format!("{delay_ms} ms"), format!("{rate} Mbit/s")];
        GridPoint {
            values: values.into_iter().take(if rates > 1 { 2 } else { 1 }).collect(),
            times: times.map(|(architecture, trips)| (architecture, trips * delay + transmission)).to_vec(),
        }
    };
    let delays = (10..=800).step_by(if rates > 1 { 79 } else { 10 });
    Grid {
        keys: ["link.down.delay", "link.down.rate"]
            .into_iter()
            .take(if rates > 1 { 2 } else { 1 })
            .map(str::to_owned)
            .collect(),
        points: delays
            .flat_map(|delay| (0..rates).map(move |n| (delay, 2_u32.pow(n))))
            .map(|(d, r)| point(d, r))
            .collect(),
    }
}
