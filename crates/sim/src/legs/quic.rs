//! One end of a leg that is a QUIC connection: each exchange has a stream of its own (RFC 9114 §4.1).
//!
//! Streams are numbered as their requests come. What arrives in order on one is handed over whatever has become of the others. Left out:
//! HTTP/3's own frames and control streams, some ten bytes an exchange, and the end of a connection, of which no packet tells: its ends
//! let go of it at once.

use super::{Exchange, Message, Said};
use crate::packet::Packet;
use crate::trace::SenderSight;
use farhop_scenario::Scenario;
use farhop_transport::quic::{self, Connection, Order, QuicConfig, Sending};
use farhop_transport::{Output, StreamId};
use farhop_units::{Bytes, Instant};
use farhop_web::{Priority, Tls};
use std::collections::VecDeque;

/// One end.
#[derive(Debug)]
pub(super) struct QuicEnd {
    connection: Connection,
    /// Streams that are open, and what each is for, in the order in which they were opened.
    exchanges: VecDeque<(StreamId, Exchange)>,
    opened: u32,
}

impl QuicEnd {
    pub(super) fn client(now: Instant, config: &QuicConfig) -> Self {
        Self::new(Connection::client(now, config))
    }

    pub(super) fn server(config: &QuicConfig) -> Self {
        Self::new(Connection::server(config))
    }

    fn new(connection: Connection) -> Self {
        Self { connection, exchanges: VecDeque::new(), opened: 0 }
    }

    /// The next stream is for `exchange`: both ends are told before anything is sent on it.
    pub(super) fn expect(&mut self, exchange: Exchange) {
        self.exchanges.push_back((StreamId(self.opened), exchange));
        self.opened += 1;
    }

    /// Writes all that this end has to say on the latest stream of `exchange`.
    pub(super) fn write(&mut self, now: Instant, Message { exchange, bytes }: Message, priority: Priority) {
        let Some((stream, _)) = self.exchanges.iter().rfind(|(_, of)| *of == exchange) else { return };
        self.connection.set_priority(now, *stream, priority.urgency(), priority.is_incremental());
        self.connection.write(now, *stream, bytes);
        self.connection.finish(now, *stream);
    }

    pub(super) fn handle_packet(&mut self, now: Instant, packet: &quic::Packet) {
        self.connection.handle_packet(now, packet);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.connection.next_timeout()
    }

    /// What its sender is like.
    pub(super) fn sender(&self) -> SenderSight {
        SenderSight {
            window: self.connection.congestion_window(),
            threshold: self.connection.threshold(),
            in_flight: self.connection.in_flight(),
            smoothed_rtt: self.connection.smoothed_rtt(),
            acknowledged: None,
        }
    }

    /// The next thing that it has to say. What arrives is read at once.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Said> {
        loop {
            match self.connection.poll()? {
                Output::Transmit { packet, .. } => return Some(Said::Transmit(Packet::Quic(packet))),
                Output::Connected { .. } => return Some(Said::Connected),
                Output::Received { stream, bytes, .. } => {
                    self.connection.read(now, stream, bytes);
                    if let Some(exchange) = self.exchange(stream).filter(|_| bytes > Bytes::ZERO) {
                        return Some(Said::Received(Message { exchange, bytes }));
                    }
                }
                Output::Closed { stream, .. } => self.exchanges.retain(|(open, _)| *open != stream),
                Output::Room { .. } => {}
            }
        }
    }

    fn exchange(&self, stream: StreamId) -> Option<Exchange> {
        self.exchanges.iter().find(|(open, _)| *open == stream).map(|(_, exchange)| *exchange)
    }
}

/// UDP payload of a full packet where a full TCP segment fits.
fn datagram(scenario: &Scenario) -> Bytes {
    const IP_AND_UDP: Bytes = Bytes::new(28);
    (scenario.tcp.mss + farhop_scenario::HEADER_BYTES).saturating_sub(IP_AND_UDP)
}

/// QUIC as the scenario's browsers and servers have it: TCP's congestion control and limits, the flights of TLS 1.3 and the order
/// of RFC 9218.
pub(crate) fn config(scenario: &Scenario) -> QuicConfig {
    let tcp = &scenario.tcp;
    let usual = QuicConfig::default();
    let window = |own: Bytes| tcp.max_window.map_or(own, |limit| own.min(limit));
    let (client_hello, certificates) =
        Tls::V13.flights().first().map_or((usual.client_hello, usual.certificates), |flight| {
            (flight.client, QuicConfig::certificates_in(flight.server))
        });
    QuicConfig {
        datagram: datagram(scenario).min(usual.datagram),
        client_hello,
        certificates,
        // RFC 9002 §7.2: two packets at least.
        initial_window: tcp.initial_window.max(2),
        stream_window: window(usual.stream_window),
        connection_window: window(usual.connection_window),
        // What servers hold costs nothing here.
        send_buffer: Bytes::new(u64::MAX),
        sending: Sending::Congestion(tcp.congestion),
        order: Order::Urgency,
        ..usual
    }
}
