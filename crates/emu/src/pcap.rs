//! Packet captures of an emulated link, for tcpdump and Wireshark: pcapng (draft-ietf-opsawg-pcapng), raw IP, nanoseconds.
//!
//! There is an interface for what enters and one for what leaves at each end of the link: `gateway in`, `gateway out`,
//! `terminal-0 in`, … A packet is captured when it enters and again when it leaves, at the time it was due. One that the link
//! drops is captured where it had entered, at the time it was dropped, with the reason as a comment.

use farhop_link::{DropReason, Port};
use farhop_units::Instant;
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A capture that is being written.
#[derive(Debug)]
pub(crate) struct Capture<W> {
    out: W,
    /// The wall clock's time at the start of the run, since 1970.
    start: Duration,
    block: Vec<u8>,
}

/// What is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Arrival,
    Delivery,
    Drop(DropReason),
}

/// Types of blocks (§4).
mod block {
    pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
    pub(super) const INTERFACE: u32 = 1;
    pub(super) const ENHANCED_PACKET: u32 = 6;
}

/// Codes of options (§3.5, §4.2, §4.3).
mod option {
    pub(super) const END: u16 = 0;
    pub(super) const COMMENT: u16 = 1;
    pub(super) const IF_NAME: u16 = 2;
    pub(super) const IF_TSRESOL: u16 = 9;
    pub(super) const EPB_FLAGS: u16 = 2;
}

/// Writing to a packet this byte-order mark in the writer's own order tells the reader which it is.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Packets begin with an IPv4 or IPv6 header (LINKTYPE_RAW).
const RAW_IP: u16 = 101;
/// Timestamps count 10⁻⁹ s.
const NANOSECONDS: u8 = 9;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

impl<W: Write> Capture<W> {
    /// Begins a capture of a link with so many terminals.
    pub(crate) fn new(out: W, terminals: u16, start: SystemTime) -> io::Result<Self> {
        // A clock before 1970 gives times since the run began.
        let start = start.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut this = Self { out, start, block: Vec::new() };
        this.write_section_header()?;
        this.write_interfaces("gateway")?;
        (0..terminals).try_for_each(|number| this.write_interfaces(&format!("terminal-{number}")))?;
        Ok(this)
    }

    /// Adds a packet.
    pub(crate) fn write(&mut self, at: Instant, port: Port, packet: &[u8], event: Event) -> io::Result<()> {
        let time = self.start + at.since(Instant::START);
        // 64 bits of nanoseconds last until the year 2554.
        let nanos = time.as_nanos() as u64;
        let length = u32::try_from(packet.len()).map_err(io::Error::other)?;
        self.begin(block::ENHANCED_PACKET);
        for field in [interface(port, event), (nanos >> 32) as u32, nanos as u32, length, length] {
            self.block.extend(field.to_ne_bytes());
        }
        self.block.extend(packet);
        self.pad();
        let direction = if event == Event::Delivery { OUTBOUND } else { INBOUND };
        self.option(option::EPB_FLAGS, &direction.to_ne_bytes());
        if let Event::Drop(reason) = event {
            self.option(option::COMMENT, format!("dropped: {}", reason.word()).as_bytes());
        }
        self.option(option::END, &[]);
        self.end()
    }

    /// Writes out what is still here.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn write_section_header(&mut self) -> io::Result<()> {
        let (major, minor, length_unknown) = (1_u16, 0_u16, -1_i64);
        self.begin(block::SECTION_HEADER);
        self.block.extend(BYTE_ORDER.to_ne_bytes());
        self.block.extend(major.to_ne_bytes());
        self.block.extend(minor.to_ne_bytes());
        self.block.extend(length_unknown.to_ne_bytes());
        self.end()
    }

    /// Both interfaces of one end, in the order of [`interface`].
    fn write_interfaces(&mut self, end: &str) -> io::Result<()> {
        for direction in ["in", "out"] {
            let (reserved, no_limit) = (0_u16, 0_u32);
            self.begin(block::INTERFACE);
            self.block.extend(RAW_IP.to_ne_bytes());
            self.block.extend(reserved.to_ne_bytes());
            self.block.extend(no_limit.to_ne_bytes());
            self.option(option::IF_NAME, format!("{end} {direction}").as_bytes());
            self.option(option::IF_TSRESOL, &[NANOSECONDS]);
            self.option(option::END, &[]);
            self.end()?;
        }
        Ok(())
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.block.extend(kind.to_ne_bytes());
        // The length, when it is known.
        self.block.extend([0; 4]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let length = u16::try_from(value.len()).expect("options here are names and reasons");
        self.block.extend(code.to_ne_bytes());
        self.block.extend(length.to_ne_bytes());
        self.block.extend(value);
        self.pad();
    }

    /// Everything begins at a multiple of four bytes (§3.6).
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn end(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.block.len() + 4).map_err(io::Error::other)?.to_ne_bytes();
        self.block[4..8].copy_from_slice(&length);
        self.block.extend(length);
        self.out.write_all(&self.block)
    }
}

/// The number of the interface at which an event is captured.
fn interface(port: Port, event: Event) -> u32 {
    let end = match port {
        Port::Gateway => 0,
        Port::Terminal(number) => 1 + u32::from(number),
    };
    2 * end + u32::from(event == Event::Delivery)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a capture: type and body.
    fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let word = |place: usize| u32::from_ne_bytes(file[place..place + 4].try_into().unwrap());
            let length = word(4) as usize;
            assert!(length.is_multiple_of(4) && word(length - 4) as usize == length, "a block of {length} bytes");
            blocks.push((word(0), &file[8..length - 4]));
            file = &file[length..];
        }
        blocks
    }

    fn capture() -> Vec<u8> {
        let start = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mut file = Vec::new();
        let mut capture = Capture::new(&mut file, 2, start).unwrap();
        let at = Instant::from_nanos(1_000_000_007);
        capture.write(at, Port::Gateway, b"Eabcd", Event::Arrival).unwrap();
        capture.write(at, Port::Terminal(1), b"Eabc", Event::Delivery).unwrap();
        capture.write(at, Port::Terminal(0), b"E", Event::Drop(DropReason::QueueFull)).unwrap();
        capture.flush().unwrap();
        file
    }

    #[test]
    fn blocks_are_those_of_the_format() {
        let file = capture();
        let blocks = blocks(&file);
        let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [0x0a0d_0d0a, 1, 1, 1, 1, 1, 1, 6, 6, 6]);
        let interfaces: Vec<u32> =
            blocks[7..].iter().map(|(_, body)| u32::from_ne_bytes(body[..4].try_into().unwrap())).collect();
        assert_eq!(interfaces, [0, 5, 2]);
        let body = blocks[7].1;
        let field = |place: usize| u32::from_ne_bytes(body[place * 4..place * 4 + 4].try_into().unwrap());
        let nanos = u64::from(field(1)) << 32 | u64::from(field(2));
        assert_eq!((nanos, field(3), field(4)), (1_700_000_001_000_000_007, 5, 5));
        assert_eq!(&body[20..28], b"Eabcd\0\0\0");
        assert!(blocks[9].1.windows(19).any(|bytes| bytes == b"dropped: queue-full"));
        assert!(blocks[4].1.windows(14).any(|bytes| bytes == b"terminal-0 out"));
    }
}
