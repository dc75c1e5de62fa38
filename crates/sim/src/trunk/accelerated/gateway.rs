//! What the box at the fast end does for one terminal.

use super::page::{reference, request_bytes};
use super::{Fetching, Want, Wire};
use crate::network::Side;
use crate::slab::Slab;
use crate::trunk::Said;
use crate::trunk::tube::Mark;
use farhop_accel::head::RequestHead;
use farhop_accel::planning::gateway::{Gateway as Planner, Limits, Page, Prefetch};
use farhop_accel::planning::priority::Content;
use farhop_accel::tunnel::FETCHES_PER_PAGE;
use farhop_accel::wire::{FlowId, Frame, varint_bytes};
use farhop_units::{Bytes, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long a connection to a server is kept without a request, as `crates/proxy` has it.
const KEEP_IDLE: Duration = Duration::from_secs(15);

/// What the gateway knows of one terminal.
#[derive(Debug)]
pub(super) struct GatewayBox {
    planner: Planner,
    fetches: Slab<Fetch>,
    /// The fetch that goes over a leg, and the one that a flow carries on.
    legs: BTreeMap<u32, u32>,
    flows: BTreeMap<u32, u32>,
    /// Legs to each server without a request, the longest idle first.
    idle: BTreeMap<u32, VecDeque<(Instant, u32)>>,
    /// What has come over legs and was not read.
    arrived: VecDeque<(u32, Bytes)>,
    /// Parts of pages that are fetched and those that wait for that.
    pages: BTreeMap<FlowId, Parts>,
}

#[derive(Debug, Default)]
struct Parts {
    under_way: usize,
    waiting: VecDeque<u32>,
}

/// A request on its way to its server, and its response on the way back.
#[derive(Debug)]
struct Fetch {
    want: Want,
    request: RequestHead,
    /// What its request takes beyond this head.
    more: Bytes,
    /// What the flow that carries the response is called, and its number.
    name: FlowId,
    flow: Option<u32>,
    /// Of a push: the page that it belongs to, as long as it counts there, and its place.
    page_of: Option<FlowId>,
    content: Content,
    leg: Option<u32>,
    server: u32,
    /// Bytes of the response's head that have not come, and of its body in all.
    head: Bytes,
    body: Bytes,
    /// The head has come, which may be counted with the body.
    has_head: bool,
    /// Bytes of the body that have come.
    read: Bytes,
    /// If it is a document: what it names and has not been read.
    page: Option<Page>,
    references: VecDeque<(Bytes, usize)>,
    /// Read and not taken by the flow.
    backlog: Bytes,
    /// Of a push that nobody wants.
    is_cancelled: bool,
}

impl GatewayBox {
    pub(super) fn new() -> Self {
        Self {
            planner: Planner::new(Limits::default()),
            fetches: Slab::new(),
            legs: BTreeMap::new(),
            flows: BTreeMap::new(),
            idle: BTreeMap::new(),
            arrived: VecDeque::new(),
            pages: BTreeMap::new(),
        }
    }

    /// A frame has come from the terminal.
    pub(super) fn hear(&mut self, now: Instant, wire: &mut Wire, number: u32, mark: Mark) {
        match mark {
            Mark::Head(place) => {
                if let Frame::Request { flow, head } = wire.take(place)
                    && let Some(want) = wire.wants.get(&flow).cloned()
                {
                    wire.tube.set_content(now, Side::Far, number, self.planner.handle_request(&head));
                    let more = want.more_of_request(&wire.http, &head);
                    let fetch = self.add(wire, Fetch { more, ..Fetch::new(want, head, flow, Some(number)) });
                    self.flows.insert(number, fetch);
                    wire.say(Side::Far, self.go(fetch));
                }
            }
            Mark::Reset => self.cancel(now, wire, number),
            Mark::Connect | Mark::Data(_) | Mark::End | Mark::Credit(_) => {}
        }
    }

    fn add(&mut self, wire: &Wire, fetch: Fetch) -> u32 {
        let object = &fetch.want.page.objects[fetch.want.object];
        let (head, body) = (wire.http.header_size(object), object.size);
        self.fetches.insert(Fetch { head, body, ..fetch })
    }

    /// Asks the server.
    fn go(&self, fetch: u32) -> Said {
        let Want { client, page, object, .. } = &self.fetches[fetch].want;
        Said::Fetch { fetch, client: *client, host: page.objects[*object].host }
    }

    pub(super) fn goes_over(&mut self, fetch: u32, leg: u32, server: u32) {
        (self.fetches[fetch].leg, self.fetches[fetch].server) = (Some(leg), server);
        self.legs.insert(leg, fetch);
    }

    /// The leg to a server that became idle last, and those that have been idle for too long.
    pub(super) fn take_idle(&mut self, now: Instant, server: u32) -> (Option<u32>, Vec<u32>) {
        let Some(idle) = self.idle.get_mut(&server) else { return Default::default() };
        let is_old = |(since, _): &mut (Instant, u32)| *since + KEEP_IDLE <= now;
        let old = core::iter::from_fn(|| idle.pop_front_if(is_old)).map(|(_, leg)| leg).collect();
        (idle.pop_back().map(|(_, leg)| leg), old)
    }

    pub(super) fn fetching(&self, wire: &Wire, leg: u32) -> Option<Fetching> {
        let Fetch { want, request, more, .. } = &self.fetches[*self.legs.get(&leg)?];
        let object = &want.page.objects[want.object];
        let response = wire.http.header_size(object) + object.size;
        Some(Fetching { request: request_bytes(request) + *more, response, think: object.think })
    }

    /// Bytes of a response have come from a server.
    pub(super) fn fetched(&mut self, leg: u32, bytes: Bytes) {
        match self.arrived.iter_mut().find(|(of, _)| *of == leg) {
            Some((_, arrived)) => *arrived += bytes,
            None => self.arrived.push_back((leg, bytes)),
        }
    }

    /// Whether something has come and was not read.
    pub(super) fn has_work(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Reads what has come.
    pub(super) fn wake(&mut self, now: Instant, wire: &mut Wire) {
        while let Some((leg, bytes)) = self.arrived.pop_front() {
            self.take(now, wire, leg, bytes);
        }
    }

    fn take(&mut self, now: Instant, wire: &mut Wire, leg: u32, bytes: Bytes) {
        let Some(&number) = self.legs.get(&leg) else { return };
        let fetch = &mut self.fetches[number];
        let head = fetch.head.min(bytes);
        fetch.head -= head;
        if fetch.head > Bytes::ZERO {
            // A part of a head is read, too: nothing else would make room for the rest.
            wire.say(Side::Far, Said::Hold { leg, side: Side::Near, unread: Bytes::ZERO });
            return;
        }
        if !core::mem::replace(&mut fetch.has_head, true) {
            self.respond(now, wire, number);
        }
        self.read(now, wire, number, bytes - head);
        let fetch = &mut self.fetches[number];
        if fetch.read == fetch.body {
            fetch.leg = None;
            self.legs.remove(&leg);
            self.idle.entry(fetch.server).or_default().push_back((now, leg));
            wire.say(Side::Far, Said::Hold { leg, side: Side::Near, unread: Bytes::ZERO });
        }
        self.carry_on(now, wire, number);
    }

    /// The head of the response is there.
    fn respond(&mut self, now: Instant, wire: &mut Wire, number: u32) {
        let fetch = &mut self.fetches[number];
        if fetch.is_cancelled {
            return;
        }
        let head = fetch.want.response();
        let flow = match fetch.flow {
            Some(flow) => {
                fetch.page = Page::new(fetch.name, &fetch.request, &head);
                if fetch.page.is_some() {
                    fetch.references = fetch.want.references().into();
                }
                flow
            }
            None => {
                let flow = wire.tube.open_flow(now, Side::Far, fetch.content);
                fetch.flow = Some(flow);
                self.flows.insert(flow, number);
                flow
            }
        };
        let more = fetch.want.more_of_response(&wire.http, &head);
        wire.send_with(now, Side::Far, flow, Frame::Response { flow: fetch.name, head }, more);
    }

    /// Bytes of a body: what they name is announced ahead of them.
    fn read(&mut self, now: Instant, wire: &mut Wire, number: u32, bytes: Bytes) {
        let fetch = &mut self.fetches[number];
        fetch.read += bytes;
        fetch.backlog += bytes;
        let read = fetch.read;
        while let Some((_, object)) = self.fetches[number].references.pop_front_if(|(end, _)| *end <= read) {
            self.announce(now, wire, number, object);
        }
    }

    fn announce(&mut self, now: Instant, wire: &mut Wire, number: u32, object: usize) {
        let fetch = &mut self.fetches[number];
        let (Some(page), Some(flow)) = (&mut fetch.page, fetch.flow) else { return };
        let Some(reference) = reference(&fetch.want.page, object) else { return };
        let Some(prefetch) = self.planner.handle_reference(page, &reference) else { return };
        let want = Want { object, ..fetch.want.clone() };
        let name = fetch.name;
        wire.send(now, Side::Far, flow, prefetch.announcement());
        wire.wants.insert(prefetch.push, want.clone());
        let Prefetch { push, request, content, .. } = prefetch;
        let part = Fetch { page_of: Some(name), content, ..Fetch::new(want, request, push, None) };
        let part = self.add(wire, part);
        let parts = self.pages.entry(name).or_default();
        if parts.under_way < FETCHES_PER_PAGE {
            parts.under_way += 1;
            wire.say(Side::Far, self.go(part));
        } else {
            parts.waiting.push_back(part);
        }
    }

    /// A flow takes more.
    pub(super) fn resume(&mut self, now: Instant, wire: &mut Wire, flow: u32) {
        if let Some(&number) = self.flows.get(&flow) {
            self.carry_on(now, wire, number);
        }
    }

    /// Gives a response's flow what it takes, and ends it when that is all.
    fn carry_on(&mut self, now: Instant, wire: &mut Wire, number: u32) {
        let fetch = &mut self.fetches[number];
        if fetch.is_cancelled {
            fetch.backlog = Bytes::ZERO;
        } else if let Some(flow) = fetch.flow.filter(|_| fetch.backlog > Bytes::ZERO) {
            fetch.backlog -= wire.tube.write(Side::Far, flow, fetch.backlog);
            if wire.tube.lacks_credit(Side::Far, flow) {
                // Goes on when somebody asks for it; the parts behind it must not wait for that.
                self.release(wire, number);
            }
        }
        let fetch = &self.fetches[number];
        if let Some(leg) = fetch.leg {
            wire.say(Side::Far, Said::Hold { leg, side: Side::Near, unread: fetch.backlog });
        }
        if fetch.head == Bytes::ZERO && fetch.read == fetch.body && fetch.backlog == Bytes::ZERO {
            self.end(now, wire, number);
        }
    }

    fn end(&mut self, now: Instant, wire: &mut Wire, number: u32) {
        self.release(wire, number);
        let Fetch { flow, read, content, is_cancelled, .. } = &self.fetches[number];
        if let (Some(flow), false) = (*flow, *is_cancelled) {
            wire.tube.send(now, Side::Far, flow, Mark::End, varint_bytes(read.get()));
            wire.tube.close(now, Side::Far, flow);
            self.flows.remove(&flow);
        }
        if matches!(content, Content::Pushed { .. }) {
            self.planner.handle_push_ended();
        }
        self.fetches.release(number);
    }

    /// A part does not count among those of its page that are fetched any more; the next one may go.
    fn release(&mut self, wire: &mut Wire, number: u32) {
        let Some(page) = self.fetches[number].page_of.take() else { return };
        let Some(parts) = self.pages.get_mut(&page) else { return };
        if let Some(next) = parts.waiting.pop_front() {
            wire.say(Side::Far, self.go(next));
            return;
        }
        parts.under_way -= 1;
        if parts.under_way == 0 {
            self.pages.remove(&page);
        }
    }

    /// The terminal does not want a push.
    fn cancel(&mut self, now: Instant, wire: &mut Wire, flow: u32) {
        if let Some(number) = self.flows.remove(&flow) {
            self.fetches[number].is_cancelled = true;
            wire.tube.close(now, Side::Far, flow);
            self.carry_on(now, wire, number);
        }
        wire.tube.forget(flow);
    }
}

impl Fetch {
    fn new(want: Want, request: RequestHead, name: FlowId, flow: Option<u32>) -> Self {
        Self {
            want,
            request,
            more: Bytes::ZERO,
            name,
            flow,
            page_of: None,
            content: Content::Requested,
            leg: None,
            server: 0,
            head: Bytes::ZERO,
            body: Bytes::ZERO,
            has_head: false,
            read: Bytes::ZERO,
            page: None,
            references: VecDeque::new(),
            backlog: Bytes::ZERO,
            is_cancelled: false,
        }
    }
}
