//! HyStart: leaving slow start before it loses (Ha & Rhee, "Taming the elephants: New TCP slow start", 2011), as in Linux's
//! tcp_cubic.c with `hystart_detect=3`: a train of ACKs longer than half the least RTT, or an RTT that has grown by an eighth
//! (4 to 16 ms). HyStart++ (RFC 9406) is a different algorithm. Left out: the allowance for GSO bursts in the train's length is
//! its upper bound of 1 ms.

use super::Acknowledged;
use crate::Sequence;
use farhop_units::Instant;
use std::time::Duration;

/// `hystart_ack_delta_us`: closer ACKs belong to one train.
const ACK_DELTA: Duration = Duration::from_millis(2);
/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`.
const DELAY_BOUNDS: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));
/// Upper bound of `hystart_ack_delay()`.
const BURST_ALLOWANCE: Duration = Duration::from_millis(1);

/// One round of data, as seen by its ACKs.
#[derive(Debug, Clone)]
struct Round {
    start: Instant,
    last_ack: Instant,
    end: Sequence,
    least_rtt: Duration,
    samples: u32,
}

/// Watches the ACKs of slow start.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStart {
    least_rtt: Option<Duration>,
    round: Option<Round>,
    found: bool,
}

impl HyStart {
    /// Starts over after a timeout.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// The least RTT seen.
    pub(super) fn least_rtt(&self) -> Option<Duration> {
        self.least_rtt
    }

    /// Whether slow start, if it is `on`, should end with this ACK. Rounds are followed from the first ACK on, however small the
    /// window, so that they begin with a flight of data and not within one (Linux since 6.14); they are judged once it is `large`
    /// enough.
    pub(super) fn should_leave(&mut self, ack: &Acknowledged, rtt: Duration, on: bool, large: bool) -> bool {
        let base = self.least_rtt.map_or(rtt, |least| least.min(rtt));
        self.least_rtt = Some(base);
        if self.found || !on {
            return false;
        }
        let now = ack.now;
        if self.round.as_ref().is_none_or(|round| ack.sequence > round.end) {
            let fresh = Round { start: now, last_ack: now, end: ack.next, least_rtt: Duration::MAX, samples: 0 };
            self.round = Some(fresh);
        }
        let Some(round) = self.round.as_mut().filter(|_| large) else { return false };
        let long_train = round.train_exceeds((base + BURST_ALLOWANCE) / 2, now);
        self.found = round.delay_exceeds(base + (base / 8).clamp(DELAY_BOUNDS.0, DELAY_BOUNDS.1), rtt) || long_train;
        self.found
    }
}

impl Round {
    fn train_exceeds(&mut self, threshold: Duration, now: Instant) -> bool {
        if now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        now.since(self.start) > threshold
    }

    fn delay_exceeds(&mut self, threshold: Duration, rtt: Duration) -> bool {
        self.least_rtt = self.least_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.least_rtt > threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_units::Bytes;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// ACKs of one round, `gap` apart, all with `rtt`; says at which of them slow start ends.
    fn left_at(acks: u64, gap: Duration, rtt: Duration) -> Option<u64> {
        let mut hystart = HyStart { least_rtt: Some(MS(100)), ..HyStart::default() };
        (0..acks).find(|index| {
            let now = Instant::START + gap * u32::try_from(*index).expect("few");
            let sequence = Sequence::FIRST_BYTE + Bytes::new(*index);
            let next = Sequence::FIRST_BYTE + Bytes::new(acks);
            hystart.should_leave(
                &Acknowledged { now, bytes: Bytes::new(1), rtt: Some(rtt), smoothed: None, sequence, next },
                rtt,
                true,
                true,
            )
        })
    }

    #[test]
    fn a_train_of_acks_beyond_half_the_rtt_ends_slow_start() {
        assert_eq!(left_at(200, MS(1), MS(100)), Some(51));
        assert_eq!(left_at(40, MS(1), MS(100)), None, "40 ms are less than half of 100 ms");
        assert_eq!(left_at(200, MS(3), MS(100)), None, "ACKs 3 ms apart are no train");
    }

    #[test]
    fn an_rtt_grown_by_an_eighth_ends_slow_start_after_eight_samples() {
        assert_eq!(left_at(20, MS(3), MS(113)), Some(8));
        assert_eq!(left_at(20, MS(3), MS(112)), None);
    }

    #[test]
    fn rounds_begin_with_a_flight_though_the_window_was_small() {
        let mut hystart = HyStart::default();
        let mut ack = |ms: u64, number: u64, next: u64, large: bool| {
            let at = |number: u64| Sequence::FIRST_BYTE + Bytes::new(number);
            let now = Instant::START + MS(ms);
            let (sequence, next) = (at(number), at(next));
            let ack = Acknowledged { now, bytes: Bytes::new(1), rtt: None, smoothed: None, sequence, next };
            // What is sent later in a flight waits longer, once flights are long.
            hystart.should_leave(&ack, MS(100 + 3 * (number % 20) * u64::from(number >= 20)), true, large)
        };
        // Flights of twenty; the window becomes large in the middle of the first.
        for flight in 0..5 {
            for number in 0..20 {
                let left = ack(flight * 100, flight * 20 + number, flight * 20 + 20 + number, flight > 0 || number > 9);
                assert!(!left, "flight {flight}, segment {number}");
            }
        }
    }
}
