//! Exact sums of what packets cost.
//!
//! A packet of `B` bytes costs `(B + overhead) × redundancy × u/b` units, where `b` bytes take `u` units of whatever
//! the link's capacity is counted in: nanoseconds of a constant rate, nanobits of a changing one, delivery
//! opportunities. The factor is a fraction `n/d` in lowest terms, so the sum is a whole number and a fraction of
//! denominator `d`.

use crate::Framing;
use core::num::NonZeroU64;
use farhop_units::Bytes;

/// A sum of units.
#[derive(Debug)]
pub(super) struct Tally {
    whole: u128,
    overhead: u64,
    factor: Factor,
}

/// Units per byte with redundancy, `n/d`, and the fraction of the sum, in `1/d`.
#[derive(Debug)]
enum Factor {
    /// Both fit 64 bits, as they do but for rates and redundancies of many digits.
    Narrow { numerator: u64, denominator: NonZeroU64, fraction: u64 },
    /// They do not.
    Wide(Box<Wide>),
}

#[derive(Debug)]
struct Wide {
    numerator: u128,
    denominator: u128,
    fraction: u128,
}

impl Tally {
    /// No units yet; each `bytes` bytes (not 0) on the wire take `units` units.
    pub(super) fn new(framing: Framing, units: u64, bytes: u64) -> Self {
        let (numerator, denominator) = units_per_byte(framing, units, bytes);
        Self { whole: 0, overhead: framing.overhead.get(), factor: Factor::new(numerator, denominator) }
    }

    /// Begins at `whole` units.
    pub(super) fn restart(&mut self, whole: u128) {
        self.whole = whole;
        match &mut self.factor {
            Factor::Narrow { fraction, .. } => *fraction = 0,
            Factor::Wide(wide) => wide.fraction = 0,
        }
    }

    /// The sum, rounded up, after adding a packet's units. Saturates.
    pub(super) fn add(&mut self, bytes: Bytes) -> u128 {
        let units = self.factor.add(bytes.get().saturating_add(self.overhead));
        self.skip(units)
    }

    /// The sum, rounded up, after adding whole units. Saturates.
    pub(super) fn skip(&mut self, units: u128) -> u128 {
        self.whole = self.whole.saturating_add(units);
        self.whole.saturating_add(u128::from(self.factor.has_fraction()))
    }
}

/// Units per byte of a packet, redundancy included, if each `bytes` bytes on the wire take `units`: a fraction in lowest terms.
pub(super) fn units_per_byte(framing: Framing, units: u64, bytes: u64) -> (u128, u128) {
    let (sent, useful) = framing.redundancy;
    let numerator = u128::from(units) * u128::from(sent.get());
    let denominator = u128::from(bytes.max(1)) * u128::from(useful.get());
    let divisor = gcd(numerator, denominator);
    (numerator / divisor, denominator / divisor)
}

impl Factor {
    fn new(numerator: u128, denominator: u128) -> Self {
        match (u64::try_from(numerator), u64::try_from(denominator).ok().and_then(NonZeroU64::new)) {
            (Ok(numerator), Some(denominator)) => Self::Narrow { numerator, denominator, fraction: 0 },
            _ => Self::Wide(Box::new(Wide { numerator, denominator, fraction: 0 })),
        }
    }

    fn has_fraction(&self) -> bool {
        match self {
            Self::Narrow { fraction, .. } => *fraction > 0,
            Self::Wide(wide) => wide.fraction > 0,
        }
    }

    /// Whole units of `bytes` and the fraction so far; what remains is the new fraction. Saturates.
    fn add(&mut self, bytes: u64) -> u128 {
        match self {
            Self::Narrow { numerator, denominator, fraction } => {
                if let Some(work) = bytes.checked_mul(*numerator).and_then(|work| work.checked_add(*fraction)) {
                    *fraction = work % *denominator;
                    return u128::from(work / *denominator);
                }
                // A packet above 2 GB.
                let work = u128::from(bytes) * u128::from(*numerator) + u128::from(*fraction);
                let denominator = u128::from(denominator.get());
                *fraction = u64::try_from(work % denominator).expect("a remainder is below its 64-bit divisor");
                work / denominator
            }
            Self::Wide(wide) => {
                let Wide { numerator, denominator, fraction } = &mut **wide;
                let work = u128::from(bytes).checked_mul(*numerator).and_then(|work| work.checked_add(*fraction));
                let (units, rest) = work.map_or((u128::MAX, 0), |work| (work / *denominator, work % *denominator));
                *fraction = rest;
                units
            }
        }
    }
}

const fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
