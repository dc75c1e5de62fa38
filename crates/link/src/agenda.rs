//! Which of many paths has something to do next.
//!
//! A tournament tree: every inner node holds the winner of its two children, so that the next one is known at once and a
//! change costs one comparison per level. With two paths that is one comparison, with 10,000 fourteen.

use crate::path::Due;
use farhop_units::Instant;

/// When each of a fixed number of entries is due.
#[derive(Debug)]
pub(crate) struct Agenda {
    due: Vec<Due>,
    /// `winners[1]` is the root; the children of node n are 2n and 2n+1; leaves are not stored.
    winners: Vec<u32>,
    leaves: usize,
}

/// Due after everything else: never.
const NEVER: Due = (Instant::from_nanos(u64::MAX), u64::MAX);

impl Agenda {
    /// So many entries, none of them due.
    pub(crate) fn new(entries: usize) -> Self {
        let leaves = entries.next_power_of_two().max(2);
        let mut agenda = Self { due: vec![NEVER; leaves], winners: vec![0; leaves], leaves };
        for node in (1..leaves).rev() {
            agenda.winners[node] = agenda.winner(node);
        }
        agenda
    }

    /// Notes when `entry` is due from now on.
    pub(crate) fn set(&mut self, entry: usize, due: Option<Due>) {
        let due = due.unwrap_or(NEVER);
        if self.due[entry] == due {
            return;
        }
        self.due[entry] = due;
        let mut node = (self.leaves + entry) / 2;
        while node > 0 {
            self.winners[node] = self.winner(node);
            node /= 2;
        }
    }

    /// The entry that is due first, and when.
    pub(crate) fn first(&self) -> Option<(Due, usize)> {
        let entry = self.winners[1] as usize;
        let due = self.due[entry];
        (due != NEVER).then_some((due, entry))
    }

    /// The earlier of a node's children.
    fn winner(&self, node: usize) -> u32 {
        let [left, right] = [self.champion(2 * node), self.champion(2 * node + 1)];
        if self.due[right as usize] < self.due[left as usize] { right } else { left }
    }

    /// The winner below a node or leaf.
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer entries than 2³²")]
    fn champion(&self, node: usize) -> u32 {
        if node < self.leaves { self.winners[node] } else { (node - self.leaves) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest(changes in proptest::collection::vec((0_usize..7, proptest::option::of((0_u64..20, 0_u64..3))), 1..60)) {
            let mut agenda = Agenda::new(7);
            let mut due = [None; 7];
            for (entry, at) in changes {
                due[entry] = at.map(|(nanos, number)| (Instant::from_nanos(nanos), number));
                agenda.set(entry, due[entry]);
                let earliest = due.iter().flatten().min();
                prop_assert_eq!(agenda.first().map(|(at, _)| at), earliest.copied());
                if let Some((at, entry)) = agenda.first() {
                    prop_assert_eq!(due[entry], Some(at));
                }
            }
        }
    }
}
