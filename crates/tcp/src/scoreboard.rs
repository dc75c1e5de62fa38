//! What has been sent and not yet acknowledged: each segment with its time and its fate.
//!
//! Models the sender's part of SACK (RFC 2018, RFC 6675 §4: pipe) and RACK's rule that what was sent before a delivered
//! segment, and longer than a reordering window before, is lost (RFC 8985 §6.2); how long that window is, and when to apply the
//! rule, is the sender's decision. Segments are repeated with the bounds they were first sent with. Left out: reneging, DSACK.
//!
//! Segments are numbered as they are first sent, which is the order of their sequence numbers. What looks for something begins
//! where the last look ended, so that the work per acknowledgement does not grow with the window.

use crate::sack::MOST_BLOCKS;
use crate::sent::{Covered, Fate, Piece, Sent};
use crate::{SackBlock, Sequence};
use core::ops::Range;
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// Segments sent and not yet acknowledged, in order.
#[derive(Debug, Clone)]
pub(crate) struct Scoreboard {
    sent: VecDeque<Sent>,
    /// The number of the first of them.
    first: u64,
    in_flight: Bytes,
    lost: usize,
    sacked: usize,
    /// No segment before this one is lost.
    lost_from: u64,
    /// The ranges that the last acknowledgement named.
    named: [Option<SackBlock>; MOST_BLOCKS],
    /// The latest segment known to have arrived, in the order of sending.
    delivered: Option<Delivery>,
    /// RACK has judged every segment before this one as it was first sent.
    judged: u64,
    /// What was sent again, in the order of sending; entries that no longer hold are skipped.
    repeats: VecDeque<Repeat>,
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

/// A segment was sent again.
#[derive(Debug, Clone, Copy)]
struct Repeat {
    number: u64,
    at: Instant,
}

/// What applying RACK's rule found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Overtaken {
    /// Something is newly lost.
    pub(crate) lost: bool,
    /// When all that was overtaken will be lost, if it has not arrived by then.
    pub(crate) pending: Option<Instant>,
}

impl Scoreboard {
    pub(crate) fn new() -> Self {
        Self {
            sent: VecDeque::new(),
            first: 0,
            in_flight: Bytes::ZERO,
            lost: 0,
            sacked: 0,
            lost_from: 0,
            named: [None; MOST_BLOCKS],
            delivered: None,
            judged: 0,
            repeats: VecDeque::new(),
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
        let (mut first_sent, mut last_sent) = (None, None);
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.piece.end() <= acknowledgment) {
            self.first += 1;
            match sent.fate {
                Fate::InFlight => self.in_flight -= sent.piece.payload,
                Fate::Lost => self.lost -= 1,
                Fate::Sacked => self.sacked -= 1,
            }
            covered.bytes += sent.piece.payload;
            covered.segments += 1;
            if sent.fate == Fate::Sacked {
                continue;
            }
            if !sent.again {
                first_sent = first_sent.or(Some(sent.at));
                last_sent = Some(sent.at);
            }
            self.note_delivery(now, &sent);
        }
        self.forget_repeats();
        covered.first_rtt = first_sent.map(|at| now.since(at));
        covered.last_rtt = last_sent.map(|at| now.since(at));
        self.least_rtt = covered.last_rtt.map_or(self.least_rtt, |rtt| rtt.min(self.least_rtt));
        covered
    }

    /// RFC 8985 §6.2 steps 2 and 3. What was sent again and answered faster than any round trip was delivered the first time.
    fn note_delivery(&mut self, now: Instant, sent: &Sent) {
        let (order, end) = (sent.order(), sent.piece.end());
        self.reordered |= !sent.again && end < self.furthest;
        self.furthest = self.furthest.max(end);
        let is_later = self.delivered.is_none_or(|delivered| order > delivered.order);
        if is_later {
            let rtt = now.since(sent.at);
            if !sent.again || rtt >= self.least_rtt {
                self.delivered = Some(Delivery { order, rtt });
            }
        }
    }

