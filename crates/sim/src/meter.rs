//! What the far link delivers over time, in intervals of equal length, and in all.

use farhop_link::Direction;
use farhop_results::LinkSample;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// Length of an interval: fine enough to show one round trip of a satellite link in ten steps or more.
const INTERVAL: Duration = Duration::from_millis(25);

/// Bytes delivered, down and up.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    /// Per interval; absent where only the total is asked for.
    intervals: Option<Vec<[Bytes; 2]>>,
    /// What is delivered before does not count in the total.
    from: Instant,
    total: [Bytes; 2],
}

impl Meter {
    /// Counts interval by interval, from the beginning.
    pub(crate) const fn of_intervals() -> Self {
        Self { intervals: Some(Vec::new()), from: Instant::START, total: [Bytes::ZERO; 2] }
    }

    /// Counts all that is delivered at `from` or later.
    pub(crate) const fn of_total(from: Instant) -> Self {
        Self { intervals: None, from, total: [Bytes::ZERO; 2] }
    }

    /// A packet of `bytes` left the link at `at`.
    pub(crate) fn count(&mut self, at: Instant, direction: Direction, bytes: Bytes) {
        if at >= self.from {
            self.total[direction as usize] += bytes;
        }
        let Some(intervals) = &mut self.intervals else { return };
        let index = usize::try_from(at.as_nanos() / INTERVAL.as_nanos() as u64).expect("an hour has few intervals");
        if intervals.len() <= index {
            intervals.resize(index + 1, [Bytes::ZERO; 2]);
        }
        intervals[index][direction as usize] += bytes;
    }

    /// All that was delivered.
    pub(crate) const fn total(&self, direction: Direction) -> Bytes {
        self.total[direction as usize]
    }

    /// The intervals from the beginning to the one that holds `end`, empty ones included.
    pub(crate) fn samples(&self, end: Instant) -> Vec<LinkSample> {
        let Some(intervals) = &self.intervals else { return Vec::new() };
        let span = INTERVAL.as_secs_f64();
        let last = usize::try_from(end.as_nanos() / INTERVAL.as_nanos() as u64).expect("an hour has few intervals");
        let sample = |index: usize| {
            let bytes = intervals.get(index).copied().unwrap_or_default();
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

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn count_some(meter: &mut Meter) {
        meter.count(at(24), Direction::Down, Bytes::new(1000));
        meter.count(at(25), Direction::Down, Bytes::new(500));
        meter.count(at(60), Direction::Up, Bytes::new(52));
    }

    #[test]
    fn samples_hold_every_bit_counted() {
        let mut meter = Meter::of_intervals();
        count_some(&mut meter);
        let samples = meter.samples(at(60));
        assert_eq!(samples.len(), 3);
        let rates: Vec<_> = samples.iter().map(|sample| (sample.down_bit_s.round(), sample.up_bit_s.round())).collect();
        assert_eq!(rates, [(320_000.0, 0.0), (160_000.0, 0.0), (0.0, 16640.0)]);
    }

    #[test]
    fn totals_begin_when_they_are_asked_for() {
        let mut meter = Meter::of_total(at(25));
        count_some(&mut meter);
        assert_eq!(Direction::BOTH.map(|direction| meter.total(direction).get()), [500, 52]);
        assert!(meter.samples(at(60)).is_empty());
    }
}
