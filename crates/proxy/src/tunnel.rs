//! A CONNECT tunnel's bytes: one flow, one byte stream, both directions until both have ended. What breaks off on one side does so on the
//! other: an orderly end would be taken for the end of what was said.

use crate::flow::{Flow, FlowError, Incoming, Outgoing};
use bytes::{Bytes, BytesMut};
use farhop_accel::wire::{Frame, MAX_DATA_BYTES, ResetReason};
use farhop_units::Bytes as Size;
use socket2::SockRef;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

#[derive(Debug, Error)]
pub(crate) enum CarryError {
    #[error(transparent)]
    Flow(#[from] FlowError),
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

/// Carries bytes between `stream`, of which `read` has been read already, and `flow`.
pub(crate) async fn carry(mut stream: TcpStream, read: Bytes, flow: Flow) -> Result<(), CarryError> {
    let (from, to) = stream.split();
    let Flow { mut outgoing, incoming } = flow;
    let result = tokio::try_join!(send(read, from, &mut outgoing), receive(incoming, to));
    if result.is_err() {
        // Fails only for a connection that is gone already.
        let _ = stream.set_zero_linger();
        drop(stream);
        outgoing.reset(ResetReason::Broken).await;
    }
    result.map(|((), ())| ())
}

/// A connection that somebody else owns, to be broken off when it has been given up.
pub(crate) struct Abortable(OwnedFd);

impl Abortable {
    pub(crate) fn of(stream: &TcpStream) -> io::Result<Self> {
        stream.as_fd().try_clone_to_owned().map(Self)
    }

    /// Ends the connection with a reset. To be called after the owner has dropped it, without having ended it in order.
    pub(crate) fn abort(self) {
        // Fails only for a connection that is gone already.
        let _ = SockRef::from(&self.0).set_linger(Some(Duration::ZERO));
    }
}

async fn send(read: Bytes, mut from: ReadHalf<'_>, outgoing: &mut Outgoing) -> Result<(), CarryError> {
    outgoing.data(read).await?;
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(MAX_DATA_BYTES);
        if from.read_buf(&mut buffer).await? == 0 {
            return Ok(outgoing.end().await?);
        }
        outgoing.data(buffer.split().freeze()).await?;
    }
}

async fn receive(mut incoming: Incoming, mut to: WriteHalf<'_>) -> Result<(), CarryError> {
    loop {
        match incoming.next().await {
            Some(Frame::Data { bytes, .. }) => {
                to.write_all(&bytes).await?;
                to.flush().await?;
                incoming.consumed(Size::new(bytes.len() as u64));
            }
            Some(Frame::End { .. }) => return Ok(to.shutdown().await?),
            Some(Frame::Reset { reason, .. }) => return Err(FlowError::Reset(reason).into()),
            Some(_) => {}
            None => return Err(FlowError::Reset(ResetReason::Broken).into()),
        }
    }
}
