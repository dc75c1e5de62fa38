//! A real packet inside a channel: what the link asks of it is read from its headers when it asks.
//!
//! IPv4 (RFC 791) and IPv6 (RFC 8200) with extension headers and fragments. Nothing is believed: a header that is cut off,
//! lies about its length or is of another protocol gives the answer of an ordinary packet.
//!
//! - **Flow**: a hash of addresses, protocol and ports (TCP, UDP, UDP-Lite, DCCP, SCTP), for ESP and AH of their SPI (RFC 4302
//!   §2.4), in each direction for itself. Fragments of one packet belong together, but only the first has the ports: all go by
//!   addresses and protocol.
//! - **Class**: multicast, voice (DSCP EF) and network control (CS6, CS7; RFC 4594) are High, lower effort (LE of RFC 8622, and
//!   CS1, which it replaces) is Low.
//! - **ECN** (RFC 3168): the low two bits of the traffic class; a mark repairs IPv4's header checksum (RFC 1624).
//! - **Corruption** flips a bit behind the IP header, as random errors mostly do, so that the packet still arrives where it was
//!   sent and the transport's checksum finds the error. A packet that is nothing but an IP header stays as it is.

use core::ops::Range;
use farhop_link::replay::Recorded;
use farhop_link::{Class, Destination, Packet};
use farhop_units::Bytes;

/// Memory for one packet, as large as the largest that its link carries.
pub(crate) type Buffer = Box<[u8]>;

/// A packet with its name.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    id: u64,
    /// Where the packet is in the buffer: what is before is the devices' own.
    start: u32,
    end: u32,
    destination: Destination,
    corrupted: bool,
    buffer: Buffer,
}

impl Frame {
    /// The packet at `place` of `buffer`.
    pub(crate) fn new(id: u64, destination: Destination, buffer: Buffer, place: Range<usize>) -> Self {
        let small = |place: usize| u32::try_from(place).expect("no buffer of a packet has 4 GiB");
        let end = place.end.min(buffer.len());
        Self { id, start: small(place.start.min(end)), end: small(end), destination, corrupted: false, buffer }
    }

    /// The packet as it is on the wire.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start as usize..self.end as usize]
    }

    /// The packet with what devices have before it.
    pub(crate) fn with_header(&self) -> &[u8] {
        &self.buffer[..self.end as usize]
    }

    /// What the packet log keeps of it.
    pub(crate) fn recorded(&self) -> Recorded {
        let ecn = self.traffic_class() & ECN;
        Recorded {
            id: self.id,
            bytes: self.wire_bytes(),
            destination: self.destination,
            flow: self.flow(),
            class: self.class(),
            ecn_capable: ecn != 0,
            marked: ecn == ECN,
            corrupted: self.corrupted,
        }
    }

    /// The memory, to be used again.
    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start as usize..self.end as usize]
    }

    /// IPv4's type of service or IPv6's traffic class; 0 without a header.
    fn traffic_class(&self) -> u8 {
        match self.bytes() {
            [0x40..=0x4f, class, ..] => *class,
            [high @ 0x60..=0x6f, low, ..] => (high << 4) | (low >> 4),
            _ => 0,
        }
    }

    fn is_multicast(&self) -> bool {
        match Version::of(self.bytes()) {
            Some(Version::V4) => self.bytes()[16] >> 4 == 0xe || self.bytes()[16..20] == [0xff; 4],
            Some(Version::V6) => self.bytes()[24] == 0xff,
            None => false,
        }
    }
}

/// The bits of explicit congestion notification; all set is "congestion experienced".
const ECN: u8 = 0b11;

impl Packet for Frame {
    fn wire_bytes(&self) -> Bytes {
        Bytes::new((self.end - self.start).into())
    }

    fn destination(&self) -> Destination {
        self.destination
    }

    fn flow(&self) -> u64 {
        let packet = self.bytes();
        let Some((addresses, transport)) = Version::of(packet).and_then(|version| version.transport(packet)) else {
            return hash(&[packet.get(..1).unwrap_or_default()]);
        };
        hash(&[addresses, &[transport.protocol], transport.ports])
    }

    fn class(&self) -> Class {
        // RFC 2474 §3: the six bits above those of ECN.
        match self.traffic_class() >> 2 {
            46 | 48 | 56 => Class::High,
            _ if self.is_multicast() => Class::High,
            1 | 8 => Class::Low,
            _ => Class::Normal,
        }
    }

    fn is_ecn_capable(&self) -> bool {
        self.traffic_class() & ECN != 0
    }

    fn mark_congestion(&mut self) {
        match Version::of(self.bytes()) {
            Some(Version::V4) => {
                let header = self.bytes_mut();
                let before = u16::from_be_bytes([header[0], header[1]]);
                header[1] |= ECN;
                let after = u16::from_be_bytes([header[0], header[1]]);
                let checksum = u16::from_be_bytes([header[10], header[11]]);
                header[10..12].copy_from_slice(&updated_checksum(checksum, before, after).to_be_bytes());
            }
            Some(Version::V6) => self.bytes_mut()[1] |= ECN << 4,
            None => {}
        }
    }

