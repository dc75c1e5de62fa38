//! Paced UDP between the two boxes of prefetch-2013: whose contents travel, and what is known of them at each end.
//!
//! The prefetching server at the gateway has one clock for all terminals; every terminal has an information storage server. A
//! content is the response with one object, header included, and is announced when a document has named it. Its packets leave a
//! millisecond apart as in the paper, or as far apart as the link's rate has them where that is slower: "the fixed size and the
//! fixed transmission interval can control the transmission speed so that it stays within the link speed" (§3.4). What is not TCP
//! on the link is not counted there.
//!
//! An announcement that is lost is not repeated: of its content nothing is known at the terminal, which drops the packets and asks
//! for the object by TCP when a client wants it.

use crate::network::Side;
use crate::trunk::StationId;
use crate::wake::Wake;
use farhop_scenario::Scenario;
use farhop_transport::nack::{NackConfig, Packet, Receiver, Sender};
use farhop_transport::{Output, StreamId};
use farhop_units::{Bytes, Instant, Rate};
use std::collections::BTreeMap;

/// The object of a client's page that a content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) client: u32,
    pub(crate) object: u32,
    /// When the client turned to the page, which tells it from the others.
    pub(crate) page: Instant,
    pub(crate) terminal: u16,
}

/// What an end has to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// Carry this packet to the other end of a terminal's leg.
    Transmit { leg: u32, packet: Packet },
    /// More of a content is there, without a gap.
    Received { content: Content, bytes: Bytes },
}

/// An information storage server.
#[derive(Debug)]
struct Store {
    leg: u32,
    receiver: Receiver,
    wake: Wake,
    awaited: BTreeMap<StreamId, Content>,
}

/// Both kinds of ends.
#[derive(Debug)]
pub(crate) struct Paced {
    sender: Sender,
    wake: Wake,
    /// What was announced and not forgotten, by client and object.
    streams: BTreeMap<(u32, u32), StreamId>,
    announced: BTreeMap<StreamId, Content>,
    next: u32,
    stores: Vec<Store>,
}

impl Paced {
    /// Ends without contents; the packets of each terminal travel over its leg.
    pub(crate) fn new(scenario: &Scenario, legs: impl IntoIterator<Item = u32>) -> Self {
        let config = config(scenario);
        let store = |leg| {
            let receiver = Receiver::new(config.clone());
            Store { leg, receiver, wake: Wake::default(), awaited: BTreeMap::new() }
        };
        Self {
            stores: legs.into_iter().map(store).collect(),
            sender: Sender::new(config),
            wake: Wake::default(),
            streams: BTreeMap::new(),
            announced: BTreeMap::new(),
            next: 0,
        }
    }

    /// The packet that announces a content whose URL has this length, and its leg.
    pub(crate) fn announce(&mut self, content: Content, name: Bytes) -> (u32, Packet) {
        let stream = StreamId(self.next);
        self.next += 1;
        self.streams.insert((content.client, content.object), stream);
        self.announced.insert(stream, content);
        (self.stores[usize::from(content.terminal)].leg, Packet::Announcement { stream, name })
    }

    /// Sends what was announced.
    pub(crate) fn send(&mut self, now: Instant, client: u32, object: u32, bytes: Bytes) {
        if let Some(stream) = self.streams.get(&(client, object)) {
            self.sender.send(now, *stream, bytes);
        }
    }

    /// The content that an announcement speaks of, unless its client has turned to another page at the gateway.
    pub(crate) fn named(&self, packet: &Packet) -> Option<Content> {
        let Packet::Announcement { stream, .. } = packet else { return None };
        self.announced.get(stream).copied()
    }

    /// A terminal waits for what was announced to it.
    pub(crate) fn expect(&mut self, now: Instant, content: Content) {
        let Some(stream) = self.streams.get(&(content.client, content.object)) else { return };
        let store = &mut self.stores[usize::from(content.terminal)];
        store.receiver.expect(now, *stream);
        store.awaited.insert(*stream, content);
    }

