//! What the profiles do differently: a table of timers and rules, each from its own source.

use super::jiffies;
use super::ticks::Ticks;
use farhop_scenario::{ByteCounting, Congestion, FirstAck, Profile, TcpConfig};

/// When data in order is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acking {
    /// Linux: segment by segment while quick ACKs are left, beyond one full segment, or when the sender pushed; else after 40 ms
    /// or more.
    Adaptive {
        /// Segments acknowledged one by one at the start (TCP_MAX_QUICKACKS).
        quick: u32,
    },
    /// Every second segment, else after this long (RFC 5681 §4.2).
    Timer(Ticks),
    /// Every so many packets, else after this long (zhou-2004 §IV).
    Count { every: u32, delay: Ticks },
    /// Every second segment, or half of the buffer, else at the next tick of a clock of this period (4.4BSD's tcp_output() and `tcp_fasttimo`).
    Clock(Ticks),
}

/// One profile's habits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Habits {
    pub(crate) acking: Acking,
    pub(crate) first_at_once: bool,
    /// What of an acknowledgement counts in slow start, and whether bytes count after it.
    pub(crate) counting: ByteCounting,
    /// A window that is not used does not grow (RFC 7661; RFC 9438 §5.8 of CUBIC, whatever the profile).
    pub(crate) validates: bool,
    /// And it decays (RFC 2861).
    pub(crate) decays: bool,
    /// Idle is who has heard nothing (4.4BSD), not who has sent no data.
    pub(crate) idle_unheard: bool,
    /// After idling the window is halved per timeout, not reset at once.
    pub(crate) gentle_restart: bool,
    /// Losses are told by the order of sending, and tails probed (RFC 8985); needs `sack`.
    pub(crate) rack: bool,
    /// Selective acknowledgements (RFC 2018).
    pub(crate) sack: bool,
    /// Without SACK: duplicate acknowledgements count as selective ones (tcp_add_reno_sack()).
    pub(crate) emulates_sack: bool,
    /// Timestamps measure what was sent again (RFC 7323 §4), and what proves needless is taken back (RFC 3522, 3708, 5682).
    pub(crate) undoes: bool,
    /// New data may go out on the first two duplicate ACKs (RFC 3042).
    pub(crate) limited_transmit: bool,
    /// Reno without NewReno: recovery ends at the first new acknowledgement.
    pub(crate) plain_reno: bool,
    /// The offer starts at 64 kB and follows the data.
    pub(crate) autotunes: bool,
    /// Payload that the sender holds at its largest, sent or not.
    pub(crate) send_buffer: u64,
    /// Of room the receiver tells a quarter of it at a time, and the sender fills it to the last byte (RFC 9000 §4.1).
    pub(crate) grants_quarters: bool,
    /// The congestion window counts segments however small.
    pub(crate) counts_segments: bool,
    /// What may leave at once leaves in batches ([`super::batch`]).
    pub(crate) batches: bool,
    /// How long a host takes to answer an acknowledgement with data: what interrupts, wake-ups and queues take on average.
    pub(crate) reaction: Ticks,
    /// And how long a program takes on average to connect, ask or answer where that is not told ([`super::program`]).
    pub(crate) waking: Ticks,
    /// The timeout is kept in [`jiffies`], and timers run out with them, not to the nanosecond.
    pub(crate) has_jiffies: bool,
    /// Retransmission timeout: least as a whole, least of its variance term, and before the first sample (RFC 6298 §2).
    pub(crate) rto_min: Ticks,
    pub(crate) rto_min_variance: Ticks,
    pub(crate) rto_initial: Ticks,
    /// The longest, after backing off.
    pub(crate) rto_max: Ticks,
    /// SYNs that may be lost before the window is a single segment (RFC 5681 §3.1: none).
    pub(crate) tolerated_syns: u32,
}

/// Linux's `tcp_wmem` of 4 MiB, a fifteenth of which is memory around the payload.
const LINUX_SEND_BUFFER: u64 = 4_194_304 / 15 * 14;
/// A buffer without bound, with room to multiply.
const NO_LIMIT: u64 = u64::MAX / 4;

const MS: fn(u64) -> Ticks = Ticks::from_millis;

impl Habits {
    /// QUIC's, whatever those of TCP: every second packet is acknowledged, or after 25 ms (RFC 9000 §13.2), windows that are not used do
    /// not grow (RFC 9002 §7.8), and none decays; a packet is missed by time too, and its end is asked for (RFC 9002 §6.1.2, §6.2).
    pub(crate) fn of_quic(config: &TcpConfig) -> Self {
        let plain = Self::of(&TcpConfig { profile: Profile::Rfc, first_ack: FirstAck::Delayed, ..config.clone() });
        Self {
            acking: Acking::Timer(MS(25)),
            counting: ByteCounting::Unlimited,
            validates: true,
            grants_quarters: true,
            sack: true,
            rack: true,
            ..plain
        }
    }

