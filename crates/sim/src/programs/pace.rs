//! A response that its server releases bit by bit: segment by segment, so that the last one leaves when the server's time is over, as
//! nz-us-2000 has it.

use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// How a server releases a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// From the request's arrival to the last segment.
    pub(crate) takes: Duration,
    /// What is released at once.
    pub(crate) segment: Bytes,
    /// The response, its head included.
    pub(crate) whole: Bytes,
}

impl Pace {
    /// How much has been released when the segment after `before` has.
    pub(super) fn next(&self, before: Bytes) -> Bytes {
        (before + self.segment.max(Bytes::new(1))).min(self.whole)
    }

    /// When so much is released of a response that was asked for at `asked`.
    pub(super) fn due(&self, asked: Instant, released: Bytes) -> Instant {
        asked + self.takes.mul_f64(released.as_f64() / self.whole.as_f64().max(1.0))
    }
}
