//! Linux without SACK: a duplicate acknowledgement counts as the selective one of some segment (tcp_add_reno_sack()). Which is lost is
//! told by number: the first one after three of them, and in recovery the first one behind each partial acknowledgement.

use super::{News, Phase, Repair};
use crate::recursion::sender::Sender;

/// `tcp_max_reordering`.
const MOST_DUPLICATES: u64 = 300;

impl Repair {
    /// Segments were acknowledged by number, of which duplicates had announced all but one, as far as there were any
    /// (tcp_remove_reno_sacks()).
    pub(super) fn take_announced(&mut self, news: &mut News) {
        let acknowledged = news.covered.segments;
        let known = self.duplicates.min(acknowledged.saturating_sub(1));
        self.duplicates -= known;
        news.covered.delivered -= known * self.mss;
        self.board.rate.count_less(known * self.mss);
        self.bound_duplicates(acknowledged);
        news.covered.original &= !news.covered.repetition;
    }

    pub(super) fn note_duplicate(&mut self, news: &mut News) {
        if !self.habits.emulates_sack || !news.duplicate || self.board.is_empty() {
            return;
        }
        let before = self.duplicates;
        self.duplicates += 1;
        self.bound_duplicates(0);
        if self.duplicates > before {
            news.covered.delivered += self.mss;
            self.board.rate.count(self.mss);
        }
    }

    /// More cannot have arrived than is out and not lost; where it seems so, more duplicates are needed from now on
    /// (tcp_check_reno_reordering()).
    fn bound_duplicates(&mut self, acknowledged: u64) {
        let out = self.board.len() as u64;
        let holes = self.board.holes().max(1).min(out);
        if self.duplicates + holes > out {
            self.duplicates = out - holes;
            self.degree = (out + acknowledged).min(MOST_DUPLICATES);
        }
    }

    pub(super) fn count_duplicates(&mut self, news: &mut News) {
        if news.advanced {
            self.duplicates = 0;
        }
        self.note_duplicate(news);
    }

    /// After a timeout only what F-RTO sends draws duplicates of worth.
    pub(super) fn count_after_timeout(&mut self, sender: &Sender, news: &mut News) {
        if news.advanced {
            self.duplicates = 0;
        } else if sender.next > self.recover {
            self.note_duplicate(news);
        }
    }

    /// tcp_newreno_mark_lost().
    pub(super) fn find_first_lost(&mut self, advanced: bool) {
        let lost = match self.phase {
            Phase::Open => self.duplicates >= self.degree,
            Phase::Recovery => advanced,
            Phase::Loss => false,
        };
        if lost {
            self.board.lose_first_once();
        }
    }

    /// A repair goes on until something beyond what was on the way when it began is acknowledged (tcp_is_non_sack_preventing_reopen()).
    pub(super) fn holds(&self, sender: &Sender) -> bool {
        self.habits.emulates_sack && sender.acknowledged == self.recover
    }
}
