//! Does the congestion window limit the sender? A window that is not used says nothing about the path.
//!
//! Linux's tcp_cwnd_validate() and tcp_cwnd_restart(), after RFC 2861 (RFC 7661 §4 in spirit): no growth while the application
//! limits, and decay when it has for an RTO. RFC 5681 §4.1: slow start after idle.

use crate::Sequence;
use crate::congestion::whole_units;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// How the window has been used lately.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowUsage {
    /// Was the sender held back by the window, in the window of data that ends at `until`?
    limited: bool,
    /// Most bytes on the way in that window of data.
    most: Bytes,
    until: Sequence,
    /// When the window last limited or might have grown (snd_cwnd_stamp), and the most that has been on the way since it last limited.
    good_since: Instant,
    most_since: Bytes,
    last_active: Instant,
}

/// What the sender knows after it has sent what it could.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AfterSending {
    pub(crate) now: Instant,
    pub(crate) limited: bool,
    pub(crate) in_flight: Bytes,
    pub(crate) unacknowledged: Sequence,
    pub(crate) next: Sequence,
}

impl WindowUsage {
    /// Whether growing is justified; in slow start half a window in use is enough.
    pub(crate) fn is_limited(&self, window: Bytes, slow_start: bool) -> bool {
        self.limited || (slow_start && window < self.most * 2)
    }

    /// What ends idle time: data goes out, for the first time or again; with 4.4BSD, something arrives.
    pub(crate) fn active(&mut self, now: Instant) {
        self.last_active = now;
    }

    /// Time since then.
    pub(crate) fn idle(&self, now: Instant) -> Duration {
        now.since(self.last_active)
    }

    /// Data was acknowledged where windows grow, whether this one does or not, or it was made smaller for idle time: it does not decay for so long
    /// (tcp_cong_avoid(), tcp_cwnd_restart()).
    pub(crate) fn progress(&mut self, now: Instant) {
        self.good_since = now;
    }

    /// Notes the state after sending; the state of one window of data is that of its most limited moment.
    pub(crate) fn update(&mut self, after: AfterSending) {
        let fresh = after.unacknowledged >= self.until;
        if fresh || after.limited || (!self.limited && after.in_flight > self.most) {
            self.limited = after.limited;
            self.most = after.in_flight;
            self.until = after.next;
        }
    }

    /// The window after `rto` without its limiting and without progress, halfway to what was used (RFC 2861 §3); `None` if it may stay.
    pub(crate) fn decayed(
        &mut self,
        after: AfterSending,
        window: Bytes,
        slow_start: bool,
        rto: Duration,
        (initial, mss): (Bytes, Bytes),
    ) -> Option<Bytes> {
        if self.is_limited(window, slow_start) {
            (self.good_since, self.most_since) = (after.now, Bytes::ZERO);
            return None;
        }
        self.most_since = self.most_since.max(after.in_flight);
        if after.now.since(self.good_since) < rto {
            return None;
        }
        let used = self.most_since.max(initial);
        (self.good_since, self.most_since) = (after.now, Bytes::ZERO);
        (used < window).then(|| whole_units(Bytes::new((window + used).get() / 2), mss))
    }
}

/// The window after `idle` time that is longer than `rto`: RFC 5681 §4.1 restarts from the initial window, Linux (`gently`, with
/// its unit) halves once per RTO down to it.
pub(crate) fn restart_window(
    window: Bytes,
    initial: Bytes,
    idle: Duration,
    rto: Duration,
    gently: Option<Bytes>,
) -> Bytes {
    let floor = initial.min(window);
    let Some(unit) = gently else { return floor };
    let halvings = (idle.as_nanos().saturating_sub(1) / rto.as_nanos().max(1)).min(63);
    whole_units(Bytes::new(window.get() >> halvings), unit).max(floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);
    const RTO: Duration = Duration::from_millis(700);

    fn after(ms: u64, limited: bool, segments: u64) -> AfterSending {
        let now = Instant::START + Duration::from_millis(ms);
        let next = Sequence::FIRST_BYTE + Bytes::new(ms) * 1000;
        AfterSending { now, limited, in_flight: MSS * segments, unacknowledged: Sequence::SYN, next }
    }

    #[test]
    fn a_sender_that_has_filled_its_window_once_in_a_round_is_limited() {
        let mut usage = WindowUsage::default();
        usage.update(after(1, true, 10));
        usage.update(after(2, false, 3));
        assert!(usage.is_limited(MSS * 10, false));
    }

    #[test]
    fn slow_start_needs_half_the_window_in_use() {
        let mut usage = WindowUsage::default();
        usage.update(after(1, false, 6));
        assert!(usage.is_limited(MSS * 10, true));
        assert!(!usage.is_limited(MSS * 10, false));
        assert!(!usage.is_limited(MSS * 12, true));
    }

    #[test]
    fn an_unused_window_decays_halfway_once_per_rto() {
        let mut usage = WindowUsage::default();
        let small = |ms| after(ms, false, 4);
        assert_eq!(usage.decayed(small(600), MSS * 100, false, RTO, (MSS * 10, MSS)), None);
        assert_eq!(usage.decayed(small(700), MSS * 100, false, RTO, (MSS * 10, MSS)), Some(MSS * 55));
        assert_eq!(usage.decayed(small(800), MSS * 55, false, RTO, (MSS * 10, MSS)), None);
    }

    #[test]
    fn what_is_acknowledged_keeps_an_unused_window() {
        let mut usage = WindowUsage::default();
        for ms in [600, 1200, 1800] {
            usage.progress(after(ms, false, 4).now);
            assert_eq!(usage.decayed(after(ms + 50, false, 4), MSS * 100, false, RTO, (MSS * 10, MSS)), None);
        }
        assert_eq!(usage.decayed(after(2500, false, 4), MSS * 100, false, RTO, (MSS * 10, MSS)), Some(MSS * 55));
    }

    #[test]
    fn restarting_after_idle_is_gentle_on_linux_only() {
        let idle = Duration::from_millis(1500);
        assert_eq!(restart_window(MSS * 100, MSS * 10, idle, RTO, None), MSS * 10);
        assert_eq!(restart_window(MSS * 100, MSS * 10, idle, RTO, Some(MSS)), MSS * 25);
        assert_eq!(restart_window(MSS * 100, MSS * 10, idle * 9, RTO, Some(MSS)), MSS * 10);
        assert_eq!(restart_window(MSS * 4, MSS * 10, idle, RTO, Some(MSS)), MSS * 4, "never more than before");
    }
}
