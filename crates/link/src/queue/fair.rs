//! Fair queueing: deficit round robin between flows, new flows first (RFC 8290 §4.1-4.2).
//!
//! A flow that becomes active joins the new flows, which are served before the old ones, with one quantum to spend. When
//! that is used up it joins the end of the old flows, and again after each further quantum. A flow found empty leaves;
//! one that was new joins the old ones once more first, so that it cannot starve them by coming back.
//!
//! When an arrival is more than the limit allows, the longest flow in bytes loses packets from its head, of equally long ones
//! that furthest from being served. Plain fair queueing drops no more than it must; with CoDel it is half of the flow's packets
//! and no more than 64 (RFC 8290 §4.1).
//!
//! CoDel looks at each flow's own backlog, as RFC 8289 has it; Linux lets every flow look at that of all.

use super::fifo::Waiting;
use super::flows::{FlowId, Flows};
use super::{CoDel, Dropped, QueueLimit};
use crate::packet::Slot;
use crate::{Count, DropReason, Packet};
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;

/// RFC 8290 §4.1: packets dropped at once from the longest flow, at most.
const DROP_BATCH: u64 = 64;

/// Flows that may be in the lists before those without packets are looked for.
const EMPTY_FLOWS: usize = 1024;

/// One queue per flow, with or without CoDel.
#[derive(Debug)]
pub(super) struct FairQueue<P> {
    quantum: i64,
    codel: Option<CoDel>,
    largest: Bytes,
    flows: Flows<P>,
    new: VecDeque<FlowId>,
    old: VecDeque<FlowId>,
    count: Count,
}

impl<P: Packet> FairQueue<P> {
    /// Nothing waits.
    pub(super) fn new(quantum: Bytes, codel: Option<CoDel>) -> Self {
        Self {
            quantum: credit(quantum).max(1),
            codel,
            largest: Bytes::ZERO,
            flows: Flows::new(codel.map(|codel| codel.interval)),
            new: VecDeque::new(),
            old: VecDeque::new(),
            count: Count::default(),
        }
    }

    /// Goes on with other parameters.
    pub(super) fn set_parameters(&mut self, quantum: Bytes, codel: Option<CoDel>) {
        self.quantum = credit(quantum).max(1);
        self.codel = codel;
        self.flows.set_interval(codel.map(|codel| codel.interval));
    }

    /// A packet arrives. One that would not fit an empty queue is dropped itself; any other may push packets out, of its
    /// own flow or another.
    pub(super) fn enqueue(&mut self, waiting: Waiting<P>, limit: QueueLimit, dropped: &mut Dropped<P>) {
        let (now, bytes) = (waiting.since, waiting.slot.bytes);
        let fits_alone = limit.admits(Count::default(), bytes) && QueueLimit::Unlimited.admits(self.count, bytes);
        if !fits_alone {
            return dropped.push((waiting.slot, DropReason::QueueFull));
        }
        self.push(now, waiting);
        while !limit.holds(self.count) {
            self.drop_from_longest(dropped);
        }
        self.deactivate_empty(now);
    }

    /// A packet joins the end of its flow.
    pub(super) fn push(&mut self, now: Instant, waiting: Waiting<P>) {
        self.largest = self.largest.max(waiting.slot.bytes);
        let (id, was_active) = self.flows.activate(now, waiting.slot.packet.flow());
        if !was_active {
            self.flows[id].deficit = self.quantum;
            self.new.push_back(id);
        }
        self.count.add(waiting.slot.bytes);
        self.flows[id].packets.push_back(waiting);
    }

