//! What a browser decides while it loads a page: when to open a connection, and which request goes on which.
//!
//! Sans-IO and without a clock: the owner reports what happened (an object was discovered, a connection came up, a response
//! ended, a connection went away, one was idle for long enough) and carries out the actions that [`Loader::poll`] gives. The simulator's
//! browser and the real client use this same machine, so that they differ only in what is below HTTP.
//!
//! The policy is that of browsers' connection pools, one for each host. HTTP/1: at most [`HttpConfig::connections`] at once (RFC 9112
//! §9.4 leaves the limit to the client), requests wait in the order of discovery and are bound late, i.e. the next connection that can
//! carry a request takes the first object that waits, whichever object it was opened for. HTTP/2 and 3: one connection, which carries up
//! to [`MAX_STREAMS`] requests at once; what waits, for the connection or for a stream, goes in the order of [`Priority`] (documents,
//! then style sheets, scripts and fonts, then the rest), within a priority in the order of discovery. A request whose connection goes away
//! is asked again (RFC 9112 §9.3.1: GET is idempotent), in its old place.
//!
//! Connections outlive the page ([`Loader::next_page`]) until the owner's timer for an idle one runs out ([`Loader::idle_timeout`], after
//! [`HttpConfig::persistence`]) or the server closes it.
//!
//! Left out: priorities among requests of HTTP/1, a limit over all hosts (256 in Chrome), connections shared by hosts with one certificate
//! (RFC 9113 §9.1.1), speculative connections, a limit on retries.

use crate::{HttpConfig, HttpVersion, Page, Priority};
use core::cmp::Reverse;
use farhop_units::look_at;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::collections::{BinaryHeap, VecDeque};

/// Requests of HTTP/2 and 3 that a connection carries at once: the least that RFC 9113 §6.5.2 recommends servers to allow, and what
/// most of them do allow.
pub const MAX_STREAMS: usize = 100;

/// What the client is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoaderAction {
    /// Open a connection, which is called `connection` from now on; numbers count up from 0 and are not used twice.
    Open {
        /// The new connection.
        connection: usize,
        /// Index of the host in the page.
        host: usize,
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

/// An object's place among those that wait: what is less goes first. The number is its place in the order of discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    priority: Priority,
    place: u32,
}

/// What the loader has to know of an object.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    host: u32,
    priority: Priority,
    /// Place in the order of discovery, once it is known.
    place: Option<u32>,
}

#[derive(Debug, Clone)]
struct Connection {
    number: usize,
    /// `None` if the page has nothing at its host.
    host: Option<usize>,
    name: SmolStr,
    is_up: bool,
    /// What it has been asked for and has not yet answered, oldest first.
    outstanding: Outstanding,
}

/// Objects that were asked for on a connection, oldest first. Mostly it is one.
#[derive(Debug, Clone, Default)]
struct Outstanding {
    first: Option<Turn>,
    others: VecDeque<Turn>,
}

impl Outstanding {
    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    fn push(&mut self, turn: Turn) {
        if self.is_empty() {
            self.first = Some(turn);
        } else {
            self.others.push_back(turn);
        }
    }

    /// Takes out what has this place; returns whether it was there.
    fn remove(&mut self, place: u32) -> bool {
        if self.first.take_if(|turn| turn.place == place).is_some() {
            self.first = self.others.pop_front();
            return true;
        }
        let index = self.others.iter().position(|turn| turn.place == place);
        index.and_then(|index| self.others.remove(index)).is_some()
    }
}

impl IntoIterator for Outstanding {
    type Item = Turn;
    type IntoIter = core::iter::Chain<core::option::IntoIter<Turn>, std::collections::vec_deque::IntoIter<Turn>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.others)
    }
}

/// What there is to ask of a host, and by what.
#[derive(Debug, Clone, Default)]
struct Pool {
    name: SmolStr,
    /// What has not been asked for yet.
    waiting: BinaryHeap<Reverse<Turn>>,
    /// Connections that are up, in order: how many responses each owes, and its number. The first is the one to ask next.
    up: SmallVec<[(usize, usize); 2]>,
    /// Connections that are being opened.
    opening: usize,
}

impl Pool {
    /// What is to be asked for first.
    fn first(&self) -> Option<Turn> {
        self.waiting.peek().map(|Reverse(first)| *first)
    }

    /// A connection that is up owes so many responses from now on.
    fn insert(&mut self, owing: usize, connection: usize) {
        let place = self.up.partition_point(|other| *other < (owing, connection));
        self.up.insert(place, (owing, connection));
    }

    /// A connection does not owe so many responses any more, or is not up.
    fn remove(&mut self, owing: usize, connection: usize) {
        self.up.retain(|other| *other != (owing, connection));
    }

    /// Has nothing to ask for, of a host with this name.
    fn begin(&mut self, name: &SmolStr) {
        self.name.clone_from(name);
        self.waiting.clear();
        self.up.clear();
        self.opening = 0;
    }
}

