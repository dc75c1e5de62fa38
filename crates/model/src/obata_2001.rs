//! One TCP transfer over an asymmetric path: H. Obata, K. Ishida, J. Funasaka, K. Amano, "Evaluation of TCP Performance on
//! Asymmetric Networks Using Satellite and Terrestrial Links", IEICE Trans. Commun. E84-B(6), 1480-1487, June 2001.
//!
//! A transfer is a sequence of transmissions n = 0, 1, …, each of one window w(n). A slow start from one segment grows by one
//! segment for each of the ⌈w/2⌉ (delayed) ACKs until the receiver's maximum window; that window is sent until the data
//! ends. The time runs from the first data segment sent, without handshake or request, to the last byte received.
//!
//! Left out by the paper: losses, congestion avoidance, ACKs that wait behind earlier ACKs (−8…+6 % of throughput at uplinks of
//! 4-16 kbit/s), the odd segment of a window whose ACK waits for the next one or the timer (+8…+23 %). As printed, the time is
//! not monotonic in the size: a transfer that ends with a full window ends when the *next* window would be sent, any other when
//! its last byte is received, and that remainder travels without headers. All of this is kept.

use crate::path::times;
use crate::{ModelError, Path, Segments, Symbols, WindowReading};
use core::num::NonZeroU32;
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// d: how long TCP Reno may delay the ACK of a single segment.
pub const FIRST_ACK_DELAY: Duration = Duration::from_millis(200);

/// Table 1 with this uplink delay and window. Its delays are those of Fig 5, but for the third, which is 25 ms where text and figure say 30 ms.
pub fn table_1(up_delay: Duration, max_window: Bytes) -> Symbols {
    Symbols {
        down_rate: Some(Rate::kbps(2048)),
        up_rate: Some(Rate::kbps(64)),
        down_delay: Duration::from_millis(250),
        up_delay,
        mss: Bytes::new(1448),
        headers: Bytes::new(52),
        ack: Bytes::new(52),
        max_window: Some(max_window),
        window: WindowReading::Real,
    }
}

/// α: bits on the link over bits carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redundancy {
    sent: NonZeroU32,
    carried: NonZeroU32,
}

impl Redundancy {
    /// A link that adds nothing.
    pub const NONE: Self = Self { sent: NonZeroU32::MIN, carried: NonZeroU32::MIN };

    /// `sent` bits on the link for every `carried` bits; the paper's VSAT modem sends 16 for 15.
    ///
    /// # Errors
    /// [`ModelError::Redundancy`] if `carried` is zero or more than `sent`.
    pub fn new(sent: u32, carried: u32) -> Result<Self, ModelError> {
        match (NonZeroU32::new(sent), NonZeroU32::new(carried)) {
            (Some(sent), Some(carried)) if carried <= sent => Ok(Self { sent, carried }),
            _ => Err(ModelError::Redundancy { sent, carried }),
        }
    }

    /// α.
    pub fn as_f64(self) -> f64 {
        f64::from(self.sent.get()) / f64::from(self.carried.get())
    }
}

/// Which transmission is the last of slow start (th of Eq 7 and 8), if a w(n) equals the maximum window exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Threshold {
    /// The last with w(n) below the maximum window: "just before w(n) becomes the maximum window size".
    #[default]
    BelowMaximum,
    /// The last with w(n) at most the maximum window. Differs only where the ACKs' time q(n−1) is what limits.
    AtMostMaximum,
}

/// What the paper leaves to its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readings {
    /// d of Eq 4, 200 ms in the text; 0 if the receiver acknowledges the first segment at once.
    pub first_ack_delay: Duration,
    /// α of Eq 5', 1 in Eq 5.
    pub redundancy: Redundancy,
    /// th of Eq 7 and 8.
    pub threshold: Threshold,
}

impl Default for Readings {
    fn default() -> Self {
        Self { first_ack_delay: FIRST_ACK_DELAY, redundancy: Redundancy::NONE, threshold: Threshold::default() }
    }
}

