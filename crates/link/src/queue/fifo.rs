//! First in, first out: what every discipline is made of.

use super::{Dropped, QueueLimit};
use crate::packet::Slot;
use crate::{Count, DropReason};
use farhop_units::Instant;
use std::collections::VecDeque;

/// A packet that waits.
#[derive(Debug)]
pub(super) struct Waiting<P> {
    /// Since when.
    pub(super) since: Instant,
    /// The packet.
    pub(super) slot: Slot<P>,
}

/// Packets in order of arrival. Its memory is reused: it grows with the longest queue so far and does not shrink.
#[derive(Debug)]
pub(super) struct Fifo<P> {
    packets: VecDeque<Waiting<P>>,
    count: Count,
}

impl<P> Fifo<P> {
    /// Nothing waits.
    pub(super) fn new() -> Self {
        Self { packets: VecDeque::new(), count: Count::default() }
    }

    /// A packet arrives; one that does not fit is dropped itself.
    #[inline]
    pub(super) fn enqueue(&mut self, waiting: Waiting<P>, limit: QueueLimit, dropped: &mut Dropped<P>) {
        if limit.admits(self.count, waiting.slot.bytes) {
            self.push_back(waiting);
        } else {
            dropped.push((waiting.slot, DropReason::QueueFull));
        }
    }

    /// A packet joins the end.
    #[inline]
    pub(super) fn push_back(&mut self, waiting: Waiting<P>) {
        self.count.add(waiting.slot.bytes);
        self.packets.push_back(waiting);
    }

    /// The oldest packet leaves.
    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<Waiting<P>> {
        let waiting = self.packets.pop_front()?;
        self.count.remove(waiting.slot.bytes);
        Some(waiting)
    }

    /// What waits.
    pub(super) fn count(&self) -> Count {
        self.count
    }

    /// Everything, in order.
    pub(super) fn into_packets(self) -> impl Iterator<Item = Waiting<P>> {
        self.packets.into_iter()
    }
}
