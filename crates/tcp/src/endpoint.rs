//! One end of a TCP connection (RFC 9293 §3.10), without bytes, sockets or a clock.
//!
//! The owner carries [`Segment`]s between two endpoints and tells each what time it is. Data is a number of bytes; which bytes
//! they are is the owner's to know. Opening is a three-way handshake, closing is one FIN each way; a closed endpoint goes on
//! answering repeated segments for as long as its owner keeps it (TIME-WAIT without an end).
//!
//! Left out: simultaneous open, RST and aborts, keep-alive, TCP Fast Open, urgent data.

use crate::receiver::Receiver;
use crate::sender::{Sender, earliest};
use crate::sent::Piece;
use crate::{Codepoint, CongestionControl, Segment, Sequence, TcpConfig, TcpError};
use farhop_units::random::Stream;
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// What an endpoint has to tell its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Carry this segment to the other endpoint.
    Transmit {
        /// When it leaves.
        at: Instant,
        /// The segment.
        segment: Segment,
    },
    /// The handshake is complete at this end.
    Connected {
        /// When.
        at: Instant,
    },
    /// Data arrived in order.
    Received {
        /// When.
        at: Instant,
        /// How many bytes are new.
        bytes: Bytes,
    },
    /// The other side will send no more data.
    Finished {
        /// When.
        at: Instant,
    },
    /// An application that waited for room in the send buffer may go on: [`Endpoint::write_on_at`] says when its program does. Only endpoints
    /// whose owner knows that say so ([`Endpoint::answer_when_heard`]).
    Room {
        /// When.
        at: Instant,
    },
    /// Both directions are closed and acknowledged.
    Closed {
        /// When.
        at: Instant,
    },
}

/// What the sending half of an endpoint may do and does, for whoever draws it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderState {
    /// The congestion window.
    pub window: Bytes,
    /// Where slow start ends; `None` until that is known.
    pub threshold: Option<Bytes>,
    /// What is thought to be on the way.
    pub in_flight: Bytes,
    /// The smoothed round-trip time (RFC 6298: SRTT); `None` until one was measured.
    pub smoothed_rtt: Option<Duration>,
    /// The first number that is not acknowledged (RFC 9293: SND.UNA).
    pub unacknowledged: Sequence,
}

/// One end of a connection. Fields stand in the order in which memory holds them, here and in what it is made of: what every segment needs is
/// together, in few lines of the processor's cache, of which the first one ends where the receiver begins.
#[derive(Debug)]
#[repr(C)]
pub struct Endpoint {
    /// When the next timer runs out.
    due: Option<Instant>,
    /// When the host gets to answer what has arrived, or its program to send, if it is to.
    answering: Option<Instant>,
    outputs: VecDeque<Output>,
    /// Explicit congestion notification is wanted here, and by the other side too.
    wants_ecn: bool,
    ecn: bool,
    connected: bool,
    closed: bool,
    /// The sender is at rest ([`Sender::is_at_rest`]): then nothing of it has to be asked, nor read from memory.
    rests: bool,
    /// What it has begun to send goes on when the host gets to answer.
    in_burst: bool,
    /// It hears what has arrived while its program wrote.
    hears: bool,
    /// [`Sender::keeps_pace`], here because a sender that rests is mostly elsewhere than in the cache.
    keeps_pace: bool,
    receiver: Receiver,
    sender: Sender,
    /// When its program runs, if that is known.
    program_runs: Option<Instant>,
    /// What has arrived since its program began to write, which sends what it writes.
    waiting: Vec<Segment>,
}

impl Endpoint {
    /// The end that opens the connection: its SYN leaves at `now`.
    ///
    /// # Errors
    /// If `config`'s segments carry nothing, or 4 GiB.
    pub fn connect(now: Instant, config: &TcpConfig) -> Result<Self, TcpError> {
        let mut endpoint = Self::listen(config)?;
        endpoint.open(now);
        Ok(endpoint)
    }

    /// The end that waits for a SYN.
    ///
    /// # Errors
    /// If `config`'s segments carry nothing, or 4 GiB.
    pub fn listen(config: &TcpConfig) -> Result<Self, TcpError> {
        let (sender, receiver) = (Sender::new(config)?, Receiver::new(config));
        let keeps_pace = sender.keeps_pace();
        let outputs = VecDeque::new();
        let (wants_ecn, ecn, connected, closed) = (config.ecn, false, false, false);
        let (answering, program_runs, due) = (None, None, None);
        Ok(Self {
            sender,
            receiver,
            outputs,
            wants_ecn,
            ecn,
            connected,
            closed,
            rests: false,
            in_burst: false,
            hears: false,
            keeps_pace,
            answering,
            program_runs,
            due,
            waiting: Vec::new(),
        })
    }

