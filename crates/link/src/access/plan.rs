//! Who owns which data slot of a frame, and which of them matter.
//!
//! A frame's data slots are dealt out in this order, each part as far as slots are left:
//! 1. fixed: slot i is terminal i mod N's;
//! 2. streams: so many slots per frame for each terminal that has one ([`Ring`](super::ring::Ring));
//! 3. demand: what was requested, in order of the requests' arrival, but for a number of slots kept free;
//! 4. free: all others, one after the other round robin over all terminals, going on where the last frame stopped.
//!
//! The parts are not written out slot by slot: the owner of a slot, and the next slot whose owner has something to send,
//! follow by arithmetic from the pointers and the set of backlogged terminals.

use super::members::Members;
use super::streams::Streams;
use farhop_units::Instant;
use std::collections::VecDeque;

/// All streams together stay below 2³¹ slots.
const MAX_WEIGHT: u32 = (1 << 15) - 1;

/// How many slots go which way, besides demand.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shares {
    /// Fixed slots, all terminals together.
    pub(super) fixed: u32,
    /// Whether what nobody has asked for is dealt out, and the least that is.
    pub(super) free: Option<u32>,
}

/// Why a terminal owns a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Fixed,
    Stream,
    Demand,
    Free,
}

/// One frame's slots and what they are dealt from.
#[derive(Debug)]
pub(super) struct Plan {
    terminals: u32,
    slots: u32,
    shares: Shares,
    /// Streams and their ends.
    pub(super) streams: Streams,
    /// Requested slots that were not granted yet, in order of arrival.
    demand: VecDeque<(u16, u32)>,
    /// Slots that a terminal has requested and that have not passed yet.
    promised: Vec<u32>,
    backlogged: Members,
    /// Those of them that have a stream.
    streaming: Members,
    free_next: u32,
    // The frame itself.
    stream_first: u32,
    stream_end: u32,
    runs: Vec<Run>,
    /// The run in which the next slot lies, if it is one of demand.
    run: usize,
    demand_end: u32,
}

/// Consecutive slots of demand of one terminal, up to `end`.
#[derive(Debug, Clone, Copy)]
struct Run {
    terminal: u16,
    end: u32,
}

impl Plan {
    /// An empty plan for frames of `slots` data slots. The first frame is dealt by [`Plan::deal`].
    pub(super) fn new(terminals: u16, slots: u32, shares: Shares) -> Self {
        Self {
            terminals: terminals.into(),
            slots,
            shares,
            streams: Streams::new(terminals),
            demand: VecDeque::new(),
            promised: vec![0; terminals.into()],
            backlogged: Members::none(terminals),
            streaming: Members::none(terminals),
            free_next: 0,
            stream_first: 0,
            stream_end: 0,
            runs: Vec::new(),
            run: 0,
            demand_end: 0,
        }
    }

    /// Other shares from the next frame on.
    pub(super) fn set_shares(&mut self, shares: Shares) {
        self.shares = shares;
    }

    /// Whether nobody has something to send.
    pub(super) fn is_idle(&self) -> bool {
        self.backlogged.is_empty()
    }

    /// Whether `terminal` has something to send.
    pub(super) fn is_backlogged(&self, terminal: u16) -> bool {
        self.backlogged.contains(terminal)
    }

    /// `terminal` has something to send, or has not.
    pub(super) fn set_backlogged(&mut self, terminal: u16, is_backlogged: bool) {
        self.backlogged.set(terminal, is_backlogged);
        self.streaming.set(terminal, is_backlogged && self.streams.ring.weight(terminal) > 0);
    }

    /// The first backlogged terminal from `first` on, cyclically.
    pub(super) fn next_backlogged(&self, first: u32) -> Option<u16> {
        self.backlogged.next_cyclic(first)
    }

    /// Slots that `terminal` has asked for and that are still to come.
    pub(super) fn promised(&self, terminal: u16) -> u32 {
        self.promised[usize::from(terminal)]
    }

    /// `terminal` asks for `slots` more.
    pub(super) fn promise(&mut self, terminal: u16, slots: u32) {
        let promised = &mut self.promised[usize::from(terminal)];
        *promised = promised.saturating_add(slots);
    }

    /// The scheduler learns of a demand.
    pub(super) fn demand(&mut self, terminal: u16, slots: u32) {
        if slots > 0 {
            self.demand.push_back((terminal, slots));
        }
    }

    /// Opens a stream, or changes it. No stream needs more than all slots.
    pub(super) fn open_stream(&mut self, terminal: u16, weight: u32, until: Instant) {
        let weight = weight.min(self.slots).min(MAX_WEIGHT);
        self.streams.open(terminal, weight, until);
        self.streaming.set(terminal, weight > 0 && self.is_backlogged(terminal));
    }

