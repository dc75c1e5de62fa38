//! Streams, their turns, and their flow control (RFC 9000 §2, §4).

use super::config::{Order, QuicConfig};
use super::incoming::Incoming;
use super::outgoing::Outgoing;
use super::packet::{Draft, Frame, Level, Packet};
use crate::ranges::RangeSet;
use crate::{Output, StreamId};
use farhop_accel::credit::{ReceiveCredit, SendCredit};
use farhop_units::{Bytes, Instant};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// RFC 9218 §4.1: the urgency of what has none.
const DEFAULT_URGENCY: u8 = 3;

#[derive(Debug)]
struct Stream {
    outgoing: Outgoing,
    incoming: Incoming,
    /// Up to here the other end takes bytes.
    limit: u64,
    credit: ReceiveCredit,
    granted: u64,
    grant_due: bool,
    urgency: u8,
    incremental: bool,
    in_turn: bool,
    /// Its place among those of its urgency, where that counts.
    ticket: u64,
    /// A write was cut short.
    blocked: bool,
}

/// Streams with something to send, in the order of their turns.
#[derive(Debug)]
enum Turns {
    RoundRobin(VecDeque<StreamId>),
    /// Urgency, ticket, number: what is not incremental has ticket 0, and others draw a new one for each turn; or whoever comes draws one,
    /// and keeps it.
    Urgency {
        turns: BTreeSet<(u8, u64, StreamId)>,
        drawn: u64,
        keeps: bool,
    },
}

impl Turns {
    /// Puts a stream that has no place into its place; it may just have had one.
    fn push(&mut self, id: StreamId, stream: &mut Stream, goes_on: bool) {
        stream.in_turn = true;
        match self {
            Self::RoundRobin(turns) => turns.push_back(id),
            Self::Urgency { turns, drawn, keeps } => {
                if !*keeps && !stream.incremental {
                    stream.ticket = 0;
                } else if !(*keeps && goes_on) {
                    *drawn += 1;
                    stream.ticket = *drawn;
                }
                turns.insert((stream.urgency, stream.ticket, id));
            }
        }
    }

    fn first(&self) -> Option<StreamId> {
        match self {
            Self::RoundRobin(turns) => turns.front().copied(),
            Self::Urgency { turns, .. } => turns.first().map(|(.., stream)| *stream),
        }
    }

    /// Whether this holds for all of them.
    fn all(&self, mut holds: impl FnMut(StreamId) -> bool) -> bool {
        match self {
            Self::RoundRobin(turns) => turns.iter().all(|stream| holds(*stream)),
            Self::Urgency { turns, .. } => turns.iter().all(|(.., stream)| holds(*stream)),
        }
    }

    fn pop(&mut self) {
        match self {
            Self::RoundRobin(turns) => _ = turns.pop_front(),
            Self::Urgency { turns, .. } => _ = turns.pop_first(),
        }
    }

    /// Takes a stream's place away, if it makes a difference; returns whether it had one.
    fn remove(&mut self, id: StreamId, stream: &Stream) -> bool {
        match self {
            Self::RoundRobin(_) => false,
            Self::Urgency { turns, .. } => turns.remove(&(stream.urgency, stream.ticket, id)),
        }
    }
}

/// All streams of one end.
#[derive(Debug)]
pub(super) struct Streams {
    streams: BTreeMap<StreamId, Stream>,
    /// Complete in both directions.
    gone: RangeSet,
    turns: Turns,
    /// Those that only the connection's credit holds back.
    stalled: Vec<StreamId>,
    credit: SendCredit,
    grants: ReceiveCredit,
    received: u64,
    granted: u64,
    grant_due: bool,
    grants_due: VecDeque<StreamId>,
    stream_window: Bytes,
    send_buffer: Bytes,
    /// Unsent or unacknowledged bytes of all streams.
    held: u64,
}

impl Streams {
    pub(super) fn new(config: &QuicConfig) -> Self {
        let turns = match config.order {
            Order::RoundRobin => Turns::RoundRobin(VecDeque::new()),
            Order::Urgency | Order::FirstCome => {
                Turns::Urgency { turns: BTreeSet::new(), drawn: 0, keeps: config.order == Order::FirstCome }
            }
        };
        Self {
            streams: BTreeMap::new(),
            gone: RangeSet::new(),
            turns,
            stalled: Vec::new(),
            credit: SendCredit::new(config.connection_window),
            grants: ReceiveCredit::new(config.connection_window, config.connection_window),
            received: 0,
            granted: config.connection_window.get(),
            grant_due: false,
            grants_due: VecDeque::new(),
            stream_window: config.stream_window,
            send_buffer: config.send_buffer,
            held: 0,
        }
    }

