//! One end of a leg: its transport, who uses it, and what is coming.

use super::lookup::Lookup;
use super::message::{Exchange, Message, Owner};
use super::quic::QuicEnd;
use crate::network::Route;
use farhop_tcp::Endpoint;
use farhop_units::{Bytes, Instant, look_at};
use std::collections::VecDeque;

/// What carries an end's bytes. What it is stands before it.
#[derive(Debug)]
#[repr(u8)]
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

/// One end. The first line of the processor's cache has what is the end's own, the second begins with the transport.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct End {
    pub(super) owner: Owner,
    /// The way of the leg.
    pub(super) route: Route,
    /// Packets that have left here, less those that have arrived here: those on the way are the sum of both ends'. What got lost has arrived
    /// at the near end, and what the link has made has left there.
    pub(super) in_flight: u32,
    pub(super) is_closed: bool,
    /// Something has arrived since `unread` was said.
    has_arrived: bool,
    /// The owner has ever not read something, so that the transport waits to be told.
    has_held: bool,
    /// Of what was written here, it is not decided of all what it is (`undecided`).
    decides: bool,
    /// More is coming than the first (`others`).
    has_others: bool,
    /// What is coming, less what has arrived, the first and those behind it (`others`): most often there is one, and it is better here than
    /// somewhere else in memory. Over QUIC streams say what is what.
    first: Option<Message>,
    /// Of the first, what has arrived since the owner was told of some, and how much that must be until the owner is told again, which is when
    /// it is 4 GiB.
    come: u32,
    awaited: u32,
    pub(super) transport: Transport,
    others: VecDeque<Message>,
    /// The last bytes that were written here, of which it is decided as they are sent what they are.
    undecided: Bytes,
    /// What the owner was last said not to have read; of a flow, what it really has not.
    pub(super) unread: Bytes,
}

impl End {
    pub(super) fn new(route: Route, transport: Transport, owner: Owner) -> Self {
        Self {
            transport,
            owner,
            route,
            in_flight: 0,
            is_closed: false,
            first: None,
            others: VecDeque::new(),
            come: 0,
            awaited: 0,
            decides: false,
            has_others: false,
            undecided: Bytes::ZERO,
            unread: Bytes::ZERO,
            has_arrived: false,
            has_held: false,
        }
    }

    /// Asks memory for what is not the transport's, and for what tells which that is.
    #[inline]
    pub(super) fn look_at(&self) {
        self.look_at_own();
        look_at(&self.transport);
    }

