//! Packets that wait for the serializer: first in, first out, drop-tail by bytes.
//!
//! Only waiting packets count against the limit, neither the packet in service nor packets in flight. Left out: active
//! queue management, limits in packets, several classes.

use crate::Count;
use crate::packet::Slot;
use farhop_units::Bytes;
use std::collections::VecDeque;

/// A drop-tail queue.
#[derive(Debug)]
pub(crate) struct Queue<P> {
    limit: Option<Bytes>,
    waiting: VecDeque<Slot<P>>,
    count: Count,
}

impl<P> Queue<P> {
    /// An empty queue for `limit` bytes; `None` is unlimited.
    pub(crate) fn new(limit: Option<Bytes>) -> Self {
        Self { limit, waiting: VecDeque::new(), count: Count::default() }
    }

    /// Takes the packet in, or gives it back if it does not fit whole.
    pub(crate) fn enqueue(&mut self, slot: Slot<P>) -> Result<(), Slot<P>> {
        if !self.has_room(slot.bytes) {
            return Err(slot);
        }
        self.count.add(slot.bytes);
        self.waiting.push_back(slot);
        Ok(())
    }

    /// The packet that has waited longest.
    pub(crate) fn dequeue(&mut self) -> Option<Slot<P>> {
        let slot = self.waiting.pop_front()?;
        self.count.remove(slot.bytes);
        Some(slot)
    }

    /// Changes the limit. What already waits stays, even if it is more than the new limit: only arrivals are dropped.
    pub(crate) fn set_limit(&mut self, limit: Option<Bytes>) {
        self.limit = limit;
    }

    /// What waits.
    pub(crate) fn count(&self) -> Count {
        self.count
    }

    /// Whether `bytes` more stay within the limit; subtracting, because a sum could overflow.
    fn has_room(&self, bytes: Bytes) -> bool {
        self.limit.is_none_or(|limit| limit.get().checked_sub(self.count.bytes.get()).is_some_and(|r| bytes.get() <= r))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;

    fn slot(bytes: u64) -> Slot<()> {
        Slot { number: 0, bytes: Bytes::new(bytes), entered: Port::Gateway, packet: () }
    }

    #[test]
    fn a_packet_fits_up_to_the_last_byte() {
        let mut queue = Queue::new(Some(Bytes::new(3000)));
        assert!(queue.enqueue(slot(1500)).is_ok());
        assert!(queue.enqueue(slot(1501)).is_err());
        assert!(queue.enqueue(slot(1500)).is_ok());
        assert!(queue.enqueue(slot(1)).is_err());
        assert_eq!(queue.count(), Count { packets: 2, bytes: Bytes::new(3000) });
    }

    #[test]
    fn a_smaller_packet_may_pass_where_a_larger_was_dropped() {
        let mut queue = Queue::new(Some(Bytes::new(1000)));
        assert!(queue.enqueue(slot(1500)).is_err());
        assert!(queue.enqueue(slot(100)).is_ok());
    }

    #[test]
    fn a_lowered_limit_keeps_what_waits_and_refuses_more() {
        let mut queue = Queue::new(None);
        assert!(queue.enqueue(slot(1500)).is_ok());
        queue.set_limit(Some(Bytes::new(1000)));
        assert!(queue.enqueue(slot(0)).is_err());
        assert_eq!(queue.dequeue().map(|slot| slot.bytes), Some(Bytes::new(1500)));
        assert!(queue.enqueue(slot(1000)).is_ok());
    }
}
