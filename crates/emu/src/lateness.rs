//! How late packets were delivered: a log-linear histogram in the manner of HdrHistogram.
//!
//! A value below 2⁸ ns has a bucket of its own; above, each power of two is cut into 2⁷ buckets, so that a percentile is at
//! most 1/128 (0.8 %) above the true value, in 58 kB whatever the number of packets. The largest value is exact.

use farhop_results::EmulationQuality;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The p99 that a valid run keeps. Design point: 100 Mbit/s, where it is four full packets, and round trips of 100 ms and more,
/// where it is half a percent.
pub const LATENESS_BOUND: Duration = Duration::from_micros(500);

const SUB_BUCKET_BITS: u32 = 7;
const BUCKETS: usize = ((u64::BITS - SUB_BUCKET_BITS + 1) as usize) << SUB_BUCKET_BITS;

/// The lateness of every packet so far.
#[derive(Debug, Clone)]
pub struct Lateness {
    counts: Vec<u64>,
    packets: u64,
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], packets: 0, max: Duration::ZERO }
    }
}

impl Lateness {
    /// One more packet was `late`.
    pub fn record(&mut self, late: Duration) {
        self.counts[bucket_of(nanos(late))] += 1;
        self.packets += 1;
        self.max = self.max.max(late);
    }

    /// Adds what `other` has recorded.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.packets += other.packets;
        self.max = self.max.max(other.max);
    }

    /// What was recorded since `earlier`, a former state of this one. The largest value since is only known by its bucket.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let counts: Vec<u64> =
            self.counts.iter().zip(&earlier.counts).map(|(now, then)| now.saturating_sub(*then)).collect();
        let largest = counts.iter().rposition(|count| *count > 0).map_or(0, top_of);
        let max = Duration::from_nanos(largest).min(self.max);
        Self { packets: counts.iter().sum(), counts, max }
    }

    /// The smallest recorded value that at least `percent` % of the packets do not exceed; zero without packets.
    pub fn percentile(&self, percent: u8) -> Duration {
        let rank = (self.packets * u64::from(percent)).div_ceil(100);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank && seen > 0 {
                return Duration::from_nanos(top_of(bucket)).min(self.max);
            }
        }
        Duration::ZERO
    }

    /// The largest.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// What a manifest says of the run.
    pub fn quality(&self) -> EmulationQuality {
        EmulationQuality {
            packets: self.packets,
            lateness_p50_s: self.percentile(50).as_secs_f64(),
            lateness_p99_s: self.percentile(99).as_secs_f64(),
            lateness_max_s: self.max.as_secs_f64(),
            bound_s: LATENESS_BOUND.as_secs_f64(),
        }
    }
}

/// A lateness that one thread records and others read meanwhile.
#[derive(Debug)]
pub(crate) struct LatenessMeter {
    counts: Box<[AtomicU64]>,
    max: AtomicU64,
}

impl Default for LatenessMeter {
    fn default() -> Self {
        Self { counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(), max: AtomicU64::new(0) }
    }
}

impl LatenessMeter {
    /// One more packet was `late`. For one thread at a time.
    pub(crate) fn record(&self, late: Duration) {
        let nanos = nanos(late);
        let count = &self.counts[bucket_of(nanos)];
        // Nobody else writes, so that no locked instruction is needed.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if nanos > self.max.load(Ordering::Relaxed) {
            self.max.store(nanos, Ordering::Relaxed);
        }
    }

    /// What was recorded so far.
    pub(crate) fn read(&self) -> Lateness {
        let counts: Vec<u64> = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let packets = counts.iter().sum();
        Lateness { counts, packets, max: Duration::from_nanos(self.max.load(Ordering::Relaxed)) }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Values with the same leading 8 bits share a bucket.
fn bucket_of(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(SUB_BUCKET_BITS + 1);
    ((shift as usize) << SUB_BUCKET_BITS) + (value >> shift) as usize
}

/// The largest value of a bucket.
fn top_of(bucket: usize) -> u64 {
    let shift = (bucket >> SUB_BUCKET_BITS).saturating_sub(1);
    let leading = (bucket - (shift << SUB_BUCKET_BITS)) as u64;
    (leading << shift) | ((1_u64 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_one_128th_and_the_maximum_is_exact() {
        let mut lateness = Lateness::default();
        for micros in 1..=1000 {
            lateness.record(Duration::from_micros(micros));
        }
        let near = |value: Duration, micros: f64| {
            let ratio = value.as_secs_f64() * 1e6 / micros;
            assert!((1.0..=1.0 + 1.0 / 128.0).contains(&ratio), "{value:?} is not {micros} µs");
        };
        near(lateness.percentile(50), 500.0);
        near(lateness.percentile(99), 990.0);
        assert_eq!(lateness.percentile(100), Duration::from_micros(1000));
        assert_eq!(lateness.max(), Duration::from_micros(1000));
    }

    #[test]
    fn every_value_falls_into_a_bucket_that_holds_it() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1 << shift) + (1 << shift) / 2, u64::MAX >> shift] {
                let bucket = bucket_of(value);
                assert!(bucket < BUCKETS && top_of(bucket) >= value, "{value}");
                assert!(bucket == 0 || top_of(bucket - 1) < value, "{value}");
            }
        }
    }

    #[test]
    fn merging_is_recording_both() {
        let (mut left, mut right, mut both) = (Lateness::default(), Lateness::default(), Lateness::default());
        for micros in [3, 70, 900] {
            left.record(Duration::from_micros(micros));
            right.record(Duration::from_micros(micros * 2));
            both.record(Duration::from_micros(micros));
            both.record(Duration::from_micros(micros * 2));
        }
        left.merge(&right);
        assert_eq!(left.quality(), both.quality());
        assert_eq!(left.quality().packets, 6);
    }

    #[test]
    fn a_meter_reads_what_was_recorded() {
        let (meter, mut lateness) = (LatenessMeter::default(), Lateness::default());
        for nanos in [0, 255, 256, 70_000, u64::MAX] {
            meter.record(Duration::from_nanos(nanos));
            lateness.record(Duration::from_nanos(nanos));
        }
        assert_eq!(meter.read().quality(), lateness.quality());
    }

    #[test]
    fn what_came_since_is_told_alone() {
        let mut lateness = Lateness::default();
        lateness.record(Duration::from_millis(9));
        let earlier = lateness.clone();
        assert_eq!(lateness.since(&earlier).quality().packets, 0);
        lateness.record(Duration::from_micros(100));
        let since = lateness.since(&earlier);
        assert_eq!(since.quality().packets, 1);
        assert!(since.max() >= Duration::from_micros(100) && since.max() < Duration::from_micros(101));
    }

    #[test]
    fn no_packets_no_lateness() {
        assert_eq!(Lateness::default().percentile(99), Duration::ZERO);
    }
}
