//! The HTTP servers of a site: HTTP/1.1 on plain TCP, HTTP/2 or 1.1 over TLS, whichever the client prefers.
//!
//! What a client can make the servers hold is bounded: connections, sizes of heads, streams, times without progress. A posted body is
//! read to its end and forgotten. Left out: HTTP/2 without TLS, HTTP/3, WebSockets.

#[cfg(test)]
mod tests;

use crate::body::Body;
use crate::certificates::{Certificates, HTTP_2};
use crate::error::OriginError;
use crate::patience::Patient;
use crate::request::{Asked, Endpoint, Scheme};
use crate::site::{Answer, Site};
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// Connections at a time, to all hosts of the site. Design point: 128 terminals with 80 connections each.
const MOST_CONNECTIONS: usize = 10_240;
/// The longest head of a request. Browsers send at most some kB, most of it cookies.
const LONGEST_HEAD: usize = 64 * 1024;
/// Requests at a time on one connection (RFC 9113 §6.5.2 recommends at least 100).
const MOST_STREAMS: u32 = 128;
/// Bytes of an answer that wait in this process for a client to read them, for each request.
const MOST_WAITING: usize = 256 * 1024;
/// When connections cannot be accepted (no file descriptor is left), others must end first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What all servers of a site share.
#[derive(Debug)]
pub(crate) struct Servers {
    site: Site,
    certificates: Certificates,
    connections: Arc<Semaphore>,
    /// How long a client may be silent.
    patience: Duration,
    /// Whether answers come as late as they were recorded.
    think: bool,
}

impl Servers {
    pub(crate) fn new(site: Site, certificates: Certificates, patience: Duration, think: bool) -> Self {
        let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        Self { site, certificates, connections, patience, think }
    }

    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    /// Serves an endpoint's connections for as long as it is polled.
    pub(crate) async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        endpoint: Endpoint,
    ) -> Result<Infallible, OriginError> {
        let tls = match endpoint.scheme {
            Scheme::Http => None,
            Scheme::Https => Some(TlsAcceptor::from(Arc::new(self.certificates.config(&endpoint)?))),
        };
        let endpoint = Arc::new(endpoint);
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let permit = Arc::clone(&self.connections).acquire_owned().await;
                    let conversation = Conversation { servers: Arc::clone(&self), endpoint: Arc::clone(&endpoint) };
                    let tls = tls.clone();
                    tokio::spawn(async move {
                        let _permit = permit;
                        conversation.hold(stream, tls).await;
                    });
                }
                Err(error) => {
                    tracing::warn!("{}:{}: {error}", endpoint.host, endpoint.port);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// A client's connection to an endpoint.
#[derive(Debug, Clone)]
struct Conversation {
    servers: Arc<Servers>,
    endpoint: Arc<Endpoint>,
}

impl Conversation {
    /// From the first byte to the last. How it ends is the client's to judge.
    async fn hold(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!("TCP_NODELAY: {error}");
        }
        let stream = Patient::new(stream, self.servers.patience);
        let Some(tls) = tls else { return self.http_1(TokioIo::new(stream)).await };
        match tls.accept(stream).await {
            Ok(stream) if stream.get_ref().1.alpn_protocol() == Some(HTTP_2) => self.http_2(TokioIo::new(stream)).await,
            Ok(stream) => self.http_1(TokioIo::new(stream)).await,
            Err(error) => tracing::debug!("{}: no TLS: {error}", self.endpoint.host),
        }
    }

    async fn http_1(self, stream: impl hyper::rt::Read + hyper::rt::Write + Unpin) {
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(self.servers.patience).max_buf_size(LONGEST_HEAD);
        // Who has no more to say may still listen.
        server.half_close(true);
        let host = self.endpoint.host.clone();
        let service = service_fn(move |request| self.clone().answer(request));
        if let Err(error) = server.serve_connection(stream, service).await {
            tracing::debug!("{host}: {error}");
        }
    }

    async fn http_2(self, stream: impl hyper::rt::Read + hyper::rt::Write + Unpin + 'static) {
        let mut server = http2::Builder::new(TokioExecutor::new());
        server.timer(TokioTimer::new()).max_concurrent_streams(MOST_STREAMS).max_header_list_size(LONGEST_HEAD as u32);
        server.max_send_buf_size(MOST_WAITING);
        let host = self.endpoint.host.clone();
        let service = service_fn(move |request| self.clone().answer(request));
        if let Err(error) = server.serve_connection(stream, service).await {
            tracing::debug!("{host}: {error}");
        }
    }

    /// The answer to a request, after all of it has arrived.
    async fn answer(self, request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
        let (head, mut body) = request.into_parts();
        while let Some(frame) = body.frame().await {
            frame?;
        }
        let Answer { mut response, think } = match Asked::new(&head, &self.endpoint) {
            Ok(asked) => self.servers.site.answer(&asked),
            Err(status) => Answer::refusal(status),
        };
        if self.servers.think {
            tokio::time::sleep(think).await;
        }
        // What follows a request that was not understood could be anything.
        if response.status() == StatusCode::BAD_REQUEST && head.version < Version::HTTP_2 {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }
}
