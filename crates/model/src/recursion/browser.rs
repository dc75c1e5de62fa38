//! The browser: what it knows of, which connection carries the next request, and what every object waited for.
//!
//! Browsers' connection pools, one for each host: at most so many connections, requests wait in the order of discovery and are bound
//! late, a connection is opened for each waiting object for which none is idle or being opened. HTTP/1.0: a connection for each
//! object. Pipelining, HTTP/2 and 3: all requests go on one connection as soon as they are known; over HTTP/2 and 3 no more than so many
//! at once, and of those that wait the more urgent first.

use super::breakdown::Spans;
use super::parameters::Http;
use super::parameters::Parameters;
use super::progress::Progress;
use super::progress::Trigger;
use super::ticks::Ticks;
use super::workload::Workload;
use farhop_scenario::Records;
use farhop_units::Bytes;
use std::collections::VecDeque;

/// A response that takes many times as long as its first record.
const VERY_LONG: u64 = 1 << 24;

/// A connection as the pool sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pooled {
    pub(crate) place: usize,
    pub(crate) host: usize,
    pub(crate) ready: bool,
    pub(crate) outstanding: usize,
}

/// What the browser does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Open { host: usize },
    Request { place: usize, object: usize },
}

/// How many requests and connections there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Connections to a host.
    pub(crate) connections: usize,
    /// Requests on a connection.
    pub(crate) on_connection: usize,
    /// Requests to a host, on whatever connections.
    pub(crate) outstanding: usize,
    /// Connections carry what there is of all hosts.
    pub(crate) for_all_hosts: bool,
    /// Connections are opened before anything is asked for over those that are up ([`Parameters::opens_first`]).
    pub(crate) opens_first: bool,
}

impl Limits {
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let on_connection = parameters.most_on_connection();
        let connections = if on_connection > 1 { 1 } else { parameters.connections.max(1) };
        let for_all_hosts = parameters.reads_requests();
        let outstanding = parameters.outstanding.max(1);
        Self { connections, on_connection, outstanding, for_all_hosts, opens_first: parameters.opens_first }
    }

    /// Whether requests share a connection: then no second one is opened beside one that is being opened.
    fn shares(self) -> bool {
        self.on_connection > 1
    }

    /// The host whose connections carry what is asked of `host`.
    fn pool(self, host: usize) -> usize {
        if self.for_all_hosts { 0 } else { host }
    }
}

/// The browser's whole state.
#[derive(Debug, Default)]
pub(crate) struct Browser {
    pub(crate) objects: Vec<Progress>,
    records: Records,
    /// Responses come in frames of so many bytes, each of which is read when it is whole.
    frame: Option<u64>,
    waiting: VecDeque<usize>,
    /// Requests that are decided and not told.
    requests: VecDeque<Action>,
    /// By object: its host and its urgency, as far as they make a difference.
    wanted: Vec<(usize, u8)>,
    /// Requests without an answer, by host, and the most there were at once.
    asked: Vec<usize>,
    most_asked: Vec<usize>,
    known: usize,
    pub(crate) received: usize,
    /// Connections that count against the limit, the oldest first.
    pub(crate) pool: Vec<Pooled>,
}

impl Browser {
    /// Before the load of objects at these hosts, of these urgencies, whose responses come in records, and those in frames.
    pub(crate) fn reset(&mut self, forms: (Records, Option<u64>), wanted: impl Iterator<Item = (usize, u8)>) {
        (self.records, self.frame) = forms;
        self.wanted.clear();
        self.wanted.extend(wanted);
        self.asked.clear();
        self.asked.resize(self.wanted.iter().map(|(host, _)| host + 1).max().unwrap_or(0), 0);
        self.most_asked.clone_from(&self.asked);
        self.objects.clear();
        self.objects.resize(self.wanted.len(), Progress::default());
        self.waiting.clear();
        self.requests.clear();
        self.pool.clear();
        (self.known, self.received) = (0, 0);
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.received == self.known
    }

    pub(crate) fn discover(&mut self, object: usize) {
        if !core::mem::replace(&mut self.objects[object].known, true) {
            self.known += 1;
            let urgency = self.wanted[object].1;
            let place = self.waiting.partition_point(|other| self.wanted[*other].1 <= urgency);
            self.waiting.insert(place, object);
        }
    }

    /// Comes without being asked for, after `by`; it may be `withheld` until it is.
    pub(crate) fn expect(&mut self, object: usize, by: usize, withheld: bool) {
        let progress = &mut self.objects[object];
        if !core::mem::replace(&mut progress.known, true) {
            (progress.pushed_by, progress.withheld) = (Some(by), withheld);
            self.known += 1;
        }
    }

