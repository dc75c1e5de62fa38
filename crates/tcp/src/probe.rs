//! Tail-loss probes (RFC 8985 §7), as Linux sends them: when nothing is heard for two round trips, the next segment, or else the
//! last one again, is sent to draw an acknowledgement that shows what is missing.

use crate::Sequence;
use crate::congestion::CongestionControl;
use crate::recovery::{News, Phase};
use crate::sender::Sender;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// RFC 8985 §7.2: allowance for a delayed acknowledgement when one segment is on the way (Linux: the least RTO); else
/// TCP_TIMEOUT_MIN_US (since Linux 6.7; before, two jiffies).
const DELAYED_ACK: Duration = Duration::from_millis(200);
pub(crate) const LEAST_TIMEOUT: Duration = Duration::from_millis(2);

/// One probe, waiting for its time or for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// To be sent at this time.
    Due(Instant),
    /// Sent; `end` is where the data ended then (TLP.end_seq).
    Sent {
        /// The next number to send after the probe.
        end: Sequence,
        /// The probe repeats a segment.
        repeats: bool,
    },
}

impl Sender {
    /// When the probe is due, if one is.
    pub(crate) fn probe_due(&self) -> Option<Instant> {
        match self.probe {
            Some(Probe::Due(at)) => Some(at),
            Some(Probe::Sent { .. }) => self.next_probe,
            None => None,
        }
    }

    /// When a probe is due, or that none is. Linux sets that time also while the answer to an earlier probe is outstanding, and looks whether it still is
    /// when the time has come (tcp_schedule_loss_probe(), tcp_send_loss_probe()).
    fn set_probe(&mut self, due: Option<Instant>) {
        match self.probe {
            Some(Probe::Sent { .. }) => self.next_probe = due,
            Some(Probe::Due(_)) | None => self.probe = due.map(Probe::Due),
        }
    }

    /// Nothing is outstanding any more of the probe that was sent.
    fn end_probe(&mut self) {
        self.probe = self.next_probe.take().map(Probe::Due);
    }

    /// No probe is due, and none was sent.
    pub(crate) fn forget_probe(&mut self) {
        (self.probe, self.next_probe) = (None, None);
    }

    /// RFC 8985 §7.2: after new data that `leaves` or a new acknowledgement, while no loss is suspected; never later than the timeout. After
    /// data that is the one of the first segment on the way, and not of the last acknowledgement (tcp_rto_delta_us()).
    pub(crate) fn schedule_probe(&mut self, now: Instant, leaves: bool) {
        // What a probe sends is followed by none.
        let is_probe = leaves && matches!(self.probe, Some(Probe::Sent { end, .. }) if self.next <= end);
        if !self.behavior.rack || is_probe {
            return;
        }
        let open = matches!(self.phase, Phase::Open | Phase::Reduction);
        let calm = open && self.scoreboard.sacked() == 0 && self.is_established();
        let (Some(rtt), Some(timeout), true) = (self.rtt.smoothed(), self.timer, calm) else {
            self.set_probe(None);
            return;
        };
        let alone = self.scoreboard.segments() == 1;
        let wait = rtt * 2 + if alone { DELAYED_ACK } else { LEAST_TIMEOUT };
        let first = self.scoreboard.first_sent().filter(|_| leaves).map(|first| first + self.rtt.rto());
        let expiry = |span| self.timers.expiry_behind(now, self.held_back(now), span);
        let bound = first.filter(|at| *at > now).map_or(timeout, |at| expiry(at.since(now)));
        self.set_probe(Some(timeout.min(bound).min(expiry(wait))));
    }

    /// RFC 8985 §7.3: sends new data if the receiver has room, else the last segment again, whatever the congestion window says.
    pub(crate) fn send_probe(&mut self, now: Instant) {
        if matches!(self.probe, Some(Probe::Sent { .. })) {
            // At most one is outstanding.
            self.next_probe = None;
            return;
        }
        // As much as would go at any time, and not what little a closed window takes (tcp_snd_wnd_test()).
        let fresh = self.takes().unwrap_or(Bytes::ZERO);
        self.repeat_now = true;
        let repeats = fresh == Bytes::ZERO;
        if repeats {
            self.scoreboard.lose_last();
        }
        self.probe = Some(Probe::Sent { end: self.next + fresh, repeats });
        self.restart_timer(now);
    }

    /// Whether what has arrived twice up to `end` is the probe.
    pub(crate) fn is_probes_end(&self, end: Sequence) -> bool {
        matches!(self.probe, Some(Probe::Sent { end: probe, .. }) if probe == end)
    }

    /// Where the segment ends that the probe on the way repeats.
    pub(crate) fn repeating_probe(&self) -> Option<Sequence> {
        match self.probe {
            Some(Probe::Sent { end, repeats: true }) => Some(end),
            Some(Probe::Sent { .. } | Probe::Due(_)) | None => None,
        }
    }

    /// RFC 8985 §7.4.2: was the probe's segment lost the first time? Then the window shrinks as for any loss.
    pub(crate) fn judge_probe(&mut self, news: &News) {
        let Some(Probe::Sent { end, repeats }) = self.probe else { return };
        if self.unacknowledged < end {
            return;
        }
        let arrived_twice = news.twice.is_some_and(|range| range.end == end);
        if !repeats || arrived_twice || news.duplicate {
            self.end_probe();
        } else if self.unacknowledged > end {
            self.end_probe();
            self.congestion.on_loss(self.flight_size());
            self.announce_reduction = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, Output, Profile, Segment, TcpConfig};

    #[test]
    fn what_little_a_window_has_room_for_is_no_probe() {
        let config = TcpConfig::of(Profile::Linux);
        let at = |ms: u64| Instant::START + Duration::from_millis(ms);
        let mut server = Endpoint::listen(&config).expect("CUBIC is there");
        let segment = Segment { window: Bytes::new(4096), ..Segment::default() };
        server.handle_segment(at(0), &Segment { syn: true, ..segment });
        let first = Sequence::FIRST_BYTE;
        server.handle_segment(at(100), &Segment { sequence: first, acknowledgment: Some(first), ..segment });
        server.write(at(100), config.mss * 30);
        server.handle_timeout(server.next_timeout().expect("a probe is due"));
        let sent: Vec<u64> = std::iter::from_fn(|| server.poll())
            .filter_map(|output| match output {
                Output::Transmit { segment, .. } if segment.payload > Bytes::ZERO => Some(segment),
                _ => None,
            })
            .map(|segment| (segment.sequence - first).get())
            .collect();
        assert_eq!(sent, [0, 1448, 1448], "there is room for 1200 bytes");
    }
}
