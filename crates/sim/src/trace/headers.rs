//! The first bytes of a simulated packet, as a capture shows them: IPv4 (RFC 791), and TCP (RFC 9293 §3.1) with its options or UDP
//! (RFC 768).
//!
//! Sequence numbers are the endpoints' own, modulo 2³², from an initial number of zero; windows are scaled by one shift for all
//! (RFC 7323 §2), announced on SYNs. Linux's SYNs have 60 bytes for maximum segment size, selective acknowledgements, timestamps
//! and scale; others have the 52 that every header takes in the simulator, so that timestamps are absent there alone. Payload does
//! not exist; its bytes count as zeros in the checksum, and are not captured. A damaged packet has a checksum that is wrong.

use super::Passing;
use crate::network::{Place, Route, Upper};
use farhop_scenario::{Scenario, Tls};
use farhop_tcp::Segment;
use std::net::Ipv4Addr;

/// What a packet's way has done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Codes {
    pub(crate) is_marked: bool,
    pub(crate) is_damaged: bool,
}

/// The packet behind a parcel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) upper: Upper<'a>,
    pub(crate) terminal: u16,
    pub(crate) is_ecn_capable: bool,
}

/// One end of a connection.
type Socket = (Ipv4Addr, u16);

/// Who sends to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) source: Socket,
    pub(crate) destination: Socket,
    shift: u8,
    mss: u16,
    sack: bool,
}

impl Ends {
    /// Of multicast: the first server to a group of the organisation's own (RFC 2365 §6.2), by the port that RTP has (RFC 3551 §8).
    pub(crate) const MULTICAST: Self = Self {
        source: (Ipv4Addr::new(198, 19, 0, 1), 5004),
        destination: (Ipv4Addr::new(239, 192, 0, 1), 5004),
        shift: 0,
        mss: 0,
        sack: false,
    };

    pub(crate) const fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source, ..self }
    }
}

/// How connections are addressed and what their SYNs announce.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addresses {
    /// Where servers take connections.
    port: u16,
    shift: u8,
    mss: u16,
    sack: bool,
}

/// Ports of clients (RFC 6335 §6).
const DYNAMIC_PORTS: (u16, u16) = (49_152, 16_384);
const HTTP: u16 = 80;
const HTTPS: u16 = 443;

impl Addresses {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let config = &scenario.tcp;
        let port = if scenario.http.tls == Tls::None { HTTP } else { HTTPS };
        let mss = u16::try_from(config.mss.get()).unwrap_or(u16::MAX);
        Self { port, shift: config.window_scale(), mss, sack: config.sack }
    }

    /// The ends of a connection with this number: clients and terminals in 10.0.0.0/8, a net for each terminal; gateway and servers
    /// in 198.18.0.0/15, which is for benchmarks (RFC 2544).
    pub(crate) fn of(&self, Route { line, near, far }: Route, number: u64, upper: Upper<'_>) -> Ends {
        let [high, low] = line.terminal.to_be_bytes();
        let [.., third, fourth] = (line.server % 0xffff + 1).to_be_bytes();
        let address = |place| match place {
            Place::Client => Ipv4Addr::new(10, high, low, 2),
            Place::Terminal => Ipv4Addr::new(10, high, low, 1),
            Place::Gateway => Ipv4Addr::new(198, 18, 0, 1),
            Place::Server => Ipv4Addr::new(198, 19, third, fourth),
        };
        let (first, count) = DYNAMIC_PORTS;
        let port = first + u16::try_from(number % u64::from(count)).unwrap_or_default();
        let Self { shift, mss, sack, .. } = *self;
        let listening = if let Upper::Udp { port } = upper { port } else { self.port };
        Ends { source: (address(near), port), destination: (address(far), listening), shift, mss, sack }
    }
}

impl Frame<'_> {
    /// Adds the packet's headers.
    pub(super) fn put(self, ends: Ends, passing: Passing, out: &mut Vec<u8>) {
        const VERSION_AND_LENGTH: u8 = 0x45;
        const DO_NOT_FRAGMENT: u16 = 0x4000;
        const HOPS: u8 = 64;
        let length = u16::try_from(passing.bytes.get()).unwrap_or(u16::MAX);
        let codepoint = match passing.codes.is_marked {
            true => CE,
            false if self.is_ecn_capable => ECT_0,
            false => 0,
        };
        let begin = out.len();
        out.extend([VERSION_AND_LENGTH, codepoint]);
        out.extend(length.to_be_bytes());
        // With DF set the identification means nothing (RFC 6864 §4.1).
        out.extend([0, 0]);
        out.extend(DO_NOT_FRAGMENT.to_be_bytes());
        let protocol = match self.upper {
            Upper::Tcp(_) => TCP,
            Upper::Udp { .. } | Upper::Multicast => UDP,
            Upper::Other => EXPERIMENT,
        };
        out.extend([HOPS, protocol, 0, 0]);
        out.extend(ends.source.0.octets());
        out.extend(ends.destination.0.octets());
        let sum = checksum(&out[begin..], 0);
        out[begin + 10..begin + 12].copy_from_slice(&sum.to_be_bytes());
        let transport = out.len();
        match self.upper {
            Upper::Tcp(segment) => {
                put_segment(segment, ends, out);
                seal(ends, passing, protocol, &mut out[transport..], 16);
            }
            Upper::Udp { .. } | Upper::Multicast => {
                let length = length.saturating_sub(IP_HEADER);
                [ends.source.1, ends.destination.1, length, 0].iter().for_each(|word| out.extend(word.to_be_bytes()));
                seal(ends, passing, protocol, &mut out[transport..], 6);
            }
            Upper::Other => {}
        }
    }
}

