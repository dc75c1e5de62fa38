//! BBR version 1, as in Linux's tcp_bbr.c: the largest delivery rate of ten rounds and the least round-trip time of ten seconds say
//! how fast to send and how much may be on the way.
//!
//! Left out: long-term rates where a policer is suspected, sending in quanta but for their allowance in the window. The phase with
//! which the cycle begins is drawn from the time at which it does.

use super::rate::Sample;
use crate::recursion::ticks::Ticks;
use farhop_units::random::Stream;
use farhop_units::{Bytes, Rate};

/// Gains are in 1/256 (BBR_UNIT): 2/ln 2 and its inverse, the window's, and the cycle's.
const UNIT: u64 = 256;
const HIGH: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN: u64 = UNIT * 1000 / 2885;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// What hosts take longer or shorter.
const ABOUT: Ticks = Ticks::from_micros(20);
/// Phases among which the first is drawn (bbr_cycle_rand).
const RANDOM_PHASES: u64 = 7;
/// Rounds for which a rate is remembered, and how long a round-trip time is.
const RATE_ROUNDS: u64 = 10;
const LEAST_RTT_SPAN: Ticks = Ticks::from_millis(10_000);
/// How long the path is kept empty.
const PROBE_SPAN: Ticks = Ticks::from_millis(200);
/// Least window, and the one before the path is known, in segments.
const LEAST_WINDOW: u64 = 4;
const INITIAL_WINDOW: u64 = 10;
/// Rounds without a quarter more after which the path is full.
const FULL_ROUNDS: u32 = 3;
/// Quanta: a segment below this rate, else two and more; at most so many.
const SMALL_RATE: u64 = 1_200_000;
const MOST_QUANTUM: u64 = 0x7f;
/// Rounds per slot of the filter for bunched acknowledgements, and the most that they add to the window, in time.
const BUNCH_ROUNDS: u32 = 5;
const MOST_BUNCH: Ticks = Ticks::from_millis(100);

/// What an acknowledgement shows of the path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight {
    pub(super) now: Ticks,
    pub(super) rate: Sample,
    pub(super) rtt: Option<Ticks>,
    /// The round-trip time may have a delayed acknowledgement in it.
    pub(super) is_delayed: bool,
    pub(super) delivered: u64,
    pub(super) newly_lost: u64,
    pub(super) prior_in_flight: u64,
    pub(super) in_flight: u64,
    /// How long the pace holds back what is sent next.
    pub(super) until_departure: Ticks,
    pub(super) in_recovery: bool,
    /// In recovery or after a timeout.
    pub(super) repairs: bool,
    pub(super) smoothed_rtt: Option<Ticks>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Cycle {
        phase: usize,
        since: Ticks,
    },
    /// Until when, once little is on the way; and whether a round has passed since.
    Empty {
        until: Option<Ticks>,
        round: bool,
    },
}

/// The largest of late, and what may become it: Linux's lib/win_minmax.c.
#[derive(Debug, Clone, Copy, Default)]
struct Largest([(u64, u64); 3]);

/// Acknowledged beyond what the rate explains (bbr_update_ack_aggregation()).
#[derive(Debug, Clone, Copy, Default)]
struct Bunches {
    slots: [u64; 2],
    rounds: u32,
    since: Ticks,
    acked: u64,
}

/// The model of the path.
#[derive(Debug)]
pub(super) struct Bbr {
    mss: u64,
    window: u64,
    prior_window: u64,
    mode: Mode,
    rates: Largest,
    least_rtt: Option<(Ticks, Ticks)>,
    /// Where hosts take another time each time, how many round trips were about as short as the shortest.
    as_short: Option<u64>,
    pacing: Option<Rate>,
    has_seen_rtt: bool,
    rounds: u64,
    round_start: bool,
    next_round: u64,
    full_rate: u64,
    full_rounds: u32,
    is_full: bool,
    in_recovery: bool,
    repairs: bool,
    conserves: bool,
    restarted: bool,
    bunches: Bunches,
}

