//! Everything that is simulated, and the loop that lets it happen.
//!
//! Of one instant, events happen in the order in which they were scheduled, but where packets may go through lanes in a row at once
//! ([`World::runs_until`]) those come last that come out of lanes; after each, packets are handed over first, then what
//! their arrival lets browsers do. Each machine has one wake-up in the queue at most that counts: when its deadline moves away
//! the wake-up stays, finds nothing to do, and is scheduled anew.

mod accelerated;
mod boxes;
mod event;
mod outlook;
mod pages;
mod transports;
mod trunk;

use crate::architecture::Chain;
use crate::client::{Client, Servers};
use crate::error::{MOST_AT_ONCE, MOST_HELD, MOST_LEGS, SimError};
use crate::legs::{Legs, Owner};
use crate::meter::Meter;
use crate::metrics::{Buffers, Metrics};
use crate::network::{Network, Side};
use crate::packet::Packet;
use crate::programs::Origin;
use crate::trace::Tracer;
use crate::trunk::{StationId, Trunk};
use boxes::Boxes;
pub(crate) use event::{Event, Events};
use farhop_scenario::{Dns, Scenario};
use farhop_units::Instant;
use outlook::{Outlook, Sights};
use std::collections::VecDeque;

/// How many events may happen before it is looked how much there is of everything.
const EVENTS_BETWEEN_LOOKS: u64 = 4096;

/// Network, connections, and who uses them.
#[derive(Debug)]
pub(crate) struct World<'a> {
    scenario: &'a Scenario,
    chain: Chain,
    now: Instant,
    events: Events,
    event_count: u64,
    /// What time it was when sizes were looked at last, and how many events that time has had at least.
    looked: Instant,
    at_once: u64,
    network: Network<Packet>,
    legs: Legs,
    /// The server's side of each leg that has one.
    origins: Vec<Origin>,
    /// Those with users, then those behind boxes.
    clients: Vec<Client>,
    boxes: Boxes,
    /// Ends that may have something to say.
    touched: VecDeque<(u32, Side)>,
    /// Clients that may have something to do.
    awake: VecDeque<u32>,
    metrics: Metrics,
    buffers: Buffers,
    sights: Sights,
}