    /// It will not be known that it comes.
    pub(crate) fn forget_pushed(&mut self, object: usize) {
        let progress = &mut self.objects[object];
        if progress.pushed_by.take().is_some() {
            (progress.known, progress.withheld) = (false, false);
            self.known -= 1;
        }
    }

    /// The browser has asked for what comes unasked: as long as it comes it counts among the requests without an answer.
    pub(crate) fn await_pushed(&mut self, object: usize) {
        let progress = &mut self.objects[object];
        if progress.pushed_by.is_some() && progress.end.is_none() && !core::mem::replace(&mut progress.awaited, true) {
            self.count_asked(object);
        }
    }

    /// There is one more request without an answer; whether there have never been as many at the host.
    fn count_asked(&mut self, object: usize) -> bool {
        let host = self.wanted[object].0;
        self.asked[host] += 1;
        let is_most = self.asked[host] > self.most_asked[host];
        self.most_asked[host] = self.most_asked[host].max(self.asked[host]);
        is_most
    }

    /// The next thing that can be done now. What is asked for over connections that are up decides how many more are wanted.
    pub(crate) fn next_action(&mut self, limits: Limits) -> Option<Action> {
        while let Some(request) = self.next_request(limits) {
            if !limits.opens_first {
                return Some(request);
            }
            self.requests.push_back(request);
        }
        self.next_opening(limits).or_else(|| self.requests.pop_front())
    }

    fn next_request(&mut self, limits: Limits) -> Option<Action> {
        if self.waiting.is_empty() {
            return None;
        }
        let (position, place) = self.first_waiting(|browser, host| browser.free(host, limits))?;
        let object = self.waiting.remove(position)?;
        let pooled = self.pool.iter_mut().find(|pooled| pooled.place == place)?;
        pooled.outstanding += 1;
        self.objects[object].asked_at = Some(place);
        self.objects[object].is_first = self.count_asked(object);
        Some(Action::Request { place, object })
    }

    fn next_opening(&self, limits: Limits) -> Option<Action> {
        if self.waiting.is_empty() {
            return None;
        }
        let (_, host) = self.first_waiting(|browser, host| browser.wants_another(host, limits).then_some(host))?;
        Some(Action::Open { host: limits.pool(host) })
    }

    /// The first object that waits, of those at whose host there is what `find` looks for; with what that is.
    fn first_waiting<T>(&self, find: impl Fn(&Self, usize) -> Option<T>) -> Option<(usize, T)> {
        if self.asked.len() == 1 {
            return find(self, 0).map(|found| (0, found));
        }
        let mut seen = Vec::new();
        for (position, object) in self.waiting.iter().enumerate() {
            let host = self.wanted[*object].0;
            if seen.contains(&host) {
                continue;
            }
            if let Some(found) = find(self, host) {
                return Some((position, found));
            }
            if seen.len() + 1 == self.asked.len() {
                break;
            }
            seen.push(host);
        }
        None
    }

    /// The connection that can carry another request to `host`, with the fewest outstanding ones.
    fn free(&self, host: usize, limits: Limits) -> Option<usize> {
        if self.asked[host] >= limits.outstanding {
            return None;
        }
        let (pool, mut fewest, mut place) = (limits.pool(host), limits.on_connection, None);
        for pooled in self.pool.iter().filter(|pooled| pooled.ready && pooled.host == pool) {
            if pooled.outstanding < fewest {
                (fewest, place) = (pooled.outstanding, Some(pooled.place));
            }
        }
        place
    }

    /// Whether more objects wait at `host` than connections to it are being opened, of which there may be more.
    fn wants_another(&self, host: usize, limits: Limits) -> bool {
        let pool = limits.pool(host);
        let (mut there, mut opening) = (0, 0);
        for pooled in self.pool.iter().filter(|pooled| pooled.host == pool) {
            (there, opening) = (there + 1, opening + usize::from(!pooled.ready));
        }
        let enough = if limits.shares() { 1 } else { opening + 1 };
        if there >= limits.connections || opening >= enough {
            return false;
        }
        let waits = |object: &&usize| limits.pool(self.wanted[**object].0) == pool;
        self.waiting.iter().filter(waits).take(enough).count() > opening
    }

    /// A connection is being opened.
    pub(crate) fn pool_opened(&mut self, place: usize, host: usize) {
        self.pool.push(Pooled { place, host, ready: false, outstanding: 0 });
    }

    pub(crate) fn set_ready(&mut self, place: usize) {
        if let Some(pooled) = self.pool.iter_mut().find(|pooled| pooled.place == place) {
            pooled.ready = true;
        }
    }

