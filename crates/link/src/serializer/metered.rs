//! A capacity that varies with the run's clock, and the pauses in which it is lost.

use super::{NEVER, Tally};
use crate::orbit::Pauses;
use core::fmt::Debug;
use farhop_units::{Bytes, Instant};

/// What a link could have carried since the run began, in units of its own.
pub(super) trait Capacity: Debug {
    /// Units that were there before `at`.
    fn before(&mut self, at: Instant) -> u128;

    /// Units that are gone for a packet that arrives at `at`.
    fn missed(&mut self, at: Instant) -> u128;

    /// The first instant by which so many were there; `None` if that never happens.
    fn reached(&mut self, units: u128) -> Option<Instant>;
}

/// Packets in line for a capacity. Which of its units goes to which packet is counted in units since the run's
/// beginning: the tally is the number of the unit up to which all are used or gone.
#[derive(Debug)]
pub(super) struct Metered<C> {
    capacity: C,
    tally: Tally,
    pauses: Option<Pauses>,
    /// The pause that comes next.
    next: Option<Pause>,
}

/// A pause in units of the capacity.
#[derive(Debug)]
struct Pause {
    /// Units before it.
    before: u128,
    /// When it begins and ends.
    begin: Instant,
    end: Instant,
}

/// A packet that has not left after so many handovers never does. The shortest time that is accepted from one to the
/// next is a second: twelve days.
const MOST_PAUSES: u32 = 1 << 20;

impl<C: Capacity> Metered<C> {
    /// Nobody in line.
    pub(super) fn new(capacity: C, tally: Tally, pauses: Option<Pauses>) -> Self {
        Self { capacity, tally, pauses, next: None }
    }

    /// A busy period begins at `now`: returns when sending can begin.
    pub(super) fn begin(&mut self, now: Instant) -> Instant {
        let resumed = self.pauses.map_or(now, |pauses| pauses.resume(now));
        // Whoever waits out a pause was there before what comes at its end.
        let gone = if resumed > now { self.capacity.before(resumed) } else { self.capacity.missed(now) };
        self.tally.restart(gone);
        if self.pauses.is_some() && self.next.as_ref().is_none_or(|pause| pause.begin < resumed) {
            self.look_ahead(resumed);
        }
        resumed
    }

    /// The end of a packet of so many bytes after those so far.
    pub(super) fn end(&mut self, bytes: Bytes) -> Instant {
        let mut needed = self.tally.add(bytes);
        for _ in 0..MOST_PAUSES {
            let Some(end) = self.capacity.reached(needed) else { return NEVER };
            let Some(pause) = self.next.as_ref().filter(|pause| needed > pause.before) else { return end };
            let (before, resumed) = (pause.before, pause.end);
            let lost = self.capacity.before(resumed).saturating_sub(before);
            needed = self.tally.skip(lost);
            self.look_ahead(resumed);
        }
        NEVER
    }

    /// Finds the first pause at or after `from`.
    fn look_ahead(&mut self, from: Instant) {
        let next = self.pauses.and_then(|pauses| pauses.next(from));
        self.next =
            next.map(|next| Pause { before: self.capacity.before(next.start), begin: next.start, end: next.end });
    }
}

/// How many of `sorted` come first, those that `is_before` holds for. Fast if that is `hint` or little more, which it
/// is if questions come in order of time.
pub(super) fn count_before<T>(sorted: &[T], hint: usize, is_before: impl Fn(&T) -> bool) -> usize {
    let mut begin = hint.min(sorted.len());
    if begin > 0 && !is_before(&sorted[begin - 1]) {
        return sorted[..begin - 1].partition_point(is_before);
    }
    let mut stride = 1;
    while sorted.get(begin + stride - 1).is_some_and(&is_before) {
        begin += stride;
        stride *= 2;
    }
    let end = sorted.len().min(begin + stride);
    begin + sorted[begin..end].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_hint_changes_no_count(
            mut sorted in proptest::collection::vec(0_u32..40, 0..60), hint in 0_usize..70, bound in 0_u32..45,
        ) {
            sorted.sort_unstable();
            let count = sorted.iter().filter(|&&number| number < bound).count();
            prop_assert_eq!(count_before(&sorted, hint, |&number| number < bound), count);
        }
    }
}
