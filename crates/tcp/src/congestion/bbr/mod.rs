//! BBR version 1, as in Linux's tcp_bbr.c (Cardwell et al., "BBR: congestion-based congestion control", 2016; draft-cardwell-iccrg-
//! bbr-congestion-control-00).
//!
//! Two numbers model the path: the largest delivery rate of the last ten rounds and the least RTT of the last ten seconds. Data is
//! paced at the rate times a gain, and at most a gain times their product is on the way. STARTUP looks for the rate, DRAIN removes
//! the queue that this has made, PROBE_BW asks for a little more once in eight phases, PROBE_RTT empties the path for 200 ms. In
//! fast recovery, for one round, as much is sent as is delivered.
//!
//! As in Linux, and unlike the draft, a path that loses much at a steady rate may be taken to be policed ([`policer`]).
//!
//! Left out: sending in quanta (only their allowance in the window is there). The phase in which PROBE_BW begins is drawn from the time
//! at which it does.

mod aggregation;
mod gains;
mod policer;

use super::{Acknowledged, CongestionControl, RateSample, Repair, whole_units};
use crate::windowed::Windowed;
use aggregation::Aggregation;
use farhop_units::random::Stream;
use farhop_units::{Bytes, Instant, Rate};
use gains::{CYCLE, CYCLE_RANDOM, DRAIN, Gain, HIGH, WINDOW};
use policer::Policer;
use std::time::Duration;

/// `bbr_bw_rtts`: rounds for which the largest rate is kept.
const RATE_ROUNDS: u64 = 10;
/// A round trip is counted in whole microseconds, and as one at least: without any there would be nothing to pace by.
const SHORTEST: Duration = Duration::from_micros(1);
/// `bbr_min_rtt_win_sec`.
const LEAST_RTT_SPAN: Duration = Duration::from_secs(10);
/// `bbr_probe_rtt_mode_ms`.
const PROBE_RTT_SPAN: Duration = Duration::from_millis(200);
/// `bbr_cwnd_min_target`, in segments.
const LEAST_WINDOW: u64 = 4;
/// TCP_INIT_CWND, in segments.
const INITIAL_WINDOW: u64 = 10;
/// `bbr_full_bw_thresh` (5/4) and `bbr_full_bw_cnt`: the path is full after three rounds without a quarter more.
const FULL: (u64, u64, u32) = (5, 4, 3);
/// `bbr_min_tso_rate`: below it a quantum is one segment.
const LEAST_QUANTUM_RATE: u64 = 1_200_000;
/// Most segments of a quantum.
const MOST_QUANTUM: u64 = 0x7f;

/// What BBR is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeRate {
        phase: usize,
        since: Instant,
    },
    /// `done`: when enough has been seen of the empty path; and whether a round has passed in it.
    ProbeRtt {
        done: Option<Instant>,
        round_done: bool,
    },
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Bbr {
    mss: Bytes,
    window: Bytes,
    /// The window before a loss or PROBE_RTT.
    prior_window: Bytes,
    mode: Mode,
    rate: Windowed<Rate>,
    least_rtt: Option<(Duration, Instant)>,
    pacing: Option<Rate>,
    has_seen_rtt: bool,
    rounds: u64,
    round_start: bool,
    next_round: Bytes,
    /// The rate at which the path was last found to give more, and rounds since.
    full_rate: Option<Rate>,
    full_rounds: u32,
    full: bool,
    repair: Repair,
    conserves: bool,
    idle_restart: bool,
    aggregation: Aggregation,
    /// Where policers are looked for.
    policer: Option<Policer>,
}

impl Bbr {
    /// A controller with `mss` and `initial_window`, which paces at 2.89 windows per ms until it has seen a round-trip time.
    pub fn new(mss: Bytes, initial_window: Bytes) -> Self {
        let mut bbr = Self {
            mss,
            window: initial_window,
            prior_window: Bytes::ZERO,
            mode: Mode::Startup,
            rate: Windowed::largest(RATE_ROUNDS),
            least_rtt: None,
            pacing: None,
            has_seen_rtt: false,
            rounds: 0,
            round_start: false,
            next_round: Bytes::ZERO,
            full_rate: None,
            full_rounds: 0,
            full: false,
            repair: Repair::None,
            conserves: false,
            idle_restart: false,
            aggregation: Aggregation::default(),
            policer: None,
        };
        bbr.pace_by_round_trip(Duration::from_millis(1));
        bbr
    }

