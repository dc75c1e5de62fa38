//! HTTP/1 responses out of a stream of bytes (RFC 9112 §6.3 message body length, §7.1 chunked coding, §9.3 persistence), sans-IO.
//!
//! Bodies are handed on as they arrive, without a copy. Interim (1xx) responses are skipped, trailers read and forgotten. Left out:
//! other transfer codings, obsolete line folding.

use crate::error::ResponseProblem;
use bytes::{Bytes, BytesMut};
use farhop_units::Bytes as Size;
use httparse::Status;

/// A head of more bytes or fields is refused.
const LONGEST_HEAD: usize = 64 << 10;
const MOST_FIELDS: usize = 100;

/// A part of a response, in order: one head, any number of body parts, one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Status line and fields have arrived.
    Head { status: u16 },
    /// A part of the body.
    Body(Bytes),
    /// The response is complete.
    End {
        /// Whether the connection can carry another one.
        persistent: bool,
    },
}

/// What the next bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// So many bytes of the body are to come.
    Length(u64),
    UntilClose,
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
    /// The last response said that no other follows.
    Done,
}

/// Reads the responses of one connection.
#[derive(Debug)]
pub(crate) struct ResponseDecoder {
    buffer: BytesMut,
    state: State,
    persistent: bool,
    ended: bool,
}

impl ResponseDecoder {
    /// A decoder at the start of a response.
    pub(crate) fn new() -> Self {
        Self { buffer: BytesMut::new(), state: State::Head, persistent: true, ended: false }
    }

    /// Where the connection's bytes go.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The connection has ended: no bytes follow.
    pub(crate) fn handle_end(&mut self) {
        self.ended = true;
    }

    /// Whether the connection has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The next part of a response, if it has arrived.
    pub(crate) fn poll(&mut self) -> Result<Option<Piece>, ResponseProblem> {
        loop {
            let before = self.state;
            if let Some(piece) = self.step()? {
                return Ok(Some(piece));
            }
            if self.state == before {
                return self.starved();
            }
        }
    }

    /// Bytes after the head of a successful answer to CONNECT belong to the tunnel; gives them back (RFC 9110 §9.3.6).
    pub(crate) fn into_tunnel(self) -> BytesMut {
        self.buffer
    }

    /// Nothing can be read from the buffer; is that an end?
    fn starved(&self) -> Result<Option<Piece>, ResponseProblem> {
        let between = self.state == State::Done || (self.state == State::Head && self.buffer.is_empty());
        if self.ended && !between { Err(ResponseProblem::Truncated) } else { Ok(None) }
    }

    /// Advances by one state; no piece and the same state means that more bytes are needed.
    fn step(&mut self) -> Result<Option<Piece>, ResponseProblem> {
        match self.state {
            State::Head => return self.head(),
            State::Length(0) => return Ok(Some(self.end())),
            State::Length(left) => {
                return Ok(self.take(left).map(|body| {
                    self.state = State::Length(left - body.len() as u64);
                    Piece::Body(body)
                }));
            }
            State::UntilClose if self.buffer.is_empty() && self.ended => return Ok(Some(self.end())),
            State::UntilClose => return Ok(self.take(u64::MAX).map(Piece::Body)),
            State::ChunkSize => self.chunk_size()?,
            State::Chunk(0) => self.state = State::ChunkEnd,
            State::Chunk(left) => {
                return Ok(self.take(left).map(|body| {
                    self.state = State::Chunk(left - body.len() as u64);
                    Piece::Body(body)
                }));
            }
            State::ChunkEnd => self.chunk_end()?,
            State::Trailers => return self.trailers(),
            State::Done if self.buffer.is_empty() => {}
            State::Done => return Err(ResponseProblem::Unsolicited),
        }
        Ok(None)
    }

    /// At most `limit` of the bytes that have arrived.
    fn take(&mut self, limit: u64) -> Option<Bytes> {
        let length = usize::try_from(limit).unwrap_or(usize::MAX).min(self.buffer.len());
        (length > 0).then(|| self.buffer.split_to(length).freeze())
    }

    fn end(&mut self) -> Piece {
        let persistent = self.persistent;
        self.state = if persistent { State::Head } else { State::Done };
        Piece::End { persistent }
    }

