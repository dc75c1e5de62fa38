//! A browser's connections, from the name of a host to the first request and to the end: names are resolved once, keys agreed on with
//! each connection, and idle ones closed after their time.

use super::keys::{ClientKeys, Step};
use farhop_units::{Bytes, Instant, look_at};
use farhop_web::{Dns, HttpConfig};
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::collections::VecDeque;

/// What a browser wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Ask a resolver for the address of a host of the page; the browser calls the name by this number.
    Resolve { name: u32, host: usize },
    /// Open a connection to a host of the page, which is called by this number.
    Open { connection: usize, host: usize },
    /// Send a flight of the handshake of keys.
    Agree { connection: usize, bytes: Bytes },
    /// Send the request for an object.
    Request { connection: usize, object: usize },
    /// Close the connection.
    Close { connection: usize },
}

/// One connection as the browser sees it.
#[derive(Debug, Clone)]
struct Connection {
    /// What the loader calls it.
    number: usize,
    host: SmolStr,
    /// Where the host stood in the page when the connection was wanted.
    place: usize,
    wanted: Instant,
    /// Once its host's address is known.
    leg: Option<u32>,
    keys: ClientKeys,
    /// Has it carried a request?
    used: bool,
    /// When it has been idle for too long, if it is still idle then.
    idle_end: Option<Instant>,
}

/// All connections of a browser, and the names that it knows.
#[derive(Debug)]
pub(super) struct Connections {
    http: HttpConfig,
    list: SmallVec<[Connection; 2]>,
    /// Names that are or are being resolved, and whether they are.
    names: Vec<(SmolStr, bool)>,
    todo: VecDeque<Action>,
}

impl Connections {
    pub(super) fn new(http: HttpConfig) -> Self {
        Self { http, list: SmallVec::new(), names: Vec::new(), todo: VecDeque::new() }
    }

    /// Asks memory for the first of the list.
    pub(super) fn look_at_list(&self) {
        self.list.first().into_iter().for_each(look_at);
    }

    /// The next thing to do.
    pub(super) fn poll(&mut self) -> Option<Action> {
        self.todo.pop_front()
    }

    /// A connection to the host at this place of the page is wanted.
    pub(super) fn want(&mut self, now: Instant, number: usize, place: usize, host: &SmolStr) {
        let keys = ClientKeys::new(self.http.key_flights());
        let (host, is_known) = (host.clone(), self.look_up(host, place));
        self.list.push(Connection { number, host, place, wanted: now, leg: None, keys, used: false, idle_end: None });
        if is_known {
            self.todo.push_back(Action::Open { connection: number, host: place });
        }
    }

    /// Whether the address of a host is known; if nobody has asked for it so far somebody shall.
    fn look_up(&mut self, host: &SmolStr, place: usize) -> bool {
        if self.http.dns == Dns::None {
            return true;
        }
        if let Some((_, is_known)) = self.names.iter().find(|(name, _)| name == host) {
            return *is_known;
        }
        let name = u32::try_from(self.names.len()).expect("pages have fewer hosts");
        self.names.push((host.clone(), false));
        self.todo.push_back(Action::Resolve { name, host: place });
        false
    }

    /// Somebody has told the address of a host, whether a resolver is being asked for it or not.
    pub(super) fn hear_address(&mut self, host: &SmolStr) {
        match self.names.iter().position(|(name, _)| name == host) {
            _ if self.http.dns == Dns::None => {}
            Some(name) => self.resolved(u32::try_from(name).expect("pages have fewer hosts")),
            None => self.names.push((host.clone(), true)),
        }
    }

    /// The address of the host with this name is known.
    pub(super) fn resolved(&mut self, name: u32) {
        let (name, is_known) = &mut self.names[name as usize];
        if core::mem::replace(is_known, true) {
            return;
        }
        let waiting = self.list.iter().filter(|connection| connection.leg.is_none() && connection.host == *name);
        self.todo.extend(waiting.map(|wanted| Action::Open { connection: wanted.number, host: wanted.place }));
    }

    /// A connection is being opened over this leg.
    pub(super) fn opened(&mut self, number: usize, leg: u32) {
        if let Some(connection) = self.find(number) {
            connection.leg = Some(leg);
        }
    }

    /// The transport is up. Returns whether requests may go.
    pub(super) fn connected(&mut self, number: usize) -> bool {
        let Some(connection) = self.find(number) else { return false };
        let step = connection.keys.begin();
        self.go_on(number, step)
    }

    /// Bytes of the handshake of keys have arrived. Returns whether requests may go.
    pub(super) fn agree(&mut self, number: usize, bytes: Bytes) -> bool {
        let Some(connection) = self.find(number) else { return false };
        let step = connection.keys.hear(bytes);
        self.go_on(number, step)
    }

    fn go_on(&mut self, connection: usize, step: Step) -> bool {
        if let Step::Say(bytes) = step {
            self.todo.push_back(Action::Agree { connection, bytes });
        }
        step == Step::Done
    }

