//! The browser: what it knows of, which connection carries the next request, and what every object waited for.
//!
//! Browsers' connection pools for one server: at most so many connections, requests wait in the order of discovery and are bound
//! late, a connection is opened for each waiting object for which none is idle or being opened. HTTP/1.0: a connection for each
//! object. Pipelining, HTTP/2 and 3: all requests go on one connection as soon as they are known.

use super::breakdown::{Ledger, RoundTrips, Spans};
use super::parameters::Http;
use super::ticks::Ticks;
use super::workload::Workload;
use std::collections::VecDeque;

/// What let a request go or a connection be opened.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trigger {
    Start,
    /// A body named the object; what the arrivals on its connection had waited for by then.
    Named {
        by: usize,
        ledger: Ledger,
    },
    /// The response before it ended.
    Ended {
        object: usize,
    },
}

/// Why a request was sent when it was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause {
    pub(crate) trigger: Trigger,
    /// When the connection that had to come up first was opened and connected.
    pub(crate) opening: Option<(Ticks, Ticks)>,
}

/// How far an object is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    pub(crate) known: bool,
    /// When its name was read, in whose body, and what that body's connection had waited for by then.
    pub(crate) named: Option<(Ticks, usize, Ledger)>,
    pub(crate) pushed_by: Option<usize>,
    pub(crate) header: u64,
    pub(crate) body: u64,
    /// References in its body that have been read.
    read: usize,
    pub(crate) cause: Option<Cause>,
    pub(crate) requested: Ticks,
    pub(crate) request_waited: Ticks,
    /// How long the response was in the making.
    pub(crate) delay: Ticks,
    pub(crate) start: Option<Start>,
    pub(crate) first_byte: Option<Ticks>,
    pub(crate) end: Option<(Ticks, Ledger)>,
}

/// The arrival of a response's first byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) at: Ticks,
    pub(crate) ledger: Ledger,
    /// Time that its packet spent in and before serializers.
    pub(crate) link: Ticks,
}

/// A connection as the pool sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pooled {
    pub(crate) place: usize,
    pub(crate) ready: bool,
    pub(crate) outstanding: usize,
}

/// What the browser does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Open,
    Request { place: usize, object: usize },
}

/// The browser's whole state.
#[derive(Debug, Default)]
pub(crate) struct Browser {
    pub(crate) objects: Vec<Progress>,
    waiting: VecDeque<usize>,
    known: usize,
    pub(crate) received: usize,
    /// Connections that count against the limit, the oldest first.
    pub(crate) pool: Vec<Pooled>,
}

impl Browser {
    pub(crate) fn reset(&mut self, objects: usize) {
        self.objects.clear();
        self.objects.resize(objects, Progress::default());
        self.waiting.clear();
        self.pool.clear();
        (self.known, self.received) = (0, 0);
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.received == self.known
    }

    pub(crate) fn discover(&mut self, object: usize) {
        if !core::mem::replace(&mut self.objects[object].known, true) {
            self.known += 1;
            self.waiting.push_back(object);
        }
    }

    /// Comes without being asked for, after `by`.
    pub(crate) fn expect(&mut self, object: usize, by: usize) {
        let progress = &mut self.objects[object];
        if !core::mem::replace(&mut progress.known, true) {
            progress.pushed_by = Some(by);
            self.known += 1;
        }
    }

    /// The next thing that can be done now.
    pub(crate) fn next_action(&mut self, http: Http, limit: usize, most_outstanding: usize) -> Option<Action> {
        let waiting = *self.waiting.front()?;
        if self.outstanding() >= most_outstanding.max(1) {
            return None;
        }
        let idle = self.pool.iter_mut().filter(|pooled| pooled.ready).min_by_key(|pooled| pooled.outstanding);
        if let Some(pooled) = idle
            && (pooled.outstanding == 0 || http.asks_without_waiting())
        {
            pooled.outstanding += 1;
            self.waiting.pop_front();
            return Some(Action::Request { place: pooled.place, object: waiting });
        }
        let opening = self.pool.iter().filter(|pooled| !pooled.ready).count();
        let wanted = if http.asks_without_waiting() { 1 } else { self.waiting.len() };
        let limit = if http.asks_without_waiting() { 1 } else { limit };
        (wanted > opening && self.pool.len() < limit.max(1)).then_some(Action::Open)
    }

    /// Requests without an answer.
    fn outstanding(&self) -> usize {
        self.pool.iter().map(|pooled| pooled.outstanding).sum()
    }

    /// A connection is being opened.
    pub(crate) fn pool_opened(&mut self, place: usize) {
        self.pool.push(Pooled { place, ready: false, outstanding: 0 });
    }

    pub(crate) fn set_ready(&mut self, place: usize) {
        if let Some(pooled) = self.pool.iter_mut().find(|pooled| pooled.place == place) {
            pooled.ready = true;
        }
    }

    /// A response ended; returns whether its connection is to be closed.
    pub(crate) fn response_ended(&mut self, place: usize, http: Http) -> bool {
        self.received += 1;
        let Some(index) = self.pool.iter().position(|pooled| pooled.place == place) else { return false };
        self.pool[index].outstanding = self.pool[index].outstanding.saturating_sub(1);
        let close = http == Http::Http10;
        if close {
            self.pool.remove(index);
        }
        close
    }

    /// The next object that `by`'s body names within what of it has arrived.
    pub(crate) fn next_named(&mut self, by: usize, workload: &Workload) -> Option<usize> {
        let progress = &mut self.objects[by];
        let (at, object) = *workload.named_by(by).get(progress.read)?;
        if at > progress.body {
            return None;
        }
        progress.read += 1;
        Some(object)
    }

