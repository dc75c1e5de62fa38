//! Finding out that a repetition was needless, and taking back what it did to the window.
//!
//! Three signs, as in Linux (tcp_try_undo_*()): the acknowledgement that completes a repair echoes a timestamp from before the first
//! repetition (Eifel, RFC 3522); duplicate selective acknowledgements name everything that was repeated (RFC 3708); after a
//! timeout, what was never repeated arrives (F-RTO, RFC 5682). The response is the full window again (RFC 4015 §4 without
//! its step of adapting the timer). On long paths the timeout is easily shorter than a sudden queue, so this is what saves them.

use crate::congestion::{CongestionControl, three_quarters};
use crate::recovery::{News, Phase};
use crate::sender::Sender;
use crate::{SackBlock, Segment, Sequence, Timestamps};
use farhop_units::Bytes;

/// What a reduction of the window has changed, for taking it back.
#[derive(Debug, Clone)]
pub(crate) struct Undo {
    /// SND.UNA then.
    marker: Sequence,
    /// Repetitions of which it is not known that they were needless; `None` before the first.
    needed: Option<u64>,
    window: Bytes,
    /// `None`: there was no threshold.
    threshold: Option<Bytes>,
    /// Marks by the network have asked for the reduction too: it must stay.
    is_final: bool,
}

/// What the sender has heard about needless repetition.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needless {
    /// All repetitions so far, and all segments that have arrived twice.
    pub(crate) repeated: u64,
    pub(crate) arrived_twice: u64,
    /// Readings of the timestamps' clock when the SYN was first sent, and at the first repetition of this repair.
    pub(crate) opened: Option<u32>,
    pub(crate) first_repetition: Option<u32>,
    pub(crate) undo: Option<Undo>,
    /// F-RTO is on: the last timeout may have been needless.
    pub(crate) frto: bool,
}

impl Needless {
    /// Something lost is sent again.
    pub(crate) fn note_repetition(&mut self, timestamp: u32) {
        self.repeated += 1;
        self.first_repetition.get_or_insert(timestamp);
        if let Some(undo) = &mut self.undo {
            undo.needed = Some(undo.needed.unwrap_or(0) + 1);
        }
    }

    /// RFC 2883, RFC 3708: `range` arrived twice. Returns how many segments that is, if the sender's repetitions explain it.
    pub(crate) fn note_duplicate(&mut self, range: SackBlock, mss: Bytes) -> Option<u64> {
        let segments = (range.end - range.start).get().div_ceil(mss.get().max(1)).max(1);
        self.arrived_twice += segments;
        if self.arrived_twice > self.repeated {
            // The network's own doing.
            return None;
        }
        if let Some(undo) = self.undo.as_mut().filter(|undo| range.end > undo.marker) {
            undo.needed = undo.needed.map(|needed| needed.saturating_sub(segments));
        }
        Some(segments)
    }

    /// Whether every repetition was needless.
    fn all_needless(&self) -> bool {
        self.undo.as_ref().is_some_and(|undo| undo.needed == Some(0))
    }

    /// RFC 3522 §3.2 step 5: the acknowledgement answers a segment from before the first repetition, as any does that moves on before there is
    /// one, if `unrepeated` counts (tcp_packet_delayed()).
    fn is_late_original(&self, echo: u32, unrepeated: bool) -> bool {
        let is_late = self.first_repetition.map_or(unrepeated, |first| Timestamps::is_before(echo, first));
        self.undo.is_some() && is_late
    }
}

/// The D-SACK block of a segment (RFC 2883 §4), if it carries one.
pub(crate) fn duplicate(segment: &Segment) -> Option<SackBlock> {
    let mut blocks = segment.sack_blocks();
    let first = blocks.next()?;
    let acknowledged = segment.acknowledgment.is_some_and(|acknowledgment| first.start < acknowledgment);
    (acknowledged || blocks.next().is_some_and(|second| second.contains(&first))).then_some(first)
}

