//! Linux without SACK: every duplicate acknowledgement counts as the selective one of some segment, nobody knows of which
//! (tcp_add_reno_sack()), so that what follows from arrivals out of order - what is on the way, proportional rate reduction, how fast
//! data is delivered - works as with SACK ([`super::selective`]). Which segment is lost such acknowledgements do not say: it is the
//! first one after three duplicates, and in recovery the first one behind each partial acknowledgement (RFC 6582 §3.2; slow but steady).
//!
//! Recovery and the slow start after a timeout hold until something beyond what was on the way at their beginning is acknowledged, so
//! that duplicates which the repair itself has caused begin no other (RFC 6582 §3.2 step 2; tcp_is_non_sack_preventing_reopen()).

use crate::recovery::{News, Phase};
use crate::sender::Sender;

impl Sender {
    /// An acknowledgement covered segments by number: one of them filled the hole, and duplicates had announced the others as far as there were
    /// any (tcp_remove_reno_sacks()).
    pub(crate) fn take_announced(&mut self, news: &mut News) {
        let acknowledged = news.covered.segments;
        let known = self.duplicates.min(acknowledged.saturating_sub(1));
        self.duplicates -= known;
        let known = self.mss * known;
        news.covered.delivered -= known;
        if let Some(rate) = &mut self.scoreboard.rate {
            rate.count_less(known);
        }
        self.bound_duplicates(acknowledged);
        // Whether it was the repetition or the first transmission that arrived, nobody can tell.
        news.covered.original &= !news.covered.repetition;
    }

    /// What a duplicate acknowledgement says without SACK: some segment has arrived (tcp_add_reno_sack()).
    pub(crate) fn note_duplicate(&mut self, news: &mut News) {
        if !self.behavior.emulates_sack || !news.duplicate || self.scoreboard.is_empty() {
            return;
        }
        let before = self.duplicates;
        self.duplicates += 1;
        self.bound_duplicates(0);
        if self.duplicates > before {
            news.covered.delivered += self.mss;
            if let Some(rate) = &mut self.scoreboard.rate {
                rate.count_more(self.mss);
            }
        }
    }

    /// More segments cannot have arrived than are out, but for those that are known to be lost, one at least. Where duplicates say so,
    /// segments have overtaken others, by as many as were out with the `acknowledged` (tcp_check_reno_reordering()).
    fn bound_duplicates(&mut self, acknowledged: u64) {
        let out = self.scoreboard.segments() as u64;
        let holes = u64::from(self.scoreboard.holes()).max(1).min(out);
        if self.duplicates + holes > out {
            self.duplicates = out - holes;
            self.reordering.overtake(out + acknowledged);
        }
    }

    /// What a duplicate or an acknowledgement by number says outside of a repair.
    pub(crate) fn count_duplicates(&mut self, news: &mut News) {
        if news.advanced {
            self.duplicates = 0;
        }
        self.note_duplicate(news);
    }

    /// After a timeout only the data that F-RTO sends draws duplicates of worth.
    pub(crate) fn count_after_timeout(&mut self, news: &mut News) {
        if news.advanced {
            self.duplicates = 0;
        } else if self.next > self.recover {
            self.note_duplicate(news);
        }
    }

    /// The first segment is lost once enough duplicates say so, and in recovery behind each partial acknowledgement
    /// (tcp_newreno_mark_lost()).
    pub(crate) fn find_first_lost(&mut self, advanced: bool) {
        let lost = match self.phase {
            Phase::Open | Phase::Reduction => self.duplicates >= self.reordering.degree(),
            Phase::Recovery => advanced,
            Phase::Loss => false,
        };
        if lost {
            self.scoreboard.lose_first_once();
        }
    }

    /// Whether the phase goes on although all is acknowledged that was on the way when it began.
    pub(crate) fn holds(&self) -> bool {
        self.behavior.emulates_sack && self.unacknowledged == self.recover
    }
}
