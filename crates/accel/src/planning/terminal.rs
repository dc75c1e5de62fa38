//! The terminal's side: which requests to hold for a push, answer from it, or forward.
//!
//! A push answers one request of the client whose page announced it, once, and the newest of several answers. A request is held while its push is on the way and
//! forwarded when the push fails, does not match after all, or takes too long. What nobody asks for is given up a while after its page was last
//! read, or when memory runs out, the last announced first: it is the furthest from being needed.
//! Leaves out: a store that answers more than once.

use super::interest::Interest;
use super::prefetch;
use crate::head::{RequestHead, ResponseHead};
use crate::wire::FlowId;
use farhop_units::{Bytes, Instant};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;
use url::Url;

/// Bounds of what a terminal keeps and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory for pushes nobody has asked for yet.
    pub memory: Bytes,
    /// Pushes, asked for or not.
    pub pushes: usize,
    /// How long a request waits for its push's response to begin.
    pub hold: Duration,
    /// How long a push waits for a request when its client reads nothing of the page any more.
    pub keep: Duration,
}

impl Default for Limits {
    /// 64 MB are twenty pages at the median (Web Almanac 2025: 2.9 MB); a hold is longer than any server that will still answer usually
    /// takes; a minute is longer than a browser takes to ask for what a page needs.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { memory: Bytes::new(64_000_000), pushes: 8192, hold: seconds(20), keep: seconds(60) }
    }
}

/// What the shell shall do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Answer the client's request `flow` with the response that `push` carries.
    Answer {
        /// The request.
        flow: FlowId,
        /// The push.
        push: FlowId,
    },
    /// Send the client's request `flow` through the tunnel.
    Forward {
        /// The request.
        flow: FlowId,
    },
    /// Drop what came of `push` and tell the gateway that the rest is not wanted.
    Discard {
        /// The push.
        push: FlowId,
    },
}

/// What the terminal knows about pages and pushes.
#[derive(Debug)]
pub struct Terminal {
    limits: Limits,
    pages: BTreeMap<FlowId, Page>,
    interest: Interest,
    pushes: BTreeMap<FlowId, Push>,
    /// Of each, the deadline: asked for after everything that happens, and there may be thousands.
    deadlines: BTreeSet<(Instant, FlowId)>,
    /// Pushes nobody has asked for, in the order announced.
    unclaimed: BTreeMap<(IpAddr, Url), Vec<FlowId>>,
    unclaimed_bytes: Bytes,
    /// The last pushes that were answered, failed or given up: what still comes of them is not news.
    gone: BTreeSet<FlowId>,
    actions: VecDeque<Action>,
}

/// A request that was forwarded and whose response may announce.
#[derive(Debug)]
struct Page {
    client: IpAddr,
    request: RequestHead,
}

#[derive(Debug)]
struct Push {
    /// `None` while the push is ahead of its announcement, which travels in another stream.
    announced: Option<Announced>,
    response: Option<ResponseHead>,
    held: Bytes,
    /// The request that waits for the response.
    waiter: Option<Waiter>,
    deadline: Instant,
}

#[derive(Debug)]
struct Announced {
    /// The request whose response announced it.
    page: FlowId,
    client: IpAddr,
    /// The request the gateway made.
    made: RequestHead,
}

impl Announced {
    fn key(&self) -> (IpAddr, Url) {
        (self.client, self.made.url.clone())
    }
}

#[derive(Debug)]
struct Waiter {
    flow: FlowId,
    request: RequestHead,
}

