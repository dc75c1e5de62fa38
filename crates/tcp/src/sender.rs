//! The sending half of an endpoint: what to send next, and when to give up waiting.
//!
//! Models RFC 9293 §3.8.6 (window, silly-window avoidance at the sender, probes of a closed window), RFC 5681 (the congestion window
//! limits what is on the way), RFC 6298 §5 (the retransmission timer), and Linux's limit on what the send buffer holds. What
//! acknowledgements mean is in [`super::recovery`], and how much may leave in [`room`].
//!
//! Left out: Nagle's algorithm (endpoints behave as with TCP_NODELAY), giving up after many retransmissions.

mod room;

use crate::batch::{self, Batch, Circumstances};
use crate::behavior::{Behavior, Timers};
use crate::congestion::{CongestionControl, Controller};
use crate::host::Host;
use crate::pacing::Pacer;
use crate::probe::Probe;
use crate::prr::RateReduction;
use crate::recovery::Phase;
use crate::reordering::Reordering;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::send_buffer::SendBuffer;
use crate::sent::Piece;
use crate::undo::Needless;
use crate::usage::{self, AfterSending, WindowUsage};
use crate::{Congestion, Sequence, TcpConfig, TcpError};
use farhop_units::random::Stream;
use farhop_units::{Bytes, Instant, look_at};
use std::time::Duration;