    /// The response with `object` ended on the connection at `place`; returns whether that is to be closed.
    pub(crate) fn response_ended(&mut self, place: usize, object: usize, http: Http) -> bool {
        self.received += 1;
        if self.objects[object].pushed_by.is_none() || self.objects[object].awaited {
            let asked = &mut self.asked[self.wanted[object].0];
            *asked = asked.saturating_sub(1);
        }
        let place = self.objects[object].asked_at.unwrap_or(place);
        let Some(index) = self.pool.iter().position(|pooled| pooled.place == place) else { return false };
        self.pool[index].outstanding = self.pool[index].outstanding.saturating_sub(1);
        let close = http == Http::Http10;
        if close {
            self.pool.remove(index);
        }
        close
    }

    /// Whether what has arrived of `by`'s body names an object that is not read.
    pub(crate) fn has_named(&self, by: usize, workload: &Workload) -> bool {
        let progress = &self.objects[by];
        workload.named_by(by).get(progress.read).is_some_and(|(at, _)| *at <= progress.body)
    }

    /// The next object that `by`'s body names within what of it has arrived.
    pub(crate) fn next_named(&mut self, by: usize, workload: &Workload) -> Option<usize> {
        if !self.has_named(by, workload) {
            return None;
        }
        let progress = &mut self.objects[by];
        let (_, object) = workload.named_by(by)[progress.read];
        progress.read += 1;
        Some(object)
    }

    /// Takes in `bytes` of `object`'s response if nothing comes of them; whether it did.
    #[inline(always)]
    pub(crate) fn takes_quietly(&mut self, object: usize, bytes: u64) -> bool {
        let progress = &mut self.objects[object];
        let is_quiet = progress.come + bytes < progress.quiet;
        if is_quiet {
            progress.come += bytes;
        }
        is_quiet
    }

    /// How many more bytes of `object`'s response can arrive without anything coming of them.
    pub(crate) fn quiet(&self, object: usize) -> u64 {
        let progress = &self.objects[object];
        progress.quiet.saturating_sub(progress.come + 1)
    }

    /// So many more bytes of `object`'s response have come; whether its head can be read.
    pub(crate) fn take(&mut self, object: usize, bytes: u64, workload: &Workload) -> bool {
        let frame = self.frame_of(object, workload);
        let progress = &mut self.objects[object];
        progress.come += bytes;
        let response = Bytes::new(progress.header + workload.size(object));
        let is_whole = progress.come >= self.records.sealed(response).get();
        let whole = frame.filter(|_| !is_whole).map_or(progress.come, |frame| progress.come / frame * frame);
        let readable = self.records.readable(Bytes::new(whole), response).get();
        progress.body = readable.saturating_sub(progress.header);
        readable >= progress.header
    }

    /// Something has come of `object`'s response so far: its head, a name, or its beginning.
    pub(crate) fn note_events(&mut self, object: usize, workload: &Workload) {
        let has_begun = self.objects[object].first_byte.is_some();
        self.objects[object].quiet = match self.frame_of(object, workload) {
            _ if has_begun => self.next_event(object, workload),
            // Nothing of it can be read before.
            Some(frame) => {
                let response = Bytes::new(self.objects[object].header + workload.size(object));
                frame.min(self.records.sealed(response).get())
            }
            None => 0,
        };
    }

    /// In which frames what can be read of `object` comes, if that is not all of it: the document, and what names something.
    fn frame_of(&self, object: usize, workload: &Workload) -> Option<u64> {
        self.frame.filter(|_| object == 0 || !workload.named_by(object).is_empty())
    }

    /// How much of `object`'s response must have come until its body names something or ends.
    fn next_event(&self, object: usize, workload: &Workload) -> u64 {
        let (progress, size) = (&self.objects[object], workload.size(object));
        let next = workload.named_by(object).get(progress.read).map_or(size, |(at, _)| *at);
        let (wanted, response) = (Bytes::new(progress.header + next.min(size)), Bytes::new(progress.header + size));
        let needed = self.records.needed(wanted, response).get();
        let whole = |frame| needed.next_multiple_of(frame).min(self.records.sealed(response).get());
        self.frame_of(object, workload).map_or(needed, whole)
    }

    /// How many more bytes of `object`'s response can arrive without anything happening but their arrival, once its beginning is on the
    /// way. That its first record would be taken for whole when it begins to arrive is accepted of very long ones only.
    pub(crate) fn uneventful(&self, object: usize, workload: &Workload) -> u64 {
        let progress = &self.objects[object];
        let room = self.next_event(object, workload).saturating_sub(progress.come).saturating_sub(1);
        let in_parts = self.records != Records::NONE || self.frame_of(object, workload).is_some();
        let begins_whole = progress.first_byte.is_none() && in_parts;
        if begins_whole && room < VERY_LONG { 0 } else { room }
    }

