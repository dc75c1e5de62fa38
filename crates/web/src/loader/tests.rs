//! The policy, case by case, and its laws whatever happens to connections.

use super::LoaderAction::{Close, Open, Request};
use super::*;
use crate::{Object, Reference};
use farhop_units::Bytes;
use proptest::prelude::*;
use smol_str::format_smolstr;
use std::collections::{BTreeMap, BTreeSet};

/// A document with objects at these hosts, of these media types.
fn page(objects: &[(usize, &str)]) -> Page {
    let reference = Some(Reference { object: 0, offset: Bytes::ZERO, end: Bytes::ZERO });
    let object = |(index, &(host, media_type)): (usize, &(usize, &str))| {
        let reference = reference.filter(|_| index > 0);
        Object { host, reference, ..Object::new(format!("o{index}"), media_type, Bytes::new(1)) }
    };
    let hosts = objects.iter().map(|(host, _)| *host).max().unwrap_or_default();
    let hosts = (0..=hosts).map(|host| format_smolstr!("h{host}.test")).collect();
    Page::new(objects.iter().enumerate().map(object).collect(), hosts).unwrap()
}

/// A document with images, all at one host.
fn images(count: usize) -> Page {
    let mut objects = vec![(0, "text/html")];
    objects.resize(count + 1, (0, "image/png"));
    page(&objects)
}

fn http(version: HttpVersion, connections: usize) -> HttpConfig {
    HttpConfig { version, connections, ..HttpConfig::DEFAULT }
}

fn loader(version: HttpVersion, connections: usize) -> Loader {
    Loader::new(http(version, connections), &images(300))
}

fn actions(loader: &mut Loader) -> Vec<LoaderAction> {
    std::iter::from_fn(|| loader.poll()).collect()
}

const fn open(connection: usize) -> LoaderAction {
    Open { connection, host: 0 }
}

#[test]
fn the_document_is_known_from_the_start() {
    let mut loader = loader(HttpVersion::Http11, 6);
    assert_eq!(actions(&mut loader), [open(0)]);
    assert!(!loader.is_complete());
    loader.connected(0);
    assert_eq!(actions(&mut loader), [Request { connection: 0, object: 0 }]);
    loader.response_complete(0, 0);
    assert!(loader.is_complete());
    assert_eq!(actions(&mut loader), []);
}

#[test]
fn a_connection_is_opened_for_each_waiting_object_up_to_the_limit() {
    let mut loader = loader(HttpVersion::Http11, 3);
    actions(&mut loader);
    loader.connected(0);
    actions(&mut loader);
    loader.discover(5);
    assert_eq!(actions(&mut loader), [open(1)]);
    loader.discover(4);
    loader.discover(9);
    assert_eq!(actions(&mut loader), [open(2)], "three are the limit");
}

#[test]
fn requests_are_bound_late_and_in_the_order_of_discovery() {
    let mut loader = loader(HttpVersion::Http11, 6);
    actions(&mut loader);
    loader.connected(0);
    actions(&mut loader);
    loader.discover(5);
    loader.discover(4);
    loader.discover(5);
    assert_eq!(actions(&mut loader), [open(1), open(2)]);
    loader.response_complete(0, 0);
    assert_eq!(actions(&mut loader), [Request { connection: 0, object: 5 }], "the idle connection is faster");
    loader.connected(2);
    assert_eq!(actions(&mut loader), [Request { connection: 2, object: 4 }], "so is the one that came up first");
    loader.connected(1);
    assert_eq!(actions(&mut loader), []);
    loader.discover(6);
    assert_eq!(actions(&mut loader), [Request { connection: 1, object: 6 }], "an idle connection is used again");
}

#[test]
fn http_10_takes_a_new_connection_for_each_object() {
    let mut loader = loader(HttpVersion::Http10, 1);
    loader.discover(1);
    assert_eq!(actions(&mut loader), [open(0)]);
    loader.connected(0);
    assert_eq!(actions(&mut loader), [Request { connection: 0, object: 0 }]);
    loader.response_complete(0, 0);
    assert_eq!(actions(&mut loader), [Close { connection: 0 }, open(1)]);
    loader.closed(0);
    loader.connected(1);
    assert_eq!(actions(&mut loader), [Request { connection: 1, object: 1 }]);
}

