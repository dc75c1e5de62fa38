//! A point in time: nanoseconds since the run began.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// Nanoseconds since the run began; the same type for virtual time and, in a shell, for real time. The last there is, 584 years later, is
/// the end of time.
///
/// What is kept is one more, so that a timer that may not run, `Option<Instant>`, needs no more room than one that does: endpoints have
/// many, and there are many endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(NonZeroU64);

impl Instant {
    /// The moment the run began.
    pub const START: Self = Self(NonZeroU64::MIN);

    /// The instant `nanos` ns after the run began.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// Nanoseconds since the run began.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Seconds since the run began.
    pub fn as_secs_f64(self) -> f64 {
        self.since(Self::START).as_secs_f64()
    }

    /// Time from `earlier` to `self`, zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }
}

impl Default for Instant {
    fn default() -> Self {
        Self::START
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates at the end of time.
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// The same as [`Instant::since`].
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.as_nanos();
        write!(f, "{}.{:09} s", nanos / 1_000_000_000, nanos % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_may_not_run_takes_no_more_room() {
        assert_eq!(size_of::<Option<Instant>>(), 8);
        assert_eq!([0, 7, u64::MAX].map(|nanos| Instant::from_nanos(nanos).as_nanos()), [0, 7, u64::MAX - 1]);
        assert_eq!((Instant::default(), Instant::START.as_nanos()), (Instant::START, 0));
    }

    #[test]
    fn spans_never_go_negative() {
        let later = Instant::START + Duration::from_millis(3);
        assert_eq!(Instant::START.since(later), Duration::ZERO);
        assert_eq!(later - Instant::START, Duration::from_millis(3));
        assert_eq!(Instant::from_nanos(u64::MAX) + Duration::MAX, Instant::from_nanos(u64::MAX));
        assert_eq!(later.to_string(), "0.003000000 s");
    }
}
