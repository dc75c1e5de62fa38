//! When ends are woken. Most of their timers have moved on by the time for which a wake-up was scheduled: what tells so stands here, close
//! together, as thousands of ends lie far apart in memory.

use crate::wake::Wake;
use farhop_units::Instant;

/// What is to be known of an end when its wake-up comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alarm {
    wake: Wake,
    /// Until when nothing comes of waking the end, `None` for ever.
    rests_until: Option<Instant>,
}

impl Default for Alarm {
    /// Nothing is scheduled, and the end does not rest.
    fn default() -> Self {
        Self { wake: Wake::default(), rests_until: Some(Instant::START) }
    }
}

impl Alarm {
    /// The end has something to do at `due`, if at all; nothing comes of waking it before if it `rests` until then. Returns when a wake-up
    /// is to be scheduled.
    #[inline]
    pub(super) fn arm(&mut self, due: Option<Instant>, rests: bool) -> Option<Instant> {
        self.note(due, rests);
        self.wake.arm(due)
    }

    /// The same is known of the end, and no wake-up is scheduled for it.
    #[inline]
    pub(super) fn note(&mut self, due: Option<Instant>, rests: bool) {
        self.rests_until = if rests { due } else { Some(Instant::START) };
    }

    /// A wake-up has come. Returns whether it is the one that counts.
    pub(super) fn counts(&mut self, now: Instant) -> bool {
        self.wake.counts(now)
    }

    /// Another wake-up than was scheduled counts.
    pub(super) fn move_to(&mut self, due: Instant) -> Instant {
        self.wake.move_to(due)
    }

    /// Whether nothing comes of waking the end at `now`.
    pub(super) fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_none_or(|until| until > now)
    }

    /// An end that rests is woken when that is over. Returns when a wake-up is to be scheduled.
    pub(super) fn rest_on(&mut self) -> Option<Instant> {
        self.wake.arm(self.rests_until)
    }

    /// Whether something will come of the wake-up that is scheduled, if nothing else happens before.
    pub(super) fn is_in_time(&self) -> bool {
        self.rests_until.is_some_and(|until| !self.wake.is_before(until))
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
    fn an_end_whose_timer_has_moved_on_rests() {
        let mut alarm = Alarm::default();
        assert_eq!(alarm.arm(Some(at(5)), true), Some(at(5)));
        assert!(alarm.is_in_time());
        assert_eq!(alarm.arm(Some(at(8)), true), None, "the wake-up at 5 ms comes before");
        assert!(!alarm.is_in_time());
        assert!(alarm.counts(at(5)) && alarm.rests(at(5)));
        assert_eq!(alarm.rest_on(), Some(at(8)));
        assert!(alarm.is_in_time() && alarm.counts(at(8)) && !alarm.rests(at(8)));
    }

    #[test]
    fn an_end_without_a_timer_rests_and_is_not_woken() {
        let mut alarm = Alarm::default();
        alarm.arm(Some(at(5)), true);
        alarm.arm(None, true);
        assert!(alarm.counts(at(5)) && alarm.rests(at(5)) && !alarm.is_in_time());
        assert_eq!(alarm.rest_on(), None);
    }

    #[test]
    fn an_end_for_which_others_wait_never_rests() {
        let mut alarm = Alarm::default();
        assert!(!alarm.rests(at(0)), "nothing is known of it");
        alarm.arm(Some(at(5)), false);
        assert!(!alarm.rests(at(1)) && alarm.is_in_time());
        alarm.arm(None, false);
        assert!(!alarm.rests(at(1)));
        alarm.note(Some(at(9)), true);
        assert!(alarm.rests(at(5)) && alarm.counts(at(5)), "nobody waits any more, and the wake-up comes");
    }

    #[test]
    fn both_ends_of_a_leg_take_half_a_line_of_the_cache() {
        assert_eq!(size_of::<[Alarm; 2]>(), 32);
    }
}
