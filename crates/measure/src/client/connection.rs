//! One of the client's connections: a task that opens it, sends requests and tells what arrives and when.
//!
//! It decides nothing: the loader does. The connection ends when the loader's side of the command channel is dropped, when the other
//! side closes, or with an error. Requests are written without waiting for responses, so that pipelining is up to the loader.

use crate::Keys;
use crate::client::Route;
use crate::client::request::{connect, request};
use crate::client::response::{Piece, ResponseDecoder};
use crate::error::{MeasureError, ResponseProblem};
use bytes::{Bytes, BytesMut};
use farhop_emu::Clock;
use farhop_units::{Bytes as Size, Instant};
use farhop_web::HttpConfig;
use std::collections::VecDeque;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_rustls::client::TlsStream;
use url::Url;

/// Room for one read: more than a receive window's worth of a 100 Mbit/s link in a scheduler tick, so that reads are few.
const READ_BYTES: usize = 64 << 10;

/// What the loader wants: one object.
#[derive(Debug, Clone)]
pub(super) struct Get {
    pub(super) object: usize,
    pub(super) url: Url,
    /// Whether it is a POST, and its size.
    pub(super) is_posted: bool,
    pub(super) size: Size,
}

/// What happened on a connection, and when.
#[derive(Debug)]
pub(super) enum Event {
    /// The SYN goes out.
    Connecting { at: Instant },
    /// Requests can be sent.
    Connected,
    /// A request went out.
    Requested { object: usize, at: Instant },
    /// A part of a body arrived.
    Body { object: usize, at: Instant, bytes: Bytes },
    /// A response is complete.
    Complete { object: usize, at: Instant },
    /// The other side has closed the connection, as it had said.
    Closed,
    /// The load cannot succeed.
    Failed(MeasureError),
    /// The response to the request for this object is broken.
    Broken { object: usize, problem: ResponseProblem },
}

/// A connection of the client, before it is opened.
pub(super) struct Connection {
    pub(super) number: usize,
    pub(super) route: Route,
    pub(super) server: Url,
    pub(super) http: HttpConfig,
    pub(super) keys: Option<Keys>,
    pub(super) clock: Clock,
    pub(super) gets: UnboundedReceiver<Get>,
    pub(super) events: UnboundedSender<(usize, Event)>,
}

impl Connection {
    /// Opens the connection and serves it to its end.
    pub(super) async fn run(mut self) {
        let ended = self.converse().await;
        self.tell(ended.err().unwrap_or(Event::Closed));
    }

    async fn converse(&mut self) -> Result<(), Event> {
        let (mut stream, mut decoder) = self.open().await?;
        let Some(keys) = self.keys.clone() else {
            self.tell(Event::Connected);
            let (reader, writer) = stream.split();
            return self.exchange(reader, writer, decoder).await;
        };
        if !decoder.buffer().is_empty() {
            return Err(Event::Failed(MeasureError::Connect(ResponseProblem::Unsolicited)));
        }
        let stream = agree(&keys, stream).await?;
        self.tell(Event::Connected);
        let (reader, writer) = tokio::io::split(stream);
        self.exchange(reader, writer, decoder).await
    }

    /// The load may have ended without this connection: then nobody listens, which is no error.
    fn tell(&self, event: Event) {
        let _ = self.events.send((self.number, event));
    }

    async fn open(&self) -> Result<(TcpStream, ResponseDecoder), Event> {
        let address = self.route.first_hop();
        let failed = |error| Event::Failed(MeasureError::io(format!("connecting to {address}"))(error));
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;
        // The socket is non-blocking: the SYN leaves within the first poll of `connect`, right after this.
        self.tell(Event::Connecting { at: self.clock.now() });
        let mut stream = socket.connect(address).await.map_err(failed)?;
        let mut decoder = ResponseDecoder::new();
        if self.route.is_tunnel(self.keys.is_some()) {
            decoder.buffer().extend(self.enter_tunnel(&mut stream).await?);
        }
        Ok((stream, decoder))
    }

    /// Asks the proxy for a tunnel to the server (RFC 9110 §9.3.6); gives the bytes that have already come through it.
    async fn enter_tunnel(&self, stream: &mut TcpStream) -> Result<BytesMut, Event> {
        let failed = |error| Event::Failed(MeasureError::io("asking the terminal for a tunnel")(error));
        let broken = |problem| Event::Failed(MeasureError::Connect(problem));
        stream.write_all(&connect(&self.server)).await.map_err(failed)?;
        let mut decoder = ResponseDecoder::new();
        loop {
            if stream.read_buf(decoder.buffer()).await.map_err(failed)? == 0 {
                decoder.handle_end();
            }
            match decoder.poll().map_err(broken)? {
                Some(Piece::Head { status: 200..300 }) => return Ok(decoder.into_tunnel()),
                Some(Piece::Head { status }) => return Err(broken(ResponseProblem::Status(status))),
                Some(_) => return Err(broken(ResponseProblem::Unsolicited)),
                None if decoder.has_ended() => return Err(broken(ResponseProblem::Truncated)),
                None => {}
            }
        }
    }

