//! Streams that end by themselves: a terminal's slots in every frame until nothing was heard of it for a while.
//!
//! The scheduler knows only what has arrived. A burst that arrives after its stream has run out does not keep it: by then
//! the release is on its way.

use super::ring::Ring;
use core::cmp::Reverse;
use farhop_units::Instant;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Weights on a ring, and when each runs out, by the scheduler's knowledge.
#[derive(Debug)]
pub(super) struct Streams {
    /// Slots per frame.
    pub(super) ring: Ring,
    until: Vec<Instant>,
    /// At most one entry per terminal, no later than its stream's end.
    ends: BinaryHeap<Reverse<(Instant, u16)>>,
    is_listed: Vec<bool>,
}

impl Streams {
    /// None.
    pub(super) fn new(terminals: u16) -> Self {
        let count = usize::from(terminals);
        Self {
            ring: Ring::new(terminals),
            until: vec![Instant::START; count],
            ends: BinaryHeap::new(),
            is_listed: vec![false; count],
        }
    }

    /// `terminal` has `weight` slots per frame until `until`.
    pub(super) fn open(&mut self, terminal: u16, weight: u32, until: Instant) {
        let place = usize::from(terminal);
        self.ring.set(terminal, weight);
        self.until[place] = until.max(self.until[place]);
        if !core::mem::replace(&mut self.is_listed[place], true) {
            self.ends.push(Reverse((until, terminal)));
        }
    }

    /// The scheduler hears of `terminal` at `at`: its stream goes on for `timeout` from then, unless it has run out before.
    pub(super) fn hear(&mut self, terminal: u16, at: Instant, timeout: Duration) {
        let until = &mut self.until[usize::from(terminal)];
        if at < *until {
            *until = (at + timeout).max(*until);
        }
    }

    /// Ends one stream that has run out by `now`.
    pub(super) fn end(&mut self, now: Instant) -> Option<u16> {
        while let Some(&Reverse((due, terminal))) = self.ends.peek().filter(|Reverse((due, _))| *due <= now) {
            self.ends.pop();
            let until = self.until[usize::from(terminal)];
            if until > now {
                debug_assert!(until > due, "an entry is no later than its end");
                self.ends.push(Reverse((until, terminal)));
                continue;
            }
            self.is_listed[usize::from(terminal)] = false;
            self.ring.set(terminal, 0);
            return Some(terminal);
        }
        None
    }

    /// No stream ends before this.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.ends.peek().map(|&Reverse((due, _))| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(count: u64) -> Instant {
        Instant::START + Duration::from_millis(count)
    }

    #[test]
    fn a_stream_ends_when_nothing_was_heard_for_the_timeout() {
        let mut streams = Streams::new(3);
        let timeout = Duration::from_millis(100);
        streams.open(1, 2, millis(100));
        streams.hear(1, millis(40), timeout);
        assert_eq!(streams.end(millis(139)), None);
        assert_eq!((streams.end(millis(140)), streams.ring.total()), (Some(1), 0));
        assert_eq!(streams.next_end(), None);
    }

    #[test]
    fn a_burst_that_arrives_too_late_does_not_keep_the_stream() {
        let mut streams = Streams::new(3);
        streams.open(1, 2, millis(100));
        streams.hear(1, millis(100), Duration::from_millis(50));
        assert_eq!(streams.end(millis(120)), Some(1));
    }
}
