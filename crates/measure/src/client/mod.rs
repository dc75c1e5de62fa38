//! A client that loads a page as a browser does: over up to six connections, finding the page's objects in its HTML and its style sheets
//! as these stream.
//!
//! [`farhop_web::Loader`] takes the browser's decisions, the same as in the simulator; here are the sockets. The client speaks HTTP/1.0
//! and 1.1 (RFC 1945, RFC 9112), with TLS 1.2 or 1.3 or without, and can pipeline. Nothing is parsed, hashed or written to disk while bytes arrive except tags and rules
//! that name others, so that the client's own time does not count. Left out: HTTP/2 and 3, several hosts, rendering, scripts, caches,
//! cookies, DNS, time between discovery and request.

mod connection;
mod load;
mod observation;
mod request;
mod response;
mod sheet;

pub use observation::Observation;
pub(crate) use request::TargetForm;

use crate::{Keys, MeasureError};
use farhop_emu::Clock;
use farhop_units::Bytes;
use farhop_web::{Dns, HttpConfig, Language, Object, Page};
use std::net::SocketAddr;
use std::time::Duration;
use url::Url;

/// How the client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// By TCP connections to the server itself.
    Direct(SocketAddr),
    /// Through an HTTP proxy, which sees the requests; if there are keys it only makes tunnels, as for [`Self::Tunnel`].
    Proxy(SocketAddr),
    /// Through tunnels that the HTTP proxy makes by CONNECT, one per connection, as for HTTPS.
    Tunnel(SocketAddr),
}

impl Route {
    /// Whether a proxy is asked for a tunnel to the server.
    fn is_tunnel(self, has_keys: bool) -> bool {
        match self {
            Self::Direct(_) => false,
            Self::Proxy(_) => has_keys,
            Self::Tunnel(_) => true,
        }
    }

    /// How requests name what they ask for.
    pub(crate) fn form(self, has_keys: bool) -> TargetForm {
        match self {
            Self::Proxy(_) if !has_keys => TargetForm::Absolute,
            _ => TargetForm::Origin,
        }
    }

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
    /// What the server is trusted by, if its URL is `https`.
    pub keys: Option<&'a Keys>,
    /// When to give up.
    pub timeout: Duration,
}

/// Size of the request for `object` at `url`, which is to be what the scenario says.
pub(crate) fn request_size(url: &Url, form: TargetForm, http: &HttpConfig, object: &Object) -> Bytes {
    let wanted = (http.posts(object), http.request_size(object));
    Bytes::new(request::request(url, form, http.version, wanted).len() as u64)
}

/// Loads the page once. Runs within a tokio runtime with timers; a runtime of one thread keeps the client's own work smallest.
///
/// # Errors
/// A use of HTTP or a page that the client does not know ([`MeasureError::Unmeasurable`]), a connection that cannot be opened or breaks, a
/// response that is no complete HTTP/1 answer with status 200, a document or a sheet that does not refer to exactly the page's objects, a
/// load that does not end.
pub async fn load(plan: &LoadPlan<'_>, clock: Clock) -> Result<Observation, MeasureError> {
    check(plan.page, &plan.http)?;
    load::Load::new(plan, clock)?.run().await
}

/// Whether the client can load `page` in this way.
///
/// # Errors
/// [`MeasureError::Unmeasurable`].
pub(crate) fn check(page: &Page, http: &HttpConfig) -> Result<(), MeasureError> {
    let is_script = |index: usize| Language::of(&page.objects[index].media_type) == Some(Language::Script);
    let has_calls = page.objects.iter().filter_map(|object| object.reference).any(|by| is_script(by.object));
    let delays = page.objects.iter().any(|object| !object.delay.is_zero());
    let unknowns = [
        (http.version.is_multiplexed(), "speaks HTTP/1.0 and 1.1 only"),
        (http.dns != Dns::None, "resolves no names"),
        (http.persistence.is_some(), "keeps its connections to the end"),
        (page.hosts.len() > 1, "knows one host"),
        (has_calls, "runs no scripts"),
        (delays, "asks for what it has discovered at once"),
    ];
    unknowns
        .into_iter()
        .find_map(|(given, what)| given.then_some(what))
        .map_or(Ok(()), |what| Err(MeasureError::Unmeasurable(what)))
}
