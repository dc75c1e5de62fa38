//! Controlled delay: CoDel (RFC 8289 §5, its pseudocode step by step), with marking (RFC 3168) as RFC 8290 has it.
//!
//! Once packets have waited longer than the target for a whole interval, one is dropped from the head; as long as they go
//! on doing so, the `n`-th drop is followed by the next after `interval / √n`. A backlog of no more than the largest packet
//! seen so far (the RFC's `maxpacket`, for which it suggests the interface's MTU; a link knows none) is left alone, so the
//! last packet of a queue is always sent.
//!
//! `interval / √n` is exact integer arithmetic, `⌊√⌊interval² / n⌋⌋` in nanoseconds, the same on every machine. Linux
//! takes one step of Newton's method per drop instead, at 16 bits, and drops somewhat earlier or later.
//!
//! Left out: a marking threshold below the target (Linux's `ce_threshold`).

use super::fifo::{Fifo, Waiting};
use super::{CoDel, Dropped, QueueLimit};
use crate::packet::Slot;
use crate::{Count, DropReason, Packet};
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// RFC 8289 §5.5: a queue that is bad again within this many intervals is treated as badly as it was last.
const MEMORY_INTERVALS: u32 = 16;

/// One first-in-first-out queue under control.
#[derive(Debug)]
pub(super) struct CoDelQueue<P> {
    packets: Fifo<P>,
    parameters: CoDel,
    largest: Bytes,
    control: Control,
}

impl<P: Packet> CoDelQueue<P> {
    /// Nothing waits.
    pub(super) fn new(parameters: CoDel) -> Self {
        Self { packets: Fifo::new(), parameters, largest: Bytes::ZERO, control: Control::default() }
    }

    /// A packet arrives; one that does not fit is dropped itself.
    pub(super) fn enqueue(&mut self, waiting: Waiting<P>, limit: QueueLimit, dropped: &mut Dropped<P>) {
        if limit.admits(self.count(), waiting.slot.bytes) {
            self.push(waiting);
        } else {
            dropped.push((waiting.slot, DropReason::QueueFull));
        }
    }

    /// A packet joins the end.
    pub(super) fn push(&mut self, waiting: Waiting<P>) {
        self.largest = self.largest.max(waiting.slot.bytes);
        self.packets.push_back(waiting);
    }

    /// The packet to be sent next.
    pub(super) fn dequeue(&mut self, now: Instant, dropped: &mut Dropped<P>) -> Option<Slot<P>> {
        self.control.dequeue(now, &mut self.packets, self.parameters, self.largest, dropped)
    }

    /// Goes on with other parameters.
    pub(super) fn set_parameters(&mut self, parameters: CoDel) {
        self.parameters = parameters;
    }

    /// What waits.
    pub(super) fn count(&self) -> Count {
        self.packets.count()
    }

    /// Everything, in order of arrival.
    pub(super) fn into_packets(self) -> impl Iterator<Item = Waiting<P>> {
        self.packets.into_packets()
    }
}

/// What CoDel knows of one queue (the RFC's variables).
#[derive(Debug, Default)]
pub(super) struct Control {
    /// When delay will have been above the target for an interval; `None` while it is below.
    first_above: Option<Instant>,
    /// Whether packets are being dropped.
    dropping: bool,
    /// When the next one is.
    drop_next: Instant,
    /// How many there were since dropping began, and what this number began with.
    count: u64,
    last_count: u64,
}

impl Control {
    /// The next packet of `packets` that may be sent, after those that are dropped. Gives one whenever something waits.
    pub(super) fn dequeue<P: Packet>(
        &mut self,
        now: Instant,
        packets: &mut Fifo<P>,
        parameters: CoDel,
        largest: Bytes,
        dropped: &mut Dropped<P>,
    ) -> Option<Slot<P>> {
        let mut head = self.take(now, packets, parameters, largest);
        if self.dropping {
            self.dropping = head.is_late;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if head.is_marked(parameters) {
                    self.drop_next += spacing(parameters.interval, self.count);
                    break;
                }
                head.give_up(dropped);
                head = self.take(now, packets, parameters, largest);
                self.dropping = head.is_late;
                if head.is_late {
                    self.drop_next += spacing(parameters.interval, self.count);
                }
            }
        } else if head.is_late {
            if !head.is_marked(parameters) {
                head.give_up(dropped);
                head = self.take(now, packets, parameters, largest);
            }
            self.begin_dropping(now, parameters.interval);
        }
        head.slot
    }

    /// Nothing waits any more, so nothing waits too long. The next packet to be sent ends the dropping, if there was any.
    pub(super) fn rest(&mut self) {
        self.first_above = None;
    }

    /// Drops of the last time of dropping, if they still count at `now`. Without them, a queue at rest is like a new one.
    pub(super) fn remembered(&self, now: Instant, interval: Duration) -> Option<u64> {
        let drops = self.count - self.last_count;
        let recent = now.since(self.drop_next) < interval.saturating_mul(MEMORY_INTERVALS);
        (drops > 1 && recent).then_some(drops)
    }

    /// The RFC's `dodequeue`: the packet at the head, and whether it may be dropped.
    fn take<P>(&mut self, now: Instant, packets: &mut Fifo<P>, parameters: CoDel, largest: Bytes) -> Head<P> {
        let Some(waiting) = packets.pop_front() else {
            self.rest();
            return Head { slot: None, is_late: false };
        };
        let is_bad = now.since(waiting.since) >= parameters.target && packets.count().bytes > largest;
        let is_late = match (is_bad, self.first_above) {
            (false, _) => {
                self.first_above = None;
                false
            }
            (true, None) => {
                self.first_above = Some(now + parameters.interval);
                false
            }
            (true, Some(first_above)) => now >= first_above,
        };
        Head { slot: Some(waiting.slot), is_late }
    }

    fn begin_dropping(&mut self, now: Instant, interval: Duration) {
        self.dropping = true;
        self.count = self.remembered(now, interval).unwrap_or(1);
        self.last_count = self.count;
        self.drop_next = now + spacing(interval, self.count);
    }
}

/// A packet taken from the head of the queue.
struct Head<P> {
    slot: Option<Slot<P>>,
    /// Whether packets have waited too long for an interval, up to this one.
    is_late: bool,
}

impl<P: Packet> Head<P> {
    /// Marks the packet, if that will do instead of dropping it.
    fn is_marked(&mut self, parameters: CoDel) -> bool {
        match &mut self.slot {
            Some(slot) if parameters.ecn && slot.packet.is_ecn_capable() => {
                slot.packet.mark_congestion();
                true
            }
            _ => false,
        }
    }

    fn give_up(self, dropped: &mut Dropped<P>) {
        dropped.extend(self.slot.map(|slot| (slot, DropReason::QueueDelay)));
    }
}

/// The control law: time from the `count`-th drop to the next, `interval / √count`, rounded down to a nanosecond.
fn spacing(interval: Duration, count: u64) -> Duration {
    let interval = u128::from(u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX));
    let nanos = (interval * interval / u128::from(count)).isqrt();
    Duration::from_nanos(u64::try_from(nanos).expect("no more than the interval"))
}

#[cfg(test)]
mod tests;
