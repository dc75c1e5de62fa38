//! When to acknowledge data that arrived in order: at once or a little later (RFC 5681 §4.2, RFC 1122 §4.2.3.2).
//!
//! Linux: quick-ACK mode for the first segments' worth and while the receive window grows, then every second full segment, at once when the sender pushed (the
//! application reads at once), else after an adaptive delay that starts at 40 ms; a connection that answers within that delay is
//! interactive ("pingpong") and waits for its answer to carry the ACK. 4.4BSD and the RFC's profile: every second segment or a
//! timer. Left out: Linux's ACK compression for SACK, deferral to the end of a softirq burst, GRO.

use crate::behavior::{AckPolicy, Behavior, Timers};
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// TCP_ATO_MIN and TCP_DELACK_MIN.
const ATO_MIN: Duration = Duration::from_millis(40);
/// TCP_DELACK_MAX: bound for interactive connections.
const DELAY_MAX_INTERACTIVE: Duration = Duration::from_millis(200);
/// Bound for all others: half a second.
const DELAY_MAX: Duration = Duration::from_millis(500);

/// Data that arrived in order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) now: Instant,
    /// Bytes not acknowledged so far, these included.
    pub(crate) unacknowledged: Bytes,
    pub(crate) mss: Bytes,
    pub(crate) push: bool,
    /// The receive window's offer has grown with these bytes.
    pub(crate) window_grew: bool,
    /// The receiver's own retransmission timeout, and its smoothed round-trip time.
    pub(crate) rto: Duration,
    pub(crate) rtt: Option<Duration>,
}

/// Decides when acknowledgements go out.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledger {
    policy: AckPolicy,
    first_immediate: bool,
    /// An acknowledgement is due: now or at this time.
    due: Option<Instant>,
    /// Segments since the last acknowledgement.
    segments: u32,
    /// Linux: remaining quick ACKs, the delay ("ato"), and whether the connection is interactive.
    quick: u32,
    delay: Duration,
    interactive: bool,
    last_arrival: Option<Instant>,
}

impl Acknowledger {
    pub(crate) fn new(behavior: &Behavior) -> Self {
        Self {
            policy: behavior.ack,
            first_immediate: behavior.first_ack_immediate,
            due: None,
            segments: 0,
            quick: 0,
            delay: ATO_MIN,
            interactive: false,
            last_arrival: None,
        }
    }

    /// When an acknowledgement is due, if any is.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Something must be acknowledged at once: out of order, filling a hole, a SYN or a FIN (RFC 5681 §4.2).
    pub(crate) fn demand(&mut self, now: Instant) {
        self.due = Some(now);
    }

    /// Data arrived in order.
    pub(crate) fn data_arrived(&mut self, arrival: Arrival) {
        let first = self.last_arrival.is_none();
        self.segments += 1;
        let at = match self.policy {
            AckPolicy::Linux { quick } => self.linux(arrival, quick),
            _ if self.segments >= 2 || (first && self.first_immediate) => arrival.now,
            AckPolicy::EverySecond { delay } => arrival.now + delay,
            AckPolicy::Ticks { period } => next_tick(arrival.now, period),
        };
        self.last_arrival = Some(arrival.now);
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// tcp_event_data_recv() and __tcp_ack_snd_check().
    fn linux(&mut self, arrival: Arrival, quick: u32) -> Instant {
        self.adapt(arrival, quick);
        if arrival.window_grew {
            // tcp_grow_window() sets the lowest bit, so that the sender hears of the larger window soon.
            self.quick |= 1;
        }
        let full = arrival.unacknowledged > arrival.mss;
        let pushed = arrival.push && !self.interactive;
        if full || pushed || (self.quick > 0 && !self.interactive) {
            return arrival.now;
        }
        Timers::Jiffies.expiry(arrival.now, self.linux_delay(arrival))
    }

    /// The delay follows the spacing of data; a gap beyond the timeout starts quick-ACK mode again.
    fn adapt(&mut self, arrival: Arrival, quick: u32) {
        let Some(last) = self.last_arrival else {
            self.quick = quick;
            return;
        };
        let gap = arrival.now.since(last);
        if gap <= ATO_MIN / 2 {
            self.delay = self.delay / 2 + ATO_MIN / 2;
        } else if gap < self.delay {
            self.delay = (self.delay / 2 + gap).min(arrival.rto);
        } else if gap > arrival.rto {
            self.quick = quick;
        }
    }

    /// tcp_send_delayed_ack().
    fn linux_delay(&self, arrival: Arrival) -> Duration {
        if self.delay <= ATO_MIN {
            return self.delay;
        }
        let bound = if self.interactive || arrival.push { DELAY_MAX_INTERACTIVE } else { DELAY_MAX };
        let bound = arrival.rtt.map_or(bound, |rtt| bound.min(rtt.max(ATO_MIN)));
        self.delay.min(bound)
    }

    /// A segment with an acknowledgement went out.
    pub(crate) fn acknowledged(&mut self) {
        if self.due.take().is_some() {
            self.quick = self.quick.saturating_sub(1);
        }
        self.segments = 0;
    }

    /// Data went out: within the delay after data came in, the connection is interactive (tcp_event_data_sent()).
    pub(crate) fn data_sent(&mut self, now: Instant) {
        let answering = self.last_arrival.is_some_and(|last| now.since(last) < self.delay);
        self.interactive |= answering && matches!(self.policy, AckPolicy::Linux { .. });
    }

    /// The delay ran out before anything could carry the acknowledgement (tcp_delack_timer_handler()).
    pub(crate) fn timer_expired(&mut self, rto: Duration) {
        self.delay = if self.interactive { ATO_MIN } else { (self.delay * 2).min(rto) };
        self.interactive = false;
    }
}

/// The next tick strictly after `now` of a clock that ticks at multiples of `period`.
fn next_tick(now: Instant, period: Duration) -> Instant {
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
    Instant::from_nanos((now.as_nanos() / period + 1).saturating_mul(period))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FirstAck, Profile, TcpConfig};

