//! The architecture `direct`: the client's own TCP connections to the server, over the whole path.

use crate::browser::Browser;
use crate::path::{Arrival, Host, Parcel, Path, Traffic};
use crate::queue::EventQueue;
use crate::server::Server;
use farhop_results::{Architecture, CacheState, Load, Source};
use farhop_scenario::Scenario;
use farhop_tcp::{Endpoint, Output, TcpError};
use farhop_units::{Bytes, Instant};
use farhop_web::LoaderAction;
use std::time::Duration;
use thiserror::Error;

/// Virtual time after which a load counts as failed; nobody waits that long for a page.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Packets after which a load counts as failed: an hour of full ones at 100 Mbit/s, with their ACKs, which take the simulator
/// some ten seconds. Virtual time alone is no bound where a link is fast.
const MOST_PACKETS: u64 = 50_000_000;

/// Why a load has no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum LoadError {
    #[error("the page was not complete after {} s of virtual time", PATIENCE.as_secs())]
    OutOfPatience,
    #[error("the page takes more than {MOST_PACKETS} packets; a smaller page can be simulated")]
    TooManyPackets,
    #[error("a path without delay and with unlimited rates takes no time")]
    NoTime,
    #[error(transparent)]
    Tcp(#[from] TcpError),
}

/// A load and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) load: Load,
    pub(crate) events: u64,
    pub(crate) traffic: Traffic,
}

/// Who has a timer that runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timer {
    Path,
    Endpoint { host: Host, connection: usize },
}

/// Both ends of one connection and what the server knows of it.
struct Connection {
    client: Endpoint,
    server: Endpoint,
    application: Server,
    /// When a wake-up is scheduled for each end, if one is.
    wake: [Option<Instant>; 2],
}

impl Connection {
    fn endpoint(&mut self, host: Host) -> &mut Endpoint {
        match host {
            Host::Client => &mut self.client,
            Host::Server => &mut self.server,
        }
    }
}

/// One load in progress.
struct Direct<'a> {
    scenario: &'a Scenario,
    now: Instant,
    queue: EventQueue<Timer>,
    path: Path,
    path_wake: Option<Instant>,
    browser: Browser<'a>,
    connections: Vec<Connection>,
    events: u64,
}

/// Loads the scenario's page once.
pub(crate) fn load(scenario: &Scenario, seed: u64, run: u32) -> Result<Outcome, LoadError> {
    check_bounds(scenario)?;
    let mut direct = Direct::new(scenario, seed);
    direct.run()?;
    let end = direct.browser.end().ok_or(LoadError::OutOfPatience)?;
    if end == Instant::START {
        return Err(LoadError::NoTime);
    }
    let load = Load {
        architecture: Architecture::Direct,
        source: Source::Simulated,
        state: CacheState::Cold,
        run,
        page_load_s: end.as_secs_f64(),
        first_byte_s: direct.browser.first_byte().unwrap_or(end).as_secs_f64(),
        objects: direct.browser.timings(),
        link: direct.path.meter().samples(end),
    };
    Ok(Outcome { load, events: direct.events, traffic: direct.path.traffic() })
}

/// Refuses what no load within the bounds can do, before trying.
fn check_bounds(scenario: &Scenario) -> Result<(), LoadError> {
    let bodies = scenario.page.total_bytes().get() / scenario.tcp.mss.get().max(1);
    if farhop_model::limit(scenario) > PATIENCE {
        Err(LoadError::OutOfPatience)
    } else if bodies > MOST_PACKETS {
        Err(LoadError::TooManyPackets)
    } else {
        Ok(())
    }
}

