//! The three kinds of packets, over UDP.

use crate::{StreamId, UDP_HEADER_BYTES};
use farhop_units::Bytes;

/// A request names at most so many ranges.
pub const MAX_RANGES: usize = 8;
/// A content's name and a packet's number with its mark; or a name and how many ranges follow.
const NUMBERING_BYTES: Bytes = Bytes::new(8);

/// One packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    /// A part of a content.
    Content {
        /// The content.
        stream: StreamId,
        /// From 1 on.
        number: u32,
        /// It is the content's last.
        last: bool,
        /// How much of the content.
        payload: Bytes,
    },
    /// Tells the receiver that a content will come, and by what name it will be asked for.
    Announcement {
        /// The content.
        stream: StreamId,
        /// Length of its URL.
        name: Bytes,
    },
    /// Asks for parts to be sent again.
    Request {
        /// The content.
        stream: StreamId,
        /// First number of each range, and the number after it; `u32::MAX` asks for all that follow.
        ranges: [(u32, u32); MAX_RANGES],
        /// How many of them count.
        count: u8,
    },
}

impl Packet {
    /// Size on the wire, IP and UDP headers included.
    pub fn wire_bytes(&self) -> Bytes {
        UDP_HEADER_BYTES
            + NUMBERING_BYTES
            + match self {
                Self::Content { payload, .. } => *payload,
                Self::Announcement { name, .. } => *name,
                Self::Request { count, .. } => Bytes::new(8 * u64::from(*count)),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_fits_an_ethernet_frame() {
        let full = Packet::Content { stream: StreamId(1), number: 1, last: false, payload: Bytes::new(1414) };
        assert_eq!(full.wire_bytes(), Bytes::new(1450));
        let request = Packet::Request { stream: StreamId(1), ranges: [(1, 2); MAX_RANGES], count: 2 };
        assert_eq!(request.wire_bytes(), Bytes::new(52));
        let announcement = Packet::Announcement { stream: StreamId(1), name: Bytes::new(24) };
        assert_eq!(announcement.wire_bytes(), Bytes::new(60));
        assert!(size_of::<Packet>() <= 80);
    }
}