    fn head(&mut self) -> Result<Option<Piece>, ResponseProblem> {
        loop {
            let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
            let mut response = httparse::Response::new(&mut fields);
            let parsed = response.parse(&self.buffer).map_err(|error| ResponseProblem::Malformed(error.to_string()))?;
            let Status::Complete(length) = parsed else { return self.unfinished(LONGEST_HEAD) };
            let framing = Framing::of(&response)?;
            let _ = self.buffer.split_to(length);
            if !(100..200).contains(&framing.status) {
                (self.state, self.persistent) = (framing.body, framing.persistent);
                return Ok(Some(Piece::Head { status: framing.status }));
            }
        }
    }

    /// Waits for the rest of something that may not be longer than `limit`.
    fn unfinished(&self, limit: usize) -> Result<Option<Piece>, ResponseProblem> {
        if self.buffer.len() > limit { Err(ResponseProblem::HeadTooLarge(Size::new(limit as u64))) } else { Ok(None) }
    }

    fn chunk_size(&mut self) -> Result<(), ResponseProblem> {
        let parsed = httparse::parse_chunk_size(&self.buffer);
        let parsed = parsed.map_err(|_| ResponseProblem::Malformed("invalid chunk size".to_owned()))?;
        match parsed {
            Status::Complete((length, size)) => {
                let _ = self.buffer.split_to(length);
                self.state = if size == 0 { State::Trailers } else { State::Chunk(size) };
                Ok(())
            }
            Status::Partial => self.unfinished(LONGEST_HEAD).map(drop),
        }
    }

    /// A chunk's data ends with CRLF.
    fn chunk_end(&mut self) -> Result<(), ResponseProblem> {
        if self.buffer.len() >= 2 {
            if self.buffer.split_to(2) != b"\r\n"[..] {
                return Err(ResponseProblem::Malformed("chunk without CRLF at its end".to_owned()));
            }
            self.state = State::ChunkSize;
        }
        Ok(())
    }

    /// Reads lines up to an empty one.
    fn trailers(&mut self) -> Result<Option<Piece>, ResponseProblem> {
        while let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
            let line = self.buffer.split_to(end + 1);
            if line[..] == b"\r\n"[..] || line[..] == b"\n"[..] {
                return Ok(Some(self.end()));
            }
        }
        self.unfinished(LONGEST_HEAD)
    }
}

/// What a head says about the body and the connection.
struct Framing {
    status: u16,
    body: State,
    persistent: bool,
}

impl Framing {
    fn of(response: &httparse::Response<'_, '_>) -> Result<Self, ResponseProblem> {
        let status = response.code.expect("a complete head has a status");
        let values = |name| response.headers.iter().filter(move |f| f.name.eq_ignore_ascii_case(name)).map(|f| f.value);
        let body = body_state(status, values("transfer-encoding"), values("content-length"))?;
        let mut options = values("connection").flat_map(|value| value.split(|&byte| byte == b','));
        let persistent = match response.version {
            Some(0) => options.any(|option| is(option, b"keep-alive")),
            _ => !options.any(|option| is(option, b"close")),
        };
        Ok(Self { status, body, persistent: persistent && body != State::UntilClose })
    }
}

/// RFC 9112 §6.3, for responses to GET.
fn body_state<'a>(
    status: u16,
    mut codings: impl Iterator<Item = &'a [u8]>,
    lengths: impl Iterator<Item = &'a [u8]>,
) -> Result<State, ResponseProblem> {
    if matches!(status, 100..200 | 204 | 304) {
        return Ok(State::Length(0));
    }
    if let Some(coding) = codings.next() {
        if is(coding, b"chunked") && codings.next().is_none() {
            return Ok(State::ChunkSize);
        }
        return Err(ResponseProblem::Length(format!("Transfer-Encoding: {}", String::from_utf8_lossy(coding))));
    }
    content_length(lengths).map(|length| length.map_or(State::UntilClose, State::Length))
}

/// The length all fields agree on.
fn content_length<'a>(values: impl Iterator<Item = &'a [u8]>) -> Result<Option<u64>, ResponseProblem> {
    let mut length = None;
    for value in values {
        let text = String::from_utf8_lossy(value);
        let digits = text.trim_matches([' ', '\t']);
        let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = if all_digits { digits.parse().ok() } else { None };
        let number: u64 = number.ok_or_else(|| ResponseProblem::Length(format!("Content-Length: {text}")))?;
        if length.is_some_and(|known| known != number) {
            return Err(ResponseProblem::Length("two different Content-Lengths".to_owned()));
        }
        length = Some(number);
    }
    Ok(length)
}

