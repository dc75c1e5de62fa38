//! Between the network and who uses it: packets to transports, and what transports say to browsers, servers and relays.
//!
//! A relay passes on what arrives at once. What its next leg cannot take yet counts as unread at the leg before, whose window shrinks by
//! that much, back to the source (backpressure).

use super::{Event, World, origin_of};
use crate::error::SimError;
use crate::legs::{Exchange, Message, Owner, Said};
use crate::network::{Held, Line, Outcome, Place, Route, Side};
use crate::packet::Packet;
use crate::programs::Origin;
use farhop_tcp::Output;
use farhop_units::Bytes;

impl World<'_> {
    pub(super) fn handle_outcome(&mut self, outcome: Outcome) -> Result<(), SimError> {
        match outcome {
            Outcome::Arrived { leg, side, packet } => {
                match self.legs.hears(self.now, leg, side, || self.network.peek(&packet)) {
                    Some(later) => self.events.push(later, Event::Heard { side, leg, packet }),
                    None => self.take_in(leg, side, packet)?,
                }
            }
            Outcome::Dropped { leg } => {
                self.legs.landed(leg, Side::Near);
                self.legs.reclaim(self.now, leg, Side::Near);
            }
            Outcome::Duplicated { leg } => _ = self.legs.sent(leg, Side::Near),
        }
        Ok(())
    }

    /// A packet is for an end whose host has got to it.
    pub(super) fn take_in(&mut self, leg: u32, side: Side, packet: Held) -> Result<(), SimError> {
        self.legs.landed(leg, side);
        match self.network.take(packet) {
            Packet::Paced(packet) => self.hear_datagram(leg, side, &packet),
            packet => {
                self.legs.handle_packet(self.now, leg, side, &packet);
                self.drain(leg, side)?;
            }
        }
        Ok(())
    }

    /// Takes in all that an endpoint has to say, then sees to its timer.
    pub(super) fn drain(&mut self, leg: u32, side: Side) -> Result<(), SimError> {
        if !self.legs.is_tcp(leg, side) {
            return self.drain_other(leg, side);
        }
        while let Some(output) = self.legs.poll(leg, side) {
            match output {
                Output::Transmit { segment, .. } => self.transmit(leg, side, Packet::Tcp(segment)),
                Output::Connected { .. } => self.connected(leg, side)?,
                Output::Received { bytes, .. } => self.received(leg, side, bytes),
                Output::Finished { .. } => self.finished(leg, side),
                Output::Room { .. } => self.legs.write_on(self.now, leg, side),
                Output::Closed { .. } => {
                    self.legs.closed(leg, side);
                    self.buffers.forget(leg, side);
                }
            }
        }
        self.interleave(leg, side);
        self.network.settle(self.now, &mut self.events);
        self.trace_sender(leg, side);
        match self.legs.owner(leg, side) {
            Owner::Relay { .. } | Owner::Prefetcher { .. } => self.press_back(leg, side),
            Owner::Proxy { .. } => self.tell_backlog(leg, side),
            Owner::Trunk { .. } => self.drain_connection(leg, side)?,
            _ => {}
        }
        self.rearm_end(leg, side);
        self.legs.reclaim(self.now, leg, side);
        Ok(())
    }

    /// A trace hears what a sender is like now.
    fn trace_sender(&mut self, leg: u32, side: Side) {
        if let Some(tracer) = self.network.tracer()
            && let Some(sender) = self.legs.sender(leg, side)
        {
            tracer.observe(self.now, self.legs.number(leg), side, &sender);
        }
    }

    /// An end is woken.
    pub(super) fn wake_end(&mut self, leg: u32, side: Side) -> Result<(), SimError> {
        let sleeps_on = self.legs.sleeps_on(self.now, leg, side);
        if sleeps_on && self.network.tracer().is_none() {
            let due = self.legs.sleep_on(leg, side);
            due.into_iter().for_each(|due| self.events.push(due, Event::End { side, leg }));
            return Ok(());
        }
        // What sleeps on waits for nobody, whether a trace looks at it or not.
        if !sleeps_on && let Some(later) = self.legs.waits_for_host(self.now, leg, side) {
            self.events.push(later, Event::End { side, leg });
            return Ok(());
        }
        self.legs.handle_timeout(self.now, leg, side);
        self.drain(leg, side)
    }

    /// Sees to an end's timer.
    fn rearm_end(&mut self, leg: u32, side: Side) {
        if let Some(due) = self.legs.rearm(leg, side) {
            self.events.push(due, Event::End { side, leg });
        }
    }

    /// The same for what is not TCP.
    fn drain_other(&mut self, leg: u32, side: Side) -> Result<(), SimError> {
        if let Some(id) = self.legs.station_of(leg, side) {
            self.drain_station(id)?;
            self.interleave(leg, side);
            self.press_back(leg, side);
            return Ok(());
        }
        while let Some(said) = self.legs.poll_datagrams(self.now, leg, side) {
            match said {
                Said::Transmit(packet) => self.transmit(leg, side, packet),
                Said::Connected => self.connected(leg, side)?,
                Said::Received(part) => self.hand_over(leg, side, part),
            }
        }
        self.network.settle(self.now, &mut self.events);
        self.trace_sender(leg, side);
        self.rearm_end(leg, side);
        self.legs.reclaim(self.now, leg, side);
        Ok(())
    }

    /// What waits at an end because its transport is slow, the relay there has not read from the end before it.
    pub(super) fn press_back(&mut self, leg: u32, side: Side) {
        let peer = match self.legs.owner(leg, side) {
            Owner::Relay { peer } => peer,
            Owner::Prefetcher { client } => return self.let_on(leg, client),
            _ => return,
        };
        let backlog = self.legs.backlog(leg, side);
        self.buffers.note((leg, self.legs.route(leg)), side, backlog);
        if self.legs.hold(self.now, peer, side.other(), backlog) {
            self.touched.push_back((peer, side.other()));
        }
    }

    pub(super) fn transmit(&mut self, leg: u32, side: Side, packet: Packet) {
        let route = self.legs.sent(leg, side);
        if let Some(tracer) = self.network.tracer() {
            tracer.sent(self.now, (leg, self.legs.number(leg)), route, side, &packet);
        }
        self.network.send(self.now, side, (leg, route), packet, &mut self.events);
    }

    pub(super) fn connected(&mut self, leg: u32, side: Side) -> Result<(), SimError> {
        match self.legs.owner(leg, side) {
            Owner::Browser { .. } if self.chain.asks_to_connect() => self.ask_to_connect(leg),
            // It was told as it opened the flow.
            Owner::Browser { .. } if self.legs.station_of(leg, side).is_some() => {}
            Owner::Browser { client, connection } => self.reached(client, connection),
            // The terminal is told by the client when to go on.
            Owner::Opener { .. } if self.chain.asks_to_connect() && self.legs.route(leg).near == Place::Client => {}
            Owner::Opener { client, next } => self.go_on(leg, client, next)?,
            Owner::Trunk { .. } => self.trunk_connected(leg, side),
            Owner::Lookup { client, name } => {
                if let Some(browser) = &mut self.clients[client as usize].browser {
                    browser.resolved(name);
                }
                self.legs.let_go(leg);
                self.wake(client);
            }
            Owner::Origin { .. } | Owner::Prefetcher { .. } | Owner::Relay { .. } | Owner::Nobody => {}
            Owner::Proxy { .. } | Owner::Fetcher | Owner::Source => {}
        }
        Ok(())
    }

    /// A browser's connection can carry what it has to say.
    pub(super) fn reached(&mut self, client: u32, connection: u32) {
        if let Some(browser) = &mut self.clients[client as usize].browser {
            browser.connected(self.now, connection);
        }
        self.wake(client);
    }

    /// The relay at the far end of a leg opens the next one.
    pub(super) fn go_on(&mut self, leg: u32, client: u32, next: u8) -> Result<(), SimError> {
        let line = self.legs.route(leg).line;
        let after = self.open_leg(client, line, next, Owner::Nobody)?;
        self.legs.join(leg, after);
        self.touched.push_back((after, Side::Near));
        Ok(())
    }

    /// Bytes arrived in order at an end.
    pub(super) fn received(&mut self, leg: u32, side: Side, mut bytes: Bytes) {
        while let Some(part) = self.legs.next_part(leg, side, &mut bytes) {
            self.hand_over(leg, side, part);
        }
    }

    /// A part of a message is for the owner of an end.
    fn hand_over(&mut self, leg: u32, side: Side, part: Message) {
        match self.legs.owner(leg, side) {
            Owner::Browser { client, connection } if part.exchange == Exchange::Connect => {
                self.reached(client, connection);
            }
            Owner::Opener { .. } if part.exchange == Exchange::Connect => {
                self.events.push(self.now, Event::Connect(leg));
            }
            Owner::Browser { client, connection } => self.browse(leg, (client, connection), part),
            Owner::Origin { client } => self.serve(leg, client, part),
            Owner::Prefetcher { client } => self.ask_box(leg, client, part),
            Owner::Proxy { client } => self.ask_terminal(leg, client, part),
            Owner::Fetcher => self.take_to_gateway(leg, part),
            Owner::Source => self.serve_gateway(leg, part),
            Owner::Relay { peer } => {
                self.legs.write(self.now, peer, side.other(), part);
                self.touched.push_back((peer, side.other()));
            }
            Owner::Trunk { .. } => self.trunk_carried(leg, side, part.bytes),
            Owner::Opener { .. } | Owner::Lookup { .. } | Owner::Nobody => {}
        }
    }

    /// The other end will say no more.
    pub(super) fn finished(&mut self, leg: u32, side: Side) {
        match self.legs.owner(leg, side) {
            Owner::Origin { .. } | Owner::Fetcher | Owner::Source => self.legs.close(self.now, leg, side),
            Owner::Proxy { .. } => self.leave_terminal(leg),
            Owner::Prefetcher { client } => {
                self.legs.close(self.now, leg, side);
                self.leave_box(leg, client);
            }
            Owner::Relay { peer } => {
                self.legs.close(self.now, peer, side.other());
                self.touched.push_back((peer, side.other()));
            }
            Owner::Browser { .. }
            | Owner::Lookup { .. }
            | Owner::Opener { .. }
            | Owner::Trunk { .. }
            | Owner::Nobody => {}
        }
    }

    /// Opens the leg of this number of a client's chain, with `near` at its near end.
    pub(super) fn open_leg(&mut self, client: u32, line: Line, number: u8, near: Owner) -> Result<u32, SimError> {
        let (span, is_last) = self.chain.span(number).expect("whoever opens a leg is not at the chain's end");
        let far = match is_last {
            true => Owner::Origin { client },
            false if self.chain.ends_at_the_terminal() => Owner::Proxy { client },
            false if self.chain.duties().is_empty() => Owner::Opener { client, next: number + 1 },
            false => Owner::Prefetcher { client: self.boxes.behind(client) },
        };
        let route = Route { line, near: span.0, far: span.1 };
        let server = self.clients[client as usize].server_tcp();
        let leg = self.legs.open_with(self.now, (route, span.2), [near, far], server.filter(|_| is_last))?;
        if let (Some(server), Some(trunk)) = (server, self.legs.trunk()) {
            trunk.cut_by(leg, line.terminal, server.mss);
        }
        *origin_of(&mut self.origins, leg) = Origin::new(&self.scenario.http);
        Ok(leg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::Chain;
    use crate::client::Client;
    use crate::meter::Meter;
    use crate::metrics::Metrics;
    use farhop_results::Architecture;
    use farhop_units::Instant;
    use std::time::Duration;

    /// The most that ever waited at the gateway's end of a leg while 3 MB came over a slow link from a fast server.
    fn most_waiting(architecture: Architecture, leg: u32) -> Bytes {
        let assignments = [
            "page.objects=1",
            "page.size=3 MB",
            "tcp.max_window=60 kB",
            "link.down.rate=2 Mbit/s",
            "link.down.queue=1 MB",
            "wan.rate=100 Mbit/s",
            "wan.delay=5 ms",
            "prefetch.at=gateway",
        ];
        let scenario =
            farhop_scenario::open("demo", &assignments.map(str::to_owned)).expect("the assignments are right");
        let chain = Chain::of(architecture, scenario.prefetch_at);
        let client = Client::once(0, scenario.page.clone());
        let metrics = Metrics::new(Instant::START);
        let mut world = World::new((&scenario, chain), 1, vec![client], Meter::of_load(Duration::ZERO), metrics);
        let mut most = Bytes::ZERO;
        while world.step().expect("nothing fails").is_some() && world.metrics().pages.count() == 0 {
            let is_there = world.legs().opened() > u64::from(leg);
            let at_the_gateway = if is_there { world.legs().backlog(leg, Side::Far) } else { Bytes::ZERO };
            most = most.max(at_the_gateway);
        }
        assert_eq!(world.metrics().pages.count(), 1, "{architecture}");
        most
    }

    #[test]
    fn congestion_reaches_the_source() {
        // The legs over the link; the first of prefetch-2013 is for datagrams.
        for (architecture, leg) in [
            (Architecture::Split, 1),
            (Architecture::Rwbp, 1),
            (Architecture::PrefetchConventional, 0),
            (Architecture::Prefetch2013, 2),
        ] {
            let most = most_waiting(architecture, leg);
            assert!(most > Bytes::kb(20) && most <= Bytes::kb(62), "{architecture}: {most}");
        }
    }
}
