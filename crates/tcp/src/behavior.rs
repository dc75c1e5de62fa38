//! What distinguishes the profiles beyond the scenario's settings: one table of timers, limits and habits.

use crate::{FirstAck, Profile, TcpConfig, Timestamps, jiffies};
use farhop_units::Instant;
use std::time::Duration;

/// When a receiver acknowledges data that arrives in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AckPolicy {
    /// Linux: at once in quick-ACK mode or beyond one full segment, when the application reads if the sender pushed; else after an adaptive 40 ms-196 ms.
    Linux {
        /// Segments acknowledged one by one when data begins or resumes.
        quick: u32,
    },
    /// Every second segment, else this long after the first (RFC 5681 §4.2 asks for less than 500 ms).
    EverySecond {
        /// The timer.
        delay: Duration,
    },
    /// Every second segment, or when what has arrived is half of the buffer (4.4BSD's tcp_output(), after RFC 1122 §4.2.3.3), else at the next
    /// tick of a clock that runs on its own (`tcp_fasttimo`).
    Ticks {
        /// Period of the clock.
        period: Duration,
    },
}

/// Floors and start of the retransmission timer (RFC 6298).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RtoBounds {
    /// Before the first sample.
    pub(crate) initial: Duration,
    /// Least RTO as a whole.
    pub(crate) min: Duration,
    /// Least share of the variance term.
    pub(crate) min_variance: Duration,
    /// Most, also after backing off.
    pub(crate) max: Duration,
    /// The variance term follows the largest deviation of each window of data, and the sum is kept in jiffies, as in Linux.
    pub(crate) per_window: bool,
}

/// How exactly timers run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timers {
    /// To the nanosecond.
    Exact,
    /// As Linux's wheel does ([`crate::jiffies`]).
    Jiffies {
        /// How long the host has been up when time begins.
        uptime: Duration,
    },
}

impl Timers {
    /// The clock is that of a host which has been up for `uptime` when time begins.
    pub(crate) fn run_since(&mut self, uptime: Duration) {
        if let Self::Jiffies { uptime: known } = self {
            *known = uptime;
        }
    }

    /// What the host's clock of timestamps says at `now`: its milliseconds begin with its uptime, not with time.
    pub(crate) fn timestamp(self, now: Instant) -> u32 {
        match self {
            Self::Exact => Timestamps::at(now),
            Self::Jiffies { uptime } => Timestamps::at(now + uptime),
        }
    }

    /// When a timer runs out that is set at `now` for `span` from when a segment leaves, which its pace holds back for so long.
    pub(crate) fn expiry_behind(self, now: Instant, held_back: Duration, span: Duration) -> Instant {
        let held_back = match self {
            Self::Exact => held_back,
            Self::Jiffies { .. } => jiffies::whole(held_back),
        };
        self.expiry(now, span + held_back)
    }

    /// How long ago `earlier` was, as the clock of the host's timers has it.
    pub(crate) fn since(self, earlier: Instant, now: Instant) -> Duration {
        match self {
            Self::Exact => now.since(earlier),
            Self::Jiffies { uptime } => jiffies::between(earlier + uptime, now + uptime),
        }
    }

    /// When a timer runs out that is set at `now` for `span`.
    pub(crate) fn expiry(self, now: Instant, span: Duration) -> Instant {
        match self {
            Self::Exact => now + span,
            Self::Jiffies { uptime } => now + jiffies::expiry(now + uptime, span).since(now + uptime),
        }
    }
}