/// Eq 1: w(n+1) = w(n) + ⌈w(n)/2⌉, the window after one ACK for every two segments.
pub fn eq1_next_window(window: Segments) -> Segments {
    Segments::new(window.as_f64() + window.acks())
}

/// Eq 2: t(n) = max(rtt, a(n), q(n−1)), from one transmission to the next. `previous` is w(n−1); the undefined q(−1) counts
/// as no time.
pub fn eq2_sending_period(path: &Path, window: Segments, previous: Option<Segments>, readings: &Readings) -> Duration {
    let rtt = match previous {
        None if window == Segments::ONE => eq4_first_rtt(path, readings.first_ack_delay),
        _ => eq3_rtt(path),
    };
    let acks = previous.map_or(Duration::ZERO, |previous| eq6_ack_time(path, previous));
    rtt.max(eq5_prime_data_time(path, window, readings.redundancy)).max(acks)
}

/// Eq 3: rtt = τ + 2P/Q_sat + d_ack/Q_ter, with τ = τ_sat + τ_ter: two segments and their ACK.
pub fn eq3_rtt(path: &Path) -> Duration {
    rtt(path, 2.0)
}

/// Eq 4: rtt = τ + P/Q_sat + d_ack/Q_ter + d, for the single segment of w(0) = 1 whose ACK is delayed by d.
pub fn eq4_first_rtt(path: &Path, first_ack_delay: Duration) -> Duration {
    rtt(path, 1.0).saturating_add(first_ack_delay)
}

fn rtt(path: &Path, packets: f64) -> Duration {
    let symbols = path.symbols();
    [symbols.up_delay, path.down_time(packets * path.packet()), path.up_time(symbols.ack.as_f64())]
        .into_iter()
        .fold(symbols.down_delay, Duration::saturating_add)
}

/// Eq 5: a(n) = P·w(n)/Q_sat, the time that a window takes to enter the down link.
pub fn eq5_data_time(path: &Path, window: Segments) -> Duration {
    eq5_prime_data_time(path, window, Redundancy::NONE)
}

/// Eq 5': a(n) = α·P·w(n)/Q_sat, on a link that sends α bits for each bit. The paper applies α here only, not to rtt or t_rest.
pub fn eq5_prime_data_time(path: &Path, window: Segments, redundancy: Redundancy) -> Duration {
    path.down_time(redundancy.as_f64() * path.packet() * window.as_f64())
}

/// Eq 6: q(n) = d_ack·⌈w(n)/2⌉/Q_ter, the time that a window's ACKs take to enter the up link.
pub fn eq6_ack_time(path: &Path, window: Segments) -> Duration {
    path.up_time(path.symbols().ack.as_f64() * window.acks())
}

/// Eq 7: F_slow = Σ w(k)·d_seg for k = 0…th, what slow start sends before the window is full.
///
/// # Errors
/// [`ModelError::UnlimitedWindow`]: the window never is.
pub fn eq7_slow_start_size(path: &Path, readings: &Readings) -> Result<Bytes, ModelError> {
    Ok(whole_bytes(full_slow_start(path, readings)?.data))
}

/// Eq 8: t_slow = Σ t(k) for k = 0…th, the time of slow start before the window is full.
///
/// # Errors
/// [`ModelError::UnlimitedWindow`].
pub fn eq8_slow_start_time(path: &Path, readings: &Readings) -> Result<Duration, ModelError> {
    Ok(full_slow_start(path, readings)?.time)
}

/// Eq 9: t_rest = (F_rest mod MWS)/Q_sat + τ_sat for the last, smaller window; no time if there is none, as Eq 10 has it.
/// The remainder is payload alone, without headers.
///
/// # Errors
/// [`ModelError::UnlimitedWindow`].
pub fn eq9_rest_time(path: &Path, rest: Bytes) -> Result<Duration, ModelError> {
    let max_window = path.max_window().ok_or(ModelError::UnlimitedWindow)?;
    Ok(remainder_time(path, rest.as_f64() % max_window))
}

