//! The tunnel's frames.
//!
//! Every frame names its flow, and bytes name their offset in it, so that frames can travel on streams, in datagrams, in repair packets
//! or over one TCP connection alike. A frame is its kind (one byte), the length of the rest, and the rest; all numbers are QUIC's
//! variable-length integers (RFC 9000 §16), texts and byte strings carry their length. The decoder is strict: an unknown kind, a
//! byte too many or a head that is not HTTP ends the connection, for the peer is our own program.

use crate::head::{self, RequestHead, ResponseHead};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use thiserror::Error;
use url::Url;

/// Names a request, a push or a tunnelled connection. Whoever opens a flow chooses its number: the terminal even ones, the gateway odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u64);

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Opens a flow with a client's request.
    Request {
        /// The flow.
        flow: FlowId,
        /// The request.
        head: RequestHead,
    },
    /// Opens a flow as a connection to `authority` (RFC 9110 §9.3.6).
    Connect {
        /// The flow.
        flow: FlowId,
        /// `host:port`.
        authority: String,
    },
    /// The response to a request, or what is pushed.
    Response {
        /// The flow.
        flow: FlowId,
        /// The response.
        head: ResponseHead,
    },
    /// Says ahead of the bytes that name `url` that the response to it comes as `push`.
    Announce {
        /// The flow of the page that refers to the URL.
        page: FlowId,
        /// The flow that will carry the response.
        push: FlowId,
        /// Absolute, without fragment.
        url: Url,
    },
    /// Bytes of a body or a tunnelled connection.
    Data {
        /// The flow.
        flow: FlowId,
        /// Offset of the first byte.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// The sender's bytes are complete.
    End {
        /// The flow.
        flow: FlowId,
        /// How many there were.
        length: u64,
    },
    /// The receiver takes bytes up to the offset `limit`.
    Credit {
        /// The flow.
        flow: FlowId,
        /// Offset after the last byte that may be sent.
        limit: u64,
    },
    /// The flow ends here, incomplete.
    Reset {
        /// The flow.
        flow: FlowId,
        /// Why.
        reason: ResetReason,
    },
    /// The sender's frames go on in the flow's next segment.
    More {
        /// The flow.
        flow: FlowId,
    },
}

/// What a stream begins with that carries a flow on (see [`SEGMENT_BYTES`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The flow.
    pub flow: FlowId,
    /// The segment's place, from 1; segment 0 is the stream that opened the flow, and has no header.
    pub index: u64,
}

impl SegmentHeader {
    /// Its length.
    pub const BYTES: usize = 16;

    /// The header's bytes.
    pub fn encode(self) -> [u8; Self::BYTES] {
        (u128::from(self.flow.0) << 64 | u128::from(self.index)).to_be_bytes()
    }

    /// The header that `bytes` are.
    pub fn decode(bytes: [u8; Self::BYTES]) -> Self {
        let [flow, index] =
            [&bytes[..8], &bytes[8..]].map(|half| half.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
        Self { flow: FlowId(flow), index }
    }
}

/// After so many bytes a flow goes on in another stream. Two faults of the QUIC library force this: it ends the connection when one stream
/// has more than 1024 gaps, which a lossy link with a long round trip reaches in seconds, and a stream that is read out of order loses
/// bytes that fill a gap when the library tidies its buffers. A stream this short has at most 450 gaps (1160 B of payload in the shortest
/// full packet) and is read in order.
pub const SEGMENT_BYTES: usize = 512 << 10;

/// Why a flow ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ResetReason {
    /// Nobody wants the rest.
    #[error("no longer wanted")]
    Cancelled,
    /// The server could not be reached.
    #[error("the server could not be reached")]
    Unreachable,
    /// The gateway's policy forbids the destination.
    #[error("the gateway does not connect to that address")]
    Forbidden,
    /// The server broke off.
    #[error("the server ended the connection early")]
    Broken,
}

