//! One connection: two ends that send and acknowledge, and what the server still has to answer on it.

use super::breakdown::Gap;
use super::breakdown::Ledger;
use super::end::End;
use super::receiver::Ack;
use super::skip::Mark;
use super::ticks::Ticks;
use super::timers::Timer;
use super::way::Story;
use farhop_units::Bytes;
use std::collections::VecDeque;

/// nz-us-2000, table 1: the buffer of a proxy for a connection to another.
const PROXY_BUFFER: Bytes = Bytes::new(32_767);

/// Where a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What bytes belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// A round of TLS.
    Keys {
        call: usize,
    },
    Object(usize),
}

/// A request and what answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) content: Content,
    pub(crate) request: u64,
    pub(crate) response: u64,
}

/// Bytes of one response in the stream of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) content: Content,
    pub(crate) bytes: u64,
}

/// A response that the server has begun and not sent in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) content: Content,
    /// The call that it goes over.
    pub(crate) call: usize,
    /// What is left of it.
    pub(crate) bytes: u64,
    pub(crate) urgency: u8,
    pub(crate) in_turns: bool,
}

/// How responses share a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turns {
    /// One after the other.
    Never,
    /// A segment of each call in turn, with so much payload and a head, into a buffer between two proxies; from there as they came.
    Segments { payload: u64, head: u64 },
    /// RFC 9218 §10: the most urgent first, of these each a packet in turn but what is of use as a whole alone.
    UrgentPackets,
    /// The same with frames of HTTP/2, which take so much at most.
    UrgentFrames { bytes: u64 },
}

/// What a packet is, beside the data and the acknowledgement that it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Syn,
    SynAck,
    /// Part of a QUIC server's answer to the first packet, and what acknowledges it.
    Flight,
    Segment,
    /// Part of a content, which belongs to no connection.
    Content,
    /// A segment that has arrived before; it draws an ACK at once (RFC 5681 §4.2).
    Repetition,
    /// A FIN alone, which is answered with an ACK; the connection is forgotten by then.
    Fin,
}

/// A packet on its way; what it waited for is its [`Story`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) arrival: Ticks,
    pub(crate) kind: Kind,
    pub(crate) push: bool,
    pub(crate) fin: bool,
    pub(crate) payload: u32,
    pub(crate) place: u32,
    /// Which user of the connection's place it belongs to.
    pub(crate) generation: u32,
    /// The number of the transmission, and of the last one that has arrived where it was sent; where they are counted.
    pub(crate) order: u32,
    pub(crate) heard: u32,
    pub(crate) start: u64,
    pub(crate) sent: Ticks,
    /// Of segments only.
    pub(crate) ack: Ack,
}

/// A connection's whole state.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: End,
    pub(crate) server: End,
    pub(crate) generation: u32,
    pub(crate) open: bool,
    /// Requests on the way or being answered, oldest first; how many bytes of them have arrived.
    pub(crate) asked: VecDeque<Exchange>,
    pub(crate) request_bytes: u64,
    /// Where frames go: which call has last asked for something, when, and how many bytes are in its frame.
    pub(crate) frame: (usize, Ticks, u64),
    /// The server's SYN-ACK was sent then and is not yet acknowledged.
    pub(crate) syn_ack_sent: Option<Ticks>,
    /// A SYN has arrived, the one that was sent then; and an answer to it.
    pub(crate) syn_arrived: bool,
    pub(crate) answered_hello: Ticks,
    /// The end of a QUIC server's flight waits for its beginning to be acknowledged.
    pub(crate) flight_waits: bool,
    pub(crate) is_up: bool,
    /// Responses that the server has begun and not sent in full, and what of them is on the way to the client, in order.
    pub(crate) answering: VecDeque<Answer>,
    /// What of them is in the buffer of a proxy, in order, and how much that is.
    pub(crate) buffer: VecDeque<Chunk>,
    buffered: u64,
    /// What is left of the turn of the first of them.
    turn: u64,
    pub(crate) stream: VecDeque<Chunk>,
    pub(crate) closing: bool,
    pub(crate) ledger: Ledger,
    pub(crate) last_arrival: Ticks,
    /// Arrival from which the round trip in progress is counted.
    round_start: Ticks,
    /// How the last acknowledgement that reached the server was late: delayed, queued.
    pub(crate) late: (Ticks, Ticks),
    pub(crate) mark: Mark,
    /// Nothing happens by itself before this, and since when that is so.
    earliest: Timer,
}

