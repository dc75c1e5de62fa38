//! What a request asks for: host, path and query, from wherever a version of HTTP puts them.
//!
//! Requests that two readers could understand differently are refused: no Host field or several, a Host that contradicts the target
//! (RFC 9112 §3.2, RFC 9113 §8.3.1). Framing that is ambiguous is refused by hyper before. Left out: CONNECT and proxying.

use http::header::HOST;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Method, StatusCode, Version};
use std::net::IpAddr;

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    pub(crate) const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        [Self::Http, Self::Https].into_iter().find(|scheme| scheme.name() == name)
    }
}

/// Where connections arrive: a host's port, and what is spoken there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) scheme: Scheme,
}

/// A request, as far as it decides the answer.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a HeaderMap,
    /// In lower case, without a dot at the end.
    pub(crate) host: String,
    pub(crate) scheme: Scheme,
    pub(crate) port: u16,
    /// As sent: not decoded, with its query.
    pub(crate) target: &'a str,
}

impl<'a> Asked<'a> {
    /// Reads the head of a request that arrived at `endpoint`; the status to refuse it with if it must be.
    pub(crate) fn new(head: &'a Parts, endpoint: &Endpoint) -> Result<Self, StatusCode> {
        Ok(Self {
            method: &head.method,
            headers: &head.headers,
            host: host(head)?.unwrap_or_else(|| endpoint.host.clone()),
            scheme: endpoint.scheme,
            port: endpoint.port,
            target: head.uri.path_and_query().map_or("/", |target| target.as_str()),
        })
    }

    pub(crate) fn path(&self) -> &'a str {
        self.target.split_once('?').map_or(self.target, |(path, _)| path)
    }
}

/// The name of the host that is asked for; `None` if it is asked for by address, or by HTTP/1.0 that need not say.
fn host(head: &Parts) -> Result<Option<String>, StatusCode> {
    let mut fields = head.headers.get_all(HOST).iter();
    let field = fields.next().map(|value| authority(value.as_bytes())).transpose()?;
    let is_missing = field.is_none() && head.uri.authority().is_none() && head.version == Version::HTTP_11;
    if fields.next().is_some() || is_missing {
        return Err(StatusCode::BAD_REQUEST);
    }
    let target = head.uri.authority().map(|target| authority(target.as_str().as_bytes())).transpose()?;
    let contradicts = field.as_ref().zip(target.as_ref()).is_some_and(|(field, target)| name(field) != name(target));
    if contradicts && head.version == Version::HTTP_2 {
        return Err(StatusCode::BAD_REQUEST);
    }
    // RFC 9112 §3.2.2: a target in absolute form overrides the field.
    let name = target.or(field).map(|authority| name(&authority));
    Ok(name.filter(|name| !name.is_empty() && name.trim_matches(['[', ']']).parse::<IpAddr>().is_err()))
}

fn authority(text: &[u8]) -> Result<Authority, StatusCode> {
    let authority = Authority::try_from(text).map_err(|_| StatusCode::BAD_REQUEST)?;
    if authority.as_str().contains('@') { Err(StatusCode::BAD_REQUEST) } else { Ok(authority) }
}

fn name(authority: &Authority) -> String {
    let name = authority.host().to_ascii_lowercase();
    name.strip_suffix('.').unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(version: Version, target: &str, hosts: &[&str]) -> Result<String, StatusCode> {
        let mut request = http::Request::builder().version(version).uri(target);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let endpoint = Endpoint { host: "here".into(), port: 80, scheme: Scheme::Http };
        Asked::new(&head, &endpoint).map(|asked| format!("{} {}", asked.host, asked.target))
    }

    #[test]
    fn hosts_are_named_by_target_or_field() {
        assert_eq!(asked(Version::HTTP_11, "/a?b", &["WWW.example.test.:8080"]).unwrap(), "www.example.test /a?b");
        assert_eq!(asked(Version::HTTP_11, "http://a.test/x", &["b.test"]).unwrap(), "a.test /x");
        assert_eq!(asked(Version::HTTP_2, "https://a.test/x", &[]).unwrap(), "a.test /x");
        assert_eq!(asked(Version::HTTP_10, "/", &[]).unwrap(), "here /");
        assert_eq!(asked(Version::HTTP_11, "/", &["10.79.0.1"]).unwrap(), "here /");
        assert_eq!(asked(Version::HTTP_11, "/", &["[fd79::1]:80"]).unwrap(), "here /");
    }

    #[test]
    fn requests_that_could_mean_two_hosts_are_refused() {
        let refused = Err(StatusCode::BAD_REQUEST);
        assert_eq!(asked(Version::HTTP_11, "/", &[]), refused);
        assert_eq!(asked(Version::HTTP_11, "/", &["a.test", "b.test"]), refused);
        assert_eq!(asked(Version::HTTP_2, "https://a.test/", &["b.test"]), refused);
        assert_eq!(asked(Version::HTTP_11, "/", &["a.test/../b"]), refused);
        assert_eq!(asked(Version::HTTP_11, "/", &["user@a.test"]), refused);
    }
}