#[test]
fn pipelined_requests_go_out_on_one_connection_as_soon_as_known() {
    let mut loader = loader(HttpVersion::Http11Pipelined, 6);
    loader.discover(1);
    assert_eq!(actions(&mut loader), [open(0)]);
    loader.connected(0);
    let first_two = [Request { connection: 0, object: 0 }, Request { connection: 0, object: 1 }];
    assert_eq!(actions(&mut loader), first_two);
    loader.discover(2);
    assert_eq!(actions(&mut loader), [Request { connection: 0, object: 2 }]);
    loader.response_complete(0, 0);
    loader.response_complete(0, 1);
    assert!(!loader.is_complete());
    loader.response_complete(0, 2);
    assert!(loader.is_complete());
}

#[test]
fn streams_share_one_connection_and_their_number_is_limited() {
    let mut loader = loader(HttpVersion::Http2, 6);
    (1..=MAX_STREAMS).for_each(|object| loader.discover(object));
    assert_eq!(actions(&mut loader), [open(0)]);
    loader.connected(0);
    assert_eq!(actions(&mut loader).len(), MAX_STREAMS);
    loader.response_complete(0, 70);
    assert_eq!(actions(&mut loader), [Request { connection: 0, object: MAX_STREAMS }], "responses end in any order");
    loader.response_complete(0, 70);
    assert_eq!(actions(&mut loader), [], "a response ends once");
}

