//! The box at the slow end: the clients' HTTP proxy.
//!
//! A client's request is answered from a push if the gateway has announced one, else it goes through the tunnel; CONNECT is answered at
//! once and carried. While the tunnel is down clients are told so.

mod client;
mod exchanges;
mod uplink;

use crate::ProxyError;
use crate::config::TerminalConfig;
use crate::quic;
use crate::tls::Identity;
use exchanges::Shared;
use farhop_accel::planning::terminal::Terminal as Planner;
use noq::{ClientConfig, Endpoint};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Connections of clients at once; more wait to be accepted. Design point: 128 users with eight each.
const MAX_CLIENTS: usize = 1024;
/// Long enough that a file descriptor may have become free when accepting failed for want of one.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A terminal with its sockets open.
#[derive(Debug)]
pub struct Terminal {
    listener: TcpListener,
    local_addr: SocketAddr,
    endpoint: Endpoint,
    tls: ClientConfig,
    shared: Arc<Shared>,
}

/// A running terminal, seen from outside.
#[derive(Debug, Clone)]
pub struct TerminalHandle {
    shared: Arc<Shared>,
}

/// How requests were answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// From a push, without a round trip.
    pub pushed: u64,
    /// Through the tunnel.
    pub forwarded: u64,
    /// CONNECT tunnels.
    pub connected: u64,
    /// Pushes given up: nobody asked in time, the request was another, or there was no room.
    pub discarded: u64,
}

impl Terminal {
    /// Opens the sockets; must be called within a tokio runtime.
    ///
    /// # Errors
    /// A key or certificate cannot be used, or the address is taken.
    pub async fn bind(config: TerminalConfig) -> Result<Self, ProxyError> {
        let identity =
            Identity { key: &config.key, certificate: &config.certificate, peer: &config.gateway_certificate };
        let tls = quic::client(identity)?;
        let failed = |error| ProxyError::Listen { address: config.listen, error };
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let local_addr = listener.local_addr().map_err(failed)?;
        let endpoint = uplink::endpoint(&config)?;
        Ok(Self { listener, local_addr, endpoint, tls, shared: Arc::new(Shared::new(config)) })
    }

    /// The TCP address of the clients' proxy.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// A way to look at the terminal while it runs.
    pub fn handle(&self) -> TerminalHandle {
        TerminalHandle { shared: Arc::clone(&self.shared) }
    }

    /// Serves clients, and keeps the tunnel up, until `shutdown` is ready.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let connecting = uplink::keep_connected(Arc::clone(&self.shared), self.endpoint.clone(), self.tls.clone());
        let ticking = Arc::clone(&self.shared).tick();
        tokio::select! {
            () = pin!(shutdown) => {}
            () = self.accept(MAX_CLIENTS) => {}
            () = connecting => {}
            () = ticking => {}
        }
        quic::close(&self.endpoint).await;
    }

    async fn accept(&self, clients: usize) {
        let places = Arc::new(Semaphore::new(clients));
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, client)) => {
                    let client = client.ip().to_canonical();
                    tokio::spawn(client::serve(Arc::clone(&self.shared), stream, client, Arc::new(place)));
                }
                Err(error) => {
                    tracing::warn!("cannot accept a client: {error}");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
        }
    }
}

impl TerminalHandle {
    /// Ready when the tunnel is up.
    pub async fn connected(&self) {
        let mut tunnel = self.shared.tunnel.subscribe();
        // Fails only if the sender is gone, which `shared` holds.
        let _ = tunnel.wait_for(Option::is_some).await;
    }

    /// Forgets what was pushed and not asked for.
    pub fn empty_store(&self) {
        self.shared.plan(Planner::clear);
    }

    /// How requests were answered so far.
    pub fn statistics(&self) -> Statistics {
        self.shared.statistics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::tests::{connected, link};
    use crate::keys::generate;
    use farhop_units::Rate;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    async fn asked_to_connect(proxy: SocketAddr) -> TcpStream {
        let mut client = TcpStream::connect(proxy).await.unwrap();
        client.write_all(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
        client
    }

    #[tokio::test]
    async fn tunnelled_connections_keep_their_place() {
        let directory = tempfile::tempdir().unwrap();
        let files = generate(directory.path()).unwrap();
        let (key, certificate) = (files.terminal_key, files.terminal_certificate);
        let gateway = "127.0.0.1:1".to_owned();
        let mut config = TerminalConfig::new(gateway, key, certificate, files.gateway_certificate, Rate::mbps(1));
        config.listen.set_port(0);
        let terminal = Terminal::bind(config).await.unwrap();
        let (ours, _theirs, _endpoints) = connected().await;
        terminal.shared.tunnel.send_replace(Some(link(&ours)));
        let proxy = terminal.local_addr();
        tokio::spawn(async move { terminal.accept(1).await });
        let mut first = asked_to_connect(proxy).await;
        first.read_u8().await.unwrap();
        let mut second = asked_to_connect(proxy).await;
        assert!(tokio::time::timeout(Duration::from_millis(300), second.read_u8()).await.is_err(), "no place is free");
        drop(first);
        second.read_u8().await.unwrap();
    }
}
