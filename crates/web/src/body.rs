//! The bytes of a page's objects: HTML with real tags, style sheets with real rules and scripts with real calls where the page says that
//! others are named, random bytes for the rest.
//!
//! The same page and seed give the same bytes on every machine (PCG, no platform maths). References end where the page says that
//! they are known. Filler of documents is text, that of style sheets and scripts a comment, as far as they name anything.

use crate::page::{Language, Object, Page, PageError, Reference, is_font};
use farhop_units::Bytes;
use rand::Rng;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// Room for the document's head, ahead of the first reference.
pub const PRELUDE_BYTES: Bytes = Bytes::new(PRELUDE.len() as u64);

const PRELUDE: &[u8] = b"<!DOCTYPE html><html><head><title>page</title></head><body>";
const COMMENT_START: &[u8] = b"/*";
const COMMENT_END: &[u8] = b"*/";

/// The text by which object `referrer` names object `index`.
///
/// # Panics
/// If either is not an object of `page`, or at a host that the page does not have.
pub fn reference(page: &Page, referrer: usize, index: usize) -> String {
    let (by, object) = (&page.objects[referrer], &page.objects[index]);
    let language = Language::of(&by.media_type).unwrap_or(Language::Html);
    let url = url(page, by, object, language);
    match (language, Language::of(&object.media_type)) {
        (Language::Html, _) if object.is_posted() => format!("<form action=\"{url}\" method=\"post\">"),
        (Language::Script, _) if object.is_posted() => format!("*/fetch(\"{url}\",{{method:\"POST\"}});/*"),
        (Language::Html, Some(Language::Css)) => format!("<link rel=\"stylesheet\" href=\"{url}\">"),
        (Language::Html, Some(Language::Script)) => format!("<script src=\"{url}\"></script>"),
        (Language::Html, _) if object.is_fetched_by_boxes() => format!("<img src=\"{url}\">"),
        (Language::Html, _) => format!("<embed src=\"{url}\">"),
        (Language::Css, Some(Language::Css)) => format!("*/@import\"{url}\";/*"),
        (Language::Css, _) if is_font(&object.media_type) => format!("*/@font-face{{src:url({url})}}/*"),
        (Language::Css, _) => format!("*/a{{background:url({url})}}/*"),
        (Language::Script, Some(Language::Script)) => format!("*/import(\"{url}\");/*"),
        (Language::Script, _) => format!("*/fetch(\"{url}\");/*"),
    }
}

/// The object's URL as the referrer writes it. Names of scripts count from the document, those of style sheets from the sheet: what does
/// not stand at its host's root names others from there.
fn url(page: &Page, by: &Object, object: &Object, language: Language) -> String {
    let name = &object.name;
    if object.host != by.host {
        format!("//{}/{name}", page.hosts[object.host])
    } else if language == Language::Script || by.name.contains('/') {
        format!("/{name}")
    } else {
        name.to_string()
    }
}

/// Whether every body has room for the names of what it refers to: behind its beginning, where the page says, one after the other.
///
/// # Errors
/// The first reference without room.
pub fn check(page: &Page) -> Result<(), PageError> {
    for (referrer, named) in page.references().iter().enumerate() {
        // Each ends before the next begins, the last one before the body's own end.
        let (start, mut limit) = room(&page.objects[referrer]);
        for &(end, index) in named.iter().rev() {
            let needed = Bytes::new(reference(page, referrer, index).len() as u64);
            let begin = end.get().checked_sub(needed.get()).filter(|begin| *begin >= start && end.get() <= limit);
            limit = begin.ok_or_else(|| no_room(page, referrer, index, needed))?;
        }
    }
    Ok(())
}

/// Where references may begin in a body, and where the last one must have ended.
fn room(object: &Object) -> (u64, u64) {
    let size = object.size.get();
    match Language::of(&object.media_type) {
        Some(Language::Css | Language::Script) => {
            (COMMENT_START.len() as u64, size.saturating_sub(COMMENT_END.len() as u64))
        }
        Some(Language::Html) | None => (PRELUDE_BYTES.get(), size),
    }
}

fn no_room(page: &Page, referrer: usize, index: usize, needed: Bytes) -> PageError {
    let (by, object) = (&page.objects[referrer], &page.objects[index]);
    let offset = object.reference.map_or(Bytes::ZERO, |reference| reference.offset);
    let (referrer, name) = (by.name.to_string(), object.name.to_string());
    PageError::Reference { referrer, name, offset, needed, size: by.size }
}

