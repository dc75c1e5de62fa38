//! One segment as the sender remembers it until it is acknowledged.

use crate::Sequence;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// What one segment of the sender's stream holds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Piece {
    pub(crate) sequence: Sequence,
    pub(crate) payload: Bytes,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) push: bool,
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

/// One segment as it was last sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) piece: Piece,
    pub(crate) at: Instant,
    /// It was sent more than once.
    pub(crate) again: bool,
    pub(crate) fate: Fate,
}

impl Sent {
    /// Order of sending; segments of one instant were sent in the order of their numbers.
    pub(crate) fn order(&self) -> (Instant, Sequence) {
        (self.at, self.piece.end())
    }
}

/// What an acknowledgement newly covered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Covered {
    pub(crate) bytes: Bytes,
    pub(crate) segments: u64,
    /// Age of the oldest and of the latest segment covered that were sent once (RFC 6298 §3).
    pub(crate) first_rtt: Option<Duration>,
    pub(crate) last_rtt: Option<Duration>,
}
