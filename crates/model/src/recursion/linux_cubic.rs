//! CUBIC as Linux has it (tcp_cubic.c): HyStart ends slow start (Ha & Rhee, "Taming the elephants: New TCP slow start", 2011), and after
//! it the window grows by whole segments, each when so many have been acknowledged, by a clock of jiffies.
//!
//! From RFC 9438 it differs where the window is small or the path unknown: Reno's window is approached, not taken, once it is a
//! segment larger, and without a known plateau a round adds a twentieth at least.

use super::jiffies;
use super::ticks::Ticks;
use super::window::Acked;
use farhop_scenario::HZ;

/// `bic_scale` and `beta`, in 1/1024: C, in segments per s³, and what is left of the window after a loss.
const C: f64 = 410.0 / 1024.0;
const BETA: (u64, u64) = (717, 1024);
/// Acknowledged segments per segment of growth: with nothing to gain in windows, the most without a known plateau, and the least.
const ON_PLATEAU: u64 = 100;
const UNKNOWN: u64 = 20;
const LEAST: u64 = 2;
/// Reno's window here grows by a segment per 15/8 windows.
const RENO_EIGHTHS: u64 = 15;
/// An unchanged window is not looked at again for this long, in jiffies.
const SETTLED: u64 = HZ / 32;
/// For how long after the start of a stage HyStart takes no samples, in jiffies.
const YOUNG: u64 = HZ;

