//! Tail-loss probes (RFC 8985 §7), as far as they differ where packets are lost: none while a loss is suspected, and a probe that
//! repeats what was lost shrinks the window.

use super::{News, Phase, Repair};
use crate::recursion::probe::Probe;
use crate::recursion::sender::Sender;
use crate::recursion::ticks::Ticks;

impl Repair {
    pub(super) fn schedule_probe(&self, sender: &mut Sender, now: Ticks, leaves: bool) {
        if !self.habits.rack || (leaves && sender.has_just_probed()) {
            return;
        }
        let is_calm = self.phase == Phase::Open && self.board.arrived() == 0;
        let (Some(rtt), true, true) = (sender.rtt.smoothed(), is_calm, sender.timer.is_set()) else {
            return sender.clear_probe();
        };
        let first = self.board.first_sent().filter(|_| leaves);
        sender.set_probe(now, rtt, self.board.len() == 1, first);
    }

    /// New data if the receiver has room, else the last segment again, whatever the window says.
    pub(super) fn send_probe(&mut self, sender: &mut Sender, now: Ticks) {
        if sender.holds_probe_back() {
            return;
        }
        self.repeat_now = true;
        let fresh = sender.takes();
        let repeats = fresh == 0;
        if repeats {
            self.board.lose_last();
        }
        sender.probe = Some(Probe::Sent { end: sender.next + fresh, repeats });
        sender.timer = sender.retransmission(now);
    }

    /// RFC 8985 §7.4.2: was the segment lost that the probe repeats?
    pub(super) fn judge_probe(&mut self, sender: &mut Sender, news: &News) {
        let Some(Probe::Sent { end, repeats }) = sender.probe else { return };
        if sender.acknowledged < end {
            return;
        }
        if !repeats || news.covered.twice == Some(end) || news.duplicate {
            sender.end_probe();
        } else if sender.acknowledged > end {
            sender.end_probe();
            self.reduce_window(sender);
        }
    }
}