/// Everything one direction's sender knows.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    // What few segments need, in the receiver's last line of the cache.
    pub(crate) pacer: Pacer,
    /// When a probe is due though one was sent whose answer is outstanding.
    pub(crate) next_probe: Option<Instant>,
    pub(crate) handshake_losses: u32,
    /// Of these, those that do not double the timeout.
    pub(crate) linear_timeouts: u32,
    // What all need.
    /// SND.UNA and SND.NXT.
    pub(crate) unacknowledged: Sequence,
    pub(crate) next: Sequence,
    /// The number after the last byte the application wants to write, and after the last one the send buffer has taken.
    pub(crate) written: Sequence,
    accepted: Sequence,
    /// SND.UNA + SND.WND at its furthest, and the largest window ever offered.
    pub(crate) window_edge: Sequence,
    pub(crate) largest_window: Bytes,
    pub(crate) behavior: &'static Behavior,
    /// When the retransmission timer, RACK's reordering timer, the pacer and the timer of a closed window run out.
    pub(crate) timer: Option<Instant>,
    pub(crate) reordering_timer: Option<Instant>,
    pub(crate) pacing_timer: Option<Instant>,
    window_timer: Option<Instant>,
    pub(crate) probe: Option<Probe>,
    pub(crate) mss: Bytes,
    pub(crate) batch: Batch,
    pub(crate) congestion: Controller,
    pub(crate) phase: Phase,
    closing: bool,
    opened: bool,
    /// New data waits for company, though the window would take it.
    deferred: bool,
    /// The next lost segment goes out whatever the window says (RFC 5681 §3.2 step 2).
    pub(crate) repeat_now: bool,
    /// Until the next acknowledgement new data goes out before what is lost (F-RTO).
    pub(crate) new_first: bool,
    /// The receiver is to be told that the window was reduced, for a mark, a loss or a timeout (RFC 3168 §6.1.2: CWR).
    pub(crate) announce_reduction: bool,
    /// A probe of a closed window is due.
    probe_window: bool,
    /// Something was sent since the last [`Sender::settle`].
    unsettled: bool,
    /// Reno without NewReno, by the RFCs: recovery ends at the first new acknowledgement.
    pub(crate) plain_reno: bool,
    /// Its programs take a time, too.
    pub(crate) has_programs: bool,
    /// After a pause the rest of a burst is behind its first segment.
    pub(crate) spaces_bursts: bool,
    /// Timeouts since SND.UNA has moved, and probes of a closed window without an answer.
    pub(crate) timeouts: u16,
    pub(crate) closed_probes: u16,
    pub(crate) scoreboard: Scoreboard,
    /// `None` holds everything.
    pub(crate) buffer: Option<SendBuffer>,
    /// What had been sent when the last loss was found; recovery ends when it is acknowledged (RFC 6582).
    pub(crate) recover: Sequence,
    /// Duplicate acknowledgements without SACK: each says that one segment has left the network.
    pub(crate) duplicates: u64,
    pub(crate) initial_window: Bytes,
    pub(crate) rtt: RttEstimator,
    pub(crate) usage: WindowUsage,
    /// With the clock of the host.
    pub(crate) timers: Timers,
    pub(crate) reduction: Option<RateReduction>,
    // What is needed where something is lost, or hosts take their time.
    pub(crate) needless: Needless,
    pub(crate) reordering: Reordering,
    /// How long that takes each time, if it takes any.
    pub(crate) host: Option<Box<Host>>,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig) -> Result<Self, TcpError> {
        let behavior = Behavior::of(config);
        let initial_window = config.mss * u64::from(config.initial_window.max(1));
        let congestion = Controller::new(config)?;
        let models = congestion.models_the_path();
        let measures_rate = behavior.rack || models;
        let buffer = behavior.limits_send_buffer.then(|| SendBuffer::new(initial_window, config.mss, models));
        Ok(Self {
            behavior,
            timers: behavior.timers,
            plain_reno: config.congestion == Congestion::Reno,
            mss: config.mss,
            initial_window,
            congestion,
            rtt: RttEstimator::new(&behavior.rto, measures_rate || behavior.batches),
            scoreboard: Scoreboard::new(behavior.counts_segments.then_some(config.mss), measures_rate),
            usage: WindowUsage::default(),
            pacer: Pacer::default(),
            batch: Batch::default(),
            deferred: false,
            unacknowledged: Sequence::SYN,
            next: Sequence::SYN,
            written: Sequence::FIRST_BYTE,
            accepted: Sequence::FIRST_BYTE,
            buffer,
            closing: false,
            opened: false,
            window_edge: Sequence::SYN,
            largest_window: Bytes::ZERO,
            phase: Phase::Open,
            recover: Sequence::SYN,
            timeouts: 0,
            reduction: None,
            needless: Needless::default(),
            reordering: Reordering::new(),
            duplicates: 0,
            repeat_now: false,
            new_first: false,
            announce_reduction: false,
            timer: None,
            reordering_timer: None,
            pacing_timer: None,
            window_timer: None,
            probe: None,
            next_probe: None,
            closed_probes: 0,
            probe_window: false,
            handshake_losses: 0,
            linear_timeouts: 0,
            unsettled: false,
            host: Host::of(behavior, Stream::new(0, 0)),
            has_programs: false,
            spaces_bursts: false,
        })
    }

    /// Asks memory for what every segment that arrives needs of it.
    pub(crate) fn look_at(&self) {
        look_at(&self.unacknowledged);
    }

    /// Asks memory for what is needed of it beyond that unless it rests.
    pub(crate) fn look_at_rest(&self) {
        look_at(&self.reordering_timer);
        look_at(&self.congestion);
        self.scoreboard.look_at();
        look_at(&self.buffer);
        self.rtt.look_at();
        look_at(&self.reduction);
    }

    /// Asks memory for what acknowledgements need of it beyond that, and writing.
    pub(crate) fn look_at_sent(&self) {
        look_at(&self.usage);
        self.rtt.look_at_samples();
        self.scoreboard.look_at_sent();
    }

    /// From now on the SYN may go out.
    pub(crate) fn open(&mut self) {
        self.opened = true;
    }

    /// The SYN goes out, and is the first.
    pub(crate) fn open_actively(&mut self) {
        self.linear_timeouts = self.behavior.linear_syn_timeouts;
        if let Some(buffer) = &mut self.buffer {
            buffer.open_actively();
        }
        self.open();
    }

    /// Whether the other side has acknowledged the SYN.
    pub(crate) fn is_established(&self) -> bool {
        self.unacknowledged > Sequence::SYN
    }

    /// Whether everything, the FIN included, has been acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.closing && self.unacknowledged > self.written
    }

    /// Bytes that the application has written and that were never sent.
    pub(crate) fn unsent(&self) -> Bytes {
        self.written - self.next.max(Sequence::FIRST_BYTE)
    }

    /// Bytes that were sent and not acknowledged by number.
    pub(crate) fn outstanding(&self) -> Bytes {
        self.next.min(self.written) - self.unacknowledged.max(Sequence::FIRST_BYTE)
    }

    /// The application has `bytes` more to send; ignored after it closed.
    pub(crate) fn write(&mut self, bytes: Bytes) {
        if self.closing {
            return;
        }
        // Who waits for room in the send buffer calls the kernel again when there is some.
        if self.buffer.is_none_or(|buffer| !buffer.is_waited_for()) {
            self.note_starvation(self.unsent());
        }
        self.written = self.written + bytes;
    }

    /// tcp_rate_check_app_limited(): the application writes, and so far there was less to send than might have been.
    fn note_starvation(&mut self, unsent: Bytes) {
        let room = self.in_network() < self.congestion.window();
        if unsent < self.mss && room && self.scoreboard.lost() == 0 {
            let in_flight = if self.counts_arrivals() { self.in_network() } else { self.scoreboard.in_flight() };
            self.starve(in_flight);
        }
    }

    /// The application has too little to send while so much is on the way.
    pub(crate) fn starve(&mut self, in_flight: Bytes) {
        if let Some(rate) = &mut self.scoreboard.rate {
            rate.starve(in_flight);
        }
    }

    /// The application will write no more.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// Whether there is something to send, whenever it may be.
    pub(crate) fn is_asked_to_send(&self) -> bool {
        let is_all_sent = self.next >= self.written && self.accepted == self.written;
        let goes_on = self.repeat_now || self.batch.is_under_way() || self.unsettled || self.new_first;
        !is_all_sent || (self.closing && self.next == self.written) || self.probe_window || goes_on
    }

    /// The next segment to send now; to be called until there is none.
    pub(crate) fn transmit(&mut self, now: Instant) -> Option<Piece> {
        if core::mem::take(&mut self.probe_window) {
            // A number that has been acknowledged draws an acknowledgement (RFC 9293 §3.8.6.1).
            return Some(Piece { sequence: self.unacknowledged.previous(), ..Piece::default() });
        }
        if self.batch.is_under_way() {
            // Acknowledgements and timers come while a host is busy with it.
            let again = !self.new_first && self.scoreboard.next_lost().is_some();
            self.batch.give_way(again, self.repeat_now);
        }
        let goes_on = self.repeat_now || self.batch.is_under_way();
        let wait = self.congestion.pacing_rate().and_then(|_| self.pacer.wait(now)).filter(|_| !goes_on);
        let mut continues = self.batch.is_under_way();
        let mut piece = if wait.is_none() { self.next_piece(now) } else { None };
        if piece.is_none() && self.makes_room() && wait.is_none() {
            (continues, _) = (false, self.batch.end());
            piece = self.next_piece(now);
        }
        self.pacing_timer = wait.filter(|_| self.wants_to_send());
        match piece {
            Some(piece) => {
                self.pace(now, piece, continues);
                self.note_sent(now, piece);
            }
            None => {
                self.batch.end();
                self.settle(now);
            }
        }
        piece
    }

    /// Whether new data waits for company: the next acknowledgement, expected within a millisecond, will let more of it leave at once
    /// (tcp_tso_should_defer()).
    fn defers(&mut self, now: Instant, waiting: Bytes) -> bool {
        if !self.behavior.batches || self.batch.is_under_way() || self.repeat_now || waiting <= self.mss {
            return false;
        }
        if self.buffer.as_mut().is_some_and(SendBuffer::pushes) {
            return false;
        }
        let (window, calm) = (self.congestion.window(), matches!(self.phase, Phase::Open | Phase::Reduction));
        let room = window.saturating_sub(self.in_network()).min(self.window_edge - self.next);
        // A third of the window is always worth it (`tcp_tso_win_divisor`), and so is what follows nothing. What was paced counts as sent until
        // the next may leave (tp->tcp_wstamp_ns).
        let idle = self.usage.idle(now).min(self.pacer.idle(now));
        if !calm || room * 3 >= window || idle > batch::PATIENCE {
            return false;
        }
        let (Some(first), Some(rtt)) = (self.scoreboard.first_sent(), self.rtt.smoothed()) else { return false };
        if first + rtt > now + batch::PATIENCE.min(rtt / 2) {
            return false;
        }
        let segments = |bytes: Bytes| bytes.get() / self.mss.get();
        let whole = self.batch_circumstances().most(u64::MAX);
        self.deferred = segments(room) < whole;
        self.deferred
    }

    pub(crate) fn batch_circumstances(&self) -> Circumstances {
        Circumstances {
            mss: self.mss,
            window: self.congestion.window(),
            threshold: self.congestion.threshold(),
            rate: self.congestion.pacing_rate(),
            smoothed_rtt: self.rtt.smoothed(),
            least_rtt: self.rtt.min(),
        }
    }

    /// Whether the next new segment, one of `waiting` bytes, is pushed as the last of its batch.
    fn is_batchs_last(&mut self, waiting: Bytes) -> bool {
        if !self.behavior.batches {
            return false;
        }
        if !self.batch.is_under_way() {
            let mss = self.mss;
            let room = self.congestion.window().saturating_sub(self.in_network()).get().max(mss.get()) / mss.get();
            let room = room.min(waiting.get().div_ceil(mss.get()));
            self.batch.begin(self.batch_circumstances().most(room));
            self.scoreboard.end_packet();
        }
        self.batch.send()
    }

    /// What is lost before what was never sent, unless F-RTO looks for signs of life.
    fn next_piece(&mut self, now: Instant) -> Option<Piece> {
        if self.new_first {
            let piece = self.transmit_new(now);
            if piece.is_some() || self.next > self.recover {
                return piece;
            }
            (self.new_first, self.needless.frto) = (false, false);
        }
        match self.scoreboard.next_lost() {
            Some(payload) if self.fits(payload) => self.repeat(now),
            Some(_) => None,
            None => self.transmit_new(now),
        }
    }

    fn repeat(&mut self, now: Instant) -> Option<Piece> {
        self.begin_repeated_batch();
        self.batch.send();
        let is_last = self.is_paced_in_batches() && !self.batch.is_under_way();
        let piece = self.scoreboard.repeat(now, is_last)?;
        if matches!(self.phase, Phase::Recovery | Phase::Loss) {
            self.needless.note_repetition(self.timers.timestamp(now));
        } else {
            self.needless.repeated += 1;
        }
        if piece.sequence == self.unacknowledged {
            // The timer is that of the first segment.
            self.timer = None;
        }
        Some(piece)
    }

    /// What was lost of one packet of the host's leaves again as a batch, as far as the window allows (tcp_xmit_retransmit_queue()); what a timeout
    /// or a probe repeats is one segment.
    fn begin_repeated_batch(&mut self) {
        if !self.is_paced_in_batches() || self.batch.is_under_way() {
            return;
        }
        let room = self.congestion.window().saturating_sub(self.in_network()).get() / self.mss.get();
        let most = room.min(self.batch_circumstances().most_again());
        let most = if self.repeat_now { 1 } else { most.max(1) };
        self.batch.begin_again(self.scoreboard.lost_of_packet(most));
    }

    /// Where nothing is paced all leaves at once, in batches or not.
    fn is_paced_in_batches(&self) -> bool {
        self.behavior.batches && self.congestion.pacing_rate().is_some()
    }

    /// A segment leaves that begins a batch, or `continues` one.
    fn pace(&mut self, now: Instant, piece: Piece, continues: bool) {
        let Some(rate) = self.congestion.pacing_rate() else { return };
        if !continues {
            self.pacer.begin(now);
        }
        self.pacer.send(piece.payload, self.batch.left(), rate);
    }

    fn note_sent(&mut self, now: Instant, piece: Piece) {
        let forced = core::mem::take(&mut self.repeat_now);
        self.unsettled = true;
        self.window_timer = None;
        if piece.payload > Bytes::ZERO && !self.behavior.idle_unheard {
            self.usage.active(now);
        }
        if let Some(reduction) = &mut self.reduction {
            reduction.send(self.scoreboard.charge(piece.payload));
        }
        // RFC 6298 §5.1. A probe restarts it, and what a timeout repeats has the pace's time, too (tcp_retransmit_timer()).
        if forced && matches!(self.probe, Some(Probe::Sent { .. })) {
            self.restart_timer(now);
        } else if self.timer.is_none() {
            let held_back = if forced { Duration::ZERO } else { self.held_back(now) };
            self.timer = Some(self.timers.expiry_behind(now, held_back, self.rtt.rto()));
        }
    }

    fn transmit_new(&mut self, now: Instant) -> Option<Piece> {
        // Copied as a whole its flags would be read as one word just after they were written one by one, for which processors wait.
        let Piece { sequence, payload, syn, fin, push, .. } = self.next_new(now)?;
        let mut piece = Piece { sequence, payload, syn, fin, push, ..Piece::default() };
        if payload > Bytes::ZERO {
            if self.scoreboard.is_empty() {
                let starved = self.scoreboard.rate.as_ref().is_some_and(|rate| rate.is_starved());
                self.congestion.on_restart(now, self.usage.idle(now), starved);
            }
            piece.cwr = core::mem::take(&mut self.announce_reduction);
        }
        self.next = piece.end();
        self.scoreboard.push(now, piece);
        Some(piece)
    }

    /// The next segment that was never sent.
    fn next_new(&mut self, now: Instant) -> Option<Piece> {
        if !self.is_established() {
            let first = self.opened && self.next == Sequence::SYN;
            self.needless.opened.get_or_insert(self.timers.timestamp(now));
            return first.then(|| Piece { syn: true, sequence: self.next, ..Piece::default() });
        }
        if self.written > self.next {
            self.restart_after_idle(now);
        }
        self.accept();
        let waiting = self.accepted - self.next;
        if waiting == Bytes::ZERO {
            let fin_is_due = self.closing && self.next == self.written;
            return fin_is_due.then(|| Piece { fin: true, sequence: self.next, ..Piece::default() });
        }
        let payload = self.next_new_size()?;
        if self.defers(now, waiting) {
            return None;
        }
        let (ends_batch, end) = (self.is_batchs_last(waiting), self.next + payload);
        let push = ends_batch || payload == waiting;
        let fin = self.closing && end == self.written;
        Some(Piece { payload, push, fin, sequence: self.next, ..Piece::default() })
    }

    /// Something has arrived, whatever it is.
    pub(crate) fn heard(&mut self, now: Instant) {
        if self.behavior.idle_unheard {
            self.usage.active(now);
        }
    }

    /// RFC 5681 §4.1. Controllers that model the path do without.
    fn restart_after_idle(&mut self, now: Instant) {
        if !self.scoreboard.is_empty() || self.next == Sequence::FIRST_BYTE || self.congestion.models_the_path() {
            return;
        }
        let (idle, rto) = (self.usage.idle(now), self.rtt.rto());
        if idle <= rto {
            return;
        }
        let window = self.congestion.window();
        let gently = self.behavior.gentle_restart.then_some(self.mss);
        let restarted = usage::restart_window(window, self.initial_window, idle, rto, gently);
        self.usage.progress(now);
        if self.behavior.gentle_restart {
            self.congestion.on_decay(restarted);
        } else {
            self.congestion.on_idle(restarted, idle);
        }
    }

    /// The retransmission timer runs from when the pace lets the next segment leave (tcp_reset_xmit_timer()).
    pub(crate) fn restart_timer(&mut self, now: Instant) {
        self.timer = Some(self.timers.expiry_behind(now, self.held_back(now), self.rtt.rto()));
    }

    /// How long the pace holds back what is to leave next (tcp_pacing_delay()).
    pub(crate) fn held_back(&self, now: Instant) -> Duration {
        let wait = if self.keeps_pace() { self.pacer.wait(now) } else { None };
        wait.map_or(Duration::ZERO, |at| at.since(now))
    }

    /// Whether anybody asks when the next segment might leave, or might have left: where nobody does, memory is not asked for the pacer either.
    pub(crate) fn keeps_pace(&self) -> bool {
        self.behavior.batches || self.congestion.models_the_path()
    }

    /// When the first of the timers runs out.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let room_timer = self.uses_room();
        let rare = earliest(earliest(self.pacing_timer, self.window_timer), room_timer);
        earliest(earliest(self.timer, self.reordering_timer), earliest(self.probe_due(), rare))
    }

    /// Runs the timer that was due at `due`. A probe comes before the timeout of the same time, which it postpones. Returns whether it is only that a
    /// program fills its send buffer.
    pub(crate) fn handle_timer(&mut self, due: Instant) -> bool {
        if self.pacing_timer == Some(due) {
            self.pacing_timer = None;
        } else if self.reordering_timer == Some(due) {
            self.handle_reordering_timer(due);
        } else if self.probe_due() == Some(due) {
            self.send_probe(due);
        } else if self.timer == Some(due) {
            self.time_out(due);
        } else if self.window_timer == Some(due) {
            self.probe_closed_window();
        } else {
            self.use_room();
            return true;
        }
        false
    }

    /// RFC 9293 §3.8.6.1: sends what little the window takes, or else asks for it.
    fn probe_closed_window(&mut self) {
        self.window_timer = None;
        self.closed_probes = self.closed_probes.saturating_add(1);
        self.unsettled = true;
        self.repeat_now = self.window_edge > self.next;
        self.probe_window = !self.repeat_now;
    }

    /// After sending what could be sent.
    fn settle(&mut self, now: Instant) {
        if self.window_timer.is_none() && self.scoreboard.is_empty() && self.is_established() {
            self.watch_closed_window(now);
        }
        if !core::mem::take(&mut self.unsettled) || !self.is_established() {
            return;
        }
        self.schedule_probe(now, true);
        if self.validates_window() && !self.congestion.models_the_path() {
            self.note_usage(now);
        }
    }

    /// The window keeps data from being sent and nothing on the way will draw news of it.
    fn watch_closed_window(&mut self, now: Instant) {
        if self.accepted > self.next && self.takes().is_none() {
            let wait = self.rtt.rto().saturating_mul(1 << self.closed_probes.min(16)).min(self.behavior.rto.max);
            self.window_timer = Some(self.timers.expiry(now, wait));
        }
    }

    /// Was the congestion window the limit?
    fn note_usage(&mut self, now: Instant) {
        let limited = core::mem::take(&mut self.deferred) || !self.fits(self.mss);
        let in_flight = self.in_network();
        let after = AfterSending { now, limited, in_flight, unacknowledged: self.unacknowledged, next: self.next };
        self.usage.update(after);
        if !self.behavior.validates_window {
            return;
        }
        let (window, slow_start) = (self.congestion.window(), self.congestion.in_slow_start());
        let decayed = self.usage.decayed(after, window, slow_start, self.rtt.rto(), (self.initial_window, self.mss));
        if let Some(window) = decayed.filter(|_| self.phase == Phase::Open) {
            self.congestion.on_decay(window);
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

#[cfg(test)]
mod tests;