/// Eq 10: T = ⌊F_rest/MWS⌋·t_max + t_slow + t_rest, for a transfer that outlasts slow start. t_max is Eq 2 for full windows.
///
/// # Errors
/// [`ModelError::UnlimitedWindow`]; [`ModelError::EndsInSlowStart`] where Eq 12 holds instead.
pub fn eq10_large_transfer_time(path: &Path, size: Bytes, readings: &Readings) -> Result<Duration, ModelError> {
    let (Some(full), Some(max_window)) = (path.full_window(), path.max_window()) else {
        return Err(ModelError::UnlimitedWindow);
    };
    let slow_start = full_slow_start(path, readings)?;
    let rest = size.as_f64() - slow_start.data;
    if rest < 0.0 {
        return Err(ModelError::EndsInSlowStart { size, slow_start: whole_bytes(slow_start.data) });
    }
    let period = eq2_sending_period(path, full, Some(full), readings);
    let full_windows = times(period, (rest / max_window).floor());
    Ok(slow_start.time.saturating_add(full_windows).saturating_add(remainder_time(path, rest % max_window)))
}

/// Eq 11: t'_rest = (F − F_slow)/Q_sat + τ_sat for what is left after the whole windows of a small transfer; no time if nothing
/// is, as Eq 12 has it.
pub fn eq11_rest_time(path: &Path, rest: Bytes) -> Duration {
    remainder_time(path, rest.as_f64())
}

/// Eq 12: T = Σ t(k) + t'_rest for k = 0…th', th' the last with F_slow ≤ F, for a transfer that ends within slow start. A transfer
/// below one segment has no th'; its sum is empty.
///
/// # Errors
/// [`ModelError::OutlastsSlowStart`] where Eq 10 holds instead.
pub fn eq12_small_transfer_time(path: &Path, size: Bytes, readings: &Readings) -> Result<Duration, ModelError> {
    if let Ok(slow_start) = full_slow_start(path, readings)
        && size.as_f64() > slow_start.data
    {
        return Err(ModelError::OutlastsSlowStart { size, slow_start: whole_bytes(slow_start.data) });
    }
    let sent = slow_start_while(path, readings, |sum, _| sum.data <= size.as_f64());
    Ok(sent.time.saturating_add(remainder_time(path, size.as_f64() - sent.data)))
}

/// Eq 10 or Eq 12, whichever holds for `size`.
///
/// # Errors
/// None for a checked path; kept because both equations have their own range.
pub fn transfer_time(path: &Path, size: Bytes, readings: &Readings) -> Result<Duration, ModelError> {
    eq12_small_transfer_time(path, size, readings).or_else(|_| eq10_large_transfer_time(path, size, readings))
}

/// Throughput F/T in bits of payload per second, §3.2.
///
/// # Errors
/// [`ModelError::ZeroSize`]; [`ModelError::NoRate`] if the transfer takes no time or 584 years.
pub fn throughput(path: &Path, size: Bytes, readings: &Readings) -> Result<Rate, ModelError> {
    if size == Bytes::ZERO {
        return Err(ModelError::ZeroSize);
    }
    let time = transfer_time(path, size, readings)?;
    Rate::of(size, time).ok_or(ModelError::NoRate { size, time })
}

/// Eq 13: W_th = 2 + (Q_sat/P)·(τ_sat + τ_ter + d_ack/Q_ter), the window from which the down link is saturated; `None` if its rate
/// is unlimited, so that no window saturates it.
pub fn eq13_saturation_window(path: &Path) -> Option<Segments> {
    let symbols = path.symbols();
    let round_trip = symbols.down_delay.as_secs_f64()
        + symbols.up_delay.as_secs_f64()
        + path.up_time(symbols.ack.as_f64()).as_secs_f64();
    Some(Segments::new(2.0 + symbols.down_rate?.as_f64() / (8.0 * path.packet()) * round_trip))
}

