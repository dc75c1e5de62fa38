//! What a browser decides while it loads a page: when to open a connection, and which request goes on which.
//!
//! Sans-IO and without a clock: the owner reports what happened (an object was discovered, a connection came up, a response
//! ended, a connection went away) and carries out the actions that [`Loader::poll`] gives. The simulator's browser and the real
//! client use this same machine, so that they differ only in what is below HTTP.
//!
//! The policy is that of browsers' connection pools for one server: at most [`HttpConfig::connections`] at once (RFC 9112 §9.4
//! leaves the limit to the client), requests wait in the order of discovery and are bound late, i.e. the next connection that
//! can carry a request takes the first object that waits, whichever object it was opened for. A request whose connection goes
//! away is asked again (RFC 9112 §9.3.1: GET is idempotent), in its old place.
//!
//! Left out: priorities other than the order of discovery, more than one server, speculative connections, a limit on retries
//! and idle timeouts. Idle connections stay open when the page is complete; closing them is the owner's.

use crate::{HttpConfig, HttpVersion};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What the client is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoaderAction {
    /// Open a connection, which is called `connection` from now on; numbers count up from 0 and are not used twice.
    Open {
        /// The new connection.
        connection: usize,
    },
    /// Send the request for `object`.
    Request {
        /// The connection to send it on.
        connection: usize,
        /// The object to ask for.
        object: usize,
    },
    /// Close the connection; the loader has already forgotten it.
    Close {
        /// The connection to close.
        connection: usize,
    },
}

/// What a connection has been asked for and has not yet answered, oldest first: places in the order of discovery.
type Outstanding = VecDeque<usize>;

/// The browser's decisions for one page from one server.
#[derive(Debug, Clone)]
pub struct Loader {
    http: HttpConfig,
    /// Known objects in the order in which they became known.
    discovered: Vec<usize>,
    /// The same objects, to see at once whether one is known.
    known: BTreeSet<usize>,
    /// Places in `discovered` of the objects not asked for yet.
    waiting: BTreeSet<usize>,
    received: usize,
    /// Every connection that counts against the limit.
    connections: BTreeMap<usize, Outstanding>,
    /// Those that are up: how many responses each owes, and its number. The first is the one to ask next.
    connected: BTreeSet<(usize, usize)>,
    next_connection: usize,
    to_close: VecDeque<usize>,
}

impl Loader {
    /// A loader that knows object 0 and has no connection.
    pub fn new(http: HttpConfig) -> Self {
        let mut loader = Self {
            http,
            discovered: Vec::new(),
            known: BTreeSet::new(),
            waiting: BTreeSet::new(),
            received: 0,
            connections: BTreeMap::new(),
            connected: BTreeSet::new(),
            next_connection: 0,
            to_close: VecDeque::new(),
        };
        loader.discover(0);
        loader
    }

    /// The client has learned of `object`; the order of calls is the order of priority. Learning of it again changes nothing.
    pub fn discover(&mut self, object: usize) {
        if self.known.insert(object) {
            self.waiting.insert(self.discovered.len());
            self.discovered.push(object);
        }
    }

    /// The connection can carry requests now.
    pub fn connected(&mut self, connection: usize) {
        if let Some(outstanding) = self.connections.get(&connection) {
            self.connected.insert((outstanding.len(), connection));
        }
    }

    /// The oldest outstanding response of the connection has arrived in full.
    pub fn response_complete(&mut self, connection: usize) {
        let Some(outstanding) = self.connections.get_mut(&connection) else { return };
        if outstanding.pop_front().is_none() {
            return;
        }
        let left = outstanding.len();
        self.received += 1;
        self.connected.remove(&(left + 1, connection));
        if self.http.version == HttpVersion::Http10 {
            self.connections.remove(&connection);
            self.to_close.push_back(connection);
        } else {
            self.connected.insert((left, connection));
        }
    }

    /// The connection has gone away, or could not be opened; what it had not answered waits again, in its old place.
    pub fn closed(&mut self, connection: usize) {
        if let Some(outstanding) = self.connections.remove(&connection) {
            self.connected.remove(&(outstanding.len(), connection));
            self.waiting.extend(outstanding);
        }
    }

    /// The next thing to do, if anything can be done now.
    pub fn poll(&mut self) -> Option<LoaderAction> {
        if let Some(connection) = self.to_close.pop_front() {
            return Some(LoaderAction::Close { connection });
        }
        self.request().or_else(|| self.open())
    }

    /// Whether everything discovered so far has been received.
    pub fn is_complete(&self) -> bool {
        self.received == self.discovered.len()
    }

    /// Binds the first waiting object to the connection with the fewest outstanding responses, the oldest of equals, if another
    /// request may go on it.
    fn request(&mut self) -> Option<LoaderAction> {
        let &(depth, connection) = self.connected.first()?;
        if depth > 0 && self.http.version != HttpVersion::Http11Pipelined {
            return None;
        }
        let place = self.waiting.pop_first()?;
        self.connections.get_mut(&connection)?.push_back(place);
        self.connected.pop_first();
        self.connected.insert((depth + 1, connection));
        Some(LoaderAction::Request { connection, object: self.discovered[place] })
    }

    /// Opens a connection if more objects wait than connections are being opened and the limit allows one.
    fn open(&mut self) -> Option<LoaderAction> {
        let opening = self.connections.len() - self.connected.len();
        // A limit of zero could never load anything.
        let limit = self.http.connections.max(1);
        // Pipelining shares one connection: what waits while it is being opened needs no second one.
        let wanted = match self.http.version {
            HttpVersion::Http11Pipelined => self.waiting.len().min(1),
            HttpVersion::Http10 | HttpVersion::Http11 => self.waiting.len(),
        };
        if wanted <= opening || self.connections.len() >= limit {
            return None;
        }
        let connection = self.next_connection;
        self.next_connection += 1;
        self.connections.insert(connection, Outstanding::new());
        Some(LoaderAction::Open { connection })
    }
}