    /// The stream, opened if it is new; `None` if it is complete.
    fn open(&mut self, id: StreamId) -> Option<&mut Stream> {
        if self.gone.contains(id.0.into()) {
            return None;
        }
        let window = self.stream_window;
        Some(self.streams.entry(id).or_insert_with(|| Stream {
            outgoing: Outgoing::new(),
            incoming: Incoming::new(),
            limit: window.get(),
            credit: ReceiveCredit::new(window, window),
            granted: window.get(),
            grant_due: false,
            urgency: DEFAULT_URGENCY,
            incremental: false,
            in_turn: false,
            ticket: 0,
            blocked: false,
        }))
    }

    /// How much the stream's send buffer takes.
    pub(super) fn room(&self, id: StreamId) -> Bytes {
        match self.streams.get(&id) {
            Some(stream) if stream.outgoing.is_closing() => Bytes::ZERO,
            Some(stream) => self.send_buffer.saturating_sub(Bytes::new(stream.outgoing.held())),
            None if self.gone.contains(id.0.into()) => Bytes::ZERO,
            None => self.send_buffer,
        }
    }

    /// Unsent or unacknowledged bytes of all streams.
    pub(super) fn held(&self) -> Bytes {
        Bytes::new(self.held)
    }

    /// Unsent or unacknowledged bytes of a stream.
    pub(super) fn unacknowledged(&self, id: StreamId) -> Bytes {
        self.streams.get(&id).map_or(Bytes::ZERO, |stream| Bytes::new(stream.outgoing.held()))
    }

    pub(super) fn write(&mut self, id: StreamId, bytes: Bytes) -> Bytes {
        let taken = bytes.min(self.room(id));
        if let Some(stream) = self.open(id) {
            stream.outgoing.write(taken.get());
            stream.blocked |= taken < bytes;
            self.held += taken.get();
        }
        self.take_turn(id);
        taken
    }

    pub(super) fn finish(&mut self, id: StreamId) {
        if let Some(stream) = self.open(id) {
            stream.outgoing.close();
        }
        self.take_turn(id);
    }

    /// The stream has one direction only (RFC 9000 §2.1), in which this end `sends` or receives.
    pub(super) fn set_one_way(&mut self, id: StreamId, sends: bool) {
        match self.open(id) {
            Some(stream) if sends => stream.incoming.skip(),
            Some(stream) => stream.outgoing.skip(),
            None => {}
        }
    }

    pub(super) fn set_priority(&mut self, id: StreamId, urgency: u8, incremental: bool) {
        self.open(id);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let had_place = self.turns.remove(id, stream);
        (stream.urgency, stream.incremental) = (urgency, incremental);
        if had_place {
            self.turns.push(id, stream, true);
        }
    }

