//! The terminal's side: which requests to hold for a push, answer from it, or forward.
//!
//! A push answers one request of the client whose page announced it, once, and the newest of several answers. A request is held while its push is on the way and
//! forwarded when the push fails, does not match after all, or takes too long. What nobody asks for is given up after a while, or when
//! memory runs out, the last announced first: it is the furthest from being needed.
//! Leaves out: a store that answers more than once.

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
    /// How long a push waits for a request.
    pub keep: Duration,
}

impl Default for Limits {
    /// 64 MB are twenty pages at the median (Web Almanac 2025: 2.9 MB); a hold is longer than any server that will still answer usually
    /// takes; a minute is longer than a page takes to load on a link on which that matters.
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
    pushes: BTreeMap<FlowId, Push>,
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
            pushes: BTreeMap::new(),
            unclaimed: BTreeMap::new(),
            unclaimed_bytes: Bytes::ZERO,
            gone: BTreeSet::new(),
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
        let page = self.pages.get(&page);
        let made = page.and_then(|page| Some((page.client, prefetch::request_for(&page.request, url)?)));
        let Some((client, made)) = made else { return self.discard(push) };
        let announced = Announced { client, made };
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
    pub fn handle_ended(&mut self, flow: FlowId) {
        self.pages.remove(&flow);
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
        let due = self.pushes.iter().filter(|(_, push)| push.deadline <= now).map(|(push, _)| *push);
        for push in due.collect::<Vec<_>>() {
            self.release(push);
            self.actions.push_back(Action::Discard { push });
        }
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.pushes.values().map(|push| push.deadline).min()
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
                has_room.then(|| place.insert(unknown))
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
        known.deadline = now + self.limits.hold;
        match known.response {
            Some(_) => self.decide(push, waiter),
            None => known.waiter = Some(waiter),
        }
    }

    /// The push's response is known: answer the request with it, or forward.
    fn decide(&mut self, push: FlowId, Waiter { flow, request }: Waiter) {
        let Some(Push { announced: Some(announced), response, .. }) = self.pushes.remove(&push) else { return };
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
        let known = self.pushes.remove(&push)?;
        // Claimed pushes were taken from the count when they were claimed.
        if known.waiter.is_none() {
            self.unclaimed_bytes -= known.held;
        }
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
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue, StatusCode, header};
    use proptest::prelude::*;

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
    const PAGE: FlowId = FlowId(0);
    const PUSH: FlowId = FlowId(1);
    const ASKED: FlowId = FlowId(2);

    fn get(path: &str) -> RequestHead {
        let url = Url::parse("http://a.example/").unwrap().join(path).unwrap();
        RequestHead::get(url, HeaderMap::new()).unwrap()
    }

    fn ok() -> ResponseHead {
        ResponseHead { status: StatusCode::OK, headers: HeaderMap::new() }
    }

