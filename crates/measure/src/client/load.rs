//! One load of the page: the loader decides, connections carry, references are found in documents and sheets as these stream.

use crate::catalogue::Catalogue;
use crate::client::LoadPlan;
use crate::client::connection::{Connection, Event, Get};
use crate::client::observation::{Observation, Received};
use crate::client::sheet::Sheet;
use crate::error::{MeasureError, ResponseProblem};
use bytes::Bytes;
use farhop_accel::discovery::Discovery;
use farhop_emu::Clock;
use farhop_units::Instant;
use farhop_web::{Language, Loader, LoaderAction, Page};
use std::collections::BTreeMap;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use url::Url;

/// Index of the document, the object that is known from the start.
const DOCUMENT: usize = 0;

/// The loader's end of a connection; dropping it closes the connection.
struct Line {
    gets: UnboundedSender<Get>,
    /// When the SYN went out, until the first request has taken it for its own.
    connecting: Option<Instant>,
}

/// Finds what a body names as it streams.
enum Reader {
    Document(Box<Discovery>),
    Sheet(Sheet),
}

impl Reader {
    /// A reader for each object that names others.
    fn all(page: &Page, catalogue: &Catalogue) -> Vec<Option<Self>> {
        let reader = |(index, named): (usize, Vec<_>)| {
            let url = || catalogue.url(index).clone();
            match Language::of(&page.objects[index].media_type) {
                _ if named.is_empty() && index != DOCUMENT => None,
                Some(Language::Css) => Some(Self::Sheet(Sheet::new(url()))),
                Some(Language::Script) => None,
                Some(Language::Html) | None => Some(Self::Document(Box::new(Discovery::new(url())))),
            }
        };
        page.references().into_iter().enumerate().map(reader).collect()
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<Url> {
        match self {
            Self::Document(discovery) => discovery.push(bytes).into_iter().map(|reference| reference.url).collect(),
            Self::Sheet(sheet) => sheet.push(bytes),
        }
    }

    fn finish(self) -> Vec<Url> {
        match self {
            Self::Document(discovery) => discovery.finish().into_iter().map(|reference| reference.url).collect(),
            Self::Sheet(_) => Vec::new(),
        }
    }
}

/// A load under way.
pub(super) struct Load<'a> {
    plan: &'a LoadPlan<'a>,
    clock: Clock,
    catalogue: Catalogue,
    loader: Loader,
    /// By object; `None` where nothing is named, and when the body has been read to its end.
    readers: Vec<Option<Reader>>,
    objects: Vec<Option<Received>>,
    /// When each object became known.
    discovered: Vec<Option<Instant>>,
    lines: BTreeMap<usize, Line>,
    started: Option<Instant>,
    tasks: JoinSet<()>,
    /// Cloned for each connection.
    report: UnboundedSender<(usize, Event)>,
    events: UnboundedReceiver<(usize, Event)>,
}

impl<'a> Load<'a> {
    pub(super) fn new(plan: &'a LoadPlan<'a>, clock: Clock) -> Result<Self, MeasureError> {
        let catalogue = Catalogue::new(plan.page, plan.server)?;
        let (report, events) = unbounded_channel();
        let count = plan.page.objects.len();
        Ok(Self {
            readers: Reader::all(plan.page, &catalogue),
            loader: Loader::new(plan.http, plan.page),
            objects: vec![None; count],
            discovered: vec![None; count],
            lines: BTreeMap::new(),
            started: None,
            tasks: JoinSet::new(),
            plan,
            clock,
            catalogue,
            report,
            events,
        })
    }

    /// Loads the page. Whatever the end, no connection outlives the load.
    pub(super) async fn run(mut self) -> Result<Observation, MeasureError> {
        let within = self.plan.timeout;
        match tokio::time::timeout(within, self.serve()).await {
            Ok(ended) => ended?,
            Err(_) => return Err(MeasureError::Timeout { after: within, missing: self.missing() }),
        }
        self.tasks.shutdown().await;
        let objects = self.objects.into_iter().map(|object| object.expect("a complete load has received every object"));
        Ok(Observation::new(objects.collect(), self.started.expect("a complete load has opened a connection")))
    }

    async fn serve(&mut self) -> Result<(), MeasureError> {
        self.act();
        while !self.loader.is_complete() {
            let (connection, event) = self.events.recv().await.expect("the load itself holds a sender");
            self.handle(connection, event)?;
            self.act();
        }
        Ok(())
    }

    /// Carries out what the loader has decided.
    fn act(&mut self) {
        while let Some(action) = self.loader.poll() {
            match action {
                LoaderAction::Open { connection, .. } => self.open(connection),
                LoaderAction::Request { connection, object } => self.request(connection, object),
                LoaderAction::Close { connection } => drop(self.lines.remove(&connection)),
            }
        }
    }

