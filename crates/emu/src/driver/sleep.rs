//! How long to sleep so as to be awake in time.
//!
//! A timer wakes a thread some time after it was asked to: a few µs on a busy machine, 50 to 100 µs on an idle virtual one.
//! That time is learned, and the thread asks to be woken so much earlier and waits for the rest awake. Since waiting awake takes
//! processor time that the hosts' programs could have, no more than an eighth of any wait is spent so.

use farhop_units::Instant;
use std::time::Duration;

/// What waking by the timer costs, as learned.
#[derive(Debug, Default)]
pub(super) struct Sleep {
    oversleep: Duration,
}

/// What going to sleep and being woken takes at best: no wait below this is worth it.
const SLEEP_COST: Duration = Duration::from_micros(20);
/// Later wakings are accidents, not a habit.
const MOST_OVERSLEEP: Duration = Duration::from_micros(200);
/// Share of a wait that may be spent awake.
const AWAKE: u32 = 8;
/// How fast a better habit is believed; a worse one is believed at once.
const FORGETTING: u32 = 16;

impl Sleep {
    /// How long to sleep when something is due in `left`; zero if it is not worth it.
    pub(super) fn span(&self, left: Duration) -> Duration {
        let awake = (self.oversleep + SLEEP_COST).min(left / AWAKE).max(SLEEP_COST);
        left.saturating_sub(awake)
    }

    /// Learns from a waking by the timer.
    pub(super) fn woken(&mut self, asked: Instant, now: Instant) {
        let late = now.since(asked).min(MOST_OVERSLEEP);
        self.oversleep =
            if late > self.oversleep { late } else { self.oversleep - (self.oversleep - late) / FORGETTING };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_timer_is_asked_to_be_early() {
        let mut sleep = Sleep::default();
        let (millis, micros) = (Duration::from_millis, Duration::from_micros);
        assert_eq!(sleep.span(millis(50)), millis(50) - SLEEP_COST);
        let asked = Instant::START + millis(50);
        sleep.woken(asked, asked + micros(80));
        assert_eq!(sleep.span(millis(50)), millis(50) - micros(80) - SLEEP_COST);
        for _ in 0..100 {
            sleep.woken(asked, asked + micros(5));
        }
        assert!(sleep.span(millis(50)) > millis(50) - micros(27), "{sleep:?}");
    }

    #[test]
    fn short_waits_are_mostly_slept() {
        let mut sleep = Sleep::default();
        sleep.woken(Instant::START, Instant::START + Duration::from_secs(1));
        assert_eq!(sleep.span(Duration::from_micros(400)), Duration::from_micros(350));
        assert_eq!(sleep.span(Duration::from_micros(120)), Duration::from_micros(100));
        assert_eq!(sleep.span(Duration::from_micros(20)), Duration::ZERO);
        assert_eq!(sleep.span(Duration::from_secs(9)), Duration::from_secs(9) - MOST_OVERSLEEP - SLEEP_COST);
    }
}
