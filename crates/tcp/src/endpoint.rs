//! One end of a TCP connection (RFC 9293 §3.10), without bytes, sockets or a clock.
//!
//! The owner carries [`Segment`]s between two endpoints and tells each what time it is. Data is a number of bytes; which bytes
//! they are is the owner's to know. Opening is a three-way handshake, closing is one FIN each way; a closed endpoint goes on
//! answering repeated segments for as long as its owner keeps it (TIME-WAIT without an end).
//!
//! Left out: simultaneous open, RST and aborts, keep-alive, TCP Fast Open, urgent data.

use crate::receiver::{Receiver, RoundTrip};
use crate::sender::{Sender, earliest};
use crate::sent::Piece;
use crate::{Codepoint, CongestionControl, Segment, TcpConfig, TcpError};
use farhop_units::random::{Dice, Stream};
use farhop_units::{Bytes, Instant, look_at};
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
    receiver: Receiver,
    sender: Sender,
    /// When its program runs, if that is known.
    program_runs: Option<Instant>,
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
        let outputs = VecDeque::new();
        let (wants_ecn, ecn, connected, closed) = (config.ecn, false, false, false);
        let (answering, program_runs, due) = (None, None, None);
        Ok(Self { sender, receiver, outputs, wants_ecn, ecn, connected, closed, answering, program_runs, due })
    }

    /// What happens at random at this end's host, where the profile's hosts have any such: it has been up for `uptime` when time begins,
    /// which tells when its clock ticks, and how long it and its programs take is drawn from `reactions`. An endpoint that is not told is on
    /// a host that has just begun, that always takes the same times, and whose programs run at once.
    pub fn set_host(&mut self, uptime: Duration, reactions: Stream) {
        self.sender.reactions = Dice::new(reactions);
        self.sender.has_programs = true;
        self.sender.timers.run_since(uptime);
        self.receiver.acks.timers.run_since(uptime);
    }

    /// What the application does next leaves at `runs`, which is known of a [`crate::Program`]. Else it is taken to sleep each time, and not
    /// to see what other endpoints have for it.
    pub fn run_at(&mut self, runs: Instant) {
        self.program_runs = Some(runs);
    }

    /// The application reads what the next segment brings at `runs`, and not at once.
    pub fn read_at(&mut self, runs: Instant) {
        self.receiver.read_at(runs);
    }

    /// The application keeps what waits in a buffer of its own (`SO_SNDBUF` is set): all that it writes is taken.
    pub fn take_everything(&mut self) {
        self.sender.buffer = None;
    }

    /// The application opens the connection: the SYN leaves as soon as the host lets it.
    pub fn open(&mut self, now: Instant) {
        self.sender.open_actively();
        self.run_program(now);
    }

    /// The application has `bytes` more to send. Ignored after [`Endpoint::close`].
    pub fn write(&mut self, now: Instant, bytes: Bytes) {
        self.handle_timeout(now);
        self.sender.write(bytes);
        self.run_program(now);
    }

    /// The application will send no more: a FIN follows the data.
    pub fn close(&mut self, now: Instant) {
        self.handle_timeout(now);
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
        // RFC 9293 §3.10.7.2-3: before a SYN nothing else counts.
        if !segment.syn && !self.receiver.is_open() {
            return;
        }
        self.sender.open();
        if segment.syn && !self.ecn {
            // RFC 3168 §6.1.1: ECE and CWR on the SYN, ECE alone on its answer.
            self.ecn = self.wants_ecn && segment.ece && segment.cwr == segment.acknowledgment.is_none();
        }
        if let Some(acknowledgment) = segment.acknowledgment {
            self.sender.handle_acknowledgment(now, segment, acknowledgment);
        }
        let received = self.receiver.handle_segment(now, segment, self.round_trip());
        self.report_connected(now);
        if received.bytes > Bytes::ZERO {
            self.outputs.push_back(Output::Received { at: now, bytes: received.bytes });
        }
        if received.finished {
            self.outputs.push_back(Output::Finished { at: now });
        }
        match self.sender.reaction() {
            // An acknowledgement that arrives meanwhile is answered with the first.
            Some(reaction) if self.receiver.ack_due().is_none_or(|due| due > now) => {
                self.answering.get_or_insert(now + reaction);
                self.set_due();
            }
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
            } else if self.sender.next_timeout() == Some(due) {
                self.sender.handle_timer(due);
            } else {
                self.receiver.handle_timer(self.sender.rtt.rto());
            }
            self.flush(due);
        }
    }

    /// When [`Endpoint::handle_timeout`] is to be called next.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.due
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

    /// Asks memory for what a segment needs that arrives. Whoever has thousands of endpoints does that for several, first with `look` 0
    /// for all of them, then with 1 for what is found from there.
    #[inline]
    pub fn look_at(&self, look: u32) {
        match look {
            0 => {
                look_at(&self.due);
                self.sender.look_at();
                self.receiver.look_at();
            }
            1 => self.sender.look_at_sent(),
            _ => {}
        }
    }

    /// Asks memory for what tells when to be called.
    pub fn look_at_timer(&self) {
        look_at(&self.due);
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
        }
    }

    fn round_trip(&self) -> RoundTrip {
        let rtt = &self.sender.rtt;
        RoundTrip { smoothed: rtt.smoothed(), rto: rtt.rto() }
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
        while let Some(piece) = self.sender.transmit(now) {
            self.transmit(now, piece);
        }
        if self.receiver.ack_due().is_some_and(|due| due <= now) {
            self.transmit(now, Piece { sequence: self.sender.next, ..Piece::default() });
        }
        self.answering = None;
        self.set_due();
    }

    fn set_due(&mut self) {
        let timers = earliest(self.sender.next_timeout(), self.receiver.ack_due());
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
            (segment.ece, segment.cwr) = (if opens { self.wants_ecn } else { self.ecn }, opens && self.wants_ecn);
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
        if !self.closed && self.sender.is_finished() && self.receiver.is_finished() {
            self.closed = true;
            self.outputs.push_back(Output::Closed { at: now });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Sequence};
    use core::mem::offset_of;

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn outputs(endpoint: &mut Endpoint) -> Vec<Output> {
        std::iter::from_fn(|| endpoint.poll()).collect()
    }

    fn transmit_times(endpoint: &mut Endpoint) -> Vec<Instant> {
        let transmitted = |output| match output {
            Output::Transmit { at, .. } => Some(at),
            _ => None,
        };
        outputs(endpoint).into_iter().filter_map(transmitted).collect()
    }

    #[test]
    fn what_all_segments_need_begins_lines_of_the_cache() {
        // Its owner keeps what kind of transport it is in the 8 bytes before.
        let of_sender = |offset: usize| offset_of!(Endpoint, sender) + offset;
        let begins = [
            offset_of!(Endpoint, receiver),
            of_sender(offset_of!(Sender, unacknowledged)),
            of_sender(offset_of!(Sender, scoreboard)),
            of_sender(offset_of!(Sender, rtt)),
        ];
        assert_eq!(begins.map(|begin| (8 + begin) % 64), [0; 4]);
    }

    #[test]
    fn timers_that_are_served_late_act_at_the_time_they_were_due() {
        let config = TcpConfig::of(Profile::Rfc);
        let mut client = Endpoint::connect(at(0), &config).expect("NewReno is there");
        client.handle_timeout(at(10_000));
        assert_eq!(transmit_times(&mut client), [at(0), at(1000), at(3000), at(7000)], "the timer doubles");
    }

    #[test]
    fn memory_for_outputs_is_lent_and_given_back() {
        let mut client = Endpoint::connect(at(0), &TcpConfig::of(Profile::Rfc)).expect("NewReno is there");
        let mut memory = Vec::new();
        client.give_back(&mut memory);
        assert!(memory.is_empty(), "a SYN is still to be told");
        assert_eq!(outputs(&mut client).len(), 1);
        client.give_back(&mut memory);
        client.give_back(&mut memory);
        assert_eq!(memory.len(), 1, "who has none gives none");
        memory.push(VecDeque::with_capacity(1));
        client.lend(&mut memory);
        client.lend(&mut memory);
        assert_eq!(memory.len(), 1, "who has some keeps that");
        client.handle_timeout(at(1000));
        assert_eq!(outputs(&mut client).len(), 1, "the SYN again, told through what was lent");
    }

    #[test]
    fn a_delayed_acknowledgement_is_not_later_for_the_next_segments_arrival() {
        let config = TcpConfig::of(Profile::Rfc);
        let mut server = Endpoint::listen(&config).expect("NewReno is there");
        server.handle_segment(at(0), &Segment { syn: true, ..Segment::default() });
        let ack = Segment {
            sequence: Sequence::FIRST_BYTE,
            acknowledgment: Some(Sequence::FIRST_BYTE),
            ..Segment::default()
        };
        let data = Segment { payload: config.mss, window: Bytes::kb(64), ..ack };
        server.handle_segment(at(500), &data);
        let later = Segment { sequence: data.end(), ..data };
        server.handle_segment(at(1000), &later);
        assert_eq!(transmit_times(&mut server), [at(0), at(700)], "the SYN-ACK, then the timer's ACK at its own time");
    }

    #[test]
    fn linux_probes_a_tail_of_several_segments_after_two_round_trips_and_two_milliseconds() {
        let config = TcpConfig::of(Profile::Linux);
        let mut server = Endpoint::listen(&config).expect("CUBIC is there");
        let syn = Segment { syn: true, window: Bytes::kb(64), ..Segment::default() };
        server.handle_segment(at(0), &syn);
        let numbers = (Sequence::FIRST_BYTE, Some(Sequence::FIRST_BYTE));
        let ack = Segment { syn: false, sequence: numbers.0, acknowledgment: numbers.1, ..syn };
        server.handle_segment(at(40), &ack);
        server.write(at(40), config.mss * 2);
        // 82 ms are 21 jiffies, of which the first began at 40 ms: the wheel runs out at the next one.
        assert_eq!(server.next_timeout(), Some(at(128)));
    }

    #[test]
    fn after_a_timeout_new_data_shows_whether_it_was_needless() {
        let config = TcpConfig::of(Profile::Linux);
        let mut server = Endpoint::listen(&config).expect("CUBIC is there");
        let segment = |ms: u64, acknowledged: u64, syn| Segment {
            syn,
            sequence: if syn { Sequence::SYN } else { Sequence::FIRST_BYTE },
            acknowledgment: (!syn).then(|| Sequence::FIRST_BYTE + config.mss * acknowledged),
            window: Bytes::kb(64),
            timestamps: crate::Timestamps { value: 0, echo: crate::Timestamps::at(at(ms)) },
            ..Segment::default()
        };
        server.handle_segment(at(0), &segment(0, 0, true));
        server.handle_segment(at(100), &segment(0, 0, false));
        server.write(at(100), config.mss * 30);
        let mut sent = Vec::new();
        let mut collect = |server: &mut Endpoint| {
            let first = sent.len();
            let transmitted = outputs(server).into_iter().filter_map(|output| match output {
                Output::Transmit { segment, .. } => Some((segment.sequence - Sequence::FIRST_BYTE).get() / 1448),
                _ => None,
            });
            sent.extend(transmitted);
            sent[first..].to_vec()
        };
        assert_eq!(collect(&mut server)[1..], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let mut now = at(100);
        while !collect(&mut server).contains(&0) {
            now = server.next_timeout().expect("a timer runs");
            server.handle_timeout(now);
        }
        let (soon, later) = (now + Duration::from_millis(100), now + Duration::from_millis(101));
        // The repetition is acknowledged, and nothing else: RFC 5682 §3.1 step 2b.
        server.handle_segment(soon, &segment(5000, 1, false));
        assert_eq!(collect(&mut server), [], "a host takes a little time");
        server.handle_timeout(soon + Duration::from_micros(100));
        assert_eq!(collect(&mut server), [11, 12], "the probe was segment 10");
        // A duplicate shows that the loss was real (step 3a).
        let mut duplicate = segment(5000, 1, false);
        let start = Sequence::FIRST_BYTE + config.mss * 11;
        duplicate.add_sack_block(crate::SackBlock { start, end: start + config.mss });
        server.handle_segment(later, &duplicate);
        server.handle_timeout(later + Duration::from_micros(100));
        assert_eq!(collect(&mut server)[0], 1);
    }

    #[test]
    fn a_linux_host_takes_a_little_to_answer_with_data_and_each_seeds_host_another_time() {
        let reactions = |profile| {
            let config = TcpConfig::of(profile);
            let answered = |seed: u64| {
                let mut server = Endpoint::listen(&config).expect("a controller there is");
                server.set_host(Duration::ZERO, Stream::new(seed, 0));
                server.handle_segment(at(0), &Segment { syn: true, ..Segment::default() });
                let ack = Segment {
                    sequence: Sequence::FIRST_BYTE,
                    acknowledgment: Some(Sequence::FIRST_BYTE),
                    window: Bytes::kb(64),
                    ..Segment::default()
                };
                server.handle_segment(at(100), &ack);
                outputs(&mut server);
                server.write(at(100), config.mss * 30);
                server.handle_timeout(at(101));
                outputs(&mut server);
                let next = Segment { acknowledgment: Some(Sequence::FIRST_BYTE + config.mss * 2), ..ack };
                server.handle_segment(at(200), &next);
                server.handle_timeout(at(201));
                transmit_times(&mut server)[0].since(at(200))
            };
            assert_eq!(answered(7), answered(7));
            (0..20).map(answered).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(reactions(Profile::Rfc).into_iter().collect::<Vec<_>>(), [Duration::ZERO]);
        let linux = reactions(Profile::Linux);
        assert!(linux.len() > 15 && linux.iter().all(|time| *time < Duration::from_micros(100)), "{linux:?}");
    }

    #[test]
    fn programs_of_a_linux_host_take_a_little_to_connect_and_each_seeds_programs_another_time() {
        let spans = |profile| {
            let connected = |seed: u64| {
                let mut client = Endpoint::listen(&TcpConfig::of(profile)).expect("a controller there is");
                client.set_host(Duration::ZERO, Stream::new(seed, 0));
                client.open(at(0));
                client.handle_timeout(at(1));
                transmit_times(&mut client)[0].since(at(0))
            };
            (0..20).map(connected).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(spans(Profile::Rfc).into_iter().collect::<Vec<_>>(), [Duration::ZERO]);
        let linux = spans(Profile::Linux);
        assert!(linux.len() > 15 && linux.iter().all(|time| *time < Duration::from_micros(400)), "{linux:?}");
    }

    #[test]
    fn what_a_program_writes_leaves_when_it_runs_and_what_is_acknowledged_at_once_does_not_wait_for_it() {
        let config = TcpConfig::of(Profile::Linux);
        let mut server = Endpoint::listen(&config).expect("CUBIC is there");
        server.set_host(Duration::ZERO, Stream::new(1, 0));
        server.handle_segment(at(0), &Segment { syn: true, ..Segment::default() });
        let (sequence, acknowledgment) = (Sequence::FIRST_BYTE, Some(Sequence::FIRST_BYTE));
        let (payload, window) = (Bytes::new(200), Bytes::kb(64));
        outputs(&mut server);
        let request = Segment { sequence, acknowledgment, payload, window, push: true, ..Segment::default() };
        server.handle_segment(at(100), &request);
        server.run_at(at(103));
        server.write(at(100), config.mss);
        assert_eq!(transmit_times(&mut server), [at(100)], "the acknowledgement");
        server.handle_timeout(at(103));
        assert_eq!(transmit_times(&mut server), [at(103)]);
    }

    #[test]
    fn when_a_timer_runs_out_depends_on_how_long_a_linux_host_has_been_up() {
        let config = TcpConfig::of(Profile::Linux);
        let repeated = |uptime: u64| {
            let mut client = Endpoint::listen(&config).expect("CUBIC is there");
            client.set_host(Duration::from_millis(uptime), Stream::new(0, 0));
            client.handle_segment(at(0), &Segment { syn: true, ..Segment::default() });
            client.handle_timeout(at(1500));
            transmit_times(&mut client)[1]
        };
        // 1000 ms are 250 jiffies, in slots of eight: 256 jiffies after the start, of which 10 ms are two and a half.
        assert_eq!([repeated(0), repeated(10)], [at(1024), at(1014)]);
    }

    #[test]
    fn nothing_counts_before_a_syn() {
        let mut server = Endpoint::listen(&TcpConfig::of(Profile::Linux)).expect("CUBIC is there");
        let stray = Segment { sequence: Sequence::FIRST_BYTE, payload: Bytes::new(10), ..Segment::default() };
        server.handle_segment(at(0), &stray);
        assert_eq!((outputs(&mut server), server.next_timeout()), (vec![], None));
    }

    #[test]
    fn segments_that_carry_nothing_or_4_gib_are_an_error() {
        let most = Bytes::new(u64::from(u32::MAX));
        let listen = |mss| Endpoint::listen(&TcpConfig { mss, ..TcpConfig::of(Profile::Linux) });
        let error = listen(Bytes::ZERO).expect_err("nothing could be sent");
        assert_eq!(error.to_string(), "a maximum segment size of 0 B; it is 1 B to 4294967295 B");
        assert_eq!([most, most + Bytes::new(1)].map(|mss| listen(mss).is_ok()), [true, false]);
    }
}
