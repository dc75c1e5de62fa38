//! The origin: an HTTP/1.0 and 1.1 server (RFC 1945, RFC 9110, RFC 9112) that has nothing but the scenario's page.
//!
//! Bodies are made before the run and sent as they are; heads have exactly the size that the scenario says, so that measured,
//! simulated and predicted responses are equally long. With TLS there is nothing but HTTPS. Responses begin after the object's think time, to the millisecond of the
//! runtime's timers; what a client asks for on one connection is thought about in turn. Every response is `cache-control: no-store`.
//! Left out: content negotiation, ranges, conditional requests, compression.

use crate::catalogue::Catalogue;
use crate::headers::{Filler, field_bytes};
use crate::{Keys, MeasureError};
use bytes::Bytes;
use farhop_units::Bytes as Size;
use farhop_web::{HttpConfig, Page, body};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SERVER,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

/// "HTTP/1.1 200 OK" CRLF and the empty line at the end; HTTP/1.0's is as long.
const STATUS_LINE_AND_END: usize = 17 + 2;

const CACHE_POLICY: &str = "no-store";

/// The origin holds a page once, the client what it receives of it; together they fit into the memory of a small machine.
const MAX_PAGE: Size = Size::new(1_000_000_000);

/// The page as the origin serves it.
#[derive(Debug, Clone)]
pub struct Site {
    root: Url,
    catalogue: Catalogue,
    objects: Vec<Served>,
    keys: Option<Keys>,
}

/// One object as the origin serves it.
#[derive(Debug, Clone)]
struct Served {
    media_type: HeaderValue,
    body: Bytes,
    /// Size of the head, if that is enough for the necessary fields.
    header_bytes: Size,
    think: Duration,
}

impl Site {
    /// The site at `server` (the URL of its root) that holds `page`, its bodies drawn from `seed`, with keys of its own if
    /// `http` has TLS; then the URL is `https`.
    ///
    /// # Errors
    /// A page too large to hold or on several hosts, one that a body has no room to name, or an object whose name cannot be a path on the server.
    pub fn new(page: &Page, http: &HttpConfig, server: &Url, seed: u64) -> Result<Self, MeasureError> {
        let size = page.total_bytes();
        if size > MAX_PAGE {
            return Err(MeasureError::TooLarge { size, most: MAX_PAGE });
        }
        if page.hosts.len() > 1 {
            return Err(MeasureError::Hosts(page.hosts.len()));
        }
        let catalogue = Catalogue::new(page, server)?;
        body::check(page)?;
        let objects = page.objects.iter().enumerate().map(|(index, object)| {
            let refuse = |_| MeasureError::Name {
                name: object.name.to_string(),
                problem: "has a media type no header can carry",
            };
            let media_type = HeaderValue::from_str(&object.media_type).map_err(refuse)?;
            let (body, header_bytes) = (Bytes::from(body::render(page, index, seed)), http.header_size(object));
            Ok(Served { media_type, body, header_bytes, think: object.think })
        });
        let (objects, keys) = (objects.collect::<Result<_, MeasureError>>()?, Keys::new(http, server)?);
        Ok(Self { root: server.clone(), catalogue, objects, keys })
    }

    /// The body of an object.
    ///
    /// # Panics
    /// If the page has no such object.
    pub fn body(&self, object: usize) -> &Bytes {
        &self.objects[object].body
    }

    /// What the site is trusted by, if it has TLS.
    pub fn keys(&self) -> Option<&Keys> {
        self.keys.as_ref()
    }

    /// URL of the site's root.
    pub fn root(&self) -> &Url {
        &self.root
    }

    /// Where an object is.
    ///
    /// # Panics
    /// If the page has no such object.
    pub fn url(&self, object: usize) -> &Url {
        self.catalogue.url(object)
    }

    /// What a reader of measured numbers must know, if heads are longer than the scenario says because necessary fields need more.
    pub fn note(&self) -> Option<String> {
        let sizes = self.objects.iter().map(|object| {
            let size = Size::new(head_bytes(&object.fields(None)) as u64);
            (size, object.header_bytes)
        });
        let (longest, wanted) = sizes.filter(|(size, wanted)| size > wanted).max()?;
        Some(format!("response heads are up to {longest} long: the scenario's {wanted} is too small"))
    }