    /// Sends what the loader asks for and reads what comes back, until one side has enough.
    async fn exchange(
        &mut self,
        mut reader: impl AsyncRead + Unpin,
        mut writer: impl AsyncWrite + Unpin,
        mut decoder: ResponseDecoder,
    ) -> Result<(), Event> {
        let (mut outgoing, mut is_sending) = (BytesMut::new(), false);
        let mut outstanding = VecDeque::new();
        loop {
            decoder.buffer().reserve(READ_BYTES);
            tokio::select! {
                get = self.gets.recv() => match get {
                    Some(get) => {
                        outgoing.extend_from_slice(&self.request(&get, &mut outstanding));
                        is_sending = true;
                    }
                    None => return Ok(()),
                },
                sent = send(&mut writer, &mut outgoing), if is_sending => match sent {
                    Ok(is_all) => is_sending = !is_all,
                    Err(error) => return lost(&outstanding, &error),
                },
                read = reader.read_buf(decoder.buffer()) => {
                    let at = self.clock.now();
                    match read {
                        Ok(0) => decoder.handle_end(),
                        Ok(_) => {}
                        Err(error) => return lost(&outstanding, &error),
                    }
                    if !self.hand_on(&mut decoder, &mut outstanding, at)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn request(&self, get_object: &Get, outstanding: &mut VecDeque<usize>) -> Vec<u8> {
        let form = self.route.form(self.keys.is_some());
        outstanding.push_back(get_object.object);
        self.tell(Event::Requested { object: get_object.object, at: self.clock.now() });
        request(&get_object.url, form, self.http.version, (get_object.is_posted, get_object.size))
    }

    /// Tells the loader what the decoder has found, and the caller whether the connection can go on; responses come in the order of
    /// the requests.
    fn hand_on(
        &self,
        decoder: &mut ResponseDecoder,
        outstanding: &mut VecDeque<usize>,
        at: Instant,
    ) -> Result<bool, Event> {
        while let Some(piece) = decoder.poll().map_err(|problem| broken(outstanding, problem))? {
            let unsolicited = || broken(outstanding, ResponseProblem::Unsolicited);
            let object = *outstanding.front().ok_or_else(unsolicited)?;
            match piece {
                Piece::Head { status: 200 } => {}
                Piece::Head { status } => return Err(broken(outstanding, ResponseProblem::Status(status))),
                Piece::Body(bytes) => self.tell(Event::Body { object, at, bytes }),
                Piece::End { persistent } => {
                    outstanding.pop_front();
                    self.tell(Event::Complete { object, at });
                    if !persistent {
                        // What else was asked here is asked again elsewhere (RFC 9112 §9.3.2).
                        return Ok(false);
                    }
                }
            }
        }
        if decoder.has_ended() && !outstanding.is_empty() {
            return Err(broken(outstanding, ResponseProblem::Truncated));
        }
        Ok(!decoder.has_ended())
    }
}

/// Agrees with the server on keys.
async fn agree(keys: &Keys, stream: TcpStream) -> Result<TlsStream<TcpStream>, Event> {
    let (connector, name) = keys.connector();
    let failed = |error| Event::Failed(MeasureError::io("agreeing on keys with the server")(error));
    connector.connect(name, stream).await.map_err(failed)
}

/// Goes on sending; whether everything has gone out: what is encrypted has been taken before it is sent. Nothing is lost if it is given up.
async fn send(writer: &mut (impl AsyncWrite + Unpin), outgoing: &mut BytesMut) -> io::Result<bool> {
    if outgoing.is_empty() {
        writer.flush().await?;
        return Ok(true);
    }
    writer.write_buf(outgoing).await?;
    Ok(false)
}

/// The connection broke. That matters if a response was due on it.
fn lost(outstanding: &VecDeque<usize>, error: &io::Error) -> Result<(), Event> {
    if outstanding.is_empty() { Ok(()) } else { Err(broken(outstanding, ResponseProblem::Lost(error.to_string()))) }
}

/// The response that is due on a connection is broken; without a request under way, the document is named.
fn broken(outstanding: &VecDeque<usize>, problem: ResponseProblem) -> Event {
    Event::Broken { object: outstanding.front().copied().unwrap_or_default(), problem }
}
