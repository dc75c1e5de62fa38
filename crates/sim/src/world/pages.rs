//! Browsers and servers: who asks for what, and who answers.

use super::{Event, World, origin_of};
use crate::architecture::Protocol;
use crate::client::Client;
use crate::error::SimError;
use crate::legs::{Exchange, Message, Owner};
use crate::network::{Place, Route, Side};
use crate::programs::{Action, Answer, Work};
use farhop_model::Limit;
use farhop_scenario::Dns;
use farhop_units::Bytes;
use farhop_web::HttpVersion;

impl World<'_> {
    /// A part of a response has reached a browser at the near end of a leg.
    pub(super) fn browse(&mut self, leg: u32, (client, connection): (u32, u32), part: Message) {
        let Some(browser) = &mut self.clients[client as usize].browser else { return };
        let took = browser.received(self.now, connection, part);
        if self.boxes.is_behind(client) {
            let leg = browser.leg(connection as usize);
            self.stock(client, leg, part);
        } else if let Some(took) = took {
            match self.clients[client as usize].answered(part.exchange) {
                Some(reply) => self.metrics.request(self.now, reply),
                None => self.metrics.object(self.now, took),
            }
        } else if let Some(awaited) = browser.awaits(part.exchange) {
            self.legs.awaits(leg, Side::Near, awaited);
        }
        self.wake(client);
    }

    /// A part of a request, or of the handshake of keys, has reached a server.
    pub(super) fn serve(&mut self, leg: u32, client: u32, part: Message) {
        let origin = origin_of(&mut self.origins, leg);
        let Exchange::Object(number) = part.exchange else {
            if let Some(bytes) = origin.agree(part.bytes) {
                self.legs.write(self.now, leg, Side::Far, Message { exchange: Exchange::Keys, bytes });
            }
            return;
        };
        let client = &self.clients[client as usize];
        let Some(browser) = &client.browser else { return };
        let object = &browser.page().objects[number as usize];
        let (http, records) = (&self.scenario.http, self.scenario.http.records());
        let (request, whole) = (records.sealed(http.request_size(object)), records.sealed(object.size));
        let work = Work { request, think: object.think, pace: client.pace(number, whole) };
        if origin.receive(self.now, number, part.bytes, work) {
            self.answer(leg);
        }
    }

    /// Answers what a server has thought about.
    pub(super) fn answer(&mut self, leg: u32) {
        let Owner::Origin { client } = self.legs.owner(leg, Side::Far) else { return };
        let Some(browser) = &self.clients[client as usize].browser else { return };
        let http = &self.scenario.http;
        let origin = origin_of(&mut self.origins, leg);
        while let Some(Answer { object: number, part, is_last }) = origin.next_answer(self.now) {
            let object = &browser.page().objects[number as usize];
            let bytes = part.unwrap_or_else(|| http.records().sealed(http.header_size(object) + object.size));
            let response = Message { exchange: Exchange::Object(number), bytes };
            match http.version {
                HttpVersion::Http2 => {
                    origin.frames.add(response, object.priority());
                    self.legs.write_undecided(self.now, leg, Side::Far, bytes);
                }
                HttpVersion::Http3 => self.legs.write_stream(self.now, leg, Side::Far, (response, object.priority())),
                _ => self.legs.write(self.now, leg, Side::Far, response),
            }
            if is_last && http.version == HttpVersion::Http10 {
                // RFC 1945 §1.3: the connection ends with the response.
                self.legs.close(self.now, leg, Side::Far);
            }
        }
        if let Some(ready) = origin.rearm() {
            self.events.push(ready, Event::Origin(leg));
        }
    }

    /// Of what a server of HTTP/2 has sent, decides whose it is.
    pub(super) fn interleave(&mut self, leg: u32, side: Side) {
        let mut sent = self.legs.undecided(leg, side);
        while sent > Bytes::ZERO
            && let Some(part) = origin_of(&mut self.origins, leg).frames.next_part(sent)
        {
            self.legs.decide(leg, side, part);
            sent -= part.bytes;
        }
    }

    /// Lets a client act when its turn comes, if it has news.
    pub(super) fn wake(&mut self, client: u32) {
        let Client { browser: Some(browser), is_awake, .. } = &mut self.clients[client as usize] else { return };
        if browser.take_news() && !core::mem::replace(is_awake, true) {
            self.awake.push_back(client);
        }
    }

    /// Schedules when a client has something to do by itself.
    pub(super) fn rearm(&mut self, client: u32) {
        if let Some(due) = self.clients[client as usize].rearm() {
            self.events.push(due, Event::Client(client));
        }
    }

    /// Lets a browser do what it can.
    pub(super) fn act(&mut self, client: u32) -> Result<(), SimError> {
        self.clients[client as usize].is_awake = false;
        while let Some(browser) = &mut self.clients[client as usize].browser
            && let Some(action) = browser.poll(self.now)
        {
            let leg = match action {
                Action::Resolve { name, host } => Some(self.resolve(client, name, host)?),
                Action::Open { connection, host } => Some(self.open(client, connection, host)?),
                Action::Agree { connection, bytes } => self.agree(client, connection, bytes),
                Action::Request { connection, object } => self.request(client, connection, object),
                Action::Close { connection } => self.close(client, connection),
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
        let leg =
            self.open_leg(client, line, self.boxes.level(client), Owner::Browser { client, connection: number })?;
        if let Some(browser) = &mut self.clients[client as usize].browser {
            browser.opened(connection, leg);
            // A flow takes what it is given before it is there.
            if self.legs.station_of(leg, Side::Near).is_some() {
                browser.connected(self.now, number);
            }
        }
        Ok(leg)
    }

    /// Asks a resolver for the address of a host.
    fn resolve(&mut self, client: u32, name: u32, host: usize) -> Result<u32, SimError> {
        let line = self.clients[client as usize].line(host);
        let far = if self.scenario.http.dns == Dns::Far { Place::Gateway } else { Place::Terminal };
        let near = if self.boxes.is_behind(client) { Place::Terminal } else { Place::Client };
        let route = Route { line, near, far };
        self.legs.open(self.now, (route, Protocol::Dns), [Owner::Lookup { client, name }, Owner::Nobody])
    }

    /// Sends a flight of the handshake of keys.
    fn agree(&mut self, client: u32, connection: usize, bytes: Bytes) -> Option<u32> {
        let leg = self.clients[client as usize].browser.as_ref()?.leg(connection)?;
        self.legs.write(self.now, leg, Side::Near, Message { exchange: Exchange::Keys, bytes });
        Some(leg)
    }

    fn request(&mut self, client: u32, connection: usize, object: usize) -> Option<u32> {
        let browser = self.clients[client as usize].browser.as_ref()?;
        let leg = browser.leg(connection)?;
        let http = &self.scenario.http;
        let bytes = http.records().sealed(http.request_size(&browser.page().objects[object]));
        let exchange = Exchange::Object(u32::try_from(object).expect("a page has fewer objects"));
        let request = Message { exchange, bytes };
        match self.scenario.http.version {
            HttpVersion::Http3 => self.legs.ask(self.now, leg, request),
            _ => self.legs.write(self.now, leg, Side::Near, request),
        }
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
            self.metrics.page(browser, self.now, &Limit::of(self.scenario));
            state.think(self.now);
        }
    }
}
