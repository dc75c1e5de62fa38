//! The client's application: a browser that asks for what it has learned of, and notes when everything happened.
//!
//! Which connection to open and what to ask on it is decided by [`Loader`], as in the real client. An object is learned of once
//! the bytes of the referring body can be read up to the end of the reference to it: they have arrived in order, and of a record of TLS
//! all has ([`Records`](farhop_web::Records)). It is asked for once the browser has had its own time for it (parsing, scripts). Responses
//! carry no bytes, so that a body's length is all there is to it.
//!
//! Idle connections serve the next page. They are closed after the time that the scenario gives; if it gives none, when the
//! client turns to a page that has nothing at their host. Left out: rendering time, caches.

use super::connections::{Action, Connections};
use crate::legs::{Exchange, Message};
use farhop_results::ObjectTiming;
use farhop_units::{Bytes, Instant, look_at, look_at_all};
use farhop_web::{HttpConfig, Loader, LoaderAction, Named, Page};
use std::time::Duration;

/// What is known of one object's load.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// What the response takes in all but its records: status line, headers, body.
    response: Bytes,
    /// How much of it has come, and must have until its body begins, names something, or is complete.
    come: Bytes,
    next: Bytes,
    /// How much of the body can be read, as of the last of these.
    body: Bytes,
    connection: usize,
    /// Of what bodies name, what this one does and has not been read so far.
    names: (u32, u32),
    discovered: Option<Instant>,
    connect: Option<Instant>,
    request: Option<Instant>,
    first_byte: Option<Instant>,
    end: Option<Instant>,
}

/// The browser of one client.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Browser {
    began: Instant,
    page: Page,
    http: HttpConfig,
    loader: Loader,
    connections: Connections,
    objects: Vec<Progress>,
    /// What the page's bodies name, in the order of [`Named`].
    named: Vec<Named>,
    /// Objects that are known and will be asked for when the browser has had its time.
    delayed: Vec<(Instant, usize)>,
    /// Connections to be closed.
    left: Vec<usize>,
    /// Something has happened that the loader may act upon.
    has_news: bool,
}

impl Browser {
    /// A browser that is told to load `page` at `now`.
    pub(crate) fn new(now: Instant, page: Page, http: HttpConfig) -> Self {
        let mut browser = Self {
            loader: Loader::new(http, &page),
            page,
            http,
            connections: Connections::new(http),
            objects: Vec::new(),
            named: Vec::new(),
            delayed: Vec::new(),
            left: Vec::new(),
            began: now,
            has_news: true,
        };
        browser.begin(now);
        browser
    }

    /// Begins with another page, over the connections that there are.
    pub(crate) fn next_page(&mut self, now: Instant, page: Page) {
        self.page = page;
        self.loader.next_page(&self.page);
        if self.http.persistence.is_none() {
            self.leave_hosts();
        }
        self.begin(now);
    }

    /// Nobody waits for connections to hosts that the page does not have.
    fn leave_hosts(&mut self) {
        for number in self.connections.to_others(&self.page.hosts) {
            self.loader.closed(number);
            self.left.push(number);
        }
    }

    fn begin(&mut self, now: Instant) {
        self.objects.clear();
        self.objects.resize(self.page.objects.len(), Progress::default());
        self.objects[0].discovered = Some(now);
        self.note_names();
        (self.began, self.has_news) = (now, true);
    }

    /// Sorts what bodies name.
    fn note_names(&mut self) {
        self.named.clear();
        self.named.extend(self.page.named());
        self.named.sort_unstable();
        let mut first = 0;
        for of_one in self.named.chunk_by(|one, next| one.by == next.by) {
            let end = first + u32::try_from(of_one.len()).expect("pages have fewer objects");
            self.objects[of_one[0].by].names = (first, end);
            first = end;
        }
    }

    /// The client wants an object that nothing names.
    pub(crate) fn ask(&mut self, now: Instant, object: usize) {
        self.objects[object].discovered = Some(now);
        self.want(object);
    }

    /// Asks memory for all of it, which tells where the rest is.
    #[inline]
    pub(crate) fn look_at(&self) {
        look_at_all(&self.began, size_of::<Self>());
    }

