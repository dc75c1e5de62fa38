//! Tail-loss probes (RFC 8985 §7), which slow links provoke though nothing is lost.

use super::deadline::Deadline;
use super::sender::Sender;
use super::ticks::Ticks;

/// A probe: it is sent even though nothing is lost when acknowledgements are slow to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probe {
    /// At the first of two times: one for retransmissions, and its own.
    Due([Deadline; 2]),
    /// What it has sent ends here; whether that had been sent before.
    Sent { end: u64, repeats: bool },
}

/// RFC 8985 §7.2: allowance for a delayed acknowledgement when one segment is on the way; Linux's else (TCP_TIMEOUT_MIN_US).
const LONE_SEGMENT: Ticks = Ticks::from_millis(200);
const LEAST_ALLOWANCE: Ticks = Ticks::from_millis(2);

impl Sender {
    /// RFC 8985 §7.2: two round trips after new data that `leaves` or a new acknowledgement, never later than the timeout.
    pub(super) fn schedule_probe(&mut self, now: Ticks, leaves: bool) {
        if !self.habits.rack || (leaves && self.has_just_probed()) {
            return;
        }
        let (Some(rtt), true) = (self.rtt.smoothed(), self.in_flight() > 0) else {
            return self.clear_probe();
        };
        let lone = self.in_flight() == self.last_payload;
        let first = self.first_sent().filter(|_| leaves);
        self.set_probe(now, rtt, lone, first);
    }

    /// Two round trips from now, and an allowance for a delayed acknowledgement if a lone segment is on the way; if data leaves, no later than a
    /// timeout after the `first` on the way did (tcp_rto_delta_us()).
    pub(super) fn set_probe(&mut self, now: Ticks, rtt: Ticks, is_lone: bool, first: Option<Ticks>) {
        let allowance = if is_lone { LONE_SEGMENT } else { LEAST_ALLOWANCE };
        let bound = first.map(|first| first + self.timeout()).filter(|at| *at > now);
        let bound = bound.map_or(self.timer, |at| self.deadline(now, at.since(now)));
        let due = [bound, self.deadline(now, rtt + rtt + allowance)];
        match self.probe {
            // Whether its answer is outstanding then is looked at when the time has come (tcp_send_loss_probe()).
            Some(Probe::Sent { .. }) => self.next_probe = Some(due),
            Some(Probe::Due(_)) | None => self.probe = Some(Probe::Due(due)),
        }
    }

    /// Nothing was sent since a probe, which is followed by none itself.
    pub(super) fn has_just_probed(&self) -> bool {
        matches!(self.probe, Some(Probe::Sent { end, .. }) if self.next <= end)
    }

    /// None is due.
    pub(super) fn clear_probe(&mut self) {
        self.next_probe = None;
        self.probe = self.probe.filter(|probe| matches!(probe, Probe::Sent { .. }));
    }

    /// Nothing is outstanding any more of the probe that was sent.
    pub(super) fn end_probe(&mut self) {
        self.probe = self.next_probe.take().map(Probe::Due);
    }

    /// None is due, and none was sent.
    pub(super) fn forget_probe(&mut self) {
        (self.probe, self.next_probe) = (None, None);
    }

    /// A probe's time has come while another's answer is outstanding: at most one is (tcp_send_loss_probe()).
    pub(super) fn holds_probe_back(&mut self) -> bool {
        let is_outstanding = matches!(self.probe, Some(Probe::Sent { .. }));
        self.next_probe = self.next_probe.filter(|_| !is_outstanding);
        is_outstanding
    }

    /// When a timer for `span` runs out that is never for less than Linux allows.
    pub(super) fn allowing_expiry(&self, now: Ticks, span: Ticks) -> Ticks {
        self.habits.expiry(now, span + LEAST_ALLOWANCE)
    }

    pub(crate) fn is_probe_due(&self, now: Ticks) -> bool {
        self.probe_time(Deadline::earliest) <= now && self.probe_time(|deadline| deadline.due(&self.habits)) <= now
    }

    /// When a probe is sent, of deadlines that come at some `time`.
    pub(super) fn probe_time(&self, time: impl Fn(Deadline) -> Ticks) -> Ticks {
        let due = match self.probe {
            Some(Probe::Due(due)) => Some(due),
            Some(Probe::Sent { .. }) => self.next_probe,
            None => None,
        };
        due.map_or(Ticks::NEVER, |[timer, own]| time(timer).min(time(own)))
    }

    /// RFC 8985 §7.3: new data if the receiver has room, whatever the congestion window says, else the last segment again: its
    /// payload.
    pub(crate) fn send_probe(&mut self, now: Ticks) -> Option<u64> {
        if self.holds_probe_back() {
            return None;
        }
        self.accept();
        let fresh = self.takes();
        let repeats = fresh == 0;
        self.probing = !repeats;
        self.probe = Some(Probe::Sent { end: self.next + if repeats { 0 } else { fresh }, repeats });
        self.timer = self.retransmission(now);
        if repeats {
            self.repeated = Some((self.next - self.last_payload, self.next));
        }
        repeats.then_some(self.last_payload)
    }

    /// Where the segment ends that the probe on the way repeats.
    pub(super) fn repeating_probe(&self) -> Option<u64> {
        match self.probe {
            Some(Probe::Sent { end, repeats: true }) => Some(end),
            Some(Probe::Sent { .. } | Probe::Due(_)) | None => None,
        }
    }

    /// RFC 8985 §7.4.2: the probe is over when what it drew has arrived.
    pub(super) fn judge_probe(&mut self, up_to: u64, duplicate: bool) {
        if let Some(Probe::Sent { end, repeats }) = self.probe
            && up_to >= end
            && (!repeats || duplicate)
        {
            self.end_probe();
        }
    }
}
