//! Strict priority between traffic classes.
//!
//! A class waits as long as anything waits above it, in a queue of its own: none takes another's room, and what finds its own full is
//! dropped. That is how a satellite gateway puts multicast before TCP (zhou-2004 §IV, Fig 3), and how Linux's `prio` has its bands.
//! Left out: a guaranteed share for the lower classes.

use super::fifo::{Fifo, Waiting};
use super::{Dropped, QueueLimit};
use crate::packet::Slot;
use crate::{Class, Count, Packet};

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

    /// A packet arrives; the limit is of each class.
    pub(super) fn enqueue(&mut self, waiting: Waiting<P>, limit: QueueLimit, dropped: &mut Dropped<P>) {
        self.classes[waiting.slot.packet.class() as usize].enqueue(waiting, limit, dropped);
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
        self.classes.iter().fold(Count::default(), |sum, packets| sum + packets.count())
    }

    /// What waits in this class.
    pub(super) fn count_of(&self, class: Class) -> Count {
        self.classes[class as usize].count()
    }

    /// Everything, class by class.
    pub(super) fn into_packets(self) -> impl Iterator<Item = Waiting<P>> {
        self.classes.into_iter().flat_map(Fifo::into_packets)
    }
}
