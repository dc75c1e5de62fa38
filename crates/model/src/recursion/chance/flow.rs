//! A connection's data in rounds: what is sent at once, what of it is lost, and what is sent next.

use super::losses::Fate;
use crate::recursion::connection::Side;
use crate::recursion::habits::Habits;
use crate::recursion::parameters::{Control, Parameters};
use crate::recursion::ticks::Pace;
use farhop_scenario::{ByteCounting, Congestion, DUPLICATE_THRESHOLD, Profile};

/// More rounds than this go on as the last half of them did.
const MOST_ROUNDS: u32 = 1000;
/// Segments at a set rate that are looked at one by one.
const MOST_AT_ONCE: u64 = 1 << 12;
/// Timeouts in a row, after which nothing changes any more (Linux gives up, this goes on).
const MOST_BACKOFF: u32 = 7;
/// C and β of RFC 9438, and the share of Reno's growth that its friendly region takes.
const C: f64 = 0.4;
const CUBIC_BETA: f64 = 0.7;
const CUBIC_ALPHA: f64 = 3.0 * 0.3 / 1.7;
/// RFC 5681 §3.1.
const RENO_BETA: f64 = 0.5;
/// `hystart_low_window`, and the spacing of a train.
const LOW_WINDOW: f64 = 16.0;
const TRAIN_SPACING: f64 = 0.002;
/// RFC 8985 §7.2: allowance for a delayed acknowledgement of one segment.
const LONE: f64 = 0.2;

/// What all connections of a load have in common, for data from one of their ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    sender: Side,
    pub(super) rtt: f64,
    /// Time of a full segment on the slowest serializer.
    pub(super) pace: f64,
    pub(super) mss: u64,
    control: Kind,
    initial: f64,
    most: f64,
    /// All holes are known (RFC 6675), and what was sent later tells of them (RFC 8985).
    sack: bool,
    rack: bool,
    /// A loss reduces what is on the way (RFC 5681 §3.1, RFC 9438 §4.6), not the window as in Linux.
    reduces_flight: bool,
    /// By how much of what is acknowledged the window grows in slow start, in that after a timeout, and by how many segments in a round trip
    /// after it, where acknowledgements stand for two segments.
    growth: f64,
    growth_after_timeout: f64,
    growth_when_avoiding: f64,
    rto_min: f64,
    rto_min_variance: f64,
    pub(super) rto_initial: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reno,
    Cubic,
    /// Losses do not slow it down.
    Steady,
    /// Everything is sent at once.
    Set,
}

impl Path {
    /// What a loss leaves of the window, if it does something to it.
    fn beta(&self) -> Option<f64> {
        match self.control {
            Kind::Reno => Some(RENO_BETA),
            Kind::Cubic => Some(CUBIC_BETA),
            Kind::Steady | Kind::Set => None,
        }
    }

    pub(super) fn new(parameters: &Parameters, sender: Side) -> Self {
        let (down, up) = parameters.routes();
        let (way, back) = if sender == Side::Server { (down, up) } else { (up, down) };
        let (habits, tcp) = (Habits::of(&parameters.tcp), &parameters.tcp);
        let mss = tcp.mss.get();
        let packet = mss + super::super::load::HEADERS;
        let small = super::super::load::HEADERS;
        let control = match (parameters.control, tcp.congestion) {
            _ if parameters.pushed_rate.is_some() => Kind::Set,
            (Control::FixedRate, _) => Kind::Set,
            (_, Congestion::Reno | Congestion::NewReno) => Kind::Reno,
            (_, Congestion::Cubic) => Kind::Cubic,
            (_, Congestion::Bbr) => Kind::Steady,
        };
        let set = Pace::of(parameters.pushed_rate.filter(|_| sender == Side::Server), (1, 1)).time(mss);
        let window = tcp.max_window.map_or(f64::INFINITY, |window| window.as_f64());
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let most = window.min(habits.send_buffer as f64) / tcp.mss.as_f64();
        Self {
            sender,
            rtt: (way.delay() + back.delay() + way.service(packet) + back.service(small)).seconds(),
            pace: way.slowest_service(1, packet).max(set).seconds(),
            mss,
            control,
            initial: f64::from(tcp.initial_window),
            most: most.max(1.0),
            sack: tcp.sack || control == Kind::Set,
            reduces_flight: matches!(control, Kind::Reno | Kind::Cubic) && tcp.profile != Profile::Linux,
            rack: habits.rack || control == Kind::Set,
            growth: share(habits.counting.is_whole_of(2)),
            growth_after_timeout: share(habits.counting == ByteCounting::Unlimited),
            growth_when_avoiding: share(habits.counting != ByteCounting::Packets),
            rto_min: habits.rto_min.seconds(),
            rto_min_variance: habits.rto_min_variance.seconds(),
            rto_initial: habits.rto_initial.seconds(),
        }
    }

