//! The full model of TCP Reno under loss: J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Throughput: A Simple Model and
//! its Empirical Validation", ACM SIGCOMM 1998 (IEEE/ACM Trans. Netw. 8(2), 2000).
//!
//! A transfer that goes on for ever in rounds of one RTT each. Within a round, all packets behind the first one lost are lost too;
//! rounds are independent. p is the probability that a packet is lost although the one before it in its round was not. A loss
//! indication is three duplicate ACKs or, with probability Q, a timeout, which doubles up to six times.
//!
//! Left out: slow start, the link's rate and queue, SACK and fast recovery's details. Papers number these equations differently;
//! here they have names, and those that Cardwell 2000 repeats have its numbers there ([`crate::cardwell_2000`]).

use crate::path::rate;
use crate::{ModelError, Segments};
use core::num::NonZeroU32;
use farhop_units::{Bytes, Probability, Rate};
use std::time::Duration;

/// A flow under loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// RTT: time of a round, transmission and queueing included.
    pub rtt: Duration,
    /// T₀: the first retransmission timeout.
    pub timeout: Duration,
    /// p.
    pub loss: Probability,
    /// b: segments acknowledged by one ACK, 2 with delayed ACKs.
    pub per_ack: NonZeroU32,
    /// W_max: the receiver's window; `None` is unlimited.
    pub max_window: Option<Segments>,
    /// Payload of a segment.
    pub mss: Bytes,
}

impl Flow {
    /// What every formula here needs: 0 < p < 1, a round trip, a payload, a window of one segment.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        if self.loss.get() < f64::MIN_POSITIVE {
            return Err(ModelError::NoLoss);
        }
        self.check_without_loss()
    }

    /// [`Flow::check`] where p may be 0.
    pub(crate) fn check_without_loss(&self) -> Result<(), ModelError> {
        if self.mss == Bytes::ZERO {
            return Err(ModelError::ZeroMss);
        }
        if self.rtt.is_zero() {
            return Err(ModelError::NoRoundTrip);
        }
        if self.loss == Probability::ONE {
            return Err(ModelError::LossTooHigh { loss: self.loss, below: Probability::ONE });
        }
        match self.max_window {
            Some(window) if window < Segments::ONE => {
                Err(ModelError::WindowBelowSegment { max_window: Bytes::ZERO, mss: self.mss })
            }
            _ => Ok(()),
        }
    }

    /// Segments per second as a rate of payload.
    pub(crate) fn payload_rate(&self, segments_per_second: f64) -> Result<Rate, ModelError> {
        rate(segments_per_second * self.mss.bits_f64())
    }
}

/// E\[W\] = (2+b)/3b + √(8(1−p)/3bp + ((2+b)/3b)²): the window in which a loss is indicated, if the receiver sets no limit.
pub fn loss_window(loss: Probability, per_ack: NonZeroU32) -> Segments {
    let (p, b) = (loss.get().max(f64::MIN_POSITIVE), f64::from(per_ack.get()));
    let least = (2.0 + b) / (3.0 * b);
    Segments::new(least + (8.0 * (1.0 - p) / (3.0 * b * p) + least * least).sqrt())
}

/// Q̂(w) = min(1, (1−(1−p)³)(1+(1−p)³(1−(1−p)^(w−3)))/(1−(1−p)^w)): the share of loss indications in a window of w that are
/// timeouts. 3/w without loss.
pub fn timeout_share(loss: Probability, window: Segments) -> f64 {
    let (p, w) = (loss.get(), window.as_f64());
    if p < f64::MIN_POSITIVE {
        return (3.0 / w.max(1.0)).min(1.0);
    }
    let share = any_lost(p, 3.0) * (1.0 + (1.0 - any_lost(p, 3.0)) * any_lost(p, w - 3.0)) / any_lost(p, w);
    // A window of no segments, and p = 1 with three: there are never three duplicates.
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 }
}

