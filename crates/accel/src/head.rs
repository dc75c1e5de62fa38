//! Heads of requests and responses as they cross the tunnel, without what concerns one connection only.
//!
//! Models: RFC 9110 §7.6.1 (what a proxy must not forward), RFC 9112 §3.2.2 (absolute form), §6 (which length counts). Leaves out:
//! trailers, `Via` (some servers stop compressing when they see it), reason phrases, transfer codings besides `chunked`, interim responses.

use http::header::{self, HeaderMap, HeaderName};
use http::uri::PathAndQuery;
use http::{Method, StatusCode};
use thiserror::Error;
use url::Url;

/// A request without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// Method.
    pub method: Method,
    /// What is asked for: absolute, without user and fragment, in the form that makes URLs comparable.
    pub url: Url,
    /// Path and query as the client wrote them: RFC 9112 §3.2.2 forbids a proxy to rewrite them.
    pub target: PathAndQuery,
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

/// Why a client's request cannot be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RequestError {
    /// Not what clients send to a proxy.
    #[error("this is a proxy for http:// URLs; set it as HTTP and HTTPS proxy")]
    NotAbsolute,
    /// A coding that would be lost on the way.
    #[error("of transfer codings only chunked is known")]
    TransferCoding,
}

impl RequestError {
    /// What the client is told (RFC 9112 §6.1 for codings).
    pub fn status(self) -> StatusCode {
        match self {
            Self::NotAbsolute => StatusCode::BAD_REQUEST,
            Self::TransferCoding => StatusCode::NOT_IMPLEMENTED,
        }
    }
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
    if headers.contains_key(header::TRANSFER_ENCODING) {
        // RFC 9112 §6.3: the chunks said how long the message is; what else there is about it must not be passed on.
        headers.remove(header::CONTENT_LENGTH);
    }
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
}

/// Whether a message is coded in a way that goes no further than this connection and that nobody here undoes.
fn is_coded(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::TRANSFER_ENCODING).iter();
    let mut codings = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    codings.any(|coding| !coding.trim_ascii().eq_ignore_ascii_case(b"chunked"))
}

/// An absolute `http` URL, and its path and query as they are written there.
pub(crate) fn absolute(text: &str) -> Option<(Url, PathAndQuery)> {
    let mut url = Url::parse(text).ok().filter(|url| url.scheme() == "http" && url.host().is_some())?;
    url.set_fragment(None);
    // Both succeed, for there is a host.
    let _ = (url.set_username(""), url.set_password(None));
    let (_, after_scheme) = text.split_once("://")?;
    let written = after_scheme.find(['/', '?']).map_or("", |at| &after_scheme[at..]);
    let slash = if written.starts_with('/') { "" } else { "/" };
    Some((url, format!("{slash}{written}").try_into().ok()?))
}

impl RequestHead {
    /// A request as a client sent it to a proxy.
    ///
    /// # Errors
    /// Its target is not an absolute `http` URL, or its body is coded.
    pub fn from_client(
        method: Method,
        target: &str,
        mut headers: HeaderMap,
        has_body: bool,
    ) -> Result<Self, RequestError> {
        let (url, target) = absolute(target).ok_or(RequestError::NotAbsolute)?;
        if is_coded(&headers) {
            return Err(RequestError::TransferCoding);
        }
        remove_hop_by_hop(&mut headers);
        // RFC 9112 §3.2.2: a proxy that gets an absolute target ignores Host and makes a new one from the target.
        headers.remove(header::HOST);
        Ok(Self { method, url, target, headers, has_body })
    }

    /// A request for `url` without a body; `None` if it cannot be asked for.
    pub fn get(url: Url, headers: HeaderMap) -> Option<Self> {
        let target = url[url::Position::BeforePath..url::Position::AfterQuery].try_into().ok()?;
        Some(Self { method: Method::GET, url, target, headers, has_body: false })
    }

