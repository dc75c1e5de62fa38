//! The little of HTML's attribute syntax that finding references needs: character references and `srcset`.
//!
//! Models: WHATWG HTML §13.5 (character references), restricted to numeric ones and the five names XML shares, which are those seen
//! inside URLs; §2.5.5.2 "srcset attributes" candidate splitting. Leaves out: the other two thousand names, which stay as they are
//! (a URL that holds one is then not recognised, and the client's own request for it goes the long way).

use std::borrow::Cow;

/// Replaces character references in an attribute's value.
pub(crate) fn decode(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        let (before, reference) = rest.split_at(at);
        text.push_str(before);
        match character(&reference[1..]) {
            Some((character, length)) => {
                text.push(character);
                rest = &reference[1 + length..];
            }
            None => {
                text.push('&');
                rest = &reference[1..];
            }
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The character a reference stands for and the reference's length after the ampersand, semicolon included.
fn character(reference: &str) -> Option<(char, usize)> {
    // The longest form accepted is "#x10FFFF"; a bound keeps hostile text from being searched again and again.
    let end = reference.bytes().take(9).position(|byte| byte == b';')?;
    let name = &reference[..end];
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => numeric(name.strip_prefix('#')?)?,
    };
    Some((character, end + 1))
}

fn numeric(digits: &str) -> Option<char> {
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    code.ok().filter(|code| *code != 0).and_then(char::from_u32)
}

/// The URLs of a `srcset` attribute, in order, without their descriptors.
pub(crate) fn srcset_urls(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return None;
        }
        // A URL ends at white space only: commas may be part of it, except at its end.
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, after) = rest.split_at(end);
        let trimmed = url.trim_end_matches(',');
        rest = if trimmed.len() < url.len() { after } else { after_descriptors(after) };
        Some(trimmed)
    })
}

/// What follows a candidate's descriptors: the text after the next comma that stands outside parentheses.
fn after_descriptors(text: &str) -> &str {
    let mut depth = 0_u32;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn character_references_in_urls_are_decoded() {
        assert_eq!(decode("a?b=1&amp;c=2"), "a?b=1&c=2");
        assert_eq!(decode("&#x2F;&#47;&quot;"), "//\"");
        assert_eq!(decode("plain"), "plain");
    }

    #[test]
    fn what_is_no_reference_stays() {
        for text in ["a?b=1&copy=2", "&", "&&;", "&#;", "&#x110000;", "&#0;", "&amp", "&ü;"] {
            assert_eq!(decode(text), text);
        }
    }

    #[test]
    fn srcset_candidates_lose_their_descriptors() {
        let urls = |text| srcset_urls(text).collect::<Vec<_>>();
        assert_eq!(urls("a.png, b.png 2x"), ["a.png", "b.png"]);
        assert_eq!(urls(" a,b.png 100w ,c.png (x, y) 3x, d.png"), ["a,b.png", "c.png", "d.png"]);
        assert_eq!(urls("data:,a 1x"), ["data:,a"]);
        assert_eq!(urls(" , ,"), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn any_text_is_split_and_decoded(text in ".*") {
            let _ = decode(&text);
            prop_assert!(srcset_urls(&text).count() <= text.len());
        }
    }
}
