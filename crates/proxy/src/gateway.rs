//! The box at the fast end: takes the terminal's flows, fetches from servers, pushes what pages refer to.

use crate::body::{FlowBody, MessageBody};
use crate::clock::Clock;
use crate::config::GatewayConfig;
use crate::error::ProxyError;
use crate::flow::{Flow, FlowError, Incoming, Outgoing, Windows};
use crate::origin::{Origins, PATIENCE};
use crate::quic;
use crate::segments::Link;
use crate::tls::Identity;
use crate::{dial, tunnel};
use bytes::Bytes;
use farhop_accel::head::RequestHead;
use farhop_accel::planning::gateway::{Gateway as Planner, Limits, Page, Prefetch};
use farhop_accel::policy::Destinations;
use farhop_accel::tunnel::FETCHES_PER_PAGE;
use farhop_accel::wire::{Frame, ResetReason};
use farhop_units::Bytes as Size;
use http::uri::Authority;
use http_body_util::BodyExt;
use noq::{Connection, Endpoint, Incoming as Knock, RecvStream, SendStream, ServerConfig};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// A gateway with its socket open.
#[derive(Debug)]
pub struct Gateway {
    endpoint: Endpoint,
    local_addr: SocketAddr,
    tls: ServerConfig,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: GatewayConfig,
    windows: Arc<Windows>,
    origins: Arc<Origins>,
}

/// One terminal's connection.
#[derive(Debug)]
struct Tunnel {
    link: Arc<Link>,
    planner: Mutex<Planner>,
    shared: Arc<Shared>,
}

impl Gateway {
    /// Opens the socket; must be called within a tokio runtime.
    ///
    /// # Errors
    /// A key or certificate cannot be used, or the address is taken.
    #[expect(clippy::unused_async, reason = "opening a socket needs a runtime, and the signature says so")]
    pub async fn bind(config: GatewayConfig) -> Result<Self, ProxyError> {
        let identity =
            Identity { key: &config.key, certificate: &config.certificate, peer: &config.terminal_certificate };
        let tls = quic::server(identity)?;
        let (endpoint, local_addr) = quic::endpoint(config.listen, Some((tls.clone(), config.rate)), &config.key)?;
        let destinations = Destinations { allow: config.allow.clone() };
        let windows = Windows::new(config.memory, config.window);
        let origins = Arc::new(Origins::new(destinations, PATIENCE, Clock::start()));
        Ok(Self { endpoint, local_addr, tls, shared: Arc::new(Shared { config, windows, origins }) })
    }

    /// The UDP address terminals connect to.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves terminals until `shutdown` is ready.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                knock = self.endpoint.accept() => match knock {
                    Some(knock) => self.welcome(knock),
                    None => break,
                },
            }
        }
        quic::close(&self.endpoint).await;
    }

    fn welcome(&self, knock: Knock) {
        let (peer, config) = (knock.remote_address(), &self.shared.config);
        let mut tls = self.tls.clone();
        tls.transport_config(Arc::new(quic::transport(config.rate, peer.ip())));
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            let connecting = match knock.accept_with(Arc::new(tls)) {
                Ok(connecting) => connecting.await,
                Err(error) => Err(error),
            };
            match connecting {
                Ok(connection) => Tunnel::serve(connection, peer, shared).await,
                Err(error) => tracing::warn!("refused {peer}: {}", quic::explain(&error)),
            }
        });
    }
}

impl Tunnel {
    async fn serve(connection: Connection, peer: SocketAddr, shared: Arc<Shared>) {
        tracing::info!("terminal connected from {peer}");
        let planner = Mutex::new(Planner::new(Limits::default()));
        let link = Link::start(connection, Arc::clone(&shared.windows));
        let tunnel = Arc::new(Self { link, planner, shared });
        let ended = loop {
            match tunnel.link.connection().accept_bi().await {
                Ok(streams) => drop(tokio::spawn(Arc::clone(&tunnel).serve_flow(streams))),
                Err(ended) => break ended,
            }
        };
        tracing::info!("terminal at {peer} is gone: {ended}");
    }

    async fn serve_flow(self: Arc<Self>, streams: (SendStream, RecvStream)) {
        let served = match Flow::accept(&self.link, streams).await {
            Ok((Frame::Request { head, .. }, flow)) => self.serve_request(head, flow.start(|_| {})).await,
            Ok((Frame::Connect { authority, .. }, flow)) => {
                self.serve_connect(&authority, flow.start(|_| {})).await;
                Ok(())
            }
            Ok((first, _)) => Err(FlowError::OutOfPlace(first.flow())),
            Err(error) => Err(error),
        };
        if let Err(error) = served {
            tracing::debug!("flow ended: {error}");
        }
    }

