//! What losses are expected to cost, added to the time without loss.
//!
//! [`crate::cardwell_2000`] splits a transfer of d segments with loss probability p into a slow start that lasts until the first loss,
//! E\[d_ss\] segments; the recovery from that loss; and a rest at a steady rate R, here that of
//! [`crate::padhye_1998::approximate_send_rate`] with b segments per growth of the window (2 with delayed ACKs, 1 where bytes count).
//! The recursion already has the time without loss, so that only what losses add is left:
//!
//! - the first loss costs a round trip if three duplicates can follow it, a timeout else: with w segments on the way,
//!   min(1, 3/w) of the losses need the timeout (Padhye's approximation of Q̂);
//! - the rest of the segments take as long as a window needs that starts with half of slow start's last one and moves by
//!   (1 − (w/w∞)²)/b each round trip, towards w∞ = R·RTT: a window of long-delay slow start is far above the steady one, and a page is over
//!   before it has come down. CUBIC's w∞ is 1.054·(RTT/p)^¾ (RFC 9438 Eq 6 for C = 0.4, β = 0.7) if that is more. From this time that
//!   of the same segments without loss is taken off.
//!
//! A sender at a set rate, and BBR, do not slow down: a loss costs a round trip if it hits the last round trip's data, and the
//! repetitions take their time on the link. Approximate in all cases: expectations are added as if they were times, losses are
//! independent, and the objects of a page share the losses of one connection evenly. Losses of requests, handshakes and ACKs are left out.

use super::habits::Habits;
use super::parameters::{Control, Parameters};
use super::workload::Workload;
use super::{PageLoad, Recursion, RecursionError};
use crate::Segments;
use crate::cardwell_2000::{eq5_slow_start_segments, eq16_loss_in_slow_start};
use crate::padhye_1998::{self, approximate_send_rate};
use crate::path::seconds;
use core::num::NonZeroU32;
use farhop_scenario::Congestion;
use farhop_units::{Bytes, Probability};
use std::time::Duration;

/// Rounds after which the window counts as steady.
const MOST_ROUNDS: u32 = 10_000;

/// b with delayed ACKs.
const DELAYED_ACKS: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// What the formulas speak of, in segments and seconds.
struct Transfer {
    /// Segments that one connection carries.
    segments: f64,
    loss: Probability,
    mss: Bytes,
    rtt: f64,
    timeout: f64,
    /// Time per segment without loss.
    pace: f64,
    /// Segments acknowledged per segment that the window grows by in congestion avoidance.
    per_growth: NonZeroU32,
    cubic: bool,
    initial_window: f64,
    max_window: f64,
}

impl Recursion {
    /// [`Recursion::load`], with what losing each segment on the way down with probability `loss` is expected to add.
    ///
    /// # Errors
    /// As [`Recursion::load`].
    pub fn load_with_loss(
        &mut self,
        parameters: &Parameters,
        workload: &Workload,
        loss: Probability,
    ) -> Result<PageLoad, RecursionError> {
        let load = self.load(parameters, workload)?;
        if loss.is_zero() {
            return Ok(load);
        }
        let transfer = Transfer::of(parameters, workload, &load, self.connections_used(), loss);
        if parameters.control == Control::FixedRate || parameters.tcp.congestion == Congestion::Bbr {
            return Ok(load.delayed_by(seconds(transfer.repetitions())));
        }
        let rest = transfer.rest() - self.rest_without_loss(parameters, workload, &load, &transfer)?;
        Ok(load.delayed_by(seconds(transfer.recovery() + rest.max(0.0))))
    }

    /// Time of the segments after slow start if nothing is lost; of a page, in proportion.
    fn rest_without_loss(
        &mut self,
        parameters: &Parameters,
        workload: &Workload,
        load: &PageLoad,
        transfer: &Transfer,
    ) -> Result<f64, RecursionError> {
        let before = transfer.slow_start();
        if workload.len() > 1 {
            return Ok((transfer.segments - before) * transfer.pace);
        }
        let body = before * parameters.tcp.mss.as_f64() - parameters.response_header_bytes.as_f64();
        let size = Bytes::new(whole(body).min(workload.total().get()));
        let slow_start = self.load(parameters, &Workload::file(size))?;
        Ok(load.last_byte.saturating_sub(slow_start.last_byte).as_secs_f64())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and sizes are below 2^53 bytes"
)]
fn whole(bytes: f64) -> u64 {
    bytes.max(0.0) as u64
}

impl PageLoad {
    fn delayed_by(mut self, delay: Duration) -> Self {
        self.last_byte = self.last_byte.saturating_add(delay);
        self.breakdown.loss = delay;
        self
    }
}

