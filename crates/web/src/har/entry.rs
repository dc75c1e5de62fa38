//! One entry, one page: from lenient JSON to types.

use super::json::{Field, short};
use super::timestamp::since_epoch;
use super::{Entry, Header, Initiator, RecordedPage, Timings};
use crate::page::{HEADS, MAX_SIZE, MAX_TIME};
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use farhop_units::Bytes;
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;
use url::Url;

/// Padding is a matter of taste among recorders.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A field's path below the entry or page, and what is wrong with it.
pub(super) type Fault = (&'static str, Cow<'static, str>);

/// Reads an entry, with what it had to be read without; or says why it cannot be used. Takes the body's text out of `value`.
pub(super) fn entry(value: &mut Value) -> Result<(Entry, Vec<Fault>), Fault> {
    let mut faults = Vec::new();
    let body = body(value).unwrap_or_else(|fault| {
        faults.push(fault);
        None
    });
    let entry = Field::new(value);
    let sizes = Sizes::read(entry, &mut faults);
    let (request, response) = (entry.get("request"), entry.get("response"));
    let content = response.get("content");
    let read = Entry {
        page: entry.get("pageref").owned(),
        url: url(request.get("url"))?,
        method: method(request.get("method"))?,
        protocol: response.get("httpVersion").owned().or_else(|| request.get("httpVersion").owned()),
        request_headers: headers(request.get("headers")),
        request_head: sizes.request_head,
        posted: sizes.posted,
        status: status(response.get("status")),
        response_headers: headers(response.get("headers")),
        redirect: response.get("redirectURL").owned().filter(|target| !target.is_empty()),
        response_head: sizes.response_head,
        media_type: content.get("mimeType").owned(),
        size: sizes.held,
        coded_size: sizes.coded(),
        transferred: sizes.transferred,
        body,
        started: entry.get("startedDateTime").text().and_then(since_epoch),
        time: entry.get("time").millis(),
        timings: timings(entry, &mut faults),
        initiator: initiator(entry),
        priority: entry.get("_priority").owned(),
        resource_type: entry.get("_resourceType").owned(),
    };
    Ok((read, faults))
}

fn url(field: Field<'_>) -> Result<Url, Fault> {
    const URL: &str = ".request.url";
    let text = field.text().ok_or((URL, "missing; the entry is left out".into()))?;
    Url::parse(text)
        .map_err(|error| (URL, format!("{:?} is no URL ({error}); the entry is left out", short(text)).into()))
}

fn method(field: Field<'_>) -> Result<String, Fault> {
    const METHOD: &str = ".request.method";
    let text = field.text().ok_or((METHOD, "missing; the entry is left out".into()))?;
    // RFC 9110 §5.6.2: a token.
    let is_token = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    if is_token {
        Ok(text.to_owned())
    } else {
        Err((METHOD, format!("{:?} is no HTTP method; the entry is left out", short(text)).into()))
    }
}

/// RFC 9110 §15: three digits. Browsers write 0 where there was no response.
fn status(field: Field<'_>) -> Option<u16> {
    field.count().filter(|status| (100..=999).contains(status)).and_then(|status| u16::try_from(status).ok())
}

/// The text of the body, decoded if need be. A coding other than base64 is somebody's idea of a character set.
fn body(value: &mut Value) -> Result<Option<Vec<u8>>, Fault> {
    const TEXT: &str = ".response.content.text";
    let Some(content) = value.pointer_mut("/response/content") else { return Ok(None) };
    let is_base64 = Field::new(content).get("encoding").text().is_some_and(|word| word.eq_ignore_ascii_case("base64"));
    let Some(Value::String(text)) = content.get_mut("text").map(Value::take) else { return Ok(None) };
    if !is_base64 {
        return Ok(Some(text.into_bytes()));
    }
    let packed: Vec<u8> = text.into_bytes().into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
    BASE64.decode(packed).map(Some).map_err(|error| (TEXT, format!("{error}; the body is left out").into()))
}

/// The sizes of an entry, as far as they are known and can be: what a page could not hold is a fault, and unknown.
struct Sizes {
    request_head: Option<Bytes>,
    posted: Option<Bytes>,
    response_head: Option<Bytes>,
    /// Of the body when decoded.
    held: Option<Bytes>,
    /// Of the body as transferred.
    coded: Option<Bytes>,
    /// By which the coding made the body smaller.
    saved: Option<Bytes>,
    transferred: Option<Bytes>,
}

