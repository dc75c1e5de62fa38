//! The recursion itself: each packet's arrival from its sending, each sending from an earlier arrival.
//!
//! Without loss or reordering all packets of a direction arrive in the order in which they were sent, whatever connection they are
//! of. Three things can come next: the oldest packet on the way down, the oldest on the way up, and a timer (a delayed ACK, a paced
//! segment, a response that is being made). Taking the earliest of them in turn is all there is: no queue of events, no dice.

use super::browser::{Browser, Trigger};
use super::connection::{Connection, Exchange, Kind, Packet, Side};
use super::parameters::{Http, Parameters, QUIC_INITIAL, Tls};
use super::route::Route;
use super::skip::Skipping;
use super::ticks::Ticks;
use super::workload::Workload;
use farhop_scenario::{Flights, HEADER_BYTES};
use std::collections::VecDeque;

/// A response that is being made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Making {
    pub(crate) ready: Ticks,
    pub(crate) connection: usize,
    pub(crate) generation: u32,
    pub(crate) exchange: Exchange,
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
    /// Dial a host whose name is being resolved.
    Dial { place: usize },
}

/// Buffers that are used again from load to load.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) down: VecDeque<Packet>,
    pub(crate) up: VecDeque<Packet>,
    pub(crate) connections: Vec<Connection>,
    /// When each connection does something by itself, and since when that is so: of two that fall together the older goes first.
    pub(crate) timers: Vec<(Ticks, Ticks)>,
    pub(crate) making: VecDeque<Making>,
    /// The next thing first.
    pub(crate) plans: VecDeque<Plan>,
    /// By host: when its name is resolved.
    pub(crate) resolved: Vec<Option<Ticks>>,
    pub(crate) openings: Vec<Opening>,
    /// Places of connections that are closed.
    pub(crate) vacant: Vec<usize>,
    pub(crate) browser: Browser,
}

/// Why a connection was opened, when, and when it was connected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) trigger: Trigger,
    pub(crate) at: Ticks,
    /// When the host's name was known.
    pub(crate) dialled: Ticks,
    pub(crate) connected: Ticks,
    /// When requests could go; never so far.
    pub(crate) ready: Ticks,
    /// It has carried a request.
    pub(crate) used: bool,
}

impl Buffers {
    fn reset(&mut self, wanted: impl Iterator<Item = (usize, u8)>) {
        self.down.clear();
        self.up.clear();
        self.making.clear();
        self.plans.clear();
        self.resolved.clear();
        self.openings.iter_mut().for_each(|opening| opening.used = false);
        self.vacant.clear();
        self.vacant.extend((0..self.connections.len()).rev());
        self.connections.iter_mut().for_each(|connection| connection.open = false);
        self.timers.iter_mut().for_each(|timer| *timer = (Ticks::NEVER, Ticks::ZERO));
        self.browser.reset(wanted);
    }

    /// The first timer to run out, and whose it is.
    fn first_timer(&self) -> (Ticks, usize) {
        let (mut first, mut owner) = ((Ticks::NEVER, Ticks::NEVER), 0);
        for (place, timer) in self.timers.iter().enumerate() {
            if *timer < first {
                (first, owner) = (*timer, place);
            }
        }
        (first.0, owner)
    }
}

/// One load in progress.
pub(crate) struct Load<'a> {
    pub(crate) parameters: &'a Parameters,
    pub(crate) workload: &'a Workload,
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) now: Ticks,
    /// Time that was skipped.
    pub(crate) skipped: Ticks,
    pub(crate) down: Route,
    pub(crate) up: Route,
    /// Propagation delay both ways.
    rtt: Ticks,
    /// What has just happened that may let requests go.
    pub(crate) trigger: Trigger,
    /// Something has happened that may let the browser go on.
    pub(crate) may_act: bool,
    pub(crate) skipping: Skipping,
    /// Acknowledgements that came after a timer for retransmission would have run out.
    pub(crate) late_acks: u64,
}

