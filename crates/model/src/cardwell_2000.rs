//! Latency of a whole TCP transfer under loss: N. Cardwell, S. Savage, T. Anderson, "Modeling TCP Latency", IEEE INFOCOM 2000.
//!
//! Handshake, slow start until the first loss, that loss's recovery, and the rest at the rate of Padhye's full model
//! ([`crate::padhye_1998`]); b segments for each ACK (delayed ACKs), and the delay of the first of them. Equations have the paper's
//! numbers, as far as other implementations of it agree on them.
//!
//! Left out: the link's rate beyond what is part of the RTT, so that a thin link is passed faster than it can be; queues; more
//! than one loss in slow start; SACK. Segments are whole for the size, real numbers otherwise. Without loss Eq 5 is d.

use crate::padhye_1998::{self, Flow, any_lost};
use crate::path::{seconds, times};
use crate::{ModelError, Segments};
use farhop_units::{Bytes, Probability, Rate};
use std::time::Duration;

/// T_s: the SYN's first timeout, 3 s when the paper was written (RFC 1122); RFC 6298 has 1 s.
pub const SYN_TIMEOUT: Duration = Duration::from_secs(3);
/// E\[T_delack\] of BSD: a timer that ticks every 200 ms, met at any time. The paper has 150 ms for Windows.
pub const DELAYED_ACK: Duration = Duration::from_millis(100);

/// Eq 4: E\[L_h\] = RTT + T_s·((1−p_r)/(1−2p_r) + (1−p_f)/(1−2p_f) − 2), the handshake until the client may send, with losses p_f
/// of the SYN's direction and p_r of the SYN-ACK's.
///
/// # Errors
/// [`ModelError::LossTooHigh`] from 50 % on, where doubling timeouts have no mean.
pub fn eq4_handshake_time(
    rtt: Duration,
    syn_timeout: Duration,
    reverse_loss: Probability,
    forward_loss: Probability,
) -> Result<Duration, ModelError> {
    let below = Probability::new(0.5).unwrap_or(Probability::ONE);
    let mut timeouts = -2.0;
    for loss in [reverse_loss, forward_loss] {
        if loss >= below {
            return Err(ModelError::LossTooHigh { loss, below });
        }
        timeouts += (1.0 - loss.get()) / (1.0 - 2.0 * loss.get());
    }
    Ok(rtt.saturating_add(times(syn_timeout, timeouts.max(0.0))))
}

/// Eq 5: E\[d_ss\] = (1−(1−p)^d)(1−p)/p + 1, the segments of `size` sent in slow start up to the first loss, that one included; all d
/// of them without loss, and never more.
pub fn eq5_slow_start_segments(segments: Segments, loss: Probability) -> Segments {
    let (d, p) = (segments.as_f64(), loss.get());
    if p < f64::MIN_POSITIVE {
        return segments;
    }
    Segments::new((any_lost(p, d) * (1.0 - p) / p + 1.0).min(d))
}

/// γ = 1 + 1/b of Eq 7: by what the window grows per round.
pub fn growth(flow: &Flow) -> f64 {
    1.0 + 1.0 / f64::from(flow.per_ack.get())
}

/// Eq 11: E\[W_ss\] = E\[d_ss\]·(γ−1)/γ + w₁/γ, the window when slow start ends, if the receiver sets no limit.
pub fn eq11_window_after_slow_start(flow: &Flow, sent: Segments, initial: Segments) -> Segments {
    let gamma = growth(flow);
    Segments::new(sent.as_f64() * (gamma - 1.0) / gamma + initial.as_f64() / gamma)
}

/// Eq 15: E\[T_ss\], the time to send E\[d_ss\] segments: RTT·log_γ(E\[d_ss\](γ−1)/w₁ + 1), or, if the window is full before,
/// RTT·(log_γ(W_max/w₁) + 1 + (E\[d_ss\] − (γ·W_max − w₁)/(γ−1))/W_max).
pub fn eq15_slow_start_time(flow: &Flow, sent: Segments, initial: Segments) -> Duration {
    let (gamma, d) = (growth(flow), sent.as_f64());
    let log = |x: f64| libm::log(x) / libm::log1p(gamma - 1.0);
    let most = flow.max_window.map_or(f64::INFINITY, Segments::as_f64).max(1.0);
    let first = initial.as_f64().clamp(1.0, most);
    let rounds = if eq11_window_after_slow_start(flow, sent, Segments::new(first)).as_f64() > most {
        log(most / first) + 1.0 + (d - (gamma * most - first) / (gamma - 1.0)) / most
    } else {
        log(d * (gamma - 1.0) / first + 1.0)
    };
    times(flow.rtt, rounds)
}

