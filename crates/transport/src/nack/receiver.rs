//! The information storage server's side: what is missing, and when to ask for it.

use super::packet::MAX_RANGES;
use super::{NackConfig, Packet};
use crate::ranges::RangeSet;
use crate::{Output, StreamId};
use core::ops::Bound::{Excluded, Unbounded};
use farhop_units::{Bytes, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A wait of nothing would ask without end.
const MIN_WAIT: Duration = Duration::from_millis(1);

#[derive(Debug)]
struct Content {
    arrived: RangeSet,
    /// The number of the last packet and its payload, once it has arrived.
    last: Option<(u32, Bytes)>,
    /// What was passed on.
    passed: Bytes,
    /// When it is asked for unless a packet comes.
    due: Instant,
    /// Something of it has come, or it was asked for.
    has_begun: bool,
}

impl Content {
    fn new(due: Instant) -> Self {
        Self { arrived: RangeSet::new(), last: None, passed: Bytes::ZERO, due, has_begun: false }
    }

    /// Takes in a packet, with its payload if it is the last; returns how much is newly without a gap, and whether it is all.
    fn take(&mut self, number: u32, last: Option<Bytes>, payload: u64) -> (Bytes, bool) {
        self.arrived.insert(number.into(), u64::from(number) + 1);
        self.last = self.last.or(last.map(|payload| (number, payload)));
        let prefix = self.prefix(payload);
        let new = prefix - self.passed;
        self.passed = prefix;
        (new, self.is_complete())
    }

    /// How much has arrived without a gap.
    fn prefix(&self, payload: u64) -> Bytes {
        let packets = self.arrived.first().filter(|first| first.start == 1).map_or(0, |first| first.end - 1);
        match self.last {
            Some((last, rest)) if packets == u64::from(last) => Bytes::new((packets - 1) * payload) + rest,
            _ => Bytes::new(packets * payload),
        }
    }

    fn is_complete(&self) -> bool {
        let all = |last| self.arrived.first().is_some_and(|first| first.start == 1 && first.end > u64::from(last));
        self.last.is_some_and(|(last, _)| all(last))
    }

    /// What is missing, as far as it fits.
    fn request(&self, stream: StreamId) -> Packet {
        let known = self.arrived.last().map_or(1, |last| last.end);
        let rest = self.last.is_none().then_some((known, u64::from(u32::MAX)));
        let gaps = self.arrived.gaps_from(1).map(|gap| (gap.start, gap.end)).chain(rest);
        let (mut ranges, mut count) = ([(0, 0); MAX_RANGES], 0);
        for ((from, to), range) in gaps.zip(&mut ranges) {
            // Numbers are of 32 bits, and one after them is all ones at most.
            let number = |place: u64| u32::try_from(place).unwrap_or(u32::MAX);
            (*range, count) = ((number(from), number(to)), count + 1);
        }
        Packet::Request { stream, ranges, count }
    }
}

/// Receives contents.
#[derive(Debug)]
pub struct Receiver {
    config: NackConfig,
    /// Those of which something is missing.
    contents: BTreeMap<StreamId, Content>,
    complete: RangeSet,
    outputs: VecDeque<Output<Packet>>,
}

impl Receiver {
    /// A receiver that knows of no content.
    pub fn new(config: NackConfig) -> Self {
        Self { config, contents: BTreeMap::new(), complete: RangeSet::new(), outputs: VecDeque::new() }
    }

    /// A content is announced: it will be asked for even if nothing of it arrives.
    pub fn expect(&mut self, now: Instant, stream: StreamId) {
        self.handle_timeout(now);
        if !self.complete.contains(stream.0.into()) {
            self.contents.entry(stream).or_insert_with(|| Content::new(now + self.config.wait));
        }
    }

    /// The content is not wanted any more: it is not asked for, and what still arrives of it is ignored.
    pub fn forget(&mut self, stream: StreamId) {
        self.contents.remove(&stream);
        self.complete.insert(stream.0.into(), u64::from(stream.0) + 1);
    }

    /// A packet arrived.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        self.handle_timeout(now);
        let Packet::Content { stream, number, last, payload } = *packet else { return };
        if self.complete.contains(stream.0.into()) {
            return;
        }
        let due = now + self.config.wait;
        // It is not the turn of those that follow it.
        for (_, later) in self.contents.range_mut((Excluded(stream), Unbounded)).filter(|(_, later)| !later.has_begun) {
            later.due = due;
        }
        let content = self.contents.entry(stream).or_insert_with(|| Content::new(due));
        (content.due, content.has_begun) = (due, true);
        let (bytes, finished) = content.take(number, last.then_some(payload), self.config.packet_payload());
        if last && !finished {
            self.outputs.push_back(Output::Transmit { at: now, packet: content.request(stream) });
        }
        if finished {
            self.forget(stream);
        }
        if bytes > Bytes::ZERO || finished {
            self.outputs.push_back(Output::Received { at: now, stream, bytes, finished });
        }
    }

    /// Asks for whatever was waited for long enough, at the time it was due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(due) = self.next_timeout().filter(|due| *due <= now) {
            for (stream, content) in self.contents.iter_mut().filter(|(_, content)| content.due == due) {
                (content.due, content.has_begun) = (due + self.config.wait.max(MIN_WAIT), true);
                self.outputs.push_back(Output::Transmit { at: due, packet: content.request(*stream) });
            }
        }
    }

    /// When [`Receiver::handle_timeout`] is to be called next.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.contents.values().map(|content| content.due).min()
    }

    /// The next thing to tell the owner.
    pub fn poll(&mut self) -> Option<Output<Packet>> {
        self.outputs.pop_front()
    }
}
