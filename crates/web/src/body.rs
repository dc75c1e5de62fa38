//! The bytes of a page's objects: an HTML document with real tags where the page says, random bytes for the rest.
//!
//! The same page and seed give the same bytes on every machine (PCG, no platform maths).

use crate::page::{Object, Page};
use farhop_units::Bytes;
use rand::Rng;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// Room for the document's head, ahead of the first reference.
pub const PRELUDE_BYTES: Bytes = Bytes::new(PRELUDE.len() as u64);

const PRELUDE: &[u8] = b"<!DOCTYPE html><html><head><title>page</title></head><body>";

/// The tag by which the document refers to `object`.
pub fn tag(object: &Object) -> String {
    let name = &object.name;
    match object.media_type.as_str() {
        "text/css" => format!("<link rel=\"stylesheet\" href=\"{name}\">"),
        "text/javascript" | "application/javascript" => format!("<script src=\"{name}\"></script>"),
        _ => format!("<img src=\"{name}\">"),
    }
}

/// The body of object `index`, exactly as long as the page says.
///
/// # Panics
/// If `index` is not an object of `page`.
pub fn render(page: &Page, index: usize, seed: u64) -> Vec<u8> {
    let object = &page.objects[index];
    let length = usize::try_from(object.size.get()).expect("a body that is rendered fits in memory");
    let mut dice = Pcg64Mcg::seed_from_u64(seed ^ (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut body = vec![0; length];
    dice.fill_bytes(&mut body);
    if index == 0 {
        write_document(page, &mut body);
    }
    body
}

/// Turns random bytes into text without markup, then writes the head and the tags over it.
fn write_document(page: &Page, body: &mut [u8]) {
    const LETTERS: &[u8; 32] = b"etaoinshrdlucmfwypvbgkjqxz     \n";
    for byte in body.iter_mut() {
        *byte = LETTERS[usize::from(*byte) % LETTERS.len()];
    }
    let head = PRELUDE.len().min(body.len());
    body[..head].copy_from_slice(&PRELUDE[..head]);
    for object in &page.objects {
        let Some(reference) = object.reference else { continue };
        let tag = tag(object);
        let start = usize::try_from(reference.offset.get()).expect("a checked page's references lie in its document");
        body[start..start + tag.len()].copy_from_slice(tag.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_stand_where_the_page_says() {
        let page = Page::uniform(3, Bytes::new(500)).unwrap();
        let body = String::from_utf8(render(&page, 0, 1)).unwrap();
        assert_eq!(body.len(), 500);
        for index in 1..3 {
            let tag = tag(&page.objects[index]);
            let end = usize::try_from(page.discovered_at(index).get()).unwrap();
            assert_eq!(&body[end - tag.len()..end], tag);
            assert_eq!(body.matches(&tag).count(), 1);
        }
        assert_eq!(body.matches("<img").count(), 2, "filler holds no markup");
    }

    #[test]
    fn bodies_depend_on_the_seed_and_the_object_alone() {
        let page = Page::uniform(3, Bytes::new(500)).unwrap();
        assert_eq!(render(&page, 1, 7), render(&page, 1, 7));
        assert_ne!(render(&page, 1, 7), render(&page, 2, 7));
        assert_ne!(render(&page, 1, 7), render(&page, 1, 8));
        // Pinned: the bytes must be the same on every machine and in every version.
        assert_eq!(&render(&page, 1, 7)[..4], PINNED);
    }

    const PINNED: &[u8] = &[96, 106, 233, 134];

    #[test]
    fn documents_smaller_than_their_head_are_cut() {
        let page = Page::uniform(1, Bytes::new(10)).unwrap();
        assert_eq!(render(&page, 0, 1), b"<!DOCTYPE ");
    }
}
