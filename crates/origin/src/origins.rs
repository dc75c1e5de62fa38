//! A site's servers in a testbed: from start to stop.

use crate::addresses::{Added, Name, assign};
use crate::authority::Authority;
use crate::certificates::Certificates;
use crate::dns::{NameServer, Zone, serve_tcp, serve_udp};
use crate::error::OriginError;
use crate::request::Endpoint;
use crate::server::Servers;
use crate::site::Site;
use crate::trust::{self, Trust};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use farhop_emu::{Host, Namespace, Testbed};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// DNS's port, on UDP and TCP.
const DNS_PORT: u16 = 53;

/// How a site is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginOptions {
    /// Where the authority's certificate is written, to stay; by default it goes with the testbed.
    pub directory: Option<PathBuf>,
    /// Whether answers come as late as they were recorded. That counts the round trip of the recording as the server's.
    pub think_time: bool,
    /// How long a client may be silent before its connection is closed. A multiple of the round trip.
    pub patience: Duration,
}

impl Default for OriginOptions {
    /// No thinking, and ten minutes: longer than any round trip to the Moon, and than browsers keep a connection.
    fn default() -> Self {
        Self { directory: None, think_time: false, patience: Duration::from_secs(600) }
    }
}

/// A site that is being served at a testbed's server, until this is dropped.
#[derive(Debug)]
pub struct Origins {
    // In this order: servers end before their addresses go.
    running: Running,
    _addresses: Added,
    servers: Arc<Servers>,
    names: Vec<Name>,
    notes: Vec<String>,
    trust: Trust,
    servers_key_hash: String,
}

impl Origins {
    /// Starts the servers of `site` and a name server for its names at the server of `testbed`, and makes that the resolver of the
    /// programs inside. Where the testbed leads outside, other names and the system's authorities count as well. Where many hosts need many sockets, this process's soft limit of open files rises.
    ///
    /// # Errors
    /// Certificates cannot be made or written, addresses not be added, ports not be had.
    pub fn start(testbed: &Testbed, site: Site, options: &OriginOptions) -> Result<Self, OriginError> {
        let server = testbed.host(Host::Server);
        let own = testbed.addresses(Host::Server);
        let authority = Arc::new(Authority::new(now())?);
        let files = [trust::CERTIFICATE, trust::BUNDLE].map(|name| match &options.directory {
            Some(directory) => directory.join(name),
            None => testbed.file(name),
        });
        let outside = testbed.outer_dns();
        let trust = Trust::write(&authority.certificate(), files, outside.is_some())?;
        let servers_key_hash = BASE64_STANDARD.encode(authority.servers_key_hash());
        let names = assign(site.hosts(), &own);
        let notes = site.notes().to_vec();
        let addresses = Added::new(server, &names, &own)?;
        let plan = Plan::new(site, authority, &names, &own, outside, options)?;
        make_room(plan.endpoints.len());
        let servers = Arc::clone(&plan.servers);
        let running = Running::start(server, plan)?;
        testbed.set_resolvers(&own)?;
        Ok(Self { running, _addresses: addresses, servers, names, notes, trust, servers_key_hash })
    }

    /// The site's hosts.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// What a user must know of what is not served as it was recorded.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Requests to hosts of a recording for what it does not hold, by method and URL: the first thousand.
    pub fn missed(&self) -> Vec<String> {
        self.servers.site().missed()
    }

    /// The file with the authority's certificate.
    pub fn certificate(&self) -> &Path {
        self.trust.certificate()
    }

    /// What a program needs in its environment in order to trust the site's certificates.
    pub fn environment(&self) -> Vec<(String, String)> {
        self.trust.environment()
    }

    /// SHA-256 of the servers' public key in base64, which Chromium accepts without an authority if it is told to
    /// (`--ignore-certificate-errors-spki-list=` and `--user-data-dir=`).
    pub fn servers_key_hash(&self) -> &str {
        &self.servers_key_hash
    }

    /// Stops serving.
    ///
    /// # Errors
    /// The servers had failed.
    pub fn stop(mut self) -> Result<(), OriginError> {
        self.running.end()
    }
}

/// Raises the soft limit of open files, as far as allowed, if so many listening sockets would leave none for connections. What is still
/// missing then is told by the socket that cannot be had.
fn make_room(listeners: usize) {
    const CONNECTIONS: u64 = 1024;
    let wanted = listeners as u64 + CONNECTIONS;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    if soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard).is_err() {
        tracing::debug!("the limit of open files stays at {soft}");
    }
}

