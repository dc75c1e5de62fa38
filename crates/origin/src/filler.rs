//! Bodies that were not recorded: as long as they were, of the kind they were, and nothing that can be compressed away.
//!
//! A script or style sheet is one long comment and a document is text without markup, so that a browser takes them for what they are
//! said to be; JSON is a text, SVG and XML are an element; images and fonts are random bytes, which a browser fetches and gives up on.
//! The same seed gives the same bytes. Any part can be made without the parts before it. Left out: structure that would let anything
//! discover or draw something.

use bytes::Bytes;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Bytes that are made at a time.
const BLOCK: usize = 64 * 1024;

/// 64 characters that mean nothing in HTML, XML, JSON or a comment.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .";

/// A body of a given length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filler {
    length: u64,
    seed: u64,
    kind: Kind,
}

/// What the bytes between `prefix` and `suffix` are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    is_text: bool,
    prefix: &'static str,
    suffix: &'static str,
}

impl Filler {
    pub(crate) fn new(media_type: &str, length: u64, seed: u64) -> Self {
        let mut kind = kind(media_type);
        if length < (kind.prefix.len() + kind.suffix.len()) as u64 {
            (kind.prefix, kind.suffix) = ("", "");
        }
        Self { length, seed, kind }
    }

    pub(crate) fn length(self) -> u64 {
        self.length
    }

    /// The bytes from `offset`: at least one, as many as are at hand; none at the end.
    pub(crate) fn from(self, offset: u64) -> Bytes {
        let index = offset / BLOCK as u64;
        let begin = index * BLOCK as u64;
        let length = self.length.saturating_sub(begin).min(BLOCK as u64) as usize;
        let mut block = vec![0; length];
        Pcg64Mcg::seed_from_u64(self.seed ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15)).fill_bytes(&mut block);
        if self.kind.is_text {
            block.iter_mut().for_each(|byte| *byte = LETTERS[usize::from(*byte % 64)]);
        }
        overlay(&mut block, begin, self.kind.prefix, 0);
        overlay(&mut block, begin, self.kind.suffix, self.length - self.kind.suffix.len() as u64);
        Bytes::from(block).split_off(((offset - begin) as usize).min(length))
    }
}

/// Writes what of `text`, which is at `place` in the body, lies in the block that begins at `begin`.
fn overlay(block: &mut [u8], begin: u64, text: &str, place: u64) {
    for (place, &byte) in (place..).zip(text.as_bytes()) {
        let inside = place.checked_sub(begin).and_then(|inside| block.get_mut(usize::try_from(inside).ok()?));
        if let Some(target) = inside {
            *target = byte;
        }
    }
}

fn kind(media_type: &str) -> Kind {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let text = |prefix, suffix| Kind { is_text: true, prefix, suffix };
    match essence.as_str() {
        "text/css" => text("/*", "*/"),
        "image/svg+xml" => text("<svg xmlns=\"http://www.w3.org/2000/svg\"><!--", "--></svg>"),
        _ if essence.ends_with("javascript") || essence.ends_with("ecmascript") => text("/*", "*/"),
        _ if essence.ends_with("json") => text("\"", "\""),
        _ if essence.ends_with("xml") && essence != "application/xhtml+xml" => text("<filler><!--", "--></filler>"),
        _ if essence.starts_with("text/") || essence == "application/xhtml+xml" => text("", ""),
        _ => Kind { is_text: false, prefix: "", suffix: "" },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(filler: Filler, from: u64) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let more = filler.from(from + body.len() as u64);
            if more.is_empty() {
                return body;
            }
            body.extend_from_slice(&more);
        }
    }

    #[test]
    fn scripts_are_one_comment_and_documents_have_no_markup() {
        let script = String::from_utf8(all(Filler::new("text/javascript; charset=utf-8", 200_000, 1), 0)).unwrap();
        assert_eq!(script.len(), 200_000);
        assert!(script.starts_with("/*") && script.ends_with("*/") && script.matches("*/").count() == 1);
        let document = String::from_utf8(all(Filler::new("text/html", 1000, 1), 0)).unwrap();
        assert!(!document.contains(['<', '&']));
    }

    #[test]
    fn bodies_too_short_for_a_comment_are_only_letters() {
        assert_eq!(all(Filler::new("text/css", 3, 1), 0).len(), 3);
        assert!(all(Filler::new("text/css", 0, 1), 0).is_empty());
    }

    proptest! {
        #[test]
        fn any_part_is_the_same_as_in_the_whole(length in 0..200_000_u64, share in 0.0..1.0, seed: u64) {
            let filler = Filler::new("image/svg+xml", length, seed);
            let whole = all(filler, 0);
            prop_assert_eq!(whole.len() as u64, length);
            let offset = (length as f64 * share) as u64;
            prop_assert_eq!(&all(filler, offset), &whole[offset as usize..]);
        }
    }
}
