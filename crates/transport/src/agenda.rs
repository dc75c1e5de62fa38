//! Which of many flows has something to do next, as flows come and go.
//!
//! A binary heap in which only one entry per flow counts. A flow that is put off keeps its entry, which is corrected when it
//! surfaces: timers that are put off with every packet cost nothing.

use farhop_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    due: Option<Instant>,
    /// When the heap will ask again.
    asked: Option<Instant>,
}

/// When each flow is due.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: Vec<Entry>,
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl Agenda {
    /// Notes when flow `index` is due from now on.
    pub(crate) fn set(&mut self, index: u32, due: Option<Instant>) {
        let place = index as usize;
        if place >= self.entries.len() {
            self.entries.resize(place + 1, Entry::default());
        }
        let entry = &mut self.entries[place];
        if entry.due == due {
            return;
        }
        entry.due = due;
        if let Some(due) = due.filter(|due| entry.asked.is_none_or(|asked| *due < asked)) {
            entry.asked = Some(due);
            self.heap.push(Reverse((due, index)));
        }
        self.settle();
    }

    /// The flow that is due first, and when.
    pub(crate) fn first(&self) -> Option<(Instant, u32)> {
        self.heap.peek().map(|Reverse(first)| *first)
    }

    /// Corrects the heap's top until it is true.
    fn settle(&mut self) {
        while let Some(Reverse((at, index))) = self.heap.peek().copied() {
            let entry = &mut self.entries[index as usize];
            if entry.due == Some(at) && entry.asked == Some(at) {
                return;
            }
            self.heap.pop();
            if entry.asked == Some(at) {
                entry.asked = entry.due;
                if let Some(due) = entry.due {
                    self.heap.push(Reverse((due, index)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest(changes in prop::collection::vec((0_u32..6, prop::option::of(0_u64..20)), 1..80)) {
            let mut agenda = Agenda::default();
            let mut due = [None; 6];
            for (index, at) in changes {
                due[index as usize] = at.map(Instant::from_nanos);
                agenda.set(index, due[index as usize]);
                let earliest = due.iter().zip(0..).filter_map(|(at, index)| at.map(|at| (at, index))).min();
                prop_assert_eq!(agenda.first(), earliest);
            }
        }
    }
}
