//! Packets that wait for the serializer, under the direction's discipline.
//!
//! Only waiting packets count against the limit, neither the packet in service nor packets in flight. Whatever the
//! discipline: what came in goes out or is given up, a packet waits only while another is sent, and packets of one flow and
//! class never overtake each other. An arrival larger than the whole limit is dropped itself, without pushing others out.

mod codel;
mod discipline;
mod fair;
mod fifo;
mod flows;
mod limit;
mod priority;

pub use discipline::{CoDel, Discipline};
pub use limit::QueueLimit;

use crate::packet::Slot;
use crate::{Class, Count, DropReason, Packet};
use codel::CoDelQueue;
use fair::FairQueue;
use farhop_units::{Bytes, Instant};
use fifo::{Fifo, Waiting};
use priority::PriorityQueue;

/// Packets that a stage gave up, with the reason; the caller makes outputs of them.
pub(crate) type Dropped<P> = Vec<(Slot<P>, DropReason)>;

/// The packets that wait for one serializer.
#[derive(Debug)]
pub(crate) struct Queue<P> {
    limit: QueueLimit,
    scheduler: Scheduler<P>,
}

/// A discipline at work.
#[derive(Debug)]
enum Scheduler<P> {
    DropTail(Fifo<P>),
    // The larger ones are kept apart: most of thousands of terminals' queues are of the first kind.
    CoDel(Box<CoDelQueue<P>>),
    FairQueue(Box<FairQueue<P>>),
    FqCoDel(Box<FairQueue<P>>),
    Priority(Box<PriorityQueue<P>>),
}

impl<P: Packet> Queue<P> {
    /// An empty queue.
    pub(crate) fn new(limit: QueueLimit, discipline: Discipline) -> Self {
        Self { limit, scheduler: Scheduler::new(discipline) }
    }

    /// Takes the packet in; what does not fit, be it this one or another, goes to `dropped`.
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Instant, slot: Slot<P>, dropped: &mut Dropped<P>) {
        match &mut self.scheduler {
            // The default is compiled into the caller; the others may cost a call.
            Scheduler::DropTail(packets) => packets.enqueue(Waiting { since: now, slot }, self.limit, dropped),
            scheduler => scheduler.enqueue(Waiting { since: now, slot }, self.limit, dropped),
        }
    }

    /// The packet to be sent next, if any waits; those that active queue management gives up on the way go to `dropped`.
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Instant, dropped: &mut Dropped<P>) -> Option<Slot<P>> {
        match &mut self.scheduler {
            Scheduler::DropTail(packets) => packets.pop_front().map(|waiting| waiting.slot),
            scheduler => scheduler.dequeue(now, dropped),
        }
    }

    /// What of this class may join what waits.
    pub(crate) fn room(&self, class: Class) -> QueueLimit {
        self.limit.room(match &self.scheduler {
            Scheduler::Priority(queue) => queue.count_of(class),
            _ => self.count(),
        })
    }

    /// Whether packets that wait may be dropped when one goes out.
    pub(crate) fn drops_what_waits(&self) -> bool {
        matches!(self.scheduler, Scheduler::CoDel(_) | Scheduler::FqCoDel(_))
    }

    /// Changes the limit. What already waits stays, even if it is more than the new limit, until an arrival finds no room.
    pub(crate) fn set_limit(&mut self, limit: QueueLimit) {
        self.limit = limit;
    }

    /// Changes the discipline. One of the same kind goes on with its new parameters; in another, what waits is sorted in
    /// order of arrival, and has waited as long as before.
    pub(crate) fn set_discipline(&mut self, now: Instant, discipline: Discipline) {
        match (&mut self.scheduler, discipline) {
            (Scheduler::DropTail(_), Discipline::DropTail) | (Scheduler::Priority(_), Discipline::Priority) => {}
            (Scheduler::CoDel(queue), Discipline::CoDel(codel)) => queue.set_parameters(codel),
            (Scheduler::FairQueue(queue), Discipline::FairQueue { quantum }) => queue.set_parameters(quantum, None),
            (Scheduler::FqCoDel(queue), Discipline::FqCoDel { quantum, codel }) => {
                queue.set_parameters(quantum, Some(codel));
            }
            (scheduler, discipline) => {
                let before = core::mem::replace(scheduler, Scheduler::new(discipline));
                let mut packets = before.into_packets();
                packets.sort_by_key(|waiting| waiting.slot.number);
                packets.into_iter().for_each(|waiting| scheduler.push(now, waiting));
            }
        }
    }

    /// What waits.
    pub(crate) fn count(&self) -> Count {
        match &self.scheduler {
            Scheduler::DropTail(packets) => packets.count(),
            Scheduler::CoDel(queue) => queue.count(),
            Scheduler::FairQueue(queue) | Scheduler::FqCoDel(queue) => queue.count(),
            Scheduler::Priority(queue) => queue.count(),
        }
    }
}

