//! How TCP endpoints behave, as a scenario describes it.

use crate::HostTimes;
use crate::behavior::Behavior;
use farhop_units::Bytes;

/// Bytes of headers on every TCP segment: IPv4 20, TCP 20, timestamps option 12 (RFC 7323). A SYN may have more ([`TcpConfig::syn_bytes`]).
pub const HEADER_BYTES: Bytes = Bytes::new(52);

/// Those of the timestamps option.
pub(crate) const OPTION_BYTES: Bytes = Bytes::new(12);

/// RFC 7323 §2.3.
const LARGEST_SCALE: u8 = 14;

/// Where the defaults of everything else come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Linux 6.x.
    Linux,
    /// The BSD stacks of the papers' time (4.4BSD and its descendants, 1997).
    Bsd1997,
    /// The RFCs to the letter.
    Rfc,
}

impl Profile {
    /// The spelling in files, tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Bsd1997 => "bsd-1997",
            Self::Rfc => "rfc",
        }
    }
}

/// Congestion control. With selective acknowledgements ([`TcpConfig::sack`]) Reno and NewReno are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 5681, fast recovery ends at the first new ACK.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// BBR version 1, as in Linux.
    Bbr,
}

/// How the receiver acknowledges the first data segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstAck {
    /// At once.
    Immediate,
    /// With the second segment or when the delayed-ACK timer ends.
    Delayed,
}

/// How much of what an acknowledgement covers counts for the sender's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteCounting {
    /// Acknowledgements count, each as one segment at most (RFC 5681 equations 2 and 3).
    Packets,
    /// Bytes, in slow start so many segments of each acknowledgement at most: L of RFC 3465 §2.2, which allows 1 and 2. After a timeout it
    /// is 1 until slow start is over (§2.3).
    Segments(u16),
    /// All bytes, as Linux counts.
    Unlimited,
}

impl ByteCounting {
    /// Whether all of what an acknowledgement of so many segments covers counts in slow start.
    pub fn is_whole_of(self, segments: u16) -> bool {
        match self {
            Self::Packets => segments <= 1,
            Self::Segments(most) => segments <= most,
            Self::Unlimited => true,
        }
    }
}

/// The TCP of both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpConfig {
    /// Source of the defaults.
    pub profile: Profile,
    /// Congestion control.
    pub congestion: Congestion,
    /// Initial congestion window, in segments.
    pub initial_window: u32,
    /// Largest window the receiver advertises; `None` is unlimited.
    pub max_window: Option<Bytes>,
    /// The largest receive buffer, in memory, that Linux's autotuning may reach (`tcp_rmem`'s third value); the window is about
    /// three fifths of it. At or below [`TcpConfig::LINUX_INITIAL_BUFFER`] nothing is tuned. Other profiles do not tune.
    pub receive_buffer: Bytes,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Is the first segment's ACK delayed?
    pub first_ack: FirstAck,
    /// Selective acknowledgements (RFC 2018), if both ends want them.
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168), if both ends want it.
    pub ecn: bool,
    /// How the window grows by what is acknowledged.
    pub byte_counting: ByteCounting,
    /// How long Linux's hosts take. Other profiles' take no time.
    pub host_times: HostTimes,
}

impl TcpConfig {
    /// The receive buffer that Linux starts from (`tcp_rmem`'s second value).
    pub const LINUX_INITIAL_BUFFER: Bytes = Bytes::kib(128);
    /// The receive buffer that Linux ends at unless told otherwise (`tcp_rmem`'s third value in 6.x on machines with memory to spare).
    pub const LINUX_LARGEST_BUFFER: Bytes = Bytes::kib(32 << 10);

    /// `net.core.rmem_max` of Linux 6.18: no window is scaled for less.
    const LINUX_LARGEST_SETTABLE_BUFFER: Bytes = Bytes::kib(4 << 10);
    /// What is in one piece of Linux's memory with a packet's payload (headers, headroom, struct skb_shared_info), pieces being powers of two,
    /// and struct sk_buff beside it (6.18 through a TUN device).
    const AROUND_PAYLOAD: u64 = 438;
    const SK_BUFF: u64 = 256;

    /// How much payload of full segments Linux offers to take where its buffer has this size (tcp_win_from_space()): what the packet that has just
    /// come leaves free of it, as tcp_grow_window() looks when it has, less what other packets take for themselves, in units of the window's scale.
    /// Measured with segments of 1000, 1200 and 1448 bytes and buffers from 16 KiB to 512 KiB, to the byte.
    pub fn payload_in(&self, buffer: Bytes) -> Bytes {
        let mss = self.mss.get();
        let packet = (mss + Self::AROUND_PAYLOAD).next_power_of_two() + Self::SK_BUFF;
        let share = u128::from((256 * mss / packet).max(1));
        let payload = u128::from(buffer.get().saturating_sub(packet)) * share / 256;
        let unit = 1 << self.window_scale();
        let offer = Bytes::new(u64::try_from(payload).unwrap_or(u64::MAX).div_ceil(unit).saturating_mul(unit));
        // A segment fits, or what a small buffer offers before the first one.
        offer.max(self.mss.min(Bytes::new(buffer.get() / 2))).max(Bytes::new(1))
    }

    /// Bits by which the windows of all segments but SYNs are scaled.
    pub fn window_scale(&self) -> u8 {
        let limit = self.max_window.unwrap_or(Bytes::new(u64::MAX));
        let buffer = self.receive_buffer.max(Self::LINUX_LARGEST_SETTABLE_BUFFER);
        let largest = if self.profile == Profile::Linux { limit.min(buffer) } else { limit };
        let scale = (0..LARGEST_SCALE).find(|scale| largest.get() >> scale <= u64::from(u16::MAX));
        scale.unwrap_or(LARGEST_SCALE)
    }

    /// A SYN's size on the wire, with headers and options.
    pub fn syn_bytes(&self) -> Bytes {
        HEADER_BYTES + Bytes::new(Behavior::of(self).syn_options.into())
    }

    /// The defaults of `profile`. Linux: cubic, initial window 10 (RFC 6928), no limit on the window. BSD 1997: Reno, initial
    /// window 1, 64 KiB without window scaling, no SACK. RFC: NewReno, initial window 10. MSS 1448 = 1500 − 52. No ECN. Linux counts all
    /// bytes acknowledged (tcp_slow_start(), tcp_cong_avoid_ai()), the others acknowledgements.
    pub fn of(profile: Profile) -> Self {
        let (congestion, initial_window, max_window, first_ack) = match profile {
            Profile::Linux => (Congestion::Cubic, 10, None, FirstAck::Immediate),
            Profile::Bsd1997 => (Congestion::Reno, 1, Some(Bytes::new(65_535)), FirstAck::Delayed),
            Profile::Rfc => (Congestion::NewReno, 10, None, FirstAck::Delayed),
        };
        let (receive_buffer, mss) = (Self::LINUX_LARGEST_BUFFER, Bytes::new(1448));
        let sack = profile != Profile::Bsd1997;
        let byte_counting = if profile == Profile::Linux { ByteCounting::Unlimited } else { ByteCounting::Packets };
        Self {
            profile,
            congestion,
            initial_window,
            max_window,
            receive_buffer,
            mss,
            first_ack,
            sack,
            ecn: false,
            byte_counting,
            host_times: HostTimes::quiet(),
        }
    }
}
