//! A client like a browser: it reads the page as it comes and asks for what it names, over a few connections.

use super::soon;
use bytes::Bytes;
use farhop_accel::discovery::Discovery;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use url::Url;

#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// One request through the proxy, on a connection of its own.
pub async fn ask(proxy: SocketAddr, request: Request<Full<Bytes>>) -> Answer {
    let stream = TcpStream::connect(proxy).await.expect("the proxy listens");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a connection");
    tokio::spawn(connection);
    let response = soon(sender.send_request(request)).await.expect("a response");
    let (parts, body) = response.into_parts();
    let body = soon(body.collect()).await.expect("a whole body").to_bytes();
    Answer { status: parts.status, headers: parts.headers, body }
}

pub fn get(url: &str, headers: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let request = Request::get(url).header("host", "ignored.example");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Full::default()).expect("a valid request")
}

pub type Loaded = BTreeMap<String, Bytes>;

/// Loads a page over `connections` persistent HTTP/1.1 connections; returns the bodies by path and how long it took.
pub async fn load(proxy: SocketAddr, url: &str, connections: usize) -> (Loaded, Duration) {
    load_by(Way::Proxy, proxy, url, connections).await
}

/// How requests reach the server.
#[derive(Clone, Copy)]
pub enum Way {
    /// Asked of the proxy.
    Proxy,
    /// Asked of the server through a CONNECT tunnel, as HTTPS is.
    Connect,
}

/// As [`load`], either way.
pub async fn load_by(way: Way, proxy: SocketAddr, url: &str, connections: usize) -> (Loaded, Duration) {
    let start = now();
    let queue = Arc::new(Queue::default());
    queue.add(Url::parse(url).unwrap());
    let mut workers = tokio::task::JoinSet::new();
    (0..connections).for_each(|_| drop(workers.spawn(Arc::clone(&queue).work(way, proxy))));
    soon(workers.join_all()).await;
    let loaded = std::mem::take(&mut queue.state.lock().unwrap().loaded);
    (loaded, now() - start)
}

#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Notify,
}

#[derive(Default)]
struct QueueState {
    waiting: std::collections::VecDeque<Url>,
    under_way: usize,
    loaded: Loaded,
}

impl Queue {
    fn add(&self, url: Url) {
        self.state.lock().unwrap().waiting.push_back(url);
        self.changed.notify_waiters();
    }

    /// The next URL to ask for; `None` when everything is there.
    async fn take(&self) -> Option<Url> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut state = self.state.lock().unwrap();
                if let Some(url) = state.waiting.pop_front() {
                    state.under_way += 1;
                    return Some(url);
                }
                if state.under_way == 0 {
                    return None;
                }
            }
            changed.await;
        }
    }

    async fn work(self: Arc<Self>, way: Way, proxy: SocketAddr) {
        let mut sender = None;
        while let Some(url) = self.take().await {
            if sender.is_none() {
                let stream = match way {
                    Way::Proxy => TcpStream::connect(proxy).await.expect("the proxy listens"),
                    Way::Connect => connect(proxy, url.authority()).await,
                };
                let (new, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a connection");
                tokio::spawn(connection);
                sender = Some(new);
            }
            let sender = sender.as_mut().expect("connected above");
            let target = match way {
                Way::Proxy => url.as_str(),
                Way::Connect => url.path(),
            };
            let request = Request::get(target).header("host", "x").body(Empty::<Bytes>::new()).unwrap();
            soon(sender.ready()).await.expect("kept alive");
            let response = soon(sender.send_request(request)).await.expect("a response");
            let body = self.read(&url, response).await;
            let mut state = self.state.lock().unwrap();
            state.loaded.insert(url.path().to_owned(), body);
            state.under_way -= 1;
            drop(state);
            self.changed.notify_waiters();
        }
    }

    async fn read(&self, url: &Url, mut response: Response<Incoming>) -> Bytes {
        assert_eq!(response.status(), StatusCode::OK, "{url}");
        let is_html = response.headers().get("content-type").is_some_and(|value| value == "text/html");
        let mut discovery = is_html.then(|| Discovery::new(url.clone()));
        let mut body = Vec::new();
        while let Some(frame) = soon(response.frame()).await {
            let bytes = frame.expect("a whole body").into_data().expect("no trailers");
            let found = discovery.as_mut().map(|discovery| discovery.push(&bytes)).unwrap_or_default();
            found.into_iter().for_each(|reference| self.add(reference.url));
            body.extend_from_slice(&bytes);
        }
        body.into()
    }
}

/// Loads a page by HTTP/1.0, one object after the other, each on a connection of its own.
pub async fn load_one_by_one(way: Way, proxy: SocketAddr, url: &str) -> (Loaded, Duration) {
    let start = now();
    let first = Url::parse(url).unwrap();
    let (found, mut urls) = mpsc::unbounded_channel();
    found.send(first.clone()).unwrap();
    let mut found = Some(found);
    let mut loaded = Loaded::new();
    while let Some(url) = urls.recv().await {
        let body = soon(get_http10(way, proxy, &url)).await;
        if let Some(found) = found.take() {
            let references = Discovery::new(first.clone()).push(&body);
            references.into_iter().for_each(|reference| found.send(reference.url).unwrap());
        }
        loaded.insert(url.path().to_owned(), body);
    }
    (loaded, now() - start)
}

async fn get_http10(way: Way, proxy: SocketAddr, url: &Url) -> Bytes {
    let (mut stream, target) = match way {
        Way::Proxy => (TcpStream::connect(proxy).await.expect("the proxy listens"), url.as_str()),
        Way::Connect => (connect(proxy, url.authority()).await, url.path()),
    };
    stream.write_all(format!("GET {target} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.expect("the connection ends with the response");
    let head = response.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    assert!(response.starts_with(b"HTTP/1.0 200") || response.starts_with(b"HTTP/1.1 200"));
    Bytes::from(response).slice(head..)
}

/// Opens a connection to `authority` through the proxy.
pub async fn connect(proxy: SocketAddr, authority: &str) -> TcpStream {
    let mut stream = TcpStream::connect(proxy).await.expect("the proxy listens");
    stream.set_nodelay(true).unwrap();
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(soon(stream.read_u8()).await.expect("a response"));
    }
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    stream
}

#[expect(clippy::disallowed_methods, reason = "how long a load took is printed for people")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
