//! How fast data is delivered: the rate samples of draft-cheng-iccrg-delivery-rate-estimation §3, as Linux's tcp_rate.c takes them.
//!
//! Every segment remembers what had been delivered when it was sent; when it is delivered itself, the difference over the time
//! since is a sample. The time is the longer one of sending and of acknowledging, so that neither bursts nor compressed ACKs make
//! the path look faster than it is. Left out: samples per ECN mark, and the exclusion of samples during SACK reneging.

use crate::congestion::Repair;
use crate::sent::Sent;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// What a segment remembers of the connection when it was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamp {
    /// Delivered until then, and when the last of it was.
    delivered: Bytes,
    delivered_at: Instant,
    /// When the segment was sent that was delivered last: the start of the time of sending.
    first_sent: Instant,
    /// The application had too little to send.
    starved: bool,
}

/// A sample of the delivery rate, with what else an acknowledgement tells a controller that models the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateSample {
    /// When the acknowledgement arrived.
    pub now: Instant,
    /// What was delivered, and how long that took; no sample if the time is zero.
    pub delivered: Bytes,
    /// See `delivered`.
    pub interval: Duration,
    /// What had been delivered in all when the segment behind the sample was sent.
    pub prior_delivered: Bytes,
    /// What has been delivered in all by now.
    pub total_delivered: Bytes,
    /// When the last of it was.
    pub delivered_at: Instant,
    /// What has been found lost in all by now.
    pub total_lost: Bytes,
    /// Whether the application had too little to send when that segment was.
    pub app_limited: bool,
    /// Round-trip time that this acknowledgement measured, if it did.
    pub rtt: Option<Duration>,
    /// Whether that may include the wait of a delayed acknowledgement.
    pub maybe_delayed: bool,
    /// Newly delivered, by number or selectively.
    pub newly_delivered: Bytes,
    /// Newly found lost.
    pub newly_lost: Bytes,
    /// What was on the way before this acknowledgement, and what is now.
    pub prior_in_flight: Bytes,
    /// See `prior_in_flight`.
    pub in_flight: Bytes,
    /// Whether a loss is being repaired.
    pub repair: Repair,
    /// The smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
}

/// What the connection knows of its own deliveries.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeliveryRate {
    delivered: Bytes,
    delivered_at: Instant,
    first_sent: Instant,
    /// The application had too little to send until this much has been delivered.
    starved_until: Option<Bytes>,
    /// Of the latest sent segment that this acknowledgement covers.
    latest: Option<Latest>,
}

#[derive(Debug, Clone, Copy)]
struct Latest {
    stamp: Stamp,
    order: u64,
    at: Instant,
}

impl DeliveryRate {
    /// An acknowledgement arrives.
    pub(crate) fn begin(&mut self) {
        self.latest = None;
    }

    /// All that has been delivered.
    pub(crate) fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// What had been delivered when the latest sent segment was sent that the acknowledgement covers; `None` if it covers nothing.
    pub(crate) fn prior_delivered(&self) -> Option<Bytes> {
        self.latest.map(|latest| latest.stamp.delivered)
    }

    /// A segment is sent; `idle` if nothing was on the way.
    pub(crate) fn stamp(&mut self, now: Instant, idle: bool) -> Stamp {
        if idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let Self { delivered, delivered_at, first_sent, .. } = *self;
        Stamp { delivered, delivered_at, first_sent, starved: self.starved_until.is_some() }
    }

    /// A segment has been delivered, by number or selectively, that counts as `charge`.
    pub(crate) fn deliver(&mut self, sent: &Sent, charge: Bytes) {
        self.delivered += charge;
        if self.latest.is_none_or(|latest| sent.order > latest.order) {
            self.latest = Some(Latest { stamp: sent.stamp, order: sent.order, at: sent.at });
        }
    }

    /// Something has been delivered a second time.
    pub(crate) fn deliver_again(&mut self, delivered: Bytes) {
        self.delivered += delivered;
    }

    /// The application had too little to send, with `in_flight` on the way.
    pub(crate) fn starve(&mut self, in_flight: Bytes) {
        self.starved_until = Some(self.delivered + in_flight);
    }

    /// Whether that is still so.
    pub(crate) fn is_starved(&self) -> bool {
        self.starved_until.is_some()
    }