/// One profile's habits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Behavior {
    pub(crate) timers: Timers,
    pub(crate) rto: RtoBounds,
    pub(crate) ack: AckPolicy,
    /// Is the very first data segment acknowledged at once?
    pub(crate) first_ack_immediate: bool,
    /// The window grows only while it limits the sender, and shrinks when it has not for an RTO (RFC 2861, RFC 7661).
    pub(crate) validates_window: bool,
    /// A connection is idle when nothing has arrived (4.4BSD's `t_idle`), so that whoever answers a request is not; else when no data was sent
    /// (RFC 5681 §4.1).
    pub(crate) idle_unheard: bool,
    /// After an idle time the window is halved per RTO instead of falling to the initial one at once.
    pub(crate) gentle_restart: bool,
    /// Selective acknowledgements (RFC 2018).
    pub(crate) sack: bool,
    /// Blocks of what arrived out of order that a receiver remembers to name.
    pub(crate) remembered_blocks: usize,
    /// Without SACK: duplicate acknowledgements count as selective ones ([`crate::emulated`]); else as RFC 5681 says ([`crate::classic`]).
    pub(crate) emulates_sack: bool,
    /// With SACK: losses are told by the order of sending, and tails probed (RFC 8985); else by three arrivals (RFC 6675).
    pub(crate) rack: bool,
    /// What a needless repetition did is undone (RFC 5682, RFC 3522, RFC 3708); timestamps measure what was repeated (RFC 7323 §4).
    pub(crate) undo: bool,
    /// The congestion window counts segments however small, and not bytes; it is the whole window that is reduced after a loss,
    /// not what was in use of it, and once per window of data.
    pub(crate) counts_segments: bool,
    /// New data may be sent on the first two duplicate ACKs (RFC 3042).
    pub(crate) limited_transmit: bool,
    /// What may be sent at once goes down the host in batches of a millisecond's worth (TSO, GSO), and the last segment of a batch is
    /// pushed.
    pub(crate) batches: bool,
    /// A sender takes up to this long to answer an acknowledgement with data (zero: none does): what interrupts, wake-ups and queues of a host take that was
    /// not [measured](crate::kernel).
    pub(crate) reaction: Duration,
    /// And a program that sleeps up to this long to connect, ask or answer: its wake-up and system calls, where they were not
    /// [measured](crate::program), with boxes between.
    pub(crate) waking: Duration,
    /// Bytes that a SYN's options take beyond those of every segment: largest segment, SACK permitted and window scale fill 8 (RFC 9293 §3.2,
    /// RFC 2018 §2, RFC 7323 §2). Other simulators' SYNs are as small as any segment, with which `rfc` is compared; `bsd-1997`
    /// leaves out the 4 of the largest segment, which its SYNs had in place of timestamps as often as beside them (RFC 1323 was new).
    pub(crate) syn_options: u8,
    /// The receive window starts at 64 kB and grows with the data.
    pub(crate) autotunes_window: bool,
    /// The kernel takes of what the application writes what the send buffer has memory for.
    pub(crate) limits_send_buffer: bool,
    /// Timeouts of a first SYN that do not double the next (`tcp_syn_linear_timeouts`).
    pub(crate) linear_syn_timeouts: u32,
    /// Handshake retransmissions that leave the initial window alone (RFC 5681 §3.1 allows none).
    pub(crate) tolerated_handshake_losses: u32,
    /// A SYN that is repeated does not ask for ECN any more (`tcp_ecn_fallback`); RFC 3168 §6.1.1.1 allows that.
    pub(crate) ecn_falls_back: bool,
}

/// A profile without and with SACK, and each with its first acknowledgement delayed and at once.
type Variants = [[Behavior; 2]; 2];

static LINUX: Variants = Behavior::variants(Profile::Linux);
static BSD_1997: Variants = Behavior::variants(Profile::Bsd1997);
static RFC: Variants = Behavior::variants(Profile::Rfc);

