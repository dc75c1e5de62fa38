//! What passes through a channel and what a channel says about it.

use crate::Port;
use farhop_units::{Bytes, Instant};

/// Anything with a size on the wire.
pub trait Packet {
    /// Bytes that occupy the serializer and the queue, IP header included; at most 4 GiB, the largest IP packet there is
    /// (RFC 2675). Asked once, when the packet enters the channel.
    fn wire_bytes(&self) -> Bytes;
}

/// What became of a packet. Outputs come in order of `at`, those of one instant in order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output<P> {
    /// The packet reached the other side.
    Deliver {
        /// When.
        at: Instant,
        /// The side it leaves from.
        port: Port,
        /// The packet itself.
        packet: P,
    },
    /// The packet went no further.
    Drop {
        /// When.
        at: Instant,
        /// The side it had entered from.
        port: Port,
        /// The packet itself.
        packet: P,
        /// Why.
        reason: DropReason,
    },
}

impl<P> Output<P> {
    /// When it happened.
    pub const fn at(&self) -> Instant {
        match self {
            Self::Deliver { at, .. } | Self::Drop { at, .. } => *at,
        }
    }
}

/// Why a packet went no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The queue had no room for it when it arrived.
    QueueFull,
    /// The loss model took it at the end of the pipe.
    Lost,
}

/// A packet on its way, with what every stage needs to know of it.
#[derive(Debug)]
pub(crate) struct Slot<P> {
    /// Number of its arrival at the channel: decides which of two events of the same instant comes first.
    pub(crate) number: u64,
    /// Size on the wire.
    pub(crate) bytes: Bytes,
    /// Where it entered.
    pub(crate) entered: Port,
    /// The packet itself.
    pub(crate) packet: P,
}
