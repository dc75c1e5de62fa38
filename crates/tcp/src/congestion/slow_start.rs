//! Slow start (RFC 5681 §3.1), shared by the controllers.

use crate::ByteCounting;
use farhop_units::Bytes;

/// Window and threshold below which it grows exponentially.
#[derive(Debug, Clone)]
pub(super) struct SlowStart {
    pub(super) mss: Bytes,
    pub(super) window: Bytes,
    pub(super) threshold: Option<Bytes>,
    pub(super) counting: ByteCounting,
    /// Windows and thresholds are whole segments, as Linux has them.
    pub(super) is_whole: bool,
    /// It is the slow start after a timeout, in which an acknowledgement may cover much that had left the network long before: of what
    /// is counted in bytes up to a limit, one segment counts (RFC 3465 §2.3).
    pub(super) is_after_timeout: bool,
}

impl SlowStart {
    pub(super) fn new(mss: Bytes, initial_window: Bytes, counting: ByteCounting) -> Self {
        Self { mss, window: initial_window, threshold: None, counting, is_whole: false, is_after_timeout: false }
    }

    pub(super) fn is_on(&self) -> bool {
        self.threshold.is_none_or(|threshold| self.window < threshold)
    }

    /// Grows the window for `acked` bytes; what is left when the threshold is reached counts for congestion avoidance.
    pub(super) fn grow(&mut self, acked: Bytes) -> Bytes {
        if !self.is_on() {
            self.is_after_timeout = false;
            return acked;
        }
        let counted = self.counted(acked);
        if self.counting == ByteCounting::Packets {
            self.window += counted;
            return Bytes::ZERO;
        }
        let room = self.threshold.map_or(counted, |threshold| threshold.saturating_sub(self.window));
        self.window += counted.min(room);
        counted.saturating_sub(room)
    }

    /// Grows the window by a share of what `acked` bytes are counted as, where there is no threshold (RFC 9406 §4.2).
    pub(super) fn grow_by_share(&mut self, acked: Bytes, divisor: u64) {
        self.window += Bytes::new(self.counted(acked).get() / divisor);
    }

    /// What of `acked` bytes counts.
    fn counted(&self, acked: Bytes) -> Bytes {
        match self.counting {
            ByteCounting::Packets => acked.min(self.mss),
            ByteCounting::Segments(_) if self.is_after_timeout => acked.min(self.mss),
            ByteCounting::Segments(most) => acked.min(self.mss * u64::from(most)),
            ByteCounting::Unlimited => acked,
        }
    }

    /// Half of `window`.
    pub(super) fn half(&self, window: Bytes) -> Bytes {
        let unit = if self.is_whole { self.mss } else { Bytes::new(1) };
        whole_units(Bytes::new(window.get() / 2), unit)
    }

    /// Threshold after a loss: `share` of what it is to be a share of, at least two segments (RFC 5681 equation 4).
    pub(super) fn lower_threshold(&mut self, to: Bytes) -> Bytes {
        let threshold = to.max(self.mss * 2);
        (self.threshold, self.is_after_timeout) = (Some(threshold), false);
        threshold
    }

    /// It begins again with a segment, since the retransmission timer ran out.
    pub(super) fn begin_after_timeout(&mut self) {
        (self.window, self.is_after_timeout) = (self.mss, true);
    }

    /// A reduction is taken back: window and threshold are at least these; `None` is no threshold.
    pub(super) fn restore(&mut self, window: Bytes, threshold: Option<Bytes>) {
        self.window = self.window.max(window);
        self.is_after_timeout = false;
        self.threshold = threshold.and_then(|before| self.threshold.map(|now| now.max(before)));
    }

    /// The window is no more than `window`, and never less than a segment.
    pub(super) fn shrink(&mut self, window: Bytes) {
        self.window = self.window.min(window).max(self.mss);
    }

