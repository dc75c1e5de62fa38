//! How the congestion window grows without loss: slow start (RFC 5681 §3.1), CUBIC with HyStart++ (RFC 9438, 9406) or as Linux has it
//! ([`super::linux_cubic`]), and a window that others set (BBR's, [`super::repair`]).
//!
//! Reno and NewReno differ in recovery only and are one here.

use super::linux_cubic::{LOW_WINDOW, LinuxCubic};
use super::ticks::{Pace, Ticks};
use farhop_scenario::{ByteCounting, Congestion};

/// One acknowledgement of new data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acked {
    pub(crate) now: Ticks,
    pub(crate) bytes: u64,
    /// Of the latest that it covers, unless that was sent twice; and smoothed.
    pub(crate) rtt: Option<Ticks>,
    pub(crate) smoothed: Ticks,
    /// Acknowledged in all, and sent in all.
    pub(crate) up_to: u64,
    pub(crate) next: u64,
}

/// The window and its controller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    mss: u64,
    pub(crate) size: u64,
    threshold: Option<u64>,
    counting: ByteCounting,
    /// Windows and thresholds are whole segments, as Linux and QUIC have them.
    is_whole: bool,
    /// It is the slow start after a timeout, in which of what is counted up to a limit one segment counts (RFC 3465 §2.3).
    is_after_timeout: bool,
    control: Control,
    /// What may leave at once where a window is spread over the round trip, as QUIC's is; `None` where it is not.
    burst: Option<u64>,
}

/// RFC 9002 §7.7: a window is spread a little faster than over the round trip, so that it decides.
const SPREADING: (u32, u32) = (4, 5);

#[derive(Debug, Clone, Copy)]
enum Control {
    Reno {
        /// Acknowledged bytes that have not added a segment yet.
        credit: u64,
    },
    Cubic {
        exit: HyStartPlusPlus,
        growth: Option<Growth>,
        /// The window at the last loss, in segments: W_max.
        most: Option<f64>,
    },
    LinuxCubic(LinuxCubic),
    /// No congestion control here: a fixed rate, a remembered window, a model of the path.
    Fixed,
}

impl Window {
    /// Linux counts whole segments and has its own CUBIC.
    pub(crate) fn new(
        congestion: Congestion,
        (mss, initial): (u64, u64),
        counting: ByteCounting,
        is_linux: bool,
    ) -> Self {
        let control = match congestion {
            Congestion::Reno | Congestion::NewReno => Control::Reno { credit: 0 },
            Congestion::Cubic if is_linux => Control::LinuxCubic(LinuxCubic::default()),
            Congestion::Cubic => Control::Cubic { exit: HyStartPlusPlus::default(), growth: None, most: None },
            Congestion::Bbr => Control::Fixed,
        };
        let is_after_timeout = false;
        Self {
            mss,
            size: initial,
            threshold: None,
            counting,
            is_whole: is_linux,
            is_after_timeout,
            control,
            burst: None,
        }
    }

    /// A window that never changes.
    pub(crate) fn fixed(mss: u64, size: u64) -> Self {
        Self { control: Control::Fixed, ..Self::new(Congestion::Reno, (mss, size), ByteCounting::Unlimited, true) }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.threshold.is_none_or(|threshold| self.size < threshold)
    }

    /// An acknowledgement tells a round-trip time, whether a loss is being repaired or not: Linux's CUBIC may end slow start, also that of a window
    /// that the repair has brought below the threshold (cubictcp_acked()). What else it says follows.
    #[inline(always)]
    pub(crate) fn on_round_trip(&mut self, ack: &Acked) {
        let on = self.in_slow_start();
        if let Control::LinuxCubic(cubic) = &mut self.control
            && cubic.should_leave(ack, on, self.size >= LOW_WINDOW * self.mss)
        {
            self.threshold = Some(self.size);
        }
    }

    #[inline(always)]
    pub(crate) fn on_ack(&mut self, ack: &Acked) {
        let counted = self.watch(ack);
        let rest = self.slow_start(counted);
        if rest > 0 {
            self.avoid_congestion(ack, rest);
        }
    }