    /// Asks memory for what a part of this exchange needs beyond that.
    #[inline]
    pub(crate) fn look_at_exchange(&self, exchange: Exchange) {
        let Exchange::Object(number) = exchange else { return };
        let number = number as usize;
        if let (Some(progress), Some(object)) = (self.objects.get(number), self.page.objects.get(number)) {
            look_at(&progress.come);
            look_at(&progress.first_byte);
            look_at(&object.size);
            look_at(&object.response_header_bytes);
        }
        self.named.first().into_iter().for_each(look_at);
        self.loader.look_at_response(number);
        self.connections.look_at_list();
    }

    /// Whether all that is known of the page has been loaded.
    pub(crate) fn is_complete(&self) -> bool {
        self.delayed.is_empty() && self.loader.is_complete()
    }

    pub(crate) fn page(&self) -> &Page {
        &self.page
    }

    /// The address of the host with this name is known.
    pub(crate) fn resolved(&mut self, name: u32) {
        self.connections.resolved(name);
        self.has_news = true;
    }

    /// Who asks a box for an object has connected to the address of its host, which the box knows from then on.
    pub(crate) fn hear_address(&mut self, object: usize) {
        let host = self.page.objects[object].host;
        self.connections.hear_address(&self.page.hosts[host]);
        self.has_news = true;
    }

    /// The transport of a connection is up.
    pub(crate) fn connected(&mut self, now: Instant, connection: u32) {
        let is_ready = self.connections.connected(connection as usize);
        self.note_ready(now, connection, is_ready);
    }

    /// Bytes of the handshake of keys have arrived.
    fn agree(&mut self, now: Instant, connection: u32, bytes: Bytes) {
        let is_ready = self.connections.agree(connection as usize, bytes);
        self.note_ready(now, connection, is_ready);
    }

    fn note_ready(&mut self, now: Instant, connection: u32, is_ready: bool) {
        if is_ready {
            self.loader.connected(connection as usize);
            // What asked for it may have gone over another one meanwhile.
            self.connections.rest(now, connection as usize);
        }
        self.has_news = true;
    }

    /// Whether something has happened since the last call that makes [`Browser::poll`] worth asking.
    pub(crate) fn take_news(&mut self) -> bool {
        core::mem::take(&mut self.has_news)
    }

