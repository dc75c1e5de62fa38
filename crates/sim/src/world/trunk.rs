//! Between the world and the trunk: what its stations say, and what they are told.

use super::{Event, World};
use crate::architecture::Protocol;
use crate::client::Client;
use crate::error::SimError;
use crate::legs::{Exchange, Message, Owner};
use crate::network::{Line, Place, Route, Side};
use crate::trunk::{Said, StationId};
use farhop_link::Access;
use farhop_scenario::{CONNECT_BYTES, Scenario};
use farhop_units::{Bytes, Instant};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A page that is loaded once is asked for in the second full second after the trunk is up: it has long been there, and what there was
/// to say about its handshake has been said.
const SETTLED: Duration = Duration::from_secs(1);

/// What a handshake may take of the link, either way: terminals open their connections one after the other, as they have long done,
/// lest they all do so at once.
const HANDSHAKE: Bytes = Bytes::kb(4);

impl World<'_> {
    /// If the trunk has connections they are opened first, by each terminal that has clients; who loads one page waits for that.
    pub(super) fn await_trunk(&mut self) {
        let count = self.legs.trunk().map_or(0, |trunk| trunk.connections());
        if count == 0 {
            return;
        }
        let pause = pause(self.scenario).saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
        let terminals: BTreeSet<u16> = self.clients.iter().map(Client::terminal).collect();
        let mut opened = BTreeMap::new();
        for (place, terminal) in (0..).zip(terminals) {
            let at = Instant::START + pause.saturating_mul(place);
            self.events.push(at, Event::Trunk(terminal));
            opened.insert(terminal, at);
        }
        for client in &mut self.clients {
            client.await_trunk(opened[&client.terminal()]);
        }
    }

    /// Opens the trunk's connections at a terminal.
    pub(super) fn open_trunk(&mut self, terminal: u16) -> Result<(), SimError> {
        let Some((count, carrier)) = self.legs.trunk().map(|trunk| (trunk.connections(), trunk.carrier())) else {
            return Ok(());
        };
        (0..count).try_for_each(|_| self.open_connection(terminal, carrier))
    }

    fn open_connection(&mut self, terminal: u16, carrier: Protocol) -> Result<(), SimError> {
        let route = Route { line: Line { terminal, server: 0 }, near: Place::Terminal, far: Place::Gateway };
        let leg = self.legs.open(self.now, (route, carrier), [Owner::Nobody; 2])?;
        let now = self.now;
        let Some(connection) = self.legs.trunk().map(|trunk| trunk.add_connection(now, terminal, leg)) else {
            return Ok(());
        };
        self.legs.give_to_trunk(leg, connection);
        self.touched.push_back((leg, Side::Near));
        Ok(())
    }

    /// A client asks the terminal for a connection.
    pub(super) fn ask_to_connect(&mut self, leg: u32) {
        self.legs.write(self.now, leg, Side::Near, Message { exchange: Exchange::Connect, bytes: CONNECT_BYTES[0] });
    }

    /// A client has asked: the terminal says yes, and goes on.
    pub(super) fn connect(&mut self, leg: u32) -> Result<(), SimError> {
        let Owner::Opener { client, next } = self.legs.owner(leg, Side::Far) else { return Ok(()) };
        self.legs.write(self.now, leg, Side::Far, Message { exchange: Exchange::Connect, bytes: CONNECT_BYTES[1] });
        self.touch(leg, Side::Far);
        self.go_on(leg, client, next)
    }

    /// One end of a connection of the trunk is there.
    pub(super) fn trunk_connected(&mut self, leg: u32, side: Side) {
        let Some((id, connection)) = self.legs.connection_of(leg, side) else { return };
        let Some(trunk) = self.legs.trunk() else { return };
        trunk.connected(id, connection);
        self.see_whether_up();
    }

    /// Who waits for the trunk begins when all of it is there.
    fn see_whether_up(&mut self) {
        if self.legs.trunk().is_some_and(|trunk| trunk.is_up()) {
            let begin = Duration::from_secs((self.now - Instant::START).as_secs() + 1) + SETTLED;
            self.clients.iter_mut().for_each(|client| client.begin_at(Instant::START + begin));
            (0..).zip(0..self.clients.len()).for_each(|(client, _)| self.rearm(client));
        }
    }

    /// Bytes have come over a connection of the trunk.
    pub(super) fn trunk_carried(&mut self, leg: u32, side: Side, bytes: Bytes) {
        if let Some((id, connection)) = self.legs.connection_of(leg, side)
            && let Some(trunk) = self.legs.trunk()
        {
            trunk.carried(id, connection, bytes);
        }
    }

    /// If a leg is a connection of the trunk, the station hears how much is under way, and says what has come of it.
    pub(super) fn drain_connection(&mut self, leg: u32, side: Side) -> Result<(), SimError> {
        let Some((id, connection)) = self.legs.connection_of(leg, side) else { return Ok(()) };
        let outstanding = self.legs.outstanding(leg, side);
        if let Some(trunk) = self.legs.trunk() {
            trunk.set_outstanding(id, connection, outstanding);
        }
        self.drain_station(id)
    }

    /// Takes in all that a station of the trunk has to say, then sees to its timer.
    pub(super) fn drain_station(&mut self, id: StationId) -> Result<(), SimError> {
        let StationId { side, terminal } = id;
        let now = self.now;
        let room = self.network.queue_room(now, side, terminal);
        if let Some(trunk) = self.legs.trunk() {
            trunk.set_link_room(self.now, id, room);
        }
        while let Some(said) = self.legs.trunk().and_then(|trunk| trunk.poll(now, id)) {
            self.hear(id, said)?;
        }
        self.network.settle(self.now, &mut self.events);
        if let Some(due) = self.legs.trunk().and_then(|trunk| trunk.rearm(self.now, id)) {
            self.events.push(due, Event::Station { side, terminal });
        }
        Ok(())
    }

    fn hear(&mut self, StationId { side, .. }: StationId, said: Said) -> Result<(), SimError> {
        match said {
            Said::Transmit { leg, packet } => self.transmit(leg, side, packet),
            Said::Carry { leg, bytes } => {
                self.legs.write(self.now, leg, side, Message { exchange: Exchange::Flows, bytes });
                self.touch(leg, side);
            }
            Said::Reply { leg, object, bytes } => {
                self.legs.write(self.now, leg, Side::Far, Message { exchange: Exchange::Object(object), bytes });
                self.touch(leg, Side::Far);
            }
            Said::CloseClient { leg } => {
                self.legs.close(self.now, leg, Side::Far);
                self.touch(leg, Side::Far);
            }
            Said::Fetch { fetch, client, host } => self.fetch(fetch, client, host)?,
            Said::Hold { leg, side, unread } => {
                if self.legs.hold(self.now, leg, side, unread) {
                    self.touch(leg, side);
                }
            }
            Said::Up => self.see_whether_up(),
            Said::Connected { flow } => self.connected(flow, side)?,
            Said::Received { flow, bytes, finished } => {
                self.legs.read_flow(self.now, flow, side, bytes);
                self.received(flow, side, bytes);
                self.interleave(flow, side);
                if finished {
                    self.finished(flow, side);
                }
            }
            Said::Room { flow } => {
                self.legs.resume(self.now, flow, side);
                self.interleave(flow, side);
                self.press_back(flow, side);
            }
            Said::Closed { flow } => {
                self.legs.closed(flow, side);
                self.buffers.forget(flow, side);
                self.legs.reclaim(self.now, flow, side);
            }
        }
        Ok(())
    }

    /// An end may have something to say.
    pub(super) fn touch(&mut self, leg: u32, side: Side) {
        if self.touched.back() != Some(&(leg, side)) {
            self.touched.push_back((leg, side));
        }
    }
}

/// How long the link takes for a handshake, where all terminals share it.
fn pause(scenario: &Scenario) -> Duration {
    let is_shared = scenario.link.access != Access::Dedicated;
    let rates = [Some(&scenario.link.down), is_shared.then_some(&scenario.link.up)];
    let rate = rates.into_iter().flatten().filter_map(|direction| direction.peak_rate()).min();
    rate.map_or(Duration::ZERO, |rate| rate.transmission_time(HANDSHAKE))
}
