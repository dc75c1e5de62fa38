//! Who may write next where there is room for one at a time: the connection's send buffer is filled frame by frame.
//!
//! What lies in that buffer leaves in the order of [`priority`](super::priority), whenever it came. What waits for its room must keep to the
//! same order, or what somebody asks for waits until all that is pushed has written a frame: over a slow link for long.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Writers that wait for their turn: of the highest priority first, among equals the one that came first.
#[derive(Debug)]
pub struct Turns<W> {
    waiting: BTreeMap<(Reverse<i32>, u64), W>,
    entered: u64,
}

impl<W> Default for Turns<W> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), entered: 0 }
    }
}

impl<W> Turns<W> {
    /// A writer waits, with the priority of what it writes.
    pub fn wait(&mut self, priority: i32, writer: W) {
        self.waiting.insert((Reverse(priority), self.entered), writer);
        self.entered += 1;
    }

    /// Takes out the writer whose turn it is.
    pub fn take_next(&mut self) -> Option<W> {
        self.waiting.pop_first().map(|(_, writer)| writer)
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_urgent_go_first_and_equals_in_the_order_in_which_they_came() {
        let mut turns = Turns::default();
        for (priority, writer) in [(-2, 'c'), (i32::MIN, 'd'), (0, 'a'), (0, 'b'), (i32::MIN, 'e')] {
            turns.wait(priority, writer);
        }
        assert_eq!(turns.take_next(), Some('a'));
        // Downloads share: who has written comes behind the others.
        turns.wait(i32::MIN, 'f');
        let order: Vec<char> = std::iter::from_fn(|| turns.take_next()).collect();
        assert_eq!(order, ['b', 'c', 'd', 'e', 'f']);
        assert!(turns.is_empty());
    }
}
