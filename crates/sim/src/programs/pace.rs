//! A response that its server releases bit by bit: segment by segment, so that the last one leaves when the server's time is over, as
//! nz-us-2000 has it.

use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// A response is released in so many parts at most, however large a log says it is: those larger than 90 MB not segment by segment.
const MOST_PARTS: u64 = 1 << 16;

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
        let part = self.segment.get().max(self.whole.get().div_ceil(MOST_PARTS)).max(1);
        Bytes::new(before.get().saturating_add(part)).min(self.whole)
    }

    /// When so much is released of a response that was asked for at `asked`.
    pub(super) fn due(&self, asked: Instant, released: Bytes) -> Instant {
        asked + self.takes.mul_f64(released.as_f64() / self.whole.as_f64().max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In how many parts a response of so many bytes leaves.
    fn parts(whole: u64) -> u64 {
        let pace = Pace { takes: Duration::from_secs(1), segment: Bytes::new(1460), whole: Bytes::new(whole) };
        let (mut released, mut parts) = (Bytes::ZERO, 0);
        while released < pace.whole {
            let next = pace.next(released);
            assert!(next > released && parts < 10 * MOST_PARTS, "{next} after {released}");
            (released, parts) = (next, parts + 1);
        }
        parts
    }

    #[test]
    fn a_response_leaves_segment_by_segment_and_an_absurd_one_in_so_many_parts() {
        assert_eq!([1, 1460, 1461, 1460 * 1000].map(parts), [1, 1, 2, 1000]);
        assert_eq!([1460 * MOST_PARTS, 1_000_000_000_000, 1 << 60, u64::MAX].map(parts), [MOST_PARTS; 4]);
    }
}
