//! The box at the slow end.

use super::{Want, Wire};
use crate::network::Side;
use crate::trunk::Said;
use crate::trunk::tube::Mark;
use farhop_accel::planning::priority::Content;
use farhop_accel::planning::terminal::{Action, Limits, Terminal as Planner};
use farhop_accel::wire::{FlowId, Frame, ResetReason};
use farhop_units::{Bytes, Instant};
use farhop_web::{HttpVersion, Page};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// What the terminal knows.
#[derive(Debug)]
pub(super) struct TerminalBox {
    planner: Planner,
    /// The page that each client loads.
    pages: BTreeMap<u32, Arc<Page>>,
    clients: BTreeMap<u32, Client>,
    exchanges: BTreeMap<FlowId, Exchange>,
    next: u64,
    pushes: BTreeMap<FlowId, Pushed>,
    flows: BTreeMap<u32, Role>,
}

/// A client's connection: one request after the other.
#[derive(Debug, Default)]
struct Client {
    /// Bytes of the request that is coming.
    received: Bytes,
    waiting: VecDeque<Want>,
    exchange: Option<FlowId>,
    /// Written to the connection.
    written: u64,
    /// Bytes of bodies that were written up to a place and are not known to have been sent, and the flows that brought them.
    unread: VecDeque<(u64, u32, Bytes)>,
}

/// A request being answered.
#[derive(Debug)]
struct Exchange {
    leg: u32,
    object: u32,
}

/// A push whose response has begun.
#[derive(Debug)]
struct Pushed {
    flow: u32,
    held: Bytes,
    has_ended: bool,
    /// The exchange that it answers.
    exchange: Option<FlowId>,
}

/// What a flow is to the terminal.
#[derive(Debug, Clone, Copy)]
enum Role {
    Exchange(FlowId),
    Push(FlowId),
}

impl TerminalBox {
    pub(super) fn new() -> Self {
        Self {
            planner: Planner::new(Limits::default()),
            pages: BTreeMap::new(),
            clients: BTreeMap::new(),
            exchanges: BTreeMap::new(),
            next: 0,
            pushes: BTreeMap::new(),
            flows: BTreeMap::new(),
        }
    }

    /// The page of a client, kept from the request for its document on.
    pub(super) fn page_of(&mut self, client: u32, object: usize, page: &Page) -> Arc<Page> {
        if object == 0 {
            self.pages.remove(&client);
        }
        Arc::clone(self.pages.entry(client).or_insert_with(|| Arc::new(page.clone())))
    }

    pub(super) fn asked(&mut self, now: Instant, wire: &mut Wire, leg: u32, want: Want, bytes: Bytes) {
        let client = self.clients.entry(leg).or_default();
        client.received += bytes;
        let size = wire.http.request_size(&want.page.objects[want.object]);
        if client.received >= size {
            client.received -= size;
            client.waiting.push_back(want);
            self.next_request(now, wire, leg);
        }
    }

    /// Turns to a client's next request if there is none.
    fn next_request(&mut self, now: Instant, wire: &mut Wire, leg: u32) {
        let Some(client) = self.clients.get_mut(&leg).filter(|client| client.exchange.is_none()) else { return };
        let Some(want) = client.waiting.pop_front() else { return };
        let flow = FlowId(self.next);
        self.next += 2;
        client.exchange = Some(flow);
        let object = u32::try_from(want.object).expect("a page has fewer objects");
        self.exchanges.insert(flow, Exchange { leg, object });
        let (address, request) = (address(want.client), want.request());
        wire.wants.insert(flow, want);
        self.planner.handle_request(now, flow, address, request);
        self.act(now, wire);
    }

    /// Does what the planner says.
    fn act(&mut self, now: Instant, wire: &mut Wire) {
        while let Some(action) = self.planner.poll() {
            match action {
                Action::Forward { flow } => self.forward(now, wire, flow),
                Action::Answer { flow, push } => self.answer(now, wire, flow, push),
                Action::Discard { push } => self.discard(now, wire, push),
            }
        }
    }

    fn forward(&mut self, now: Instant, wire: &mut Wire, flow: FlowId) {
        let Some(want) = wire.wants.get(&flow) else { return };
        let head = want.request();
        let more = want.more_of_request(&wire.http, &head);
        let number = wire.tube.open_flow(now, Side::Near, Content::Requested);
        self.flows.insert(number, Role::Exchange(flow));
        wire.send_with(now, Side::Near, number, Frame::Request { flow, head }, more);
        wire.tube.consumed(now, Side::Near, number, Bytes::ZERO);
    }

    fn answer(&mut self, now: Instant, wire: &mut Wire, flow: FlowId, push: FlowId) {
        let Some(pushed) = self.pushes.get_mut(&push) else { return };
        pushed.exchange = Some(flow);
        let (number, held, has_ended) = (pushed.flow, core::mem::take(&mut pushed.held), pushed.has_ended);
        wire.tube.consumed(now, Side::Near, number, Bytes::ZERO);
        self.reply_head(wire, flow);
        self.reply(wire, flow, number, held);
        if has_ended {
            self.end(now, wire, flow, number);
        }
    }

    fn discard(&mut self, now: Instant, wire: &mut Wire, push: FlowId) {
        wire.wants.remove(&push);
        let Some(pushed) = self.pushes.remove(&push) else { return };
        self.flows.remove(&pushed.flow);
        let reset = Frame::Reset { flow: push, reason: ResetReason::Cancelled };
        let size = reset.encode().iter().map(|part| part.len() as u64).sum();
        wire.tube.send_whole(now, Side::Near, pushed.flow, Mark::Reset, Bytes::new(size));
        wire.tube.close(now, Side::Near, pushed.flow);
    }

