//! One testbed with everything that runs in it: the origin, for some architectures the accelerator, and the loads of the client.

use crate::MeasureError;
use crate::client::{LoadPlan, Observation, Route, check, load};
use crate::origin::Site;
use crate::service::{Service, run_inside};
use farhop_emu::{Clock, EmulationRecord, Host, Testbed};
use farhop_scenario::{HttpConfig, RunConfig, Scenario, Tls, seeds};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use url::Url;

/// Scheme and port of the origin: HTTP's and HTTPS's own, so that its URLs are as short as real ones.
fn origin_service(tls: Tls) -> (&'static str, u16) {
    match tls {
        Tls::None => ("http", 80),
        Tls::V12 | Tls::V13 => ("https", 443),
    }
}

/// A load that takes longer hangs. Design point: the slowest real loads take a hundred times the limit where round trips rule, which
/// is when the limit is short, and twice the limit where the link's rate does.
fn patience(scenario: &Scenario) -> Duration {
    Duration::from_secs(600).saturating_add(farhop_model::limit(scenario).saturating_mul(10))
}

/// The root of the origin's site. The name resolves inside the testbed.
fn origin_url(tls: Tls) -> Url {
    let server = format!("{}://{}/", origin_service(tls).0, Host::Server.name());
    Url::parse(&server).expect("a host's name makes a URL")
}

/// What every testbed of a measurement shares.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) site: Arc<Site>,
}

impl Work {
    /// Prepares the bodies, ahead of all runs.
    pub(crate) fn new(scenario: &Scenario) -> Result<Self, MeasureError> {
        let site = Site::new(&scenario.page, &scenario.http, &origin_url(scenario.http.tls), scenario.run.seed)?;
        Ok(Self { scenario: Arc::new(scenario.clone()), site: Arc::new(site) })
    }

    /// Loads the page over the loopback device, for nothing but having used code and memory on this thread before the load that counts.
    /// The page faults of a first load take some ms, enough to decide which of two connections is ready first and so to move whole
    /// round trips.
    async fn warm_up(&self) -> Result<(), MeasureError> {
        // Who emulates may ask for what this client cannot do: other clients will come.
        if check(&self.scenario.page, &self.scenario.http).is_err() {
            return Ok(());
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(MeasureError::io("warming up"))?;
        let address = listener.local_addr().map_err(MeasureError::io("warming up"))?;
        let plan = self.plan(Route::Direct(address));
        tokio::select! {
            served = Arc::clone(&self.site).serve(listener) => served.map(|never| match never {}),
            loaded = load(&plan, Clock::start()) => loaded.map(drop),
        }
    }

    /// A load of the page as the scenario has it.
    fn plan(&self, route: Route) -> LoadPlan<'_> {
        let (page, http) = (&self.scenario.page, self.scenario.http);
        let (server, keys) = (self.site.root(), self.site.keys());
        LoadPlan { page, http, server, route, keys, timeout: patience(&self.scenario) }
    }

    /// The origin's port.
    fn port(&self) -> u16 {
        origin_service(self.scenario.http.tls).1
    }

    /// The scenario of one run: the dice of its links are its own, so that runs are independent and each can be repeated.
    fn scenario_of(&self, run: u32) -> Scenario {
        let seed = seeds::of_run(self.scenario.run.seed, run);
        Scenario { run: RunConfig { seed, ..self.scenario.run.clone() }, ..Scenario::clone(&self.scenario) }
    }
}

/// The scenario's page, served at a testbed's server until dropped.
#[derive(Debug)]
pub struct Origin(Service);

impl Origin {
    /// Serves the page of `scenario` at `http://server/` inside `testbed`, without TLS whatever the scenario says: nobody there would trust
    /// its keys.
    ///
    /// # Errors
    /// The page cannot be held in memory, or the port cannot be had.
    pub fn start(testbed: &Testbed, scenario: &Scenario) -> Result<Self, MeasureError> {
        let http = HttpConfig { tls: Tls::None, ..scenario.http };
        Self::serve(testbed, &Work::new(&Scenario { http, ..scenario.clone() })?)
    }

    fn serve(testbed: &Testbed, work: &Work) -> Result<Self, MeasureError> {
        let (addresses, work) = (testbed.addresses(Host::Server), work.clone());
        let (service, ()) = Service::start(testbed.host(Host::Server), "origin", async move |signals| {
            let mut serving = JoinSet::new();
            for address in addresses.into_iter().map(|address| SocketAddr::from((address, work.port()))) {
                let listener = TcpListener::bind(address).await;
                let listener = listener.map_err(MeasureError::io(format!("listening on {address} at the origin")))?;
                serving.spawn(Arc::clone(&work.site).serve(listener));
            }
            work.warm_up().await?;
            let _ = signals.ready.send(());
            tokio::select! {
                // The sender is dropped to stop.
                _ = signals.stop => Ok(()),
                Some(ended) = serving.join_next() => {
                    ended.map_err(|_| MeasureError::Panicked("origin"))?.map(|never| match never {})
                }
            }
        })?;
        Ok(Self(service))
    }

    /// Stops serving.
    ///
    /// # Errors
    /// The origin had failed.
    pub fn end(mut self) -> Result<(), MeasureError> {
        self.0.end()
    }
}

/// A testbed with its origin.
#[derive(Debug)]
pub(crate) struct Session {
    work: Work,
    // Ends before the hosts that it runs in.
    origin: Origin,
    testbed: Testbed,
}

impl Session {
    /// The testbed of a run, the origin serving in it.
    pub(crate) fn start(work: &Work, run: u32) -> Result<Self, MeasureError> {
        let testbed = Testbed::start(&work.scenario_of(run))?;
        let origin = Origin::serve(&testbed, work)?;
        Ok(Self { work: work.clone(), origin, testbed })
    }

    /// The testbed.
    pub(crate) fn testbed(&self) -> &Testbed {
        &self.testbed
    }

    /// The route to the origin without anything between.
    pub(crate) fn direct(&self) -> Route {
        Route::Direct((self.testbed.address(Host::Server), self.work.port()).into())
    }

    /// One load by the client. The testbed's TCP remembers nothing of earlier ones.
    pub(crate) fn load(&self, route: Route) -> Result<Observation, MeasureError> {
        let (work, clock) = (self.work.clone(), self.testbed.clock());
        let client = async move || {
            work.warm_up().await?;
            load(&work.plan(route), clock).await
        };
        run_inside(self.testbed.host(Host::Client), "client", client)
    }

    /// Ends everything and gives what the emulator has seen.
    pub(crate) fn stop(self) -> Result<EmulationRecord, MeasureError> {
        self.origin.end()?;
        Ok(self.testbed.stop()?)
    }
}