/// Whether the list element is `word`, in any case and with space around it.
fn is(element: &[u8], word: &[u8]) -> bool {
    element.trim_ascii().eq_ignore_ascii_case(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads `stream`, given in parts that end at `cuts`, to its end; bodies are put together.
    fn decode(stream: &[u8], cuts: &[usize]) -> Result<Vec<(u16, Vec<u8>, bool)>, ResponseProblem> {
        let mut decoder = ResponseDecoder::new();
        let mut responses: Vec<(u16, Vec<u8>, bool)> = Vec::new();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
        ends.push(stream.len());
        ends.sort_unstable();
        let mut start = 0;
        for end in ends {
            decoder.buffer().extend_from_slice(&stream[start..end]);
            start = end;
            if end == stream.len() {
                decoder.handle_end();
            }
            while let Some(piece) = decoder.poll()? {
                match piece {
                    Piece::Head { status } => responses.push((status, Vec::new(), false)),
                    Piece::Body(bytes) => responses.last_mut().expect("a head comes first").1.extend_from_slice(&bytes),
                    Piece::End { persistent } => responses.last_mut().expect("a head comes first").2 = persistent,
                }
            }
        }
        Ok(responses)
    }

    const PIPELINED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello\
        HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n\
        HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nx: y\r\n\r\n\
        HTTP/1.0 200 OK\r\ncontent-length: 2\r\nconnection: Keep-Alive\r\n\r\nok\
        HTTP/1.1 200 OK\r\n\r\nto the end";

    fn expected() -> Vec<(u16, Vec<u8>, bool)> {
        vec![
            (200, b"hello".to_vec(), true),
            (404, Vec::new(), true),
            (200, b"abc0123456789".to_vec(), true),
            (200, b"ok".to_vec(), true),
            (200, b"to the end".to_vec(), false),
        ]
    }

    #[test]
    fn responses_of_every_framing_are_told_apart() {
        assert_eq!(decode(PIPELINED, &[]), Ok(expected()));
    }

    #[test]
    fn http_10_and_connection_close_end_the_connection() {
        let close = |head: &str| decode(format!("{head}content-length: 1\r\n\r\nx").as_bytes(), &[]).unwrap()[0].2;
        assert!(!close("HTTP/1.0 200 OK\r\n"));
        assert!(!close("HTTP/1.1 200 OK\r\nconnection: x, Close\r\n"));
        assert!(close("HTTP/1.1 200 OK\r\n"));
    }

    #[test]
    fn broken_responses_are_errors() {
        let problem = |stream: &str| decode(stream.as_bytes(), &[]).unwrap_err();
        assert_eq!(problem("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell"), ResponseProblem::Truncated);
        assert_eq!(problem("HTTP/1.1 200 OK\r\ncontent-le"), ResponseProblem::Truncated);
        assert!(matches!(problem("SSH-2.0-OpenSSH\r\n\r\n"), ResponseProblem::Malformed(_)));
        let framing = |fields: &str| problem(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nx"));
        for fields in [
            "content-length: 1\r\ncontent-length: 2",
            "content-length: -1",
            "content-length: +1",
            "content-length: 99999999999999999999",
            "transfer-encoding: gzip, chunked",
        ] {
            assert!(matches!(framing(fields), ResponseProblem::Length(_)), "{fields}");
        }
        assert!(matches!(framing("transfer-encoding: chunked"), ResponseProblem::Malformed(_)));
        let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(LONGEST_HEAD));
        assert!(matches!(problem(&endless), ResponseProblem::HeadTooLarge(_)));
        let after = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\nxy";
        assert_eq!(problem(after), ResponseProblem::Unsolicited);
    }

    proptest! {
        #[test]
        fn the_cuts_between_reads_do_not_matter(cuts in prop::collection::vec(any::<usize>(), 0..40)) {
            prop_assert_eq!(decode(PIPELINED, &cuts), Ok(expected()));
        }

        #[test]
        fn any_bytes_give_an_answer(stream in prop::collection::vec(any::<u8>(), 0..300), place in any::<usize>()) {
            let mut damaged = PIPELINED.to_vec();
            let start = place % damaged.len();
            let end = (start + stream.len()).min(damaged.len());
            damaged.splice(start..end, stream.iter().copied());
            let _ = decode(&damaged, &[]);
            let _ = decode(&stream, &[]);
        }
    }
}