    /// A packet has come to an end. Of what was not announced nothing is known there.
    pub(crate) fn handle_packet(&mut self, now: Instant, StationId { side, terminal }: StationId, packet: &Packet) {
        let store = &mut self.stores[usize::from(terminal)];
        match (side, packet) {
            (Side::Far, _) => self.sender.handle_packet(now, packet),
            (Side::Near, Packet::Content { stream, .. }) if store.awaited.contains_key(stream) => {
                store.receiver.handle_packet(now, packet);
            }
            _ => {}
        }
    }

    /// A client has turned to another page, as one end has heard.
    pub(crate) fn forget(&mut self, StationId { side, terminal }: StationId, client: u32) {
        match side {
            Side::Far => {
                while let Some((key, stream)) = self.streams.range((client, 0)..=(client, u32::MAX)).next() {
                    let (key, stream) = (*key, *stream);
                    self.streams.remove(&key);
                    self.announced.remove(&stream);
                    self.sender.forget(stream);
                }
            }
            Side::Near => {
                let Store { awaited, receiver, .. } = &mut self.stores[usize::from(terminal)];
                awaited.extract_if(.., |_, content| content.client == client).for_each(|(stream, _)| {
                    receiver.forget(stream);
                });
            }
        }
    }

    /// The wake-up of an end has come. Returns whether it is the one that counts.
    pub(crate) fn handle_timeout(&mut self, now: Instant, id: StationId) -> bool {
        let counts = self.wake(id).counts(now);
        match id.side {
            Side::Far if counts => self.sender.handle_timeout(now),
            Side::Near if counts => self.stores[usize::from(id.terminal)].receiver.handle_timeout(now),
            _ => {}
        }
        counts
    }

    /// When an end is to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(crate) fn rearm(&mut self, id: StationId) -> Option<Instant> {
        let due = match id.side {
            Side::Far => self.sender.next_timeout(),
            Side::Near => self.stores[usize::from(id.terminal)].receiver.next_timeout(),
        };
        self.wake(id).arm(due)
    }

    /// The next thing that an end has to tell.
    pub(crate) fn poll(&mut self, StationId { side, terminal }: StationId) -> Option<Said> {
        match side {
            Side::Far => self.poll_sender(),
            Side::Near => self.stores[usize::from(terminal)].poll(),
        }
    }

    fn poll_sender(&mut self) -> Option<Said> {
        loop {
            let Output::Transmit { packet, .. } = self.sender.poll()? else { continue };
            let Packet::Content { stream, .. } = packet else { continue };
            if let Some(content) = self.announced.get(&stream) {
                return Some(Said::Transmit { leg: self.stores[usize::from(content.terminal)].leg, packet });
            }
        }
    }

    fn wake(&mut self, StationId { side, terminal }: StationId) -> &mut Wake {
        match side {
            Side::Far => &mut self.wake,
            Side::Near => &mut self.stores[usize::from(terminal)].wake,
        }
    }
}

impl Store {
    fn poll(&mut self) -> Option<Said> {
        loop {
            match self.receiver.poll()? {
                Output::Transmit { packet, .. } => return Some(Said::Transmit { leg: self.leg, packet }),
                Output::Received { stream, bytes, .. } => {
                    if let Some(content) = self.awaited.get(&stream).copied() {
                        return Some(Said::Received { content, bytes });
                    }
                }
                _ => {}
            }
        }
    }
}

/// The paper's settings, within the speed of the link.
fn config(scenario: &Scenario) -> NackConfig {
    let paper = NackConfig::default();
    let down = &scenario.link.down;
    let packet = Packet::Content { stream: StreamId(0), number: 1, last: false, payload: paper.payload };
    let (sent, useful) = down.framing.redundancy;
    let frame = (packet.wire_bytes() + down.framing.overhead).get() * u64::from(sent.get());
    let time = |rate: Rate| rate.transmission_time(Bytes::new(frame.div_ceil(u64::from(useful.get()))));
    let left = |rate| scenario.multicast.map_or(rate, |multicast| multicast.left_of(rate));
    NackConfig {
        interval: down.told_rate().map(left).map_or(paper.interval, |rate| paper.interval.max(time(rate))),
        ..paper
    }
}