#[test]
fn streams_go_by_priority_and_http_1_by_discovery() {
    let types = ["text/html", "image/png", "font/woff2", "application/json", "text/html", "text/css"];
    let asked = |version| {
        let mut loader = Loader::new(http(version, 6), &page(&types.map(|media_type| (0, media_type))));
        (1..types.len()).for_each(|object| loader.discover(object));
        actions(&mut loader);
        let mut asked = Vec::new();
        for connection in 0..6 {
            loader.connected(connection);
            asked.extend(actions(&mut loader).into_iter().filter_map(|action| match action {
                Request { object, .. } => Some(object),
                Open { .. } | Close { .. } => None,
            }));
        }
        asked
    };
    assert_eq!(asked(HttpVersion::Http3), [0, 4, 2, 5, 1, 3]);
    assert_eq!(asked(HttpVersion::Http11), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn every_host_has_its_own_limit() {
    let objects = [(0, "text/html"), (1, "image/png"), (1, "image/png"), (0, "image/png"), (2, "image/png")];
    let mut loader = Loader::new(http(HttpVersion::Http11, 1), &page(&objects));
    actions(&mut loader);
    (1..5).for_each(|object| loader.discover(object));
    let opened = [Open { connection: 1, host: 1 }, Open { connection: 2, host: 2 }];
    assert_eq!(actions(&mut loader), opened);
    loader.connected(2);
    assert_eq!(actions(&mut loader), [Request { connection: 2, object: 4 }]);
    loader.connected(0);
    loader.connected(1);
    let asked = [Request { connection: 0, object: 0 }, Request { connection: 1, object: 1 }];
    assert_eq!(actions(&mut loader), asked, "the first discovered first");
}

#[test]
fn what_a_lost_connection_left_unanswered_is_asked_again_first() {
    let mut loader = loader(HttpVersion::Http11Pipelined, 1);
    (1..4).for_each(|object| loader.discover(object));
    actions(&mut loader);
    loader.connected(0);
    actions(&mut loader);
    loader.response_complete(0, 0);
    loader.discover(4);
    loader.closed(0);
    assert_eq!(actions(&mut loader), [open(1)]);
    loader.connected(1);
    let asked: Vec<_> = (1..5).map(|object| Request { connection: 1, object }).collect();
    assert_eq!(actions(&mut loader), asked);
}

#[test]
fn a_connection_that_cannot_be_opened_is_replaced() {
    let mut loader = loader(HttpVersion::Http11, 6);
    actions(&mut loader);
    loader.closed(0);
    assert_eq!(actions(&mut loader), [open(1)]);
}

#[test]
fn idle_connections_are_closed_when_their_time_is_over_and_busy_ones_are_not() {
    let mut loader = loader(HttpVersion::Http11, 6);
    actions(&mut loader);
    loader.idle_timeout(0);
    assert_eq!(actions(&mut loader), [], "it is not up");
    loader.connected(0);
    actions(&mut loader);
    loader.idle_timeout(0);
    assert_eq!(actions(&mut loader), [], "it owes a response");
    loader.response_complete(0, 0);
    assert!(loader.is_idle(0));
    loader.idle_timeout(0);
    loader.idle_timeout(0);
    assert_eq!(actions(&mut loader), [Close { connection: 0 }]);
    loader.discover(1);
    assert_eq!(actions(&mut loader), [open(1)]);
}

#[test]
fn the_next_page_finds_the_connections_of_its_hosts() {
    let objects = [(0, "text/html"), (1, "image/png"), (2, "image/png")];
    let mut loader = Loader::new(http(HttpVersion::Http11, 6), &page(&objects));
    (1..3).for_each(|object| loader.discover(object));
    actions(&mut loader);
    (0..3).for_each(|connection| loader.connected(connection));
    actions(&mut loader);
    (0..2).for_each(|number| loader.response_complete(number, number));
    // Host 1 of the first page is host 0 of this one.
    let mut next = page(&[(0, "text/html"), (1, "image/png")]);
    next.hosts = vec!["h1.test".into(), "h9.test".into()];
    loader.next_page(&next);
    loader.discover(1);
    let found = [Close { connection: 2 }, Open { connection: 3, host: 1 }, Request { connection: 1, object: 0 }];
    assert_eq!(actions(&mut loader), found, "what still owes a response is closed");
    loader.response_complete(2, 2);
    loader.closed(0);
    loader.connected(3);
    assert_eq!(actions(&mut loader), [Request { connection: 3, object: 1 }]);
    assert!(!loader.is_complete());
}

#[test]
fn connections_are_opened_before_requests_of_the_same_instant() {
    let mut loader = loader(HttpVersion::Http11, 6);
    actions(&mut loader);
    (1..3).for_each(|object| loader.discover(object));
    loader.connected(0);
    assert_eq!(actions(&mut loader), [open(1), open(2), Request { connection: 0, object: 0 }]);
}

#[test]
fn nothing_is_asked_over_a_connection_that_has_gone_before_its_request_was_told() {
    let with_one_to_tell = || {
        let mut loader = loader(HttpVersion::Http11, 6);
        actions(&mut loader);
        loader.discover(1);
        loader.connected(0);
        assert_eq!(loader.poll(), Some(open(1)), "object 0 is to be asked for on connection 0");
        loader
    };
    let mut loader = with_one_to_tell();
    loader.closed(0);
    assert_eq!(actions(&mut loader), [open(2)]);
    loader.connected(1);
    assert_eq!(actions(&mut loader), [Request { connection: 1, object: 0 }]);
    let mut loader = with_one_to_tell();
    loader.next_page(&images(1));
    assert_eq!(actions(&mut loader), [Close { connection: 0 }]);
}

#[test]
fn a_connection_that_was_being_opened_serves_the_next_page() {
    for up_before in [true, false] {
        let mut loader = loader(HttpVersion::Http2, 1);
        actions(&mut loader);
        if up_before {
            loader.connected(0);
        }
        loader.next_page(&images(1));
        loader.connected(0);
        assert_eq!(actions(&mut loader), [Request { connection: 0, object: 0 }], "{up_before}");
    }
}

/// What is open, from the owner's side.
#[derive(Default)]
struct Owner {
    open: BTreeMap<usize, (usize, VecDeque<usize>)>,
    up: BTreeSet<usize>,
}

impl Owner {
    fn act(&mut self, action: LoaderAction) {
        match action {
            Open { connection, host } => assert!(self.open.insert(connection, (host, VecDeque::new())).is_none()),
            Request { connection, object } => {
                assert!(self.up.contains(&connection), "requests go on connections that are up");
                self.open.get_mut(&connection).expect("it is open").1.push_back(object);
            }
            Close { connection } => {
                assert_eq!(self.forget(connection).map(|owed| owed.len()), Some(0));
            }
        }
    }

    fn forget(&mut self, connection: usize) -> Option<VecDeque<usize>> {
        self.up.remove(&connection);
        self.open.remove(&connection).map(|(_, owed)| owed)
    }

    fn check(&self, page: &Page, http: HttpConfig) {
        for host in 0..page.hosts.len() {
            let at_host = self.open.values().filter(|(of, _)| *of == host).count();
            let limit = if http.version.is_multiplexed() { 1 } else { http.connections };
            assert!(at_host <= limit, "{at_host} connections to host {host}");
        }
        for (host, owed) in self.open.values() {
            assert!(owed.iter().all(|object| page.objects[*object].host == *host), "every host is asked for its own");
            let most = if http.version.is_multiplexed() { MAX_STREAMS } else { 1 };
            assert!(owed.len() <= most || http.version == HttpVersion::Http11Pipelined, "{} at once", owed.len());
        }
    }
}

fn version() -> impl Strategy<Value = HttpVersion> {
    use HttpVersion::*;
    prop_oneof![Just(Http10), Just(Http11), Just(Http11Pipelined), Just(Http2), Just(Http3)]
}

proptest! {
    /// Whatever the order of events, and with connections lost or idle for too long on the way, every object is received exactly once
    /// and the limits are kept.
    #[test]
    fn every_object_is_received_once(version in version(), limit in 1_usize..8,
                                     hosts in prop::collection::vec((0_usize..3, 0_usize..3), 0..130),
                                     choices in prop::collection::vec((0_usize..100, 0_u8..10), 1..400)) {
        let types = ["image/png", "text/css", "text/html"];
        let mut objects = vec![(0, "text/html")];
        objects.extend(hosts.into_iter().map(|(host, kind)| (host, types[kind])));
        let (page, http) = (page(&objects), http(version, limit));
        let mut loader = Loader::new(http, &page);
        (1..objects.len()).for_each(|object| loader.discover(object));
        let mut owner = Owner::default();
        let mut received = vec![0; objects.len()];
        // After the random part, events in a fixed order finish the load.
        let rest = (0..10_000).map(|step| (step, 9));
        for (pick, kind) in choices.into_iter().chain(rest) {
            while let Some(action) = loader.poll() {
                owner.act(action);
                owner.check(&page, http);
            }
            let Some(&connection) = owner.open.keys().nth(pick % owner.open.len().max(1)) else { break };
            if kind == 0 {
                owner.forget(connection);
                loader.closed(connection);
            } else if kind == 1 {
                loader.idle_timeout(connection);
            } else if owner.up.insert(connection) {
                loader.connected(connection);
            } else {
                let owed = &mut owner.open.get_mut(&connection).expect("it was picked").1;
                let index = if version.is_multiplexed() && !owed.is_empty() { pick % owed.len() } else { 0 };
                if let Some(object) = owed.remove(index) {
                    received[object] += 1;
                    loader.response_complete(connection, object);
                }
            }
        }
        prop_assert!(loader.is_complete());
        prop_assert!(received.iter().all(|&times| times == 1), "{received:?}");
    }

    /// Pages follow each other over the connections that are left; nothing of one is asked for in the next.
    #[test]
    fn pages_follow_each_other(version in version(), visits in prop::collection::vec((0_usize..12, 0_usize..40), 1..8)) {
        let http = http(version, 2);
        let mut loader = Loader::new(http, &images(0));
        let mut owner = Owner::default();
        for (images_of_page, steps) in visits {
            loader.next_page(&images(images_of_page));
            (1..=images_of_page).for_each(|object| loader.discover(object));
            // What owes a response of the page before is closed.
            owner.open.values_mut().for_each(|(_, owed)| owed.clear());
            let mut asked = BTreeSet::new();
            for step in 0..steps {
                while let Some(action) = loader.poll() {
                    if let Request { object, .. } = action {
                        prop_assert!(object <= images_of_page && asked.insert(object), "{object} twice");
                    }
                    owner.act(action);
                    prop_assert!(owner.open.len() <= 2);
                }
                let Some(&connection) = owner.open.keys().nth(step % owner.open.len().max(1)) else { break };
                if owner.up.insert(connection) {
                    loader.connected(connection);
                } else if let Some(object) = owner.open.get_mut(&connection).expect("it was picked").1.pop_front() {
                    loader.response_complete(connection, object);
                }
            }
        }
    }
}
