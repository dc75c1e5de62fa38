//! CUBIC's window (RFC 9438), with slow start as in Linux and HyStart. The unit of its formulas is the segment, as in the RFC.
//!
//! Two ways: the RFC's, with HyStart++ (RFC 9406), and Linux's ([`super::cubic_linux`]) with its HyStart. Left out: the Reno-friendly
//! region's faster growth above the window of the last loss (§4.3, α = 1; Linux leaves it out too).

use super::cubic_linux::{self, LinuxGrowth};
use super::hystart::HyStart;
use super::hystart_plus_plus::{self, HyStartPlusPlus};
use super::slow_start::SlowStart;
use super::{Acknowledged, CongestionControl};
use crate::ByteCounting;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// C, in segments per s³ (§5).
const C: f64 = 0.4;
/// β, what is left of the window after a loss (§4.6).
const BETA: f64 = 0.7;
/// α of the Reno-friendly region (§4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// `hystart_low_window`: Linux's HyStart judges from this window on, in segments.
const LOW_WINDOW: u64 = 16;

/// One stage of congestion avoidance (§4.2).
#[derive(Debug, Clone)]
struct Epoch {
    start: Instant,
    /// When the window last grew or might have.
    updated: Instant,
    /// Where the plateau lies, in segments.
    plateau: f64,
    /// Time from the start to the plateau, in s: K.
    to_plateau: f64,
    /// What Reno's window would be, in segments: W_est.
    reno: f64,
}

/// What ends slow start before it loses.
#[derive(Debug, Clone)]
enum Exit {
    /// Linux's.
    Classic(HyStart),
    /// RFC 9406.
    PlusPlus(HyStartPlusPlus),
}

/// Cubic growth around the window of the last loss.
#[derive(Debug, Clone)]
pub struct Cubic {
    start: SlowStart,
    exit: Exit,
    /// Linux's way to grow instead of `epoch`.
    linux: Option<Box<LinuxGrowth>>,
    /// Window at the last loss, in segments: W_max; `None` before the first and after a timeout.
    max_window: Option<f64>,
    epoch: Option<Epoch>,
    /// Growth not yet in the window, in bytes below one.
    fraction: f64,
}

impl Cubic {
    /// A controller with `mss` and `initial_window` as in the RFCs; in slow start the window grows by what `counting` counts.
    pub fn new(mss: Bytes, initial_window: Bytes, counting: ByteCounting) -> Self {
        let start = SlowStart::new(mss, initial_window, counting);
        let exit = Exit::PlusPlus(HyStartPlusPlus::default());
        Self { start, exit, linux: None, max_window: None, epoch: None, fraction: 0.0 }
    }

    /// The same as in Linux.
    pub fn as_in_linux(mss: Bytes, initial_window: Bytes, counting: ByteCounting) -> Self {
        let (exit, linux) = (Exit::Classic(HyStart::default()), Some(Box::default()));
        Self { exit, linux, ..Self::new(mss, initial_window, counting) }
    }

    fn segments(&self, bytes: Bytes) -> f64 {
        bytes.as_f64() / self.start.mss.as_f64()
    }

    /// Ends slow start where HyStart++ says so; whether it is conservative.
    fn watch_slow_start(&mut self, ack: &Acknowledged) -> bool {
        let Exit::PlusPlus(hystart) = &mut self.exit else { return false };
        if self.start.threshold.is_some() {
            return false;
        }
        let stage = hystart.judge(ack);
        if stage == hystart_plus_plus::Stage::Over {
            self.start.threshold = Some(self.start.window);
        }
        stage == hystart_plus_plus::Stage::Conservative
    }

