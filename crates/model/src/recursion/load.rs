//! The recursion itself: each packet's arrival from its sending, each sending from an earlier arrival.
//!
//! Without reordering all packets of a direction arrive in the order in which they were sent, whatever connection they are
//! of. Three things can come next: the oldest packet on the way down, the oldest on the way up, and a timer (a delayed ACK, a paced
//! segment, a response that is being made). Taking the earliest of them in turn is all there is: no queue of events, no dice.
//!
//! What every packet passes through is inlined by hand (a compiler finds it too large), and what few do is kept out of it: together a
//! tenth of the instructions of a page.

use super::behind::Behind;
use super::browser::Browser;
use super::call::Call;
use super::connection::{Connection, Exchange, Kind, Packet, Side, Turns};
use super::contents::Contents;
use super::flight;
use super::hearing::Hosts;
use super::near::{Legs, Near};
use super::parameters::{Control, Http, Parameters, Tls};
use super::program::Program;
use super::progress::Trigger;
use super::route::Route;
use super::sender::Piece;
use super::skip::Skipping;
use super::ticks::Ticks;
use super::timers::Timers;
use super::way::{Story, Way};
use super::wire;
use super::workload::Workload;
use farhop_scenario::{HEADER_BYTES, Records};
use std::collections::VecDeque;

/// A response that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Making {
    pub(crate) ready: Ticks,
    pub(crate) connection: usize,
    pub(crate) generation: u32,
    pub(crate) exchange: Exchange,
    /// Some of it has been sent.
    pub(crate) is_begun: bool,
}

/// What the browser will do by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) due: Ticks,
    pub(crate) what: Planned,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Planned {
    /// Ask for an object that a body has named.
    Ask { object: usize, trigger: Trigger },
    /// The box near the client hears that it asks for an object.
    Hear { object: usize, trigger: Trigger },
    /// Dial a host whose name is being resolved.
    Dial { place: usize },
    /// Write what is asked for on a connection that is up, behind what is dialled in the same instant.
    Write { call: usize, exchange: Exchange },
    /// The box near the client, which heard that, dials for it.
    Hello { place: usize },
    /// It passes on what the client asks.
    Say { call: usize, exchange: Exchange },
    /// It asks the far end to connect.
    Tell { call: usize },
    /// The box that has connections up has answered.
    Connect { place: usize },
    /// Send the next packet of what is pushed apart.
    Content,
    /// The receiver of what is pushed apart may miss some of it.
    Missing { object: usize },
    /// Its sender is asked for that.
    Again { object: usize },
    /// Acknowledgements may let more go from the terminal.
    Window { leg: usize },
    /// A connection with the terminal comes up.
    Open { leg: usize },
    /// The terminal answers what it had got unasked.
    Answer { object: usize, leg: usize },
}

/// What is done about queues that may overflow and timers that run out though nothing is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing has to be but that handshakes are repeated: the load is given up where anything else would.
    Wary,
    /// What is dropped is dropped, and sent again.
    Repairing,
    /// Nothing: there is room for all, and timers do not run out.
    Tolerant,
}

/// How a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Complete,
    /// Something has to be repaired.
    GaveUp,
    TooLong,
}

/// Buffers that are used again from load to load.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) down: Way,
    pub(crate) up: Way,
    pub(crate) connections: Vec<Connection>,
    pub(crate) timers: Timers,
    pub(crate) making: VecDeque<Making>,
    /// The next thing first.
    pub(crate) plans: VecDeque<Plan>,
    /// By host: when its name is resolved.
    pub(crate) resolved: Vec<Option<Ticks>>,
    pub(crate) calls: Vec<Call>,
    /// Places of connections that are closed.
    pub(crate) vacant: Vec<usize>,
    pub(crate) browser: Browser,
    pub(crate) contents: Contents,
    pub(crate) legs: Legs,
    pub(crate) hosts: Hosts,
    /// A prefetching box's connections: to which host, when they are free, and what comes over them.
    pub(crate) fetching: Vec<(usize, Ticks, Behind)>,
}

