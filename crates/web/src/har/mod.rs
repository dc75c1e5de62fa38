//! Recorded pages: HTTP Archive (HAR) 1.2, as browsers, proxies and test services write it.
//!
//! The format is <http://www.softwareishard.com/blog/har-12-spec/> with what the tools in use make of it: Chrome's `_initiator`,
//! `_priority`, `_resourceType` and `_transferSize`, WebPageTest's underscore fields, `null`, -1 or nothing for what is unknown, a byte
//! order mark, halves of surrogate pairs in texts. Whatever is not essential may be missing or wrong; an entry without a usable URL or
//! method is left out and said to be ([`Har::problems`]), and so is a size that cannot be: then it is unknown. Left out of the format: cookies (they are headers too), the cache's states,
//! posted data, WebSocket messages, server addresses.
//!
//! What a recording says of a page as a graph is in [`Page::from_har`](crate::Page::from_har).
//!
//! Nothing here trusts its input: entries, file size and nesting are bounded, and numbers are checked before they become sizes or times.

mod entry;
mod graph;
mod json;
mod meaning;
mod timestamp;

#[cfg(test)]
mod tests;

pub use graph::{Graph, GraphError};
pub use meaning::address;
pub(crate) use timestamp::since_epoch;

use crate::BYTE_ORDER_MARK;
use crate::page::MAX_OBJECTS;
use core::fmt;
use farhop_units::Bytes;
use json::Field;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use std::time::Duration;
use thiserror::Error;
use url::Url;

/// The largest file that is read. Recordings with all bodies of heavy pages are tenths of it.
pub const MAX_FILE: Bytes = Bytes::new(1_000_000_000);

/// A recording: one or more pages with everything that was requested for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Har {
    /// The program that wrote the file, with its version.
    pub creator: Option<String>,
    /// The browser, with its version, where it is not the creator itself.
    pub browser: Option<String>,
    /// The pages that have an `id`, in the file's order. A proxy records none.
    pub pages: Vec<RecordedPage>,
    /// The requests, in the file's order.
    pub entries: Vec<Entry>,
    /// What could not be used, in the file's order.
    pub problems: Vec<Problem>,
}

/// One navigation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedPage {
    /// By which entries refer to it.
    pub id: String,
    /// Title or address.
    pub title: String,
    /// When the navigation began, from the beginning of the recording.
    pub started: Option<Duration>,
    /// From then to the `DOMContentLoaded` event.
    pub content_loaded: Option<Duration>,
    /// From then to the `load` event.
    pub loaded: Option<Duration>,
}

/// One request with its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// [`RecordedPage::id`] of the page it belongs to.
    pub page: Option<String>,
    /// What was requested.
    pub url: Url,
    /// `GET` and the like.
    pub method: String,
    /// `HTTP/1.1`, `h2`, `h3`, …, as recorded: tools do not agree on the spelling.
    pub protocol: Option<String>,
    /// Fields of the request.
    pub request_headers: Vec<Header>,
    /// Size of the request's head.
    pub request_head: Option<Bytes>,
    /// Size of the request's body.
    pub posted: Option<Bytes>,
    /// Status of the response; `None` if there was none (refused, blocked, cancelled).
    pub status: Option<u16>,
    /// Fields of the response.
    pub response_headers: Vec<Header>,
    /// Where the response redirects to, as recorded beside its fields; relative to the URL.
    pub redirect: Option<String>,
    /// Size of the response's head.
    pub response_head: Option<Bytes>,
    /// Media type of the body, with its parameters.
    pub media_type: Option<String>,
    /// Size of the body when decoded.
    pub size: Option<Bytes>,
    /// Size of the body as transferred, that is with its content coding.
    pub coded_size: Option<Bytes>,
    /// Bytes of the response as transferred, head included.
    pub transferred: Option<Bytes>,
    /// The body, decoded. Recordings may lack any of them.
    pub body: Option<Vec<u8>>,
    /// When the request began, from the beginning of the recording.
    pub started: Option<Duration>,
    /// How long it took in all, as recorded.
    pub time: Option<Duration>,
    /// Where its time went.
    pub timings: Timings,
    /// What caused it.
    pub initiator: Option<Initiator>,
    /// The browser's priority (`VeryHigh`, `Low`, …).
    pub priority: Option<String>,
    /// What the browser wanted it for (`document`, `script`, `image`, …).
    pub resource_type: Option<String>,
}

/// A field of a message's head, as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Name, in any case; recordings of HTTP/2 hold pseudo-header fields (`:status`) as well.
    pub name: String,
    /// Value. Firefox and Chrome join several fields of one name with line feeds.
    pub value: String,
}

/// Where the time of a request went. `None` is "does not apply": no connection was made, or nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timings {
    /// Waiting for a connection.
    pub blocked: Option<Duration>,
    /// Resolving the name.
    pub dns: Option<Duration>,
    /// Connecting, TLS included.
    pub connect: Option<Duration>,
    /// The part of `connect` that TLS took.
    pub tls: Option<Duration>,
    /// Sending the request.
    pub send: Option<Duration>,
    /// From the request's last byte to the response's first: a round trip and the server's thinking.
    pub wait: Option<Duration>,
    /// Receiving the response.
    pub receive: Option<Duration>,
}

