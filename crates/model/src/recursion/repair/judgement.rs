//! What an acknowledgement means with SACK, or as if there were, in the order of Linux's tcp_fastretrans_alert() and tcp_cong_control().

use super::bbr::Sight;
use super::reduction::Reduction;
use super::{News, Phase, Repair};
use crate::recursion::sender::Sender;
use crate::recursion::ticks::Ticks;
use crate::recursion::window::Acked;
use farhop_scenario::DUPLICATE_THRESHOLD;

impl Repair {
    pub(super) fn judge_selective(&mut self, sender: &mut Sender, now: Ticks, news: &mut News) {
        self.hear_of_repetition(news);
        self.judge_probe(sender, news);
        let nothing_is_missing = self.board.arrived() == 0 && self.board.holes() == 0 && self.duplicates == 0;
        let is_calm = self.phase == Phase::Open && nothing_is_missing;
        if !is_calm || news.duplicate || news.covered.twice.is_some() {
            self.repair_losses(sender, now, news);
        }
        self.adapt_window(sender, now, news);
        if news.advanced {
            self.schedule_probe(sender, now, false);
        }
    }

    /// Nothing was out: all that can be heard is that something has arrived twice, and nothing of how fast data is delivered (tcp_ack(): no_queue).
    pub(super) fn judge_late(&mut self, sender: &mut Sender, now: Ticks, news: &mut News) {
        self.hear_of_repetition(news);
        if news.covered.twice.is_some() {
            self.repair_losses(sender, now, news);
        }
        self.judge_probe(sender, news);
    }

    fn repair_losses(&mut self, sender: &mut Sender, now: Ticks, news: &mut News) {
        match self.phase {
            Phase::Open => self.needless.forget_first(),
            Phase::Recovery if sender.acknowledged >= self.recover => {
                self.duplicates = 0;
                if !self.end_repair(sender, news.echo) {
                    return;
                }
                self.end_reduction(sender);
            }
            Phase::Recovery | Phase::Loss => {}
        }
        match self.phase {
            Phase::Open => {
                self.undo_if_all_arrived_twice(sender);
                self.count_duplicates(news);
            }
            Phase::Recovery => {
                if news.advanced && self.undo_if_partly_late(sender, news.echo) {
                    return;
                }
                self.note_duplicate(news);
                if self.undo_if_all_arrived_twice(sender) {
                    self.phase = Phase::Open;
                }
            }
            Phase::Loss => {
                let before = self.board.lost_again();
                let is_over = self.judge_timeout(sender, news);
                self.find_losses(sender, now, news.advanced);
                if self.phase == Phase::Loss && (is_over || self.board.lost_again() == before) {
                    return;
                }
                self.count_duplicates(news);
            }
        }
        self.find_losses(sender, now, news.advanced);
        // What was sent again is all known to have arrived: its time is no bound for later repairs (tcp_try_to_open(), tcp_enter_recovery()).
        if self.phase == Phase::Open && !self.board.has_repeated() {
            self.needless.forget_first();
        }
        if self.phase != Phase::Recovery && self.is_to_recover() {
            self.enter_recovery(sender);
        }
    }

    /// In Linux whatever was found lost asks for a recovery until it arrives: one that ends while something sent later is being repaired is followed by
    /// another at once (tcp_time_to_recover()).
    fn is_to_recover(&self) -> bool {
        if self.habits.counts_segments { self.board.holes() > 0 } else { self.board.lost() > 0 }
    }

    fn end_reduction(&mut self, sender: &mut Sender) {
        if let Some(reduction) = self.reduction.take() {
            sender.window.set(reduction.target);
        }
        self.phase = Phase::Open;
    }

    /// Finds what is lost, and when to look again: at once after three arrivals or amid a repair, else after a while (RFC 8985 §6.2).
    fn find_losses(&mut self, sender: &Sender, now: Ticks, advanced: bool) {
        if self.habits.emulates_sack {
            return self.find_first_lost(advanced);
        }
        if !self.habits.rack {
            return self.board.lose_passed(DUPLICATE_THRESHOLD);
        }
        let is_clear = self.phase != Phase::Open || self.board.arrived() as u64 >= DUPLICATE_THRESHOLD;
        // A quarter of the least round trip: nothing overtakes anything here, so that nothing makes it longer.
        let rtt = &sender.rtt;
        let usual = rtt.least.unwrap_or_default().per(4).min(rtt.smoothed().unwrap_or_default());
        let patience = if is_clear { Ticks::ZERO } else { usual };
        let pending = self.board.lose_overtaken(now, patience);
        self.look_again = pending.map_or(Ticks::NEVER, |at| sender.allowing_expiry(now, at.since(now)));
    }