impl Buffers {
    fn reset(&mut self, forms: (Records, Option<u64>), wanted: impl Iterator<Item = (usize, u8)>, explains: bool) {
        self.down.reset(explains);
        self.up.reset(explains);
        self.making.clear();
        self.plans.clear();
        self.resolved.clear();
        self.calls.clear();
        self.fetching.clear();
        self.vacant.clear();
        self.vacant.extend((0..self.connections.len()).rev());
        self.connections.iter_mut().for_each(|connection| connection.open = false);
        self.timers.reset();
        self.contents.reset();
        self.hosts.reset();
        self.browser.reset(forms, wanted);
    }
}

/// One load in progress.
pub(crate) struct Load<'a> {
    pub(crate) parameters: &'a Parameters,
    pub(crate) workload: &'a Workload,
    /// The client's connections with the terminal, if something waits for them.
    pub(crate) near: Option<&'a Near>,
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) now: Ticks,
    /// Time that was skipped.
    pub(crate) skipped: Ticks,
    /// The client's and the server's.
    pub(crate) programs: [Program<'a>; 2],
    pub(crate) down: Route,
    pub(crate) up: Route,
    /// Propagation delay both ways.
    pub(crate) rtt: Ticks,
    /// Payload of a full segment.
    pub(crate) mss: u64,
    /// How responses share a connection.
    pub(crate) turns: Turns,
    /// What has just happened that may let requests go.
    pub(crate) trigger: Trigger,
    /// Something has happened that may let the browser go on.
    pub(crate) may_act: bool,
    pub(crate) skipping: Skipping,
    /// Timers for retransmission that ran out, or would have, though nothing was lost.
    pub(crate) needless: u64,
    pub(crate) mode: Mode,
    /// It is reckoned what arrivals wait for.
    pub(crate) explains: bool,
    /// What the last packet that arrived had waited for, if it is.
    pub(crate) story: Story,
    /// Trains are gone through at once: each packet is like the one before it, as long as nothing is repaired, and neither side knows what
    /// the other does ([`super::call`]).
    pub(crate) has_trains: bool,
    pub(crate) gave_up: bool,
}

/// TCP and IP headers of every packet.
pub(crate) const HEADERS: u64 = HEADER_BYTES.get();
/// QUIC's server answers what TLS 1.3's does, in three datagrams whose headers, acknowledgement and frames take some 93 bytes each.
const QUIC_ANSWER_OVERHEAD: u64 = 3 * 93;

impl<'a> Load<'a> {
    pub(crate) fn new(
        parameters: &'a Parameters,
        workload: &'a Workload,
        buffers: &'a mut Buffers,
        mode: Mode,
        explains: bool,
    ) -> Self {
        let (mut down, mut up) = parameters.routes();
        if mode == Mode::Repairing {
            (down, up) = (down.with_rooms(), up.with_rooms());
        }
        let near = parameters.near(workload);
        let has_order = parameters.http.is_multiplexed();
        let urgency = |urgency: u8| if has_order { urgency } else { 0 };
        let wanted = workload.objects().iter().map(|object| (object.host, urgency(object.urgency)));
        let frame = parameters.frame().filter(|_| near.is_none());
        buffers.reset((parameters.records(), frame), wanted, explains);
        buffers.legs.reset(near.map_or(0, |_| workload.objects().len()));
        Self {
            parameters,
            workload,
            buffers,
            now: Ticks::ZERO,
            skipped: Ticks::ZERO,
            programs: parameters.host_times().map(Program::both).unwrap_or_default(),
            rtt: down.delay() + up.delay(),
            mss: parameters.tcp.mss.get(),
            turns: parameters.turns(),
            down,
            up,
            trigger: Trigger::Start,
            may_act: true,
            skipping: Skipping::default(),
            needless: 0,
            mode,
            explains,
            story: Story::default(),
            has_trains: mode != Mode::Repairing && parameters.carriers() <= 1,
            near,
            gave_up: false,
        }
    }

    /// The time since the first action.
    pub(crate) fn clock(&self) -> Ticks {
        self.now + self.skipped
    }

