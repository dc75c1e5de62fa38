//! Sizes in bytes.

use crate::number::{self, ParseError, Unit};
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use core::str::FromStr;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

const ACCEPTED: &str =
    "a number and B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024), e.g. \"256 kB\"";
const DECIMAL: &[Unit] = &[("B", 1), ("kB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000)];
const UNITS: &[Unit] = &[
    ("B", 1),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// `count` thousand bytes.
    pub const fn kb(count: u64) -> Self {
        Self(count * 1000)
    }

    /// `count` times 1024 bytes.
    pub const fn kib(count: u64) -> Self {
        Self(count << 10)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bits, as a real number.
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 bits")]
    pub fn bits_f64(self) -> f64 {
        self.0 as f64 * 8.0
    }

    /// The number of bytes, as a real number.
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 bytes")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// `self - other`, zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        number::parse(text, UNITS, ACCEPTED).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&number::format(self.0, DECIMAL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_prefixes_differ() {
        assert_eq!("5 kB".parse(), Ok(Bytes::kb(5)));
        assert_eq!("16 KiB".parse(), Ok(Bytes::kib(16)));
        assert_eq!("2.5 MB".parse(), Ok(Bytes::new(2_500_000)));
        assert_eq!(Bytes::new(1_849_285).to_string(), "1.849285 MB");
    }

    #[test]
    fn a_bit_is_not_a_byte() {
        assert_eq!("5 kb".parse::<Bytes>().unwrap_err().problem, "unknown unit \"kb\"");
    }
}