    /// What has been delivered, and no sample.
    pub(crate) fn totals(&self, now: Instant) -> RateSample {
        let (total_delivered, delivered_at) = (self.delivered, self.delivered_at);
        RateSample { now, total_delivered, delivered_at, ..RateSample::default() }
    }

    /// The sample of an acknowledgement, after all that it covers; §3.3.
    pub(crate) fn sample(&mut self, now: Instant, newly_delivered: Bytes, least_rtt: Duration) -> RateSample {
        if self.starved_until.is_some_and(|until| self.delivered > until) {
            self.starved_until = None;
        }
        if newly_delivered > Bytes::ZERO {
            self.delivered_at = now;
        }
        let total_delivered = self.delivered;
        let unknown = RateSample { newly_delivered, ..self.totals(now) };
        let Some(Latest { stamp, at: sent_at, .. }) = self.latest.take() else { return unknown };
        self.first_sent = sent_at;
        let (sending, acknowledging) = (sent_at.since(stamp.first_sent), now.since(stamp.delivered_at));
        let interval = sending.max(acknowledging);
        RateSample {
            prior_delivered: stamp.delivered,
            delivered: total_delivered.saturating_sub(stamp.delivered),
            // §3.3: what is shorter than a round trip comes from a needless repetition.
            interval: if interval < least_rtt { Duration::ZERO } else { interval },
            app_limited: stamp.starved,
            ..unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sequence;
    use crate::sent::{Fate, Piece};

    const MSS: Bytes = Bytes::new(1000);
    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn sent(ms: u64, stamp: Stamp) -> Sent {
        let piece = Piece { sequence: Sequence::FIRST_BYTE + MSS * ms, payload: MSS, ..Piece::default() };
        Sent { piece, at: at(ms), order: ms, again: false, fate: Fate::InFlight, stamp }
    }

    #[test]
    fn acknowledgements_in_a_bunch_do_not_make_the_path_faster() {
        // A segment per 10 ms, all acknowledged at once at 200 ms.
        let mut rate = DeliveryRate::default();
        let segments: Vec<Sent> = (0..10).map(|n| sent(n * 10, rate.stamp(at(n * 10), n == 0))).collect();
        segments.iter().for_each(|segment| rate.deliver(segment, MSS));
        let sample = rate.sample(at(200), MSS * 10, RTT);
        assert_eq!((sample.delivered, sample.interval), (MSS * 10, Duration::from_millis(200)));
    }

    #[test]
    fn a_burst_does_not_make_the_path_faster() {
        // Ten segments at once, one acknowledged per 10 ms; the sample of the last counts from the time the first was delivered.
        let mut rate = DeliveryRate::default();
        let first = sent(0, rate.stamp(at(0), true));
        rate.deliver(&first, MSS);
        rate.sample(at(100), MSS, RTT);
        let burst: Vec<Sent> = (0..10).map(|n| sent(100 + n, rate.stamp(at(100), false))).collect();
        let mut last = RateSample::default();
        for (n, segment) in burst.iter().enumerate() {
            rate.deliver(segment, MSS);
            last = rate.sample(at(200 + n as u64 * 10), MSS, RTT);
        }
        assert_eq!((last.delivered, last.interval), (MSS * 10, Duration::from_millis(190)));
    }

    #[test]
    fn what_was_sent_while_the_application_had_too_little_says_so() {
        let mut rate = DeliveryRate::default();
        rate.starve(MSS);
        let segments = [0, 1, 2].map(|n| sent(n, rate.stamp(at(n), n == 0)));
        let limited = segments.map(|segment| {
            rate.deliver(&segment, MSS);
            rate.sample(at(150), MSS, RTT).app_limited
        });
        assert_eq!(limited, [true; 3]);
        let later = sent(160, rate.stamp(at(160), false));
        rate.deliver(&later, MSS);
        assert!(!rate.sample(at(300), MSS, RTT).app_limited);
    }

    #[test]
    fn a_sample_shorter_than_a_round_trip_is_none() {
        let mut rate = DeliveryRate::default();
        let segment = sent(0, rate.stamp(at(0), true));
        rate.deliver(&segment, MSS);
        assert_eq!(rate.sample(at(50), MSS, RTT).interval, Duration::ZERO);
    }
}
