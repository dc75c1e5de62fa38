//! A flow's frames in both directions, over one QUIC stream after another.
//!
//! A flow begins on a bidirectional stream. A direction that has carried [`SEGMENT_BYTES`] goes on in a unidirectional stream of its own,
//! which begins with a header; there is one successor for each, so that reading them one after the other gives the frames in order.

use crate::flow::{FlowError, Windows};
use crate::quic;
use crate::turnstile::{Turn, Turnstile};
use farhop_accel::wire::{Decoder, FlowId, Frame, ResetReason, SEGMENT_BYTES, SegmentHeader};
use noq::{Connection, RecvStream, SendStream, VarInt, WriteError};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Segments that came before the flow they belong to, or after its end. Dropping one tells its sender that nobody reads it.
const MAX_EARLY: usize = 256;

/// A connection as flows see it.
#[derive(Debug)]
pub(crate) struct Link {
    connection: Connection,
    windows: Arc<Windows>,
    routes: Mutex<Routes>,
    /// Who may fill the connection's send buffer.
    turnstile: Arc<Turnstile>,
}

#[derive(Debug, Default)]
struct Routes {
    known: BTreeMap<FlowId, mpsc::UnboundedSender<Segment>>,
    early: VecDeque<(FlowId, Segment)>,
}

#[derive(Debug)]
struct Segment {
    index: u64,
    stream: RecvStream,
}

