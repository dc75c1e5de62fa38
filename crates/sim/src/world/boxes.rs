//! Boxes that prefetch, between the network and what they know.
//!
//! A box stands between two legs of a chain and understands what passes: it takes requests like a server, and asks like a
//! browser. So each client has, for every box on its way, another client behind it: a browser without a user, with connections of
//! its own, which asks for what the box wants. Client c of n has in the first box the client c + n, in the second c + 2n.

use super::{Event, World, origin_of};
use crate::client::Client;
use crate::legs::{Exchange, Legs, Message, Owner};
use crate::network::{Line, Place, Route, Side};
use crate::paced::{Content, Paced, Said};
use crate::packet::Packet;
use crate::programs::{Browser, Duty, Errand, Prefetcher, Work};
use crate::trunk::StationId;
use farhop_scenario::{HttpVersion, Scenario};
use farhop_transport::nack;
use farhop_units::{Bytes, Instant};
use farhop_web::{Dns, HttpConfig, Object, Page, Tls};
use std::time::Duration;

/// All boxes.
#[derive(Debug)]
pub(crate) struct Boxes {
    /// Clients that have users.
    users: u32,
    /// What each of the others knows, in their order, and since when.
    pages: Vec<(Option<Instant>, Prefetcher)>,
    paced: Option<Paced>,
}

impl Boxes {
    /// Boxes with these duties behind `clients`, whose clients behind are added to them.
    pub(super) fn new(scenario: &Scenario, duties: &[Duty], clients: &mut Vec<Client>, legs: &mut Legs) -> Self {
        let users = clients.len();
        let mut pages = Vec::new();
        for duty in duties {
            pages.extend((0..users).map(|_| (None, Prefetcher::new(*duty))));
            (0..users).for_each(|user| clients.push(clients[user].behind()));
        }
        let paced = duties.contains(&Duty::Push).then(|| Paced::new(scenario, datagram_legs(scenario, legs)));
        Self { users: u32::try_from(users).expect("there are fewer clients"), pages, paced }
    }

    /// How many boxes are before a client.
    pub(super) fn level(&self, client: u32) -> u8 {
        u8::try_from(client / self.users.max(1)).expect("a chain has few boxes")
    }

    /// The client behind the next box.
    pub(super) fn behind(&self, client: u32) -> u32 {
        client + self.users
    }

    /// Whether a client is behind a box.
    pub(super) fn is_behind(&self, client: u32) -> bool {
        client >= self.users
    }

    /// What a client behind a box knows.
    fn page(&mut self, client: u32) -> Option<&mut Prefetcher> {
        let place = client.checked_sub(self.users)?;
        self.pages.get_mut(place as usize).map(|(_, page)| page)
    }
}

/// A leg for the datagrams of every terminal.
fn datagram_legs(scenario: &Scenario, legs: &mut Legs) -> Vec<u32> {
    let route = |terminal| Route { line: Line { terminal, server: 0 }, near: Place::Terminal, far: Place::Gateway };
    (0..scenario.link.terminals.max(1)).map(|terminal| legs.open_for_datagrams(route(terminal))).collect()
}

