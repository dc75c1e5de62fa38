//! What happens next: events in order of time, those of one instant in the order in which they were scheduled.

use farhop_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events to come.
#[derive(Debug)]
pub(crate) struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    scheduled: u64,
}

/// An event's place in the order; the event itself is not compared.
#[derive(Debug)]
struct Entry<E> {
    at: Instant,
    number: u64,
    event: E,
}

impl<E> EventQueue<E> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }

    pub(crate) fn push(&mut self, at: Instant, event: E) {
        self.heap.push(Reverse(Entry { at, number: self.scheduled, event }));
        self.scheduled += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<(Instant, E)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_and_ties_in_order_of_scheduling(times in prop::collection::vec(0_u64..10, 0..200)) {
            let mut queue = EventQueue::new();
            for (number, at) in times.iter().enumerate() {
                queue.push(Instant::from_nanos(*at), number);
            }
            let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(at, number)| (at.as_nanos(), number)).collect();
            let mut expected: Vec<_> = times.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            prop_assert_eq!(popped, expected);
        }
    }
}
