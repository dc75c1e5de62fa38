//! Heads of requests and responses as they cross the tunnel, without what concerns one connection only.
//!
//! Models: RFC 9110 §7.6.1 (what a proxy must not forward), RFC 9112 §3.2.2 (absolute form). Leaves out: trailers, `Via` (some servers
//! stop compressing when they see it), reason phrases.

use http::header::{self, HeaderMap, HeaderName};
use http::{Method, StatusCode};
use url::Url;

/// A request without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// Method.
    pub method: Method,
    /// Absolute, without fragment.
    pub url: Url,
    /// End-to-end headers, without `Host`, which follows from the URL.
    pub headers: HeaderMap,
    /// Whether a body follows.
    pub has_body: bool,
}

/// A response without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// Status code.
    pub status: StatusCode,
    /// End-to-end headers.
    pub headers: HeaderMap,
}

/// Headers of one connection, whatever `Connection` says. `Proxy-Connection` never was a standard and is sent all the same.
const HOP_BY_HOP: [HeaderName; 10] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("http2-settings"),
];

/// Removes the headers that concern one connection only: the known ones and those that `Connection` names (RFC 9110 §7.6.1).
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
}

impl RequestHead {
    /// A request as a client sent it to a proxy. `None` unless its target is an absolute `http` URL.
    pub fn from_client(method: Method, target: &str, mut headers: HeaderMap, has_body: bool) -> Option<Self> {
        let mut url = Url::parse(target).ok()?;
        if url.scheme() != "http" || url.host().is_none() {
            return None;
        }
        url.set_fragment(None);
        remove_hop_by_hop(&mut headers);
        // RFC 9112 §3.2.2: a proxy that gets an absolute target ignores Host and makes a new one from the target.
        headers.remove(header::HOST);
        Some(Self { method, url, headers, has_body })
    }

    /// Path and query, as a server wants them.
    pub fn origin_form(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// Host and, if it is not the scheme's own, port.
    pub fn authority(&self) -> &str {
        &self.url[url::Position::BeforeHost..url::Position::AfterPort]
    }
}

impl ResponseHead {
    /// A response as a server sent it.
    pub fn from_server(status: StatusCode, mut headers: HeaderMap) -> Self {
        remove_hop_by_hop(&mut headers);
        Self { status, headers }
    }

    /// Whether the body is a whole HTML document.
    pub fn is_html(&self) -> bool {
        let media_type = self.text(header::CONTENT_TYPE).split(';').next().unwrap_or("").trim();
        let is_html = ["text/html", "application/xhtml+xml"].iter().any(|html| media_type.eq_ignore_ascii_case(html));
        self.status == StatusCode::OK && is_html
    }

    /// A header's value; empty if there is none, or not a single readable one.
    pub fn text(&self, name: HeaderName) -> &str {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().unwrap_or(""),
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), http::HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn headers_of_the_connection_do_not_cross() {
        let mut map = headers(&[("connection", "close, X-Hop"), ("x-hop", "1"), ("te", "trailers"), ("accept", "*/*")]);
        map.append("proxy-authorization", http::HeaderValue::from_static("Basic x"));
        remove_hop_by_hop(&mut map);
        assert_eq!(map, headers(&[("accept", "*/*")]));
    }

    #[test]
    fn the_host_follows_from_the_target() {
        let head = RequestHead::from_client(
            Method::GET,
            "http://a.example:8080/x?y#z",
            headers(&[("host", "b.example")]),
            false,
        );
        let head = head.expect("absolute form");
        assert_eq!((head.authority(), head.origin_form()), ("a.example:8080", "/x?y"));
        assert!(head.headers.is_empty());
    }

    #[test]
    fn only_absolute_http_targets_are_taken() {
        for target in ["/index.html", "https://a.example/", "ftp://a.example/", "http://", "*"] {
            assert_eq!(RequestHead::from_client(Method::GET, target, HeaderMap::new(), false), None, "{target}");
        }
    }

    #[test]
    fn only_a_whole_document_is_html() {
        let is_html = |status, pairs: &[(&'static str, &'static str)]| {
            ResponseHead::from_server(status, headers(pairs)).is_html()
        };
        assert!(is_html(StatusCode::OK, &[("content-type", "Text/HTML; charset=utf-8")]));
        assert!(!is_html(StatusCode::OK, &[("content-type", "image/png")]));
        assert!(!is_html(StatusCode::OK, &[]));
        assert!(!is_html(StatusCode::PARTIAL_CONTENT, &[("content-type", "text/html")]));
    }
}
