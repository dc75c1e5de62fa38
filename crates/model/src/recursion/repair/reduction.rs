//! Proportional rate reduction (RFC 9937) as in Linux's tcp_cwnd_reduction(): while the window shrinks, what may be sent follows
//! what arrives, in the proportion of the window after to that before; below its target it grows back as in slow start.

/// A reduction in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reduction {
    mss: u64,
    /// What shares are rounded up to: Linux counts segments, the RFC bytes.
    unit: u64,
    before: u64,
    pub(super) target: u64,
    delivered: u64,
    sent: u64,
}

impl Reduction {
    pub(super) fn new((mss, unit): (u64, u64), before: u64, target: u64) -> Self {
        Self { mss, unit, before: before.max(mss), target, delivered: 0, sent: 0 }
    }

    pub(super) fn note_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// The window when `delivered` more bytes have arrived and `in_flight` are on the way; `is_safe`: something was acknowledged by
    /// number and nothing more is lost.
    pub(super) fn window(&mut self, delivered: u64, in_flight: u64, is_safe: bool) -> Option<u64> {
        if delivered == 0 {
            return None;
        }
        self.delivered += delivered;
        let room = if in_flight > self.target {
            let share = u128::from(self.delivered) * u128::from(self.target);
            let units = share.div_ceil(u128::from(self.before) * u128::from(self.unit));
            (u64::try_from(units).unwrap_or(u64::MAX / self.unit) * self.unit).saturating_sub(self.sent)
        } else {
            let bound = self.delivered.saturating_sub(self.sent).max(delivered) + if is_safe { self.mss } else { 0 };
            bound.min(self.target - in_flight)
        };
        let least = if self.sent == 0 { self.mss } else { 0 };
        Some(in_flight + room.max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_arrives_lets_something_out_until_the_window_is_halved() {
        let mut reduction = Reduction::new((1000, 1000), 20_000, 10_000);
        let (mut in_flight, mut sent) = (19_000, 0);
        for _ in 0..18 {
            in_flight -= 1000;
            let window = reduction.window(1000, in_flight, true).unwrap();
            let room = window.saturating_sub(in_flight) / 1000 * 1000;
            reduction.note_sent(room);
            (in_flight, sent) = (in_flight + room, sent + room);
        }
        assert_eq!((sent, in_flight), (9000, 10_000));
    }

    #[test]
    fn shares_of_segments_are_rounded_up() {
        for (unit, window) in [(1000, 5000), (1, 4800)] {
            let mut reduction = Reduction::new((1000, unit), 5000, 3000);
            reduction.note_sent(1000);
            // Three fifths of three segments, of which one has been sent.
            assert_eq!(reduction.window(3000, 4000, true), Some(window));
        }
    }

    #[test]
    fn after_many_losses_the_window_grows_back_by_what_arrives() {
        let mut reduction = Reduction::new((1000, 1000), 20_000, 10_000);
        reduction.note_sent(1000);
        assert_eq!(reduction.window(1000, 3000, false), Some(4000));
        assert_eq!(reduction.window(1000, 4000, true), Some(6000));
        assert_eq!(reduction.window(0, 4000, true), None);
    }
}
