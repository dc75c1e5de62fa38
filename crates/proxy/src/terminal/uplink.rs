//! The terminal's connection to the gateway: made, and made again when it is lost.

use super::exchanges::Shared;
use crate::config::TerminalConfig;
use crate::{ProxyError, keys, quic};
use noq::{ClientConfig, Connection, ConnectionError, Endpoint};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::lookup_host;
use tokio::time::timeout;

/// Between attempts to reach the gateway: first, and at most; doubled each time.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));
/// For one of the gateway's addresses: a handshake to the Moon and back (2.6 s a round trip), with a packet lost, takes 10 s.
const ATTEMPT: Duration = Duration::from_secs(20);

/// A socket of the gateway's address family if that can be told from its name, else of either.
pub(super) fn endpoint(config: &TerminalConfig) -> Result<Endpoint, ProxyError> {
    let any = match config.gateway.parse::<SocketAddr>() {
        Ok(SocketAddr::V4(_)) => Ipv4Addr::UNSPECIFIED.into(),
        Ok(SocketAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        Err(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let (endpoint, _) = quic::endpoint(SocketAddr::new(any, 0), None, &config.key)
        // A system without IPv6 has no socket for either.
        .or_else(|_| quic::endpoint(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0), None, &config.key))?;
    Ok(endpoint)
}

/// Connects to the gateway, again and again.
pub(super) async fn keep_connected(shared: Arc<Shared>, endpoint: Endpoint, tls: ClientConfig) {
    let mut pause = RETRY.0;
    loop {
        match connect(&shared, &endpoint, &tls).await {
            Ok(connection) => {
                tracing::info!("connected to gateway {}", shared.config.gateway);
                pause = RETRY.0;
                let ended = shared.serve_tunnel(connection).await;
                tracing::warn!("lost gateway {}: {}", shared.config.gateway, quic::explain(&ended));
            }
            Err(problem) => {
                tracing::warn!("cannot connect to gateway {}: {problem}", shared.config.gateway);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(RETRY.1);
            }
        }
    }
}

async fn connect(shared: &Shared, endpoint: &Endpoint, tls: &ClientConfig) -> Result<Connection, String> {
    let found = lookup_host(&shared.config.gateway).await.map_err(|error| error.to_string())?;
    let is_ipv4 = endpoint.local_addr().is_ok_and(|address| address.is_ipv4());
    let mut problem = "its name has no address".to_owned();
    for address in found.filter(|address| address.is_ipv4() || !is_ipv4) {
        let mut tls = tls.clone();
        tls.transport_config(Arc::new(quic::transport(shared.config.rate, address.ip())));
        let connecting = endpoint.connect_with(tls, address, keys::SERVER_NAME).map_err(|error| error.to_string())?;
        let connected = async {
            let connection = connecting.await?;
            // In TLS 1.3 the terminal is done before the gateway has looked at its certificate.
            connection.handshake_confirmed().await?;
            Ok(connection)
        };
        match timeout(ATTEMPT, connected).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => problem = quic::explain(&error),
            Err(_) => problem = quic::explain(&ConnectionError::TimedOut),
        }
    }
    Err(problem)
}
