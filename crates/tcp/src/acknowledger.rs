//! When to acknowledge data that arrived in order: at once or a little later (RFC 5681 §4.2, RFC 1122 §4.2.3.2).
//!
//! Linux: quick-ACK mode for the first segments' worth and while the receive window grows, then every second full segment, and as soon as the application
//! reads when the sender pushed or there is less room meanwhile than was told before, else after an adaptive delay that starts at 40 ms; a connection that
//! answers within that delay is interactive ("pingpong") and waits for its answer to carry the ACK. 4.4BSD and the RFC's profile: every second segment or a
//! timer; 4.4BSD also when half of its buffer has been read. What arrives out of order Linux acknowledges at once three times and while the receive window grows, and then, with SACK, at most once per
//! millisecond and a slack (`tcp_comp_sack_*`), or as soon as there might be too many blocks for one; what arrives twice starts quick-ACK mode again. Left out: deferral to the end of a softirq burst, GRO.

use crate::Sequence;
use crate::behavior::{AckPolicy, Behavior, Timers};
use crate::jiffies;
use crate::recovery::DUPLICATE_THRESHOLD;
use crate::rtt::RttEstimator;
use farhop_units::{Bytes, Instant, look_at};
use std::time::Duration;

/// TCP_ATO_MIN and TCP_DELACK_MIN.
const ATO_MIN: Duration = Duration::from_millis(40);
/// A jiffy less than the least timeout (tcp_delack_max()).
const DELAY_MAX: Duration = Duration::from_millis(196);

/// `tcp_comp_sack_delay_ns`, a share of the round trip if that is less, and `tcp_comp_sack_nr`.
const COMPRESSION: Duration = Duration::from_millis(1);
/// `tcp_comp_sack_slack_ns`: a timer that nothing else wakes the processor for runs out so much later.
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);
/// Later still is what it does seen at the link: such a timer raises a softirq, and that of a packet which came a moment before is served first.
const COMPRESSION_LATENESS: Duration = Duration::from_micros(6);
const COMPRESSION_SHARE: u32 = 20;
const MOST_COMPRESSED: u32 = 44;
/// Acknowledged one by one after a mark.
const ALARMED: u32 = 2;

/// Data that arrived in order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) now: Instant,
    /// Bytes not acknowledged so far, these included.
    pub(crate) unacknowledged: Bytes,
    pub(crate) mss: Bytes,
    pub(crate) push: bool,
    /// The receive window's offer has grown with these bytes; and what it is.
    pub(crate) window_grew: bool,
    pub(crate) window: Bytes,
    /// Beside what the application has not read an acknowledgement would tell of less room than the one before.
    pub(crate) narrows: bool,
    /// When the application reads them.
    pub(crate) reads: Instant,
    /// What its IP header says of congestion makes Linux quick ([`Acknowledger::alarm`]).
    pub(crate) alarms: bool,
    /// The receiver's own retransmission timeout, and its smoothed round-trip time: seldom asked for, and elsewhere in memory.
    pub(crate) trip: &'a RttEstimator,
}

/// Decides when acknowledgements go out.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Acknowledger {
    behavior: &'static Behavior,
    /// An acknowledgement is due: now or at this time.
    due: Option<Instant>,
    last_arrival: Option<Instant>,
    /// Linux: the delay ("ato"), remaining quick ACKs, and whether the connection is interactive.
    delay: Duration,
    pub(crate) timers: Timers,
    quick: u32,
    /// Segments since the last acknowledgement.
    segments: u32,
    interactive: bool,
    /// What arrives next out of order has been answered.
    has_answered: bool,
    /// The acknowledgement leaves when the application reads.
    waits_for_program: bool,
    /// How many acknowledgements are held back, what was expected when data last arrived out of order, and how often it has been
    /// acknowledged for that.
    held_back: u32,
    told: (Sequence, u32),
}

impl Acknowledger {
    pub(crate) fn new(behavior: &'static Behavior) -> Self {
        Self {
            behavior,
            timers: behavior.timers,
            due: None,
            segments: 0,
            quick: 0,
            delay: ATO_MIN,
            interactive: false,
            last_arrival: None,
            told: (Sequence::SYN, 0),
            held_back: 0,
            has_answered: false,
            waits_for_program: false,
        }
    }

    /// Asks memory for all of it.
    pub(crate) fn look_at(&self) {
        look_at(&self.behavior);
        look_at(&self.interactive);
    }

