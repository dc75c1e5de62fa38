//! The wake-up of a machine: one in the queue of events at most counts. When its deadline moves away it stays, finds nothing to do, and is
//! scheduled anew; for an earlier deadline another one is scheduled, and that counts.

use farhop_units::Instant;

/// When the wake-up that counts is scheduled, if one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wake(Option<Instant>);

impl Wake {
    /// The machine is to be woken at `due`. Returns when a wake-up is to be scheduled, unless one is for that time or before it.
    #[inline]
    pub(crate) fn arm(&mut self, due: Option<Instant>) -> Option<Instant> {
        let due = due.filter(|due| self.0.is_none_or(|wake| *due < wake))?;
        self.0 = Some(due);
        Some(due)
    }

    /// Another one than was scheduled counts.
    pub(crate) fn move_to(&mut self, due: Instant) -> Instant {
        self.0 = Some(due);
        due
    }

    /// Whether the wake-up that counts is scheduled for a time before this, or none is.
    #[inline]
    pub(crate) fn is_before(&self, due: Instant) -> bool {
        self.0.is_none_or(|wake| wake < due)
    }

    /// A wake-up has come. Returns whether it is the one that counts, which comes late if what was due was past.
    #[inline]
    pub(crate) fn counts(&mut self, now: Instant) -> bool {
        self.0.take_if(|wake| *wake <= now).is_some()
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
    fn an_earlier_one_counts_and_the_later_one_does_not() {
        let mut wake = Wake::default();
        assert_eq!(
            [Some(at(5)), Some(at(7)), Some(at(5)), None, Some(at(3))].map(|due| wake.arm(due)),
            [Some(at(5)), None, None, None, Some(at(3))]
        );
        assert!(wake.counts(at(3)));
        assert_eq!(wake.arm(Some(at(9))), Some(at(9)));
        assert!(!wake.counts(at(5)), "that of before");
        assert!(wake.counts(at(9)) && !wake.counts(at(9)));
    }

    #[test]
    fn one_for_the_past_counts_when_it_comes() {
        let mut wake = Wake::default();
        wake.arm(Some(at(5)));
        assert!(wake.counts(at(8)), "it was scheduled at 8 ms");
        assert_eq!(wake.arm(Some(at(20))), Some(at(20)), "and the next one is scheduled");
    }
}
