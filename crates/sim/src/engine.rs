//! What happens next: events in order of time, those of one instant in the order in which they were scheduled, but for those that are
//! last of it.
//!
//! A monotone radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem", 1990): an event waits
//! in the slot of the first digit, from the top, in which its time differs from the present. As time reaches a slot, its events move to
//! slots of lower digits, each at most nine times. Digits have six bits but for one of twelve, so that what is due within a second, which
//! is nearly everything, waits in a slot of 262 µs from the beginning, and has mostly that for itself. Neighbours are never compared, so
//! that a million pending events cost little more than a thousand.
//!
//! Times are doubled, so that what is last of its instant has a time of its own, one beyond that of the others. Events of one time are
//! always in one slot, in the order in which they came; slots are emptied from the front into slots that are empty. So the order of
//! scheduling is kept without numbering anything. A slot is a chain of blocks, which it takes from those that became free last: memory
//! is what pending events need, most of it is in the cache, and nothing is allocated once there have been as many. What is known of
//! blocks lies apart from the events in them, so that scheduling one reads nothing but that.

use farhop_units::{Instant, look_at};
use std::collections::VecDeque;

/// Where each digit of a doubled time in ns begins, and where the last one ends.
const DIGITS: [u32; LEVELS + 1] = [0, 7, 13, 19, 31, 37, 43, 49, 55, 61, 64];
const LEVELS: usize = 10;
/// The digit of which the events of one slot of 262 µs have all in common.
const NEAR: usize = 3;
/// The digit with each bit.
const LEVEL_OF_BIT: [u8; u64::BITS as usize] = levels_of_bits();
/// Events in such a slot from which on they are many.
const MANY: usize = 8;
/// Events in a block.
const BLOCK: usize = 8;

/// Events to come.
#[derive(Debug)]
pub struct EventQueue<E> {
    /// The doubled time of the last event.
    now: u64,
    /// Events of the present time.
    ready: VecDeque<E>,
    /// Which levels hold events, lowest digit first.
    occupied: u16,
    levels: Vec<Level>,
    /// Room for the events of all blocks.
    entries: Vec<Option<Entry<E>>>,
    blocks: Vec<Block>,
    /// Blocks that are in no chain.
    free: Vec<u32>,
}

/// Events that happen next.
#[derive(Debug)]
pub struct Near<'a, E> {
    queue: &'a EventQueue<E>,
    first: u32,
}

impl<E> Near<'_, E> {
    /// Shows `see` all of them.
    #[inline]
    pub fn each(&self, mut see: impl FnMut(&E)) {
        self.queue.each(self.first, |entry| see(&entry.event));
    }
}

/// The events whose time first differs from the present in one digit.
#[derive(Debug)]
struct Level {
    /// Where the digit begins.
    shift: u32,
    /// Which words of `occupied` are not zero.
    words: u64,
    /// Which slots hold events, 64 to a word.
    occupied: Vec<u64>,
    slots: Vec<Chain>,
}

/// The first and the last block of a slot.
#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

/// Some events of a slot: how many, and the block with those after them.
#[derive(Debug, Clone, Copy)]
struct Block {
    count: u32,
    next: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    /// Doubled.
    at: u64,
    event: E,
}

/// No block.
const NONE: u32 = u32::MAX;

/// The digit that each bit of a time is in.
const fn levels_of_bits() -> [u8; u64::BITS as usize] {
    let mut levels = [0; u64::BITS as usize];
    let (mut bit, mut level) = (0, 0);
    while bit < u64::BITS {
        if bit == DIGITS[level as usize + 1] {
            level += 1;
        }
        levels[bit as usize] = level;
        bit += 1;
    }
    levels
}

impl Level {
    fn new(begin: u32, end: u32) -> Self {
        let slots = 1_usize << (end - begin);
        let occupied = vec![0; slots.div_ceil(64)];
        Self { shift: begin, words: 0, occupied, slots: vec![Chain::EMPTY; slots] }
    }

    /// The slot of a time, which holds events from now on.
    fn occupy(&mut self, at: u64) -> &mut Chain {
        // There are as many slots as the digit has values, a power of two.
        let slot = (at >> self.shift) as usize & (self.slots.len() - 1);
        self.words |= 1 << (slot / 64);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        &mut self.slots[slot]
    }

    /// The first slot that holds events, if one does.
    fn first(&self) -> Option<Chain> {
        let word = self.words.trailing_zeros() as usize;
        let occupied = self.occupied.get(word)?;
        Some(self.slots[word * 64 + occupied.trailing_zeros() as usize])
    }

    /// Empties the first slot that holds events; there is one. Returns where they begin.
    fn empty_first(&mut self) -> u32 {
        let word = self.words.trailing_zeros() as usize;
        let occupied = &mut self.occupied[word];
        let slot = word * 64 + occupied.trailing_zeros() as usize;
        *occupied &= *occupied - 1;
        if *occupied == 0 {
            self.words &= self.words - 1;
        }
        core::mem::replace(&mut self.slots[slot], Chain::EMPTY).first
    }
}

impl Chain {
    const EMPTY: Self = Self { first: NONE, last: NONE };
}

impl Block {
    const EMPTY: Self = Self { count: 0, next: NONE };
}

