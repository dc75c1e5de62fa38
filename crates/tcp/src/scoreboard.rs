//! What has been sent and not yet acknowledged: each segment with its time and its fate.
//!
//! Models the sender's part of SACK (RFC 2018, RFC 6675 §4: pipe) and RACK's rule that what was sent before a delivered
//! segment, and longer than a reordering window before, is lost (RFC 8985 §6.2); how long that window is, and when to apply the
//! rule, is the sender's decision. Segments are repeated with the bounds they were first sent with. Left out: reneging, DSACK.

use crate::{SackBlock, Sequence};
use core::ops::RangeBounds;
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// On the way, as far as is known.
    InFlight,
    /// Thought lost and not sent again since.
    Lost,
    /// Arrived out of order.
    Sacked,
}

/// What one segment of the sender's stream holds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Piece {
    pub(crate) sequence: Sequence,
    pub(crate) payload: Bytes,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) push: bool,
}

impl Piece {
    pub(crate) fn end(&self) -> Sequence {
        self.sequence + self.payload + Bytes::new(u64::from(self.syn) + u64::from(self.fin))
    }
}

/// One segment as it was last sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    piece: Piece,
    at: Instant,
    again: bool,
    fate: Fate,
}

impl Sent {
    /// Order of sending; segments of one instant were sent in the order of their numbers.
    fn order(&self) -> (Instant, Sequence) {
        (self.at, self.piece.end())
    }
}

/// What an acknowledgement newly covered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Covered {
    pub(crate) bytes: Bytes,
    pub(crate) segments: u64,
    /// Age of the oldest and of the latest segment covered that were sent once (RFC 6298 §3).
    pub(crate) first_rtt: Option<Duration>,
    pub(crate) last_rtt: Option<Duration>,
}

impl Covered {
    fn time(&mut self, now: Instant, sent: &Sent) {
        if !sent.again {
            let rtt = now.since(sent.at);
            self.first_rtt = self.first_rtt.or(Some(rtt));
            self.last_rtt = Some(rtt);
        }
    }
}

/// Segments sent and not yet acknowledged, in order.
#[derive(Debug, Clone)]
pub(crate) struct Scoreboard {
    sent: VecDeque<Sent>,
    in_flight: Bytes,
    lost: usize,
    sacked: usize,
    /// The latest segment known to have arrived, in the order of sending.
    delivered: Option<Delivery>,
    least_rtt: Duration,
    /// The furthest number known to have arrived, and whether anything before it came later without being repeated.
    furthest: Sequence,
    reordered: bool,
}

/// A segment that arrived (RFC 8985 §5.2: RACK.xmit_ts, RACK.end_seq, RACK.rtt).
#[derive(Debug, Clone, Copy)]
struct Delivery {
    order: (Instant, Sequence),
    rtt: Duration,
}

/// What applying RACK's rule found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Overtaken {
    /// Something is newly lost.
    pub(crate) lost: bool,
    /// When the next segment will be lost if it has not arrived by then.
    pub(crate) pending: Option<Instant>,
}

