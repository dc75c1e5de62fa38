//! The clock of Linux's timers: 250 jiffies per second.
//!
//! A timer's span is rounded up to jiffies, and its end to the granularity of the wheel that it waits in (kernel/time/timer.c since 4.8):
//! a jiffy for spans below 63, and eight times as many for spans eight times as long. How late that makes a timer depends on how long the
//! host has been up, which nobody knows here: it is taken to be as late as in the middle of all cases. After that it is known when the clock
//! ticks, and what one timer lets go may keep in step with it.

use super::ticks::Ticks;
use farhop_scenario::{HZ, timer_granularity};

/// Between two of the clock's ticks.
pub(crate) const JIFFY: Ticks = Ticks::from_micros(1_000_000 / HZ);

/// The reading of a clock that begins with the load.
pub(crate) fn at(now: Ticks) -> u64 {
    now.whole(JIFFY)
}

/// A span in jiffies, rounded up.
pub(crate) fn count(span: Ticks) -> u64 {
    span.raw().div_ceil(JIFFY.raw())
}

/// A span rounded up to whole jiffies.
pub(crate) fn rounded_up(span: Ticks) -> Ticks {
    JIFFY.times(count(span))
}

/// What there is of a span in whole jiffies.
pub(crate) fn whole(span: Ticks) -> Ticks {
    JIFFY.times(span.whole(JIFFY))
}

/// When a timer runs out that is set `now` for `span`, of a host whose clock ticked at `tick`, if a jiffy is all that it may be late by.
pub(crate) fn expiry(now: Ticks, span: Ticks, tick: Ticks) -> Option<Ticks> {
    let jiffies = count(span);
    // The tick is of the past, so that the sum is, too.
    (timer_granularity(jiffies) == 0).then(|| tick + JIFFY.times(now.since(tick).whole(JIFFY) + jiffies + 1))
}

/// Between two readings of a clock that ticked at `tick`, or in the middle between those of the load's own if that is not known.
pub(crate) fn between(earlier: Ticks, now: Ticks, tick: Option<Ticks>) -> Ticks {
    let behind = JIFFY.since(tick.unwrap_or_else(|| JIFFY.per(2)).within(JIFFY));
    JIFFY.times(at(now + behind).saturating_sub(at(earlier + behind)))
}

/// After how long a timer for `span` runs out.
pub(crate) fn wait(span: Ticks) -> Ticks {
    let jiffies = count(span);
    // It ends with the slot after the one that its time falls into; of both ends the middle is taken.
    JIFFY.times(jiffies) + JIFFY.times(1 << timer_granularity(jiffies)).per(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_late_by_half_a_slot_and_what_rounding_adds() {
        let waits = |ms: u64| wait(Ticks::from_millis(ms)).raw() / 1_000_000;
        assert_eq!([40, 41, 248].map(waits), [42, 46, 250], "a jiffy");
        assert_eq!([252, 2012].map(waits), [268, 2028], "eight jiffies");
        assert_eq!(waits(2016), 2144, "64 jiffies");
        assert_eq!(wait(Ticks::NEVER), Ticks::NEVER);
    }

    #[test]
    fn spans_are_counted_from_tick_to_tick() {
        let span =
            |tick: Option<u64>| between(Ticks::from_millis(1), Ticks::from_millis(3), tick.map(Ticks::from_millis));
        assert_eq!([span(None), span(Some(2)), span(Some(3)), span(Some(0))], [JIFFY, JIFFY, JIFFY, Ticks::ZERO]);
        assert_eq!(between(Ticks::from_millis(9), Ticks::from_millis(1), None), Ticks::ZERO, "what is yet to come");
    }

    #[test]
    fn the_wheel_has_nine_levels() {
        let month = Ticks::from_millis(30 * 24 * 3_600_000);
        assert_eq!(wait(month).since(month), JIFFY.times(1 << 23), "half of 8⁸ jiffies");
    }

    #[test]
    fn a_clock_that_is_known_ticks_every_four_milliseconds() {
        let late = |now: u64, span: u64| {
            let [now, span, tick] = [now, span, 6].map(Ticks::from_millis);
            expiry(now, span, tick).map(|at| at.since(now).raw() / 1_000_000)
        };
        assert_eq!([late(6, 40), late(9, 40), late(10, 41)], [Some(44), Some(41), Some(48)]);
        assert_eq!(late(6, 252), None, "slots of eight jiffies");
    }
}
