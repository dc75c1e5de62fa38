//! What acknowledgements and timeouts tell the sender: round-trip times, growth, loss, repair.
//!
//! This is the frame, in the order of Linux's tcp_ack(). What a loss is and how it is repaired differs where arrivals out of order
//! are known ([`super::selective`]) and where they are not ([`super::classic`]). After a timeout: slow start over what was not
//! acknowledged (RFC 5681 §3.1, RFC 6298 §5).

use crate::classic;
use crate::congestion::{Acknowledged, CongestionControl, RateSample, Repair};
use crate::rtt::RttSample;
use crate::sender::Sender;
use crate::sent::Covered;
use crate::undo;
use crate::{SackBlock, Segment, Sequence, Timestamps};
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// RFC 5681 §3.2: duplicate acknowledgements, or arrivals behind a hole, that mean a loss.
pub const DUPLICATE_THRESHOLD: u64 = 3;

/// Where the sender stands after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No loss known.
    Open,
    /// The window is being reduced although nothing was lost: the network has marked (Linux: CWR).
    Reduction,
    /// Fast recovery.
    Recovery,
    /// Slow start after a timeout.
    Loss,
}

/// What an acknowledgement brought.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct News {
    pub(crate) covered: Covered,
    /// SND.UNA has moved.
    pub(crate) advanced: bool,
    /// Nothing but an acknowledgement that says what is known already.
    pub(crate) duplicate: bool,
    /// What has arrived twice.
    pub(crate) twice: Option<SackBlock>,
    /// The ages of the first and the last segment it covers, if they tell a round-trip time.
    pub(crate) round_trip: Option<(Duration, Duration)>,
    /// The timestamp it answers.
    pub(crate) echo: u32,
    /// The receiver has seen a mark.
    pub(crate) marked: bool,
    /// Before the acknowledgement: what was on the way, and all that was ever found lost.
    pub(crate) prior_in_flight: Bytes,
    pub(crate) prior_lost: Bytes,
    /// SND.UNA before it.
    pub(crate) prior_unacknowledged: Sequence,
}

impl Sender {
    /// A segment with an acknowledgement arrived.
    pub(crate) fn handle_acknowledgment(&mut self, now: Instant, segment: &Segment, acknowledgment: Sequence) {
        let is_late = acknowledgment < self.unacknowledged;
        if self.is_ignored(acknowledgment) {
            return;
        }
        if !self.is_established() {
            return self.finish_handshake(now, segment, acknowledgment);
        }
        self.new_first = false;
        let moved = !is_late && self.update_window(acknowledgment + segment.window, segment.window);
        if self.nothing_is_out() && self.says_nothing_new(segment, acknowledgment) {
            return;
        }
        let was_out = !self.scoreboard.is_empty();
        let mut news = News::default();
        self.take_in(now, segment, acknowledgment, moved, &mut news);
        self.measure(now, &news);
        if !is_late {
            self.tell_round_trip(now, &news);
        }
        self.hear_of_repetition(&mut news);
        if !was_out {
            self.judge_late(now, &mut news);
        } else if self.counts_arrivals() {
            self.judge_selective(now, &mut news);
        } else {
            classic::judge(self, now, &news);
        }
        self.note_freed();
    }

    /// A window that is not used does not grow (RFC 7661; RFC 9438 §5.8 of CUBIC, whatever the profile).
    pub(crate) fn validates_window(&self) -> bool {
        self.behavior.validates_window || self.congestion.grows_in_use_only()
    }

    /// The same while the sender is at rest ([`Sender::is_at_rest`]). Returns whether it still is; else that segment is to be handled as others
    /// are.
    pub(crate) fn rests_on(&mut self, segment: &Segment, acknowledgment: Sequence) -> bool {
        if self.is_ignored(acknowledgment) {
            return true;
        }
        let rests = self.says_nothing_new(segment, acknowledgment);
        if rests {
            self.update_window(acknowledgment + segment.window, segment.window);
        }
        rests
    }

    /// Arrivals out of order are known, selectively or by their number.
    pub(crate) fn counts_arrivals(&self) -> bool {
        self.behavior.sack || self.behavior.emulates_sack
    }

    /// RFC 9293 §3.10.7.4: what was never sent cannot be acknowledged, and what is late tells nothing without SACK.
    fn is_ignored(&self, acknowledgment: Sequence) -> bool {
        acknowledgment > self.next || (acknowledgment < self.unacknowledged && !self.behavior.sack)
    }

    /// A segment of a side that only sends, if nothing is out here.
    fn says_nothing_new(&self, segment: &Segment, acknowledgment: Sequence) -> bool {
        acknowledgment >= self.unacknowledged && segment.sack.is_empty() && !segment.ece
    }

    /// Nothing is on the way or under repair, and nobody asks how fast data is delivered: as long as the other side only sends, its segments
    /// say nothing new of what has been sent here.
    fn nothing_is_out(&self) -> bool {
        let nothing_happens = self.phase == Phase::Open && self.reduction.is_none() && self.probe.is_none();
        self.scoreboard.is_empty() && nothing_happens && self.scoreboard.rate.is_none()
    }

