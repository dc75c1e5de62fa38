//! Strict priority between traffic classes.
//!
//! A class waits as long as anything waits above it, and its packets are the first to make room: a full queue takes a packet
//! in by dropping from the end of the lowest class below it. That is how a satellite gateway puts multicast before TCP
//! (zhou-2004). Left out: a guaranteed share for the lower classes.

use super::fifo::{Fifo, Waiting};
use super::{Dropped, QueueLimit};
use crate::packet::Slot;
use crate::{Class, Count, DropReason, Packet};

/// One first-in-first-out queue per class.
#[derive(Debug)]
pub(super) struct PriorityQueue<P> {
    /// In the order of [`Class::ALL`], most urgent first.
    classes: [Fifo<P>; Class::ALL.len()],
}

impl<P: Packet> PriorityQueue<P> {
    /// Nothing waits.
    pub(super) fn new() -> Self {
        Self { classes: Class::ALL.map(|_| Fifo::new()) }
    }

    /// A packet arrives and pushes out lower ones if it needs their room and their room is enough.
    pub(super) fn enqueue(&mut self, waiting: Waiting<P>, limit: QueueLimit, dropped: &mut Dropped<P>) {
        let (class, bytes) = (waiting.slot.packet.class() as usize, waiting.slot.bytes);
        if !limit.admits(self.count(), bytes) && !limit.admits(self.count_down_to(class), bytes) {
            return dropped.push((waiting.slot, DropReason::QueueFull));
        }
        while !limit.admits(self.count(), bytes) {
            let lowest = self.classes.iter_mut().rev().find_map(Fifo::pop_back);
            dropped.extend(lowest.map(|lowest| (lowest.slot, DropReason::QueueFull)));
        }
        self.push(waiting);
    }

    /// A packet joins the end of its class.
    pub(super) fn push(&mut self, waiting: Waiting<P>) {
        self.classes[waiting.slot.packet.class() as usize].push_back(waiting);
    }

    /// The packet to be sent next.
    pub(super) fn dequeue(&mut self) -> Option<Slot<P>> {
        self.classes.iter_mut().find_map(Fifo::pop_front).map(|waiting| waiting.slot)
    }

    /// What waits.
    pub(super) fn count(&self) -> Count {
        self.count_down_to(Class::ALL.len() - 1)
    }

    /// Everything, class by class.
    pub(super) fn into_packets(self) -> impl Iterator<Item = Waiting<P>> {
        self.classes.into_iter().flat_map(Fifo::into_packets)
    }

    /// What waits in this class and those above.
    fn count_down_to(&self, class: usize) -> Count {
        self.classes[..=class].iter().fold(Count::default(), |sum, packets| sum + packets.count())
    }
}
