//! Contents: what is pushed apart from all connections (prefetch-2013 §3.4). Packets of a fixed size leave at a fixed interval, one content after the
//! other, and nothing acknowledges them; what a queue drops is sent again behind all that waits. Left out: announcements (some 60 B
//! each), and how the receiver finds out what is missing.

use super::breakdown::Ledger;
use super::connection::{Content, Kind, Packet, Side};
use super::load::{Load, Planned};
use super::ticks::{Pace, Ticks};
use std::collections::VecDeque;

/// prefetch-2013 §4: of each packet 1414 B are content.
pub(super) const CONTENT_BYTES: u64 = 1414;
/// IPv4's and UDP's headers, 28; a content's name and a packet's number, 8.
const CONTENT_HEADERS: u64 = 28 + 8;
/// A longer train of packets is left out where nothing else happens.
const LEAST_TRAIN: u64 = 64;
/// The place of packets that belong to no connection.
const NOWHERE: usize = u32::MAX as usize;

/// What is there to be sent.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Objects, the oldest first, and how much of each has not been sent.
    queue: VecDeque<(usize, u64)>,
    /// When the interval allows the next packet.
    free: Ticks,
}

impl Contents {
    pub(crate) fn reset(&mut self) {
        self.queue.clear();
        self.free = Ticks::ZERO;
    }
}

impl Load<'_> {
    /// A content of so many bytes is there.
    pub(crate) fn push_content(&mut self, object: usize, bytes: u64) {
        let contents = &mut self.buffers.contents;
        let is_idle = contents.queue.is_empty();
        contents.queue.push_back((object, bytes));
        if is_idle {
            let due = contents.free.max(self.now);
            self.plan(due, Planned::Content);
        }
    }

    /// Sends the next packet.
    pub(crate) fn send_content(&mut self) {
        self.leave_out_contents();
        let (now, interval) = (self.now, self.interval());
        let Some((object, left)) = self.buffers.contents.queue.pop_front() else { return };
        let payload = left.min(CONTENT_BYTES);
        let passage = self.down.pass(now, payload + CONTENT_HEADERS);
        self.skipping.note(Side::Server, passage.found_idle);
        let contents = &mut self.buffers.contents;
        if left > payload {
            contents.queue.push_front((object, left - payload));
        }
        if self.is_lost(&passage) {
            self.buffers.contents.queue.push_back((object, payload));
        } else {
            let (arrival, link) = (passage.arrival, passage.waited + passage.served.rounded_up());
            let payload = u32::try_from(payload).unwrap_or(u32::MAX);
            let packet = Packet {
                arrival,
                kind: Kind::Content,
                payload,
                start: object as u64,
                link,
                ..Packet::bare(NOWHERE, now)
            };
            self.buffers.down.push(packet);
        }
        let contents = &mut self.buffers.contents;
        contents.free = now + interval;
        if !contents.queue.is_empty() {
            self.plan(now + interval, Planned::Content);
        }
    }

    /// A packet of a content has arrived.
    pub(crate) fn content_arrived(&mut self, packet: &Packet) {
        let (object, bytes) = (usize::try_from(packet.start).unwrap_or(usize::MAX), packet.payload());
        if self.near.is_some() {
            let ledger = self.content_ledger(object);
            self.come_near((NOWHERE, ledger), Content::Object(object), bytes, packet.link);
        } else if !self.buffers.browser.takes_quietly(object, bytes) {
            let ledger = self.content_ledger(object);
            self.read_response((NOWHERE, ledger), object, bytes, packet.link);
        }
        self.act();
    }

    /// What a content waited for so far: that nothing was there to be sent, or its turn, since what it was pushed for began to arrive.
    fn content_ledger(&self, object: usize) -> Ledger {
        let objects = &self.buffers.browser.objects;
        let mut root = object;
        while let Some(by) = objects[root].pushed_by {
            root = by;
        }
        let Some(start) = objects[root].start else { return Ledger::default() };
        let span = self.clock().since(start.at);
        let transmission = self.interval().times(objects[object].come / CONTENT_BYTES + 1).min(span);
        let mut ledger = start.ledger;
        ledger += Ledger { transmission, nothing: span.since(transmission), ..Ledger::default() };
        ledger
    }

    /// From one packet to the next: as it is set, but no less than the link takes.
    fn interval(&self) -> Ticks {
        let set = Pace::of(self.parameters.pushed_rate, (1, 1)).time(CONTENT_BYTES);
        set.max(self.down.slowest_service(1, CONTENT_BYTES + CONTENT_HEADERS))
    }

    /// Leaves out packets during which nothing else happens.
    fn leave_out_contents(&mut self) {
        let Some(&(object, left)) = self.buffers.contents.queue.front() else { return };
        if left < LEAST_TRAIN * CONTENT_BYTES || !self.is_alone(NOWHERE) {
            return;
        }
        let of_it = self.buffers.down.waiting().iter().filter(|packet| packet.start == object as u64);
        let on_the_way: u64 = of_it.map(Packet::payload).sum();
        let room = self.buffers.browser.uneventful(object, self.workload).saturating_sub(on_the_way).min(left - 1);
        let packets = room / CONTENT_BYTES;
        if packets >= LEAST_TRAIN {
            self.buffers.contents.queue[0].1 -= packets * CONTENT_BYTES;
            self.buffers.browser.leave_out(object, packets * CONTENT_BYTES);
            self.pass(self.interval().times(packets));
        }
    }
}