#[expect(clippy::disallowed_methods, reason = "certificates are valid around the time at which they are made")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Everything that listens, before it does.
#[derive(Debug)]
struct Plan {
    servers: Arc<Servers>,
    endpoints: Vec<(SocketAddr, Endpoint)>,
    name_server: Arc<NameServer>,
    dns: Vec<SocketAddr>,
}

impl Plan {
    fn new(
        site: Site,
        authority: Arc<Authority>,
        names: &[Name],
        own: &[IpAddr],
        outside: Option<SocketAddr>,
        options: &OriginOptions,
    ) -> Result<Self, OriginError> {
        let zone = Zone::new(names.iter().map(|name| (name.name.clone(), name.addresses.clone())), outside.is_some());
        let name_server = NameServer::new(zone, Vec::from_iter(outside), options.patience);
        let certificates = Certificates::new(authority, names.iter().map(|name| name.name.clone()).collect())?;
        let endpoints = endpoints(&site, names);
        Ok(Self {
            servers: Arc::new(Servers::new(site, certificates, options.patience, options.think_time)),
            endpoints,
            name_server: Arc::new(name_server),
            dns: own.iter().map(|&address| (address, DNS_PORT).into()).collect(),
        })
    }

    /// Binds everything, says so, and serves until `stop`.
    async fn run(self, ready: oneshot::Sender<()>, stop: oneshot::Receiver<()>) -> Result<(), OriginError> {
        let mut tasks = JoinSet::new();
        for (address, endpoint) in self.endpoints {
            let servers = Arc::clone(&self.servers);
            let listener = listen(address).await?;
            tasks.spawn(servers.serve(listener, endpoint));
        }
        for address in self.dns {
            let socket = UdpSocket::bind(address).await.map_err(listening(address))?;
            let listener = listen(address).await?;
            let (udp, tcp) = (Arc::clone(&self.name_server), Arc::clone(&self.name_server));
            tasks.spawn(async move { Ok(serve_udp(udp, socket).await) });
            tasks.spawn(async move { Ok(serve_tcp(tcp, listener).await) });
        }
        let _ = ready.send(());
        tokio::select! {
            // The sender is dropped to stop.
            _ = stop => Ok(()),
            Some(ended) = tasks.join_next() => ended.map_err(|_| OriginError::Panicked)?.map(|never| match never {}),
        }
    }
}

/// Every port of every host at each of its addresses.
fn endpoints(site: &Site, names: &[Name]) -> Vec<(SocketAddr, Endpoint)> {
    let hosts = site.hosts().iter().zip(names);
    let endpoints = hosts.flat_map(|((name, host), Name { addresses, .. })| {
        host.ports.iter().flat_map(move |(&port, &scheme)| {
            let endpoint = Endpoint { host: name.to_owned(), port, scheme };
            addresses.iter().map(move |&address| ((address, port).into(), endpoint.clone()))
        })
    });
    endpoints.collect()
}

async fn listen(address: SocketAddr) -> Result<TcpListener, OriginError> {
    TcpListener::bind(address).await.map_err(listening(address))
}

fn listening(address: SocketAddr) -> impl FnOnce(std::io::Error) -> OriginError {
    OriginError::io(format!("listening on {address} at the server"))
}

/// The thread inside the server on which everything runs.
#[derive(Debug)]
struct Running {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), OriginError>>>,
}

impl Running {
    fn start(server: &Namespace, plan: Plan) -> Result<Self, OriginError> {
        let (ready, is_ready) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = server.spawn("origins", move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(OriginError::io("starting a runtime"))?.block_on(plan.run(ready, stopped))
        });
        let mut running = Self { stop: Some(stop), thread: Some(thread) };
        match is_ready.blocking_recv() {
            Ok(()) => Ok(running),
            // It ended without ever being ready: its own error says why.
            Err(_) => Err(running.end().err().unwrap_or(OriginError::Panicked)),
        }
    }

    fn end(&mut self) -> Result<(), OriginError> {
        self.stop = None;
        self.thread.take().map_or(Ok(()), |thread| thread.join().map_err(|_| OriginError::Panicked)?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::debug!("{error}");
        }
    }
}