    /// The same, which looks for policers, as the draft does not say and Linux does.
    pub(crate) fn as_in_linux(mss: Bytes, initial_window: Bytes) -> Self {
        Self { policer: Some(Policer::default()), ..Self::new(mss, initial_window) }
    }

    /// bbr_init_pacing_rate_from_rtt().
    fn pace_by_round_trip(&mut self, rtt: Duration) {
        self.pacing =
            Rate::of(self.window, rtt.max(SHORTEST)).and_then(|rate| HIGH.of_rate(rate)).and_then(gains::with_margin);
    }

    fn pacing_gain(&self) -> Gain {
        match self.mode {
            Mode::Startup => HIGH,
            Mode::Drain => DRAIN,
            // What a policer lets through is not asked for more.
            Mode::ProbeRate { .. } if self.policed_rate().is_some() => Gain::ONE,
            Mode::ProbeRate { phase, .. } => CYCLE[phase],
            Mode::ProbeRtt { .. } => Gain::ONE,
        }
    }

    fn window_gain(&self) -> Gain {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH,
            Mode::ProbeRate { .. } => WINDOW,
            Mode::ProbeRtt { .. } => Gain::ONE,
        }
    }

    fn whole_segments(&self, bytes: Bytes) -> Bytes {
        self.mss * bytes.get().div_ceil(self.mss.get().max(1))
    }

    /// bbr_bw(): what the path is sent at.
    fn path_rate(&self) -> Option<Rate> {
        self.policed_rate().or_else(|| self.rate.get())
    }

    fn policed_rate(&self) -> Option<Rate> {
        self.policer.as_ref().and_then(Policer::rate)
    }

    /// bbr_bdp(): what a path of this `rate` holds, times a gain.
    fn product(&self, rate: Option<Rate>, gain: Gain) -> Bytes {
        let (Some(rate), Some((rtt, _))) = (rate, self.least_rtt) else { return self.mss * INITIAL_WINDOW };
        self.whole_segments(gain.of_bytes(rate.bytes_in(rtt)))
    }

    /// bbr_tso_segs_goal(): a quantum is about a millisecond.
    fn quantum(&self) -> u64 {
        let bits = self.pacing.map_or(0, Rate::bits_per_second);
        let least = if bits < LEAST_QUANTUM_RATE { 1 } else { 2 };
        (bits / 8 / 1024 / self.mss.get().max(1)).clamp(least, MOST_QUANTUM)
    }

    /// bbr_quantization_budget(): room for quanta on their way through the hosts, and an even number of segments for delayed ACKs.
    fn budgeted(&self, window: Bytes) -> Bytes {
        let segments = (window.get() / self.mss.get().max(1) + 3 * self.quantum()).next_multiple_of(2);
        let probing = matches!(self.mode, Mode::ProbeRate { phase: 0, .. });
        self.mss * (segments + if probing { 2 } else { 0 })
    }

    /// bbr_inflight().
    fn target(&self, gain: Gain) -> Bytes {
        self.budgeted(self.product(self.rate.get(), gain))
    }

    /// bbr_update_bw().
    fn update_rate(&mut self, sample: &RateSample) {
        self.round_start = false;
        let Some(rate) = Rate::of(sample.delivered, sample.interval) else { return };
        if sample.prior_delivered >= self.next_round {
            self.next_round = sample.total_delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.watch_for_policers(sample);
        if !sample.app_limited || self.rate.get().is_none_or(|most| rate >= most) {
            self.rate.update(self.rounds, rate);
        }
    }

    fn watch_for_policers(&mut self, sample: &RateSample) {
        let probes_rate = matches!(self.mode, Mode::ProbeRate { .. });
        if let Some(policer) = &mut self.policer
            && policer.update(sample, self.round_start, probes_rate)
        {
            self.probe_rate(sample.now);
        }
    }

    /// bbr_update_cycle_phase().
    fn update_phase(&mut self, sample: &RateSample) {
        let Mode::ProbeRate { phase, since } = self.mode else { return };
        let gain = self.pacing_gain();
        let long = self.least_rtt.is_some_and(|(rtt, _)| sample.now.since(since) > rtt);
        let over = match gain.cmp(&Gain::ONE) {
            core::cmp::Ordering::Equal => long,
            core::cmp::Ordering::Greater => {
                let in_flight = self.at_departure(sample, sample.prior_in_flight + self.mss * self.quantum());
                long && (sample.newly_lost > Bytes::ZERO || in_flight >= self.target(gain))
            }
            core::cmp::Ordering::Less => {
                long || self.at_departure(sample, sample.prior_in_flight) <= self.target(Gain::ONE)
            }
        };
        if over {
            self.mode = Mode::ProbeRate { phase: (phase + 1) % CYCLE.len(), since: sample.now };
        }
    }

    /// What of `in_flight` is still on the way when the next segment may leave (bbr_packets_in_net_at_edt()).
    fn at_departure(&self, sample: &RateSample, in_flight: Bytes) -> Bytes {
        let delivered = self.path_rate().map_or(Bytes::ZERO, |rate| rate.bytes_in(sample.until_departure));
        in_flight.saturating_sub(whole_units(delivered, self.mss))
    }

    /// bbr_check_full_bw_reached().
    fn judge_fullness(&mut self, sample: &RateSample) {
        if self.full || !self.round_start || sample.app_limited {
            return;
        }
        let Some(rate) = self.rate.get() else { return };
        let enough = self.full_rate.map_or(0, |full| full.bits_per_second() / FULL.1 * FULL.0);
        if rate.bits_per_second() >= enough {
            (self.full_rate, self.full_rounds) = (Some(rate), 0);
        } else {
            self.full_rounds += 1;
            self.full = self.full_rounds >= FULL.2;
        }
    }

    /// bbr_check_drain().
    fn judge_queue(&mut self, sample: &RateSample) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.at_departure(sample, sample.in_flight) <= self.target(Gain::ONE) {
            self.probe_rate(sample.now);
        }
    }

    /// bbr_reset_probe_bw_mode(): any phase but the one that drains; the next one follows at once.
    fn probe_rate(&mut self, now: Instant) {
        let drawn = Stream::new(now.as_nanos(), self.rounds).below(0, CYCLE_RANDOM);
        let phase = CYCLE.len() - 1 - usize::try_from(drawn).unwrap_or(0);
        self.mode = Mode::ProbeRate { phase: (phase + 1) % CYCLE.len(), since: now };
    }

    /// bbr_update_min_rtt().
    fn update_least_rtt(&mut self, sample: &RateSample) {
        let now = sample.now;
        let expired = self.least_rtt.is_some_and(|(_, since)| now.since(since) > LEAST_RTT_SPAN);
        if let Some(rtt) = sample.rtt.map(|rtt| rtt.max(SHORTEST)) {
            let less = self.least_rtt.is_none_or(|(least, _)| rtt < least);
            if less || (expired && !sample.maybe_delayed) {
                self.least_rtt = Some((rtt, now));
            }
        }
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.save_window();
            self.mode = Mode::ProbeRtt { done: None, round_done: false };
        }
        if let Mode::ProbeRtt { done, round_done } = self.mode {
            self.probe_rtt(sample, done, round_done);
        }
        if sample.delivered > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, sample: &RateSample, done: Option<Instant>, round_done: bool) {
        match done {
            None if sample.in_flight <= self.mss * LEAST_WINDOW => {
                self.next_round = sample.total_delivered;
                self.mode = Mode::ProbeRtt { done: Some(sample.now + PROBE_RTT_SPAN), round_done: false };
            }
            None => {}
            Some(_) => {
                let round_done = round_done || self.round_start;
                self.mode = Mode::ProbeRtt { done, round_done };
                if round_done {
                    self.leave_probe_rtt(sample.now);
                }
            }
        }
    }

    /// bbr_check_probe_rtt_done().
    fn leave_probe_rtt(&mut self, now: Instant) {
        let Mode::ProbeRtt { done: Some(done), .. } = self.mode else { return };
        if now <= done {
            return;
        }
        self.least_rtt = self.least_rtt.map(|(rtt, _)| (rtt, now));
        self.window = self.window.max(self.prior_window);
        self.mode = Mode::Startup;
        if self.full {
            self.probe_rate(now);
        }
    }

    /// bbr_set_pacing_rate().
    fn pace(&mut self, gain: Gain) {
        let Some(rate) = self.path_rate().and_then(|rate| gain.of_rate(rate)).and_then(gains::with_margin) else {
            return;
        };
        if self.full || self.pacing.is_none_or(|pacing| rate > pacing) {
            self.pacing = Some(rate);
        }
    }

    /// bbr_set_cwnd().
    fn set_target_window(&mut self, sample: &RateSample) {
        let acked = sample.newly_delivered;
        if acked > Bytes::ZERO && !self.conserve(sample) {
            let extra = if self.full { self.aggregation.allowance(self.path_rate(), self.mss) } else { Bytes::ZERO };
            let target = self.budgeted(self.product(self.path_rate(), self.window_gain()) + extra);
            if self.full {
                self.window = (self.window + acked).min(target);
            } else if self.window < target || sample.total_delivered < self.mss * INITIAL_WINDOW {
                self.window += acked;
            }
            self.window = self.window.max(self.mss * LEAST_WINDOW);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.window = self.window.min(self.mss * LEAST_WINDOW);
        }
    }

    /// bbr_set_cwnd_to_recover_or_restore(): whether what is delivered alone lets data out.
    fn conserve(&mut self, sample: &RateSample) -> bool {
        let acked = sample.newly_delivered;
        self.window = self.window.saturating_sub(sample.newly_lost).max(self.mss);
        let (before, now) = (core::mem::replace(&mut self.repair, sample.repair), sample.repair);
        if now == Repair::Fast && before != Repair::Fast {
            self.conserves = true;
            self.next_round = sample.total_delivered;
            self.window = (sample.in_flight + acked).max(self.mss);
        } else if before != Repair::None && now == Repair::None {
            self.conserves = false;
            self.window = self.window.max(self.prior_window);
        }
        if self.conserves {
            self.window = self.window.max(sample.in_flight + acked);
        }
        self.conserves
    }

    /// bbr_save_cwnd().
    fn save_window(&mut self) {
        let fresh = self.repair == Repair::None && !matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_window = if fresh { self.window } else { self.prior_window.max(self.window) };
    }
}