impl Terminal {
    /// Nothing known.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            pages: BTreeMap::new(),
            interest: Interest::default(),
            pushes: BTreeMap::new(),
            unclaimed: BTreeMap::new(),
            unclaimed_bytes: Bytes::ZERO,
            gone: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            actions: VecDeque::new(),
        }
    }

    /// `client` asks; the answer is an action, now or when the push it waits for is known.
    pub fn handle_request(&mut self, now: Instant, flow: FlowId, client: IpAddr, request: RequestHead) {
        self.handle_timeout(now);
        match self.claim(client, &request) {
            Some(push) => self.hold(now, push, Waiter { flow, request }),
            None => self.forward(flow, client, request),
        }
    }

    /// The gateway will push `url`, which the response to `page` refers to.
    pub fn handle_announce(&mut self, now: Instant, page: FlowId, push: FlowId, url: &Url) {
        if self.gone.contains(&push) {
            return;
        }
        let known = self.pages.get(&page);
        let made = known.and_then(|known| Some((known.client, prefetch::request_for(&known.request, url)?)));
        let Some((client, made)) = made else { return self.discard(push) };
        let announced = Announced { page, client, made };
        let key = announced.key();
        let Some(known) = self.known_or_new(now, push) else { return self.discard(push) };
        if known.announced.is_none() {
            known.announced = Some(announced);
            self.unclaimed.entry(key).or_default().push(push);
        }
    }

    /// The response that `push` carries begins.
    pub fn handle_response(&mut self, now: Instant, push: FlowId, response: ResponseHead) {
        if self.gone.contains(&push) {
            return self.discard(push);
        }
        let Some(known) = self.known_or_new(now, push) else { return self.discard(push) };
        known.response = Some(response);
        if let Some(waiter) = known.waiter.take() {
            self.decide(push, waiter);
        }
    }

    /// `count` bytes of `push` arrived.
    pub fn handle_bytes(&mut self, push: FlowId, count: Bytes) {
        let Some(known) = self.pushes.get_mut(&push) else { return };
        known.held += count;
        if known.waiter.is_none() {
            self.unclaimed_bytes += count;
        }
        while self.unclaimed_bytes > self.limits.memory && self.give_up_last() {}
    }

    /// `push` will not come, or not to its end.
    pub fn handle_failed(&mut self, push: FlowId) {
        let has_begun = self.pushes.get(&push).is_some_and(|known| known.response.is_some());
        self.release(push);
        if has_begun {
            self.actions.push_back(Action::Discard { push });
        }
    }

    /// The exchange `flow` is over: its response has ended, or the client has gone.
    pub fn handle_ended(&mut self, now: Instant, flow: FlowId) {
        self.pages.remove(&flow);
        self.interest.end(now, flow);
        let held = self.pushes.iter().find(|(_, push)| push.waiter.as_ref().is_some_and(|waiter| waiter.flow == flow));
        if let Some(push) = held.map(|(push, _)| *push) {
            self.discard(push);
        }
    }

    /// Forgets every push; requests that are held are forwarded.
    pub fn clear(&mut self) {
        let all: Vec<FlowId> = self.pushes.keys().copied().collect();
        for push in all {
            self.release(push);
            self.actions.push_back(Action::Discard { push });
        }
    }

    /// The tunnel is lost: no push will come, and the next tunnel's gateway numbers its pushes anew.
    pub fn handle_tunnel_lost(&mut self) {
        self.clear();
        self.gone.clear();
    }

    /// Does what is due by `now`: forwards what was held too long, gives up what nobody asked for.
    pub fn handle_timeout(&mut self, now: Instant) {
        let keep = self.limits.keep;
        self.interest.forget(now, keep);
        let mut due = Vec::new();
        while let Some((_, number)) = self.deadlines.first().copied().filter(|(deadline, _)| *deadline <= now) {
            self.deadlines.pop_first();
            let Some(push) = self.pushes.get_mut(&number) else { continue };
            let page = push.announced.as_ref().filter(|_| push.waiter.is_none()).map(|announced| announced.page);
            // A slow link brings the parts of a large page for longer than a push waits.
            let later = page.and_then(|page| self.interest.last(now, page)).map(|read| read + keep);
            match later.filter(|later| *later > now) {
                Some(later) => {
                    push.deadline = later;
                    self.deadlines.insert((later, number));
                }
                None => due.push(number),
            }
        }
        due.sort_unstable();
        for push in due {
            self.release(push);
            self.actions.push_back(Action::Discard { push });
        }
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The next thing to do.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Bytes of pushes nobody has asked for.
    pub fn unclaimed_bytes(&self) -> Bytes {
        self.unclaimed_bytes
    }

    /// The push's record, if there is one or room for one.
    fn known_or_new(&mut self, now: Instant, push: FlowId) -> Option<&mut Push> {
        let deadline = now + self.limits.keep;
        let has_room = self.pushes.len() < self.limits.pushes;
        match self.pushes.entry(push) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(place) => {
                let unknown = Push { announced: None, response: None, held: Bytes::ZERO, waiter: None, deadline };
                has_room.then(|| {
                    self.deadlines.insert((deadline, push));
                    place.insert(unknown)
                })
            }
        }
    }

    /// The push that `request` asks for, which from now on is not free any more.
    fn claim(&mut self, client: IpAddr, request: &RequestHead) -> Option<FlowId> {
        let candidates = self.unclaimed.get(&(client, request.url.clone()))?;
        let is_same = |push: &&FlowId| {
            let announced = self.pushes.get(push).and_then(|known| known.announced.as_ref());
            announced.is_some_and(|announced| prefetch::asks_for_the_same(request, &announced.made))
        };
        let mut same: Vec<FlowId> = candidates.iter().filter(is_same).copied().collect();
        let newest = same.pop()?;
        // What an earlier page brought must not answer after what a later one did.
        same.into_iter().for_each(|older| self.discard(older));
        self.unlist(newest);
        self.unclaimed_bytes -= self.pushes.get(&newest).map_or(Bytes::ZERO, |known| known.held);
        Some(newest)
    }

    /// From now on no request finds `push`.
    fn unlist(&mut self, push: FlowId) {
        let announced = self.pushes.get(&push).and_then(|known| known.announced.as_ref());
        let Some(key) = announced.map(Announced::key) else { return };
        let Entry::Occupied(mut candidates) = self.unclaimed.entry(key) else { return };
        candidates.get_mut().retain(|candidate| *candidate != push);
        if candidates.get().is_empty() {
            candidates.remove();
        }
    }

    fn hold(&mut self, now: Instant, push: FlowId, waiter: Waiter) {
        let Some(known) = self.pushes.get_mut(&push) else { return };
        self.deadlines.remove(&(known.deadline, push));
        known.deadline = now + self.limits.hold;
        self.deadlines.insert((known.deadline, push));
        if let Some(announced) = &known.announced {
            self.interest.begin(waiter.flow, announced.page);
        }
        match known.response {
            Some(_) => self.decide(push, waiter),
            None => known.waiter = Some(waiter),
        }
    }

    /// The push's response is known: answer the request with it, or forward.
    fn decide(&mut self, push: FlowId, Waiter { flow, request }: Waiter) {
        let Some(Push { announced: Some(announced), response, .. }) = self.take(push) else { return };
        self.remember_gone(push);
        if response.is_some_and(|head| prefetch::may_answer(&request, &announced.made, &head)) {
            self.actions.push_back(Action::Answer { flow, push });
        } else {
            self.forward(flow, announced.client, request);
            self.actions.push_back(Action::Discard { push });
        }
    }

    fn forward(&mut self, flow: FlowId, client: IpAddr, request: RequestHead) {
        if prefetch::is_page(&request) {
            self.interest.begin(flow, flow);
            self.pages.insert(flow, Page { client, request });
        }
        self.actions.push_back(Action::Forward { flow });
    }

    /// Removes a push; who waits for it is forwarded.
    fn release(&mut self, push: FlowId) {
        if let Some(Push { announced: Some(announced), waiter: Some(waiter), .. }) = self.forget(push) {
            self.forward(waiter.flow, announced.client, waiter.request);
        }
    }

    fn discard(&mut self, push: FlowId) {
        self.forget(push);
        self.actions.push_back(Action::Discard { push });
    }

    /// Removes a push; what it held is free again.
    fn forget(&mut self, push: FlowId) -> Option<Push> {
        self.remember_gone(push);
        self.unlist(push);
        let known = self.take(push)?;
        // Claimed pushes were taken from the count when they were claimed.
        if known.waiter.is_none() {
            self.unclaimed_bytes -= known.held;
        }
        Some(known)
    }

    fn take(&mut self, push: FlowId) -> Option<Push> {
        let known = self.pushes.remove(&push)?;
        self.deadlines.remove(&(known.deadline, push));
        Some(known)
    }

    fn remember_gone(&mut self, push: FlowId) {
        self.gone.insert(push);
        if self.gone.len() > self.limits.pushes {
            self.gone.pop_first();
        }
    }

    /// Gives up the last announced push that holds bytes and that nobody waits for.
    fn give_up_last(&mut self) -> bool {
        let is_free = |push: &Push| push.waiter.is_none() && push.held > Bytes::ZERO;
        let last = self.pushes.iter().rev().find(|(_, push)| is_free(push)).map(|(push, _)| *push);
        last.inspect(|push| self.discard(*push)).is_some()
    }
}

#[cfg(test)]
mod tests;