/// TCP and IP headers of every packet.
pub(crate) const HEADERS: u64 = HEADER_BYTES.get();
/// QUIC's server answers what TLS 1.3's does, in three datagrams whose headers, acknowledgement and frames take some 93 bytes each.
const QUIC_ANSWER_OVERHEAD: u64 = 3 * 93;

impl<'a> Load<'a> {
    pub(crate) fn new(parameters: &'a Parameters, workload: &'a Workload, buffers: &'a mut Buffers) -> Self {
        let (down, up) = parameters.routes();
        let is_shared = parameters.serves_all_hosts();
        let has_order = parameters.http.is_multiplexed();
        buffers.reset(workload.objects().iter().map(|object| {
            let host = if is_shared { 0 } else { object.host };
            (host, if has_order { object.urgency } else { 0 })
        }));
        Self {
            parameters,
            workload,
            buffers,
            now: Ticks::ZERO,
            skipped: Ticks::ZERO,
            rtt: down.delay() + up.delay(),
            down,
            up,
            trigger: Trigger::Start,
            may_act: true,
            skipping: Skipping::default(),
            late_acks: 0,
        }
    }

    /// The time since the first action.
    pub(crate) fn clock(&self) -> Ticks {
        self.now + self.skipped
    }

    /// Loads everything; `None` if it takes too long.
    pub(crate) fn run(&mut self) -> Option<()> {
        self.buffers.browser.discover(0);
        if self.parameters.is_unasked {
            self.send_unasked();
        } else {
            self.open_all();
            self.act();
        }
        while !(self.buffers.browser.is_complete() && self.buffers.plans.is_empty()) {
            self.step()?;
            if self.is_too_long() {
                return None;
            }
        }
        (self.clock() < Ticks::NEVER).then_some(())
    }

    /// Whether there is no end in sight.
    pub(crate) fn is_too_long(&self) -> bool {
        self.skipping.is_too_long(self.buffers.down.len() + self.buffers.up.len())
    }

