//! Everything that is simulated, and the loop that lets it happen.
//!
//! Of one instant, events happen in the order in which they were scheduled; after each, packets are handed over first, then what
//! their arrival lets browsers do. Each machine has one wake-up in the queue at most that counts: when its deadline moves away
//! the wake-up stays, finds nothing to do, and is scheduled anew.

use crate::architecture::{Chain, Protocol};
use crate::client::Client;
use crate::engine::EventQueue;
use crate::error::{MOST_HELD, MOST_LEGS, SimError};
use crate::legs::{Legs, Message, Owner};
use crate::meter::Meter;
use crate::metrics::Metrics;
use crate::network::{Line, Network, Outcome, Route, Side};
use crate::packet::Packet;
use crate::programs::Origin;
use crate::rwbp::{Proxies, ProxyId};
use crate::trace::Tracer;
use farhop_scenario::Scenario;
use farhop_tcp::Output;
use farhop_transport as transport;
use farhop_units::{Bytes, Instant};
use farhop_web::{HttpVersion, LoaderAction};
use std::collections::VecDeque;

/// Something that happens at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A channel of the network is due.
    Stage(u32),
    /// A timer of an endpoint runs out.
    End { side: Side, leg: u32 },
    /// A proxy of RWBP has something to do.
    Proxy { side: Side, terminal: u16 },
    /// A server has thought long enough.
    Origin(u32),
    /// A client has something to do by itself.
    Client(u32),
}

/// What is to come.
pub(crate) type Events = EventQueue<Event>;

/// Network, connections, and who uses them.
#[derive(Debug)]
pub(crate) struct World<'a> {
    scenario: &'a Scenario,
    chain: Chain,
    now: Instant,
    events: Events,
    event_count: u64,
    network: Network<Packet>,
    legs: Legs,
    /// The server's side of each leg that has one.
    origins: Vec<Origin>,
    clients: Vec<Client>,
    /// Ends that may have something to say.
    touched: VecDeque<(u32, Side)>,
    /// Clients that may have something to do.
    awake: VecDeque<u32>,
    metrics: Metrics,
}