impl<'a> World<'a> {
    /// The world of `scenario` with these clients, before anything happens.
    pub(crate) fn new(
        (scenario, chain): (&'a Scenario, Chain),
        seed: u64,
        mut clients: Vec<Client>,
        meter: Meter,
        metrics: Metrics,
    ) -> Self {
        let servers = clients.iter().map(Client::servers);
        let wans = servers.clone().map(|servers| servers.wan() + 1).max().unwrap_or(0);
        let bits_of_host = servers.map(Servers::bits_of_host).max().unwrap_or(0);
        let mut legs =
            Legs::new(scenario, (seed, metrics.from()), clients.len(), Trunk::of(scenario, chain.over_the_link()));
        let boxes = Boxes::new(scenario, chain.duties(), &mut clients, &mut legs);
        let mut world = Self {
            scenario,
            chain,
            now: Instant::START,
            events: Events::new(),
            event_count: 0,
            looked: Instant::START,
            at_once: 0,
            network: Network::new(scenario, (wans, bits_of_host), seed, meter),
            legs,
            origins: Vec::new(),
            clients,
            boxes,
            touched: VecDeque::new(),
            awake: VecDeque::new(),
            metrics,
            buffers: Buffers::default(),
            sights: Sights::default(),
        };
        if matches!(world.legs.trunk(), Some(Trunk::Rwbp(_))) {
            world.network.let_names_wait(scenario);
        }
        world.await_trunk();
        world.await_multicast(0);
        (0..).zip(0..world.clients.len()).for_each(|(client, _)| world.rearm(client));
        world
    }

    /// Lets the next event happen and all that follows from it at once; returns when that was, or `None` if there is nothing left.
    pub(crate) fn step(&mut self) -> Result<Option<Instant>, SimError> {
        let Self { events, network, legs, clients, origins, sights, .. } = self;
        let outlook = Outlook { network, legs, clients, origins, sights };
        let Some((at, event)) = events.pop_and_look(outlook) else { return Ok(None) };
        self.now = at;
        self.event_count += 1;
        match event {
            Event::Stage(stage) => {
                self.network.handle_timeout(at, stage);
                self.network.settle(at, &mut self.events);
            }
            Event::Exit(parcel) => {
                self.network.handle_exit(at, parcel, &mut self.events);
                self.network.settle(at, &mut self.events);
            }
            Event::End { leg, side } => {
                if self.legs.wake(at, leg, side) {
                    self.wake_end(leg, side)?;
                }
            }
            Event::Trunk(terminal) => self.open_trunk(terminal)?,
            Event::Connect(leg) => self.connect(leg)?,
            Event::Station { side, terminal } => {
                let id = StationId { side, terminal };
                self.network.let_in(at, side, terminal, &mut self.events);
                self.network.settle(at, &mut self.events);
                if self.legs.trunk().is_some_and(|trunk| trunk.handle_timeout(at, id)) {
                    self.drain_station(id)?;
                }
            }
            Event::Paced { side, terminal } => self.wake_paced(StationId { side, terminal }),
            Event::Origin(leg) => {
                if origin_of(&mut self.origins, leg).handle_timeout(at) {
                    match self.legs.owner(leg, Side::Far) {
                        Owner::Source => self.answer_gateway(leg),
                        _ => self.answer(leg),
                    }
                    self.drain(leg, Side::Far)?;
                }
            }
            Event::Heard { side, leg, packet } => self.take_in(leg, side, packet)?,
            Event::Multicast(number) => self.multicast(number),
            Event::Client(client) => {
                if self.clients[client as usize].handle_timeout(at, self.chain.http_of_clients(self.scenario.http)) {
                    self.wake(client);
                    self.rearm(client);
                }
            }
        }
        self.settle()?;
        Ok(Some(at))
    }

    /// Packet `number` of multicast, if there is any.
    fn multicast(&mut self, number: u64) {
        let Some(multicast) = self.scenario.multicast else { return };
        self.network.send_to_all(self.now, Packet::Multicast(multicast.packet), &mut self.events);
        self.network.settle(self.now, &mut self.events);
        self.await_multicast(number + 1);
    }

    fn await_multicast(&mut self, number: u64) {
        if let Some(multicast) = self.scenario.multicast {
            self.events.push(Instant::START + multicast.time_of(number), Event::Multicast(number));
        }
    }

    /// From now on `tracer` writes down what happens; nothing has happened yet.
    pub(crate) fn begin_trace(&mut self, tracer: Option<Box<Tracer>>) {
        self.network.begin_trace(tracer);
    }

    /// The run ends at `end`, no sooner, and each client has servers of its own: packets need not be looked at between lanes where nobody
    /// else's can come between.
    pub(crate) fn runs_until(&mut self, end: Instant) {
        if self.chain.is_end_to_end() && self.scenario.http.dns == Dns::None {
            self.network.go_through_until(end);
        }
    }

    /// The run is over.
    pub(crate) fn end_trace(&mut self) -> Option<Box<Tracer>> {
        self.network.end_trace(&mut self.events)
    }

    pub(crate) fn event_count(&self) -> u64 {
        self.event_count
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

    pub(crate) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Refuses to eat all memory, and to go on for ever at one instant, for which it looks every so many events: a million users may begin
    /// within a second.
    ///
    /// Returns whether it takes more than its share if so many simulations may take together what one may.
    ///
    /// # Errors
    /// It takes more than one may.
    #[inline]
    pub(crate) fn check_size(&mut self, sharers: usize) -> Result<bool, SimError> {
        if self.event_count.is_multiple_of(EVENTS_BETWEEN_LOOKS) { self.compare_size(sharers) } else { Ok(false) }
    }

    fn compare_size(&mut self, sharers: usize) -> Result<bool, SimError> {
        let passed = self.now - Instant::START;
        self.at_once = if self.now > self.looked { 0 } else { self.at_once + EVENTS_BETWEEN_LOOKS };
        self.looked = self.now;
        if self.at_once > MOST_AT_ONCE {
            Err(SimError::StandsStill(passed))
        } else if self.legs.len() > MOST_LEGS {
            Err(SimError::TooManyLegs(passed))
        } else if self.network.held() > MOST_HELD {
            Err(SimError::TooManyHeld(passed))
        } else {
            Ok(self.legs.len() * sharers > MOST_LEGS || self.network.held() * sharers > MOST_HELD)
        }
    }

    /// Does everything that can be done now.
    fn settle(&mut self) -> Result<(), SimError> {
        loop {
            if let Some((leg, side)) = self.touched.pop_front() {
                self.drain(leg, side)?;
            } else if let Some(outcome) = self.network.poll() {
                self.handle_outcome(outcome)?;
            } else if let Some(client) = self.awake.pop_front() {
                self.act(client)?;
            } else {
                return Ok(());
            }
        }
    }
}

/// The server's side of a leg.
fn origin_of(origins: &mut Vec<Origin>, leg: u32) -> &mut Origin {
    if origins.len() <= leg as usize {
        origins.resize_with(leg as usize + 1, Origin::default);
    }
    &mut origins[leg as usize]
}
