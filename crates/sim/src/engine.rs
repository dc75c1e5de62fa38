//! What happens next: events in order of time, those of one instant in the order in which they were scheduled, but for those that are
//! last of it.
//!
//! A monotone radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem", 1990) above a sorted list:
//! what happens within the present 524 µs stands in order, and everything else waits in the slot of the first digit, from the top, in which
//! its time differs from the present. As time reaches a slot, its events move to slots of lower digits or are sorted, most of them once:
//! the lowest digit has twelve bits, so that what is due within two seconds waits in a slot of 524 µs from the beginning, and has mostly
//! that for itself. A million pending events cost little more than a thousand.
//!
//! Times are doubled, so that what is last of its instant has a time of its own, one beyond that of the others. Events of one time are
//! always in one slot, in the order in which they came; slots are emptied from the front, and sorting keeps that order. So the order of
//! scheduling is kept without numbering anything. A slot is a chain of blocks, which it takes from those that became free last: memory
//! is what pending events need, most of it is in the cache, and nothing is allocated once there have been as many. Where the next event
//! of a slot goes stands with the slot, so that scheduling one reads nothing but that.

use core::ops::Range;
use farhop_units::{Instant, look_at};

/// Where each digit of a doubled time in ns begins, and where the last one ends; what is below the first is sorted.
const DIGITS: [u32; LEVELS + 1] = [20, 32, 38, 44, 50, 56, 62, 64];
const LEVELS: usize = 7;
/// The digit with each bit.
const LEVEL_OF_BIT: [u8; u64::BITS as usize] = levels_of_bits();
/// Events in a block.
const BLOCK: usize = 8;
/// Events in 524 µs from which on they are many.
const MANY: usize = 16;
/// So many of them are looked at together: the instructions for that, too, come from memory.
const TOGETHER: usize = 4;
/// How far ahead of the present they are looked at: long enough for four looks in turn, and no farther than the first level of the cache
/// reaches.
const AHEAD: usize = 3 * TOGETHER + 1;

/// Events to come.
#[derive(Debug)]
pub struct EventQueue<E> {
    /// The doubled time of the last event.
    now: u64,
    /// What happens in the present 524 µs, in order, and how much of it has.
    near: Vec<Key>,
    past: usize,
    are_many: bool,
    /// The events of that time, in the order in which they came.
    events: Vec<E>,
    /// Which levels hold events, lowest digit first.
    occupied: u16,
    levels: Vec<Level>,
    /// The events of all blocks, and what was in them before where they are not full.
    entries: Vec<Entry<E>>,
    /// For each block that is not the last of its chain, the one after it.
    next: Vec<u32>,
    /// Blocks that are in no chain.
    free: Vec<u32>,
}

/// Looks ahead at events: what they need can be fetched from memory meanwhile.
pub trait Looks<E> {
    /// Sees the next few of the events that come soon. By the next time some have happened, and what this has asked for is there; what is seen
    /// the third time after this is about to happen.
    fn look<'a>(&mut self, events: impl Iterator<Item = &'a E>)
    where
        E: 'a;
}

/// Looks at nothing.
struct Blind;

impl<E> Looks<E> for Blind {
    fn look<'a>(&mut self, _: impl Iterator<Item = &'a E>)
    where
        E: 'a,
    {
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

/// The first block of a slot, and the place behind its last event: at the end of its last block if that is full.
#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u32,
    end: u32,
}

/// An event that waits. Those of the simulator take half a line of the processor's cache, and a block four lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Entry<E> {
    /// Doubled.
    at: u64,
    event: E,
}

/// Time and place of an event in one number, so that sorting is cheap and those of one time stay in the order in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u64);

impl Key {
    const PLACE_BITS: u32 = u64::BITS - DIGITS[0];

    fn new(at: u64, place: usize) -> Self {
        Self((at % (1 << DIGITS[0])) << Self::PLACE_BITS | place as u64)
    }

    /// The time in the 524 µs of `now`.
    const fn at(self, now: u64) -> u64 {
        (now >> DIGITS[0] << DIGITS[0]) | (self.0 >> Self::PLACE_BITS)
    }

    const fn place(self) -> usize {
        (self.0 % (1 << Self::PLACE_BITS)) as usize
    }
}

/// No block.
const NONE: u32 = u32::MAX;

