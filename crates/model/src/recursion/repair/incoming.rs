//! What has arrived beyond a hole, and what that makes of what arrives next.

use farhop_scenario::MOST_SACK_BLOCKS;

/// A receiver's account of what did not come in order.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// Ranges beyond what has arrived in order, ascending and apart.
    islands: Vec<(u64, u64)>,
    /// The last transmission that arrived.
    heard: u32,
    /// What was known has arrived again, and was not told yet (RFC 2883).
    twice: bool,
}

/// What a SACK option takes (RFC 2018 §3), and each of its blocks.
const OPTION: (u64, u64) = (4, 8);

/// What a segment brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Brought {
    /// Bytes newly in order.
    pub(super) bytes: u64,
    /// It must be acknowledged at once: out of order, filling a hole, or known already (RFC 5681 §4.2).
    pub(super) at_once: bool,
}

impl Incoming {
    pub(super) fn heard(&self) -> u32 {
        self.heard
    }

    /// Transmission `order` of the segment from `start` to `end` arrived, with all before `expected` there.
    pub(super) fn take_in(&mut self, (start, end): (u64, u64), order: u32, expected: u64) -> Brought {
        self.heard = order;
        self.twice |= start < expected || self.islands.iter().any(|island| island.0 <= start && end <= island.1);
        if start > expected {
            self.add((start, end));
            return Brought { bytes: 0, at_once: true };
        }
        let filling = !self.islands.is_empty();
        let mut reached = end.max(expected);
        let joined = self.islands.iter().take_while(|island| {
            let joins = island.0 <= reached;
            reached = if joins { reached.max(island.1) } else { reached };
            joins
        });
        let count = joined.count();
        self.islands.drain(..count);
        let bytes = reached - expected;
        Brought { bytes, at_once: filling || bytes == 0 }
    }

    /// What selective acknowledgements add to the packet that leaves now.
    pub(super) fn option_bytes(&mut self) -> u64 {
        let blocks =
            (u64::from(core::mem::take(&mut self.twice)) + self.islands.len() as u64).min(MOST_SACK_BLOCKS as u64);
        if blocks > 0 { OPTION.0 + OPTION.1 * blocks } else { 0 }
    }

    fn add(&mut self, new: (u64, u64)) {
        match self.islands.last_mut() {
            Some(last) if last.1 == new.0 => last.1 = new.1,
            Some(last) if last.1 > new.0 => self.insert(new),
            _ => self.islands.push(new),
        }
    }

    /// A repetition between or within what has arrived.
    fn insert(&mut self, mut new: (u64, u64)) {
        self.islands.retain(|island| {
            let apart = island.1 < new.0 || new.1 < island.0;
            if !apart {
                new = (new.0.min(island.0), new.1.max(island.1));
            }
            apart
        });
        let place = self.islands.partition_point(|island| island.0 < new.0);
        self.islands.insert(place, new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_a_hole_counts_once_it_is_filled() {
        let mut incoming = Incoming::default();
        let mut expected = 0;
        let mut bytes = |start: u64, end: u64, order: u32| {
            let brought = incoming.take_in((start, end), order, expected);
            expected += brought.bytes;
            (brought.bytes, brought.at_once)
        };
        assert_eq!(bytes(0, 10, 1), (10, false));
        assert_eq!(bytes(20, 30, 2), (0, true));
        assert_eq!(bytes(30, 40, 3), (0, true));
        assert_eq!(bytes(50, 60, 4), (0, true));
        assert_eq!(bytes(20, 30, 5), (0, true), "known");
        assert_eq!(bytes(10, 20, 6), (30, true));
        assert_eq!(bytes(10, 20, 7), (0, true), "known");
        assert_eq!(bytes(40, 50, 8), (20, true));
        assert_eq!(bytes(60, 70, 9), (10, false));
        assert_eq!(incoming.heard(), 9);
    }

    #[test]
    fn what_is_told_selectively_takes_room_in_packets() {
        let mut incoming = Incoming::default();
        let mut after = |start: u64, end: u64| {
            incoming.take_in((start, end), 1, 10);
            (incoming.option_bytes(), incoming.option_bytes())
        };
        assert_eq!([after(20, 30), after(40, 50)], [(12, 12), (20, 20)]);
        assert_eq!([after(0, 10), after(40, 50)], [(28, 20); 2], "what has come twice is told once");
        assert_eq!([after(60, 70), after(80, 90)], [(28, 28); 2], "there is room for three");
    }
}
