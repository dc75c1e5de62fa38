//! What an entry means beyond its fields: whether it is a document, whether a window went there, where it leads.

use super::{Entry, find};
use crate::page::MAX_SIZE;
use farhop_units::Bytes;
use url::{Position, Url};

/// W3C Fetch Metadata §2.1: browsers say in their requests what they want something for.
const FETCHED_FOR: &str = "sec-fetch-dest";
/// Fetch Standard §2.2.5: `prefetch`, perhaps with parameters, for what a later page may need.
const PURPOSE: &str = "sec-purpose";
/// Chrome's redirections of its own, to HTTPS where a host has asked for that (RFC 6797), have this field.
const OWN_REASON: &str = "non-authoritative-reason";

impl Entry {
    /// The first value of the response's field `name`, whatever the case of either.
    pub fn response_header(&self, name: &str) -> Option<&str> {
        find(&self.response_headers, name)
    }

    /// The first value of the request's field `name`, whatever the case of either.
    pub fn request_header(&self, name: &str) -> Option<&str> {
        find(&self.request_headers, name)
    }

    /// What the body weighed on the wire, by the best that the recording knows: its coded size; else, if it was coded, all that was
    /// transferred (a head too many) or what the response says of it (`Content-Length`), else its own size, else what the response says. A recording
    /// without the response's fields does not say whether it was coded: then what is smaller counts. `None` if the recording knows nothing at all.
    pub fn body_on_the_wire(&self) -> Option<Bytes> {
        let coding = self.response_header("content-encoding").filter(|coding| !coding.eq_ignore_ascii_case("identity"));
        let may_be_coded = coding.is_some() || (self.response_headers.is_empty() && self.status != Some(304));
        let held = self.size.or_else(|| Some(Bytes::new(self.body.as_ref()?.len() as u64)));
        let transferred = self.transferred.filter(|&transferred| may_be_coded && transferred > Bytes::ZERO);
        let coded = transferred.or_else(|| self.declared_size().filter(|_| coding.is_some()));
        match (self.coded_size, coded, held) {
            (Some(size), _, _) => Some(size),
            (None, Some(coded), Some(held)) => Some(coded.min(held)),
            (None, coded, held) => held.or(coded).or_else(|| self.declared_size()),
        }
    }

    /// RFC 9110 §8.6: what the response says that its body weighs, or would, where a browser had it already (304). What HEAD asks for has none,
    /// nor has a response that says so.
    fn declared_size(&self) -> Option<Bytes> {
        let text = self.response_header("content-length")?.trim_matches([' ', '\t']);
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let declared = text.parse().ok().map(Bytes::new).filter(|bytes| is_number && *bytes <= MAX_SIZE)?;
        (self.method != "HEAD" && !matches!(self.status, Some(204 | 205))).then_some(declared)
    }

    /// What a server sees of the URL.
    pub fn address(&self) -> &str {
        address(&self.url)
    }

    /// The media type of the body, with its parameters; empty if unknown.
    pub fn content_type(&self) -> &str {
        self.response_header("content-type").or(self.media_type.as_deref()).unwrap_or_default()
    }

    /// Whether there is or was a body: the browser may have had it already.
    pub fn is_content(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status) || status == 304)
    }

    /// Whether the server said that something is wrong (RFC 9110 §15.5 and §15.6).
    pub fn is_failure(&self) -> bool {
        self.status.is_some_and(|status| (400..600).contains(&status))
    }

    /// Whether the browser has redirected by itself: nothing has left it.
    pub fn is_of_the_browser(&self) -> bool {
        self.response_header(OWN_REASON).is_some()
    }

    /// Whether it is for a page that may come.
    pub fn is_prefetch(&self) -> bool {
        self.request_header(PURPOSE)
            .and_then(|purpose| purpose.split(';').next())
            .is_some_and(|what| what.trim() == "prefetch")
    }

    /// Where a redirection leads; `None` if it is none.
    pub fn redirects_to(&self) -> Option<Url> {
        let is_redirection = self.status.is_some_and(|status| (300..400).contains(&status) && status != 304);
        let recorded = self.response_header("location").or(self.redirect.as_deref());
        self.url.join(recorded.filter(|_| is_redirection)?).ok()
    }

    /// What the browser wanted it for, as far as recorder or request say so: `document`, `script`, `image`, …
    pub fn wanted_for(&self) -> Option<&str> {
        self.resource_type.as_deref().or_else(|| self.request_header(FETCHED_FOR))
    }

    /// Whether a window went there. Recordings do not tell it from a frame otherwise.
    pub fn is_navigation(&self) -> bool {
        self.request_header(FETCHED_FOR) == Some("document")
    }
}

/// What a server sees of a URL.
pub fn address(url: &Url) -> &str {
    &url[..Position::AfterQuery]
}
