//! Bodies of responses as hyper takes them: bytes at hand, part of a file, filler.
//!
//! A file is read a piece at a time on a thread for blocking work, and only once the piece before it has been taken: a client that does
//! not read holds one piece in memory, however large the file is.

use crate::filler::Filler;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::JoinHandle;

/// Bytes of a file that are read at a time.
const PIECE: u64 = 256 * 1024;

/// What a body is made of.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Bytes(Bytes),
    File(Arc<File>),
    Filler(Filler),
}

/// A body, as far as it is not sent yet.
#[derive(Debug)]
pub(crate) struct Body {
    source: Source,
    rest: Range<u64>,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::part(Source::Bytes(Bytes::new()), 0..0)
    }

    /// The bytes of `source` in a range that lies in it.
    pub(crate) fn part(source: Source, range: Range<u64>) -> Self {
        Self { source, rest: range, reading: None }
    }

    /// As many bytes as are at hand, at most all that are left.
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let rest = self.rest.clone();
        let bytes = match &self.source {
            // In a source that is in memory, offsets are within the address space.
            Source::Bytes(bytes) => bytes.slice(rest.start as usize..rest.end as usize),
            Source::Filler(filler) => filler.from(rest.start),
            Source::File(file) => {
                let reading = self.reading.get_or_insert_with(|| {
                    let file = Arc::clone(file);
                    tokio::task::spawn_blocking(move || read(&file, &rest))
                });
                let read = ready!(Pin::new(reading).poll(context));
                self.reading = None;
                read.map_err(io::Error::other)??
            }
        };
        Poll::Ready(Ok(bytes))
    }
}

/// One piece from a range's beginning.
fn read(file: &File, rest: &Range<u64>) -> io::Result<Bytes> {
    let mut piece = vec![0; (rest.end - rest.start).min(PIECE) as usize];
    file.read_exact_at(&mut piece, rest.start)?;
    Ok(piece.into())
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let body = self.get_mut();
        if body.is_end_stream() {
            return Poll::Ready(None);
        }
        let mut bytes = ready!(body.poll_bytes(context))?;
        let left = body.rest.end - body.rest.start;
        bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        body.rest.start += bytes.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.end - self.rest.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;
    use http_body_util::BodyExt;
    use std::io::Write;

    async fn collect(body: Body) -> io::Result<Bytes> {
        body.collect().await.map(http_body_util::Collected::to_bytes)
    }

    #[tokio::test]
    async fn a_part_of_a_file_is_read_piece_by_piece() {
        let content: Vec<u8> = (0..600_000_u32).map(|number| (number % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        let file = Source::File(Arc::new(file));
        assert_eq!(collect(Body::part(file.clone(), 0..600_000)).await.unwrap(), content);
        assert_eq!(collect(Body::part(file.clone(), 262_143..262_146)).await.unwrap(), content[262_143..262_146]);
        let cut = collect(Body::part(file, 0..600_001)).await;
        assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "a file that shrank ends the connection");
    }

    #[tokio::test]
    async fn filler_ends_where_the_part_ends() {
        let filler = Filler::new("image/png", 100_000, 7, &Names::default());
        let whole = collect(Body::part(Source::Filler(filler.clone()), 0..100_000)).await.unwrap();
        let part = collect(Body::part(Source::Filler(filler), 65_000..66_000)).await.unwrap();
        assert_eq!(part, whole[65_000..66_000]);
    }
}
