//! What has been sent and not yet acknowledged: each segment with its time and its fate.
//!
//! Models the sender's part of SACK (RFC 2018, RFC 6675 §4: pipe) and RACK's rule that what was sent before a delivered
//! segment, and longer than a reordering window before, is lost (RFC 8985 §6.2); how long that window is, and when to apply the
//! rule, is the sender's decision; RFC 6675 §4's own rule (IsLost) is there too. Segments are repeated with the bounds they were
//! first sent with. Left out: reneging.
//!
//! Segments are numbered as they are first sent, which is the order of their sequence numbers. What looks for something begins
//! where the last look ended, so that the work per acknowledgement does not grow with the window.

mod losses;
mod packets;

pub(crate) use losses::Overtaken;

use crate::rate::DeliveryRate;
use crate::sack::MOST_SACK_BLOCKS;
use crate::sent::{Covered, Fate, Piece, Sent, SentTimes};
use crate::{SackBlock, Sequence};
use farhop_units::{Bytes, Instant, look_at};
use std::collections::VecDeque;
use std::time::Duration;

/// Segments sent and not yet acknowledged, in order.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Scoreboard {
    sent: VecDeque<Sent>,
    in_flight: Bytes,
    lost: usize,
    /// Kept where somebody asks for it.
    pub(crate) rate: Option<Box<DeliveryRate>>,
    /// The number of the first of those sent.
    first: u64,
    /// What each segment counts against the window; `None`: its payload.
    unit: Option<Bytes>,
    /// All transmissions so far.
    transmissions: u64,
    /// All that was ever found lost.
    total_lost: Bytes,
    sacked: u32,
    /// Repetitions on the way.
    repeated: u32,
    /// RFC 6675's rule has judged every segment before this one, and that many of those had arrived.
    counted: u64,
    counted_sacked: u32,
    /// Segments found lost and not known to have arrived since.
    holes: u32,
    /// Segments that are the last of a packet in the host's memory.
    packet_ends: u32,
    delivered: Option<Delivery>,
    /// The furthest number known to have arrived.
    furthest: Sequence,
    /// What was sent again, in the order of sending; entries that no longer hold are skipped.
    repeats: VecDeque<Repeat>,
    // What is needed where something is lost or overtaken, or times are short.
    /// By how many bytes the furthest number was beyond something that came later without being repeated.
    displacement: Bytes,
    least_rtt: Duration,
    /// RACK has judged every segment before this one as it was first sent.
    judged: u64,
    /// No segment before this one is lost.
    lost_from: u64,
    /// The ranges that the last acknowledgement named.
    named: [Option<SackBlock>; MOST_SACK_BLOCKS],
}

/// What is known of arrivals: the latest segment in the order of sending (RFC 8985 §5.2: RACK.xmit_ts, RACK.end_seq), and the age of
/// the one that was heard of last (RACK.rtt), which Linux takes even if it was sent before the latest.
#[derive(Debug, Clone, Copy)]
struct Delivery {
    order: u64,
    rtt: Duration,
}

/// A segment was sent again.
#[derive(Debug, Clone, Copy)]
struct Repeat {
    number: u64,
    order: u64,
}

impl Scoreboard {
    /// Every segment counts as `unit`, if given, however small it is. How fast data is delivered is known if `measures_rate`.
    pub(crate) fn new(unit: Option<Bytes>, measures_rate: bool) -> Self {
        Self {
            sent: VecDeque::new(),
            first: 0,
            transmissions: 0,
            unit,
            in_flight: Bytes::ZERO,
            lost: 0,
            total_lost: Bytes::ZERO,
            sacked: 0,
            repeated: 0,
            lost_from: 0,
            named: [None; MOST_SACK_BLOCKS],
            delivered: None,
            judged: 0,
            repeats: VecDeque::new(),
            counted: 0,
            counted_sacked: 0,
            least_rtt: Duration::MAX,
            furthest: Sequence::SYN,
            displacement: Bytes::ZERO,
            packet_ends: 0,
            holes: 0,
            rate: measures_rate.then(Box::default),
        }
    }

    /// Asks memory for what says whether there are any.
    pub(crate) fn look_at(&self) {
        look_at(&self.sent);
    }

    /// Asks memory for what acknowledgements read and change.
    pub(crate) fn look_at_sent(&self) {
        look_at(&self.unit);
        look_at(&self.delivered);
        // Mostly two are acknowledged at once, which the third tells; the second is beside one of them.
        [self.sent.front(), self.sent.get(2), self.sent.back()].into_iter().flatten().for_each(look_at);
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
        self.sacked as usize
    }

    /// Segments thought lost and not sent again since.
    pub(crate) fn lost(&self) -> usize {
        self.lost
    }

