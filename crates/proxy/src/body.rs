//! Bodies of HTTP messages that come out of a flow.

use crate::flow::{FlowError, Incoming};
use bytes::Bytes;
use farhop_accel::wire::{Frame, ResetReason};
use farhop_units::Bytes as Size;
use hyper::body::Body;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// A message's body: nothing, a text of our own, or what a flow brings.
pub(crate) enum MessageBody {
    /// No bytes.
    Empty,
    /// A text of our own.
    Text(Bytes),
    /// What a flow brings.
    Flow(FlowBody),
}

impl MessageBody {
    /// How many bytes have been passed on, now and later.
    pub(crate) fn passed(&self) -> Arc<AtomicU64> {
        match self {
            Self::Flow(body) => Arc::clone(&body.passed),
            Self::Empty | Self::Text(_) => Arc::default(),
        }
    }
}

impl Body for MessageBody {
    type Data = Bytes;
    type Error = FlowError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, FlowError>>> {
        match self.get_mut() {
            Self::Flow(body) => body.poll(context).map(|data| data.map(|data| data.map(hyper::body::Frame::data))),
            Self::Text(text) if !text.is_empty() => {
                Poll::Ready(Some(Ok(hyper::body::Frame::data(std::mem::take(text)))))
            }
            Self::Text(_) | Self::Empty => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Text(text) => text.is_empty(),
            Self::Flow(_) => false,
        }
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Empty => hyper::body::SizeHint::with_exact(0),
            Self::Text(text) => hyper::body::SizeHint::with_exact(text.len() as u64),
            Self::Flow(_) => hyper::body::SizeHint::default(),
        }
    }
}

/// The bytes of a flow, granted anew as they are taken.
pub(crate) struct FlowBody {
    incoming: Incoming,
    passed: Arc<AtomicU64>,
    /// Dropped with the body, when the exchange is over.
    _guard: Option<Box<dyn Send + Sync>>,
}

impl FlowBody {
    /// The body that `incoming` brings.
    pub(crate) fn new(incoming: Incoming, guard: Option<Box<dyn Send + Sync>>) -> Self {
        Self { incoming, passed: Arc::default(), _guard: guard }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, FlowError>>> {
        loop {
            let frame = match self.incoming.poll_next(context) {
                Poll::Ready(Some(frame)) => frame,
                Poll::Ready(None) => return Poll::Ready(Some(Err(FlowError::Reset(ResetReason::Broken)))),
                Poll::Pending => return Poll::Pending,
            };
            match frame {
                Frame::Data { bytes, .. } if !bytes.is_empty() => {
                    let count = bytes.len() as u64;
                    self.passed.fetch_add(count, Ordering::Relaxed);
                    self.incoming.consumed(Size::new(count));
                    return Poll::Ready(Some(Ok(bytes)));
                }
                Frame::End { length, .. } if length == self.passed.load(Ordering::Relaxed) => return Poll::Ready(None),
                Frame::End { .. } => return Poll::Ready(Some(Err(FlowError::Reset(ResetReason::Broken)))),
                Frame::Reset { reason, .. } => return Poll::Ready(Some(Err(FlowError::Reset(reason)))),
                _ => {}
            }
        }
    }
}