    /// Loads everything.
    pub(crate) fn run(&mut self) -> Ending {
        if self.lines_up() {
            self.ask_near(0);
        } else {
            self.ask_in_passing(0);
            self.buffers.browser.discover(0);
        }
        if self.parameters.is_unasked {
            self.send_unasked();
        } else {
            self.open_carriers();
            self.act();
        }
        while !(self.buffers.browser.is_complete() && self.buffers.plans.is_empty()) {
            if self.step().is_none() || self.is_too_long() {
                return Ending::TooLong;
            }
            if self.gave_up {
                return Ending::GaveUp;
            }
        }
        if self.clock() < Ticks::NEVER { Ending::Complete } else { Ending::TooLong }
    }

    /// Whether there is no end in sight.
    pub(crate) fn is_too_long(&self) -> bool {
        self.skipping.is_too_long(self.buffers.down.len() + self.buffers.up.len(), self.mode)
    }

    /// The next thing that happens; `None` if nothing does before the end of time.
    fn step(&mut self) -> Option<()> {
        let [down, up, making, planned] = self.beginnings();
        let soonest = down.min(up).min(making).min(planned);
        if let Some((due, owner)) = self.first_timer(soonest) {
            self.now = due;
            self.timer_ran_out(owner);
            return Some(());
        }
        if soonest == Ticks::NEVER {
            return None;
        }
        self.now = soonest;
        if down == soonest {
            if !self.take_in_train() {
                self.arrive(Side::Client);
            }
        } else if up == soonest {
            if !self.take_in_acks() {
                self.arrive(Side::Server);
            }
        } else if making == soonest {
            let making = self.buffers.making.pop_front()?;
            self.made(making);
        } else {
            let plan = self.buffers.plans.pop_front()?;
            self.carry_out(plan.what);
        }
        Some(())
    }

    /// When the next packet arrives on the way down, on that up, a response has been made, and what is planned comes.
    fn beginnings(&self) -> [Ticks; 4] {
        let arrival = |queue: &Way| queue.front().map_or(Ticks::NEVER, |packet| packet.arrival);
        let making = self.buffers.making.front().map_or(Ticks::NEVER, |making| making.ready);
        let planned = self.buffers.plans.front().map_or(Ticks::NEVER, |plan| plan.due);
        [arrival(&self.buffers.down), arrival(&self.buffers.up), making, planned]
    }

    /// The first timer to run out until `limit`, and whose it is.
    #[inline(always)]
    fn first_timer(&mut self, limit: Ticks) -> Option<(Ticks, usize)> {
        if self.buffers.timers.may_run_out(limit) { self.look_for_timer(limit) } else { None }
    }

    fn look_for_timer(&mut self, limit: Ticks) -> Option<(Ticks, usize)> {
        let Buffers { timers, connections, .. } = &mut *self.buffers;
        timers.first(limit, |place| connections[place].earliest(), |place| connections[place].timer())
    }

    /// Whether anything happens until then.
    pub(crate) fn happens_by(&mut self, limit: Ticks) -> bool {
        self.beginnings().into_iter().any(|beginning| beginning <= limit) || self.first_timer(limit).is_some()
    }

    /// Something will be done later, after what is planned for the same time.
    pub(crate) fn plan(&mut self, due: Ticks, what: Planned) {
        let plans = &mut self.buffers.plans;
        let place = plans.partition_point(|other| other.due <= due);
        plans.insert(place, Plan { due, what });
    }

    fn carry_out(&mut self, planned: Planned) {
        match planned {
            Planned::Ask { object, trigger } => {
                self.ask_from_afar(object, trigger);
                let next = self.buffers.plans.front();
                if next.is_some_and(|next| next.due <= self.now && matches!(next.what, Planned::Ask { .. })) {
                    // What is asked for in one instant is asked for together.
                    return;
                }
            }
            Planned::Hear { object, trigger } => self.ask(object, trigger),
            Planned::Dial { place } => self.dial(place),
            Planned::Write { call, exchange } => {
                self.speak_near(call);
                let place = self.write_request(call, exchange);
                let is_next = |plan: &Plan| matches!(plan.what, Planned::Write { call: next, .. } if next == call);
                if self.buffers.plans.front().is_some_and(|next| next.due <= self.now && is_next(next)) {
                    return;
                }
                self.flush(place, Side::Client);
            }
            Planned::Hello { place } => self.say_hello(place),
            Planned::Say { call, exchange } => {
                self.say(call, exchange);
                self.may_act |= self.parameters.carriers() > 0;
                if self.buffers.plans.front().is_some_and(|next| next.due <= self.now) {
                    // What is said in one instant leaves together.
                    return;
                }
            }
            Planned::Tell { call } => self.tell(call),
            Planned::Connect { place } => self.connected(place),
            Planned::Content => self.send_content(),
            Planned::Missing { object } => self.await_missing(object),
            Planned::Again { object } => self.send_again(object),
            Planned::Window { leg } => self.pass_on(leg),
            Planned::Open { leg } => self.opened_near(leg),
            Planned::Answer { object, leg } => self.answer_near(object, leg),
        }
        self.act();
    }

