//! A client that loads a page as a browser does: over up to six connections, finding the page's objects in its HTML as that streams.
//!
//! [`farhop_web::Loader`] takes the browser's decisions, the same as in the simulator; here are the sockets. The client speaks HTTP/1.0
//! and 1.1 (RFC 1945, RFC 9112) and can pipeline. Nothing is parsed, hashed or written to disk while bytes arrive except the
//! document's tags, so that the client's own time does not count. Left out: rendering, scripts, caches, cookies, DNS, TLS.

mod connection;
mod load;
mod observation;
mod request;
mod response;

pub use observation::Observation;
pub(crate) use request::TargetForm;

use crate::MeasureError;
use farhop_emu::Clock;
use farhop_units::Bytes;
use farhop_web::{HttpConfig, Page};
use std::net::SocketAddr;
use std::time::Duration;
use url::Url;

/// How the client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// By TCP connections to the server itself.
    Direct(SocketAddr),
    /// Through an HTTP proxy, which sees the requests.
    Proxy(SocketAddr),
    /// Through tunnels that the HTTP proxy makes by CONNECT, one per connection, as for HTTPS.
    Tunnel(SocketAddr),
}

impl Route {
    /// Whom the client connects to.
    fn first_hop(self) -> SocketAddr {
        match self {
            Self::Direct(address) | Self::Proxy(address) | Self::Tunnel(address) => address,
        }
    }
}

/// What to load, from where and how.
#[derive(Debug, Clone, Copy)]
pub struct LoadPlan<'a> {
    /// The page.
    pub page: &'a Page,
    /// The browser's use of HTTP.
    pub http: HttpConfig,
    /// URL of the server's root.
    pub server: &'a Url,
    /// How to reach it.
    pub route: Route,
    /// When to give up.
    pub timeout: Duration,
}

/// Size of the request for `url`.
pub(crate) fn request_size(url: &Url, form: TargetForm, http: &HttpConfig) -> Bytes {
    Bytes::new(request::get(url, form, http.version, http.request_bytes).len() as u64)
}

/// Loads the page once. Runs within a tokio runtime with timers; a runtime of one thread keeps the client's own work smallest.
///
/// # Errors
/// A connection that cannot be opened or breaks, a response that is no complete HTTP/1 answer with status 200, a document that does
/// not refer to exactly the page's objects, a load that does not end.
pub async fn load(plan: &LoadPlan<'_>, clock: Clock) -> Result<Observation, MeasureError> {
    load::Load::new(plan, clock)?.run().await
}