/// Bytes that are not a frame.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// A kind this version does not know.
    #[error("unknown frame kind {kind}; known are 0 to 8")]
    UnknownKind {
        /// The kind's number.
        kind: u8,
    },
    /// A frame longer than the receiver takes.
    #[error("frame of {length} bytes; at most {MAX_FRAME_BYTES} are accepted")]
    TooLong {
        /// Its length.
        length: u64,
    },
    /// A frame whose fields do not fill it exactly, or are not what they should be.
    #[error("malformed {field}")]
    Malformed {
        /// The field.
        field: &'static str,
    },
}

/// Bytes of a head as it comes from a client or server. Servers take 32 kB (nginx) to 800 kB (Apache) by default, browsers 256 kB; heads
/// seen in practice have a few kB.
pub const MAX_HEAD_BYTES: usize = 64 << 10;
/// Heads are the longest frames; an announced URL may have grown threefold, as its bytes are written as percent-encoded ones.
pub const MAX_FRAME_BYTES: usize = 4 * MAX_HEAD_BYTES;
/// Bytes of one data frame: long enough that headers do not count (0.1 %), short enough that a grant or an announcement need not wait.
pub const MAX_DATA_BYTES: usize = 16 << 10;
/// RFC 9110 §5.4 leaves the number open; hyper takes 100 by default.
const MAX_HEADERS: usize = 256;

const REQUEST: u8 = 0;
const CONNECT: u8 = 1;
const RESPONSE: u8 = 2;
const ANNOUNCE: u8 = 3;
const DATA: u8 = 4;
const END: u8 = 5;
const CREDIT: u8 = 6;
const RESET: u8 = 7;
const MORE: u8 = 8;

impl Frame {
    /// The flow the frame belongs to; of an announcement, the page's.
    pub fn flow(&self) -> FlowId {
        match *self {
            Self::Request { flow, .. }
            | Self::Connect { flow, .. }
            | Self::Response { flow, .. }
            | Self::Announce { page: flow, .. }
            | Self::Data { flow, .. }
            | Self::End { flow, .. }
            | Self::Credit { flow, .. }
            | Self::Reset { flow, .. }
            | Self::More { flow } => flow,
        }
    }

    /// The frame's bytes in two parts, so that a body's bytes need not be copied: everything else, and them.
    pub fn encode(&self) -> [Bytes; 2] {
        let mut fields = BytesMut::new();
        let mut payload = Bytes::new();
        let kind = self.put_fields(&mut fields, &mut payload);
        let mut head = BytesMut::with_capacity(fields.len() + 9);
        head.put_u8(kind);
        put_varint(&mut head, (fields.len() + payload.len()) as u64);
        head.extend_from_slice(&fields);
        [head.freeze(), payload]
    }

    fn put_fields(&self, out: &mut BytesMut, payload: &mut Bytes) -> u8 {
        put_varint(out, self.flow().0);
        match self {
            Self::Request { head, .. } => {
                put_request(out, head);
                REQUEST
            }
            Self::Connect { authority, .. } => {
                put_bytes(out, authority.as_bytes());
                CONNECT
            }
            Self::Response { head, .. } => {
                put_varint(out, head.status.as_u16().into());
                put_headers(out, &head.headers);
                RESPONSE
            }
            Self::Announce { push, url, .. } => {
                put_varint(out, push.0);
                put_bytes(out, url.as_str().as_bytes());
                ANNOUNCE
            }
            Self::Data { offset, bytes, .. } => {
                put_varint(out, *offset);
                *payload = bytes.clone();
                DATA
            }
            Self::End { length: number, .. } => {
                put_varint(out, *number);
                END
            }
            Self::Credit { limit, .. } => {
                put_varint(out, *limit);
                CREDIT
            }
            Self::Reset { reason, .. } => {
                put_varint(out, reason.code());
                RESET
            }
            Self::More { .. } => MORE,
        }
    }