impl Connection {
    pub(crate) fn new(client: End, server: End) -> Self {
        Self {
            client,
            server,
            generation: 0,
            open: false,
            asked: VecDeque::new(),
            request_bytes: 0,
            frame: (0, Ticks::ZERO, 0),
            syn_ack_sent: None,
            syn_arrived: false,
            answered_hello: Ticks::ZERO,
            flight_waits: false,
            is_up: false,
            answering: VecDeque::new(),
            buffer: VecDeque::new(),
            buffered: 0,
            turn: 0,
            stream: VecDeque::new(),
            closing: false,
            ledger: Ledger::default(),
            last_arrival: Ticks::ZERO,
            round_start: Ticks::ZERO,
            late: (Ticks::ZERO, Ticks::ZERO),
            mark: Mark::default(),
            earliest: (Ticks::NEVER, Ticks::ZERO),
        }
    }

    /// This is the place of a new connection.
    pub(crate) fn begin(&mut self) {
        self.generation += 1;
        (self.open, self.closing) = (true, false);
        (self.request_bytes, self.frame) = (0, (0, Ticks::ZERO, 0));
        self.asked.clear();
        self.answering.clear();
        self.buffer.clear();
        self.buffered = 0;
        self.turn = 0;
        self.stream.clear();
        self.syn_ack_sent = None;
        (self.syn_arrived, self.is_up, self.flight_waits) = (false, false, false);
        (self.ledger, self.last_arrival, self.late) = (Ledger::default(), Ticks::ZERO, (Ticks::ZERO, Ticks::ZERO));
        (self.mark, self.round_start) = (Mark::default(), Ticks::ZERO);
        self.earliest = (Ticks::NEVER, Ticks::ZERO);
    }

    pub(crate) fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Whether it is up with nothing asked for and nothing on the way.
    pub(crate) fn is_idle(&self) -> bool {
        let has_answered = self.answering.is_empty()
            && self.buffered == 0
            && self.stream.is_empty()
            && self.server.sender.in_flight() == 0;
        self.is_up && self.asked.is_empty() && has_answered
    }

    /// Nothing happens on this connection by itself before this.
    pub(crate) fn earliest(&self) -> Ticks {
        self.earliest.0
    }

    /// When something happens on this connection by itself.
    pub(crate) fn timer(&self) -> Timer {
        let due = if self.open { self.client.timer().min(self.server.timer()) } else { Ticks::NEVER };
        (due, self.earliest.1)
    }

    /// All that could happen now at one side has. Gives the time before which nothing happens on this connection by itself.
    #[inline(always)]
    pub(crate) fn settle_timer(&mut self, side: Side, now: Ticks) -> Ticks {
        self.end(side).settle_timer(now);
        let earliest = self.client.earliest.min(self.server.earliest);
        if earliest != self.earliest.0 {
            self.earliest = (earliest, now);
        }
        earliest
    }

    /// The same at a client that waits for an acknowledgement while data comes, as few do.
    #[inline(never)]
    pub(crate) fn settle_sender(&mut self, now: Ticks) {
        self.settle_timer(Side::Client, now);
    }

    /// The same at a client where nothing can happen but that a delayed acknowledgement is due.
    #[inline(always)]
    pub(crate) fn settle_delay(&mut self, now: Ticks) {
        self.client.earliest = self.client.receiver.due;
        let earliest = self.client.earliest.min(self.server.earliest);
        if earliest != self.earliest.0 {
            self.earliest = (earliest, now);
        }
    }

    /// The same, and what will happen is new even if it was to before.
    pub(crate) fn renew_timer(&mut self, side: Side, now: Ticks) -> Ticks {
        let earliest = self.settle_timer(side, now);
        self.earliest.1 = now;
        earliest
    }

    /// Data arrived at the client: what was the time since the last arrival spent on? `rtt` is without any wait. A delayed
    /// acknowledgement counts as far as it made a round longer than that: within one there is a wait in any case.
    #[inline(never)]
    pub(crate) fn note_arrival(&mut self, now: Ticks, story: &Story, rtt: Ticks) {
        let (round, span) = (now.since(self.round_start), now.since(self.last_arrival));
        let ends_round = round >= rtt;
        self.last_arrival = now;
        if ends_round {
            self.round_start = now;
        }
        let held = if ends_round { story.late.0.min(round.since(rtt)) } else { Ticks::ZERO };
        self.ledger.note(Gap { span, link: story.link, hold: story.hold, held, queued: story.late.1, ends_round });
    }

    /// Notes which responses the next `payload` bytes of the server's stream belong to.
    #[inline(always)]
    pub(crate) fn take_from_responses(&mut self, payload: u64, turns: Turns) {
        if let (Some(answer), Some(last)) = (self.answering.front_mut(), self.stream.back_mut())
            && self.turn > payload
            && answer.bytes > payload
            && answer.content == last.content
            && !matches!(turns, Turns::Segments { .. })
        {
            (answer.bytes, self.turn, last.bytes) = (answer.bytes - payload, self.turn - payload, last.bytes + payload);
        } else {
            self.take_in_turns(payload, turns);
        }
    }