impl Transfer {
    #[expect(clippy::cast_precision_loss, reason = "numbers of objects and connections are small")]
    fn of(
        parameters: &Parameters,
        workload: &Workload,
        load: &PageLoad,
        connections: usize,
        loss: Probability,
    ) -> Self {
        let mss = parameters.tcp.mss.as_f64();
        let headers = parameters.response_header_bytes.as_f64() * workload.len() as f64;
        let segments = ((workload.total().as_f64() + headers) / mss / connections.max(1) as f64).ceil().max(1.0);
        let rtt = parameters.propagation().as_secs_f64();
        let habits = Habits::of(&parameters.tcp);
        let data = load.last_byte.saturating_sub(load.first_byte).as_secs_f64();
        Self {
            segments,
            loss,
            mss: parameters.tcp.mss,
            rtt,
            timeout: (rtt + habits.rto_min_variance.seconds()).max(habits.rto_min.seconds()),
            pace: data / segments,
            per_growth: if habits.byte_counting { NonZeroU32::MIN } else { DELAYED_ACKS },
            cubic: parameters.tcp.congestion == Congestion::Cubic,
            initial_window: f64::from(parameters.tcp.initial_window),
            max_window: parameters.tcp.max_window.map_or(f64::INFINITY, |window| (window.as_f64() / mss).max(1.0)),
        }
    }

    /// Probability that anything is lost of so many segments.
    fn any_loss(&self, segments: f64) -> f64 {
        eq16_loss_in_slow_start(Segments::new(segments), self.loss).get()
    }

    /// E\[d_ss\], at most all.
    fn slow_start(&self) -> f64 {
        eq5_slow_start_segments(Segments::new(self.segments), self.loss).as_f64().min(self.segments)
    }

    /// The window after the first loss: half of what slow start has on the way when it learns of it, a round trip later.
    fn first_window(&self) -> f64 {
        let growth = 1.0 / f64::from(self.per_growth.get());
        let last = (self.initial_window + self.slow_start() * growth).min(self.max_window);
        (last / 2.0).max(1.0)
    }

    fn recovery(&self) -> f64 {
        let by_timeout = (3.0 / (2.0 * self.first_window())).min(1.0);
        self.any_loss(self.segments) * (by_timeout * self.timeout + (1.0 - by_timeout) * self.rtt)
    }

    /// w∞ in segments; one where Padhye has no rate.
    fn steady_window(&self) -> f64 {
        let flow = padhye_1998::Flow {
            rtt: seconds(self.rtt),
            timeout: seconds(self.timeout),
            loss: self.loss,
            per_ack: self.per_growth,
            max_window: None,
            mss: self.mss,
        };
        let padhye = approximate_send_rate(&flow).map_or(1.0, |rate| rate.as_f64() * self.rtt / self.mss.bits_f64());
        let cubic = if self.cubic { 1.054 * libm::pow(self.rtt / self.loss.get(), 0.75) } else { 0.0 };
        padhye.max(cubic).min(self.max_window)
    }

    /// Time of the segments after slow start, at no less than their time without loss.
    fn rest(&self) -> f64 {
        let (mut left, mut time, mut window) = (self.segments - self.slow_start(), 0.0, self.first_window());
        let steady = self.steady_window();
        for _ in 0..MOST_ROUNDS {
            if left <= window || (window / steady - 1.0).abs() < 0.01 {
                break;
            }
            left -= window;
            time += self.rtt.max(window * self.pace);
            let share = window / steady;
            window = (window + (1.0 - share * share) / f64::from(self.per_growth.get()))
                .clamp(window / 2.0, self.max_window);
        }
        time + (left / window) * self.rtt.max(window * self.pace)
    }

    fn repetitions(&self) -> f64 {
        let last_round = (self.rtt / self.pace.max(1e-9)).clamp(1.0, self.segments);
        let loss = self.loss.get();
        let again = (self.segments * loss / (1.0 - loss).max(1e-9)) * self.pace;
        self.any_loss(last_round) * self.rtt + again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(segments: f64, loss: f64) -> Transfer {
        Transfer {
            segments,
            loss: Probability::new(loss).unwrap(),
            mss: Bytes::new(1448),
            rtt: 0.5,
            timeout: 1.5,
            pace: 0.000_12,
            per_growth: DELAYED_ACKS,
            cubic: false,
            initial_window: 10.0,
            max_window: f64::INFINITY,
        }
    }

    #[test]
    fn slow_start_lasts_until_the_first_loss() {
        // Cardwell et al.: with p = 1 % and a long transfer the first loss comes after about 100 segments.
        let transfer = transfer(1e6, 0.01);
        assert!((transfer.slow_start() - 100.0).abs() < 0.1, "{}", transfer.slow_start());
    }

    #[test]
    fn a_long_transfer_goes_at_padhyes_rate() {
        // 1/(0.5·√(4·0.01/3) + 1.5·3·√(0.0075)·0.01·1.0032) = 16.2 segments per second.
        let transfer = transfer(1e7, 0.01);
        let rate = 1e7 / transfer.rest();
        assert!((rate / 16.24 - 1.0).abs() < 0.02, "{rate}");
    }

    #[test]
    fn more_data_costs_more_and_nothing_is_infinite() {
        for loss in [1e-9, 1e-6, 1e-4, 0.01, 0.1, 0.5, 1.0] {
            let mut last = 0.0;
            for segments in [1.0, 10.0, 1000.0, 1e9] {
                let transfer = transfer(segments, loss);
                let cost = transfer.recovery() + transfer.rest();
                assert!(cost.is_finite() && cost >= last, "{segments} {loss}: {cost}");
                assert!(transfer.repetitions().is_finite());
                last = cost;
            }
        }
    }
}