impl Scoreboard {
    pub(crate) fn new() -> Self {
        let sent = VecDeque::new();
        Self {
            sent,
            in_flight: Bytes::ZERO,
            lost: 0,
            sacked: 0,
            delivered: None,
            least_rtt: Duration::MAX,
            furthest: Sequence::SYN,
            reordered: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Segments not yet acknowledged by number.
    pub(crate) fn segments(&self) -> usize {
        self.sent.len()
    }

    /// Bytes on the way: sent, not acknowledged in any form, not thought lost.
    pub(crate) fn in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// Segments that arrived out of order.
    pub(crate) fn sacked(&self) -> usize {
        self.sacked
    }

    pub(crate) fn push(&mut self, at: Instant, piece: Piece) {
        self.in_flight += piece.payload;
        self.sent.push_back(Sent { piece, at, again: false, fate: Fate::InFlight });
    }

    /// Removes what `acknowledgment` covers.
    pub(crate) fn acknowledge(&mut self, now: Instant, acknowledgment: Sequence) -> Covered {
        let mut covered = Covered::default();
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.piece.end() <= acknowledgment) {
            match sent.fate {
                Fate::InFlight => self.in_flight -= sent.piece.payload,
                Fate::Lost => self.lost -= 1,
                Fate::Sacked => self.sacked -= 1,
            }
            covered.bytes += sent.piece.payload;
            covered.segments += 1;
            if sent.fate != Fate::Sacked {
                covered.time(now, &sent);
                self.note_delivery(now, &sent);
            }
        }
        self.least_rtt = covered.last_rtt.map_or(self.least_rtt, |rtt| rtt.min(self.least_rtt));
        covered
    }

    /// RFC 8985 §6.2 steps 2 and 3. What was sent again and answered faster than any round trip was delivered the first time.
    fn note_delivery(&mut self, now: Instant, sent: &Sent) {
        let (order, rtt) = (sent.order(), now.since(sent.at));
        self.reordered |= !sent.again && sent.piece.end() < self.furthest;
        self.furthest = self.furthest.max(sent.piece.end());
        let is_later = self.delivered.is_none_or(|delivered| order > delivered.order);
        if is_later && (!sent.again || rtt >= self.least_rtt) {
            self.delivered = Some(Delivery { order, rtt });
        }
    }

    /// Notes what arrived out of order.
    pub(crate) fn select(&mut self, now: Instant, blocks: &[SackBlock]) {
        for block in blocks {
            let first = self.sent.partition_point(|sent| sent.piece.sequence < block.start);
            let end = self.sent.partition_point(|sent| sent.piece.end() <= block.end);
            (first..end).for_each(|index| self.select_one(now, index));
        }
    }

    fn select_one(&mut self, now: Instant, index: usize) {
        let sent = self.sent[index];
        match sent.fate {
            Fate::Sacked => return,
            Fate::InFlight => self.in_flight -= sent.piece.payload,
            Fate::Lost => self.lost -= 1,
        }
        self.sent[index].fate = Fate::Sacked;
        self.sacked += 1;
        self.note_delivery(now, &sent);
    }

    /// Whether segments have been seen to overtake each other.
    pub(crate) fn is_reordered(&self) -> bool {
        self.reordered
    }

    /// RFC 8985 §6.2 step 5: what was sent before the latest delivered segment is lost once it is `window` later than that.
    pub(crate) fn lose_overtaken(&mut self, now: Instant, window: Duration) -> Overtaken {
        let Some(delivered) = self.delivered else { return Overtaken::default() };
        let patience = delivered.rtt + window;
        let lost = self.lose(.., |sent| sent.order() < delivered.order && sent.at + patience <= now);
        let suspects = self.sent.iter().filter(|sent| sent.fate == Fate::InFlight && sent.order() < delivered.order);
        Overtaken { lost, pending: suspects.map(|sent| sent.at + patience).min() }
    }

    /// The first segment is lost.
    pub(crate) fn lose_first(&mut self) {
        self.lose(..self.sent.len().min(1), |_| true);
    }

    /// The last segment is to be sent again as a probe.
    pub(crate) fn lose_last(&mut self) {
        self.lose(self.sent.len().saturating_sub(1).., |_| true);
    }

    /// RFC 6298 §5.4: after a timeout everything not selectively acknowledged counts as lost, but for what was sent less than a
    /// round trip ago (RFC 8985 §6.3).
    pub(crate) fn lose_all(&mut self, now: Instant) {
        self.lose_first();
        let patience = self.delivered.map_or(Duration::ZERO, |delivered| delivered.rtt);
        self.lose(.., |sent| sent.at + patience <= now);
    }

    /// Marks what is lost of the segments at these places; whether there was any.
    fn lose(&mut self, among: impl RangeBounds<usize>, is_lost: impl Fn(&Sent) -> bool) -> bool {
        let before = self.lost;
        for sent in self.sent.range_mut(among).filter(|sent| sent.fate == Fate::InFlight) {
            if is_lost(sent) {
                sent.fate = Fate::Lost;
                self.in_flight -= sent.piece.payload;
                self.lost += 1;
            }
        }
        self.lost > before
    }

    /// Size of the first lost segment, if one is to be sent again.
    pub(crate) fn next_lost(&self) -> Option<Bytes> {
        if self.lost == 0 {
            return None;
        }
        self.sent.iter().find(|sent| sent.fate == Fate::Lost).map(|sent| sent.piece.payload)
    }

    /// Sends the first lost segment again.
    pub(crate) fn repeat(&mut self, now: Instant) -> Option<Piece> {
        let sent = self.sent.iter_mut().find(|sent| sent.fate == Fate::Lost)?;
        sent.fate = Fate::InFlight;
        sent.at = now;
        sent.again = true;
        self.lost -= 1;
        self.in_flight += sent.piece.payload;
        Some(sent.piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn number(segments: u64) -> Sequence {
        Sequence::FIRST_BYTE + MSS * segments
    }

    fn piece(segment: u64) -> Piece {
        Piece { sequence: number(segment), payload: MSS, ..Piece::default() }
    }

    fn block(start: u64, end: u64) -> SackBlock {
        SackBlock { start: number(start), end: number(end) }
    }

    fn sent(count: u64) -> Scoreboard {
        let mut board = Scoreboard::new();
        (0..count).for_each(|n| board.push(at(n), piece(n)));
        board
    }

    /// Applies the rule without a reordering window.
    fn lose(board: &mut Scoreboard) -> bool {
        board.lose_overtaken(at(1000), Duration::ZERO).lost
    }

    #[test]
    fn an_acknowledgement_gives_the_ages_of_what_it_covers() {
        let mut board = sent(4);
        let covered = board.acknowledge(at(100), number(3));
        assert_eq!((covered.bytes, covered.segments), (MSS * 3, 3));
        assert_eq!(covered.first_rtt, Some(Duration::from_millis(100)));
        assert_eq!(covered.last_rtt, Some(Duration::from_millis(98)));
        assert_eq!(board.in_flight(), MSS);
    }

    #[test]
    fn the_first_and_the_last_are_lost_alone() {
        let mut board = sent(3);
        board.lose_first();
        board.lose_last();
        assert_eq!(board.in_flight(), MSS, "the one between is not");
        let repeated: Vec<_> = std::iter::from_fn(|| board.repeat(at(50))).map(|piece| piece.sequence).collect();
        assert_eq!(repeated, [number(0), number(2)]);
        let mut empty = Scoreboard::new();
        empty.lose_first();
        empty.lose_last();
        assert_eq!(empty.next_lost(), None);
    }

    #[test]
    fn what_was_overtaken_is_lost_and_repeated_once() {
        let mut board = sent(6);
        board.select(at(40), &[block(3, 5)]);
        assert_eq!((board.in_flight(), board.sacked()), (MSS * 4, 2));
        assert!(lose(&mut board));
        assert_eq!(board.in_flight(), MSS, "only the last is still on the way");
        let repeated: Vec<_> = std::iter::from_fn(|| board.repeat(at(50))).map(|piece| piece.sequence).collect();
        assert_eq!(repeated, [number(0), number(1), number(2)]);
        assert!(!lose(&mut board), "sent again after the latest delivered one");
        board.select(at(60), &[block(5, 6)]);
        assert!(!lose(&mut board), "the last was first sent before the repeats");
        let covered = board.acknowledge(at(99), number(6));
        assert_eq!((covered.first_rtt, covered.segments), (None, 6), "repeats and earlier arrivals give no sample");
        assert_eq!(board.in_flight(), Bytes::ZERO);
    }

    #[test]
    fn a_lost_repeat_is_found_when_a_later_segment_arrives() {
        let mut board = sent(4);
        board.select(at(40), &[block(1, 4)]);
        lose(&mut board);
        board.repeat(at(50));
        board.push(at(51), piece(4));
        board.select(at(90), &[block(4, 5)]);
        assert!(lose(&mut board));
        assert_eq!(board.repeat(at(100)).map(|piece| piece.sequence), Some(number(0)));
    }

    #[test]
    fn what_was_overtaken_lately_is_lost_after_the_window() {
        let mut board = sent(2);
        board.select(at(101), &[block(1, 2)]);
        let waiting = board.lose_overtaken(at(101), Duration::from_millis(25));
        assert_eq!(waiting, Overtaken { lost: false, pending: Some(at(125)) });
        assert!(board.lose_overtaken(at(125), Duration::from_millis(25)).lost);
    }

    #[test]
    fn a_late_segment_is_reordering_unless_it_was_repeated() {
        let mut board = sent(3);
        board.select(at(100), &[block(2, 3)]);
        assert!(!board.is_reordered());
        board.lose_first();
        board.repeat(at(101));
        board.acknowledge(at(200), number(1));
        assert!(!board.is_reordered());
        board.acknowledge(at(200), number(3));
        assert!(board.is_reordered());
    }
}