    /// The same after it was not used, remembering three quarters of it as threshold (RFC 2861 §3).
    pub(super) fn decay(&mut self, window: Bytes) {
        let remembered = three_quarters(self.window, self.mss);
        self.threshold = self.threshold.map(|threshold| threshold.max(remembered));
        self.shrink(window);
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
        let grown = |counting, acked| {
            let mut start = SlowStart::new(MSS, MSS * 10, counting);
            (0..5).for_each(|_| assert_eq!(start.grow(acked), Bytes::ZERO));
            start.window.get() / MSS.get()
        };
        let all = |acked| {
            let limited = [1, 2, 3].map(ByteCounting::Segments);
            let [one, two, three] = limited.map(|counting| grown(counting, acked));
            [grown(ByteCounting::Packets, acked), one, two, three, grown(ByteCounting::Unlimited, acked)]
        };
        assert_eq!(all(MSS * 2), [15, 15, 20, 20, 20], "of delayed acknowledgements");
        assert_eq!(all(MSS * 8), [15, 15, 20, 25, 50], "of those that stand for many that were lost");
    }

    #[test]
    fn a_share_is_one_of_what_is_counted() {
        let grown = |counting, acked| {
            let mut start = SlowStart::new(MSS, MSS * 10, counting);
            start.grow_by_share(acked, 4);
            start.window.get() - 10 * MSS.get()
        };
        let all = |acked| {
            [ByteCounting::Packets, ByteCounting::Segments(2), ByteCounting::Unlimited]
                .map(|counting| grown(counting, acked))
        };
        assert_eq!(all(MSS), [250, 250, 250]);
        assert_eq!(all(MSS * 8), [250, 500, 2000]);
    }

    #[test]
    fn after_a_timeout_an_acknowledgement_counts_as_one_segment_until_slow_start_is_over() {
        let mut start = SlowStart::new(MSS, MSS * 40, ByteCounting::Segments(2));
        start.lower_threshold(MSS * 4);
        start.begin_after_timeout();
        assert_eq!((start.grow(MSS * 9), start.window), (Bytes::ZERO, MSS * 2));
        (0..2).for_each(|_| assert_eq!(start.grow(MSS * 2), Bytes::ZERO));
        assert_eq!((start.is_on(), start.window), (false, MSS * 4));
        // The next slow start is one after a pause, or a loss.
        assert_eq!(start.grow(MSS), MSS);
        start.window = MSS;
        assert_eq!((start.grow(MSS * 9), start.window), (Bytes::ZERO, MSS * 3));
        start.lower_threshold(MSS * 9);
        assert_eq!((start.grow(MSS * 9), start.window), (Bytes::ZERO, MSS * 5));
        let mut linux = SlowStart::new(MSS, MSS * 40, ByteCounting::Unlimited);
        linux.begin_after_timeout();
        assert_eq!((linux.grow(MSS * 9), linux.window), (Bytes::ZERO, MSS * 10));
    }

    #[test]
    fn what_passes_the_threshold_is_left_for_congestion_avoidance() {
        let mut start = SlowStart::new(MSS, MSS * 10, ByteCounting::Unlimited);
        start.lower_threshold(MSS * 11);
        assert_eq!(start.grow(MSS * 3), MSS * 2);
        assert_eq!(start.window, MSS * 11);
        assert_eq!(start.grow(MSS), MSS);
    }

    #[test]
    fn linux_counts_whole_segments() {
        let of = |is_whole| SlowStart { is_whole, ..SlowStart::new(MSS, MSS * 5, ByteCounting::Unlimited) };
        assert_eq!((of(true).half(MSS * 5), of(false).half(MSS * 5)), (MSS * 2, Bytes::new(2500)));
        assert_eq!(three_quarters(MSS * 7, MSS), MSS * 4, "3 + 1");
    }

    #[test]
    fn taking_back_a_reduction_never_takes_anything_away() {
        let mut start = SlowStart::new(MSS, MSS * 10, ByteCounting::Unlimited);
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
        let mut start = SlowStart::new(MSS, MSS * 40, ByteCounting::Unlimited);
        start.decay(MSS * 10);
        assert_eq!((start.window, start.threshold), (MSS * 10, None));
        start.window = MSS * 40;
        start.threshold = Some(MSS * 20);
        start.decay(MSS * 10);
        assert_eq!(start.threshold, Some(MSS * 30));
    }
}
