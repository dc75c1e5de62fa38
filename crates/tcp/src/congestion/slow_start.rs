//! Slow start (RFC 5681 §3.1), shared by the controllers.

use farhop_units::Bytes;

/// Window and threshold below which it grows exponentially.
#[derive(Debug, Clone)]
pub(super) struct SlowStart {
    pub(super) mss: Bytes,
    pub(super) window: Bytes,
    pub(super) threshold: Option<Bytes>,
    /// As Linux does: grow by every byte acknowledged (RFC 3465 without its limit of two segments) rather than by at most one segment
    /// per ACK (RFC 5681 equation 2), and keep windows and thresholds in whole segments.
    pub(super) byte_counting: bool,
}

impl SlowStart {
    pub(super) fn new(mss: Bytes, initial_window: Bytes, byte_counting: bool) -> Self {
        Self { mss, window: initial_window, threshold: None, byte_counting }
    }

    pub(super) fn is_on(&self) -> bool {
        self.threshold.is_none_or(|threshold| self.window < threshold)
    }

    /// Grows the window for `acked` bytes; what is left when the threshold is reached counts for congestion avoidance.
    pub(super) fn grow(&mut self, acked: Bytes) -> Bytes {
        if !self.is_on() {
            return acked;
        }
        if !self.byte_counting {
            self.window += acked.min(self.mss);
            return Bytes::ZERO;
        }
        let room = self.threshold.map_or(acked, |threshold| threshold.saturating_sub(self.window));
        self.window += acked.min(room);
        acked.saturating_sub(room)
    }

    /// Half of `window`.
    pub(super) fn half(&self, window: Bytes) -> Bytes {
        let unit = if self.byte_counting { self.mss } else { Bytes::new(1) };
        whole_units(Bytes::new(window.get() / 2), unit)
    }

    /// Threshold after a loss: `share` of what it is to be a share of, at least two segments (RFC 5681 equation 4).
    pub(super) fn lower_threshold(&mut self, to: Bytes) -> Bytes {
        let threshold = to.max(self.mss * 2);
        self.threshold = Some(threshold);
        threshold
    }

    /// A reduction is taken back: window and threshold are at least these; `None` is no threshold.
    pub(super) fn restore(&mut self, window: Bytes, threshold: Option<Bytes>) {
        self.window = self.window.max(window);
        self.threshold = threshold.and_then(|before| self.threshold.map(|now| now.max(before)));
    }

    /// Shrinks the window after it was not used, remembering three quarters of it as threshold (RFC 2861 §3).
    pub(super) fn shrink(&mut self, window: Bytes) {
        let remembered = three_quarters(self.window, self.mss);
        self.threshold = self.threshold.map(|threshold| threshold.max(remembered));
        self.window = self.window.min(window).max(self.mss);
    }
}

/// The most whole units of which `bytes` are not less.
pub(crate) fn whole_units(bytes: Bytes, unit: Bytes) -> Bytes {
    unit * (bytes.get() / unit.get().max(1))
}

/// What of a window is remembered as threshold, as Linux counts segments (tcp_current_ssthresh()).
pub(crate) fn three_quarters(window: Bytes, mss: Bytes) -> Bytes {
    whole_units(Bytes::new(window.get() / 2), mss) + whole_units(Bytes::new(window.get() / 4), mss)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    #[test]
    fn byte_counting_doubles_per_round_though_acks_are_delayed() {
        let mut counting = SlowStart::new(MSS, MSS * 10, true);
        let mut per_ack = SlowStart::new(MSS, MSS * 10, false);
        for _ in 0..5 {
            counting.grow(MSS * 2);
            per_ack.grow(MSS * 2);
        }
        assert_eq!(counting.window, MSS * 20);
        assert_eq!(per_ack.window, MSS * 15);
    }

    #[test]
    fn what_passes_the_threshold_is_left_for_congestion_avoidance() {
        let mut start = SlowStart::new(MSS, MSS * 10, true);
        start.lower_threshold(MSS * 11);
        assert_eq!(start.grow(MSS * 3), MSS * 2);
        assert_eq!(start.window, MSS * 11);
        assert_eq!(start.grow(MSS), MSS);
    }

    #[test]
    fn linux_counts_whole_segments() {
        let of = |byte_counting| SlowStart::new(MSS, MSS * 5, byte_counting);
        assert_eq!((of(true).half(MSS * 5), of(false).half(MSS * 5)), (MSS * 2, Bytes::new(2500)));
        assert_eq!(three_quarters(MSS * 7, MSS), MSS * 4, "3 + 1");
    }

    #[test]
    fn taking_back_a_reduction_never_takes_anything_away() {
        let mut start = SlowStart::new(MSS, MSS * 10, true);
        start.lower_threshold(MSS * 5);
        start.restore(MSS * 20, Some(MSS * 15));
        assert_eq!((start.window, start.threshold), (MSS * 20, Some(MSS * 15)));
        start.restore(MSS * 2, Some(MSS * 3));
        assert_eq!((start.window, start.threshold), (MSS * 20, Some(MSS * 15)));
        start.restore(MSS * 2, None);
        assert_eq!(start.threshold, None);
    }

    #[test]
    fn an_unused_window_leaves_an_unknown_threshold_unknown() {
        let mut start = SlowStart::new(MSS, MSS * 40, true);
        start.shrink(MSS * 10);
        assert_eq!((start.window, start.threshold), (MSS * 10, None));
        start.window = MSS * 40;
        start.threshold = Some(MSS * 20);
        start.shrink(MSS * 10);
        assert_eq!(start.threshold, Some(MSS * 30));
    }
}
