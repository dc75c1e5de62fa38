//! The square-root law: M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance
//! Algorithm", ACM SIGCOMM Computer Communication Review 27(3), 67-82, July 1997.
//!
//! BW = (MSS/RTT)·C/√p for a transfer that goes on for ever in congestion avoidance. Left out: slow start, timeouts (so that it is
//! too high above some percent of loss), the receiver's window, the link's rate.

use crate::ModelError;
use crate::path::rate;
use farhop_units::{Bytes, Probability, Rate};
use std::time::Duration;

/// How losses are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Losses {
    /// One packet in every 1/p: C is √(3/2), √(3/4) with delayed ACKs.
    #[default]
    Periodic,
    /// Independent: C is 1.31, 0.93 with delayed ACKs.
    Random,
}

/// How often the receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acks {
    /// Every segment.
    EverySegment,
    /// Every second one.
    #[default]
    Delayed,
}

/// C, from the law's table of constants.
pub fn constant(losses: Losses, acks: Acks) -> f64 {
    match (losses, acks) {
        (Losses::Periodic, Acks::EverySegment) => 1.5_f64.sqrt(),
        (Losses::Periodic, Acks::Delayed) => 0.75_f64.sqrt(),
        (Losses::Random, Acks::EverySegment) => 1.31,
        (Losses::Random, Acks::Delayed) => 0.93,
    }
}

/// BW = (MSS/RTT)·C/√p, in bits of payload per second; 2 % of loss at 500 ms leave 142 kbit/s of segments of 1448 B.
///
/// # Errors
/// [`ModelError::ZeroMss`], [`ModelError::NoRoundTrip`], [`ModelError::NoLoss`], [`ModelError::TooSlow`].
pub fn throughput(
    mss: Bytes,
    rtt: Duration,
    loss: Probability,
    losses: Losses,
    acks: Acks,
) -> Result<Rate, ModelError> {
    if mss == Bytes::ZERO {
        return Err(ModelError::ZeroMss);
    }
    if rtt.is_zero() {
        return Err(ModelError::NoRoundTrip);
    }
    if loss.is_zero() {
        return Err(ModelError::NoLoss);
    }
    rate(mss.bits_f64() / rtt.as_secs_f64() * constant(losses, acks) / loss.get().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn percent(loss: f64) -> Probability {
        Probability::new(loss / 100.0).unwrap()
    }

    #[test]
    fn four_times_the_loss_halve_the_rate() {
        let at = |loss| {
            let rtt = Duration::from_millis(500);
            throughput(Bytes::new(1448), rtt, percent(loss), Losses::default(), Acks::default()).unwrap().as_f64()
        };
        assert!((at(2.0) - 141_874.0).abs() < 1.0, "{}", at(2.0));
        assert!((at(0.5) / at(2.0) - 2.0).abs() < 1e-4);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let of = |mss, rtt, loss| {
            throughput(Bytes::new(mss), Duration::from_secs(rtt), percent(loss), Losses::Random, Acks::Delayed)
        };
        assert_eq!(of(0, 1, 1.0), Err(ModelError::ZeroMss));
        assert_eq!(of(1448, 0, 1.0), Err(ModelError::NoRoundTrip));
        assert_eq!(of(1448, 1, 0.0), Err(ModelError::NoLoss));
        assert_eq!(of(1, 1200, 1.0), Err(ModelError::TooSlow));
    }

    proptest! {
        #[test]
        fn any_parameters_give_an_answer(mss: u64, rtt: u64, loss in 0.0..=1.0) {
            let loss = Probability::new(loss).unwrap();
            let _ = throughput(Bytes::new(mss), Duration::from_nanos(rtt), loss, Losses::Random, Acks::EverySegment);
        }
    }
}
