//! What shows that a repetition was needless, and takes back what it did to the window: a timestamp from before it (RFC 3522),
//! everything repeated has arrived twice (RFC 3708), or after a timeout something arrives that was never sent again (RFC 5682).

use super::{News, Phase, Repair};
use crate::recursion::sender::Sender;
use crate::recursion::ticks::Ticks;

/// The window before a reduction.
#[derive(Debug, Clone, Copy)]
struct Before {
    acknowledged: u64,
    /// Repetitions not known to be needless; `None` before the first.
    needed: Option<u64>,
    window: u64,
    threshold: Option<u64>,
}

/// What is known about needless repetition.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Needless {
    /// Repetitions so far, and segments that have arrived twice.
    repeated: u64,
    arrived_twice: u64,
    first_repetition: Option<Ticks>,
    before: Option<Before>,
    /// The last timeout may have been needless.
    frto: bool,
}

impl Needless {
    pub(super) fn forget_first(&mut self) {
        self.first_repetition = None;
    }

    pub(super) fn note_repetition(&mut self, now: Ticks, repairs: bool) {
        self.repeated += 1;
        if repairs {
            self.first_repetition.get_or_insert(now.whole_millis());
            if let Some(before) = &mut self.before {
                before.needed = Some(before.needed.unwrap_or(0) + 1);
            }
        }
    }

    /// What ends at `end` has arrived twice.
    fn note_twice(&mut self, end: u64) {
        self.arrived_twice += 1;
        if let Some(before) = self.before.as_mut().filter(|before| end > before.acknowledged) {
            before.needed = before.needed.map(|needed| needed.saturating_sub(1));
        }
    }

    fn all_needless(&self) -> bool {
        self.before.is_some_and(|before| before.needed == Some(0))
    }

    fn is_late_original(&self, echo: Ticks, unrepeated: bool) -> bool {
        self.before.is_some() && self.first_repetition.map_or(unrepeated, |first| echo.whole_millis() < first)
    }

    pub(super) fn begin_frto(&mut self, on: bool) {
        self.frto = on;
    }
}

impl Repair {
    pub(super) fn hear_of_repetition(&mut self, news: &News) {
        if let Some(end) = news.covered.twice {
            self.needless.note_twice(end);
        }
    }

    /// tcp_init_undo().
    pub(super) fn prepare_undo(&mut self, sender: &Sender) {
        if !self.habits.undoes {
            return;
        }
        let (window, threshold) = (sender.window.size, sender.window.threshold());
        // A window that has grown beyond the threshold says that more is possible (tcp_current_ssthresh()).
        let threshold = threshold.map(|threshold| threshold.max(window / 4 * 3));
        // A probe may arrive twice as well, and is counted unless it is on the way and counts already.
        let probed = sender.repeating_probe().is_some_and(|end| !self.board.is_repeated(end));
        let needed = Some(self.board.repeated() + u64::from(probed)).filter(|repeated| *repeated > 0);
        self.needless.before = Some(Before { acknowledged: sender.acknowledged, needed, window, threshold });
    }

    fn undo(&mut self, sender: &mut Sender) {
        if let Some(Before { window, threshold, .. }) = self.needless.before.take() {
            match &mut self.bbr {
                Some(bbr) => bbr.undo(),
                None => sender.window.undo(window, threshold),
            }
        }
        self.reduction = None;
    }

    pub(super) fn undo_if_all_arrived_twice(&mut self, sender: &mut Sender) -> bool {
        let all = self.needless.all_needless();
        if all {
            self.undo(sender);
        }
        all
    }

    /// What is acknowledged was sent before the first repetition, or there is none yet; without SACK nothing is known of it in the end.
    fn is_late_original(&self, sender: &Sender, echo: Ticks) -> bool {
        self.needless.is_late_original(echo, self.habits.sack || sender.acknowledged < self.recover)
    }

    /// The repair is complete. Returns whether it is over.
    pub(super) fn end_repair(&mut self, sender: &mut Sender, echo: Ticks) -> bool {
        if self.needless.all_needless() || self.is_late_original(sender, echo) {
            self.undo(sender);
        }
        if self.holds(sender) {
            self.needless.forget_first();
        } else {
            self.phase = Phase::Open;
        }
        self.phase == Phase::Open
    }

    /// The first hole was filled by a late original. Returns whether nothing more is to be concluded.
    pub(super) fn undo_if_partly_late(&mut self, sender: &mut Sender, echo: Ticks) -> bool {
        if !self.is_late_original(sender, echo) {
            return false;
        }
        if self.board.repeated() > 0 {
            return true;
        }
        self.needless.first_repetition = None;
        self.board.find_all();
        self.undo(sender);
        self.phase = Phase::Open;
        false
    }

    fn undo_loss(&mut self, sender: &mut Sender, echo: Ticks, is_certain: bool) -> bool {
        let needless = is_certain || self.needless.all_needless() || self.is_late_original(sender, echo);
        if needless {
            self.board.find_all();
            self.undo(sender);
            if !self.holds(sender) && (is_certain || self.habits.sack) {
                self.phase = Phase::Open;
            }
        }
        needless
    }

    /// After a timeout's repetition (tcp_process_loss()). Returns whether the repair is over.
    pub(super) fn judge_timeout(&mut self, sender: &mut Sender, news: &mut News) -> bool {
        if news.advanced && self.undo_loss(sender, news.echo, false) {
            return true;
        }
        let is_complete = sender.acknowledged >= self.recover;
        if self.needless.frto {
            // RFC 5682 §3, steps 3b, 3a and 2b.
            if news.covered.original && self.undo_loss(sender, news.echo, true) {
                return true;
            }
            if sender.next > self.recover {
                self.needless.frto &= news.covered.beyond == 0 && !(news.duplicate && news.covered.twice.is_none());
            } else if news.advanced && !is_complete {
                self.recover = sender.next;
                self.new_first = sender.takes() > 0;
                self.needless.frto = self.new_first;
                if self.new_first {
                    return false;
                }
            }
        }
        if is_complete {
            self.end_repair(sender, news.echo);
        } else if self.habits.emulates_sack {
            self.count_after_timeout(sender, news);
        }
        is_complete
    }
}
