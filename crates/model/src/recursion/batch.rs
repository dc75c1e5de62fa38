//! Batches: what Linux hands down the host at once, to be cut into segments by the device (tcp_write_xmit(), tcp_tso_autosize()).
//!
//! The last segment of a batch is pushed, and so acknowledged at once; and a batch that would be small waits for the next acknowledgement
//! if that is near (tcp_tso_should_defer()). A batch is a millisecond's worth of the rate at which the window is spread over the round trip,
//! more on paths of a few milliseconds.

use super::sender::Sender;
use super::ticks::Ticks;

/// GSO_MAX_SIZE, `sk_pacing_shift`, `tcp_min_tso_segs` and `tcp_tso_rtt_log`.
const MOST_BYTES: u64 = 65_536;
const PER_SECOND_SHIFT: u32 = 10;
const LEAST: u64 = 2;
const ROUND_TRIP_SHIFT: u32 = 9;
/// `bbr_min_tso_rate`, in bytes per second: below it BBR's batches are single segments.
const LEAST_RATE: u64 = 1_200_000 / 8;
/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, in millionths.
const SLOW_START: u64 = 2_000_000;
const AVOIDANCE: u64 = 1_200_000;
/// How long a batch waits, and how long ago the last one was if it does.
const PATIENCE: Ticks = Ticks::from_millis(1);

/// What is left of the batch that is leaving.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Batch {
    left: u64,
    has_several: bool,
}

impl Batch {
    pub(super) fn is_leaving(self) -> bool {
        self.left > 0
    }

    /// Segments that may follow the last one.
    pub(super) fn left(self) -> u64 {
        self.left
    }

    /// Up to `most` segments leave, of `segments()` if no batch is leaving: how many do before another one begins, and whether the last of
    /// them is pushed.
    pub(super) fn send(&mut self, most: u64, segments: impl FnOnce() -> u64) -> (u64, bool) {
        if self.left == 0 {
            let segments = segments().max(1);
            *self = Self { left: segments, has_several: segments > 1 };
        }
        let count = self.left.min(most);
        self.left -= count;
        (count, self.left == 0 && self.has_several)
    }

    /// So many batches of so many segments leave: how many do, and every which of them is pushed.
    pub(super) fn send_whole(&mut self, batches: u64, segments: u64) -> (u64, u64) {
        let has_several = segments > 1;
        *self = Self { left: 0, has_several };
        (batches * segments, if has_several { segments } else { u64::MAX })
    }
}

impl Sender {
    /// Segments of the next batch of `waiting` bytes if the window has room for so many.
    pub(super) fn batch_of(&self, room: u64, waiting: u64) -> u64 {
        let (window, mss) = (self.window.size, self.mss);
        let least = self.least();
        if room < 2 * mss || waiting <= mss || window < 4 * mss {
            return 1;
        }
        // Most batches are as small as can be, for which there is room, and which takes no division to see.
        if !self.is_worth(least + 1) {
            return least;
        }
        self.worth().max(least).min(room / mss).min(waiting.div_ceil(mss)).min(window / mss / 2)
    }

    /// The same if there is room for any and enough waits.
    pub(super) fn usual_batch(&self) -> u64 {
        self.batch_of(u64::MAX, u64::MAX)
    }

    /// Most segments of a batch that is sent again (tcp_tso_segs()).
    pub(super) fn batch_again(&self) -> u64 {
        self.worth().max(self.least())
    }

    fn least(&self) -> u64 {
        if self.pacing.is_some_and(|rate| rate < LEAST_RATE) { 1 } else { LEAST }
    }

    /// Whether a millisecond is worth so many segments.
    fn is_worth(&self, segments: u64) -> bool {
        let (bytes, micros) = self.rate();
        bytes >= ((segments * self.mss) << PER_SECOND_SHIFT).saturating_mul(micros) || self.extra() > 0
    }

    /// What it is worth, in segments.
    fn worth(&self) -> u64 {
        let (bytes, micros) = self.rate();
        ((bytes.checked_div(micros).unwrap_or(u64::MAX) >> PER_SECOND_SHIFT) + self.extra()).min(MOST_BYTES) / self.mss
    }

    /// What is added on short paths.
    fn extra(&self) -> u64 {
        let halvings = self.rtt.least.map_or(u64::MAX, |rtt| (rtt.raw() / 1000) >> ROUND_TRIP_SHIFT);
        if halvings < 32 { MOST_BYTES >> halvings } else { 0 }
    }

    /// Bytes in so many seconds: the controller's, or what the window implies (tcp_update_pacing_rate()); in no time if nothing does.
    fn rate(&self) -> (u64, u64) {
        if let Some(rate) = self.pacing {
            return (rate, 1);
        }
        let Some(rtt) = self.rtt.smoothed() else { return (u64::MAX, 0) };
        let (window, threshold) = (self.window.size, self.window.threshold());
        let begins = threshold.is_none_or(|threshold| window.saturating_mul(2) < threshold);
        let millionths = if begins { SLOW_START } else { AVOIDANCE };
        (window.saturating_mul(millionths), (rtt.raw() / 1000).max(1))
    }

