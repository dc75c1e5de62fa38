//! What is due next in a channel of many paths.
//!
//! The way down is one path and due when it says so. Two things happen at a terminal's way up: its transmitter does something
//! (ends a service, goes on after an outage), and packets come out of its pipe. Transmitters change their minds, so each has
//! one place in a heap of those that are due at all: what rests costs nothing. When a packet leaves its pipe is settled as it
//! enters; behind equal delays packets leave in the order in which they entered, whatever their terminals, so that exits wait
//! in one line, and only what would leave before the end of the line (jitter, a packet held back, a path that becomes shorter)
//! goes into a heap. So with the usual links an event costs the same with 10,000 terminals as with one.

use crate::path::Due;
use core::cmp::{Ordering, Reverse};
use farhop_units::Instant;
use std::collections::{BinaryHeap, VecDeque};

/// When what is due at each of a fixed number of paths.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Those of the terminals.
    transmitters: Transmitters,
    /// Packets in flight from terminals.
    line: VecDeque<Entry>,
    /// Packets in flight that overtake others, of the other paths or their own.
    strays: BinaryHeap<Reverse<Entry>>,
    /// The first entry of each list.
    heads: [Entry; LISTS],
    /// The list whose head is due first, and when that is.
    first: (usize, Instant),
    /// The same of packets in flight alone.
    first_exit: usize,
}

/// When, and at which path. Of what is due at one instant with the same number the first path's comes first.
type Entry = (Key, u32);

/// A [`Due`], the number in the lower half: compared at once.
type Key = u128;

/// Due after everything else: never.
const NEVER: Entry = (Key::MAX, u32::MAX);

/// The lists of exits.
const LINE: usize = 0;
const STRAYS: usize = 1;
/// The way down: no more than when it is due.
const GATEWAY: usize = 2;
/// The transmitters of the ways up.
const TERMINALS: usize = 3;
const LISTS: usize = 4;

/// Something due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The way down goes on.
    Gateway,
    /// The transmitter of this path goes on.
    Transmitter(usize),
    /// A packet comes out of the pipe of this path.
    Exit(usize),
}

impl Agenda {
    /// So many paths, nothing due. The first one is the way down.
    pub(crate) fn new(paths: usize) -> Self {
        Self {
            transmitters: Transmitters::new(paths),
            line: VecDeque::new(),
            strays: BinaryHeap::new(),
            heads: [NEVER; LISTS],
            first: (GATEWAY, END_OF_TIME),
            first_exit: STRAYS,
        }
    }

    /// Notes when the way down is due from now on.
    pub(crate) fn set_gateway(&mut self, due: Option<Due>) {
        let entry = due.and_then(key).map_or(NEVER, |key| (key, 0));
        if entry != self.heads[GATEWAY] {
            self.set_head(GATEWAY, entry);
        }
    }

    /// Notes when the transmitter of a way up is due from now on.
    pub(crate) fn set_transmitter(&mut self, path: usize, due: Option<Due>) {
        if self.transmitters.set(path, due.and_then(key)) {
            self.set_head(TERMINALS, self.transmitters.first().unwrap_or(NEVER));
        }
    }

    /// Notes that a packet of a way up comes out of its pipe then.
    pub(crate) fn add_exit(&mut self, path: usize, due: Due) {
        let Some(entry) = key(due).map(|key| (key, number(path))) else { return };
        let is_stray = self.line.back().is_some_and(|last| entry < *last);
        if is_stray {
            self.strays.push(Reverse(entry));
        } else {
            self.line.push_back(entry);
        }
        let list = if is_stray { STRAYS } else { LINE };
        if entry < self.heads[list] {
            self.set_head(list, entry);
        }
    }

    /// When the next thing is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.head(self.first.0)
    }

    /// When the next transmitter of a way up is due.
    pub(crate) fn next_transmitter(&self) -> Option<Instant> {
        self.head(TERMINALS)
    }

    /// When the next packet comes out of the pipe of a way up.
    pub(crate) fn next_exit(&self) -> Option<Instant> {
        self.head(self.first_exit)
    }

    /// What is due next, if that is at or before `until`; an exit is taken off the list.
    #[inline]
    pub(crate) fn take(&mut self, until: Instant) -> Option<(Instant, Event)> {
        let (list, at) = self.first;
        let path = self.heads[list].1;
        if at > until || path == NEVER.1 {
            return None;
        }
        let next = match list {
            GATEWAY => return Some((at, Event::Gateway)),
            TERMINALS => return Some((at, Event::Transmitter(path as usize))),
            STRAYS => {
                self.strays.pop();
                self.strays.peek().map(|&Reverse(entry)| entry)
            }
            _ => {
                self.line.pop_front();
                self.line.front().copied()
            }
        };
        self.set_head(list, next.unwrap_or(NEVER));
        Some((at, Event::Exit(path as usize)))
    }

    /// When the first of a list is due.
    fn head(&self, list: usize) -> Option<Instant> {
        let head = self.heads[list];
        (head != NEVER).then(|| instant(head.0))
    }

    /// Notes the first entry of a list, and which is the first of all.
    fn set_head(&mut self, list: usize, entry: Entry) {
        self.heads[list] = entry;
        // Without branches: who is first is anybody's guess. Only transmitters have equal keys; the gateway's goes first.
        let earlier = |one: usize, other: usize| if self.heads[other].0 < self.heads[one].0 { other } else { one };
        self.first_exit = earlier(LINE, STRAYS);
        let first = earlier(self.first_exit, earlier(GATEWAY, TERMINALS));
        self.first = (first, instant(self.heads[first].0));
    }
}