    /// `bytes` of `object`'s response are left out, as if they had arrived.
    pub(crate) fn leave_out(&mut self, object: usize, bytes: u64) {
        self.objects[object].come += bytes;
    }

    /// When the last byte arrived.
    pub(crate) fn last_end(&self) -> Option<Ticks> {
        self.objects.iter().filter_map(|object| object.end).map(|(at, _)| at).max()
    }

    /// The time that the last byte waited for, back to the first action; and when that byte arrived.
    /// `opening`: round trips of a new connection's handshake, and of its keys'.
    pub(crate) fn critical_path(&self, opening: [u32; 2]) -> Option<(Ticks, Spans)> {
        let ends = self.objects.iter().enumerate().filter_map(|(index, object)| Some((object.end?, index)));
        let ((end, mut until), mut index) = ends.max_by_key(|((at, _), _)| *at)?;
        let mut spans = Spans::default();
        // Of all others it counts when they had arrived, not when the browser asked for them.
        if let Some(Trigger::Named { by, ledger, delay }) = self.objects[index].held {
            spans.server += delay;
            (index, until) = (by, ledger);
        }
        for _ in 0..=self.objects.len() {
            while let Some(by) = self.objects[index].pushed_by {
                index = by;
            }
            let progress = &self.objects[index];
            let (start, cause) = (progress.start?, progress.cause?);
            spans.responses += until.since(&start.ledger);
            progress.add_request(&mut spans, opening);
            match cause.trigger {
                Trigger::Start => break,
                Trigger::Named { by, ledger, delay } => {
                    spans.server += delay;
                    (index, until) = (by, ledger);
                }
                Trigger::Ended { object } => (index, until) = (object, self.objects[object].end?.1),
            }
        }
        Some((end, spans))
    }
}

#[cfg(test)]
mod tests {
    use super::super::workload::WorkloadObject;
    use super::Action::{Open, Request};
    use super::*;
    use farhop_scenario as scenario;

    const SIX: Limits =
        Limits { connections: 6, on_connection: 1, outstanding: usize::MAX, for_all_hosts: false, opens_first: true };
    const SHARED: Limits = Limits { connections: 1, on_connection: 100, ..SIX };
    const OPEN: Action = Open { host: 0 };

    /// A browser that knows of objects at these hosts, of these urgencies.
    fn knowing(wanted: &[(usize, u8)]) -> Browser {
        let mut browser = Browser::default();
        browser.reset((Records::NONE, None), wanted.iter().copied());
        (0..wanted.len()).for_each(|object| browser.discover(object));
        browser
    }

    fn browser(known: usize) -> Browser {
        knowing(&vec![(0, 0); known])
    }

    fn actions(browser: &mut Browser, limits: Limits) -> Vec<Action> {
        let mut next_place = browser.pool.len();
        let mut actions = Vec::new();
        while let Some(action) = browser.next_action(limits) {
            if let Open { host } = action {
                browser.pool_opened(next_place, host);
                next_place += 1;
            }
            actions.push(action);
        }
        actions
    }

    #[test]
    fn what_arrives_before_the_next_name_and_the_end_is_taken_in_quietly() {
        let object = |size, named: Option<(usize, u64)>| {
            WorkloadObject::new(Bytes::new(size), named.map(|(by, at)| (by, Bytes::new(at))))
        };
        let workload = Workload::new(&[object(1000, None), object(10, Some((0, 300)))]).unwrap();
        let mut browser = browser(2);
        browser.note_events(0, &workload);
        assert!(!browser.takes_quietly(0, 1), "its first byte is an event");
        assert!(browser.take(0, 1, &workload));
        browser.objects[0].first_byte = Some(Ticks::ZERO);
        browser.note_events(0, &workload);
        assert!(browser.takes_quietly(0, 298) && !browser.takes_quietly(0, 1), "a name ends at 300");
        browser.take(0, 1, &workload);
        assert_eq!(browser.next_named(0, &workload), Some(1));
        browser.note_events(0, &workload);
        assert!(browser.takes_quietly(0, 699) && !browser.takes_quietly(0, 1), "the end");
        assert_eq!(browser.objects[0].come, 999);
    }

