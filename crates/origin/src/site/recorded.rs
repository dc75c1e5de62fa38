//! One recorded response, made ready to be given again.
//!
//! Status and fields are the recorded ones but for what belongs to the connection or the message's framing (RFC 9110 §7.6.1), which is
//! made anew, and for what would lead elsewhere or be of another time: `Alt-Svc`, pinned keys, `Date` and, where it is the only word on
//! freshness, `Expires`, which becomes the `max-age` that it meant. Recordings hold bodies decoded; where the recorded response was coded
//! and the client accepts gzip, gzip is sent, whichever coding it was. A body that was not recorded is filler that weighs as much
//! on the wire as the recorded one, or more if it has no room for the names of what that loaded. Answers that were given because the browser had something already (304) are given in full.

use super::conditions::Validators;
use super::representation::Representation;
use crate::body::Source;
use crate::filler::Filler;
use crate::names::Names;
use crate::request::Asked;
use bytes::Bytes;
use farhop_web::har::{Entry, Header};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::StatusCode;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, EXPIRES, HeaderMap,
    HeaderName, HeaderValue, LAST_MODIFIED, RANGE, VARY,
};
use std::io::Write;
use std::time::Duration;

/// A response that can be given any number of times.
#[derive(Debug)]
pub(super) struct Recorded {
    status: StatusCode,
    headers: HeaderMap,
    validators: Validators,
    content: Content,
    /// How long the recorded response took to begin.
    pub(super) wait: Duration,
}

#[derive(Debug)]
enum Content {
    /// Decoded and, where it was coded and that saves something, as gzip.
    Body {
        plain: Bytes,
        gzip: Option<Bytes>,
    },
    Filler(Filler),
}

/// Fields of a connection or of a message's framing, and those that would mislead.
const DROPPED: [&str; 15] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "content-encoding",
    "date",
    "alt-svc",
    "alternate-protocol",
    "public-key-pins",
    "public-key-pins-report-only",
];

impl Recorded {
    /// Prepares an entry's response; `None` if there was none, or one that no server sends on its own (1xx). `seed` and `names` are for filler.
    pub(super) fn new(entry: &mut Entry, seed: u64, names: &Names) -> Option<Self> {
        let recorded = entry.status.and_then(|status| StatusCode::from_u16(status).ok());
        let recorded = recorded.filter(|status| !status.is_informational())?;
        let status = if recorded == StatusCode::NOT_MODIFIED { StatusCode::OK } else { recorded };
        let mut headers = headers(entry);
        let content = content(entry, &headers, seed, names);
        if let Content::Body { plain, gzip } = &content {
            say_unicode(&mut headers, plain);
            if gzip.is_some() {
                vary_by_coding(&mut headers);
            }
        }
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let validators = Validators {
            etag: text(ETAG).map(str::to_owned),
            last_modified: text(LAST_MODIFIED).and_then(|date| httpdate::parse_http_date(date).ok()),
        };
        Some(Self { status, headers, validators, content, wait: entry.timings.wait.unwrap_or_default() })
    }

    /// How much better it is to give this answer than another that was recorded for the same request: rather one with its body than one
    /// without, rather success than a redirection that led back.
    pub(super) fn rank(&self) -> u8 {
        match (self.status.is_success(), &self.content) {
            (true, Content::Body { .. }) => 2,
            (true, Content::Filler(_)) => 1,
            (false, _) => 0,
        }
    }

    /// Whether the body is longer than the recorded one.
    pub(super) fn is_longer(&self) -> bool {
        matches!(&self.content, Content::Filler(filler) if filler.excess() > 0)
    }

    /// What this answer offers to a client.
    pub(super) fn representation(&self, asked: &Asked<'_>) -> Representation {
        let mut headers = self.headers.clone();
        let mut status = self.status;
        // A part was recorded; who does not ask for one takes it for the whole.
        if status == StatusCode::PARTIAL_CONTENT && !asked.headers.contains_key(RANGE) {
            headers.remove(CONTENT_RANGE);
            status = StatusCode::OK;
        }
        let (source, length) = match &self.content {
            Content::Filler(filler) => (Source::Filler(filler.clone()), filler.length()),
            // Ranges are of the representation that is sent: a client that wants one gets it of the plain bytes.
            Content::Body { gzip: Some(gzip), .. }
                if accepts_gzip(asked.headers) && !asked.headers.contains_key(RANGE) =>
            {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                (Source::Bytes(gzip.clone()), gzip.len() as u64)
            }
            Content::Body { plain, .. } => (Source::Bytes(plain.clone()), plain.len() as u64),
        };
        Representation { status, headers, validators: self.validators.clone(), source, length }
    }
}

/// The recorded fields that can be sent again.
fn headers(entry: &Entry) -> HeaderMap {
    let nominated = entry.response_header("connection").unwrap_or_default();
    let is_dropped = |name: &str| {
        let is_nominated = nominated.split(',').any(|option| option.trim().eq_ignore_ascii_case(name));
        is_nominated || DROPPED.contains(&name.to_ascii_lowercase().as_str())
    };
    let mut headers = HeaderMap::new();
    for Header { name, value } in &entry.response_headers {
        // Pseudo-header fields (`:status`) are no names.
        let Ok(key) = HeaderName::try_from(name.as_str()) else { continue };
        // Recorders join fields of one name by line feeds.
        let values = value.split('\n').map(str::trim).filter_map(|value| HeaderValue::try_from(value).ok());
        for value in values.filter(|_| !is_dropped(name)) {
            // A map has room for some ten thousand fields, a real head has some dozen.
            let _ = headers.try_append(&key, value);
        }
    }
    if !headers.contains_key(CONTENT_TYPE) {
        let media_type = entry.media_type.as_deref().filter(|word| word.contains('/') && *word != "x-unknown");
        if let Some(value) = media_type.and_then(|word| HeaderValue::try_from(word).ok()) {
            headers.insert(CONTENT_TYPE, value);
        }
    }
    freshen(&mut headers, entry.response_header("date"));
    headers
}