    /// When an acknowledgement is due, if any is.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Something must be acknowledged at once: out of order, filling a hole, a SYN or a FIN (RFC 5681 §4.2).
    pub(crate) fn demand(&mut self, now: Instant) {
        self.due = Some(now);
    }

    /// The receive window's offer has grown: tcp_grow_window() sets the lowest bit, so that the sender hears of it soon.
    pub(crate) fn window_grew(&mut self) {
        if matches!(self.behavior.ack, AckPolicy::Linux { .. }) {
            self.quick |= 1;
        }
    }

    /// What arrives now out of order was answered before it was taken in, so that the next one tells of it: sending an acknowledgement takes
    /// back that one is wanted (tcp_event_ack_sent()).
    pub(crate) fn has_answered(&mut self) {
        self.has_answered = true;
    }

    /// Data arrived beyond `expected`; the shorter of the round trips that this end's receiver and sender have seen, none if the receiver has seen none
    /// (__tcp_ack_snd_check()).
    pub(crate) fn out_of_order(&mut self, now: Instant, expected: Sequence, rtt: Duration) {
        if core::mem::take(&mut self.has_answered) {
            return;
        }
        let is_quick = self.quick > 0 && !self.interactive;
        let compresses = matches!(self.behavior.ack, AckPolicy::Linux { .. }) && self.behavior.sack;
        if !compresses || is_quick || self.held_back >= MOST_COMPRESSED {
            return self.demand(now);
        }
        if self.told.0 != expected {
            self.told = (expected, 0);
        }
        // So many tell the sender of a loss, and are not held back.
        if u64::from(self.told.1) < DUPLICATE_THRESHOLD {
            self.told.1 += 1;
            return self.demand(now);
        }
        self.held_back += 1;
        let delay = COMPRESSION.min(rtt / COMPRESSION_SHARE) + COMPRESSION_SLACK + COMPRESSION_LATENESS;
        self.due = Some(self.due.map_or(now + delay, |due| due.min(now + delay)));
    }

    /// What is to be said of arrivals out of order waits.
    pub(crate) fn holds_back(&self) -> bool {
        self.held_back > 0
    }

    /// What has arrived before arrived again.
    pub(crate) fn arrived_again(&mut self, now: Instant, window: Bytes, mss: Bytes) {
        if let AckPolicy::Linux { quick } = self.behavior.ack {
            self.hurry(window, mss, quick);
        }
        self.demand(now);
    }

    /// A mark has arrived: the sender hears of it at once; of Linux when that is an [alarm](Self::alarm).
    pub(crate) fn hear_of_mark(&mut self, now: Instant) {
        if !matches!(self.behavior.ack, AckPolicy::Linux { .. }) {
            self.demand(now);
        }
    }

    /// The sender has reduced its window, which may be of one segment now, so that Linux does not let it wait (tcp_ecn_accept_cwr()).
    pub(crate) fn hear_of_reduction(&mut self, now: Instant) {
        if matches!(self.behavior.ack, AckPolicy::Linux { .. }) {
            self.demand(now);
        }
    }

    /// The first mark since the sender has reduced its window, or what is not capable of one though others were, as repetitions are not: Linux
    /// acknowledges two segments one by one (__tcp_ecn_check_ce()).
    pub(crate) fn alarm(&mut self, window: Bytes, mss: Bytes) {
        if matches!(self.behavior.ack, AckPolicy::Linux { .. }) {
            self.hurry(window, mss, ALARMED);
        }
    }

    /// tcp_enter_quickack_mode().
    fn hurry(&mut self, window: Bytes, mss: Bytes, most: u32) {
        self.quick = self.quick.max(quick_segments(window, mss, most));
        (self.interactive, self.delay) = (false, ATO_MIN);
    }

    /// Data arrived in order.
    pub(crate) fn data_arrived(&mut self, arrival: Arrival<'_>) {
        let first = self.last_arrival.is_none();
        self.segments += 1;
        let at = match self.behavior.ack {
            AckPolicy::Linux { quick } => return self.linux(arrival, quick),
            _ if self.segments >= 2 || (first && self.behavior.first_ack_immediate) => arrival.now,
            AckPolicy::EverySecond { delay } => arrival.now + delay,
            AckPolicy::Ticks { .. } if arrival.unacknowledged >= arrival.window => arrival.now,
            AckPolicy::Ticks { period } => next_tick(arrival.now, period),
        };
        self.is_due(arrival.now, at);
    }