    #[test]
    fn of_a_record_nothing_is_read_before_all_of_it_has_come() {
        let workload = Workload::new(&[
            WorkloadObject::new(Bytes::new(1000), None),
            WorkloadObject::new(Bytes::new(10), Some((0, Bytes::new(300)))),
        ])
        .unwrap();
        let mut browser = browser(2);
        browser.records = Records::new(scenario::Tls::V13, Bytes::new(400));
        browser.objects[0].header = 200;
        assert!(!browser.take(0, 421, &workload), "the head is in the first record");
        assert!(browser.take(0, 1, &workload));
        assert_eq!((browser.objects[0].body, browser.has_named(0, &workload)), (200, false));
        browser.objects[0].first_byte = Some(Ticks::ZERO);
        assert_eq!(browser.uneventful(0, &workload), 421);
        browser.take(0, 422, &workload);
        assert_eq!((browser.objects[0].body, browser.next_named(0, &workload)), (600, Some(1)));
        assert_eq!(browser.uneventful(0, &workload), 421, "the last record ends the response");
    }

    #[test]
    fn connections_are_opened_for_what_waits_up_to_the_limit() {
        assert_eq!(actions(&mut browser(2), SIX), [OPEN, OPEN]);
        assert_eq!(actions(&mut browser(9), SIX), [OPEN; 6]);
        assert_eq!(actions(&mut browser(9), SHARED), [OPEN]);
    }

    #[test]
    fn requests_go_on_the_connection_that_comes_up_first() {
        let mut browser = browser(3);
        let two = Limits { connections: 2, ..SIX };
        actions(&mut browser, two);
        browser.set_ready(1);
        assert_eq!(actions(&mut browser, two), [Request { place: 1, object: 0 }]);
        assert!(!browser.response_ended(1, 0, Http::Http11));
        assert_eq!(actions(&mut browser, two), [Request { place: 1, object: 1 }]);
    }

    #[test]
    fn connections_are_opened_before_requests_of_the_same_instant_unless_they_are_passed_on() {
        let begun = || {
            let mut browser = browser(3);
            assert_eq!(browser.next_action(SIX), Some(OPEN));
            browser.pool_opened(0, 0);
            browser.set_ready(0);
            browser
        };
        let asked = Request { place: 0, object: 0 };
        assert_eq!(actions(&mut begun(), SIX), [OPEN, OPEN, asked]);
        assert_eq!(actions(&mut begun(), Limits { opens_first: false, ..SIX }), [asked, OPEN, OPEN]);
    }

    #[test]
    fn shared_connections_carry_what_the_limits_allow_the_most_urgent_first() {
        let mut browser = knowing(&[(0, 0), (0, 2), (0, 1)]);
        actions(&mut browser, SHARED);
        browser.set_ready(0);
        let one = Limits { outstanding: 1, ..SHARED };
        assert_eq!(browser.next_action(one), Some(Request { place: 0, object: 0 }));
        assert_eq!(browser.next_action(one), None);
        assert_eq!(browser.next_action(Limits { on_connection: 1, ..SHARED }), None);
        let rest = [Request { place: 0, object: 2 }, Request { place: 0, object: 1 }];
        assert_eq!(actions(&mut browser, SHARED), rest);
    }

    #[test]
    fn hosts_do_not_wait_for_each_other() {
        let mut browser = knowing(&[(0, 0), (0, 0), (1, 0)]);
        let one = Limits { connections: 1, ..SIX };
        assert_eq!(actions(&mut browser, one), [OPEN, Open { host: 1 }]);
        browser.set_ready(1);
        assert_eq!(actions(&mut browser, one), [Request { place: 1, object: 2 }]);
    }

    #[test]
    fn each_host_has_requests_of_its_own_on_a_connection_for_all() {
        let mut browser = knowing(&[(0, 0), (1, 0), (0, 0), (1, 0)]);
        let one = Limits { outstanding: 1, for_all_hosts: true, ..SHARED };
        assert_eq!(actions(&mut browser, one), [OPEN]);
        browser.set_ready(0);
        let first = [Request { place: 0, object: 0 }, Request { place: 0, object: 1 }];
        assert_eq!(actions(&mut browser, one), first);
        browser.response_ended(0, 1, Http::Http2);
        assert_eq!(actions(&mut browser, one), [Request { place: 0, object: 3 }]);
    }

    #[test]
    fn http_10_gives_its_connection_up() {
        let mut browser = browser(2);
        let one = Limits { connections: 1, ..SIX };
        actions(&mut browser, one);
        browser.set_ready(0);
        actions(&mut browser, one);
        assert!(browser.response_ended(0, 0, Http::Http10));
        assert_eq!(actions(&mut browser, one), [OPEN]);
    }
}
