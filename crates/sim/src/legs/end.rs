//! One end of a leg: its transport, who uses it, and what is coming.

use super::lookup::Lookup;
use super::message::{Exchange, Message, Owner};
use super::quic::QuicEnd;
use farhop_tcp::Endpoint;
use farhop_units::{Bytes, Instant, look_at};
use std::collections::VecDeque;

/// What carries an end's bytes.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all ends are TCP's, which are better where they are looked for")]
pub(super) enum Transport {
    Tcp(Endpoint),
    /// The trunk has the state of the flow, but for what its send buffers did not take.
    Flow {
        unsent: Bytes,
        closes: bool,
    },
    Quic(Box<QuicEnd>),
    Lookup(Lookup),
    /// The trunk has all that there is to it.
    Carrier,
}

/// One end.
#[derive(Debug)]
pub(super) struct End {
    pub(super) transport: Transport,
    /// When a wake-up is scheduled, if one is.
    pub(super) wake: Option<Instant>,
    pub(super) owner: Owner,
    pub(super) is_closed: bool,
    /// What is coming, less what has arrived, the first and those behind it: most often there is one, and it is better here than
    /// somewhere else in memory. Over QUIC streams say what is what.
    first: Option<Message>,
    others: VecDeque<Message>,
    /// The last bytes that were written here, of which it is decided as they are sent what they are.
    pub(super) undecided: Bytes,
    /// What the owner was last said not to have read; of a flow, what it really has not.
    pub(super) unread: Bytes,
    /// Something has arrived since.
    has_arrived: bool,
    /// The owner has ever not read something, so that the transport waits to be told.
    has_held: bool,
}

impl End {
    pub(super) fn new(transport: Transport, owner: Owner) -> Self {
        Self {
            transport,
            wake: None,
            owner,
            is_closed: false,
            first: None,
            others: VecDeque::new(),
            undecided: Bytes::ZERO,
            unread: Bytes::ZERO,
            has_arrived: false,
            has_held: false,
        }
    }

    /// Asks memory for what is not the transport's, and for what tells which that is.
    #[inline]
    pub(super) fn look_at(&self) {
        look_at(&self.transport);
        look_at(&self.wake);
        look_at(&self.owner);
        look_at(&self.first);
        look_at(&self.has_held);
    }

    /// Asks memory for what a timer needs that mostly has moved on.
    pub(super) fn look_at_timer(&self) {
        look_at(&self.wake);
        if let Transport::Tcp(endpoint) = &self.transport {
            endpoint.look_at_timer();
        }
    }

    /// What the next bytes belong to that arrive.
    pub(super) fn next_exchange(&self) -> Option<Exchange> {
        self.first.map(|message| message.exchange)
    }

    /// What was written here and has not begun its way; over QUIC and DNS nobody asks.
    pub(super) fn backlog(&self) -> Bytes {
        match &self.transport {
            Transport::Tcp(endpoint) => endpoint.unsent(),
            Transport::Flow { unsent, .. } => *unsent,
            Transport::Quic(_) | Transport::Lookup(_) | Transport::Carrier => Bytes::ZERO,
        }
    }

    /// When the transport has something to do by itself; a proxy's flows have none of their own.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        match &self.transport {
            Transport::Tcp(endpoint) => endpoint.next_timeout(),
            Transport::Quic(quic) if !self.is_closed => quic.next_timeout(),
            Transport::Lookup(lookup) if !self.is_closed => lookup.next_timeout(),
            Transport::Quic(_) | Transport::Lookup(_) | Transport::Flow { .. } | Transport::Carrier => None,
        }
    }

    /// Does what is due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match &mut self.transport {
            Transport::Tcp(endpoint) => endpoint.handle_timeout(now),
            Transport::Quic(quic) if !self.is_closed => quic.handle_timeout(now),
            Transport::Lookup(lookup) if !self.is_closed => lookup.handle_timeout(now),
            Transport::Quic(_) | Transport::Lookup(_) | Transport::Flow { .. } | Transport::Carrier => {}
        }
    }

    /// More is coming.
    pub(super) fn expect(&mut self, message: Message) {
        match self.others.back_mut().or(self.first.as_mut()) {
            Some(last) if last.exchange == message.exchange => last.bytes += message.bytes,
            Some(_) => self.others.push_back(message),
            None => self.first = Some(message),
        }
    }

    /// Of `bytes` that have arrived, those of the first message; the rest stays in `bytes`.
    pub(super) fn next_part(&mut self, bytes: &mut Bytes) -> Option<Message> {
        if *bytes == Bytes::ZERO {
            return None;
        }
        self.has_arrived = true;
        let first = self.first.as_mut()?;
        let part = Message { bytes: first.bytes.min(*bytes), ..*first };
        *bytes -= part.bytes;
        first.bytes -= part.bytes;
        if first.bytes == Bytes::ZERO {
            self.first = self.others.pop_front();
        }
        Some(part)
    }

    /// The owner has not read so much. Returns whether the other end is to hear of it.
    pub(super) fn hold(&mut self, now: Instant, unread: Bytes) -> bool {
        self.has_held |= unread > Bytes::ZERO;
        let is_news = unread != self.unread || (self.has_arrived && self.has_held);
        self.has_arrived = false;
        self.unread = unread;
        if let (true, Transport::Tcp(endpoint)) = (is_news, &mut self.transport) {
            endpoint.hold(now, unread);
        }
        is_news
    }
}
