//! Round-trip time (RFC 9002 §5, whose arithmetic is RFC 6298's with the receiver's own delay taken out).

use std::time::Duration;

/// RFC 9002 §6.1.2: timers are no finer than this.
pub(crate) const GRANULARITY: Duration = Duration::from_millis(1);

/// Smoothed round-trip time of one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct RttEstimator {
    smoothed: Option<(Duration, Duration)>,
    latest: Duration,
    min: Option<Duration>,
}

impl RttEstimator {
    /// A packet was acknowledged after `rtt`, of which the receiver says that it waited `delay` itself; returns the time without that.
    pub(crate) fn sample(&mut self, rtt: Duration, delay: Duration) -> Duration {
        self.latest = rtt;
        let min = self.min.map_or(rtt, |min| min.min(rtt));
        self.min = Some(min);
        // §5.3: never below the least time seen.
        let adjusted = rtt.checked_sub(delay).filter(|adjusted| *adjusted >= min).unwrap_or(rtt);
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((smoothed, variation)) => {
                ((smoothed * 7 + adjusted) / 8, (variation * 3 + smoothed.abs_diff(adjusted)) / 4)
            }
        });
        adjusted
    }

    /// The least time seen; `None` before the first sample.
    pub(crate) fn min(&self) -> Option<Duration> {
        self.min
    }

    /// Smoothed time plus four variations: how long an answer may take; `None` before the first sample.
    pub(crate) fn bound(&self) -> Option<Duration> {
        self.smoothed.map(|(smoothed, variation)| smoothed + (variation * 4).max(GRANULARITY))
    }

    /// The smoothed time; `None` before the first sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(|(smoothed, _)| smoothed)
    }

    /// The last sample or the smoothed time, whichever is longer; zero before the first sample.
    pub(crate) fn longer(&self) -> Duration {
        self.smoothed().unwrap_or_default().max(self.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_first_sample_gives_three_times_itself_and_a_steady_one_settles() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.bound(), None);
        rtt.sample(MS(500), Duration::ZERO);
        assert_eq!(rtt.bound(), Some(MS(1500)));
        (0..100).for_each(|_| _ = rtt.sample(MS(500), Duration::ZERO));
        assert_eq!(rtt.bound(), Some(MS(501)));
    }

    #[test]
    fn the_receivers_own_delay_does_not_count_unless_it_makes_the_path_shorter_than_it_is() {
        let mut rtt = RttEstimator::default();
        rtt.sample(MS(500), Duration::ZERO);
        rtt.sample(MS(525), MS(25));
        assert_eq!((rtt.smoothed(), rtt.longer()), (Some(MS(500)), MS(525)));
        rtt.sample(MS(500), MS(25));
        assert_eq!(rtt.smoothed(), Some(MS(500)));
    }
}
