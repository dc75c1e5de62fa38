//! Selective acknowledgements as a segment carries them (RFC 2018 §3; RFC 2883: D-SACK).
//!
//! Beside the timestamps option there is room for three blocks. They are kept relative to the acknowledgement of the segment that
//! carries them, so that they fit into it. Left out: blocks 2 GiB and more away from it, which no window reaches.

use crate::Sequence;
use farhop_units::Bytes;

/// Most blocks a SACK option holds next to timestamps (RFC 2018 §3).
pub const MOST_SACK_BLOCKS: usize = 3;

/// A range that has arrived beyond the acknowledgement, or (D-SACK) that has arrived twice: from `start` up to but not including
/// `end` (RFC 2018 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackBlock {
    /// First number that has arrived.
    pub start: Sequence,
    /// First number after the range.
    pub end: Sequence,
}

impl SackBlock {
    /// Whether `other` lies in this block.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Distances of a block's bounds from the acknowledgement; equal ones stand for no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Offsets {
    start: i32,
    end: i32,
}

/// The blocks of one segment, at most three, in the order they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [Offsets; MOST_SACK_BLOCKS],
}

impl SackBlocks {
    /// Adds a block behind the others, if there is room and the block is neither empty nor out of reach.
    pub(crate) fn push(&mut self, base: Sequence, block: SackBlock) {
        let (Some(start), Some(end)) = (offset(base, block.start), offset(base, block.end)) else { return };
        if let Some(free) = self.blocks.iter_mut().find(|block| block.start == block.end) {
            *free = Offsets { start, end };
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.blocks.iter().take_while(|block| block.start != block.end).count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.blocks[0].start == self.blocks[0].end
    }

    /// The blocks, relative to `base`.
    pub(crate) fn iter(self, base: Sequence) -> impl Iterator<Item = SackBlock> {
        let present = self.blocks.into_iter().take_while(|block| block.start != block.end);
        present.map(move |block| SackBlock { start: place(base, block.start), end: place(base, block.end) })
    }
}

fn offset(base: Sequence, place: Sequence) -> Option<i32> {
    let (ahead, behind) = (i32::try_from((place - base).get()).ok()?, i32::try_from((base - place).get()).ok()?);
    Some(ahead - behind)
}

fn place(base: Sequence, offset: i32) -> Sequence {
    let span = Bytes::new(u64::from(offset.unsigned_abs()));
    if offset >= 0 { base + span } else { Sequence::SYN + ((base - Sequence::SYN) - span) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u64, end: u64) -> SackBlock {
        let at = |number| Sequence::SYN + Bytes::new(number);
        SackBlock { start: at(start), end: at(end) }
    }

    #[test]
    fn the_first_three_blocks_are_kept_on_both_sides_of_the_acknowledgement() {
        let base = Sequence::SYN + Bytes::kb(5_000_000);
        let far = |start: u64, end: u64| block(5_000_000_000 + start, 5_000_000_000 + end);
        let before = block(4_999_000_000, 4_999_001_448);
        let mut blocks = SackBlocks::default();
        assert!(blocks.is_empty());
        for block in [before, far(3000, 3000), far(3000, 4000), far(6000, 7000), far(8000, 9000)] {
            blocks.push(base, block);
        }
        assert_eq!(blocks.len(), 3);
        assert_eq!(blocks.iter(base).collect::<Vec<_>>(), [before, far(3000, 4000), far(6000, 7000)]);
    }

    #[test]
    fn what_is_out_of_reach_is_left_out() {
        let mut blocks = SackBlocks::default();
        blocks.push(Sequence::SYN, block(3_000_000_000, 3_000_001_000));
        assert!(blocks.is_empty());
    }
}