    /// RWBP's: nothing but its acknowledgements is like TCP's. How long fewer than `every` wait is not given: TCP's 200 ms.
    pub(crate) fn of_flow(config: &TcpConfig, every: u32) -> Self {
        let plain = Self::of(&TcpConfig { profile: Profile::Rfc, ..config.clone() });
        Self { acking: Acking::Count { every, delay: MS(200) }, first_at_once: false, ..plain }
    }

    /// Those of the ends of farhop's tunnel: every tenth packet is acknowledged, or after what RFC 9000 §18.2 has as usual.
    pub(crate) fn of_tunnel(config: &TcpConfig) -> Self {
        let plain = Self::of(&TcpConfig { profile: Profile::Rfc, ..config.clone() });
        Self { acking: Acking::Count { every: 10, delay: MS(25) }, first_at_once: false, ..plain }
    }

    pub(crate) fn of(config: &TcpConfig) -> Self {
        let first_at_once = config.first_ack == FirstAck::Immediate;
        let plain = Self {
            acking: Acking::Timer(MS(200)),
            first_at_once,
            counting: config.byte_counting,
            validates: config.congestion == Congestion::Cubic,
            decays: false,
            idle_unheard: false,
            gentle_restart: false,
            rack: false,
            sack: config.sack,
            emulates_sack: false,
            undoes: false,
            limited_transmit: true,
            plain_reno: config.congestion == Congestion::Reno,
            autotunes: false,
            send_buffer: NO_LIMIT,
            grants_quarters: false,
            counts_segments: false,
            batches: false,
            reaction: Ticks::ZERO,
            waking: Ticks::ZERO,
            has_jiffies: false,
            rto_min: MS(1000),
            rto_min_variance: Ticks::ZERO,
            rto_initial: MS(1000),
            rto_max: MS(60_000),
            tolerated_syns: 0,
        };
        match config.profile {
            Profile::Rfc => plain,
            Profile::Bsd1997 => Self {
                acking: Acking::Clock(MS(200)),
                idle_unheard: true,
                limited_transmit: false,
                rto_min_variance: MS(500),
                rto_initial: MS(3000),
                rto_max: MS(64_000),
                ..plain
            },
            Profile::Linux => Self {
                acking: Acking::Adaptive { quick: if first_at_once { 16 } else { 0 } },
                validates: true,
                decays: true,
                gentle_restart: true,
                rack: config.sack,
                emulates_sack: !config.sack,
                undoes: true,
                autotunes: true,
                send_buffer: LINUX_SEND_BUFFER,
                counts_segments: true,
                batches: true,
                reaction: Ticks::from_micros(13),
                waking: Ticks::from_micros(50),
                has_jiffies: true,
                rto_min: MS(200),
                rto_min_variance: MS(200),
                rto_max: MS(120_000),
                tolerated_syns: 1,
                ..plain
            },
        }
    }
}

impl Habits {
    /// When a first segment is acknowledged that nothing follows, if not at once; `skipped` is time that was left out before `now`.
    pub(crate) fn acks_alone(&self, now: Ticks, skipped: Ticks) -> Option<Ticks> {
        (!self.first_at_once).then(|| self.acks_late(now, skipped))
    }

    /// How many segments are acknowledged one by one when data begins.
    pub(crate) fn quick(&self) -> u64 {
        match self.acking {
            Acking::Adaptive { quick } => quick.into(),
            Acking::Timer(_) | Acking::Count { .. } | Acking::Clock(_) => 0,
        }
    }

    /// When a segment is acknowledged that nothing follows and that is not acknowledged at once.
    pub(crate) fn acks_late(&self, now: Ticks, skipped: Ticks) -> Ticks {
        match self.acking {
            Acking::Adaptive { .. } => now + MS(40),
            Acking::Timer(delay) | Acking::Count { delay, .. } => now + delay,
            Acking::Clock(period) => next_tick(period, now, skipped),
        }
    }

    /// What timers wait longer for what the pace holds back: whole jiffies where there are any.
    pub(crate) fn held_back(&self, span: Ticks) -> Ticks {
        if self.has_jiffies { jiffies::whole(span) } else { span }
    }

    /// When a timer runs out that is set `now` for `span`.
    pub(crate) fn expiry(&self, now: Ticks, span: Ticks) -> Ticks {
        now + if self.has_jiffies { jiffies::wait(span) } else { span }
    }
}

/// When a clock of this period ticks next that runs on its own.
pub(crate) fn next_tick(period: Ticks, now: Ticks, skipped: Ticks) -> Ticks {
    period.times((now + skipped).whole(period) + 1).since(skipped)
}

