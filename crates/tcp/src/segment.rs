//! What travels between two endpoints: headers that say how long the payload is, without the payload (RFC 9293 §3.1).
//!
//! Left out: ports (the owner knows which connection a segment belongs to), RST, URG, ECN, checksums, and the timestamps' values
//! (RFC 7323), though their bytes are counted: endpoints time segments by their own records.

use crate::{HEADER_BYTES, Sequence};
use farhop_units::Bytes;

/// Most blocks a SACK option holds next to timestamps (RFC 2018 §3).
pub(crate) const MAX_SACK_BLOCKS: usize = 3;

/// A range that has arrived beyond the acknowledgement: from `start` up to but not including `end` (RFC 2018 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackBlock {
    /// First number that has arrived.
    pub start: Sequence,
    /// First number after the range.
    pub end: Sequence,
}

/// One TCP segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Segment {
    /// Number of the SYN, the first byte of payload, or the FIN, whichever comes first; the next one to send if there is none.
    pub sequence: Sequence,
    /// Bytes of payload.
    pub payload: Bytes,
    /// Opens a direction and takes the number before the payload.
    pub syn: bool,
    /// Ends a direction and takes the number after the payload.
    pub fin: bool,
    /// The sender had nothing more to send behind this payload (RFC 9293 §3.9.1: PUSH).
    pub push: bool,
    /// The next number expected from the other side; absent only on a first SYN.
    pub acknowledgment: Option<Sequence>,
    /// How much the sender of this segment is ready to receive beyond `acknowledgment`.
    pub window: Bytes,
    /// What has arrived beyond `acknowledgment`, the latest first; at most three blocks.
    pub sack: Vec<SackBlock>,
}

impl Segment {
    /// The number after the last one this segment takes.
    pub fn end(&self) -> Sequence {
        let marks = u64::from(self.syn) + u64::from(self.fin);
        self.sequence + self.payload + Bytes::new(marks)
    }

    /// Whether the segment takes no number, so that it only acknowledges.
    pub fn is_pure_ack(&self) -> bool {
        self.end() == self.sequence
    }

    /// Size on the wire with IP and TCP headers. A SACK option takes 2 + 8 bytes per block, padded to four (RFC 2018 §3).
    pub fn wire_bytes(&self) -> Bytes {
        let option = match self.sack.len() as u64 {
            0 => 0,
            blocks => 4 + 8 * blocks,
        };
        HEADER_BYTES + self.payload + Bytes::new(option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_take_numbers_but_no_bytes() {
        let syn = Segment { syn: true, ..Segment::default() };
        assert_eq!((syn.end(), syn.wire_bytes()), (Sequence::FIRST_BYTE, HEADER_BYTES));
        let last = Segment { sequence: Sequence::FIRST_BYTE, payload: Bytes::new(10), fin: true, ..Segment::default() };
        assert_eq!(last.end() - last.sequence, Bytes::new(11));
        assert_eq!(last.wire_bytes(), Bytes::new(62));
    }

    #[test]
    fn selective_acknowledgements_cost_bytes() {
        let block = SackBlock { start: Sequence::SYN, end: Sequence::FIRST_BYTE };
        let ack = Segment { sack: vec![block; 3], ..Segment::default() };
        assert!(ack.is_pure_ack());
        assert_eq!(ack.wire_bytes(), Bytes::new(80));
    }
}