/// The browser's decisions for the pages of one client. Lists that are mostly short are where the loader is, so that thousands of loaders are
/// not looked for all over memory.
#[derive(Debug, Clone)]
pub struct Loader {
    http: HttpConfig,
    objects: SmallVec<[Wanted; 8]>,
    /// Known objects in the order in which they became known.
    discovered: SmallVec<[u32; 8]>,
    pools: SmallVec<[Pool; 1]>,
    /// Objects in all pools that wait.
    waiting: usize,
    received: usize,
    /// Every connection that counts against the limits, in the order of their numbers.
    connections: SmallVec<[Connection; 2]>,
    next_connection: usize,
    to_close: VecDeque<usize>,
    /// Requests that are decided and not told.
    requests: VecDeque<LoaderAction>,
}

impl Loader {
    /// A loader that knows object 0 of `page` and has no connection.
    pub fn new(http: HttpConfig, page: &Page) -> Self {
        let mut loader = Self {
            http,
            objects: SmallVec::new(),
            discovered: SmallVec::new(),
            pools: SmallVec::new(),
            waiting: 0,
            received: 0,
            connections: SmallVec::new(),
            next_connection: 0,
            to_close: VecDeque::new(),
            requests: VecDeque::new(),
        };
        loader.next_page(page);
        loader
    }

    /// Begins to load `page` instead of the one before. Connections to its hosts are used again; those that still owe a response of the page
    /// before are closed.
    pub fn next_page(&mut self, page: &Page) {
        let wanted = |object: &crate::Object| {
            // HTTP/1 keeps to the order of discovery: all its requests are of one priority.
            let priority = if self.http.version.is_multiplexed() { object.priority() } else { Priority::Other };
            Wanted { host: index(object.host), priority, place: None }
        };
        self.objects.clear();
        self.objects.extend(page.objects.iter().map(wanted));
        self.pools.resize_with(page.hosts.len(), Pool::default);
        self.pools.iter_mut().zip(&page.hosts).for_each(|(pool, name)| pool.begin(name));
        self.discovered.clear();
        self.requests.clear();
        (self.waiting, self.received) = (0, 0);
        self.keep_connections();
        self.discover(0);
    }

    /// Sorts the connections into the pools of a new page.
    fn keep_connections(&mut self) {
        let Self { connections, to_close, .. } = self;
        connections.retain(|connection| {
            let owes = !connection.outstanding.is_empty();
            to_close.extend(owes.then_some(connection.number));
            !owes
        });
        for connection in &mut self.connections {
            connection.host = self.pools.iter().position(|pool| pool.name == connection.name);
            match connection.host.map(|host| &mut self.pools[host]) {
                Some(pool) if connection.is_up => pool.insert(0, connection.number),
                Some(pool) => pool.opening += 1,
                None => {}
            }
        }
    }

    /// The client has learned of `object`; the order of calls is the order of priority. Learning of it again changes nothing, nor does
    /// an object that the page does not have.
    pub fn discover(&mut self, object: usize) {
        let place = index(self.discovered.len());
        let Some(wanted) = self.objects.get_mut(object).filter(|wanted| wanted.place.is_none()) else { return };
        wanted.place = Some(place);
        let turn = Turn { priority: wanted.priority, place };
        self.pools[wanted.host as usize].waiting.push(Reverse(turn));
        self.waiting += 1;
        self.discovered.push(index(object));
    }

    /// The connection can carry requests now.
    pub fn connected(&mut self, connection: usize) {
        let Some(state) = self.place(connection).map(|place| &mut self.connections[place]) else { return };
        let is_new = !core::mem::replace(&mut state.is_up, true);
        if let Some(pool) = state.host.filter(|_| is_new).map(|host| &mut self.pools[host]) {
            pool.opening -= 1;
            pool.insert(0, connection);
        }
    }

    /// Where a connection stands among those that count.
    fn place(&self, number: usize) -> Option<usize> {
        self.connections.binary_search_by_key(&number, |connection| connection.number).ok()
    }

    /// The response with `object` has arrived in full on the connection.
    pub fn response_complete(&mut self, connection: usize, object: usize) {
        let Some(turn) = self.objects.get(object).and_then(|wanted| wanted.place) else { return };
        let Some(place) = self.place(connection) else { return };
        let state = &mut self.connections[place];
        let before = state.outstanding.len();
        if !state.outstanding.remove(turn) {
            return;
        }
        self.received += 1;
        let Some(pool) = state.host.map(|host| &mut self.pools[host]) else { return };
        pool.remove(before, connection);
        if self.http.version == HttpVersion::Http10 {
            self.connections.remove(place);
            self.to_close.push_back(connection);
        } else {
            pool.insert(before - 1, connection);
        }
    }

    /// Asks memory for what a response with `object` needs when it ends, which mostly is of the first host: whoever has thousands of loaders
    /// does that before something happens to one, when the loader itself is there.
    pub fn look_at_response(&self, object: usize) {
        self.objects.get(object).into_iter().for_each(look_at);
        self.pools.first().into_iter().for_each(|pool| look_at(&pool.up));
        self.connections.iter().take(2).for_each(|connection| look_at(&connection.outstanding));
    }