    pub(super) fn look_again(&mut self, sender: &mut Sender, now: Ticks) {
        self.look_again = Ticks::NEVER;
        let before = self.board.total_lost();
        self.find_losses(sender, now, false);
        if self.board.total_lost() > before && self.phase != Phase::Recovery {
            self.enter_recovery(sender);
            self.reduce(sender, self.mss, false);
        }
    }

    /// tcp_enter_recovery(): the controller says how far the window shrinks, the acknowledgements how fast.
    fn enter_recovery(&mut self, sender: &mut Sender) {
        self.prepare_undo(sender);
        sender.forget_probe();
        self.recover = sender.next;
        let (before, flight) = (sender.window.size, self.flight_size(sender));
        self.reduce_window(sender);
        self.phase = Phase::Recovery;
        if sender.window.is_fixed() {
            // What BBR repeats is paced, as all is (tcp_xmit_retransmit_queue()).
            self.repeat_now = self.bbr.is_none();
            return;
        }
        let unit = if self.habits.counts_segments { self.mss } else { 1 };
        self.reduction = Some(Reduction::new((self.mss, unit), flight, sender.window.size));
        sender.window.set(before);
    }

    fn adapt_window(&mut self, sender: &mut Sender, now: Ticks, news: &News) {
        if self.bbr.is_some() {
            self.follow(sender, now, news);
        } else if self.reduction.is_some() {
            if news.advanced {
                let ack = self.acked(sender, now, news, news.covered.bytes);
                sender.window.on_unused_ack(&ack);
            }
            let is_safe = news.advanced && self.board.total_lost() == news.prior_lost;
            self.reduce(sender, news.covered.delivered, is_safe);
        } else if news.advanced {
            self.grow(sender, now, news);
        }
    }

    fn reduce(&mut self, sender: &mut Sender, delivered: u64, is_safe: bool) {
        let in_flight = self.in_network();
        let window = self.reduction.as_mut().and_then(|reduction| reduction.window(delivered, in_flight, is_safe));
        if let Some(window) = window {
            sender.window.set(window.max(self.mss));
        }
    }

    pub(super) fn grow(&mut self, sender: &mut Sender, now: Ticks, news: &News) {
        let bytes = if self.counts_arrivals() { news.covered.delivered } else { news.covered.bytes };
        if bytes > 0 {
            let ack = self.acked(sender, now, news, bytes);
            sender.note_growth(&ack);
        }
    }

    /// Where slow start ends a reduction ends, too.
    pub(super) fn tell_round_trip(&mut self, sender: &mut Sender, now: Ticks, news: &News) {
        if news.round_trip.is_none() {
            return;
        }
        sender.window.on_round_trip(&self.acked(sender, now, news, news.covered.bytes));
        if let (Some(reduction), Some(threshold)) = (&mut self.reduction, sender.window.threshold()) {
            reduction.target = threshold;
        }
    }

    fn acked(&self, sender: &Sender, now: Ticks, news: &News, bytes: u64) -> Acked {
        let smoothed = sender.rtt.smoothed().unwrap_or_default();
        let rtt = news.round_trip.map(|(_, least)| least);
        Acked { now, bytes, rtt, smoothed, up_to: sender.acknowledged, next: sender.next }
    }

    /// BBR sees how fast data is delivered.
    pub(super) fn follow(&mut self, sender: &mut Sender, now: Ticks, news: &News) {
        let least_rtt = sender.rtt.least.unwrap_or_default();
        let rate = self.board.rate.sample(now, news.covered.delivered, least_rtt);
        let in_flight = self.in_network();
        let (phase, newly_lost) = (self.phase, self.board.total_lost() - news.prior_lost);
        let until_departure = if sender.window.burst().is_some() { Ticks::ZERO } else { self.pacer.held_back(now) };
        let Some(bbr) = &mut self.bbr else { return };
        bbr.on_sight(&Sight {
            now,
            rate,
            rtt: news.round_trip.map(|(_, least)| least),
            is_delayed: news.covered.segments == 1 && news.covered.bytes < self.mss,
            delivered: news.covered.delivered,
            newly_lost,
            prior_in_flight: news.prior_in_flight,
            in_flight,
            until_departure,
            in_recovery: phase == Phase::Recovery,
            repairs: phase != Phase::Open,
            smoothed_rtt: sender.rtt.smoothed(),
        });
        sender.window.assign(bbr.window());
        if bbr.keeps_little_on_the_way() {
            self.board.rate.starve(in_flight);
        }
    }
}
