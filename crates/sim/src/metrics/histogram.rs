//! Many times in little memory: a histogram whose buckets are at most 1/1024 of their values wide.
//!
//! Below 2048 ns every value has a bucket; above, each power of two is divided into 1024 (as in HdrHistogram). A percentile is
//! then off by less than 0.1 %; sum, least and greatest value are exact.

use std::time::Duration;

/// Buckets per power of two, as a power of two.
const PRECISION: u32 = 10;

/// How often which times were met.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    least: Duration,
    most: Duration,
}

impl Histogram {
    /// Counts a time.
    pub(crate) fn add(&mut self, time: Duration) {
        let bucket = bucket(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.least = if self.count == 0 { time } else { self.least.min(time) };
        self.most = self.most.max(time);
        self.count += 1;
        self.sum += time.as_nanos();
    }

    /// Counts all that `other` has counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(ours, theirs)| *ours += theirs);
        if other.count > 0 {
            self.least = if self.count == 0 { other.least } else { self.least.min(other.least) };
        }
        self.most = self.most.max(other.most);
        self.count += other.count;
        self.sum += other.sum;
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn least(&self) -> Duration {
        self.least
    }

    pub(crate) fn most(&self) -> Duration {
        self.most
    }

    /// Mean in s; zero without times.
    #[expect(clippy::cast_precision_loss, reason = "counts are exact below 2^53")]
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum() / self.count as f64 }
    }

    /// Sum in s.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 104 days, and close enough above")]
    pub(crate) fn sum(&self) -> f64 {
        self.sum as f64 / 1e9
    }

    /// The time in s that so many per cent of the times do not exceed (nearest rank); zero without times.
    pub(crate) fn percentile(&self, percent: u64) -> f64 {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut counted = 0;
        let reaches = |bucket: &u64| {
            counted += bucket;
            counted >= rank
        };
        let middle = self.buckets.iter().position(reaches).map_or(Duration::ZERO, middle);
        // A bucket may reach beyond what was met.
        middle.min(self.most).max(self.least).as_secs_f64()
    }
}

/// The bucket of a value: its leading digits and how many follow.
#[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^16 buckets")]
fn bucket(nanos: u64) -> usize {
    let shift = nanos.checked_ilog2().unwrap_or(0).saturating_sub(PRECISION);
    (nanos >> shift) as usize + ((shift as usize) << PRECISION)
}

/// The middle of a bucket.
fn middle(bucket: usize) -> Duration {
    let shift = (bucket >> PRECISION).saturating_sub(1);
    let least = ((bucket - (shift << PRECISION)) as u64) << shift;
    Duration::from_nanos(least + ((1 << shift) - 1) / 2)
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "tests use small numbers")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(times: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        times.iter().for_each(|time| histogram.add(Duration::from_nanos(*time)));
        histogram
    }

    #[test]
    fn what_was_not_met_has_no_times() {
        let empty = Histogram::default();
        assert_eq!((empty.count(), empty.least(), empty.most()), (0, Duration::ZERO, Duration::ZERO));
        assert!(empty.percentile(50) + empty.mean() < f64::MIN_POSITIVE);
    }

    proptest! {
        #[test]
        fn percentiles_are_exact_to_a_thousandth(mut times in prop::collection::vec(0_u64..1 << 45, 1..300), percent in 1_u64..=100) {
            let histogram = of(&times);
            times.sort_unstable();
            let rank = (times.len() as u64 * percent).div_ceil(100).max(1);
            let exact = times[usize::try_from(rank - 1).unwrap()] as f64 / 1e9;
            prop_assert!((histogram.percentile(percent) - exact).abs() <= exact / 1024.0 + 1e-9);
            let mean = times.iter().sum::<u64>() as f64 / times.len() as f64 / 1e9;
            prop_assert!((histogram.mean() - mean).abs() <= mean * 1e-9);
        }

        #[test]
        fn parts_add_up_to_the_whole(times in prop::collection::vec(any::<u64>(), 0..100), cut in 0_usize..100) {
            let cut = cut.min(times.len());
            let mut parts = of(&times[..cut]);
            parts.merge(&of(&times[cut..]));
            prop_assert_eq!(parts, of(&times));
        }
    }
}
