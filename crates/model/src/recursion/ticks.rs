//! Time inside the recursion: nanoseconds since the first action, and how long bytes take in fractions of them.
//!
//! Events are at whole nanoseconds, as on hosts; only what a busy serializer has sent is kept in fractions, so that n packets back to
//! back take as long as n packets do. Everything saturates after 584 years.

use core::ops::{Add, AddAssign, Sub};
use farhop_units::Rate;
use std::time::Duration;

/// A point in time, or a span of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Ticks(u64);

impl Ticks {
    pub(crate) const ZERO: Self = Self(0);
    /// What never happens is due then.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    pub(crate) const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub(crate) const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1000))
    }

    pub(crate) const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The span, or the furthest there is.
    pub(crate) fn of(span: Duration) -> Self {
        u64::try_from(span.as_nanos()).map_or(Self::NEVER, Self)
    }

    pub(crate) const fn to_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    pub(crate) const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    pub(crate) const fn per(self, count: u64) -> Self {
        Self(self.0 / count)
    }

    /// What is left of it beyond whole `spans`.
    pub(crate) const fn within(self, spans: Self) -> Self {
        match self.0.checked_rem(spans.0) {
            Some(rest) => Self(rest),
            None => self,
        }
    }

    /// The number of whole `spans` in this one.
    pub(crate) const fn whole(self, spans: Self) -> u64 {
        match self.0.checked_div(spans.0) {
            Some(count) => count,
            None => 0,
        }
    }

    /// `self / whole` of `total`.
    pub(crate) fn share_of(self, total: Self, whole: Self) -> Self {
        let share = u128::from(self.0) * u128::from(total.0) / u128::from(whole.0.max(1));
        Self(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// Full milliseconds, as timestamps count them.
    pub(crate) const fn whole_millis(self) -> Self {
        Self(self.0 / 1_000_000 * 1_000_000)
    }

    pub(crate) const fn raw(self) -> u64 {
        self.0
    }

    #[expect(clippy::cast_precision_loss, reason = "2^-53 of the time is far below a packet")]
    pub(crate) fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Ticks {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign for Ticks {
    fn add_assign(&mut self, span: Self) {
        *self = *self + span;
    }
}

impl Sub for Ticks {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        self.since(earlier)
    }
}

/// A point in time or a span, as whole nanoseconds in the upper half, and parts of one in the lower: what a busy serializer has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Fine(u128);

impl Fine {
    /// Nothing lasts longer.
    pub(crate) const END: Self = Self(u128::MAX);

    /// The first whole nanosecond that is not before it.
    #[expect(clippy::cast_possible_truncation, reason = "each is one half")]
    pub(crate) fn rounded_up(self) -> Ticks {
        let [whole, part] = [(self.0 >> u64::BITS) as u64, self.0 as u64];
        Ticks(whole.saturating_add(u64::from(part > 0)))
    }

    pub(crate) fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    pub(crate) fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(u128::from(count)))
    }
}

impl From<Ticks> for Fine {
    fn from(time: Ticks) -> Self {
        Self(u128::from(time.0) << u64::BITS)
    }
}

impl Add for Fine {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// Fractions of a nanosecond that a byte's time is known to, as a shift.
const FRACTION_BITS: u32 = 32;

/// How long so many bytes take: 2⁻³² ns per byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pace(u128);

impl Pace {
    /// No time at all for an unlimited rate; `redundancy` is bits sent per bit carried.
    pub(crate) fn of(rate: Option<Rate>, redundancy: (u32, u32)) -> Self {
        let Some(rate) = rate else { return Self(0) };
        let (sent, carried) = (u128::from(redundancy.0), u128::from(redundancy.1.max(1)));
        let per_second = (8_000_000_000_u128 << FRACTION_BITS) * sent;
        Self(per_second / (u128::from(rate.bits_per_second()) * carried))
    }

    /// So many bytes in `span`; no time for no span.
    pub(crate) fn measured(span: Ticks, bytes: u64) -> Self {
        Self((u128::from(span.0) << FRACTION_BITS) / u128::from(bytes.max(1)))
    }

    /// `numerator / denominator` times as slow.
    pub(crate) fn scaled(self, numerator: u32, denominator: u32) -> Self {
        Self(self.0.saturating_mul(u128::from(numerator)) / u128::from(denominator.max(1)))
    }

    pub(crate) fn fine(self, bytes: u64) -> Fine {
        Fine(self.0.saturating_mul(u128::from(bytes)).saturating_mul(1 << (u64::BITS - FRACTION_BITS)))
    }

    /// To the nearest nanosecond.
    pub(crate) fn time(self, bytes: u64) -> Ticks {
        let half = Fine(1 << (u64::BITS - 1));
        Ticks(((self.fine(bytes) + half).0 >> u64::BITS) as u64)
    }

    pub(crate) const fn is_instant(self) -> bool {
        self.0 == 0
    }
}

impl PartialOrd for Pace {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pace {
    /// The slower is the greater.
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_times_are_exact_to_a_fraction_of_a_nanosecond() {
        assert_eq!(Pace::of(Some(Rate::kbps(2048)), (1, 1)).time(1500).to_duration(), Duration::from_nanos(5_859_375));
        assert_eq!(Pace::of(Some(Rate::mbps(3)), (16, 15)).time(1500).to_duration(), Duration::from_nanos(4_266_667));
        assert_eq!(Pace::of(None, (1, 1)).time(u64::MAX), Ticks::ZERO);
        let million = Pace::of(Some(Rate::mbps(3)), (1, 1)).fine(1).times(1_000_000_000).rounded_up();
        assert_eq!(million.to_duration(), Duration::from_nanos(2_666_666_666_667));
    }

    #[test]
    fn nothing_overflows() {
        let slowest = Pace::of(Rate::from_bits_per_second(1), (u32::MAX, 1));
        assert_eq!(slowest.time(u64::MAX), Ticks::NEVER);
        assert_eq!(Ticks::NEVER + Ticks::from_millis(1), Ticks::NEVER);
        assert_eq!(Ticks::of(Duration::MAX), Ticks::NEVER);
        assert_eq!(Ticks::from_millis(1).whole(Ticks::ZERO), 0);
    }
}