/// 1 − (1−p)^n, without cancellation where p is small.
pub(crate) fn any_lost(p: f64, n: f64) -> f64 {
    -libm::expm1(n * libm::log1p(-p))
}

/// f(p) = 1 + p + 2p² + 4p³ + 8p⁴ + 16p⁵ + 32p⁶: how timeouts that follow each other grow, up to 64 T₀.
pub fn backoff(loss: Probability) -> f64 {
    let p = loss.get();
    let (mut sum, mut power) = (1.0, p);
    for factor in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0] {
        sum += factor * power;
        power *= p;
    }
    sum
}

/// B(p), the full model: what the sender puts on the link, lost packets included, in bits of payload per second.
///
/// # Errors
/// [`ModelError::NoLoss`], [`ModelError::LossTooHigh`], [`ModelError::NoRoundTrip`], [`ModelError::ZeroMss`],
/// [`ModelError::WindowBelowSegment`], [`ModelError::TooSlow`].
pub fn send_rate(flow: &Flow) -> Result<Rate, ModelError> {
    // After a timeout 1/(1−p) packets are sent, of which one arrives.
    per_second(flow, 1.0, 1.0 / (1.0 - flow.loss.get()))
}

/// T(p), the full model: what the receiver gets, in bits of payload per second; the tail of Cardwell 2000 (Eq 22).
///
/// # Errors
/// As [`send_rate`].
pub fn throughput(flow: &Flow) -> Result<Rate, ModelError> {
    per_second(flow, 0.5, 1.0)
}

/// ((1−p)/p + `of_window`·w + Q·`of_timeout`) segments per RTT·rounds + Q·f(p)·T₀/(1−p).
fn per_second(flow: &Flow, of_window: f64, of_timeout: f64) -> Result<Rate, ModelError> {
    flow.check()?;
    let (p, b) = (flow.loss.get(), f64::from(flow.per_ack.get()));
    let free = loss_window(flow.loss, flow.per_ack);
    let (window, rounds) = match flow.max_window {
        Some(most) if free >= most => {
            let w = most.as_f64();
            (most, b / 8.0 * w + (1.0 - p) / (p * w) + 2.0)
        }
        _ => (free, b / 2.0 * free.as_f64() + 1.0),
    };
    let timeouts = timeout_share(flow.loss, window);
    let segments = (1.0 - p) / p + of_window * window.as_f64() + timeouts * of_timeout;
    let waiting = timeouts * backoff(flow.loss) * flow.timeout.as_secs_f64() / (1.0 - p);
    flow.payload_rate(segments / (flow.rtt.as_secs_f64() * rounds + waiting))
}

