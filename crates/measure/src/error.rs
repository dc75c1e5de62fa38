//! What can go wrong while measuring. Texts carry the offending value and what was expected.

use farhop_emu::EmuError;
use farhop_proxy::ProxyError;
use farhop_units::Bytes;
use farhop_web::PageError;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// Why a measurement gave no number.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// The emulated network could not be had or broke.
    #[error(transparent)]
    Emulation(#[from] EmuError),
    /// One of the accelerator's boxes could not be started.
    #[error(transparent)]
    Accelerator(#[from] ProxyError),
    /// The accelerator's boxes have not found each other.
    #[error("no tunnel between terminal and gateway after {} s", .after.as_secs_f64())]
    NoTunnel {
        /// How long was waited.
        after: Duration,
    },
    /// A socket or a file failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The client knows no such page or use of HTTP.
    #[error("the measuring client {0}")]
    Unmeasurable(&'static str),
    /// The page cannot be served as bytes.
    #[error("{0}; so the page cannot be written as HTML and style sheets")]
    Unwritable(#[from] PageError),
    /// The page is not on one server.
    #[error("a page on {0} hosts; the origin is one")]
    Hosts(usize),
    /// The page does not fit into memory as often as measuring needs it there.
    #[error("a page of {size} is too large to measure; at most {most}")]
    TooLarge {
        /// All bodies.
        size: Bytes,
        /// What is accepted.
        most: Bytes,
    },
    /// An object's name is no path on one server, or two objects share one.
    #[error("object \"{name}\" {problem}; expected a name of its own that is a relative path")]
    Name {
        /// The object's name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The response to the request for an object was not what HTTP and the scenario demand.
    #[error("object \"{object}\": {problem}")]
    Response {
        /// The object asked for.
        object: String,
        /// What was wrong.
        problem: ResponseProblem,
    },
    /// The terminal did not open a tunnel to the server.
    #[error("answer to CONNECT: {0}")]
    Connect(ResponseProblem),
    /// What came through is not what the origin sent.
    #[error(
        "object \"{object}\" arrived with SHA-256 {received} ({size}); the origin sent {expected} ({expected_size})"
    )]
    Corrupt {
        /// The object.
        object: String,
        /// Hash of what arrived.
        received: String,
        /// Size of what arrived.
        size: Bytes,
        /// Hash of what the origin sent.
        expected: String,
        /// Size of what the origin sent.
        expected_size: Bytes,
    },
    /// A document or a sheet names something that the page does not have.
    #[error("the page refers to {url}, which is no object of it")]
    UnknownReference {
        /// What it refers to.
        url: String,
    },
    /// A body ended without naming objects that it should name.
    #[error("{referrer} does not refer to {}, so a browser would never load it", list(.names))]
    Undiscovered {
        /// What should name them.
        referrer: String,
        /// The objects' names.
        names: Vec<String>,
    },
    /// A load did not end.
    #[error("the page was not loaded after {} s; still missing: {}", .after.as_secs_f64(), list(.missing))]
    Timeout {
        /// How long the client waited.
        after: Duration,
        /// The objects that had not arrived in full.
        missing: Vec<String>,
    },
    /// A load failed.
    #[error("{what}: {source}")]
    Run {
        /// Which load.
        what: String,
        /// Why.
        source: Box<Self>,
    },
    /// A thread of the run panicked.
    #[error("the {0} thread panicked")]
    Panicked(&'static str),
    /// The independent client gave nothing to compare with.
    #[error("no cross-check: {0}")]
    Crosscheck(String),
}

impl MeasureError {
    /// Whether the scenario asks for what cannot be measured: no failure, and no reason to try again.
    pub fn is_beyond_measuring(&self) -> bool {
        matches!(self, Self::Unmeasurable(_) | Self::Unwritable(_) | Self::Hosts(_) | Self::TooLarge { .. })
    }

    /// For `map_err` on an I/O error.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// What was wrong with a response.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ResponseProblem {
    /// The head is not HTTP/1.
    #[error("response head is not HTTP/1: {0}")]
    Malformed(String),
    /// The head does not end.
    #[error("response head of more than {0}")]
    HeadTooLarge(Bytes),
    /// The length cannot be told.
    #[error("response with {0}; expected one Content-Length or Transfer-Encoding: chunked")]
    Length(String),
    /// Another status than 200.
    #[error("status {0}; expected 200")]
    Status(u16),
    /// The body is longer than the object.
    #[error("response body of more than the object's {0}")]
    TooLong(Bytes),
    /// The connection ended before the response did.
    #[error("connection closed before the response was complete")]
    Truncated,
    /// The connection broke before the response was complete.
    #[error("connection lost before the response was complete: {0}")]
    Lost(String),
    /// Bytes that nobody asked for.
    #[error("response without a request")]
    Unsolicited,
}

/// Names for an error text, at most five of them.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_the_object_and_what_was_expected() {
        let response = |problem| MeasureError::Response { object: "i6.png".to_owned(), problem }.to_string();
        assert_eq!(response(ResponseProblem::Status(404)), "object \"i6.png\": status 404; expected 200");
        let names = (0..7).map(|n| format!("i{n}.png")).collect();
        let text = MeasureError::Timeout { after: Duration::from_secs(600), missing: names }.to_string();
        assert_eq!(
            text,
            "the page was not loaded after 600 s; still missing: \"i0.png\", \"i1.png\", \"i2.png\", \"i3.png\", \
             \"i4.png\" and 2 more"
        );
    }
}
