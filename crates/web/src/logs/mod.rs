//! Logs of proxies and servers: who asked for what, when, and what came.
//!
//! Read are Squid's native format, the Common Log Format and the Combined one ([`read()`]); broken lines are counted and skipped, or refused
//! ([`Strictness`]). Logs are put together and multiplied by [`merge_days`] and [`raised`], as trace-driven simulations do to
//! raise the load (nz-us-2000), and made from nothing by [`generate`]. [`Hosts`] is the 2000 paper's host file: what is known of each
//! server's TCP.
//!
//! Left out: compressed files (decompress them first), custom log formats, and what logs do not say: which requests
//! belong to a page.
//!
//! ```
//! use farhop_web::logs::{self, Format, Strictness};
//! let text = b"868917600.250 1250 10.0.0.7 TCP_MISS/200 8192 GET http://www.example.com/a.gif - DIRECT/www.example.com image/gif\n\
//!              half a line\n";
//! let log = logs::read(text, Format::Squid, Strictness::Skip)?;
//! assert_eq!(log.records[0].host().as_deref(), Some("www.example.com"));
//! assert_eq!(log.summary(), "2 lines, 1 broken: line 2: no time in seconds since 1970");
//! # Ok::<(), logs::LogError>(())
//! ```

mod common;
mod field;
mod generator;
mod hosts;
mod merge;
mod read;
mod squid;

#[cfg(test)]
mod tests;

pub use generator::{Parameters, generate, generate_hosts};
pub use hosts::{Host, Hosts, HostsError};
pub use merge::{Raised, merge_days, raised};
pub use read::{BrokenLine, Format, Log, LogError, Strictness, read};
pub use squid::to_squid;

use farhop_units::Bytes;
use std::borrow::Cow;
use std::time::Duration;

/// One request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// When the request arrived, since the Unix epoch.
    pub at: Duration,
    /// Address or name of the client.
    pub client: Box<str>,
    /// Method, e.g. `GET`; `-` if nothing that could be read was asked.
    pub method: Box<str>,
    /// What was asked for: a URL, in server logs a path, for `CONNECT` host and port; `-` if that could not be read.
    pub url: Box<str>,
    /// Status code of the response; `None` if there was none.
    pub status: Option<u16>,
    /// What the cache did, in Squid's words, e.g. `TCP_MISS`; `None` where a log does not say.
    pub outcome: Option<Box<str>>,
    /// Where it had the response from, in Squid's words, e.g. `DIRECT`; `None` where a log does not say.
    pub hierarchy: Option<Box<str>>,
    /// Size of the request; `None` where a log does not say.
    pub request_bytes: Option<Bytes>,
    /// Size of the response, with its head in Squid's logs, without in the others.
    pub reply_bytes: Bytes,
    /// From the request's arrival to the response's last byte; `None` where a log does not say.
    pub duration: Option<Duration>,
    /// Media type of the response; `None` where a log does not say.
    pub media_type: Option<Box<str>>,
    /// 0 for the log that a load was raised from; further days ([`merge_days`]) and copies ([`raised`]) count on. The requests of layer
    /// 0 are the same at every load: the "sample HTTP requests that were present in all simulations" of nz-us-2000.
    pub layer: u32,
}

impl LogRecord {
    /// The server's name, without port, in small letters and without the root's dot (RFC 4343); `None` in logs of a server, which name paths only.
    pub fn host(&self) -> Option<Cow<'_, str>> {
        let (name, _) = self.place()?;
        (!name.is_empty()).then(|| canonical(name))
    }

    /// The server's port, that of the URL or else of its scheme (RFC 9110 §4.2); `None` where neither is known.
    pub fn port(&self) -> Option<u16> {
        let (_, port) = self.place()?;
        port.parse().ok().or_else(|| match &*self.scheme()?.to_ascii_lowercase() {
            "http" => Some(80),
            "https" => Some(443),
            "ftp" => Some(21),
            _ => None,
        })
    }

    /// Whether a tunnel was asked for, whose connection is nobody else's (RFC 9110 §9.3.6).
    pub fn is_tunnel(&self) -> bool {
        &*self.method == "CONNECT"
    }

    /// The URL's scheme; a path's query may hold another URL (RFC 3986 §3.1).
    fn scheme(&self) -> Option<&str> {
        let (scheme, _) = self.url.split_once("://")?;
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        is_scheme.then_some(scheme)
    }

    /// The server's name and port as the URL has them; empty is what it leaves out.
    fn place(&self) -> Option<(&str, &str)> {
        let authority = match self.scheme() {
            Some(scheme) => self.url[scheme.len() + "://".len()..].split(['/', '?', '#']).next().unwrap_or_default(),
            None if self.is_tunnel() => &self.url,
            None => return None,
        };
        let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
        Some(match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, rest)) => (address, rest.strip_prefix(':').unwrap_or_default()),
            None => place.split_once(':').unwrap_or((place, "")),
        })
    }

    /// Whether a server answered with success: a status of 200 to 299, to what could be read, and nothing from the cache or another one
    /// beside it, nor Squid itself, which says `NONE` of what it never asked for. `TCP_REFRESH_UNMODIFIED` is what Squid 3 says for 2's `TCP_REFRESH_HIT`, `TCP_REFRESH_FAIL_OLD` for its `TCP_REF_FAIL_HIT`.
    pub fn is_fetched(&self) -> bool {
        const FROM_THE_CACHE: [&str; 4] = ["HIT", "DENIED", "UNMODIFIED", "FAIL_OLD"];
        let local =
            |outcome: &str| outcome.starts_with("NONE") || FROM_THE_CACHE.iter().any(|word| outcome.contains(word));
        let is_local = self.outcome.as_deref().is_some_and(local)
            || self.hierarchy.as_deref().is_some_and(|code| code.ends_with("_HIT"));
        self.status.is_some_and(|status| (200..300).contains(&status)) && !is_local && &*self.url != "-"
    }
}

/// A name of DNS as all of its spellings are compared.
fn canonical(name: &str) -> Cow<'_, str> {
    let name = name.strip_suffix('.').filter(|rest| !rest.is_empty()).unwrap_or(name);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) { name.to_ascii_lowercase().into() } else { name.into() }
}