    /// Ends one stream that has run out by `now`.
    pub(super) fn end_stream(&mut self, now: Instant) -> Option<u16> {
        let ended = self.streams.end(now)?;
        self.streaming.set(ended, false);
        Some(ended)
    }

    /// Whether every frame to come is dealt as this one, but for the pointers, until something is heard.
    pub(super) fn is_steady(&self) -> bool {
        self.demand.is_empty() && self.runs.is_empty()
    }

    /// Deals the next frame.
    pub(super) fn deal(&mut self) {
        let kept = self.shares.free.unwrap_or(0);
        let open = self.slots.saturating_sub(self.shares.fixed).saturating_sub(kept);
        let places = self.streams.ring.total();
        self.stream_first = if places > open { self.streams.ring.next_place() } else { 0 };
        self.stream_end = self.shares.fixed + places.min(open);
        self.demand_end = self.stream_end;
        self.runs.clear();
        self.run = 0;
        let mut left = open - places.min(open);
        while left > 0 {
            let Some((terminal, wanted)) = self.demand.front_mut() else { break };
            let granted = left.min(*wanted);
            left -= granted;
            *wanted -= granted;
            self.demand_end += granted;
            self.runs.push(Run { terminal: *terminal, end: self.demand_end });
            if *wanted == 0 {
                self.demand.pop_front();
            }
        }
    }

    /// `frames` frames like this one are over: the pointers go on. The promises are settled by [`Plan::pass`].
    pub(super) fn finish(&mut self, frames: u64) {
        let streams = self.stream_end - self.shares.fixed;
        if streams < self.streams.ring.total() {
            self.streams.ring.advance(u64::from(streams) * frames);
        }
        let n = u64::from(self.terminals);
        let free = u64::from(self.free_slots()) % n * (frames % n);
        self.free_next = u32::try_from((u64::from(self.free_next) + free) % n).expect("below a number of terminals");
    }

    /// Slots that have an owner.
    pub(super) fn granted(&self) -> u32 {
        self.demand_end + self.free_slots()
    }

    /// Slots `from..to` have passed, used or not.
    pub(super) fn pass(&mut self, from: u32, to: u32) {
        let mut at = from.max(self.stream_end);
        while let Some(run) = self.runs.get(self.run).filter(|_| at < to) {
            let end = run.end.min(to).max(at);
            let promised = &mut self.promised[usize::from(run.terminal)];
            *promised = promised.saturating_sub(end - at);
            at = end;
            self.run += usize::from(run.end <= to);
        }
    }

    /// The owner of `slot`, which must not have passed.
    pub(super) fn owner(&self, slot: u32) -> Option<(u16, Part)> {
        if slot < self.shares.fixed {
            Some((terminal(slot % self.terminals), Part::Fixed))
        } else if slot < self.stream_end {
            Some((self.streams.ring.at(self.stream_place(slot)), Part::Stream))
        } else if slot < self.demand_end {
            let run = self.runs[self.run..].iter().find(|run| slot < run.end)?;
            Some((run.terminal, Part::Demand))
        } else if slot < self.slots && self.shares.free.is_some() {
            Some((terminal(self.free_turn(slot)), Part::Free))
        } else {
            None
        }
    }

    /// The first slot from `from` on (nothing before has still to pass) at which to look again: its owner has something to
    /// send, or it begins a run of demand.
    pub(super) fn next_of_interest(&self, from: u32) -> Option<u32> {
        self.next_fixed(from)
            .or_else(|| self.next_stream(from.max(self.shares.fixed)))
            .or_else(|| self.next_demand(from.max(self.stream_end)))
            .or_else(|| self.next_free(from.max(self.demand_end)))
    }

    fn next_fixed(&self, from: u32) -> Option<u32> {
        if from >= self.shares.fixed {
            return None;
        }
        let turn = from % self.terminals;
        let next = self.backlogged.next_cyclic(turn)?;
        Some(from + distance(turn, next.into(), self.terminals)).filter(|&slot| slot < self.shares.fixed)
    }

    fn next_stream(&self, from: u32) -> Option<u32> {
        if from >= self.stream_end {
            return None;
        }
        let ring = &self.streams.ring;
        let place = self.stream_place(from);
        let here = ring.at(place);
        if self.streaming.contains(here) {
            return Some(from);
        }
        let next = self.streaming.next_cyclic(here.into())?;
        Some(from + distance(place, ring.place(next), ring.total())).filter(|&slot| slot < self.stream_end)
    }

    fn next_demand(&self, from: u32) -> Option<u32> {
        if from >= self.demand_end {
            return None;
        }
        let run = self.runs.get(self.run)?;
        if self.backlogged.contains(run.terminal) {
            return Some(from);
        }
        Some(run.end).filter(|&end| end < self.demand_end).or_else(|| self.next_free(self.demand_end))
    }

