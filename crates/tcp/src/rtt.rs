//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! Samples come from segments that were sent once (Karn's algorithm, §3). Linux differs (tcp_rtt_estimator()): the variance is the
//! largest mean deviation of a window of data, at least 200 ms, that falls by a quarter per window, and a falling RTT moves it
//! less; the timeout is kept in jiffies. The least RTT is that of the last five minutes there. Left out: the granularity of other clocks.

use crate::Sequence;
use crate::behavior::RtoBounds;
use crate::jiffies;
use crate::windowed::Windowed;
use farhop_units::{Instant, look_at};
use std::time::Duration;

/// RFC 6298 §5.7: after a handshake that told no time.
const UNSURE_RTO: Duration = Duration::from_secs(3);
/// `tcp_min_rtt_wlen`: how long Linux remembers the least RTT.
const LEAST_RTT_WINDOW: Duration = Duration::from_secs(300);

/// One sample, with what delimits windows of data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RttSample {
    pub(crate) now: Instant,
    pub(crate) rtt: Duration,
    /// The age of the latest segment behind the acknowledgement: without the wait for others, the better sign of the path.
    pub(crate) least: Duration,
    pub(crate) unacknowledged: Sequence,
    pub(crate) next: Sequence,
}

/// SRTT and what the timeout adds to it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Smoothed {
    rtt: Duration,
    deviation: Duration,
    /// Linux: rttvar, the largest deviation of this window of data, and where the window ends.
    variance: Duration,
    largest: Duration,
    until: Sequence,
}

/// Smoothed round-trip time of one direction.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct RttEstimator {
    /// What follows from the rest, as it is asked for more often than it changes.
    rto: Duration,
    /// Kept where somebody asks for it.
    least: Option<Box<Windowed<Duration>>>,
    smoothed: Option<Smoothed>,
    bounds: &'static RtoBounds,
    backoff: u32,
    /// The handshake had to be repeated and told no time (§5.7).
    is_unsure: bool,
}

impl RttEstimator {
    /// What was least of late is known if `keeps_least`.
    pub(crate) fn new(bounds: &'static RtoBounds, keeps_least: bool) -> Self {
        let least = keeps_least.then(|| Box::new(Windowed::least(nanos(LEAST_RTT_WINDOW))));
        let mut estimator = Self { bounds, smoothed: None, least, backoff: 0, is_unsure: false, rto: Duration::ZERO };
        estimator.set_rto();
        estimator
    }

    /// RFC 6298 §2.2-2.3: SRTT with gain 1/8, RTTVAR with gain 1/4; the first sample sets RTT and RTT/2.
    pub(crate) fn sample(&mut self, sample: RttSample) {
        self.backoff = 0;
        if let Some(least) = &mut self.least {
            least.update(sample.now.as_nanos(), sample.least);
        }
        let rtt = sample.rtt;
        self.smoothed = Some(match self.smoothed {
            None => {
                let variance = (rtt * 2).max(self.bounds.min_variance);
                let (deviation, until) = (rtt / 2, sample.next);
                Smoothed { rtt, deviation, variance, largest: variance, until }
            }
            Some(smoothed) if self.bounds.per_window => smoothed.refined(sample, self.bounds.min_variance),
            Some(smoothed) => {
                let deviation = (smoothed.deviation * 3 + smoothed.rtt.abs_diff(rtt)) / 4;
                Smoothed { rtt: (smoothed.rtt * 7 + rtt) / 8, deviation, ..smoothed }
            }
        });
        self.set_rto();
    }

    /// Asks memory for what every segment needs of it.
    pub(crate) fn look_at(&self) {
        look_at(&self.rto);
    }

    /// Asks memory for what samples change beyond that.
    pub(crate) fn look_at_samples(&self) {
        look_at(&self.bounds);
        self.least.as_deref().into_iter().for_each(look_at);
    }

    /// SRTT, once there was a sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed.rtt)
    }

    /// Least sample of late, if it is kept.
    pub(crate) fn min(&self) -> Option<Duration> {
        self.least.as_ref().and_then(|least| least.get())
    }

    /// The timeout, doubled for each expiry since the last sample (§5.5).
    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    fn set_rto(&mut self) {
        let base = match self.smoothed {
            None if self.is_unsure => self.bounds.initial.max(UNSURE_RTO),
            None => self.bounds.initial,
            // It is kept in jiffies, which backing off doubles (__tcp_set_rto()).
            Some(smoothed) if self.bounds.per_window => jiffies::rounded_up(smoothed.rtt + smoothed.variance),
            Some(smoothed) => smoothed.rtt + (smoothed.deviation * 4).max(self.bounds.min_variance),
        };
        self.rto = base.max(self.bounds.min).saturating_mul(1 << self.backoff.min(16)).min(self.bounds.max);
    }

    /// The timer ran out.
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
        self.set_rto();
    }

    /// New data was acknowledged without a usable sample: the timer stays backed off until there is one (§5), but after a handshake that had
    /// to be repeated begins again at 3 s (§5.7; TCP_TIMEOUT_FALLBACK in Linux).
    pub(crate) fn progress(&mut self) {
        let ends_handshake = self.smoothed.is_none() && !self.is_unsure;
        if self.backoff > 0 && ends_handshake {
            self.is_unsure = true;
            self.backoff = 0;
            self.set_rto();
        }
    }
}