    /// The same while the window was not used: it stays, but HyStart++ watches it.
    pub(crate) fn on_unused_ack(&mut self, ack: &Acked) {
        self.watch(ack);
        // RFC 9438 §4.2: time in which the window was not used is not part of the stage.
        if let Control::Cubic { growth: Some(growth), .. } = &mut self.control {
            growth.pass(ack.now.since(growth.updated));
        }
    }

    /// QUIC's: it counts bytes, has the RFCs' HyStart++ and no kernel's, and is spread over the round trip, in bursts no larger than it
    /// is at first (RFC 9002 §7.7).
    pub(crate) fn of_quic(congestion: Congestion, mss: u64, initial: u64) -> Self {
        let burst = Some(initial.saturating_sub(mss));
        Self { is_whole: true, burst, ..Self::new(congestion, (mss, initial), ByteCounting::Unlimited, false) }
    }

    /// How fast packets may leave, if the controller says so, and how much ahead of that.
    pub(crate) fn pace(&self, rtt: Ticks) -> Option<(Pace, u64)> {
        let burst = self.burst.filter(|_| !self.is_fixed())?;
        Some((Pace::measured(rtt, self.size).scaled(SPREADING.0, SPREADING.1), burst))
    }

    /// How much may leave ahead of a pace, where bursts are bounded so.
    pub(crate) fn burst(&self) -> Option<u64> {
        self.burst
    }

    /// Whether the controller says how fast packets may leave.
    pub(crate) fn is_spread(&self) -> bool {
        self.burst.is_some()
    }