    /// The packet to be sent next.
    pub(super) fn dequeue(&mut self, now: Instant, dropped: &mut Dropped<P>) -> Option<Slot<P>> {
        // Flows passed over in a row that cannot send in the next round either.
        let mut in_debt = 0;
        loop {
            let (id, is_new) = match self.new.front() {
                Some(id) => (*id, true),
                None => (*self.old.front()?, false),
            };
            if self.flows[id].deficit <= 0 {
                self.flows[id].deficit += self.quantum;
                in_debt = if self.flows[id].deficit <= 0 { in_debt + 1 } else { 0 };
                self.make_last(is_new, id);
                if in_debt == self.old.len() && self.new.is_empty() {
                    self.skip_rounds();
                    in_debt = 0;
                }
            } else if let Some(slot) = self.take(now, id, dropped) {
                self.flows[id].deficit -= credit(slot.bytes);
                return Some(slot);
            } else if is_new {
                self.make_last(is_new, id);
            } else {
                self.old.pop_front();
                self.flows.deactivate(now, id);
                in_debt = 0;
            }
        }
    }

    /// What waits.
    pub(super) fn count(&self) -> Count {
        self.count
    }

    /// Everything, flow by flow.
    pub(super) fn into_packets(self) -> impl Iterator<Item = Waiting<P>> {
        self.flows.into_flows().flat_map(|flow| flow.packets.into_packets())
    }

    /// The flow's next packet, after those that CoDel drops.
    fn take(&mut self, now: Instant, id: FlowId, dropped: &mut Dropped<P>) -> Option<Slot<P>> {
        let flow = &mut self.flows[id];
        let before = flow.packets.count();
        let slot = match self.codel {
            Some(codel) => flow.control.dequeue(now, &mut flow.packets, codel, self.largest, dropped),
            None => flow.packets.pop_front().map(|waiting| waiting.slot),
        };
        let after = flow.packets.count();
        self.count.packets -= before.packets - after.packets;
        self.count.bytes -= before.bytes - after.bytes;
        slot
    }

    /// The flow in turn joins the end of the old ones.
    fn make_last(&mut self, is_new: bool, id: FlowId) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop_front();
        self.old.push_back(id);
    }

    /// Gives every flow at once what it would get in all the rounds to come in which none may send: a quantum may be far
    /// less than a packet.
    fn skip_rounds(&mut self) {
        let rounds = |deficit: i64| (-deficit / self.quantum).max(0);
        let least = self.old.iter().map(|id| rounds(self.flows[*id].deficit)).min().unwrap_or(0);
        for id in &self.old {
            self.flows[*id].deficit += least * self.quantum;
        }
    }

    fn drop_from_longest(&mut self, dropped: &mut Dropped<P>) {
        let active = self.new.iter().chain(&self.old).copied();
        let length = |id: &FlowId| {
            let count = self.flows[*id].packets.count();
            (count.bytes, count.packets)
        };
        let Some(longest) = active.max_by_key(length) else { return };
        let flow = &mut self.flows[longest];
        let batch = self.codel.map_or(1, |_| flow.packets.count().packets.div_ceil(2).min(DROP_BATCH));
        for waiting in (0..batch).map_while(|_| flow.packets.pop_front()) {
            self.count.remove(waiting.slot.bytes);
            dropped.push((waiting.slot, DropReason::QueueFull));
        }
    }

    /// Takes flows without packets out of the lists once they are most of them. They leave when their turn comes, but while
    /// nothing is sent, drops may leave ever more of them behind.
    fn deactivate_empty(&mut self, now: Instant) {
        let waiting = usize::try_from(self.count.packets).unwrap_or(usize::MAX);
        if self.new.len() + self.old.len() <= waiting.saturating_mul(2).max(EMPTY_FLOWS) {
            return;
        }
        let flows = &mut self.flows;
        let mut is_backlogged = |id: &FlowId| {
            let is_empty = flows[*id].packets.count().packets == 0;
            if is_empty {
                flows.deactivate(now, *id);
            }
            !is_empty
        };
        self.new.retain(&mut is_backlogged);
        self.old.retain(is_backlogged);
    }
}

/// Bytes as credit. Beyond 2^62, which no packet or quantum in earnest comes near, more makes no difference, and sums of two
/// fit 64 bits.
fn credit(bytes: Bytes) -> i64 {
    const MOST: i64 = 1 << 62;
    i64::try_from(bytes.get()).map_or(MOST, |bytes| bytes.min(MOST))
}

#[cfg(test)]
mod tests;
