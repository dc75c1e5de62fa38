//! Sequence numbers and the spans between them (RFC 9293 §3.4).
//!
//! A SYN and a FIN each take one number, every byte of data takes one. Left out: the wrap at 2³² and with it the comparison
//! modulo 2³² and PAWS (RFC 7323 §5); a simulated connection counts on and never wraps. Initial sequence numbers are zero.

use core::fmt;
use core::ops::{Add, Sub};
use farhop_units::Bytes;

/// A place in one direction's sequence space, counted from that direction's SYN, which is number 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sequence(u64);

impl Sequence {
    /// The SYN.
    pub const SYN: Self = Self(0);
    /// The first byte of data.
    pub const FIRST_BYTE: Self = Self(1);

    /// The number right after this one.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl Add<Bytes> for Sequence {
    type Output = Self;
    fn add(self, span: Bytes) -> Self {
        Self(self.0 + span.get())
    }
}

impl Sub for Sequence {
    type Output = Bytes;

    /// The span from `earlier` to `self`, zero if `earlier` is later.
    fn sub(self, earlier: Self) -> Bytes {
        Bytes::new(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_begins_after_the_syn() {
        assert_eq!(Sequence::SYN.next(), Sequence::FIRST_BYTE);
        let end = Sequence::FIRST_BYTE + Bytes::new(1448);
        assert_eq!(end - Sequence::FIRST_BYTE, Bytes::new(1448));
        assert_eq!(Sequence::FIRST_BYTE - end, Bytes::ZERO, "spans never go negative");
    }
}
