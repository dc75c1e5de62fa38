//! Terminal and gateway as they are for users, each on a thread inside its host: fresh keys, the far link's rates, their tunnel up.

use crate::MeasureError;
use crate::client::Route;
use crate::service::{Service, Signals};
use crate::session::Session;
use farhop_emu::{Host, Testbed};
use farhop_proxy::gateway::Gateway;
use farhop_proxy::keys::{self, Generated};
use farhop_proxy::terminal::{Terminal, TerminalHandle};
use farhop_proxy::{GatewayConfig, TerminalConfig};
use farhop_results::Architecture;
use farhop_scenario::Scenario;
use farhop_units::Rate;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

/// Rate of the boxes where the scenario's link has none: what four namespaces and their threads on a small machine carry.
const UNLIMITED: Rate = Rate::mbps(1000);
/// The gateway's UDP port and the terminal's proxy port, as in the examples of their documentation.
const TUNNEL_PORT: u16 = 4433;
const PROXY_PORT: u16 = 3128;
/// When to give up on the tunnel. Design point: a handshake of some 5 kB at 1.2 kbit/s, with a packet lost.
const TUNNEL_TIMEOUT: Duration = Duration::from_secs(60);

/// The two boxes, their tunnel up.
#[derive(Debug)]
pub(crate) struct Accelerator {
    terminal: Service,
    gateway: Service,
    handle: TerminalHandle,
    proxy: SocketAddr,
}

impl Accelerator {
    /// Starts both boxes in the session's hosts and waits for their tunnel.
    pub(crate) fn start(session: &Session, scenario: &Scenario) -> Result<Self, MeasureError> {
        let directory = tempfile::tempdir().map_err(MeasureError::io("creating a directory for keys"))?;
        let keys = keys::generate(directory.path())?;
        let testbed = session.testbed();
        let gateway_config = gateway_config(testbed, scenario, &keys);
        let terminal_config = terminal_config(testbed, scenario, &keys);
        let proxy = terminal_config.listen;
        let run = async move |signals| run_gateway(gateway_config, signals).await;
        let (gateway, ()) = Service::start(testbed.host(Host::Gateway), "gateway", run)?;
        let run = async move |signals| run_terminal(terminal_config, signals).await;
        let (terminal, handle) = Service::start(testbed.host(Host::Terminal), "terminal", run)?;
        Ok(Self { terminal, gateway, handle, proxy })
    }

    /// What a reader of the row must know about the boxes' rates.
    pub(crate) fn note(scenario: &Scenario) -> Option<String> {
        let is_unlimited = scenario.link.down.told_rate().is_none() || scenario.link.up.told_rate().is_none();
        is_unlimited.then(|| format!("terminal and gateway send at {UNLIMITED} where the link has no rate"))
    }

    /// How the client reaches the origin through the boxes.
    pub(crate) fn route(&self, architecture: Architecture) -> Route {
        match architecture {
            Architecture::Tunnel => Route::Tunnel(self.proxy),
            _ => Route::Proxy(self.proxy),
        }
    }

    /// Makes the terminal forget what it has stored, but not what it has learned.
    pub(crate) fn empty_store(&self) {
        self.handle.empty_store();
    }

    /// Stops both boxes.
    pub(crate) fn end(&mut self) -> Result<(), MeasureError> {
        tracing::debug!("terminal: {:?}", self.handle.statistics());
        self.terminal.stop();
        self.gateway.stop();
        self.terminal.end()?;
        self.gateway.end()
    }
}

fn gateway_config(testbed: &Testbed, scenario: &Scenario, keys: &Generated) -> GatewayConfig {
    let rate = scenario.link.down.told_rate().unwrap_or(UNLIMITED);
    let mut config = GatewayConfig::new(
        keys.gateway_key.clone(),
        keys.gateway_certificate.clone(),
        keys.terminal_certificate.clone(),
        rate,
    );
    config.listen = SocketAddr::from((testbed.address(Host::Gateway), TUNNEL_PORT));
    // The testbed's addresses are private; the origin's alone is let through.
    config.allow = vec![testbed.address(Host::Server).to_string().parse().expect("an address is a network of one")];
    config
}

fn terminal_config(testbed: &Testbed, scenario: &Scenario, keys: &Generated) -> TerminalConfig {
    let rate = scenario.link.up.told_rate().unwrap_or(UNLIMITED);
    let gateway = SocketAddr::from((testbed.address(Host::Gateway), TUNNEL_PORT)).to_string();
    let mut config = TerminalConfig::new(
        gateway,
        keys.terminal_key.clone(),
        keys.terminal_certificate.clone(),
        keys.gateway_certificate.clone(),
        rate,
    );
    config.listen = SocketAddr::from((testbed.address(Host::Terminal), PROXY_PORT));
    config
}

async fn run_gateway(config: GatewayConfig, signals: Signals<()>) -> Result<(), MeasureError> {
    let gateway = Gateway::bind(config).await?;
    let _ = signals.ready.send(());
    gateway.run(async { drop(signals.stop.await) }).await;
    Ok(())
}

/// Ready when the tunnel is up.
async fn run_terminal(config: TerminalConfig, signals: Signals<TerminalHandle>) -> Result<(), MeasureError> {
    let terminal = Terminal::bind(config).await?;
    let handle = terminal.handle();
    let mut running = pin!(terminal.run(async { drop(signals.stop.await) }));
    tokio::select! {
        () = &mut running => return Ok(()),
        connected = tokio::time::timeout(TUNNEL_TIMEOUT, handle.connected()) => {
            connected.map_err(|_| MeasureError::NoTunnel { after: TUNNEL_TIMEOUT })?;
        }
    }
    let _ = signals.ready.send(handle);
    running.await;
    Ok(())
}
