//! The twelve configurations, over a log whose load is raised.

use crate::comparison::less;
use crate::lab::{Effort, in_parallel, scenario};
use farhop_results::{Architecture, RequestTimes, Sample};
use farhop_scenario::{Log, Scenario};
use farhop_units::Bytes;
use farhop_web::logs::{LogRecord, Parameters, generate, generate_hosts, merge_days};
use std::sync::Arc;

/// The base case's mean latency, in s.
pub(super) const BASE: f64 = 2.8;
/// Days of July.
const DAYS: u32 = 31;
const SEED: u64 = 1;
/// Generated with other seeds: what differs from log to log is chance.
const OTHER_LOGS: u64 = 7;
/// Of fits: as many halvings leave nothing to be seen.
const HALVINGS: u32 = 16;
/// One-way delays, to the USA and back, in ms.
const LINKS: [(&str, u32, u32); 3] = [("TT", 60, 60), ("ST", 60, 320), ("SS", 320, 320)];

/// One of the twelve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) proxy: bool,
    /// Place in [`LINKS`].
    pub(super) link: usize,
    pub(super) persistent: bool,
}

impl Way {
    /// All, the base case first.
    pub(super) fn all() -> Vec<Self> {
        let ways =
            |proxy| (0..3).flat_map(move |link| [false, true].map(|persistent| Self { proxy, link, persistent }));
        [false, true].into_iter().flat_map(ways).collect()
    }

    pub(super) fn of(proxy: bool, link: &str, persistent: bool) -> Self {
        let link = LINKS.iter().position(|(name, ..)| *name == link).unwrap_or(0);
        Self { proxy, link, persistent }
    }

    /// No proxy, cables, HTTP/1.0.
    pub(super) fn base() -> Self {
        Self::of(false, "TT", false)
    }

    /// Among all.
    fn place(self) -> usize {
        Self::all().iter().position(|other| *other == self).unwrap_or(0)
    }

    /// As the paper calls it.
    pub(super) fn name(self) -> String {
        let (proxy, version) =
            (if self.proxy { "proxy" } else { "no proxy" }, if self.persistent { "1.1" } else { "1.0" });
        format!("{proxy}, {}, HTTP/{version}", LINKS[self.link].0)
    }

    /// The shipped scenario with Table 1's values for this way.
    fn scenario(self, log: Log) -> Result<Scenario, String> {
        let (_, up, down) = LINKS[self.link];
        let changes = [
            format!("link.up.delay={up} ms"),
            format!("link.down.delay={down} ms"),
            format!("http.version={}", if self.persistent { "1.1" } else { "1.0" }),
        ];
        let architecture = if self.proxy { Architecture::Multiplexed } else { Architecture::Direct };
        Ok(Scenario { log: Some(log), ..scenario("nz-us-log", architecture, &changes)? })
    }

    /// What becomes of a log's requests.
    fn replayed(self, log: &Log) -> Result<RequestTimes, String> {
        let mut simulation = farhop_sim::simulate(&self.scenario(log.clone())?, SEED);
        if let Some(gap) = simulation.gaps.first() {
            return Err(format!("{}: {}", self.name(), gap.reason));
        }
        simulation.rows.pop().and_then(|row| row.log).ok_or_else(|| "the scenario has no log".to_owned())
    }

    fn latency(self, log: &Log) -> Result<f64, String> {
        self.replayed(log).map(|times| times.sample_mean_s)
    }
}

/// All twelve over all loads.
#[derive(Debug)]
pub(crate) struct Experiment {
    /// Between the proxies.
    pub(super) connections: usize,
    pub(super) server_time: f64,
    pub(super) others: Vec<OtherFit>,
    pub(super) effort: Effort,
    /// Mean latencies of all ways at the base load, for each of some logs: the first is this one's.
    pub(super) logs: Vec<Vec<f64>>,
    /// Requests of each load.
    pub(super) loads: Vec<u32>,
    /// By way, as in [`Way::all`], then by load.
    pub(super) results: Vec<Vec<RequestTimes>>,
}

impl Experiment {
    /// Runs it all.
    pub(crate) fn run(effort: Effort, say: &mut dyn FnMut(&str)) -> Result<Self, String> {
        say("nz-us-2000: fitting the base case");
        let base = log(SEED, 1, 0);
        let server_time = fitted_server_time(&base)?;
        let others = OTHER_FITS.iter().map(|time| OtherFit::new(*time, &base)).collect::<Result<_, String>>()?;
        let (mut sizes, mut results) = (Vec::new(), vec![Vec::new(); Way::all().len()]);
        for (days, copies) in loads(effort) {
            let log = Log { server_time, ..log(SEED, *days, *copies) };
            let size = u32::try_from(log.records.len()).unwrap_or(u32::MAX) * (copies + 1);
            say(&format!("nz-us-2000: twelve ways, {size} requests"));
            sizes.push(size);
            let found = in_parallel(&Way::all(), |way| way.replayed(&log));
            for (of_way, found) in results.iter_mut().zip(found) {
                of_way.push(found?);
            }
        }
        say(&format!("nz-us-2000: {OTHER_LOGS} other logs"));
        let own = results.iter().map(|of_way| of_way[0].sample_mean_s).collect();
        let seeds: Vec<u64> = (SEED + 1..=SEED + OTHER_LOGS).collect();
        let found = in_parallel(&seeds, |seed| latencies(*seed)).into_iter();
        let logs = core::iter::once(Ok(own)).chain(found).collect::<Result<_, String>>()?;
        let connections = Way::base().scenario(base)?.multiplexed_connections;
        Ok(Self { connections, server_time, others, effort, logs, loads: sizes, results })
    }