impl Largest {
    fn update(&mut self, at: u64, value: u64) {
        let Self([first, second, third]) = *self;
        let new = (at, value);
        if value >= first.1 || at - third.0 > RATE_ROUNDS {
            self.0 = [new; 3];
            return;
        }
        if value >= second.1 {
            self.0 = [first, new, new];
        } else if value >= third.1 {
            self.0[2] = new;
        }
        self.age(new);
    }

    fn age(&mut self, new: (u64, u64)) {
        let [first, second, third] = self.0;
        let age = new.0 - first.0;
        self.0 = if age > RATE_ROUNDS {
            if new.0 - second.0 > RATE_ROUNDS { [third, new, new] } else { [second, third, new] }
        } else if second.0 == first.0 && age > RATE_ROUNDS / 4 {
            [first, new, new]
        } else if third.0 == second.0 && age > RATE_ROUNDS / 2 {
            [first, second, new]
        } else {
            return;
        };
    }

    fn get(&self) -> Option<Rate> {
        Rate::from_bits_per_second(self.0[0].1)
    }
}

fn carried(rate: Rate, span: Ticks) -> u64 {
    rate.bytes_in(span.to_duration()).get()
}

/// A gain's multiple of a rate, a little less than that (bbr_pacing_margin_percent).
fn scaled(rate: Rate, gain: u64) -> Option<Rate> {
    let gained = u64::try_from(u128::from(rate.bits_per_second()) * u128::from(gain) / u128::from(UNIT));
    Rate::from_bits_per_second(gained.unwrap_or(u64::MAX) / 100 * 99)
}

impl Bbr {
    pub(super) fn new(mss: u64, window: u64) -> Self {
        let mut bbr = Self {
            mss,
            window,
            prior_window: 0,
            mode: Mode::Startup,
            rates: Largest::default(),
            least_rtt: None,
            as_short: None,
            pacing: None,
            has_seen_rtt: false,
            rounds: 0,
            round_start: false,
            next_round: 0,
            full_rate: 0,
            full_rounds: 0,
            is_full: false,
            in_recovery: false,
            repairs: false,
            conserves: false,
            restarted: false,
            bunches: Bunches::default(),
        };
        bbr.pace_by_round_trip(Ticks::from_millis(1));
        bbr
    }

    fn pace_by_round_trip(&mut self, rtt: Ticks) {
        self.pacing = Rate::of(Bytes::new(self.window), rtt.to_duration()).and_then(|rate| scaled(rate, HIGH));
    }

    /// Hosts take another time each time.
    pub(super) fn between_hosts(mut self) -> Self {
        self.as_short = Some(0);
        self
    }