    pub(crate) fn threshold(&self) -> Option<u64> {
        self.threshold
    }

    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.control, Control::Fixed)
    }

    /// The window is this while a loss is repaired.
    pub(crate) fn set(&mut self, size: u64) {
        if !self.is_fixed() {
            self.size = size;
        }
    }

    /// Whoever sets a fixed window sets it to this.
    pub(crate) fn assign(&mut self, size: u64) {
        if self.size < FOR_EVER {
            self.size = size;
        }
    }

    /// A loss, with `flight` bytes on the way: RFC 5681 equation 4, RFC 9438 §4.6-4.7.
    pub(crate) fn on_loss(&mut self, flight: u64) {
        // What QUIC's reduces is the window (RFC 9002 §7.3.2).
        let flight = if self.burst.is_some() { self.size } else { flight };
        let reduced = match &mut self.control {
            Control::Fixed => return,
            Control::Reno { credit } => {
                *credit = 0;
                if self.is_whole { flight / 2 / self.mss * self.mss } else { flight / 2 }
            }
            Control::Cubic { growth, most, .. } => {
                let window = segments(self.size, self.mss);
                let releases = most.is_some_and(|most| window < most);
                *most = Some(if releases { window * (1.0 + BETA) / 2.0 } else { window });
                *growth = None;
                whole_bytes(segments(flight, 1) * BETA)
            }
            Control::LinuxCubic(cubic) => cubic.on_loss(self.size / self.mss) * self.mss,
        };
        let threshold = reduced.max(2 * self.mss);
        (self.size, self.threshold, self.is_after_timeout) = (threshold, Some(threshold), false);
    }

    /// A timeout, the first one or `again`; the window is its setter's. Linux forgets what it knew of the path.
    pub(crate) fn on_timeout(&mut self, flight: u64, again: bool) {
        if !again {
            self.on_loss(flight);
        }
        self.is_after_timeout = true;
        match &mut self.control {
            Control::LinuxCubic(cubic) => cubic.forget(),
            Control::Cubic { most, .. } if !again => *most = None,
            Control::Cubic { .. } | Control::Reno { .. } | Control::Fixed => {}
        }
    }

    /// A reduction is taken back.
    pub(crate) fn undo(&mut self, size: u64, threshold: Option<u64>) {
        self.set(self.size.max(size));
        self.is_after_timeout = false;
        self.threshold = threshold.and_then(|before| self.threshold.map(|now| now.max(before)));
    }

    /// Nothing was sent for so long: the window is at most `size` now, and slow start ends where it did (RFC 5681 §4.1), where another stage of CUBIC
    /// begins (RFC 9438 §4.2).
    pub(crate) fn on_idle(&mut self, size: u64, idle: Ticks) {
        if let Control::Cubic { growth, .. } = &mut self.control {
            if size < self.size {
                *growth = None;
            } else if let Some(growth) = growth {
                growth.pass(idle);
            }
        }
        self.shrink(size);
    }

    /// The window was not used: it is at most `size` now, and three quarters of it are remembered (RFC 2861 §3).
    pub(crate) fn decay(&mut self, size: u64) {
        let whole = |bytes: u64| bytes / self.mss * self.mss;
        let remembered = whole(self.size / 2) + whole(self.size / 4);
        self.threshold = self.threshold.map(|threshold| threshold.max(remembered));
        self.shrink(size);
    }

    fn shrink(&mut self, size: u64) {
        if !self.is_fixed() {
            self.size = self.size.min(size).max(self.mss);
        }
    }

    /// Nothing was on the way for so long, which Linux does not count (cubictcp_cwnd_event()).
    pub(crate) fn pause(&mut self, now: Ticks, idle: Ticks) {
        if let Control::LinuxCubic(cubic) = &mut self.control {
            cubic.pause(now, idle);
        }
    }

    /// Gives how much of the acknowledged bytes counts for slow start.
    #[inline(always)]
    fn watch(&mut self, ack: &Acked) -> u64 {
        match &mut self.control {
            Control::Reno { .. } | Control::LinuxCubic(_) | Control::Fixed => ack.bytes,
            Control::Cubic { .. } if self.threshold.is_some() => ack.bytes,
            Control::Cubic { exit, .. } => match exit.judge(ack) {
                Stage::SlowStart => ack.bytes,
                Stage::Conservative => counted(self.counting, ack.bytes, self.mss, false) / GROWTH_DIVISOR,
                Stage::Over => {
                    self.threshold = Some(self.size);
                    ack.bytes
                }
            },
        }
    }

    /// Returns what is left for congestion avoidance.
    #[inline(always)]
    fn slow_start(&mut self, bytes: u64) -> u64 {
        if matches!(self.control, Control::Fixed) {
            return 0;
        }
        if !self.in_slow_start() {
            self.is_after_timeout = false;
            return bytes;
        }
        let counted = counted(self.counting, bytes, self.mss, self.is_after_timeout);
        if self.counting == ByteCounting::Packets {
            self.size += counted;
            return 0;
        }
        let room = self.threshold.map_or(counted, |threshold| threshold.saturating_sub(self.size));
        self.size = self.size.saturating_add(counted.min(room));
        counted.saturating_sub(room)
    }

    /// RFC 5681 equation 3 or by bytes; RFC 9438 §4.2-4.3 or as Linux counts.
    fn avoid_congestion(&mut self, ack: &Acked, bytes: u64) {
        let window = segments(self.size, self.mss);
        match &mut self.control {
            Control::Fixed => {}
            Control::Reno { .. } if self.counting == ByteCounting::Packets && !self.is_whole => {
                self.size += (self.mss * self.mss / self.size.max(1)).max(1);
            }
            Control::Reno { credit } => {
                *credit += if self.counting == ByteCounting::Packets { bytes.min(self.mss) } else { bytes };
                if *credit >= self.size {
                    *credit -= self.size;
                    self.size += self.mss;
                }
            }
            Control::LinuxCubic(cubic) => {
                let (size, acked) = (self.size / self.mss, bytes / self.mss);
                self.size += self.mss * cubic.grow(ack.now, size.max(1), acked);
            }
            Control::Cubic { growth, most, .. } => {
                let growth = growth.get_or_insert_with(|| Growth::new(ack.now, window, *most));
                growth.updated = ack.now;
                growth.fraction += growth.by_the_rfc(ack, window, segments(bytes, self.mss)) * segments(self.mss, 1);
                let whole = growth.fraction.floor();
                growth.fraction -= whole;
                self.size += whole_bytes(whole);
            }
        }
    }
}