    /// The owner has read `bytes`; the other end learns of it a quarter of a window at a time.
    pub(super) fn read(&mut self, id: StreamId, bytes: Bytes) {
        if let Some(limit) = self.grants.consume(bytes) {
            (self.granted, self.grant_due) = (limit, true);
        }
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| !stream.incoming.knows_end()) else { return };
        if let Some(limit) = stream.credit.consume(bytes) {
            stream.granted = limit;
            self.owe_grant(id);
        }
    }

    fn owe_grant(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id).filter(|stream| !stream.grant_due) {
            stream.grant_due = true;
            self.grants_due.push_back(id);
        }
    }

    /// Gives a stream its place among the turns if it has something to send.
    fn take_turn(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if !stream.in_turn && stream.outgoing.chunk(stream.limit).is_some() {
            self.turns.push(id, stream, false);
        }
    }

    /// Whether there may be something to send.
    pub(super) fn wants(&self) -> bool {
        self.turns.first().is_some() || self.grant_due || !self.grants_due.is_empty()
    }

    /// Whether all that may be sent takes no more than `room`.
    pub(super) fn fit(&self, room: u64) -> bool {
        let granted = self.grants_due.iter().filter_map(|id| Some((*id, self.streams.get(id)?.granted)));
        let grants = granted.map(|(stream, limit)| Frame::MaxStreamData { stream, limit }.overhead());
        let all = if self.grant_due { Frame::MaxData { limit: self.granted }.overhead() } else { 0 };
        let mut left = room.checked_sub(grants.sum::<u64>() + all);
        left.is_some()
            && self.turns.all(|id| {
                let needed = self.streams.get(&id).map_or(Some(0), |stream| self.needed(id, stream));
                left = left.zip(needed).and_then(|(left, needed)| left.checked_sub(needed));
                left.is_some()
            })
    }

    /// What a frame takes with all that a stream may send; `None` if one is not enough.
    fn needed(&self, id: StreamId, stream: &Stream) -> Option<u64> {
        let outgoing = &stream.outgoing;
        let Some(chunk) = outgoing.chunk(stream.limit.min(outgoing.next() + self.credit.available().get())) else {
            return Some(0);
        };
        let frame = Frame::Stream { stream: id, offset: chunk.offset, length: 0, fin: false };
        (!chunk.again).then_some(frame.overhead() + chunk.length)
    }

    /// Puts into a datagram what fits.
    pub(super) fn fill(&mut self, draft: &mut Draft, level: Level) {
        self.fill_grants(draft, level);
        while !draft.is_full() {
            let Some(id) = self.turns.first() else { return };
            let Some(stream) = self.streams.get_mut(&id) else {
                self.turns.pop();
                continue;
            };
            let limit = stream.limit.min(stream.outgoing.next() + self.credit.available().get());
            let Some(chunk) = stream.outgoing.chunk(limit) else {
                self.turns.pop();
                stream.in_turn = false;
                if stream.outgoing.chunk(stream.limit).is_some() {
                    self.stalled.push(id);
                }
                continue;
            };
            let frame = |length, fin| Frame::Stream { stream: id, offset: chunk.offset, length, fin };
            let Some(room) = draft.left(level).checked_sub(frame(0, false).overhead()) else { return };
            let length = chunk.length.min(room);
            if length == 0 && chunk.length > 0 {
                return;
            }
            let fin = stream.outgoing.send(chunk, length);
            if !chunk.again {
                self.credit.take(Bytes::new(length));
            }
            let length = u16::try_from(length).expect("a datagram is shorter than 64 KiB");
            draft.add(level, frame(length, fin), length.into());
            self.turns.pop();
            stream.in_turn = false;
            if stream.outgoing.chunk(stream.limit).is_some() {
                self.turns.push(id, stream, true);
            }
        }
    }

    fn fill_grants(&mut self, draft: &mut Draft, level: Level) {
        if self.grant_due && draft.add(level, Frame::MaxData { limit: self.granted }, 0) {
            self.grant_due = false;
        }
        while let Some(&id) = self.grants_due.front() {
            if let Some(stream) = self.streams.get_mut(&id) {
                if !draft.add(level, Frame::MaxStreamData { stream: id, limit: stream.granted }, 0) {
                    return;
                }
                stream.grant_due = false;
            }
            self.grants_due.pop_front();
        }
    }

    /// Bytes of a stream have arrived.
    pub(super) fn receive(
        &mut self,
        at: Instant,
        (id, offset, length, fin): (StreamId, u64, u64, bool),
        outputs: &mut VecDeque<Output<Packet>>,
    ) {
        let Some(stream) = self.open(id) else { return };
        let before = stream.incoming.expected();
        let (bytes, finished) = stream.incoming.receive(offset, length, fin);
        let bytes = Bytes::new(bytes);
        if bytes == Bytes::ZERO && !finished {
            return;
        }
        // Senders here keep to what they are granted, so that neither account can refuse.
        let kept = stream.credit.receive(before, bytes).is_ok() && self.grants.receive(self.received, bytes).is_ok();
        debug_assert!(kept, "more than was granted");
        self.received += bytes.get();
        outputs.push_back(Output::Received { at, stream: id, bytes, finished });
        self.close(at, id, outputs);
    }

    pub(super) fn handle_max_data(&mut self, limit: u64) {
        self.credit.grant(limit);
        for place in 0..self.stalled.len() {
            self.take_turn(self.stalled[place]);
        }
        self.stalled.clear();
    }

    pub(super) fn handle_max_stream_data(&mut self, id: StreamId, limit: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.limit = stream.limit.max(limit);
        }
        self.take_turn(id);
    }

    /// A frame with a stream's bytes has been acknowledged.
    pub(super) fn arrived(
        &mut self,
        at: Instant,
        (id, offset, length, fin): (StreamId, u64, u64, bool),
        outputs: &mut VecDeque<Output<Packet>>,
    ) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let before = stream.outgoing.held();
        stream.outgoing.arrived(offset, length, fin);
        self.held -= before - stream.outgoing.held();
        let room = self.room(id);
        if let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.blocked && room > Bytes::ZERO) {
            stream.blocked = false;
            outputs.push_back(Output::Room { at, stream: id, room });
        }
        self.close(at, id, outputs);
    }

    fn close(&mut self, at: Instant, id: StreamId, outputs: &mut VecDeque<Output<Packet>>) {
        let is_over = |stream: &Stream| stream.outgoing.is_finished() && stream.incoming.is_finished();
        if self.streams.get(&id).is_some_and(is_over) {
            self.streams.remove(&id);
            self.gone.insert(id.0.into(), u64::from(id.0) + 1);
            outputs.push_back(Output::Closed { at, stream: id });
        }
    }

    /// A frame is to be sent again.
    pub(super) fn lose(&mut self, frame: &Frame) {
        match *frame {
            Frame::Stream { stream: id, offset, length, fin } => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.outgoing.lose(offset, length.into(), fin);
                }
                self.take_turn(id);
            }
            Frame::MaxData { .. } => self.grant_due = true,
            Frame::MaxStreamData { stream, .. } => self.owe_grant(stream),
            Frame::Ping | Frame::Crypto { .. } | Frame::HandshakeDone => {}
        }
    }
}
