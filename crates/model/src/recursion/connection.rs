//! One connection: two ends that send and acknowledge, and what the server still has to answer on it.

use super::breakdown::{Gap, Ledger};
use super::habits::Habits;
use super::receiver::{Ack, Receiver};
use super::sender::{Hold, Sender};
use super::ticks::Ticks;
use super::window::Window;
use farhop_scenario::{HTTP2_FRAME_BYTES, TcpConfig};
use std::collections::VecDeque;

/// Where a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Both halves of one side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
}

impl End {
    pub(crate) fn new(config: &TcpConfig, habits: Habits, window: Window) -> Self {
        let (sender, receiver) = (Sender::new(habits, config.mss.get(), window), Receiver::new(config, &habits));
        Self { sender, receiver }
    }

    /// When something happens here by itself.
    fn timer(&self, now: Ticks) -> Ticks {
        let due = self.receiver.due.unwrap_or(Ticks::NEVER).min(self.sender.probe_due());
        self.sender.paced_until(now).map_or(due, |paced| paced.min(due))
    }
}

/// A request and what answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// `None` for a round of TLS.
    pub(crate) object: Option<usize>,
    pub(crate) request: u64,
    pub(crate) response: u64,
}

/// Bytes of one response in the stream of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) object: Option<usize>,
    pub(crate) bytes: u64,
}

/// A response that the server has begun and not sent in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) object: Option<usize>,
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
    /// A segment each in turn.
    Segments,
    /// RFC 9218 §10: the most urgent first, of these each a packet in turn but what is of use as a whole alone.
    UrgentPackets,
    /// The same with frames of HTTP/2.
    UrgentFrames,
}

/// What a packet is, beside the data and the acknowledgement that it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Syn,
    SynAck,
    Segment,
    /// A segment that has arrived before; it draws an ACK at once (RFC 5681 §4.2).
    Repetition,
    /// A FIN alone, which is answered with an ACK; the connection is forgotten by then.
    Fin,
}

/// A packet on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) arrival: Ticks,
    pub(crate) kind: Kind,
    pub(crate) connection: usize,
    /// Which user of the connection's place it belongs to.
    pub(crate) generation: u32,
    pub(crate) payload: u64,
    pub(crate) push: bool,
    pub(crate) fin: bool,
    pub(crate) sent: Ticks,
    pub(crate) delivered: u64,
    pub(crate) ack: Option<Ack>,
    /// Time in queues on the way, and with that on serializers.
    pub(crate) waited: Ticks,
    pub(crate) link: Ticks,
    /// Why it was not sent earlier, and how the acknowledgement that it waited for was late: delayed, queued.
    pub(crate) hold: Hold,
    pub(crate) late: (Ticks, Ticks),
}

/// A connection's whole state.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: End,
    pub(crate) server: End,
    pub(crate) generation: u32,
    pub(crate) open: bool,
    /// Rounds of TLS still to come.
    pub(crate) tls_left: u32,
    pub(crate) tls_bytes: u64,
    /// Requests on the way or being answered, oldest first; how many bytes of them have arrived.
    pub(crate) asked: VecDeque<Exchange>,
    pub(crate) request_bytes: u64,
    /// The server's SYN-ACK was sent then and is not yet acknowledged.
    pub(crate) syn_ack_sent: Option<Ticks>,
    /// Responses that the server has begun and not sent in full, and what of them is on the way to the client, in order.
    pub(crate) answering: VecDeque<Answer>,
    /// What is left of the turn of the first of them.
    turn: u64,
    pub(crate) stream: VecDeque<Chunk>,
    pub(crate) closing: bool,
    /// The server has been asked for an object, and has its last response ready then.
    pub(crate) has_answered: bool,
    pub(crate) last_ready: Ticks,
    pub(crate) ledger: Ledger,
    pub(crate) last_arrival: Ticks,
    /// Arrival from which the round trip in progress is counted.
    round_start: Ticks,
    /// How the last acknowledgement that reached the server was late: delayed, queued.
    pub(crate) late: (Ticks, Ticks),
    /// Acknowledged, and waited for, when rates were last measured.
    pub(crate) mark: (u64, Ledger),
}

