//! The client's application: a browser that asks for what it has learned of, and notes when everything happened.
//!
//! Which connection to open and what to ask on it is decided by [`Loader`], as in the real client. An object is learned of once
//! the bytes of the referring body have arrived in order up to the end of the tag that names it. Responses carry no bytes, so
//! that a body's length is all there is to it. Left out: parsing and rendering time, caches, more than one server.

use farhop_results::ObjectTiming;
use farhop_units::{Bytes, Instant};
use farhop_web::{HttpConfig, Loader, LoaderAction, Page};
use std::collections::{BTreeMap, VecDeque};

/// A response that has not arrived in full.
#[derive(Debug, Clone)]
struct Response {
    object: usize,
    /// Bytes of status line and headers still to come.
    header: Bytes,
}

/// One connection as the browser sees it.
#[derive(Debug, Clone)]
struct Connection {
    opened: Instant,
    /// Has it carried a request?
    used: bool,
    responses: VecDeque<Response>,
}

/// What is known of one object's load.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    body: Bytes,
    connection: usize,
    discovered: Option<Instant>,
    connect: Option<Instant>,
    request: Option<Instant>,
    first_byte: Option<Instant>,
    end: Option<Instant>,
}

/// The browser loading one page.
pub(crate) struct Browser<'a> {
    page: &'a Page,
    http: HttpConfig,
    loader: Loader,
    connections: BTreeMap<usize, Connection>,
    objects: Vec<Progress>,
    /// For each object, what its body names and has not been read so far: where the tag ends, and the object it names.
    references: Vec<VecDeque<(Bytes, usize)>>,
}

impl<'a> Browser<'a> {
    /// A browser that is told to load `page` at `now`.
    pub(crate) fn new(now: Instant, page: &'a Page, http: HttpConfig) -> Self {
        let objects = vec![Progress::default(); page.objects.len()];
        let (loader, connections) = (Loader::new(http, page), BTreeMap::new());
        let references = page.references().into_iter().map(VecDeque::from).collect();
        let mut browser = Self { page, http, loader, connections, objects, references };
        browser.objects[0].discovered = Some(now);
        browser
    }

    /// Whether all that is known of the page has been loaded.
    pub(crate) fn is_complete(&self) -> bool {
        self.loader.is_complete()
    }

    pub(crate) fn connected(&mut self, connection: usize) {
        self.loader.connected(connection);
    }

