//! What happens next: events in order of time, those of one instant in the order in which they were scheduled.
//!
//! A monotone radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem", 1990) over
//! digits of six bits: an event waits in the slot of the first digit, from the top, in which its time differs from the present. As
//! time reaches a slot, its events move to slots of lower digits, each at most eleven times and usually two or three times.
//! Neighbours are never compared, so that a million pending events cost little more than a thousand.
//!
//! Events of one time are always in one slot, in the order in which they came; slots are emptied from the front into slots that
//! are empty. So the order of scheduling is kept without numbering anything. A slot is a chain of blocks, which it takes from those
//! that became free last: memory is what pending events need, most of it is in the cache, and nothing is allocated once there have
//! been as many.

use farhop_units::Instant;
use std::collections::VecDeque;

/// Bits per digit.
const DIGIT: u32 = 6;
/// Slots of one digit.
const SLOTS: usize = 1 << DIGIT;
/// The digit that the events of one slot of 262 µs have in common.
const NEAR: usize = 3;
/// Events in such a slot from which on they are many.
const MANY: usize = 8;
/// Digits of a time in ns.
const LEVELS: usize = u64::BITS.div_ceil(DIGIT) as usize;
/// Events in a block.
const BLOCK: usize = 32;

/// Events to come.
#[derive(Debug)]
pub struct EventQueue<E> {
    now: u64,
    /// Events of the present instant.
    ready: VecDeque<E>,
    /// Which levels hold events, lowest digit first.
    occupied: u16,
    levels: Vec<Level>,
    blocks: Vec<Block<E>>,
    /// Blocks that are in no chain.
    free: Vec<u32>,
}

/// The events whose time first differs from the present in one digit.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// Which slots hold events.
    occupied: u64,
    slots: [Chain; SLOTS],
}

/// The first and the last block of a slot.
#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

/// Some events of a slot, and the block with those after them.
#[derive(Debug)]
struct Block<E> {
    entries: Vec<Entry<E>>,
    next: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    at: u64,
    event: E,
}

/// No block.
const NONE: u32 = u32::MAX;

impl Chain {
    const EMPTY: Self = Self { first: NONE, last: NONE };
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> EventQueue<E> {
    /// Nothing is to come, and it is the beginning of the run.
    pub fn new() -> Self {
        let levels = vec![Level { occupied: 0, slots: [Chain::EMPTY; SLOTS] }; LEVELS];
        Self { now: 0, ready: VecDeque::new(), occupied: 0, levels, blocks: Vec::new(), free: Vec::new() }
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

    /// The same; where many events lie within a short time, `near` is shown them before the first happens, so that what they need can
    /// be fetched from memory together.
    pub fn pop_and_look(&mut self, near: impl FnMut(&E)) -> Option<(Instant, E)> {
        let event = self.ready.pop_front().or_else(|| self.advance(near))?;
        Some((Instant::from_nanos(self.now), event))
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
        let chain = &mut slots[slot];
        if chain.last == NONE || self.blocks[chain.last as usize].entries.len() == BLOCK {
            let block = take_block(&mut self.blocks, &mut self.free);
            match chain.last {
                NONE => chain.first = block,
                last => self.blocks[last as usize].next = block,
            }
            chain.last = block;
        }
        self.blocks[chain.last as usize].entries.push(entry);
    }

    /// Moves the present to the next event's time, makes its events ready and takes the first.
    fn advance(&mut self, mut near: impl FnMut(&E)) -> Option<E> {
        if self.occupied == 0 {
            return None;
        }
        let place = self.occupied.trailing_zeros() as usize;
        let level = &mut self.levels[place];
        let slot = level.occupied.trailing_zeros() as usize;
        level.occupied &= level.occupied - 1;
        if level.occupied == 0 {
            self.occupied &= self.occupied - 1;
        }
        let first = core::mem::replace(&mut level.slots[slot], Chain::EMPTY).first;
        if let Some(Entry { at, event }) = self.take_alone(first) {
            self.now = at;
            return Some(event);
        }
        self.now = self.entries(first).map(|entry| entry.at).min().unwrap_or(self.now);
        if place == NEAR && self.entries(first).nth(MANY - 1).is_some() {
            self.entries(first).for_each(|entry| near(&entry.event));
        }
        self.spread(first);
        self.ready.pop_front()
    }

    /// The entry of a chain that has only one, as most have where events are few.
    fn take_alone(&mut self, first: u32) -> Option<Entry<E>> {
        let Block { entries, next: NONE } = &mut self.blocks[first as usize] else { return None };
        let entry = if entries.len() == 1 { entries.pop() } else { None }?;
        self.free.push(first);
        Some(entry)
    }

    /// The entries of a chain, in order.
    fn entries(&self, first: u32) -> impl Iterator<Item = &Entry<E>> {
        let block = |number: u32| self.blocks.get(number as usize);
        core::iter::successors(block(first), move |last| block(last.next)).flat_map(|block| &block.entries)
    }

    /// Moves the entries of a chain to where they belong now, and takes its blocks back.
    fn spread(&mut self, first: u32) {
        let mut number = first;
        while number != NONE {
            let Block { entries, next } = &mut self.blocks[number as usize];
            let (mut entries, next) = (core::mem::take(entries), core::mem::replace(next, NONE));
            for entry in entries.drain(..) {
                if entry.at == self.now { self.ready.push_back(entry.event) } else { self.insert(entry) }
            }
            self.blocks[number as usize].entries = entries;
            self.free.push(number);
            number = next;
        }
    }
}

/// A block for a chain.
fn take_block<E>(blocks: &mut Vec<Block<E>>, free: &mut Vec<u32>) -> u32 {
    free.pop().unwrap_or_else(|| {
        blocks.push(Block { entries: Vec::with_capacity(BLOCK), next: NONE });
        u32::try_from(blocks.len() - 1).expect("memory is full before")
    })
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
        let many = [1_000_007, 1_000_000, 1_000_001, 1_000_002, 1_000_003, 1_000_004, 1_000_005, 1_000_006];
        for at in [&many[..], &[1_300_000, 1_300_001]].concat() {
            queue.push(Instant::from_nanos(at), at);
        }
        let mut shown = Vec::new();
        let first = queue.pop_and_look(|event| shown.push(*event));
        assert_eq!((first.map(|(_, event)| event), &shown[..]), (Some(1_000_000), &many[..]));
        while queue.pop_and_look(|event| shown.push(*event)).is_some() {}
        assert_eq!(shown, many, "two are not many");
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
