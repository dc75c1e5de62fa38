//! Link rates in bits per second.

use crate::Bytes;
use crate::number::{self, ParseError, Unit};
use core::fmt;
use core::num::NonZeroU64;
use core::str::FromStr;
use std::time::Duration;

/// Bits per second, never zero. An unlimited rate is `None` of an `Option<Rate>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(NonZeroU64);

const ACCEPTED: &str = "a number above zero and bit/s, kbit/s, Mbit/s or Gbit/s, e.g. \"2048 kbit/s\"";
const UNITS: &[Unit] = &[("bit/s", 1), ("kbit/s", 1000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];

impl Rate {
    /// `bits` per second; `None` if zero.
    pub const fn from_bits_per_second(bits: u64) -> Option<Self> {
        match NonZeroU64::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// `count` Mbit/s.
    ///
    /// # Panics
    /// If `count` is zero.
    pub const fn mbps(count: u64) -> Self {
        Self(NonZeroU64::new(count * 1_000_000).expect("a rate is above zero"))
    }

    /// `count` kbit/s.
    ///
    /// # Panics
    /// If `count` is zero.
    pub const fn kbps(count: u64) -> Self {
        Self(NonZeroU64::new(count * 1000).expect("a rate is above zero"))
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// Bits per second, as a real number.
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 bit/s")]
    pub fn as_f64(self) -> f64 {
        self.0.get() as f64
    }

    /// The rate that carries `bytes` in `span`; `None` if that is below one bit per second or `span` is zero.
    pub fn of(bytes: Bytes, span: Duration) -> Option<Self> {
        let bits = u128::from(bytes.get()) * 8 * 1_000_000_000;
        let rate = bits.checked_div(span.as_nanos())?;
        Self::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// How long `bytes` occupy a serializer of this rate, rounded up to the nanosecond. Saturates after 584 years.
    pub fn transmission_time(self, bytes: Bytes) -> Duration {
        let bit_nanos = u128::from(bytes.get()) * 8 * 1_000_000_000;
        let nanos = bit_nanos.div_ceil(u128::from(self.0.get()));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Whole bytes this rate carries in `span`. Saturates.
    pub fn bytes_in(self, span: Duration) -> Bytes {
        let bits = u128::from(self.0.get()).saturating_mul(span.as_nanos()) / 1_000_000_000;
        Bytes::new(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bits = number::parse(text, UNITS, ACCEPTED)?;
        Self::from_bits_per_second(bits).ok_or_else(|| ParseError::new(format!("\"{text}\" is zero"), ACCEPTED))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&number::format(self.0.get(), UNITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_packet_at_100_mbit_takes_120_us() {
        assert_eq!(Rate::mbps(100).transmission_time(Bytes::new(1500)), Duration::from_micros(120));
    }

    #[test]
    fn zero_and_unknown_units_are_refused() {
        assert_eq!("0 kbit/s".parse::<Rate>().unwrap_err().problem, "\"0 kbit/s\" is zero");
        assert_eq!("20 mbps".parse::<Rate>().unwrap_err().problem, "unknown unit \"mbps\"");
    }

    #[test]
    fn rates_print_as_they_are_written() {
        assert_eq!(Rate::from_bits_per_second(900_700).map(|r| r.to_string()).as_deref(), Some("900.7 kbit/s"));
    }

    proptest! {
        #[test]
        fn no_more_bytes_fit_than_were_sent(bits in 1_u64.., bytes in 0_u64..1 << 40) {
            let rate = Rate::from_bits_per_second(bits).expect("above zero");
            let span = rate.transmission_time(Bytes::new(bytes));
            prop_assume!(span.as_nanos() < u128::from(u64::MAX));
            // Rounding the time up by less than a nanosecond can add at most one nanosecond's worth of bytes.
            let slack = bits / 8_000_000_000 + 1;
            let carried = rate.bytes_in(span).get();
            prop_assert!(carried >= bytes && carried <= bytes + slack);
        }
    }
}
