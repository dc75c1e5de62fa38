//! Connections to servers, as far as the policy allows.

use farhop_accel::policy::Destinations;
use farhop_accel::wire::ResetReason;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// Per address. Linux repeats a SYN after 1, 3 and 7 s; a server that has not answered by then will not.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to `host`, a name or an address without brackets.
pub(crate) async fn connect(host: &str, port: u16, destinations: &Destinations) -> Result<TcpStream, ResetReason> {
    let found: Vec<SocketAddr> = lookup_host((host, port)).await.map_err(|_| ResetReason::Unreachable)?.collect();
    let mut outcome = if found.is_empty() { ResetReason::Unreachable } else { ResetReason::Forbidden };
    for address in found.into_iter().filter(|address| destinations.permit(address.ip())) {
        outcome = ResetReason::Unreachable;
        if let Ok(Ok(stream)) = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            // Bytes are written when they should go.
            let _ = stream.set_nodelay(true);
            return Ok(stream);
        }
    }
    tracing::debug!("cannot connect to {host}:{port}: {outcome}");
    Err(outcome)
}
