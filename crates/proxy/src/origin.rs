//! Requests to servers, over connections that are kept for the next.

use crate::body::MessageBody;
use crate::clock::Clock;
use crate::dial;
use farhop_accel::head::{RequestHead, ResponseHead};
use farhop_accel::policy::Destinations;
use farhop_accel::wire::{MAX_HEAD_BYTES, ResetReason};
use farhop_units::Instant;
use http::{HeaderValue, Request, header};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use url::Host;

/// Servers keep idle connections from 5 s (Apache) to 75 s (nginx); a connection about to be closed is no gain.
const KEEP_IDLE: Duration = Duration::from_secs(15);
const MAX_IDLE: usize = 256;
/// How long a server may take until its response begins.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);

type Sender = SendRequest<MessageBody>;

/// The servers, as the gateway reaches them.
#[derive(Debug)]
pub(crate) struct Origins {
    destinations: Destinations,
    clock: Clock,
    /// Connections without a request, the longest idle first.
    idle: Mutex<VecDeque<Idle>>,
}

#[derive(Debug)]
struct Idle {
    authority: String,
    sender: Sender,
    since: Instant,
}

impl Origins {
    /// No connection yet.
    pub(crate) fn new(destinations: Destinations, clock: Clock) -> Self {
        Self { destinations, clock, idle: Mutex::default() }
    }

    /// Where connections may go.
    pub(crate) fn destinations(&self) -> &Destinations {
        &self.destinations
    }

    /// Sends a request and returns the response when it begins.
    pub(crate) async fn fetch(
        self: &Arc<Self>,
        head: &RequestHead,
        body: MessageBody,
    ) -> Result<(ResponseHead, Incoming), ResetReason> {
        let exchange = self.exchange(head, body);
        let response = tokio::time::timeout(RESPONSE_TIMEOUT, exchange).await;
        let (parts, body) = response.map_err(|_| ResetReason::Unreachable)??.into_parts();
        Ok((ResponseHead::from_server(parts.status, parts.headers), body))
    }

    async fn exchange(
        self: &Arc<Self>,
        head: &RequestHead,
        body: MessageBody,
    ) -> Result<http::Response<Incoming>, ResetReason> {
        // A kept connection may have been closed at the same moment, so only what can be repeated goes there (RFC 9110 §9.2.2).
        if head.method.is_idempotent()
            && !head.has_body
            && let Some(sender) = self.take_idle(head.authority())
            && let Ok(response) = self.send(sender, head, MessageBody::Empty).await
        {
            return Ok(response);
        }
        let sender = self.connect(head).await?;
        self.send(sender, head, body).await.map_err(|_| ResetReason::Broken)
    }

    async fn connect(&self, head: &RequestHead) -> Result<Sender, ResetReason> {
        let host = match head.url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => return Err(ResetReason::Unreachable),
        };
        let port = head.url.port_or_known_default().ok_or(ResetReason::Unreachable)?;
        let stream = dial::connect(&host, port, &self.destinations).await?;
        let handshake = Builder::new().max_buf_size(MAX_HEAD_BYTES).handshake(TokioIo::new(stream));
        let (sender, connection) = handshake.await.map_err(|_| ResetReason::Broken)?;
        // The connection's errors are those of its requests.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    async fn send(
        self: &Arc<Self>,
        mut sender: Sender,
        head: &RequestHead,
        body: MessageBody,
    ) -> hyper::Result<http::Response<Incoming>> {
        let response = sender.send_request(request(head, body)).await?;
        let (origins, authority) = (Arc::clone(self), head.authority().to_owned());
        tokio::spawn(async move {
            // Ready again when the response has been read to its end.
            if sender.ready().await.is_ok() {
                origins.keep(authority, sender);
            }
        });
        Ok(response)
    }

    fn keep(&self, authority: String, sender: Sender) {
        let since = self.clock.now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push_back(Idle { authority, sender, since });
        idle.retain(|kept| !kept.sender.is_closed() && since.since(kept.since) < KEEP_IDLE);
        if idle.len() > MAX_IDLE {
            idle.pop_front();
        }
    }

    fn take_idle(&self, authority: &str) -> Option<Sender> {
        let now = self.clock.now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let is_usable =
            |kept: &Idle| kept.authority == authority && kept.sender.is_ready() && now.since(kept.since) < KEEP_IDLE;
        let at = idle.iter().rposition(is_usable)?;
        idle.remove(at).map(|kept| kept.sender)
    }
}

fn request(head: &RequestHead, body: MessageBody) -> Request<MessageBody> {
    let mut request = Request::new(body);
    *request.method_mut() = head.method.clone();
    // Both were parsed as parts of a URL, so they are valid here; if not, the server gets its root and answers accordingly.
    *request.uri_mut() = head.origin_form().parse().unwrap_or_default();
    if let Ok(host) = HeaderValue::from_str(head.authority()) {
        request.headers_mut().insert(header::HOST, host);
    }
    for (name, value) in &head.headers {
        request.headers_mut().append(name.clone(), value.clone());
    }
    request
}
