//! What a sender has sent and not seen acknowledged: segments by number, and their transmissions in the order of sending.
//!
//! Packets of a direction neither overtake each other nor arrive twice, and whether a queue has dropped one is known when it is sent.
//! So one number in an acknowledgement says as much as SACK's blocks do (RFC 2018): the last transmission that had arrived. Of those
//! up to it, all have arrived but what was dropped. That a transmission was dropped counts from then on only.

mod packets;

use super::rate::{Rate, Stamp};
use crate::recursion::ticks::Ticks;
use std::collections::VecDeque;

/// What is known of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Away,
    /// It counts as lost, and has not been sent again.
    Lost,
    Arrived,
}

/// A segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) push: bool,
    pub(super) fate: Fate,
    /// It was sent more than once.
    pub(super) again: bool,
    /// It was found lost, and is not known to have arrived since.
    is_hole: bool,
    /// It is the last of a packet in the host's memory.
    ends_packet: bool,
    /// Its last transmission, and when that was.
    order: u64,
    at: Ticks,
}

/// A segment on its way.
#[derive(Debug, Clone, Copy)]
struct Transmission {
    number: u64,
    end: u64,
    order: u64,
    at: Ticks,
    stamp: Stamp,
    again: bool,
    dropped: bool,
}

/// A segment that was overtaken: when it was sent, and how many first transmissions had arrived before the one that overtook it.
#[derive(Debug, Clone, Copy)]
struct Overtaken {
    number: u64,
    order: u64,
    at: Ticks,
    arrivals: u64,
}

/// The transmission that arrived last of all (RFC 8985 §5.2).
#[derive(Debug, Clone, Copy)]
struct Latest {
    order: u64,
    rtt: Ticks,
}

/// What an acknowledgement has covered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Covered {
    /// By number.
    pub(super) bytes: u64,
    pub(super) segments: u64,
    /// Newly arrived, as the window counts it; and those among them that lie beyond a hole.
    pub(super) delivered: u64,
    pub(super) beyond: u64,
    /// When the first and the last of them were sent, of those sent once: in order, and beyond a hole.
    pub(super) in_order: Option<(Ticks, Ticks)>,
    pub(super) selective: Option<(Ticks, Ticks)>,
    /// Something sent again is among those in order; something sent once, before the repair began, among all.
    pub(super) repetition: bool,
    pub(super) original: bool,
    /// The end of what has arrived twice.
    pub(super) twice: Option<u64>,
}

/// The account of what was sent.
#[derive(Debug)]
pub(crate) struct Board {
    segments: VecDeque<Segment>,
    /// The number of the first of them.
    first: u64,
    transmissions: VecDeque<Transmission>,
    sent: u64,
    overtaken: VecDeque<Overtaken>,
    /// Of the transmissions, those that were dropped.
    dropped: usize,
    arrivals: u64,
    latest: Option<Latest>,
    /// What each segment counts against the window; `None`: its payload.
    unit: Option<u64>,
    in_flight: u64,
    lost: usize,
    holes: u64,
    arrived: usize,
    repeated: u64,
    total_lost: u64,
    lost_again: u64,
    /// No segment before this one is lost.
    lost_from: u64,
    /// Segments that are the last of a packet.
    packet_ends: u64,
    pub(super) rate: Rate,
}

/// By what a sender knows which of a segment's transmissions has arrived.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evidence {
    /// Where packets have no numbers of their own.
    pub(super) least_rtt: Option<Ticks>,
    /// The timestamp that is echoed, where it is looked at: what was sent later did not draw it (tcp_skb_spurious_retrans()).
    pub(super) echo: Option<Ticks>,
}