    fn decode(kind: u8, mut fields: Bytes) -> Result<Self, WireError> {
        let input = &mut fields;
        let flow = FlowId(varint(input, "flow")?);
        let frame = match kind {
            REQUEST => Self::Request { flow, head: request(input)? },
            CONNECT => Self::Connect { flow, authority: text(input, "authority")? },
            RESPONSE => Self::Response { flow, head: response(input)? },
            ANNOUNCE => {
                let push = FlowId(varint(input, "push")?);
                Self::Announce { page: flow, push, url: url(input)? }
            }
            DATA => {
                let offset = varint(input, "offset")?;
                Self::Data { flow, offset, bytes: std::mem::take(input) }
            }
            END => Self::End { flow, length: varint(input, "length")? },
            CREDIT => Self::Credit { flow, limit: varint(input, "limit")? },
            RESET => Self::Reset { flow, reason: ResetReason::from_code(varint(input, "reason")?)? },
            MORE => Self::More { flow },
            kind => return Err(WireError::UnknownKind { kind }),
        };
        if fields.is_empty() { Ok(frame) } else { Err(WireError::Malformed { field: "end of frame" }) }
    }
}

impl ResetReason {
    const ALL: [Self; 4] = [Self::Cancelled, Self::Unreachable, Self::Forbidden, Self::Broken];

    /// What a client is told when nothing of the response had come yet (RFC 9110 §15).
    pub fn status(self) -> StatusCode {
        match self {
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Cancelled | Self::Unreachable | Self::Broken => StatusCode::BAD_GATEWAY,
        }
    }

    fn code(self) -> u64 {
        Self::ALL.iter().position(|reason| *reason == self).expect("ALL holds every reason") as u64
    }

    fn from_code(code: u64) -> Result<Self, WireError> {
        let index = usize::try_from(code).unwrap_or(usize::MAX);
        Self::ALL.get(index).copied().ok_or(WireError::Malformed { field: "reason" })
    }
}

/// Bytes in order, as they come, to frames.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: BytesMut,
}

impl Decoder {
    /// Takes the stream's next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete frame.
    ///
    /// # Errors
    /// The bytes are no frame; the stream cannot be read any further.
    pub fn poll(&mut self) -> Result<Option<Frame>, WireError> {
        let mut input = &self.buffer[..];
        let Some((&kind, rest)) = input.split_first() else { return Ok(None) };
        // Before the rest is waited for: what speaks another protocol may never send it.
        if kind > MORE {
            return Err(WireError::UnknownKind { kind });
        }
        input = rest;
        let Some(length) = try_varint(&mut input) else { return Ok(None) };
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= MAX_FRAME_BYTES)
            .ok_or(WireError::TooLong { length })?;
        if input.len() < length {
            return Ok(None);
        }
        let header = self.buffer.len() - input.len();
        self.buffer.advance(header);
        Frame::decode(kind, self.buffer.split_to(length).freeze()).map(Some)
    }
}

