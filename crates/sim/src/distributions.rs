//! What a population or a log met, in full: the distributions behind a row of many, and of users replication by replication.
//!
//! Replication n of two simulations with the same seed has the same users, who want the same, so that simulations are compared
//! replication by replication.

use crate::log::Replayed;
use crate::meter::Usage;
use crate::metrics::{Histogram, Metrics, Times};
use crate::population::Replication;
use crate::report;
use farhop_link::Direction;
use farhop_results::{Architecture, Distribution, Quantity, Source};
use farhop_scenario::Scenario;

/// Response times of all that a population asked for in the measured time and got.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    /// What the far link carried.
    pub architecture: Architecture,
    /// From asking for a page to its last byte.
    pub pages: ResponseTimes,
    /// From asking for an object to its last byte.
    pub objects: ResponseTimes,
    /// Shares of the far link's rate that were used, down and up; `None` where it is unlimited.
    pub used: [Option<f64>; 2],
    /// Pages that were not complete at the end.
    pub unfinished: u64,
    /// Packets that the far link dropped, in all replications.
    pub dropped: u64,
}

/// Response times, together and by replication.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseTimes {
    all: Times,
    replications: Vec<Times>,
}

impl Population {
    pub(crate) fn new(architecture: Architecture, all: &[Replication], used: [Option<f64>; 2]) -> Self {
        let of = |times: fn(&Replication) -> &Times| {
            let replications: Vec<Times> = all.iter().map(|replication| times(replication).clone()).collect();
            let mut all = Times::default();
            replications.iter().for_each(|replication| all.merge(replication));
            ResponseTimes { all, replications }
        };
        Self {
            architecture,
            pages: of(|replication| &replication.metrics.pages),
            objects: of(|replication| &replication.metrics.objects),
            used,
            unfinished: all.iter().map(|replication| replication.unfinished).sum(),
            dropped: all.iter().map(|replication| replication.dropped.link()).sum(),
        }
    }
}

impl ResponseTimes {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.all.count()
    }

    /// The mean of all, in s.
    pub fn mean(&self) -> f64 {
        self.all.mean()
    }

    /// The time in s that so many per cent do not exceed.
    pub fn percentile(&self, percent: u64) -> f64 {
        self.all.percentile(percent)
    }

    /// Each replication's mean, in s; `None` of one without any.
    pub fn means(&self) -> Vec<Option<f64>> {
        self.by_replication(Times::mean)
    }

    /// Each replication's percentile, in s; `None` of one without any.
    pub fn percentiles(&self, percent: u64) -> Vec<Option<f64>> {
        self.by_replication(|times| times.percentile(percent))
    }

    fn by_replication(&self, of: impl Fn(&Times) -> f64) -> Vec<Option<f64>> {
        self.replications.iter().map(|times| (times.count() > 0).then(|| of(times))).collect()
    }

    /// The cumulative distribution in whole per cents: the time in s that so many per cent do not exceed, and how many per cent;
    /// of several that share a time the last.
    pub fn cumulative(&self) -> Vec<(f64, f64)> {
        farhop_results::cumulative((1..100).map(|percent| self.percentile(percent)))
    }
}

/// All distributions behind a row of users.
pub(crate) fn of_users(scenario: &Scenario, architecture: Architecture, all: &[Replication]) -> Vec<Distribution> {
    let many = all.iter().map(|one| (&one.metrics, &one.connections, &one.usage));
    let capacities = Direction::BOTH.map(|direction| report::peak_for_users(scenario, direction));
    Many::of(many)
        .map(|many| many.told(architecture, [Quantity::PageLoad, Quantity::Object], capacities))
        .unwrap_or_default()
}

/// All distributions behind a row of a log.
pub(crate) fn of_log(scenario: &Scenario, architecture: Architecture, all: &[Replayed]) -> Vec<Distribution> {
    let many = all.iter().map(|one| (&one.metrics, &one.sessions, &one.usage));
    let capacities = Direction::BOTH.map(|direction| report::peak_for_log(scenario, direction));
    Many::of(many)
        .map(|many| many.told(architecture, [Quantity::Request, Quantity::Object], capacities))
        .unwrap_or_default()
}

/// What replications have measured, together.
struct Many {
    metrics: Metrics,
    connections: Histogram,
    usage: Usage,
}