impl Sender {
    /// Remembers the window before it is reduced (tcp_init_undo()).
    pub(crate) fn prepare_undo(&mut self, is_final: bool) {
        if !self.behavior.undo {
            return;
        }
        let (window, threshold) = (self.congestion.window(), self.congestion.threshold());
        // A window that has grown beyond the threshold says that more is possible (tcp_current_ssthresh()).
        let threshold = threshold.map(|threshold| threshold.max(three_quarters(window, self.mss)));
        // A probe may arrive twice as well, and is counted unless it is on the way and counts already.
        let probed = self.repeating_probe().is_some_and(|end| !self.scoreboard.is_repeated(end));
        let repeated = self.scoreboard.repeated() as u64 + u64::from(probed);
        let needed = (repeated > 0).then_some(repeated);
        self.needless.undo = Some(Undo { marker: self.unacknowledged, needed, window, threshold, is_final });
    }

    /// Takes the reduction back, and tells nobody of it any more (tcp_undo_cwnd_reduction()).
    fn undo(&mut self) {
        if let Some(undo) = self.needless.undo.take().filter(|undo| !undo.is_final) {
            self.congestion.undo(undo.window, undo.threshold);
            self.announce_reduction = false;
        }
        self.reduction = None;
    }

    /// Every repetition was needless (tcp_try_undo_dsack()).
    pub(crate) fn undo_if_all_arrived_twice(&mut self) -> bool {
        let needless = self.needless.all_needless();
        if needless {
            self.reordering.persist();
            self.undo();
        }
        needless
    }

    /// Without SACK nothing is known of what was repeated once all is acknowledged that was on the way.
    fn is_late_original(&self, echo: u32) -> bool {
        self.needless.is_late_original(echo, self.behavior.sack || self.unacknowledged < self.recover)
    }

    /// The repair is complete: was it needed (tcp_try_undo_recovery())? Returns whether it is over.
    pub(crate) fn end_repair(&mut self, echo: u32) -> bool {
        if self.needless.all_needless() || self.is_late_original(echo) {
            self.undo();
        } else {
            self.reordering.relax();
        }
        if self.holds() {
            self.needless.first_repetition = None;
        } else {
            self.phase = Phase::Open;
        }
        self.phase == Phase::Open
    }

    /// The first hole was filled by a late original (tcp_try_undo_partial()). Returns whether nothing more is to be concluded.
    pub(crate) fn undo_if_partly_late(&mut self, news: &News) -> bool {
        if !self.is_late_original(news.echo) {
            return false;
        }
        self.note_late_hole(news.prior_unacknowledged);
        if self.scoreboard.repeated() > 0 {
            return true;
        }
        self.needless.first_repetition = None;
        self.scoreboard.find_all();
        self.undo();
        self.phase = Phase::Open;
        false
    }

    /// What began at `hole` was overtaken by all that is known to have arrived (tcp_check_sack_reordering()).
    fn note_late_hole(&mut self, hole: Sequence) {
        if self.behavior.emulates_sack {
            self.reordering.overtake_at_least((self.unacknowledged - hole).get().div_ceil(self.mss.get().max(1)));
        } else {
            self.scoreboard.note_overtaken(hole);
        }
    }

    /// The timeout was needless (tcp_try_undo_loss()); `certain` if F-RTO says so.
    fn undo_loss(&mut self, echo: u32, certain: bool) -> bool {
        let needless = certain || self.needless.all_needless() || self.is_late_original(echo);
        if needless {
            self.scoreboard.find_all();
            self.undo();
            if !self.holds() && (certain || self.behavior.sack) {
                self.phase = Phase::Open;
            }
        }
        needless
    }

