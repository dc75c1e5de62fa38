//! Deadlines that every acknowledgement puts off and that hardly ever come: when one does is computed where that may matter only.

use super::habits::Habits;
use super::ticks::Ticks;

/// When a timer runs out that was set at some time for some span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline {
    from: Ticks,
    span: Ticks,
}

impl Deadline {
    /// Of a timer that is not set.
    pub(crate) const NEVER: Self = Self { from: Ticks::NEVER, span: Ticks::ZERO };

    pub(crate) fn new(from: Ticks, span: Ticks) -> Self {
        Self { from, span }
    }

    pub(crate) fn is_set(self) -> bool {
        self.from < Ticks::NEVER
    }

    /// No host's timer runs out before this.
    pub(crate) fn earliest(self) -> Ticks {
        self.from + self.span
    }

    /// When it runs out on a host with these habits.
    pub(crate) fn due(self, habits: &Habits) -> Ticks {
        habits.expiry(self.from, self.span)
    }

    /// Whether that is `now` or was before.
    pub(crate) fn has_come(self, now: Ticks, habits: &Habits) -> bool {
        self.earliest() <= now && self.due(habits) <= now
    }

    /// Whether that was before `now`.
    pub(crate) fn has_passed(self, now: Ticks, habits: &Habits) -> bool {
        self.earliest() < now && self.due(habits) < now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_scenario::{Profile, TcpConfig};

    #[test]
    fn a_host_with_a_clock_is_late_and_none_is_early() {
        let ms = Ticks::from_millis;
        let deadline = Deadline::new(ms(1000), ms(300));
        let [rfc, linux] = [Profile::Rfc, Profile::Linux].map(|profile| Habits::of(&TcpConfig::of(profile)));
        assert_eq!([deadline.earliest(), deadline.due(&rfc), deadline.due(&linux)], [1300, 1300, 1316].map(ms));
        let passed = |habits, now: u64| deadline.has_passed(ms(now), habits);
        assert_eq!([passed(&rfc, 1300), passed(&rfc, 1301)], [false, true]);
        assert_eq!([passed(&linux, 1301), passed(&linux, 1316), passed(&linux, 1317)], [false, false, true]);
        assert_eq!([1315, 1316].map(|now| deadline.has_come(ms(now), &linux)), [false, true]);
    }

    #[test]
    fn what_is_not_set_never_comes() {
        let habits = Habits::of(&TcpConfig::of(Profile::Linux));
        assert!(!Deadline::NEVER.is_set() && Deadline::new(Ticks::ZERO, Ticks::ZERO).is_set());
        assert_eq!([Deadline::NEVER.earliest(), Deadline::NEVER.due(&habits)], [Ticks::NEVER; 2]);
    }
}
