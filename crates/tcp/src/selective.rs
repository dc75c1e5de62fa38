//! Loss and repair with SACK, or as if there were ([`super::emulated`]), after Linux's tcp_fastretrans_alert().
//!
//! What is lost is told by RACK (RFC 8985 §6.2) or by three arrivals behind it (RFC 6675 §4); the window shrinks by proportional
//! rate reduction ([`super::prr`]); what proves needless is undone ([`super::undo`]). New data goes out as arrivals out of order
//! free the window, which is limited transmit (RFC 3042).
//!
//! Left out: RFC 6675 §4's rules 3 and 4 for what else might be sent when nothing is known to be lost (rescue retransmission),
//! reneging receivers.

use crate::congestion::{CongestionControl, RateSample};
use crate::probe::LEAST_TIMEOUT;
use crate::prr::{Delivery, RateReduction};
use crate::recovery::{DUPLICATE_THRESHOLD, News, Phase};
use crate::reordering::{self, Circumstances};
use crate::scoreboard::Overtaken;
use crate::sender::Sender;
use farhop_units::{Bytes, Instant};

impl Sender {
    /// Draws the conclusions from an acknowledgement.
    pub(crate) fn judge_selective(&mut self, now: Instant, news: &mut News) {
        if let Some(rate) = &self.scoreboard.rate
            && let Some(prior) = rate.prior_delivered()
        {
            self.reordering.adapt(prior, rate.delivered());
        }
        self.judge_probe(news);
        let calm = self.phase == Phase::Open && self.nothing_is_missing();
        if !calm || news.duplicate || news.twice.is_some() || news.marked {
            self.repair_losses(now, news);
        }
        self.adapt_window(now, news);
        if news.advanced {
            self.schedule_probe(now, false);
        }
    }

    /// Nothing was out: a segment that arrives then says no more than that something has arrived twice (tcp_ack(): no_queue). How fast data is
    /// delivered it does not say: what the other side asks for after a pause is no sample.
    pub(crate) fn judge_late(&mut self, now: Instant, news: &mut News) {
        if news.twice.is_some() {
            self.repair_losses(now, news);
        }
        self.judge_probe(news);
    }

    /// RFC 2883: something arrived twice (tcp_check_dsack()). That is a delivery too; and where segments overtake others, a sign that
    /// they were not waited for long enough.
    pub(crate) fn hear_of_repetition(&mut self, news: &mut News) {
        let Some(range) = news.twice else { return };
        let Some(segments) = self.needless.note_duplicate(range, self.mss) else { return };
        let delivered = self.mss * segments;
        if let Some(rate) = &mut self.scoreboard.rate {
            rate.count_more(delivered);
        }
        news.covered.delivered += delivered;
        if self.scoreboard.displacement() > Bytes::ZERO && !self.is_probes_end(range.end) {
            self.reordering.hear_duplicate();
        }
    }

    fn nothing_is_missing(&self) -> bool {
        self.scoreboard.sacked() == 0 && self.scoreboard.holes() == 0 && self.duplicates == 0
    }

    fn repair_losses(&mut self, now: Instant, news: &mut News) {
        if self.leave_finished_phase(news) {
            return;
        }
        match self.phase {
            Phase::Recovery => {
                if news.advanced && self.undo_if_partly_late(news) {
                    return;
                }
                self.note_duplicate(news);
                if self.undo_if_all_arrived_twice() {
                    self.phase = Phase::Open;
                }
            }
            Phase::Loss => {
                let over = self.judge_timeout(news);
                let found = self.find_losses(now, news.advanced);
                // A repetition that is lost too needs a repair of its own; nothing else does (RFC 6675 §5.1).
                if self.phase == Phase::Loss && (over || !found.again) {
                    return;
                }
                self.count_duplicates(news);
            }
            Phase::Open => {
                self.undo_if_all_arrived_twice();
                self.count_duplicates(news);
            }
            Phase::Reduction => self.count_duplicates(news),
        }
        self.find_losses(now, news.advanced);
        // What was sent again is all known to have arrived: its time is no bound for later repairs (tcp_try_to_open(), tcp_enter_recovery()).
        if matches!(self.phase, Phase::Open | Phase::Reduction) && !self.scoreboard.has_repeated() {
            self.needless.first_repetition = None;
        }
        if self.phase != Phase::Recovery && self.is_to_recover() {
            self.enter_recovery(news.marked);
        } else if news.marked {
            self.reduce_for_mark();
        }
    }

    /// Everything that was on the way when the phase began has been acknowledged. Returns whether nothing more is to be concluded.
    fn leave_finished_phase(&mut self, news: &News) -> bool {
        match self.phase {
            Phase::Open => self.needless.first_repetition = None,
            // One more, so that the receiver has heard of the reduction.
            Phase::Reduction if self.unacknowledged > self.recover => self.end_reduction(),
            Phase::Recovery if self.unacknowledged >= self.recover => {
                self.duplicates = 0;
                if !self.end_repair(news.echo) {
                    return true;
                }
                self.end_reduction();
            }
            Phase::Reduction | Phase::Recovery | Phase::Loss => {}
        }
        false
    }

    /// The window is what it was to become, unless the reduction was undone.
    fn end_reduction(&mut self) {
        if let Some(reduction) = self.reduction.take() {
            self.congestion.set_window(reduction.target());
        }
        self.phase = Phase::Open;
    }

