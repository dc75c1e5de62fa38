//! Flows: frames on QUIC streams, credit in both directions.
//!
//! A task per flow reads its frames as they come, obeys the credit, and hands the rest to whoever carries the flow on.

use crate::segments::{Link, Reader, Writer};
use bytes::Bytes;
use farhop_accel::credit::{self, CreditError, INITIAL, ReceiveCredit, SendCredit};
use farhop_accel::order::Order;
use farhop_accel::planning::priority::{Content, priority};
use farhop_accel::wire::{FlowId, Frame, MAX_DATA_BYTES, ResetReason, WireError};
use farhop_units::Bytes as Size;
use noq::{ConnectionError, ReadError, ReadExactError, RecvStream, SendStream, VarInt, WriteError};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use thiserror::Error;
use tokio::sync::{mpsc, watch};

/// Why a flow cannot go on.
#[derive(Debug, Error)]
pub(crate) enum FlowError {
    #[error("the tunnel to the gateway is down")]
    NoTunnel,
    #[error("the peer gave the flow up: {0}")]
    Write(#[from] WriteError),
    #[error("the tunnel is gone: {0}")]
    Connection(#[from] ConnectionError),
    #[error("the flow was cut off: {0}")]
    Read(#[from] ReadError),
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error(transparent)]
    Credit(#[from] CreditError),
    #[error("a segment broke off: {0}")]
    Segment(#[from] ReadExactError),
    #[error("frame of flow {0:?} in another flow's stream, or not in its turn")]
    OutOfPlace(FlowId),
    #[error("the flow's last frame was cut off")]
    Cut,
    #[error("the peer will take no more")]
    NoMoreCredit,
    #[error("{0}")]
    Reset(ResetReason),
}

impl FlowError {
    /// Whether the peer breaks the protocol, so that nothing it sends can be trusted.
    fn is_violation(&self) -> bool {
        matches!(self, Self::Wire(_) | Self::Credit(_) | Self::OutOfPlace(_))
    }
}

/// The memory that all flows towards one box share.
#[derive(Debug)]
pub(crate) struct Windows {
    largest: Size,
    memory: Size,
    active: AtomicU64,
}

/// One flow's part, given back when dropped.
#[derive(Debug)]
struct Window {
    size: Size,
    windows: Arc<Windows>,
}

impl Windows {
    /// `memory` for all flows, `largest` for one.
    pub(crate) fn new(memory: Size, largest: Size) -> Arc<Self> {
        Arc::new(Self { largest, memory, active: AtomicU64::new(0) })
    }

    fn open(self: &Arc<Self>) -> Window {
        let active = self.active.fetch_add(1, Ordering::Relaxed);
        Window { size: credit::window(self.memory, active, self.largest), windows: Arc::clone(self) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.windows.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Both directions of a flow.
pub(crate) struct Flow {
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
}

impl Flow {
    /// Opens a new flow and grants its window in the same packet. `observe` sees every frame that comes, at once.
    pub(crate) async fn open(
        link: &Arc<Link>,
        first: &Frame,
        observe: impl FnMut(&Frame) + Send + 'static,
    ) -> Result<Self, FlowError> {
        let (writer, reader) = link.open(first.flow()).await?;
        let flow = Self::start(link, writer, reader, Order::Asked, observe);
        flow.outgoing.frame(first).await?;
        flow.incoming.consumed(Size::ZERO);
        Ok(flow)
    }

    /// Takes a flow that the peer has opened, with its first frame.
    pub(crate) async fn accept(
        link: &Arc<Link>,
        streams: (SendStream, RecvStream),
    ) -> Result<(Frame, Accepted), FlowError> {
        let accepted = link.accept(streams).await.inspect_err(|error| close_if_violated(link, error))?;
        let (first, writer, reader) = accepted;
        Ok((first, Accepted { link: Arc::clone(link), writer, reader }))
    }

    fn start(
        link: &Arc<Link>,
        writer: Writer,
        reader: Reader,
        order: Order,
        observe: impl FnMut(&Frame) + Send + 'static,
    ) -> Self {
        let window = link.windows().open();
        let (frames_in, frames) = mpsc::unbounded_channel();
        let (grants_in, grants) = watch::channel(0);
        let (limits, limits_out) = mpsc::unbounded_channel();
        let credit = Arc::new(Mutex::new(ReceiveCredit::new(INITIAL, window.size)));
        let incoming = Incoming { frames, credit: Arc::clone(&credit), limits, _window: window };
        let outgoing = Outgoing::new(writer.clone(), grants);
        let pump =
            Pump { reader, writer, order, credit, frames: frames_in, grants: grants_in, limits: limits_out, observe };
        let link = Arc::clone(link);
        tokio::spawn(async move {
            if let Err(error) = pump.run().await {
                close_if_violated(&link, &error);
            }
        });
        Self { outgoing, incoming }
    }
}

/// A flow of which nothing but the first frame has been taken.
pub(crate) struct Accepted {
    link: Arc<Link>,
    writer: Writer,
    reader: Reader,
}

impl Accepted {
    /// Takes the rest as it comes. `observe` sees every frame, at once.
    pub(crate) fn start(self, observe: impl FnMut(&Frame) + Send + 'static) -> Flow {
        Flow::start(&self.link, self.writer, self.reader, Order::Bytes, observe)
    }
}

fn close_if_violated(link: &Link, error: &FlowError) {
    if error.is_violation() {
        tracing::error!("closing the tunnel: the peer does not keep to the protocol: {error}");
        link.connection().close(VarInt::from_u32(1), error.to_string().as_bytes());
    }
}

/// The task behind a flow.
struct Pump<F> {
    reader: Reader,
    writer: Writer,
    order: Order,
    credit: Arc<Mutex<ReceiveCredit>>,
    frames: mpsc::UnboundedSender<Frame>,
    grants: watch::Sender<u64>,
    limits: mpsc::UnboundedReceiver<u64>,
    observe: F,
}

impl<F: FnMut(&Frame)> Pump<F> {
    async fn run(mut self) -> Result<(), FlowError> {
        loop {
            tokio::select! {
                frame = self.reader.next() => match frame? {
                    Some(frame) => self.take(frame)?,
                    None => return Ok(()),
                },
                Some(limit) = self.limits.recv() => {
                    // A peer that has sent everything may have stopped listening; what it sent is still to be read.
                    let _ = self.writer.write(&Frame::Credit { flow: self.writer.flow(), limit }).await;
                }
                // Who sends needs the grants even when nothing more is to be received.
                ((), ()) = async { tokio::join!(self.frames.closed(), self.grants.closed()) } => return Ok(()),
            }
        }
    }

    fn take(&mut self, frame: Frame) -> Result<(), FlowError> {
        if frame.flow() != self.writer.flow() || !self.order.handle_frame(&frame) {
            return Err(FlowError::OutOfPlace(frame.flow()));
        }
        match &frame {
            Frame::Credit { limit, .. } => {
                self.grants.send_replace(*limit);
                return Ok(());
            }
            Frame::Data { offset, bytes, .. } => locked(&self.credit).receive(*offset, size(bytes))?,
            _ => {}
        }
        (self.observe)(&frame);
        if matches!(frame, Frame::Announce { .. }) {
            // Nobody carries it on.
            return Ok(());
        }
        // A receiver that has gone is noticed by `run`.
        let _ = self.frames.send(frame);
        Ok(())
    }
}

/// What comes of a flow.
#[derive(Debug)]
pub(crate) struct Incoming {
    frames: mpsc::UnboundedReceiver<Frame>,
    credit: Arc<Mutex<ReceiveCredit>>,
    limits: mpsc::UnboundedSender<u64>,
    _window: Window,
}

impl Incoming {
    /// The next frame; `None` if the stream broke off.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        self.frames.recv().await
    }

    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Frame>> {
        self.frames.poll_recv(context)
    }

    /// `count` bytes were passed on: the sender may send more.
    pub(crate) fn consumed(&self, count: Size) {
        if let Some(limit) = locked(&self.credit).consume(count) {
            // If the pump has ended nothing more will come.
            let _ = self.limits.send(limit);
        }
    }
}

/// What goes out on a flow.
pub(crate) struct Outgoing {
    writer: Writer,
    credit: SendCredit,
    grants: watch::Receiver<u64>,
    content: Content,
    priority: i32,
}

impl Outgoing {
    fn new(writer: Writer, grants: watch::Receiver<u64>) -> Self {
        Self { writer, credit: SendCredit::new(INITIAL), grants, content: Content::Requested, priority: 0 }
    }

    /// Says what the flow carries, which decides when its bytes go.
    pub(crate) async fn set_content(&mut self, content: Content) {
        self.content = content;
        self.prioritise().await;
    }

    /// Sends a frame that is no data.
    pub(crate) async fn frame(&self, frame: &Frame) -> Result<(), FlowError> {
        self.writer.write(frame).await
    }

    /// Sends bytes, as the receiver takes them.
    pub(crate) async fn data(&mut self, mut bytes: Bytes) -> Result<(), FlowError> {
        while !bytes.is_empty() {
            let room = self.room().await?;
            let count = bytes.len().min(MAX_DATA_BYTES).min(usize::try_from(room.get()).unwrap_or(usize::MAX));
            let piece = bytes.split_to(count);
            let offset = self.credit.take(size(&piece));
            self.writer.write(&Frame::Data { flow: self.writer.flow(), offset, bytes: piece }).await?;
            self.prioritise().await;
        }
        Ok(())
    }

    /// Says that no more bytes follow.
    pub(crate) async fn end(&self) -> Result<(), FlowError> {
        self.frame(&Frame::End { flow: self.writer.flow(), length: self.credit.sent().get() }).await
    }

    /// Gives the flow up. That the peer is told is all that matters, and it is gone if it cannot be.
    pub(crate) async fn reset(&self, reason: ResetReason) {
        let _ = self.frame(&Frame::Reset { flow: self.writer.flow(), reason }).await;
    }

    /// The flow's number.
    pub(crate) fn flow(&self) -> FlowId {
        self.writer.flow()
    }

    /// Ready when the peer takes nothing more: it gave the flow up, or is gone. Nothing is lost if this is dropped before.
    pub(crate) async fn abandoned(&mut self) {
        // The pump, which holds the other end, ends with the peer's frames. Grants in between are seen later, too.
        while self.grants.changed().await.is_ok() {
            self.credit.grant(*self.grants.borrow_and_update());
        }
    }

    /// What the receiver takes at once.
    pub(crate) fn available(&mut self) -> Size {
        self.credit.grant(*self.grants.borrow_and_update());
        self.credit.available()
    }

    async fn room(&mut self) -> Result<Size, FlowError> {
        loop {
            match self.available() {
                Size::ZERO => self.grants.changed().await.map_err(|_| FlowError::NoMoreCredit)?,
                room => return Ok(room),
            }
        }
    }

    async fn prioritise(&mut self) {
        let wanted = priority(self.content, self.credit.sent());
        if wanted != self.priority {
            self.priority = wanted;
            self.writer.set_priority(wanted).await;
        }
    }
}

fn size(bytes: &Bytes) -> Size {
    Size::new(bytes.len() as u64)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::keys::{SERVER_NAME, generate};
    use crate::quic;
    use crate::tls::Identity;
    use farhop_accel::wire::{MAX_FRAME_BYTES, SegmentHeader};
    use farhop_units::Rate;
    use noq::{Connection, Endpoint};
    use std::net::{Ipv4Addr, SocketAddr};

    const FLOW: FlowId = FlowId(0);

    /// Both ends of a connection, and what keeps it alive.
    pub(crate) async fn connected() -> (Connection, Connection, [Endpoint; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let files = generate(directory.path()).unwrap();
        let (gateway_key, terminal_key) = (&files.gateway_key, &files.terminal_key);
        let gateway =
            Identity { key: gateway_key, certificate: &files.gateway_certificate, peer: &files.terminal_certificate };
        let terminal =
            Identity { key: terminal_key, certificate: &files.terminal_certificate, peer: &files.gateway_certificate };
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let serving = (quic::server(gateway).unwrap(), Rate::mbps(100));
        let (server, address) = quic::endpoint(any, Some(serving), gateway_key).unwrap();
        let (client, _) = quic::endpoint(any, None, terminal_key).unwrap();
        let connecting = client.connect_with(quic::client(terminal).unwrap(), address, SERVER_NAME).unwrap();
        let accepted = async { server.accept().await.unwrap().await.unwrap() };
        let (ours, theirs) = tokio::join!(accepted, connecting);
        (ours, theirs.unwrap(), [server, client])
    }

    pub(crate) fn link(connection: &Connection) -> Arc<Link> {
        Link::start(connection.clone(), Windows::new(Size::kib(64 << 10), Size::kib(16 << 10)))
    }

    /// What our side says when the peer's stream brings `bytes`.
    async fn answer_to(bytes: &[u8]) -> String {
        let (ours, theirs, _endpoints) = connected().await;
        let (mut send, _receive) = theirs.open_bi().await.unwrap();
        send.write_all(bytes).await.unwrap();
        let streams = ours.accept_bi().await.unwrap();
        let flow = Flow::accept(&link(&ours), streams).await.map(|(_, flow)| flow.start(|_| {}));
        let ConnectionError::ApplicationClosed(close) = theirs.closed().await else { return String::new() };
        drop(flow);
        String::from_utf8_lossy(&close.reason).into_owned()
    }

    fn bytes_of(frames: &[Frame]) -> Vec<u8> {
        frames.iter().flat_map(Frame::encode).flatten().collect()
    }

    #[tokio::test]
    async fn a_peer_that_breaks_the_protocol_loses_the_tunnel() {
        let connect = Frame::Connect { flow: FLOW, authority: "a:1".to_owned() };
        let data = |offset, bytes| Frame::Data { flow: FLOW, offset, bytes };
        let other = Frame::End { flow: FlowId(2), length: 0 };
        let chunk = Bytes::from(vec![0; MAX_FRAME_BYTES / 2]);
        let too_much = (0..=8).map(|index| data(index * chunk.len() as u64, chunk.clone()));
        assert_eq!(answer_to(b"GET / HTTP/1.1\r\n\r\n").await, "unknown frame kind 71; known are 0 to 8");
        let misplaced = answer_to(&bytes_of(&[connect.clone(), data(5, Bytes::from_static(b"x"))])).await;
        assert_eq!(misplaced, "flow goes on at offset 5; expected 0");
        let twice = answer_to(&bytes_of(&[connect.clone(), connect.clone()])).await;
        assert!(twice.contains("not in its turn"), "{twice}");
        assert!(answer_to(&bytes_of(&[connect.clone(), other])).await.contains("another flow's stream"));
        let frames: Vec<Frame> = std::iter::once(connect).chain(too_much).collect();
        assert_eq!(answer_to(&bytes_of(&frames)).await, "flow reached offset 1179648; at most 1048576 was granted");
    }

    #[tokio::test]
    async fn segments_are_read_in_order_even_if_they_overtake() {
        let (ours, theirs, _endpoints) = connected().await;
        let link = link(&ours);
        let data = |offset, bytes| Frame::Data { flow: FLOW, offset, bytes: Bytes::from_static(bytes) };
        let end = Frame::End { flow: FLOW, length: 2 };
        let more = Frame::More { flow: FLOW };
        for (index, frames) in [(2, vec![end.clone()]), (1, vec![data(1, b"b"), more.clone()])] {
            let mut segment = theirs.open_uni().await.unwrap();
            segment.write_all(&SegmentHeader { flow: FLOW, index }.encode()).await.unwrap();
            segment.write_all(&bytes_of(&frames)).await.unwrap();
        }
        let (mut send, _receive) = theirs.open_bi().await.unwrap();
        let connect = Frame::Connect { flow: FLOW, authority: "a:1".to_owned() };
        send.write_all(&bytes_of(&[connect.clone(), data(0, b"a"), more])).await.unwrap();
        let streams = ours.accept_bi().await.unwrap();
        let (first, flow) = Flow::accept(&link, streams).await.unwrap();
        assert_eq!(first, connect);
        let mut flow = flow.start(|_| {});
        for expected in [data(0, b"a"), data(1, b"b"), end] {
            assert_eq!(flow.incoming.next().await, Some(expected));
        }
    }

    #[tokio::test]
    async fn a_sender_waits_for_a_receiver_that_does_not_consume() {
        let (ours, theirs, _endpoints) = connected().await;
        let connect = Frame::Connect { flow: FLOW, authority: "a:1".to_owned() };
        let mut opened = Flow::open(&link(&theirs), &connect, |_| {}).await.unwrap();
        let streams = ours.accept_bi().await.unwrap();
        let (_, accepted) = Flow::accept(&link(&ours), streams).await.unwrap();
        let mut accepted = accepted.start(|_| {});
        let total = INITIAL.get() as usize + 1;
        let sending = tokio::spawn(async move { opened.outgoing.data(vec![7; total].into()).await.map(|()| opened) });
        let mut received = 0;
        while received < INITIAL.get() {
            let Some(Frame::Data { bytes, .. }) = accepted.incoming.next().await else { panic!("only data was sent") };
            received += bytes.len() as u64;
        }
        assert!(!sending.is_finished(), "one byte has no credit");
        accepted.incoming.consumed(INITIAL);
        let _opened = sending.await.unwrap().unwrap();
        let last = accepted.incoming.next().await;
        assert_eq!(last, Some(Frame::Data { flow: FLOW, offset: INITIAL.get(), bytes: Bytes::from_static(&[7]) }));
    }

    #[tokio::test]
    async fn a_frame_that_was_cut_off_is_not_gone_on_with() {
        let (ours, theirs, _endpoints) = connected().await;
        let connect = Frame::Connect { flow: FLOW, authority: "a:1".to_owned() };
        let mut opened = Flow::open(&link(&theirs), &connect, |_| {}).await.unwrap();
        let (_, accepted) = Flow::accept(&link(&ours), ours.accept_bi().await.unwrap()).await.unwrap();
        let mut accepted = accepted.start(|_| {});
        theirs.set_send_window(1000);
        // As much of the frame as the send buffer takes, and no time for more.
        tokio::select! {
            biased;
            sent = opened.outgoing.data(vec![7; MAX_DATA_BYTES].into()) => panic!("all was sent: {sent:?}"),
            () = tokio::task::yield_now() => {}
        }
        opened.outgoing.reset(ResetReason::Broken).await;
        assert_eq!(accepted.incoming.next().await, None, "neither data nor a reset made of halves");
        assert!(ours.close_reason().is_none() && theirs.close_reason().is_none());
        assert!(matches!(opened.outgoing.end().await, Err(FlowError::Cut)));
    }

    #[tokio::test]
    async fn a_flow_cannot_be_opened_twice() {
        let end = Frame::Connect { flow: FLOW, authority: "a:1".to_owned() };
        let (ours, theirs, _endpoints) = connected().await;
        let link = link(&ours);
        let mut accepted = Vec::new();
        for _ in 0..2 {
            let (mut send, _receive) = theirs.open_bi().await.unwrap();
            send.write_all(&bytes_of(std::slice::from_ref(&end))).await.unwrap();
            accepted.push(Flow::accept(&link, ours.accept_bi().await.unwrap()).await.map(drop_first));
        }
        assert!(accepted[0].is_ok() && matches!(accepted[1], Err(FlowError::OutOfPlace(FLOW))));
    }

    fn drop_first<T>((_, rest): (Frame, T)) -> T {
        rest
    }
}