    /// A frame has come from the gateway.
    pub(super) fn hear(&mut self, now: Instant, wire: &mut Wire, number: u32, mark: Mark) {
        if let Mark::Head(place) = mark {
            let frame = wire.take(place);
            self.hear_head(now, wire, number, frame);
            return self.act(now, wire);
        }
        let Some(role) = self.flows.get(&number).copied() else { return };
        match (mark, role) {
            (Mark::Data(bytes), Role::Exchange(flow)) => self.reply(wire, flow, number, bytes),
            (Mark::Data(bytes), Role::Push(push)) => self.pushed(wire, number, push, bytes),
            (Mark::End, Role::Exchange(flow)) => self.end(now, wire, flow, number),
            (Mark::End, Role::Push(push)) => {
                let Some(pushed) = self.pushes.get_mut(&push) else { return };
                pushed.has_ended = true;
                if let Some(flow) = pushed.exchange {
                    self.end(now, wire, flow, number);
                }
            }
            (Mark::Connect | Mark::Head(_) | Mark::Credit(_) | Mark::Reset, _) => {}
        }
        self.act(now, wire);
    }

    fn hear_head(&mut self, now: Instant, wire: &mut Wire, number: u32, frame: Frame) {
        match frame {
            Frame::Announce { page, push, url } => self.planner.handle_announce(now, page, push, &url),
            Frame::Response { flow, head } if is_push(flow) => {
                self.flows.insert(number, Role::Push(flow));
                let pushed = Pushed { flow: number, held: Bytes::ZERO, has_ended: false, exchange: None };
                self.pushes.insert(flow, pushed);
                self.planner.handle_response(now, flow, head);
            }
            Frame::Response { flow, .. } => self.reply_head(wire, flow),
            _ => {}
        }
    }

    fn pushed(&mut self, wire: &mut Wire, number: u32, push: FlowId, bytes: Bytes) {
        let Some(pushed) = self.pushes.get_mut(&push) else { return };
        match pushed.exchange {
            Some(flow) => self.reply(wire, flow, number, bytes),
            None => {
                pushed.held += bytes;
                self.planner.handle_bytes(push, bytes);
            }
        }
    }

    /// The head of a response goes to its client, as long as the scenario says.
    fn reply_head(&mut self, wire: &mut Wire, flow: FlowId) {
        let Some(want) = wire.wants.get(&flow) else { return };
        let bytes = wire.http.header_size(&want.page.objects[want.object]);
        self.write(wire, flow, bytes);
    }

    /// Bytes of a body go to their client; the flow is granted more when the client's connection has taken them.
    fn reply(&mut self, wire: &mut Wire, flow: FlowId, number: u32, bytes: Bytes) {
        if bytes == Bytes::ZERO {
            return;
        }
        self.write(wire, flow, bytes);
        let leg = self.exchanges.get(&flow).map(|exchange| exchange.leg);
        if let Some(client) = leg.and_then(|leg| self.clients.get_mut(&leg)) {
            client.unread.push_back((client.written, number, bytes));
        }
    }

    fn write(&mut self, wire: &mut Wire, flow: FlowId, bytes: Bytes) {
        let Some(Exchange { leg, object }) = self.exchanges.get(&flow) else { return };
        if let Some(client) = self.clients.get_mut(leg) {
            client.written += bytes.get();
            wire.say(Side::Near, Said::Reply { leg: *leg, object: *object, bytes });
        }
    }

    /// A response is complete.
    fn end(&mut self, now: Instant, wire: &mut Wire, flow: FlowId, number: u32) {
        if let Some(Role::Push(push)) = self.flows.remove(&number) {
            self.pushes.remove(&push);
            wire.wants.remove(&push);
        }
        wire.wants.remove(&flow);
        wire.tube.close(now, Side::Near, number);
        wire.tube.forget(number);
        self.planner.handle_ended(now, flow);
        let Some(Exchange { leg, .. }) = self.exchanges.remove(&flow) else { return };
        if let Some(client) = self.clients.get_mut(&leg) {
            client.exchange = None;
            if wire.http.version == HttpVersion::Http10 {
                wire.say(Side::Near, Said::CloseClient { leg });
            }
        }
        self.next_request(now, wire, leg);
    }

    /// The client at a leg has gone; what it asked for it does not want any more.
    pub(super) fn left(&mut self, now: Instant, wire: &mut Wire, leg: u32) {
        let Some(client) = self.clients.remove(&leg) else { return };
        for (_, number, bytes) in client.unread {
            wire.tube.consumed(now, Side::Near, number, bytes);
        }
        if let Some(flow) = client.exchange {
            self.exchanges.remove(&flow);
            self.planner.handle_ended(now, flow);
            self.act(now, wire);
        }
    }

    pub(super) fn set_backlog(&mut self, now: Instant, wire: &mut Wire, leg: u32, backlog: Bytes) -> bool {
        let Some(client) = self.clients.get_mut(&leg) else { return false };
        let sent = client.written.saturating_sub(backlog.get());
        let before = client.unread.len();
        while let Some((_, number, bytes)) = client.unread.pop_front_if(|(end, ..)| *end <= sent) {
            wire.tube.consumed(now, Side::Near, number, bytes);
        }
        client.unread.len() < before
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, wire: &mut Wire) {
        if self.planner.next_timeout().is_some_and(|due| due <= now) {
            self.planner.handle_timeout(now);
            self.act(now, wire);
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.planner.next_timeout()
    }
}

/// Odd, as flows are that the gateway opens.
fn is_push(flow: FlowId) -> bool {
    flow.0 % 2 == 1
}

/// Clients have addresses of their own, so that nobody is answered with what another one was pushed.
fn address(client: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(client))
}