    /// §4.2: the window follows the cubic one RTT ahead, at most half of it per RTT; §4.3: but never below Reno's.
    fn avoid_congestion(&mut self, ack: &Acknowledged, acked: Bytes) {
        if self.linux.is_some() {
            return self.avoid_as_linux(ack.now, acked);
        }
        let window = self.segments(self.start.window);
        let acked = self.segments(acked);
        let max_window = self.max_window;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(ack.now, window, max_window));
        epoch.updated = ack.now;
        let ahead = ack.smoothed.unwrap_or_default();
        let target = epoch.window(ack.now + ahead).clamp(window, 1.5 * window);
        epoch.reno += ALPHA * acked / window;
        let grown =
            if epoch.window(ack.now) < epoch.reno { epoch.reno - window } else { (target - window) / window * acked };
        self.add(grown.max(0.0));
    }

    fn avoid_as_linux(&mut self, now: Instant, acked: Bytes) {
        let (Some(growth), Exit::Classic(hystart)) = (&mut self.linux, &self.exit) else { return };
        let SlowStart { mss, window, .. } = self.start;
        let [window, acked] = [window, acked].map(|bytes| bytes.get() / mss.get());
        let rtt = hystart.least_rtt().unwrap_or_default();
        let plateau = self.max_window.map(whole_count);
        self.start.window += mss * growth.grow(now, window.max(1), acked, plateau, rtt);
    }

    /// Adds `segments` to the window, keeping fractions of a byte.
    fn add(&mut self, segments: f64) {
        self.fraction += segments * self.start.mss.as_f64();
        let whole = self.fraction.floor();
        self.fraction -= whole;
        self.start.window += Bytes::new(whole_count(whole));
    }

    /// §4.6 and §4.7 (fast convergence): the new threshold and where the next plateau lies.
    fn reduce(&mut self, in_flight: Bytes) -> Bytes {
        if let Some(growth) = &mut self.linux {
            growth.restart();
            let SlowStart { mss, window, .. } = self.start;
            let (reduced, plateau) = cubic_linux::reduced(window.get() / mss.get(), self.max_window.map(whole_count));
            self.max_window = Some((mss * plateau).as_f64() / mss.as_f64());
            return self.start.lower_threshold(mss * reduced);
        }
        let window = self.segments(self.start.window);
        let releasing = self.max_window.is_some_and(|max| window < max);
        self.max_window = Some(if releasing { window * (1.0 + BETA) / 2.0 } else { window });
        self.epoch = None;
        let reduced = Bytes::new(whole_count(in_flight.as_f64() * BETA));
        self.start.lower_threshold(reduced)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "windows are positive and below 2^53 bytes"
)]
fn whole_count(count: f64) -> u64 {
    count as u64
}

impl Epoch {
    /// A stage that begins with `window` segments (§4.2: K; §4.8 and §4.10: without a known plateau it is here).
    fn new(start: Instant, window: f64, max_window: Option<f64>) -> Self {
        let plateau = max_window.unwrap_or(window).max(window);
        Self { start, updated: start, plateau, to_plateau: cube_root((plateau - window) / C), reno: window }
    }

    /// So much time does not count.
    fn pass(&mut self, span: Duration) {
        self.start += span;
        self.updated += span;
    }

    /// W_cubic(t).
    fn window(&self, at: Instant) -> f64 {
        let offset = at.since(self.start).as_secs_f64() - self.to_plateau;
        C * offset * offset * offset + self.plateau
    }
}

/// Newton's iteration from above, so that every machine gives the same bits (a platform's own `cbrt` may not).
pub(super) fn cube_root(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let mut root = value.max(1.0);
    loop {
        let next = (2.0 * root + value / (root * root)) / 3.0;
        if next >= root {
            return root;
        }
        root = next;
    }
}

impl CongestionControl for Cubic {
    fn window(&self) -> Bytes {
        self.start.window
    }

    fn threshold(&self) -> Option<Bytes> {
        self.start.threshold
    }

    fn on_ack(&mut self, ack: &Acknowledged) {
        if self.watch_slow_start(ack) {
            return self.start.grow_by_share(ack.bytes, hystart_plus_plus::GROWTH_DIVISOR);
        }
        let rest = self.start.grow(ack.bytes);
        if rest > Bytes::ZERO {
            self.avoid_congestion(ack, rest);
        }
    }

