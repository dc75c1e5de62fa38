//! Conditional requests and ranges: what of a representation a request wants (RFC 9110 §13 and §14).
//!
//! Several ranges at once are answered with the whole representation, which RFC 9110 §14.2 allows; so are ranges that make no sense.

use http::header::{
    HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE,
};
use std::ops::Range;
use std::time::SystemTime;

/// What tells one state of a representation from another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Validators {
    /// Value of the ETag field.
    pub(super) etag: Option<String>,
    /// Value of the Last-Modified field.
    pub(super) last_modified: Option<SystemTime>,
}

/// What of a representation shall be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selection {
    /// All of it: 200.
    Whole,
    /// Some of it: 206.
    Part(Range<u64>),
    /// Nothing, the client has it: 304.
    NotModified,
    /// Nothing, it is not what the client expects: 412.
    PreconditionFailed,
    /// Nothing, it is not as long: 416.
    NotSatisfiable,
}

/// Evaluates a GET's or HEAD's conditions in the order of RFC 9110 §13.2.2, then its range.
pub(super) fn select(request: &HeaderMap, length: u64, validators: &Validators) -> Selection {
    if !may_proceed(request, validators) {
        return Selection::PreconditionFailed;
    }
    if has_it(request, validators) {
        return Selection::NotModified;
    }
    let ranged = text(request, RANGE).filter(|_| range_applies(request, validators));
    ranged.map_or(Selection::Whole, |range| part(range, length))
}

/// If-Match, If-Unmodified-Since.
fn may_proceed(request: &HeaderMap, validators: &Validators) -> bool {
    let etag = validators.etag.as_deref();
    if let Some(wanted) = text(request, IF_MATCH) {
        return wanted.trim() == "*" || etag.is_some_and(|etag| !is_weak(etag) && tags(wanted).any(|tag| tag == etag));
    }
    let since = date(request, IF_UNMODIFIED_SINCE).zip(validators.last_modified);
    since.is_none_or(|(since, modified)| seconds(modified) <= seconds(since))
}

/// If-None-Match, If-Modified-Since.
fn has_it(request: &HeaderMap, validators: &Validators) -> bool {
    let etag = validators.etag.as_deref();
    if let Some(held) = text(request, IF_NONE_MATCH) {
        let matches = |etag: &str| tags(held).any(|tag| opaque(tag) == opaque(etag));
        return held.trim() == "*" || etag.is_some_and(matches);
    }
    let since = date(request, IF_MODIFIED_SINCE).zip(validators.last_modified);
    since.is_some_and(|(since, modified)| seconds(modified) <= seconds(since))
}

/// If-Range: part of another state would be no use.
fn range_applies(request: &HeaderMap, validators: &Validators) -> bool {
    let Some(held) = text(request, IF_RANGE) else { return true };
    match httpdate::parse_http_date(held) {
        Ok(date) => validators.last_modified.is_some_and(|modified| seconds(modified) == seconds(date)),
        Err(_) => validators.etag.as_deref().is_some_and(|etag| !is_weak(etag) && etag == held.trim()),
    }
}

/// RFC 9110 §14.1.2.
fn part(range: &str, length: u64) -> Selection {
    let specified = range.trim().split_once('=').filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes"));
    let Some((first, last)) = specified.and_then(|(_, range)| range.trim().split_once('-')) else {
        return Selection::Whole;
    };
    let range = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..length.min(last.saturating_add(1)),
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(suffix)) if first.is_empty() => length.saturating_sub(suffix)..length,
        _ => return Selection::Whole,
    };
    if range.is_empty() { Selection::NotSatisfiable } else { Selection::Part(range) }
}

/// Digits and nothing else; what is too large for a number is larger than any file.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// The entity tags of a list. Tags may contain commas.
fn tags(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let begin = rest.find("W/\"").into_iter().chain(rest.find('"')).min()?;
        let quote = begin + rest[begin..].find('"')?;
        let end = quote + 1 + rest[quote + 1..].find('"')? + 1;
        let tag = &rest[begin..end];
        rest = &rest[end..];
        Some(tag)
    })
}

