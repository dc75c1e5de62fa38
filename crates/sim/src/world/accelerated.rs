//! Between the world and farhop's boxes: clients' requests to the terminal, fetches of the gateway to servers.

use super::{World, origin_of};
use crate::architecture::Protocol;
use crate::error::SimError;
use crate::legs::{Exchange, Message, Owner};
use crate::network::{Line, Place, Route, Side};
use crate::programs::{Origin, Work};
use crate::trunk::{Accelerators, Want};
use farhop_units::Bytes;

impl World<'_> {
    fn accelerators(&mut self) -> Option<&mut Accelerators> {
        self.legs.trunk().and_then(|trunk| trunk.boxes())
    }

    /// A box may have something to say.
    fn touch_box(&mut self, terminal: u16, side: Side) {
        if let Some(leg) = self.accelerators().and_then(|boxes| boxes.carrier(terminal)) {
            self.touch(leg, side);
        }
    }

    /// A part of a client's request has reached the terminal.
    pub(super) fn ask_terminal(&mut self, leg: u32, client: u32, part: Message) {
        let state = &self.clients[client as usize];
        let (line, object) = (state.line(0), part.exchange);
        let Exchange::Object(object) = object else { return };
        let object = object as usize;
        let Some(browser) = &state.browser else { return };
        let Some(boxes) = self.legs.trunk().and_then(|trunk| trunk.boxes()) else { return };
        let page = boxes.page_of(line.terminal, client, object, browser.page());
        boxes.asked(self.now, leg, Want { client, line, page, object }, part.bytes);
        self.touch_box(line.terminal, Side::Near);
    }

    /// The client at a leg has gone.
    pub(super) fn leave_terminal(&mut self, leg: u32) {
        let (now, terminal) = (self.now, self.legs.route(leg).line.terminal);
        if let Some(boxes) = self.accelerators() {
            boxes.left(now, terminal, leg);
        }
        self.legs.close(now, leg, Side::Far);
        self.touch_box(terminal, Side::Near);
    }

    /// The terminal, where a client's leg ends, hears how much of what it wrote has not been sent.
    pub(super) fn tell_backlog(&mut self, leg: u32, side: Side) {
        let (now, terminal, backlog) = (self.now, self.legs.route(leg).line.terminal, self.legs.backlog(leg, side));
        if self.accelerators().is_some_and(|boxes| boxes.set_backlog(now, terminal, leg, backlog)) {
            self.touch_box(terminal, Side::Near);
        }
    }

    /// The gateway asks the server of a host of a client's page, over a connection that is there or a new one.
    pub(super) fn fetch(&mut self, fetch: u32, client: u32, host: usize) -> Result<(), SimError> {
        let (now, line) = (self.now, self.clients[client as usize].line(host));
        let Some((idle, old)) = self.accelerators().map(|boxes| boxes.take_idle(now, line)) else { return Ok(()) };
        for leg in old {
            self.legs.abandon(now, leg, Side::Near);
            self.touch(leg, Side::Near);
        }
        let leg = match idle {
            Some(leg) => leg,
            None => self.open_to_server(line)?,
        };
        let Some(boxes) = self.accelerators() else { return Ok(()) };
        boxes.goes_over(line, fetch, leg);
        let bytes = boxes.fetching(line.terminal, leg).map_or(Bytes::ZERO, |fetching| fetching.request);
        self.legs.write(now, leg, Side::Near, Message { exchange: Exchange::Flows, bytes });
        self.touch(leg, Side::Near);
        Ok(())
    }

    fn open_to_server(&mut self, line: Line) -> Result<u32, SimError> {
        let route = Route { line, near: Place::Gateway, far: Place::Server };
        let leg = self.legs.open(self.now, (route, Protocol::Tcp), [Owner::Fetcher, Owner::Source])?;
        *origin_of(&mut self.origins, leg) = Origin::new(&self.scenario.http);
        Ok(leg)
    }

    /// A part of a gateway's request has reached a server.
    pub(super) fn serve_gateway(&mut self, leg: u32, part: Message) {
        let (now, terminal) = (self.now, self.legs.route(leg).line.terminal);
        let Some(fetching) = self.accelerators().and_then(|boxes| boxes.fetching(terminal, leg)) else { return };
        let work = Work { request: fetching.request, think: fetching.think, pace: None };
        if origin_of(&mut self.origins, leg).receive(now, 0, part.bytes, work) {
            self.answer_gateway(leg);
        }
    }

    /// Answers what a server has thought about.
    pub(super) fn answer_gateway(&mut self, leg: u32) {
        let (now, terminal) = (self.now, self.legs.route(leg).line.terminal);
        let Some(fetching) = self.accelerators().and_then(|boxes| boxes.fetching(terminal, leg)) else { return };
        let origin = origin_of(&mut self.origins, leg);
        if origin.next_answer(now).is_some() {
            self.legs.write(now, leg, Side::Far, Message { exchange: Exchange::Flows, bytes: fetching.response });
        } else if let Some(ready) = origin.rearm() {
            self.events.push(ready, super::Event::Origin(leg));
        }
    }

    /// A part of a response has reached the gateway.
    pub(super) fn take_to_gateway(&mut self, leg: u32, part: Message) {
        let terminal = self.legs.route(leg).line.terminal;
        if let Some(boxes) = self.accelerators() {
            boxes.fetched(terminal, leg, part.bytes);
        }
        self.touch_box(terminal, Side::Far);
    }
}