    /// RFC 6298 with so many samples of nearly one round-trip time.
    pub(super) fn timeout(&self, samples: f64) -> f64 {
        let variance = 2.0 * self.rtt * libm::pow(0.75, samples);
        (self.rtt + variance.max(self.rto_min_variance)).max(self.rto_min)
    }

    /// After what silence a lone packet is sent again.
    pub(super) fn silence(&self, samples: f64, lone: bool) -> f64 {
        let timeout = self.timeout(samples);
        let probe = 2.0 * self.rtt + if lone { LONE } else { 0.0 };
        match self.control {
            Kind::Set => timeout.min(1.5 * self.rtt),
            _ if self.rack => timeout.min(probe),
            _ => timeout,
        }
    }
}

/// All of what two segments' acknowledgement covers, or one segment of it.
fn share(is_all: bool) -> f64 {
    if is_all { 1.0 } else { 0.5 }
}

/// One connection's state from response to response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    window: f64,
    threshold: f64,
    is_after_timeout: bool,
    cubic: Option<Epoch>,
    last_most: f64,
    samples: f64,
    until_loss: u64,
    is_bad: bool,
}

/// A stage of CUBIC.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: f64,
    most: f64,
    k: f64,
    reno: f64,
}

/// Segments sent at once and what becomes of them.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    lost: u64,
    /// Sent before the first that was lost.
    before: u64,
    /// Arrived after it.
    after: u64,
    /// A repetition is among those lost.
    again: bool,
    /// Sent before the last that was lost.
    before_last: u64,
}

/// The round in which a loss is known: what may be sent in it, and how much of that is sent before.
#[derive(Debug, Clone, Copy)]
struct Turn {
    cap: f64,
    unaware: f64,
}

/// What is still to be sent of a response.
#[derive(Debug, Clone, Copy)]
struct Left {
    new: u64,
    again: u64,
}

impl Flow {
    pub(super) fn new(path: &Path, fate: &mut Fate) -> Self {
        let mut is_bad = false;
        Self {
            window: path.initial.min(path.most),
            threshold: f64::INFINITY,
            is_after_timeout: false,
            cubic: None,
            last_most: 0.0,
            samples: 1.0,
            until_loss: fate.until_loss(path.sender, &mut is_bad),
            is_bad,
        }
    }

