//! Datagrams, the frames in them, and what they weigh (RFC 9000 §16, §17, §19).

use crate::ranges::RangeSet;
use crate::{StreamId, UDP_HEADER_BYTES};
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// Frames that one datagram holds besides an acknowledgement.
pub const MAX_FRAMES: usize = 3;
/// Ranges that one acknowledgement names.
pub const MAX_RANGES: usize = 8;
/// Authentication tag of every packet (RFC 9001 §5.3).
const TAG: u64 = 16;
/// Our connection identifiers and packet numbers.
const CONNECTION_ID: u64 = 8;
const PACKET_NUMBER: u64 = 2;
/// Acknowledgement delays are in units of 8 µs unless negotiated (RFC 9000 §18.2).
const ACK_DELAY_UNIT: u64 = 8;

/// Under which keys a packet travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Before any.
    Initial,
    /// Of a session before.
    ZeroRtt,
    /// Of the handshake.
    Handshake,
    /// Of the connection.
    OneRtt,
}

impl Level {
    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Header and tag of a packet. A long header has flags, version, two identifiers with their lengths, the length (2 bytes)
    /// and the number, an Initial the token's length as well; a short one flags, an identifier and the number.
    pub(super) const fn overhead(self) -> u64 {
        let long = 1 + 4 + 2 * (1 + CONNECTION_ID) + 2 + PACKET_NUMBER + TAG;
        match self {
            Self::Initial => long + 1,
            Self::ZeroRtt | Self::Handshake => long,
            Self::OneRtt => 1 + CONNECTION_ID + PACKET_NUMBER + TAG,
        }
    }
}

/// Bytes of a number as QUIC writes it (RFC 9000 §16).
pub(super) const fn varint(number: u64) -> u64 {
    match number {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// What a datagram carries. All can be lost and are then sent again, as they are or as they are by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Frame {
    /// Nothing, but it asks for an acknowledgement.
    #[default]
    Ping,
    /// Bytes of TLS messages.
    Crypto {
        /// Place of the first.
        offset: u64,
        /// How many.
        length: u16,
    },
    /// Bytes of a stream.
    Stream {
        /// The stream.
        stream: StreamId,
        /// Place of the first.
        offset: u64,
        /// How many.
        length: u16,
        /// None follow.
        fin: bool,
    },
    /// All streams together may reach so many bytes.
    MaxData {
        /// The limit.
        limit: u64,
    },
    /// A stream may reach this place.
    MaxStreamData {
        /// The stream.
        stream: StreamId,
        /// The limit.
        limit: u64,
    },
    /// The server knows that the handshake is complete.
    HandshakeDone,
}

impl Frame {
    /// Size of the frame without the bytes that it carries; a length is taken to need two bytes.
    pub(super) fn overhead(&self) -> u64 {
        // The two lowest bits of a stream's number on the wire say who opened it.
        let id = |stream: &StreamId| varint(u64::from(stream.0) << 2);
        match self {
            Self::Ping | Self::HandshakeDone => 1,
            Self::Crypto { offset, .. } => 1 + varint(*offset) + 2,
            Self::Stream { stream, offset, .. } => 1 + id(stream) + if *offset == 0 { 0 } else { varint(*offset) } + 2,
            Self::MaxData { limit } => 1 + varint(*limit),
            Self::MaxStreamData { stream, limit } => 1 + id(stream) + varint(*limit),
        }
    }
}

/// Which packets have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The highest number.
    largest: u32,
    /// How long it waited.
    delay: Duration,
    /// First and last number of each range, counted down from `largest`, descending.
    ranges: [(u16, u16); MAX_RANGES],
    count: u8,
}

impl Ack {
    /// What has arrived, the highest at `largest_at`; `None` of nothing.
    pub(super) fn new(arrived: &RangeSet, largest_at: Instant, now: Instant) -> Option<Self> {
        let largest = arrived.last()?.end - 1;
        let mut ack = Self {
            largest: u32::try_from(largest).unwrap_or(u32::MAX),
            delay: now.since(largest_at),
            ranges: [(0, 0); MAX_RANGES],
            count: 0,
        };
        for (span, range) in arrived.iter().rev().zip(&mut ack.ranges) {
            let down = |number: u64| u16::try_from(largest - number).ok();
            let Some(last) = down(span.end - 1) else { break };
            // What is too far back was acknowledged long ago.
            *range = (down(span.start).unwrap_or(u16::MAX), last);
            ack.count += 1;
        }
        Some(ack)
    }

    /// The highest number.
    pub fn largest(&self) -> u64 {
        self.largest.into()
    }

    /// How long it waited.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// First number of each range and the number after its last, descending.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let largest = self.largest();
        let up = move |down: u16| largest.saturating_sub(down.into());
        self.ranges[..usize::from(self.count)].iter().map(move |(first, last)| (up(*first), up(*last) + 1))
    }

    /// RFC 9000 §19.3.
    pub(super) fn bytes(&self) -> u64 {
        let delay = u64::try_from(self.delay.as_micros()).unwrap_or(u64::MAX) / ACK_DELAY_UNIT;
        let mut bytes = 1 + varint(self.largest()) + varint(delay) + varint(self.count.into());
        let mut above: Option<u64> = None;
        for (first, end) in self.ranges() {
            // The first range has no gap before it; a gap of g packets is written as g − 1, a length of n as n − 1.
            bytes += above.map_or(0, |above| varint((above - end).saturating_sub(1))) + varint(end - 1 - first);
            above = Some(first);
        }
        bytes
    }
}