impl Board {
    pub(super) fn new(unit: Option<u64>) -> Self {
        Self {
            segments: VecDeque::new(),
            first: 0,
            transmissions: VecDeque::new(),
            sent: 0,
            overtaken: VecDeque::new(),
            dropped: 0,
            arrivals: 0,
            latest: None,
            unit,
            in_flight: 0,
            lost: 0,
            holes: 0,
            arrived: 0,
            repeated: 0,
            total_lost: 0,
            lost_again: 0,
            lost_from: 0,
            packet_ends: 0,
            rate: Rate::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// What going through all segments costs, one for some hundred of them.
    pub(crate) fn effort(&self) -> u64 {
        1 + self.segments.len() as u64 / 256
    }

    /// Bytes on the way, as far as is known.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Segments that count as lost and were not sent again since.
    pub(super) fn lost(&self) -> usize {
        self.lost
    }

    /// Segments that were found lost and are not known to have arrived since, sent again or not.
    pub(super) fn holes(&self) -> u64 {
        self.holes
    }

    /// All that was ever found lost.
    pub(super) fn total_lost(&self) -> u64 {
        self.total_lost
    }

    /// Segments that arrived beyond a hole.
    pub(super) fn arrived(&self) -> usize {
        self.arrived
    }

    /// Losses of what had been sent again.
    pub(super) fn lost_again(&self) -> u64 {
        self.lost_again
    }

    /// Whether the segment that ends at `end` is on the way again.
    pub(super) fn is_repeated(&self, end: u64) -> bool {
        let index = self.segments.partition_point(|segment| segment.end < end);
        let segment = self.segments.get(index).filter(|segment| segment.end == end);
        segment.is_some_and(|segment| segment.again && segment.fate == Fate::Away)
    }

    /// Repetitions on the way.
    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Whether something sent again is on the way, or the first segment ever was.
    pub(super) fn has_repeated(&self) -> bool {
        self.repeated > 0 || self.segments.front().is_some_and(|segment| segment.again)
    }

    /// When the first segment was last sent.
    pub(super) fn first_sent(&self) -> Option<Ticks> {
        self.segments.front().map(|segment| segment.at)
    }

    /// What a segment of so many bytes counts.
    pub(super) fn charge(&self, payload: u64) -> u64 {
        self.unit.unwrap_or(payload)
    }

    fn charge_of(&self, segment: &Segment) -> u64 {
        self.charge(segment.end - segment.start)
    }

    /// The handshake's packet has arrived: Linux counts it as a segment.
    pub(crate) fn deliver_hello(&mut self) {
        self.rate.count(self.charge(0));
    }

    /// The number of the transmission that was sent last.
    pub(crate) fn last_order(&self) -> u32 {
        u32::try_from(self.sent).unwrap_or(u32::MAX)
    }

    /// A segment is sent for the first time.
    pub(super) fn push(&mut self, now: Ticks, (start, end): (u64, u64), push: bool) {
        let number = self.first + self.segments.len() as u64;
        let stamp = self.rate.stamp(now, self.segments.is_empty());
        let (order, at) = (self.sent + 1, now);
        let (again, is_hole, ends_packet) = (false, false, false);
        let segment = Segment { start, end, push, fate: Fate::Away, again, is_hole, ends_packet, order, at };
        self.in_flight += self.charge_of(&segment);
        self.segments.push_back(segment);
        self.transmit(number, &segment, stamp);
    }

    fn transmit(&mut self, number: u64, segment: &Segment, stamp: Stamp) {
        self.sent += 1;
        let Segment { end, order, at, again, .. } = *segment;
        self.transmissions.push_back(Transmission { number, end, order, at, stamp, again, dropped: false });
    }

    /// Whether something on the way will not arrive.
    pub(super) fn has_dropped(&self) -> bool {
        self.dropped > 0 || !self.overtaken.is_empty()
    }

    /// A queue had no room for the transmission that was sent last.
    pub(crate) fn drop_last(&mut self) {
        if let Some(last) = self.transmissions.back_mut() {
            last.dropped = true;
            self.dropped += 1;
        }
    }

    fn index(&self, number: u64) -> usize {
        usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// The first segment that is to be sent again.
    pub(super) fn next_lost(&mut self) -> Option<Segment> {
        if self.lost == 0 {
            return None;
        }
        let from = self.index(self.lost_from);
        let index = from + self.segments.range(from..).position(|segment| segment.fate == Fate::Lost)?;
        self.lost_from = self.first + index as u64;
        Some(self.segments[index])
    }

    /// Sends the first lost segment again, which the rest of its packet is cut off from if it is the last of those that leave together.
    pub(super) fn repeat(&mut self, now: Ticks, is_last: bool) -> Option<Segment> {
        self.next_lost()?;
        let (number, stamp) = (self.lost_from, self.rate.stamp(now, false));
        let (index, order) = (self.index(number), self.sent + 1);
        self.cut_off(index, now);
        if is_last {
            self.divide(index, true);
        }
        let segment = &mut self.segments[index];
        (segment.fate, segment.again, segment.order, segment.at) = (Fate::Away, true, order, now);
        let segment = *segment;
        self.in_flight += self.charge_of(&segment);
        self.lost -= 1;
        self.repeated += 1;
        self.lost_from = number + 1;
        self.transmit(number, &segment, stamp);
        Some(segment)
    }

    /// An acknowledgement of all before `up_to`, sent when transmission `heard` was the last that had arrived. What was sent once
    /// and ends before `point` counts as original.
    pub(super) fn acknowledge(
        &mut self,
        (now, evidence): (Ticks, Evidence),
        (up_to, heard): (u64, u64),
        point: u64,
    ) -> Covered {
        let mut covered = Covered::default();
        while let Some(transmission) = self.transmissions.pop_front_if(|sent| sent.order <= heard) {
            if transmission.dropped {
                self.dropped -= 1;
                self.overtake(&transmission);
            } else {
                self.arrive((now, evidence), &transmission, up_to, point, &mut covered);
            }
        }
        while let Some(segment) = self.segments.pop_front_if(|segment| segment.end <= up_to) {
            self.leave(&segment);
            self.packet_ends -= u64::from(segment.ends_packet);
            self.first += 1;
            covered.bytes += segment.end - segment.start;
            covered.segments += 1;
        }
        self.lost_from = self.lost_from.max(self.first);
        covered
    }

    /// The same without SACK: all that is known is what lies before `up_to`.
    pub(super) fn acknowledge_by_number(&mut self, now: Ticks, up_to: u64, point: u64) -> Covered {
        let mut covered = Covered::default();
        while let Some(segment) = self.segments.pop_front_if(|segment| segment.end <= up_to) {
            self.leave(&segment);
            self.packet_ends -= u64::from(segment.ends_packet);
            self.first += 1;
            let charge = self.charge_of(&segment);
            covered.bytes += segment.end - segment.start;
            covered.segments += 1;
            covered.delivered += charge;
            covered.repetition |= segment.again;
            covered.original |= !segment.again && segment.end <= point;
            self.latest = Some(Latest { order: segment.order, rtt: now.since(segment.at) });
            if !segment.again {
                covered.in_order = Some((covered.in_order.map_or(segment.at, |times| times.0), segment.at));
            }
            if let Some(sent) = self.transmission(segment.order) {
                self.rate.deliver(&sent.stamp, sent.at, charge);
            }
            let first = self.first;
            while let Some(sent) = self.transmissions.pop_front_if(|sent| sent.number < first) {
                self.dropped -= usize::from(sent.dropped);
            }
        }
        self.lost_from = self.lost_from.max(self.first);
        covered
    }

    /// The transmission of this order, if it was not forgotten.
    fn transmission(&self, order: u64) -> Option<Transmission> {
        let place = order.checked_sub(self.transmissions.front()?.order)?;
        self.transmissions.get(usize::try_from(place).ok()?).copied()
    }

    fn overtake(&mut self, transmission: &Transmission) {
        let Transmission { number, order, at, .. } = *transmission;
        self.overtaken.push_back(Overtaken { number, order, at, arrivals: self.arrivals });
    }

    fn arrive(
        &mut self,
        (now, evidence): (Ticks, Evidence),
        sent: &Transmission,
        up_to: u64,
        point: u64,
        covered: &mut Covered,
    ) {
        let (index, known) = (self.index(sent.number), sent.number >= self.first);
        let missed = |segment: &Segment| known && segment.fate != Fate::Arrived;
        let Some(segment) = self.segments.get(index).copied().filter(missed) else {
            covered.twice = Some(sent.end);
            return;
        };
        let in_order = segment.end <= up_to;
        if !(in_order && segment.again && evidence.echo.is_some_and(|echo| echo < segment.at.whole_millis())) {
            self.hear_of(now, &segment, sent, evidence.least_rtt);
        }
        self.arrivals += u64::from(!sent.again);
        self.leave(&segment);
        (self.segments[index].fate, self.segments[index].is_hole) = (Fate::Arrived, false);
        self.arrived += 1;
        let charge = self.charge_of(&segment);
        covered.delivered += charge;
        covered.original |= !segment.again && segment.end <= point;
        self.rate.deliver(&sent.stamp, sent.at, charge);
        if !in_order {
            covered.beyond += 1;
            self.join(index);
        }
        covered.repetition |= in_order && segment.again;
        if !segment.again {
            let times = if in_order { &mut covered.in_order } else { &mut covered.selective };
            *times = Some((times.map_or(sent.at, |times| times.0), sent.at));
        }
    }

    /// RFC 8985 §6.2 step 2: a segment has arrived. TCP does not know which of several transmissions: it takes the last one, unless no round
    /// trip is as short as that would be (tcp_rack_advance()).
    fn hear_of(&mut self, now: Ticks, segment: &Segment, sent: &Transmission, least_rtt: Option<Ticks>) {
        let (order, at) = if least_rtt.is_some() { (segment.order, segment.at) } else { (sent.order, sent.at) };
        let this = Latest { order, rtt: now.since(at) };
        if segment.again && least_rtt.is_some_and(|least| this.rtt < least) {
            return;
        }
        let later = self.latest.filter(|latest| latest.order > this.order);
        self.latest = Some(later.map_or(this, |latest| Latest { rtt: this.rtt, ..latest }));
    }

    /// A segment is neither on the way nor lost any more.
    fn leave(&mut self, segment: &Segment) {
        self.holes -= u64::from(segment.is_hole);
        match segment.fate {
            Fate::Away => {
                self.in_flight -= self.charge_of(segment);
                self.repeated -= u64::from(segment.again);
            }
            Fate::Lost => self.lost -= 1,
            Fate::Arrived => self.arrived -= 1,
        }
    }

    fn lose(&mut self, number: u64) {
        let index = self.index(number);
        let segment = self.segments[index];
        self.leave(&segment);
        (self.segments[index].fate, self.segments[index].is_hole) = (Fate::Lost, true);
        self.lost += 1;
        self.holes += 1;
        self.total_lost += self.charge_of(&segment);
        self.lost_again += u64::from(segment.again);
        self.lost_from = self.lost_from.min(number);
    }

    /// Whether a transmission that was overtaken is still the last one of a segment that is missed.
    fn is_missed(&self, overtaken: &Overtaken) -> bool {
        let segment = self.segments.get(self.index(overtaken.number)).filter(|_| overtaken.number >= self.first);
        segment.is_some_and(|segment| segment.fate == Fate::Away && segment.order == overtaken.order)
    }

    /// RFC 8985 §6.2: what was overtaken is lost once it is `patience` later than what overtook it. Returns when all that is left
    /// will be.
    pub(super) fn lose_overtaken(&mut self, now: Ticks, patience: Ticks) -> Option<Ticks> {
        let latest = self.latest?;
        while let Some(overtaken) = self.overtaken.front().copied() {
            if overtaken.order > latest.order {
                // What overtook it was known already.
                return None;
            }
            if self.is_missed(&overtaken) {
                if overtaken.at + latest.rtt + patience > now {
                    let all = self.overtaken.iter().take_while(|overtaken| overtaken.order <= latest.order);
                    let last = all.filter(|overtaken| self.is_missed(overtaken)).map(|overtaken| overtaken.at).max();
                    return last.map(|at| at + latest.rtt + patience);
                }
                self.lose(overtaken.number);
            }
            self.overtaken.pop_front();
        }
        self.lose_earlier(now, latest, patience)
    }

    /// The same of what is on the way and seems to be overtaken, as something sent again after it was thought to have arrived.
    fn lose_earlier(&mut self, now: Ticks, latest: Latest, patience: Ticks) -> Option<Ticks> {
        let mut last = None;
        for place in 0..self.transmissions.partition_point(|sent| sent.order < latest.order) {
            let Transmission { number, order, at, .. } = self.transmissions[place];
            if !self.is_missed(&Overtaken { number, order, at, arrivals: 0 }) {
                continue;
            }
            if at + latest.rtt + patience > now {
                last = Some(at + latest.rtt + patience);
            } else {
                self.lose(number);
            }
        }
        last
    }

    /// RFC 6675 §4 (IsLost): what was sent once and has so many segments behind it that arrived. What is lost again waits for the timer.
    pub(super) fn lose_passed(&mut self, threshold: u64) {
        while let Some(overtaken) = self.overtaken.front().copied() {
            if self.is_missed(&overtaken) && !self.segments[self.index(overtaken.number)].again {
                if self.arrivals - overtaken.arrivals < threshold {
                    return;
                }
                self.lose(overtaken.number);
            }
            self.overtaken.pop_front();
        }
    }

    /// Without SACK: the first segment is missing.
    pub(super) fn lose_first(&mut self) {
        if self.segments.front().is_some_and(|segment| segment.fate == Fate::Away) {
            self.lose(self.first);
        }
    }

    /// The same, unless it was before.
    pub(super) fn lose_first_once(&mut self) {
        if self.segments.front().is_some_and(|segment| !segment.again) {
            self.lose_first();
        }
    }

    /// The last segment is to be sent again as a probe.
    pub(super) fn lose_last(&mut self) {
        if self.segments.back().is_some_and(|segment| segment.fate == Fate::Away) {
            self.lose(self.first + self.segments.len() as u64 - 1);
            self.close_hole(self.segments.len() - 1);
        }
    }

    /// The segment at `index` is not known to be lost.
    fn close_hole(&mut self, index: usize) {
        self.holes -= u64::from(core::mem::take(&mut self.segments[index].is_hole));
    }

    /// RFC 6298 §5.4: everything is lost, but, if it `spares` some, for what was sent less than a
    /// round trip ago (RFC 8985 §6.3).
    pub(super) fn lose_all(&mut self, now: Ticks, spares: bool) {
        self.lose_first();
        let patience = self.latest.filter(|_| spares).map_or(Ticks::ZERO, |latest| latest.rtt);
        for index in 0..self.segments.len() {
            let segment = &self.segments[index];
            if segment.fate == Fate::Away && segment.at + patience <= now {
                self.lose(self.first + index as u64);
            }
        }
    }

    /// What counted as lost is on the way after all.
    pub(super) fn find_all(&mut self) {
        for index in 0..self.segments.len() {
            self.close_hole(index);
            if self.segments[index].fate == Fate::Lost {
                let segment = self.segments[index];
                self.segments[index].fate = Fate::Away;
                self.in_flight += self.charge_of(&segment);
                self.repeated += u64::from(segment.again);
            }
        }
        self.lost = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Ticks = Ticks::from_millis;

    /// Of four segments sent at once the first is thought to be lost and sent again 500 ms later, when all are on the way. It arrives so much
    /// later than that; how many of the others are thought to be lost.
    fn lost_with_the_first(later: u64, least_rtt: Option<Ticks>, echo: Option<Ticks>) -> usize {
        let mut board = Board::new(None);
        (0..4).for_each(|n| board.push(Ticks::ZERO, (n * 1000, (n + 1) * 1000), false));
        board.lose_first();
        board.repeat(MS(500), false);
        let now = MS(500 + later);
        board.acknowledge((now, Evidence { least_rtt, echo }), (1000, 1), 0);
        board.lose_overtaken(now, Ticks::ZERO);
        board.lost()
    }

    #[test]
    fn a_hole_is_what_was_found_lost_until_it_arrives_and_no_probe_makes_one() {
        let mut board = Board::new(None);
        (0..4).for_each(|n| board.push(Ticks::ZERO, (n * 1000, (n + 1) * 1000), false));
        board.lose_first();
        board.repeat(MS(500), false);
        assert_eq!((board.lost(), board.holes()), (0, 1), "what is sent again has not arrived");
        board.lose_last();
        assert_eq!((board.lost(), board.holes()), (1, 1));
        board.acknowledge((MS(600), Evidence::default()), (1000, 5), 0);
        assert_eq!(board.holes(), 0);
        board.lose_all(MS(700), false);
        board.find_all();
        assert_eq!((board.lost(), board.holes()), (0, 0));
    }

    #[test]
    fn a_late_original_is_taken_for_what_was_sent_again() {
        assert_eq!(lost_with_the_first(200, Some(MS(100)), None), 3, "the others were sent before it");
        assert_eq!(lost_with_the_first(99, Some(MS(100)), None), 0, "no round trip is as short");
        assert_eq!(lost_with_the_first(200, None, None), 0, "a packet's number says which it is");
        assert_eq!(
            lost_with_the_first(200, Some(MS(100)), Some(MS(500))),
            3,
            "the echo may be that of what was sent again"
        );
        assert_eq!(lost_with_the_first(200, Some(MS(100)), Some(MS(0))), 0, "the echo is older");
    }
}
