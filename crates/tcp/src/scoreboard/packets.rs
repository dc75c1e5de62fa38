//! In how many packets the host's memory holds what was sent (Linux's struct sk_buff): a batch is one. An acknowledgement that names a
//! part of one cuts it (tcp_match_skb_to_sack()), what it names joins what was named before it (tcp_shift_skb_data()), and what is sent
//! again is cut off the rest (tcp_retransmit_skb()).
//!
//! Left out: the most that joins into one packet, 512 KiB.

use super::Scoreboard;
use crate::sent::Fate;
use farhop_units::Instant;

impl Scoreboard {
    /// Packets with what was sent and is not acknowledged by number.
    pub(crate) fn packets(&self) -> u64 {
        u64::from(self.packet_ends) + u64::from(self.sent.back().is_some_and(|last| !last.ends_packet))
    }

    /// What is sent next goes in another one.
    pub(crate) fn end_packet(&mut self) {
        if let Some(last) = self.sent.len().checked_sub(1) {
            self.set_end(last, true);
        }
    }

    /// How many segments of the first lost one's packet are lost, from that one on and at most so many.
    pub(crate) fn lost_of_packet(&mut self, most: u64) -> u64 {
        let Some(index) = self.first_lost() else { return 0 };
        let mut lost = 0;
        for sent in self.sent.range(index..) {
            if sent.fate != Fate::Lost || lost == most {
                break;
            }
            lost += 1;
            if sent.ends_packet {
                break;
            }
        }
        lost
    }

    /// The segment at `index` has arrived out of order.
    pub(super) fn merge(&mut self, index: usize) {
        let is_sacked = |index: usize| self.sent.get(index).is_some_and(|sent| sent.fate == Fate::Sacked);
        let before = index.checked_sub(1);
        let joins = before.is_some_and(is_sacked);
        // One that fills a hole brings both sides together; the first of its range does not join what is behind it.
        let is_joined = joins && is_sacked(index + 1);
        if let Some(before) = before {
            self.set_end(before, !joins);
        }
        self.set_end(index, !is_joined);
    }

    /// The segment at `index` is sent again. What was sent again right before it goes in the same packet, if it was in the same.
    pub(super) fn cut_off(&mut self, index: usize, now: Instant) {
        if let Some(before) = index.checked_sub(1) {
            let sent = &self.sent[before];
            let goes_along = sent.again && sent.at == now && !sent.ends_packet;
            self.set_end(before, !goes_along);
        }
    }

    pub(super) fn set_end(&mut self, index: usize, ends: bool) {
        let sent = &mut self.sent[index];
        self.packet_ends = self.packet_ends + u32::from(ends) - u32::from(sent.ends_packet);
        sent.ends_packet = ends;
    }
}