impl<'a> Direct<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        Self {
            scenario,
            now: Instant::START,
            queue: EventQueue::new(),
            path: Path::new(scenario, seed),
            path_wake: None,
            browser: Browser::new(Instant::START, &scenario.page, scenario.http),
            connections: Vec::new(),
            events: 0,
        }
    }

    /// Runs from the client's first SYN until the page is complete.
    fn run(&mut self) -> Result<(), LoadError> {
        self.settle()?;
        while !self.browser.is_complete() {
            let (at, timer) = self.queue.pop().ok_or(LoadError::OutOfPatience)?;
            if at.since(Instant::START) > PATIENCE {
                return Err(LoadError::OutOfPatience);
            }
            self.now = at;
            self.events += 1;
            self.expire(timer);
            self.settle()?;
        }
        Ok(())
    }

    /// A timer ran out; one that was replaced by an earlier one finds nothing to do.
    fn expire(&mut self, timer: Timer) {
        let now = self.now;
        match timer {
            Timer::Path => {
                self.path_wake = self.path_wake.filter(|wake| *wake > now);
                self.path.handle_timeout(now);
            }
            Timer::Endpoint { host, connection } => {
                let state = &mut self.connections[connection];
                state.wake[host as usize] = state.wake[host as usize].filter(|wake| *wake > now);
                state.endpoint(host).handle_timeout(now);
                self.drain(host, connection);
            }
        }
    }

    /// Does everything that can be done now.
    fn settle(&mut self) -> Result<(), LoadError> {
        loop {
            if let Some(Arrival { at, host, connection, segment }) = self.path.poll() {
                if self.path.traffic().sent > MOST_PACKETS {
                    return Err(LoadError::TooManyPackets);
                }
                self.connections[connection].endpoint(host).handle_segment(at, &segment);
                self.drain(host, connection);
            } else if let Some(action) = self.browser.poll(self.now) {
                self.act(action)?;
            } else {
                break;
            }
        }
        let due = self.path.next_timeout();
        schedule(&mut self.queue, &mut self.path_wake, due, Timer::Path);
        Ok(())
    }

    fn act(&mut self, action: LoaderAction) -> Result<(), LoadError> {
        let (now, config) = (self.now, &self.scenario.tcp);
        let connection = match action {
            LoaderAction::Open { connection, .. } => {
                debug_assert_eq!(connection, self.connections.len(), "the loader counts up");
                let (client, server) = (Endpoint::connect(now, config)?, Endpoint::listen(config)?);
                self.connections.push(Connection { client, server, application: Server::default(), wake: [None; 2] });
                connection
            }
            LoaderAction::Request { connection, object } => {
                self.connections[connection].application.ask(object);
                let request = self.scenario.http.request_size(&self.scenario.page.objects[object]);
                self.connections[connection].client.write(now, request);
                connection
            }
            LoaderAction::Close { connection } => {
                self.connections[connection].client.close(now);
                connection
            }
        };
        self.drain(Host::Client, connection);
        Ok(())
    }

    /// Takes in all that an endpoint has to say, then sees to its timer.
    fn drain(&mut self, host: Host, connection: usize) {
        while let Some(output) = self.connections[connection].endpoint(host).poll() {
            match (output, host) {
                (Output::Transmit { at, segment }, _) => self.path.send(at, host, Parcel::new(connection, segment)),
                (Output::Connected { .. }, Host::Client) => self.browser.connected(connection),
                (Output::Received { at, bytes }, Host::Client) => self.browser.received(at, connection, bytes),
                (Output::Received { bytes, .. }, Host::Server) => self.serve(connection, bytes),
                (Output::Connected { .. } | Output::Finished { .. } | Output::Closed { .. }, _) => {}
            }
        }
        let state = &mut self.connections[connection];
        let due = state.endpoint(host).next_timeout();
        schedule(&mut self.queue, &mut state.wake[host as usize], due, Timer::Endpoint { host, connection });
    }

    fn serve(&mut self, connection: usize, bytes: Bytes) {
        let (now, Scenario { page, http, .. }) = (self.now, self.scenario);
        let Connection { server, application, .. } = &mut self.connections[connection];
        application.receive(bytes);
        while let Some(answer) = application.answer(page, *http) {
            server.write(now, answer.bytes);
            if answer.close {
                server.close(now);
            }
        }
    }
}

/// Schedules `timer` at `due`, unless a wake-up at that time or before it is scheduled already.
fn schedule(queue: &mut EventQueue<Timer>, wake: &mut Option<Instant>, due: Option<Instant>, timer: Timer) {
    if let Some(due) = due.filter(|due| wake.is_none_or(|wake| *due < wake)) {
        *wake = Some(due);
        queue.push(due, timer);
    }
}