impl Timings {
    /// With TLS's time in the connect's. By HAR 1.2 it is; Firefox writes down TCP's alone. It is not if it is the longer one, or if all that took
    /// `whole` is the sum of both and the rest; where that tells nothing, `is_firefox` does.
    fn with_tls_in_connect(self, whole: Option<Duration>, is_firefox: bool) -> Self {
        const ROUNDING: Duration = Duration::from_millis(2);
        let (Some(connect), Some(tls)) = (self.connect, self.tls) else { return self };
        let others = [self.blocked, self.dns, self.send, self.wait, self.receive];
        let within = others.into_iter().flatten().fold(connect, Duration::saturating_add);
        let is = |sum: Duration| whole.is_some_and(|whole| whole.abs_diff(sum) <= ROUNDING);
        let is_apart = tls > connect || (!is(within) && (is(within.saturating_add(tls)) || is_firefox));
        Self { connect: Some(if is_apart { connect.saturating_add(tls) } else { connect }), ..self }
    }
}

/// What caused a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initiator {
    /// `parser`, `script`, `preload`, `redirect`, `other`, …
    pub kind: Option<String>,
    /// The document or script that did.
    pub url: Option<String>,
    /// Where in it, counted from 1 by some tools and from 0 by others.
    pub line: Option<u64>,
}

/// Something in the file that cannot be used and was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: the path of a field, e.g. `log.entries[17].request.url`.
    pub field: String,
    /// What is wrong, and what became of it.
    pub problem: String,
}

impl Problem {
    fn new(whole: fmt::Arguments<'_>, (field, problem): entry::Fault) -> Self {
        Self { field: format!("{whole}{field}"), problem: problem.into_owned() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}

/// Why a file is no recording.
#[derive(Debug, Error)]
pub enum HarError {
    /// Larger than any recording.
    #[error("a HAR file of {0}; at most {MAX_FILE}")]
    TooLarge(Bytes),
    /// Not JSON, or not the JSON of a HAR; with line, column and what was expected there.
    #[error("not a HAR file: {0}")]
    Json(#[from] serde_json::Error),
}

impl Har {
    /// Reads a HAR file.
    ///
    /// # Errors
    /// It is too large, is not JSON, has no `log.entries`, or too many of them.
    pub fn parse(file: &[u8]) -> Result<Self, HarError> {
        let size = Bytes::new(file.len() as u64);
        if size > MAX_FILE {
            return Err(HarError::TooLarge(size));
        }
        let text = json::without_lone_surrogates(file.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(file));
        let file: File = serde_json::from_slice(&text)?;
        Ok(file.log.into())
    }
}

fn find<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value.as_str())
}

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    #[serde(default)]
    creator: Value,
    #[serde(default)]
    browser: Value,
    #[serde(default)]
    pages: Value,
    entries: Entries,
}

impl From<Log> for Har {
    fn from(log: Log) -> Self {
        let Entries { mut entries, problems, begin } = log.entries;
        let (creator, browser) = (entry::program(&log.creator), entry::program(&log.browser));
        let is_firefox = [&creator, &browser].into_iter().flatten().any(|name| name.starts_with("Firefox"));
        for entry in &mut entries {
            entry.started = entry.started.map(|started| started.saturating_sub(begin));
            entry.timings = entry.timings.with_tls_in_connect(entry.time, is_firefox);
        }
        let mut pages = Vec::new();
        let mut of_pages = Vec::new();
        for (index, page) in Field::new(&log.pages).items().enumerate() {
            match entry::page(page, begin) {
                Ok(page) => pages.push(page),
                Err(fault) => of_pages.push(Problem::new(format_args!("log.pages[{index}]"), fault)),
            }
        }
        Self { creator, browser, pages, entries, problems: [of_pages, problems].concat() }
    }
}

/// The entries, each freed of its JSON as soon as it is read.
#[derive(Default)]
struct Entries {
    entries: Vec<Entry>,
    problems: Vec<Problem>,
    /// Earliest start, from the Unix epoch.
    begin: Duration,
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the array `entries`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Entries, A::Error> {
        let mut read = Entries::default();
        let mut index = 0;
        while let Some(mut value) = sequence.next_element::<Value>()? {
            if index == MAX_OBJECTS {
                return Err(de::Error::custom(format_args!("more than {MAX_OBJECTS} entries")));
            }
            let problem = |fault: entry::Fault| Problem::new(format_args!("log.entries[{index}]"), fault);
            match entry::entry(&mut value) {
                Ok((entry, faults)) => {
                    read.problems.extend(faults.into_iter().map(problem));
                    read.entries.push(entry);
                }
                Err(fault) => read.problems.push(problem(fault)),
            }
            index += 1;
        }
        read.begin = read.entries.iter().filter_map(|entry| entry.started).min().unwrap_or_default();
        Ok(read)
    }
}