    fn is_due(&mut self, arrived: Instant, at: Instant) {
        self.last_arrival = Some(arrived);
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// tcp_event_data_recv() and __tcp_ack_snd_check().
    fn linux(&mut self, arrival: Arrival<'_>, quick: u32) {
        self.adapt(arrival, quick);
        if arrival.alarms {
            self.alarm(arrival.window, arrival.mss);
        }
        if arrival.window_grew {
            self.window_grew();
        }
        let is_full = arrival.unacknowledged > arrival.mss;
        let at_once = (is_full && !arrival.narrows) || (self.quick > 0 && !self.interactive);
        let reads = match at_once {
            true => Some(arrival.now),
            // tcp_cleanup_rbuf().
            false if is_full || (arrival.push && !self.interactive) => Some(arrival.reads.max(arrival.now)),
            false => None,
        };
        let delayed = || self.timers.expiry(arrival.now, self.linux_delay(arrival));
        // Who takes longer than that to read finds it acknowledged.
        let at = match reads {
            Some(reads) if reads > arrival.now => reads.min(delayed()),
            Some(reads) => reads,
            None => delayed(),
        };
        if self.due.is_none_or(|due| at < due) {
            self.waits_for_program = reads == Some(at);
        }
        self.is_due(arrival.now, at);
    }

    /// The delay follows the spacing of data, all in jiffies; a gap beyond the timeout starts quick-ACK mode again.
    fn adapt(&mut self, arrival: Arrival<'_>, quick: u32) {
        let quick = self.quick.max(quick_segments(arrival.window, arrival.mss, quick));
        let Some(last) = self.last_arrival else {
            self.quick = quick;
            return;
        };
        let (gap, half) = (self.timers.since(last, arrival.now), jiffies::whole(self.delay / 2));
        if gap <= ATO_MIN / 2 {
            self.delay = half + ATO_MIN / 2;
        } else if gap < self.delay {
            self.delay = (half + gap).min(arrival.trip.rto());
        } else if gap > arrival.trip.rto() {
            self.quick = quick;
        }
    }

    /// tcp_send_delayed_ack().
    fn linux_delay(&self, arrival: Arrival<'_>) -> Duration {
        if self.delay <= ATO_MIN {
            return self.delay;
        }
        let bound = arrival.trip.smoothed().map_or(DELAY_MAX, |rtt| DELAY_MAX.min(rtt.max(ATO_MIN)));
        self.delay.min(bound)
    }

    /// A segment with an acknowledgement went out.
    pub(crate) fn acknowledged(&mut self) {
        if self.due.take().is_some() {
            self.quick = self.quick.saturating_sub(1);
        }
        (self.segments, self.held_back, self.has_answered, self.waits_for_program) = (0, 0, false, false);
    }

    /// Data went out: within the delay after data came in, the connection is interactive (tcp_event_data_sent()).
    pub(crate) fn data_sent(&mut self, now: Instant) {
        let answering = self.last_arrival.is_some_and(|last| self.timers.since(last, now) < self.delay);
        self.interactive |= answering && matches!(self.behavior.ack, AckPolicy::Linux { .. });
    }

    /// The delay ran out before anything could carry the acknowledgement (tcp_delack_timer_handler()).
    pub(crate) fn timer_expired(&mut self, rto: Duration) {
        if self.held_back > 0 || self.waits_for_program {
            // tcp_compressed_ack_kick() and who reads only send.
            return;
        }
        self.delay = if self.interactive { ATO_MIN } else { (self.delay * 2).min(rto) };
        self.interactive = false;
    }
}

/// How many segments are acknowledged one by one: what fills half the window, two if that is none (tcp_incr_quickack()).
fn quick_segments(window: Bytes, mss: Bytes, most: u32) -> u32 {
    let half = window.get() / (2 * mss.get().max(1));
    u32::try_from(if half == 0 { 2 } else { half }).map_or(most, |half| half.min(most))
}

/// The next tick strictly after `now` of a clock that ticks at multiples of `period`.
fn next_tick(now: Instant, period: Duration) -> Instant {
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
    Instant::from_nanos((now.as_nanos() / period + 1).saturating_mul(period))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behavior::RtoBounds;
    use crate::{FirstAck, Profile, TcpConfig};
    use std::sync::OnceLock;

    const MSS: Bytes = Bytes::new(1448);

    fn acknowledger(profile: Profile, first_ack: FirstAck) -> Acknowledger {
        Acknowledger::new(Behavior::of(&TcpConfig { first_ack, ..TcpConfig::of(profile) }))
    }

    /// A receiver that has measured no round trip, and whose timeout is 700 ms.
    fn trip() -> &'static RttEstimator {
        static BOUNDS: RtoBounds = RtoBounds {
            initial: Duration::from_millis(700),
            min: Duration::ZERO,
            min_variance: Duration::ZERO,
            max: Duration::from_secs(60),
            per_window: false,
        };
        static TRIP: OnceLock<RttEstimator> = OnceLock::new();
        TRIP.get_or_init(|| RttEstimator::new(&BOUNDS, false))
    }