/// What the window of \[4\] (Hasegawa, Murata, Miyahara 1999) does in one of its regular cycles, §3.1 and Fig 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cycle {
    /// It climbs from half the maximum window to all of it: "the window size with steady changes" of Fig 3.
    #[default]
    Sawtooth,
    /// It stays at the maximum window, as it does where nothing is lost. Not in the text, but it overestimates, as §4.3 says that \[4\] does.
    Full,
}

/// (1/T)·∫ρ(t)dt of \[4\] as §3.1 quotes it, the line that Fig 7, 8, 10 and 11 compare with: the mean over one regular cycle of
/// ρ = window/round-trip time, without slow start, and so the same for every size. \[4\]'s own equations are not quoted: here ρ is
/// w·d_seg/max(rtt, a(w)). `None` if the window is unlimited or takes no time.
pub fn hasegawa_mean_throughput(path: &Path, readings: &Readings, cycle: Cycle) -> Option<Rate> {
    let full = path.full_window()?;
    let (rtt, data_time) =
        (eq3_rtt(path).as_secs_f64(), eq5_prime_data_time(path, full, readings.redundancy).as_secs_f64());
    let full = full.as_f64();
    let rate = |window: f64| window * path.symbols().mss.bits_f64() / rtt.max(data_time * window / full);
    let mean = match cycle {
        Cycle::Full => rate(full),
        Cycle::Sawtooth => {
            // ρ is straight up to the window that saturates the link, and constant from there.
            let half = full / 2.0;
            let saturating = (full * rtt / data_time).clamp(half, full);
            let climbing = f64::midpoint(rate(half), rate(saturating)) * (saturating - half);
            (climbing + rate(full) * (full - saturating)) / (full - half)
        }
    };
    crate::path::rate(mean).ok().filter(|_| mean.is_finite())
}

/// Sums over the transmissions 0…n of a slow start.
#[derive(Debug, Clone, Copy)]
struct SlowStart {
    /// Σ w(k)·d_seg, in bytes.
    data: f64,
    /// Σ t(k).
    time: Duration,
}

/// The sums of Eq 7 and 8 up to th.
fn full_slow_start(path: &Path, readings: &Readings) -> Result<SlowStart, ModelError> {
    let full = path.full_window().ok_or(ModelError::UnlimitedWindow)?;
    Ok(slow_start_while(path, readings, |_, window| match readings.threshold {
        Threshold::BelowMaximum => window < full,
        Threshold::AtMostMaximum => window <= full,
    }))
}

/// The sums over all transmissions up to the last for which `goes_on` holds, given the sums with it and its window. The window
/// grows by half each time, so that this takes some 110 steps for the largest window or size there is.
fn slow_start_while(path: &Path, readings: &Readings, goes_on: impl Fn(&SlowStart, Segments) -> bool) -> SlowStart {
    let (mut window, mut previous) = (Segments::ONE, None);
    let mut sum = SlowStart { data: 0.0, time: Duration::ZERO };
    loop {
        let period = eq2_sending_period(path, window, previous, readings);
        let next = SlowStart { data: sum.data + path.payload(window), time: sum.time.saturating_add(period) };
        if !goes_on(&next, window) {
            return sum;
        }
        (sum, previous, window) = (next, Some(window), eq1_next_window(window));
    }
}

/// A last, smaller window; none takes no time.
fn remainder_time(path: &Path, bytes: f64) -> Duration {
    if bytes > 0.0 { path.down_time(bytes).saturating_add(path.symbols().down_delay) } else { Duration::ZERO }
}

/// A sum of windows as a size.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; saturates at 16 EiB")]
fn whole_bytes(bytes: f64) -> Bytes {
    Bytes::new(bytes as u64)
}

#[cfg(test)]
#[path = "obata_2001_tests.rs"]
mod tests;