    /// Sends `segments` from `start` on, `sharing` connections on the link. Returns when the last of them has arrived, on a clock
    /// that is a way down late. `arrived` learns how many had arrived in order when.
    pub(super) fn transfer(
        &mut self,
        path: &Path,
        fate: &mut Fate,
        (segments, start, sharing): (u64, f64, f64),
        arrived: &mut dyn FnMut(u64, f64),
    ) -> f64 {
        let pace = path.pace * sharing;
        // At a set rate only the last repetitions are waited for: what is far ahead of them just takes its time.
        let ahead = if path.control == Kind::Set { segments.saturating_sub(MOST_AT_ONCE) } else { 0 };
        let (start, segments) = (start + float(ahead) * pace / (1.0 - fate.mean(path.sender)), segments - ahead);
        let mut left = Left { new: segments, again: 0 };
        let (mut now, mut end, mut backoff, mut turn) = (start, start, 0, None::<Turn>);
        let mut half = (0_u64, start);
        let mut conserves = false;
        for round in 0..MOST_ROUNDS {
            if round == MOST_ROUNDS / 2 {
                half = (segments - left.new, now);
            }
            if sharing > 1.0
                && let Some(is_bad) = fate.afresh(path.sender)
            {
                self.is_bad = is_bad;
                self.until_loss = fate.until_loss(path.sender, &mut self.is_bad);
            }
            let (again, new) = self.choose(path, left, turn.map(|turn| turn.cap));
            let count = again + new;
            left = Left { new: left.new - new, again: left.again - again };
            let outcome = self.send(path, fate, again, count);
            let span = float(count) * pace;
            self.samples += float(count) / 2.0;
            if outcome.lost > 0 {
                left.again += outcome.lost;
                // BBR sends as much as arrives in the first round of a recovery, and goes on as before in the next.
                conserves = !conserves;
                if path.control == Kind::Steady && !conserves {
                    self.grow(path, count - outcome.lost, (pace, now), None);
                }
                now += self.learn(path, (count, outcome, left), span, &mut backoff, &mut turn);
                continue;
            }
            (end, backoff) = (now + span, 0);
            if left.again == 0 {
                arrived(segments - left.new, end);
                self.grow(path, count, (pace, now), turn.take());
            }
            if left.new == 0 && left.again == 0 {
                return end;
            }
            now += path.rtt.max(span);
        }
        let sent = segments - left.new;
        end.max(now) + float(left.new) * (now - half.1).max(pace) / float((sent - half.0.min(sent)).max(1))
    }

    /// How many repetitions and new segments the window lets go now.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most what is left")]
    fn choose(&self, path: &Path, left: Left, cap: Option<f64>) -> (u64, u64) {
        let window = cap.unwrap_or(self.window).min(path.most);
        let most = if path.control == Kind::Set { u64::MAX } else { (window as u64).max(1) };
        // NewReno learns of one hole per round trip.
        let holes = if path.sack { left.again } else { left.again.min(1) };
        let again = holes.min(most);
        (again, left.new.min(most - again))
    }

    /// Which of `count` segments are lost, the first `again` of them repetitions.
    fn send(&mut self, path: &Path, fate: &mut Fate, again: u64, count: u64) -> Outcome {
        let (mut outcome, mut at) = (Outcome::default(), 0);
        while self.until_loss < count - at {
            let place = at + self.until_loss;
            if outcome.lost == 0 {
                outcome.before = place;
            }
            outcome.lost += 1;
            outcome.again |= place < again;
            outcome.before_last = place;
            at = place + 1;
            self.until_loss = fate.until_loss(path.sender, &mut self.is_bad);
        }
        self.until_loss -= count - at;
        if outcome.lost > 0 {
            outcome.after = count - outcome.before - outcome.lost;
        }
        outcome
    }