/// What of an acknowledgement of so many bytes counts in slow start (RFC 5681 equation 2, RFC 3465 §2.2-2.3).
#[inline(always)]
pub(crate) fn counted(counting: ByteCounting, bytes: u64, mss: u64, is_after_timeout: bool) -> u64 {
    match counting {
        ByteCounting::Packets => bytes.min(mss),
        ByteCounting::Segments(_) if is_after_timeout => bytes.min(mss),
        ByteCounting::Segments(most) => bytes.min(mss.saturating_mul(u64::from(most))),
        ByteCounting::Unlimited => bytes,
    }
}

#[expect(clippy::cast_precision_loss, reason = "windows are below 2^53 bytes")]
fn segments(bytes: u64, mss: u64) -> f64 {
    bytes as f64 / mss as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "growth is positive and below the window")]
fn whole_bytes(bytes: f64) -> u64 {
    bytes as u64
}

/// A stage of CUBIC (RFC 9438 §4.2); one without a loss before it begins at its own plateau (§4.10).
#[derive(Debug, Clone, Copy)]
struct Growth {
    start: Ticks,
    /// When the window last grew or might have.
    updated: Ticks,
    /// Where the plateau lies, in segments, and the time to it: K.
    plateau: f64,
    to_plateau: f64,
    /// W_est of the Reno-friendly region.
    reno: f64,
    /// Growth that is not yet a whole byte.
    fraction: f64,
}

/// C, β, and the α that follows from it (RFC 9438 §5, §4.6, §4.3).
const C: f64 = 0.4;
const BETA: f64 = 0.7;
const ALPHA: f64 = 3.0 * 0.3 / 1.7;
/// No window that anybody sets is so large.
const FOR_EVER: u64 = u64::MAX / 8;

impl Growth {
    fn new(start: Ticks, window: f64, most: Option<f64>) -> Self {
        let plateau = most.unwrap_or(window).max(window);
        let to_plateau = libm::cbrt((plateau - window) / C);
        Self { start, updated: start, plateau, to_plateau, reno: window, fraction: 0.0 }
    }

    /// So much time does not count.
    fn pass(&mut self, span: Ticks) {
        self.start += span;
        self.updated += span;
    }

    fn cubic(&self, at: Ticks) -> f64 {
        let t = at.since(self.start).seconds() - self.to_plateau;
        C * t * t * t + self.plateau
    }

    /// Segments by which `acked` segments make a window of `window` grow.
    fn by_the_rfc(&mut self, ack: &Acked, window: f64, acked: f64) -> f64 {
        self.reno += ALPHA * acked / window;
        let grown = if self.cubic(ack.now) < self.reno {
            self.reno - window
        } else {
            (self.cubic(ack.now + ack.smoothed).clamp(window, 1.5 * window) - window) / window * acked
        };
        grown.max(0.0)
    }
}

/// CSS_GROWTH_DIVISOR and CSS_ROUNDS (RFC 9406 §4.3).
const GROWTH_DIVISOR: u64 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;

/// RFC 9406 §4.3: N_RTT_SAMPLE, MIN_RTT_THRESH and MAX_RTT_THRESH.
const MIN_SAMPLES: u32 = 8;
const DELAY_BOUNDS: (Ticks, Ticks) = (Ticks::from_millis(4), Ticks::from_millis(16));

