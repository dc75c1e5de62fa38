//! Timers of a sender that repairs: RFC 6298 §5, and when to look again for what was overtaken.

use super::{Phase, Repair};
use crate::recursion::deadline::Deadline;
use crate::recursion::sender::Sender;
use crate::recursion::ticks::Ticks;

impl Repair {
    /// When the first of the timers runs out that are known to the nanosecond.
    pub(crate) fn timer(&self) -> Ticks {
        self.look_again.min(self.pacer.due)
    }

    /// Runs the timer that runs out at `now`; a probe comes before the timeout that it postpones. Of a timeout, returns whether
    /// something was lost.
    pub(crate) fn run_timers(&mut self, sender: &mut Sender, now: Ticks) -> Option<bool> {
        if self.pacer.due <= now {
            self.pacer.due = Ticks::NEVER;
        } else if self.look_again <= now {
            self.look_again(sender, now);
        } else if sender.is_probe_due(now) {
            self.send_probe(sender, now);
        } else if sender.timer.has_come(now, &self.habits) {
            let is_needed = self.board.lost() > 0 || self.board.has_dropped();
            self.time_out(sender, now);
            return Some(is_needed);
        }
        None
    }

    fn time_out(&mut self, sender: &mut Sender, now: Ticks) {
        (sender.timer, self.look_again) = (Deadline::NEVER, Ticks::NEVER);
        sender.rtt.back_off();
        let repairs = self.phase != Phase::Open;
        // Once per window of data; by the RFCs also when a fast recovery fails.
        let reduces = match self.phase {
            Phase::Open => true,
            Phase::Loss => self.timeouts == 0,
            Phase::Recovery => !self.habits.counts_segments || sender.acknowledged >= self.recover,
        };
        self.board.lose_all(now, self.habits.rack);
        if reduces {
            self.prepare_undo(sender);
        }
        sender.forget_probe();
        let flight = self.flight_size(sender);
        match &mut self.bbr {
            Some(bbr) => bbr.on_timeout(!reduces),
            None => sender.window.on_timeout(flight, !reduces),
        }
        self.duplicates = 0;
        sender.window.assign(self.in_network() + self.mss);
        if let Some(bbr) = &mut self.bbr {
            bbr.set_window(sender.window.size);
        }
        self.reduction = None;
        self.needless.begin_frto(self.habits.undoes && (!repairs || self.timeouts > 0));
        (self.new_first, self.repeat_now) = (false, true);
        self.timeouts += 1;
        self.recover = sender.next;
        self.phase = Phase::Loss;
    }
}