    /// The connection has gone away, or could not be opened; what it had not answered waits again, in its old place.
    pub fn closed(&mut self, connection: usize) {
        let Some(place) = self.place(connection) else { return };
        let Connection { host, is_up, outstanding, .. } = self.connections.remove(place);
        self.requests
            .retain(|request| !matches!(request, LoaderAction::Request { connection: of, .. } if *of == connection));
        let Some(pool) = host.map(|host| &mut self.pools[host]) else { return };
        if is_up {
            pool.remove(outstanding.len(), connection);
        } else {
            pool.opening -= 1;
        }
        self.waiting += outstanding.len();
        pool.waiting.extend(outstanding.into_iter().map(Reverse));
    }

    /// Whether the connection is up and owes no response.
    pub fn is_idle(&self, connection: usize) -> bool {
        let state = self.place(connection).map(|place| &self.connections[place]);
        state.is_some_and(|state| state.is_up && state.outstanding.is_empty())
    }

    /// The connection has been idle for as long as connections may be; it is closed. If it is not idle now nothing happens, so that the owner
    /// need not end its timer with each request, only begin it anew with each response.
    pub fn idle_timeout(&mut self, connection: usize) {
        if self.is_idle(connection) {
            self.closed(connection);
            self.to_close.push_back(connection);
        }
    }

    /// The next thing to do, if anything can be done now.
    pub fn poll(&mut self) -> Option<LoaderAction> {
        if let Some(connection) = self.to_close.pop_front() {
            return Some(LoaderAction::Close { connection });
        }
        // What is asked for over connections that are up decides how many more are wanted, but who opens them does that first: a long request would
        // be in front of their handshakes.
        while self.waiting > 0
            && let Some(request) = self.request()
        {
            self.requests.push_back(request);
        }
        let opens = if self.waiting > 0 { self.open() } else { None };
        opens.or_else(|| self.requests.pop_front())
    }

    /// Whether everything discovered so far has been received. What the browser has read of but delays ([`Object::delay`](crate::Object::delay))
    /// is its owner's until it is discovered here.
    pub fn is_complete(&self) -> bool {
        self.received == self.discovered.len()
    }

    /// Binds the first waiting object to the connection with the fewest outstanding responses, the oldest of equals, if another
    /// request may go on it.
    fn request(&mut self) -> Option<LoaderAction> {
        let most = self.most_outstanding();
        let host = self.first_pool(|pool| pool.up.first().is_some_and(|(depth, _)| *depth < most))?;
        let pool = &mut self.pools[host];
        let Reverse(turn) = pool.waiting.pop()?;
        let (depth, connection) = pool.up.remove(0);
        pool.insert(depth + 1, connection);
        self.waiting -= 1;
        let place = self.place(connection)?;
        self.connections[place].outstanding.push(turn);
        Some(LoaderAction::Request { connection, object: self.discovered[turn.place as usize] as usize })
    }

    /// Opens a connection if more objects wait at a host than connections are being opened to it and the limit allows one.
    fn open(&mut self) -> Option<LoaderAction> {
        let shares = self.http.version.shares_connection();
        // A limit of zero could never load anything.
        let limit = if self.http.version.is_multiplexed() { 1 } else { self.http.connections.max(1) };
        // What waits for a shared connection that is being opened needs no second one.
        let most_opening = if shares { 1 } else { usize::MAX };
        let host = self.first_pool(|pool| {
            pool.opening < pool.waiting.len().min(most_opening) && pool.opening + pool.up.len() < limit
        })?;
        let pool = &mut self.pools[host];
        pool.opening += 1;
        let number = self.next_connection;
        self.next_connection += 1;
        let (name, outstanding) = (pool.name.clone(), Outstanding::default());
        self.connections.push(Connection { number, host: Some(host), name, is_up: false, outstanding });
        Some(LoaderAction::Open { connection: number, host })
    }

    /// Responses that a connection may owe at once.
    fn most_outstanding(&self) -> usize {
        match self.http.version {
            HttpVersion::Http10 | HttpVersion::Http11 => 1,
            HttpVersion::Http11Pipelined => usize::MAX,
            HttpVersion::Http2 | HttpVersion::Http3 => MAX_STREAMS,
        }
    }

    /// Of the hosts at which something waits and which are `ready`, the one whose turn it is.
    fn first_pool(&self, ready: impl Fn(&Pool) -> bool) -> Option<usize> {
        let pools = self.pools.iter().enumerate().filter(|(_, pool)| ready(pool));
        pools.filter_map(|(host, pool)| Some((pool.first()?, host))).min().map(|(_, host)| host)
    }
}

/// A number of something that a page has, of which there are fewer.
fn index(number: usize) -> u32 {
    u32::try_from(number).expect("pages have fewer")
}

#[cfg(test)]
mod tests;