/// Eq 16: l_ss = 1 − (1−p)^d, the probability that slow start ends with a loss.
pub fn eq16_loss_in_slow_start(segments: Segments, loss: Probability) -> Probability {
    let (d, p) = (segments.as_f64(), loss.get());
    // All segments lost where p is 1; none of them if there are none.
    Probability::new(if d > 0.0 { any_lost(p, d) } else { 0.0 }).unwrap_or(Probability::ONE)
}

/// Eq 17: Q(p, w), the share of loss indications that are timeouts; [`padhye_1998::timeout_share`].
pub fn eq17_timeout_share(loss: Probability, window: Segments) -> f64 {
    padhye_1998::timeout_share(loss, window)
}

/// Eq 18: E\[Z^TO\] = G(p)·T₀/(1−p), how long a sequence of timeouts lasts.
///
/// # Errors
/// [`ModelError::LossTooHigh`] if all is lost.
pub fn eq18_timeouts_time(timeout: Duration, loss: Probability) -> Result<Duration, ModelError> {
    if loss == Probability::ONE {
        return Err(ModelError::LossTooHigh { loss, below: Probability::ONE });
    }
    Ok(times(timeout, eq19_backoff(loss) / (1.0 - loss.get())))
}

/// Eq 19: G(p) = 1 + p + 2p² + 4p³ + 8p⁴ + 16p⁵ + 32p⁶; [`padhye_1998::backoff`].
pub fn eq19_backoff(loss: Probability) -> f64 {
    padhye_1998::backoff(loss)
}

/// Eq 20: E\[T_loss\] = l_ss·(Q·E\[Z^TO\] + (1−Q)·RTT), the first loss's recovery: timeouts, or a round trip of fast recovery.
///
/// # Errors
/// As [`eq18_timeouts_time`].
pub fn eq20_first_loss_time(flow: &Flow, segments: Segments, window: Segments) -> Result<Duration, ModelError> {
    let timeouts = eq17_timeout_share(flow.loss, window);
    let waiting = timeouts * eq18_timeouts_time(flow.timeout, flow.loss)?.as_secs_f64();
    let recovery = waiting + (1.0 - timeouts) * flow.rtt.as_secs_f64();
    Ok(seconds(eq16_loss_in_slow_start(segments, flow.loss).get() * recovery))
}

/// Eq 21: E\[d_ca\] = d − E\[d_ss\], what is left for congestion avoidance.
pub fn eq21_rest(segments: Segments, slow_start: Segments) -> Segments {
    Segments::new(segments.as_f64() - slow_start.as_f64())
}

/// Eq 22: R(p, RTT, T₀, W_max), the rate of the rest, in bits of payload per second; [`padhye_1998::throughput`].
///
/// # Errors
/// As [`padhye_1998::send_rate`].
pub fn eq22_rate(flow: &Flow) -> Result<Rate, ModelError> {
    padhye_1998::throughput(flow)
}

/// Eq 23: W(p), the window in which a loss is indicated; [`padhye_1998::loss_window`].
pub fn eq23_loss_window(flow: &Flow) -> Segments {
    padhye_1998::loss_window(flow.loss, flow.per_ack)
}

/// Eq 24: E\[T_ca\] = E\[d_ca\]/R, the time of the rest. Without rest, none.
///
/// # Errors
/// As [`padhye_1998::send_rate`].
pub fn eq24_rest_time(flow: &Flow, rest: Segments) -> Result<Duration, ModelError> {
    if rest.as_f64() <= 0.0 {
        return Ok(Duration::ZERO);
    }
    Ok(seconds(rest.as_f64() * flow.mss.bits_f64() / eq22_rate(flow)?.as_f64()))
}