    const MSS: Bytes = Bytes::new(1448);

    fn acknowledger(profile: Profile, first_ack: FirstAck) -> Acknowledger {
        Acknowledger::new(&Behavior::of(&TcpConfig { first_ack, ..TcpConfig::of(profile) }))
    }

    fn arrival(ms: u64, unacknowledged: Bytes, push: bool) -> Arrival {
        let now = Instant::START + Duration::from_millis(ms);
        Arrival { now, unacknowledged, mss: MSS, push, window_grew: false, rto: Duration::from_millis(700), rtt: None }
    }

    /// Delay of the acknowledgement for a single full segment at `ms`, in ms; zero is at once.
    fn delay(acks: &mut Acknowledger, ms: u64, push: bool) -> u64 {
        acks.data_arrived(arrival(ms, MSS, push));
        let due = acks.due().expect("data is acknowledged");
        acks.acknowledged();
        due.as_nanos() / 1_000_000 - ms
    }

    #[test]
    fn linux_acknowledges_sixteen_segments_one_by_one_then_every_second() {
        let mut acks = acknowledger(Profile::Linux, FirstAck::Immediate);
        let delays: Vec<_> = (0..18).map(|ms| delay(&mut acks, ms, false)).collect();
        assert_eq!(delays[..16], [0; 16]);
        assert_eq!(delays[16..], [44, 43], "the jiffy after 40 ms");
        acks.data_arrived(arrival(20, MSS, false));
        acks.data_arrived(arrival(21, MSS * 2, false));
        assert_eq!(acks.due(), Some(arrival(21, MSS, false).now), "beyond one full segment");
    }

    #[test]
    fn linux_acknowledges_at_once_while_the_window_grows() {
        let mut acks = acknowledger(Profile::Linux, FirstAck::Delayed);
        acks.data_arrived(Arrival { window_grew: true, ..arrival(0, MSS, false) });
        assert_eq!(acks.due(), Some(arrival(0, MSS, false).now));
        acks.acknowledged();
        assert_eq!(delay(&mut acks, 1, false), 43);
    }

    #[test]
    fn linux_acknowledges_pushed_data_at_once_unless_interactive() {
        let mut acks = acknowledger(Profile::Linux, FirstAck::Delayed);
        assert_eq!(delay(&mut acks, 0, true), 0);
        acks.data_sent(Instant::START + Duration::from_millis(1));
        assert_eq!(delay(&mut acks, 500, true), 44);
        acks.timer_expired(Duration::from_millis(700));
        assert_eq!(delay(&mut acks, 1000, true), 0, "a missed delay ends the interactive mode");
    }

    #[test]
    fn linux_is_quick_again_after_a_gap_beyond_the_timeout() {
        let mut acks = acknowledger(Profile::Linux, FirstAck::Immediate);
        (0..16).for_each(|ms| _ = delay(&mut acks, ms, false));
        assert_eq!(delay(&mut acks, 600, false), 44);
        assert_eq!(delay(&mut acks, 1301, false), 0);
    }

    #[test]
    fn the_first_ack_is_delayed_only_where_the_scenario_says_so() {
        assert_eq!(delay(&mut acknowledger(Profile::Rfc, FirstAck::Immediate), 50, false), 0);
        assert_eq!(delay(&mut acknowledger(Profile::Rfc, FirstAck::Delayed), 50, false), 200);
        assert_eq!(
            delay(&mut acknowledger(Profile::Bsd1997, FirstAck::Delayed), 50, false),
            150,
            "its clock ticks at 200"
        );
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut acks = acknowledger(Profile::Rfc, FirstAck::Delayed);
        acks.data_arrived(arrival(0, MSS, false));
        acks.data_arrived(arrival(10, MSS * 2, false));
        assert_eq!(acks.due(), Some(arrival(10, MSS, false).now));
    }
}
