//! Segments that were not full: Linux counts each as a full one while it is on the way.

/// How many are told apart; more count as what they carry.
const MOST: usize = 16;

/// Where short segments on the way end, in order, and what each lacks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Short {
    ends: [(u64, u64); MOST],
    first: usize,
    count: usize,
    /// What all of them lack.
    lack: u64,
}

impl Short {
    /// What all of them lack that are on the way.
    pub(crate) fn lack(&self) -> u64 {
        self.lack
    }

    /// A segment that ends at `end`, beyond all earlier ones, lacks so much; all before `acknowledged` have arrived.
    pub(crate) fn note(&mut self, end: u64, lack: u64, acknowledged: u64) {
        self.leave(acknowledged);
        if self.count < MOST {
            self.ends[(self.first + self.count) % MOST] = (end, lack);
            self.count += 1;
            self.lack += lack;
        }
    }

    /// What those lack that end no later than `up_to`: they have arrived.
    pub(crate) fn leave(&mut self, up_to: u64) -> u64 {
        let before = self.lack;
        while self.count > 0 && self.ends[self.first].0 <= up_to {
            self.lack -= self.ends[self.first].1;
            (self.first, self.count) = ((self.first + 1) % MOST, self.count - 1);
        }
        before - self.lack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_counts_until_it_has_arrived() {
        let mut short = Short::default();
        short.note(100, 7, 0);
        short.note(300, 5, 0);
        assert_eq!((short.leave(99), short.lack()), (0, 12));
        assert_eq!((short.leave(100), short.leave(300), short.lack()), (7, 5, 0));
    }

    #[test]
    fn more_than_are_told_apart_count_as_what_they_carry_until_others_have_arrived() {
        let mut short = Short::default();
        (1..=20).for_each(|end| short.note(end, 1, 0));
        assert_eq!(short.lack(), 16);
        short.note(21, 1, 3);
        assert_eq!((short.lack(), short.leave(16), short.leave(21)), (14, 13, 1));
    }
}
