//! Servers and clients that say exactly the bytes they are told to.

use super::soon;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server that answers whatever comes with the same bytes.
pub struct RawServer {
    pub address: SocketAddr,
    /// What came, one entry per connection.
    pub received: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// What a server does once it has answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Closes,
    Waits,
}

impl RawServer {
    /// Waits for the first bytes of a request, then sends `answer`.
    pub async fn start(answer: &'static [u8], then: Then) -> Self {
        let listener = TcpListener::bind(super::any_port()).await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let received = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let all = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let index = all.lock().unwrap().len();
                all.lock().unwrap().push(Vec::new());
                tokio::spawn(talk(stream, answer, then, Arc::clone(&all), index));
            }
        });
        Self { address, received }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All that has come, when `is_enough` says so.
    pub async fn received(&self, mut is_enough: impl FnMut(&str) -> bool) -> String {
        let text = || String::from_utf8_lossy(&self.received.lock().unwrap().concat()).into_owned();
        soon(async {
            while !is_enough(&text()) {
                tokio::task::yield_now().await;
            }
        })
        .await;
        text()
    }
}

async fn talk(mut stream: TcpStream, answer: &'static [u8], then: Then, all: Arc<Mutex<Vec<Vec<u8>>>>, index: usize) {
    let mut buffer = vec![0; 1 << 16];
    let mut is_answered = false;
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        all.lock().unwrap()[index].extend_from_slice(&buffer[..count]);
        let has_head = all.lock().unwrap()[index].windows(4).any(|window| window == b"\r\n\r\n");
        if has_head && !is_answered {
            is_answered = true;
            stream.write_all(answer).await.unwrap();
            if then == Then::Closes {
                return;
            }
        }
    }
    all.lock().unwrap()[index].extend_from_slice(b"<gone>");
}

/// Sends `request` and returns all that comes until the connection ends, and whether it ended in order.
pub async fn say(proxy: SocketAddr, request: &str) -> (String, bool) {
    let mut stream = TcpStream::connect(proxy).await.expect("the proxy listens");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let ended = soon(stream.read_to_end(&mut answer)).await;
    (String::from_utf8_lossy(&answer).into_owned(), ended.is_ok())
}
