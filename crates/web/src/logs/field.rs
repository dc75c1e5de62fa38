//! Fields of log lines, one after the other.

use crate::page::MAX_SIZE;
use farhop_units::Bytes;
use std::time::Duration;

/// What is left of a line.
pub(super) struct Fields<'a> {
    rest: &'a str,
}

impl<'a> Fields<'a> {
    pub(super) const fn of(line: &'a str) -> Self {
        Self { rest: line }
    }

    /// The text up to the next blanks; `None` at the end of the line.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start_matches([' ', '\t']);
        let end = rest.find([' ', '\t']).unwrap_or(rest.len());
        let word = &rest[..end];
        self.rest = &rest[end..];
        (!word.is_empty()).then_some(word)
    }

    /// The text before a mark that has a blank before it.
    pub(super) fn before(&mut self, mark: char) -> Option<&'a str> {
        let is_mark = |(place, _): &(usize, &str)| self.rest[..*place].ends_with([' ', '\t']);
        let (place, _) = self.rest.match_indices(mark).find(is_mark)?;
        let (before, rest) = self.rest.split_at(place);
        self.rest = rest;
        Some(before.trim_matches([' ', '\t']))
    }

    /// The text between two marks, as it stands: a backslash keeps the character behind it from closing.
    pub(super) fn between(&mut self, open: char, close: char) -> Option<&'a str> {
        let inside = self.rest.trim_start_matches([' ', '\t']).strip_prefix(open)?;
        let mut escaped = false;
        for (place, c) in inside.char_indices() {
            if c == close && !escaped {
                self.rest = &inside[place + c.len_utf8()..];
                return Some(&inside[..place]);
            }
            escaped = c == '\\' && !escaped;
        }
        None
    }
}

/// Seconds with up to nine digits behind the point.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos = fraction.bytes().chain([b'0'; 9]).take(9).fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let whole: u64 = whole.parse().ok()?;
    Some(Duration::from_nanos(whole.checked_mul(1_000_000_000)?.checked_add(nanos)?))
}

/// A number of bytes, no more than a body of a page may have.
pub(super) fn bytes(text: &str) -> Option<Bytes> {
    digits(text).map(Bytes::new).filter(|size| *size <= MAX_SIZE)
}

/// A number without sign.
pub(super) fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// A status code; 0 means that there was no response.
pub(super) fn status(text: &str) -> Option<Option<u16>> {
    let code = digits(text)?;
    match u16::try_from(code) {
        Ok(0) => Some(None),
        Ok(code) if (100..1000).contains(&code) => Some(Some(code)),
        _ => None,
    }
}

/// A field's text, where `-` stands for nothing.
pub(super) fn unless_dash(text: &str) -> Option<Box<str>> {
    (text != "-").then(|| text.into())
}