    /// Answers requests on `listener` until dropped; connections still open then are closed.
    ///
    /// # Errors
    /// The listener fails.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) -> Result<Infallible, MeasureError> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let (stream, _) = accepted.map_err(MeasureError::io("accepting a connection at the origin"))?;
                    stream.set_nodelay(true).map_err(MeasureError::io("setting TCP_NODELAY at the origin"))?;
                    connections.spawn(converse(Arc::clone(&self), stream));
                }
                // Ended conversations are cleared away; how they ended is the client's to judge.
                Some(_) = connections.join_next() => {}
            }
        }
    }

    /// The answer to one request, and how long it takes to think of.
    fn answer(&self, request: &Request<Incoming>) -> (Response<Full<Bytes>>, Duration) {
        let connection = connection_option(request);
        if ![Method::GET, Method::HEAD, Method::POST].contains(request.method()) {
            return (refusal(StatusCode::METHOD_NOT_ALLOWED), Duration::ZERO);
        }
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        let Some(object) = self.catalogue.find_target(target).map(|index| &self.objects[index]) else {
            return (refusal(StatusCode::NOT_FOUND), Duration::ZERO);
        };
        let mut response = Response::new(Full::new(object.body.clone()));
        *response.headers_mut() = object.fields(connection);
        (response, object.think)
    }
}

impl Served {
    /// The head's fields, together with the status line as long as wanted if that is enough for the necessary ones.
    fn fields(&self, connection: Option<&'static str>) -> HeaderMap {
        let mut fields = HeaderMap::new();
        fields.insert(CONTENT_TYPE, self.media_type.clone());
        fields.insert(CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        fields.insert(CACHE_CONTROL, HeaderValue::from_static(CACHE_POLICY));
        if let Some(option) = connection {
            fields.insert(CONNECTION, HeaderValue::from_static(option));
        }
        let (name, value) = match Filler::of(SERVER.as_str(), head_bytes(&fields), self.header_bytes) {
            Filler::Field(value) => (SERVER, value),
            Filler::Space(space) => (CACHE_CONTROL, format!("{CACHE_POLICY}{space}")),
        };
        fields.insert(name, HeaderValue::try_from(value).expect("words and spaces make a value"));
        fields
    }
}

/// Bytes of a head with these fields and status 200.
fn head_bytes(fields: &HeaderMap) -> usize {
    let field = |(name, value): (&HeaderName, &HeaderValue)| field_bytes(name.as_str(), value.as_bytes());
    STATUS_LINE_AND_END + fields.iter().map(field).sum::<usize>()
}

/// What the server must say about the connection's future (RFC 9112 §9.3). It is said here rather than left to hyper, so that it counts
/// as part of the head's size.
fn connection_option(request: &Request<Incoming>) -> Option<&'static str> {
    let values = request.headers().get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let asked: Vec<&str> = values.flat_map(|value| value.split(',')).map(str::trim).collect();
    let asks = |option: &str| asked.iter().any(|asked| asked.eq_ignore_ascii_case(option));
    match request.version() {
        Version::HTTP_10 => (asks("keep-alive") && !asks("close")).then_some("keep-alive"),
        _ => asks("close").then_some("close"),
    }
}

/// An answer without a body.
fn refusal(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// One client connection from its handshake to its end.
async fn converse(site: Arc<Site>, stream: TcpStream) {
    let Some(acceptor) = site.keys.as_ref().map(Keys::acceptor) else { return exchange(site, stream).await };
    match acceptor.accept(stream).await {
        Ok(stream) => exchange(site, stream).await,
        Err(error) => tracing::debug!("no keys were agreed on at the origin: {error}"),
    }
}

/// From the first request on.
async fn exchange(site: Arc<Site>, stream: impl AsyncRead + AsyncWrite + Unpin) {
    let service = service_fn(|request: Request<Incoming>| {
        let (response, think) = site.answer(&request);
        async move {
            // What is uploaded counts once it is here; an upload that breaks off ends the connection.
            let mut body = request.into_body();
            while let Some(piece) = body.frame().await {
                piece?;
            }
            if !think.is_zero() {
                tokio::time::sleep(think).await;
            }
            Ok::<_, hyper::Error>(response)
        }
    });
    // A Date field would make the head's size depend on hyper instead of the scenario.
    let mut server = hyper::server::conn::http1::Builder::new();
    server.auto_date_header(false);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!("a connection to the origin ended early: {error}");
    }
}
