//! Calls: the client's connections from the name of a host to the first request, and what carries them.
//!
//! A call has a connection of its own from end to end, or crosses to the far end within the connections that two proxies keep up between
//! each other ([`Parameters::carriers`]). There it takes, each way, the connection with the fewest bytes waiting or unacknowledged, and stays
//! on it while anything of it is under way (nz-us-2000), so that its bytes keep their order. Keys (TLS) are agreed on between the client
//! and the server whatever carries the call.

use super::behind::Behind;
use super::connection::{Connection, Content, Exchange, Kind, Packet, Side};
use super::load::{Buffers, HEADERS, Load, Planned};
use super::progress::Trigger;
use super::ticks::Ticks;
use super::wire::ends;
use farhop_scenario::Flights;

/// Most of what is said that a frame of farhop's tunnel carries.
pub(crate) const FRAME: u64 = 16 << 10;

/// Of farhop's tunnel: the frame that asks for a connection to a server of a short name, and the one that grants its answers room.
const OPENING: u64 = 13 + 7;

/// More connections between two proxies than this are a mistake.
const MOST_CARRIERS: usize = 1024;

/// One of the client's connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// Why it was opened, and when.
    pub(crate) trigger: Trigger,
    pub(crate) at: Ticks,
    /// When the host's name was known.
    pub(crate) dialled: Ticks,
    pub(crate) connected: Ticks,
    /// What the program takes until it dials.
    waking: Ticks,
    /// When requests could go; never so far.
    pub(crate) ready: Ticks,
    /// Since when it is idle, if it is.
    pub(crate) rested: Ticks,
    /// Rounds of TLS that are over, and what has arrived of the server's flight in the present one.
    tls_done: usize,
    tls_bytes: u64,
    /// When a gateway that was asked to connect to its server has done so.
    pub(crate) reached: Option<Ticks>,
    /// The server has been asked for something, and has its last response ready then.
    pub(crate) has_answered: bool,
    pub(crate) last_ready: Ticks,
    pub(crate) behind: Behind,
    /// By sender: what crosses between proxies, and over which of their connections.
    crossing: [(u64, usize); 2],
}

impl Call {
    fn new(trigger: Trigger, at: Ticks, behind: Behind) -> Self {
        Self {
            trigger,
            at,
            dialled: at,
            connected: at,
            waking: Ticks::ZERO,
            ready: Ticks::NEVER,
            rested: at,
            tls_done: 0,
            tls_bytes: 0,
            reached: None,
            has_answered: false,
            last_ready: Ticks::ZERO,
            behind,
            crossing: [(0, 0); 2],
        }
    }
}

impl Connection {
    /// Something is asked for over a call. What one asks for in one instant is in a frame, which is read when all of it has come.
    pub(crate) fn ask_in_frame(&mut self, call: usize, now: Ticks, exchange: Exchange) {
        let (last, at, bytes) = self.frame;
        let joins = last == call && at == now && bytes > 0 && bytes + exchange.request <= FRAME;
        let first = self.asked.iter_mut().rfind(|other| other.request > 0).filter(|_| joins);
        let (own, bytes) = match first {
            Some(first) => {
                first.request += exchange.request;
                (0, bytes + exchange.request)
            }
            None => (exchange.request, exchange.request),
        };
        self.asked.push_back(Exchange { request: own, ..exchange });
        self.frame = (call, now, bytes);
    }
}

