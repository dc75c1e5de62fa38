//! Acknowledgements in bunches (bbr_update_ack_aggregation()): how much more is acknowledged at once than the rate explains. The
//! window has to be larger by that, or the sender falls silent between the bunches.

use super::{RateSample, whole_units};
use farhop_units::{Bytes, Instant, Rate};
use std::time::Duration;

/// `bbr_extra_acked_win_rtts`: rounds per slot of the filter.
const SLOT_ROUNDS: u32 = 5;
/// `bbr_extra_acked_max_us`: most that the window grows by, in time at the path's rate.
const MOST: Duration = Duration::from_millis(100);

/// The most that was acknowledged beyond what was expected, in the last five to ten rounds.
#[derive(Debug, Clone, Default)]
pub(super) struct Aggregation {
    /// The two slots, the current one first.
    extra: [Bytes; 2],
    rounds: u32,
    /// Since when what is acknowledged is compared with what is expected, and how much it was.
    since: Instant,
    acked: Bytes,
}

impl Aggregation {
    /// Begins to compare at `now`.
    pub(super) fn restart(&mut self, now: Instant) {
        (self.since, self.acked) = (now, Bytes::ZERO);
    }

    /// An acknowledgement arrived; what is expected is whole segments of `mss`.
    pub(super) fn update(
        &mut self,
        sample: &RateSample,
        rate: Option<Rate>,
        round_start: bool,
        (window, mss): (Bytes, Bytes),
    ) {
        let Some(rate) = rate.filter(|_| sample.newly_delivered > Bytes::ZERO && !sample.interval.is_zero()) else {
            return;
        };
        if round_start {
            self.rounds += 1;
            if self.rounds >= SLOT_ROUNDS {
                self.rounds = 0;
                self.extra = [Bytes::ZERO, self.extra[0]];
            }
        }
        let mut expected = whole_units(rate.bytes_in(sample.now.since(self.since)), mss);
        if self.acked <= expected {
            self.restart(sample.now);
            expected = Bytes::ZERO;
        }
        self.acked += sample.newly_delivered;
        let extra = self.acked.saturating_sub(expected).min(window);
        self.extra[0] = self.extra[0].max(extra);
    }

    /// What the window may be larger by (bbr_ack_aggregation_cwnd()).
    pub(super) fn allowance(&self, rate: Option<Rate>, mss: Bytes) -> Bytes {
        let most = rate.map_or(Bytes::ZERO, |rate| whole_units(rate.bytes_in(MOST), mss));
        self.extra[0].max(self.extra[1]).min(most)
    }
}
