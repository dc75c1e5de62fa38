//! Bodies that were not recorded: as long as they were, of the kind they were, and nothing that can be compressed away.
//!
//! A script or style sheet is comments, a document is text, and between them stands what makes a browser load what they loaded
//! ([`Names`]), spread evenly. JSON is a text, SVG and XML are an element; fonts are random bytes, which a browser fetches and gives up
//! on; other images are a GIF of one pixel with random bytes after its end: an image that cannot be decoded is not fetched to its end.
//! The same seed gives the same bytes. Any part can be made without the parts before it. A body that has no room for what it must name is
//! longer than it was. Left out: anything to see.

use crate::names::{self, Names};
use bytes::Bytes;
use farhop_web::Language;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// Bytes that are made at a time.
const BLOCK: usize = 64 * 1024;

/// 64 characters that mean nothing in HTML, XML, JSON or a comment.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .";

/// Well-formed as HTML and as XML.
const HEAD: &str =
    r#"<!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title>filler</title></head><body>"#;
const END: &str = "</body></html>";

/// GIF89a §18-27: a screen and an image of one pixel, two colours.
const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// A body of a given length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filler {
    length: u64,
    /// By how much that is more than was asked for.
    excess: u64,
    seed: u64,
    is_text: bool,
    /// What stands in the filler, in order.
    marks: Arc<[Mark]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    place: u64,
    bytes: Bytes,
}

/// What the bytes between `prefix` and `suffix` are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    is_text: bool,
    prefix: &'static [u8],
    suffix: &'static [u8],
}

impl Filler {
    /// Filler of `length` bytes, or more if `names` need them.
    pub(crate) fn new(media_type: &str, length: u64, seed: u64, names: &Names) -> Self {
        let kind = kind(media_type);
        let written = Language::of(media_type).map_or_else(Vec::new, |language| names::write(language, names));
        let must_fit = !written.is_empty();
        let mut marks = vec![Bytes::from_static(kind.prefix)];
        marks.extend(written.into_iter().map(Bytes::from));
        marks.push(Bytes::from_static(kind.suffix));
        let needed: u64 = marks.iter().map(|mark| mark.len() as u64).sum();
        let excess = if must_fit { needed.saturating_sub(length) } else { 0 };
        let length = length + excess;
        let marks = length.checked_sub(needed).map_or_else(Vec::new, |free| spread(marks, free));
        Self { length, excess, seed, is_text: kind.is_text, marks: marks.into() }
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// By how much it is longer than was asked for.
    pub(crate) fn excess(&self) -> u64 {
        self.excess
    }

    /// The bytes from `offset`: at least one, as many as are at hand; none at the end.
    pub(crate) fn from(&self, offset: u64) -> Bytes {
        let index = offset / BLOCK as u64;
        let begin = index * BLOCK as u64;
        let length = self.length.saturating_sub(begin).min(BLOCK as u64) as usize;
        let mut block = vec![0; length];
        Pcg64Mcg::seed_from_u64(self.seed ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15)).fill_bytes(&mut block);
        if self.is_text {
            block.iter_mut().for_each(|byte| *byte = LETTERS[usize::from(*byte % 64)]);
        }
        let first = self.marks.partition_point(|mark| mark.place + mark.bytes.len() as u64 <= begin);
        let marks = self.marks[first..].iter().take_while(|mark| mark.place < begin + length as u64);
        marks.for_each(|mark| overlay(&mut block, begin, mark));
        Bytes::from(block).split_off(((offset - begin) as usize).min(length))
    }
}

/// Places marks in order with `free` bytes between them, about as many between any two.
fn spread(marks: Vec<Bytes>, free: u64) -> Vec<Mark> {
    let gaps = marks.len() as u128 - 1;
    let mut taken = 0;
    let place = |(number, bytes): (usize, Bytes)| {
        let before = u128::from(free) * number as u128 / gaps;
        let place = taken + u64::try_from(before).expect("a part of what is free");
        taken += bytes.len() as u64;
        Mark { place, bytes }
    };
    marks.into_iter().enumerate().map(place).collect()
}

/// Writes what of `mark` lies in the block that begins at `begin`.
fn overlay(block: &mut [u8], begin: u64, mark: &Mark) {
    for (place, &byte) in (mark.place..).zip(&mark.bytes) {
        let inside = place.checked_sub(begin).and_then(|inside| block.get_mut(usize::try_from(inside).ok()?));
        if let Some(target) = inside {
            *target = byte;
        }
    }
}

