//! What travels over legs: the packets of every transport.

use crate::legs::Datagram;
use crate::network::{Content, Store, Upper};
use crate::slab::Slab;
use farhop_tcp::{Codepoint, Segment};
use farhop_transport::{nack, quic, rwbp};
use farhop_units::{Bytes, look_at};

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

/// Packets on their way. Most are segments, which take less than half of the memory that the largest of all do: where there are
/// thousands, that is what the processor waits for. Their places are even.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    segments: Slab<Segment>,
    others: Slab<Packet>,
}

impl Store<Packet> for Packets {
    fn insert(&mut self, packet: Packet) -> u32 {
        match packet {
            Packet::Tcp(segment) => self.segments.insert(segment) * 2,
            other => self.others.insert(other) * 2 + 1,
        }
    }

    fn release(&mut self, place: u32) {
        match place % 2 {
            0 => self.segments.release(place / 2),
            _ => self.others.release(place / 2),
        }
    }

    fn get(&self, place: u32) -> Packet {
        match place % 2 {
            0 => Packet::Tcp(self.segments[place / 2]),
            _ => self.others[place / 2],
        }
    }

    fn look_at(&self, place: u32) {
        match place % 2 {
            0 => {
                // It lies in two lines: that of its first byte, and that of its last.
                let segment = &self.segments[place / 2];
                look_at(segment);
                look_at(&segment.codepoint);
            }
            _ => look_at(&self.others[place / 2]),
        }
    }

    fn len(&self) -> usize {
        self.segments.len() + self.others.len()
    }
}

impl Content for Packet {
    type Store = Packets;

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
