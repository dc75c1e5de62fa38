//! One load of the page: the loader decides, connections carry, the document's references are found as it streams.

use crate::catalogue::Catalogue;
use crate::client::LoadPlan;
use crate::client::connection::{Connection, Event, Get};
use crate::client::observation::{Observation, Received};
use crate::error::{MeasureError, ResponseProblem};
use bytes::Bytes;
use farhop_accel::discovery::{Discovery, Reference};
use farhop_emu::Clock;
use farhop_units::Instant;
use farhop_web::{Loader, LoaderAction};
use std::collections::BTreeMap;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// Index of the document, the object that names the others.
const DOCUMENT: usize = 0;

/// The loader's end of a connection; dropping it closes the connection.
struct Line {
    gets: UnboundedSender<Get>,
    /// When the SYN went out, until the first request has taken it for its own.
    connecting: Option<Instant>,
}

/// A load under way.
pub(super) struct Load<'a> {
    plan: &'a LoadPlan<'a>,
    clock: Clock,
    catalogue: Catalogue,
    loader: Loader,
    /// `None` when the document has been read to its end.
    discovery: Option<Discovery>,
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
            discovery: Some(Discovery::new(catalogue.url(DOCUMENT).clone())),
            loader: Loader::new(plan.http),
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
                LoaderAction::Open { connection } => self.open(connection),
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
            let _ = line.gets.send(Get { object, url: self.catalogue.url(object).clone() });
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
        if object == DOCUMENT
            && let Some(discovery) = &mut self.discovery
        {
            let references = discovery.push(&bytes);
            self.discover(&references, at)?;
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
        if object == DOCUMENT
            && let Some(discovery) = self.discovery.take()
        {
            let references = discovery.finish();
            self.discover(&references, at)?;
            self.check_discovered()?;
        }
        self.loader.response_complete(connection);
        Ok(())
    }

    fn discover(&mut self, references: &[Reference], at: Instant) -> Result<(), MeasureError> {
        for reference in references {
            let unknown = || MeasureError::UnknownReference { url: reference.url.to_string() };
            let object = self.catalogue.find(&reference.url).ok_or_else(unknown)?;
            self.discovered[object].get_or_insert(at);
            self.loader.discover(object);
        }
        Ok(())
    }

    /// When the document has ended, every object of the page must be known.
    fn check_discovered(&self) -> Result<(), MeasureError> {
        let names = self.names_where(|object| self.discovered[object].is_none());
        if names.is_empty() { Ok(()) } else { Err(MeasureError::Undiscovered { names }) }
    }

    fn missing(&self) -> Vec<String> {
        let is_complete = |object: usize| self.objects[object].as_ref().is_some_and(Received::is_complete);
        self.names_where(|object| !is_complete(object))
    }

    fn names_where(&self, holds: impl Fn(usize) -> bool) -> Vec<String> {
        let objects = self.plan.page.objects.iter().enumerate();
        objects.filter(|(index, _)| holds(*index)).map(|(_, object)| object.name.clone()).collect()
    }

    fn broken(&self, object: usize, problem: ResponseProblem) -> MeasureError {
        MeasureError::Response { object: self.plan.page.objects[object].name.clone(), problem }
    }
}