/// HyStart++ (RFC 9406 §4.2): slow start becomes conservative when the round-trip time of a round has grown by an eighth.
#[derive(Debug, Clone, Copy, Default)]
struct HyStartPlusPlus {
    end: Option<u64>,
    last_least: Option<Ticks>,
    least: Option<Ticks>,
    samples: u32,
    /// Its baseline and rounds.
    conservative: Option<(Ticks, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    SlowStart,
    Conservative,
    Over,
}

impl HyStartPlusPlus {
    fn judge(&mut self, ack: &Acked) -> Stage {
        if self.end.is_none_or(|end| ack.up_to > end) {
            self.end = Some(ack.next);
            (self.last_least, self.least, self.samples) = (self.least, None, 0);
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds > CONSERVATIVE_ROUNDS {
                    return Stage::Over;
                }
            }
        }
        if let Some(rtt) = ack.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if let Some(least) = self.least.filter(|_| self.samples >= MIN_SAMPLES) {
            self.compare(least);
        }
        if self.conservative.is_some() { Stage::Conservative } else { Stage::SlowStart }
    }

    fn compare(&mut self, least: Ticks) {
        if let Some((baseline, _)) = self.conservative {
            self.conservative = self.conservative.filter(|_| least >= baseline);
        } else if let Some(last) = self.last_least
            && least >= last + last.per(8).clamp(DELAY_BOUNDS.0, DELAY_BOUNDS.1)
        {
            self.conservative = Some((least, 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ack(ms: u64, rtt_ms: u64, up_to: u64) -> Acked {
        let (now, rtt) = (Ticks::from_millis(ms), Ticks::from_millis(rtt_ms));
        Acked { now, bytes: 2 * MSS, rtt: Some(rtt), smoothed: rtt, up_to, next: up_to + 40 * MSS }
    }

    #[test]
    fn counting_acks_grows_half_as_fast_as_counting_bytes() {
        let grown = |counting| {
            let mut window = Window::new(Congestion::Reno, (MSS, 10 * MSS), counting, false);
            (0..5).for_each(|round| window.on_ack(&ack(round, 100, 2 * MSS * round)));
            window.size / MSS
        };
        assert_eq!([ByteCounting::Unlimited, ByteCounting::Packets].map(grown), [20, 15]);
        assert_eq!([1, 2, 3].map(ByteCounting::Segments).map(grown), [15, 20, 20]);
    }

    #[test]
    fn after_a_timeout_the_limit_is_one_segment() {
        let mut window = Window::new(Congestion::Reno, (MSS, 10 * MSS), ByteCounting::Segments(2), false);
        window.on_timeout(10 * MSS, false);
        window.size = MSS;
        (0..4).for_each(|round| window.on_ack(&ack(round, 100, 2 * MSS * round)));
        assert_eq!((window.size, window.in_slow_start()), (5 * MSS, false));
    }

    #[test]
    fn hystart_leaves_at_a_grown_round_trip_time_after_eight_samples() {
        let mut window = Window::new(Congestion::Cubic, (MSS, 20 * MSS), ByteCounting::Unlimited, true);
        let hear = |window: &mut Window, ack: Acked| {
            window.on_round_trip(&ack);
            window.on_ack(&ack);
            !window.in_slow_start()
        };
        hear(&mut window, ack(0, 100, MSS));
        let left_at = (1..20).find(|ms| hear(&mut window, ack(ms * 3, 113, MSS + ms * 2 * MSS)));
        // The first sample was one of the eight, and the least of the round.
        assert_eq!(left_at, None);
        let next_round = (20..60).find(|ms| hear(&mut window, ack(ms * 3, 113, MSS + ms * 2 * MSS)));
        assert!(next_round.is_some());
    }

    #[test]
    fn conservative_slow_start_adds_a_quarter_of_what_counts() {
        let last_step = |counting| {
            let mut window = Window::new(Congestion::Cubic, (MSS, 100 * MSS), counting, false);
            // A round of ten acknowledgements, and of the next one, whose round trips are longer, eight and one more.
            (0..10)
                .for_each(|place| window.on_ack(&Acked { next: 20 * MSS, ..ack(place, 100, 2 * MSS * (place + 1)) }));
            (11..19).for_each(|place| window.on_ack(&ack(place, 120, 2 * MSS * place)));
            let before = window.size;
            window.on_ack(&ack(19, 120, 38 * MSS));
            (window.size - before, window.in_slow_start())
        };
        assert_eq!(last_step(ByteCounting::Packets), (MSS / 4, true));
        assert_eq!(last_step(ByteCounting::Segments(2)), (MSS / 2, true));
    }

    #[test]
    fn time_in_which_the_window_is_not_used_is_not_part_of_cubics_stage() {
        let after = |pause_ms: u64| {
            let mut window = Window::new(Congestion::Cubic, (MSS, 1000 * MSS), ByteCounting::Unlimited, false);
            window.on_loss(1000 * MSS);
            window.on_ack(&ack(0, 100, 0));
            (1..=pause_ms / 100).for_each(|n| window.on_unused_ack(&ack(100 * n, 100, 0)));
            (1..=20).for_each(|n| window.on_ack(&ack(pause_ms + 100 * n, 100, 0)));
            window.size
        };
        assert_eq!(after(20_000), after(0));
    }

    #[test]
    fn linuxs_cubic_forgets_the_path_at_every_timeout() {
        let grown = |times_out: bool| {
            let mut window = Window::new(Congestion::Cubic, (MSS, 100 * MSS), ByteCounting::Unlimited, true);
            window.on_loss(100 * MSS);
            if times_out {
                window.on_timeout(70 * MSS, true);
            }
            (0..200).for_each(|n| window.on_ack(&ack(50 * n, 100, 0)));
            window.size
        };
        assert_ne!(grown(true), grown(false), "there is no plateau to climb");
    }

    #[test]
    fn quics_windows_are_reduced_and_others_flights() {
        for (congestion, kept) in [(Congestion::Reno, 50), (Congestion::Cubic, 70)] {
            let mut quic = Window::of_quic(congestion, MSS, 100 * MSS);
            let mut tcp = Window::new(congestion, (MSS, 100 * MSS), ByteCounting::Unlimited, false);
            quic.on_loss(20 * MSS);
            tcp.on_loss(20 * MSS);
            assert_eq!((quic.size, tcp.size), (kept * MSS, kept * MSS / 5), "{congestion:?}");
        }
    }

    #[test]
    fn idle_time_leaves_the_threshold_and_begins_another_stage() {
        let after = |idle: u64| {
            let mut window = Window::new(Congestion::Cubic, (MSS, 200 * MSS), ByteCounting::Unlimited, false);
            window.on_loss(200 * MSS);
            (0..2000).for_each(|n| window.on_ack(&ack(10 * n, 100, 0)));
            assert!(window.size > 200 * MSS);
            window.on_idle(10 * MSS, Ticks::from_millis(idle));
            assert_eq!((window.size, window.threshold()), (10 * MSS, Some(140 * MSS)));
            (0..65).for_each(|n| window.on_ack(&ack(20_000 + idle + 10 * n, 100, 0)));
            assert_eq!(window.size, 140 * MSS);
            (65..85).for_each(|n| window.on_ack(&ack(20_000 + idle + 10 * n, 100, 0)));
            window.size
        };
        assert!((140 * MSS..145 * MSS).contains(&after(2000)), "it begins below its plateau: {}", after(2000));
        assert_eq!(after(2000), after(200_000));
        let mut decayed = Window::new(Congestion::Reno, (MSS, 200 * MSS), ByteCounting::Unlimited, true);
        decayed.on_loss(80 * MSS);
        decayed.size = 100 * MSS;
        decayed.decay(10 * MSS);
        assert_eq!((decayed.size, decayed.threshold()), (10 * MSS, Some(75 * MSS)));
    }

    #[test]
    fn a_fixed_window_stays() {
        let mut window = Window::fixed(MSS, 7 * MSS);
        window.on_ack(&ack(1, 100, MSS));
        window.on_idle(MSS, Ticks::from_millis(9000));
        window.decay(MSS);
        window.pause(Ticks::from_millis(9000), Ticks::from_millis(9000));
        assert_eq!(window.size, 7 * MSS);
    }
}
