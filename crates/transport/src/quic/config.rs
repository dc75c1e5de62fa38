//! QUIC's settings.

use farhop_accel::share::SharedRate;
use farhop_tcp::Congestion;
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// How the client resumes what it knows of an earlier connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumption {
    /// It knows nothing: a full handshake, with certificates.
    None,
    /// A session ticket: no certificates.
    OneRtt,
    /// A ticket, and data ahead of the handshake's end.
    ZeroRtt,
}

/// What limits a sender.
#[derive(Debug, Clone)]
pub enum Sending {
    /// A congestion controller.
    Congestion(Congestion),
    /// A set rate, headers included.
    Rate(Rate),
    /// A set rate that all who have a copy of it share.
    Shared(SharedRate),
}

/// Which stream sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One packet each in turn.
    RoundRobin,
    /// RFC 9218 §10: the most urgent first; of those, what is of use only as a whole one after the other by number, then what is of use
    /// in parts, one packet each in turn.
    Urgency,
    /// The most urgent first; of those, the one that first had something to send, until it has no more: quinn without fairness.
    FirstCome,
}

/// Both ends' settings.
#[derive(Debug, Clone)]
pub struct QuicConfig {
    /// UDP payload of a full packet, at least 1200 bytes.
    pub datagram: Bytes,
    /// The client's first TLS message.
    pub client_hello: Bytes,
    /// The server's Certificate message.
    pub certificates: Bytes,
    /// What the client knows from before.
    pub resumption: Resumption,
    /// The client has a token that proves its address (RFC 9000 §8.1.3), so that the server may send at once as much as it likes.
    pub address_token: bool,
    /// Packets that ask for it are acknowledged once there are so many.
    pub ack_every: u32,
    /// And no later than this (RFC 9000 §18.2: max_ack_delay).
    pub max_ack_delay: Duration,
    /// Unread data of one stream that the receiver takes.
    pub stream_window: Bytes,
    /// And of all.
    pub connection_window: Bytes,
    /// What one stream's sender holds, unsent or unacknowledged.
    pub send_buffer: Bytes,
    /// The congestion window at first, in full packets.
    pub initial_window: u32,
    /// What limits the sender.
    pub sending: Sending,
    /// Whether packets under a congestion window are spread over the round trip (RFC 9002 §7.7); a set rate always is.
    pub paced: bool,
    /// Which stream sends next.
    pub order: Order,
}

impl Default for QuicConfig {
    /// A browser and a server of the 2020s: 1452 bytes (Ethernet's 1500 with IPv6), a ClientHello of 300 bytes (without
    /// post-quantum keys, which add 1200), certificates of 2500 bytes (a chain of two with ECDSA keys), acknowledgements after
    /// two packets or 25 ms (RFC 9000 §13.2.2, §18.2), windows of 6 and 15 MiB (Chromium's), CUBIC from ten packets on (RFC 9002 §7.2), no
    /// resumption.
    fn default() -> Self {
        Self {
            datagram: Bytes::new(1452),
            client_hello: Bytes::new(300),
            certificates: Bytes::new(2500),
            resumption: Resumption::None,
            address_token: false,
            ack_every: 2,
            max_ack_delay: Duration::from_millis(25),
            stream_window: Bytes::kib(6 << 10),
            connection_window: Bytes::kib(15 << 10),
            send_buffer: Bytes::kib(16 << 10),
            initial_window: 10,
            sending: Sending::Congestion(Congestion::Cubic),
            paced: true,
            order: Order::RoundRobin,
        }
    }
}

/// RFC 9000 §14: no path that carries less is usable.
pub(super) const MIN_DATAGRAM: u64 = 1200;

impl QuicConfig {
    /// The certificates in a server's flight of so many bytes.
    pub const fn certificates_in(flight: Bytes) -> Bytes {
        flight.saturating_sub(Bytes::new(super::handshake::FLIGHT_WITHOUT_CERTIFICATES))
    }

    /// The UDP payload of a full packet, within what RFC 9000 §14 and the packet's own numbers allow.
    pub(super) fn datagram_bytes(&self) -> u64 {
        self.datagram.get().clamp(MIN_DATAGRAM, 65_527)
    }
}
