//! The clock of Linux's timers: jiffies, 250 per second as most distributions build it.
//!
//! A timer does not run out when it was asked to: first its span is rounded up to jiffies, then its end up to the granularity of the
//! wheel it waits in (kernel/time/timer.c since 4.8), which is an eighth of the span at most: a jiffy within 63, eight within 504,
//! 64 within 4032, and so on. That is what a timeout of some hundred milliseconds is late by. Left out: high-resolution timers, which
//! pace and delay selective acknowledgements, and need no such rounding.

use farhop_units::Instant;
use std::time::Duration;

/// Jiffies per second.
pub const HZ: u64 = 250;
const NANOS: u64 = 1_000_000_000 / HZ;
/// Of each level of the wheel: slots less one; a level's granularity is eight times that of the one below it.
const SLOTS: u64 = 63;
const LEVEL_SHIFT: u32 = 3;
const LAST_LEVEL: u32 = 8;

/// A reading of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Jiffies(u64);

impl Jiffies {
    /// The reading at `now`.
    pub(crate) fn at(now: Instant) -> Self {
        Self(now.as_nanos() / NANOS)
    }

    /// Jiffies since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    pub(crate) fn later_by(self, span: Duration) -> Self {
        Self(self.0 + count(span))
    }
}

/// A span in jiffies, rounded up (usecs_to_jiffies()).
pub(crate) fn count(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).map_or(u64::MAX / NANOS, |nanos| nanos.div_ceil(NANOS))
}

/// A span rounded up to whole jiffies.
pub(crate) fn rounded_up(span: Duration) -> Duration {
    Duration::from_nanos(count(span).saturating_mul(NANOS))
}

/// The jiffies between two readings of the clock.
pub(crate) fn between(earlier: Instant, now: Instant) -> Duration {
    Duration::from_nanos(Jiffies::at(now).since(Jiffies::at(earlier)).saturating_mul(NANOS))
}

/// What there is of a span in whole jiffies (nsecs_to_jiffies()).
pub(crate) fn whole(span: Duration) -> Duration {
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(nanos - nanos % NANOS)
}

/// How coarse the timer wheel is for a span of so many jiffies: its slots are two to the power of this many jiffies long.
pub fn timer_granularity(jiffies: u64) -> u32 {
    let is_within = |level: &u32| jiffies < SLOTS << (LEVEL_SHIFT * level);
    LEVEL_SHIFT * (0..LAST_LEVEL).find(is_within).unwrap_or(LAST_LEVEL)
}

/// When a timer runs out that is set at `now` for `span`.
pub(crate) fn expiry(now: Instant, span: Duration) -> Instant {
    let jiffies = count(span);
    let shift = timer_granularity(jiffies);
    // The slot after the one that its time falls into: never early.
    let slot = ((Jiffies::at(now).0 + jiffies) >> shift) + 1;
    Instant::from_nanos((slot << shift).saturating_mul(NANOS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_timer_runs_out_at_the_next_slot_of_its_level() {
        let at = |now: u64, span: u64| expiry(Instant::START + MS(now), MS(span)).as_nanos() / 1_000_000;
        assert_eq!([at(0, 40), at(1, 40), at(3, 41)], [44, 44, 48], "a jiffy");
        assert_eq!(
            [at(0, 248), at(0, 252), at(0, 288), at(31, 288)],
            [252, 256, 320, 320],
            "eight jiffies from 252 ms on"
        );
        assert_eq!([at(0, 1000), at(0, 2016)], [1024, 2048]);
        assert_eq!([at(0, 3000), at(100, 3000)], [3072, 3328], "64 jiffies from 2016 ms on");
    }

    #[test]
    fn spans_are_counted_from_reading_to_reading() {
        let at = |micros: u64| Instant::START + Duration::from_micros(micros);
        assert_eq!([between(at(3999), at(4000)), between(at(4000), at(11_999))], [MS(4), MS(4)]);
    }

    #[test]
    fn the_wheel_has_nine_levels() {
        let month = Duration::from_secs(30 * 24 * 3600);
        assert_eq!(expiry(Instant::START, month).as_nanos() % (NANOS << 24), 0, "slots of 8⁸ jiffies");
        assert_ne!(expiry(Instant::START, 100 * month).as_nanos() % (NANOS << 27), 0, "no coarser ones");
    }

    proptest! {
        #[test]
        fn no_timer_is_early_or_much_too_late(now in 0_u64..u64::MAX / 4, span in 0_u64..100_000_000) {
            let (now, span) = (Instant::from_nanos(now), Duration::from_micros(span));
            let late = expiry(now, span).since(now).checked_sub(span);
            prop_assert!(late.is_some_and(|late| late <= span / 7 + MS(12)), "{late:?} after {span:?}");
        }
    }
}