    /// The leg of a connection.
    pub(super) fn leg(&self, number: usize) -> Option<u32> {
        self.list.iter().find(|connection| connection.number == number).and_then(|connection| connection.leg)
    }

    /// A request goes on a connection; if it is the first, returns since when the connection was wanted.
    pub(super) fn use_for_request(&mut self, number: usize) -> Option<Instant> {
        let connection = self.find(number).filter(|connection| !connection.used)?;
        connection.used = true;
        Some(connection.wanted)
    }

    /// A connection is ready, or a response has ended on it: it may be idle from now on.
    pub(super) fn rest(&mut self, now: Instant, number: usize) {
        if let Some(persistence) = self.http.persistence
            && let Some(connection) = self.find(number)
        {
            connection.idle_end = Some(now + persistence);
        }
    }

    /// Forgets a connection; returns its leg.
    pub(super) fn forget(&mut self, number: usize) -> Option<u32> {
        let place = self.list.iter().position(|connection| connection.number == number)?;
        self.todo.retain(|action| !matches!(action, Action::Open { connection, .. } if *connection == number));
        self.list.remove(place).leg
    }

    /// Connections to other hosts than these.
    pub(super) fn to_others(&self, hosts: &[SmolStr]) -> Vec<usize> {
        let others = self.list.iter().filter(|connection| !hosts.contains(&connection.host));
        others.map(|connection| connection.number).collect()
    }

    /// When the first connection has been idle for too long.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.list.iter().filter_map(|connection| connection.idle_end).min()
    }

    /// The connections that have been idle for too long unless they are not idle.
    pub(super) fn too_long_idle(&mut self, now: Instant) -> Vec<usize> {
        let over =
            |connection: &mut Connection| connection.idle_end.take_if(|end| *end <= now).map(|_| connection.number);
        self.list.iter_mut().filter_map(over).collect()
    }

    fn find(&mut self, number: usize) -> Option<&mut Connection> {
        self.list.iter_mut().find(|connection| connection.number == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_web::Tls;

    fn connections(http: HttpConfig) -> Connections {
        Connections::new(http)
    }

    fn actions(connections: &mut Connections) -> Vec<Action> {
        std::iter::from_fn(|| connections.poll()).collect()
    }

    #[test]
    fn a_name_is_asked_for_once_and_all_connections_to_it_wait() {
        let mut connections = connections(HttpConfig { dns: Dns::Far, ..HttpConfig::DEFAULT });
        for (number, place, host) in [(0, 0, "a.test"), (1, 0, "a.test"), (2, 1, "b.test")] {
            connections.want(Instant::START, number, place, &host.into());
        }
        let asked = [Action::Resolve { name: 0, host: 0 }, Action::Resolve { name: 1, host: 1 }];
        assert_eq!(actions(&mut connections), asked);
        connections.resolved(0);
        let open = [0, 1].map(|connection| Action::Open { connection, host: 0 });
        assert_eq!(actions(&mut connections), open);
        connections.opened(0, 7);
        connections.want(Instant::START, 3, 0, &"a.test".into());
        assert_eq!(actions(&mut connections), [Action::Open { connection: 3, host: 0 }], "it is known now");
        assert_eq!((connections.forget(2), connections.leg(0)), (None, Some(7)));
        connections.resolved(1);
        assert_eq!(actions(&mut connections), [], "nobody waits for it any more");
    }

    #[test]
    fn an_address_that_is_told_is_not_asked_for() {
        let mut connections = connections(HttpConfig { dns: Dns::Far, ..HttpConfig::DEFAULT });
        connections.hear_address(&"a.test".into());
        connections.want(Instant::START, 0, 0, &"a.test".into());
        connections.want(Instant::START, 1, 1, &"b.test".into());
        let expected = [Action::Open { connection: 0, host: 0 }, Action::Resolve { name: 1, host: 1 }];
        assert_eq!(actions(&mut connections), expected);
        connections.hear_address(&"b.test".into());
        assert_eq!(actions(&mut connections), [Action::Open { connection: 1, host: 1 }]);
        connections.resolved(1);
        assert_eq!(actions(&mut connections), [], "it was told before");
    }

    #[test]
    fn requests_wait_for_keys() {
        for (tls, rounds) in [(Tls::None, 0), (Tls::V12, 2), (Tls::V13, 1)] {
            let mut connections = connections(HttpConfig { tls, ..HttpConfig::DEFAULT });
            connections.want(Instant::START, 0, 0, &"a.test".into());
            assert_eq!(actions(&mut connections), [Action::Open { connection: 0, host: 0 }]);
            let (mut is_up, mut said) = (connections.connected(0), 0);
            while let Some(Action::Agree { .. }) = connections.poll() {
                assert!(!is_up);
                is_up = connections.agree(0, tls.flights()[said].server);
                said += 1;
            }
            assert_eq!((is_up, said), (true, rounds), "{tls:?}");
        }
    }
}
