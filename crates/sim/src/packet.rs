//! What travels over legs: the packets of every transport.

use crate::network::Content;
use farhop_tcp::{Codepoint, Segment};
use farhop_transport::rwbp;
use farhop_units::Bytes;

/// A packet of some transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packet {
    Tcp(Segment),
    Rwbp(rwbp::Packet),
}

impl Content for Packet {
    fn wire_bytes(&self) -> Bytes {
        match self {
            Self::Tcp(segment) => segment.wire_bytes(),
            Self::Rwbp(packet) => packet.wire_bytes(),
        }
    }

    fn is_ecn_capable(&self) -> bool {
        matches!(self, Self::Tcp(segment) if segment.codepoint != Codepoint::NotCapable)
    }

    fn mark_congestion(&mut self) {
        if let Self::Tcp(segment) = self {
            segment.codepoint = Codepoint::Experienced;
        }
    }

    fn segment(&self) -> Option<&Segment> {
        match self {
            Self::Tcp(segment) => Some(segment),
            Self::Rwbp(_) => None,
        }
    }
}