impl<'a> World<'a> {
    /// The world of `scenario` with these clients, before anything happens.
    pub(crate) fn new(
        (scenario, chain): (&'a Scenario, Chain),
        seed: u64,
        clients: Vec<Client>,
        meter: Meter,
        metrics: Metrics,
    ) -> Self {
        let servers = clients.iter().map(Client::last_server).max().unwrap_or(0);
        let mut world = Self {
            scenario,
            chain,
            now: Instant::START,
            events: EventQueue::new(),
            event_count: 0,
            network: Network::new(scenario, servers, seed, meter),
            legs: Legs::new(chain.has(Protocol::Rwbp).then(|| Proxies::new(scenario))),
            origins: Vec::new(),
            clients,
            touched: VecDeque::new(),
            awake: VecDeque::new(),
            metrics,
        };
        (0..).zip(0..world.clients.len()).for_each(|(client, _)| world.rearm(client));
        world
    }

    /// Lets the next event happen and all that follows from it at once; returns when that was, or `None` if there is nothing left.
    pub(crate) fn step(&mut self) -> Result<Option<Instant>, SimError> {
        let Some((at, event)) = self.events.pop() else { return Ok(None) };
        self.now = at;
        self.event_count += 1;
        match event {
            Event::Stage(stage) => {
                self.network.handle_timeout(at, stage);
                self.network.settle(at, &mut self.events);
            }
            Event::End { leg, side } => {
                if self.legs.handle_timeout(at, leg, side) {
                    self.drain(leg, side)?;
                }
            }
            Event::Proxy { side, terminal } => {
                let id = ProxyId { side, terminal };
                if self.legs.proxies().is_some_and(|proxies| proxies.handle_timeout(at, id)) {
                    self.drain_proxy(id)?;
                }
            }
            Event::Origin(leg) => {
                self.answer(leg);
                self.drain(leg, Side::Far)?;
            }
            Event::Client(client) => {
                if self.clients[client as usize].handle_timeout(at, self.scenario.http) {
                    self.wake(client);
                    self.rearm(client);
                }
            }
        }
        self.settle()?;
        Ok(Some(at))
    }

    pub(crate) fn event_count(&self) -> u64 {
        self.event_count
    }

    /// From now on `tracer` writes down what happens; nothing has happened yet.
    pub(crate) fn begin_trace(&mut self, tracer: Option<Box<Tracer>>) {
        self.network.begin_trace(tracer);
    }

    /// The run is over.
    pub(crate) fn end_trace(&mut self) -> Option<Box<Tracer>> {
        self.network.end_trace()
    }

    pub(crate) fn network(&self) -> &Network<Packet> {
        &self.network
    }

    /// The network, for tests that look into it.
    #[cfg(test)]
    pub(crate) fn network_mut(&mut self) -> &mut Network<Packet> {
        &mut self.network
    }

    pub(crate) fn clients(&self) -> &[Client] {
        &self.clients
    }

    pub(crate) fn legs(&self) -> &Legs {
        &self.legs
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Refuses to eat all memory.
    pub(crate) fn check_size(&self) -> Result<(), SimError> {
        let passed = self.now - Instant::START;
        if self.legs.len() > MOST_LEGS {
            Err(SimError::TooManyLegs(passed))
        } else if self.network.held() > MOST_HELD {
            Err(SimError::TooManyHeld(passed))
        } else {
            Ok(())
        }
    }

    /// Does everything that can be done now.
    fn settle(&mut self) -> Result<(), SimError> {
        loop {
            if let Some((leg, side)) = self.touched.pop_front() {
                self.drain(leg, side)?;
            } else if let Some(outcome) = self.network.poll() {
                self.handle_outcome(&outcome)?;
            } else if let Some(client) = self.awake.pop_front() {
                self.act(client)?;
            } else {
                return Ok(());
            }
        }
    }

    fn handle_outcome(&mut self, outcome: &Outcome<Packet>) -> Result<(), SimError> {
        match outcome {
            Outcome::Arrived { leg, side, packet } => {
                self.legs.landed(*leg);
                self.legs.handle_packet(self.now, *leg, *side, packet);
                self.drain(*leg, *side)?;
            }
            Outcome::Dropped { leg } => {
                self.legs.landed(*leg);
                self.legs.reclaim(self.now, *leg);
            }
            Outcome::Duplicated { leg } => self.legs.sent(*leg),
        }
        Ok(())
    }

    /// Takes in all that an endpoint has to say, then sees to its timer.
    fn drain(&mut self, leg: u32, side: Side) -> Result<(), SimError> {
        if let Some(id) = self.legs.proxy_of(leg, side) {
            return self.drain_proxy(id);
        }
        while let Some(output) = self.legs.poll(leg, side) {
            match output {
                Output::Transmit { segment, .. } => self.transmit(leg, side, Packet::Tcp(segment)),
                Output::Connected { .. } => self.connected(leg, side)?,
                Output::Received { bytes, .. } => self.received(leg, side, bytes),
                Output::Finished { .. } => self.finished(leg, side),
                Output::Closed { .. } => self.legs.closed(leg, side),
            }
        }
        self.network.settle(self.now, &mut self.events);
        if let Some(tracer) = self.network.tracer()
            && let Some(state) = self.legs.sender_state(leg, side)
        {
            tracer.observe(self.now, self.legs.number(leg), side, &state);
        }
        if let Some(due) = self.legs.rearm(leg, side) {
            self.events.push(due, Event::End { side, leg });
        }
        self.legs.reclaim(self.now, leg);
        Ok(())
    }

    /// Takes in all that a proxy of RWBP has to say, then sees to its timer.
    fn drain_proxy(&mut self, id: ProxyId) -> Result<(), SimError> {
        let ProxyId { side, terminal } = id;
        let room = self.network.queue_room(side, terminal);
        if let Some(proxies) = self.legs.proxies() {
            proxies.set_link_room(self.now, id, room);
        }
        while let Some(output) = self.legs.proxies().and_then(|proxies| proxies.poll(id)) {
            match output {
                transport::Output::Transmit { packet, .. } => self.transmit(packet.flow.0, side, Packet::Rwbp(packet)),
                transport::Output::Connected { stream, .. } => {
                    if let Some(stream) = stream {
                        self.connected(stream.0, side)?;
                    }
                }
                transport::Output::Received { stream, bytes, finished, .. } => {
                    if let Some(proxies) = self.legs.proxies() {
                        proxies.read(self.now, id, stream.0, bytes);
                    }
                    self.received(stream.0, side, bytes);
                    if finished {
                        self.finished(stream.0, side);
                    }
                }
                transport::Output::Room { stream, .. } => self.legs.resume(self.now, stream.0, side),
                transport::Output::Closed { stream, .. } => {
                    self.legs.closed(stream.0, side);
                    self.legs.reclaim(self.now, stream.0);
                }
            }
        }
        self.network.settle(self.now, &mut self.events);
        if let Some(due) = self.legs.proxies().and_then(|proxies| proxies.rearm(self.now, id)) {
            self.events.push(due, Event::Proxy { side, terminal });
        }
        Ok(())
    }

    fn transmit(&mut self, leg: u32, side: Side, packet: Packet) {
        self.legs.sent(leg);
        let route = self.legs.route(leg);
        if let Some(tracer) = self.network.tracer() {
            tracer.sent(self.now, (leg, self.legs.number(leg)), route, side, &packet);
        }
        self.network.send(self.now, side, (leg, route), packet);
    }

    fn connected(&mut self, leg: u32, side: Side) -> Result<(), SimError> {
        match self.legs.owner(leg, side) {
            Owner::Browser { client, connection } => {
                if let Some(browser) = &mut self.clients[client as usize].browser {
                    browser.connected(connection);
                }
                self.wake(client);
            }
            Owner::Opener { client, next } => {
                let line = self.legs.route(leg).line;
                let after = self.open_leg(client, line, next, Owner::Nobody)?;
                self.legs.join(leg, after);
                self.touched.push_back((after, Side::Near));
            }
            Owner::Origin { .. } | Owner::Relay { .. } | Owner::Nobody => {}
        }
        Ok(())
    }

    /// Bytes arrived in order at an end.
    fn received(&mut self, leg: u32, side: Side, mut bytes: Bytes) {
        while let Some(part) = self.legs.next_part(leg, side, &mut bytes) {
            match self.legs.owner(leg, side) {
                Owner::Browser { client, connection } => self.browse(client, connection, part),
                Owner::Origin { client } => self.serve(leg, client, part),
                Owner::Relay { peer } => {
                    self.legs.write(self.now, peer, side.other(), part);
                    self.touched.push_back((peer, side.other()));
                }
                Owner::Opener { .. } | Owner::Nobody => {}
            }
        }
    }

    /// The other end will say no more.
    fn finished(&mut self, leg: u32, side: Side) {
        match self.legs.owner(leg, side) {
            Owner::Origin { .. } => self.legs.close(self.now, leg, side),
            Owner::Relay { peer } => {
                self.legs.close(self.now, peer, side.other());
                self.touched.push_back((peer, side.other()));
            }
            Owner::Browser { .. } | Owner::Opener { .. } | Owner::Nobody => {}
        }
    }

    /// A part of a response has reached a browser.
    fn browse(&mut self, client: u32, connection: u32, part: Message) {
        let Some(browser) = &mut self.clients[client as usize].browser else { return };
        if let Some(took) = browser.received(self.now, connection, part) {
            self.metrics.object(self.now, took);
        }
        self.wake(client);
    }

    /// A part of a request has reached a server.
    fn serve(&mut self, leg: u32, client: u32, part: Message) {
        let Some(browser) = &self.clients[client as usize].browser else { return };
        let object = &browser.page().objects[part.exchange as usize];
        let size = self.scenario.http.request_size(object);
        if origin_of(&mut self.origins, leg).receive(self.now, part, size, object.think) {
            self.answer(leg);
        }
    }

    /// Answers what a server has thought about.
    fn answer(&mut self, leg: u32) {
        let Owner::Origin { client } = self.legs.owner(leg, Side::Far) else { return };
        let Some(browser) = &self.clients[client as usize].browser else { return };
        let http = &self.scenario.http;
        let origin = origin_of(&mut self.origins, leg);
        while let Some(exchange) = origin.next_answer(self.now) {
            let object = &browser.page().objects[exchange as usize];
            let bytes = http.header_size(object) + object.size;
            self.legs.write(self.now, leg, Side::Far, Message { exchange, bytes });
            if http.version == HttpVersion::Http10 {
                // RFC 1945 §1.3: the connection ends with the response.
                self.legs.close(self.now, leg, Side::Far);
            }
        }
        if let Some(ready) = origin.next_timeout() {
            self.events.push(ready, Event::Origin(leg));
        }
    }

    /// Lets a client act when its turn comes, if it has news.
    fn wake(&mut self, client: u32) {
        let Client { browser: Some(browser), is_awake, .. } = &mut self.clients[client as usize] else { return };
        if browser.take_news() && !core::mem::replace(is_awake, true) {
            self.awake.push_back(client);
        }
    }

    /// Schedules when a client has something to do by itself.
    fn rearm(&mut self, client: u32) {
        if let Some(due) = self.clients[client as usize].rearm() {
            self.events.push(due, Event::Client(client));
        }
    }

    /// Lets a browser do what it can.
    fn act(&mut self, client: u32) -> Result<(), SimError> {
        self.clients[client as usize].is_awake = false;
        while let Some(browser) = &mut self.clients[client as usize].browser
            && let Some(action) = browser.poll(self.now)
        {
            let leg = match action {
                LoaderAction::Open { connection, host } => Some(self.open(client, connection, host)?),
                LoaderAction::Request { connection, object } => self.request(client, connection, object),
                LoaderAction::Close { connection } => self.close(client, connection),
            };
            if let Some(leg) = leg {
                self.drain(leg, Side::Near)?;
            }
        }
        self.finish_page(client);
        self.rearm(client);
        Ok(())
    }

    fn open(&mut self, client: u32, connection: usize, host: usize) -> Result<u32, SimError> {
        let line = self.clients[client as usize].line(host);
        let number = u32::try_from(connection).expect("a client opens fewer connections");
        let leg = self.open_leg(client, line, 0, Owner::Browser { client, connection: number })?;
        if let Some(browser) = &mut self.clients[client as usize].browser {
            browser.opened(self.now, connection, host, leg);
        }
        Ok(leg)
    }

    /// Opens the leg of this number of a client's chain, with `near` at its near end.
    fn open_leg(&mut self, client: u32, line: Line, number: u8, near: Owner) -> Result<u32, SimError> {
        let (span, is_last) = self.chain.span(number).expect("whoever opens a leg is not at the chain's end");
        let far = if is_last { Owner::Origin { client } } else { Owner::Opener { client, next: number + 1 } };
        let route = Route { line, near: span.0, far: span.1 };
        let leg = self.legs.open(self.now, (route, span.2), &self.scenario.tcp, [near, far])?;
        origin_of(&mut self.origins, leg).reset();
        Ok(leg)
    }

    fn request(&mut self, client: u32, connection: usize, object: usize) -> Option<u32> {
        let browser = self.clients[client as usize].browser.as_ref()?;
        let leg = browser.leg(connection)?;
        let bytes = self.scenario.http.request_size(&browser.page().objects[object]);
        let exchange = u32::try_from(object).expect("a page has fewer objects");
        self.legs.write(self.now, leg, Side::Near, Message { exchange, bytes });
        Some(leg)
    }

    fn close(&mut self, client: u32, connection: usize) -> Option<u32> {
        let leg = self.clients[client as usize].browser.as_mut()?.forget(connection)?;
        self.legs.abandon(self.now, leg, Side::Near);
        Some(leg)
    }

    /// Notes when a page is complete.
    fn finish_page(&mut self, client: u32) {
        let state = &mut self.clients[client as usize];
        if state.is_loading
            && let Some(browser) = state.browser.as_ref().filter(|browser| browser.is_complete())
        {
            self.metrics.page(browser, self.now);
            state.think(self.now);
        }
    }
}

fn origin_of(origins: &mut Vec<Origin>, leg: u32) -> &mut Origin {
    if origins.len() <= leg as usize {
        origins.resize_with(leg as usize + 1, Origin::default);
    }
    &mut origins[leg as usize]
}
