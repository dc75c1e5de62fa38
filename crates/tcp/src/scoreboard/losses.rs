//! Which segments are lost: RACK's rule (RFC 8985 §6.2), RFC 6675's (§4, IsLost), a timeout.

use super::{Repeat, Scoreboard};
use crate::sent::{Fate, Sent};
use core::ops::Range;
use farhop_units::Instant;
use std::time::Duration;

/// What applying RACK's rule found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Overtaken {
    /// Something is newly lost.
    pub(crate) lost: bool,
    /// So is something that was sent again.
    pub(crate) again: bool,
    /// When all that was overtaken will be lost, if it has not arrived by then.
    pub(crate) pending: Option<Instant>,
}

impl Scoreboard {
    /// RFC 6675 §4, IsLost: what was sent once and has `threshold` segments behind it that have arrived is lost.
    pub(crate) fn lose_passed(&mut self, threshold: u64) {
        let mut index = self.index(self.counted);
        while u64::from(self.sacked - self.counted_sacked) >= threshold {
            let Some(sent) = self.sent.get(index) else { break };
            match sent.fate {
                Fate::Sacked => self.counted_sacked += 1,
                Fate::InFlight if !sent.again => self.lose(index),
                Fate::InFlight | Fate::Lost => {}
            }
            index += 1;
        }
        self.counted = self.first + index as u64;
    }

    /// RFC 8985 §6.2 step 5: what was sent before the latest delivered segment is lost once it is `window` later than that.
    pub(crate) fn lose_overtaken(&mut self, now: Instant, window: Duration) -> Overtaken {
        let Some(delivered) = self.delivered else { return Overtaken::default() };
        let (before, patience) = (self.lost, delivered.rtt + window);
        let originals = self.lose_overtaken_originals(now, delivered.order, patience);
        let once = self.lost;
        let repeats = self.lose_overtaken_repeats(now, delivered.order, patience);
        let pending = originals.max(repeats).map(|sent| sent + patience);
        Overtaken { lost: self.lost > before, again: self.lost > once, pending }
    }

    /// Of what was sent once: when the last of what was overtaken and still has time was sent.
    fn lose_overtaken_originals(&mut self, now: Instant, latest: u64, patience: Duration) -> Option<Instant> {
        let mut index = self.index(self.judged);
        while let Some(sent) = self.sent.get(index) {
            if sent.fate == Fate::InFlight && !sent.again {
                if sent.order > latest || sent.at + patience > now {
                    break;
                }
                self.lose(index);
            }
            index += 1;
        }
        self.judged = self.first + index as u64;
        let original = |sent: &&Sent| sent.again || sent.order < latest;
        let rest = self.sent.range(index.min(self.sent.len())..).take_while(original);
        rest.filter(|sent| sent.fate == Fate::InFlight && !sent.again).map(|sent| sent.at).max()
    }

    /// The same of what was sent again.
    fn lose_overtaken_repeats(&mut self, now: Instant, latest: u64, patience: Duration) -> Option<Instant> {
        while let Some(repeat) = self.repeats.front().copied() {
            if let Some(index) = self.place_of(repeat) {
                let sent = &self.sent[index];
                if sent.order > latest || sent.at + patience > now {
                    break;
                }
                self.lose(index);
            }
            self.repeats.pop_front();
        }
        let overtaken = self.repeats.iter().take_while(|repeat| repeat.order < latest);
        overtaken.filter_map(|repeat| Some(self.sent[self.place_of(*repeat)?].at)).max()
    }

    /// Where the segment of `repeat` is, if that is how it was last sent and it is still on the way.
    fn place_of(&self, repeat: Repeat) -> Option<usize> {
        let index = usize::try_from(repeat.number.checked_sub(self.first)?).ok()?;
        let sent = self.sent.get(index)?;
        (sent.fate == Fate::InFlight && sent.again && sent.order == repeat.order).then_some(index)
    }

    pub(super) fn forget_repeats(&mut self) {
        while self.repeats.front().is_some_and(|repeat| self.place_of(*repeat).is_none()) {
            self.repeats.pop_front();
        }
    }

    /// The first segment is lost.
    pub(crate) fn lose_first(&mut self) {
        self.lose_some(0..self.sent.len().min(1), |_| true);
    }

    /// The last segment is to be sent again as a probe, which does not mean that it is lost.
    pub(crate) fn lose_last(&mut self) {
        let (last, total_lost) = (self.sent.len().saturating_sub(1), self.total_lost);
        if self.sent.back().is_some_and(|sent| sent.fate == Fate::InFlight) {
            self.lose(last);
            self.close_holes(last);
        }
        self.total_lost = total_lost;
    }

    /// The first segment is lost, unless it was before.
    pub(crate) fn lose_first_once(&mut self) {
        self.lose_some(0..self.sent.len().min(1), |sent| !sent.again);
    }

    /// RFC 6298 §5.4: after a timeout everything not selectively acknowledged counts as lost, but, if it `spares` some, for what was sent
    /// less than a round trip ago (RFC 8985 §6.3).
    pub(crate) fn lose_all(&mut self, now: Instant, spares: bool) {
        self.lose_first();
        let patience = self.delivered.filter(|_| spares).map_or(Duration::ZERO, |delivered| delivered.rtt);
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
        let sent = self.sent[index];
        self.leave(&sent);
        self.sent[index].fate = Fate::Lost;
        self.sent[index].set_hole(true);
        self.lost += 1;
        self.holes += 1;
        self.total_lost += self.charge(sent.payload());
        self.lost_from = self.lost_from.min(self.first + index as u64);
    }

    /// What was sent from place `from` on is not known to be lost.
    fn close_holes(&mut self, from: usize) {
        for sent in self.sent.range_mut(from..) {
            self.holes -= u32::from(sent.is_hole());
            sent.set_hole(false);
        }
    }

    /// What was thought lost is on the way after all.
    pub(crate) fn find_all(&mut self) {
        for index in 0..self.sent.len() {
            let sent = &mut self.sent[index];
            if sent.fate == Fate::Lost {
                sent.fate = Fate::InFlight;
                let (payload, again) = (sent.payload(), sent.again);
                self.in_flight += self.charge(payload);
                self.repeated += u32::from(again);
            }
        }
        self.lost = 0;
        self.close_holes(0);
        (self.judged, self.counted, self.counted_sacked) = (self.first, self.first, 0);
    }
}
