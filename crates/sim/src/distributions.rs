//! What a population met, in full: the distributions behind a row of users, replication by replication.
//!
//! Replication n of two simulations with the same seed has the same users, who want the same, so that simulations are compared
//! replication by replication.

use crate::metrics::Histogram;
use crate::population::Replication;
use farhop_results::{Architecture, Sample};

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
}

/// Response times, together and by replication.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseTimes {
    all: Histogram,
    replications: Vec<Histogram>,
}

impl Population {
    pub(crate) fn new(architecture: Architecture, all: &[Replication], used: [Option<f64>; 2]) -> Self {
        let of = |times: fn(&Replication) -> &Histogram| {
            let replications: Vec<Histogram> = all.iter().map(|replication| times(replication).clone()).collect();
            let mut all = Histogram::default();
            replications.iter().for_each(|replication| all.merge(replication));
            ResponseTimes { all, replications }
        };
        Self {
            architecture,
            pages: of(|replication| &replication.metrics.pages),
            objects: of(|replication| &replication.metrics.objects),
            used,
            unfinished: all.iter().map(|replication| replication.unfinished).sum(),
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

    /// Each replication's mean, in s.
    pub fn means(&self) -> Sample {
        Sample::new(self.replications.iter().map(Histogram::mean))
    }

    /// Each replication's percentile, in s.
    pub fn percentiles(&self, percent: u64) -> Sample {
        Sample::new(self.replications.iter().map(|replication| replication.percentile(percent)))
    }

    /// The cumulative distribution in whole per cents: the time in s that so many per cent do not exceed, and how many per cent;
    /// of several that share a time the last.
    pub fn cumulative(&self) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for percent in 1..100_u32 {
            let time = self.percentile(u64::from(percent));
            points.pop_if(|last| last.0 >= time);
            points.push((time, f64::from(percent)));
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use crate::simulate;
    use farhop_results::Architecture;

    #[test]
    fn distributions_are_those_of_the_row() {
        let settings = ["users.model=zhou-2004", "users.duration=2 min", "users.warm_up=20 s", "access.terminals=4"];
        let scenario = farhop_scenario::open("rwbp-128", &settings.map(str::to_owned)).expect("the settings are right");
        let simulation = simulate(&scenario, 3);
        let row = simulation.rows.iter().find(|row| row.architecture == Architecture::Direct).expect("it is simulated");
        let found = simulation.populations.iter().find(|found| found.architecture == Architecture::Direct);
        let (found, users) = (found.expect("it has users"), row.users.expect("it has users"));
        assert_eq!((found.pages.count(), found.objects.count()), (users.count, users.object_count));
        assert_eq!(found.pages.percentile(50).to_bits(), users.page_load_p50_s.to_bits());
        assert_eq!(found.pages.means().count(), row.runs as usize);
        let curve = found.pages.cumulative();
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{curve:?}");
        assert_eq!(curve.last().map(|last| last.1), Some(99.0));
        assert!(found.used.iter().all(|used| used.is_some_and(|share| share > 0.0 && share < 1.0)), "{:?}", found.used);
    }
}
