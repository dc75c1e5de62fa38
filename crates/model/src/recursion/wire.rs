//! Sending: what each end puts on the wire, and what the server does about requests.

use super::browser::{Action, Limits};
use super::connection::{Content, Exchange, Kind, Packet, Side, Turns};
use super::end::End;
use super::habits::Habits;
use super::load::{HEADERS, Load, Making, Mode, Plan, Planned};
use super::parameters::{Control, FLOW_HEADERS, Http, Parameters};
use super::progress::{Cause, Trigger};
use super::receiver::{Ack, Receiver, UNSCALED};
use super::route::Passage;
use super::sender::Piece;
use super::ticks::{Pace, Ticks};
use super::way::Story;
use super::window::Window;
use farhop_scenario::Congestion;

/// A window that never limits, with room to add to.
const NO_LIMIT: u64 = u64::MAX / 4;

/// Both ends of a new connection.
pub(crate) fn ends(parameters: &Parameters, mode: Mode) -> (End, End) {
    let tcp = &parameters.tcp;
    let mss = tcp.mss.get();
    let is_quic = parameters.http == Http::Http3;
    // RFC 9002 §7.2: two packets at least.
    let least = if is_quic { 2 } else { 1 };
    let initial = mss * u64::from(tcp.initial_window.max(least));
    let mut habits = match parameters.flow {
        Some(flow) => Habits::of_flow(tcp, flow.ack_every),
        None if parameters.has_frames() => Habits::of_tunnel(tcp),
        None if is_quic => Habits::of_quic(tcp),
        None => Habits::of(tcp),
    };
    if parameters.is_established {
        // What two boxes carry between them waits for no program of its own.
        habits.waking = Ticks::ZERO;
    }
    let Habits { counting, counts_segments, .. } = habits;
    let is_whole = counts_segments || is_quic;
    let window = || match tcp.congestion {
        // Without a model of the path what fills it is slow start.
        Congestion::Bbr if mode != Mode::Repairing => Window::new(Congestion::Reno, (mss, initial), counting, is_whole),
        congestion if is_quic => Window::of_quic(congestion, mss, initial),
        congestion => Window::new(congestion, (mss, initial), counting, counts_segments),
    };
    let fixed = || Window::fixed(mss, parameters.flow.map_or(NO_LIMIT, |flow| flow.window.get().max(mss)));
    // QUIC's client is not spread over round trips: what it sends is little.
    let client = match tcp.congestion {
        _ if parameters.control == Control::FixedRate => fixed(),
        Congestion::Reno | Congestion::NewReno | Congestion::Cubic if is_quic => {
            Window::new(tcp.congestion, (mss, initial), counting, true)
        }
        _ => window(),
    };
    let server = match parameters.control {
        Control::Tcp => window(),
        Control::FixedRate => fixed(),
    };
    let (mut client, mut server) = (End::new(tcp, habits, client), End::new(tcp, habits, server));
    client.sender.opens();
    let has_programs = parameters.host_times().is_some();
    (client.sender.has_program, server.sender.has_program) = (has_programs, has_programs);
    if parameters.control == Control::FixedRate {
        let redundancy = (u32::try_from(mss + FLOW_HEADERS).unwrap_or(1), u32::try_from(mss).unwrap_or(1));
        let pace = parameters.flow.and_then(|flow| flow.rate).map(|rate| Pace::of(Some(rate), redundancy));
        client.sender.keep_to(pace);
        server.sender.keep_to(pace.or_else(|| parameters.link_pace()));
    }
    if parameters.is_read_late {
        client.receiver.read_after(Habits::of(tcp).waking);
    }
    if matches!(parameters.turns(), Turns::Segments { .. }) {
        // Proxies keep what waits in buffers of their own.
        (client.sender.buffer, server.sender.buffer) = (None, None);
        server.sender.wait_for_a_hand();
    }
    if parameters.control == Control::Tcp && !is_quic {
        client.receiver.open_actively();
    }
    server.sender.update_offer(0, client.receiver.offer());
    client.sender.update_offer(0, offer_of_answer(parameters, &server.receiver));
    if mode == Mode::Repairing {
        let models = tcp.congestion == Congestion::Bbr;
        return (client.repairing(tcp, habits, models), server.repairing(tcp, habits, models));
    }
    (client, server)
}