impl Connection {
    pub(crate) fn new(client: End, server: End) -> Self {
        Self {
            client,
            server,
            generation: 0,
            open: false,
            tls_left: 0,
            tls_bytes: 0,
            asked: VecDeque::new(),
            request_bytes: 0,
            syn_ack_sent: None,
            answering: VecDeque::new(),
            turn: 0,
            stream: VecDeque::new(),
            closing: false,
            has_answered: false,
            last_ready: Ticks::ZERO,
            ledger: Ledger::default(),
            last_arrival: Ticks::ZERO,
            round_start: Ticks::ZERO,
            late: (Ticks::ZERO, Ticks::ZERO),
            mark: (0, Ledger::default()),
        }
    }

    /// Makes this the place of a new connection.
    pub(crate) fn renew(&mut self, client: End, server: End, tls_rounds: u32) {
        (self.client, self.server) = (client, server);
        self.generation += 1;
        (self.open, self.closing) = (true, false);
        (self.tls_left, self.tls_bytes, self.request_bytes) = (tls_rounds, 0, 0);
        self.asked.clear();
        self.answering.clear();
        self.turn = 0;
        self.stream.clear();
        self.syn_ack_sent = None;
        (self.has_answered, self.last_ready) = (false, Ticks::ZERO);
        (self.ledger, self.last_arrival, self.late) = (Ledger::default(), Ticks::ZERO, (Ticks::ZERO, Ticks::ZERO));
        (self.mark, self.round_start) = ((0, Ledger::default()), Ticks::ZERO);
    }

    pub(crate) fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// When something happens on this connection by itself.
    pub(crate) fn timer(&self, now: Ticks) -> Ticks {
        if self.open { self.client.timer(now).min(self.server.timer(now)) } else { Ticks::NEVER }
    }

    /// Data arrived at the client: what was the time since the last arrival spent on? `rtt` is without any wait. A delayed
    /// acknowledgement counts as far as it made a round longer than that: within one there is a wait in any case.
    pub(crate) fn note_arrival(&mut self, now: Ticks, packet: &Packet, rtt: Ticks) {
        let round = now.since(self.round_start);
        let ends_round = round >= rtt;
        let held = if ends_round { packet.late.0.min(round.since(rtt)) } else { Ticks::ZERO };
        let span = now.since(self.last_arrival);
        self.ledger.note(Gap { span, link: packet.link, hold: packet.hold, held, queued: packet.late.1, ends_round });
        self.last_arrival = now;
        if ends_round {
            self.round_start = now;
        }
    }

    /// Notes which responses the next `payload` bytes of the server's stream belong to.
    pub(crate) fn take_from_responses(&mut self, payload: u64, turns: Turns) {
        let mut left = payload;
        while left > 0 {
            if self.turn == 0 {
                self.begin_turn(left, turns);
            }
            let Some(answer) = self.answering.front_mut() else { return };
            let bytes = answer.bytes.min(left).min(self.turn);
            (answer.bytes, left, self.turn) = (answer.bytes - bytes, left - bytes, self.turn - bytes);
            let Answer { object, bytes: rest, in_turns, .. } = *answer;
            self.append_to_stream(object, bytes);
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
            Turns::Segments | Turns::UrgentPackets => left,
            Turns::UrgentFrames => HTTP2_FRAME_BYTES.get(),
        };
        if matches!(turns, Turns::UrgentPackets | Turns::UrgentFrames) {
            let urgencies = self.answering.iter().map(|answer| answer.urgency);
            let first = urgencies.enumerate().min_by_key(|(_, urgency)| *urgency);
            if let Some(answer) = first.and_then(|(place, _)| self.answering.remove(place)) {
                self.answering.push_front(answer);
            }
        }
    }

    fn append_to_stream(&mut self, object: Option<usize>, bytes: u64) {
        match self.stream.back_mut() {
            Some(last) if last.object == object => last.bytes += bytes,
            _ => self.stream.push_back(Chunk { object, bytes }),
        }
    }
}