    /// Segments found lost and not known to have arrived since, sent again or not (lost_out).
    pub(crate) fn holes(&self) -> u32 {
        self.holes
    }

    /// All that was ever found lost.
    pub(crate) fn total_lost(&self) -> Bytes {
        self.total_lost
    }

    /// Repetitions that are on the way.
    pub(crate) fn repeated(&self) -> usize {
        self.repeated as usize
    }

    /// Whether something sent again is on the way, or the first segment ever was (tcp_any_retrans_done()).
    pub(crate) fn has_repeated(&self) -> bool {
        self.repeated > 0 || self.sent.front().is_some_and(|sent| sent.again)
    }

    /// When the first segment was last sent.
    pub(crate) fn first_sent(&self) -> Option<Instant> {
        self.sent.front().map(|sent| sent.at)
    }

    /// What `payload` counts against the window.
    pub(crate) fn charge(&self, payload: Bytes) -> Bytes {
        self.unit.unwrap_or(payload)
    }

    pub(crate) fn push(&mut self, at: Instant, piece: Piece) {
        if let Some(rate) = &mut self.rate {
            rate.send(at);
        }
        self.in_flight += self.charge(piece.payload);
        let order = self.next_order();
        self.sent.push_back(Sent::new(piece, at, order));
    }

    fn next_order(&mut self) -> u64 {
        self.transmissions += 1;
        self.transmissions
    }