impl Behavior {
    /// There is one of each kind, which all connections share.
    pub(crate) fn of(config: &TcpConfig) -> &'static Self {
        let variants = match config.profile {
            Profile::Linux => &LINUX,
            Profile::Bsd1997 => &BSD_1997,
            Profile::Rfc => &RFC,
        };
        &variants[usize::from(config.sack)][usize::from(config.first_ack == FirstAck::Immediate)]
    }

    const fn variants(profile: Profile) -> Variants {
        let [delayed, at_once] = match profile {
            Profile::Linux => [Self::linux(false), Self::linux(true)],
            Profile::Bsd1997 => [Self::bsd_1997(false), Self::bsd_1997(true)],
            Profile::Rfc => [Self::rfc(false), Self::rfc(true)],
        };
        [[delayed.without_sack(), at_once.without_sack()], [delayed.with_sack(), at_once.with_sack()]]
    }

    const fn without_sack(self) -> Self {
        Self { sack: false, rack: false, ..self }
    }

    const fn with_sack(self) -> Self {
        Self { sack: true, emulates_sack: false, ..self }
    }

    /// Linux 6.x: include/net/tcp.h (TCP_RTO_MIN 200 ms, TCP_TIMEOUT_INIT 1 s, TCP_RTO_MAX 120 s, TCP_MAX_QUICKACKS 16), include/linux/tcp.h
    /// (TCP_NUM_SACKS 4).
    const fn linux(immediate: bool) -> Self {
        Self {
            timers: Timers::Jiffies { uptime: Duration::ZERO },
            rto: RtoBounds {
                initial: Duration::from_millis(1000),
                min: Duration::from_millis(200),
                min_variance: Duration::from_millis(200),
                max: Duration::from_millis(120_000),
                per_window: true,
            },
            ack: AckPolicy::Linux { quick: if immediate { 16 } else { 0 } },
            first_ack_immediate: immediate,
            validates_window: true,
            idle_unheard: false,
            gentle_restart: true,
            sack: true,
            remembered_blocks: 4,
            emulates_sack: true,
            rack: true,
            undo: true,
            counts_segments: true,
            limited_transmit: true,
            batches: true,
            reaction: Duration::from_micros(30),
            waking: Duration::from_micros(120),
            syn_options: 8,
            autotunes_window: true,
            limits_send_buffer: true,
            linear_syn_timeouts: 4,
            tolerated_handshake_losses: 1,
            ecn_falls_back: true,
        }
    }

    /// 4.4BSD: RFC 1122 §4.2.3.1 (3 s before the first sample); a timeout is at least two ticks of 500 ms, its variance term one, and
    /// acknowledgements wait for a tick of 200 ms. Left out: that timeouts, too, come with a tick, so up to 500 ms sooner than here.
    const fn bsd_1997(immediate: bool) -> Self {
        Self {
            timers: Timers::Exact,
            rto: RtoBounds {
                initial: Duration::from_millis(3000),
                min: Duration::from_millis(1000),
                min_variance: Duration::from_millis(500),
                max: Duration::from_millis(64_000),
                per_window: false,
            },
            ack: AckPolicy::Ticks { period: Duration::from_millis(200) },
            first_ack_immediate: immediate,
            validates_window: false,
            idle_unheard: true,
            gentle_restart: false,
            sack: false,
            remembered_blocks: usize::MAX,
            emulates_sack: false,
            rack: false,
            undo: false,
            counts_segments: false,
            limited_transmit: false,
            batches: false,
            reaction: Duration::ZERO,
            waking: Duration::ZERO,
            syn_options: 0,
            autotunes_window: false,
            limits_send_buffer: false,
            linear_syn_timeouts: 0,
            tolerated_handshake_losses: 0,
            ecn_falls_back: false,
        }
    }

    /// RFC 6298 (1 s at the start and at least), RFC 5681, RFC 3042; 200 ms is the usual delayed-ACK timer.
    const fn rfc(immediate: bool) -> Self {
        Self {
            timers: Timers::Exact,
            rto: RtoBounds {
                initial: Duration::from_millis(1000),
                min: Duration::from_millis(1000),
                min_variance: Duration::from_millis(0),
                max: Duration::from_millis(60_000),
                per_window: false,
            },
            ack: AckPolicy::EverySecond { delay: Duration::from_millis(200) },
            first_ack_immediate: immediate,
            validates_window: false,
            idle_unheard: false,
            gentle_restart: false,
            sack: true,
            remembered_blocks: usize::MAX,
            emulates_sack: false,
            rack: false,
            undo: false,
            counts_segments: false,
            limited_transmit: true,
            batches: false,
            reaction: Duration::ZERO,
            waking: Duration::ZERO,
            syn_options: 0,
            autotunes_window: false,
            limits_send_buffer: false,
            linear_syn_timeouts: 0,
            tolerated_handshake_losses: 0,
            ecn_falls_back: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_of_timestamps_begin_with_the_hosts_uptime() {
        let readings = |uptime| {
            let timers = Timers::Jiffies { uptime: Duration::from_micros(uptime) };
            [0, 399, 400, 1400].map(|us| timers.timestamp(Instant::START + Duration::from_micros(us)))
        };
        assert_eq!((readings(0), readings(7600)), ([0, 0, 0, 1], [7, 7, 8, 9]));
        assert_eq!(Timers::Exact.timestamp(Instant::START + Duration::from_micros(1400)), 1);
    }
}