impl Many {
    fn of<'a>(mut all: impl Iterator<Item = (&'a Metrics, &'a Histogram, &'a Usage)>) -> Option<Self> {
        let (metrics, connections, usage) = all.next()?;
        let mut many = Self { metrics: metrics.clone(), connections: connections.clone(), usage: usage.clone() };
        for (metrics, connections, usage) in all {
            many.metrics.merge(metrics);
            many.connections.merge(connections);
            many.usage.merge(usage);
        }
        Some(many)
    }

    /// As results tell it; `capacities` are the most that the link carries, down and up, in bit/s.
    fn told(
        &self,
        architecture: Architecture,
        [of_whole, of_each]: [Quantity; 2],
        capacities: [Option<f64>; 2],
    ) -> Vec<Distribution> {
        const NANOSECOND: f64 = 1e-9;
        let Self { metrics, connections, usage } = self;
        let interval_s = usage.interval.as_secs_f64();
        let mut out = Vec::new();
        let mut tell = |quantity, histogram: &Histogram, (unit, interval_s): (f64, Option<f64>)| {
            out.extend(
                distribution((architecture, quantity), histogram, unit).map(|told| Distribution { interval_s, ..told }),
            );
        };
        tell(of_whole, metrics.pages.nanos(), (NANOSECOND, None));
        tell(of_each, metrics.objects.nanos(), (NANOSECOND, None));
        tell(Quantity::FirstByte, metrics.first_bytes.nanos(), (NANOSECOND, None));
        tell(Quantity::Goodput, &metrics.goodputs, (1.0, None));
        tell(Quantity::Connections, connections, (1.0, None));
        for (direction, used, queue) in [
            (Direction::Down, Quantity::DownUsed, Quantity::QueueDown),
            (Direction::Up, Quantity::UpUsed, Quantity::QueueUp),
        ] {
            if let Some(capacity) = capacities[direction as usize] {
                tell(used, &usage.carried[direction as usize], (8.0 / (capacity * interval_s), Some(interval_s)));
            }
            tell(queue, &usage.queued[direction as usize], (1.0, Some(interval_s)));
        }
        out
    }
}

/// What a histogram of values in this unit tells, if it has any.
fn distribution(
    (architecture, quantity): (Architecture, Quantity),
    values: &Histogram,
    unit: f64,
) -> Option<Distribution> {
    let told = |value: u64| report::as_f64(value) * unit;
    (values.count() > 0).then(|| Distribution {
        architecture,
        source: Source::Simulated,
        quantity,
        interval_s: None,
        mean: values.mean() * unit,
        min: told(values.least()),
        max: told(values.most()),
        percentiles: values.percentiles(1..100).map(told).collect(),
    })
}

#[cfg(test)]
mod tests {
    use crate::{Simulation, simulate};
    use farhop_results::{Architecture, Distribution, Quantity, Row};

    fn simulation(name: &str, settings: &[&str]) -> Simulation {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        simulate(&farhop_scenario::open(name, &settings).expect("the settings are right"), 3)
    }

    fn users(more: &[&str]) -> Simulation {
        let settings = ["users.model=zhou-2004", "users.duration=2 min", "users.warm_up=20 s", "access.terminals=4"];
        simulation("rwbp-128", &[&settings, more].concat())
    }

    /// The row of `direct` and one of its distributions.
    fn of_direct(simulation: &Simulation, quantity: Quantity) -> (&Row, Option<&Distribution>) {
        let is_direct = |architecture: Architecture| architecture == Architecture::Direct;
        let row = simulation.rows.iter().find(|row| is_direct(row.architecture)).expect("it is simulated");
        let all = &simulation.distributions;
        (row, all.iter().find(|one| is_direct(one.architecture) && one.quantity == quantity))
    }

    fn direct(simulation: &Simulation, quantity: Quantity) -> &Distribution {
        of_direct(simulation, quantity).1.expect("it is told")
    }

    fn assert_same(told: &[(f64, f64)]) {
        assert!(told.iter().all(|(one, other)| (one - other).abs() <= 1e-9 * one.abs()), "{told:?}");
    }

