//! Long-term rates (bbr_lt_bw_sampling()): what a policer lets through, or a queue of a few packets that several flows share.
//!
//! From a loss on, intervals of at least four rounds are looked at that end with a loss. If a fifth of what is delivered in two of them
//! in a row gets lost, and the same rate is delivered in both, that is the path's rate for 48 rounds, whatever faster samples there are.

use super::{RateSample, gains};
use farhop_units::{Bytes, Instant, Rate};
use std::time::Duration;

/// `bbr_lt_intvl_min_rtts`, and the rounds after which an interval is given up.
const INTERVAL_ROUNDS: u32 = 4;
const MOST_INTERVAL_ROUNDS: u32 = 4 * INTERVAL_ROUNDS;
/// `bbr_lt_loss_thresh`: 50/256 of what is delivered.
const LOSSY: (u64, u64) = (50, 256);
/// `bbr_lt_bw_ratio` and `bbr_lt_bw_diff`: rates that differ by an eighth, or by this much, are the same.
const SAME_SHARE: u64 = 8;
const SAME: Rate = Rate::kbps(4);
/// `bbr_lt_bw_max_rtts`.
const USED_ROUNDS: u32 = 48;

/// What was lost and delivered when an interval began.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    delivered: Bytes,
    delivered_at: Instant,
    lost: Bytes,
}

impl Totals {
    fn of(sample: &RateSample) -> Self {
        let RateSample { total_delivered, delivered_at, total_lost, .. } = *sample;
        Self { delivered: total_delivered, delivered_at, lost: total_lost }
    }
}

/// What is known of a policer.
#[derive(Debug, Clone, Default)]
pub(super) struct Policer {
    /// What the last interval delivered; what several did once that is used.
    rate: Option<Rate>,
    is_used: bool,
    /// A loss has been seen.
    is_sampling: bool,
    rounds: u32,
    began: Totals,
}

impl Policer {
    /// The rate that is the path's for now.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate.filter(|_| self.is_used)
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Learns from a sample, or from a timeout. Returns whether the policer's rate was the path's until now, and is no more.
    pub(super) fn update(&mut self, sample: &RateSample, round_start: bool, probes_rate: bool) -> bool {
        if self.is_used {
            self.rounds += u32::from(round_start && probes_rate);
            let is_over = self.rounds >= USED_ROUNDS;
            if is_over {
                self.forget();
            }
            return is_over;
        }
        let loses = sample.newly_lost > Bytes::ZERO;
        if !self.is_sampling && loses {
            self.begin(sample);
        }
        if self.is_sampling {
            self.watch(sample, round_start, loses);
        }
        false
    }

    /// An interval begins.
    fn begin(&mut self, sample: &RateSample) {
        (self.is_sampling, self.rounds, self.began) = (true, 0, Totals::of(sample));
    }

    fn watch(&mut self, sample: &RateSample, round_start: bool, loses: bool) {
        self.rounds += u32::from(round_start);
        if sample.app_limited || self.rounds > MOST_INTERVAL_ROUNDS {
            self.forget();
        } else if self.rounds >= INTERVAL_ROUNDS
            && loses
            && let Some(rate) = self.lossy_rate(sample)
        {
            self.conclude(sample, rate);
        }
    }

    /// What the interval delivered so far per time, if it lost much.
    fn lossy_rate(&self, sample: &RateSample) -> Option<Rate> {
        let (began, now) = (self.began, Totals::of(sample));
        let (lost, delivered) = (now.lost.saturating_sub(began.lost), now.delivered.saturating_sub(began.delivered));
        let is_lossy = lost.get() * LOSSY.1 >= delivered.get() * LOSSY.0;
        let span = now.delivered_at.since(began.delivered_at);
        Rate::of(delivered, span).filter(|_| is_lossy && span >= Duration::from_millis(1))
    }

    /// bbr_lt_bw_interval_done().
    fn conclude(&mut self, sample: &RateSample, rate: Rate) {
        match self.rate {
            Some(before) if are_same(before, rate) => {
                let mean = u64::midpoint(before.bits_per_second(), rate.bits_per_second());
                (self.rate, self.is_used, self.rounds) = (Rate::from_bits_per_second(mean), true, 0);
            }
            _ => {
                self.rate = Some(rate);
                self.begin(sample);
            }
        }
    }
}

fn are_same(before: Rate, now: Rate) -> bool {
    let apart = before.bits_per_second().abs_diff(now.bits_per_second());
    let paced = Rate::from_bits_per_second(apart).and_then(gains::with_margin);
    apart * SAME_SHARE <= before.bits_per_second() || paced.is_none_or(|paced| paced <= SAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1250);

    /// A path on which every round of 100 ms delivers some segments and loses others.
    #[derive(Default)]
    struct Path {
        policer: Policer,
        sample: RateSample,
    }

    impl Path {
        fn round(&mut self, delivered: u64, lost: u64) -> bool {
            let now = self.sample.now + Duration::from_millis(100);
            self.sample = RateSample {
                now,
                delivered_at: now,
                total_delivered: self.sample.total_delivered + MSS * delivered,
                total_lost: self.sample.total_lost + MSS * lost,
                newly_lost: MSS * lost,
                ..self.sample
            };
            self.policer.update(&self.sample, true, true)
        }

        fn rounds(&mut self, count: u32, delivered: u64, lost: u64) {
            (0..count).for_each(|_| _ = self.round(delivered, lost));
        }
    }

    #[test]
    fn two_lossy_intervals_of_one_rate_are_a_policer_for_48_rounds() {
        let mut path = Path::default();
        path.rounds(7, 10, 2);
        assert_eq!(path.policer.rate(), None, "one interval and a half are not enough");
        path.round(10, 2);
        assert_eq!(path.policer.rate(), Some(Rate::mbps(1)), "ten segments of 10,000 bits per 100 ms");
        path.rounds(47, 50, 0);
        assert_eq!(path.policer.rate(), Some(Rate::mbps(1)));
        assert!(path.round(50, 0), "the cycle is to begin anew");
        assert_eq!(path.policer.rate(), None);
    }

    #[test]
    fn few_losses_or_rates_that_differ_are_none() {
        let mut few = Path::default();
        few.rounds(40, 10, 1);
        assert_eq!(few.policer.rate(), None);
        let mut other = Path::default();
        (1..6).for_each(|n| other.rounds(4, 10 * n, 5 * n));
        assert_eq!(other.policer.rate(), None);
    }

    #[test]
    fn an_application_that_has_too_little_to_send_says_nothing_of_a_policer() {
        let mut path = Path::default();
        path.sample.app_limited = true;
        path.rounds(40, 10, 2);
        assert_eq!(path.policer.rate(), None);
    }
}
