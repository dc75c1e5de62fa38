//! Sizes of recorded requests and responses on the wire.

use crate::har::{Entry, Header};
use crate::http::HttpConfig;
use crate::page::{HEADS, MAX_SIZE};
use farhop_units::Bytes;

/// Body and head of a response, as far as they are known.
pub(super) fn response(entry: &Entry) -> (Option<Bytes>, Option<Bytes>) {
    let known = |size: &Bytes| *size <= MAX_SIZE;
    let transferred = entry.transferred.filter(|size| *size > Bytes::ZERO);
    let beyond_body = || Some(Bytes::new(transferred?.get().checked_sub(entry.coded_size?.get())?));
    let status_line = "HTTP/1.1 200 OK\r\n".len();
    let head = if is_compressed(entry) {
        beyond_body()
    } else {
        entry.response_head.or_else(beyond_body).or_else(|| fields(&entry.response_headers, status_line))
    };
    let head = head.filter(is_head);
    let body = entry.body_on_the_wire().map(|body| match (entry.coded_size, head) {
        // All that was transferred was taken for the body.
        (None, Some(head)) if Some(body) == transferred => body.saturating_sub(head),
        _ => body,
    });
    (body.filter(known), head)
}

/// A request with what it posted, behind a usual head where its own is not known; nothing if only that could be said.
pub(super) fn request(entry: &Entry) -> Option<Bytes> {
    let posted = entry.posted.filter(|posted| *posted > Bytes::ZERO);
    let head = request_head(entry).or_else(|| posted.map(|_| HttpConfig::DEFAULT.request_bytes))?;
    Some(Bytes::new(head.get().saturating_add(posted.unwrap_or_default().get()))).filter(is_head)
}

/// Unknown where heads are compressed.
fn request_head(entry: &Entry) -> Option<Bytes> {
    if is_compressed(entry) {
        return None;
    }
    let request_line = format!("{} {} HTTP/1.1\r\n", entry.method, crate::har::address(&entry.url)).len();
    entry.request_head.filter(is_head).or_else(|| fields(&entry.request_headers, request_line))
}

fn is_head(size: &Bytes) -> bool {
    HEADS.contains(&size.get())
}

/// HTTP/2 and 3 compress heads (RFC 7541, RFC 9204); recorders write down what they would be in HTTP/1.
fn is_compressed(entry: &Entry) -> bool {
    let protocol = entry.protocol.as_deref().unwrap_or_default().to_ascii_lowercase();
    let version = protocol.trim_start_matches("http/");
    ["h2", "h3", "2", "3"].iter().any(|compressed| version.starts_with(compressed))
}

/// Size of a head of HTTP/1 with these fields behind a first line of `first` bytes; `None` without fields.
fn fields(headers: &[Header], first: usize) -> Option<Bytes> {
    const SEPARATORS: usize = ": \r\n".len();
    let own = headers.iter().filter(|header| !header.name.starts_with(':'));
    let size: usize = own.map(|header| header.name.len() + header.value.len() + SEPARATORS).sum();
    (size > 0).then(|| Bytes::new((first + size + "\r\n".len()) as u64))
}