    fn open(&mut self, number: usize) {
        let (gets, commands) = unbounded_channel();
        let connection = Connection {
            number,
            route: self.plan.route,
            server: self.plan.server.clone(),
            http: self.plan.http,
            keys: self.plan.keys.cloned(),
            clock: self.clock,
            gets: commands,
            events: self.report.clone(),
        };
        self.lines.insert(number, Line { gets, connecting: None });
        self.tasks.spawn(connection.run());
    }

    fn request(&mut self, connection: usize, object: usize) {
        if let Some(line) = self.lines.get(&connection) {
            // A connection that has just ended reports that next, and the loader asks again.
            let wanted = &self.plan.page.objects[object];
            let (is_posted, size) = (self.plan.http.posts(wanted), self.plan.http.request_size(wanted));
            let _ = line.gets.send(Get { object, url: self.catalogue.url(object).clone(), is_posted, size });
        }
    }

    fn handle(&mut self, connection: usize, event: Event) -> Result<(), MeasureError> {
        match event {
            Event::Connecting { at } => self.connecting(connection, at),
            Event::Connected => self.loader.connected(connection),
            Event::Requested { object, at } => self.requested(connection, object, at),
            Event::Body { object, at, bytes } => self.body(object, at, bytes)?,
            Event::Complete { object, at } => self.complete(connection, object, at)?,
            Event::Closed => {
                self.lines.remove(&connection);
                self.loader.closed(connection);
            }
            Event::Failed(error) => return Err(error),
            Event::Broken { object, problem } => return Err(self.broken(object, problem)),
        }
        Ok(())
    }

    /// The first SYN is the load's first action, and the document is known from then on.
    fn connecting(&mut self, connection: usize, at: Instant) {
        if self.started.is_none() {
            self.started = Some(at);
            self.discovered[DOCUMENT] = Some(at);
        }
        if let Some(line) = self.lines.get_mut(&connection) {
            line.connecting = Some(at);
        }
    }

    fn requested(&mut self, connection: usize, object: usize, at: Instant) {
        let connecting = self.lines.get_mut(&connection).and_then(|line| line.connecting.take());
        let discovered = self.discovered[object].unwrap_or(at);
        self.objects[object] = Some(Received::requested(connection, discovered, connecting, at));
    }

    fn body(&mut self, object: usize, at: Instant, bytes: Bytes) -> Result<(), MeasureError> {
        if let Some(reader) = &mut self.readers[object] {
            let named = reader.push(&bytes);
            self.discover(&named, at)?;
        }
        let size = self.plan.page.objects[object].size;
        let received = self.objects[object].as_mut().expect("a response follows its request");
        received.arrived(bytes, at);
        if received.size() > size {
            return Err(self.broken(object, ResponseProblem::TooLong(size)));
        }
        Ok(())
    }

    fn complete(&mut self, connection: usize, object: usize, at: Instant) -> Result<(), MeasureError> {
        self.objects[object].as_mut().expect("a response follows its request").complete(at);
        if let Some(reader) = self.readers[object].take() {
            let named = reader.finish();
            self.discover(&named, at)?;
            self.check_discovered(object)?;
        }
        self.loader.response_complete(connection, object);
        Ok(())
    }

    fn discover(&mut self, named: &[Url], at: Instant) -> Result<(), MeasureError> {
        for url in named {
            let unknown = || MeasureError::UnknownReference { url: url.to_string() };
            let object = self.catalogue.find(url).ok_or_else(unknown)?;
            self.discovered[object].get_or_insert(at);
            self.loader.discover(object);
        }
        Ok(())
    }

    /// When a body has ended, every object that it names must be known.
    fn check_discovered(&self, referrer: usize) -> Result<(), MeasureError> {
        let objects = &self.plan.page.objects;
        let is_named = |object: usize| objects[object].reference.is_some_and(|by| by.object == referrer);
        let names = self.names_where(|object| is_named(object) && self.discovered[object].is_none());
        let referrer = objects[referrer].name.to_string();
        if names.is_empty() { Ok(()) } else { Err(MeasureError::Undiscovered { referrer, names }) }
    }

    fn missing(&self) -> Vec<String> {
        let is_complete = |object: usize| self.objects[object].as_ref().is_some_and(Received::is_complete);
        self.names_where(|object| !is_complete(object))
    }

    fn names_where(&self, holds: impl Fn(usize) -> bool) -> Vec<String> {
        let objects = self.plan.page.objects.iter().enumerate();
        objects.filter(|(index, _)| holds(*index)).map(|(_, object)| object.name.to_string()).collect()
    }

    fn broken(&self, object: usize, problem: ResponseProblem) -> MeasureError {
        MeasureError::Response { object: self.plan.page.objects[object].name.to_string(), problem }
    }
}
