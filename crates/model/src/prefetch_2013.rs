//! Loading a page object by object, and prefetching it: "Web Acceleration by Prefetching in Extremely Large Latency Network", 2013.
//!
//! **All equations are reconstructions.** The paper's equation images and its Table 1 are lost; what is here follows its sentences and
//! reproduces those of its numbers that can be reproduced. Eq 1-2: TCP sends 1, 2, 4, … MSS per round trip up to the receiver's
//! window. Eq 3-4: throughput of a window and of one content. Eq 5-6: page over m connections. Eq 7-9: load time with normal
//! access, conventional prefetching, and the proposed pair of a prefetching server before the WAN and an information
//! storage server behind it, with paced UDP between.
//!
//! Assumptions: no loss, no handshake, no header; a client acknowledges every segment, so that windows double; each content starts from
//! one segment again; a request is part of the first round trip; a round trip takes RTT whatever it carries.
//!
//! Errors and ambiguities. 10 kB need k = 3 round trips (1 + 2 + 4 MSS of 1460 B), which gives 53.3 kbit/s where the text has "less than
//! 50" (k = 4). "37.6 s, 212 kbit/s" for a window of 4 kB is k = 3 too, though Eq 1-2 with that window give k = 4 (50.0 s, 160 kbit/s):
//! [`Rounds`] chooses. 28 contents take 42 s by Eq 7; the text's 89.2 s cannot be reproduced (sizes are missing), nor that "21 times"
//! compares two theories (measured: 47.4 s and 4.3 s).

use crate::ModelError;
use crate::path::{rate, seconds, times, transmission_time};
use core::num::NonZeroU32;
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// MSS of the text, Ethernet's without options.
pub const MSS: Bytes = Bytes::new(1460);
/// Round trips that each content takes in §3.2: "it takes 3 × RTT to load one content".
pub const ROUNDS: NonZeroU32 = NonZeroU32::new(3).expect("not zero");

/// The windows of Eq 1 and 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    mss: Bytes,
    threshold: Option<Bytes>,
    receive: Option<Bytes>,
}

impl Window {
    /// Segments of `mss`, slow start up to `threshold` (ssthresh), and at most `receive` (Rwin) at once; `None` is unlimited.
    ///
    /// # Errors
    /// [`ModelError::ZeroMss`]; [`ModelError::WindowBelowSegment`] if `receive` is smaller than a segment.
    pub fn new(mss: Bytes, threshold: Option<Bytes>, receive: Option<Bytes>) -> Result<Self, ModelError> {
        match receive {
            _ if mss == Bytes::ZERO => Err(ModelError::ZeroMss),
            Some(max_window) if max_window < mss => Err(ModelError::WindowBelowSegment { max_window, mss }),
            _ => Ok(Self { mss, threshold, receive }),
        }
    }

    /// Round trips k until Σ Ds covers `size` (Eq 1 and 2); none for nothing. Growing windows are summed in closed form.
    pub fn rounds(&self, size: Bytes) -> u64 {
        let (mss, most) = (self.mss.as_f64(), self.receive.map_or(f64::INFINITY, Bytes::as_f64));
        let threshold = self.threshold.map_or(f64::INFINITY, Bytes::as_f64);
        let (mut left, mut rounds, mut window) = (size.as_f64(), 0.0, mss);
        // Slow start doubles: at most 64 times.
        while left > 0.0 && window < most && window <= threshold {
            (left, rounds) = (left - window, rounds + 1.0);
            window = if 2.0 * window <= threshold { 2.0 * window } else { window + mss };
        }
        let linear = if window < most { linear_rounds(left, window, mss, most) } else { (0.0, 0.0) };
        (left, rounds) = (left - linear.1, rounds + linear.0);
        whole(rounds + (left.max(0.0) / most).ceil())
    }
}

