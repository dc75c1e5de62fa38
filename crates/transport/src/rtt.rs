//! Round-trip time (RFC 9002 §5, whose arithmetic is RFC 6298's).

use std::time::Duration;

/// RFC 9002 §6.1.2: timers are no finer than this.
const GRANULARITY: Duration = Duration::from_millis(1);

/// Smoothed round-trip time of one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct RttEstimator {
    smoothed: Option<(Duration, Duration)>,
}

impl RttEstimator {
    /// A packet was acknowledged after `rtt`.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((smoothed, variation)) => ((smoothed * 7 + rtt) / 8, (variation * 3 + smoothed.abs_diff(rtt)) / 4),
        });
    }

    /// Smoothed time plus four variations: how long an answer may take; `None` before the first sample.
    pub(crate) fn bound(&self) -> Option<Duration> {
        self.smoothed.map(|(smoothed, variation)| smoothed + (variation * 4).max(GRANULARITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_gives_three_times_itself_and_a_steady_one_settles() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.bound(), None);
        rtt.sample(Duration::from_millis(500));
        assert_eq!(rtt.bound(), Some(Duration::from_millis(1500)));
        (0..100).for_each(|_| rtt.sample(Duration::from_millis(500)));
        assert_eq!(rtt.bound(), Some(Duration::from_millis(501)));
    }
}