    /// Asks memory for what is not the transport's.
    #[inline]
    pub(super) fn look_at_own(&self) {
        look_at(&self.owner);
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

    /// Whether nothing comes of waking it before something is due: nobody else waits for what it has to say.
    #[inline]
    pub(super) fn can_rest(&self) -> bool {
        let is_at_an_end_of_the_chain =
            matches!(self.owner, Owner::Browser { .. } | Owner::Origin { .. } | Owner::Nobody);
        is_at_an_end_of_the_chain && matches!(self.transport, Transport::Tcp(_))
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
        // Without a first there are no others.
        let Some(first) = &mut self.first else {
            self.first = Some(message);
            return;
        };
        let last = if self.has_others { self.others.back_mut().unwrap_or(first) } else { first };
        if last.exchange == message.exchange {
            last.bytes += message.bytes;
        } else {
            self.others.push_back(message);
            self.has_others = true;
        }
    }

    /// Of `bytes` that have arrived, those of the first message, with what came of it before, unless the owner awaits more of it than that;
    /// the rest stays in `bytes`.
    pub(super) fn next_part(&mut self, bytes: &mut Bytes) -> Option<Message> {
        if *bytes == Bytes::ZERO {
            return None;
        }
        self.has_arrived = true;
        let first = self.first.as_mut()?;
        let part = first.bytes.min(*bytes);
        *bytes -= part;
        first.bytes -= part;
        let come = part + Bytes::new(self.come.into());
        if first.bytes > Bytes::ZERO && come < Bytes::new(self.awaited.into()) {
            self.come = small(come);
            return None;
        }
        let part = Message { bytes: come, ..*first };
        (self.come, self.awaited) = (0, 0);
        if first.bytes == Bytes::ZERO {
            self.first = None;
            // Elsewhere in memory mostly nothing is.
            if self.has_others {
                self.first = self.others.pop_front();
                self.has_others = !self.others.is_empty();
            }
        }
        Some(part)
    }

    /// Whether the owner is told when so much more has arrived.
    pub(super) fn is_told_with(&self, bytes: Bytes) -> bool {
        bytes + Bytes::new(self.come.into()) >= Bytes::new(self.awaited.into())
    }

    /// Until so much more of an exchange has come, or the whole message, the owner need not be told of any, if it is the exchange whose bytes
    /// come next.
    pub(super) fn awaits(&mut self, awaited: Message) {
        if self.next_exchange() == Some(awaited.exchange) {
            self.awaited = small(awaited.bytes);
        }
    }

    /// Of so much that was written here it is decided later what it is.
    pub(super) fn leave_undecided(&mut self, bytes: Bytes) {
        self.undecided += bytes;
        self.decides = true;
    }

    /// Of that, so much is decided.
    pub(super) fn decide(&mut self, bytes: Bytes) {
        self.undecided -= bytes;
        self.decides = self.undecided > Bytes::ZERO;
    }

    /// Bytes that are sent and of which it is not decided what they are.
    pub(super) fn undecided(&self) -> Bytes {
        // Most ends have none, and what was sent lies elsewhere in memory.
        if self.decides { self.undecided.saturating_sub(self.backlog()) } else { Bytes::ZERO }
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

/// So much, or 4 GiB.
fn small(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Line, Place};
    use core::mem::offset_of;

    fn end() -> End {
        let line = Line { terminal: 0, server: 0 };
        End::new(Route { line, near: Place::Client, far: Place::Server }, Transport::Carrier, Owner::Nobody)
    }

    /// What the owner is told of when so many bytes arrive.
    fn told(end: &mut End, bytes: u64) -> Vec<(Exchange, u64)> {
        let mut bytes = Bytes::new(bytes);
        std::iter::from_fn(|| end.next_part(&mut bytes)).map(|part| (part.exchange, part.bytes.get())).collect()
    }

    #[test]
    fn the_owner_is_told_when_what_it_awaits_has_come_or_the_message_ends() {
        let [first, second] = [0, 1].map(Exchange::Object);
        let message = |exchange, bytes| Message { exchange, bytes: Bytes::new(bytes) };
        let mut end = end();
        end.expect(message(first, 100));
        end.expect(message(second, 50));
        assert_eq!(told(&mut end, 10), [(first, 10)], "nothing is awaited");
        end.awaits(message(second, 5));
        assert_eq!(told(&mut end, 3), [(first, 3)], "it is not the second's turn");
        end.awaits(message(first, 60));
        assert_eq!((end.is_told_with(Bytes::new(59)), end.is_told_with(Bytes::new(60))), (false, true));
        assert_eq!([told(&mut end, 30), told(&mut end, 29), told(&mut end, 1)], [vec![], vec![], vec![(first, 60)]]);
        end.awaits(message(first, 1000));
        assert_eq!([told(&mut end, 20), told(&mut end, 11)], [vec![], vec![(first, 27), (second, 4)]]);
    }

    #[test]
    fn whatever_the_owner_awaits_it_is_told_of_4_gib() {
        let (exchange, most) = (Exchange::Object(0), u64::from(u32::MAX));
        let message = Message { exchange, bytes: Bytes::new(1 << 40) };
        let mut end = end();
        end.expect(message);
        end.awaits(message);
        assert_eq!(told(&mut end, most - 1), []);
        assert_eq!(told(&mut end, 1000), [(exchange, most + 999)]);
    }

    #[test]
    fn what_is_decided_later_is_known_until_it_is() {
        let (mut end, bytes) = (end(), Bytes::new);
        assert_eq!(end.undecided(), bytes(0));
        end.leave_undecided(bytes(30));
        end.decide(bytes(10));
        assert_eq!(end.undecided(), bytes(20));
        end.decide(bytes(20));
        assert_eq!((end.undecided(), end.decides), (bytes(0), false));
    }

    #[test]
    fn what_is_the_ends_own_takes_one_line_of_the_cache() {
        assert_eq!(offset_of!(End, transport), 64);
    }
}
