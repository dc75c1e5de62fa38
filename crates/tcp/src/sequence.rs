//! Sequence numbers and the spans between them (RFC 9293 §3.4).
//!
//! A SYN and a FIN each take one number, every byte of data takes one. Left out: the wrap at 2³² and with it the comparison
//! modulo 2³² and PAWS (RFC 7323 §5); a simulated connection counts on and never wraps. Initial sequence numbers are zero.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, Sub};
use farhop_units::Bytes;

/// A place in one direction's sequence space, counted from that direction's SYN, which is number 0.
///
/// Kept as the number plus one, so that an `Option<Sequence>` takes no more room than a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(NonZeroU64);

impl Sequence {
    /// The SYN.
    pub const SYN: Self = Self(NonZeroU64::MIN);
    /// The first byte of data.
    pub const FIRST_BYTE: Self = Self::SYN.next();

    /// The number right after this one.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The number right before this one; the SYN has none and gives itself.
    pub(crate) fn previous(self) -> Self {
        NonZeroU64::new(self.0.get() - 1).map_or(self, Self)
    }

    /// How many numbers lie between the SYN and this one.
    pub const fn number(self) -> u64 {
        self.0.get() - 1
    }
}

impl Default for Sequence {
    fn default() -> Self {
        Self::SYN
    }
}

impl Add<Bytes> for Sequence {
    type Output = Self;

    /// Saturates after 16 EiB.
    fn add(self, span: Bytes) -> Self {
        Self(self.0.saturating_add(span.get()))
    }
}

impl Sub for Sequence {
    type Output = Bytes;

    /// The span from `earlier` to `self`, zero if `earlier` is later.
    fn sub(self, earlier: Self) -> Bytes {
        Bytes::new(self.0.get().saturating_sub(earlier.0.get()))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sequence({self})")
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
        assert_eq!((Sequence::SYN.number(), end.to_string().as_str()), (0, "1449"));
    }
}
