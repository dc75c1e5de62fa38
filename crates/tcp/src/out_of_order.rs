//! What has arrived beyond a hole, and what of it acknowledgements name (RFC 2018 §4).
//!
//! A host that names only so many blocks forgets the one changed longest ago for each that is new beyond these, as Linux does
//! (tcp_sack_new_ofo_skb()): what arrives beside a forgotten block is named without it. The bytes stay.

use crate::{SackBlock, Sequence};
use farhop_units::Bytes;

/// Most connections never see a hole: only those that do have lists.
#[derive(Debug)]
pub(crate) struct OutOfOrder {
    /// The place after the last that has arrived, if anything waits.
    furthest: Option<Sequence>,
    /// At most so many blocks are remembered to be named.
    remembered: usize,
    lists: Option<Box<Lists>>,
}

#[derive(Debug, Default)]
struct Lists {
    /// All that has arrived: disjoint, in no order.
    islands: Vec<SackBlock>,
    /// What is remembered to be named: disjoint, the latest changed first.
    named: Vec<SackBlock>,
}

impl OutOfOrder {
    /// Nothing waits; at most so many blocks will be remembered to be named.
    pub(crate) fn new(remembered: usize) -> Self {
        Self { furthest: None, remembered, lists: None }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.furthest.is_none()
    }

    /// The blocks to name, the latest changed first.
    pub(crate) fn named(&self) -> &[SackBlock] {
        self.lists.as_deref().map_or(&[], |lists| &lists.named)
    }

    /// Whether this has arrived before.
    pub(crate) fn contains(&self, range: &SackBlock) -> bool {
        self.lists.as_ref().is_some_and(|lists| lists.islands.iter().any(|island| island.contains(range)))
    }

    /// The place after the last that has arrived, if anything waits.
    pub(crate) fn furthest(&self) -> Option<Sequence> {
        self.furthest
    }

    /// How much waits.
    pub(crate) fn held(&self) -> Bytes {
        self.lists
            .as_deref()
            .map_or(Bytes::ZERO, |lists| lists.islands.iter().map(|island| island.end - island.start).sum())
    }

    /// A segment has come that lies beyond a hole.
    pub(crate) fn add(&mut self, segment: SackBlock) {
        self.furthest = self.furthest.max(Some(segment.end));
        let lists = self.lists.get_or_insert_default();
        join(&mut lists.islands, segment);
        join(&mut lists.named, segment);
        lists.named.truncate(self.remembered);
    }

    /// Everything before `reached` has arrived; returns up to where it has with what waited.
    pub(crate) fn take_up_to(&mut self, mut reached: Sequence) -> Sequence {
        let Some(lists) = self.lists.as_deref_mut().filter(|_| self.furthest.is_some()) else { return reached };
        while let Some(index) = lists.islands.iter().position(|island| island.start <= reached) {
            reached = reached.max(lists.islands.swap_remove(index).end);
        }
        lists.named.retain(|block| block.start > reached);
        self.furthest.take_if(|furthest| *furthest <= reached);
        reached
    }
}

/// Puts a block first, together with all those that it touches.
fn join(blocks: &mut Vec<SackBlock>, mut new: SackBlock) {
    blocks.retain(|block| {
        let is_apart = block.end < new.start || new.end < block.start;
        if !is_apart {
            new = SackBlock { start: new.start.min(block.start), end: new.end.max(block.end) };
        }
        is_apart
    });
    blocks.insert(0, new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_units::Bytes;

    fn block(start: u64, end: u64) -> SackBlock {
        let [start, end] = [start, end].map(|place| Sequence::FIRST_BYTE + Bytes::new(place));
        SackBlock { start, end }
    }

    fn filled(remembered: usize) -> OutOfOrder {
        let mut waiting = OutOfOrder::new(remembered);
        [10, 30, 50, 70, 90].into_iter().for_each(|start| waiting.add(block(start, start + 10)));
        waiting
    }

    #[test]
    fn a_fifth_block_makes_a_host_forget_the_one_changed_longest_ago() {
        let mut waiting = filled(4);
        assert_eq!(waiting.named(), [block(90, 100), block(70, 80), block(50, 60), block(30, 40)]);
        // Beside the forgotten one: a block of its own, and another is forgotten.
        waiting.add(block(20, 25));
        assert_eq!(waiting.named(), [block(20, 25), block(90, 100), block(70, 80), block(50, 60)]);
        // Between two that are remembered: both, and room for a fourth.
        waiting.add(block(60, 70));
        assert_eq!(waiting.named(), [block(50, 80), block(20, 25), block(90, 100)]);
        assert!(waiting.contains(&block(10, 25)) && waiting.contains(&block(30, 40)), "what is forgotten has arrived");
    }

    #[test]
    fn who_remembers_all_names_what_has_arrived_whole() {
        let mut waiting = filled(usize::MAX);
        waiting.add(block(20, 25));
        assert_eq!(waiting.named()[..2], [block(10, 25), block(90, 100)]);
    }

    #[test]
    fn what_is_in_order_now_takes_along_what_it_reaches() {
        let mut waiting = filled(4);
        assert_eq!(waiting.take_up_to(block(10, 10).end), block(20, 20).end);
        assert_eq!(waiting.named().len(), 4, "the first was forgotten");
        assert_eq!(waiting.take_up_to(block(30, 51).end), block(60, 60).end);
        assert_eq!(waiting.named(), [block(90, 100), block(70, 80)]);
        assert_eq!(waiting.furthest(), Some(block(90, 100).end));
        waiting.take_up_to(block(0, 100).end);
        assert!(waiting.is_empty() && waiting.named().is_empty() && waiting.furthest().is_none());
    }
}
