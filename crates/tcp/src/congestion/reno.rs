//! Reno's window (RFC 5681 §3.1-3.2). Fast recovery's inflation by duplicate ACKs is the sender's account of what left the
//! network; NewReno (RFC 6582) differs in the sender only.

use super::slow_start::SlowStart;
use super::{Acknowledged, CongestionControl};
use crate::ByteCounting;
use farhop_units::Bytes;
use std::time::Duration;

/// Additive increase, multiplicative decrease.
#[derive(Debug, Clone)]
pub struct Reno {
    start: SlowStart,
    /// Bytes acknowledged in congestion avoidance that have not yet added a segment.
    counted: Bytes,
}

impl Reno {
    /// A controller with `mss` and `initial_window`.
    pub fn new(mss: Bytes, initial_window: Bytes, counting: ByteCounting) -> Self {
        Self { start: SlowStart::new(mss, initial_window, counting), counted: Bytes::ZERO }
    }

    /// The same with windows in whole segments, as Linux and QUIC have them.
    pub fn in_whole_segments(mss: Bytes, initial_window: Bytes, counting: ByteCounting) -> Self {
        let Self { start, counted } = Self::new(mss, initial_window, counting);
        Self { start: SlowStart { is_whole: true, ..start }, counted }
    }

    /// One segment per window acknowledged (RFC 5681 §3.1, RFC 3465 §2.1), or its equation 3 for each ACK.
    fn avoid_congestion(&mut self, acked: Bytes) {
        let SlowStart { mss, window, counting, is_whole, .. } = self.start;
        let is_per_ack = counting == ByteCounting::Packets;
        if is_per_ack && !is_whole {
            let step = mss.get() * mss.get() / window.get();
            self.start.window += Bytes::new(step.max(1));
            return;
        }
        self.counted += if is_per_ack { acked.min(mss) } else { acked };
        if self.counted >= window {
            self.counted -= window;
            self.start.window += mss;
        }
    }

    fn halve(&mut self, in_flight: Bytes) -> Bytes {
        self.counted = Bytes::ZERO;
        self.start.lower_threshold(self.start.half(in_flight))
    }
}

impl CongestionControl for Reno {
    fn window(&self) -> Bytes {
        self.start.window
    }

    fn threshold(&self) -> Option<Bytes> {
        self.start.threshold
    }

    fn on_ack(&mut self, ack: &Acknowledged) {
        let was_slow_start = self.start.is_on();
        let rest = self.start.grow(ack.bytes);
        if !was_slow_start || rest > Bytes::ZERO {
            self.avoid_congestion(rest);
        }
    }

    fn on_loss(&mut self, in_flight: Bytes) {
        self.start.window = self.halve(in_flight);
    }

    fn on_timeout(&mut self, in_flight: Bytes, again: bool) {
        if !again {
            self.halve(in_flight);
        }
        self.start.begin_after_timeout();
    }

    fn on_idle(&mut self, window: Bytes, _idle: Duration) {
        self.start.shrink(window);
    }

    fn on_decay(&mut self, window: Bytes) {
        self.start.decay(window);
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
    use farhop_units::Instant;

    const MSS: Bytes = Bytes::new(1000);

    fn ack(bytes: Bytes) -> Acknowledged {
        let (sequence, next) = (Sequence::SYN, Sequence::SYN);
        Acknowledged { now: Instant::START, bytes, rtt: None, smoothed: None, sequence, next }
    }

    fn avoiding(counting: ByteCounting) -> Reno {
        let mut reno = Reno::new(MSS, MSS * 40, counting);
        reno.on_loss(MSS * 40);
        assert_eq!(reno.window(), MSS * 20, "half of what was on the way");
        reno
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_window() {
        let mut reno = avoiding(ByteCounting::Unlimited);
        (0..19).for_each(|_| reno.on_ack(&ack(MSS)));
        assert_eq!(reno.window(), MSS * 20);
        reno.on_ack(&ack(MSS));
        assert_eq!(reno.window(), MSS * 21);
    }

    #[test]
    fn without_byte_counting_delayed_acks_halve_the_growth() {
        let mut reno = avoiding(ByteCounting::Packets);
        (0..10).for_each(|_| reno.on_ack(&ack(MSS * 2)));
        let grown = reno.window() - MSS * 20;
        assert!((Bytes::new(480)..Bytes::new(500)).contains(&grown), "{grown}");
    }

    #[test]
    fn the_limit_of_slow_start_is_none_of_congestion_avoidance() {
        let mut reno = avoiding(ByteCounting::Segments(1));
        (0..2).for_each(|_| reno.on_ack(&ack(MSS * 10)));
        assert_eq!(reno.window(), MSS * 21);
    }

    #[test]
    fn counting_acknowledgements_in_whole_segments_takes_as_many_as_the_window_has() {
        let mut reno = Reno::in_whole_segments(MSS, MSS * 40, ByteCounting::Packets);
        reno.on_loss(MSS * 41);
        (0..19).for_each(|_| reno.on_ack(&ack(MSS * 2)));
        assert_eq!(reno.window(), MSS * 20);
        reno.on_ack(&ack(MSS * 2));
        assert_eq!(reno.window(), MSS * 21);
    }

    #[test]
    fn a_timeout_starts_again_from_one_segment_and_a_second_keeps_the_threshold() {
        let mut reno = Reno::new(MSS, MSS * 40, ByteCounting::Unlimited);
        reno.on_timeout(MSS * 40, false);
        reno.on_timeout(MSS, true);
        assert_eq!((reno.window(), reno.threshold()), (MSS, Some(MSS * 20)));
        assert!(reno.in_slow_start());
    }
}