impl<P: Packet> Scheduler<P> {
    fn new(discipline: Discipline) -> Self {
        match discipline {
            Discipline::DropTail => Self::DropTail(Fifo::new()),
            Discipline::CoDel(codel) => Self::CoDel(Box::new(CoDelQueue::new(codel))),
            Discipline::FairQueue { quantum } => Self::FairQueue(Box::new(FairQueue::new(quantum, None))),
            Discipline::FqCoDel { quantum, codel } => Self::FqCoDel(Box::new(FairQueue::new(quantum, Some(codel)))),
            Discipline::Priority => Self::Priority(Box::new(PriorityQueue::new())),
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, waiting: Waiting<P>, limit: QueueLimit, dropped: &mut Dropped<P>) {
        match self {
            Self::DropTail(packets) => packets.enqueue(waiting, limit, dropped),
            Self::CoDel(queue) => queue.enqueue(waiting, limit, dropped),
            Self::FairQueue(queue) | Self::FqCoDel(queue) => queue.enqueue(waiting, limit, dropped),
            Self::Priority(queue) => queue.enqueue(waiting, limit, dropped),
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Instant, dropped: &mut Dropped<P>) -> Option<Slot<P>> {
        match self {
            Self::DropTail(packets) => packets.pop_front().map(|waiting| waiting.slot),
            Self::CoDel(queue) => queue.dequeue(now, dropped),
            Self::FairQueue(queue) | Self::FqCoDel(queue) => queue.dequeue(now, dropped),
            Self::Priority(queue) => queue.dequeue(),
        }
    }

    /// Takes in a packet that waited before, whatever the limit.
    fn push(&mut self, now: Instant, waiting: Waiting<P>) {
        match self {
            Self::DropTail(packets) => packets.push_back(waiting),
            Self::CoDel(queue) => queue.push(waiting),
            Self::FairQueue(queue) | Self::FqCoDel(queue) => queue.push(now, waiting),
            Self::Priority(queue) => queue.push(waiting),
        }
    }

    fn into_packets(self) -> Vec<Waiting<P>> {
        match self {
            Self::DropTail(packets) => packets.into_packets().collect(),
            Self::CoDel(queue) => queue.into_packets().collect(),
            Self::FairQueue(queue) | Self::FqCoDel(queue) => queue.into_packets().collect(),
            Self::Priority(queue) => queue.into_packets().collect(),
        }
    }
}

impl QueueLimit {
    /// Whether a packet may join what waits. Even an unlimited queue counts its bytes in 64 bits.
    pub(crate) fn admits(self, waiting: Count, bytes: Bytes) -> bool {
        let total = waiting.bytes.get().checked_add(bytes.get());
        total.is_some_and(|total| match self {
            Self::Unlimited => true,
            Self::Bytes(limit) => total <= limit.get(),
            Self::Packets(limit) => waiting.packets < limit,
        })
    }

    /// What may join what waits.
    pub(crate) fn room(self, waiting: Count) -> Self {
        match self {
            Self::Unlimited => Self::Unlimited,
            Self::Bytes(limit) => Self::Bytes(limit.saturating_sub(waiting.bytes)),
            Self::Packets(limit) => Self::Packets(limit.saturating_sub(waiting.packets)),
        }
    }

    /// Whether so much may wait.
    fn holds(self, waiting: Count) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Bytes(limit) => waiting.bytes <= limit,
            Self::Packets(limit) => waiting.packets <= limit,
        }
    }
}

#[cfg(test)]
mod tests;