/// Half of all time is long enough.
fn double(at: Instant) -> u64 {
    at.as_nanos().min(u64::MAX / 2) * 2
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> EventQueue<E> {
    /// Nothing is to come, and it is the beginning of the run.
    pub fn new() -> Self {
        let levels = DIGITS.windows(2).map(|bounds| Level::new(bounds[0], bounds[1])).collect();
        let (entries, blocks, free) = (Vec::new(), Vec::new(), Vec::new());
        Self { now: 0, ready: VecDeque::new(), occupied: 0, levels, entries, blocks, free }
    }

    /// Schedules `event`; one for the past is for the present.
    pub fn push(&mut self, at: Instant, event: E) {
        self.schedule(double(at), event);
    }

    /// Schedules `event` behind all others of that instant that are not said to be last: where it stands among those does not depend on
    /// how long before it was known.
    pub fn push_last(&mut self, at: Instant, event: E) {
        self.schedule(double(at) + 1, event);
    }

    fn schedule(&mut self, at: u64, event: E) {
        if at <= self.now { self.ready.push_back(event) } else { self.insert(Entry { at, event }) }
    }

    /// The next event, to whose time the present moves.
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        self.pop_and_look(|_| {})
    }

    /// The same; where many events lie within a short time, `near` is given them before the first happens, so that what they need can be
    /// fetched from memory together: what one look at all of them has found is there when the next goes on from it.
    pub fn pop_and_look(&mut self, near: impl FnOnce(Near<'_, E>)) -> Option<(Instant, E)> {
        let event = self.ready.pop_front().or_else(|| self.advance(near))?;
        Some((Instant::from_nanos(self.now / 2), event))
    }

    /// `entry` is later than the present.
    fn insert(&mut self, entry: Entry<E>) {
        let level = LEVEL_OF_BIT[(entry.at ^ self.now).ilog2() as usize];
        self.occupied |= 1 << level;
        let chain = self.levels[usize::from(level)].occupy(entry.at);
        if chain.last == NONE || self.blocks[chain.last as usize].count as usize == BLOCK {
            let block = self.free.pop().unwrap_or_else(|| {
                self.entries.resize_with(self.entries.len() + BLOCK, || None);
                self.blocks.push(Block::EMPTY);
                u32::try_from(self.blocks.len() - 1).expect("memory is full before")
            });
            match chain.last {
                NONE => chain.first = block,
                last => self.blocks[last as usize].next = block,
            }
            chain.last = block;
        }
        let (number, block) = (chain.last as usize, &mut self.blocks[chain.last as usize]);
        self.entries[number * BLOCK + block.count as usize] = Some(entry);
        block.count += 1;
    }

    /// Moves the present to the next event's time, makes its events ready and takes the first.
    fn advance(&mut self, near: impl FnOnce(Near<'_, E>)) -> Option<E> {
        if self.occupied == 0 {
            return None;
        }
        let place = self.occupied.trailing_zeros() as usize;
        let level = &mut self.levels[place];
        let first = level.empty_first();
        if level.words == 0 {
            self.occupied &= self.occupied - 1;
        }
        if let Some(Entry { at, event }) = self.take_alone(first) {
            self.now = at;
            return Some(event);
        }
        let (mut earliest, mut count) = (u64::MAX, 0);
        self.each(first, |entry| (earliest, count) = (earliest.min(entry.at), count + 1));
        self.now = earliest;
        if place == NEAR && count >= MANY {
            // The next ones too were written long ago.
            let next = self.levels[place].first();
            next.iter().for_each(|next| self.each_block(next.first, |entries| entries.iter().for_each(look_at)));
            near(Near { queue: self, first });
        }
        self.spread(first);
        self.ready.pop_front()
    }

    /// The entry of a chain that has only one, as most have where events are few.
    fn take_alone(&mut self, first: u32) -> Option<Entry<E>> {
        let Block { count: 1, next: NONE } = self.blocks[first as usize] else { return None };
        self.release(first);
        self.entries[first as usize * BLOCK].take()
    }

    /// A block is in no chain any more.
    fn release(&mut self, number: u32) {
        self.blocks[number as usize] = Block::EMPTY;
        self.free.push(number);
    }

    /// Shows `see` the entries of a chain, in order.
    fn each(&self, first: u32, mut see: impl FnMut(&Entry<E>)) {
        self.each_block(first, |entries| entries.iter().flatten().for_each(&mut see));
    }

    /// The same, block by block.
    fn each_block(&self, first: u32, mut see: impl FnMut(&[Option<Entry<E>>])) {
        let mut number = first;
        while number != NONE {
            let Block { count, next } = self.blocks[number as usize];
            let begin = number as usize * BLOCK;
            see(&self.entries[begin..begin + count as usize]);
            number = next;
        }
    }

    /// Moves the entries of a chain to where they belong now, and takes its blocks back.
    fn spread(&mut self, first: u32) {
        let mut number = first;
        while number != NONE {
            let Block { count, next } = self.blocks[number as usize];
            let begin = number as usize * BLOCK;
            for place in begin..begin + count as usize {
                let Some(entry) = self.entries[place].take() else { continue };
                if entry.at == self.now { self.ready.push_back(entry.event) } else { self.insert(entry) }
            }
            self.release(number);
            number = next;
        }
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
        assert_eq!(drain(&mut queue), [(1, 1), (u64::MAX / 2, 0), (u64::MAX / 2, 2)]);
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn what_is_last_of_an_instant_is_so_however_early_it_is_known() {
        let at = Instant::from_nanos;
        let mut queue = EventQueue::new();
        queue.push_last(at(1000), 4);
        queue.push(at(1000), 2);
        queue.push_last(at(999), 1);
        queue.push(at(1000), 3);
        queue.push_last(at(1000), 5);
        assert_eq!(drain(&mut queue), [(999, 1), (1000, 2), (1000, 3), (1000, 4), (1000, 5)]);
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
        let first = queue.pop_and_look(|near| (0..2).for_each(|_| near.each(|event| shown.push(*event))));
        assert_eq!((first.map(|(_, event)| event), &shown), (Some(1_000_000), &[many, many].concat()));
        while queue.pop_and_look(|near| near.each(|event| shown.push(*event))).is_some() {}
        assert_eq!(shown.len(), 2 * many.len(), "two are not many");
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