impl CongestionControl for Bbr {
    fn window(&self) -> Bytes {
        self.window
    }

    fn threshold(&self) -> Option<Bytes> {
        None
    }

    fn on_ack(&mut self, _ack: &Acknowledged) {}

    fn on_loss(&mut self, _in_flight: Bytes) {
        self.save_window();
    }

    fn on_timeout(&mut self, _in_flight: Bytes, again: bool) {
        if !again {
            self.save_window();
        }
        self.repair = Repair::AfterTimeout;
        self.full_rate = None;
        self.round_start = true;
    }

    fn on_idle(&mut self, _window: Bytes, _idle: Duration) {}

    fn on_decay(&mut self, _window: Bytes) {}

    fn set_window(&mut self, window: Bytes) {
        self.window = window;
    }

    fn undo(&mut self, _window: Bytes, _threshold: Option<Bytes>) {
        (self.full_rate, self.full_rounds) = (None, 0);
        self.policer.iter_mut().for_each(Policer::forget);
    }

    fn models_the_path(&self) -> bool {
        true
    }

    fn on_sample(&mut self, sample: &RateSample) {
        self.update_rate(sample);
        self.aggregation.update(sample, self.path_rate(), self.round_start, (self.window, self.mss));
        self.update_phase(sample);
        self.judge_fullness(sample);
        self.judge_queue(sample);
        self.update_least_rtt(sample);
        if let Some(rtt) = sample.smoothed_rtt.filter(|_| !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            self.pace_by_round_trip(rtt);
        }
        self.pace(self.pacing_gain());
        self.set_target_window(sample);
    }

    fn on_all_lost(&mut self, totals: &RateSample) {
        self.watch_for_policers(totals);
    }

    fn keeps_little_on_the_way(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. })
    }

    /// bbr_init().
    fn on_open(&mut self, now: Instant, least: Duration, smoothed: Duration) {
        self.least_rtt = Some((least.max(SHORTEST), now));
        self.has_seen_rtt = true;
        self.pace_by_round_trip(smoothed);
    }

    fn on_restart(&mut self, now: Instant, _idle: Duration, starved: bool) {
        if !starved {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeRate { .. } => self.pace(Gain::ONE),
            Mode::ProbeRtt { .. } => self.leave_probe_rtt(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }
}

#[cfg(test)]
mod tests;