    /// Nothing is out, nothing waits to be sent, and no timer runs: until the application does something, or a segment says something new,
    /// there is nothing to do. Other segments move the window's edge, at most.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.nothing_is_out()
            && self.is_established()
            && !self.is_asked_to_send()
            && self.next_timeout().is_none()
            && self.buffer.is_none_or(|buffer| !buffer.is_asked())
    }

    /// The other side's SYN has acknowledged ours. RFC 5681 §3.1: a lost SYN means an initial window of one segment, unless it was not lost but
    /// the first one is answered (tcp_try_undo_spurious_syn()).
    fn finish_handshake(&mut self, now: Instant, segment: &Segment, acknowledgment: Sequence) {
        if acknowledgment <= self.unacknowledged {
            return;
        }
        self.update_window(acknowledgment + segment.window, segment.window);
        let mut news = News::default();
        self.take_in(now, segment, acknowledgment, true, &mut news);
        self.measure(now, &news);
        let is_first = self.behavior.undo && self.needless.opened == Some(news.echo);
        if self.handshake_losses > self.behavior.tolerated_handshake_losses && !is_first {
            self.congestion.set_window(self.mss);
        }
        if let (Some((_, least)), Some(smoothed)) = (news.round_trip, self.rtt.smoothed()) {
            self.congestion.on_open(now, least, smoothed);
        }
    }

    /// Returns whether the window's edge moved.
    fn update_window(&mut self, edge: Sequence, window: Bytes) -> bool {
        self.largest_window = self.largest_window.max(window);
        let moved = edge > self.window_edge;
        self.window_edge = self.window_edge.max(edge);
        moved
    }

    /// Brings the scoreboard up to date.
    fn take_in(&mut self, now: Instant, segment: &Segment, acknowledgment: Sequence, moved: bool, news: &mut News) {
        (news.echo, news.marked) = (segment.timestamps.echo, segment.ece && !segment.syn);
        (news.prior_in_flight, news.prior_lost) = (self.in_network(), self.scoreboard.total_lost());
        news.prior_unacknowledged = self.unacknowledged;
        news.advanced = acknowledgment > self.unacknowledged;
        let furthest = self.scoreboard.furthest();
        if let Some(rate) = &mut self.scoreboard.rate {
            rate.begin();
        }
        if self.behavior.sack && !segment.sack.is_empty() {
            news.twice = undo::duplicate(segment);
            self.scoreboard.select(now, segment.sack_blocks(), self.recover, &mut news.covered);
        }
        if news.advanced {
            // What the echo was sent before did not draw it (tcp_skb_spurious_retrans()).
            let (behavior, timers, echo) = (self.behavior, self.timers, news.echo);
            let is_too_late = |sent: Instant| behavior.undo && Timestamps::is_before(echo, timers.timestamp(sent));
            self.scoreboard.acknowledge(now, acknowledgment, self.recover, is_too_late, &mut news.covered);
            self.unacknowledged = acknowledgment;
            self.timeouts = 0;
            self.closed_probes = 0;
            if self.behavior.emulates_sack {
                self.take_announced(news);
            }
        }
        self.scoreboard.note_overtaking(furthest, &news.covered);
        news.duplicate = !news.advanced && !moved && segment.is_pure_ack() && news.covered.sacked == 0;
        news.round_trip = self.round_trip(now, news);
    }

    /// RFC 6298 §3-5: takes the round-trip time and starts the timer again.
    fn measure(&mut self, now: Instant, news: &News) {
        if let Some((rtt, least)) = news.round_trip {
            let (unacknowledged, next) = (self.unacknowledged, self.next);
            self.rtt.sample(RttSample { now, rtt, least, unacknowledged, next });
            if let Some(least) = self.rtt.min() {
                self.scoreboard.note_least_rtt(least);
            }
        } else if news.advanced {
            self.rtt.progress();
        }
        // §5.2-5.3. Arrivals out of order count too as long as they do not answer what was sent since the first was.
        let earlier = news.covered.selectively.is_some_and(|times| Some(times.first) < self.scoreboard.first_sent());
        if news.advanced || (self.behavior.rack && news.round_trip.is_some() && earlier) {
            self.timer = None;
            if !self.scoreboard.is_empty() {
                self.restart_timer(now);
            }
        }
    }

    /// The controller hears of every round-trip time; where slow start ends with it a reduction ends there, too.
    fn tell_round_trip(&mut self, now: Instant, news: &News) {
        if news.round_trip.is_none() {
            return;
        }
        let ack = self.acknowledged(now, news.covered.bytes, news);
        self.congestion.on_round_trip(&ack);
        if let (Some(reduction), Some(threshold)) = (&mut self.reduction, self.congestion.threshold()) {
            reduction.aim(threshold);
        }
    }

    /// The ages of the first and the last segment covered, of those sent once (RFC 6298 §3), the first by number if any was, the last
    /// selectively; else what timestamps say (RFC 7323 §4.1).
    fn round_trip(&self, now: Instant, news: &News) -> Option<(Duration, Duration)> {
        let covered = &news.covered;
        let by_number = covered.by_number.filter(|_| !covered.repetition);
        if let (Some(first), Some(last)) = (by_number.or(covered.selectively), covered.selectively.or(by_number)) {
            return Some((now.since(first.first), now.since(last.last)));
        }
        if !news.advanced || !self.behavior.undo {
            return None;
        }
        let ticks = self.timers.timestamp(now).wrapping_sub(news.echo);
        let rtt = Duration::from_millis(u64::from(ticks));
        (ticks < 1 << 31).then_some((rtt, rtt))
    }

    /// New data was acknowledged, and the window may grow if it was used.
    pub(crate) fn grow(&mut self, now: Instant, news: &News) {
        let bytes = if self.counts_arrivals() { news.covered.delivered } else { news.covered.bytes };
        if bytes == Bytes::ZERO {
            return;
        }
        self.usage.progress(now);
        let ack = self.acknowledged(now, bytes, news);
        let window = self.congestion.window();
        let limited = self.usage.is_limited(window, self.congestion.in_slow_start());
        if self.validates_window() && !limited {
            self.congestion.on_unused_ack(&ack);
        } else {
            self.congestion.on_ack(&ack);
        }
    }

    /// New data was acknowledged, but the window must not grow.
    pub(crate) fn keep_window(&mut self, now: Instant, news: &News) {
        if news.advanced {
            let ack = self.acknowledged(now, news.covered.bytes, news);
            self.congestion.on_unused_ack(&ack);
        }
    }

    fn acknowledged(&self, now: Instant, bytes: Bytes, news: &News) -> Acknowledged {
        let rtt = news.round_trip.map(|(_, least)| least);
        let smoothed = self.rtt.smoothed();
        Acknowledged { now, bytes, rtt, smoothed, sequence: self.unacknowledged, next: self.next }
    }

    /// RFC 5681 §2: everything sent and not acknowledged, but for what duplicate acknowledgements have let out beyond the window
    /// (§3.2 step 2). Linux takes the window.
    pub(crate) fn flight_size(&self) -> Bytes {
        let window = self.congestion.window();
        if self.behavior.counts_segments { window } else { (self.next - self.unacknowledged).min(window) }
    }

    /// RFC 6298 §5.4-5.6: the timer ran out.
    pub(crate) fn time_out(&mut self, now: Instant) {
        self.timer = None;
        self.reordering_timer = None;
        if self.is_established() || self.handshake_losses >= self.linear_timeouts {
            self.rtt.back_off();
        }
        if self.is_established() {
            self.enter_loss(now);
        } else {
            self.handshake_losses += 1;
            self.forget_probe();
            self.scoreboard.lose_all(now, self.behavior.rack);
        }
        self.repeat_now = true;
    }

    /// The other side asks again to connect: it has not heard the answer, which goes again (tcp_check_req(), 4.4BSD's syncache), and its timer
    /// runs anew. Returns false if it has just gone, as that ran out: then nothing more is to be said.
    pub(crate) fn repeat_handshake(&mut self, now: Instant) -> bool {
        if self.is_established() || self.next == Sequence::SYN {
            return true;
        }
        if self.scoreboard.first_sent() == Some(now) {
            return false;
        }
        self.timer = None;
        self.scoreboard.lose_first();
        self.repeat_now = true;
        true
    }

    /// tcp_enter_loss().
    fn enter_loss(&mut self, now: Instant) {
        let repairing = matches!(self.phase, Phase::Recovery | Phase::Loss);
        // Once per window of data (RFC 3168 §6.1.2 of one that was marked); by the RFCs also when a fast recovery fails.
        let reduces = match self.phase {
            Phase::Open => true,
            Phase::Loss => self.timeouts == 0,
            Phase::Recovery => !self.behavior.counts_segments || self.unacknowledged >= self.recover,
            Phase::Reduction => self.unacknowledged >= self.recover,
        };
        self.scoreboard.lose_all(now, self.behavior.rack);
        if reduces {
            self.prepare_undo(false);
        }
        self.forget_probe();
        self.congestion.on_timeout(self.flight_size(), !reduces);
        self.duplicates = 0;
        self.congestion.on_all_lost(&RateSample {
            total_lost: self.scoreboard.total_lost(),
            newly_lost: self.mss,
            ..self.scoreboard.rate.as_ref().map(|rate| rate.totals(now)).unwrap_or_default()
        });
        self.congestion.set_window(self.in_network() + self.mss);
        (self.reduction, self.announce_reduction) = (None, true);
        self.needless.frto = self.behavior.undo && (!repairing || self.timeouts > 0);
        self.new_first = false;
        self.timeouts = self.timeouts.saturating_add(1);
        self.recover = self.next;
        self.phase = Phase::Loss;
    }

    /// What a controller that models the path is told of the repair.
    pub(crate) fn repair(&self) -> Repair {
        match self.phase {
            Phase::Open | Phase::Reduction => Repair::None,
            Phase::Recovery => Repair::Fast,
            Phase::Loss => Repair::AfterTimeout,
        }
    }
}