/// A span on the axis of time.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl Smoothed {
    /// tcp_rtt_estimator(). `deviation` is mdev / 4 here, as in the RFC.
    fn refined(self, sample: RttSample, floor: Duration) -> Self {
        let error = self.rtt.abs_diff(sample.rtt);
        let rises = sample.rtt >= self.rtt;
        let rtt = (self.rtt * 7 + sample.rtt) / 8;
        // mdev += error − mdev/4, an eighth of that if the RTT falls and the error is larger than the mean.
        let deviation = match error.checked_sub(self.deviation) {
            Some(excess) if rises => self.deviation + excess / 4,
            Some(excess) => self.deviation + excess / 32,
            None => self.deviation - (self.deviation - error) / 4,
        };
        let largest = self.largest.max(deviation * 4);
        let variance = self.variance.max(largest);
        if sample.unacknowledged <= self.until {
            return Self { rtt, deviation, variance, largest, ..self };
        }
        let variance = variance - (variance - largest) / 4;
        Self { rtt, deviation, variance, largest: floor, until: sample.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behavior::Behavior;
    use crate::{Profile, TcpConfig};
    use farhop_units::Bytes;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn estimator(profile: Profile) -> RttEstimator {
        RttEstimator::new(&Behavior::of(&TcpConfig::of(profile)).rto, true)
    }

    /// A sample number `index`; a window of data is ten samples long.
    fn sample(index: u64, ms: u64) -> RttSample {
        let unacknowledged = Sequence::FIRST_BYTE + Bytes::new(index);
        let (now, next) = (Instant::START + MS(index), unacknowledged + Bytes::new(10));
        RttSample { now, rtt: MS(ms), least: MS(ms), unacknowledged, next }
    }

    #[test]
    fn the_first_sample_gives_three_times_itself() {
        for profile in [Profile::Rfc, Profile::Linux] {
            let mut rtt = estimator(profile);
            assert_eq!(rtt.rto(), MS(1000));
            rtt.sample(sample(0, 500));
            assert_eq!(rtt.rto(), MS(1500));
            assert_eq!(rtt.smoothed(), Some(MS(500)));
        }
    }

    #[test]
    fn a_steady_round_trip_settles_at_the_profiles_floor() {
        // Linux's variance stops a little above its floor of 200 ms, hence a jiffy more.
        for (profile, floor) in [(Profile::Linux, 704), (Profile::Rfc, 1000)] {
            let mut rtt = estimator(profile);
            (0..1000).for_each(|index| rtt.sample(sample(index, 500)));
            assert!(rtt.rto().abs_diff(MS(floor)) < MS(1), "{profile:?}: {:?}", rtt.rto());
        }
    }

    #[test]
    fn linux_remembers_a_deviation_for_windows_of_data_and_hardly_minds_a_fall() {
        let run = |odd: u64, after: u64| {
            let mut rtt = estimator(Profile::Linux);
            (0..1000).for_each(|index| rtt.sample(sample(index, 500)));
            (1000..1010).for_each(|index| rtt.sample(sample(index, odd)));
            (1010..1010 + after).for_each(|index| rtt.sample(sample(index, 500)));
            rtt.rto()
        };
        assert!(run(1000, 0) > MS(1500), "{:?}", run(1000, 0));
        assert!(run(1000, 12) > MS(1100), "{:?}", run(1000, 12));
        assert!(run(1000, 200) < MS(760), "{:?}", run(1000, 200));
        assert!(run(100, 0) < MS(500), "{:?}", run(100, 0));
    }

    #[test]
    fn expiries_double_up_to_the_bound() {
        let mut rtt = estimator(Profile::Linux);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), MS(4000));
        (0..100).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), MS(120_000));
    }

    #[test]
    fn linux_keeps_the_timeout_in_jiffies_and_doubles_those() {
        let mut rtt = estimator(Profile::Linux);
        rtt.sample(sample(0, 319));
        assert_eq!(rtt.rto(), MS(960), "957 ms");
        rtt.back_off();
        assert_eq!(rtt.rto(), MS(1920));
        let mut rtt = estimator(Profile::Rfc);
        rtt.sample(sample(0, 419));
        assert_eq!(rtt.rto(), MS(1257));
    }

    #[test]
    fn the_timer_stays_backed_off_until_there_is_a_sample() {
        let mut rtt = estimator(Profile::Rfc);
        assert_eq!(rtt.rto(), MS(1000));
        rtt.back_off();
        rtt.progress();
        assert_eq!(rtt.rto(), MS(3000), "after a handshake that was repeated");
        rtt.back_off();
        rtt.progress();
        assert_eq!(rtt.rto(), MS(6000));
        rtt.sample(sample(0, 1200));
        assert_eq!(rtt.rto(), MS(3600));
        rtt.back_off();
        rtt.progress();
        assert_eq!(rtt.rto(), MS(7200));
        let mut heard = estimator(Profile::Rfc);
        heard.progress();
        assert_eq!(heard.rto(), MS(1000), "nothing was repeated");
    }
}