    /// The next thing that happens; `None` if nothing does before the end of time.
    fn step(&mut self) -> Option<()> {
        let arrival = |queue: &VecDeque<Packet>| queue.front().map_or(Ticks::NEVER, |packet| packet.arrival);
        let (down, up) = (arrival(&self.buffers.down), arrival(&self.buffers.up));
        let (timer, owner) = self.buffers.first_timer();
        let making = self.buffers.making.front().map_or(Ticks::NEVER, |making| making.ready);
        let planned = self.buffers.plans.front().map_or(Ticks::NEVER, |plan| plan.due);
        self.now = down.min(up).min(timer).min(making).min(planned);
        if self.now == Ticks::NEVER {
            return None;
        }
        if timer == self.now {
            self.timer_ran_out(owner);
        } else if down == self.now {
            self.arrive(Side::Client);
        } else if up == self.now {
            self.arrive(Side::Server);
        } else if making == self.now {
            let making = self.buffers.making.pop_front()?;
            self.made(making);
        } else {
            let plan = self.buffers.plans.pop_front()?;
            self.carry_out(plan.what);
        }
        Some(())
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
                self.ask(object, trigger);
                self.act();
            }
            Planned::Dial { place } => self.dial(place),
        }
    }

    fn timer_ran_out(&mut self, place: usize) {
        for side in [Side::Client, Side::Server] {
            let end = self.buffers.connections[place].end(side);
            let timeout = end.sender.timeout();
            if end.receiver.due.is_some_and(|due| due <= self.now) {
                end.receiver.delay_ran_out(timeout);
                self.skipping.note_timer();
            }
            if end.sender.probe_due() <= self.now
                && let Some(payload) = end.sender.send_probe(self.now)
            {
                self.repeat(place, side, payload);
            }
            self.flush(place, side);
        }
    }

    /// The oldest packet on the way to `side` arrives.
    fn arrive(&mut self, side: Side) {
        let queue = if side == Side::Client { &mut self.buffers.down } else { &mut self.buffers.up };
        let Some(packet) = queue.pop_front() else { return };
        let connection = &self.buffers.connections[packet.connection];
        match packet.kind {
            Kind::Fin => {
                let now = self.now;
                self.route(side).pass(now, HEADERS);
            }
            _ if !connection.open || connection.generation != packet.generation => {}
            Kind::Syn => self.syn_arrived(&packet),
            Kind::SynAck => self.syn_ack_arrived(&packet),
            Kind::Repetition => self.repetition_arrived(packet.connection, side),
            Kind::Segment if side == Side::Client => self.segment_arrived_at_client(&packet),
            Kind::Segment => self.segment_arrived_at_server(&packet),
        }
    }

    /// The way out from `side`.
    pub(crate) fn route(&mut self, side: Side) -> &mut Route {
        match side {
            Side::Client => &mut self.up,
            Side::Server => &mut self.down,
        }
    }

    fn syn_arrived(&mut self, packet: &Packet) {
        let now = self.now;
        let connection = &mut self.buffers.connections[packet.connection];
        connection.syn_ack_sent = Some(now);
        let bytes = if self.parameters.http == Http::Http3 {
            QUIC_ANSWER_OVERHEAD + Tls::Tls13.rounds().iter().map(|round| round.server.get()).sum::<u64>()
        } else {
            HEADERS
        };
        let answer = Packet { kind: Kind::SynAck, ..*packet };
        self.put(Side::Server, answer, bytes);
    }

    fn syn_ack_arrived(&mut self, packet: &Packet) {
        let (now, place) = (self.now, packet.connection);
        let connection = &mut self.buffers.connections[place];
        connection.client.sender.handshake_sample(now.since(packet.sent));
        let offer = connection.server.receiver.offer();
        connection.client.sender.update_offer(0, offer);
        self.buffers.openings[place].connected = self.clock();
        if self.parameters.http == Http::Http3 {
            // The end of the client's handshake, ahead of its first request.
            self.up.pass(now, QUIC_INITIAL);
        }
        self.send(place, Side::Client, None);
        self.connected(place);
        self.act();
    }

    /// The connection is up: keys are agreed on next, or requests can go.
    pub(crate) fn connected(&mut self, place: usize) {
        let connection = &mut self.buffers.connections[place];
        let rounds = self.parameters.tls_rounds();
        let done = rounds.len() - (connection.tls_left as usize).min(rounds.len());
        match rounds.get(done) {
            Some(&Flights { client, server }) => {
                let (request, response) = (client.get(), server.get());
                connection.asked.push_back(Exchange { object: None, request, response });
                connection.client.sender.written += request;
                self.flush(place, Side::Client);
            }
            None => {
                self.buffers.browser.set_ready(place);
                self.buffers.openings[place].ready = self.clock();
                self.may_act = true;
            }
        }
    }

    fn repetition_arrived(&mut self, place: usize, side: Side) {
        let now = self.now;
        self.buffers.connections[place].end(side).receiver.due = Some(now);
        self.flush(place, side);
    }

    fn segment_arrived_at_client(&mut self, packet: &Packet) {
        let (now, place) = (self.now, packet.connection);
        let connection = &mut self.buffers.connections[place];
        connection.client.take_in(now, packet);
        self.late_acks += u64::from(core::mem::take(&mut connection.client.sender.is_late));
        if packet.payload == 0 {
            self.flush(place, Side::Client);
            return;
        }
        connection.note_arrival(now, packet, self.rtt);
        self.flush(place, Side::Client);
        self.read(place, packet.payload, packet.link);
        self.act();
    }

    fn segment_arrived_at_server(&mut self, packet: &Packet) {
        let (now, place) = (self.now, packet.connection);
        let connection = &mut self.buffers.connections[place];
        if let Some(sent) = connection.syn_ack_sent.take() {
            connection.server.sender.handshake_sample(now.since(sent));
        }
        connection.server.take_in(now, packet);
        self.late_acks += u64::from(core::mem::take(&mut connection.server.sender.is_late));
        connection.late = (packet.ack.map_or(Ticks::ZERO, |ack| ack.held), packet.waited);
        self.flush(place, Side::Server);
        if packet.payload > 0 {
            self.serve(place, packet.payload);
        }
        self.consider_skipping(place);
    }
}