    /// Finds what is lost, and when to look again, after SND.UNA has `advanced` or not. Returns what RACK has found.
    fn find_losses(&mut self, now: Instant, advanced: bool) -> Overtaken {
        if self.behavior.emulates_sack {
            self.find_first_lost(advanced);
            return Overtaken::default();
        }
        if !self.behavior.rack {
            self.scoreboard.lose_passed(DUPLICATE_THRESHOLD);
            return Overtaken::default();
        }
        let overtaken = self.scoreboard.lose_overtaken(now, self.reordering.window(self.circumstances()));
        let timers = self.timers;
        self.reordering_timer = overtaken.pending.map(|at| timers.expiry(now, at.since(now) + LEAST_TIMEOUT));
        overtaken
    }

    fn circumstances(&self) -> Circumstances {
        Circumstances {
            repairing: matches!(self.phase, Phase::Recovery | Phase::Loss),
            sacked: self.scoreboard.sacked(),
            displacement: self.scoreboard.displacement(),
            least_rtt: self.rtt.min().unwrap_or_default(),
            smoothed_rtt: self.rtt.smoothed().unwrap_or_default(),
        }
    }

    /// RFC 8985 §6.3: the reordering timer ran out.
    pub(crate) fn handle_reordering_timer(&mut self, now: Instant) {
        self.reordering_timer = None;
        let found = self.find_losses(now, false);
        if found.lost && self.phase != Phase::Recovery {
            self.enter_recovery(false);
            let (delivered, in_flight) = (self.mss, self.scoreboard.in_flight());
            self.reduce(Delivery { delivered, in_flight, safe: false });
        }
    }

    /// Whether what is known to be missing asks for a recovery. In Linux whatever was found lost does until it arrives: a recovery that ends while
    /// something sent later is being repaired is followed by another at once (tcp_time_to_recover()).
    fn is_to_recover(&self) -> bool {
        if self.behavior.counts_segments { self.scoreboard.holes() > 0 } else { self.scoreboard.lost() > 0 }
    }

    fn enter_recovery(&mut self, marked: bool) {
        self.prepare_undo(marked || self.reduction.is_some());
        self.begin_reduction();
        self.phase = Phase::Recovery;
    }

    /// tcp_init_cwnd_reduction(): the controller says how far, the acknowledgements how fast.
    fn begin_reduction(&mut self) {
        self.forget_probe();
        // One that models the path has no share of it to be sent, but reduces once, too.
        if self.reduction.is_some() || self.phase == Phase::Reduction {
            return;
        }
        self.recover = self.next;
        self.announce_reduction = true;
        let (window, from) = (self.congestion.window(), self.flight_size());
        self.congestion.on_loss(from);
        if !self.congestion.models_the_path() {
            let to = self.congestion.window();
            self.congestion.set_window(window);
            let unit = if self.behavior.counts_segments { self.mss } else { Bytes::new(1) };
            self.reduction = Some(RateReduction::new(self.mss, unit, (from, to)));
        }
    }

    /// The window after this acknowledgement (tcp_cong_control()).
    fn adapt_window(&mut self, now: Instant, news: &News) {
        if self.congestion.models_the_path() {
            self.follow_sample(now, news);
        } else if self.reduction.is_some() {
            self.keep_window(now, news);
            let safe = news.advanced && self.scoreboard.total_lost() == news.prior_lost;
            let (delivered, in_flight) = (news.covered.delivered, self.in_network());
            self.reduce(Delivery { delivered, in_flight, safe });
        } else if news.advanced || reordering::is_usual(self.scoreboard.displacement(), self.mss) {
            self.grow(now, news);
        }
    }

    /// The controller sees how fast data is delivered.
    pub(crate) fn follow_sample(&mut self, now: Instant, news: &News) {
        let Some(sample) = self.sample(now, news) else { return };
        self.congestion.on_sample(&sample);
        if self.congestion.keeps_little_on_the_way() {
            self.starve(sample.in_flight);
        }
    }

    fn reduce(&mut self, delivery: Delivery) {
        if let Some(window) = self.reduction.as_mut().and_then(|reduction| reduction.window(delivery)) {
            self.congestion.set_window(window.max(self.mss));
        }
    }

    fn sample(&mut self, now: Instant, news: &News) -> Option<RateSample> {
        let least_rtt = self.rtt.min().unwrap_or_default();
        let rtt = news.round_trip.map(|(_, least)| least);
        let sample = self.scoreboard.rate.as_mut()?.sample(now, news.covered.delivered, least_rtt);
        Some(RateSample {
            rtt,
            maybe_delayed: news.covered.segments == 1 && news.covered.bytes < self.mss,
            total_lost: self.scoreboard.total_lost(),
            newly_lost: self.scoreboard.total_lost() - news.prior_lost,
            prior_in_flight: news.prior_in_flight,
            in_flight: self.in_network(),
            until_departure: self.held_back(now),
            repair: self.repair(),
            smoothed_rtt: self.rtt.smoothed(),
            ..sample
        })
    }

    /// RFC 3168 §6.1.2: the network has marked; the window shrinks as for a loss, once per window of data. Of a mark that is told until what was
    /// sent after the last reduction has arrived the sender has thought already; Linux looks at its phase alone (tcp_enter_cwr()).
    pub(crate) fn reduce_for_mark(&mut self) {
        let is_known = !self.behavior.counts_segments && self.unacknowledged <= self.recover;
        if self.phase != Phase::Open || is_known {
            return;
        }
        self.needless.undo = None;
        if self.counts_arrivals() {
            self.begin_reduction();
        } else {
            (self.recover, self.announce_reduction) = (self.next, true);
            let size = self.flight_size();
            self.congestion.on_loss(size);
        }
        self.phase = Phase::Reduction;
    }
}
