//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! Samples come from segments that were sent once (Karn's algorithm, §3). Linux takes the variance term at least 200 ms instead
//! of flooring the whole; both floors are in the profile. Left out: clock granularity, and Linux's faster fall of the variance
//! (`mdev_max` per window).

use crate::behavior::RtoBounds;
use std::time::Duration;

/// Smoothed round-trip time of one direction.
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    bounds: RtoBounds,
    smoothed: Option<(Duration, Duration)>,
    min: Option<Duration>,
    backoff: u32,
    /// What follows from the rest, as it is asked for more often than it changes.
    rto: Duration,
}

impl RttEstimator {
    pub(crate) fn new(bounds: RtoBounds) -> Self {
        let mut estimator = Self { bounds, smoothed: None, min: None, backoff: 0, rto: Duration::ZERO };
        estimator.set_rto();
        estimator
    }

    /// RFC 6298 §2.2-2.3: SRTT with gain 1/8, RTTVAR with gain 1/4; the first sample sets RTT and RTT/2.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.backoff = 0;
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((smoothed, variance)) => {
                let variance = (variance * 3 + smoothed.abs_diff(rtt)) / 4;
                ((smoothed * 7 + rtt) / 8, variance)
            }
        });
        self.set_rto();
    }

    /// SRTT, once there was a sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(|(smoothed, _)| smoothed)
    }

    /// Least sample.
    pub(crate) fn min(&self) -> Option<Duration> {
        self.min
    }

    /// The timeout, doubled for each expiry since the last sample (§5.5).
    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    fn set_rto(&mut self) {
        let base = match self.smoothed {
            None => self.bounds.initial,
            Some((smoothed, variance)) => smoothed + (variance * 4).max(self.bounds.min_variance),
        };
        self.rto = base.max(self.bounds.min).saturating_mul(1 << self.backoff.min(16)).min(self.bounds.max);
    }

    /// The timer ran out.
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
        self.set_rto();
    }

    /// New data was acknowledged without a usable sample: the timer starts again without the backing off.
    pub(crate) fn progress(&mut self) {
        if self.backoff > 0 {
            self.backoff = 0;
            self.set_rto();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behavior::Behavior;
    use crate::{Profile, TcpConfig};

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn estimator(profile: Profile) -> RttEstimator {
        RttEstimator::new(Behavior::of(&TcpConfig::of(profile)).rto)
    }

    #[test]
    fn the_first_sample_gives_three_times_itself() {
        let mut rtt = estimator(Profile::Rfc);
        assert_eq!(rtt.rto(), MS(1000));
        rtt.sample(MS(500));
        assert_eq!(rtt.rto(), MS(1500));
        assert_eq!(rtt.smoothed(), Some(MS(500)));
    }

    #[test]
    fn a_steady_round_trip_settles_at_the_profiles_floor() {
        for (profile, floor) in [(Profile::Linux, 700), (Profile::Rfc, 1000)] {
            let mut rtt = estimator(profile);
            (0..200).for_each(|_| rtt.sample(MS(500)));
            assert_eq!(rtt.rto(), MS(floor), "{profile:?}");
        }
    }

    #[test]
    fn expiries_double_up_to_the_bound_and_progress_undoes_it() {
        let mut rtt = estimator(Profile::Linux);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), MS(4000));
        (0..100).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), MS(120_000));
        rtt.progress();
        assert_eq!(rtt.rto(), MS(1000));
    }
}