/// Fills the checksum in at its place (RFC 9293 §3.1, RFC 768).
fn seal(ends: Ends, passing: Passing, protocol: u8, transport: &mut [u8], place: usize) {
    let pseudo = [ends.source.0.octets(), ends.destination.0.octets()].concat();
    let length = u16::try_from(passing.bytes.get()).unwrap_or(u16::MAX).saturating_sub(IP_HEADER);
    let begin = sum(&pseudo) + u32::from(protocol) + u32::from(length);
    let sum = match checksum(transport, begin) {
        // Over UDP zero says that there is no checksum.
        0 if protocol == UDP => u16::MAX,
        sum => sum,
    };
    let sum = sum ^ u16::from(passing.codes.is_damaged);
    transport[place..place + 2].copy_from_slice(&sum.to_be_bytes());
}

const TCP: u8 = 6;
const UDP: u8 = 17;
/// RFC 3692 §2.1.
const EXPERIMENT: u8 = 253;
const IP_HEADER: u16 = 20;
/// RFC 3168 §5.
const ECT_0: u8 = 2;
const CE: u8 = 3;

/// Kinds of options.
mod option {
    pub(super) const NO_OPERATION: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
}

fn put_segment(segment: &Segment, ends: Ends, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend(ends.source.1.to_be_bytes());
    out.extend(ends.destination.1.to_be_bytes());
    out.extend(wrapped(segment.sequence.number()).to_be_bytes());
    out.extend(wrapped(segment.acknowledgment.map_or(0, |number| number.number())).to_be_bytes());
    out.extend([0, flags(segment)]);
    // A SYN's window is not scaled (RFC 7323 §2.2).
    let shift = if segment.syn { 0 } else { ends.shift };
    out.extend(u16::try_from(segment.window.get().div_ceil(1 << shift)).unwrap_or(u16::MAX).to_be_bytes());
    out.extend([0; 4]);
    put_options(segment, ends, out);
    let words = u8::try_from((out.len() - begin) / 4).unwrap_or(u8::MAX);
    out[begin + 12] = words << 4;
}

fn flags(segment: &Segment) -> u8 {
    let flags = [
        (segment.fin, 0x01),
        (segment.syn, 0x02),
        (segment.push, 0x08),
        (segment.acknowledgment.is_some(), 0x10),
        (segment.ece, 0x40),
        (segment.cwr, 0x80),
    ];
    flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum()
}

fn put_options(segment: &Segment, ends: Ends, out: &mut Vec<u8>) {
    use option::{MSS, NO_OPERATION, SACK, SACK_PERMITTED, WINDOW_SCALE};
    if segment.syn {
        out.extend([MSS, 4]);
        out.extend(ends.mss.to_be_bytes());
        out.extend(if ends.sack { [SACK_PERMITTED, 2] } else { [NO_OPERATION; 2] });
        if segment.options > 0 {
            put_timestamps(segment, out);
            out.extend([NO_OPERATION, WINDOW_SCALE, 3, ends.shift]);
        } else {
            out.extend([WINDOW_SCALE, 3, ends.shift, NO_OPERATION, NO_OPERATION, NO_OPERATION]);
        }
        return;
    }
    out.extend([NO_OPERATION; 2]);
    put_timestamps(segment, out);
    let blocks = u8::try_from(segment.sack.len()).unwrap_or_default();
    if blocks > 0 {
        out.extend([NO_OPERATION, NO_OPERATION, SACK, 2 + 8 * blocks]);
        for block in segment.sack_blocks() {
            out.extend(wrapped(block.start.number()).to_be_bytes());
            out.extend(wrapped(block.end.number()).to_be_bytes());
        }
    }
}

fn put_timestamps(segment: &Segment, out: &mut Vec<u8>) {
    out.extend([option::TIMESTAMPS, 10]);
    out.extend(segment.timestamps.value.to_be_bytes());
    out.extend(segment.timestamps.echo.to_be_bytes());
}

/// A number modulo 2³².
const fn wrapped(number: u64) -> u32 {
    (number & 0xffff_ffff) as u32
}

/// RFC 1071.
fn checksum(bytes: &[u8], begin: u32) -> u16 {
    let mut total = begin + sum(bytes);
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !u16::try_from(total).unwrap_or_default()
}

fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or_default());
    bytes.chunks(2).map(word).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Line, Side};
    use farhop_tcp::{Profile, SackBlock, Sequence, TcpConfig, Timestamps};
    use farhop_units::Bytes;

    fn at(number: u64) -> Sequence {
        Sequence::SYN + Bytes::new(number)
    }

    fn ends(upper: Upper<'_>) -> Ends {
        let mut scenario = farhop_scenario::open("demo", &[]).expect("it is shipped");
        scenario.tcp = TcpConfig { max_window: Some(Bytes::kib(1 << 10)), ..TcpConfig::of(Profile::Rfc) };
        let route = Route { line: Line { terminal: 258, server: 6 }, near: Place::Client, far: Place::Server };
        Addresses::new(&scenario).of(route, 16_385, upper)
    }

    fn packet(segment: &Segment, is_damaged: bool) -> Vec<u8> {
        let codes = Codes { is_marked: false, is_damaged };
        let passing = Passing { leg: 0, from: Side::Near, bytes: segment.wire_bytes(), place: 0, codes };
        let mut out = Vec::new();
        let upper = Upper::Tcp(segment);
        Frame { upper, terminal: 258, is_ecn_capable: false }.put(ends(upper), passing, &mut out);
        out
    }

    #[test]
    fn a_datagram_carries_ports_length_and_a_checksum() {
        let upper = Upper::Udp { port: 443 };
        for (bytes, is_damaged) in [(88, false), (1480, false), (1480, true)] {
            let codes = Codes { is_marked: false, is_damaged };
            let passing = Passing { leg: 0, from: Side::Near, bytes: Bytes::new(bytes), place: 0, codes };
            let mut out = Vec::new();
            Frame { upper, terminal: 258, is_ecn_capable: false }.put(ends(upper), passing, &mut out);
            assert_eq!((out.len(), out[9], &out[20..24]), (28, 17, &[192, 1, 1, 187][..]));
            assert_eq!(u64::from(u16::from_be_bytes([out[24], out[25]])), bytes - 20);
            let begin = sum(&out[12..20]) + 17 + u32::try_from(bytes).expect("small") - 20;
            assert_eq!(checksum(&out[20..], begin) != 0, is_damaged);
        }
    }

    /// What a receiver computes over pseudo-header, header and payload of zeros: 0 if nothing was damaged.
    fn verified(packet: &[u8], wire: u32) -> u16 {
        checksum(&packet[20..], sum(&packet[12..20]) + 6 + wire - 20)
    }

    #[test]
    fn a_syn_announces_what_the_connection_uses() {
        let syn = packet(&Segment { syn: true, window: Bytes::new(65_535), ..Segment::default() }, false);
        assert_eq!(syn.len(), 52, "all of it is captured");
        assert_eq!(
            (&syn[..4], &syn[12..24]),
            (&[0x45, 0, 0, 52][..], &[10, 1, 2, 2, 198, 19, 0, 7, 192, 1, 0, 80][..])
        );
        assert_eq!((syn[32], syn[33], &syn[34..36]), (0x80, 0x02, &[0xff, 0xff][..]));
        assert_eq!(syn[40..], [2, 4, 0x05, 0xa8, 4, 2, 3, 3, 5, 1, 1, 1]);
        assert_eq!((checksum(&syn[..20], 0), verified(&syn, 52)), (0, 0));
    }

    /// As Linux's does (tcp_options_write()).
    #[test]
    fn a_syn_with_room_has_timestamps_too() {
        let timestamps = Timestamps { value: 0x0102_0304, echo: 0 };
        let syn = packet(&Segment { syn: true, options: 8, timestamps, ..Segment::default() }, false);
        assert_eq!((syn.len(), syn[3], syn[32]), (60, 60, 0xa0));
        assert_eq!(syn[40..], [2, 4, 0x05, 0xa8, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 5]);
        assert_eq!(verified(&syn, 60), 0);
    }

    #[test]
    fn data_carries_numbers_window_and_selective_acknowledgements_but_no_payload() {
        let mut segment = Segment {
            sequence: at((1 << 32) + 7),
            acknowledgment: Some(at(1000)),
            payload: Bytes::new(1448),
            window: Bytes::kib(1 << 10),
            push: true,
            ..Segment::default()
        };
        segment.add_sack_block(SackBlock { start: at(2000), end: at(3000) });
        let data = packet(&segment, false);
        assert_eq!((data.len(), u16::from_be_bytes([data[2], data[3]])), (64, 1512));
        assert_eq!((&data[24..28], &data[28..32]), (&[0, 0, 0, 7][..], &1000_u32.to_be_bytes()[..]));
        assert_eq!((data[32], data[33], u16::from_be_bytes([data[34], data[35]])), (0xb0, 0x18, 32_768));
        assert_eq!(data[52..], [&[1, 1, 5, 10][..], &2000_u32.to_be_bytes(), &3000_u32.to_be_bytes()].concat());
        assert_eq!((checksum(&data[..20], 0), verified(&data, 1512)), (0, 0));
        assert_ne!(verified(&packet(&segment, true), 1512), 0, "what is damaged can be told");
    }
}