    pub(super) fn of(&self, way: Way) -> &[RequestTimes] {
        &self.results[way.place()]
    }

    /// Place of the highest load.
    pub(super) fn highest(&self) -> usize {
        self.loads.len().saturating_sub(1)
    }

    /// "The first way takes less time than the second at the base load", in a claim's two parts: judged log by log.
    pub(super) fn is_faster(&self, fast: Way, slow: Way) -> [bool; 2] {
        less(&self.pairs(fast, slow))
    }

    /// What the first way saves of the second's time over all logs, in words.
    pub(super) fn saving(&self, fast: Way, slow: Way) -> String {
        let saved = Sample::new(self.pairs(fast, slow).iter().map(|(fast, slow)| (1.0 - fast / slow) * 100.0));
        let [mean, error] = [saved.mean(), saved.mean_error()].map(|number| number.unwrap_or(f64::NAN));
        format!("{mean:.1} ± {error:.1} %")
    }

    fn pairs(&self, first: Way, second: Way) -> Vec<(f64, f64)> {
        let [first, second] = [first, second].map(Way::place);
        self.logs.iter().map(|latencies| (latencies[first], latencies[second])).collect()
    }

    /// Of the base load, in s.
    pub(super) fn latency(&self, way: Way) -> f64 {
        self.of(way)[0].sample_mean_s
    }
}

/// Days and copies of each load; the last is more than the link carries.
fn loads(effort: Effort) -> &'static [(u32, u32)] {
    match effort {
        Effort::Full => &[(1, 0), (DAYS, 0), (DAYS, 7), (DAYS, 15), (DAYS, 17)],
        Effort::Quick => &[(1, 0), (8, 0)],
    }
}

/// A log of so many days' hours, with so many copies.
fn log(seed: u64, days: u32, copies: u32) -> Log {
    let day = |day| generate(&Parameters { day, ..Parameters::default() }, seed);
    Log {
        records: merge_days((0..days).map(day).collect()).into(),
        hosts: generate_hosts(&Parameters::default(), seed),
        copies,
        shift: Parameters::default().interval / (copies + 1),
        server_time: 1.0,
        notes: Vec::new(),
    }
}

/// What the recorded times of a log are multiplied by; in thousandths, as it is told, so that others who take it have the same numbers.
fn fitted_server_time(log: &Log) -> Result<f64, String> {
    let fitted = fitted((0.0, 4.0), |factor| Way::base().latency(&Log { server_time: factor, ..log.clone() }))?;
    Ok((fitted * 1000.0).round() / 1000.0)
}

/// Mean latencies of all ways at the base load of the log with this seed, which is fitted as ours.
fn latencies(seed: u64) -> Result<Vec<f64>, String> {
    let log = log(seed, 1, 0);
    let log = Log { server_time: fitted_server_time(&log)?, ..log };
    Way::all().into_iter().map(|way| way.latency(&log)).collect()
}

/// Where between two values the base case has its 2.8 s; latency grows with it.
fn fitted((mut low, mut high): (f64, f64), latency: impl Fn(f64) -> Result<f64, String>) -> Result<f64, String> {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if latency(middle)? < BASE { low = middle } else { high = middle }
    }
    Ok(f64::midpoint(low, high))
}

/// Other logs that have the base case's 2.8 s as well: what recorded times are multiplied by, and what sizes of replies then must be.
const OTHER_FITS: [f64; 2] = [0.5, 0.1];

/// A fit, and the mean latencies of all ways with it.
#[derive(Debug)]
pub(super) struct OtherFit {
    pub(super) server_time: f64,
    pub(super) size: f64,
    pub(super) latencies: Vec<f64>,
}

impl OtherFit {
    fn new(server_time: f64, log: &Log) -> Result<Self, String> {
        let with = |size| Log { server_time, records: scaled(&log.records, size), ..log.clone() };
        let size = fitted((0.1, 100.0), |size| Way::base().latency(&with(size)))?;
        let log = with(size);
        let latencies = in_parallel(&Way::all(), |way| way.latency(&log));
        Ok(Self { server_time, size, latencies: latencies.into_iter().collect::<Result<_, String>>()? })
    }
}

/// The same with replies so many times as large.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "replies have some megabytes")]
fn scaled(records: &[LogRecord], factor: f64) -> Arc<[LogRecord]> {
    let reply = |record: &LogRecord| Bytes::new((record.reply_bytes.as_f64() * factor) as u64);
    records.iter().map(|record| LogRecord { reply_bytes: reply(record), ..record.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fit_is_what_is_told_and_what_the_scenario_has() {
        let fitted = fitted_server_time(&log(SEED, 1, 0)).expect("it can be simulated");
        assert_eq!(format!("{fitted:.3}").parse(), Ok(fitted));
        let shipped = scenario("nz-us-log", Architecture::Direct, &[]).expect("it is shipped").log.expect("it has one");
        assert!((shipped.server_time - fitted).abs() < 1e-9, "{} and {fitted}", shipped.server_time);
    }
}