    /// Notes what arrived out of order. What the acknowledgement before has named already is passed over.
    pub(crate) fn select(&mut self, now: Instant, blocks: impl Iterator<Item = SackBlock>) {
        let mut named = [None; MOST_BLOCKS];
        for (place, block) in named.iter_mut().zip(blocks) {
            *place = Some(block);
            match self.named.into_iter().flatten().find(|known| block.contains(known)) {
                Some(known) => {
                    self.select_range(now, self.starting_at(block.start)..self.starting_at(known.start));
                    // A segment that reaches over the end of the known range was not in it.
                    self.select_range(now, self.ending_beyond(known.end)..self.ending_beyond(block.end));
                }
                None => self.select_range(now, self.starting_at(block.start)..self.ending_beyond(block.end)),
            }
        }
        self.named = named;
    }

    /// The place of the first segment that starts at `bound` or later.
    fn starting_at(&self, bound: Sequence) -> usize {
        self.sent.partition_point(|sent| sent.piece.sequence < bound)
    }

    /// The place of the first segment that ends later than `bound`.
    fn ending_beyond(&self, bound: Sequence) -> usize {
        self.sent.partition_point(|sent| sent.piece.end() <= bound)
    }

    fn select_range(&mut self, now: Instant, range: Range<usize>) {
        range.for_each(|index| self.select_one(now, index));
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
        let (before, patience) = (self.lost, delivered.rtt + window);
        let originals_wait = self.lose_overtaken_originals(now, delivered.order, patience);
        let repeats_wait = self.lose_overtaken_repeats(now, delivered.order, patience);
        let pending = (originals_wait || repeats_wait).then(|| delivered.order.0 + patience);
        Overtaken { lost: self.lost > before, pending }
    }

    /// Of what was sent once: whether anything overtaken still has time.
    fn lose_overtaken_originals(&mut self, now: Instant, latest: (Instant, Sequence), patience: Duration) -> bool {
        let mut index = self.index(self.judged);
        let waits = loop {
            let Some(sent) = self.sent.get(index) else { break false };
            if sent.fate == Fate::InFlight && !sent.again {
                let overtaken = sent.order() < latest;
                if !overtaken || sent.at + patience > now {
                    break overtaken;
                }
                self.lose(index);
            }
            index += 1;
        };
        self.judged = self.first + index as u64;
        waits
    }

    /// The same of what was sent again.
    fn lose_overtaken_repeats(&mut self, now: Instant, latest: (Instant, Sequence), patience: Duration) -> bool {
        while let Some(repeat) = self.repeats.front().copied() {
            if let Some(index) = self.repeated(repeat) {
                let overtaken = self.sent[index].order() < latest;
                if !overtaken || repeat.at + patience > now {
                    return overtaken;
                }
                self.lose(index);
            }
            self.repeats.pop_front();
        }
        false
    }

    /// Where the segment of `repeat` is, if that is how it was last sent and it is still on the way.
    fn repeated(&self, repeat: Repeat) -> Option<usize> {
        let index = usize::try_from(repeat.number.checked_sub(self.first)?).ok()?;
        let sent = self.sent.get(index)?;
        (sent.fate == Fate::InFlight && sent.again && sent.at == repeat.at).then_some(index)
    }

    fn forget_repeats(&mut self) {
        while self.repeats.front().is_some_and(|repeat| self.repeated(*repeat).is_none()) {
            self.repeats.pop_front();
        }
    }

