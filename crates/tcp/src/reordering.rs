//! How long a segment may be overtaken before it counts as lost: RACK's reordering window (RFC 8985 §6.2 step 4), as in Linux's
//! tcp_recovery.c.

use farhop_units::Bytes;
use std::time::Duration;

/// TCP_RACK_RECOVERY_THRESH: repairs that a widened window outlives.
const PERSISTENCE: u32 = 16;
/// `tcp_reordering` and `tcp_max_reordering`: segments that may be overtaken by others before three arrivals mean a loss.
const DEGREE: (usize, usize) = (3, 300);

/// What the window depends on.
#[derive(Debug, Clone)]
pub(crate) struct Reordering {
    /// The window in quarters of the least RTT.
    steps: u32,
    /// Repairs until it falls back to one.
    persistence: u32,
    /// A needless repetition has been heard of, which is not yet answered.
    heard: bool,
    /// What had been delivered when it was last widened.
    widened_at: Bytes,
    /// Without SACK: by how many segments others are thought to have been overtaken.
    degree: u64,
}

/// What the sender knows when it asks for the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    pub(crate) repairing: bool,
    /// Segments that have arrived out of order, and the bytes by which one has been seen to overtake another.
    pub(crate) sacked: usize,
    pub(crate) displacement: Bytes,
    pub(crate) least_rtt: Duration,
    pub(crate) smoothed_rtt: Duration,
}

impl Reordering {
    pub(crate) fn new() -> Self {
        Self { steps: 1, persistence: 0, heard: false, widened_at: Bytes::ZERO, degree: DEGREE.0 as u64 }
    }

    /// A D-SACK arrived.
    pub(crate) fn hear_duplicate(&mut self) {
        self.heard = true;
    }

    /// Once per round trip: widens the window if a D-SACK arrived. `prior` had been delivered when what is acknowledged now was
    /// sent, `delivered` is so by now.
    pub(crate) fn adapt(&mut self, prior: Bytes, delivered: Bytes) {
        if prior < self.widened_at {
            self.heard = false;
        }
        if core::mem::take(&mut self.heard) {
            self.steps = (self.steps + 1).min(255);
            self.persistence = PERSISTENCE;
            self.widened_at = delivered;
        } else if self.persistence == 0 {
            self.steps = 1;
        }
    }

    /// Without SACK: duplicate acknowledgements that mean a loss.
    pub(crate) fn degree(&self) -> u64 {
        self.degree
    }

    /// Without SACK: a segment was overtaken by so many.
    pub(crate) fn overtake(&mut self, segments: u64) {
        self.degree = segments.min(DEGREE.1 as u64);
    }

    /// The same of a repair that is undone before it is complete, which takes nothing back (tcp_check_sack_reordering()).
    pub(crate) fn overtake_at_least(&mut self, segments: u64) {
        self.overtake(segments.max(self.degree));
    }

    /// A repair was undone.
    pub(crate) fn persist(&mut self) {
        self.persistence = (self.persistence + 1).min(PERSISTENCE);
    }

    /// A repair was needed.
    pub(crate) fn relax(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
    }

    /// The window: none while three arrivals or a repair already speak for losses and nothing has ever been reordered.
    pub(crate) fn window(&self, now: Circumstances) -> Duration {
        let is_reordered = now.displacement > Bytes::ZERO;
        if !is_reordered && (now.repairing || now.sacked >= DEGREE.0) {
            return Duration::ZERO;
        }
        (now.least_rtt / 4).saturating_mul(self.steps).min(now.smoothed_rtt)
    }
}

/// By how many segments others have been overtaken, as Linux counts.
pub(crate) fn degree(displacement: Bytes, mss: Bytes) -> usize {
    let segments = displacement.get().div_ceil(mss.get().max(1));
    usize::try_from(segments).unwrap_or(usize::MAX).clamp(DEGREE.0, DEGREE.1)
}

/// Whether the window may grow while segments arrive out of order: not unless that is usual here (tcp_may_raise_cwnd()).
pub(crate) fn is_usual(displacement: Bytes, mss: Bytes) -> bool {
    degree(displacement, mss) > DEGREE.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const MSS: Bytes = Bytes::new(1000);

    fn circumstances(repairing: bool, sacked: usize, displacement: u64) -> Circumstances {
        Circumstances {
            repairing,
            sacked,
            displacement: Bytes::new(displacement),
            least_rtt: MS(100),
            smoothed_rtt: MS(120),
        }
    }

    #[test]
    fn where_nothing_was_ever_reordered_three_arrivals_are_enough() {
        let reordering = Reordering::new();
        assert_eq!(reordering.window(circumstances(false, 2, 0)), MS(25));
        assert_eq!(reordering.window(circumstances(false, 3, 0)), MS(0));
        assert_eq!(reordering.window(circumstances(true, 1, 0)), MS(0));
        assert_eq!(reordering.window(circumstances(true, 9, 1000)), MS(25));
    }

    #[test]
    fn duplicates_widen_the_window_once_per_round_trip_up_to_the_smoothed_rtt() {
        let mut reordering = Reordering::new();
        let mut window = |heard: bool, prior: u64, delivered: u64| {
            if heard {
                reordering.hear_duplicate();
            }
            reordering.adapt(MSS * prior, MSS * delivered);
            reordering.window(circumstances(true, 3, 1000))
        };
        assert_eq!(window(true, 10, 20), MS(50));
        assert_eq!(window(true, 19, 21), MS(50), "the same round trip");
        assert_eq!(window(true, 20, 30), MS(75));
        assert_eq!(window(false, 30, 40), MS(75));
        for round in 4..40 {
            window(true, round * 10, round * 10 + 10);
        }
        assert_eq!(window(false, 500, 510), MS(120));
    }

    #[test]
    fn a_widened_window_outlives_sixteen_needed_repairs() {
        let mut reordering = Reordering::new();
        reordering.hear_duplicate();
        reordering.adapt(MSS, MSS * 2);
        (0..15).for_each(|_| reordering.relax());
        reordering.adapt(MSS * 3, MSS * 4);
        assert_eq!(reordering.window(circumstances(true, 3, 1000)), MS(50));
        reordering.relax();
        reordering.adapt(MSS * 5, MSS * 6);
        assert_eq!(reordering.window(circumstances(true, 3, 1000)), MS(25));
    }

    #[test]
    fn a_hole_that_was_late_by_less_does_not_lower_the_degree() {
        let mut reordering = Reordering::new();
        let degrees = [9, 5, 12].map(|segments| {
            reordering.overtake_at_least(segments);
            reordering.degree()
        });
        assert_eq!(degrees, [9, 9, 12]);
    }

    #[test]
    fn overtaking_by_more_than_three_segments_is_usual() {
        assert!(!is_usual(Bytes::ZERO, MSS) && !is_usual(MSS * 3, MSS) && is_usual(MSS * 4, MSS));
    }
}
