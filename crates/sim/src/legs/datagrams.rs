//! Legs over UDP that are no proxy's flows: QUIC connections, and questions to resolvers.

use super::end::Transport;
use super::{Legs, Message};
use crate::network::Side;
use crate::packet::Packet;
use farhop_units::Instant;
use farhop_web::Priority;

/// What one end of such a leg has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// Carry this to the other end.
    Transmit(Packet),
    /// The connection can carry requests; the answer is there.
    Connected,
    /// This has arrived.
    Received(Message),
}

impl Legs {
    /// The browser asks for an object on a stream of its own.
    pub(crate) fn ask(&mut self, now: Instant, leg: u32, request: Message) {
        for side in [Side::Near, Side::Far] {
            if let Transport::Quic(quic) = &mut self.end(leg, side).transport {
                quic.expect(request.exchange);
            }
        }
        // What is asked for first goes first, and requests are small.
        self.write_stream(now, leg, Side::Near, (request, Priority::Document));
    }

    /// Writes a whole message into the stream of its exchange.
    pub(crate) fn write_stream(
        &mut self,
        now: Instant,
        leg: u32,
        side: Side,
        (message, priority): (Message, Priority),
    ) {
        if let Transport::Quic(quic) = &mut self.end(leg, side).transport {
            quic.write(now, message, priority);
        }
    }

    pub(super) fn handle_datagram(&mut self, now: Instant, leg: u32, side: Side, packet: &Packet) {
        let end = self.end(leg, side);
        match (&mut end.transport, packet) {
            _ if end.is_closed => {}
            (Transport::Quic(quic), Packet::Quic(packet)) => quic.handle_packet(now, packet),
            (Transport::Lookup(lookup), Packet::Dns(datagram)) => lookup.handle_packet(*datagram),
            _ => {}
        }
    }

    /// What an end has to say.
    pub(crate) fn poll_datagrams(&mut self, now: Instant, leg: u32, side: Side) -> Option<Said> {
        let end = self.end(leg, side);
        match &mut end.transport {
            _ if end.is_closed => None,
            Transport::Quic(quic) => quic.poll(now),
            Transport::Lookup(lookup) => match lookup.next_datagram() {
                Some(datagram) => Some(Said::Transmit(Packet::Dns(datagram))),
                None => lookup.take_news().then_some(Said::Connected),
            },
            Transport::Tcp(_) | Transport::Flow { .. } | Transport::Carrier => None,
        }
    }

    /// Both ends have done with a leg; what is still on its way goes nowhere.
    pub(crate) fn let_go(&mut self, leg: u32) {
        self.legs[leg].ends.iter_mut().for_each(|end| end.is_closed = true);
    }

    /// Whether an end speaks TCP.
    pub(crate) fn is_tcp(&self, leg: u32, side: Side) -> bool {
        matches!(self.legs[leg].ends[side as usize].transport, Transport::Tcp(_))
    }
}
