//! What the tests stand on: a server that counts, a link with a delay, a pair of boxes, a client like a browser.
#![allow(dead_code, unreachable_pub, reason = "every test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests")]

pub mod client;
pub mod link;
pub mod raw;
pub mod server;

use farhop_proxy::terminal::TerminalHandle;
use farhop_proxy::{GatewayConfig, TerminalConfig, gateway, keys, terminal};
use farhop_units::Rate;
use link::{Link, LinkConfig};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Fails a test that waits for something that never comes.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("this comes within a minute or never")
}

/// A running box and how to stop it.
pub struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    fn start<F: Future<Output = ()> + Send + 'static>(run: impl FnOnce(oneshot::Receiver<()>) -> F) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(run(stopped)) }
    }

    pub async fn stop(self) {
        let _ = self.stop.send(());
        soon(self.task).await.expect("the box does not panic");
    }
}

pub async fn run_gateway(config: GatewayConfig) -> (SocketAddr, Running) {
    let gateway = gateway::Gateway::bind(config).await.expect("the address is free");
    let address = gateway.local_addr();
    let running = Running::start(|stopped| gateway.run(async { drop(stopped.await) }));
    (address, running)
}

pub async fn run_terminal(config: TerminalConfig) -> (SocketAddr, TerminalHandle, Running) {
    let terminal = terminal::Terminal::bind(config).await.expect("the address is free");
    let (address, handle) = (terminal.local_addr(), terminal.handle());
    let running = Running::start(|stopped| terminal.run(async { drop(stopped.await) }));
    (address, handle, running)
}

/// Two boxes, joined by a link.
pub struct Boxes {
    pub proxy: SocketAddr,
    pub terminal: TerminalHandle,
    pub gateway_config: GatewayConfig,
    pub terminal_config: TerminalConfig,
    pub link: Link,
    pub running_gateway: Running,
    pub running_terminal: Running,
    pub keys: tempfile::TempDir,
}

pub fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Key pairs and configurations that use them; the terminal has yet to be told where the gateway is.
pub fn configs() -> (tempfile::TempDir, GatewayConfig, TerminalConfig) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = keys::generate(directory.path()).expect("an empty directory");
    let rate = Rate::mbps(100);
    let mut gateway = GatewayConfig::new(
        files.gateway_key,
        files.gateway_certificate.clone(),
        files.terminal_certificate.clone(),
        rate,
    );
    gateway.listen = any_port();
    gateway.allow = vec!["127.0.0.0/8".parse().expect("a network")];
    let (key, certificate) = (files.terminal_key, files.terminal_certificate);
    let mut terminal = TerminalConfig::new(String::new(), key, certificate, files.gateway_certificate, rate);
    terminal.listen = any_port();
    (directory, gateway, terminal)
}

impl Boxes {
    /// Boxes with the tunnel up.
    pub async fn start(link: LinkConfig) -> Self {
        Self::start_with(link, |_, _| {}).await
    }

    pub async fn start_with(link: LinkConfig, change: impl FnOnce(&mut GatewayConfig, &mut TerminalConfig)) -> Self {
        let (keys, mut gateway_config, mut terminal_config) = configs();
        change(&mut gateway_config, &mut terminal_config);
        let (address, running_gateway) = run_gateway(gateway_config.clone()).await;
        gateway_config.listen = address;
        let link = Link::start(address, link).await;
        terminal_config.gateway = link.address.to_string();
        let (proxy, terminal, running_terminal) = run_terminal(terminal_config.clone()).await;
        terminal_config.listen = proxy;
        soon(terminal.connected()).await;
        Self { proxy, terminal, gateway_config, terminal_config, link, running_gateway, running_terminal, keys }
    }
}