    fn corrupt(&mut self, draw: u64) {
        self.corrupted = true;
        let header = Version::of(self.bytes()).map_or(0, |version| version.header_length(self.bytes()));
        let behind = &mut self.bytes_mut()[header..];
        let bits = behind.len() as u64 * 8;
        if let Some(bit) = draw.checked_rem(bits) {
            behind[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }
}

/// RFC 1624 §3, equation 3: the checksum of a header in which one word has changed.
const fn updated_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = !checksum as u32 + !before as u32 + after as u32;
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// Which IP a packet is; given only to packets that have the whole fixed header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V4,
    V6,
}

/// What a flow is known by behind the addresses.
struct Transport<'a> {
    protocol: u8,
    /// Empty for fragments and for protocols without ports.
    ports: &'a [u8],
}

const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;

impl Version {
    fn of(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 if packet.len() >= V4_HEADER => Some(Self::V4),
            6 if packet.len() >= V6_HEADER => Some(Self::V6),
            _ => None,
        }
    }

    /// Length of the header, of IPv6 without its extensions; never more than the packet has.
    fn header_length(self, packet: &[u8]) -> usize {
        match self {
            Self::V4 => (usize::from(packet[0] & 0xf) * 4).clamp(V4_HEADER, packet.len()),
            Self::V6 => V6_HEADER,
        }
    }

    fn transport(self, packet: &[u8]) -> Option<(&[u8], Transport<'_>)> {
        let behind = &packet[self.header_length(packet)..];
        match self {
            Self::V4 => {
                // RFC 791 §3.1: more fragments, or not the first.
                let is_fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0;
                Some((&packet[12..20], Transport::new(packet[9], behind, is_fragment)))
            }
            Self::V6 => Some((&packet[8..40], skip_extensions(packet[6], behind)?)),
        }
    }
}

impl<'a> Transport<'a> {
    fn new(protocol: u8, header: &'a [u8], is_fragment: bool) -> Self {
        Self { protocol, ports: if is_fragment { &[] } else { ports(protocol, header) } }
    }
}

/// Protocol numbers (IANA).
mod protocol {
    pub(super) const TCP: u8 = 6;
    pub(super) const UDP: u8 = 17;
    pub(super) const DCCP: u8 = 33;
    pub(super) const SCTP: u8 = 132;
    pub(super) const UDP_LITE: u8 = 136;
    pub(super) const ESP: u8 = 50;
    pub(super) const AH: u8 = 51;
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const DESTINATION_OPTIONS: u8 = 60;
    pub(super) const MOBILITY: u8 = 135;
    pub(super) const HIP: u8 = 139;
    pub(super) const SHIM6: u8 = 140;
}

/// The bytes that tell the connections of two hosts apart.
fn ports(protocol: u8, header: &[u8]) -> &[u8] {
    use protocol::{AH, DCCP, ESP, SCTP, TCP, UDP, UDP_LITE};
    let place = match protocol {
        TCP | UDP | UDP_LITE | DCCP | SCTP | ESP => 0..4,
        AH => 4..8,
        _ => 0..0,
    };
    header.get(place).unwrap_or_default()
}

/// The transport behind IPv6's extension headers (RFC 8200 §4), `None` if the packet ends among them.
fn skip_extensions(first: u8, mut behind: &[u8]) -> Option<Transport<'_>> {
    use protocol::{DESTINATION_OPTIONS, FRAGMENT, HIP, HOP_BY_HOP, MOBILITY, ROUTING, SHIM6};
    let mut next = first;
    // Every header takes at least eight bytes away.
    loop {
        match next {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HIP | SHIM6 => {
                let &[following, units, ..] = behind else { return None };
                behind = behind.get((usize::from(units) + 1) * 8..)?;
                next = following;
            }
            FRAGMENT => {
                let &[following, _, high, low, ..] = behind else { return None };
                // RFC 8200 §4.5: the offset, or more fragments; neither is set in an atomic fragment.
                if u16::from_be_bytes([high, low]) & 0xfff9 != 0 {
                    return Some(Transport::new(following, &[], true));
                }
                behind = behind.get(8..)?;
                next = following;
            }
            transport => return Some(Transport::new(transport, behind, false)),
        }
    }
}

/// Flows are numbered below 2⁵³, so that no reader of packet logs that takes numbers for floating point confuses two.
const FLOW_BITS: u32 = 53;

/// FNV-1a, and the finalizer of SplitMix64 because queues look at low bits. Two of a thousand flows meet with a chance of 10⁻¹⁰.
fn hash(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().copied().flatten();
    let fnv = bytes
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mixed = (fnv ^ (fnv >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) >> (u64::BITS - FLOW_BITS)
}

#[cfg(test)]
mod tests;
