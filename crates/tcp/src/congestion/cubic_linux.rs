//! CUBIC's congestion avoidance as Linux counts it (bictcp_update(), tcp_cong_avoid_ai()): whole segments, each after so many have
//! been acknowledged.
//!
//! It differs from RFC 9438 where the window is small or the path unknown: Reno's window counts once it is a whole segment larger
//! and is then approached, not taken; without a known plateau the window grows by 5 % per round at least. Time is counted in
//! jiffies, and how many acknowledgements a segment takes is looked at again when the window or, 1/32 s later, the time has
//! changed. Left out: rounding of the root to integers.

use super::cubic::cube_root;
use crate::jiffies::{self, Jiffies};
use farhop_units::Instant;
use std::time::Duration;

/// `bic_scale` of 41, in 1/1024: C, in segments per s³.
const C: f64 = 410.0 / 1024.0;
/// `beta`, of 1024: what is left of the window after a loss.
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// Acknowledged segments per segment of growth where nothing is to be gained: 100 windows.
const PLATEAU: u64 = 100;
/// The same without a known plateau: 5 % per round.
const UNKNOWN: u64 = 20;
/// The least: half as much again per round.
const LEAST: u64 = 2;
/// `beta_scale`, in eighths: Reno's window grows by one per 15/8 windows acknowledged.
const RENO_EIGHTHS: u64 = 15;
/// HZ / 32: an unchanged window is not looked at again for so long.
const SETTLED: u64 = jiffies::HZ / 32;

/// One stage of congestion avoidance; all windows are in segments.
#[derive(Debug, Clone)]
struct Epoch {
    start: Jiffies,
    plateau: u64,
    to_plateau: f64,
    /// Reno's window, and segments acknowledged since it last grew.
    reno: u64,
    acked: u64,
    /// Acknowledged segments for one of growth, and the window and the time for which that was found.
    per_segment: u64,
    looked: (u64, Jiffies),
}

/// Growth outside of slow start.
#[derive(Debug, Clone, Default)]
pub(super) struct LinuxGrowth {
    epoch: Option<Epoch>,
    /// Acknowledged segments that have not yet let the window grow (snd_cwnd_cnt).
    credit: u64,
}

/// The window and the plateau after a loss (bictcp_recalc_ssthresh()).
pub(super) fn reduced(window: u64, plateau: Option<u64>) -> (u64, u64) {
    let releasing = plateau.is_some_and(|plateau| window < plateau);
    let plateau = if releasing { window * (BETA_SCALE + BETA) / (2 * BETA_SCALE) } else { window };
    (window * BETA / BETA_SCALE, plateau)
}

