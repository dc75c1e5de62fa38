//! What travels over legs: the packets of every transport.

use crate::legs::Datagram;
use crate::network::{Content, Upper};
use farhop_tcp::{Codepoint, Segment};
use farhop_transport::{nack, quic, rwbp};
use farhop_units::Bytes;

/// A packet of some transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packet {
    Tcp(Segment),
    Rwbp(rwbp::Packet),
    Quic(quic::Packet),
    Dns(Datagram),
    Paced(nack::Packet),
}

/// Where servers listen (RFC 9114 §3.1, RFC 1035 §4.2.1).
const HTTPS: u16 = 443;
const DOMAIN: u16 = 53;
/// Where the boxes of prefetch-2013 do; the paper gives no port.
const BOXES: u16 = 2013;

impl Content for Packet {
    fn wire_bytes(&self) -> Bytes {
        match self {
            Self::Tcp(segment) => segment.wire_bytes(),
            Self::Rwbp(packet) => packet.wire_bytes(),
            Self::Quic(packet) => packet.wire_bytes(),
            Self::Dns(datagram) => datagram.wire_bytes(),
            Self::Paced(packet) => packet.wire_bytes(),
        }
    }

    fn is_ecn_capable(&self) -> bool {
        matches!(self, Self::Tcp(segment) if segment.codepoint != Codepoint::NotCapable)
    }

    fn mark_congestion(&mut self) {
        if let Self::Tcp(segment) = self {
            segment.codepoint = Codepoint::Experienced;
        }
    }

    fn upper(&self) -> Upper<'_> {
        match self {
            Self::Tcp(segment) => Upper::Tcp(segment),
            Self::Quic(_) => Upper::Udp { port: HTTPS },
            Self::Dns(_) => Upper::Udp { port: DOMAIN },
            Self::Paced(_) => Upper::Udp { port: BOXES },
            Self::Rwbp(_) => Upper::Other,
        }
    }
}