/// The digit that each bit of a time is in.
const fn levels_of_bits() -> [u8; u64::BITS as usize] {
    let mut levels = [0; u64::BITS as usize];
    let (mut bit, mut level) = (DIGITS[0], 0);
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

    /// Empties the first slot that holds events; there is one. Returns where they are.
    fn empty_first(&mut self) -> Chain {
        let word = self.words.trailing_zeros() as usize;
        let occupied = &mut self.occupied[word];
        let slot = word * 64 + occupied.trailing_zeros() as usize;
        *occupied &= *occupied - 1;
        if *occupied == 0 {
            self.words &= self.words - 1;
        }
        core::mem::replace(&mut self.slots[slot], Chain::EMPTY)
    }
}

impl Chain {
    const EMPTY: Self = Self { first: NONE, end: 0 };

    /// Of a block of the chain, the places of its events, and whether it is the last one.
    fn places(self, block: u32) -> (Range<usize>, bool) {
        let (begin, end) = (block as usize * BLOCK, self.end as usize);
        let is_last = (begin + 1..=begin + BLOCK).contains(&end);
        (begin..if is_last { end } else { begin + BLOCK }, is_last)
    }
}

/// Half of all time is long enough.
fn double(at: Instant) -> u64 {
    at.as_nanos().min(u64::MAX / 2) * 2
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> EventQueue<E> {
    /// Nothing is to come, and it is the beginning of the run.
    pub fn new() -> Self {
        let levels = DIGITS.windows(2).map(|bounds| Level::new(bounds[0], bounds[1])).collect();
        let (near, events) = (Vec::new(), Vec::new());
        let (entries, next, free) = (Vec::new(), Vec::new(), Vec::new());
        Self { now: 0, near, past: 0, are_many: false, events, occupied: 0, levels, entries, next, free }
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
        self.insert(Entry { at: at.max(self.now), event });
    }

    /// The next event, to whose time the present moves.
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        self.pop_and_look(Blind)
    }

    /// The same; where events are many, `looks` are shown those that come soon.
    #[inline]
    pub fn pop_and_look(&mut self, mut looks: impl Looks<E>) -> Option<(Instant, E)> {
        if self.past == self.near.len() {
            if let Some(Entry { at, event }) = self.fill() {
                self.now = at;
                return Some((Instant::from_nanos(at / 2), event));
            }
            if self.are_many {
                // What would have been seen before if this were not the beginning.
                let (mut from, mut to) = (0, (AHEAD + 1) % TOGETHER);
                while to <= AHEAD + 1 {
                    self.show(from..to, &mut looks);
                    (from, to) = (to, to + TOGETHER);
                }
            }
        }
        let key = *self.near.get(self.past)?;
        self.past += 1;
        self.now = key.at(self.now);
        let event = self.events[key.place()];
        if self.are_many && self.past % TOGETHER == 1 {
            let from = self.past + AHEAD;
            self.show(from..from + TOGETHER, &mut looks);
        }
        Some((Instant::from_nanos(self.now / 2), event))
    }

    /// Shows those of the events that are near at these places.
    #[inline(never)]
    fn show(&self, places: Range<usize>, looks: &mut impl Looks<E>) {
        let last = self.near.len();
        let keys = &self.near[places.start.min(last)..places.end.min(last)];
        looks.look(keys.iter().map(|key| &self.events[key.place()]));
    }

    /// `entry` is not earlier than the present.
    fn insert(&mut self, entry: Entry<E>) {
        let level = match (entry.at ^ self.now).checked_ilog2() {
            Some(bit) if bit >= DIGITS[0] => LEVEL_OF_BIT[bit as usize],
            _ => return self.insert_near(entry),
        };
        self.occupied |= 1 << level;
        let chain = self.levels[usize::from(level)].occupy(entry.at);
        if (chain.end as usize).is_multiple_of(BLOCK) {
            let block = self.free.pop().unwrap_or_else(|| {
                self.entries.resize(self.entries.len() + BLOCK, entry);
                self.next.push(NONE);
                u32::try_from(self.next.len() - 1).expect("memory is full before")
            });
            match chain.first {
                NONE => chain.first = block,
                _ => self.next[chain.end as usize / BLOCK - 1] = block,
            }
            chain.end = block * BLOCK as u32;
        }
        self.entries[chain.end as usize] = entry;
        chain.end += 1;
    }

    /// `entry` is one of the present 524 µs, behind those of its time that are known.
    fn insert_near(&mut self, Entry { at, event }: Entry<E>) {
        let key = Key::new(at, self.events.len());
        self.events.push(event);
        let place = self.near[self.past..].partition_point(|other| *other < key);
        self.near.insert(self.past + place, key);
    }

    /// Nothing is near: the present moves to the next 524 µs in which something happens, and what does becomes near, or is returned if it
    /// is alone, as most is where events are few.
    fn fill(&mut self) -> Option<Entry<E>> {
        self.near.clear();
        self.events.clear();
        (self.past, self.are_many) = (0, false);
        if self.occupied == 0 {
            return None;
        }
        let place = self.occupied.trailing_zeros() as usize;
        let level = &mut self.levels[place];
        let chain = level.empty_first();
        if level.words == 0 {
            self.occupied &= self.occupied - 1;
        }
        let alone = self.take_alone(chain);
        if alone.is_none() {
            self.spread(chain);
            self.are_many = self.near.len() >= MANY;
        }
        if self.are_many
            && let Some(next) = self.levels[place].first()
        {
            // Those after them too were written long ago.
            self.each_block(next, |entries| entries.iter().for_each(look_at));
        }
        alone
    }

    /// The entry of a chain that has only one.
    fn take_alone(&mut self, chain: Chain) -> Option<Entry<E>> {
        let (places, is_last) = chain.places(chain.first);
        if !is_last || places.len() > 1 {
            return None;
        }
        self.free.push(chain.first);
        Some(self.entries[places.start])
    }

    /// Shows `see` the entries of a chain, in order, block by block.
    fn each_block(&self, chain: Chain, mut see: impl FnMut(&[Entry<E>])) {
        let mut block = chain.first;
        loop {
            let (places, is_last) = chain.places(block);
            see(&self.entries[places]);
            if is_last {
                return;
            }
            block = self.next[block as usize];
        }
    }

    /// Moves the entries of a chain to where they belong now, which is that of the earliest, and takes its blocks back.
    fn spread(&mut self, chain: Chain) {
        let mut earliest = u64::MAX;
        self.each_block(chain, |entries| {
            earliest = entries.iter().map(|entry| entry.at).fold(earliest, u64::min);
        });
        self.now = earliest;
        let mut block = chain.first;
        loop {
            let (places, is_last) = chain.places(block);
            let next = self.next[block as usize];
            for place in places {
                let entry = &self.entries[place];
                if (entry.at ^ earliest) >> DIGITS[0] == 0 {
                    self.near.push(Key::new(entry.at, self.events.len()));
                    self.events.push(entry.event);
                } else {
                    self.insert(*entry);
                }
            }
            self.free.push(block);
            if is_last {
                break;
            }
            block = next;
        }
        self.near.sort_unstable();
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

    /// Notes what is seen, and how often something was shown before that.
    #[derive(Default)]
    struct Seen {
        shown: usize,
        events: Vec<(usize, u64)>,
    }

    impl Looks<u64> for &mut Seen {
        fn look<'a>(&mut self, events: impl Iterator<Item = &'a u64>) {
            let shown = self.shown;
            self.events.extend(events.map(|event| (shown, *event)));
            self.shown += 1;
        }
    }

    #[test]
    fn what_comes_soon_is_seen_once_and_three_times_others_before_it_happens() {
        let mut queue = EventQueue::new();
        let soon = 1_048_576_u64..1_048_576 + 40;
        soon.clone().rev().for_each(|at| queue.push(Instant::from_nanos(at), at));
        let mut seen = Seen::default();
        while let Some((_, event)) = queue.pop_and_look(&mut seen) {
            let popped = (event - soon.start) as usize / TOGETHER * TOGETHER + 1;
            let last = (soon.start + (popped + AHEAD + TOGETHER) as u64 - 1).min(soon.end - 1);
            let events: Vec<_> = seen.events.iter().map(|(_, event)| *event).collect();
            assert_eq!(events, (soon.start..=last).collect::<Vec<_>>());
            let shown = seen.events[(event - soon.start) as usize].0;
            assert!((4..=5).contains(&(seen.shown - shown)), "{event}: {} of {}", shown, seen.shown);
        }
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