/// Rounds of congestion avoidance, windows w, w + MSS, … below `most`, that are needed of `left` bytes, and what they carry.
fn linear_rounds(left: f64, window: f64, mss: f64, most: f64) -> (f64, f64) {
    if left <= 0.0 {
        return (0.0, 0.0);
    }
    let carried = |n: f64| n * window + mss * n * (n - 1.0) / 2.0;
    // Smallest n with n·w + MSS·n(n−1)/2 ≥ left.
    let b = window / mss - 0.5;
    let needed = ((b * b + 2.0 * left / mss).sqrt() - b).ceil().max(1.0);
    let n = needed.min(((most - window) / mss).ceil());
    (n, carried(n))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number; saturates at 2^64")]
fn whole(count: f64) -> u64 {
    count as u64
}

/// Eq 1: Ds(k) = min(Rwin, cwnd(k)), what is sent in the k-th round trip, from 1.
pub fn eq1_sent(window: &Window, round: NonZeroU32) -> Bytes {
    let congestion = eq2_congestion_window(window, round);
    window.receive.map_or(congestion, |receive| receive.min(congestion))
}

/// Eq 2: cwnd(1) = MSS; cwnd(k) = 2·cwnd(k−1) as long as that is at most ssthresh, cwnd(k−1) + MSS from then on. Saturates at 16 EiB.
pub fn eq2_congestion_window(window: &Window, round: NonZeroU32) -> Bytes {
    let (mss, threshold) = (window.mss.get(), window.threshold.map_or(u64::MAX, Bytes::get));
    let mut congestion = mss;
    for passed in 1..round.get() {
        match congestion.checked_mul(2).filter(|doubled| *doubled <= threshold) {
            Some(doubled) => congestion = doubled,
            None => {
                let left = u64::from(round.get() - passed);
                return Bytes::new(congestion.saturating_add(left.saturating_mul(mss)));
            }
        }
    }
    Bytes::new(congestion)
}

/// Eq 3: MaxS = Rwin/RTT, the most that TCP carries; 64,000 B at 500 ms are 1024 kbit/s (the text rounds 65,535 B to "64 kBytes").
///
/// # Errors
/// [`ModelError::NoRoundTrip`], [`ModelError::TooSlow`].
pub fn eq3_max_throughput(receive_window: Bytes, rtt: Duration) -> Result<Rate, ModelError> {
    if rtt.is_zero() {
        return Err(ModelError::NoRoundTrip);
    }
    rate(receive_window.bits_f64() / rtt.as_secs_f64())
}

/// Eq 4: S = Cs/(RTT·k), throughput of one content of `size` in `rounds` round trips.
///
/// # Errors
/// [`ModelError::NoRoundTrip`] also for no rounds, [`ModelError::TooSlow`].
pub fn eq4_throughput(size: Bytes, rtt: Duration, rounds: u64) -> Result<Rate, ModelError> {
    let time = wait(rtt, rounds);
    if time.is_zero() {
        return Err(ModelError::NoRoundTrip);
    }
    rate(size.bits_f64() / time.as_secs_f64())
}

/// How many round trips k a content takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// The same for all, [`ROUNDS`] in the text's numbers, whatever the window.
    Fixed(NonZeroU32),
    /// As many as Eq 1 and 2 give for its size.
    Counted(Window),
}

impl Default for Rounds {
    fn default() -> Self {
        Self::Fixed(ROUNDS)
    }
}

impl Rounds {
    /// k for a content of `size`.
    pub fn of(&self, size: Bytes) -> u64 {
        match self {
            Self::Fixed(rounds) => u64::from(rounds.get()),
            Self::Counted(window) => window.rounds(size),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "round trips beyond 2^53 take longer than any clock counts")]
fn wait(rtt: Duration, rounds: u64) -> Duration {
    times(rtt, rounds as f64)
}

/// The way to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// RTT.
    pub rtt: Duration,
    /// Rate of the link, by which Eq 5's 37.6 s have 0.08 s more than round trips alone; `None` leaves it out, as Eq 4 and 7-9 do.
    pub rate: Option<Rate>,
    /// k.
    pub rounds: Rounds,
}

/// Eq 5: Tl = Σ wc(n)/sm with wc(n) = k·RTT, the time to load contents of `sizes` over `connections` (sm) at once, and 8·ΣCs over the
/// link's rate, if given. Contents are spread evenly over connections, fractions included.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq5_load_time(
    access: &Access,
    sizes: impl IntoIterator<Item = Bytes>,
    connections: NonZeroU32,
) -> Result<Duration, ModelError> {
    let page = total(sizes, |size| wait(access.rtt, access.rounds.of(size)))?;
    let waits = page.time.as_secs_f64() / f64::from(connections.get());
    Ok(seconds(waits).saturating_add(transmission_time(page.bytes, access.rate)))
}

/// Eq 6: Sh = ΣCs/Tl, throughput of the page.
///
/// # Errors
/// [`ModelError::NoDataSets`]; [`ModelError::NoRoundTrip`] if loading takes no time; [`ModelError::TooSlow`].
pub fn eq6_http_throughput(
    access: &Access,
    sizes: impl IntoIterator<Item = Bytes> + Clone,
    connections: NonZeroU32,
) -> Result<Rate, ModelError> {
    let time = eq5_load_time(access, sizes.clone(), connections)?;
    if time.is_zero() {
        return Err(ModelError::NoRoundTrip);
    }
    rate(total(sizes, |_| Duration::ZERO)?.bytes * 8.0 / time.as_secs_f64())
}

