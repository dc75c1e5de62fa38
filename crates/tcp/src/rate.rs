//! How fast data is delivered: the rate samples of draft-cheng-iccrg-delivery-rate-estimation §3, as Linux's tcp_rate.c takes them.
//!
//! Every segment remembers what had been delivered when it was sent; when it is delivered itself, the difference over the time
//! since is a sample. The time is the longer one of sending and of acknowledging, so that neither bursts nor compressed ACKs make
//! the path look faster than it is. Left out: samples per ECN mark, and the exclusion of samples during SACK reneging.

use crate::congestion::Repair;
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// What Linux's clock of rate samples counts in.
const CLOCK: Duration = Duration::from_micros(1);

/// What a segment remembers of the connection when it was sent.
#[derive(Debug, Clone, Copy)]
struct Stamp {
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
    /// How long the pace holds back what is sent next.
    pub until_departure: Duration,
    /// Whether a loss is being repaired.
    pub repair: Repair,
    /// The smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
}

/// What a connection knows of its own deliveries. Segments have a place: how many of those that are not forgotten are ahead of them.
#[derive(Debug, Clone, Default)]
pub struct DeliveryRate {
    delivered: Bytes,
    delivered_at: Instant,
    first_sent: Instant,
    /// The application had too little to send until this much has been delivered.
    starved_until: Option<Bytes>,
    /// Of the latest sent segment that this acknowledgement covers.
    latest: Option<Latest>,
    /// Of the segments not yet acknowledged by number, in order.
    stamps: VecDeque<Stamp>,
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
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// What had been delivered when the latest sent segment was sent that the acknowledgement covers; `None` if it covers nothing.
    pub(crate) fn prior_delivered(&self) -> Option<Bytes> {
        self.latest.map(|latest| latest.stamp.delivered)
    }

    /// A segment is sent for the first time.
    pub fn send(&mut self, now: Instant) {
        if self.stamps.is_empty() {
            // Nothing is on the way.
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let stamp = self.stamp();
        self.stamps.push_back(stamp);
    }

    /// The segment at this place is sent again.
    pub(crate) fn send_again(&mut self, place: usize) {
        self.stamps[place] = self.stamp();
    }

    fn stamp(&self) -> Stamp {
        let Self { delivered, delivered_at, first_sent, .. } = *self;
        Stamp { delivered, delivered_at, first_sent, starved: self.starved_until.is_some() }
    }

    /// The segment at this place has been delivered, by number or selectively, which was sent as transmission number `order` at `at` and
    /// counts as `charge`.
    pub fn deliver(&mut self, (place, order): (usize, u64), at: Instant, charge: Bytes) {
        self.delivered += charge;
        if self.latest.is_none_or(|latest| order > latest.order) {
            self.latest = Some(Latest { stamp: self.stamps[place], order, at });
        }
    }

    /// The first segment has been acknowledged by number, or is of no account any more.
    pub fn forget_first(&mut self) {
        self.stamps.pop_front();
        if self.stamps.is_empty() {
            // The next ones go where the last ones were, which is in the cache.
            self.stamps.clear();
        }
    }

    /// More has arrived than the segments that were named: one of them once more, or one of which only that is known.
    pub(crate) fn count_more(&mut self, delivered: Bytes) {
        self.delivered += delivered;
    }

    /// Of the segments that were named some had been counted before.
    pub(crate) fn count_less(&mut self, delivered: Bytes) {
        self.delivered -= delivered;
    }

    /// The application had too little to send, with `in_flight` on the way.
    pub fn starve(&mut self, in_flight: Bytes) {
        self.starved_until = Some(self.delivered + in_flight);
    }

    /// Whether that is still so.
    pub fn is_starved(&self) -> bool {
        self.starved_until.is_some()
    }

    /// What has been delivered, and no sample.
    pub(crate) fn totals(&self, now: Instant) -> RateSample {
        let (total_delivered, delivered_at) = (self.delivered, self.delivered_at);
        RateSample { now, total_delivered, delivered_at, ..RateSample::default() }
    }

    /// The sample of an acknowledgement, after all that it covers; §3.3.
    pub fn sample(&mut self, now: Instant, newly_delivered: Bytes, least_rtt: Duration) -> RateSample {
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
        // No host is faster than its clock, whatever a link without any delay does.
        let interval = sending.max(acknowledging).max(CLOCK);
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

    const MSS: Bytes = Bytes::new(1000);
    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    /// A segment that was sent at so many ms, which is its order, is acknowledged.
    fn acknowledge(rate: &mut DeliveryRate, ms: u64) {
        rate.deliver((0, ms), at(ms), MSS);
        rate.forget_first();
    }

    #[test]
    fn a_path_without_delay_has_a_rate() {
        let mut rate = DeliveryRate::default();
        rate.send(at(5));
        acknowledge(&mut rate, 5);
        let sample = rate.sample(at(5), MSS, Duration::ZERO);
        assert_eq!((sample.delivered, sample.interval), (MSS, Duration::from_micros(1)));
    }

    #[test]
    fn acknowledgements_in_a_bunch_do_not_make_the_path_faster() {
        // A segment per 10 ms, all acknowledged at once at 200 ms.
        let mut rate = DeliveryRate::default();
        (0..10).for_each(|n| rate.send(at(n * 10)));
        (0..10).for_each(|n| acknowledge(&mut rate, n * 10));
        let sample = rate.sample(at(200), MSS * 10, RTT);
        assert_eq!((sample.delivered, sample.interval), (MSS * 10, Duration::from_millis(200)));
    }

    #[test]
    fn a_burst_does_not_make_the_path_faster() {
        // Ten segments at once, one acknowledged per 10 ms; the sample of the last counts from the time the first was delivered.
        let mut rate = DeliveryRate::default();
        rate.send(at(0));
        rate.deliver((0, 0), at(0), MSS);
        rate.sample(at(100), MSS, RTT);
        (0..10).for_each(|_| rate.send(at(100)));
        rate.forget_first();
        let mut last = RateSample::default();
        for n in 0..10 {
            acknowledge(&mut rate, 100 + n);
            last = rate.sample(at(200 + n * 10), MSS, RTT);
        }
        assert_eq!((last.delivered, last.interval), (MSS * 10, Duration::from_millis(190)));
    }

    #[test]
    fn what_was_sent_while_the_application_had_too_little_says_so() {
        let mut rate = DeliveryRate::default();
        rate.starve(MSS);
        [0, 1, 2].into_iter().for_each(|ms| rate.send(at(ms)));
        let limited = [0, 1, 2].map(|ms| {
            acknowledge(&mut rate, ms);
            rate.sample(at(150), MSS, RTT).app_limited
        });
        assert_eq!(limited, [true; 3]);
        rate.send(at(160));
        acknowledge(&mut rate, 160);
        assert!(!rate.sample(at(300), MSS, RTT).app_limited);
    }

    #[test]
    fn a_segment_counts_from_when_it_was_last_sent() {
        let mut rate = DeliveryRate::default();
        [0, 10].into_iter().for_each(|ms| rate.send(at(ms)));
        rate.deliver((0, 0), at(0), MSS);
        rate.send_again(1);
        rate.deliver((1, 20), at(20), MSS);
        assert_eq!(rate.prior_delivered(), Some(MSS));
    }

    #[test]
    fn a_sample_shorter_than_a_round_trip_is_none() {
        let mut rate = DeliveryRate::default();
        rate.send(at(0));
        acknowledge(&mut rate, 0);
        assert_eq!(rate.sample(at(50), MSS, RTT).interval, Duration::ZERO);
    }
}