/// A date at which the response would have become stale is over by now: says instead how long it would have been fresh.
fn freshen(headers: &mut HeaderMap, date: Option<&str>) {
    let Some(expires) = headers.remove(EXPIRES) else { return };
    let mut policies = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    if policies.any(|policy| policy.contains("max-age") || policy.contains("no-store") || policy.contains("no-cache")) {
        return;
    }
    let time = |text: Option<&str>| httpdate::parse_http_date(text?).ok();
    // What is no date (`0`, `-1`) has expired (RFC 9111 §5.3).
    let fresh =
        time(expires.to_str().ok()).zip(time(date)).and_then(|(expires, date)| expires.duration_since(date).ok());
    let policy = format!("max-age={}", fresh.unwrap_or_default().as_secs());
    headers.append(CACHE_CONTROL, HeaderValue::try_from(policy).expect("letters and digits make a value"));
}

fn content(entry: &mut Entry, headers: &HeaderMap, seed: u64, names: &Names) -> Content {
    let coding = entry.response_header("content-encoding").map(str::trim);
    let was_coded = coding.is_some_and(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"));
    match entry.body.take() {
        Some(body) => {
            let gzip = if was_coded { gzip(&body) } else { None };
            Content::Body { plain: body.into(), gzip }
        }
        None => {
            let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let length = entry.body_on_the_wire().unwrap_or_default().get();
            // More than a file can have is no size.
            Content::Filler(Filler::new(media_type, length.min(i64::MAX as u64), seed, names))
        }
    }
}

/// The body as gzip, if that is shorter.
fn gzip(body: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(body).and_then(|()| encoder.finish());
    written.ok().filter(|coded| coded.len() < body.len()).map(Bytes::from)
}

/// Recorders turn texts into Unicode: a body of other than ASCII characters is not in the character set it was sent in.
fn say_unicode(headers: &mut HeaderMap, body: &[u8]) {
    let Some(media_type) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return };
    let Some((essence, parameters)) = media_type.split_once(';') else { return };
    let charset =
        parameters.split(';').map(str::trim).find(|parameter| parameter.to_ascii_lowercase().starts_with("charset="));
    let is_unicode = charset.is_none_or(|charset| charset.to_ascii_lowercase().contains("utf-8"));
    if is_unicode || body.is_ascii() || std::str::from_utf8(body).is_err() {
        return;
    }
    if let Ok(value) = HeaderValue::try_from(format!("{essence}; charset=utf-8")) {
        headers.insert(CONTENT_TYPE, value);
    }
}

fn vary_by_coding(headers: &mut HeaderMap) {
    let mut varied = headers.get_all(VARY).iter().filter_map(|value| value.to_str().ok());
    if !varied.any(|fields| fields.to_ascii_lowercase().contains("accept-encoding") || fields.trim() == "*") {
        headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// RFC 9110 §12.5.3: gzip, or anything, with a weight above zero.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut any = false;
    for coding in lists.flat_map(|list| list.split(',')) {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let is_wanted = !is_zero(weight);
        match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => return is_wanted,
            "*" => any = is_wanted,
            _ => {}
        }
    }
    any
}

/// `q=0` with any number of decimals.
fn is_zero(weight: &str) -> bool {
    let value = weight.trim().strip_prefix("q=").or_else(|| weight.trim().strip_prefix("Q="));
    value.is_some_and(|value| value.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(value: &str) -> bool {
        accepts_gzip(&HeaderMap::from_iter([(ACCEPT_ENCODING, value.parse().unwrap())]))
    }

    #[test]
    fn gzip_is_sent_to_who_wants_it() {
        assert!(accepted("br, gzip;q=0.5"));
        assert!(accepted("br, *"));
        assert!(!accepted("gzip;q=0.000, *"));
        assert!(!accepted("identity"));
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn heads_beyond_measure_are_cut() {
        let field = |number: usize| format!(r#"{{"name": "x-{number}", "value": "a"}}"#);
        let fields: Vec<_> = (0..40_000).map(field).collect();
        let request = r#"{"method": "GET", "url": "http://a.test/"}"#;
        let response = format!(r#"{{"status": 200, "headers": [{}]}}"#, fields.join(","));
        let file = format!(r#"{{"log": {{"entries": [{{"request": {request}, "response": {response}}}]}}}}"#);
        let mut har = farhop_web::har::Har::parse(file.as_bytes()).unwrap();
        let recorded = Recorded::new(&mut har.entries[0], 0, &Names::default()).unwrap();
        assert!(recorded.headers.len() > 10_000);
    }

    #[test]
    fn freshness_is_kept_where_dates_have_passed() {
        let freshened = |fields: &[(HeaderName, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(name, value.parse().unwrap());
            }
            freshen(&mut headers, Some("Mon, 02 Nov 2026 10:00:00 GMT"));
            assert!(!headers.contains_key(EXPIRES));
            headers
                .get_all(CACHE_CONTROL)
                .iter()
                .map(|value| value.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(freshened(&[(EXPIRES, "Mon, 02 Nov 2026 11:00:00 GMT")]), "max-age=3600");
        assert_eq!(freshened(&[(EXPIRES, "0"), (CACHE_CONTROL, "public")]), "public, max-age=0");
        assert_eq!(freshened(&[(EXPIRES, "Mon, 02 Nov 2026 11:00:00 GMT"), (CACHE_CONTROL, "max-age=5")]), "max-age=5");
    }
}
