//! A stream that gives up when nothing moves: slow clients are waited for, clients that are gone are not.
//!
//! Links may delay by minutes, so that patience is the caller's to choose. It is measured coarsely: the stream ends after at least one
//! and at most two patiences without a byte in either direction while one is waited for.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream with a limit to its idleness.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    patience: Duration,
    alarm: Pin<Box<Sleep>>,
    /// Whether anything moved since the alarm was set.
    moved: bool,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, alarm: Box::pin(sleep(patience)), moved: false }
    }

    /// Passes a result on, unless it is to wait and has been for too long.
    fn watch<T>(&mut self, result: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.moved = true;
            return result;
        }
        while self.alarm.as_mut().poll(context).is_ready() {
            if !self.moved {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.moved = false;
            self.alarm.set(sleep(self.patience));
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_read(context, buffer);
        this.watch(result, context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.watch(result, context)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A TCP stream has nothing of its own to flush: this says nothing about progress.
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.watch(result, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn what_moves_is_waited_for_and_what_does_not_is_given_up() {
        tokio::time::pause();
        let (mut client, server) = duplex(16);
        let mut server = Patient::new(server, Duration::from_secs(10));
        let trickle = tokio::spawn(async move {
            for _ in 0..5 {
                sleep(Duration::from_secs(9)).await;
                client.write_all(b"x").await.unwrap();
            }
            client
        });
        let mut received = [0; 5];
        server.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"xxxxx");
        let _client = trickle.await.unwrap();
        assert_eq!(server.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_given_up() {
        tokio::time::pause();
        let (_client, server) = duplex(16);
        let mut server = Patient::new(server, Duration::from_secs(10));
        assert_eq!(server.write_all(&[0; 100]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
