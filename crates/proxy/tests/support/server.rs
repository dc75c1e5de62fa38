//! A web server that remembers what it was asked.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

#[derive(Clone, Default)]
pub struct Resource {
    pub body: Bytes,
    pub headers: HeaderMap,
}

#[derive(Clone, Debug)]
pub struct Asked {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    pub asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    pub async fn start(resources: BTreeMap<String, Resource>) -> Self {
        let listener = TcpListener::bind(super::any_port()).await.expect("a free port");
        let server = Self {
            address: listener.local_addr().expect("a bound socket"),
            asked: Arc::default(),
            connections: Arc::default(),
        };
        tokio::spawn(server.clone().accept(listener, Arc::new(resources)));
        server
    }

    async fn accept(self, listener: TcpListener, resources: Arc<BTreeMap<String, Resource>>) {
        while let Ok((stream, _)) = listener.accept().await {
            self.connections.fetch_add(1, Ordering::Relaxed);
            let _ = stream.set_nodelay(true);
            let (server, resources) = (self.clone(), Arc::clone(&resources));
            let service = service_fn(move |request| {
                let (server, resources) = (server.clone(), Arc::clone(&resources));
                async move { Ok::<_, Infallible>(server.answer(request, &resources).await) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    }

    async fn answer(
        &self,
        request: Request<hyper::body::Incoming>,
        resources: &BTreeMap<String, Resource>,
    ) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let path = parts.uri.to_string();
        let found = resources.get(&path).cloned();
        let echo = body.clone();
        self.asked.lock().unwrap().push(Asked { method: parts.method.clone(), path, headers: parts.headers, body });
        let (status, resource) = match found {
            Some(resource) => (StatusCode::OK, resource),
            None if parts.method == Method::POST => (StatusCode::OK, Resource { body: echo, ..Resource::default() }),
            None => (StatusCode::NOT_FOUND, Resource::default()),
        };
        let mut response = Response::new(Full::new(resource.body));
        *response.status_mut() = status;
        *response.headers_mut() = resource.headers;
        response
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How many connections there have been.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// How often each path was asked for.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for asked in self.asked.lock().unwrap().iter() {
            *counts.entry(asked.path.clone()).or_default() += 1;
        }
        counts
    }
}

/// Bytes that look like nothing in particular and differ from resource to resource.
pub fn noise(seed: u64, length: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect::<Vec<_>>().into()
}

pub fn resource(media_type: &str, body: Bytes) -> Resource {
    let mut headers = HeaderMap::new();
    headers.insert(http::header::CONTENT_TYPE, media_type.parse().unwrap());
    headers.insert(http::header::CACHE_CONTROL, "no-store".parse().unwrap());
    Resource { body, headers }
}

/// A page of 28 objects in 1.85 MB, like the one of the 2013 paper: a document of 28 kB that names 27 images along its way.
pub fn page() -> BTreeMap<String, Resource> {
    let mut html = String::from("<!doctype html><html><body>\n");
    let mut resources = BTreeMap::new();
    for index in 0..27 {
        let path = format!("/i{index}.png");
        html.push_str(&format!("<img src=\"{}\">{}\n", &path[1..], "x".repeat(1000)));
        // 27 images in 1821 kB.
        resources.insert(path, resource("image/png", noise(index, 20_000 + 3_650 * index as usize)));
    }
    html.push_str("</body></html>");
    resources.insert("/".to_owned(), resource("text/html", html.into()));
    resources
}
