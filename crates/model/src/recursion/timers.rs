//! When each connection does something by itself; the first of them is known without looking at all.

use super::ticks::Ticks;

/// When a connection does something by itself, and since when that is so: of two that fall together the older goes first.
type Timer = (Ticks, Ticks);

const NEVER: Timer = (Ticks::NEVER, Ticks::NEVER);
/// A place without a timer.
const NONE: Timer = (Ticks::NEVER, Ticks::ZERO);

/// By the places of connections.
#[derive(Debug)]
pub(crate) struct Timers {
    timers: Vec<Timer>,
    /// The first to run out, of equal ones that of the first place, and its place.
    first: (Timer, usize),
    /// It was put off, so that another may be the first.
    is_stale: bool,
}

impl Default for Timers {
    fn default() -> Self {
        Self { timers: Vec::new(), first: (NEVER, 0), is_stale: false }
    }
}

impl Timers {
    /// No timer is set.
    pub(crate) fn reset(&mut self) {
        self.timers.fill(NONE);
        (self.first, self.is_stale) = ((NEVER, 0), false);
    }

    /// There is one more place.
    pub(crate) fn push(&mut self) {
        self.timers.push(NONE);
    }

    /// The timer at `place` runs out `due` then, which is known `now`, if it was not before.
    pub(crate) fn set(&mut self, place: usize, due: Ticks, now: Ticks) {
        if self.timers[place].0 != due {
            self.renew(place, due, now);
        }
    }

    /// The timer at `place` runs out `due` then, which is known `now`, whether or not it was before.
    pub(crate) fn renew(&mut self, place: usize, due: Ticks, now: Ticks) {
        self.timers[place] = (due, now);
        let new = ((due, now), place);
        if new < self.first {
            self.first = new;
        } else {
            self.is_stale |= place == self.first.1;
        }
    }

    /// The first timer to run out, and whose it is.
    pub(crate) fn first(&mut self) -> (Ticks, usize) {
        if core::mem::take(&mut self.is_stale) {
            self.first = (NEVER, 0);
            for (place, timer) in self.timers.iter().enumerate() {
                if *timer < self.first.0 {
                    self.first = (*timer, place);
                }
            }
        }
        (self.first.0.0, self.first.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_of_those_the_oldest_of_those_the_one_at_the_first_place(
            sets in prop::collection::vec((0..5_usize, 0..9_u64, any::<bool>()), 1..60)
        ) {
            let (mut timers, mut all) = (Timers::default(), [NONE; 5]);
            (0..5).for_each(|_| timers.push());
            for (now, (place, due, anew)) in sets.into_iter().enumerate() {
                // Several at one time, and some that are put off for ever.
                let now = Ticks::from_millis(now as u64 / 3);
                let due = if due == 8 { Ticks::NEVER } else { Ticks::from_millis(due) };
                if anew { timers.renew(place, due, now) } else { timers.set(place, due, now) }
                if anew || all[place].0 != due {
                    all[place] = (due, now);
                }
                let first = (0..5).min_by_key(|place| (all[*place], *place)).expect("five");
                let told = timers.first();
                prop_assert_eq!(told.0, all[first].0);
                prop_assert!(told.0 == Ticks::NEVER || told.1 == first);
            }
        }
    }
}