impl Sizes {
    fn read(entry: Field<'_>, faults: &mut Vec<Fault>) -> Self {
        let mut up_to = |most: Bytes, path: &'static str| {
            let field = path.split('.').skip(1).fold(entry, Field::get);
            field.size(most).unwrap_or_else(|problem| {
                faults.push((path, format!("{problem}; it counts as unknown").into()));
                None
            })
        };
        let head = Bytes::new(*HEADS.end());
        // Not coded, a body transferred in chunks is larger than it is: a negative saving is as it should be.
        let grew = entry.get("response").get("content").get("compression").is_negative();
        Self {
            request_head: up_to(head, ".request.headersSize"),
            posted: up_to(head, ".request.bodySize"),
            response_head: up_to(head, ".response.headersSize"),
            held: up_to(MAX_SIZE, ".response.content.size"),
            saved: if grew { None } else { up_to(MAX_SIZE, ".response.content.compression") },
            coded: up_to(MAX_SIZE, ".response.bodySize").or(up_to(MAX_SIZE, "._objectSize")),
            transferred: up_to(MAX_SIZE, ".response._transferSize").or(up_to(MAX_SIZE, "._bytesIn")),
        }
    }

    /// Size of the body as transferred. A browser's cache transfers nothing, which says nothing about the body.
    fn coded(&self) -> Option<Bytes> {
        let by_saving = || self.held?.get().checked_sub(self.saved?.get()).map(Bytes::new);
        let known = self.coded.or_else(by_saving);
        known.filter(|&known| known > Bytes::ZERO || self.held.is_none_or(|size| size == Bytes::ZERO))
    }
}

fn headers(field: Field<'_>) -> Vec<Header> {
    let header = |item: Field<'_>| {
        Some(Header { name: item.get("name").owned()?, value: item.get("value").owned().unwrap_or_default() })
    };
    field.items().filter_map(header).collect()
}

fn timings(entry: Field<'_>, faults: &mut Vec<Fault>) -> Timings {
    let mut time = |path: &'static str| {
        let field = path.split('.').skip(1).fold(entry, Field::get);
        field.time(MAX_TIME).unwrap_or_else(|problem| {
            faults.push((path, format!("{problem}; it counts as unknown").into()));
            None
        })
    };
    Timings {
        blocked: time(".timings.blocked"),
        dns: time(".timings.dns"),
        connect: time(".timings.connect"),
        tls: time(".timings.ssl"),
        send: time(".timings.send"),
        wait: time(".timings.wait"),
        receive: time(".timings.receive"),
    }
}

/// Chrome writes an object, for scripts with the stack of their calls; WebPageTest a text beside two more fields.
fn initiator(entry: Field<'_>) -> Option<Initiator> {
    let field = entry.get("_initiator");
    let frame = calls(field.get("stack")).find(|frame| frame.get("url").text().is_some());
    let at = frame.unwrap_or(field);
    let initiator = Initiator {
        kind: field.get("type").owned().or_else(|| entry.get("_initiator_type").owned()),
        url: at.get("url").owned().or_else(|| field.owned()),
        line: at.get("lineNumber").count().or_else(|| entry.get("_initiator_line").count()),
    };
    (initiator.kind.is_some() || initiator.url.is_some()).then_some(initiator)
}

/// The calls on a stack, innermost first, then those on the stacks that made it wait.
fn calls(stack: Field<'_>) -> impl Iterator<Item = Field<'_>> {
    /// As deep as JSON may nest here.
    const DEEPEST: usize = 128;
    let stacks = std::iter::successors(Some(stack), |stack| Some(stack.get("parent"))).take(DEEPEST);
    stacks.flat_map(|stack| stack.get("callFrames").items())
}

/// Reads a page; nothing can refer to one without an `id`.
pub(super) fn page(field: Field<'_>, begin: Duration) -> Result<RecordedPage, Fault> {
    let id = field.get("id").owned().ok_or((".id", "missing; the page is left out".into()))?;
    let timings = field.get("pageTimings");
    let started = field.get("startedDateTime").text().and_then(since_epoch);
    Ok(RecordedPage {
        id,
        title: field.get("title").owned().unwrap_or_default(),
        // A navigation may begin before its first request does; then both begin the recording.
        started: started.map(|started| started.saturating_sub(begin)),
        content_loaded: timings.get("onContentLoad").millis(),
        loaded: timings.get("onLoad").millis(),
    })
}

/// Name and version of a program.
pub(super) fn program(value: &Value) -> Option<String> {
    let (name, version) = (Field::new(value).get("name").text()?, Field::new(value).get("version").text());
    Some(version.map_or_else(|| name.to_owned(), |version| format!("{name} {version}")))
}
