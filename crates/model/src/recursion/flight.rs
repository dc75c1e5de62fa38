//! QUIC's handshake: the server answers the first packet with three datagrams, as far as its window lets them out (RFC 9002 §7.2).
//!
//! The client acknowledges the first at once in a datagram of full size (RFC 9000 §13.2.1, §14.1), which lets the rest out where that waits,
//! the second in a small one, and ends its handshake with the third. A flight of which something is lost is sent again whole, as one packet.

use super::connection::{Answer, Content, Kind, Packet, Side};
use super::load::{HEADERS, Load};
use super::parameters::{Http, QUIC_INITIAL, QUIC_OVERHEAD};
use super::ticks::Ticks;

/// The client's packets that carry what has no keys yet, without what hops add.
pub(crate) const INITIAL: u64 = QUIC_INITIAL - QUIC_OVERHEAD;
/// The client's last word of the handshake beside its first acknowledgement: 117 B together.
pub(crate) const FINISHED: u64 = 117 - (HEADERS + QUIC_OVERHEAD) - QUIC_OVERHEAD;
/// An acknowledgement under the handshake's keys.
const ACKNOWLEDGEMENT: u64 = 76 - QUIC_OVERHEAD;
/// A frame without content.
const DONE: u64 = 1;
/// Datagrams that are full.
const FULL: u64 = 2;

impl Load<'_> {
    /// The server sends what its window has room for of its answer.
    pub(crate) fn begin_flight(&mut self, answer: Packet) {
        let place = answer.place();
        let full = self.mss + HEADERS;
        let is_whole = (0..FULL).all(|start| {
            let part = Packet { kind: Kind::Flight, start, ..answer };
            self.put(Side::Server, part, full)
        });
        let connection = &mut self.buffers.connections[place];
        connection.flight_waits = is_whole && connection.server.sender.window.size <= FULL * self.mss;
        if is_whole && !self.buffers.connections[place].flight_waits {
            self.end_flight(answer);
        }
    }

    fn end_flight(&mut self, answer: Packet) {
        let full = self.mss + HEADERS + QUIC_OVERHEAD;
        let rest = self.hello_bytes(Side::Server).saturating_sub(FULL * full + QUIC_OVERHEAD).max(1);
        self.put(Side::Server, Packet { kind: Kind::SynAck, ..answer }, rest);
    }

    /// The server has heard the end of the handshake and says so (RFC 9001 §4.1.2), in a packet that counts and is acknowledged as others are.
    pub(crate) fn confirm_handshake(&mut self, place: usize) {
        if self.parameters.http == Http::Http3 {
            let connection = &mut self.buffers.connections[place];
            let content = Content::Keys { call: place };
            connection.answering.push_back(Answer { content, call: place, bytes: DONE, urgency: 0, in_turns: false });
            connection.server.write(DONE);
            self.flush(place, Side::Server);
        }
    }

    /// Part of it, or what acknowledges that, has arrived.
    pub(crate) fn flight_arrived(&mut self, side: Side, packet: &Packet) {
        let (now, place) = (self.now, packet.place());
        match side {
            Side::Client if packet.start == 0 => {
                // The server has been heard; from here on it repeats what is lost.
                self.buffers.connections[place].client.hello.due = Ticks::NEVER;
                self.set_timer(place, side);
                _ = self.put(side, Packet { kind: Kind::Flight, ..Packet::bare(place, now) }, INITIAL);
            }
            Side::Client => _ = self.up.pass(now, ACKNOWLEDGEMENT),
            Side::Server => {
                let connection = &mut self.buffers.connections[place];
                if core::mem::take(&mut connection.flight_waits) {
                    // A window that was in use grows (RFC 9002 §7.3.1).
                    let window = &mut connection.server.sender.window;
                    window.set(window.size + self.mss);
                    connection.syn_ack_sent = Some(now);
                    self.end_flight(*packet);
                    self.await_answer(place, Side::Server);
                }
            }
        }
    }
}