    /// Removes what `acknowledgment` covers. Of what was sent once, that before `point` counts as original; and what was sent again at a time
    /// that `is_too_late` to be acknowledged by this was delivered before.
    pub(crate) fn acknowledge(
        &mut self,
        now: Instant,
        acknowledgment: Sequence,
        point: Sequence,
        is_too_late: impl Fn(Instant) -> bool,
        covered: &mut Covered,
    ) {
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.end() <= acknowledgment) {
            self.first += 1;
            self.packet_ends -= u32::from(sent.ends_packet);
            covered.bytes += sent.payload();
            covered.segments += 1;
            covered.repetition |= sent.again;
            if sent.fate == Fate::Sacked {
                self.sacked -= 1;
                self.counted_sacked -= u32::from(self.counted >= self.first);
            } else {
                self.leave(&sent);
                if !sent.again {
                    SentTimes::note(&mut covered.by_number, sent.at);
                }
                self.deliver((0, &sent), point, covered);
                if !(sent.again && is_too_late(sent.at)) {
                    self.note_delivery(now, &sent);
                }
            }
            if let Some(rate) = &mut self.rate {
                rate.forget_first();
            }
        }
        if self.sent.is_empty() {
            // The next ones go where the last ones were, which is in the cache.
            self.sent.clear();
        }
        self.forget_repeats();
    }

    /// A segment is no longer on the way or lost.
    fn leave(&mut self, sent: &Sent) {
        self.holes -= u32::from(sent.is_hole());
        match sent.fate {
            Fate::InFlight => {
                self.in_flight -= self.charge(sent.payload());
                self.repeated -= u32::from(sent.again);
            }
            Fate::Lost => self.lost -= 1,
            Fate::Sacked => self.sacked -= 1,
        }
    }

    /// A segment has arrived, which is or was at this place.
    fn deliver(&mut self, (place, sent): (usize, &Sent), point: Sequence, covered: &mut Covered) {
        let charge = self.charge(sent.payload());
        covered.delivered += charge;
        if !sent.again {
            let start = sent.sequence;
            covered.original |= sent.end() <= point;
            covered.earliest = Some(covered.earliest.map_or(start, |earliest| earliest.min(start)));
        }
        if let Some(rate) = &mut self.rate {
            rate.deliver((place, sent.order), sent.at, charge);
        }
        self.furthest = self.furthest.max(sent.end());
    }

    /// The least round-trip time is this, of all samples there were: what arrived out of order and timestamps measure it too.
    pub(crate) fn note_least_rtt(&mut self, least_rtt: Duration) {
        self.least_rtt = least_rtt;
    }

    /// RFC 8985 §6.2 steps 2 and 3. What was sent again and answered faster than any round trip was delivered the first time
    /// (tcp_rack_advance()).
    fn note_delivery(&mut self, now: Instant, sent: &Sent) {
        let rtt = now.since(sent.at);
        if sent.again && rtt < self.least_rtt {
            return;
        }
        let this = Delivery { order: sent.order, rtt };
        let latest = self.delivered.filter(|delivered| delivered.order > this.order);
        self.delivered = Some(latest.map_or(this, |latest| Delivery { rtt, ..latest }));
    }

    /// Notes what arrived out of order. What the acknowledgement before has named already is passed over. `point` as for
    /// [`Self::acknowledge`].
    pub(crate) fn select(
        &mut self,
        now: Instant,
        blocks: impl Iterator<Item = SackBlock>,
        point: Sequence,
        covered: &mut Covered,
    ) {
        let mut named = [None; MOST_SACK_BLOCKS];
        named.iter_mut().zip(blocks).for_each(|(place, block)| *place = Some(block));
        // In the order of sending, as the times of what they name are noted.
        named.sort_by_key(|block| block.map_or(Sequence::SYN, |block| block.start));
        for block in named.into_iter().flatten() {
            match self.named.into_iter().flatten().find(|known| block.contains(known)) {
                Some(known) => {
                    let before = self.starting_at(block.start)..self.starting_at(known.start);
                    before.for_each(|index| self.select_one(now, index, point, covered));
                    // A segment that reaches over the end of the known range was not in it.
                    let behind = self.ending_beyond(known.end)..self.ending_beyond(block.end);
                    behind.for_each(|index| self.select_one(now, index, point, covered));
                }
                None => {
                    let all = self.starting_at(block.start)..self.ending_beyond(block.end);
                    all.for_each(|index| self.select_one(now, index, point, covered));
                }
            }
        }
        self.named = named;
    }

    /// The place of the first segment that starts at `bound` or later.
    fn starting_at(&self, bound: Sequence) -> usize {
        self.sent.partition_point(|sent| sent.sequence < bound)
    }

    /// The place of the first segment that ends later than `bound`.
    fn ending_beyond(&self, bound: Sequence) -> usize {
        self.sent.partition_point(|sent| sent.end() <= bound)
    }

    fn select_one(&mut self, now: Instant, index: usize, point: Sequence, covered: &mut Covered) {
        let sent = self.sent[index];
        if sent.fate == Fate::Sacked {
            return;
        }
        self.leave(&sent);
        self.sent[index].fate = Fate::Sacked;
        self.sent[index].set_hole(false);
        self.merge(index);
        self.sacked += 1;
        self.counted_sacked += u32::from(self.first + (index as u64) < self.counted);
        covered.sacked += 1;
        if !sent.again {
            SentTimes::note(&mut covered.selectively, sent.at);
        }
        self.deliver((index, &sent), point, covered);
        self.note_delivery(now, &sent);
    }

    /// The furthest number known to have arrived.
    pub(crate) fn furthest(&self) -> Sequence {
        self.furthest
    }

    /// An acknowledgement covers `covered`; before it, `furthest` was known to have arrived. What lies before that was overtaken, and
    /// nothing else: of what one acknowledgement tells nobody knows the order (tcp_check_sack_reordering()).
    pub(crate) fn note_overtaking(&mut self, furthest: Sequence, covered: &Covered) {
        if let Some(earliest) = covered.earliest.filter(|earliest| *earliest < furthest) {
            self.displacement = self.displacement.max(self.furthest - earliest);
        }
    }

    /// What began at `hole` has arrived late, and was overtaken by all that is known to have arrived.
    pub(crate) fn note_overtaken(&mut self, hole: Sequence) {
        self.displacement = self.displacement.max(self.furthest - hole);
    }

    /// Whether the segment that ends at `end` is on the way again.
    pub(crate) fn is_repeated(&self, end: Sequence) -> bool {
        let index = self.sent.partition_point(|sent| sent.end() < end);
        self.sent.get(index).is_some_and(|sent| sent.end() == end && sent.again && sent.fate == Fate::InFlight)
    }

    /// By how many bytes a segment has been seen to overtake another, that one's included.
    pub(crate) fn displacement(&self) -> Bytes {
        self.displacement
    }

    /// Where segment `number` is, or the first one if it has been acknowledged.
    fn index(&self, number: u64) -> usize {
        usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX)
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
        self.first_lost().map(|index| self.sent[index].payload())
    }

    /// Sends the first lost segment again, which the rest of its packet is cut off from if it is the last of those that leave together.
    pub(crate) fn repeat(&mut self, now: Instant, is_last: bool) -> Option<Piece> {
        let index = self.first_lost()?;
        let number = self.first + index as u64;
        if let Some(rate) = &mut self.rate {
            rate.send_again(index);
        }
        self.cut_off(index, now);
        if is_last {
            self.set_end(index, true);
        }
        let order = self.next_order();
        let sent = &mut self.sent[index];
        (sent.fate, sent.at, sent.order, sent.again) = (Fate::InFlight, now, order, true);
        let piece = sent.piece();
        self.lost -= 1;
        self.repeated += 1;
        // What lies before is not lost.
        self.lost_from = number + 1;
        self.in_flight += self.charge(piece.payload);
        self.repeats.push_back(Repeat { number, order });
        Some(piece)
    }
}

#[cfg(test)]
mod tests;
