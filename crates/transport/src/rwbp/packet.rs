//! RWBP's packets, of TCP's sizes.

use crate::StreamId;
use crate::ranges::Span;
use farhop_units::Bytes;

/// IPv4's 20 bytes and RWBP's 20, which are TCP's with the packet's number in place of the urgent pointer.
const HEADER_BYTES: Bytes = Bytes::new(40);
/// An acknowledgement names at most so many missing ranges, as many as fit a TCP header's options; the others once these are
/// mended.
pub const MAX_MISSING: usize = 4;

/// One packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The flow it belongs to.
    pub flow: StreamId,
    /// What it is.
    pub kind: Kind,
}

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Opens a flow, or answers that it is open.
    Open {
        /// It is the answer.
        reply: bool,
    },
    /// Data, or the end of it; neither is a question how large the window is.
    Data {
        /// Counts the flow's data packets in this direction, repetitions included.
        number: u64,
        /// The first byte's place.
        offset: u64,
        /// How many bytes.
        payload: Bytes,
        /// No data follows; takes one place after the payload.
        fin: bool,
    },
    /// An acknowledgement.
    Acknowledgment {
        /// Everything before this place has arrived.
        cumulative: u64,
        /// The highest number that has arrived.
        newest: u64,
        /// Maximum-sized segments that may be sent beyond `cumulative`.
        window: u16,
        /// It waited for further packets, as long as the receiver does: of its time so much is not the round trip.
        delayed: bool,
        /// What has not arrived beyond `cumulative`.
        missing: Missing,
    },
}

/// The lowest of the ranges that have not arrived though something beyond them has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missing {
    /// Start and end of each, from `cumulative` on.
    ranges: [(u32, u32); MAX_MISSING],
    count: u8,
    /// Up to here, counted likewise, what is not missing has arrived.
    known: u32,
    /// Something has arrived beyond `known`.
    truncated: bool,
}

impl Missing {
    /// What `gaps` and the place after the highest number that has arrived say, counted from `cumulative`.
    pub(super) fn new(cumulative: u64, gaps: impl Iterator<Item = Span>, highest: u64) -> Self {
        let relative = |place: u64| u32::try_from(place.saturating_sub(cumulative)).unwrap_or(u32::MAX);
        let mut missing = Self { known: relative(highest), ..Self::default() };
        for gap in gaps {
            let Some(range) = missing.ranges.get_mut(usize::from(missing.count)) else {
                (missing.known, missing.truncated) = (relative(gap.start), true);
                return missing;
            };
            *range = (relative(gap.start), relative(gap.end));
            missing.count += 1;
        }
        missing
    }

    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether what lies from `start` to `end`, counted from `cumulative`, has arrived; `None` if this does not say.
    pub(super) fn has_arrived(&self, start: u64, end: u64) -> Option<bool> {
        if end > u64::from(self.known) {
            return (!self.truncated).then_some(false);
        }
        let overlaps = |&(from, to): &(u32, u32)| start < u64::from(to) && end > u64::from(from);
        Some(!self.ranges[..usize::from(self.count)].iter().any(overlaps))
    }

    /// Eight bytes per range, four for `known` and two that say what the option is, in whole words.
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(if self.is_empty() { 0 } else { 8 * u64::from(self.count) + 8 })
    }
}

impl Packet {
    /// Size on the wire, IP header included.
    pub fn wire_bytes(&self) -> Bytes {
        match &self.kind {
            Kind::Open { .. } => HEADER_BYTES,
            Kind::Data { payload, .. } => data_bytes(*payload),
            Kind::Acknowledgment { missing, .. } => HEADER_BYTES + missing.wire_bytes(),
        }
    }

    /// What the largest acknowledgement takes.
    pub(super) fn largest_acknowledgment() -> Bytes {
        HEADER_BYTES + Bytes::new(8 * MAX_MISSING as u64 + 8)
    }
}

/// Size of a data packet on the wire.
pub(super) fn data_bytes(payload: Bytes) -> Bytes {
    HEADER_BYTES + payload
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn span(start: u64, end: u64) -> Span {
        Span { start, end }
    }

    #[test]
    fn a_packet_is_small_to_copy_and_of_the_papers_size() {
        assert!(size_of::<Packet>() <= 80, "{}", size_of::<Packet>());
        let acknowledgment = |missing| Packet {
            flow: StreamId(0),
            kind: Kind::Acknowledgment { cumulative: 0, newest: 0, window: 0, delayed: false, missing },
        };
        assert_eq!(acknowledgment(Missing::default()).wire_bytes(), Bytes::new(40));
        let missing = Missing::new(0, (0..9).map(|i| span(20 * i, 20 * i + 10)), 180);
        assert_eq!(acknowledgment(missing).wire_bytes(), Packet::largest_acknowledgment());
    }

    #[test]
    fn what_is_missing_is_said_as_far_as_there_is_room() {
        let short = Missing::new(100, [span(100, 110), span(120, 130)].into_iter(), 140);
        let said = |missing: &Missing, start| missing.has_arrived(start, start + 10);
        assert_eq!([0, 10, 20, 30, 40].map(|start| said(&short, start)), [false, true, false, true, false].map(Some));
        let long = Missing::new(0, (0..6).map(|i| span(20 * i, 20 * i + 10)), 120);
        assert_eq!(said(&long, 60), Some(false), "the fourth range");
        assert_eq!(said(&long, 70), Some(true));
        assert_eq!(said(&long, 80), None, "the fifth is not named");
        assert_eq!(said(&long, 200), None);
    }
}
