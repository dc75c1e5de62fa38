//! How many packets of the host's memory hold what is on the way: batches, as far as losses have left them whole. What arrives beyond a
//! hole is cut off and joins what arrived before it, what is sent again is cut off too (tcp_fragment(), tcp_shift_skb_data()).

use super::{Board, Fate};
use crate::recursion::ticks::Ticks;

impl Board {
    pub(in crate::recursion::repair) fn packets(&self) -> u64 {
        self.packet_ends + u64::from(self.segments.back().is_some_and(|last| !last.ends_packet))
    }

    /// What leaves next is in another packet.
    pub(in crate::recursion::repair) fn end_packet(&mut self) {
        if let Some(last) = self.segments.len().checked_sub(1) {
            self.divide(last, true);
        }
    }

    /// How many segments of the first lost one's packet are lost, from that one on and at most so many.
    pub(in crate::recursion::repair) fn lost_of_packet(&mut self, most: u64) -> u64 {
        if self.next_lost().is_none() {
            return 0;
        }
        let mut lost = 0;
        for segment in self.segments.range(self.index(self.lost_from)..) {
            if segment.fate != Fate::Lost || lost == most {
                break;
            }
            lost += 1;
            if segment.ends_packet {
                break;
            }
        }
        lost
    }

    /// This segment has arrived beyond a hole.
    pub(super) fn join(&mut self, index: usize) {
        let has_arrived = |index: usize| self.segments.get(index).is_some_and(|segment| segment.fate == Fate::Arrived);
        let joins = index > 0 && has_arrived(index - 1);
        let closes_a_hole = joins && has_arrived(index + 1);
        if index > 0 {
            self.divide(index - 1, !joins);
        }
        self.divide(index, !closes_a_hole);
    }

    /// This segment is sent again, with the one before it if that has just been, too.
    pub(super) fn cut_off(&mut self, index: usize, now: Ticks) {
        if index > 0 {
            let before = &self.segments[index - 1];
            let together = before.again && before.at == now && !before.ends_packet;
            self.divide(index - 1, !together);
        }
    }

    pub(super) fn divide(&mut self, index: usize, ends: bool) {
        let segment = &mut self.segments[index];
        self.packet_ends = self.packet_ends + u64::from(ends) - u64::from(segment.ends_packet);
        segment.ends_packet = ends;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Evidence;
    use super::*;

    const MSS: u64 = 1000;

    /// Three batches of four segments; of the first the second is dropped, of the last the first two.
    fn batches() -> Board {
        let mut board = Board::new(None);
        for n in 0..12 {
            if n % 4 == 0 {
                board.end_packet();
            }
            board.push(Ticks::ZERO, (n * MSS, (n + 1) * MSS), false);
            if [1, 8, 9].contains(&n) {
                board.drop_last();
            }
        }
        board
    }

    #[test]
    fn what_was_lost_of_one_packet_leaves_together() {
        let mut board = batches();
        assert_eq!(board.lost_of_packet(9), 0);
        board.lose_all(Ticks::from_millis(1), false);
        let mut repeated = Vec::new();
        loop {
            let together = board.lost_of_packet(3);
            if together == 0 {
                break;
            }
            repeated.push(together);
            (0..together).for_each(|_| _ = board.repeat(Ticks::from_millis(2), false));
        }
        assert_eq!(repeated, [3, 1, 3, 1, 3, 1], "of four at most three");
    }

    #[test]
    fn what_arrives_beyond_a_hole_is_one_packet() {
        let mut board = batches();
        let mut after = |heard: u64| {
            board.acknowledge((Ticks::from_millis(100), Evidence::default()), (MSS, heard), 0);
            board.packets()
        };
        // Segment 0 is acknowledged, 1 is missing, 2 between it and 3 of the same batch; 3; half of the second batch, all of it; and so with
        // 10 and 11, behind two that are missing.
        assert_eq!([1, 2, 3, 4, 6, 8, 11, 12].map(&mut after), [3, 3, 5, 4, 4, 3, 5, 4]);
    }

    #[test]
    fn what_is_sent_again_at_another_time_is_another_packet() {
        let mut board = batches();
        let (sent, later) = (Ticks::from_millis(100), Ticks::from_millis(101));
        board.acknowledge((sent, Evidence::default()), (MSS, 12), 0);
        board.lose_overtaken(sent, Ticks::ZERO);
        let mut after = |now: Ticks| {
            board.repeat(now, false);
            board.packets()
        };
        assert_eq!([after(sent), after(sent), after(later)], [4, 4, 5]);
    }
}