impl World<'_> {
    /// A part of a request has reached a box.
    pub(super) fn ask_box(&mut self, leg: u32, client: u32, part: Message) {
        let Exchange::Object(number) = part.exchange else { return };
        self.turn_to_page(client);
        let Some(browser) = &self.clients[client as usize].browser else { return };
        let size = self.scenario.http.request_size(&browser.page().objects[number as usize]);
        let requests = origin_of(&mut self.origins, leg);
        if !requests.receive(self.now, number, part.bytes, Work::at_once(size)) {
            return;
        }
        while let Some(answer) = requests.next_answer(self.now) {
            if let Some(browser) = &mut self.clients[client as usize].browser {
                browser.hear_address(answer.object as usize);
            }
            if let Some(page) = self.boxes.page(client) {
                page.asked(leg, answer.object as usize);
            }
        }
        self.serve_box(client);
    }

    /// A part of a response has reached the client behind a box, over a leg if it was asked for.
    pub(super) fn stock(&mut self, client: u32, leg: Option<u32>, part: Message) {
        let Some(page) = self.boxes.page(client) else { return };
        let Exchange::Object(number) = part.exchange else { return };
        page.arrived(number as usize, part.bytes);
        let source = leg.map(|leg| (leg, page.comes_over(number as usize, leg)));
        self.serve_box(client);
        if let Some((leg, asker)) = source {
            self.hold_back(leg, asker);
        }
    }

    /// What waits at the leg that has asked, the box has not read from the one over which it comes.
    fn hold_back(&mut self, leg: u32, asker: Option<u32>) {
        let backlog = asker.map_or(Bytes::ZERO, |asker| self.legs.backlog(asker, Side::Far));
        if self.legs.hold(self.now, leg, Side::Near, backlog) {
            self.touched.push_back((leg, Side::Near));
        }
    }

    /// The same when what waits at a leg has become less.
    pub(super) fn let_on(&mut self, asker: u32, client: u32) {
        let source = self.boxes.page(client).and_then(|page| page.source_of(asker));
        // Its place may be another leg's by now.
        let is_its =
            |leg: &u32| matches!(self.legs.owner(*leg, Side::Near), Owner::Browser { client: of, .. } if of == client);
        if let Some(leg) = source.filter(is_its) {
            self.hold_back(leg, Some(asker));
        }
    }

    /// A leg that ends at a box is over.
    pub(super) fn leave_box(&mut self, leg: u32, client: u32) {
        if let Some(page) = self.boxes.page(client) {
            page.left(leg);
        }
    }

    /// The page that the user of a box's client is loading becomes the box's, if it is another one than before.
    fn turn_to_page(&mut self, client: u32) {
        let user = client % self.boxes.users.max(1);
        let Some(browser) = &self.clients[user as usize].browser else { return };
        let Some((since, prefetcher)) = self.boxes.pages.get_mut((client - self.boxes.users) as usize) else { return };
        if since.replace(browser.began()) == Some(browser.began()) {
            return;
        }
        prefetcher.begin(browser.page(), &self.scenario.http);
        let page = on_demand(browser.page());
        let (station, http) = (self.station(client), self.http_of_box(client));
        if let Some(paced) = &mut self.boxes.paced {
            paced.forget(station, user);
        }
        match &mut self.clients[client as usize].browser {
            Some(browser) => browser.next_page(self.now, page),
            none => *none = Some(Box::new(Browser::new(self.now, page, http))),
        }
        self.wake(client);
    }

    /// How a box speaks to the next one, whose place it knows, or to servers. These it has to find where it is far from a resolver: at the
    /// terminal. The terminal's own resolver and one behind the gateway answer who is there in no time.
    fn http_of_box(&self, client: u32) -> HttpConfig {
        let is_far = matches!(self.chain.span(self.boxes.level(client)), Some(((Place::Terminal, ..), true)));
        let dns = if is_far && self.scenario.http.dns == Dns::Far { Dns::Far } else { Dns::None };
        HttpConfig { tls: Tls::None, dns, ..self.scenario.http }
    }

    /// The end of the paced datagrams at which the box of this client stands: the first box is the terminal's.
    fn station(&self, client: u32) -> StationId {
        match self.boxes.level(client) {
            1 => StationId { side: Side::Near, terminal: self.clients[client as usize].terminal() },
            _ => StationId { side: Side::Far, terminal: 0 },
        }
    }

    /// Does what a box wants.
    fn serve_box(&mut self, client: u32) {
        while let Some(errand) = self.boxes.page(client).and_then(Prefetcher::poll) {
            match errand {
                Errand::Fetch { object } => {
                    if let Some(browser) = &mut self.clients[client as usize].browser {
                        browser.want(object);
                    }
                    self.wake(client);
                }
                Errand::Announce { object } => self.announce(client, object),
                Errand::Push { object, bytes } => self.push(client, object, bytes),
                Errand::Answer { leg, object, bytes, is_last } => self.answer_from_box(leg, object, bytes, is_last),
            }
        }
    }

    fn answer_from_box(&mut self, leg: u32, object: usize, bytes: Bytes, is_last: bool) {
        let exchange = Exchange::Object(u32::try_from(object).expect("a page has fewer objects"));
        self.legs.write(self.now, leg, Side::Far, Message { exchange, bytes });
        if is_last && self.scenario.http.version == HttpVersion::Http10 {
            // RFC 1945 §1.3: the connection ends with the response.
            self.legs.close(self.now, leg, Side::Far);
        }
        self.touched.push_back((leg, Side::Far));
    }

    fn announce(&mut self, client: u32, object: usize) {
        let user = client % self.boxes.users.max(1);
        let Some(browser) = &self.clients[user as usize].browser else { return };
        let (name, page) = (url_bytes(browser.page(), object), browser.began());
        let terminal = self.clients[user as usize].terminal();
        let object = u32::try_from(object).expect("a page has fewer objects");
        let Some(paced) = &mut self.boxes.paced else { return };
        let (leg, packet) = paced.announce(Content { client: user, object, page, terminal }, name);
        self.transmit(leg, Side::Far, Packet::Paced(packet));
    }

    fn push(&mut self, client: u32, object: usize, bytes: Bytes) {
        let user = client % self.boxes.users.max(1);
        let object = u32::try_from(object).expect("a page has fewer objects");
        if let Some(paced) = &mut self.boxes.paced {
            paced.send(self.now, user, object, bytes);
        }
        self.drain_paced(StationId { side: Side::Far, terminal: 0 });
    }

    /// A datagram has come to one end of its leg.
    pub(super) fn hear_datagram(&mut self, leg: u32, side: Side, packet: &nack::Packet) {
        let terminal = self.legs.route(leg).line.terminal;
        let id = StationId { side, terminal };
        let Some(paced) = &mut self.boxes.paced else { return };
        match paced.named(packet) {
            Some(content) => self.hear_announcement(content),
            None => paced.handle_packet(self.now, id, packet),
        }
        self.drain_paced(id);
    }

    /// What is announced is awaited if its page is still the client's and it was not asked for already.
    fn hear_announcement(&mut self, content: Content) {
        // Terminals have the first box.
        let Some((since, page)) = self.boxes.pages.get_mut(content.client as usize) else { return };
        if *since == Some(content.page)
            && page.expect(content.object as usize)
            && let Some(paced) = &mut self.boxes.paced
        {
            paced.expect(self.now, content);
        }
    }

    /// The wake-up of an end of the paced datagrams has come.
    pub(super) fn wake_paced(&mut self, id: StationId) {
        if self.boxes.paced.as_mut().is_some_and(|paced| paced.handle_timeout(self.now, id)) {
            self.drain_paced(id);
        }
    }

    /// Takes in all that an end of the paced datagrams has to say, then sees to its timer.
    fn drain_paced(&mut self, id: StationId) {
        while let Some(said) = self.boxes.paced.as_mut().and_then(|paced| paced.poll(id)) {
            match said {
                Said::Transmit { leg, packet } => self.transmit(leg, id.side, Packet::Paced(packet)),
                Said::Received { content: Content { client, object, .. }, bytes } => {
                    let part = Message { exchange: Exchange::Object(object), bytes };
                    self.stock(self.boxes.behind(client), None, part);
                }
            }
        }
        self.network.settle(self.now, &mut self.events);
        if let Some(due) = self.boxes.paced.as_mut().and_then(|paced| paced.rearm(id)) {
            let StationId { side, terminal } = id;
            self.events.push(due, Event::Paced { side, terminal });
        }
    }
}

/// A page that its browser does not read: it asks for what it is told to.
fn on_demand(page: &Page) -> Page {
    let unnamed = |object: &Object| Object { reference: None, delay: Duration::ZERO, ..object.clone() };
    Page { objects: page.objects.iter().map(unnamed).collect(), hosts: page.hosts.clone() }
}

/// Length of an object's URL: scheme, host and path.
fn url_bytes(page: &Page, object: usize) -> Bytes {
    let object = &page.objects[object];
    Bytes::new(("http:///".len() + page.hosts[object.host].len() + object.name.len()) as u64)
}
