//! The clients' side: HTTP/1 as a proxy speaks it (RFC 9112 §3.2.2), and CONNECT (RFC 9110 §9.3.6).

use super::exchanges::{Decision, Exchange, Shared};
use crate::body::{FlowBody, MessageBody};
use crate::flow::{Flow, FlowError, Incoming, Outgoing};
use crate::tunnel;
use farhop_accel::head::{RequestHead, ResponseHead};
use farhop_accel::wire::{Frame, MAX_HEAD_BYTES, ResetReason};
use farhop_units::Bytes as Size;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::Parts;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

/// How long a client may take to send a request's head, or stay without one.
const CLIENT_IDLE: Duration = Duration::from_secs(120);

/// A client's place among those that are served at once, kept until its connection and all that became of it has ended.
pub(super) type Place = Arc<OwnedSemaphorePermit>;

pub(super) async fn serve(shared: Arc<Shared>, stream: TcpStream, client: IpAddr, place: Place) {
    // Bytes are written when they should go.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let (shared, place) = (Arc::clone(&shared), Arc::clone(&place));
        async move {
            Ok::<_, Infallible>(match *request.method() {
                Method::CONNECT => connect_request(shared, request, place),
                _ => answer(shared, client, request).await,
            })
        }
    });
    let Ok(socket) = tunnel::Abortable::of(&stream) else { return };
    let mut server = http1::Builder::new();
    // Who closes its side has left: a request of which nobody wants the response must not occupy the link.
    server.half_close(false).timer(TokioTimer::new()).header_read_timeout(CLIENT_IDLE).max_buf_size(MAX_HEAD_BYTES);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).with_upgrades().await {
        tracing::debug!("client {client} left: {error}");
        // RFC 9112 §8: for a client of HTTP/1.0 an orderly end would be the body's end.
        socket.abort();
    }
}

async fn answer(shared: Arc<Shared>, client: IpAddr, request: Request<hyper::body::Incoming>) -> Response<MessageBody> {
    let (parts, body) = request.into_parts();
    let has_body = !body.is_end_stream();
    let head = match RequestHead::from_client(parts.method, &parts.uri.to_string(), parts.headers, has_body) {
        Ok(head) => head,
        Err(error) => return text(error.status(), &error.to_string()),
    };
    let exchange = Exchange::new(Arc::clone(&shared));
    match shared.decision(exchange.flow, client, &head).await {
        Some(Decision::Answer(pushed)) => {
            pushed.incoming.consumed(Size::ZERO);
            respond(pushed.head, pushed.incoming, exchange)
        }
        Some(Decision::Forward) => forward(shared, head, body, exchange).await.unwrap_or_else(|error| failure(&error)),
        None => failure(&FlowError::Reset(ResetReason::Cancelled)),
    }
}

async fn forward(
    shared: Arc<Shared>,
    head: RequestHead,
    body: hyper::body::Incoming,
    exchange: Exchange,
) -> Result<Response<MessageBody>, FlowError> {
    let has_body = head.has_body;
    let Flow { outgoing, mut incoming } = shared.open(&Frame::Request { flow: exchange.flow, head }).await?;
    if has_body {
        tokio::spawn(upload(body, outgoing));
    }
    loop {
        match incoming.next().await {
            Some(Frame::Response { head, .. }) => return Ok(respond(head, incoming, exchange)),
            Some(Frame::Reset { reason, .. }) => return Err(FlowError::Reset(reason)),
            Some(_) => {}
            None => return Err(FlowError::Reset(ResetReason::Broken)),
        }
    }
}

async fn upload(mut body: hyper::body::Incoming, mut outgoing: Outgoing) {
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return outgoing.reset(ResetReason::Cancelled).await };
        // Trailers do not cross.
        let Ok(bytes) = frame.into_data() else { continue };
        if outgoing.data(bytes).await.is_err() {
            return;
        }
    }
    // If the gateway has answered without reading all, nobody misses the end.
    let _ = outgoing.end().await;
}

/// Says yes at once and asks the gateway to connect, without waiting for the client's first bytes; a refusal closes the connection.
fn connect_request(
    shared: Arc<Shared>,
    request: Request<hyper::body::Incoming>,
    place: Place,
) -> Response<MessageBody> {
    let Some(authority) = request.uri().authority().filter(|authority| authority.port().is_some()) else {
        return text(StatusCode::BAD_REQUEST, "CONNECT needs host:port");
    };
    let authority = authority.to_string();
    if shared.tunnel.borrow().is_none() {
        return failure(&FlowError::NoTunnel);
    }
    shared.count_connect();
    tokio::spawn(async move {
        let first = Frame::Connect { flow: shared.new_flow(), authority };
        let (flow, upgraded) = tokio::join!(shared.open(&first), hyper::upgrade::on(request));
        let (Ok(flow), Ok(upgraded)) = (flow, upgraded) else { return };
        let Ok(Parts { io, read_buf, .. }) = upgraded.downcast::<TokioIo<TcpStream>>() else { return };
        if let Err(error) = tunnel::carry(io.into_inner(), read_buf, flow).await {
            tracing::debug!("tunnel ended: {error}");
        }
        drop(place);
    });
    Response::new(MessageBody::Empty)
}

fn respond(head: ResponseHead, incoming: Incoming, exchange: Exchange) -> Response<MessageBody> {
    let body = MessageBody::Flow(FlowBody::new(incoming, Some(Box::new(exchange))));
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    response
}

fn failure(error: &FlowError) -> Response<MessageBody> {
    match error {
        FlowError::Reset(reason) => text(reason.status(), &reason.to_string()),
        error => text(StatusCode::BAD_GATEWAY, &error.to_string()),
    }
}

fn text(status: StatusCode, text: &str) -> Response<MessageBody> {
    let mut response = Response::new(MessageBody::Text(format!("farhop terminal: {text}\n").into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
