//! Packet captures of a far link, for tcpdump and Wireshark: pcapng (draft-ietf-opsawg-pcapng), nanoseconds, packets behind the word that
//! tells IPv4 from IPv6 on a loopback device.
//!
//! There is an interface for what enters and one for what leaves at each end of the link: `gateway in`, `gateway out`,
//! `terminal-0 in`, … A packet is captured when it enters and again when it leaves, at the time it was due. One that the link
//! drops is captured where it had entered, at the time it was dropped, with the reason as a comment. So a capture follows the
//! records of the packet log, with the packets' bytes, or as many of them as there are.

use crate::packet_log::{PacketEvent, Port, Record};
use farhop_units::Instant;
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A capture that is being written.
#[derive(Debug)]
pub struct Capture<W> {
    out: W,
    /// The wall clock's time at the start of the run, since 1970.
    start: Duration,
    block: Vec<u8>,
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
/// Packets begin with [`FAMILIES`]' word in the writer's own order (LINKTYPE_NULL). Without it they would be raw IP (LINKTYPE_RAW), which
/// libpcap (1.10.3) reads from one interface alone: it compares the second one's type with what it has translated the first one's to.
const LOOPBACK: u16 = 0;
/// AF_INET, and the AF_INET6 of BSD, which every reader knows.
const FAMILIES: [u32; 2] = [2, 24];
/// Timestamps count 10⁻⁹ s.
const NANOSECONDS: u8 = 9;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

impl<W: Write> Capture<W> {
    /// Begins a capture of a link with so many terminals; `start` is the wall clock's time at the start of the run.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn new(out: W, terminals: u16, start: SystemTime) -> io::Result<Self> {
        // A clock before 1970 gives times since the run began.
        let start = start.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut this = Self { out, start, block: Vec::new() };
        this.write_section_header()?;
        this.write_interfaces("gateway")?;
        (0..terminals).try_for_each(|number| this.write_interfaces(&format!("terminal-{number}")))?;
        Ok(this)
    }

    /// Adds what happened to a packet that begins with `bytes`; a change of the link is no packet and is passed over.
    ///
    /// # Errors
    /// What `out` reports, and packets of 4 GiB.
    pub fn write(&mut self, record: &Record, bytes: &[u8]) -> io::Result<()> {
        let (packet, is_leaving, comment) = match record {
            Record::Arrival(packet, _) => (packet, false, None),
            Record::Delivery(packet, _) => (packet, true, None),
            Record::Drop(packet, reason) => (packet, false, Some(format!("dropped: {reason}"))),
            Record::Change { .. } => return Ok(()),
        };
        self.begin_packet(packet, is_leaving, bytes)?;
        let direction = if is_leaving { OUTBOUND } else { INBOUND };
        self.option(option::EPB_FLAGS, &direction.to_ne_bytes());
        if let Some(comment) = comment {
            self.option(option::COMMENT, comment.as_bytes());
        }
        self.option(option::END, &[]);
        self.end()
    }

    fn begin_packet(&mut self, packet: &PacketEvent, is_leaving: bool, bytes: &[u8]) -> io::Result<()> {
        let time = self.start + packet.at.since(Instant::START);
        // 64 bits of nanoseconds last until the year 2554.
        let nanos = time.as_nanos() as u64;
        let family = FAMILIES[usize::from(is_ipv6(bytes))].to_ne_bytes();
        let [captured, length] = [bytes.len() as u64, packet.bytes.get()].map(|bytes| bytes + family.len() as u64);
        let captured = u32::try_from(captured).map_err(io::Error::other)?;
        let length = u32::try_from(length).map_err(io::Error::other)?;
        self.begin(block::ENHANCED_PACKET);
        let interface = interface(packet.port, is_leaving);
        for field in [interface, (nanos >> 32) as u32, nanos as u32, captured, length] {
            self.block.extend(field.to_ne_bytes());
        }
        self.block.extend(family);
        self.block.extend(bytes);
        self.pad();
        Ok(())
    }

    /// Writes out what is still here.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn flush(&mut self) -> io::Result<()> {
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
            self.block.extend(LOOPBACK.to_ne_bytes());
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

fn is_ipv6(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 6)
}

/// The number of the interface at which an event is captured.
fn interface(port: Port, is_leaving: bool) -> u32 {
    let end = match port {
        Port::Gateway => 0,
        Port::Terminal(number) => 1 + u32::from(number),
    };
    2 * end + u32::from(is_leaving)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet_log::{Class, Condition, DropReason, Ecn, Traits};
    use farhop_units::Bytes;

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
        let packet = |port, bytes| {
            let at = Instant::from_nanos(1_000_000_007);
            PacketEvent { at, port, id: 0, bytes: Bytes::new(bytes) }
        };
        let traits = Traits { destination: None, flow: 0, class: Class::Normal, ecn: Ecn::NotEct };
        let whole = Condition { ecn: Ecn::NotEct, corrupted: false };
        capture.write(&Record::Arrival(packet(Port::Gateway, 5), traits), b"Eabcd").unwrap();
        capture.write(&Record::Delivery(packet(Port::Terminal(1), 1500), whole), b"`abc").unwrap();
        capture.write(&Record::Drop(packet(Port::Terminal(0), 1), DropReason::QueueFull), b"E").unwrap();
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
        let field = |block: usize, place: usize| {
            u32::from_ne_bytes(blocks[block].1[place * 4..place * 4 + 4].try_into().unwrap())
        };
        let nanos = u64::from(field(7, 1)) << 32 | u64::from(field(7, 2));
        assert_eq!((nanos, field(7, 3), field(7, 4)), (1_700_000_001_000_000_007, 9, 9));
        assert_eq!((field(8, 3), field(8, 4)), (8, 1504), "a packet of which only the beginning is there");
        assert_eq!(&blocks[7].1[24..32], b"Eabcd\0\0\0");
        assert_eq!([7, 8, 9].map(|block| field(block, 5)), [2, 24, 2], "an IPv6 packet is told from the others");
        assert!(blocks[9].1.windows(19).any(|bytes| bytes == b"dropped: queue-full"));
        // Types that libpcap has no other number for: it compares those of several interfaces.
        assert!(blocks[1..7].iter().all(|(_, body)| body[..2] == [0, 0]));
        assert!(blocks[4].1.windows(14).any(|bytes| bytes == b"terminal-0 out"));
    }
}
