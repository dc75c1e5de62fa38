//! A set of terminals that is asked for the next member after a given one, as a round robin does.
//!
//! A tree of bits: a word of 64 members, a bit of the level above for every word that is not empty, and so on. Insertion,
//! removal and the next member cost one word per level (three levels for 65 536 terminals), and nothing is allocated after
//! the set was made.

/// Terminals 0 to N − 1, each in or out.
#[derive(Debug, Clone)]
pub(super) struct Members {
    /// The members' words first, the single top word last.
    levels: Vec<Vec<u64>>,
}

const BITS: usize = u64::BITS as usize;

impl Members {
    /// Nobody, of `terminals`.
    pub(super) fn none(terminals: u16) -> Self {
        let mut levels = vec![vec![0; usize::from(terminals).div_ceil(BITS).max(1)]];
        while let Some(words) = levels.last().map(Vec::len).filter(|&words| words > 1) {
            levels.push(vec![0; words.div_ceil(BITS)]);
        }
        Self { levels }
    }

    /// Whether nobody is in.
    pub(super) fn is_empty(&self) -> bool {
        self.levels.last().is_none_or(|top| top[0] == 0)
    }

    /// Whether `terminal` is in.
    pub(super) fn contains(&self, terminal: u16) -> bool {
        let place = usize::from(terminal);
        self.levels[0][place / BITS] >> (place % BITS) & 1 == 1
    }

    /// Puts `terminal` in or out.
    pub(super) fn set(&mut self, terminal: u16, is_member: bool) {
        let mut place = usize::from(terminal);
        for level in &mut self.levels {
            let word = &mut level[place / BITS];
            let bit = 1 << (place % BITS);
            let was_empty = *word == 0;
            *word = if is_member { *word | bit } else { *word & !bit };
            if (*word == 0) == was_empty {
                break;
            }
            place /= BITS;
        }
    }

    /// The first member from `first` on, counting on from 0 after the last.
    pub(super) fn next_cyclic(&self, first: u32) -> Option<u16> {
        self.next(first as usize).or_else(|| self.next(0))
    }

    /// The first member from `first` on.
    pub(super) fn next(&self, first: usize) -> Option<u16> {
        let (mut place, mut level) = (first, 0);
        loop {
            let words = self.levels.get(level)?;
            let later = words.get(place / BITS).map_or(0, |word| word & (u64::MAX << (place % BITS)));
            if later != 0 {
                let found = place / BITS * BITS + later.trailing_zeros() as usize;
                return u16::try_from(self.descend(level, found)).ok();
            }
            place = place / BITS + 1;
            level += 1;
        }
    }

    /// The first member below bit `place` of `level`.
    fn descend(&self, level: usize, place: usize) -> usize {
        let below = self.levels[..level].iter().rev();
        below.fold(place, |place, words| place * BITS + words[place].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_next_member_is_that_of_a_sorted_set(
            terminals in prop::sample::select(vec![1_u16, 63, 64, 65, 4096, 4097, 10_000, 65_535]),
            changes in prop::collection::vec((any::<u16>(), any::<bool>()), 0..200),
            asked in prop::collection::vec(any::<u16>(), 1..20),
        ) {
            let (mut members, mut sorted) = (Members::none(terminals), BTreeSet::new());
            for (terminal, is_member) in changes {
                let terminal = terminal % terminals;
                members.set(terminal, is_member);
                if is_member { sorted.insert(terminal) } else { sorted.remove(&terminal) };
                prop_assert_eq!(members.contains(terminal), is_member);
            }
            prop_assert_eq!(members.is_empty(), sorted.is_empty());
            for first in asked {
                let expected = sorted.range(first..).next().or(sorted.first()).copied();
                prop_assert_eq!(members.next_cyclic(first.into()), expected);
            }
        }
    }
}