    /// How many more bytes of `object`'s response can arrive without anything happening but their arrival.
    pub(crate) fn uneventful(&self, object: usize, workload: &Workload) -> u64 {
        let progress = &self.objects[object];
        let next = workload.named_by(object).get(progress.read).map(|(at, _)| *at);
        let until = next.unwrap_or(u64::MAX).min(workload.size(object));
        progress.header + until.saturating_sub(progress.body).saturating_sub(1)
    }

    /// `bytes` of `object`'s response are left out, as if they had arrived.
    pub(crate) fn leave_out(&mut self, object: usize, bytes: u64) {
        let progress = &mut self.objects[object];
        let header = progress.header.min(bytes);
        progress.header -= header;
        progress.body += bytes - header;
    }

    /// The time that the last byte waited for, back to the first action; and when that byte arrived.
    pub(crate) fn critical_path(&self, tls_rounds: u32) -> Option<(Ticks, Spans)> {
        let ends = self.objects.iter().enumerate().filter_map(|(index, object)| Some((object.end?, index)));
        let ((end, mut until), mut index) = ends.max_by_key(|((at, _), _)| *at)?;
        let mut spans = Spans::default();
        for _ in 0..=self.objects.len() {
            while let Some(by) = self.objects[index].pushed_by {
                index = by;
            }
            let progress = &self.objects[index];
            let (start, cause) = (progress.start?, progress.cause?);
            spans.responses += until.since(&start.ledger);
            progress.add_request(&mut spans, tls_rounds);
            match cause.trigger {
                Trigger::Start => break,
                Trigger::Named { by, ledger } => (index, until) = (by, ledger),
                Trigger::Ended { object } => (index, until) = (object, self.objects[object].end?.1),
            }
        }
        Some((end, spans))
    }
}

impl Progress {
    /// The span from what let the request go to the response's first byte.
    fn add_request(&self, spans: &mut Spans, tls_rounds: u32) {
        let (Some(start), Some(cause)) = (self.start, self.cause) else { return };
        let mut rest = start.at.since(self.requested);
        let mut take = |most: Ticks| {
            let part = rest.min(most);
            rest = rest.since(part);
            part
        };
        spans.queueing += take(self.request_waited);
        spans.server += take(self.delay);
        spans.transmission += take(start.link);
        let trips: &mut RoundTrips = &mut spans.trips;
        if matches!(cause.trigger, Trigger::Named { .. }) {
            spans.discovery += rest;
            trips.discovery += 1;
        } else {
            spans.request += rest;
            trips.request += 1;
        }
        if let Some((opened, connected)) = cause.opening {
            spans.handshake += connected.since(opened);
            spans.tls += self.requested.since(connected);
            trips.handshake += 1;
            trips.tls += tls_rounds;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Action::{Open, Request};
    use super::*;

    fn browser(known: usize) -> Browser {
        let mut browser = Browser::default();
        browser.reset(known);
        (0..known).for_each(|object| browser.discover(object));
        browser
    }

    fn actions(browser: &mut Browser, http: Http, limit: usize) -> Vec<Action> {
        let mut next_place = browser.pool.len();
        let mut actions = Vec::new();
        while let Some(action) = browser.next_action(http, limit, usize::MAX) {
            if action == Open {
                browser.pool_opened(next_place);
                next_place += 1;
            }
            actions.push(action);
        }
        actions
    }

    #[test]
    fn connections_are_opened_for_what_waits_up_to_the_limit() {
        assert_eq!(actions(&mut browser(2), Http::Http11, 6), [Open, Open]);
        assert_eq!(actions(&mut browser(9), Http::Http11, 6), [Open; 6]);
        assert_eq!(actions(&mut browser(9), Http::Http2, 6), [Open]);
        assert_eq!(actions(&mut browser(1), Http::Http11, 0), [Open], "a limit of zero could never load anything");
    }

    #[test]
    fn requests_go_on_the_connection_that_comes_up_first() {
        let mut browser = browser(3);
        actions(&mut browser, Http::Http11, 2);
        browser.set_ready(1);
        assert_eq!(actions(&mut browser, Http::Http11, 2), [Request { place: 1, object: 0 }]);
        assert!(!browser.response_ended(1, Http::Http11));
        assert_eq!(actions(&mut browser, Http::Http11, 2), [Request { place: 1, object: 1 }]);
    }

    #[test]
    fn pipelined_requests_do_not_wait_but_for_the_limit_of_outstanding_ones() {
        let mut browser = browser(3);
        actions(&mut browser, Http::Http11Pipelined, 6);
        browser.set_ready(0);
        assert_eq!(browser.next_action(Http::Http11Pipelined, 6, 1), Some(Request { place: 0, object: 0 }));
        assert_eq!(browser.next_action(Http::Http11Pipelined, 6, 1), None);
        let rest = [Request { place: 0, object: 1 }, Request { place: 0, object: 2 }];
        assert_eq!(actions(&mut browser, Http::Http11Pipelined, 6), rest);
    }

    #[test]
    fn http_10_gives_its_connection_up() {
        let mut browser = browser(2);
        actions(&mut browser, Http::Http10, 1);
        browser.set_ready(0);
        actions(&mut browser, Http::Http10, 1);
        assert!(browser.response_ended(0, Http::Http10));
        assert_eq!(actions(&mut browser, Http::Http10, 1), [Open]);
    }
}
