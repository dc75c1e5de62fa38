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
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use url::Host;

/// Servers keep idle connections from 5 s (Apache) to 75 s (nginx); a connection about to be closed is no gain.
const KEEP_IDLE: Duration = Duration::from_secs(15);
const MAX_IDLE: usize = 256;
/// How long a server may take until its response begins, when it has the request's last byte or takes no more of them.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

type Sender = SendRequest<MessageBody>;

/// The servers, as the gateway reaches them.
#[derive(Debug)]
pub(crate) struct Origins {
    destinations: Destinations,
    patience: Duration,
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
    pub(crate) fn new(destinations: Destinations, patience: Duration, clock: Clock) -> Self {
        Self { destinations, patience, clock, idle: Mutex::default() }
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
        let passed = body.passed();
        let mut exchange = pin!(self.exchange(head, body));
        let response = loop {
            let before = passed.load(Ordering::Relaxed);
            match tokio::time::timeout(self.patience, &mut exchange).await {
                Ok(response) => break response?,
                Err(_) if passed.load(Ordering::Relaxed) == before => return Err(ResetReason::Unreachable),
                // A long upload over a slow link.
                Err(_) => {}
            }
        };
        let (parts, body) = response.into_parts();
        let head = ResponseHead::from_server(parts.status, parts.headers).ok_or(ResetReason::Broken)?;
        Ok((head, body))
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
        if head.claims_connection() {
            // Ends when the response has been read.
            return Ok(response);
        }
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
    *request.uri_mut() = head.target.clone().into();
    if let Ok(host) = HeaderValue::from_str(head.authority()) {
        request.headers_mut().insert(header::HOST, host);
    }
    for (name, value) in &head.headers {
        request.headers_mut().append(name.clone(), value.clone());
    }
    if head.has_body && !head.headers.contains_key(header::CONTENT_LENGTH) {
        // The library would drop the body of a GET whose length is not known.
        request.headers_mut().insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::FlowBody;
    use crate::flow::Flow;
    use crate::flow::tests::{connected, link};
    use farhop_accel::wire::{FlowId, Frame};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    const PATIENCE: Duration = Duration::from_millis(200);

    /// What a server is asked for that answers when it has all of the body, or never.
    async fn uploaded(ten_pieces_every: Duration, answers: bool) -> Result<ResponseHead, ResetReason> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n0\r\n\r\n") {
                assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0, "the whole body comes");
            }
            match answers {
                true => stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap(),
                false => std::future::pending().await,
            }
        });
        let (ours, theirs, _endpoints) = connected().await;
        let head = RequestHead::from_client(http::Method::POST, &url, http::HeaderMap::new(), true).unwrap();
        let first = Frame::Request { flow: FlowId(0), head: head.clone() };
        let Flow { mut outgoing, incoming: _incoming } = Flow::open(&link(&theirs), &first, |_| {}).await.unwrap();
        let (_, flow) = Flow::accept(&link(&ours), ours.accept_bi().await.unwrap()).await.unwrap();
        let Flow { incoming, outgoing: _outgoing } = flow.start(|_| {});
        let destinations = Destinations { allow: vec!["127.0.0.1".parse().unwrap()] };
        let origins = Arc::new(Origins::new(destinations, PATIENCE, Clock::start()));
        let sending = async {
            let mut pace = tokio::time::interval(ten_pieces_every);
            for _ in 0..10 {
                pace.tick().await;
                outgoing.data("piece".into()).await.unwrap();
            }
            outgoing.end().await.unwrap();
        };
        let body = MessageBody::Flow(FlowBody::new(incoming, None));
        let (response, ()) = tokio::join!(origins.fetch(&head, body), sending);
        response.map(|(head, _)| head)
    }

    #[tokio::test]
    async fn an_upload_may_take_its_time_and_the_server_may_not() {
        let response = uploaded(PATIENCE / 3, true).await.expect("a long upload is no silence");
        assert_eq!(response.status, http::StatusCode::OK);
        assert_eq!(uploaded(Duration::from_millis(1), false).await, Err(ResetReason::Unreachable));
    }
}
