//! A CONNECT tunnel's bytes: one flow, one byte stream, both directions until both have ended.

use crate::flow::{Flow, FlowError, Incoming, Outgoing};
use bytes::BytesMut;
use farhop_accel::wire::{Frame, MAX_DATA_BYTES, ResetReason};
use farhop_units::Bytes as Size;
use std::io;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

#[derive(Debug, Error)]
pub(crate) enum CarryError {
    #[error(transparent)]
    Flow(#[from] FlowError),
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

/// Carries bytes between `stream` and `flow`. When one side breaks off, so does the other.
pub(crate) async fn carry(stream: impl AsyncRead + AsyncWrite, flow: Flow) -> Result<(), CarryError> {
    let (from, to) = tokio::io::split(stream);
    let Flow { mut outgoing, incoming } = flow;
    let result = tokio::try_join!(send(from, &mut outgoing), receive(incoming, to));
    if result.is_err() {
        outgoing.reset(ResetReason::Broken).await;
    }
    result.map(|((), ())| ())
}

async fn send(mut from: impl AsyncRead + Unpin, outgoing: &mut Outgoing) -> Result<(), CarryError> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(MAX_DATA_BYTES);
        if from.read_buf(&mut buffer).await? == 0 {
            return Ok(outgoing.end().await?);
        }
        outgoing.data(buffer.split().freeze()).await?;
    }
}

async fn receive(mut incoming: Incoming, mut to: impl AsyncWrite + Unpin) -> Result<(), CarryError> {
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