    fn timer_ran_out(&mut self, place: usize) {
        for side in [Side::Client, Side::Server] {
            if self.buffers.connections[place].end(side).answers_at(self.now) {
                return self.flush_late(place, side);
            }
        }
        let now = self.now;
        for side in [Side::Client, Side::Server] {
            let connection = &mut self.buffers.connections[place];
            if connection.end(side).is_still_reacting(now) {
                continue;
            }
            let (expired, answered) = (connection.end(side).run_timers(now), connection.answered_hello);
            self.needless += u64::from(expired.timeout == Some(false));
            self.skipping.note_timeout(expired.effort);
            if expired.delay {
                self.skipping.note_timer();
            }
            if expired.hello {
                let (kind, echo) = if side == Side::Client { (Kind::Syn, now) } else { (Kind::SynAck, answered) };
                self.put(side, Packet { kind, sent: echo, ..Packet::bare(place, now) }, self.hello_bytes(side));
            }
            if let Some(payload) = expired.probe {
                // What of both arrives, after a handshake that was repeated, a repair knows better.
                self.gave_up |= self.mode == Mode::Wary && self.parameters.control == Control::Tcp && self.needless > 0;
                self.repeat(place, side, payload);
            }
            // What is answered later is not sent sooner because there is more behind it.
            let end = self.buffers.connections[place].end(side);
            if expired.only_fills() && end.is_answering() && !end.answers_at(now) {
                self.set_timer(place, side);
            } else {
                self.flush_late(place, side);
            }
        }
    }

    /// Sends what a timer lets go, which may be the answer to an acknowledgement.
    fn flush_late(&mut self, place: usize, side: Side) {
        let answers = side == Side::Server && self.buffers.connections[place].server.is_answering();
        self.flush(place, side);
        if answers {
            self.consider_skipping(place);
        }
    }

    /// The oldest packet on the way to `side` arrives.
    #[inline(always)]
    fn arrive(&mut self, side: Side) {
        let queue = if side == Side::Client { &mut self.buffers.down } else { &mut self.buffers.up };
        // A copy of what is popped would wait for its parts to be written.
        let Some(&packet) = queue.front() else { return };
        if self.explains {
            self.story = queue.story(0);
        }
        queue.pass(1);
        if packet.kind == Kind::Content {
            return self.content_arrived(&packet);
        }
        let connection = &self.buffers.connections[packet.place()];
        match packet.kind {
            Kind::Fin => {
                let now = self.now;
                self.route(side).pass(now, HEADERS);
            }
            _ if !connection.open || connection.generation != packet.generation => {}
            Kind::Syn => self.syn_arrived(&packet),
            Kind::SynAck => self.syn_ack_arrived(&packet),
            Kind::Flight => self.flight_arrived(side, &packet),
            Kind::Repetition => self.draw_ack(packet.place(), side),
            Kind::Segment if side == Side::Client => self.segment_arrived_at_client(&packet),
            Kind::Segment => self.segment_arrived_at_server(&packet),
            Kind::Content => {}
        }
    }

    /// The way out from `side`.
    pub(crate) fn route(&mut self, side: Side) -> &mut Route {
        match side {
            Side::Client => &mut self.up,
            Side::Server => &mut self.down,
        }
    }

    /// Size of the handshake's packet from `side`.
    pub(crate) fn hello_bytes(&self, side: Side) -> u64 {
        match (self.parameters.http, side) {
            (Http::Http3, Side::Client) => flight::INITIAL,
            (Http::Http3, Side::Server) => {
                QUIC_ANSWER_OVERHEAD + Tls::Tls13.rounds().iter().map(|round| round.server.get()).sum::<u64>()
            }
            _ => self.parameters.tcp.syn_bytes().get(),
        }
    }

