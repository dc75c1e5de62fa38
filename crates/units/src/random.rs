//! Random numbers that are functions: a stream is addressed by number, so that what is looked at never changes what is drawn later.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014), whose n-th
//! output is a function of n. Everything is integer arithmetic, exact, or comes from `libm`, so the same on every machine.

use crate::Probability;
use std::time::Duration;

/// A stream of random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

/// SplitMix64's increment: 2⁶⁴ over the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Stream {
    /// The stream of this seed for one purpose; every purpose has a stream of its own.
    pub const fn new(seed: u64, purpose: u64) -> Self {
        Self { key: mixed(mixed(seed).wrapping_add(purpose)) }
    }

    /// A stream of streams: the one for `purpose` within this one.
    pub const fn split(self, purpose: u64) -> Self {
        Self::new(self.key, purpose)
    }

    /// Random bits number `index`.
    pub const fn bits(self, index: u64) -> u64 {
        mixed(self.key.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// Number `index` from 0 to below 1: 53 random bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub const fn uniform(self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether event number `index` of this probability happens. What happens at one probability happens at every higher one.
    pub fn happens(self, index: u64, probability: Probability) -> bool {
        !probability.is_zero() && self.uniform(index) < probability.get()
    }

    /// Exponential span number `index` of this mean, by inversion, to the nanosecond; at most 37 means, since the uniform
    /// number behind it is at most 1 − 2⁻⁵³. Saturates after 584 years.
    #[expect(clippy::cast_precision_loss, reason = "a mean is exact up to 104 days, and close enough above")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
    pub fn exponential(self, index: u64, mean: Duration) -> Duration {
        let means = -libm::log1p(-self.uniform(index));
        Duration::from_nanos((mean.as_nanos() as f64 * means).round() as u64)
    }

    /// Whole number `index` below `bound` (taken as 1 if 0), by Lemire's multiplication; its bias is below bound/2⁶⁴.
    pub fn below(self, index: u64, bound: u64) -> u64 {
        let product = u128::from(self.bits(index)) * u128::from(bound.max(1));
        u64::try_from(product >> 64).expect("the upper half of 128 bits")
    }
}

/// The numbers of a stream one after the other, for what draws as it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dice {
    stream: Stream,
    next: u64,
}

impl Dice {
    /// From the stream's first number on.
    pub const fn new(stream: Stream) -> Self {
        Self { stream, next: 0 }
    }

    const fn advance(&mut self) -> u64 {
        let index = self.next;
        self.next += 1;
        index
    }

    /// The next 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        let index = self.advance();
        self.stream.bits(index)
    }

    /// The next number from 0 to below 1.
    pub const fn uniform(&mut self) -> f64 {
        let index = self.advance();
        self.stream.uniform(index)
    }

    /// The next whole number below `bound` (taken as 1 if 0).
    pub fn below(&mut self, bound: u64) -> u64 {
        let index = self.advance();
        self.stream.below(index, bound)
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
    fn every_purpose_has_a_stream_of_its_own() {
        let streams = (0..20).flat_map(|purpose| [Stream::new(1, purpose), Stream::new(1, 0).split(purpose)]);
        let mut firsts: Vec<u64> = streams.flat_map(|stream| (0..20).map(move |index| stream.bits(index))).collect();
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
        let stream = Stream::new(5, 2);
        let spans: Vec<f64> =
            (0..40_000).map(|i| stream.exponential(i, Duration::from_secs(2)).as_secs_f64()).collect();
        let mean = spans.iter().sum::<f64>() / 40_000.0;
        let variance = spans.iter().map(|span| (span - mean) * (span - mean)).sum::<f64>() / 40_000.0;
        // Four standard errors: 2 s/√n of the mean, about 2·√2 s/√n of the deviation.
        assert!((mean - 2.0).abs() < 0.04, "{mean}");
        assert!((variance.sqrt() - 2.0).abs() < 0.06, "{variance}");
        assert!(stream.exponential(0, Duration::MAX) > Duration::ZERO);
        assert_eq!(stream.exponential(0, Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn exponential_spans_are_the_same_on_every_machine() {
        let stream = Stream::new(1, 5);
        // −ln(1 − u), computed with 60 digits.
        let spans = [0, 1, 2].map(|index| stream.exponential(index, Duration::from_secs(1)).as_nanos());
        assert_eq!(spans, [3_424_337_272, 2_013_010_736, 1_544_028_134]);
    }

    #[test]
    fn whole_numbers_reach_every_value_below_their_bound() {
        let stream = Stream::new(3, 7);
        let mut seen = [0; 5];
        (0..1000).for_each(|index| seen[usize::try_from(stream.below(index, 5)).unwrap()] += 1);
        assert!(seen.iter().all(|&count| (150..250).contains(&count)), "{seen:?}");
        assert_eq!(stream.below(0, 0), 0);
    }
}