/// One UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Counts the sender's datagrams.
    pub(super) number: u32,
    /// UDP payload.
    pub(super) size: u16,
    pub(super) levels: u8,
    pub(super) count: u8,
    pub(super) ack: Option<Ack>,
    pub(super) frames: [Frame; MAX_FRAMES],
}

impl Packet {
    /// Size on the wire, IP and UDP headers included.
    pub fn wire_bytes(&self) -> Bytes {
        UDP_HEADER_BYTES + Bytes::new(self.size.into())
    }

    /// The frames.
    pub fn frames(&self) -> &[Frame] {
        &self.frames[..usize::from(self.count)]
    }

    /// The acknowledgement.
    pub fn ack(&self) -> Option<&Ack> {
        self.ack.as_ref()
    }

    /// Whether it holds a packet of this level.
    pub fn has(&self, level: Level) -> bool {
        self.levels & level.bit() != 0
    }

    /// Whether it asks for an acknowledgement.
    pub(super) fn is_eliciting(&self) -> bool {
        self.count > 0
    }
}

/// A datagram in the making.
#[derive(Debug)]
pub(super) struct Draft {
    packet: Packet,
    used: u64,
    space: u64,
}

impl Draft {
    pub(super) fn new(number: u32, space: u64) -> Self {
        let packet = Packet { number, size: 0, levels: 0, count: 0, ack: None, frames: [Frame::Ping; MAX_FRAMES] };
        Self { packet, used: 0, space }
    }

    pub(super) fn is_eliciting(&self) -> bool {
        self.packet.is_eliciting()
    }

    pub(super) fn is_full(&self) -> bool {
        usize::from(self.packet.count) == MAX_FRAMES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packet.count == 0 && self.packet.ack.is_none()
    }

    /// What is left beside a header of this level.
    pub(super) fn left(&self, level: Level) -> u64 {
        let header = if self.packet.has(level) { 0 } else { level.overhead() };
        self.space.saturating_sub(self.used + header)
    }

    fn open(&mut self, level: Level) {
        if !self.packet.has(level) {
            self.used += level.overhead();
            self.packet.levels |= level.bit();
        }
    }

    /// Adds a header without anything behind it yet, if there is room.
    pub(super) fn add_level(&mut self, level: Level) {
        if self.left(level) > 0 {
            self.open(level);
        }
    }

    /// Adds the acknowledgement if there is room; says whether there was.
    pub(super) fn add_ack(&mut self, level: Level, ack: Ack) -> bool {
        let fits = ack.bytes() <= self.left(level);
        if fits {
            self.open(level);
            self.used += ack.bytes();
            self.packet.ack = Some(ack);
        }
        fits
    }

    /// Adds a frame that carries `length` bytes, if there is room; says whether there was.
    pub(super) fn add(&mut self, level: Level, frame: Frame, length: u64) -> bool {
        let bytes = frame.overhead() + length;
        let fits = !self.is_full() && bytes <= self.left(level);
        if fits {
            self.open(level);
            self.used += bytes;
            self.packet.frames[usize::from(self.packet.count)] = frame;
            self.packet.count += 1;
        }
        fits
    }

    /// The datagram, at least `least` bytes long if it holds an Initial packet.
    pub(super) fn finish(mut self, least: u64) -> Packet {
        let least = if self.packet.has(Level::Initial) { least.min(self.space) } else { 0 };
        self.packet.size = u16::try_from(self.used.max(least)).unwrap_or(u16::MAX);
        self.packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_numbers_weigh_what_the_rfc_says() {
        let overheads = [Level::Initial, Level::ZeroRtt, Level::Handshake, Level::OneRtt].map(Level::overhead);
        assert_eq!(overheads, [44, 43, 43, 27]);
        assert_eq!([0, 63, 64, 16_383, 16_384, 1 << 29, 1 << 30].map(varint), [1, 1, 2, 2, 4, 4, 8]);
        let frame = Frame::Stream { stream: StreamId(20), offset: 70_000, length: 1, fin: false };
        assert_eq!(frame.overhead(), 1 + 2 + 4 + 2);
    }

    #[test]
    fn an_acknowledgement_names_the_latest_ranges() {
        let mut arrived = RangeSet::new();
        (0..20).for_each(|i| _ = arrived.insert(10 * i, 10 * i + 4));
        let ack = Ack::new(&arrived, Instant::START, Instant::START).expect("packets have arrived");
        let ranges: Vec<_> = ack.ranges().collect();
        assert_eq!((ranges.len(), ranges[0], ranges[7]), (MAX_RANGES, (190, 194), (120, 124)));
        // Type, largest (2), delay, count, the first range, then gap and length of each other.
        assert_eq!(ack.bytes(), 1 + 2 + 1 + 1 + 1 + 7 * 2);
        assert!(size_of::<Packet>() <= 112, "{}", size_of::<Packet>());
    }
}