#[cfg(test)]
mod tests {
    use super::LoaderAction::{Close, Open, Request};
    use super::*;
    use proptest::prelude::*;

    fn loader(version: HttpVersion, connections: usize) -> Loader {
        Loader::new(HttpConfig { version, connections, ..HttpConfig::DEFAULT })
    }

    fn actions(loader: &mut Loader) -> Vec<LoaderAction> {
        std::iter::from_fn(|| loader.poll()).collect()
    }

    #[test]
    fn the_document_is_known_from_the_start() {
        let mut loader = loader(HttpVersion::Http11, 6);
        assert_eq!(actions(&mut loader), [Open { connection: 0 }]);
        assert!(!loader.is_complete());
        loader.connected(0);
        assert_eq!(actions(&mut loader), [Request { connection: 0, object: 0 }]);
        loader.response_complete(0);
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
        assert_eq!(actions(&mut loader), [Open { connection: 1 }]);
        loader.discover(4);
        loader.discover(9);
        assert_eq!(actions(&mut loader), [Open { connection: 2 }], "three are the limit");
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
        assert_eq!(actions(&mut loader), [Open { connection: 1 }, Open { connection: 2 }]);
        loader.response_complete(0);
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
        assert_eq!(actions(&mut loader), [Open { connection: 0 }]);
        loader.connected(0);
        assert_eq!(actions(&mut loader), [Request { connection: 0, object: 0 }]);
        loader.response_complete(0);
        assert_eq!(actions(&mut loader), [Close { connection: 0 }, Open { connection: 1 }]);
        loader.closed(0);
        loader.connected(1);
        assert_eq!(actions(&mut loader), [Request { connection: 1, object: 1 }]);
    }

    #[test]
    fn pipelined_requests_go_out_on_one_connection_as_soon_as_known() {
        let mut loader = loader(HttpVersion::Http11Pipelined, 6);
        loader.discover(1);
        assert_eq!(actions(&mut loader), [Open { connection: 0 }]);
        loader.connected(0);
        let first_two = [Request { connection: 0, object: 0 }, Request { connection: 0, object: 1 }];
        assert_eq!(actions(&mut loader), first_two);
        loader.discover(2);
        assert_eq!(actions(&mut loader), [Request { connection: 0, object: 2 }]);
        loader.response_complete(0);
        loader.response_complete(0);
        assert!(!loader.is_complete());
        loader.response_complete(0);
        assert!(loader.is_complete());
    }

    #[test]
    fn what_a_lost_connection_left_unanswered_is_asked_again_first() {
        let mut loader = loader(HttpVersion::Http11Pipelined, 1);
        (1..4).for_each(|object| loader.discover(object));
        actions(&mut loader);
        loader.connected(0);
        actions(&mut loader);
        loader.response_complete(0);
        loader.discover(4);
        loader.closed(0);
        assert_eq!(actions(&mut loader), [Open { connection: 1 }]);
        loader.connected(1);
        let asked: Vec<_> = (1..5).map(|object| Request { connection: 1, object }).collect();
        assert_eq!(actions(&mut loader), asked);
    }

    #[test]
    fn a_connection_that_cannot_be_opened_is_replaced() {
        let mut loader = loader(HttpVersion::Http11, 6);
        actions(&mut loader);
        loader.closed(0);
        assert_eq!(actions(&mut loader), [Open { connection: 1 }]);
    }

    fn version() -> impl Strategy<Value = HttpVersion> {
        prop_oneof![Just(HttpVersion::Http10), Just(HttpVersion::Http11), Just(HttpVersion::Http11Pipelined)]
    }

    proptest! {
        /// Whatever the order of events, and with connections lost on the way, every object is received exactly once and the
        /// limit is kept.
        #[test]
        fn every_object_is_received_once(version in version(), limit in 1_usize..8, objects in 1_usize..30,
                                         choices in prop::collection::vec((0_usize..100, 0_u8..10), 1..400)) {
            let mut loader = loader(version, limit);
            (1..objects).for_each(|object| loader.discover(object));
            let mut open: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
            let mut up: BTreeSet<usize> = BTreeSet::new();
            let mut received = vec![0; objects];
            // After the random part, events in a fixed order finish the load.
            let rest = (0..10_000).map(|step| (step, 9));
            for (pick, kind) in choices.into_iter().chain(rest) {
                while let Some(action) = loader.poll() {
                    match action {
                        Open { connection } => prop_assert!(open.insert(connection, VecDeque::new()).is_none()),
                        Request { connection, object } => {
                            prop_assert!(up.contains(&connection));
                            open.get_mut(&connection).expect("requests go on open connections").push_back(object);
                        }
                        Close { connection } => {
                            prop_assert_eq!(open.remove(&connection).map(|left| left.len()), Some(0));
                            up.remove(&connection);
                        }
                    }
                    prop_assert!(open.len() <= limit);
                }
                let Some(&connection) = open.keys().nth(pick % open.len().max(1)) else { break };
                if kind == 0 {
                    open.remove(&connection);
                    up.remove(&connection);
                    loader.closed(connection);
                } else if up.insert(connection) {
                    loader.connected(connection);
                } else if let Some(object) = open.get_mut(&connection).and_then(VecDeque::pop_front) {
                    received[object] += 1;
                    loader.response_complete(connection);
                }
            }
            prop_assert!(loader.is_complete());
            prop_assert!(received.iter().all(|&times| times == 1), "{received:?}");
        }
    }
}
