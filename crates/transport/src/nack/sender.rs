//! The prefetching server's side: packets at a fixed interval.

use super::{NackConfig, Packet};
use crate::{Output, StreamId};
use farhop_units::{Bytes, Instant};
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug, Clone, Copy)]
struct Content {
    bytes: Bytes,
    /// The number of the last packet.
    last: u32,
    /// The first number that was never sent.
    fresh: u32,
}

/// Packets of one content, from a number up to but not including another.
#[derive(Debug, Clone, Copy)]
struct Job {
    stream: StreamId,
    from: u32,
    to: u32,
}

/// Sends contents.
#[derive(Debug)]
pub struct Sender {
    config: NackConfig,
    contents: BTreeMap<StreamId, Content>,
    /// What is sent again, and what is sent first.
    again: VecDeque<Job>,
    first: VecDeque<Job>,
    /// The interval allows the next packet from here on.
    paced: Instant,
    outputs: VecDeque<Output<Packet>>,
}

impl Sender {
    /// A sender without contents.
    pub fn new(config: NackConfig) -> Self {
        Self {
            config,
            contents: BTreeMap::new(),
            again: VecDeque::new(),
            first: VecDeque::new(),
            paced: Instant::START,
            outputs: VecDeque::new(),
        }
    }

    /// Sends a content of `bytes` behind those before it. Its number must not have been used before.
    pub fn send(&mut self, now: Instant, stream: StreamId, bytes: Bytes) {
        self.handle_timeout(now);
        let packets = bytes.get().div_ceil(self.config.packet_payload()).max(1);
        // The number of all ones means "all that follow".
        let last = u32::try_from(packets).unwrap_or(u32::MAX).min(u32::MAX - 2);
        self.contents.insert(stream, Content { bytes, last, fresh: 1 });
        self.first.push_back(Job { stream, from: 1, to: last + 1 });
        self.pump(now);
    }

    /// The content needs not be sent again.
    pub fn forget(&mut self, stream: StreamId) {
        self.contents.remove(&stream);
    }

    /// A request arrived. One for an unknown content is ignored.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        self.handle_timeout(now);
        let Packet::Request { stream, ranges, count } = packet else { return };
        let Some(content) = self.contents.get(stream) else { return };
        for (from, to) in ranges.iter().take(usize::from(*count)) {
            let job = Job { stream: *stream, from: (*from).max(1), to: (*to).min(content.fresh) };
            if job.from < job.to {
                self.again.push_back(job);
            }
        }
        self.pump(now);
    }

    /// Sends every packet that is due at or before `now`, at the time it was due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(due) = self.next_timeout().filter(|due| *due <= now) {
            self.pump(due);
        }
    }

    /// When [`Sender::handle_timeout`] is to be called next.
    pub fn next_timeout(&self) -> Option<Instant> {
        (!self.again.is_empty() || !self.first.is_empty()).then_some(self.paced)
    }

    /// The next thing to tell the owner.
    pub fn poll(&mut self) -> Option<Output<Packet>> {
        self.outputs.pop_front()
    }

    /// Packets that wait for their turn.
    pub fn waiting(&self) -> u64 {
        self.again.iter().chain(&self.first).map(|job| u64::from(job.to - job.from)).sum()
    }

    /// Sends the next packet if the interval allows it.
    fn pump(&mut self, now: Instant) {
        while self.paced <= now {
            let Some(packet) = self.next_packet() else { return };
            self.paced = now + self.config.interval;
            self.outputs.push_back(Output::Transmit { at: now, packet });
        }
    }

    fn next_packet(&mut self) -> Option<Packet> {
        loop {
            let jobs = if self.again.is_empty() { &mut self.first } else { &mut self.again };
            let job = jobs.front_mut()?;
            let (stream, number) = (job.stream, job.from);
            job.from += 1;
            if job.from >= job.to {
                jobs.pop_front();
            }
            if let Some(content) = self.contents.get_mut(&stream) {
                content.fresh = content.fresh.max(number + 1);
                let size = self.config.packet_payload();
                let rest = content.bytes.get().saturating_sub(u64::from(number - 1) * size);
                let payload = Bytes::new(rest.min(size));
                return Some(Packet::Content { stream, number, last: number == content.last, payload });
            }
        }
    }
}