    fn on_unused_ack(&mut self, ack: &Acknowledged) {
        self.watch_slow_start(ack);
        // §4.2, §5.8: time in which the window was not used is not part of the stage.
        if let Some(epoch) = &mut self.epoch {
            epoch.pass(ack.now.since(epoch.updated));
        }
    }

    /// Ends slow start where Linux's HyStart says so: also that of a window which a repair has brought below the threshold, which is lower from then
    /// on (cubictcp_acked()).
    fn on_round_trip(&mut self, ack: &Acknowledged) {
        let (on, window) = (self.start.is_on(), self.start.window);
        let (Exit::Classic(hystart), Some(rtt)) = (&mut self.exit, ack.rtt) else { return };
        // As Linux does: the first second after a loss says little about the path.
        let young = self.linux.as_ref().is_some_and(|growth| growth.is_young(ack.now));
        if !young && hystart.should_leave(ack, rtt, on, window >= self.start.mss * LOW_WINDOW) {
            self.start.threshold = Some(window);
        }
    }

    /// RFC 9438 §5.8.
    fn grows_in_use_only(&self) -> bool {
        true
    }

    fn on_loss(&mut self, in_flight: Bytes) {
        self.start.window = self.reduce(in_flight);
    }

    fn on_timeout(&mut self, in_flight: Bytes, again: bool) {
        if !again {
            self.reduce(in_flight);
        }
        // As Linux does: what was known about this path is forgotten; there at every timeout (cubictcp_state()).
        if let (Some(growth), Exit::Classic(hystart)) = (&mut self.linux, &mut self.exit) {
            growth.restart();
            hystart.reset();
            self.max_window = None;
        } else if !again {
            self.max_window = None;
        }
        self.start.begin_after_timeout();
    }

    fn on_idle(&mut self, window: Bytes, idle: Duration) {
        if window < self.start.window {
            // Another stage begins where slow start ends (§4.2).
            self.epoch = None;
        } else if let Some(epoch) = &mut self.epoch {
            // §4.2, §5.8: time without data is not part of the stage.
            epoch.pass(idle);
        }
        self.start.shrink(window);
    }

    fn on_decay(&mut self, window: Bytes) {
        self.start.decay(window);
    }

    /// cubictcp_cwnd_event(): Linux does not count time with nothing on the way, however short.
    fn on_restart(&mut self, now: Instant, idle: Duration, _starved: bool) {
        if let Some(growth) = &mut self.linux {
            growth.pause(now, idle);
        }
    }

    fn set_window(&mut self, window: Bytes) {
        self.start.window = window;
    }