    fn next_free(&self, from: u32) -> Option<u32> {
        if from >= self.slots || self.shares.free.is_none() {
            return None;
        }
        let turn = self.free_turn(from);
        let next = self.backlogged.next_cyclic(turn)?;
        Some(from + distance(turn, next.into(), self.terminals)).filter(|&slot| slot < self.slots)
    }

    fn free_slots(&self) -> u32 {
        self.shares.free.map_or(0, |_| self.slots - self.demand_end)
    }

    fn stream_place(&self, slot: u32) -> u32 {
        // Both addends are below the number of places, at most 2³¹.
        (self.stream_first + slot - self.shares.fixed) % self.streams.ring.total()
    }

    fn free_turn(&self, slot: u32) -> u32 {
        (self.free_next + (slot - self.demand_end)) % self.terminals
    }
}

/// How far it is forward from `from` to `to` on a ring.
const fn distance(from: u32, to: u32, places: u32) -> u32 {
    if to >= from { to - from } else { to + places - from }
}

fn terminal(number: u32) -> u16 {
    u16::try_from(number).expect("below a number of terminals")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn owners(plan: &Plan) -> Vec<Option<(u16, Part)>> {
        (0..plan.slots).map(|slot| plan.owner(slot)).collect()
    }

    #[test]
    fn a_frame_is_dealt_fixed_then_streams_then_demand_then_free() {
        let mut plan = Plan::new(3, 12, Shares { fixed: 3, free: Some(2) });
        plan.open_stream(2, 2, Instant::START);
        plan.demand(1, 4);
        plan.demand(0, 9);
        plan.deal();
        let (fixed, stream, demand, free) = (Part::Fixed, Part::Stream, Part::Demand, Part::Free);
        let parts =
            [(0, fixed), (1, fixed), (2, fixed), (2, stream), (2, stream), (1, demand), (1, demand), (1, demand)];
        let parts = parts.into_iter().chain([(1, demand), (0, demand), (0, free), (1, free)]);
        assert_eq!(owners(&plan), parts.map(Some).collect::<Vec<_>>());
        // The next frame goes on with what is owed and with the next terminal's free turn.
        plan.pass(0, 12);
        plan.finish(1);
        plan.deal();
        assert_eq!(plan.owner(9), Some((0, demand)));
        assert_eq!([plan.owner(10), plan.owner(11)], [Some((2, free)), Some((0, free))]);
        assert_eq!(plan.demand, [(0, 3)]);
    }

    proptest! {
        #[test]
        fn no_more_is_dealt_than_there_is_and_nothing_of_interest_is_missed(
            terminals in 1_u16..9, slots in 1_u32..40, constant in 0_u32..3, kept in prop::option::of(0_u32..3),
            streams in prop::collection::vec((any::<u16>(), 0_u32..5), 0..6),
            demand in prop::collection::vec((any::<u16>(), 0_u32..12), 0..6),
            backlogged in prop::collection::vec(any::<u16>(), 0..9),
            frames in 1_usize..5,
        ) {
            let fixed = constant * u32::from(terminals);
            prop_assume!(fixed + kept.unwrap_or(0) <= slots);
            let mut plan = Plan::new(terminals, slots, Shares { fixed, free: kept });
            streams.iter().for_each(|&(terminal, weight)| plan.open_stream(terminal % terminals, weight, Instant::START));
            backlogged.iter().for_each(|&terminal| plan.set_backlogged(terminal % terminals, true));
            let mut owed = 0;
            for &(terminal, slots) in &demand {
                plan.demand(terminal % terminals, slots);
                plan.promise(terminal % terminals, slots);
                owed += slots;
            }
            for _ in 0..frames {
                plan.deal();
                let owners = owners(&plan);
                prop_assert_eq!(owners.iter().flatten().count(), plan.granted() as usize);
                let granted = owners.iter().flatten().filter(|(_, part)| *part == Part::Demand).count();
                let is_backlogged = |owner: &Option<(u16, Part)>| owner.is_some_and(|(owner, _)| plan.is_backlogged(owner));
                let interesting: Vec<bool> = owners.iter().map(is_backlogged).collect();
                let mut passed = 0;
                while let Some(next) = plan.next_of_interest(passed) {
                    prop_assert!(interesting[passed as usize..next as usize].iter().all(|&missed| !missed));
                    plan.pass(passed, next + 1);
                    passed = next + 1;
                }
                prop_assert!(interesting[passed as usize..].iter().all(|&missed| !missed));
                plan.pass(passed, slots);
                plan.finish(1);
                owed -= u32::try_from(granted).unwrap();
                prop_assert_eq!((0..terminals).map(|terminal| plan.promised(terminal)).sum::<u32>(), owed);
            }
        }
    }
}