fn is_weak(tag: &str) -> bool {
    tag.starts_with("W/")
}

/// A tag without its mark of weakness.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn date(headers: &HeaderMap, name: HeaderName) -> Option<SystemTime> {
    text(headers, name).and_then(|value| httpdate::parse_http_date(value).ok())
}

/// HTTP's dates are whole seconds.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const MODIFIED: &str = "Mon, 02 Nov 2026 10:00:00 GMT";

    fn selection(fields: &[(HeaderName, &str)]) -> Selection {
        let mut request = HeaderMap::new();
        for (name, value) in fields {
            request.append(name, value.parse().unwrap());
        }
        let modified = httpdate::parse_http_date(MODIFIED).unwrap() + Duration::from_millis(300);
        select(&request, 1000, &Validators { etag: Some("\"a,b\"".into()), last_modified: Some(modified) })
    }

    #[test]
    fn what_the_client_has_is_not_sent_again() {
        assert_eq!(selection(&[(IF_NONE_MATCH, "\"x\", W/\"a,b\"")]), Selection::NotModified);
        assert_eq!(selection(&[(IF_NONE_MATCH, "*")]), Selection::NotModified);
        assert_eq!(selection(&[(IF_MODIFIED_SINCE, MODIFIED)]), Selection::NotModified);
        assert_eq!(selection(&[(IF_MODIFIED_SINCE, "Mon, 02 Nov 2026 09:59:59 GMT")]), Selection::Whole);
        // RFC 9110 §13.1.3: the date does not count where there is a tag.
        assert_eq!(selection(&[(IF_NONE_MATCH, "\"a\""), (IF_MODIFIED_SINCE, MODIFIED)]), Selection::Whole);
    }

    #[test]
    fn one_range_is_cut_out_and_nonsense_is_ignored() {
        let range = |range| selection(&[(RANGE, range)]);
        assert_eq!(range("bytes=0-0"), Selection::Part(0..1));
        assert_eq!(range("bytes=990-"), Selection::Part(990..1000));
        assert_eq!(range("bytes=-10"), Selection::Part(990..1000));
        assert_eq!(range("bytes=-5000"), Selection::Part(0..1000));
        assert_eq!(range("bytes=5-99999999999999999999999"), Selection::Part(5..1000));
        assert_eq!(range("bytes=1000-"), Selection::NotSatisfiable);
        assert_eq!(range("bytes=-0"), Selection::NotSatisfiable);
        for ignored in ["bytes=2-1", "bytes=0-1,5-6", "lines=0-1", "bytes", "bytes=-", "bytes=a-b", "bytes=+1-2"] {
            assert_eq!(range(ignored), Selection::Whole, "{ignored}");
        }
    }

    #[test]
    fn a_part_of_another_state_is_not_sent() {
        let part = Selection::Part(0..10);
        let range = (RANGE, "bytes=0-9");
        assert_eq!(selection(&[range.clone(), (IF_RANGE, "\"a,b\"")]), part);
        assert_eq!(selection(&[range.clone(), (IF_RANGE, MODIFIED)]), part);
        assert_eq!(selection(&[range.clone(), (IF_RANGE, "\"c\"")]), Selection::Whole);
        assert_eq!(selection(&[range, (IF_RANGE, "Mon, 02 Nov 2026 11:00:00 GMT")]), Selection::Whole);
        assert_eq!(selection(&[(IF_MATCH, "\"c\"")]), Selection::PreconditionFailed);
        assert_eq!(selection(&[(IF_MATCH, "\"a,b\"")]), Selection::Whole);
    }

    proptest! {
        #[test]
        fn parts_lie_within_the_representation(range in "bytes=[0-9]{0,4}-[0-9]{0,4}|.*", length in 0..2000_u64) {
            if let Selection::Part(part) = part(&range, length) {
                prop_assert!(part.start < part.end && part.end <= length);
            }
            let _ = tags(&range).count();
        }
    }
}