    /// The next thing to do.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Action> {
        if let Some(connection) = self.left.pop() {
            return Some(Action::Close { connection });
        }
        loop {
            if let Some(action) = self.connections.poll() {
                return Some(action);
            }
            match self.loader.poll()? {
                LoaderAction::Open { connection, host } => {
                    self.connections.want(now, connection, host, &self.page.hosts[host]);
                }
                LoaderAction::Request { connection, object } => {
                    self.note_request(now, connection, object);
                    return Some(Action::Request { connection, object });
                }
                LoaderAction::Close { connection } => return Some(Action::Close { connection }),
            }
        }
    }

    /// A connection is being opened over this leg.
    pub(crate) fn opened(&mut self, number: usize, leg: u32) {
        self.connections.opened(number, leg);
    }

    /// The leg of a connection.
    pub(crate) fn leg(&self, number: usize) -> Option<u32> {
        self.connections.leg(number)
    }

    /// Forgets a connection; returns its leg.
    pub(crate) fn forget(&mut self, number: usize) -> Option<u32> {
        self.connections.forget(number)
    }

    fn note_request(&mut self, now: Instant, number: usize, object: usize) {
        let (progress, wanted) = (&mut self.objects[object], &self.page.objects[object]);
        progress.response = self.http.header_size(wanted) + wanted.size;
        progress.connection = number;
        progress.connect = self.connections.use_for_request(number);
        progress.request = Some(now);
        self.note_next(object);
    }

    /// A part of what the server says arrived in order. Returns how long an object took since the browser wanted it, if that was its end: waiting for
    /// a connection is part of it (W3C Resource Timing §4.4, `duration`).
    pub(crate) fn received(&mut self, now: Instant, connection: u32, part: Message) -> Option<Duration> {
        let object = match part.exchange {
            Exchange::Object(object) => object as usize,
            Exchange::Keys => {
                self.agree(now, connection, part.bytes);
                return None;
            }
            Exchange::Connect | Exchange::Flows => return None,
        };
        let progress = &mut self.objects[object];
        progress.come += part.bytes;
        if progress.come < progress.next || !self.read(now, object) {
            return None;
        }
        self.end_response(now, connection as usize, object);
        let wanted = self.objects[object].discovered? + self.page.objects[object].delay;
        Some(now - wanted)
    }

    /// How much more of an exchange must come until that means something, if it is known: until then [`Browser::received`] need not be called.
    pub(crate) fn awaits(&self, exchange: Exchange) -> Option<Message> {
        let Exchange::Object(number) = exchange else { return None };
        let progress = self.objects.get(number as usize)?;
        Some(Message { exchange, bytes: progress.next.saturating_sub(progress.come) })
    }

    fn end_response(&mut self, now: Instant, number: usize, object: usize) {
        self.loader.response_complete(number, object);
        self.connections.rest(now, number);
        self.has_news = true;
    }

    /// Reads what can be read of a body, and what that names; returns whether the body is complete.
    fn read(&mut self, now: Instant, object: usize) -> bool {
        let (progress, size) = (&mut self.objects[object], self.page.objects[object].size);
        let head = progress.response - size;
        progress.body = self.http.records().readable(progress.come, progress.response) - head;
        progress.first_byte.get_or_insert(now);
        let complete = progress.body == size;
        if complete {
            progress.end = Some(now);
        }
        self.discover(now, object);
        self.note_next(object);
        complete
    }

    /// Until then nothing but how much of an object has come need be looked at.
    fn note_next(&mut self, object: usize) {
        let (progress, size) = (&mut self.objects[object], self.page.objects[object].size);
        let next = match progress.next_name(&self.named) {
            _ if progress.first_byte.is_none() => Bytes::new(1),
            Some(name) => name.end,
            None => size,
        };
        let wanted = progress.response - size + next.min(size);
        progress.next = self.http.records().needed(wanted, progress.response);
    }

    /// Learns of what the part of the body that has arrived names.
    fn discover(&mut self, now: Instant, referrer: usize) {
        while let Some(object) = self.objects[referrer].read_name(&self.named) {
            self.objects[object].discovered = Some(now);
            let delay = self.page.objects[object].delay;
            if delay.is_zero() {
                self.want(object);
            } else {
                self.delayed.push((now + delay, object));
                self.has_news = true;
            }
        }
    }

    /// The object is to be asked for.
    pub(crate) fn want(&mut self, object: usize) {
        self.loader.discover(object);
        self.has_news = true;
    }

    /// When the browser has something to do by itself.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.delayed.iter().map(|(at, _)| *at).chain(self.connections.next_timeout()).min()
    }

    /// Does what is due by itself.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        // Of one instant, in the order of discovery.
        while let Some(place) = self.delayed.iter().position(|(at, _)| *at <= now) {
            let (_, object) = self.delayed.remove(place);
            self.want(object);
        }
        for number in self.connections.too_long_idle(now) {
            self.loader.idle_timeout(number);
            self.has_news = true;
        }
    }

    /// When the page was asked for.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// When the last byte of the last object arrived.
    pub(crate) fn end(&self) -> Option<Instant> {
        self.objects.iter().filter_map(|object| object.end).max()
    }

    /// When the first byte of the document's body arrived.
    pub(crate) fn first_byte(&self) -> Option<Instant> {
        self.first_byte_of(0)
    }

    /// When the first byte of an object's body arrived.
    pub(crate) fn first_byte_of(&self, object: usize) -> Option<Instant> {
        self.objects.get(object)?.first_byte
    }

    /// The objects that were loaded, in the order of the page, with times since the beginning of the run.
    pub(crate) fn timings(&self) -> Vec<ObjectTiming> {
        let pairs = self.page.objects.iter().zip(&self.objects);
        pairs.filter_map(|(object, progress)| progress.timing(&object.name)).collect()
    }
}

impl Progress {
    /// What the body names next, of what the page's bodies name.
    fn next_name(&self, named: &[Named]) -> Option<Named> {
        let (next, end) = self.names;
        if next < end { named.get(next as usize).copied() } else { None }
    }

    /// Reads the next name, if it has come; returns what it names.
    fn read_name(&mut self, named: &[Named]) -> Option<usize> {
        let Named { object, .. } = self.next_name(named).filter(|name| name.end <= self.body)?;
        self.names.0 += 1;
        Some(object)
    }

