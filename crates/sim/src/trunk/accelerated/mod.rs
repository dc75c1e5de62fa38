//! farhop's accelerator: terminal and gateway with a [`Tube`] between them, each doing what `accel::planning` decides.
//!
//! The terminal is the clients' HTTP proxy. A client's request waits there for its push, is answered from one, or goes through the tunnel;
//! the gateway fetches from the servers, reads documents as they stream through, announces, fetches and pushes what they name. Frames have
//! the sizes that `accel::wire` gives them. Requests and responses are those of farhop's own client and origin: their heads have the
//! fields that they need, and what the scenario says that they take beyond these crosses the tunnel with them.
//!
//! Left out: processing times, requests with bodies that begin to be sent before they are whole, servers that fail, and a tunnel that is lost.

mod gateway;
mod page;
mod terminal;

use super::tube::{Heard, Limits, Mark, Tube};
use super::{Said, StationId};
use crate::network::{Line, Side};
use crate::packet::Packet;
use crate::slab::Slab;
use farhop_accel::wire::{FlowId, Frame};
use farhop_scenario::{HttpConfig, Scenario};
use farhop_transport::{Room, quic};
use farhop_units::{Bytes, Instant};
use farhop_web::Page;
use gateway::GatewayBox;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use terminal::TerminalBox;

/// What somebody asks for.
#[derive(Debug, Clone)]
pub(crate) struct Want {
    pub(crate) client: u32,
    /// The way to the client's first server.
    pub(crate) line: Line,
    pub(crate) page: Arc<Page>,
    pub(crate) object: usize,
}

/// What the gateway asks a server for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fetching {
    pub(crate) request: Bytes,
    pub(crate) response: Bytes,
    pub(crate) think: Duration,
}

/// All pairs of boxes.
#[derive(Debug)]
pub(crate) struct Accelerators {
    limits: Limits,
    http: HttpConfig,
    pairs: Vec<Option<Box<Pair>>>,
}

/// A terminal, and what the gateway has for it.
#[derive(Debug)]
struct Pair {
    leg: u32,
    is_up: [bool; 2],
    terminal: TerminalBox,
    gateway: GatewayBox,
    wire: Wire,
}

/// What the two boxes share: the way between them, and what they say to the world.
#[derive(Debug)]
struct Wire {
    http: HttpConfig,
    tube: Tube,
    /// Frames under way that are more than their size.
    heads: Slab<Frame>,
    /// What requests and pushes are for.
    wants: BTreeMap<FlowId, Want>,
    said: [VecDeque<Said>; 2],
}

impl Wire {
    /// Sends a frame that the other end is to see.
    fn send(&mut self, now: Instant, side: Side, flow: u32, frame: Frame) {
        self.send_with(now, side, flow, frame, Bytes::ZERO);
    }

    /// The same, with so many bytes of fields, or of a request's body, that nobody reads.
    fn send_with(&mut self, now: Instant, side: Side, flow: u32, frame: Frame, more: Bytes) {
        let size = frame.encode().iter().map(|part| part.len() as u64).sum();
        let place = self.heads.insert(frame);
        self.tube.send_whole(now, side, flow, Mark::Head(place), Bytes::new(size) + more);
    }

    fn take(&mut self, place: u32) -> Frame {
        let frame = self.heads[place].clone();
        self.heads.release(place);
        frame
    }

    fn say(&mut self, side: Side, said: Said) {
        self.said[side as usize].push_back(said);
    }
}