    fn undo(&mut self, window: Bytes, threshold: Option<Bytes>) {
        self.start.restore(window, threshold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sequence;

    const MSS: Bytes = Bytes::new(1000);
    const RTT: Duration = Duration::from_millis(100);

    /// Acknowledges one window per RTT for `rounds` rounds from `start` on; returns when it ended.
    fn run(cubic: &mut Cubic, start: Instant, rounds: u32) -> Instant {
        let mut now = start;
        for _ in 0..rounds {
            now += RTT;
            let mut left = cubic.window();
            while left > Bytes::ZERO {
                let bytes = left.min(MSS * 2);
                left -= bytes;
                cubic.on_ack(&Acknowledged {
                    now,
                    bytes,
                    rtt: Some(RTT),
                    smoothed: Some(RTT),
                    sequence: Sequence::SYN,
                    next: Sequence::FIRST_BYTE,
                });
            }
        }
        now
    }

    #[test]
    fn the_cube_root_is_exact_enough() {
        for value in [1e-6_f64, 0.5, 1.0, 27.0, 1e9] {
            let root = cube_root(value);
            assert!((root * root * root / value - 1.0).abs() < 1e-12, "{value}");
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_the_plateau_is_reached_after_k() {
        let mut cubic = Cubic::new(MSS, MSS * 1000, ByteCounting::Unlimited);
        cubic.on_loss(MSS * 1000);
        assert_eq!(cubic.window(), MSS * 700);
        // K = ∛(300 / 0.4) = 9.09 s.
        let end = run(&mut cubic, Instant::START, 90);
        let at_k = cubic.segments(cubic.window());
        assert!((990.0..=1001.0).contains(&at_k), "{at_k}");
        // 10 s later: 1000 + 0.4·10³ at most.
        run(&mut cubic, end, 100);
        let later = cubic.segments(cubic.window());
        assert!((1350.0..1420.0).contains(&later), "{later}");
    }

    fn ack(ms: u64, smoothed: Duration) -> Acknowledged {
        let now = Instant::START + Duration::from_millis(ms);
        let (sequence, next) = (Sequence::SYN, Sequence::FIRST_BYTE);
        Acknowledged { now, bytes: MSS * 2, rtt: Some(RTT), smoothed: Some(smoothed), sequence, next }
    }

    #[test]
    fn time_in_which_the_window_is_not_used_is_not_part_of_the_stage() {
        let after = |pause_ms: u64| {
            let mut cubic = Cubic::new(MSS, MSS * 1000, ByteCounting::Unlimited);
            cubic.on_loss(MSS * 1000);
            cubic.on_ack(&ack(0, RTT));
            (1..=pause_ms / 100).for_each(|n| cubic.on_unused_ack(&ack(100 * n, RTT)));
            (1..=20).for_each(|n| cubic.on_ack(&ack(pause_ms + 100 * n, RTT)));
            cubic.window()
        };
        assert_eq!(after(20_000), after(0));
    }

    #[test]
    fn a_longer_smoothed_round_trip_looks_further_ahead() {
        let grown = |smoothed| {
            let mut cubic = Cubic::new(MSS, MSS * 1000, ByteCounting::Unlimited);
            cubic.on_loss(MSS * 1000);
            (0..20).for_each(|n| cubic.on_ack(&ack(100 * n, smoothed)));
            cubic.window()
        };
        assert!(grown(RTT * 5) > grown(RTT));
    }

    #[test]
    fn linux_forgets_the_path_at_a_timeout_that_reduces_nothing_more() {
        let known = |mut cubic: Cubic| {
            cubic.on_loss(MSS * 100);
            cubic.on_timeout(MSS * 70, true);
            (cubic.max_window.is_some(), cubic.threshold())
        };
        let (mss, window, counting) = (MSS, MSS * 100, ByteCounting::Unlimited);
        assert_eq!(known(Cubic::as_in_linux(mss, window, counting)), (false, Some(MSS * 70)));
        assert_eq!(known(Cubic::new(mss, window, counting)), (true, Some(MSS * 70)));
    }

    #[test]
    fn what_is_reduced_is_what_is_on_the_way() {
        let reduced = |in_flight| {
            let mut cubic = Cubic::new(MSS, MSS * 100, ByteCounting::Unlimited);
            cubic.on_timeout(in_flight, false);
            cubic.threshold()
        };
        assert_eq!([100, 20].map(|segments| reduced(MSS * segments)), [Some(MSS * 70), Some(MSS * 14)]);
    }

    #[test]
    fn a_small_window_grows_no_slower_than_renos() {
        let mut cubic = Cubic::new(MSS, MSS * 20, ByteCounting::Unlimited);
        cubic.on_loss(MSS * 20);
        run(&mut cubic, Instant::START, 10);
        let window = cubic.segments(cubic.window());
        assert!(window >= 14.0 + 9.0 * ALPHA, "{window}");
    }

    /// Two rounds of slow start from 100 segments, `per_ack` of them acknowledged at once; the RTT rises by 20 ms in the second.
    fn started(mut cubic: Cubic, per_ack: u64) -> (u64, bool) {
        let mut number = Sequence::FIRST_BYTE;
        for round in 1..=2_u32 {
            let next = number + cubic.window();
            while number < next {
                let now = Instant::START + RTT * round;
                let bytes = MSS * per_ack;
                number = number + bytes;
                let rtt = Some(RTT + Duration::from_millis(20) * (round - 1));
                let ack = Acknowledged { now, bytes, rtt, smoothed: rtt, sequence: number, next };
                cubic.on_round_trip(&ack);
                cubic.on_ack(&ack);
            }
        }
        (cubic.window().get() / MSS.get(), cubic.in_slow_start())
    }

    #[test]
    fn a_growing_rtt_ends_slow_start_at_once_or_slows_it_down_first() {
        let (classic, on) = started(Cubic::as_in_linux(MSS, MSS * 100, ByteCounting::Unlimited), 1);
        assert!(!on && (205..=225).contains(&classic), "{classic}");
        let (gentle, on) = started(Cubic::new(MSS, MSS * 100, ByteCounting::Unlimited), 1);
        assert!(on && (240..=265).contains(&gentle), "{gentle}");
        // 50 acknowledgements count for a segment each; of the next 75 seven do, and the others for a quarter of one.
        let (delayed, on) = started(Cubic::new(MSS, MSS * 100, ByteCounting::Packets), 2);
        assert!(on && (172..=175).contains(&delayed), "{delayed}");
    }

    #[test]
    fn slow_start_ends_for_linux_where_a_repair_has_brought_the_window() {
        let threshold = |segments: u64, rtt: Duration| {
            let mut cubic = Cubic::as_in_linux(MSS, MSS * 40, ByteCounting::Unlimited);
            cubic.on_round_trip(&ack(0, RTT));
            cubic.on_loss(MSS * 40);
            cubic.set_window(MSS * segments);
            // The next flight, of which nothing is acknowledged by number: a hole is being repaired.
            let sequence = Sequence::FIRST_BYTE + MSS;
            let ack = |ms: u64| Acknowledged { rtt: Some(rtt), sequence, next: sequence + MSS * 40, ..ack(ms, RTT) };
            (1..=9).for_each(|n| cubic.on_round_trip(&ack(10 * n)));
            cubic.threshold()
        };
        let known = Some(MSS * 28);
        assert_eq!(threshold(20, RTT * 2), Some(MSS * 20));
        assert_eq!([threshold(20, RTT), threshold(15, RTT * 2), threshold(28, RTT * 2)], [known; 3]);
    }

    #[test]
    fn idle_time_is_not_part_of_a_stage() {
        let grown = |mut cubic: Cubic, idle: u64| {
            cubic.on_loss(MSS * 100);
            let end = run(&mut cubic, Instant::START, 5);
            let idle = Duration::from_secs(idle);
            cubic.on_restart(end + idle, idle, true);
            cubic.on_idle(cubic.window(), idle);
            run(&mut cubic, end + idle, 5);
            cubic.window()
        };
        for new in [Cubic::new, Cubic::as_in_linux] {
            let [none, some] = [0, 60].map(|idle| grown(new(MSS, MSS * 100, ByteCounting::Unlimited), idle));
            assert_eq!(none, some);
        }
    }

    #[test]
    fn a_stage_begins_where_slow_start_after_idle_time_ends() {
        let rounds = |idle: u64| {
            let mut cubic = Cubic::new(MSS, MSS * 200, ByteCounting::Unlimited);
            cubic.on_loss(MSS * 200);
            // Long enough for the window to be far above the threshold.
            let end = run(&mut cubic, Instant::START, 120);
            let idle = Duration::from_secs(idle);
            cubic.on_idle(MSS * 10, idle);
            let mut now = end + idle;
            let mut windows = Vec::new();
            for _ in 0..12 {
                now = run(&mut cubic, now, 1);
                windows.push(cubic.window().get() / MSS.get());
            }
            windows
        };
        let windows = rounds(2);
        assert_eq!(windows[..4], [20, 40, 80, 140], "to the threshold, which has stayed");
        let steps: Vec<u64> = windows[3..].windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| *step <= 14), "no jump to where the old stage would be: {steps:?}");
        assert_eq!(windows, rounds(200));
    }
}