/// Bytes that a number takes.
pub const fn varint_bytes(number: u64) -> u64 {
    match number {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// RFC 9000 §16: the two highest bits of the first byte say how many bytes follow.
fn put_varint(out: &mut BytesMut, number: u64) {
    match varint_bytes(number) {
        1 => out.put_uint(number, 1),
        2 => out.put_uint(number | 1 << 14, 2),
        4 => out.put_uint(number | 2 << 30, 4),
        // Larger numbers do not occur: they would be offsets beyond 4 EB.
        _ => out.put_u64((number & (u64::MAX >> 2)) | 3 << 62),
    }
}

fn try_varint(input: &mut &[u8]) -> Option<u64> {
    let length = 1_usize << (input.first()? >> 6);
    let bytes = input.get(..length)?;
    let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    *input = &input[length..];
    Some(number & (u64::MAX >> (66 - 8 * length)))
}

fn varint(input: &mut Bytes, field: &'static str) -> Result<u64, WireError> {
    let mut rest = &input[..];
    let number = try_varint(&mut rest).ok_or(WireError::Malformed { field })?;
    let used = input.len() - rest.len();
    input.advance(used);
    Ok(number)
}

fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn byte_string(input: &mut Bytes, field: &'static str) -> Result<Bytes, WireError> {
    let length = usize::try_from(varint(input, field)?).ok().filter(|length| *length <= input.len());
    length.map(|length| input.split_to(length)).ok_or(WireError::Malformed { field })
}

fn text(input: &mut Bytes, field: &'static str) -> Result<String, WireError> {
    let bytes = byte_string(input, field)?;
    String::from_utf8(bytes.into()).map_err(|_| WireError::Malformed { field })
}

fn url(input: &mut Bytes) -> Result<Url, WireError> {
    Url::parse(&text(input, "url")?).map_err(|_| WireError::Malformed { field: "url" })
}

fn put_request(out: &mut BytesMut, head: &RequestHead) {
    put_varint(out, head.has_body.into());
    put_bytes(out, head.method.as_str().as_bytes());
    put_bytes(out, format!("http://{}{}", head.authority(), head.target).as_bytes());
    put_headers(out, &head.headers);
}

fn request(input: &mut Bytes) -> Result<RequestHead, WireError> {
    let has_body = match varint(input, "body flag")? {
        0 => false,
        1 => true,
        _ => return Err(WireError::Malformed { field: "body flag" }),
    };
    let method = Method::from_bytes(&byte_string(input, "method")?);
    let method = method.map_err(|_| WireError::Malformed { field: "method" })?;
    let (url, target) = head::absolute(&text(input, "target")?).ok_or(WireError::Malformed { field: "target" })?;
    Ok(RequestHead { method, url, target, headers: headers(input)?, has_body })
}

fn response(input: &mut Bytes) -> Result<ResponseHead, WireError> {
    let status = u16::try_from(varint(input, "status")?).ok().and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(WireError::Malformed { field: "status" })?;
    Ok(ResponseHead { status, headers: headers(input)? })
}

fn put_headers(out: &mut BytesMut, headers: &HeaderMap) {
    put_varint(out, headers.len() as u64);
    for (name, value) in headers {
        put_bytes(out, name.as_str().as_bytes());
        put_bytes(out, value.as_bytes());
    }
}

fn headers(input: &mut Bytes) -> Result<HeaderMap, WireError> {
    let malformed = || WireError::Malformed { field: "headers" };
    let count = varint(input, "headers")?;
    if count > MAX_HEADERS as u64 {
        return Err(malformed());
    }
    let mut headers = HeaderMap::new();
    for _ in 0..count {
        let name = HeaderName::from_lowercase(&byte_string(input, "header name")?).map_err(|_| malformed())?;
        let value = HeaderValue::from_maybe_shared(byte_string(input, "header value")?).map_err(|_| malformed())?;
        headers.try_append(name, value).map_err(|_| malformed())?;
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header_map() -> impl Strategy<Value = HeaderMap> {
        prop::collection::vec(("[a-z][a-z0-9-]{0,12}", "[ -~]{0,20}"), 0..6).prop_map(|pairs| {
            let pair = |(name, value): (String, String)| {
                (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
            };
            let mut headers = HeaderMap::new();
            for (name, value) in pairs.into_iter().map(pair) {
                headers.append(name, value);
            }
            headers
        })
    }

    fn some_url() -> impl Strategy<Value = Url> {
        "x[a-z0-9/?=&.%é]{0,30}".prop_map(|path| Url::parse("http://a.example/").unwrap().join(&path).unwrap())
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let number = 0_u64..1 << 62;
        let flow = number.clone().prop_map(FlowId);
        let reasons = prop::sample::select(ResetReason::ALL.to_vec());
        let bytes = prop::collection::vec(any::<u8>(), 0..100).prop_map(Bytes::from);
        let request = (flow.clone(), "[A-Z]{1,10}", some_url(), header_map(), any::<bool>());
        prop_oneof![
            request.prop_map(|(flow, method, url, headers, has_body)| {
                let head = RequestHead::get(url, headers).unwrap();
                Frame::Request { flow, head: RequestHead { method: method.parse().unwrap(), has_body, ..head } }
            }),
            (flow.clone(), "[a-z.:0-9]{0,20}").prop_map(|(flow, authority)| Frame::Connect { flow, authority }),
            (flow.clone(), 100_u16..1000, header_map()).prop_map(|(flow, status, headers)| Frame::Response {
                flow,
                head: ResponseHead { status: StatusCode::from_u16(status).unwrap(), headers },
            }),
            (flow.clone(), flow.clone(), some_url()).prop_map(|(page, push, url)| Frame::Announce { page, push, url }),
            (flow.clone(), number.clone(), bytes).prop_map(|(flow, offset, bytes)| Frame::Data { flow, offset, bytes }),
            (flow.clone(), number.clone()).prop_map(|(flow, length)| Frame::End { flow, length }),
            (flow.clone(), number).prop_map(|(flow, limit)| Frame::Credit { flow, limit }),
            (flow.clone(), reasons).prop_map(|(flow, reason)| Frame::Reset { flow, reason }),
            flow.prop_map(|flow| Frame::More { flow }),
        ]
    }

    fn decoded(bytes: &[u8], size: usize) -> Result<Vec<Frame>, WireError> {
        let mut decoder = Decoder::default();
        let mut frames = Vec::new();
        for piece in bytes.chunks(size) {
            decoder.push(piece);
            while let Some(frame) = decoder.poll()? {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    #[test]
    fn lengths_and_kinds_are_bounded() {
        assert_eq!(decoded(&[DATA, 0xff, 0, 0, 0, 0, 0, 0, 0, 0], 99), Err(WireError::TooLong { length: 0x3f << 56 }));
        assert_eq!(decoded(&[9, 1, 0], 99), Err(WireError::UnknownKind { kind: 9 }));
        assert_eq!(decoded(&[END, 3, 0, 0, 0], 99), Err(WireError::Malformed { field: "end of frame" }));
    }

    #[test]
    fn heads_cannot_smuggle_another_line() {
        let smuggled = b"\x00\x01\x0bx\x01a\x05b\r\nc:";
        assert_eq!(
            headers(&mut Bytes::from_static(&smuggled[1..])).unwrap_err(),
            WireError::Malformed { field: "header name" }
        );
        assert!(headers(&mut Bytes::from_static(b"\x01\x01a\x04b\r\nc")).is_err());
        assert!(headers(&mut Bytes::from_static(b"\x01\x03a:b\x01c")).is_err());
        assert!(headers(&mut Bytes::from_static(b"\x01\x01a\x01c")).is_ok());
    }

    #[test]
    fn numbers_are_written_as_quic_writes_them() {
        // RFC 9000 appendix A.1.
        for (number, bytes) in [
            (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..]),
            (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
            (15_293, &[0x7b, 0xbd]),
            (37, &[0x25]),
        ] {
            let mut out = BytesMut::new();
            put_varint(&mut out, number);
            assert_eq!(out, bytes);
            assert_eq!(try_varint(&mut &bytes[..]), Some(number));
        }
    }

    proptest! {
        #[test]
        fn frames_survive_the_way(frames in prop::collection::vec(frame(), 0..5), size in 1_usize..200) {
            let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).flatten().collect();
            prop_assert_eq!(decoded(&bytes, size), Ok(frames));
        }

        #[test]
        fn segment_headers_survive_the_way(flow: u64, index: u64) {
            let header = SegmentHeader { flow: FlowId(flow), index };
            prop_assert_eq!(SegmentHeader::decode(header.encode()), header);
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes: Vec<u8>, size in 1_usize..20) {
            let _ = decoded(&bytes, size);
        }

        #[test]
        fn damaged_frames_are_decoded_or_refused(frame in frame(), at: usize, value: u8) {
            let mut bytes: Vec<u8> = frame.encode().into_iter().flatten().collect();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = decoded(&bytes, bytes.len());
        }
    }
}