    /// The handshake took a round trip of `least`, and by that the smoothed one is known (bbr_init()).
    pub(super) fn on_open(&mut self, now: Ticks, least: Ticks, smoothed: Ticks) {
        self.least_rtt = Some((least, now));
        self.has_seen_rtt = true;
        self.pace_by_round_trip(smoothed);
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    pub(super) fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    pub(super) fn keeps_little_on_the_way(&self) -> bool {
        matches!(self.mode, Mode::Empty { .. })
    }

    fn pacing_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => HIGH,
            Mode::Drain => DRAIN,
            Mode::Cycle { phase, .. } => CYCLE[phase],
            Mode::Empty { .. } => UNIT,
        }
    }

    fn window_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH,
            Mode::Cycle { .. } => 2 * UNIT,
            Mode::Empty { .. } => UNIT,
        }
    }

    /// A gain's multiple of what the path holds, in whole segments (bbr_bdp()).
    fn product(&self, gain: u64) -> u64 {
        let (Some(rate), Some((rtt, _))) = (self.rates.get(), self.least_rtt) else { return self.mss * INITIAL_WINDOW };
        let bytes = u128::from(carried(rate, rtt)) * u128::from(gain) / u128::from(UNIT);
        u64::try_from(bytes).unwrap_or(u64::MAX / 4).div_ceil(self.mss).saturating_mul(self.mss)
    }

    fn quantum(&self) -> u64 {
        let bits = self.pacing.map_or(0, Rate::bits_per_second);
        let least = if bits < SMALL_RATE { 1 } else { 2 };
        (bits / 8 / 1024 / self.mss).clamp(least, MOST_QUANTUM)
    }

    /// With room for quanta in hosts, and for delayed acknowledgements.
    fn budgeted(&self, window: u64) -> u64 {
        let segments = (window / self.mss + 3 * self.quantum()).next_multiple_of(2);
        let probing = matches!(self.mode, Mode::Cycle { phase: 0, .. });
        self.mss * (segments + if probing { 2 } else { 0 })
    }

    pub(super) fn on_sight(&mut self, sight: &Sight) {
        self.update_rate(sight);
        let (rate, window) = (self.rates.get(), self.window);
        self.bunches.update(sight, rate, self.round_start, (window, self.mss));
        self.update_phase(sight);
        self.judge_fullness(sight);
        self.judge_queue(sight);
        self.update_least_rtt(sight);
        if let Some(rtt) = sight.smoothed_rtt.filter(|_| !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            self.pace_by_round_trip(rtt);
        }
        self.pace(self.pacing_gain());
        self.set_target(sight);
    }

    fn update_rate(&mut self, sight: &Sight) {
        self.round_start = false;
        let sample = &sight.rate;
        let Some(rate) = Rate::of(Bytes::new(sample.delivered), sample.interval.to_duration()) else { return };
        if sample.prior >= self.next_round {
            self.next_round = sample.total;
            self.rounds += 1;
            (self.round_start, self.conserves) = (true, false);
        }
        if !sample.starved || self.rates.get().is_none_or(|most| rate >= most) {
            self.rates.update(self.rounds, rate.bits_per_second());
        }
    }

    fn update_phase(&mut self, sight: &Sight) {
        let Mode::Cycle { phase, since } = self.mode else { return };
        let is_long = self.least_rtt.is_some_and(|(rtt, _)| sight.now.since(since) > rtt);
        let is_over = match phase {
            0 => {
                let in_flight = self.at_departure(sight, sight.prior_in_flight + self.mss * self.quantum());
                let target = self.budgeted(self.product(CYCLE[0]));
                is_long && (sight.newly_lost > 0 || in_flight >= target)
            }
            1 => is_long || self.at_departure(sight, sight.prior_in_flight) <= self.budgeted(self.product(UNIT)),
            _ => is_long,
        };
        if is_over {
            self.mode = Mode::Cycle { phase: (phase + 1) % CYCLE.len(), since: sight.now };
        }
    }

    /// What of `in_flight` is still on the way when the next segment may leave (bbr_packets_in_net_at_edt()).
    fn at_departure(&self, sight: &Sight, in_flight: u64) -> u64 {
        let delivered = self.rates.get().map_or(0, |rate| carried(rate, sight.until_departure));
        in_flight.saturating_sub(delivered / self.mss * self.mss)
    }

    fn judge_fullness(&mut self, sight: &Sight) {
        if self.is_full || !self.round_start || sight.rate.starved {
            return;
        }
        let Some(rate) = self.rates.get().map(Rate::bits_per_second) else { return };
        if rate >= self.full_rate / 4 * 5 {
            (self.full_rate, self.full_rounds) = (rate, 0);
        } else {
            self.full_rounds += 1;
            self.is_full = self.full_rounds >= FULL_ROUNDS;
        }
    }

    fn judge_queue(&mut self, sight: &Sight) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.at_departure(sight, sight.in_flight) <= self.budgeted(self.product(UNIT)) {
            self.begin_cycle(sight.now);
        }
    }

    /// Any phase but the one that drains; the next one follows at once.
    fn begin_cycle(&mut self, now: Ticks) {
        let drawn = Stream::new(now.raw(), self.rounds).below(0, RANDOM_PHASES);
        let phase = CYCLE.len() - 1 - usize::try_from(drawn).unwrap_or(0);
        self.mode = Mode::Cycle { phase: (phase + 1) % CYCLE.len(), since: now };
    }

    /// Hosts take another time each time, so that of so many round trips of one length each may be the shortest as well; drawn from the time.
    fn is_shorter_by_chance(&mut self, now: Ticks, rtt: Ticks) -> bool {
        let Some((least, _)) = self.least_rtt else { return false };
        let Some(count) = self.as_short.as_mut().filter(|_| rtt <= least + ABOUT) else { return false };
        *count += 1;
        Stream::new(now.raw(), *count).below(1, *count) == 0
    }

    fn update_least_rtt(&mut self, sight: &Sight) {
        let now = sight.now;
        let expired = self.least_rtt.is_some_and(|(_, since)| now.since(since) > LEAST_RTT_SPAN);
        if let Some(rtt) = sight.rtt {
            let less = self.least_rtt.is_none_or(|(least, _)| rtt < least);
            if !less && !expired && self.is_shorter_by_chance(now, rtt) {
                self.least_rtt = self.least_rtt.map(|(least, _)| (least, now));
            }
            if less || (expired && !sight.is_delayed) {
                self.least_rtt = Some((rtt, now));
            }
        }
        if expired && !self.restarted && !self.keeps_little_on_the_way() {
            self.save_window();
            self.mode = Mode::Empty { until: None, round: false };
        }
        if let Mode::Empty { until, round } = self.mode {
            self.keep_empty(sight, until, round);
        }
        if sight.rate.delivered > 0 {
            self.restarted = false;
        }
    }

    fn keep_empty(&mut self, sight: &Sight, until: Option<Ticks>, round: bool) {
        match until {
            None if sight.in_flight <= self.mss * LEAST_WINDOW => {
                self.next_round = sight.rate.total;
                self.mode = Mode::Empty { until: Some(sight.now + PROBE_SPAN), round: false };
            }
            None => {}
            Some(_) => {
                let round = round || self.round_start;
                self.mode = Mode::Empty { until, round };
                if round {
                    self.leave_empty(sight.now);
                }
            }
        }
    }

    fn leave_empty(&mut self, now: Ticks) {
        let Mode::Empty { until: Some(until), .. } = self.mode else { return };
        if now <= until {
            return;
        }
        self.least_rtt = self.least_rtt.map(|(rtt, _)| (rtt, now));
        self.window = self.window.max(self.prior_window);
        self.mode = Mode::Startup;
        if self.is_full {
            self.begin_cycle(now);
        }
    }

    fn pace(&mut self, gain: u64) {
        let Some(rate) = self.rates.get().and_then(|rate| scaled(rate, gain)) else { return };
        if self.is_full || self.pacing.is_none_or(|pacing| rate > pacing) {
            self.pacing = Some(rate);
        }
    }

    fn set_target(&mut self, sight: &Sight) {
        let acked = sight.delivered;
        if acked > 0 && !self.conserve(sight) {
            let extra = if self.is_full { self.bunches.allowance(self.rates.get(), self.mss) } else { 0 };
            let target = self.budgeted(self.product(self.window_gain()).saturating_add(extra));
            if self.is_full {
                self.window = (self.window + acked).min(target);
            } else if self.window < target || sight.rate.total < self.mss * INITIAL_WINDOW {
                self.window += acked;
            }
            self.window = self.window.max(self.mss * LEAST_WINDOW);
        }
        if self.keeps_little_on_the_way() {
            self.window = self.window.min(self.mss * LEAST_WINDOW);
        }
    }

    /// For a round of fast recovery what arrives alone lets data out (bbr_set_cwnd_to_recover_or_restore()).
    fn conserve(&mut self, sight: &Sight) -> bool {
        let acked = sight.delivered;
        self.window = self.window.saturating_sub(sight.newly_lost).max(self.mss);
        if sight.in_recovery && !self.in_recovery {
            self.conserves = true;
            self.next_round = sight.rate.total;
            self.window = (sight.in_flight + acked).max(self.mss);
        } else if self.repairs && !sight.repairs {
            self.conserves = false;
            self.window = self.window.max(self.prior_window);
        }
        (self.in_recovery, self.repairs) = (sight.in_recovery, sight.repairs);
        if self.conserves {
            self.window = self.window.max(sight.in_flight + acked);
        }
        self.conserves
    }

    pub(super) fn save_window(&mut self) {
        let is_fresh = !self.repairs && !self.keeps_little_on_the_way();
        self.prior_window = if is_fresh { self.window } else { self.prior_window.max(self.window) };
    }

    pub(super) fn on_timeout(&mut self, again: bool) {
        if !again {
            self.save_window();
        }
        (self.in_recovery, self.repairs) = (false, true);
        (self.full_rate, self.round_start) = (0, true);
    }

    pub(super) fn undo(&mut self) {
        (self.full_rate, self.full_rounds) = (0, 0);
    }

    /// Data is sent after nothing was on the way.
    pub(super) fn on_restart(&mut self, now: Ticks, starved: bool) {
        if !starved {
            return;
        }
        self.restarted = true;
        (self.bunches.since, self.bunches.acked) = (now, 0);
        match self.mode {
            Mode::Cycle { .. } => self.pace(UNIT),
            Mode::Empty { .. } => self.leave_empty(now),
            Mode::Startup | Mode::Drain => {}
        }
    }
}

