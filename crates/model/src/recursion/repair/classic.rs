//! Without SACK, by the RFCs: fast retransmit and recovery (RFC 5681 §3.2), a hole per round trip (RFC 6582 §3.2). Segments that duplicate
//! acknowledgements have announced count as out of the network, which is the window's inflation.

use super::{News, Phase, Repair};
use crate::recursion::sender::Sender;
use crate::recursion::ticks::Ticks;
use farhop_scenario::DUPLICATE_THRESHOLD;

impl Repair {
    pub(super) fn judge_by_number(&mut self, sender: &mut Sender, now: Ticks, news: &News) {
        if news.advanced {
            self.judge_progress(sender, now, news);
        } else if news.duplicate {
            self.count_duplicate(sender);
        }
        if self.bbr.is_some() {
            self.follow(sender, now, news);
        }
    }

    fn judge_progress(&mut self, sender: &mut Sender, now: Ticks, news: &News) {
        let is_complete = sender.acknowledged >= self.recover;
        match self.phase {
            Phase::Open => {
                self.duplicates = 0;
                self.grow(sender, now, news);
            }
            Phase::Recovery if is_complete || self.habits.plain_reno => self.end_by_number(),
            Phase::Recovery => {
                // A partial acknowledgement shows the next hole; all but the repeated segment had left the network before.
                self.duplicates = self.duplicates.saturating_sub(news.covered.segments.saturating_sub(1));
                self.board.lose_first();
                self.repeat_now = true;
            }
            Phase::Loss => {
                if is_complete {
                    self.end_by_number();
                }
                self.grow(sender, now, news);
            }
        }
    }

    fn end_by_number(&mut self) {
        (self.phase, self.duplicates) = (Phase::Open, 0);
    }

    fn count_duplicate(&mut self, sender: &mut Sender) {
        if self.phase == Phase::Loss {
            return;
        }
        self.duplicates += 1;
        // RFC 6582 §3.2 step 2: not for duplicates that the last recovery itself has caused.
        let is_fresh = self.habits.plain_reno || sender.acknowledged > self.recover;
        if self.phase == Phase::Open && is_fresh && self.duplicates >= DUPLICATE_THRESHOLD {
            self.reduce_window(sender);
            self.phase = Phase::Recovery;
            self.recover = sender.next;
            self.board.lose_first();
            self.repeat_now = true;
        }
    }
}