    fn timing(&self, name: &str) -> Option<ObjectTiming> {
        Some(ObjectTiming {
            name: name.to_owned(),
            bytes: self.body.get(),
            connection: u32::try_from(self.connection).ok()?,
            discovered_s: self.discovered?.as_secs_f64(),
            connect_s: self.connect.map(Instant::as_secs_f64),
            request_s: self.request?.as_secs_f64(),
            first_byte_s: self.first_byte?.as_secs_f64(),
            end_s: self.end?.as_secs_f64(),
            sha256: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_web::{HttpVersion, Tls};

    const HTTP: HttpConfig =
        HttpConfig { version: HttpVersion::Http11Pipelined, connections: 1, ..HttpConfig::DEFAULT };

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn actions(browser: &mut Browser, ms: u64) -> Vec<Action> {
        std::iter::from_fn(|| browser.poll(at(ms))).collect()
    }

    fn part(exchange: u32, bytes: Bytes) -> Message {
        Message { exchange: Exchange::Object(exchange), bytes }
    }

    /// A browser that has asked for the document of a page of so many objects over connection 0, which is leg 5, at 10 ms.
    fn asking(objects: usize, http: HttpConfig, change: impl Fn(&mut Page)) -> Browser {
        let mut page = Page::uniform(objects, Bytes::new(1000)).expect("fits");
        change(&mut page);
        let mut browser = Browser::new(at(0), page, http);
        actions(&mut browser, 0);
        browser.opened(0, 5);
        browser.connected(at(0), 0);
        actions(&mut browser, 10);
        browser
    }

    fn response() -> Bytes {
        Bytes::new(1000) + HTTP.response_header_bytes
    }

    #[test]
    fn objects_are_learned_of_at_the_end_of_their_tags() {
        let mut browser = asking(3, HTTP, |_| {});
        let named = browser.page().discovered_at(1) + HTTP.response_header_bytes;
        browser.received(at(20), 0, part(0, named - Bytes::new(1)));
        assert_eq!(actions(&mut browser, 20), []);
        assert_eq!(browser.awaits(Exchange::Object(0)), Some(part(0, Bytes::new(1))), "the last byte of the tag");
        browser.received(at(21), 0, part(0, Bytes::new(1)));
        assert_eq!(actions(&mut browser, 21), [Action::Request { connection: 0, object: 1 }]);
    }

    #[test]
    fn nothing_is_read_of_a_record_before_all_of_it_has_come() {
        let http = HttpConfig { tls: Tls::V13, tls_record: Bytes::new(700), ..HTTP };
        let mut browser = Browser::new(at(0), Page::uniform(3, Bytes::new(1000)).expect("fits"), http);
        actions(&mut browser, 0);
        browser.opened(0, 5);
        browser.connected(at(0), 0);
        actions(&mut browser, 10);
        browser.received(at(20), 0, Message { exchange: Exchange::Keys, bytes: Bytes::new(3200) });
        actions(&mut browser, 20);
        // A head of 250 B and a body of 1000 B lie in records of 722 and 572 B; the body names both others.
        assert!(browser.page().discovered_at(1) < Bytes::new(450) && browser.page().discovered_at(2) > Bytes::new(450));
        let mut came = |ms, bytes| {
            browser.received(at(ms), 0, part(0, Bytes::new(bytes)));
            (browser.first_byte(), actions(&mut browser, ms).len())
        };
        assert_eq!([came(30, 721), came(31, 1)], [(None, 0), (Some(at(31)), 1)]);
        assert_eq!([came(32, 571), came(33, 1)], [(Some(at(31)), 0), (Some(at(31)), 1)]);
        assert_eq!(browser.end(), Some(at(33)));
    }

    #[test]
    fn the_first_byte_is_that_of_the_body() {
        let mut browser = asking(2, HTTP, |_| {});
        browser.received(at(20), 0, part(0, HTTP.response_header_bytes));
        assert_eq!(browser.first_byte(), None);
        browser.received(at(21), 0, part(0, Bytes::new(1)));
        assert_eq!(browser.first_byte(), Some(at(21)));
    }

    #[test]
    fn objects_are_asked_for_when_the_browser_has_had_its_time() {
        let mut browser = asking(2, HTTP, |page| page.objects[1].delay = Duration::from_millis(30));
        browser.received(at(20), 0, part(0, response()));
        assert_eq!(actions(&mut browser, 20), []);
        assert!(!browser.is_complete());
        assert_eq!(browser.next_timeout(), Some(at(50)));
        browser.handle_timeout(at(50));
        assert_eq!(actions(&mut browser, 50), [Action::Request { connection: 0, object: 1 }]);
    }

    #[test]
    fn a_page_is_complete_with_its_last_byte() {
        let mut browser = asking(2, HTTP, |_| {});
        assert_eq!(browser.received(at(20), 0, part(0, response() - Bytes::new(1))), None);
        actions(&mut browser, 20);
        assert_eq!(
            browser.received(at(30), 0, part(0, Bytes::new(1))),
            Some(at(30) - at(0)),
            "also what it waited for a connection"
        );
        browser.received(at(30), 0, part(1, response() - Bytes::new(1)));
        assert!(!browser.is_complete());
        browser.received(at(40), 0, part(1, Bytes::new(1)));
        assert!(browser.is_complete());
        let timings = browser.timings();
        assert_eq!(timings.iter().map(|timing| timing.bytes).collect::<Vec<_>>(), [1000, 1000]);
        assert_eq!((browser.end(), timings[0].connect_s), (Some(at(40)), Some(0.0)));
        assert_eq!(timings[1].connect_s, None, "the connection was there already");
    }

    #[test]
    fn idle_connections_serve_the_next_page_until_their_time_is_over() {
        let http = HttpConfig { persistence: Some(Duration::from_millis(100)), ..HTTP };
        let mut browser = asking(1, http, |_| {});
        browser.received(at(20), 0, part(0, response()));
        assert!(browser.is_complete());
        browser.next_page(at(70), Page::uniform(1, Bytes::new(1000)).expect("fits"));
        assert_eq!(actions(&mut browser, 70), [Action::Request { connection: 0, object: 0 }]);
        browser.handle_timeout(at(120));
        assert_eq!(actions(&mut browser, 120), [], "it is not idle");
        browser.received(at(150), 0, part(0, response()));
        assert_eq!(browser.next_timeout(), Some(at(250)));
        browser.handle_timeout(at(250));
        assert_eq!(actions(&mut browser, 250), [Action::Close { connection: 0 }]);
        assert_eq!((browser.forget(0), browser.next_timeout()), (Some(5), None));
    }

    #[test]
    fn a_connection_that_comes_up_too_late_to_be_needed_is_idle() {
        let http = HttpConfig { persistence: Some(Duration::from_millis(100)), connections: 2, ..HTTP };
        let mut browser = asking(2, HttpConfig { version: HttpVersion::Http11, ..http }, |_| {});
        browser.received(at(20), 0, part(0, Bytes::new(600)));
        assert_eq!(actions(&mut browser, 20), [Action::Open { connection: 1, host: 0 }]);
        browser.received(at(30), 0, part(0, response() - Bytes::new(600)));
        assert_eq!(actions(&mut browser, 30), [Action::Request { connection: 0, object: 1 }], "it is free sooner");
        browser.opened(1, 6);
        browser.connected(at(40), 1);
        assert_eq!((actions(&mut browser, 40), browser.next_timeout()), (vec![], Some(at(130))));
        browser.received(at(50), 0, part(1, response()));
        assert_eq!(browser.next_timeout(), Some(at(140)));
        browser.handle_timeout(at(140));
        assert_eq!(actions(&mut browser, 140), [Action::Close { connection: 1 }]);
    }

    #[test]
    fn connections_to_hosts_that_are_left_are_closed_unless_the_scenario_keeps_them() {
        for persistence in [None, Some(Duration::from_secs(15))] {
            let mut browser = asking(1, HttpConfig { persistence, ..HTTP }, |_| {});
            browser.received(at(20), 0, part(0, response()));
            let mut elsewhere = Page::uniform(1, Bytes::new(1000)).expect("fits");
            elsewhere.hosts = vec!["elsewhere".into()];
            browser.next_page(at(30), elsewhere);
            let close = persistence.is_none().then_some(Action::Close { connection: 0 });
            let expected: Vec<_> = close.into_iter().chain([Action::Open { connection: 1, host: 0 }]).collect();
            assert_eq!(actions(&mut browser, 30), expected);
        }
    }
}
