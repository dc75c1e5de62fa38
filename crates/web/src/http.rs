//! How the browser speaks HTTP, as a scenario describes it.

use farhop_units::Bytes;

/// HTTP version and use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0: one connection per object (RFC 1945).
    Http10,
    /// HTTP/1.1 with persistent connections, one request at a time on each (RFC 9112).
    Http11,
    /// HTTP/1.1, all requests sent without waiting (RFC 9112 §9.3.2).
    Http11Pipelined,
}

/// The browser's use of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpConfig {
    /// Version.
    pub version: HttpVersion,
    /// Connections the browser opens to the server at once, at most.
    pub connections: usize,
    /// Size of a request on the wire without TCP/IP headers.
    pub request_bytes: Bytes,
    /// Size of a response's status line and headers.
    pub response_header_bytes: Bytes,
}

impl HttpConfig {
    /// HTTP/1.1 over six connections (what browsers have done since 2008); 350 B requests and 250 B response headers, the median
    /// magnitudes of pages without cookies.
    pub const DEFAULT: Self = Self {
        version: HttpVersion::Http11,
        connections: 6,
        request_bytes: Bytes::new(350),
        response_header_bytes: Bytes::new(250),
    };
}
