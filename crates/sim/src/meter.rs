//! What the far link delivers over time, in intervals of equal length.

use farhop_link::Direction;
use farhop_results::LinkSample;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// Length of an interval: fine enough to show one round trip of a satellite link in ten steps or more.
pub(crate) const INTERVAL: Duration = Duration::from_millis(25);

/// Bytes delivered per interval, down and up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    intervals: Vec<[Bytes; 2]>,
}

impl Meter {
    /// A packet of `bytes` left the link at `at`.
    pub(crate) fn count(&mut self, at: Instant, direction: Direction, bytes: Bytes) {
        let index = usize::try_from(at.as_nanos() / INTERVAL.as_nanos() as u64).expect("an hour has few intervals");
        if self.intervals.len() <= index {
            self.intervals.resize(index + 1, [Bytes::ZERO; 2]);
        }
        self.intervals[index][direction as usize] += bytes;
    }

    /// The intervals from the beginning to the one that holds `end`, empty ones included.
    pub(crate) fn samples(&self, end: Instant) -> Vec<LinkSample> {
        let span = INTERVAL.as_secs_f64();
        let last = usize::try_from(end.as_nanos() / INTERVAL.as_nanos() as u64).expect("an hour has few intervals");
        let sample = |index: usize| {
            let bytes = self.intervals.get(index).copied().unwrap_or_default();
            let rate = |direction: Direction| bytes[direction as usize].bits_f64() / span;
            let start_s = (INTERVAL * u32::try_from(index).expect("an hour has few intervals")).as_secs_f64();
            LinkSample { start_s, span_s: span, down_bit_s: rate(Direction::Down), up_bit_s: rate(Direction::Up) }
        };
        (0..=last).map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_hold_every_bit_counted() {
        let mut meter = Meter::default();
        let at = |ms| Instant::START + Duration::from_millis(ms);
        meter.count(at(24), Direction::Down, Bytes::new(1000));
        meter.count(at(25), Direction::Down, Bytes::new(500));
        meter.count(at(60), Direction::Up, Bytes::new(52));
        let samples = meter.samples(at(60));
        assert_eq!(samples.len(), 3);
        let rates: Vec<_> = samples.iter().map(|sample| (sample.down_bit_s.round(), sample.up_bit_s.round())).collect();
        assert_eq!(rates, [(320_000.0, 0.0), (160_000.0, 0.0), (0.0, 16640.0)]);
    }
}
