//! The random numbers of a channel: one stream per impairment and path, addressed by number.
//!
//! A stream is a function: the n-th packet to reach a stage meets the stage's n-th number, whether the numbers before were
//! looked at or not. So switching one impairment on, off or to other parameters leaves what all others do as it was, before
//! and after any change of the link; two runs of one seed that differ in one setting are compared on common random numbers;
//! and what is off costs nothing.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014), whose n-th
//! output is a function of n. Everything is integer arithmetic, exact, or comes from `libm`, so the same on every machine.

use crate::Port;
use farhop_units::Probability;
use std::time::Duration;

/// What needs random numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Impairment {
    /// Whether a packet is lost.
    Loss = 0,
    /// When a bursty channel turns bad or good.
    Burst = 1,
    /// When outages begin and end.
    Outage = 2,
    /// Whether a packet is corrupted.
    Corruption = 3,
    /// Whether a packet arrives twice.
    Duplication = 4,
    /// How much longer a packet takes.
    Jitter = 5,
    /// Which packets are overtaken.
    Reordering = 6,
    /// Medium access: request slots, backoff.
    Access = 7,
    /// Which bit of a corrupted packet is flipped.
    CorruptedBit = 8,
}

/// A stream of random numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    key: u64,
}

/// SplitMix64's increment: 2⁶⁴ over the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Stream {
    /// The stream of `impairment` on the path that begins at `entry`, in a channel with this seed.
    pub(crate) const fn new(seed: u64, impairment: Impairment, entry: Port) -> Self {
        let path = match entry {
            Port::Gateway => 0,
            Port::Terminal(number) => 1 + number as u64,
        };
        Self { key: mixed(mixed(seed).wrapping_add(path << 8 | impairment as u64)) }
    }

    /// Random bits number `index`.
    pub(crate) const fn bits(self, index: u64) -> u64 {
        mixed(self.key.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// Number `index` from 0 to below 1: 53 random bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub(crate) const fn uniform(self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether event number `index` of this probability happens. What happens at one probability happens at every higher one.
    pub(crate) fn happens(self, index: u64, probability: Probability) -> bool {
        !probability.is_zero() && self.uniform(index) < probability.get()
    }

    /// Exponential span number `index` of this mean, by inversion, to the nanosecond; at most 37 means, since the uniform
    /// number behind it is at most 1 − 2⁻⁵³. Saturates after 584 years.
    #[expect(clippy::cast_precision_loss, reason = "a mean is exact up to 104 days, and close enough above")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
    pub(crate) fn exponential(self, index: u64, mean: Duration) -> Duration {
        let means = -libm::log1p(-self.uniform(index));
        Duration::from_nanos((mean.as_nanos() as f64 * means).round() as u64)
    }

    /// Whole number `index` below `bound` (taken as 1 if 0), by Lemire's multiplication; its bias is below bound/2⁶⁴.
    pub(crate) fn below(self, index: u64, bound: u64) -> u64 {
        let product = u128::from(self.bits(index)) * u128::from(bound.max(1));
        u64::try_from(product >> 64).expect("the upper half of 128 bits")
    }
}

/// A bijection of 64 bits under which neighbours have nothing in common: SplitMix64's step.
const fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(GOLDEN);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_is_its_own() {
        let mut firsts = Vec::new();
        for seed in [1, 2] {
            for entry in [Port::Gateway, Port::Terminal(0), Port::Terminal(1)] {
                for impairment in [Impairment::Loss, Impairment::Burst, Impairment::Access] {
                    firsts.extend((0..20).map(|index| Stream::new(seed, impairment, entry).bits(index)));
                }
            }
        }
        let count = firsts.len();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), count);
    }

    #[test]
    fn the_generator_is_splitmix64() {
        // The first outputs of the published generator for seed 1234567.
        let stream = Stream { key: 1_234_567 };
        let published = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([0, 1, 2].map(|index| stream.bits(index)), published);
    }

    #[test]
    fn exponential_spans_have_their_mean_and_deviation() {
        let stream = Stream::new(5, Impairment::Outage, Port::Gateway);
        let spans: Vec<f64> =
            (0..40_000).map(|i| stream.exponential(i, Duration::from_secs(2)).as_secs_f64()).collect();
        let mean = spans.iter().sum::<f64>() / 40_000.0;
        let variance = spans.iter().map(|span| (span - mean).powi(2)).sum::<f64>() / 40_000.0;
        // Four standard errors: 2 s/√n of the mean, about 2·√2 s/√n of the deviation.
        assert!((mean - 2.0).abs() < 0.04, "{mean}");
        assert!((variance.sqrt() - 2.0).abs() < 0.06, "{variance}");
        assert!(stream.exponential(0, Duration::MAX) > Duration::ZERO);
        assert_eq!(stream.exponential(0, Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn exponential_spans_are_the_same_on_every_machine() {
        let stream = Stream::new(1, Impairment::Jitter, Port::Gateway);
        // −ln(1 − u), computed with 60 digits.
        let spans = [0, 1, 2].map(|index| stream.exponential(index, Duration::from_secs(1)).as_nanos());
        assert_eq!(spans, [3_424_337_272, 2_013_010_736, 1_544_028_134]);
    }

    #[test]
    fn whole_numbers_reach_every_value_below_their_bound() {
        let stream = Stream::new(3, Impairment::Access, Port::Gateway);
        let mut seen = [0; 5];
        (0..1000).for_each(|index| seen[usize::try_from(stream.below(index, 5)).unwrap()] += 1);
        assert!(seen.iter().all(|&count| (150..250).contains(&count)), "{seen:?}");
        assert_eq!(stream.below(0, 0), 0);
    }
}
