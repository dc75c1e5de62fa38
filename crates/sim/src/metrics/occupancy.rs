//! How many there were of something over time.

use super::Histogram;
use farhop_units::Instant;

/// How many there are, the most there were, and for how long of the measured time there were how many.
#[derive(Debug, Clone, Default)]
pub(crate) struct Occupancy {
    count: usize,
    peak: usize,
    /// Until when that has been noted; before the measured time, when it begins.
    noted: Instant,
    /// In ns.
    spent: Histogram,
}

impl Occupancy {
    /// Measures what happens at `from` or later; the peak is that of the whole run.
    pub(crate) fn new(from: Instant) -> Self {
        Self { noted: from, ..Self::default() }
    }

    /// There are so many from `now` on.
    pub(crate) fn set(&mut self, now: Instant, count: usize) {
        self.spend(now);
        (self.count, self.peak) = (count, self.peak.max(count));
    }

    /// The most there were at once.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// For how many nanoseconds of the measured time, which is over at `end`, there were how many.
    pub(crate) fn until(&self, end: Instant) -> Histogram {
        let mut all = self.clone();
        all.spend(end);
        all.spent
    }

    fn spend(&mut self, now: Instant) {
        let time = u64::try_from((now - self.noted).as_nanos()).unwrap_or(u64::MAX);
        self.spent.add_times(self.count as u64, time);
        self.noted = self.noted.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    #[test]
    fn counts_last_until_they_change() {
        let mut occupancy = Occupancy::new(at(100));
        [(0, 9), (50, 2), (120, 3), (150, 1)].into_iter().for_each(|(ms, count)| occupancy.set(at(ms), count));
        let spent = occupancy.until(at(200));
        // From 100 to 120 there were 2, to 150 there were 3, to 200 there was 1.
        assert_eq!(spent.count(), 100_000_000);
        assert!((spent.mean() - (2.0 * 20.0 + 3.0 * 30.0 + 50.0) / 100.0).abs() < 1e-9, "{}", spent.mean());
        assert_eq!((spent.percentile(50), spent.percentile(51), spent.most()), (1, 2, 3));
        assert_eq!(occupancy.peak(), 9, "of the whole run");
    }
}