    fn syn_arrived(&mut self, packet: &Packet) {
        let (now, place) = (self.now, packet.place());
        let connection = &mut self.buffers.connections[place];
        if connection.syn_arrived {
            // It was sent again: so is its answer, unless that is known to have arrived or has just gone.
            let server = &mut connection.server;
            if !server.hello.is_repeated(&server.sender, now) {
                return self.draw_ack(place, Side::Server);
            }
            let answer = Packet { kind: Kind::SynAck, sent: connection.answered_hello, ..Packet::bare(place, now) };
            let renewed = connection.renew_timer(Side::Server, now);
            self.buffers.timers.lower(place, renewed);
            self.put(Side::Server, answer, self.hello_bytes(Side::Server));
            return;
        }
        _ = self.programs[Side::Server as usize].reads(now);
        (connection.syn_arrived, connection.answered_hello) = (true, packet.sent);
        connection.syn_ack_sent = Some(now);
        connection.server.receiver.note_timestamp(0, packet.sent);
        let answer = Packet { kind: Kind::SynAck, ..*packet };
        if self.parameters.http == Http::Http3 {
            self.begin_flight(answer);
        } else {
            self.put(Side::Server, answer, self.hello_bytes(Side::Server));
        }
        self.await_answer(place, Side::Server);
    }

    fn syn_ack_arrived(&mut self, packet: &Packet) {
        let (now, place) = (self.now, packet.place());
        let connection = &mut self.buffers.connections[place];
        if core::mem::replace(&mut connection.is_up, true) {
            return self.draw_ack(place, Side::Client);
        }
        _ = self.programs[Side::Client as usize].reads(now);
        connection.client.heard_hello(now, packet.sent);
        let offer = wire::offer_of_answer(self.parameters, &connection.server.receiver);
        connection.client.sender.update_offer(0, offer);
        if self.parameters.http == Http::Http3 {
            // The end of the client's handshake, ahead of its first request.
            self.up.pass(now, flight::FINISHED);
        }
        self.send(place, Side::Client, Piece::NOTHING);
        self.came_up(place);
        self.act();
    }

    /// What has arrived before is acknowledged again.
    fn draw_ack(&mut self, place: usize, side: Side) {
        let now = self.now;
        self.buffers.connections[place].end(side).receiver.due = now;
        self.flush(place, side);
    }

    fn segment_arrived_at_client(&mut self, packet: &Packet) {
        let (now, place) = (self.now, packet.place());
        let connection = &mut self.buffers.connections[place];
        let bytes = connection.client.take_in(now, &mut self.programs[Side::Client as usize], packet);
        let is_late = core::mem::take(&mut connection.client.sender.is_late);
        if bytes > 0 && self.explains {
            connection.note_arrival(now, &self.story, self.rtt);
        }
        self.note_late(is_late);
        self.answer(place, Side::Client, false);
        if bytes == 0 {
            return;
        }
        self.read(place, bytes, self.story.link);
        self.act();
        self.take_in_train();
    }

    fn segment_arrived_at_server(&mut self, packet: &Packet) {
        let (now, place) = (self.now, packet.place());
        let connection = &mut self.buffers.connections[place];
        if let Some(sent) = connection.syn_ack_sent.take() {
            connection.server.heard_hello(now, sent);
            self.confirm_handshake(place);
        }
        let connection = &mut self.buffers.connections[place];
        let bytes = connection.server.take_in(now, &mut self.programs[Side::Server as usize], packet);
        let is_late = core::mem::take(&mut connection.server.sender.is_late);
        if self.explains {
            connection.late = (self.story.held, self.story.waited);
        }
        self.note_late(is_late);
        let is_answered = self.answer(place, Side::Server, bytes == 0);
        if bytes > 0 {
            self.serve(place, bytes);
        }
        if is_answered {
            self.consider_skipping(place);
        }
        self.take_in_acks();
    }

    /// An acknowledgement came after its timer would have run out. A sender at a set rate knows better when to expect one.
    fn note_late(&mut self, is_late: bool) {
        if is_late {
            self.needless += 1;
            self.gave_up |= self.mode == Mode::Wary && self.parameters.control == Control::Tcp;
        }
    }
}