/// Eq 25: E\[T\] = E\[T_ss\] + E\[T_loss\] + E\[T_ca\] + E\[T_delack\] for `size`, from the first segment sent to the last acknowledged.
/// `delayed_ack` is how long the first ACK waits: [`DELAYED_ACK`], or none where it leaves at once.
///
/// # Errors
/// [`ModelError::ZeroSize`], [`ModelError::LossTooHigh`], [`ModelError::NoRoundTrip`], [`ModelError::ZeroMss`],
/// [`ModelError::WindowBelowSegment`], [`ModelError::TooSlow`].
pub fn eq25_transfer_time(
    flow: &Flow,
    size: Bytes,
    initial: Segments,
    delayed_ack: Duration,
) -> Result<Duration, ModelError> {
    flow.check_without_loss()?;
    if size == Bytes::ZERO {
        return Err(ModelError::ZeroSize);
    }
    let segments = Segments::new((size.as_f64() / flow.mss.as_f64()).ceil());
    let slow_start = eq5_slow_start_segments(segments, flow.loss);
    let free = eq11_window_after_slow_start(flow, slow_start, initial);
    let window = flow.max_window.map_or(free, |most| if most < free { most } else { free });
    let parts = [
        eq20_first_loss_time(flow, segments, window)?,
        eq24_rest_time(flow, eq21_rest(segments, slow_start))?,
        delayed_ack,
    ];
    Ok(parts.into_iter().fold(eq15_slow_start_time(flow, slow_start, initial), Duration::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::padhye_1998::tests::{any_flow, flow};
    use proptest::prelude::*;

    fn near(actual: f64, expected: f64, tolerance: f64) {
        assert!((actual - expected).abs() <= tolerance, "{actual} is not within {tolerance} of {expected}");
    }

    fn lost(share: f64) -> Probability {
        Probability::new(share).unwrap()
    }

    #[test]
    fn a_lost_syn_costs_its_timeout() {
        let rtt = Duration::from_millis(500);
        let time = |p| eq4_handshake_time(rtt, SYN_TIMEOUT, lost(p), lost(p)).unwrap().as_secs_f64();
        near(time(0.0), 0.5, 1e-9);
        // To first order each direction adds p·T_s.
        near(time(1e-4), 0.5 + 2e-4 * 3.0, 1e-6);
        assert!(matches!(
            eq4_handshake_time(rtt, SYN_TIMEOUT, lost(0.5), lost(0.0)),
            Err(ModelError::LossTooHigh { .. })
        ));
    }

    #[test]
    fn slow_start_without_loss_is_the_sum_of_a_geometric_series() {
        // γ = 1.5 from 1: windows 1 + 1.5 + 2.25 + 3.375 = 8.125 segments in four rounds.
        let time = eq15_slow_start_time(&flow(0.0), Segments::new(8.125), Segments::ONE);
        near(time.as_secs_f64(), 4.0 * 0.5, 1e-9);
        near(eq11_window_after_slow_start(&flow(0.0), Segments::new(8.125), Segments::ONE).as_f64(), 3.375, 1e-9);
    }

    #[test]
    fn a_full_window_continues_one_per_round() {
        let limited = Flow { max_window: Some(Segments::new(3.375)), ..flow(0.0) };
        let time = |segments| eq15_slow_start_time(&limited, Segments::new(segments), Segments::ONE).as_secs_f64();
        near(time(8.125 + 3.375 * 10.0) - time(8.125), 10.0 * 0.5, 1e-9);
    }

    #[test]
    fn segments_before_the_first_loss_are_counted_with_it() {
        near(eq5_slow_start_segments(Segments::new(1e9), lost(0.01)).as_f64(), 100.0, 1e-6);
        near(eq5_slow_start_segments(Segments::new(50.0), lost(0.0)).as_f64(), 50.0, 1e-12);
        near(eq5_slow_start_segments(Segments::new(1.0), lost(0.5)).as_f64(), 1.0, 1e-12);
        near(eq16_loss_in_slow_start(Segments::new(2.0), lost(0.5)).get(), 0.75, 1e-12);
    }

    #[test]
    fn a_long_transfer_is_as_fast_as_padhye_s_model() {
        let size = Bytes::new(1_000_000_000);
        let time = eq25_transfer_time(&flow(0.01), size, Segments::ONE, DELAYED_ACK).unwrap();
        let rate = padhye_1998::throughput(&flow(0.01)).unwrap().as_f64();
        near(size.bits_f64() / time.as_secs_f64() / rate, 1.0, 1e-3);
    }

    #[test]
    fn loss_costs_a_short_transfer_too() {
        let time = |loss| {
            eq25_transfer_time(&flow(loss), Bytes::kb(100), Segments::new(10.0), Duration::ZERO).unwrap().as_secs_f64()
        };
        assert!(time(0.0) < time(1e-4) && time(1e-4) < time(1e-3) && time(1e-3) < time(1e-2));
        // 70 segments from 10: log_1.5(70·0.5/10 + 1) rounds.
        near(time(0.0), 0.5 * libm::log(4.5) / libm::log(1.5), 1e-9);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let of = |flow: &Flow, size| eq25_transfer_time(flow, Bytes::new(size), Segments::ONE, DELAYED_ACK);
        assert_eq!(of(&flow(0.1), 0), Err(ModelError::ZeroSize));
        assert!(matches!(of(&flow(1.0), 1), Err(ModelError::LossTooHigh { .. })));
        assert_eq!(of(&Flow { mss: Bytes::ZERO, ..flow(0.1) }, 1), Err(ModelError::ZeroMss));
    }

    proptest! {
        #[test]
        fn any_parameters_give_an_answer(flow in any_flow(), size: u64, initial in 0.0..1e6, delay: u64) {
            let time = eq25_transfer_time(
                &flow, Bytes::new(size), Segments::new(initial), Duration::from_nanos(delay),
            );
            prop_assert!(time.is_err() || time.unwrap() >= Duration::from_nanos(delay));
            let _ = eq4_handshake_time(flow.rtt, flow.timeout, flow.loss, flow.loss);
        }
    }
}