/// The body of object `index`, exactly as long as the page says.
///
/// # Panics
/// If `index` is not an object of `page`, or a reference in it has no room ([`check`]).
pub fn render(page: &Page, index: usize, seed: u64) -> Vec<u8> {
    let object = &page.objects[index];
    let length = usize::try_from(object.size.get()).expect("a body that is rendered fits in memory");
    let mut dice = Pcg64Mcg::seed_from_u64(seed ^ (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut body = vec![0; length];
    dice.fill_bytes(&mut body);
    let can_name = Language::of(&object.media_type).is_some();
    let names = |named: &Object| named.reference.is_some_and(|by| by.object == index);
    if index == 0 || (can_name && page.objects.iter().any(names)) {
        write_text(page, index, &mut body);
    }
    body
}

/// Turns random bytes into text without markup, then writes the frame and the references over it.
fn write_text(page: &Page, index: usize, body: &mut [u8]) {
    const LETTERS: &[u8; 32] = b"etaoinshrdlucmfwypvbgkjqxz     \n";
    for byte in body.iter_mut() {
        *byte = LETTERS[usize::from(*byte) % LETTERS.len()];
    }
    let (head, tail) = match Language::of(&page.objects[index].media_type) {
        Some(Language::Css | Language::Script) => (COMMENT_START, COMMENT_END),
        Some(Language::Html) | None => (PRELUDE, &b""[..]),
    };
    let head_length = head.len().min(body.len());
    body[..head_length].copy_from_slice(&head[..head_length]);
    if let Some(start) = body.len().checked_sub(tail.len()) {
        body[start..].copy_from_slice(tail);
    }
    for (named, object) in page.objects.iter().enumerate() {
        let Some(Reference { end, .. }) = object.reference.filter(|by| by.object == index) else { continue };
        let text = reference(page, index, named);
        let end = usize::try_from(end.get()).expect("a checked page's references lie in their bodies");
        body[end - text.len()..end].copy_from_slice(text.as_bytes());
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
            let tag = reference(&page, 0, index);
            let end = usize::try_from(page.discovered_at(index).get()).unwrap();
            assert_eq!(&body[end - tag.len()..end], tag);
            assert_eq!(body.matches(&tag).count(), 1);
        }
        assert_eq!(body.matches("<img").count(), 2, "filler holds no markup");
    }

    /// A document, a sheet with a sheet, a font and an image, a script with a script and data on another host.
    fn deep() -> Page {
        let list = "name,type,bytes,offset_of_reference_in_html,referrer,host\n\
            index.html,text/html,300,0,,\n\
            s/a.css,text/css,200,70,,\n\
            a.js,text/javascript,200,120,,\n\
            b.css,text/css,9,2,s/a.css,\n\
            f.woff2,font/woff2,9,50,s/a.css,\n\
            i.png,image/png,9,100,s/a.css,\n\
            b.js,text/javascript,9,2,a.js,\n\
            d.json,application/json,9,60,a.js,data.test\n";
        Page::from_csv(list).unwrap()
    }

    #[test]
    fn sheets_and_scripts_name_with_rules_and_calls_outside_their_comments() {
        let text = |index: usize| String::from_utf8(render(&deep(), index, 3)).unwrap();
        for (index, names) in [
            (1, ["@import\"/b.css\";", "@font-face{src:url(/f.woff2)}", "a{background:url(/i.png)}"].as_slice()),
            (2, ["import(\"/b.js\");", "fetch(\"//data.test/d.json\");"].as_slice()),
        ] {
            let body = text(index);
            let code: Vec<&str> = body.split("*/").skip(1).map(|rest| rest.split("/*").next().unwrap()).collect();
            assert_eq!(code[..names.len()], *names);
            assert!(body.starts_with("/*") && body.ends_with("*/") && code[names.len()..] == [""], "{body}");
        }
        assert!(text(0).contains("<link rel=\"stylesheet\" href=\"s/a.css\">"));
    }

    #[test]
    fn what_has_no_room_is_named() {
        let mut page = deep();
        page.objects[1].size = Bytes::new(130);
        assert!(check(&page).unwrap_err().to_string().starts_with("s/a.css of 130 B cannot name i.png at 100 B"));
        let mut page = deep();
        page.objects[3].reference = Some(Reference { object: 1, offset: Bytes::ZERO, end: Bytes::new(20) });
        assert!(check(&page).is_err(), "a sheet begins with its comment");
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
