//! Slots for which terminals contend: slotted Aloha with backoff, for requests and for data.
//!
//! A burst that is alone in its slot gets through; two or more are all lost (no capture, no noise). Its sender knows what
//! became of it a round trip later, and after a collision sends again in a slot drawn uniformly from a window, which is
//! constant or doubles with every attempt up to a limit (truncated binary exponential backoff: Metcalfe and Boggs 1976).
//! Slots are numbered from the beginning of the run; who computes their times is the owner of this.

use super::Backoff;
use crate::Port;
use crate::random::{self, Impairment};
use core::cmp::Reverse;
use std::collections::BinaryHeap;

/// Who sends in which slot.
#[derive(Debug)]
pub(super) struct Contention {
    backoff: Backoff,
    seed: u64,
    terminals: Vec<Contender>,
    /// Slot and terminal of every burst to come: at most one per terminal.
    bursts: BinaryHeap<Reverse<(u64, u16)>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Contender {
    is_waiting: bool,
    attempts: u16,
    draws: u64,
}

impl Contention {
    /// Nobody contends.
    pub(super) fn new(backoff: Backoff, terminals: u16, seed: u64) -> Self {
        let count = usize::from(terminals);
        let bursts = BinaryHeap::with_capacity(count);
        Self { backoff, seed, terminals: vec![Contender::default(); count], bursts }
    }

    /// Whether a burst of `terminal` waits for its slot.
    pub(super) fn is_waiting(&self, terminal: u16) -> bool {
        self.terminals[usize::from(terminal)].is_waiting
    }

    /// Collisions that the present burst of `terminal` has met.
    pub(super) fn attempts(&self, terminal: u16) -> u16 {
        self.terminals[usize::from(terminal)].attempts
    }

    /// A first attempt in one of `window` slots from `first` on.
    pub(super) fn enter(&mut self, terminal: u16, first: u64, window: u32) {
        if !self.is_waiting(terminal) {
            self.terminals[usize::from(terminal)].attempts = 0;
            self.draw(terminal, first, window);
        }
    }

    /// Another attempt after a collision that the terminal knows of before slot `first`.
    pub(super) fn retry(&mut self, terminal: u16, first: u64) {
        let attempts = &mut self.terminals[usize::from(terminal)].attempts;
        *attempts = attempts.saturating_add(1);
        let window = self.backoff.window(*attempts);
        self.draw(terminal, first, window);
    }

    /// The attempt that `terminal` could not make, in another slot from `first` on: drawn as after a collision, but not counted
    /// as one.
    pub(super) fn resume(&mut self, terminal: u16, first: u64) {
        if !self.is_waiting(terminal) {
            let window = self.backoff.window(self.attempts(terminal).max(1));
            self.draw(terminal, first, window);
        }
    }

    /// Something to do in slot `slot` for a terminal that has met its last collision.
    pub(super) fn give_up(&mut self, terminal: u16, slot: u64) {
        let contender = &mut self.terminals[usize::from(terminal)];
        contender.attempts = contender.attempts.saturating_add(1);
        contender.is_waiting = true;
        self.bursts.push(Reverse((slot, terminal)));
    }

    /// The next slot with a burst.
    pub(super) fn next_slot(&self) -> Option<u64> {
        self.bursts.peek().map(|&Reverse((slot, _))| slot)
    }

    /// The next terminal with a burst in `slot` or before; it no longer waits.
    pub(super) fn take(&mut self, slot: u64) -> Option<u16> {
        let &Reverse((due, terminal)) = self.bursts.peek()?;
        if due > slot {
            return None;
        }
        self.bursts.pop();
        self.terminals[usize::from(terminal)].is_waiting = false;
        Some(terminal)
    }

    fn draw(&mut self, terminal: u16, first: u64, window: u32) {
        let contender = &mut self.terminals[usize::from(terminal)];
        let offset = match window {
            0 | 1 => 0,
            _ => random::stream(self.seed, Impairment::Access, Port::Terminal(terminal))
                .below(contender.draws, window.into()),
        };
        contender.draws += u64::from(window > 1);
        contender.is_waiting = true;
        self.bursts.push(Reverse((first.saturating_add(offset), terminal)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_spread_over_a_window_that_doubles() {
        let backoff: Backoff = "4..16".parse().unwrap();
        let mut contention = Contention::new(backoff, 1, 9);
        for window in [4, 8, 16, 16] {
            let mut seen = vec![false; window];
            for round in 0..200 {
                contention.terminals[0].attempts = [4, 8, 16].iter().position(|&w| w == window).unwrap() as u16;
                contention.retry(0, 1000 * round);
                let slot = contention.next_slot().unwrap();
                assert_eq!(contention.take(slot), Some(0));
                seen[usize::try_from(slot - 1000 * round).unwrap()] = true;
            }
            assert!(seen.iter().all(|&seen| seen), "{window}: {seen:?}");
        }
    }

    #[test]
    fn an_attempt_that_could_not_be_made_is_drawn_anew_and_not_counted() {
        let mut contention = Contention::new("4..16".parse().unwrap(), 1, 9);
        contention.retry(0, 0);
        contention.retry(0, 0);
        assert_eq!(contention.attempts(0), 2);
        let mut seen = [false; 8];
        for round in 1..200 {
            while contention.take(u64::MAX).is_some() {}
            contention.resume(0, 1000 * round);
            contention.resume(0, 0);
            seen[usize::try_from(contention.next_slot().unwrap() - 1000 * round).unwrap()] = true;
        }
        assert_eq!((contention.attempts(0), seen), (2, [true; 8]));
    }

    #[test]
    fn who_waits_already_is_not_entered_twice() {
        let mut contention = Contention::new(Backoff::usual(2), 2, 1);
        contention.enter(1, 5, 1);
        contention.enter(1, 3, 1);
        assert_eq!((contention.take(4), contention.take(5), contention.take(99)), (None, Some(1), None));
    }
}