const END_OF_TIME: Instant = Instant::from_nanos(u64::MAX);

/// `None` where that is never.
fn key((at, number): Due) -> Option<Key> {
    Some(Key::from(at.as_nanos()) << 64 | Key::from(number)).filter(|key| *key != NEVER.0)
}

const fn instant(key: Key) -> Instant {
    Instant::from_nanos((key >> 64) as u64)
}

#[expect(clippy::cast_possible_truncation, reason = "there are fewer paths than 2³²")]
const fn number(path: usize) -> u32 {
    path as u32
}

/// A heap of the paths whose transmitters are due, and the place of each in it.
#[derive(Debug)]
struct Transmitters {
    heap: Vec<Entry>,
    places: Vec<u32>,
}

/// The place of a path that is not in the heap.
const NOWHERE: u32 = u32::MAX;

impl Transmitters {
    fn new(paths: usize) -> Self {
        Self { heap: Vec::new(), places: vec![NOWHERE; paths] }
    }

    fn first(&self) -> Option<Entry> {
        self.heap.first().copied()
    }

    /// Says whether the first may be another now.
    fn set(&mut self, path: usize, key: Option<Key>) -> bool {
        match (key, self.places[path]) {
            (None, NOWHERE) => return false,
            (Some(key), NOWHERE) => {
                self.heap.push((key, number(path)));
                self.rise(self.heap.len() - 1);
            }
            (None, place) => {
                self.remove(place as usize);
                return place == 0;
            }
            (Some(key), place) => {
                let place = place as usize;
                let old = core::mem::replace(&mut self.heap[place].0, key);
                match key.cmp(&old) {
                    Ordering::Less => self.rise(place),
                    Ordering::Equal => return false,
                    Ordering::Greater => {
                        self.sink(place);
                        return place == 0;
                    }
                }
            }
        }
        self.places[path] == 0
    }

    fn remove(&mut self, place: usize) {
        let (_, path) = self.heap.swap_remove(place);
        self.places[path as usize] = NOWHERE;
        if place < self.heap.len() {
            // What was last may belong above or below.
            self.sink(place);
            self.rise(place);
        }
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 && entry < self.heap[(place - 1) / 2] {
            self.put(place, self.heap[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let Some(&(mut least)) = self.heap.get(left) else { break };
            let mut below = left;
            if let Some(&other) = self.heap.get(right).filter(|other| **other < least) {
                (least, below) = (other, right);
            }
            if entry <= least {
                break;
            }
            self.put(place, least);
            place = below;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = number(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A transmitter's new time, or an exit.
    type Note = (usize, Option<(u64, u64)>, bool);

    fn note() -> impl Strategy<Value = Note> {
        (0_usize..7, proptest::option::of((0_u64..20, 0_u64..3)), any::<bool>())
    }

    /// No two have one number.
    fn due((nanos, number): (u64, u64), note: u64) -> Due {
        (Instant::from_nanos(nanos), 100 * number + note)
    }

    proptest! {
        #[test]
        fn the_first_is_the_earliest(notes in proptest::collection::vec((note(), any::<bool>()), 1..60)) {
            let mut agenda = Agenda::new(7);
            let (mut transmitters, mut exits) = ([None; 7], Vec::new());
            for (((path, at, is_exit), is_taken), note) in notes.into_iter().zip(0..) {
                let due = at.map(|at| due(at, note));
                if let Some(due) = due.filter(|_| is_exit && path > 0) {
                    agenda.add_exit(path, due);
                    exits.push((due, path));
                } else {
                    transmitters[path] = due;
                    if path > 0 { agenda.set_transmitter(path, due) } else { agenda.set_gateway(due) }
                }
                let listed = transmitters.iter().zip(0..).filter_map(|(due, path)| Some(((*due)?, path)));
                let (transmitter, exit) = (listed.clone().min(), exits.iter().copied().min());
                let first = exit.into_iter().chain(transmitter).min();
                let terminal = listed.filter(|(_, path)| *path > 0).min().map(|((at, _), _)| at);
                prop_assert_eq!(agenda.next_transmitter(), terminal);
                prop_assert_eq!(agenda.next_exit(), exit.map(|((at, _), _)| at));
                prop_assert_eq!(agenda.next(), first.map(|((at, _), _)| at));
                let Some(((at, _), path)) = first.filter(|_| is_taken) else { continue };
                if let Some(before) = at.as_nanos().checked_sub(1) {
                    prop_assert_eq!(agenda.take(Instant::from_nanos(before)), None);
                }
                let is_exit = exit == first;
                let event = if path > 0 { Event::Transmitter(path) } else { Event::Gateway };
                prop_assert_eq!(agenda.take(at), Some((at, if is_exit { Event::Exit(path) } else { event })));
                if is_exit {
                    exits.swap_remove(exits.iter().position(|other| Some(*other) == exit).expect("an exit"));
                }
            }
        }
    }
}
