//! When each connection does something by itself at the earliest; when it does is asked only once that time has come.

use super::ticks::Ticks;

/// When a connection does something by itself, and since when that is so: of two that fall together the older goes first.
pub(crate) type Timer = (Ticks, Ticks);

/// By the places of connections: before this nothing happens there. Timers are put off far more often than they run out.
#[derive(Debug)]
pub(crate) struct Timers {
    bounds: Vec<Ticks>,
    first: Ticks,
}

impl Default for Timers {
    fn default() -> Self {
        Self { bounds: Vec::new(), first: Ticks::NEVER }
    }
}

impl Timers {
    /// No timer is set.
    pub(crate) fn reset(&mut self) {
        self.bounds.fill(Ticks::NEVER);
        self.first = Ticks::NEVER;
    }

    /// There is one more place.
    pub(crate) fn push(&mut self) {
        self.bounds.push(Ticks::NEVER);
    }

    /// A timer at `place` may run out at `bound`.
    pub(crate) fn lower(&mut self, place: usize, bound: Ticks) {
        if bound < self.bounds[place] {
            self.bounds[place] = bound;
            self.first = self.first.min(bound);
        }
    }

    /// No timer runs out before this.
    pub(crate) fn bound(&self) -> Ticks {
        self.first
    }

    /// Whether a timer may run out until `limit`.
    pub(crate) fn may_run_out(&self, limit: Ticks) -> bool {
        self.first <= limit && self.first < Ticks::NEVER
    }

    /// The first timer to run out until `limit`, and whose it is; `timer` gives that of a place, and `earliest` what it is known not to be
    /// before, which takes less.
    pub(crate) fn first(
        &mut self,
        limit: Ticks,
        earliest: impl Fn(usize) -> Ticks,
        timer: impl Fn(usize) -> Timer,
    ) -> Option<(Ticks, usize)> {
        while self.may_run_out(limit) {
            for (place, bound) in self.bounds.iter_mut().enumerate().filter(|(_, bound)| **bound <= limit) {
                *bound = (*bound).max(earliest(place));
            }
            self.first = self.bounds.iter().copied().min().unwrap_or(Ticks::NEVER);
            if !self.may_run_out(limit) {
                break;
            }
            let mut oldest: Option<(Ticks, usize)> = None;
            for (place, bound) in self.bounds.iter_mut().enumerate().filter(|(_, bound)| **bound == self.first) {
                let (due, since) = timer(place);
                if due > self.first {
                    *bound = due;
                } else if oldest.is_none_or(|(older, _)| since < older) {
                    oldest = Some((since, place));
                }
            }
            if let Some((_, place)) = oldest {
                return Some((self.first, place));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_of_those_the_oldest_of_those_the_one_at_the_first_place(
            sets in prop::collection::vec((0..5_usize, 0..9_u64, 0..3_u64, 0..9_u64), 1..60)
        ) {
            let (mut timers, mut all) = (Timers::default(), [(Ticks::NEVER, Ticks::ZERO); 5]);
            (0..5).for_each(|_| timers.push());
            for (now, (place, due, early, limit)) in sets.into_iter().enumerate() {
                // Several at one time, and some that are put off for ever.
                let (now, limit) = (Ticks::from_millis(now as u64 / 3), Ticks::from_millis(limit));
                let due = if due == 8 { Ticks::NEVER } else { Ticks::from_millis(due) };
                all[place] = (due, now);
                timers.lower(place, due.since(Ticks::from_millis(early)));
                let first = (0..5).min_by_key(|place| (all[*place], *place)).expect("five");
                let known = |place: usize| all[place].0.since(Ticks::from_millis(early / 2));
                let told = timers.first(limit, known, |place| all[place]);
                let due = all[first].0;
                prop_assert_eq!(told, (due <= limit).then_some((due, first)));
            }
        }
    }
}