impl Bunches {
    /// What is expected is whole segments.
    fn update(&mut self, sight: &Sight, rate: Option<Rate>, round_start: bool, (window, mss): (u64, u64)) {
        let Some(rate) = rate.filter(|_| sight.delivered > 0 && sight.rate.interval > Ticks::ZERO) else { return };
        if round_start {
            self.rounds += 1;
            if self.rounds >= BUNCH_ROUNDS {
                (self.rounds, self.slots) = (0, [0, self.slots[0]]);
            }
        }
        let mut expected = carried(rate, sight.now.since(self.since)) / mss * mss;
        if self.acked <= expected {
            (self.since, self.acked, expected) = (sight.now, 0, 0);
        }
        self.acked += sight.delivered;
        let extra = self.acked.saturating_sub(expected).min(window);
        self.slots[0] = self.slots[0].max(extra);
    }

    fn allowance(&self, rate: Option<Rate>, mss: u64) -> u64 {
        let most = rate.map_or(0, |rate| carried(rate, MOST_BUNCH) / mss * mss);
        self.slots[0].max(self.slots[1]).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_until_the_next_segment_leaves_is_not_on_the_way_then() {
        let mut bbr = Bbr::new(1000, 10_000);
        // A segment a millisecond.
        bbr.rates.update(0, 8_000_000);
        let left = |millis: u64| {
            let until_departure = Ticks::from_millis(millis) + Ticks::from_micros(500);
            let sight = Sight {
                now: Ticks::ZERO,
                rate: Sample::default(),
                rtt: None,
                is_delayed: false,
                delivered: 0,
                newly_lost: 0,
                prior_in_flight: 0,
                in_flight: 0,
                until_departure,
                in_recovery: false,
                repairs: false,
                smoothed_rtt: None,
            };
            bbr.at_departure(&sight, 10_000)
        };
        assert_eq!([0, 3, 12].map(left), [10_000, 7000, 0]);
    }

    #[test]
    fn between_hosts_one_of_so_many_round_trips_of_one_length_is_the_shortest() {
        let rtt = Ticks::from_millis(100);
        let renewals = |mut bbr: Bbr, longer: Ticks| {
            bbr.least_rtt = Some((rtt, Ticks::ZERO));
            (0..1000).filter(|millis| bbr.is_shorter_by_chance(Ticks::from_millis(*millis), rtt + longer)).count()
        };
        let path = || Bbr::new(1000, 10_000);
        // The sum of 1/n up to a thousand is 7.5.
        assert!((3..14).contains(&renewals(path().between_hosts(), Ticks::from_micros(5))));
        assert_eq!(renewals(path().between_hosts(), Ticks::from_micros(21)), 0, "no host takes that much longer");
        assert_eq!(renewals(path(), Ticks::ZERO), 0, "hosts without times of their own");
    }
}
