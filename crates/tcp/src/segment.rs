//! What travels between two endpoints: headers that say how long the payload is, without the payload (RFC 9293 §3.1).
//!
//! Left out: ports (the owner knows which connection a segment belongs to), RST, URG and checksums.

use crate::sack::{SackBlock, SackBlocks};
use crate::{HEADER_BYTES, Sequence};
use farhop_units::{Bytes, Instant};

/// The timestamps option (RFC 7323 §3), whose clock ticks in milliseconds, as Linux's does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// When the segment was sent: TSval.
    pub value: u32,
    /// The timestamp that it answers: TSecr.
    pub echo: u32,
}

impl Timestamps {
    /// What the clock of timestamps says at `now`.
    pub(crate) fn at(now: Instant) -> u32 {
        // The clock wraps after 49 days; the remainder always fits.
        u32::try_from(now.as_nanos() / 1_000_000 % (1 << 32)).unwrap_or_default()
    }

    /// Whether one reading of the clock is earlier than another, the wrap considered (RFC 7323 §5.2).
    pub(crate) fn is_before(one: u32, other: u32) -> bool {
        let ahead = other.wrapping_sub(one);
        ahead != 0 && ahead < 1 << 31
    }
}

/// What the IP header says of congestion (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codepoint {
    /// Not-ECT: routers drop instead of marking.
    #[default]
    NotCapable,
    /// ECT(0): both ends understand marks.
    Capable,
    /// CE: a router has marked the packet.
    Experienced,
}

/// One TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Number of the SYN, the first byte of payload, or the FIN, whichever comes first; the next one to send if there is none.
    pub sequence: Sequence,
    /// The next number expected from the other side; absent only on a first SYN.
    pub acknowledgment: Option<Sequence>,
    /// Bytes of payload.
    pub payload: Bytes,
    /// How much the sender of this segment is ready to receive beyond `acknowledgment`.
    pub window: Bytes,
    /// What has arrived beyond `acknowledgment`, the latest first; before it, what has arrived twice. See [`Segment::sack_blocks`].
    pub sack: SackBlocks,
    /// When it was sent and what it answers.
    pub timestamps: Timestamps,
    /// Opens a direction and takes the number before the payload.
    pub syn: bool,
    /// Ends a direction and takes the number after the payload.
    pub fin: bool,
    /// The sender had nothing more to send behind this payload (RFC 9293 §3.9.1: PUSH).
    pub push: bool,
    /// The receiver has seen marks (RFC 3168 §6.1.3: ECE); on a SYN, ECN is wanted.
    pub ece: bool,
    /// The sender has reduced its window, for whatever reason (RFC 3168 §6.1.2: CWR).
    pub cwr: bool,
    /// The IP header's ECN field.
    pub codepoint: Codepoint,
    /// Bytes of options that only some segments have, but for SACK: with a SYN, what its sender is able to.
    pub options: u8,
}

impl Segment {
    /// The number after the last one this segment takes.
    pub fn end(&self) -> Sequence {
        let marks = u64::from(self.syn) + u64::from(self.fin);
        self.sequence + self.payload + Bytes::new(marks)
    }

    /// Whether the segment takes no number, so that it only acknowledges.
    pub fn is_pure_ack(&self) -> bool {
        self.payload == Bytes::ZERO && !self.syn && !self.fin
    }

    /// The selective acknowledgements that the segment carries.
    pub fn sack_blocks(&self) -> impl Iterator<Item = SackBlock> {
        self.sack.iter(self.acknowledgment.unwrap_or_default())
    }

    /// Adds a selective acknowledgement, if there is room and the block is neither empty nor 2 GiB away. The acknowledgement must
    /// not change afterwards.
    pub fn add_sack_block(&mut self, block: SackBlock) {
        self.sack.push(self.acknowledgment.unwrap_or_default(), block);
    }

    /// Size on the wire with IP and TCP headers. A SACK option takes 2 + 8 bytes per block, padded to four (RFC 2018 §3).
    pub fn wire_bytes(&self) -> Bytes {
        let option = match self.sack.len() as u64 {
            0 => 0,
            blocks => 4 + 8 * blocks,
        };
        HEADER_BYTES + self.payload + Bytes::new(option + u64::from(self.options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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
        let mut ack = Segment { acknowledgment: Some(Sequence::FIRST_BYTE), ..Segment::default() };
        for start in [100, 200, 300, 400] {
            let start = Sequence::FIRST_BYTE + Bytes::new(start);
            ack.add_sack_block(SackBlock { start, end: start + Bytes::new(10) });
        }
        assert!(ack.is_pure_ack());
        assert_eq!((ack.sack_blocks().count(), ack.wire_bytes()), (3, Bytes::new(80)));
    }

    #[test]
    fn a_segment_is_small_enough_to_be_copied() {
        assert!(size_of::<Segment>() <= 72, "{} bytes", size_of::<Segment>());
    }

    #[test]
    fn timestamps_are_compared_across_the_wrap() {
        let day = Duration::from_secs(24 * 3600);
        let [early, late] = [49, 50].map(|days| Timestamps::at(Instant::START + day * days));
        assert!(early > late && Timestamps::is_before(early, late) && !Timestamps::is_before(late, early));
        assert!(!Timestamps::is_before(early, early));
    }
}