    /// Whether the connection that carries the request belongs to its user from then on (RFC 4559 §6: these schemes authenticate the
    /// connection, so that requests of others on it would be answered as the user's).
    pub fn claims_connection(&self) -> bool {
        let values = self.headers.get_all(header::AUTHORIZATION).iter();
        let mut schemes = values.filter_map(|value| value.as_bytes().trim_ascii().split(|byte| *byte == b' ').next());
        schemes.any(|scheme| [&b"ntlm"[..], b"negotiate"].iter().any(|known| scheme.eq_ignore_ascii_case(known)))
    }

    /// Host and, if it is not the scheme's own, port.
    pub fn authority(&self) -> &str {
        &self.url[url::Position::BeforeHost..url::Position::AfterPort]
    }
}

impl ResponseHead {
    /// A response as a server sent it; `None` if it cannot be passed on: an upgrade that nobody asked for, or a coded body.
    pub fn from_server(status: StatusCode, mut headers: HeaderMap) -> Option<Self> {
        if status.is_informational() || is_coded(&headers) {
            return None;
        }
        remove_hop_by_hop(&mut headers);
        Some(Self { status, headers })
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
        assert_eq!((head.authority(), head.target.as_str()), ("a.example:8080", "/x?y"));
        assert!(head.headers.is_empty());
    }

    #[test]
    fn only_absolute_http_targets_are_taken() {
        for target in ["/index.html", "https://a.example/", "ftp://a.example/", "http://", "*"] {
            let head = RequestHead::from_client(Method::GET, target, HeaderMap::new(), false);
            assert_eq!(head, Err(RequestError::NotAbsolute), "{target}");
        }
    }

    #[test]
    fn the_target_stays_as_it_was_written() {
        for (text, url, target) in [
            ("http://user:word@A.example/a/../b?it's#f", "http://a.example/b?it%27s", "/a/../b?it's"),
            ("http://a.example", "http://a.example/", "/"),
            ("http://a.example?q=/", "http://a.example/?q=/", "/?q=/"),
        ] {
            let (parsed, written) = absolute(text).expect("absolute");
            assert_eq!((parsed.as_str(), written.as_str()), (url, target), "{text}");
        }
        let written = format!("http://a.example/?{}", "'".repeat(60_000));
        assert_eq!(absolute(&written).expect("absolute").1.as_str().len(), 60_002);
    }

    #[test]
    fn chunks_say_how_long_a_message_is() {
        let both = headers(&[("content-length", "5"), ("transfer-encoding", "chunked")]);
        let response = ResponseHead::from_server(StatusCode::OK, both.clone()).expect("passable");
        assert!(response.headers.is_empty());
        let request = RequestHead::from_client(Method::POST, "http://a.example/", both, true).expect("passable");
        assert!(request.headers.is_empty());
    }

    #[test]
    fn what_would_be_misread_further_on_is_not_passed() {
        let coded = headers(&[("transfer-encoding", "gzip, Chunked")]);
        assert_eq!(ResponseHead::from_server(StatusCode::OK, coded.clone()), None);
        let request = RequestHead::from_client(Method::POST, "http://a.example/", coded, true);
        assert_eq!(request, Err(RequestError::TransferCoding));
        assert_eq!(ResponseHead::from_server(StatusCode::SWITCHING_PROTOCOLS, HeaderMap::new()), None);
    }

    #[test]
    fn some_logins_claim_their_connection() {
        let claims = |value: &'static str| {
            let url = "http://a.example/".parse().expect("a URL");
            RequestHead::get(url, headers(&[("authorization", value)])).expect("a target").claims_connection()
        };
        assert!(claims("NTLM TlRM") && claims("Negotiate YII") && claims("negotiate"));
        assert!(!claims("Basic bnRsbQ==") && !claims(""));
    }

    #[test]
    fn only_a_whole_document_is_html() {
        let is_html = |status, pairs: &[(&'static str, &'static str)]| {
            ResponseHead::from_server(status, headers(pairs)).expect("passable").is_html()
        };
        assert!(is_html(StatusCode::OK, &[("content-type", "Text/HTML; charset=utf-8")]));
        assert!(!is_html(StatusCode::OK, &[("content-type", "image/png")]));
        assert!(!is_html(StatusCode::OK, &[]));
        assert!(!is_html(StatusCode::PARTIAL_CONTENT, &[("content-type", "text/html")]));
    }
}