impl Load<'_> {
    /// What proxies have between each other is there from the start.
    pub(crate) fn open_carriers(&mut self) {
        (0..self.parameters.carriers().min(MOST_CARRIERS)).for_each(|_| _ = self.open_connection());
        if self.parameters.reads_requests() {
            self.open(0);
        }
    }

    /// The browser opens a connection to a host; gives when it dials.
    pub(crate) fn open(&mut self, host: usize) -> Ticks {
        let place = self.open_place(host);
        let now = self.now;
        let begins = now.max(self.resolve(host));
        let due = if self.parameters.host_times().is_none() {
            begins + self.waking(place)
        } else if begins > now {
            self.programs[Side::Client as usize].opens_later(begins)
        } else {
            self.programs[Side::Client as usize].opens(now).unwrap_or(now)
        };
        self.buffers.calls[place].waking = due.since(begins);
        if due > now {
            self.plan(due, Planned::Dial { place });
        } else {
            self.dial(place);
        }
        due
    }

    /// When the name of a host is resolved, which is asked for once.
    pub(crate) fn resolve(&mut self, host: usize) -> Ticks {
        let answered = self.now + Ticks::of(self.parameters.lookup);
        let resolved = &mut self.buffers.resolved;
        resolved.resize(resolved.len().max(host + 1), None);
        *resolved[host].get_or_insert(answered)
    }

    /// A place for a call to `host`.
    pub(crate) fn open_place(&mut self, host: usize) -> usize {
        let call = Call::new(self.trigger, self.clock(), Behind::new(self.parameters));
        let place = if self.parameters.carriers() > 0 { self.buffers.calls.len() } else { self.open_connection() };
        match self.buffers.calls.get_mut(place) {
            Some(closed) => *closed = call,
            None => self.buffers.calls.push(call),
        }
        self.buffers.browser.pool_opened(place, host);
        if let Some(near) = self.near
            && !self.answers_near()
        {
            self.buffers.legs.renew(place, near, host);
        }
        place
    }

    fn open_connection(&mut self) -> usize {
        let (mut client, mut server) = ends(self.parameters, self.mode);
        client.receiver.set_skipped(self.skipped);
        server.receiver.set_skipped(self.skipped);
        let Buffers { connections, timers, vacant, .. } = &mut *self.buffers;
        let place = vacant.pop().unwrap_or(connections.len());
        if let Some(connection) = connections.get_mut(place) {
            connection.client.renew(client);
            connection.server.renew(server);
        } else {
            connections.push(Connection::new(client, server));
            timers.push();
        }
        let connection = &mut connections[place];
        connection.begin();
        if self.parameters.is_established {
            connection.is_up = true;
            let rtt = self.down.delay() + self.up.delay() + self.down.service(HEADERS) + self.up.service(HEADERS);
            connection.client.sender.start_from(rtt);
            connection.server.sender.start_from(rtt);
        }
        place
    }

    /// The handshake begins, and that with the box near the client, if one answers.
    pub(crate) fn dial(&mut self, place: usize) {
        let clock = self.clock();
        let call = &mut self.buffers.calls[place];
        // The program's time is the handshake's, not that of the name.
        (call.dialled, call.connected) = (clock.since(call.waking), clock);
        if !self.parameters.is_established {
            let ahead = Ticks::of(self.parameters.delays.ahead);
            if ahead > Ticks::ZERO {
                // The box is told of a connection once that is up.
                let up = Ticks::of(self.parameters.delays.opening.unwrap_or_default());
                self.plan(self.now + up + ahead, Planned::Hello { place });
            } else {
                self.say_hello(place);
            }
        }
        match self.parameters.delays.asking.map(Ticks::of) {
            Some(asking) if asking > Ticks::ZERO => self.plan(self.now + asking, Planned::Tell { call: place }),
            Some(_) => self.tell(place),
            None => {}
        }
        match self.parameters.delays.opening.map(Ticks::of) {
            Some(answered) if answered > Ticks::ZERO => self.plan(self.now + answered, Planned::Connect { place }),
            None if !self.parameters.is_established => {}
            Some(_) | None => self.go_on(place),
        }
    }

    /// The box near the client, which was asked to connect, asks the gateway to, before it has anything to pass on.
    pub(crate) fn tell(&mut self, call: usize) {
        let place = self.carrier(call, Side::Client, OPENING);
        let connection = &mut self.buffers.connections[place];
        connection.asked.push_back(Exchange { content: Content::Keys { call }, request: OPENING, response: 0 });
        connection.frame = (call, self.now, 0);
        connection.client.write(OPENING);
        self.flush(place, Side::Client);
    }

    /// How long the first that is asked over a call waits for a connection to the server.
    pub(crate) fn connecting(&self, call: usize) -> Ticks {
        let connection = Ticks::of(self.parameters.delays.connection);
        self.buffers.calls[call].reached.map_or(connection, |reached| reached.since(self.clock()))
    }

    /// The handshake's first packet leaves.
    pub(crate) fn say_hello(&mut self, place: usize) {
        let (bytes, sent) = (self.hello_bytes(Side::Client), self.now);
        self.put(Side::Client, Packet { kind: Kind::Syn, ..Packet::bare(place, sent) }, bytes);
        self.await_answer(place, Side::Client);
    }

    /// The connection is up, over which a call goes that a box near the client may have answered.
    pub(crate) fn came_up(&mut self, place: usize) {
        if self.parameters.delays.opening.is_none() {
            return self.connected(place);
        }
        let clock = self.clock();
        let Buffers { connections, browser, calls, .. } = &mut *self.buffers;
        for exchange in &connections[place].asked {
            match exchange.content {
                Content::Keys { call } => calls[call].connected = clock,
                Content::Object(object) => {
                    let progress = &mut browser.objects[object];
                    progress.handshake = clock.since(progress.requested);
                }
            }
        }
        self.flush(place, Side::Client);
    }

    /// How long the client's program takes to connect; what boxes take is part of their delays.
    pub(crate) fn waking(&self, place: usize) -> Ticks {
        let is_established = self.parameters.is_established;
        if is_established { Ticks::ZERO } else { self.buffers.connections[place].client.sender.habits.waking }
    }

    /// The handshake is over.
    pub(crate) fn connected(&mut self, place: usize) {
        self.buffers.calls[place].connected = self.clock();
        self.go_on(place);
    }

    /// Keys are agreed on next, or requests can go.
    fn go_on(&mut self, call: usize) {
        self.may_act = true;
        match self.parameters.tls_rounds().get(self.buffers.calls[call].tls_done) {
            Some(&Flights { client, server }) => {
                let (request, response) = (client.get(), server.get());
                _ = self.ask_over(call, Exchange { content: Content::Keys { call }, request, response });
            }
            None => {
                self.buffers.browser.set_ready(call);
                self.buffers.calls[call].ready = self.clock();
                self.rest(call);
            }
        }
    }

    /// Part of a handshake message; the whole of it ends a round.
    #[inline(never)]
    pub(crate) fn read_keys(&mut self, place: usize, bytes: u64) {
        let call = &mut self.buffers.calls[place];
        call.tls_bytes += bytes;
        let round = self.parameters.tls_rounds().get(call.tls_done);
        if round.is_some_and(|round| call.tls_bytes >= round.server.get()) {
            (call.tls_bytes, call.tls_done) = (0, call.tls_done + 1);
            self.go_on(place);
        }
    }

    /// The client sends what it asks on a call; whether it has left.
    pub(crate) fn ask_over(&mut self, call: usize, exchange: Exchange) -> bool {
        self.speak_near(call);
        let ahead = Ticks::of(self.parameters.delays.ahead);
        if ahead > Ticks::ZERO {
            self.plan(self.now + ahead, Planned::Say { call, exchange });
            return false;
        }
        self.say(call, exchange)
    }

    /// It is said at the client's end of the connections; whether it has left.
    pub(crate) fn say(&mut self, call: usize, exchange: Exchange) -> bool {
        let place = self.write_request(call, exchange);
        self.parameters.carriers() == 0 && self.run_program(place, Side::Client)
    }

    /// What is asked on a call is handed to the connection that this gives. Where calls share connections all of one instant leaves together.
    pub(crate) fn write_request(&mut self, call: usize, exchange: Exchange) -> usize {
        let in_frames = self.parameters.has_frames() && self.parameters.carriers() > 0;
        let place = self.carrier(call, Side::Client, exchange.request);
        let connection = &mut self.buffers.connections[place];
        if in_frames {
            connection.ask_in_frame(call, self.now, exchange);
        } else {
            connection.asked.push_back(exchange);
        }
        connection.client.write(exchange.request);
        place
    }

    /// The call that `content` goes over, if it was asked for.
    pub(crate) fn call_of(&self, content: Content) -> Option<usize> {
        match content {
            Content::Keys { call } => Some(call),
            Content::Object(object) => self.buffers.browser.objects[object].asked_at,
        }
    }

    /// The connection over which so many bytes of a call go to the other side of `sender`.
    pub(crate) fn carrier(&mut self, call: usize, sender: Side, bytes: u64) -> usize {
        if self.parameters.carriers() == 0 {
            return call;
        }
        let Buffers { calls, connections, .. } = &mut *self.buffers;
        let (under_way, place) = &mut calls[call].crossing[sender as usize];
        if *under_way == 0 {
            let open = connections.iter_mut().enumerate().filter(|(_, connection)| connection.open);
            let burdens = open.map(|(place, connection)| (connection.end(sender).sender.unacknowledged(), place));
            *place = burdens.min().map_or(0, |(_, place)| place);
        }
        *under_way += bytes;
        *place
    }

    /// So many bytes have crossed.
    #[inline(always)]
    pub(crate) fn note_crossed(&mut self, content: Content, sender: Side, bytes: u64) {
        if self.parameters.carriers() > 1
            && let Some(call) = self.call_of(content)
        {
            let (under_way, _) = &mut self.buffers.calls[call].crossing[sender as usize];
            *under_way = under_way.saturating_sub(bytes);
        }
    }
}