/// `hystart_low_window`, in segments.
pub(super) const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta_us`.
const ACK_DELTA: Ticks = Ticks::from_millis(2);
/// HYSTART_MIN_SAMPLES.
const MIN_SAMPLES: u32 = 8;
/// HYSTART_DELAY_MIN and HYSTART_DELAY_MAX.
const DELAY_BOUNDS: (Ticks, Ticks) = (Ticks::from_millis(4), Ticks::from_millis(16));
/// Upper bound of hystart_ack_delay().
const BURST_ALLOWANCE: Ticks = Ticks::from_millis(1);

/// The controller; windows are in segments.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinuxCubic {
    hystart: HyStart,
    stage: Option<Stage>,
    /// The window at the last loss.
    most: Option<u64>,
    /// Acknowledged segments that have not let the window grow.
    credit: u64,
}

impl LinuxCubic {
    /// Whether slow start, if it is `on`, ends with an acknowledgement, where the window is `large` enough.
    pub(super) fn should_leave(&mut self, ack: &Acked, on: bool, large: bool) -> bool {
        let is_young = self.stage.is_some_and(|stage| jiffies::at(ack.now).saturating_sub(stage.start) < YOUNG);
        !is_young && self.hystart.should_leave(ack, on, large)
    }

    /// The window after a loss.
    pub(super) fn on_loss(&mut self, window: u64) -> u64 {
        let releases = self.most.is_some_and(|most| window < most);
        self.most = Some(if releases { window * (BETA.0 + BETA.1) / (2 * BETA.1) } else { window });
        (self.stage, self.credit) = (None, 0);
        window * BETA.0 / BETA.1
    }

    /// A timeout: what was known of the path is forgotten (cubictcp_state()).
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Time without data, until `now`, is not part of the stage, of which no more is to come than there was of it.
    pub(super) fn pause(&mut self, now: Ticks, idle: Ticks) {
        if let Some(stage) = &mut self.stage {
            stage.start = (stage.start + jiffies::count(idle)).min(jiffies::at(now));
        }
    }

    /// Segments by which `acked` of them let a window of `window` grow (bictcp_cong_avoid()).
    pub(super) fn grow(&mut self, now: Ticks, window: u64, acked: u64) -> u64 {
        let (now, rtt) = (jiffies::at(now), self.hystart.least.unwrap_or(Ticks::ZERO));
        let stage = self.stage.get_or_insert_with(|| Stage::new(now, window, self.most));
        let per_segment = stage.per_segment(now, window, acked, jiffies::count(rtt));
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

/// A stage of congestion avoidance, in segments and jiffies.
#[derive(Debug, Clone, Copy)]
struct Stage {
    start: u64,
    plateau: u64,
    to_plateau: f64,
    is_known: bool,
    /// Reno's window, and segments acknowledged since it last grew.
    reno: u64,
    acked: u64,
    per_segment: u64,
    /// The window and the time for which that was found; at the beginning for none.
    looked: Option<(u64, u64)>,
}

impl Stage {
    fn new(start: u64, window: u64, most: Option<u64>) -> Self {
        let plateau = most.unwrap_or(window).max(window);
        let to_plateau = libm::cbrt(real(plateau - window) / C);
        let is_known = most.is_some();
        let per_segment = ON_PLATEAU * window;
        Self { start, plateau, to_plateau, is_known, reno: window, acked: 0, per_segment, looked: None }
    }

    /// bictcp_update().
    fn per_segment(&mut self, now: u64, window: u64, acked: u64, rtt: u64) -> u64 {
        self.acked += acked;
        match self.looked {
            Some((seen, at)) if seen == window && now - at <= SETTLED => return self.per_segment,
            Some((_, at)) if at == now => {}
            _ => {
                self.looked = Some((window, now));
                self.look(now - self.start.min(now) + rtt, window);
            }
        }
        self.befriend(window);
        self.per_segment
    }

    /// The cubic function so long after the start.
    fn look(&mut self, ahead: u64, window: u64) {
        let offset = real(ahead) / real(HZ) - self.to_plateau;
        let distance = whole(C * (offset * offset * offset).abs());
        let target =
            if offset < 0.0 { self.plateau.saturating_sub(distance) } else { self.plateau.saturating_add(distance) };
        let gain = target.saturating_sub(window);
        self.per_segment = window.checked_div(gain).unwrap_or(ON_PLATEAU * window);
        if !self.is_known {
            self.per_segment = self.per_segment.min(UNKNOWN);
        }
    }

    /// Reno's window, if it would be larger.
    fn befriend(&mut self, window: u64) {
        let per_reno = (window * RENO_EIGHTHS / 8).max(1);
        // A remainder of nothing stays.
        let grown = self.acked.saturating_sub(1) / per_reno;
        self.acked -= grown * per_reno;
        self.reno += grown;
        if let Some(most) = window.checked_div(self.reno.saturating_sub(window)) {
            self.per_segment = self.per_segment.min(most);
        }
        self.per_segment = self.per_segment.max(LEAST);
    }
}

#[expect(clippy::cast_precision_loss, reason = "windows and loads are below 2^53 segments and jiffies")]
fn real(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive count below 2^53")]
fn whole(count: f64) -> u64 {
    count as u64
}

/// Leaving slow start at a long train of ACKs or at a longer round-trip time.
#[derive(Debug, Clone, Copy, Default)]
struct HyStart {
    least: Option<Ticks>,
    found: bool,
    round: Option<Round>,
}

#[derive(Debug, Clone, Copy)]
struct Round {
    start: Ticks,
    last: Ticks,
    end: u64,
    least: Ticks,
    samples: u32,
}

impl HyStart {
    /// Rounds are followed from the first ACK on and judged once the window is `large` enough.
    fn should_leave(&mut self, ack: &Acked, on: bool, large: bool) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        let base = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(base);
        if self.found || !on {
            return false;
        }
        if self.round.is_none_or(|round| ack.up_to > round.end) {
            let (start, last) = (ack.now, ack.now);
            self.round = Some(Round { start, last, end: ack.next, least: Ticks::NEVER, samples: 0 });
        }
        let Some(round) = self.round.as_mut().filter(|_| large) else { return false };
        let long = round.train_exceeds((base + BURST_ALLOWANCE).per(2), ack.now);
        self.found = round.delay_exceeds(base + base.per(8).clamp(DELAY_BOUNDS.0, DELAY_BOUNDS.1), rtt) || long;
        self.found
    }
}

impl Round {
    fn train_exceeds(&mut self, most: Ticks, now: Ticks) -> bool {
        if now.since(self.last) > ACK_DELTA {
            return false;
        }
        self.last = now;
        now.since(self.start) > most
    }

    fn delay_exceeds(&mut self, most: Ticks, rtt: Ticks) -> bool {
        self.least = self.least.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.least > most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window after `rounds` of 100 ms in which all of it is acknowledged.
    fn after(rounds: u64, mut window: u64, most: Option<u64>) -> u64 {
        let mut cubic = LinuxCubic { most, ..LinuxCubic::default() };
        cubic.hystart.least = Some(Ticks::from_millis(100));
        for round in 1..=rounds {
            let flight = window;
            for _ in 0..flight {
                window += cubic.grow(Ticks::from_millis(100 * round), window, 1);
            }
        }
        window
    }

    #[test]
    fn the_plateau_is_reached_after_k_and_left_slowly() {
        // K = ∛(300 / 0.4) = 9.09 s.
        assert!((980..=1001).contains(&after(88, 700, Some(1000))), "{}", after(88, 700, Some(1000)));
        assert!((998..=1012).contains(&after(110, 700, Some(1000))), "{}", after(110, 700, Some(1000)));
    }

    #[test]
    fn without_a_known_plateau_a_round_adds_a_twentieth_and_a_small_window_follows_renos() {
        assert!((1550..=1640).contains(&after(10, 1000, None)), "{}", after(10, 1000, None));
        // 14 + 30 · 8/15 = 30 less what the window lags behind.
        assert!((26..=30).contains(&after(30, 14, Some(20))), "{}", after(30, 14, Some(20)));
    }

    fn ack(ms: u64, rtt_ms: u64, up_to: u64, next: u64) -> Acked {
        let (now, rtt) = (Ticks::from_millis(ms), Ticks::from_millis(rtt_ms));
        Acked { now, bytes: 1, rtt: Some(rtt), smoothed: rtt, up_to, next }
    }

    /// At which acknowledgement of a round slow start ends if they come every `gap` ms, each `rtt` ms old, where `base` is the least.
    fn left_at(base: u64, rtt: u64, gap: u64) -> Option<u64> {
        let mut hystart = HyStart::default();
        assert!(!hystart.should_leave(&ack(0, base, 1, 10), true, true));
        (1..60).find(|n| hystart.should_leave(&ack(1000 + gap * n, rtt, 10 + n, 1000), true, true))
    }

    #[test]
    fn hystart_leaves_at_the_ninth_of_a_round_that_is_late_by_an_eighth_but_4_to_16_ms() {
        assert_eq!([24, 25].map(|rtt| left_at(20, rtt, 5)), [None, Some(9)]);
        assert_eq!([112, 113].map(|rtt| left_at(100, rtt, 5)), [None, Some(9)]);
        assert_eq!([416, 417].map(|rtt| left_at(400, rtt, 5)), [None, Some(9)]);
    }

    #[test]
    fn hystart_leaves_at_a_train_of_half_a_round_trip_unless_it_breaks() {
        // 2 ms · 26 are more than half of 101 ms.
        assert_eq!([2, 3].map(|gap| left_at(100, 100, gap)), [Some(27), None]);
    }

    #[test]
    fn hystart_takes_no_samples_in_the_first_second_of_a_stage() {
        let mut cubic = LinuxCubic::default();
        cubic.grow(Ticks::from_millis(10_000), 100, 1);
        let left_at = (10_100..).step_by(2).find(|ms| cubic.should_leave(&ack(*ms, 100, *ms, 1 << 20), true, true));
        assert_eq!(left_at, Some(11_052));
    }

    #[test]
    fn a_pause_is_not_part_of_the_stage() {
        let after = |idle| {
            let (mut cubic, mut window) = (LinuxCubic { most: Some(1000), ..LinuxCubic::default() }, 700);
            for round in 1..=60 {
                let since = if round > 30 { idle } else { 0 };
                let now = Ticks::from_millis(100 * round + since);
                if round == 31 {
                    cubic.pause(now, Ticks::from_millis(since));
                }
                window += (0..window).map(|_| cubic.grow(now, window, 1)).sum::<u64>();
            }
            window
        };
        assert_eq!(after(20_000), after(0));
    }

    #[test]
    fn a_pause_that_began_before_the_stage_does_not_put_it_off() {
        let grown = |idle_ms: u64| {
            let mut cubic = LinuxCubic { most: Some(40), ..LinuxCubic::default() };
            cubic.grow(Ticks::from_millis(1000), 20, 1);
            cubic.pause(Ticks::from_millis(1008), Ticks::from_millis(idle_ms));
            (0..50).map(|n| cubic.grow(Ticks::from_millis(1100 + 8 * n), 20, 1)).sum::<u64>()
        };
        assert!(grown(500) == grown(8) && grown(8) > 2, "{}", grown(8));
    }

    #[test]
    fn two_acknowledged_segments_add_one_at_most() {
        let mut cubic = LinuxCubic { most: Some(10_000), ..LinuxCubic::default() };
        // And one for what was left over.
        assert_eq!([0, 60_000].map(|ms| cubic.grow(Ticks::from_millis(ms), 10, 10)), [0, 6]);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_makes_room_for_others() {
        let mut cubic = LinuxCubic::default();
        assert_eq!((cubic.on_loss(10), cubic.most), (7, Some(10)));
        assert_eq!((cubic.on_loss(9), cubic.most), (6, Some(7)));
    }
}
