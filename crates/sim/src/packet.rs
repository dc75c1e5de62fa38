//! What travels over legs: the packets of every transport.

use crate::legs::Datagram;
use crate::network::{Content, Store, Upper};
use crate::slab::Slab;
use farhop_tcp::{Codepoint, SackBlocks, Segment, Sequence, Timestamps};
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
    /// To all terminals, whatever users ask for; its size.
    Multicast(Bytes),
}

/// Where servers listen (RFC 9114 §3.1, RFC 1035 §4.2.1).
const HTTPS: u16 = 443;
const DOMAIN: u16 = 53;
/// Where the boxes of prefetch-2013 do; the paper gives no port.
const BOXES: u16 = 2013;

/// Packets on their way. Most are segments, which take a line of the processor's cache each: where there are thousands, that is what it
/// waits for. Their places are even. A segment of 4 GiB would be kept with the others.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    segments: Slab<Line>,
    others: Slab<Packet>,
}

/// A segment in one line of the cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line {
    sequence: Sequence,
    acknowledgment: Option<Sequence>,
    sack: SackBlocks,
    timestamps: Timestamps,
    payload: u32,
    window: u32,
    syn: bool,
    fin: bool,
    push: bool,
    ece: bool,
    cwr: bool,
    codepoint: Codepoint,
    options: u8,
}

impl Line {
    fn of(segment: &Segment) -> Option<Self> {
        let Segment {
            sequence, acknowledgment, sack, timestamps, syn, fin, push, ece, cwr, codepoint, options, ..
        } = *segment;
        let (payload, window) = (u32::try_from(segment.payload.get()).ok()?, u32::try_from(segment.window.get()).ok()?);
        Some(Self {
            sequence,
            acknowledgment,
            sack,
            timestamps,
            payload,
            window,
            syn,
            fin,
            push,
            ece,
            cwr,
            codepoint,
            options,
        })
    }

    fn segment(&self) -> Segment {
        let Self { sequence, acknowledgment, sack, timestamps, syn, fin, push, ece, cwr, codepoint, options, .. } =
            *self;
        let (payload, window) = (Bytes::new(self.payload.into()), Bytes::new(self.window.into()));
        Segment {
            sequence,
            acknowledgment,
            payload,
            window,
            sack,
            timestamps,
            syn,
            fin,
            push,
            ece,
            cwr,
            codepoint,
            options,
        }
    }
}

impl Store<Packet> for Packets {
    fn insert(&mut self, packet: Packet) -> u32 {
        if let Packet::Tcp(segment) = &packet
            && let Some(line) = Line::of(segment)
        {
            return self.segments.insert(line) * 2;
        }
        self.others.insert(packet) * 2 + 1
    }

    fn release(&mut self, place: u32) {
        match place % 2 {
            0 => self.segments.release(place / 2),
            _ => self.others.release(place / 2),
        }
    }

    fn get(&self, place: u32) -> Packet {
        match place % 2 {
            0 => Packet::Tcp(self.segments[place / 2].segment()),
            _ => self.others[place / 2],
        }
    }

    fn look_at(&self, place: u32) {
        match place % 2 {
            0 => look_at(&self.segments[place / 2]),
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
            Self::Multicast(bytes) => *bytes,
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

    fn is_of_names(&self) -> bool {
        matches!(self, Self::Dns(_))
    }

    fn upper(&self) -> Upper<'_> {
        match self {
            Self::Tcp(segment) => Upper::Tcp(segment),
            Self::Quic(_) => Upper::Udp { port: HTTPS },
            Self::Dns(_) => Upper::Udp { port: DOMAIN },
            Self::Paced(_) => Upper::Udp { port: BOXES },
            Self::Multicast(_) => Upper::Multicast,
            Self::Rwbp(_) => Upper::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_tcp::SackBlock;

    #[test]
    fn segments_are_kept_whole_in_a_line_each() {
        assert_eq!(size_of::<Line>(), 64);
        let acknowledgment = Some(Sequence::FIRST_BYTE + Bytes::new(7 << 30));
        let flags = Segment { syn: true, fin: true, push: true, ece: true, cwr: true, ..Segment::default() };
        let mut small = Segment {
            sequence: Sequence::FIRST_BYTE + Bytes::new(6 << 30),
            acknowledgment,
            payload: Bytes::new(1448),
            window: Bytes::new(1 << 30),
            timestamps: Timestamps { value: 5, echo: 6 },
            codepoint: Codepoint::Experienced,
            options: 8,
            ..flags
        };
        let start = Sequence::FIRST_BYTE + Bytes::new(7 << 30) + Bytes::kb(3);
        small.add_sack_block(SackBlock { start, end: start + Bytes::kb(2) });
        let large = Segment { payload: Bytes::new(5 << 30), ..small };
        let mut packets = Packets::default();
        let places = [small, large].map(|segment| packets.insert(Packet::Tcp(segment)));
        assert_eq!(places.map(|place| packets.get(place)), [Packet::Tcp(small), Packet::Tcp(large)]);
        assert_eq!((packets.segments.len(), packets.len()), (1, 2), "only one fits a line");
    }
}