    fn arrival(ms: u64, unacknowledged: Bytes, push: bool) -> Arrival<'static> {
        let now = Instant::START + Duration::from_millis(ms);
        Arrival {
            now,
            unacknowledged,
            mss: MSS,
            push,
            window_grew: false,
            window: Bytes::kb(64),
            narrows: false,
            reads: now,
            alarms: false,
            trip: trip(),
        }
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
    fn linux_holds_back_what_it_says_of_arrivals_out_of_order_with_sack_only() {
        let at = |ms| Instant::START + Duration::from_millis(ms);
        let late = |sack| {
            let config = TcpConfig { first_ack: FirstAck::Delayed, sack, ..TcpConfig::of(Profile::Linux) };
            let mut acks = Acknowledger::new(Behavior::of(&config));
            let arrivals = (0..6).filter(|ms| {
                acks.out_of_order(at(*ms), Sequence::FIRST_BYTE, Duration::from_millis(50));
                let due = acks.due();
                acks.acknowledged();
                due != Some(at(*ms))
            });
            arrivals.count()
        };
        assert_eq!((late(true), late(false)), (3, 0));
    }

    #[test]
    fn linux_delays_by_less_than_the_least_timeout() {
        let mut acks = acknowledger(Profile::Linux, FirstAck::Delayed);
        assert_eq!(delay(&mut acks, 0, false), 44);
        // Each delay that ran out doubles the next, to 320 ms.
        (0..3).for_each(|_| acks.timer_expired(Duration::from_millis(700)));
        assert_eq!(delay(&mut acks, 400, false), 196 + 4);
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
    fn what_is_pushed_or_leaves_less_room_is_acknowledged_when_it_is_read_if_that_is_before_the_timer() {
        let now = arrival(20, MSS, false).now;
        // How many µs after its arrival, and how many ms the next lone segment waits: longer, if the timer has run out.
        let waits = |reads_us: u64, (push, narrows): (bool, bool), unacknowledged, is_quick| {
            let mut acks = acknowledger(Profile::Linux, FirstAck::Immediate);
            (0..if is_quick { 1 } else { 16 }).for_each(|ms| _ = delay(&mut acks, ms, false));
            let reads = now + Duration::from_micros(reads_us);
            acks.data_arrived(Arrival { narrows, reads, ..arrival(20, unacknowledged, push) });
            let due = acks.due().expect("it is acknowledged");
            if due > now {
                acks.timer_expired(Duration::from_millis(700));
            }
            acks.acknowledged();
            (due.since(now).as_micros(), delay(&mut acks, 40, false))
        };
        assert_eq!(waits(100, (true, false), MSS, false), (100, 44), "pushed");
        assert_eq!(waits(100, (false, true), MSS * 2, false), (100, 44), "full, but of less room");
        assert_eq!(waits(100, (false, false), MSS * 2, false), (0, 44), "full");
        assert_eq!(waits(100, (true, true), MSS, true), (0, 0), "quick");
        assert_eq!(waits(0, (true, true), MSS * 2, false), (0, 44), "who is awake");
        let (late, next) = waits(400_000, (true, false), MSS, false);
        assert_eq!((late / 1000, next), (44, 64), "the timer");
        assert_eq!(waits(100, (false, true), MSS, false).0 / 1000, 44, "what is delayed");
        // The timer of what came before is due first.
        let mut acks = acknowledger(Profile::Linux, FirstAck::Immediate);
        (0..17).for_each(|ms| _ = delay(&mut acks, ms, false));
        acks.data_arrived(arrival(20, MSS, false));
        let due = acks.due();
        acks.data_arrived(Arrival { reads: now + Duration::from_millis(60), ..arrival(20, MSS, true) });
        assert_eq!((acks.due(), acks.waits_for_program), (due, false));
    }

    #[test]
    fn linux_counts_delays_in_jiffies() {
        let mut acks = acknowledger(Profile::Linux, FirstAck::Immediate);
        (0..16).for_each(|ms| _ = delay(&mut acks, ms, false));
        // Six jiffies after the 5 and 5 of before are 11, of which half are 5, so that 5 more are 10 again.
        assert_eq!([delay(&mut acks, 39, false), delay(&mut acks, 48, false)], [84 - 39, 92 - 48]);
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
        assert_eq!(delay(&mut acks, 1304, false), 0);
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
    fn half_of_the_buffer_is_acknowledged_at_once_by_4_4bsd() {
        let waits = |profile, buffer: u64| {
            let mut acks = acknowledger(profile, FirstAck::Delayed);
            acks.data_arrived(Arrival { window: Bytes::new(buffer) - MSS, ..arrival(50, MSS, false) });
            acks.due() != Some(arrival(50, MSS, false).now)
        };
        assert!(!waits(Profile::Bsd1997, 2048) && !waits(Profile::Bsd1997, 2896));
        assert!(waits(Profile::Bsd1997, 2897) && waits(Profile::Rfc, 2048));
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut acks = acknowledger(Profile::Rfc, FirstAck::Delayed);
        acks.data_arrived(arrival(0, MSS, false));
        acks.data_arrived(arrival(10, MSS * 2, false));
        assert_eq!(acks.due(), Some(arrival(10, MSS, false).now));
    }

    #[test]
    fn linux_is_quick_for_half_a_small_window() {
        let quick = |window: u64| {
            let mut acks = acknowledger(Profile::Linux, FirstAck::Immediate);
            let at_once = |ms: u64| {
                acks.data_arrived(Arrival { window: Bytes::new(window), ..arrival(ms, MSS, false) });
                let is_now = acks.due() == Some(arrival(ms, MSS, false).now);
                acks.acknowledged();
                is_now
            };
            (0..20).map(at_once).take_while(|is_now| *is_now).count()
        };
        assert_eq!([quick(65_160), quick(16_384), quick(2000)], [16, 5, 2]);
    }

    #[test]
    fn linux_holds_back_what_tells_nothing_new_of_a_loss() {
        let at = |ms: u64| Instant::START + Duration::from_millis(ms);
        let mut acks = acknowledger(Profile::Linux, FirstAck::Delayed);
        let due_of = |acks: &mut Acknowledger, ms: u64, expected: Sequence, rtt_ms: u64| {
            acks.out_of_order(at(ms), expected, Duration::from_millis(rtt_ms));
            let due = acks.due().expect("it is acknowledged").since(at(ms));
            acks.acknowledged();
            due.as_micros()
        };
        let mut due = |ms: u64, expected: Sequence, rtt_ms: u64| due_of(&mut acks, ms, expected, rtt_ms);
        let first = Sequence::FIRST_BYTE;
        assert_eq!([1, 2, 3, 4, 5].map(|ms| due(ms, first, 100)), [0, 0, 0, 1106, 1106]);
        assert_eq!(due(6, first, 10), 606, "a twentieth of the round trip");
        assert_eq!(due(7, first + MSS, 100), 0, "progress");
        acks.has_answered();
        acks.out_of_order(at(8), first + MSS, Duration::from_millis(100));
        assert_eq!(acks.due(), None, "what has just left is the answer");
        assert_eq!(due_of(&mut acks, 9, first + MSS, 100), 0, "that of the next one is its own");
        let mut acks = acknowledger(Profile::Rfc, FirstAck::Delayed);
        (0..9).for_each(|ms| acks.out_of_order(at(ms), first, Duration::from_millis(50)));
        assert_eq!(acks.due(), Some(at(8)), "RFC 5681 §4.2: at once");
    }

    #[test]
    fn what_is_held_back_does_not_change_how_long_data_in_order_waits() {
        let at = |ms: u64| Instant::START + Duration::from_millis(ms);
        let mut acks = acknowledger(Profile::Linux, FirstAck::Delayed);
        (1..5).for_each(|ms| {
            acks.out_of_order(at(ms), Sequence::FIRST_BYTE, Duration::from_millis(50));
            if ms < 4 {
                acks.acknowledged();
            }
        });
        acks.timer_expired(Duration::from_millis(700));
        acks.acknowledged();
        assert_eq!(delay(&mut acks, 100, false), 40 + 4, "40 ms, not twice that");
    }

    #[test]
    fn linux_is_quick_again_after_a_repetition() {
        let mut acks = acknowledger(Profile::Linux, FirstAck::Immediate);
        (0..16).for_each(|ms| _ = delay(&mut acks, ms, false));
        assert_eq!(delay(&mut acks, 16, false), 44);
        acks.arrived_again(Instant::START + Duration::from_millis(20), Bytes::kb(64), MSS);
        acks.acknowledged();
        assert_eq!([delay(&mut acks, 21, false), delay(&mut acks, 22, false)], [0, 0]);
    }
}
