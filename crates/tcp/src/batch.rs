//! Batches: Linux hands segments that may leave at once to the device in one piece, which cuts it (TSO, or GSO in software; tcp_write_xmit(),
//! tcp_tso_autosize()). The last segment of a piece is pushed, so that the receiver acknowledges it as soon as it is read; and pacing is by pieces.
//!
//! A piece holds what leaves in a millisecond at the pacing rate, more where the round trip is below some milliseconds, and at most
//! half the congestion window. A smaller one waits a little for a larger one to become possible (tcp_tso_should_defer()).

use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// GSO_MAX_SIZE, and 2¹⁰ pieces per second (sk_pacing_shift).
const LARGEST: u64 = 65_536;
const PACING_SHIFT: u32 = 10;
/// `tcp_min_tso_segs`; and `bbr_min_tso_rate`, below which BBR sends segment by segment.
const LEAST: u64 = 2;
const LEAST_RATE: Rate = Rate::from_bits_per_second(1_200_000).expect("more than nothing");
/// `tcp_tso_rtt_log`: the allowance for short round trips is halved per 512 µs.
const RTT_SHIFT: u32 = 9;
/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, in percent.
const RATIOS: (u64, u64) = (200, 120);

/// How long a piece that is too small waits after the last one, and for the next acknowledgement.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1);

/// What is left of the batch under way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Batch {
    left: u64,
    is_larger_than_one: bool,
    /// It is of what was lost.
    is_again: bool,
}

impl Batch {
    /// Whether segments may follow the last one without further ado.
    pub(crate) fn is_under_way(&self) -> bool {
        self.left > 0
    }

    /// Segments that may follow the last one.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// A batch of so many segments begins.
    pub(crate) fn begin(&mut self, segments: u64) {
        *self = Self { left: segments, is_larger_than_one: segments > 1, is_again: false };
    }

    /// The same of what was lost.
    pub(crate) fn begin_again(&mut self, segments: u64) {
        self.begin(segments);
        self.is_again = true;
    }

    /// Ends where something else is to be sent than it is of, or it is told anew how much.
    pub(crate) fn give_way(&mut self, again: bool, anew: bool) {
        if anew || self.is_again != again {
            self.end();
        }
    }

    /// A segment leaves; whether it is pushed as the last of several.
    pub(crate) fn send(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0 && self.is_larger_than_one
    }

    /// Nothing more leaves now.
    pub(crate) fn end(&mut self) {
        self.left = 0;
    }
}

/// What the size of a batch depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    pub(crate) mss: Bytes,
    pub(crate) window: Bytes,
    /// Where slow start ends.
    pub(crate) threshold: Option<Bytes>,
    /// What a controller paces at; others imply a rate.
    pub(crate) rate: Option<Rate>,
    pub(crate) smoothed_rtt: Option<Duration>,
    pub(crate) least_rtt: Option<Duration>,
}

impl Circumstances {
    /// Most segments of a batch of which the window leaves room for `room`.
    pub(crate) fn most(&self, room: u64) -> u64 {
        let half = (self.window.get() / self.mss.get().max(1) / 2).max(1);
        let most = room.min(half);
        let least = self.least();
        if most <= least { most } else { most.min(self.goal().max(least)) }
    }

    /// Most segments of a batch that is sent again (tcp_tso_segs()).
    pub(crate) fn most_again(&self) -> u64 {
        self.goal().max(self.least())
    }

    fn least(&self) -> u64 {
        if self.rate.is_some_and(|rate| rate < LEAST_RATE) { 1 } else { LEAST }
    }

    /// tcp_tso_autosize().
    fn goal(&self) -> u64 {
        let Some(bytes_per_s) = self.bytes_per_second() else { return u64::MAX };
        let halvings =
            self.least_rtt.map_or(u64::MAX, |rtt| u64::try_from(rtt.as_micros()).unwrap_or(u64::MAX) >> RTT_SHIFT);
        let extra = if halvings < 32 { LARGEST >> halvings } else { 0 };
        let bytes = ((bytes_per_s >> PACING_SHIFT) + extra).min(LARGEST);
        bytes / self.mss.get().max(1)
    }

    /// tcp_update_pacing_rate().
    fn bytes_per_second(&self) -> Option<u64> {
        if let Some(rate) = self.rate {
            return Some(rate.bits_per_second() / 8);
        }
        let micros = u64::try_from(self.smoothed_rtt?.as_micros()).unwrap_or(u64::MAX).max(1);
        let begins = self.threshold.is_none_or(|threshold| self.window * 2 < threshold);
        let percent = if begins { RATIOS.0 } else { RATIOS.1 };
        Some(self.window.get().saturating_mul(percent * 10_000) / micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1448);

    fn circumstances(window: u64, rtt_ms: u64) -> Circumstances {
        let rtt = Some(Duration::from_millis(rtt_ms));
        let (threshold, rate) = (None, None);
        Circumstances { mss: MSS, window: MSS * window, threshold, rate, smoothed_rtt: rtt, least_rtt: rtt }
    }

    #[test]
    fn a_batch_is_a_milliseconds_worth_and_two_segments_at_least() {
        assert_eq!(circumstances(100, 500).most(50), 2);
        // 2 · 1000 segments in 100 ms.
        assert_eq!(circumstances(1000, 100).most(50), 19);
        let paced = Circumstances { rate: Some(Rate::mbps(100)), ..circumstances(1000, 500) };
        assert_eq!(paced.most(50), 8);
        let slow = Circumstances { rate: Some(Rate::kbps(1199)), ..paced };
        assert_eq!(slow.most(50), 1);
        let narrow = |rate| Circumstances { rate: Some(rate), ..circumstances(4, 500) };
        let again = [Rate::kbps(1199), Rate::kbps(1200), Rate::mbps(100)].map(|rate| narrow(rate).most_again());
        assert_eq!(again, [1, 2, 8], "half a window is no limit of what is sent again");
    }

    #[test]
    fn a_batch_is_no_larger_than_room_nor_half_the_window() {
        assert_eq!(circumstances(10, 1).most(3), 3);
        assert_eq!(circumstances(10, 1).most(9), 5);
        assert_eq!(circumstances(1, 1).most(1), 1);
    }

    #[test]
    fn short_round_trips_make_larger_batches() {
        let slow = |ms| Circumstances { rate: Some(Rate::mbps(30)), ..circumstances(100, ms) };
        let most = [1, 2, 16].map(|ms| slow(ms).most(50));
        assert!(most[0] > most[1] && most[1] > most[2], "{most:?}");
    }

    #[test]
    fn a_batch_gives_way_to_what_it_is_not_of() {
        for (again, other) in [(false, false), (false, true), (true, false), (true, true)] {
            let begun = || {
                let mut batch = Batch::default();
                if again {
                    batch.begin_again(3);
                } else {
                    batch.begin(3);
                }
                batch
            };
            let (mut plain, mut anew) = (begun(), begun());
            plain.give_way(other, false);
            anew.give_way(other, true);
            assert_eq!((plain.is_under_way(), anew.is_under_way()), (again == other, false), "{again} {other}");
        }
    }

    #[test]
    fn the_last_segment_of_several_is_pushed() {
        let mut batch = Batch::default();
        let mut sent = |segments: u64| {
            batch.begin(segments);
            (0..segments).map(|_| batch.send()).collect::<Vec<_>>()
        };
        assert_eq!((sent(1), sent(3)), (vec![false], vec![false, false, true]));
        assert!(!batch.is_under_way());
    }
}
