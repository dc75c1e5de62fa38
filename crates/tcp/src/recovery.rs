//! What acknowledgements and timeouts tell the sender: growth, loss, repair.
//!
//! Without SACK: fast retransmit and fast recovery of RFC 5681 §3.2, with NewReno's partial acknowledgements (RFC 6582 §3.2) unless
//! plain Reno is asked for. The window's inflation by duplicate ACKs is kept as the equivalent account of segments that have left
//! the network. With SACK: RFC 6675 §5's state machine, with losses told by RACK's order of sending (RFC 8985 §6.2) at once when
//! three segments have arrived out of order, else after a reordering window; probes for losses at the tail are in
//! [`super::probe`]. After a timeout: slow start over what was not acknowledged (RFC 5681 §3.1, RFC 6298 §5).
//!
//! Left out: proportional rate reduction (RFC 6937: the same window at the end, sent more evenly), RACK's wider window after
//! spurious retransmissions (it needs DSACK), F-RTO (RFC 5682), undo after spurious retransmissions.

use crate::congestion::{Acknowledged, CongestionControl};
use crate::sender::Sender;
use crate::sent::Covered;
use crate::{Segment, Sequence};
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// RFC 5681 §3.2: duplicate acknowledgements that mean a loss.
const DUPLICATE_THRESHOLD: usize = 3;

/// Where the sender stands after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No loss known.
    Open,
    /// Fast recovery.
    Recovery,
    /// Slow start after a timeout.
    Loss,
}

impl Sender {
    /// A segment with an acknowledgement arrived.
    pub(crate) fn handle_acknowledgment(&mut self, now: Instant, segment: &Segment, acknowledgment: Sequence) {
        if acknowledgment > self.next || acknowledgment < self.unacknowledged {
            return;
        }
        let moved = self.update_window(acknowledgment + segment.window, segment.window);
        let before = (self.unacknowledged, self.scoreboard.sacked());
        if !segment.sack.is_empty() {
            self.scoreboard.select(now, segment.sack_blocks());
        }
        if acknowledgment > self.unacknowledged {
            self.advance(now, acknowledgment);
        } else if !moved && segment.is_pure_ack() && !self.scoreboard.is_empty() && !self.behavior.sack {
            self.count_duplicate();
        }
        self.judge_probe(acknowledgment, before);
        if self.behavior.sack {
            self.detect_overtaken(now);
        }
    }

    /// Returns whether the window's edge moved.
    fn update_window(&mut self, edge: Sequence, window: Bytes) -> bool {
        self.largest_window = self.largest_window.max(window);
        let moved = edge > self.window_edge;
        self.window_edge = self.window_edge.max(edge);
        moved
    }

    /// New data was acknowledged.
    fn advance(&mut self, now: Instant, acknowledgment: Sequence) {
        let handshake = !self.is_established();
        let covered = self.scoreboard.acknowledge(now, acknowledgment);
        self.unacknowledged = acknowledgment;
        match covered.first_rtt {
            Some(rtt) => self.rtt.sample(rtt),
            None => self.rtt.progress(),
        }
        // RFC 6298 §5.2-5.3.
        self.timer = (!self.scoreboard.is_empty()).then(|| now + self.rtt.rto());
        if handshake {
            self.finish_handshake();
        } else {
            self.judge_progress(now, covered);
            self.schedule_probe(now);
        }
    }

    /// RFC 5681 §3.1: a lost SYN means an initial window of one segment.
    fn finish_handshake(&mut self) {
        if self.handshake_losses > self.behavior.tolerated_handshake_losses {
            self.congestion.on_idle(self.mss, Duration::ZERO);
        }
    }

    fn judge_progress(&mut self, now: Instant, covered: Covered) {
        let complete = self.unacknowledged >= self.recover;
        match self.phase {
            Phase::Open => {
                self.duplicates = 0;
                self.grow(now, covered);
            }
            Phase::Recovery if complete || self.plain_reno => self.end_recovery(),
            Phase::Recovery => self.continue_recovery(covered),
            Phase::Loss => {
                if complete {
                    self.end_recovery();
                }
                self.grow(now, covered);
            }
        }
    }