/// Eq 7, normal access: Tl = 3·RTT·N, one content after the other.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq7_normal(
    rtt: Duration,
    sizes: impl IntoIterator<Item = Bytes>,
    rounds: &Rounds,
) -> Result<Duration, ModelError> {
    Ok(total(sizes, |size| wait(rtt, rounds.of(size)))?.time)
}

/// Eq 8, conventional prefetching: Tl = 3·max(RTTsp, RTTpc)·N, with RTTsp between server and prefetching server and RTTpc between that and
/// the client. Both halves of the way are used at once, so that a server halfway doubles the speed.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq8_conventional(
    server_rtt: Duration,
    client_rtt: Duration,
    sizes: impl IntoIterator<Item = Bytes>,
    rounds: &Rounds,
) -> Result<Duration, ModelError> {
    eq7_normal(server_rtt.max(client_rtt), sizes, rounds)
}

/// Su as the text has it: packets of a fixed size, one every interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paced {
    /// L: payload of a packet; zero counts as one byte.
    pub packet: Bytes,
    /// From one packet to the next.
    pub interval: Duration,
}

impl Paced {
    /// §4: 1414 B every 1 ms, 11.3 Mbit/s.
    pub const PAPER: Self = Self { packet: Bytes::new(1414), interval: Duration::from_millis(1) };

    /// Sw/Su: the time that the packets of `bytes` take.
    fn time(&self, bytes: f64) -> Duration {
        times(self.interval, (bytes / self.packet.as_f64().max(1.0)).ceil())
    }
}

/// How the three stages of Eq 9 follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stages {
    /// All at once: the slowest counts, as in Eq 8. Reproduces "1308 packets × 1 ms".
    #[default]
    Overlapped,
    /// One after the other.
    InTurn,
}

/// Eq 9's way: server – prefetching server ~WAN~ information storage server – client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposed {
    /// RTTsp: server and prefetching server.
    pub server_rtt: Duration,
    /// One-way propagation delay of the WAN towards the client.
    pub wan_delay: Duration,
    /// RTT of information storage server and client.
    pub client_rtt: Duration,
    /// RTT of client and server, which the HTML is fetched over.
    pub rtt: Duration,
    /// UDP over the WAN.
    pub udp: Paced,
    /// k, for the HTML over the whole way and for each content on both sides of the WAN.
    pub rounds: Rounds,
    /// How the stages follow each other.
    pub stages: Stages,
}

impl Proposed {
    /// The test bed of §4, and the way of Fig 9: everything is beside one end or the other, all of the delay is in the WAN.
    pub fn test_bed(rtt: Duration, rounds: Rounds) -> Self {
        Self {
            server_rtt: Duration::ZERO,
            wan_delay: rtt / 2,
            client_rtt: Duration::ZERO,
            rtt,
            udp: Paced::PAPER,
            rounds,
            stages: Stages::default(),
        }
    }
}

/// Eq 9, proposed: the HTML (the first of `sizes`) over the whole way, then all contents through three stages: 3·RTTsp each to the
/// prefetching server, Sw/Su over UDP (the HTML is counted with them), 3·RTT each to the client; and one way over the WAN.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq9_proposed(
    proposed: &Proposed,
    sizes: impl IntoIterator<Item = Bytes> + Clone,
) -> Result<Duration, ModelError> {
    let rounds = &proposed.rounds;
    let html = sizes.clone().into_iter().next().ok_or(ModelError::NoDataSets)?;
    let fetched = eq7_normal(proposed.server_rtt, sizes.clone(), rounds)?;
    let served = eq7_normal(proposed.client_rtt, sizes.clone(), rounds)?;
    let forwarded = proposed.udp.time(total(sizes, |_| Duration::ZERO)?.bytes);
    let stages = [fetched, forwarded, served].into_iter();
    let contents = match proposed.stages {
        Stages::Overlapped => stages.max().unwrap_or(forwarded),
        Stages::InTurn => stages.fold(Duration::ZERO, Duration::saturating_add),
    };
    Ok(wait(proposed.rtt, rounds.of(html)).saturating_add(proposed.wan_delay).saturating_add(contents))
}

/// All contents together.
struct Total {
    bytes: f64,
    time: Duration,
}

fn total(sizes: impl IntoIterator<Item = Bytes>, time: impl Fn(Bytes) -> Duration) -> Result<Total, ModelError> {
    let one = |size: Bytes| Total { bytes: size.as_f64(), time: time(size) };
    let sum = |a: Total, b: Total| Total { bytes: a.bytes + b.bytes, time: a.time.saturating_add(b.time) };
    sizes.into_iter().map(one).reduce(sum).ok_or(ModelError::NoDataSets)
}

#[cfg(test)]
#[path = "prefetch_2013_tests.rs"]
mod tests;
