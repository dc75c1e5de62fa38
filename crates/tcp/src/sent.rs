//! One segment as the sender remembers it until it is acknowledged, and what an acknowledgement says of such segments.

use crate::Sequence;
use farhop_units::{Bytes, Instant};

/// What one segment of the sender's stream holds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Piece {
    pub(crate) sequence: Sequence,
    pub(crate) payload: Bytes,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) push: bool,
    /// RFC 3168 §6.1.2: the window was reduced before this was first sent.
    pub(crate) cwr: bool,
    /// It is sent again.
    pub(crate) again: bool,
}

impl Piece {
    pub(crate) fn end(&self) -> Sequence {
        self.sequence + self.payload + Bytes::new(u64::from(self.syn) + u64::from(self.fin))
    }
}

/// Where a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// On the way, as far as is known.
    InFlight,
    /// Thought lost and not sent again since.
    Lost,
    /// Arrived out of order.
    Sacked,
}

/// One segment as it was last sent. There are as many as a window holds, for each connection, so that they are kept small: two take a line of
/// the processor's cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Sent {
    pub(crate) sequence: Sequence,
    pub(crate) at: Instant,
    /// Its place among all transmissions.
    pub(crate) order: u64,
    payload: u32,
    flags: Flags,
    /// It was sent more than once.
    pub(crate) again: bool,
    /// It is the last of a packet in the host's memory.
    pub(crate) ends_packet: bool,
    pub(crate) fate: Fate,
}

/// What of SYN, FIN and PSH a segment carries, and whether it is a hole ([`Sent::is_hole`]).
#[derive(Debug, Clone, Copy)]
struct Flags(u8);

impl Flags {
    const SYN: u8 = 1;
    const FIN: u8 = 2;
    const PUSH: u8 = 4;
    const HOLE: u8 = 8;

    fn of(piece: &Piece) -> Self {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        Self(flag(piece.syn, Self::SYN) | flag(piece.fin, Self::FIN) | flag(piece.push, Self::PUSH))
    }

    const fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    /// How many numbers they take.
    const fn numbers(self) -> u64 {
        (self.0 & (Self::SYN | Self::FIN)).count_ones() as u64
    }
}

impl Sent {
    /// A piece that is on the way for the first time.
    pub(crate) fn new(piece: Piece, at: Instant, order: u64) -> Self {
        let Piece { sequence, payload, .. } = piece;
        let (flags, fate) = (Flags::of(&piece), Fate::InFlight);
        let payload = u32::try_from(payload.get()).expect("segments are no larger");
        Self { sequence, at, order, payload, flags, again: false, ends_packet: false, fate }
    }

    pub(crate) fn payload(&self) -> Bytes {
        Bytes::new(self.payload.into())
    }

    /// What it held.
    pub(crate) fn piece(&self) -> Piece {
        let Self { sequence, flags, again, .. } = *self;
        let [syn, fin, push] = [Flags::SYN, Flags::FIN, Flags::PUSH].map(|flag| flags.has(flag));
        Piece { sequence, payload: self.payload(), syn, fin, push, cwr: false, again }
    }

    pub(crate) fn end(&self) -> Sequence {
        self.sequence + Bytes::new(u64::from(self.payload) + self.flags.numbers())
    }

    /// It was found lost and is not known to have arrived since, sent again or not (TCPCB_LOST).
    pub(crate) const fn is_hole(&self) -> bool {
        self.flags.has(Flags::HOLE)
    }

    pub(crate) const fn set_hole(&mut self, is_hole: bool) {
        self.flags.0 = if is_hole { self.flags.0 | Flags::HOLE } else { self.flags.0 & !Flags::HOLE };
    }
}

/// The earliest and the latest time at which some segments were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentTimes {
    pub(crate) first: Instant,
    pub(crate) last: Instant,
}

impl SentTimes {
    /// Takes in one more segment, in order.
    pub(crate) fn note(times: &mut Option<Self>, at: Instant) {
        times.get_or_insert(Self { first: at, last: at }).last = at;
    }
}

/// What an acknowledgement newly covered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Covered {
    /// Payload and segments acknowledged by number, arrived before or not.
    pub(crate) bytes: Bytes,
    pub(crate) segments: u64,
    /// Newly delivered, by number or selectively, as the congestion window counts it.
    pub(crate) delivered: Bytes,
    /// Segments newly known to have arrived out of order.
    pub(crate) sacked: usize,
    /// When those were sent that were sent once (RFC 6298 §3): acknowledged by number; selectively.
    pub(crate) by_number: Option<SentTimes>,
    pub(crate) selectively: Option<SentTimes>,
    /// Something arrived that was sent once, and before the point that was given.
    pub(crate) original: bool,
    /// Where the first starts of what was sent once and is newly delivered.
    pub(crate) earliest: Option<Sequence>,
    /// Something was acknowledged by number that has been repeated.
    pub(crate) repetition: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_segments_take_a_line_of_the_cache() {
        assert_eq!((size_of::<Sent>(), align_of::<Sent>()), (32, 32));
    }

    #[test]
    fn what_a_segment_held_is_known() {
        let payload = Bytes::new(u64::from(u32::MAX));
        for (syn, fin, push) in [(true, false, false), (false, true, false), (false, false, true), (true, true, true)] {
            let piece = Piece { sequence: Sequence::FIRST_BYTE, payload, syn, fin, push, ..Piece::default() };
            let sent = Sent::new(piece, Instant::START, 1);
            let held = sent.piece();
            assert_eq!(
                (held.sequence, held.payload, held.syn, held.fin, held.push),
                (piece.sequence, payload, syn, fin, push)
            );
            assert_eq!(sent.end(), piece.end());
        }
    }
}