    /// Bytes that are still left of the response whose turn it is after all that it may send before anything else is to be decided.
    pub(crate) fn left_of_turn(&self) -> u64 {
        match (self.answering.front(), self.stream.back()) {
            (Some(answer), Some(last)) if answer.content == last.content => {
                answer.bytes.min(self.turn).saturating_sub(1)
            }
            _ => 0,
        }
    }

    /// Notes that so many of these have been sent.
    pub(crate) fn take_more(&mut self, bytes: u64) {
        if let (Some(answer), Some(last)) = (self.answering.front_mut(), self.stream.back_mut()) {
            (answer.bytes, self.turn, last.bytes) = (answer.bytes - bytes, self.turn - bytes, last.bytes + bytes);
        }
    }

    fn take_in_turns(&mut self, payload: u64, turns: Turns) {
        if matches!(turns, Turns::Segments { .. }) {
            return self.take_from_buffer(payload);
        }
        let mut left = payload;
        while left > 0 {
            if self.turn == 0 {
                self.begin_turn(left, turns);
            }
            let Some(answer) = self.answering.front_mut() else { return };
            let bytes = answer.bytes.min(left).min(self.turn);
            (answer.bytes, left, self.turn) = (answer.bytes - bytes, left - bytes, self.turn - bytes);
            let Answer { content, bytes: rest, in_turns, .. } = *answer;
            append(&mut self.stream, Chunk { content, bytes });
            if rest == 0 {
                self.answering.pop_front();
                self.turn = 0;
            } else if self.turn == 0 && in_turns {
                self.answering.rotate_left(1);
            }
        }
    }

    /// Brings the response whose turn it is to the front, where `left` bytes of a segment are to be filled.
    fn begin_turn(&mut self, left: u64, turns: Turns) {
        self.turn = match turns {
            Turns::Never => u64::MAX,
            Turns::Segments { .. } | Turns::UrgentPackets => left,
            Turns::UrgentFrames { bytes } => bytes,
        };
        if matches!(turns, Turns::UrgentPackets | Turns::UrgentFrames { .. }) {
            let urgencies = self.answering.iter().map(|answer| answer.urgency);
            let first = urgencies.enumerate().min_by_key(|(_, urgency)| *urgency);
            if let Some(answer) = first.and_then(|(place, _)| self.answering.remove(place)) {
                self.answering.push_front(answer);
            }
        }
    }

    /// Moves what there is room for of responses into the buffer, where they take turns; whether that was any. What is sent until the next time
    /// ends where the buffer does, be it within a segment.
    pub(crate) fn fill_buffer(&mut self, turns: Turns) -> bool {
        let Turns::Segments { payload, head } = turns else { return false };
        let before = self.buffered;
        while self.buffered + self.buffered.div_ceil(payload) * head < PROXY_BUFFER.get()
            && let Some(answer) = self.answering.front_mut()
        {
            let bytes = answer.bytes.min(payload);
            answer.bytes -= bytes;
            let Answer { content, call, bytes: rest, .. } = *answer;
            append(&mut self.buffer, Chunk { content, bytes });
            self.buffered += bytes;
            self.server.sender.hand_on(bytes);
            if rest == 0 {
                self.answering.pop_front();
            }
            self.end_turn(call);
        }
        self.buffered > before
    }

    /// What else there is of `call` goes behind what there is of others, in its order.
    fn end_turn(&mut self, call: usize) {
        let is_its = |answer: &Answer| answer.call == call;
        if self.answering.iter().all(is_its) {
            return;
        }
        self.answering.make_contiguous().sort_by_key(is_its);
    }

    fn take_from_buffer(&mut self, payload: u64) {
        let mut left = payload;
        while left > 0
            && let Some(first) = self.buffer.front_mut()
        {
            let Chunk { content, bytes } = Chunk { bytes: first.bytes.min(left), ..*first };
            (first.bytes, left, self.buffered) = (first.bytes - bytes, left - bytes, self.buffered - bytes);
            if first.bytes == 0 {
                self.buffer.pop_front();
            }
            append(&mut self.stream, Chunk { content, bytes });
        }
    }
}

fn append(chunks: &mut VecDeque<Chunk>, chunk: Chunk) {
    match chunks.back_mut() {
        Some(last) if last.content == chunk.content => last.bytes += chunk.bytes,
        _ => chunks.push_back(chunk),
    }
}