    #[test]
    fn distributions_of_users_are_those_of_the_row() {
        let simulation = users(&[]);
        let found = simulation.populations.iter().find(|found| found.architecture == Architecture::Direct);
        let (row, pages) = of_direct(&simulation, Quantity::PageLoad);
        let (found, pages) = (found.expect("it has users"), pages.expect("it has users"));
        let users = row.users.expect("it has users");
        assert_eq!((found.pages.count(), found.objects.count()), (users.count, users.object_count));
        assert_eq!(found.pages.percentile(50).to_bits(), users.page_load_p50_s.to_bits());
        assert_eq!(found.pages.means().len(), row.runs as usize);
        assert!(found.pages.cumulative().is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        assert_eq!(found.pages.cumulative().len(), pages.cumulative().len());
        let of = |quantity| direct(&simulation, quantity);
        let at = |quantity, percent| of(quantity).percentile(percent).expect("it is a per cent");
        assert_same(&[
            (users.page_load_p50_s, at(Quantity::PageLoad, 50)),
            (users.page_load_mean_s, pages.mean),
            (row.page_load_max_s, pages.max),
            (users.object_p95_s, at(Quantity::Object, 95)),
            (users.first_byte_p50_s, at(Quantity::FirstByte, 50)),
            (users.first_byte_p95_s, at(Quantity::FirstByte, 95)),
            (users.first_byte_mean_s, of(Quantity::FirstByte).mean),
            (users.goodput_p5_bit_s, at(Quantity::Goodput, 5)),
            (users.goodput_p50_bit_s, at(Quantity::Goodput, 50)),
            (users.goodput_mean_bit_s, of(Quantity::Goodput).mean),
        ]);
        assert_eq!(row.first_byte_s, Some(users.first_byte_p50_s));
        // All intervals are whole here: their mean is the whole.
        let used = [(users.down_used, Quantity::DownUsed), (users.up_used, Quantity::UpUsed)];
        assert_same(&used.map(|(share, quantity)| (share.expect("rates are limited"), of(quantity).mean)));
        assert!(used.iter().all(|(share, _)| share.is_some_and(|share| share > 0.0 && share < 1.0)), "{used:?}");
        assert_eq!(found.used, used.map(|(share, _)| share));
    }

    #[test]
    fn every_goodput_is_below_the_rate_and_every_interval_is_full_at_most() {
        let simulation = users(&["link.down.rate=300 kbit/s", "access.scheme=cfdama"]);
        for (quantity, most) in [(Quantity::Goodput, 300e3), (Quantity::DownUsed, 1.01), (Quantity::UpUsed, 1.01)] {
            let found = direct(&simulation, quantity);
            assert!(found.min >= 0.0 && found.max > found.mean && found.max <= most, "{found:?}");
        }
        let (row, queue) = of_direct(&simulation, Quantity::QueueDown);
        let (queue, peaks) = (queue.expect("it is told"), row.users.expect("it has users").peaks);
        assert!(queue.mean > 0.0 && queue.interval_s == Some(1.0), "{queue:?}");
        assert!(queue.max <= f64::from(u32::try_from(peaks.peak_queue_down_bytes).unwrap_or(0)), "{queue:?}");
        let connections = direct(&simulation, Quantity::Connections);
        assert!(
            connections.mean > 1.0 && connections.max <= f64::from(u32::try_from(peaks.peak_connections).unwrap_or(0))
        );
    }

    #[test]
    fn connections_are_gone_while_users_think() {
        let simulation = users(&["access.terminals=1", "http.version=1.0"]);
        let connections = direct(&simulation, Quantity::Connections);
        assert_eq!((connections.percentile(5), connections.interval_s), (Some(0.0), None), "{connections:?}");
        assert!(connections.mean > 0.0 && connections.max >= 1.0, "{connections:?}");
    }

    #[test]
    fn what_is_unlimited_is_not_used_in_shares() {
        let simulation = users(&["link.up.rate=unlimited", "access.scheme=dedicated"]);
        let (row, used) = of_direct(&simulation, Quantity::UpUsed);
        assert_eq!((row.users.expect("it has users").up_used, used), (None, None));
    }

    #[test]
    fn a_logs_requests_are_told_as_distributions() {
        let simulation = simulation("nz-us-log", &["run.architectures=direct"]);
        let (row, requests) = of_direct(&simulation, Quantity::Request);
        let (log, requests) = (row.log.expect("it is a log"), requests.expect("it is a log"));
        let at = |quantity, percent| direct(&simulation, quantity).percentile(percent).expect("it is a per cent");
        assert_same(&[
            (log.sample_p50_s, at(Quantity::Request, 50)),
            (log.sample_mean_s, requests.mean),
            (log.sample_first_byte_p95_s, at(Quantity::FirstByte, 95)),
            (log.sample_goodput_p5_bit_s, at(Quantity::Goodput, 5)),
        ]);
        let first = direct(&simulation, Quantity::FirstByte);
        assert!(first.min > 0.0 && first.mean < requests.mean, "{first:?}");
        let shares = [log.down_used, log.up_used].map(|used| used.expect("rates are limited"));
        let told = [Quantity::DownUsed, Quantity::UpUsed].map(|quantity| direct(&simulation, quantity).mean);
        // The last second is not whole.
        assert!(shares.iter().zip(told).all(|(share, told)| (share / told - 1.0).abs() < 0.01), "{shares:?}, {told:?}");
        assert!(of_direct(&simulation, Quantity::PageLoad).1.is_none());
    }
}
