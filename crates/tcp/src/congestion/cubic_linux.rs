//! CUBIC's congestion avoidance as Linux counts it (bictcp_update(), tcp_cong_avoid_ai()): whole segments, each after so many have
//! been acknowledged.
//!
//! It differs from RFC 9438 where the window is small or the path unknown: Reno's window counts once it is a whole segment larger
//! and is then approached, not taken; without a known plateau the window grows by 5 % per round at least. Left out: rounding of
//! times to jiffies and of the root to integers, updates at most every 1/32 s.

use super::cubic::{C, cube_root};
use farhop_units::Instant;
use std::time::Duration;

/// Acknowledged segments per segment of growth where nothing is to be gained: 100 windows.
const PLATEAU: u64 = 100;
/// The same without a known plateau: 5 % per round.
const UNKNOWN: u64 = 20;
/// The least: half as much again per round.
const LEAST: u64 = 2;
/// `beta_scale`, in eighths: Reno's window grows by one per 15/8 windows acknowledged.
const RENO_EIGHTHS: u64 = 15;

/// One stage of congestion avoidance.
#[derive(Debug, Clone)]
struct Epoch {
    start: Instant,
    plateau: f64,
    to_plateau: f64,
    /// Reno's window, and segments acknowledged since it last grew.
    reno: u64,
    acked: u64,
}

/// Growth outside of slow start; all windows are in segments.
#[derive(Debug, Clone, Default)]
pub(super) struct LinuxGrowth {
    epoch: Option<Epoch>,
    /// Acknowledged segments that have not yet let the window grow (snd_cwnd_cnt).
    credit: u64,
}

impl LinuxGrowth {
    /// The window was reduced: a new stage begins with the next acknowledgement.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Time without data is not part of the stage.
    pub(super) fn pause(&mut self, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += idle;
        }
    }

    /// When the stage began.
    pub(super) fn since(&self) -> Option<Instant> {
        self.epoch.as_ref().map(|epoch| epoch.start)
    }

    /// By how much the window grows when `acked` segments are acknowledged.
    pub(super) fn grow(&mut self, now: Instant, window: u64, acked: u64, max: Option<f64>, rtt: Duration) -> u64 {
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, window, max));
        let per_segment = epoch.per_segment(now + rtt, window, acked, max.is_none());
        self.spend(per_segment, acked)
    }

    /// tcp_cong_avoid_ai().
    fn spend(&mut self, per_segment: u64, acked: u64) -> u64 {
        let mut grown = 0;
        if self.credit >= per_segment {
            (self.credit, grown) = (0, 1);
        }
        self.credit += acked;
        grown += self.credit / per_segment;
        self.credit %= per_segment;
        grown
    }
}

impl Epoch {
    fn new(start: Instant, window: u64, max: Option<f64>) -> Self {
        let window_segments = segments(window);
        let plateau = max.unwrap_or(window_segments).max(window_segments);
        let to_plateau = cube_root((plateau - window_segments) / C);
        Self { start, plateau, to_plateau, reno: window, acked: 0 }
    }

    /// How many segments have to be acknowledged for the window to grow by one.
    fn per_segment(&mut self, at: Instant, window: u64, acked: u64, unknown: bool) -> u64 {
        self.acked += acked;
        let offset = at.since(self.start).as_secs_f64() - self.to_plateau;
        let gain = C * offset * offset * offset + self.plateau - segments(window);
        let mut count = if gain >= 1.0 { whole(segments(window) / gain.floor()) } else { PLATEAU * window };
        if unknown {
            count = count.min(UNKNOWN);
        }
        let per_reno = (window * RENO_EIGHTHS / 8).max(1);
        self.reno += self.acked / per_reno;
        self.acked %= per_reno;
        if let Some(ahead) = self.reno.checked_sub(window).filter(|ahead| *ahead > 0) {
            count = count.min(window / ahead);
        }
        count.max(LEAST)
    }
}

#[expect(clippy::cast_precision_loss, reason = "windows are below 2^53 segments")]
fn segments(window: u64) -> f64 {
    window as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive count")]
fn whole(count: f64) -> u64 {
    count as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// The window after `rounds` of acknowledging it.
    fn after(rounds: u32, mut window: u64, max: Option<f64>) -> u64 {
        let mut growth = LinuxGrowth::default();
        for round in 1..=rounds {
            let flight = window;
            for _ in 0..flight {
                window += growth.grow(Instant::START + RTT * round, window, 1, max, RTT);
            }
        }
        window
    }

    #[test]
    fn the_plateau_is_reached_after_k_and_left_slowly() {
        // K = ∛(300 / 0.4) = 9.09 s.
        let window = after(88, 700, Some(1000.0));
        assert!((980..=1001).contains(&window), "{window}");
        let window = after(110, 700, Some(1000.0));
        assert!((998..=1012).contains(&window), "{window}");
    }

    #[test]
    fn without_a_known_plateau_the_window_grows_by_a_twentieth_per_round() {
        let window = after(10, 1000, None);
        assert!((1550..=1640).contains(&window), "{window}");
    }

    #[test]
    fn a_small_window_follows_renos() {
        // Reno's window grows by 8/15 segment per round: 14 + 30 · 8/15 = 30 less what the window lags behind.
        let window = after(30, 14, Some(20.0));
        assert!((26..=30).contains(&window), "{window}");
    }

    #[test]
    fn no_round_grows_by_more_than_half() {
        assert!(after(1, 1000, Some(100_000.0)) <= 1501);
    }
}