/// B(p) ≈ min(W_max/RTT, 1/(RTT·√(2bp/3) + T₀·min(1, 3√(3bp/8))·p·(1+32p²))): the approximation that most cite.
///
/// # Errors
/// As [`send_rate`].
pub fn approximate_send_rate(flow: &Flow) -> Result<Rate, ModelError> {
    flow.check()?;
    let (p, b, rtt) = (flow.loss.get(), f64::from(flow.per_ack.get()), flow.rtt.as_secs_f64());
    let timeouts = (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    let free = 1.0 / (rtt * (2.0 * b * p / 3.0).sqrt() + flow.timeout.as_secs_f64() * timeouts);
    let most = flow.max_window.map_or(f64::INFINITY, |window| window.as_f64() / rtt);
    flow.payload_rate(free.min(most))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::mathis_1997::{self, Acks, Losses};
    use proptest::prelude::*;

    /// 500 ms, delayed ACKs, no limit on the window.
    pub(crate) fn flow(loss: f64) -> Flow {
        Flow {
            rtt: Duration::from_millis(500),
            timeout: Duration::from_secs(1),
            loss: Probability::new(loss).unwrap(),
            per_ack: NonZeroU32::new(2).unwrap(),
            max_window: None,
            mss: Bytes::new(1448),
        }
    }

    prop_compose! {
        pub(crate) fn any_flow()(
            rtt: u64, timeout: u64, loss in prop_oneof![0.0..=1.0, 0.0..1e-12], b in 1..=u32::MAX,
            window in prop::option::of(prop_oneof![0.0..1000.0, 0.0..1e18]), mss: u64,
        ) -> Flow {
            Flow {
                rtt: Duration::from_nanos(rtt),
                timeout: Duration::from_nanos(timeout),
                loss: Probability::new(loss).unwrap(),
                per_ack: NonZeroU32::new(b).unwrap(),
                max_window: window.map(Segments::new),
                mss: Bytes::new(mss),
            }
        }
    }

    #[test]
    fn rare_losses_leave_the_square_root_law() {
        let (full, law) = (send_rate(&flow(1e-6)).unwrap().as_f64(), {
            let loss = Probability::new(1e-6).unwrap();
            let rtt = Duration::from_millis(500);
            mathis_1997::throughput(Bytes::new(1448), rtt, loss, Losses::Periodic, Acks::Delayed).unwrap().as_f64()
        });
        assert!((full / law - 1.0).abs() < 0.01, "{full} {law}");
    }

    #[test]
    fn the_approximation_is_near_and_timeouts_make_both_fall_below_the_law() {
        for loss in [1e-4, 1e-3, 1e-2, 5e-2] {
            let (full, near) = (send_rate(&flow(loss)).unwrap().as_f64(), approximate_send_rate(&flow(loss)).unwrap());
            assert!((0.75..1.3).contains(&(near.as_f64() / full)), "p = {loss}: {full} {near}");
            assert!(throughput(&flow(loss)).unwrap().as_f64() < full);
        }
        let law = 1448.0 * 8.0 / 0.5 * (0.75_f64 / 0.2).sqrt();
        assert!(send_rate(&flow(0.2)).unwrap().as_f64() < 0.6 * law);
    }

    #[test]
    fn the_receivers_window_limits_both_models() {
        let limited = Flow { max_window: Some(Segments::new(10.0)), ..flow(1e-6) };
        let full_window = 10.0 * 1448.0 * 8.0 / 0.5;
        for rate in [send_rate(&limited), approximate_send_rate(&limited)] {
            assert!((rate.unwrap().as_f64() / full_window - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn small_windows_always_end_in_timeouts() {
        let loss = Probability::new(0.01).unwrap();
        assert!((timeout_share(loss, Segments::new(3.0)) - 1.0).abs() < 1e-12);
        assert!((timeout_share(loss, Segments::new(1.0)) - 1.0).abs() < 1e-12);
        let rare = timeout_share(Probability::new(1e-9).unwrap(), Segments::new(30.0));
        assert!((rare - 0.1).abs() < 1e-6, "3/w: {rare}");
        assert!((backoff(Probability::ONE) - 64.0).abs() < 1e-12);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        assert_eq!(send_rate(&flow(0.0)), Err(ModelError::NoLoss));
        assert!(matches!(throughput(&flow(1.0)), Err(ModelError::LossTooHigh { .. })));
        assert_eq!(throughput(&Flow { rtt: Duration::ZERO, ..flow(0.1) }), Err(ModelError::NoRoundTrip));
        let window = Flow { max_window: Some(Segments::new(0.5)), ..flow(0.1) };
        assert!(matches!(throughput(&window), Err(ModelError::WindowBelowSegment { .. })));
    }

    proptest! {
        #[test]
        fn any_flow_gives_an_answer(flow in any_flow()) {
            let _ = (send_rate(&flow), throughput(&flow), approximate_send_rate(&flow));
            prop_assert!((0.0..=1.0).contains(&timeout_share(flow.loss, Segments::new(f64::from(flow.per_ack.get())))));
        }

        #[test]
        fn more_loss_is_never_faster(loss in 1e-9..0.9, more in 1.0..1.1) {
            let rate = |loss| throughput(&flow(loss)).unwrap();
            // A bit per second of rounding.
            prop_assert!(rate(loss * more).bits_per_second() <= rate(loss).bits_per_second() + 1);
        }
    }
}