    async fn serve_connect(&self, authority: &str, mut flow: Flow) {
        let parsed = authority.parse::<Authority>().ok().and_then(|authority| {
            let host = authority.host().trim_start_matches('[').trim_end_matches(']');
            Some((host.to_owned(), authority.port_u16()?))
        });
        let Some((host, port)) = parsed else { return flow.outgoing.reset(ResetReason::Unreachable).await };
        flow.incoming.consumed(Size::ZERO);
        let connected = tokio::select! {
            connected = dial::connect(&host, port, self.shared.origins.destinations()) => connected,
            () = flow.outgoing.abandoned() => Err(ResetReason::Cancelled),
        };
        match connected {
            Err(reason) => flow.outgoing.reset(reason).await,
            Ok(stream) => {
                if let Err(error) = tunnel::carry(stream, Bytes::new(), flow).await {
                    tracing::debug!("tunnel to {authority} ended: {error}");
                }
            }
        }
    }

    async fn serve_request(self: Arc<Self>, head: RequestHead, flow: Flow) -> Result<(), FlowError> {
        let Flow { mut outgoing, incoming } = flow;
        let content = self.planner().handle_request(&head);
        outgoing.set_content(content).await;
        let body = request_body(&head, incoming);
        let fetched = tokio::select! {
            fetched = self.shared.origins.fetch(&head, body) => fetched,
            () = outgoing.abandoned() => Err(ResetReason::Cancelled),
        };
        let (response, mut body) = match fetched {
            Ok(response) => response,
            Err(reason) => {
                outgoing.reset(reason).await;
                return Ok(());
            }
        };
        let is_read = self.shared.config.prefetch;
        let mut page = is_read.then(|| Page::new(outgoing.flow(), &head, &response)).flatten();
        let fetches = Arc::new(Semaphore::new(FETCHES_PER_PAGE));
        outgoing.frame(&Frame::Response { flow: outgoing.flow(), head: response }).await?;
        while let Some(bytes) = next_bytes(&mut body, &mut outgoing).await? {
            let planned = page.as_mut().map(|page| self.planner().handle_body(page, &bytes)).unwrap_or_default();
            for prefetch in planned {
                // Ahead of the bytes that refer to it, so that the terminal knows before the client does.
                outgoing.frame(&prefetch.announcement()).await?;
                tokio::spawn(Arc::clone(&self).push(prefetch, Arc::clone(&fetches)));
            }
            outgoing.data(bytes).await?;
        }
        outgoing.end().await
    }

    async fn push(self: Arc<Self>, prefetch: Prefetch, fetches: Arc<Semaphore>) {
        let pushed = self.fetch_and_push(&prefetch, &fetches).await;
        self.planner().handle_push_ended();
        if let Err(error) = pushed {
            tracing::debug!("push of {} ended: {error}", prefetch.request.url);
        }
    }

    async fn fetch_and_push(&self, prefetch: &Prefetch, fetches: &Semaphore) -> Result<(), FlowError> {
        let mut permit = fetches.acquire().await.ok();
        let response = self.shared.origins.fetch(&prefetch.request, MessageBody::Empty).await;
        let (head, mut body) = match response {
            Ok(response) => response,
            Err(reason) => {
                let failed = Frame::Reset { flow: prefetch.push, reason };
                return self.open(&failed).await.map(drop);
            }
        };
        let first = Frame::Response { flow: prefetch.push, head };
        let Flow { mut outgoing, incoming } = self.open(&first).await?;
        drop(incoming);
        outgoing.set_content(prefetch.content).await;
        while let Some(bytes) = next_bytes(&mut body, &mut outgoing).await? {
            if outgoing.available() < Size::new(bytes.len() as u64) {
                // Goes on when somebody asks for it; the parts behind it, which may be asked for sooner, must not wait for that.
                permit = None;
            }
            outgoing.data(bytes).await?;
        }
        drop(permit);
        outgoing.end().await
    }

    async fn open(&self, first: &Frame) -> Result<Flow, FlowError> {
        Flow::open(&self.link, first, |_| {}).await
    }

    fn planner(&self) -> std::sync::MutexGuard<'_, Planner> {
        self.planner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn request_body(head: &RequestHead, incoming: Incoming) -> MessageBody {
    if !head.has_body {
        return MessageBody::Empty;
    }
    incoming.consumed(Size::ZERO);
    MessageBody::Flow(FlowBody::new(incoming, None))
}

/// The body's next bytes; tells the terminal if the server breaks off, and does not wait for a server when the terminal has given up.
async fn next_bytes(body: &mut hyper::body::Incoming, outgoing: &mut Outgoing) -> Result<Option<Bytes>, FlowError> {
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = outgoing.abandoned() => return Err(FlowError::Reset(ResetReason::Cancelled)),
        };
        match frame {
            None => return Ok(None),
            // Trailers do not cross.
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
            Some(Err(_)) => {
                outgoing.reset(ResetReason::Broken).await;
                return Err(FlowError::Reset(ResetReason::Broken));
            }
        }
    }
}
