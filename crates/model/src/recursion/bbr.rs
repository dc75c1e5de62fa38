//! The start of BBR (version 1, as in Linux's tcp_bbr.c): STARTUP, DRAIN and a steady rate.
//!
//! Approximate: bandwidth samples are what was delivered between a segment's sending and its acknowledgement over that time; the gain
//! cycle of PROBE_BW is its mean of one; PROBE_RTT and the filter that forgets old bandwidths are left out.

use super::ticks::{Pace, Ticks};
use super::window::Acked;

/// 2/ln 2, the gain of STARTUP, as Linux has it: 739/256.
const STARTUP: (u32, u32) = (256, 739);
/// Rounds with less than a quarter more bandwidth after which the pipe counts as full.
const FULL_ROUNDS: u32 = 3;

/// Start, drain and a steady rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bbr {
    /// Fastest delivery seen.
    best: Option<Pace>,
    least: Option<Ticks>,
    round_end: u64,
    /// Delivery when the bandwidth last grew by a quarter, and rounds since.
    full: Option<Pace>,
    rounds: u32,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Startup,
    Drain,
    Steady,
}

impl Bbr {
    pub(crate) fn on_ack(&mut self, ack: &Acked, window: u64, mss: u64) -> u64 {
        let sample = Pace::measured(ack.rtt, ack.up_to - ack.delivered);
        self.best = Some(self.best.map_or(sample, |best| best.min(sample)));
        self.least = Some(self.least.map_or(ack.rtt, |least| least.min(ack.rtt)));
        if ack.up_to >= self.round_end {
            self.round_end = ack.next;
            self.judge_round();
        }
        if self.phase == Phase::Drain && ack.next - ack.up_to <= self.product(1) {
            self.phase = Phase::Steady;
        }
        match self.phase {
            Phase::Startup => window + ack.bytes,
            Phase::Drain | Phase::Steady => (window + ack.bytes).min(self.product(2)).max(4 * mss),
        }
    }

    fn judge_round(&mut self) {
        let Some(best) = self.best else { return };
        if self.phase == Phase::Startup {
            if self.full.is_none_or(|full| best <= full.scaled(4, 5)) {
                (self.full, self.rounds) = (Some(best), 0);
            } else {
                self.rounds += 1;
                if self.rounds >= FULL_ROUNDS {
                    self.phase = Phase::Drain;
                }
            }
        }
    }

    /// `gain` bandwidth-delay products, in bytes.
    fn product(&self, gain: u64) -> u64 {
        let (Some(best), Some(least)) = (self.best, self.least) else { return u64::MAX };
        // Times of 64 KiB, so that the quotient keeps its precision.
        let unit = best.time(1 << 16).raw().max(1);
        least.raw().saturating_mul(gain).saturating_mul(1 << 8) / unit.div_ceil(1 << 8).max(1)
    }

    /// How fast packets may leave; before any sample the window per round-trip time.
    pub(crate) fn pace(&self, rtt: Ticks, window: u64) -> Pace {
        let best = self.best.unwrap_or_else(|| Pace::measured(rtt, window));
        match self.phase {
            Phase::Startup => best.scaled(STARTUP.0, STARTUP.1),
            Phase::Drain => best.scaled(STARTUP.1, STARTUP.0),
            Phase::Steady => best,
        }
    }
}