    /// What the sender makes of losses; returns after what time it goes on.
    fn learn(
        &mut self,
        path: &Path,
        (count, outcome, left): (u64, Outcome, Left),
        span: f64,
        backoff: &mut u32,
        turn: &mut Option<Turn>,
    ) -> f64 {
        // What arrived before the loss has set the timers again, a round trip later, and lets new segments go, which make duplicates.
        let heard = if outcome.before > 0 { path.rtt.max(span) } else { span };
        let followers = outcome.after + if outcome.before > 0 || turn.is_some() { left.new } else { left.new.min(2) };
        let lost_again = outcome.again && !path.rack;
        if !lost_again && (followers >= DUPLICATE_THRESHOLD || (path.rack && followers > 0)) {
            *backoff = 0;
            self.recover(path, (count, outcome, left), turn);
            return path.rtt.max(span) + if followers < DUPLICATE_THRESHOLD { path.rtt / 4.0 } else { 0.0 };
        }
        if path.rack && *backoff == 0 {
            // The probe repeats the last segment; what was lost before it is known a round trip later.
            *backoff = 1;
            self.recover(path, (count, outcome, left), turn);
            return heard + path.silence(self.samples, count == 1) + if outcome.lost > 1 { path.rtt } else { 0.0 };
        }
        let wait = path.timeout(self.samples) * f64::from(1_u32 << (*backoff).min(MOST_BACKOFF));
        *backoff += 1;
        if let Some(beta) = path.beta() {
            self.threshold = (beta * self.window).max(2.0);
            (self.window, self.cubic, *turn, self.is_after_timeout) = (1.0, None, None, true);
        }
        heard + wait
    }

    /// The window after a loss: what it was when that was known, reduced; once for all that was sent before that.
    fn recover(&mut self, path: &Path, (count, outcome, left): (u64, Outcome, Left), turn: &mut Option<Turn>) {
        let Some(beta) = path.beta() else { return };
        let known = turn.is_some_and(|turn| float(outcome.before_last) < turn.unaware);
        if known {
            *turn = turn.map(|turn| Turn { cap: self.window, ..turn });
            return;
        }
        let slow_start = self.window < self.threshold;
        let growth = if !slow_start || turn.is_some() { 0.0 } else { self.slow_start_growth(path) };
        let before = float(outcome.before);
        let fresh = ((1.0 + growth) * before).min(float(left.new));
        let flight = float(count) - before + fresh;
        let window = self.window + growth * before;
        let window = window.min(path.most);
        let at_loss = if path.reduces_flight { flight.min(window) } else { window };
        *turn = Some(Turn { cap: fresh + beta * (float(count) - before), unaware: fresh });
        self.window = (beta * at_loss).max(2.0);
        (self.threshold, self.is_after_timeout) = (self.window, false);
        if path.control == Kind::Cubic {
            let most = if window < self.last_most { window * (1.0 + beta) / 2.0 } else { window };
            self.last_most = window;
            let k = libm::cbrt((most - self.window).max(0.0) / C);
            self.cubic = Some(Epoch { start: f64::NAN, most, k, reno: self.window });
        }
    }

    /// Which part of what is acknowledged lets the window grow.
    fn slow_start_growth(&self, path: &Path) -> f64 {
        if self.is_after_timeout { path.growth_after_timeout } else { path.growth }
    }

    /// A round without loss.
    fn grow(&mut self, path: &Path, count: u64, (pace, now): (f64, f64), turn: Option<Turn>) {
        if path.control == Kind::Set || turn.is_some() {
            return;
        }
        let used = float(count) + 0.5 >= self.window.floor() || self.window < self.threshold;
        if !used {
            return;
        }
        if self.window < self.threshold {
            self.leave_slow_start(path, pace);
        }
        if self.window < self.threshold {
            let growth = self.slow_start_growth(path);
            self.window = (self.window + growth * float(count)).min(self.threshold).min(path.most);
        } else if path.control == Kind::Cubic {
            self.grow_cubic(path, now, path.rtt.max(float(count) * pace));
        } else {
            self.window = (self.window + path.growth_when_avoiding).min(path.most);
        }
    }

    /// HyStart: a train of ACKs of half a round trip, or a queue.
    fn leave_slow_start(&mut self, path: &Path, pace: f64) {
        let train = self.window * pace;
        let is_train = 2.0 * pace <= TRAIN_SPACING && train >= path.rtt / 2.0;
        if path.control == Kind::Cubic && self.window >= LOW_WINDOW && (is_train || train >= path.rtt) {
            self.threshold = self.window;
        }
    }