    /// Whether the next of `waiting` bytes wait for company: more may leave with the next acknowledgement, which is expected within a
    /// millisecond.
    pub(super) fn defers(&mut self, now: Ticks, waiting: u64) -> bool {
        if waiting <= self.mss || self.batch.is_leaving() || self.probing || !self.is_calm {
            return false;
        }
        if self.pushes() || now.since(self.last_data.max(self.departs)) > PATIENCE {
            return false;
        }
        let window = self.window.size;
        let room = window.saturating_sub(self.counted()).min(self.room_offered());
        // `tcp_tso_win_divisor`: a third of the window is always worth it.
        if room * 3 >= window {
            return false;
        }
        self.may_defer(now) && room / self.mss < self.usual_batch()
    }

    /// Whether the next acknowledgement is expected as soon.
    pub(super) fn may_defer(&self, now: Ticks) -> bool {
        let (Some(first), Some(rtt)) = (self.first_sent(), self.rtt.smoothed()) else { return false };
        first + rtt <= now + PATIENCE.min(rtt.per(2))
    }
}

#[cfg(test)]
mod tests {
    use super::super::habits::Habits;
    use super::super::window::Window;
    use super::*;
    use farhop_scenario::{ByteCounting, Congestion, Profile, TcpConfig};

    const MSS: u64 = 1448;

    fn sender(window: u64, rtt_ms: u64) -> Sender {
        let habits = Habits::of(&TcpConfig::of(Profile::Linux));
        let mut sender =
            Sender::new(habits, MSS, Window::new(Congestion::Reno, (MSS, window * MSS), ByteCounting::Unlimited, true));
        sender.start_from(Ticks::from_millis(rtt_ms));
        sender
    }

    #[test]
    fn a_batch_is_a_milliseconds_worth_of_two_segments_or_more_and_half_the_window_at_most() {
        let batch = |window: u64, rtt_ms: u64, room: u64| sender(window, rtt_ms).batch_of(room * MSS, room * MSS);
        assert_eq!(batch(100, 500, 50), 2);
        // 2 · 1000 segments in 100 ms.
        assert_eq!(batch(1000, 100, 50), 19);
        assert_eq!([batch(10, 1, 3), batch(10, 1, 9), batch(1, 1, 1)], [3, 5, 1]);
        assert_eq!(sender(1000, 100).batch_of(50 * MSS, 6 * MSS + 1), 7, "the last segment may be short");
        let mut slow = sender(1000, 500);
        slow.pacing = Some(LEAST_RATE - 1);
        assert_eq!((slow.batch_of(50 * MSS, 50 * MSS), slow.batch_again()), (1, 1));
        let again = |window, rtt_ms| sender(window, rtt_ms).batch_again();
        assert_eq!((again(1, 500), again(1000, 100)), (2, 19), "half a window is no limit of what is sent again");
    }

    #[test]
    fn a_batch_follows_the_rate_and_on_short_paths_has_more_but_never_more_than_fits() {
        let batch = |sender: &Sender| sender.batch_of(60 * MSS, 60 * MSS);
        assert_eq!(batch(&sender(1000, 10)), 45, "64 KiB");
        let mut avoiding = sender(1000, 100);
        avoiding.window.on_loss(1000 * MSS);
        assert_eq!((avoiding.window.size, batch(&avoiding)), (500 * MSS, 5), "1.2 windows per round trip");
        // 10,000 bytes a millisecond, and 64 KiB halved for each 512 us.
        let mut paced = sender(100, 1);
        paced.pacing = Some(10_000 << PER_SECOND_SHIFT);
        let mut at = |rtt_ms| {
            paced.rtt.least = Some(Ticks::from_millis(rtt_ms));
            batch(&paced)
        };
        assert_eq!([1, 2, 3, 50].map(&mut at), [29, 12, 8, 6]);
    }

    #[test]
    fn the_last_segment_of_several_is_pushed() {
        let mut batch = Batch::default();
        let mut sent = |segments: u64| (0..segments).map(|_| batch.send(1, || segments).1).collect::<Vec<_>>();
        assert_eq!((sent(1), sent(3)), (vec![false], vec![false, false, true]));
        assert_eq!([3, 9, 9].map(|most| batch.send(most, || 5)), [(3, false), (2, true), (5, true)]);
    }

    #[test]
    fn a_small_batch_waits_if_the_next_acknowledgement_is_near() {
        let mut sender = sender(100, 100);
        sender.update_offer(0, u64::MAX / 4);
        sender.written = 300 * MSS;
        while sender.transmit(Ticks::ZERO).is_some() {}
        let defers = |sender: &mut Sender, at: u64| {
            sender.acknowledged = MSS;
            sender.last_data = Ticks::from_millis(at);
            sender.defers(Ticks::from_millis(at), 200 * MSS)
        };
        assert!(!defers(&mut sender, 98), "2 ms too early");
        assert!(defers(&mut sender, 99));
        let at = Ticks::from_millis(99);
        assert!(!sender.defers(at, MSS), "nothing to be in company with");
        sender.last_data = Ticks::from_millis(97);
        assert!(!sender.defers(at, 200 * MSS), "nothing has left for longer");
        sender.departs = at;
        assert!(sender.defers(at, 200 * MSS), "the pace lets the next leave only now");
        sender.last_data = at;
        sender.acknowledged = 40 * MSS;
        assert!(!sender.defers(Ticks::from_millis(99), 200 * MSS), "a third of the window");
    }
}
