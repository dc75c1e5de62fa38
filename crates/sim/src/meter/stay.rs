//! How long packets stay on a way, by Little's law: as many are on it on average as come per time, times how long each stays.

use farhop_units::Instant;
use std::time::Duration;

/// What has been on a way in the measured time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stay {
    from: Instant,
    end: Instant,
    /// How many packets are on it, and since when.
    inside: u64,
    since: Instant,
    /// The sum of the times for which they were, in ns, and how many have left.
    time: u128,
    left: u64,
}

impl Stay {
    /// What happens before `from` and after `end` does not count.
    pub(super) const fn new(from: Instant, end: Instant) -> Self {
        Self { from, end, inside: 0, since: from, time: 0, left: 0 }
    }

    pub(super) fn enters(&mut self, at: Instant) {
        self.pass(at);
        self.inside += 1;
    }

    pub(super) fn leaves(&mut self, at: Instant) {
        self.pass(at);
        self.inside -= 1;
        self.left += u64::from(at >= self.from && at < self.end);
    }

    fn pass(&mut self, at: Instant) {
        let at = at.max(self.since).min(self.end);
        self.time += u128::from(self.inside) * at.since(self.since).as_nanos();
        self.since = at;
    }

    /// The mean; `None` if there was nothing on it. Of a way that nothing leaves it is as long as can be.
    pub(super) fn mean(mut self) -> Option<Duration> {
        self.pass(self.end);
        let mean = self.time.checked_div(u128::from(self.left));
        match mean {
            Some(mean) => Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))),
            None => (self.time > 0).then_some(Duration::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::START + Duration::from_secs(s)
    }

    #[test]
    fn packets_stay_as_long_as_it_takes_on_average() {
        let mut stay = Stay::new(at(0), at(100));
        for (enters, leaves) in [(0, 2), (2, 6), (6, 15)] {
            stay.enters(at(enters));
            stay.leaves(at(leaves));
        }
        assert_eq!(stay.mean(), Some(Duration::from_secs(5)));
    }

    #[test]
    fn what_happens_before_and_after_does_not_count() {
        let mut stay = Stay::new(at(10), at(20));
        assert_eq!(stay.mean(), None);
        stay.enters(at(1));
        stay.leaves(at(9));
        assert_eq!(stay.mean(), None, "it was over");
        stay.enters(at(5));
        assert_eq!(stay.mean(), Some(Duration::MAX), "nothing leaves");
        stay.leaves(at(14));
        stay.enters(at(16));
        assert_eq!(stay.mean(), Some(Duration::from_secs(8)), "four seconds of each, and one has left");
        stay.leaves(at(25));
        assert_eq!(stay.mean(), Some(Duration::from_secs(8)));
    }
}