    fn end_recovery(&mut self) {
        self.phase = Phase::Open;
        self.duplicates = 0;
    }

    /// RFC 6582 §3.2 step 3: a partial acknowledgement shows the next hole. With SACK the scoreboard knows it already.
    fn continue_recovery(&mut self, covered: Covered) {
        if self.behavior.sack {
            return;
        }
        // All but the repeated segment had left the network before, each announced by a duplicate acknowledgement.
        self.duplicates = self.duplicates.saturating_sub(covered.segments.saturating_sub(1));
        self.scoreboard.lose_first();
        self.repeat_now = true;
    }

    fn grow(&mut self, now: Instant, covered: Covered) {
        let window = self.congestion.window();
        let limited = self.usage.is_limited(window, self.congestion.in_slow_start());
        if covered.bytes == Bytes::ZERO || (self.behavior.validates_window && !limited) {
            return;
        }
        self.congestion.on_ack(&Acknowledged {
            now,
            bytes: covered.bytes,
            rtt: covered.last_rtt,
            sequence: self.unacknowledged,
            next: self.next,
        });
    }

    /// RFC 5681 §3.2: a duplicate acknowledgement.
    fn count_duplicate(&mut self) {
        if self.phase == Phase::Loss {
            return;
        }
        self.duplicates += 1;
        // RFC 6582 §3.2 step 2: not for duplicates that the last recovery itself has caused.
        let fresh = self.plain_reno || self.unacknowledged >= self.recover;
        if self.phase == Phase::Open && fresh && self.duplicates >= DUPLICATE_THRESHOLD as u64 {
            self.enter_recovery();
            self.scoreboard.lose_first();
        }
    }

    /// RFC 8985 §6.2 step 5: finds what is lost, and when to look again.
    pub(crate) fn detect_overtaken(&mut self, now: Instant) {
        if self.phase == Phase::Open && self.scoreboard.sacked() == 0 {
            self.reordering_timer = None;
            return;
        }
        let overtaken = self.scoreboard.lose_overtaken(now, self.reordering_window());
        self.reordering_timer = overtaken.pending;
        if overtaken.lost && self.phase == Phase::Open {
            self.enter_recovery();
        }
    }

    /// RFC 8985 §6.2 step 4: none while three duplicates or a loss already speak for losses, else a quarter of the least RTT.
    fn reordering_window(&self) -> Duration {
        let certain = self.phase != Phase::Open || self.scoreboard.sacked() >= DUPLICATE_THRESHOLD;
        if certain && !self.scoreboard.is_reordered() {
            return Duration::ZERO;
        }
        let quarter = self.rtt.min().unwrap_or_default() / 4;
        quarter.min(self.rtt.smoothed().unwrap_or_default())
    }

    fn enter_recovery(&mut self) {
        self.congestion.on_loss(self.flight_size());
        self.phase = Phase::Recovery;
        self.recover = self.next;
        self.repeat_now = true;
        self.probe = None;
        // The repeated segment starts the timer again.
        self.timer = None;
    }

    /// RFC 5681 §2: everything sent and not acknowledged, but for what duplicate acknowledgements have let out beyond the window
    /// (§3.2 step 2).
    pub(crate) fn flight_size(&self) -> Bytes {
        (self.next - self.unacknowledged).min(self.congestion.window())
    }

    /// RFC 6298 §5.4-5.6: the timer ran out.
    pub(crate) fn time_out(&mut self, now: Instant) {
        self.timer = None;
        self.probe = None;
        self.reordering_timer = None;
        self.rtt.back_off();
        if self.is_established() {
            let again = self.phase == Phase::Loss && self.unacknowledged == self.timed_out;
            self.congestion.on_timeout(self.flight_size(), again);
            self.phase = Phase::Loss;
            self.recover = self.next;
            self.timed_out = self.unacknowledged;
        } else {
            self.handshake_losses += 1;
        }
        self.duplicates = 0;
        self.scoreboard.lose_all(now);
        self.repeat_now = true;
    }
}
