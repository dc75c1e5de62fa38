//! Many values in little memory: a histogram whose buckets are at most 1/1024 of their values wide.
//!
//! Below 2048 every value has a bucket; above, each power of two is divided into 1024 (as in HdrHistogram). A percentile is
//! then off by less than 0.1 %; sum, least and greatest value are exact.

use std::time::Duration;

/// Buckets per power of two, as a power of two.
const PRECISION: u32 = 10;

/// How often which values were met.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

/// How often which times were met, to the nanosecond and told in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Times(Histogram);

impl Histogram {
    /// Counts a value.
    pub(crate) fn add(&mut self, value: u64) {
        self.add_times(value, 1);
    }

    /// Counts a value so many times.
    pub(crate) fn add_times(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        let bucket = bucket(value);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += times;
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
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

    pub(crate) fn least(&self) -> u64 {
        self.least
    }

    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Mean; zero without values.
    #[expect(clippy::cast_precision_loss, reason = "counts are exact below 2^53")]
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The value that so many per cent do not exceed (nearest rank); zero without values.
    pub(crate) fn percentile(&self, percent: u64) -> u64 {
        self.percentiles([percent]).next().unwrap_or(0)
    }

    /// The same of so many values, of which those that were not counted are greater; `None` if it is one of these.
    pub(crate) fn percentile_among(&self, percent: u64, all: u64) -> Option<u64> {
        let rank = (u128::from(all) * u128::from(percent)).div_ceil(100).max(1);
        let mut counted = 0;
        let holds = |count: &u64| {
            counted += u128::from(*count);
            counted >= rank
        };
        let bucket = self.buckets.iter().position(holds)?;
        Some(middle(bucket).min(self.most).max(self.least))
    }

    /// The same of several per cents, ascending.
    pub(crate) fn percentiles(&self, percents: impl IntoIterator<Item = u64>) -> impl Iterator<Item = u64> {
        let mut buckets = (0..).zip(&self.buckets);
        let (mut counted, mut last) = (0, 0);
        percents.into_iter().map(move |percent| {
            let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
            while counted < rank {
                let Some((bucket, count)) = buckets.next() else { break };
                counted += u128::from(*count);
                last = bucket;
            }
            // A bucket may reach beyond what was met.
            middle(last).min(self.most).max(self.least)
        })
    }
}

impl Times {
    /// Counts a time.
    pub(crate) fn add(&mut self, time: Duration) {
        self.0.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts all that `other` has counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.count()
    }

    /// The times in ns.
    pub(crate) fn nanos(&self) -> &Histogram {
        &self.0
    }

    /// The time in s that so many per cent of `all` do not exceed, of which those that were not counted took longer; `None` if it is one of
    /// these.
    pub(crate) fn percentile_among(&self, percent: u64, all: u64) -> Option<f64> {
        self.0.percentile_among(percent, all).map(|nanos| Duration::from_nanos(nanos).as_secs_f64())
    }

    /// Mean in s; zero without times.
    #[expect(clippy::cast_precision_loss, reason = "counts are exact below 2^53")]
    pub(crate) fn mean(&self) -> f64 {
        if self.0.count == 0 { 0.0 } else { self.sum() / self.0.count as f64 }
    }

    /// Sum in s.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 104 days, and close enough above")]
    pub(crate) fn sum(&self) -> f64 {
        self.0.sum as f64 / 1e9
    }

    /// The least in s; zero without times.
    pub(crate) fn least(&self) -> f64 {
        Duration::from_nanos(self.0.least).as_secs_f64()
    }

    /// The most in s; zero without times.
    pub(crate) fn most(&self) -> f64 {
        Duration::from_nanos(self.0.most).as_secs_f64()
    }

    /// The time in s that so many per cent do not exceed (nearest rank); zero without times.
    pub(crate) fn percentile(&self, percent: u64) -> f64 {
        Duration::from_nanos(self.0.percentile(percent)).as_secs_f64()
    }
}

/// The bucket of a value: its leading digits and how many follow.
#[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^16 buckets")]
fn bucket(value: u64) -> usize {
    let shift = value.checked_ilog2().unwrap_or(0).saturating_sub(PRECISION);
    (value >> shift) as usize + ((shift as usize) << PRECISION)
}

/// The middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let shift = (bucket >> PRECISION).saturating_sub(1);
    let least = ((bucket - (shift << PRECISION)) as u64) << shift;
    least + ((1 << shift) - 1) / 2
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "tests use small numbers")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.add(*value));
        histogram
    }

    #[test]
    fn what_was_not_met_has_no_values() {
        let empty = Histogram::default();
        assert_eq!((empty.count(), empty.least(), empty.most(), empty.percentile(50)), (0, 0, 0, 0));
        assert!(empty.mean() + Times::default().mean() < f64::MIN_POSITIVE);
    }

    #[test]
    fn times_are_told_in_seconds() {
        let mut times = Times::default();
        [100, 200, 600].into_iter().for_each(|ms| times.add(Duration::from_millis(ms)));
        let told = [times.least(), times.percentile(50), times.mean(), times.most(), times.sum()];
        let exact = [0.1, 0.2, 0.3, 0.6, 0.9];
        assert!(told.iter().zip(exact).all(|(told, exact)| (told - exact).abs() <= exact / 1024.0), "{told:?}");
        assert_eq!((times.count(), times.nanos().most()), (3, 600_000_000));
    }

    proptest! {
        #[test]
        fn percentiles_are_exact_to_a_thousandth(mut values in prop::collection::vec(0_u64..1 << 45, 1..300), percent in 1_u64..=100) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = (values.len() as u64 * percent).div_ceil(100).max(1);
            let exact = values[usize::try_from(rank - 1).unwrap()];
            prop_assert!(histogram.percentile(percent).abs_diff(exact) <= exact / 1024 + 1);
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            prop_assert!((histogram.mean() - mean).abs() <= mean * 1e-9);
        }

        #[test]
        fn parts_add_up_to_the_whole(values in prop::collection::vec(any::<u64>(), 0..100), cut in 0_usize..100) {
            let cut = cut.min(values.len());
            let mut parts = of(&values[..cut]);
            parts.merge(&of(&values[cut..]));
            prop_assert_eq!(parts, of(&values));
        }

        #[test]
        fn what_was_not_counted_is_greater_than_all_that_was(
            values in prop::collection::vec(0_u64..2000, 0..30), more in 0_u64..30, percent in 1_u64..=100
        ) {
            let mut all = values.clone();
            all.resize(values.len() + more as usize, 5000);
            let whole = of(&all).percentile(percent);
            let expected = (whole < 5000 && !all.is_empty()).then_some(whole);
            prop_assert_eq!(of(&values).percentile_among(percent, all.len() as u64), expected);
        }

        #[test]
        fn a_weight_is_as_many_values(values in prop::collection::vec((0_u64..5000, 0_u64..9), 0..30)) {
            let (mut weighted, mut single) = (Histogram::default(), Histogram::default());
            for (value, times) in values {
                weighted.add_times(value, times);
                (0..times).for_each(|_| single.add(value));
            }
            prop_assert_eq!(weighted, single);
        }
    }
}