fn kind(media_type: &str) -> Kind {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let text = |prefix: &'static str, suffix: &'static str| Kind {
        is_text: true,
        prefix: prefix.as_bytes(),
        suffix: suffix.as_bytes(),
    };
    match Language::of(media_type) {
        Some(Language::Html) => return text(HEAD, END),
        Some(Language::Css | Language::Script) => return text("/*", "*/"),
        None => {}
    }
    match essence.as_str() {
        "image/svg+xml" => text("<svg xmlns=\"http://www.w3.org/2000/svg\"><!--", "--></svg>"),
        _ if essence.ends_with("json") => text("\"", "\""),
        _ if essence.ends_with("xml") => text("<filler><!--", "--></filler>"),
        _ if essence.starts_with("text/") => text("", ""),
        _ if essence.starts_with("image/") => Kind { is_text: false, prefix: GIF, suffix: b"" },
        _ => Kind { is_text: false, prefix: b"", suffix: b"" },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{Reference, Role};
    use proptest::prelude::*;

    fn bare(media_type: &str, length: u64, seed: u64) -> Filler {
        Filler::new(media_type, length, seed, &Names::default())
    }

    fn all(filler: &Filler, from: u64) -> Vec<u8> {
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
        let script = String::from_utf8(all(&bare("text/javascript; charset=utf-8", 200_000, 1), 0)).unwrap();
        assert_eq!(script.len(), 200_000);
        assert!(script.starts_with("/*") && script.ends_with("*/") && script.matches("*/").count() == 1);
        let document = String::from_utf8(all(&bare("text/html", 100, 1), 0)).unwrap();
        assert!(!document.contains(['<', '&']));
    }

    #[test]
    fn bodies_too_short_for_a_comment_are_only_letters() {
        assert_eq!(all(&bare("text/css", 3, 1), 0).len(), 3);
        assert!(all(&bare("text/css", 0, 1), 0).is_empty());
    }

    #[test]
    fn images_but_drawings_are_of_one_pixel() {
        let image = all(&bare("image/jpeg", 1000, 1), 0);
        assert!(image.len() == 1000 && image.starts_with(GIF));
        assert_eq!(all(&bare("image/gif", 3, 1), 0).len(), 3);
    }

    fn images(count: u32) -> Names {
        let image = |number| Reference {
            url: format!("http://a.test/{number}.png"),
            role: Role::Image,
            is_shared: false,
            number,
        };
        Names { references: (0..count).map(image).collect(), sheet: 0, sheets: 0 }
    }

    #[test]
    fn names_are_spread_over_the_document() {
        let document = all(&Filler::new("text/html", 100_000, 1, &images(9)), 0);
        let document = String::from_utf8(document).unwrap();
        assert!(document.starts_with("<!DOCTYPE html>") && document.ends_with("</body></html>"));
        let places: Vec<_> = document.match_indices("<img").map(|(place, _)| (place + 500) / 1000 / 10).collect();
        assert_eq!(places, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn documents_without_room_for_what_they_name_are_longer() {
        let names = images(2);
        let tags: usize = names::write(Language::Html, &names).iter().map(String::len).sum();
        let needed = (HEAD.len() + tags + END.len()) as u64;
        let excess = |length| Filler::new("text/html", length, 1, &names).excess();
        assert_eq!((excess(needed), excess(needed - 1), excess(0)), (0, 1, needed));
        assert_eq!(Filler::new("text/html", 0, 1, &Names::default()).length(), 0);
        assert_eq!(Filler::new("image/png", 9, 1, &names).length(), 9, "images name nothing");
    }

    proptest! {
        #[test]
        fn any_part_of_a_document_is_the_same_as_in_the_whole(
            media_type in "text/html|text/css|text/javascript", length in 0..200_000_u64, share in 0.0..1.0, count in 0..40_u32,
        ) {
            let filler = Filler::new(&media_type, length, 1, &images(count));
            let whole = all(&filler, 0);
            prop_assert_eq!(whole.len() as u64, length + filler.excess());
            let offset = (length as f64 * share) as u64;
            prop_assert_eq!(&all(&filler, offset), &whole[offset as usize..]);
        }

        #[test]
        fn any_part_is_the_same_as_in_the_whole(length in 0..200_000_u64, share in 0.0..1.0, seed: u64) {
            let filler = bare("image/svg+xml", length, seed);
            let whole = all(&filler, 0);
            prop_assert_eq!(whole.len() as u64, length);
            let offset = (length as f64 * share) as u64;
            prop_assert_eq!(&all(&filler, offset), &whole[offset as usize..]);
        }
    }
}
