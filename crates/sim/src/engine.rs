//! What happens next: events in order of time, those of one instant in the order in which they were scheduled.
//!
//! A monotone radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem", 1990) over
//! digits of six bits: an event waits in the slot of the first digit, from the top, in which its time differs from the present. As
//! time reaches a slot, its events move to slots of lower digits, each at most eleven times and usually two or three times.
//! Neighbours are never compared, so that a million pending events cost little more than a thousand.
//!
//! Events of one time are always in one slot, in the order in which they came; slots are emptied from the front into slots that
//! are empty. So the order of scheduling is kept without numbering anything. Slots keep their memory: nothing is allocated
//! once every slot has met its fullest time.

use farhop_units::Instant;
use std::collections::VecDeque;

/// Bits per digit.
const DIGIT: u32 = 6;
/// Slots of one digit.
const SLOTS: usize = 1 << DIGIT;
/// Digits of the distance, but one, at which events are near: 262 µs.
const NEAR: usize = 2;
/// Digits of a time in ns.
const LEVELS: usize = u64::BITS.div_ceil(DIGIT) as usize;

/// Events to come.
#[derive(Debug)]
pub struct EventQueue<E> {
    now: u64,
    /// Events of the present instant.
    ready: VecDeque<E>,
    /// Which levels hold events, lowest digit first.
    occupied: u16,
    levels: Vec<Level<E>>,
}

/// The events whose time first differs from the present in one digit.
#[derive(Debug)]
struct Level<E> {
    /// Which slots hold events.
    occupied: u64,
    slots: [Vec<Entry<E>>; SLOTS],
}

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    at: u64,
    event: E,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> EventQueue<E> {
    /// Nothing is to come, and it is the beginning of the run.
    pub fn new() -> Self {
        let level = || Level { occupied: 0, slots: core::array::from_fn(|_| Vec::new()) };
        let levels = core::iter::repeat_with(level).take(LEVELS).collect();
        Self { now: 0, ready: VecDeque::new(), occupied: 0, levels }
    }

    /// Schedules `event`; one for the past is for the present.
    pub fn push(&mut self, at: Instant, event: E) {
        let at = at.as_nanos();
        if at <= self.now { self.ready.push_back(event) } else { self.insert(Entry { at, event }) }
    }

    /// The next event, to whose time the present moves.
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        self.pop_and_look(|_| {})
    }

    /// The same; `near` is shown others that are not far off, where there are many of them, so that what they need can be fetched from
    /// memory meanwhile.
    pub fn pop_and_look(&mut self, near: impl FnMut(&E)) -> Option<(Instant, E)> {
        if self.ready.is_empty() {
            self.advance(near);
        }
        self.ready.pop_front().map(|event| (Instant::from_nanos(self.now), event))
    }

    /// The next event, if it is due at `at` and the present is that time.
    pub fn pop_due(&mut self, at: Instant) -> Option<E> {
        if self.now == at.as_nanos() { self.ready.pop_front() } else { None }
    }

    /// `entry` is later than the present.
    fn insert(&mut self, entry: Entry<E>) {
        let level = (entry.at ^ self.now).ilog2() / DIGIT;
        let slot = (entry.at >> (level * DIGIT)) as usize % SLOTS;
        self.occupied |= 1 << level;
        let Level { occupied, slots } = &mut self.levels[level as usize];
        *occupied |= 1 << slot;
        slots[slot].push(entry);
    }

    /// Moves the present to the next event's time and makes its events ready.
    fn advance(&mut self, mut near: impl FnMut(&E)) {
        if self.occupied == 0 {
            return;
        }
        let place = self.occupied.trailing_zeros() as usize;
        let level = &mut self.levels[place];
        let slot = level.occupied.trailing_zeros() as usize;
        level.occupied &= level.occupied - 1;
        if level.occupied == 0 {
            self.occupied &= self.occupied - 1;
        }
        let mut entries = core::mem::take(&mut level.slots[slot]);
        self.now = entries.iter().map(|entry| entry.at).min().unwrap_or(self.now);
        for entry in entries.drain(..) {
            if place > NEAR && (entry.at ^ self.now) >> ((NEAR + 1) * DIGIT as usize) == 0 {
                near(&entry.event);
            }
            if entry.at == self.now { self.ready.push_back(entry.event) } else { self.insert(entry) }
        }
        self.levels[place].slots[slot] = entries;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    /// Pops everything; times in ns.
    fn drain(queue: &mut EventQueue<usize>) -> Vec<(u64, usize)> {
        std::iter::from_fn(|| queue.pop()).map(|(at, number)| (at.as_nanos(), number)).collect()
    }

    #[test]
    fn the_end_of_time_is_a_time() {
        let mut queue = EventQueue::new();
        queue.push(Instant::from_nanos(u64::MAX), 0);
        queue.push(Instant::from_nanos(1), 1);
        queue.push(Instant::from_nanos(u64::MAX), 2);
        assert_eq!(drain(&mut queue), [(1, 1), (u64::MAX, 0), (u64::MAX, 2)]);
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn what_is_past_happens_now() {
        let mut queue = EventQueue::new();
        queue.push(Instant::from_nanos(1000), 0);
        queue.push(Instant::from_nanos(1000), 1);
        assert_eq!(queue.pop().map(|(_, number)| number), Some(0));
        queue.push(Instant::from_nanos(10), 2);
        assert_eq!(drain(&mut queue), [(1000, 1), (1000, 2)]);
    }

    #[test]
    fn what_is_near_is_shown_before_it_happens() {
        let mut queue = EventQueue::new();
        for at in [1_000_000, 1_000_001, 1_300_000] {
            queue.push(Instant::from_nanos(at), at);
        }
        let mut shown = Vec::new();
        let first = queue.pop_and_look(|event| shown.push(*event));
        assert_eq!(first.map(|(_, event)| event), Some(1_000_000));
        assert_eq!(shown, [1_000_000, 1_000_001]);
    }

    proptest! {
        #[test]
        fn events_come_in_order_of_time_and_ties_in_order_of_scheduling(times in prop::collection::vec(0_u64..10, 0..200)) {
            let mut queue = EventQueue::new();
            for (number, at) in times.iter().enumerate() {
                queue.push(Instant::from_nanos(*at), number);
            }
            let mut expected: Vec<_> = times.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            prop_assert_eq!(drain(&mut queue), expected);
        }

        /// As a binary heap of times and numbers does it, while time goes on.
        #[test]
        fn the_order_is_that_of_a_heap(steps in prop::collection::vec((0_u32..60, any::<u64>(), 0_usize..4), 1..300)) {
            let (mut queue, mut heap, mut now) = (EventQueue::new(), BinaryHeap::new(), 0_u64);
            for (number, (bits, draw, pops)) in steps.into_iter().enumerate() {
                let at = now.saturating_add(draw & ((1 << bits) - 1));
                queue.push(Instant::from_nanos(at), number);
                heap.push(Reverse((at, number)));
                for _ in 0..pops {
                    let expected = heap.pop().map(|Reverse(entry)| entry);
                    let popped = queue.pop().map(|(at, number)| (at.as_nanos(), number));
                    prop_assert_eq!(popped, expected);
                    now = expected.map_or(now, |(at, _)| at);
                }
            }
        }
    }
}