    /// RFC 5682 §3, after the timeout's repetition (tcp_process_loss()). Returns whether the repair is over.
    pub(crate) fn judge_timeout(&mut self, news: &mut News) -> bool {
        if news.advanced && self.undo_loss(news.echo, false) {
            return true;
        }
        let complete = self.unacknowledged >= self.recover;
        if self.needless.frto {
            // Step 3b: what was sent once has arrived, so not everything was lost.
            if news.covered.original && self.undo_loss(news.echo, true) {
                return true;
            }
            if self.next > self.recover {
                // Step 3a: the loss was real.
                self.needless.frto &= news.covered.sacked == 0 && !(news.duplicate && news.twice.is_none());
            } else if news.advanced && !complete {
                // Step 2b: new data, if there is any, shows what arrives.
                self.recover = self.next;
                self.new_first = self.has_new_data();
                self.needless.frto = self.new_first;
                if self.new_first {
                    return false;
                }
            }
        }
        if complete {
            self.end_repair(news.echo);
        } else if self.behavior.emulates_sack {
            self.count_after_timeout(news);
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpConfig};

    const MSS: Bytes = Bytes::new(1000);

    fn range(start: u64, segments: u64) -> SackBlock {
        let start = Sequence::FIRST_BYTE + MSS * start;
        SackBlock { start, end: start + MSS * segments }
    }

    fn repaired(repetitions: u32) -> Needless {
        let undo =
            Undo { marker: Sequence::FIRST_BYTE, needed: None, window: MSS * 10, threshold: None, is_final: false };
        let mut needless = Needless { undo: Some(undo), ..Needless::default() };
        (0..repetitions).for_each(|n| needless.note_repetition(1000 + n));
        needless
    }

    #[test]
    fn repetitions_are_needless_once_all_have_arrived_twice() {
        let mut needless = repaired(3);
        assert_eq!((needless.note_duplicate(range(0, 2), MSS), needless.all_needless()), (Some(2), false));
        assert_eq!((needless.note_duplicate(range(2, 1), MSS), needless.all_needless()), (Some(1), true));
        assert_eq!(needless.note_duplicate(range(5, 1), MSS), None, "nobody here has repeated that");
    }

    #[test]
    fn what_arrives_twice_is_delivered_twice() {
        let mut sender = Sender::new(&TcpConfig { mss: MSS, ..TcpConfig::of(Profile::Linux) }).expect("CUBIC is there");
        sender.needless.repeated = 3;
        let heard = |sender: &mut Sender, segments: u64| {
            let mut news = News { twice: Some(range(0, segments)), ..News::default() };
            sender.hear_of_repetition(&mut news);
            news.covered.delivered
        };
        assert_eq!((heard(&mut sender, 2), heard(&mut sender, 1)), (MSS * 2, MSS));
        assert_eq!(heard(&mut sender, 1), Bytes::ZERO, "the network has doubled that");
        assert_eq!(sender.scoreboard.rate.map(|rate| rate.delivered()), Some(MSS * 3));
    }

    #[test]
    fn nothing_repeated_is_not_needless_repetition() {
        assert!(!repaired(0).all_needless());
    }

    #[test]
    fn an_echo_from_before_the_first_repetition_shows_a_late_original() {
        let needless = repaired(2);
        assert!(needless.is_late_original(999, false) && !needless.is_late_original(1000, true));
        assert!(!Needless { undo: None, ..needless }.is_late_original(999, true));
        assert!(repaired(0).is_late_original(1000, true) && !repaired(0).is_late_original(1000, false));
    }

    #[test]
    fn a_duplicate_lies_before_the_acknowledgement_or_within_the_next_block() {
        let found = |acknowledged: u64, blocks: &[SackBlock]| {
            let acknowledgment = Some(Sequence::FIRST_BYTE + MSS * acknowledged);
            let mut segment = Segment { acknowledgment, ..Segment::default() };
            blocks.iter().for_each(|block| segment.add_sack_block(*block));
            duplicate(&segment)
        };
        assert_eq!(found(5, &[range(3, 1), range(7, 2)]), Some(range(3, 1)));
        assert_eq!(found(5, &[range(8, 1), range(7, 3)]), Some(range(8, 1)));
        assert_eq!(found(5, &[range(7, 3), range(12, 1)]), None);
        assert_eq!(found(5, &[]), None);
    }
}
