//! When a terminal changes satellites: nothing is sent for a moment, at regular times of the run's clock.

use core::ops::Range;
use farhop_units::Instant;
use std::time::Duration;

/// Pauses of one length, the first one a period after the run's beginning, then one every period. A pause holds its
/// beginning, not its end. There is always time between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pauses {
    period: u64,
    length: u64,
}

impl Pauses {
    /// `None` if there is nothing to pause. A pause that leaves no time in between is cut by a nanosecond.
    pub(crate) fn new(period: Duration, length: Duration) -> Option<Self> {
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let length = nanos(length).min(nanos(period).saturating_sub(1));
        (length > 0).then_some(Self { period: nanos(period), length })
    }

    /// `at`, or the end of the pause that holds it.
    pub(crate) fn resume(self, at: Instant) -> Instant {
        let since = at.as_nanos() % self.period;
        let paused = at.as_nanos() >= self.period && since < self.length;
        if paused { at + Duration::from_nanos(self.length - since) } else { at }
    }

    /// The first pause that begins at or after `at`; `None` if that is after the end of time.
    pub(crate) fn next(self, at: Instant) -> Option<Range<Instant>> {
        let number = at.as_nanos().div_ceil(self.period).max(1);
        let begin = Instant::from_nanos(number.checked_mul(self.period)?);
        Some(begin..begin + Duration::from_nanos(self.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    fn millis(count: u32) -> Instant {
        Instant::START + MS * count
    }

    #[test]
    fn a_pause_holds_its_beginning_but_not_its_end() {
        let pauses = Pauses::new(100 * MS, 10 * MS).unwrap();
        let resumed = [0, 5, 99, 100, 109, 110, 205].map(|at| pauses.resume(millis(at)));
        assert_eq!(resumed, [0, 5, 99, 110, 110, 110, 210].map(millis), "the run begins without a pause");
        let next = [0, 100, 101].map(|at| pauses.next(millis(at)));
        assert_eq!(next, [(100, 110), (100, 110), (200, 210)].map(|(begin, end)| Some(millis(begin)..millis(end))));
    }

    #[test]
    fn pauses_that_cannot_be_do_no_harm() {
        assert_eq!(Pauses::new(100 * MS, Duration::ZERO), None);
        assert_eq!(Pauses::new(Duration::ZERO, MS), None);
        assert_eq!(Pauses::new(Duration::from_nanos(1), MS), None);
        let endless = Pauses::new(Duration::MAX, Duration::MAX).unwrap();
        assert_eq!(endless.resume(millis(1)), millis(1));
        assert_eq!(Pauses::new(100 * MS, MS).unwrap().next(Instant::from_nanos(u64::MAX)), None);
    }

    proptest! {
        #[test]
        fn time_goes_on_after_a_pause(period in 2_u64..1000, length in 1_u64..1000, at in 0_u64..10_000) {
            let pauses = Pauses::new(Duration::from_nanos(period), Duration::from_nanos(length)).unwrap();
            let resumed = pauses.resume(Instant::from_nanos(at));
            prop_assert_eq!(pauses.resume(resumed), resumed);
            let next = pauses.next(resumed).unwrap();
            prop_assert!(next.start > resumed || resumed < Instant::from_nanos(period));
            prop_assert_eq!(pauses.resume(next.start), next.end);
        }
    }
}