/// What whoever opens a connection hears first of the room that there is: what TCP's SYN can say.
pub(super) fn offer_of_answer(parameters: &Parameters, receiver: &Receiver) -> u64 {
    let has_syns = parameters.control == Control::Tcp && parameters.http != Http::Http3;
    receiver.offer().min(if has_syns { UNSCALED } else { u64::MAX })
}

impl Load<'_> {
    /// Sends all that may be sent now, then an acknowledgement if one is due and nothing carried it.
    #[inline(always)]
    pub(crate) fn flush(&mut self, place: usize, side: Side) {
        let now = self.now;
        if side == Side::Client && !self.buffers.connections[place].is_up {
            // It leaves with the end of the handshake.
            self.buffers.connections[place].client.set_answered();
            return self.set_timer(place, side);
        }
        loop {
            if side == Side::Server {
                if self.parameters.control == Control::FixedRate {
                    self.leave_out_at_set_rate(place);
                }
                self.send_train(place);
            }
            let Some(piece) = self.buffers.connections[place].end(side).transmit(now) else {
                if side == Side::Server && self.buffers.connections[place].fill_buffer(self.turns) {
                    continue;
                }
                break;
            };
            self.send(place, side, piece);
            if self.is_too_long() || self.gave_up {
                break;
            }
        }
        let end = self.buffers.connections[place].end(side);
        end.set_answered();
        if end.sender.finds_room() {
            self.wake_writer(place, side);
        }
        if self.buffers.connections[place].end(side).acks_at(now) {
            self.send(place, side, Piece::NOTHING);
        }
        self.set_timer(place, side);
    }

    /// There is room in a send buffer that its program has waited for.
    #[inline(never)]
    fn wake_writer(&mut self, place: usize, side: Side) {
        let writes = self.programs[side as usize].writes_on(self.now).unwrap_or(self.now);
        self.buffers.connections[place].end(side).sender.room_due = writes;
    }

    /// Sends what an arrival allows, if not later, when the host gets to it; whether it did. Nothing more is done about one that is `bare`, so
    /// that time may go on to when the host does if nothing else happens until then.
    #[inline(always)]
    pub(crate) fn answer(&mut self, place: usize, side: Side, bare: bool) -> bool {
        if let Some(later) = self.buffers.connections[place].end(side).answers_later(self.now) {
            if !bare || self.happens_by(later) {
                self.buffers.connections[place].end(side).set_answering(later);
                self.set_timer(place, side);
                return false;
            }
            self.now = later;
        }
        self.flush(place, side);
        true
    }

    /// Sends what a program has written, at once or when it gets to it; which of both.
    pub(crate) fn run_program(&mut self, place: usize, side: Side) -> bool {
        let then = self.programs[side as usize].answers(self.now);
        let is_later = self.buffers.connections[place].end(side).writes_later(self.now, then);
        if is_later {
            self.set_timer(place, side);
        } else {
            self.flush(place, side);
        }
        !is_later
    }

    #[inline(always)]
    pub(crate) fn set_timer(&mut self, place: usize, side: Side) {
        let earliest = self.buffers.connections[place].settle_timer(side, self.now);
        self.buffers.timers.lower(place, earliest);
    }

    /// Puts a segment on the wire, or with nothing of the stream an acknowledgement alone.
    #[inline(always)]
    pub(crate) fn send(&mut self, place: usize, side: Side, piece: Piece) {
        let now = self.now;
        let repair = &mut self.buffers.connections[place].end(side).repair;
        let option = repair.as_mut().map_or(0, |repair| repair.option_bytes());
        let passage = self.route(side).pass(now, piece.payload + HEADERS + option);
        self.skipping.note(side, passage.found_idle);
        let turns = self.turns;
        let connection = &mut self.buffers.connections[place];
        let (mut fin, mut late, mut held) = (false, (Ticks::ZERO, Ticks::ZERO), Ticks::ZERO);
        if side == Side::Server && piece.payload > 0 {
            if !piece.again {
                connection.take_from_responses(piece.payload, turns);
            }
            late = core::mem::take(&mut connection.late);
            fin = connection.closing && piece.start + piece.payload == connection.server.sender.written;
        }
        let generation = connection.generation;
        let end = connection.end(side);
        if self.explains {
            held = end.receiver.held(now);
        }
        let ack = end.acknowledge(now, piece.payload > 0);
        let (order, heard) = end.repair.as_mut().map_or((0, 0), |repair| {
            if passage.is_dropped && piece.payload > 0 {
                repair.board.drop_last();
            }
            (repair.board.last_order(), repair.heard())
        });
        if self.is_lost(&passage) {
            return;
        }
        let queue = if side == Side::Client { &mut self.buffers.up } else { &mut self.buffers.down };
        let packet = Packet {
            arrival: passage.arrival,
            kind: Kind::Segment,
            push: piece.push,
            fin,
            payload: small(piece.payload),
            place: small(place),
            generation,
            order,
            heard,
            start: piece.start,
            sent: now,
            ack,
        };
        queue.push(packet, || Story { hold: piece.hold, late, held, ..Story::of(&passage) });
    }

    /// Sends the last segment again.
    pub(crate) fn repeat(&mut self, place: usize, side: Side, payload: u64) {
        let now = self.now;
        _ = self.buffers.connections[place].end(side).receiver.acknowledge(now, payload > 0);
        self.put(side, Packet { kind: Kind::Repetition, ..Packet::bare(place, now) }, payload + HEADERS);
    }

    /// Sends a packet of so many bytes on its way; whether it is not lost at once.
    pub(crate) fn put(&mut self, side: Side, packet: Packet, bytes: u64) -> bool {
        let now = self.now;
        let generation = self.buffers.connections[packet.place()].generation;
        let passage = self.route(side).pass(now, bytes);
        self.skipping.note(side, passage.found_idle);
        if self.is_lost(&passage) {
            return false;
        }
        let packet = Packet { arrival: passage.arrival, generation, ..packet };
        let story = || Story::of(&passage);
        match side {
            Side::Client => self.buffers.up.push(packet, story),
            Side::Server => self.buffers.down.push(packet, story),
        }
        true
    }

    /// Whether a queue had no room for a packet; where that is not certain, the load has to be begun again.
    pub(crate) fn is_lost(&mut self, passage: &Passage) -> bool {
        self.gave_up |= passage.is_dropped && self.mode == Mode::Wary;
        passage.is_dropped && self.mode == Mode::Repairing
    }

    pub(crate) fn send_fin(&mut self, place: usize, side: Side) {
        let sent = self.now;
        self.put(side, Packet { kind: Kind::Fin, ..Packet::bare(place, sent) }, HEADERS);
    }

    /// The document is sent at once.
    pub(crate) fn send_unasked(&mut self) {
        let limits = Limits::of(self.parameters);
        let Some(Action::Open { host }) = self.buffers.browser.next_action(limits) else { return };
        let place = self.open_place(host);
        self.buffers.browser.set_ready(place);
        let Some(Action::Request { object, .. }) = self.buffers.browser.next_action(limits) else { return };
        self.note_request(place, object);
        let (content, response) = (Content::Object(object), self.parameters.response(self.workload, object));
        let exchange = Exchange { content, request: 0, response };
        let generation = self.buffers.connections[place].generation;
        self.made(Making { ready: self.now, connection: place, generation, exchange, is_begun: false });
    }

    /// Does what the browser wants done now.
    #[inline(always)]
    pub(crate) fn act(&mut self) {
        if core::mem::take(&mut self.may_act) {
            self.act_now();
        }
    }

    fn act_now(&mut self) {
        let limits = Limits::of(self.parameters);
        self.close_idle();
        // When the program dials that has just been woken.
        let mut dials = None;
        while let Some(action) = self.buffers.browser.next_action(limits) {
            match action {
                Action::Open { host } => {
                    let due = self.open(host);
                    dials = Some(dials.map_or(due, |earlier: Ticks| earlier.min(due)));
                }
                Action::Request { place, object } => self.request(place, object, dials),
            }
        }
        for place in 0..self.parameters.carriers().min(self.buffers.connections.len()) {
            if self.buffers.connections[place].client.may_send(self.now) {
                self.flush(place, Side::Client);
            }
        }
    }

    /// Asks for an object on a call, behind what the program `dials` as it wakes, if it does.
    fn request(&mut self, call: usize, object: usize, dials: Option<Ticks>) {
        self.note_request(call, object);
        let request = self.parameters.request(self.workload, object);
        let response = self.parameters.response(self.workload, object);
        let exchange = Exchange { content: Content::Object(object), request, response };
        if self.parameters.delays.ahead.is_zero()
            && let Some(dials) = dials
        {
            let ran = self.programs[Side::Client as usize];
            let answers = self.programs[Side::Client as usize].answers(self.now);
            // All that is asked for over one connection leaves with the first.
            let is_ours = |plan: &&Plan| matches!(plan.what, Planned::Write { call: other, .. } if other == call);
            let planned = self.buffers.plans.iter().find(is_ours).map(|plan| plan.due);
            let written = planned.or(answers).unwrap_or(self.now + self.waking(call));
            if dials <= written && written > self.now {
                return self.plan(written, Planned::Write { call, exchange });
            }
            // It is asked for as if nothing was dialled.
            self.programs[Side::Client as usize] = ran;
        }
        let has_left = self.ask_over(call, exchange);
        if has_left && self.buffers.connections[call].is_up {
            self.buffers.browser.objects[object].request_waited = self.buffers.up.last_story().waited;
        }
    }

    fn note_request(&mut self, call: usize, object: usize) {
        let header = self.workload.header(object, self.parameters.response_header_bytes);
        let clock = self.clock();
        let call = &self.buffers.calls[call];
        let came_up = call.ready == clock && call.ready > call.at;
        let progress = &mut self.buffers.browser.objects[object];
        let delay = Ticks::of(self.workload.object(object).delay);
        let cause = match progress.named.filter(|(at, ..)| *at + delay == clock) {
            Some((_, by, ledger)) => {
                let delay = progress.waits;
                Cause { trigger: Trigger::Named { by, ledger, delay }, opening: None }
            }
            None if came_up => Cause { trigger: call.trigger, opening: Some([call.at, call.dialled, call.connected]) },
            None => Cause { trigger: self.trigger, opening: None },
        };
        (progress.header, progress.cause, progress.requested) = (header, Some(cause), clock);
    }

    /// A handshake's packet has been sent.
    pub(crate) fn await_answer(&mut self, place: usize, side: Side) {
        let now = self.now;
        if self.mode == Mode::Tolerant || self.parameters.control != Control::Tcp {
            return;
        }
        let connection = &mut self.buffers.connections[place];
        let end = connection.end(side);
        end.hello.said(&end.sender, now);
        self.buffers.timers.lower(place, connection.renew_timer(side, now));
    }

    /// The client closes a connection after its response (HTTP/1.0).
    pub(crate) fn close_client(&mut self, place: usize) {
        if self.parameters.carriers() == 0 {
            self.send_fin(place, Side::Client);
            self.forget_client(place);
        }
    }

    /// The client's connection is over.
    pub(crate) fn forget_client(&mut self, place: usize) {
        if self.parameters.carriers() == 0 {
            self.buffers.connections[place].open = false;
            self.buffers.vacant.push(place);
        }
    }
}

/// What has far fewer than 2³² values: a payload, the place of a connection.
pub(super) fn small(value: impl TryInto<u32>) -> u32 {
    value.try_into().unwrap_or(u32::MAX)
}

impl Packet {
    /// A packet without data.
    pub(crate) fn bare(place: usize, sent: Ticks) -> Self {
        Self {
            arrival: sent,
            kind: Kind::Segment,
            push: false,
            fin: false,
            payload: 0,
            place: small(place),
            generation: 0,
            order: 0,
            heard: 0,
            start: 0,
            sent,
            ack: Ack::default(),
        }
    }

    /// The place of its connection.
    pub(crate) fn place(&self) -> usize {
        self.place as usize
    }

    /// Bytes of data.
    pub(crate) fn payload(&self) -> u64 {
        u64::from(self.payload)
    }
}