/// Linux's variance (tcp_rtt_estimator()): the largest deviation of a window of data, at least 200 ms, falling by a quarter a window.
#[derive(Debug, Clone, Copy)]
struct Variance {
    value: Ticks,
    largest: Ticks,
    until: u64,
}

/// RFC 6298 §5.7: after a handshake that told no time.
const UNSURE_RTO: Ticks = Ticks::from_millis(3000);

/// Smoothed round-trip time and the timeout that follows from it (RFC 6298 §2).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RoundTripTime {
    smoothed: Option<(Ticks, Ticks)>,
    variance: Option<Variance>,
    pub(crate) least: Option<Ticks>,
    /// The timeout that follows from all samples; `None` before the first.
    usual: Option<Ticks>,
    /// Timeouts since the last sample.
    backoff: u32,
    /// The handshake had to be repeated and told no time (RFC 6298 §5.7).
    is_unsure: bool,
}

impl RoundTripTime {
    /// Of data of which `acknowledged` is acknowledged and `next` sent by now.
    pub(crate) fn sample(&mut self, rtt: Ticks, habits: &Habits, acknowledged: u64, next: u64) {
        self.backoff = 0;
        self.note_least(rtt);
        let (smoothed, variance) = if habits.counts_segments {
            self.sample_as_linux(rtt, habits.rto_min_variance, acknowledged, next)
        } else {
            self.sample_as_rfc(rtt, habits.rto_min_variance)
        };
        let timeout = smoothed + variance;
        // Linux keeps it in jiffies, which backing off doubles.
        let timeout = if habits.has_jiffies { jiffies::rounded_up(timeout) } else { timeout };
        self.usual = Some(timeout.max(habits.rto_min));
    }

    /// Gives the smoothed time and what the timeout has beyond it.
    fn sample_as_rfc(&mut self, rtt: Ticks, floor: Ticks) -> (Ticks, Ticks) {
        let (smoothed, variance) = match self.smoothed {
            None => (rtt, rtt.per(2)),
            Some((smoothed, variance)) => {
                let error = smoothed.since(rtt).max(rtt.since(smoothed));
                ((smoothed.times(7) + rtt).per(8), (variance.times(3) + error).per(4))
            }
        };
        self.smoothed = Some((smoothed, variance));
        (smoothed, variance.times(4).max(floor))
    }

    /// The same.
    #[inline(always)]
    fn sample_as_linux(&mut self, rtt: Ticks, floor: Ticks, acknowledged: u64, next: u64) -> (Ticks, Ticks) {
        let (Some((smoothed, deviation)), Some(variance)) = (&mut self.smoothed, &mut self.variance) else {
            let value = rtt.times(2).max(floor);
            self.smoothed = Some((rtt, rtt.per(2)));
            self.variance = Some(Variance { value, largest: value, until: next });
            return (rtt, value);
        };
        let (rise, fall) = (rtt.since(*smoothed), smoothed.since(rtt));
        let error = rise.max(fall);
        *deviation = if error < *deviation {
            deviation.since(deviation.since(error).per(4))
        } else if fall > Ticks::ZERO {
            *deviation + error.since(*deviation).per(32)
        } else {
            *deviation + error.since(*deviation).per(4)
        };
        variance.largest = variance.largest.max(deviation.times(4));
        variance.value = variance.value.max(variance.largest);
        if acknowledged > variance.until {
            let excess = variance.value.since(variance.largest);
            let value = variance.value.since(excess.per(4));
            *variance = Variance { value, largest: floor, until: next };
        }
        *smoothed = (smoothed.times(7) + rtt).per(8);
        (*smoothed, variance.value)
    }

    pub(crate) fn smoothed(&self) -> Option<Ticks> {
        self.smoothed.map(|(smoothed, _)| smoothed)
    }

    pub(crate) fn timeout(&self, habits: &Habits) -> Ticks {
        let first = if self.is_unsure { habits.rto_initial.max(UNSURE_RTO) } else { habits.rto_initial };
        let usual = self.usual.unwrap_or(first.max(habits.rto_min));
        let backed_off = if self.backoff == 0 { usual } else { usual.times(1 << self.backoff.min(16)) };
        backed_off.min(habits.rto_max)
    }

    /// The timer ran out (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// New data was acknowledged that tells no time: the timer stays backed off, but after a handshake begins again (RFC 6298 §5, §5.7).
    pub(crate) fn progress(&mut self) {
        if self.backoff > 0 && self.usual.is_none() && !self.is_unsure {
            (self.backoff, self.is_unsure) = (0, true);
        }
    }

    /// A sample of a packet that nothing else waited for may be less than that of the one that is smoothed.
    pub(crate) fn note_least(&mut self, rtt: Ticks) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }
}