    /// What happens at random at this end's host, where the profile's hosts have any such: it has been up for `uptime` when time begins,
    /// which tells when its clock ticks, and how long it and its programs take is drawn from `reactions`. An endpoint that is not told is on
    /// a host that has just begun, that always takes the same times, and whose programs run at once.
    pub fn set_host(&mut self, uptime: Duration, reactions: Stream) {
        self.sender.put_on_host(reactions);
        self.sender.timers.run_since(uptime);
        self.receiver.acks.timers.run_since(uptime);
    }

    /// Segments are told to it when its host's [`crate::Kernel`] hears of them; it acknowledges at once, or what was pushed when that is read ([`Endpoint::read_at`]), and answers with data as soon as that is sent. What others of its host's endpoints send by
    /// themselves is to wait for a burst ([`Endpoint::burst_goes_on`]). To each [`Output::Room`] the owner answers with [`Endpoint::write_on_at`]: until
    /// then nothing more of what was written is sent.
    pub fn answer_when_heard(&mut self) {
        self.sender.answer_when_heard();
    }

    /// What the application does next leaves at `runs`, which is known of a [`crate::Program`]. Else it is taken to sleep each time, and not
    /// to see what other endpoints have for it.
    pub fn run_at(&mut self, runs: Instant) {
        self.program_runs = Some(runs);
    }

    /// Since when the pace lets it send, if that wakes it now, and nothing that has arrived or was written.
    pub fn paced_since(&self, now: Instant) -> Option<Instant> {
        self.sender.pacing_timer.filter(|due| *due <= now && self.answering.is_none())
    }

    /// The application reads what the next segment brings, which comes now, at `runs`, and not at once.
    pub fn read_at(&mut self, now: Instant, runs: Instant) {
        self.receiver.read_at(now, runs);
    }

    /// The program that was told of room in the send buffer runs at `runs`, and puts what it has into it.
    pub fn write_on_at(&mut self, runs: Instant) {
        self.sender.use_room_at(runs);
        self.set_due();
    }

    /// The application keeps what waits in a buffer of its own (`SO_SNDBUF` is set): all that it writes is taken.
    pub fn take_everything(&mut self) {
        self.sender.buffer = None;
    }

    /// The application opens the connection: the SYN leaves as soon as the host lets it.
    pub fn open(&mut self, now: Instant) {
        self.rests = false;
        self.sender.open_actively();
        self.receiver.open_actively();
        self.run_program(now);
    }

    /// The application has `bytes` more to send. Ignored after [`Endpoint::close`].
    pub fn write(&mut self, now: Instant, bytes: Bytes) {
        self.handle_timeout(now);
        self.rests = false;
        self.sender.write(bytes);
        self.run_program(now);
    }

    /// The application will send no more: a FIN follows the data.
    pub fn close(&mut self, now: Instant) {
        self.handle_timeout(now);
        self.rests = false;
        self.sender.close();
        self.run_program(now);
    }

    /// Of what has been received the application has not read `unread` bytes: the window that is offered is smaller by that, and
    /// the other side hears of it when it opens again. What arrives later counts as unread until this is called again. An
    /// application that never calls this reads at once.
    pub fn hold(&mut self, now: Instant, unread: Bytes) {
        self.handle_timeout(now);
        self.receiver.hold(now, unread);
        self.flush(now);
    }

    /// Bytes that were written and never sent.
    pub fn unsent(&self) -> Bytes {
        self.sender.unsent()
    }

    /// Bytes that were sent and are not acknowledged.
    pub fn unacknowledged(&self) -> Bytes {
        self.sender.outstanding()
    }