impl Link {
    /// Starts to take the segments that the peer sends.
    pub(crate) fn start(connection: Connection, windows: Arc<Windows>) -> Arc<Self> {
        tokio::spawn(quic::fit_send_buffer(connection.clone()));
        let link = Arc::new(Self { connection, windows, routes: Mutex::default(), turnstile: Arc::default() });
        tokio::spawn(Arc::clone(&link).take_segments());
        link
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn windows(&self) -> &Arc<Windows> {
        &self.windows
    }

    /// The two directions of a new flow.
    pub(crate) async fn open(self: &Arc<Self>, flow: FlowId) -> Result<(Writer, Reader), FlowError> {
        let (send, receive) = self.connection.open_bi().await?;
        let segments = self.register(flow);
        Ok((Writer::new(self, flow, send), Reader::new(receive, Decoder::default(), segments)))
    }

    /// The two directions of a flow that the peer has opened, and its first frame.
    pub(crate) async fn accept(
        self: &Arc<Self>,
        (send, mut receive): (SendStream, RecvStream),
    ) -> Result<(Frame, Writer, Reader), FlowError> {
        let mut decoder = Decoder::default();
        let first = loop {
            if let Some(first) = decoder.poll()? {
                break first;
            }
            let bytes = receive.read_chunk(usize::MAX).await?;
            decoder.push(&bytes.ok_or(FlowError::Reset(ResetReason::Cancelled))?);
        };
        let flow = first.flow();
        if self.routes().known.contains_key(&flow) {
            return Err(FlowError::OutOfPlace(flow));
        }
        let segments = self.register(flow);
        Ok((first, Writer::new(self, flow, send), Reader::new(receive, decoder, segments)))
    }

    async fn take_segments(self: Arc<Self>) {
        while let Ok(stream) = self.connection.accept_uni().await {
            // A header that is late must not hold up other flows.
            tokio::spawn(Arc::clone(&self).take_segment(stream));
        }
    }

    async fn take_segment(self: Arc<Self>, mut stream: RecvStream) {
        let mut header = [0; SegmentHeader::BYTES];
        // What breaks off before it has begun belongs to a flow that was given up.
        if stream.read_exact(&mut header).await.is_ok() {
            let SegmentHeader { flow, index } = SegmentHeader::decode(header);
            self.routes().deliver(flow, Segment { index, stream });
        }
    }

    fn register(self: &Arc<Self>, flow: FlowId) -> Segments {
        let (route, arrivals) = mpsc::unbounded_channel();
        self.routes().register(flow, route);
        Segments { link: Arc::clone(self), flow, arrivals, waiting: BTreeMap::new(), next: 1 }
    }

    fn routes(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Routes {
    fn register(&mut self, flow: FlowId, route: mpsc::UnboundedSender<Segment>) {
        for (owner, segment) in std::mem::take(&mut self.early) {
            if owner == flow {
                // The receiver is the caller's.
                let _ = route.send(segment);
            } else {
                self.early.push_back((owner, segment));
            }
        }
        self.known.insert(flow, route);
    }

    fn deliver(&mut self, flow: FlowId, segment: Segment) {
        if let Some(route) = self.known.get(&flow) {
            // A flow that nobody reads any more needs no segments.
            let _ = route.send(segment);
            return;
        }
        self.early.push_back((flow, segment));
        if self.early.len() > MAX_EARLY {
            self.early.pop_front();
        }
    }
}

/// A flow's further segments, in order.
struct Segments {
    link: Arc<Link>,
    flow: FlowId,
    arrivals: mpsc::UnboundedReceiver<Segment>,
    waiting: BTreeMap<u64, RecvStream>,
    next: u64,
}

impl Segments {
    /// Nothing is lost if this is dropped before it is ready.
    async fn next(&mut self) -> Result<RecvStream, FlowError> {
        loop {
            if let Some(stream) = self.waiting.remove(&self.next) {
                self.next += 1;
                return Ok(stream);
            }
            tokio::select! {
                Some(segment) = self.arrivals.recv() => drop(self.waiting.insert(segment.index, segment.stream)),
                ended = self.link.connection.closed() => return Err(ended.into()),
            }
        }
    }
}

impl Drop for Segments {
    fn drop(&mut self) {
        self.link.routes().known.remove(&self.flow);
    }
}

/// Frames out of a flow's segments.
pub(crate) struct Reader {
    stream: RecvStream,
    decoder: Decoder,
    segments: Segments,
    /// The frames go on in the next segment.
    has_more: bool,
}

impl Reader {
    fn new(stream: RecvStream, decoder: Decoder, segments: Segments) -> Self {
        Self { stream, decoder, segments, has_more: false }
    }

    /// The next frame; `None` at the flow's end. Nothing is lost if this is dropped before it is ready.
    pub(crate) async fn next(&mut self) -> Result<Option<Frame>, FlowError> {
        loop {
            match self.decoder.poll()? {
                Some(Frame::More { .. }) => self.has_more = true,
                Some(frame) => return Ok(Some(frame)),
                None if self.has_more => {
                    self.stream = self.segments.next().await?;
                    self.has_more = false;
                }
                None => match self.stream.read_chunk(usize::MAX).await? {
                    Some(bytes) => self.decoder.push(&bytes),
                    None => return Ok(None),
                },
            }
        }
    }
}

/// A flow's frames on their way, for all who have something to say on it.
#[derive(Clone)]
pub(crate) struct Writer {
    flow: FlowId,
    link: Arc<Link>,
    segment: Arc<tokio::sync::Mutex<Outbound>>,
}

struct Outbound {
    stream: SendStream,
    index: u64,
    written: usize,
    priority: i32,
    /// A frame has been begun and not completed, because whoever wrote it was dropped: what followed would be read as the rest of it.
    is_cut: bool,
}

impl Writer {
    fn new(link: &Arc<Link>, flow: FlowId, stream: SendStream) -> Self {
        let outbound = Outbound { stream, index: 0, written: 0, priority: 0, is_cut: false };
        Self { flow, link: Arc::clone(link), segment: Arc::new(tokio::sync::Mutex::new(outbound)) }
    }

    /// The flow's number.
    pub(crate) fn flow(&self) -> FlowId {
        self.flow
    }

    /// Sends a frame.
    pub(crate) async fn write(&self, frame: &Frame) -> Result<(), FlowError> {
        let mut parts = frame.encode();
        let length: usize = parts.iter().map(bytes::Bytes::len).sum();
        let mut segment = self.segment.lock().await;
        if std::mem::replace(&mut segment.is_cut, true) {
            // Fails only if the stream has ended.
            let _ = segment.stream.reset(VarInt::from_u32(0));
            return Err(FlowError::Cut);
        }
        let goes_on = segment.written > 0 && segment.written + length > SEGMENT_BYTES;
        // The peer may allow another stream only when it has heard of others to the end: that must not keep these from being written.
        let next = if goes_on { Some(self.link.connection.open_uni().await?) } else { None };
        let _turn = match self.link.turnstile.try_enter() {
            Some(turn) => turn,
            None => self.wait_for_turn(&segment).await?,
        };
        if let Some(next) = next {
            self.go_on(&mut segment, next).await?;
        }
        segment.written += length;
        segment.stream.write_all_chunks(&mut parts).await?;
        segment.is_cut = false;
        Ok(())
    }

    /// Waits behind what is more urgent, as long as somebody reads the stream: who waits keeps what it has of servers and memory.
    async fn wait_for_turn(&self, segment: &Outbound) -> Result<Turn, FlowError> {
        tokio::select! {
            turn = self.link.turnstile.enter(segment.priority) => Ok(turn),
            Ok(Some(code)) = segment.stream.stopped() => Err(WriteError::Stopped(code).into()),
        }
    }

    /// When the flow's bytes go, compared with those of others.
    pub(crate) async fn set_priority(&self, priority: i32) {
        let mut segment = self.segment.lock().await;
        segment.priority = priority;
        // Fails only if the stream has ended, when it does not matter any more.
        let _ = segment.stream.set_priority(priority);
    }

    async fn go_on(&self, segment: &mut Outbound, mut next: SendStream) -> Result<(), FlowError> {
        let _ = next.set_priority(segment.priority);
        let header = SegmentHeader { flow: self.flow, index: segment.index + 1 };
        next.write_all(&header.encode()).await?;
        segment.stream.write_all_chunks(&mut Frame::More { flow: self.flow }.encode()).await?;
        // A peer that has stopped the stream is noticed with the next bytes.
        let _ = segment.stream.finish();
        *segment = Outbound { stream: next, index: header.index, written: 0, priority: segment.priority, is_cut: true };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::tests::{connected, link};
    use std::time::Duration;

    #[tokio::test]
    async fn who_waits_for_its_turn_notices_that_nobody_reads() {
        let (ours, theirs, _endpoints) = connected().await;
        let link = link(&theirs);
        let (writer, _reader) = link.open(FlowId(1)).await.unwrap();
        let end = Frame::End { flow: FlowId(1), length: 0 };
        writer.write(&end).await.unwrap();
        let (_send, mut receive) = ours.accept_bi().await.unwrap();
        let turn = link.turnstile.try_enter();
        assert!(turn.is_some());
        let writing = tokio::time::timeout(Duration::from_secs(10), writer.write(&end));
        receive.stop(VarInt::from_u32(7)).unwrap();
        let stopped = writing.await.unwrap();
        assert!(matches!(stopped, Err(FlowError::Write(WriteError::Stopped(code))) if code == VarInt::from_u32(7)));
    }
}