impl LinuxGrowth {
    /// The window was reduced: a new stage begins with the next acknowledgement.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Time without data, until `now`, is not part of the stage, of which no more is to come than there was of it.
    pub(super) fn pause(&mut self, now: Instant, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.later_by(idle).min(Jiffies::at(now));
        }
    }

    /// Whether a stage has begun, less than a second before `now`.
    pub(super) fn is_young(&self, now: Instant) -> bool {
        self.epoch.as_ref().is_some_and(|epoch| Jiffies::at(now).since(epoch.start) < jiffies::HZ)
    }

    /// By how much the window grows when `acked` segments are acknowledged.
    pub(super) fn grow(&mut self, now: Instant, window: u64, acked: u64, max: Option<u64>, rtt: Duration) -> u64 {
        let now = Jiffies::at(now);
        let per_segment = match &mut self.epoch {
            Some(epoch) => epoch.go_on(now, window, acked, (max.is_none(), rtt)),
            none => none.insert(Epoch::new(now, window, max)).begin(now, window, acked, (max.is_none(), rtt)),
        };
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
    fn new(start: Jiffies, window: u64, max: Option<u64>) -> Self {
        let plateau = max.unwrap_or(window).max(window);
        let to_plateau = cube_root(segments(plateau - window) / C);
        let looked = (window, start);
        Self { start, plateau, to_plateau, reno: window, acked: 0, per_segment: PLATEAU * window, looked }
    }

    fn begin(&mut self, now: Jiffies, window: u64, acked: u64, path: (bool, Duration)) -> u64 {
        self.acked = acked;
        self.look(now, window, path);
        self.befriend(window)
    }

    /// How many segments have to be acknowledged for the window to grow by one.
    fn go_on(&mut self, now: Jiffies, window: u64, acked: u64, path: (bool, Duration)) -> u64 {
        self.acked += acked;
        let (looked_window, looked_at) = self.looked;
        if looked_window == window && now.since(looked_at) <= SETTLED {
            return self.per_segment;
        }
        if now != looked_at {
            self.looked = (window, now);
            self.look(now, window, path);
        }
        self.befriend(window)
    }

    /// The cubic function, one round trip ahead.
    fn look(&mut self, now: Jiffies, window: u64, (unknown, rtt): (bool, Duration)) {
        let ahead = now.since(self.start) + jiffies::count(rtt);
        let offset = segments(ahead) / segments(jiffies::HZ) - self.to_plateau;
        // The distance to the plateau is rounded down on both sides, so that below it the window is up to a segment ahead.
        let distance = whole(C * (offset * offset * offset).abs());
        let target =
            if offset < 0.0 { self.plateau.saturating_sub(distance) } else { self.plateau.saturating_add(distance) };
        let gain = target.saturating_sub(window);
        self.per_segment = window.checked_div(gain).unwrap_or(PLATEAU * window);
        if unknown {
            self.per_segment = self.per_segment.min(UNKNOWN);
        }
    }

    /// Reno's window, if it would be larger.
    fn befriend(&mut self, window: u64) -> u64 {
        let per_reno = (window * RENO_EIGHTHS / 8).max(1);
        // One by one, as in the kernel: a remainder of nothing stays.
        while self.acked > per_reno {
            self.acked -= per_reno;
            self.reno += 1;
        }
        if let Some(ahead) = self.reno.checked_sub(window).filter(|ahead| *ahead > 0) {
            self.per_segment = self.per_segment.min(window / ahead);
        }
        self.per_segment = self.per_segment.max(LEAST);
        self.per_segment
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
    fn after(rounds: u32, mut window: u64, max: Option<u64>) -> u64 {
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
        let window = after(88, 700, Some(1000));
        assert!((980..=1001).contains(&window), "{window}");
        let window = after(110, 700, Some(1000));
        assert!((998..=1012).contains(&window), "{window}");
    }

    #[test]
    fn without_a_known_plateau_the_window_grows_by_a_twentieth_per_round() {
        let window = after(10, 1000, None);
        assert!((1550..=1640).contains(&window), "{window}");
    }

    #[test]
    fn below_the_plateau_the_window_is_up_to_a_segment_ahead() {
        // A round after the loss the function says 4 - 1.9 segments, of which the kernel takes 4 - 1.
        let mut growth = LinuxGrowth::default();
        assert_eq!(growth.grow(Instant::START, 2, 2, Some(4), Duration::from_millis(26)), 1);
    }

    #[test]
    fn a_small_window_follows_renos() {
        // Reno's window grows by 8/15 segment per round: 14 + 30 · 8/15 = 30 less what the window lags behind.
        let window = after(30, 14, Some(20));
        assert!((26..=30).contains(&window), "{window}");
    }

    #[test]
    fn no_round_grows_by_more_than_half() {
        assert!(after(1, 1000, Some(100_000)) <= 1501);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_in_whole_segments() {
        assert_eq!(reduced(10, None), (7, 10));
        assert_eq!(reduced(10, Some(20)), (7, 8), "a flow that has less than before makes room for others");
    }

    #[test]
    fn a_pause_that_began_before_the_stage_does_not_put_it_off() {
        let at = |ms: u64| Instant::START + Duration::from_millis(ms);
        let grown = |idle_ms: u64| {
            let mut growth = LinuxGrowth::default();
            growth.grow(at(1000), 20, 1, Some(40), RTT);
            growth.pause(at(1008), Duration::from_millis(idle_ms));
            (0..50).map(|n| growth.grow(at(1100 + 8 * n), 20, 1, Some(40), RTT)).sum::<u64>()
        };
        assert_eq!(grown(500), grown(8));
        assert!(grown(8) > 2, "{}", grown(8));
    }

    #[test]
    fn an_unchanged_window_is_looked_at_again_after_a_thirty_second_of_a_second() {
        let mut epoch = Epoch::new(Jiffies::at(Instant::START), 100, Some(200));
        let at = |ms: u64| Jiffies::at(Instant::START + Duration::from_millis(ms));
        epoch.begin(at(0), 100, 1, (false, RTT));
        let looked = [20, 28, 32].map(|ms| {
            epoch.go_on(at(ms), 100, 1, (false, RTT));
            epoch.looked.1
        });
        assert_eq!(looked, [at(0), at(0), at(32)]);
    }
}