    /// A segment from the other endpoint arrived.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) {
        self.handle_timeout(now);
        // The kernel hears of it when the program's call is over (sk_add_backlog()).
        if self.in_burst && self.sender.is_written() {
            return self.waiting.push(*segment);
        }
        self.hear(now, segment);
    }

    fn hear(&mut self, now: Instant, segment: &Segment) {
        // RFC 9293 §3.10.7.2-3: before a SYN nothing else counts.
        if !segment.syn && !self.receiver.is_open() {
            return;
        }
        if !self.rests {
            self.sender.open();
        }
        let asks_again = segment.syn && segment.acknowledgment.is_none() && self.receiver.is_open();
        if asks_again && !self.sender.repeat_handshake(now) {
            return;
        }
        if segment.syn && !self.ecn {
            // RFC 3168 §6.1.1: ECE and CWR on the SYN, ECE alone on its answer.
            self.ecn = self.wants_ecn && segment.ece && segment.cwr == segment.acknowledgment.is_none();
        }
        if let Some(acknowledgment) = segment.acknowledgment {
            self.rests = self.rests && self.sender.rests_on(segment, acknowledgment);
            if !self.rests {
                self.sender.handle_acknowledgment(now, segment, acknowledgment);
            }
            self.sender.heard(now);
        }
        if self.receiver.is_crowded_by(segment) {
            self.acknowledge(now);
            self.receiver.makes_room();
        }
        let received = self.receiver.handle_segment(now, segment, &self.sender.rtt);
        self.report_connected(now);
        if received.bytes > Bytes::ZERO {
            self.outputs.push_back(Output::Received { at: now, bytes: received.bytes });
        }
        if received.finished {
            self.outputs.push_back(Output::Finished { at: now });
        }
        let reaction = if self.rests { None } else { self.sender.reaction() };
        // What a program writes that runs later, or a burst has begun, is not sent sooner because something arrives meanwhile.
        let answers = reaction.map(|reaction| now + reaction).or(self.answering.filter(|answers| *answers > now));
        match answers {
            // An acknowledgement that arrives meanwhile is answered with the first.
            Some(answers) if self.receiver.ack_due().is_none_or(|due| due > now) => {
                self.answering.get_or_insert(answers);
                self.set_due();
            }
            _ if self.answers_later(now) => self.acknowledge_alone(now),
            _ => self.flush(now),
        }
        self.report_closed(now);
    }

    /// Runs every timer that is due at or before `now`, at the time it was due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(due) = self.due.filter(|due| *due <= now) {
            // What was to be answered is sent below, in any case.
            if self.answering == Some(due) {
                self.answering = None;
            } else if !self.rests && self.sender.next_timeout() == Some(due) {
                let only_fills = self.sender.handle_timer(due);
                // What a burst has begun, or a program writes later, is not sent sooner because there is more behind it.
                if only_fills && self.answers_later(due) {
                    self.set_due();
                    continue;
                }
            } else {
                self.receiver.handle_timer(self.sender.rtt.rto());
                if self.answers_later(due) {
                    self.acknowledge_alone(due);
                    continue;
                }
            }
            self.flush(due);
        }
    }

    /// Whether what there is to send leaves after `now`.
    fn answers_later(&self, now: Instant) -> bool {
        self.answering.is_some_and(|answers| answers > now)
    }

    /// When [`Endpoint::handle_timeout`] is to be called next.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// When the rest of the burst leaves of which the beginning has.
    pub fn burst_goes_on(&self) -> Option<Instant> {
        self.answering.filter(|_| self.in_burst)
    }

    /// The next thing to tell the owner.
    pub fn poll(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front();
        if self.outputs.is_empty() {
            // The next one goes where the last ones were, which is in the cache.
            self.outputs.clear();
        }
        output
    }

    /// Memory for outputs: whoever has many endpoints lends it to the one that something happens to, so that it stays in the cache. An
    /// endpoint that has some keeps that.
    pub fn lend(&mut self, memory: &mut Vec<VecDeque<Output>>) {
        if self.outputs.capacity() == 0 {
            self.outputs = memory.pop().unwrap_or_default();
        }
    }

    /// Gives the memory for outputs back, once they have all been told.
    pub fn give_back(&mut self, memory: &mut Vec<VecDeque<Output>>) {
        if self.outputs.is_empty() && self.outputs.capacity() > 0 {
            memory.push(core::mem::take(&mut self.outputs));
        }
    }

    /// Asks memory for what a segment needs that arrives; the first line of the endpoint is known. Whoever has thousands of endpoints does that
    /// for several first. If the end `will_write`, its sender does not go on resting. Returns whether [`Endpoint::look_at_sent`] finds more to ask
    /// for, in what this has asked for.
    #[inline]
    pub fn look_at(&self, will_write: bool) -> bool {
        self.receiver.look_at();
        self.sender.look_at();
        let is_busy = will_write || !self.rests;
        if is_busy {
            self.sender.look_at_rest();
        }
        is_busy
    }

    /// Asks memory for what an acknowledgement needs beyond that, or writing something.
    #[inline]
    pub fn look_at_sent(&self) {
        self.sender.look_at_sent();
    }

    /// The congestion window.
    pub fn congestion_window(&self) -> Bytes {
        self.sender.congestion.window()
    }

    /// What the sending half is like now.
    pub fn sender_state(&self) -> SenderState {
        let Sender { congestion, rtt, .. } = &self.sender;
        SenderState {
            window: congestion.window(),
            threshold: congestion.threshold(),
            in_flight: self.sender.in_network(),
            smoothed_rtt: rtt.smoothed(),
            unacknowledged: self.sender.unacknowledged,
        }
    }

    /// What the program wants to send leaves once its host lets it run.
    fn run_program(&mut self, now: Instant) {
        let runs = self.program_runs.take().or_else(|| self.sender.waking().map(|span| now + span));
        match runs.filter(|runs| *runs > now) {
            Some(runs) => {
                self.answering.get_or_insert(runs);
                self.set_due();
            }
            None => self.flush(now),
        }
    }

    /// Sends all that may be sent now, then an acknowledgement if one is due and nothing carried it.
    fn flush(&mut self, now: Instant) {
        debug_assert!(!self.rests || self.sender.is_at_rest(), "whoever wakes the sender says so");
        let took_time = core::mem::take(&mut self.in_burst);
        if !self.rests {
            while let Some(piece) = self.sender.transmit(now) {
                self.transmit(now, piece);
                if let Some(gap) = self.sender.gap(now, piece.payload) {
                    (self.answering, self.in_burst) = (Some(now + gap), true);
                    return self.set_due();
                }
            }
            self.rests = self.sender.is_at_rest();
            if self.sender.wakes_writer() && self.sender.finds_room() {
                self.outputs.push_back(Output::Room { at: now });
            }
        }
        self.answering = None;
        self.acknowledge_alone(now);
        if !self.rests && !self.hears {
            self.end_call(now, took_time);
        }
    }

    /// A program's call that has brought something is over, or goes on after what has arrived if it `took_time`.
    fn end_call(&mut self, now: Instant, took_time: bool) {
        let goes_on = self.sender.pause();
        let has_waiting = took_time && !self.waiting.is_empty();
        if has_waiting {
            self.hears = true;
            let mut waiting = core::mem::take(&mut self.waiting);
            waiting.iter().for_each(|segment| self.hear(now, segment));
            waiting.clear();
            (self.waiting, self.hears) = (waiting, false);
        }
        self.sender.go_on();
        if (has_waiting || goes_on) && self.answering.is_none() {
            self.flush(now);
        }
    }

    /// Sends an acknowledgement if one is due, and nothing else.
    fn acknowledge_alone(&mut self, now: Instant) {
        if self.receiver.ack_due().is_some_and(|due| due <= now) {
            self.acknowledge(now);
        }
        self.set_due();
    }

    /// A segment that is nothing but an acknowledgement.
    fn acknowledge(&mut self, now: Instant) {
        self.transmit(now, Piece { sequence: self.sender.next, ..Piece::default() });
        if self.keeps_pace {
            self.sender.pacer.begin(now);
        }
    }

    fn set_due(&mut self) {
        let timeout = if self.rests { None } else { self.sender.next_timeout() };
        let timers = earliest(timeout, self.receiver.ack_due());
        self.due = earliest(timers, self.answering);
    }

    /// Fills the segment in where it will wait for the owner: copying it there would cost more than all the rest.
    fn transmit(&mut self, now: Instant, piece: Piece) {
        let opens = piece.syn && !self.receiver.is_open();
        self.outputs.push_back(Output::Transmit { at: now, segment: Segment::default() });
        let Some(Output::Transmit { segment, .. }) = self.outputs.back_mut() else { return };
        (segment.sequence, segment.payload) = (piece.sequence, piece.payload);
        (segment.syn, segment.fin, segment.push) = (piece.syn, piece.fin, piece.push);
        if piece.syn {
            segment.options = self.sender.behavior.syn_options;
            let asks = opens && self.wants_ecn && !(piece.again && self.sender.behavior.ecn_falls_back);
            (segment.ece, segment.cwr) = (if opens { asks } else { self.ecn }, asks);
        } else if self.ecn && piece.payload > Bytes::ZERO && !piece.again {
            (segment.cwr, segment.codepoint) = (piece.cwr, Codepoint::Capable);
        }
        self.receiver.acknowledge(now, segment);
    }

    fn report_connected(&mut self, now: Instant) {
        if !self.connected && self.sender.is_established() && self.receiver.is_open() {
            self.connected = true;
            self.outputs.push_back(Output::Connected { at: now });
        }
    }

    fn report_closed(&mut self, now: Instant) {
        if !self.closed && self.receiver.is_finished() && self.sender.is_finished() {
            self.closed = true;
            self.outputs.push_back(Output::Closed { at: now });
        }
    }
}

#[cfg(test)]
mod tests;