    /// The next thing to do.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<LoaderAction> {
        let action = self.loader.poll()?;
        match action {
            LoaderAction::Open { connection, .. } => {
                self.connections
                    .insert(connection, Connection { opened: now, used: false, responses: VecDeque::new() });
            }
            LoaderAction::Request { connection, object } => self.note_request(now, connection, object),
            LoaderAction::Close { connection } => {
                self.connections.remove(&connection);
            }
        }
        Some(action)
    }

    fn note_request(&mut self, now: Instant, number: usize, object: usize) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let first = !core::mem::replace(&mut connection.used, true);
        connection.responses.push_back(Response { object, header: self.http.header_size(&self.page.objects[object]) });
        let progress = &mut self.objects[object];
        progress.connection = number;
        progress.connect = first.then_some(connection.opened);
        progress.request = Some(now);
    }

    /// `bytes` arrived in order on a connection; they may end one response and begin the next.
    pub(crate) fn received(&mut self, now: Instant, connection: usize, bytes: Bytes) {
        let mut left = bytes;
        while left > Bytes::ZERO {
            let Some(object) = self.pass_header(connection, &mut left) else { return };
            let body = left.min(self.page.objects[object].size - self.objects[object].body);
            left -= body;
            if self.body_arrived(now, object, body) {
                self.end_response(connection, object);
            }
        }
    }

    /// Takes from `left` what belongs to the header of the oldest response; gives its object once the body has begun.
    fn pass_header(&mut self, connection: usize, left: &mut Bytes) -> Option<usize> {
        let response = self.connections.get_mut(&connection)?.responses.front_mut()?;
        let header = response.header.min(*left);
        response.header -= header;
        *left -= header;
        (response.header == Bytes::ZERO).then_some(response.object)
    }

    fn end_response(&mut self, connection: usize, object: usize) {
        if let Some(state) = self.connections.get_mut(&connection) {
            state.responses.pop_front();
        }
        self.loader.response_complete(connection, object);
    }

    /// Notes `bytes` of a body and what they name; returns whether the body is complete.
    fn body_arrived(&mut self, now: Instant, object: usize, bytes: Bytes) -> bool {
        let size = self.page.objects[object].size;
        let progress = &mut self.objects[object];
        progress.body += bytes;
        let complete = progress.body == size;
        if bytes > Bytes::ZERO || complete {
            progress.first_byte.get_or_insert(now);
        }
        if complete {
            progress.end = Some(now);
        }
        self.discover(now, object);
        complete
    }

    /// Learns of what the part of the body that has arrived names.
    fn discover(&mut self, now: Instant, referrer: usize) {
        let read = self.objects[referrer].body;
        while let Some((_, object)) = self.references[referrer].pop_front_if(|(end, _)| *end <= read) {
            self.objects[object].discovered = Some(now);
            self.loader.discover(object);
        }
    }

    /// When the last byte of the last object arrived.
    pub(crate) fn end(&self) -> Option<Instant> {
        self.objects.iter().filter_map(|object| object.end).max()
    }

    /// When the first byte of the document's body arrived.
    pub(crate) fn first_byte(&self) -> Option<Instant> {
        self.objects[0].first_byte
    }

    /// The objects that were loaded, in the order of the page, with times since the beginning of the run.
    pub(crate) fn timings(&self) -> Vec<ObjectTiming> {
        let pairs = self.page.objects.iter().zip(&self.objects);
        pairs.filter_map(|(object, progress)| progress.timing(&object.name)).collect()
    }
}

impl Progress {
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
    use farhop_web::HttpVersion;

    const HTTP: HttpConfig =
        HttpConfig { version: HttpVersion::Http11Pipelined, connections: 1, ..HttpConfig::DEFAULT };

    fn actions(browser: &mut Browser<'_>, ms: u64) -> Vec<LoaderAction> {
        let now = Instant::from_nanos(ms * 1_000_000);
        std::iter::from_fn(|| browser.poll(now)).collect()
    }

    #[test]
    fn objects_are_learned_of_at_the_end_of_their_tags() {
        let page = Page::uniform(3, Bytes::new(1000)).expect("fits");
        let mut browser = Browser::new(Instant::START, &page, HTTP);
        actions(&mut browser, 0);
        browser.connected(0);
        actions(&mut browser, 10);
        let named = page.discovered_at(1) + HTTP.response_header_bytes;
        browser.received(Instant::START, 0, named - Bytes::new(1));
        assert_eq!(actions(&mut browser, 20), []);
        browser.received(Instant::START, 0, Bytes::new(1));
        assert_eq!(actions(&mut browser, 21), [LoaderAction::Request { connection: 0, object: 1 }]);
    }

    #[test]
    fn one_arrival_may_end_one_response_and_begin_the_next() {
        let page = Page::uniform(2, Bytes::new(1000)).expect("fits");
        let mut browser = Browser::new(Instant::START, &page, HTTP);
        actions(&mut browser, 0);
        browser.connected(0);
        actions(&mut browser, 10);
        let response = Bytes::new(1000) + HTTP.response_header_bytes;
        browser.received(Instant::from_nanos(20), 0, response - Bytes::new(1));
        actions(&mut browser, 20);
        browser.received(Instant::from_nanos(30), 0, response);
        assert!(!browser.is_complete());
        browser.received(Instant::from_nanos(40), 0, Bytes::new(1));
        assert!(browser.is_complete());
        let timings = browser.timings();
        assert_eq!(timings.iter().map(|timing| timing.bytes).collect::<Vec<_>>(), [1000, 1000]);
        assert_eq!((browser.end(), timings[0].connect_s), (Some(Instant::from_nanos(40)), Some(0.0)));
        assert_eq!(timings[1].connect_s, None, "the connection was there already");
    }
}
