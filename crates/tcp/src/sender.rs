//! The sending half of an endpoint: what to send next, and when to give up waiting.
//!
//! Models RFC 9293 §3.8.6 (window, silly-window avoidance at the sender), RFC 5681 (the congestion window limits what is on the
//! way), RFC 6298 §5 (the retransmission timer), and Linux's limit on what the send buffer holds. What acknowledgements mean is
//! in [`super::recovery`].
//!
//! Left out: Nagle's algorithm (endpoints behave as with TCP_NODELAY), persist timer (receivers here never close their window),
//! giving up after many retransmissions, pacing.

use crate::behavior::Behavior;
use crate::congestion::{CongestionControl, Controller};
use crate::probe::Probe;
use crate::recovery::Phase;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::sent::Piece;
use crate::usage::{self, AfterSending, WindowUsage};
use crate::{Congestion, Sequence, TcpConfig, TcpError};
use farhop_units::{Bytes, Instant};

/// Everything one direction's sender knows.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) behavior: Behavior,
    /// Reno without NewReno: recovery ends at the first new acknowledgement.
    pub(crate) plain_reno: bool,
    pub(crate) mss: Bytes,
    pub(crate) initial_window: Bytes,
    pub(crate) congestion: Controller,
    pub(crate) rtt: RttEstimator,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) usage: WindowUsage,
    /// SND.UNA and SND.NXT.
    pub(crate) unacknowledged: Sequence,
    pub(crate) next: Sequence,
    /// The number after the last byte the application wants to write, and after the last one the send buffer has taken.
    written: Sequence,
    accepted: Sequence,
    /// The application waits for room in the send buffer.
    blocked: bool,
    closing: bool,
    opened: bool,
    /// SND.UNA + SND.WND at its furthest, and the largest window ever offered.
    pub(crate) window_edge: Sequence,
    pub(crate) largest_window: Bytes,
    pub(crate) phase: Phase,
    /// What had been sent when the last loss was found; recovery ends when it is acknowledged (RFC 6582).
    pub(crate) recover: Sequence,
    /// SND.UNA at the last timeout.
    pub(crate) timed_out: Sequence,
    /// Duplicate acknowledgements without SACK: each says that one segment has left the network.
    pub(crate) duplicates: u64,
    /// The next lost segment goes out whatever the window says (RFC 5681 §3.2 step 2).
    pub(crate) repeat_now: bool,
    /// When the retransmission timer and RACK's reordering timer run out.
    pub(crate) timer: Option<Instant>,
    pub(crate) reordering_timer: Option<Instant>,
    pub(crate) probe: Option<Probe>,
    pub(crate) handshake_losses: u32,
    /// Something was sent since the last [`Sender::settle`].
    unsettled: bool,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig) -> Result<Self, TcpError> {
        let behavior = Behavior::of(config);
        Ok(Self {
            behavior,
            plain_reno: config.congestion == Congestion::Reno && !behavior.sack,
            mss: config.mss,
            initial_window: config.mss * u64::from(config.initial_window.max(1)),
            congestion: Controller::new(config)?,
            rtt: RttEstimator::new(behavior.rto),
            scoreboard: Scoreboard::new(),
            usage: WindowUsage::default(),
            unacknowledged: Sequence::SYN,
            next: Sequence::SYN,
            written: Sequence::FIRST_BYTE,
            accepted: Sequence::FIRST_BYTE,
            blocked: false,
            closing: false,
            opened: false,
            window_edge: Sequence::SYN,
            largest_window: Bytes::ZERO,
            phase: Phase::Open,
            recover: Sequence::SYN,
            timed_out: Sequence::SYN,
            duplicates: 0,
            repeat_now: false,
            timer: None,
            reordering_timer: None,
            probe: None,
            handshake_losses: 0,
            unsettled: false,
        })
    }

    /// From now on the SYN may go out.
    pub(crate) fn open(&mut self) {
        self.opened = true;
    }

    /// Whether the other side has acknowledged the SYN.
    pub(crate) fn is_established(&self) -> bool {
        self.unacknowledged > Sequence::SYN
    }

    /// Whether everything, the FIN included, has been acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.closing && self.unacknowledged > self.written
    }

    /// The application has `bytes` more to send; ignored after it closed.
    pub(crate) fn write(&mut self, bytes: Bytes) {
        if !self.closing {
            self.written = self.written + bytes;
        }
    }

    /// The application will write no more.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// The next segment to send now; to be called until there is none.
    pub(crate) fn transmit(&mut self, now: Instant) -> Option<Piece> {
        let piece = match self.scoreboard.next_lost() {
            Some(payload) if self.fits(payload) => self.scoreboard.repeat(now),
            Some(_) => None,
            None => self.transmit_new(now),
        };
        match piece {
            Some(_) => {
                self.repeat_now = false;
                self.unsettled = true;
                // RFC 6298 §5.1.
                self.timer = self.timer.or_else(|| Some(now + self.rtt.rto()));
            }
            None => self.settle(now),
        }
        piece
    }

    fn transmit_new(&mut self, now: Instant) -> Option<Piece> {
        let piece = self.next_new(now)?;
        if piece.payload > Bytes::ZERO {
            self.usage.data_sent(now);
        }
        self.next = piece.end();
        self.scoreboard.push(now, piece);
        Some(piece)
    }

    /// The next segment that was never sent.
    fn next_new(&mut self, now: Instant) -> Option<Piece> {
        if !self.is_established() {
            let first = self.opened && self.next == Sequence::SYN;
            return first.then(|| Piece { syn: true, sequence: self.next, ..Piece::default() });
        }
        self.accept();
        let waiting = self.accepted - self.next;
        if waiting == Bytes::ZERO {
            let fin_is_due = self.closing && self.next == self.written;
            return fin_is_due.then(|| Piece { fin: true, sequence: self.next, ..Piece::default() });
        }
        self.restart_after_idle(now);
        let payload = self.next_new_size()?;
        let (push, end) = (payload == waiting, self.next + payload);
        let fin = self.closing && end == self.written;
        Some(Piece { payload, push, fin, sequence: self.next, ..Piece::default() })
    }

    /// The application fills the send buffer; once it was full it waits until a third is free (sk_stream_is_writeable()).
    fn accept(&mut self) {
        let limit = self.behavior.send_buffer.unwrap_or(Bytes::new(u64::MAX / 4));
        let held = self.accepted - self.unacknowledged;
        if self.blocked && held * 3 > limit * 2 {
            return;
        }
        let (waiting, room) = (self.written - self.accepted, limit.saturating_sub(held));
        self.accepted = self.accepted + waiting.min(room);
        self.blocked = waiting > room;
    }

    /// How much of what was never sent may go in one segment now.
    pub(crate) fn next_new_size(&self) -> Option<Bytes> {
        let wanted = (self.accepted - self.next).min(self.mss);
        let allowed = wanted.min(self.window_edge - self.next);
        // RFC 1122 §4.2.3.4: a full segment, all there is, or half the largest window; its override timer is not needed, as
        // half of the window is always free once everything is acknowledged.
        let worthwhile = allowed == wanted || allowed * 2 >= self.largest_window;
        (allowed > Bytes::ZERO && worthwhile && self.fits(allowed)).then_some(allowed)
    }

    /// Bytes in the network, duplicate acknowledgements taken into account.
    pub(crate) fn in_network(&self) -> Bytes {
        let left = if self.behavior.limited_transmit || self.phase == Phase::Recovery { self.duplicates } else { 0 };
        self.scoreboard.in_flight().saturating_sub(self.mss * left)
    }

    fn fits(&self, payload: Bytes) -> bool {
        let in_network = self.in_network();
        self.repeat_now || in_network == Bytes::ZERO || in_network + payload <= self.congestion.window()
    }

    /// RFC 5681 §4.1.
    fn restart_after_idle(&mut self, now: Instant) {
        if !self.scoreboard.is_empty() || self.next == Sequence::FIRST_BYTE {
            return;
        }
        let (idle, rto) = (self.usage.idle(now), self.rtt.rto());
        if idle <= rto {
            return;
        }
        let window = self.congestion.window();
        let gently = self.behavior.gentle_restart;
        let restarted = usage::restart_window(window, self.initial_window, idle, rto, gently);
        self.congestion.on_idle(restarted, idle);
    }

    /// When the first of the timers runs out.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        earliest(earliest(self.timer, self.reordering_timer), self.probe_due())
    }

    /// Runs the timer that was due at `due`. A probe comes before the timeout of the same time, which it postpones.
    pub(crate) fn handle_timer(&mut self, due: Instant) {
        if self.reordering_timer == Some(due) {
            self.detect_overtaken(due);
        } else if self.probe_due() == Some(due) {
            self.send_probe(due);
        } else if self.timer == Some(due) {
            self.time_out(due);
        }
    }

    /// After sending what could be sent.
    fn settle(&mut self, now: Instant) {
        if !core::mem::take(&mut self.unsettled) || !self.is_established() {
            return;
        }
        self.schedule_probe(now);
        if self.behavior.validates_window {
            self.note_usage(now);
        }
    }

    /// Was the congestion window the limit?
    fn note_usage(&mut self, now: Instant) {
        let limited = !self.fits(self.mss);
        let in_flight = self.scoreboard.in_flight();
        let after = AfterSending { now, limited, in_flight, unacknowledged: self.unacknowledged, next: self.next };
        self.usage.update(after);
        let (window, slow_start) = (self.congestion.window(), self.congestion.in_slow_start());
        let decayed = self.usage.decayed(after, window, slow_start, self.rtt.rto(), self.initial_window);
        if let Some(window) = decayed.filter(|_| self.phase == Phase::Open) {
            self.congestion.on_idle(window, std::time::Duration::ZERO);
        }
    }
}

/// The earlier of two timers, as far as they run.
pub(crate) fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