    fn at(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    fn actions(terminal: &mut Terminal) -> Vec<Action> {
        std::iter::from_fn(|| terminal.poll()).collect()
    }

    /// A terminal that forwarded a page and was told that `parts` will be pushed as flows 1, 3, 5, ….
    fn announced(parts: &[&str]) -> Terminal {
        let limits = Limits { memory: Bytes::new(100), ..Limits::default() };
        let mut terminal = Terminal::new(limits);
        terminal.handle_request(at(0), PAGE, CLIENT, get("/"));
        assert_eq!(actions(&mut terminal), [Action::Forward { flow: PAGE }]);
        for (index, part) in (0..).zip(parts) {
            terminal.handle_announce(at(0), PAGE, FlowId(1 + 2 * index), &get(part).url);
        }
        assert_eq!(actions(&mut terminal), []);
        terminal
    }

    #[test]
    fn a_request_is_held_until_its_push_begins() {
        let mut terminal = announced(&["a.png"]);
        terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
        assert_eq!(actions(&mut terminal), []);
        terminal.handle_response(at(1), PUSH, ok());
        assert_eq!(actions(&mut terminal), [Action::Answer { flow: ASKED, push: PUSH }]);
    }

    #[test]
    fn a_push_that_is_there_answers_at_once_and_once() {
        let mut terminal = announced(&["a.png"]);
        terminal.handle_response(at(1), PUSH, ok());
        terminal.handle_bytes(PUSH, Bytes::new(10));
        terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
        terminal.handle_request(at(1), FlowId(4), CLIENT, get("a.png"));
        let expected = [Action::Answer { flow: ASKED, push: PUSH }, Action::Forward { flow: FlowId(4) }];
        assert_eq!(actions(&mut terminal), expected);
        assert_eq!(terminal.unclaimed_bytes(), Bytes::ZERO);
    }

    #[test]
    fn nobody_else_is_answered() {
        let mut terminal = announced(&["a.png"]);
        terminal.handle_response(at(1), PUSH, ok());
        terminal.handle_request(at(1), ASKED, OTHER, get("a.png"));
        assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
    }

    #[test]
    fn a_different_request_is_forwarded() {
        let mut terminal = announced(&["a.png"]);
        let mut ranged = get("a.png");
        ranged.headers.insert(header::RANGE, HeaderValue::from_static("bytes=0-1"));
        terminal.handle_request(at(1), ASKED, CLIENT, ranged);
        assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
    }

    #[test]
    fn a_response_that_varies_otherwise_is_not_used() {
        let mut terminal = announced(&["a.png"]);
        let mut request = get("a.png");
        request.headers.insert(header::ACCEPT, HeaderValue::from_static("image/webp"));
        terminal.handle_request(at(1), ASKED, CLIENT, request);
        let mut response = ok();
        response.headers.insert(header::VARY, HeaderValue::from_static("accept"));
        terminal.handle_response(at(1), PUSH, response);
        let expected = [Action::Forward { flow: ASKED }, Action::Discard { push: PUSH }];
        assert_eq!(actions(&mut terminal), expected);
    }

    #[test]
    fn a_push_that_fails_lets_the_request_go() {
        let mut terminal = announced(&["a.png"]);
        terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
        terminal.handle_failed(PUSH);
        assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
        terminal.handle_response(at(1), PUSH, ok());
        assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }], "what comes later is not wanted");
    }

    #[test]
    fn a_request_is_held_only_so_long() {
        let mut terminal = announced(&["a.png"]);
        terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
        assert_eq!(terminal.next_timeout(), Some(at(21)));
        terminal.handle_timeout(at(20));
        assert_eq!(actions(&mut terminal), []);
        terminal.handle_timeout(at(21));
        let expected = [Action::Forward { flow: ASKED }, Action::Discard { push: PUSH }];
        assert_eq!(actions(&mut terminal), expected);
    }

    #[test]
    fn what_nobody_asks_for_is_given_up() {
        let mut terminal = announced(&["a.png"]);
        terminal.handle_response(at(1), PUSH, ok());
        terminal.handle_bytes(PUSH, Bytes::new(10));
        terminal.handle_timeout(at(60));
        assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }]);
        assert_eq!((terminal.unclaimed_bytes(), terminal.next_timeout()), (Bytes::ZERO, None));
    }

    #[test]
    fn memory_is_kept_for_what_is_needed_first() {
        let mut terminal = announced(&["a.png", "b.png", "c.png"]);
        for push in [1, 3, 5].map(FlowId) {
            terminal.handle_bytes(push, Bytes::new(40));
        }
        assert_eq!(actions(&mut terminal), [Action::Discard { push: FlowId(5) }]);
        terminal.handle_request(at(1), ASKED, CLIENT, get("c.png"));
        assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
    }

    #[test]
    fn an_unknown_page_announces_nothing() {
        let mut terminal = announced(&[]);
        terminal.handle_ended(PAGE);
        terminal.handle_announce(at(0), PAGE, PUSH, &get("a.png").url);
        assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }]);
    }

    #[test]
    fn a_push_may_overtake_its_announcement() {
        let mut terminal = announced(&[]);
        terminal.handle_response(at(0), PUSH, ok());
        terminal.handle_bytes(PUSH, Bytes::new(10));
        assert_eq!(terminal.unclaimed_bytes(), Bytes::new(10));
        terminal.handle_announce(at(0), PAGE, PUSH, &get("a.png").url);
        terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
        assert_eq!(actions(&mut terminal), [Action::Answer { flow: ASKED, push: PUSH }]);
        assert_eq!(terminal.unclaimed_bytes(), Bytes::ZERO);
    }

    #[test]
    fn a_push_that_fails_in_the_middle_is_dropped_before_anybody_asks() {
        let mut terminal = announced(&["a.png"]);
        terminal.handle_response(at(1), PUSH, ok());
        terminal.handle_bytes(PUSH, Bytes::new(10));
        terminal.handle_failed(PUSH);
        assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }], "the shell still has its first bytes");
    }

    #[test]
    fn a_reloaded_page_brings_its_own_parts() {
        let mut terminal = announced(&["a.png", "a.png"]);
        [PUSH, FlowId(3)].into_iter().for_each(|push| terminal.handle_response(at(0), push, ok()));
        terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
        let expected = [Action::Discard { push: PUSH }, Action::Answer { flow: ASKED, push: FlowId(3) }];
        assert_eq!(actions(&mut terminal), expected, "the newest answers, and nothing older after it");
    }

    #[test]
    fn an_announcement_that_comes_after_its_push_failed_holds_nothing() {
        let mut terminal = announced(&[]);
        terminal.handle_failed(PUSH);
        terminal.handle_announce(at(0), PAGE, PUSH, &get("a.png").url);
        terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
        assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
    }

    #[test]
    fn a_new_tunnel_may_use_the_numbers_of_the_old() {
        let mut terminal = announced(&["a.png"]);
        terminal.handle_tunnel_lost();
        assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }]);
        terminal.handle_announce(at(1), PAGE, PUSH, &get("b.png").url);
        terminal.handle_response(at(1), PUSH, ok());
        terminal.handle_request(at(1), ASKED, CLIENT, get("b.png"));
        assert_eq!(actions(&mut terminal), [Action::Answer { flow: ASKED, push: PUSH }]);
    }

    #[test]
    fn a_client_that_goes_frees_its_push() {
        let mut terminal = announced(&["a.png"]);
        terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
        terminal.handle_ended(ASKED);
        assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }]);
    }

    #[test]
    fn clearing_forwards_what_is_held() {
        let mut terminal = announced(&["a.png", "b.png"]);
        terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
        terminal.clear();
        let [discard_a, discard_b] = [PUSH, FlowId(3)].map(|push| Action::Discard { push });
        assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }, discard_a, discard_b]);
    }

    proptest! {
        #[test]
        fn every_request_gets_exactly_one_decision_in_the_end(steps in prop::collection::vec((0_u8..7, 0_u64..6), 1..80)) {
            let mut terminal = announced(&[]);
            let paths = ["a", "b", "c"];
            let (mut asked, mut decided) = (0_u64, Vec::new());
            for (now, (step, number)) in (1..).zip(steps) {
                let (push, path) = (FlowId(1 + 2 * number), get(paths[number as usize % 3]));
                match step {
                    0 => {
                        asked += 1;
                        let client = if number == 5 { OTHER } else { CLIENT };
                        terminal.handle_request(at(now), FlowId(2 * asked), client, path);
                    }
                    1 => terminal.handle_announce(at(now), PAGE, FlowId(1 + 2 * now), &path.url),
                    2 => terminal.handle_response(at(now), push, ok()),
                    3 => terminal.handle_bytes(push, Bytes::new(30)),
                    4 => terminal.handle_failed(push),
                    5 => terminal.handle_timeout(at(now + number)),
                    _ => terminal.clear(),
                }
                prop_assert!(terminal.unclaimed_bytes() <= terminal.limits.memory);
                decided.extend(actions(&mut terminal));
            }
            terminal.handle_timeout(at(10_000));
            decided.extend(actions(&mut terminal));
            let flow = |action: &Action| match action {
                Action::Answer { flow, .. } | Action::Forward { flow } => Some(flow.0),
                Action::Discard { .. } => None,
            };
            let mut decided: Vec<u64> = decided.iter().filter_map(flow).collect();
            decided.sort_unstable();
            prop_assert_eq!(decided, (1..=asked).map(|i| 2 * i).collect::<Vec<_>>());
        }
    }
}