impl Accelerators {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let pairs = (0..scenario.link.terminals.max(1)).map(|_| None).collect();
        Self { limits: Tube::limits(scenario), http: scenario.http, pairs }
    }

    /// A terminal's tunnel is opened; its packets belong to this leg.
    pub(crate) fn add_connection(&mut self, now: Instant, terminal: u16, leg: u32) {
        let wire = Wire {
            http: self.http,
            tube: Tube::open(now, &self.limits),
            heads: Slab::new(),
            wants: BTreeMap::new(),
            said: Default::default(),
        };
        let (terminal_box, gateway) = (TerminalBox::new(), GatewayBox::new());
        let pair = Pair { leg, is_up: [false; 2], terminal: terminal_box, gateway, wire };
        self.pairs[usize::from(terminal)] = Some(Box::new(pair));
    }

    /// Whether all tunnels are there.
    pub(crate) fn is_up(&self) -> bool {
        self.pairs.iter().flatten().all(|pair| pair.is_up == [true; 2])
    }

    /// The leg to which the packets between a terminal and the gateway belong.
    pub(crate) fn carrier(&self, terminal: u16) -> Option<u32> {
        self.pairs[usize::from(terminal)].as_ref().map(|pair| pair.leg)
    }

    /// Bytes of the request for an object have come over a client's leg.
    pub(crate) fn asked(&mut self, now: Instant, leg: u32, want: Want, bytes: Bytes) {
        if let Some(Pair { terminal, wire, .. }) = self.pair(want.line.terminal) {
            terminal.asked(now, wire, leg, want, bytes);
        }
    }

    /// The page that a client loads, as the terminal's requests know it.
    pub(crate) fn page_of(&mut self, terminal: u16, client: u32, object: usize, page: &Page) -> Arc<Page> {
        match self.pair(terminal) {
            Some(pair) => pair.terminal.page_of(client, object, page),
            None => Arc::new(page.clone()),
        }
    }

    /// The client at a leg has gone.
    pub(crate) fn left(&mut self, now: Instant, terminal: u16, leg: u32) {
        if let Some(Pair { terminal, wire, .. }) = self.pair(terminal) {
            terminal.left(now, wire, leg);
        }
    }

    /// Of what was written to a client so much has not been sent. Returns whether the gateway is to hear of it.
    pub(crate) fn set_backlog(&mut self, now: Instant, terminal: u16, leg: u32, backlog: Bytes) -> bool {
        let Some(Pair { terminal, wire, .. }) = self.pair(terminal) else { return false };
        terminal.set_backlog(now, wire, leg, backlog)
    }

    /// A fetch goes over this leg to a server.
    pub(crate) fn goes_over(&mut self, line: Line, fetch: u32, leg: u32) {
        if let Some(pair) = self.pair(line.terminal) {
            pair.gateway.goes_over(fetch, leg, line.server);
        }
    }

    /// An idle leg to a server, and those that have been idle for too long.
    pub(crate) fn take_idle(&mut self, now: Instant, line: Line) -> (Option<u32>, Vec<u32>) {
        self.pair(line.terminal).map(|pair| pair.gateway.take_idle(now, line.server)).unwrap_or_default()
    }

    /// What is being fetched over a leg.
    pub(crate) fn fetching(&mut self, terminal: u16, leg: u32) -> Option<Fetching> {
        let Pair { gateway, wire, .. } = self.pair(terminal)?;
        gateway.fetching(wire, leg)
    }

    /// Bytes of a response have come from a server; the gateway reads them when it wakes, all that there are by then.
    pub(crate) fn fetched(&mut self, terminal: u16, leg: u32, bytes: Bytes) {
        if let Some(pair) = self.pair(terminal) {
            pair.gateway.fetched(leg, bytes);
        }
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, id: StationId, packet: &quic::Packet) {
        if let Some(pair) = self.pair(id.terminal) {
            pair.wire.tube.handle_packet(now, id.side, packet);
        }
    }

    pub(crate) fn set_link_room(&mut self, now: Instant, id: StationId, room: Room) {
        if let Some(pair) = self.pair(id.terminal) {
            pair.wire.tube.set_link_room(now, id.side, room);
        }
    }

    /// The wake-up of a station has come. Returns whether it is the one that counts.
    pub(crate) fn handle_timeout(&mut self, now: Instant, id: StationId) -> bool {
        let Some(Pair { terminal, gateway, wire, .. }) = self.pair(id.terminal) else { return false };
        let counts = wire.tube.handle_timeout(now, id.side);
        match id.side {
            _ if !counts => {}
            Side::Near => terminal.handle_timeout(now, wire),
            Side::Far => gateway.wake(now, wire),
        }
        counts
    }

    pub(crate) fn rearm(&mut self, now: Instant, id: StationId) -> Option<Instant> {
        let Pair { terminal, gateway, wire, .. } = self.pair(id.terminal)?;
        let own = match id.side {
            Side::Near => terminal.next_timeout(),
            Side::Far => gateway.has_work().then_some(now),
        };
        wire.tube.rearm_with(now, id.side, own)
    }

    pub(crate) fn poll(&mut self, now: Instant, id: StationId) -> Option<Said> {
        self.pair(id.terminal)?.poll(now, id.side)
    }

    fn pair(&mut self, terminal: u16) -> Option<&mut Pair> {
        self.pairs[usize::from(terminal)].as_deref_mut()
    }
}

impl Pair {
    fn poll(&mut self, now: Instant, side: Side) -> Option<Said> {
        loop {
            if let Some(said) = self.wire.said[side as usize].pop_front() {
                return Some(said);
            }
            match (self.wire.tube.poll(now, side)?, side) {
                (Heard::Transmit(packet), _) => {
                    return Some(Said::Transmit { leg: self.leg, packet: Packet::Quic(packet) });
                }
                (Heard::Up, _) => {
                    self.is_up[side as usize] = true;
                    return Some(Said::Up);
                }
                (Heard::Frame { flow, mark }, Side::Near) => self.terminal.hear(now, &mut self.wire, flow, mark),
                (Heard::Frame { flow, mark }, Side::Far) => self.gateway.hear(now, &mut self.wire, flow, mark),
                // The terminal sends no bodies.
                (Heard::Room { .. }, Side::Near) => {}
                (Heard::Room { flow }, Side::Far) => self.gateway.resume(now, &mut self.wire, flow),
            }
        }
    }
}
