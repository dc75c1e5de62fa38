//! What passes through a channel and what a channel says about it.

use crate::Port;
use farhop_units::{Bytes, Instant};

/// Anything with a size on the wire. What a kind of packet does not know about itself has a sensible answer already.
pub trait Packet: Clone {
    /// Bytes that occupy the serializer and the queue, IP header included; at least one and at most 4 GiB, the largest IP
    /// packet there is (RFC 2675). Asked once, when the packet enters the channel.
    fn wire_bytes(&self) -> Bytes;

    /// Where a packet that enters at the gateway goes. One that enters at a terminal goes to the gateway.
    fn destination(&self) -> Destination {
        Destination::Terminal(0)
    }

    /// What packets of one transport connection have in common (a hash of their addresses, ports and protocol), for queues
    /// that are fair between flows.
    fn flow(&self) -> u64 {
        0
    }

    /// Its traffic class, for queues that serve one class before another.
    fn class(&self) -> Class {
        Class::Normal
    }

    /// Whether its sender understands explicit congestion notification (RFC 3168).
    fn is_ecn_capable(&self) -> bool {
        false
    }

    /// Congestion was experienced (RFC 3168: the CE codepoint); only packets that are ECN capable are marked.
    fn mark_congestion(&mut self) {}

    /// The link has flipped a bit; `draw` is random and decides which.
    fn corrupt(&mut self, draw: u64) {
        let _ = draw;
    }
}

/// Where a packet that enters at the gateway goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// One terminal. A packet for a terminal that the channel does not have is dropped as it enters.
    Terminal(u16),
    /// Every terminal: sent once, received by all.
    All,
}

/// A traffic class; under strict priority, earlier ones go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Before everything else: multicast of a satellite gateway (zhou-2004), network control, voice.
    High,
    /// Ordinary traffic.
    Normal,
    /// Lower effort (RFC 8622): only what the others leave.
    Low,
}

impl Class {
    /// All of them, most urgent first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// The spelling in logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

/// What became of a packet. Outputs come in order of `at`, those of one instant in order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output<P> {
    /// The packet reached the other side. One that the link has duplicated is delivered twice, one for all terminals at
    /// each of them.
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
    /// The queue had no room for it, or made room for another.
    QueueFull,
    /// Active queue management dropped it to signal congestion.
    QueueDelay,
    /// The loss model took it at the end of the pipe.
    Lost,
    /// It left the serializer or arrived during an outage.
    Outage,
    /// Random access gave it up after too many collisions.
    Collisions,
    /// It was for a terminal that does not exist.
    NoTerminal,
}

impl DropReason {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::QueueFull, Self::QueueDelay, Self::Lost, Self::Outage, Self::Collisions, Self::NoTerminal];

    /// The spelling in logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::QueueDelay => "queue-delay",
            Self::Lost => "lost",
            Self::Outage => "outage",
            Self::Collisions => "collisions",
            Self::NoTerminal => "no-terminal",
        }
    }
}

/// A packet on its way, with what every stage needs to know of it.
#[derive(Debug, Clone)]
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

impl<P> Slot<P> {
    /// The same with another packet, or more than the packet.
    pub(crate) fn map<Q>(self, f: impl FnOnce(P) -> Q) -> Slot<Q> {
        let Self { number, bytes, entered, packet } = self;
        Slot { number, bytes, entered, packet: f(packet) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A packet for tests.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Datagram {
        pub(crate) id: u64,
        pub(crate) bytes: u64,
    }

    impl Packet for Datagram {
        fn wire_bytes(&self) -> Bytes {
            Bytes::new(self.bytes)
        }
    }
}
