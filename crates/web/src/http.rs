//! How the browser speaks HTTP, as a scenario describes it.

use crate::handshake::Flights;
use crate::page::Object;
use crate::records::{MOST_RECORD_BYTES, Records};
use farhop_units::Bytes;
use std::time::Duration;

/// The largest payload of a frame of HTTP/2 unless more is allowed (RFC 9113 §6.5.2), which browsers do not.
pub const HTTP2_FRAME_BYTES: Bytes = Bytes::kib(16);

/// No head is longer: servers and proxies refuse longer ones (8 to 64 KiB are usual limits).
pub const LONGEST_HEAD: Bytes = Bytes::kib(32);

/// HTTP version and use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0: one connection per object (RFC 1945).
    Http10,
    /// HTTP/1.1 with persistent connections, one request at a time on each (RFC 9112).
    Http11,
    /// HTTP/1.1, all requests sent without waiting (RFC 9112 §9.3.2).
    Http11Pipelined,
    /// HTTP/2: one connection per host, a stream per request (RFC 9113).
    Http2,
    /// HTTP/3: as HTTP/2, over QUIC, whose handshake is that of TLS 1.3 too (RFC 9114).
    Http3,
}

impl HttpVersion {
    /// Whether requests to a host share one connection and do not wait for the responses before them.
    pub const fn shares_connection(self) -> bool {
        matches!(self, Self::Http11Pipelined | Self::Http2 | Self::Http3)
    }

    /// Whether responses on a connection are streams that take turns.
    pub const fn is_multiplexed(self) -> bool {
        matches!(self, Self::Http2 | Self::Http3)
    }
}

/// The handshake of keys on every new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// Plain HTTP.
    None,
    /// TLS 1.2 (RFC 5246): two round trips.
    V12,
    /// TLS 1.3 (RFC 8446): one round trip; over QUIC none of its own (RFC 9001).
    V13,
}

/// Where hosts' names are resolved, ahead of the first connection to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dns {
    /// The addresses are known.
    None,
    /// A resolver at the terminal, which has the answer: the far link is not crossed.
    Near,
    /// A resolver behind the gateway, which has the answer: one round trip over the far link for each host.
    Far,
}

/// The browser's use of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpConfig {
    /// Version.
    pub version: HttpVersion,
    /// Connections the browser opens to a host at once, at most. Where requests share a connection there is one.
    pub connections: usize,
    /// Handshake of keys.
    pub tls: Tls,
    /// Content of each record of TLS, but the last one of a message.
    pub tls_record: Bytes,
    /// Resolving of hosts' names.
    pub dns: Dns,
    /// How long an idle connection stays open (RFC 9112 §9.8); `None` is as long as the client runs.
    pub persistence: Option<Duration>,
    /// Size of a request on the wire without TCP/IP headers, unless the object says otherwise.
    pub request_bytes: Bytes,
    /// Size of a response's status line and headers, unless the object says otherwise.
    pub response_header_bytes: Bytes,
}

impl HttpConfig {
    /// HTTP/1.1 over six connections (what browsers have done since 2008), without TLS and DNS; records as long as may be, as OpenSSL writes
    /// them, and with it nginx and Apache unless they are told otherwise; 350 B requests and 250 B response headers, the median magnitudes of
    /// pages without cookies.
    pub const DEFAULT: Self = Self {
        version: HttpVersion::Http11,
        connections: 6,
        tls: Tls::None,
        tls_record: MOST_RECORD_BYTES,
        dns: Dns::None,
        persistence: None,
        request_bytes: Bytes::new(350),
        response_header_bytes: Bytes::new(250),
    };

    /// The handshake of keys between the transport's and the first request: none over QUIC, whose own it is (RFC 9001).
    pub const fn key_flights(&self) -> &'static [Flights] {
        match self.version {
            HttpVersion::Http3 => &[],
            _ => self.tls.flights(),
        }
    }

    /// Records of what is said after the handshake: QUIC has none, whose packets are opened one by one (RFC 9001 §5).
    pub const fn records(&self) -> Records {
        match self.version {
            HttpVersion::Http3 => Records::NONE,
            _ => Records::new(self.tls, self.tls_record),
        }
    }

    /// What a frame of HTTP/2 takes at most: of whole records.
    pub const fn frame_bytes(&self) -> Bytes {
        self.records().frame(HTTP2_FRAME_BYTES)
    }

    /// Whether proxies for HTTP/1 that it passes can read it: keys hide it from them, and frames of later versions mean nothing to them.
    pub const fn is_readable(&self) -> bool {
        matches!(self.tls, Tls::None) && !self.version.is_multiplexed()
    }

    /// Whether a client asks for `object` with a body, as no head can be that long. Boxes know only what [`Object::is_posted`] says of a page.
    pub fn posts(&self, object: &Object) -> bool {
        object.is_posted() || self.request_size(object) > LONGEST_HEAD
    }

    /// Size of the request for `object`.
    pub fn request_size(&self, object: &Object) -> Bytes {
        object.request_bytes.unwrap_or(self.request_bytes)
    }

    /// Size of status line and headers of the response with `object`.
    pub fn header_size(&self, object: &Object) -> Bytes {
        object.response_header_bytes.unwrap_or(self.response_header_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Page;

    #[test]
    fn what_no_head_can_hold_is_posted_whoever_says_its_size() {
        let page = Page::uniform(1, Bytes::new(100)).unwrap();
        let posts = |request_bytes| HttpConfig { request_bytes, ..HttpConfig::DEFAULT }.posts(&page.objects[0]);
        assert_eq!([LONGEST_HEAD, LONGEST_HEAD + Bytes::new(1)].map(posts), [false, true]);
    }
}