    /// Where segment `number` is, or the first one if it has been acknowledged.
    fn index(&self, number: u64) -> usize {
        usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// The first segment is lost.
    pub(crate) fn lose_first(&mut self) {
        self.lose_some(0..self.sent.len().min(1), |_| true);
    }

    /// The last segment is to be sent again as a probe.
    pub(crate) fn lose_last(&mut self) {
        self.lose_some(self.sent.len().saturating_sub(1)..self.sent.len(), |_| true);
    }

    /// RFC 6298 §5.4: after a timeout everything not selectively acknowledged counts as lost, but for what was sent less than a
    /// round trip ago (RFC 8985 §6.3).
    pub(crate) fn lose_all(&mut self, now: Instant) {
        self.lose_first();
        let patience = self.delivered.map_or(Duration::ZERO, |delivered| delivered.rtt);
        self.lose_some(0..self.sent.len(), |sent| sent.at + patience <= now);
    }

    fn lose_some(&mut self, among: Range<usize>, is_lost: impl Fn(&Sent) -> bool) {
        for index in among {
            if self.sent[index].fate == Fate::InFlight && is_lost(&self.sent[index]) {
                self.lose(index);
            }
        }
    }

    /// A segment on the way is lost.
    fn lose(&mut self, index: usize) {
        let sent = &mut self.sent[index];
        sent.fate = Fate::Lost;
        self.in_flight -= sent.piece.payload;
        self.lost += 1;
        self.lost_from = self.lost_from.min(self.first + index as u64);
    }

    /// Where the first lost segment is.
    fn first_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let from = self.index(self.lost_from);
        let index = from + self.sent.range(from..).position(|sent| sent.fate == Fate::Lost)?;
        self.lost_from = self.first + index as u64;
        Some(index)
    }

    /// Size of the first lost segment, if one is to be sent again.
    pub(crate) fn next_lost(&mut self) -> Option<Bytes> {
        self.first_lost().map(|index| self.sent[index].piece.payload)
    }

    /// Sends the first lost segment again.
    pub(crate) fn repeat(&mut self, now: Instant) -> Option<Piece> {
        let index = self.first_lost()?;
        let number = self.first + index as u64;
        let sent = &mut self.sent[index];
        (sent.fate, sent.at, sent.again) = (Fate::InFlight, now, true);
        self.lost -= 1;
        // What lies before is not lost.
        self.lost_from = number + 1;
        self.in_flight += sent.piece.payload;
        self.repeats.push_back(Repeat { number, at: now });
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
        board.select(at(40), [block(3, 5)].into_iter());
        assert_eq!((board.in_flight(), board.sacked()), (MSS * 4, 2));
        assert!(lose(&mut board));
        assert_eq!(board.in_flight(), MSS, "only the last is still on the way");
        let repeated: Vec<_> = std::iter::from_fn(|| board.repeat(at(50))).map(|piece| piece.sequence).collect();
        assert_eq!(repeated, [number(0), number(1), number(2)]);
        assert!(!lose(&mut board), "sent again after the latest delivered one");
        board.select(at(60), [block(5, 6)].into_iter());
        assert!(!lose(&mut board), "the last was first sent before the repeats");
        let covered = board.acknowledge(at(99), number(6));
        assert_eq!((covered.first_rtt, covered.segments), (None, 6), "repeats and earlier arrivals give no sample");
        assert_eq!(board.in_flight(), Bytes::ZERO);
    }

    #[test]
    fn a_lost_repeat_is_found_when_a_later_segment_arrives() {
        let mut board = sent(4);
        board.select(at(40), [block(1, 4)].into_iter());
        lose(&mut board);
        board.repeat(at(50));
        board.push(at(51), piece(4));
        board.select(at(90), [block(4, 5)].into_iter());
        assert!(lose(&mut board));
        assert_eq!(board.repeat(at(100)).map(|piece| piece.sequence), Some(number(0)));
    }

    #[test]
    fn what_was_overtaken_lately_is_lost_after_the_window() {
        let mut board = sent(2);
        board.select(at(101), [block(1, 2)].into_iter());
        let waiting = board.lose_overtaken(at(101), Duration::from_millis(25));
        assert_eq!(waiting, Overtaken { lost: false, pending: Some(at(126)) });
        assert!(board.lose_overtaken(at(126), Duration::from_millis(25)).lost);
    }

    #[test]
    fn a_late_segment_is_reordering_unless_it_was_repeated() {
        let mut board = sent(3);
        board.select(at(100), [block(2, 3)].into_iter());
        assert!(!board.is_reordered());
        board.lose_first();
        board.repeat(at(101));
        board.acknowledge(at(200), number(1));
        assert!(!board.is_reordered());
        board.acknowledge(at(200), number(3));
        assert!(board.is_reordered());
    }
}