    fn grow_cubic(&mut self, path: &Path, now: f64, round: f64) {
        let window = self.window;
        let epoch = self.cubic.get_or_insert(Epoch { start: now, most: window, k: 0.0, reno: window });
        if epoch.start.is_nan() {
            epoch.start = now;
        }
        epoch.reno += CUBIC_ALPHA;
        let t = now + round - epoch.start - epoch.k;
        let target = (C * t * t * t + epoch.most).clamp(window, 1.5 * window);
        self.window = target.max(epoch.reno).min(path.most);
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of segments are far below 2^53, and beyond nearly exact")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recursion::chance::Losses;
    use farhop_scenario::open;
    use farhop_units::Probability;

    fn path(assignments: &[&str]) -> Path {
        let assignments: Vec<String> = assignments.iter().map(|&text| text.to_owned()).collect();
        Path::new(&Parameters::of(&open("demo", &assignments).unwrap()), Side::Server)
    }

    /// Time of so many segments of which those at `lost` are lost on their first way.
    fn time(path: &Path, segments: u64, lost: &[u64]) -> f64 {
        let mut fate = Fate::none();
        let mut flow = Flow::new(path, &mut fate);
        let mut gaps = lost.to_vec();
        gaps.sort_unstable();
        flow.until_loss = gaps.first().copied().unwrap_or(u64::MAX);
        flow.transfer(path, &mut fate, (segments, 0.0, 1.0), &mut |_, _| {})
    }

    fn rounds(path: &Path, time: f64) -> f64 {
        time / path.rtt
    }

    #[test]
    fn windows_double_and_a_loss_halves_them() {
        let path = path(&["tcp.congestion=newreno"]);
        // 10, 20, 40, 80: three round trips before the last window.
        assert!((rounds(&path, time(&path, 150, &[])) - 3.0).abs() < 0.1);
        // The eleventh is lost: of the twenty it begins ten are left as a window, which grows by one each round trip from then on.
        let with = rounds(&path, time(&path, 150, &[10]));
        assert!((with - 11.0).abs() < 0.1, "{with}");
    }

    #[test]
    fn a_loss_in_the_last_window_costs_a_round_trip_and_at_its_end_a_probe() {
        let path = path(&[]);
        let cost = |lost| time(&path, 10, &[lost]) - time(&path, 10, &[]);
        assert!((cost(2) / path.rtt - 1.0).abs() < 0.02, "{}", cost(2));
        // A reordering window for the last but one; for the last a timeout's time after the ACKs of those before it.
        assert!((cost(8) / path.rtt - 1.25).abs() < 0.02, "{}", cost(8));
        let probe = path.rtt + path.silence(6.0, false);
        assert!((cost(9) - probe).abs() < 0.1, "{} {probe}", cost(9));
    }

    #[test]
    fn without_a_probe_the_end_waits_for_the_timeout() {
        let path = path(&["tcp.profile=rfc"]);
        let cost = time(&path, 10, &[9]) - time(&path, 10, &[]);
        assert!(cost > path.rtt + path.timeout(20.0) - 0.05, "{cost}");
    }

    #[test]
    fn long_transfers_go_at_the_rate_of_their_equilibrium() {
        // Reno with byte counting: a window of √(3/(2p)) on average (Mathis et al. 1997).
        let path = path(&["tcp.congestion=newreno"]);
        let (loss, segments) = (0.01, 20_000);
        let mut fate = Fate::new(&Losses::independent(Probability::new(loss).unwrap()), 7);
        let mut flow = Flow::new(&path, &mut fate);
        let time = flow.transfer(&path, &mut fate, (segments, 0.0, 1.0), &mut |_, _| {});
        let window = 20_000.0 / rounds(&path, time);
        let law = libm::sqrt(1.5 / loss);
        assert!((window / law - 1.0).abs() < 0.25, "{window} {law}");
    }
}
