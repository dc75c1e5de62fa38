//! From the bytes of an HTML body, as they stream, to the references a browser would follow.
//!
//! Models: the tags through which a browser loads a page's parts (WHATWG HTML §4.2, §4.8, §4.12): `img`, `script`, `link` with a
//! fetching relation, `source`, `video`, `audio`, `track`, `input type=image`, `iframe`, `embed`; the base URL (§4.2.3); references in document order,
//! each URL once. `noscript` counts as text, as for a browser that runs scripts. Never a link that a person would have to click. What a form
//! posts to is told as what it is, for those who may post.
//! Leaves out: what style sheets and scripts refer to, inline styles, frames' own text (`srcdoc`), character encodings other than UTF-8 inside query strings.
//!
//! A tag is reported with the chunk that holds its last byte, so that whoever forwards the chunk after having acted on the references is
//! always ahead of a reader of the forwarded bytes.

use crate::markup;
use lol_html::{MemorySettings, Selector, send};
use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, PoisonError};
use url::Url;

/// Memory for tags cut by a chunk's end and for the stack of open elements. Design point: the largest tags seen on real pages carry
/// images as `data:` URLs of some 100 kB.
const MAX_PARSER_BYTES: usize = 1 << 20;
/// Design point: the largest pages in the HTTP Archive name about 3000 parts (Web Almanac 2025, p99.9).
const MAX_REFERENCES: usize = 4096;
/// RFC 9110 §4.1 asks for 8000 octets at least; longer ones are left to the client.
const MAX_URL_BYTES: usize = 8192;

/// What kind of tag refers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReferenceKind {
    /// `img src`, `input type=image`: the browser loads it.
    Image,
    /// One of several images from which the browser chooses by its screen (`srcset`).
    ImageCandidate,
    /// `script src`.
    Script,
    /// `link rel=stylesheet`.
    Stylesheet,
    /// `link rel=icon` and its kin.
    Icon,
    /// `link rel=preload`, `modulepreload`, `manifest`.
    Preload,
    /// `video poster`.
    Poster,
    /// `video`, `audio`, `source`, `track` with `src`: loaded in ranges, if at all.
    Media,
    /// `iframe src`, `embed src`: a document of its own, or something that a program shows in the page's place for it.
    Frame,
    /// `form method=post action`: what is posted there only a person or a script knows.
    Form,
}

/// A reference to a part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Absolute, without fragment.
    pub url: Url,
    /// The kind of tag.
    pub kind: ReferenceKind,
}

type Sink = fn(&[u8]);

/// Reads one HTML document as it streams.
pub struct Discovery {
    /// `None` after a tag or a nesting beyond the memory limit: nothing more is found, the client asks for the rest itself.
    parser: Option<send::HtmlRewriter<'static, Sink>>,
    found: Arc<Mutex<Found>>,
}

/// What the tags have told so far.
struct Found {
    base: Url,
    base_is_fixed: bool,
    /// With whether it is posted to, which is another request.
    seen: HashSet<(Url, bool), BuildHasherDefault<DefaultHasher>>,
    new: Vec<Reference>,
}

impl Discovery {
    /// A document loaded from `base`.
    pub fn new(base: Url) -> Self {
        let found = Found { base, base_is_fixed: false, seen: HashSet::default(), new: Vec::new() };
        let found = Arc::new(Mutex::new(found));
        let parser = Some(send::HtmlRewriter::new(settings(&found), (|_| ()) as Sink));
        Self { parser, found }
    }

    /// Takes the next bytes of the document and returns what they refer to, in document order, without what was returned before.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<Reference> {
        if let Some(mut parser) = self.parser.take()
            && parser.write(chunk).is_ok()
        {
            self.parser = Some(parser);
        }
        self.take()
    }

    /// Ends the document and returns what its end refers to.
    pub fn finish(mut self) -> Vec<Reference> {
        if let Some(parser) = self.parser.take() {
            // Whatever is wrong with the last tag, no more bytes will come.
            let _ = parser.end();
        }
        self.take()
    }

    fn take(&self) -> Vec<Reference> {
        std::mem::take(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner).new)
    }
}

impl std::fmt::Debug for Discovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discovery").field("reading", &self.parser.is_some()).finish_non_exhaustive()
    }
}

/// One rule: the tags it is about and what to do with one.
type Rule = (&'static str, fn(&mut Found, &Tag<'_>));
const RULES: &[Rule] = &[
    ("base[href]", |found, tag| found.rebase(tag)),
    ("img", |found, tag| found.image(tag)),
    ("script[src]", |found, tag| found.attribute(tag, "src", ReferenceKind::Script)),
    ("link[href]", |found, tag| found.link(tag)),
    ("source", |found, tag| found.media(tag)),
    ("video", |found, tag| found.media(tag)),
    ("audio[src]", |found, tag| found.media(tag)),
    ("track[src]", |found, tag| found.media(tag)),
    ("input[src]", |found, tag| found.image_button(tag)),
    ("iframe[src]", |found, tag| found.attribute(tag, "src", ReferenceKind::Frame)),
    ("embed[src]", |found, tag| found.attribute(tag, "src", ReferenceKind::Frame)),
    ("form[action]", |found, tag| found.form(tag)),
];

fn settings(found: &Arc<Mutex<Found>>) -> send::Settings<'static, 'static> {
    let memory =
        MemorySettings::new().with_preallocated_parsing_buffer_size(0).with_max_allowed_memory_usage(MAX_PARSER_BYTES);
    let settings = send::Settings::new_send().with_memory_settings(memory).with_strict(false);
    RULES.iter().fold(settings, |settings, (selector, rule)| {
        let found = Arc::clone(found);
        let selector: Selector = selector.parse().expect("the rules' selectors are valid");
        let handler = move |element: &mut send::Element<'_, '_>| {
            rule(&mut found.lock().unwrap_or_else(PoisonError::into_inner), &Tag(&|name| element.get_attribute(name)));
            Ok(())
        };
        let handlers = send::ElementContentHandlers::default().element(handler);
        settings.append_element_content_handler((Cow::Owned(selector), handlers))
    })
}

/// A start tag: the raw value of an attribute by its name.
struct Tag<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Tag<'_> {
    fn attribute(&self, name: &str) -> Option<String> {
        self.0(name).map(|value| markup::decode(&value).into_owned())
    }

    fn attribute_is(&self, name: &str, value: &str) -> bool {
        self.attribute(name).is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
    }
}

impl Found {
    /// WHATWG HTML §4.2.3: the first `base` with a `href` counts, and not if it is a `data:` or `javascript:` URL.
    fn rebase(&mut self, tag: &Tag<'_>) {
        let url = tag.attribute("href").and_then(|href| self.base.join(&href).ok());
        if let (false, Some(url)) = (std::mem::replace(&mut self.base_is_fixed, true), url)
            && !matches!(url.scheme(), "data" | "javascript")
        {
            self.base = url;
        }
    }

    fn image(&mut self, tag: &Tag<'_>) {
        self.attribute(tag, "src", ReferenceKind::Image);
        self.candidates(tag, "srcset");
    }

    fn image_button(&mut self, tag: &Tag<'_>) {
        if tag.attribute_is("type", "image") {
            self.attribute(tag, "src", ReferenceKind::Image);
        }
    }

    fn form(&mut self, tag: &Tag<'_>) {
        if tag.attribute_is("method", "post") {
            self.attribute(tag, "action", ReferenceKind::Form);
        }
    }

    fn media(&mut self, tag: &Tag<'_>) {
        self.attribute(tag, "poster", ReferenceKind::Poster);
        self.attribute(tag, "src", ReferenceKind::Media);
        self.candidates(tag, "srcset");
    }

    fn link(&mut self, tag: &Tag<'_>) {
        let relations = tag.attribute("rel").unwrap_or_default().to_ascii_lowercase();
        let relations: Vec<_> = relations.split_ascii_whitespace().collect();
        let Some(kind) = link_kind(&relations) else { return };
        self.attribute(tag, "href", kind);
        self.candidates(tag, "imagesrcset");
    }

    fn attribute(&mut self, tag: &Tag<'_>, name: &str, kind: ReferenceKind) {
        if let Some(value) = tag.attribute(name) {
            self.add(&value, kind);
        }
    }

    fn candidates(&mut self, tag: &Tag<'_>, name: &str) {
        if let Some(value) = tag.attribute(name) {
            markup::srcset_urls(&value).for_each(|url| self.add(url, ReferenceKind::ImageCandidate));
        }
    }

    fn add(&mut self, value: &str, kind: ReferenceKind) {
        // An empty attribute would resolve to the page itself; browsers do not load it.
        if value.trim().is_empty() || value.len() > MAX_URL_BYTES || self.seen.len() >= MAX_REFERENCES {
            return;
        }
        let Ok(mut url) = self.base.join(value) else { return };
        url.set_fragment(None);
        let fetched = matches!(url.scheme(), "http" | "https") && url.as_str().len() <= MAX_URL_BYTES;
        if fetched && self.seen.insert((url.clone(), kind == ReferenceKind::Form)) {
            self.new.push(Reference { url, kind });
        }
    }
}

/// WHATWG HTML §4.6.7: which link relations make a browser load the target; an alternative style sheet is loaded only when chosen.
fn link_kind(relations: &[&str]) -> Option<ReferenceKind> {
    let has = |name| relations.contains(&name);
    if has("stylesheet") {
        return (!has("alternate")).then_some(ReferenceKind::Stylesheet);
    }
    if has("preload") || has("modulepreload") || has("manifest") {
        return Some(ReferenceKind::Preload);
    }
    (has("icon") || has("apple-touch-icon")).then_some(ReferenceKind::Icon)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn base() -> Url {
        Url::parse("http://server.example/dir/page.html?x#y").expect("a URL")
    }

    /// What `html` refers to, fed in chunks of `size` bytes.
    fn chunked(html: &[u8], size: usize) -> Vec<Reference> {
        let mut discovery = Discovery::new(base());
        let mut found: Vec<_> = html.chunks(size).flat_map(|chunk| discovery.push(chunk)).collect();
        found.extend(discovery.finish());
        found
    }

    fn urls(html: &str) -> Vec<String> {
        chunked(html.as_bytes(), html.len().max(1)).into_iter().map(|reference| reference.url.to_string()).collect()
    }

    const PAGE: &str = r#"<!doctype html><html><head><link rel="Stylesheet" href="/s.css"><link rel="shortcut icon" href="f.ico">
        <script src='//cdn.example/a.js'></script><link rel=preload as=font href=x.woff2></head>
        <body><img src="i1.png" srcset="i1.png 1x, i2.png 2x"><video poster=p.jpg><source src="v.mp4"></video>
        <input type="IMAGE" src="b.gif"><img src="../up.png#f"><iframe src=f.html></iframe><embed src=e></body></html>"#;

    #[test]
    fn references_come_in_document_order_with_their_kinds() {
        use ReferenceKind::*;
        let found = chunked(PAGE.as_bytes(), PAGE.len());
        let found: Vec<_> = found.iter().map(|r| (r.url.as_str(), r.kind)).collect();
        assert_eq!(
            found,
            [
                ("http://server.example/s.css", Stylesheet),
                ("http://server.example/dir/f.ico", Icon),
                ("http://cdn.example/a.js", Script),
                ("http://server.example/dir/x.woff2", Preload),
                ("http://server.example/dir/i1.png", Image),
                ("http://server.example/dir/i2.png", ImageCandidate),
                ("http://server.example/dir/p.jpg", Poster),
                ("http://server.example/dir/v.mp4", Media),
                ("http://server.example/dir/b.gif", Image),
                ("http://server.example/up.png", Image),
                ("http://server.example/dir/f.html", Frame),
                ("http://server.example/dir/e", Frame),
            ]
        );
    }

    #[test]
    fn a_tag_is_reported_with_the_chunk_that_holds_its_last_byte() {
        let mut discovery = Discovery::new(base());
        assert_eq!(discovery.push(b"<p>text <img sr"), []);
        assert_eq!(discovery.push(b"c=\"a.png\""), []);
        assert_eq!(discovery.push(b"> more").len(), 1);
        assert_eq!(discovery.finish(), []);
    }

    #[test]
    fn nothing_is_found_where_a_browser_would_load_nothing() {
        for html in [
            "<a href=logout>x</a><form action=/delete></form><form action=/delete method=get></form><iframe srcdoc='<p>'></iframe>",
            "<!-- <img src=a.png> --><noscript><img src=b.png></noscript><script>'<img src=c.png>'</script>",
            "<link rel=canonical href=/x><link rel='alternate stylesheet' href=/y><link rel=dns-prefetch href=//z>",
            "<img src=''><img src='  '><img src=data:image/png;base64,AA><img src=javascript:x><img src='http://'>",
            "<input type=text src=a.png><img alt='<img src=d.png>'",
        ] {
            assert_eq!(urls(html), Vec::<String>::new(), "{html}");
        }
    }

    #[test]
    fn what_is_posted_to_is_told_as_such() {
        let found = chunked(b"<form action=/a METHOD=Post><form action='' method=post><img src=/a><img src=/b>", 3);
        let found: Vec<_> = found.iter().map(|reference| (reference.url.path(), reference.kind)).collect();
        let image = ReferenceKind::Image;
        assert_eq!(found, [("/a", ReferenceKind::Form), ("/a", image), ("/b", image)]);
    }

    #[test]
    fn only_the_first_base_counts() {
        let html = "<base target=x><base href='/other/'><base href='http://wrong.example/'><img src=a.png>";
        assert_eq!(urls(html), ["http://server.example/other/a.png"]);
        assert_eq!(urls("<base href='data:,x'><img src=a.png>"), ["http://server.example/dir/a.png"]);
    }

    #[test]
    fn a_url_is_reported_once() {
        assert_eq!(urls("<img src=a.png><script src=a.png></script><img src='a.png#b'>").len(), 1);
    }

    #[test]
    fn an_endless_tag_ends_the_search_not_the_program() {
        let mut discovery = Discovery::new(base());
        assert_eq!(discovery.push(b"<img src=a.png><img alt='").len(), 1);
        let filler = vec![b'x'; 64 << 10];
        (0..2 * MAX_PARSER_BYTES / filler.len()).for_each(|_| assert_eq!(discovery.push(&filler), []));
        assert_eq!(discovery.push(b"'><img src=b.png>"), [], "the limit was reached before");
        assert_eq!(discovery.finish(), []);
    }

    #[test]
    fn deep_nesting_and_many_references_stay_bounded() {
        let mut discovery = Discovery::new(base());
        let deep = "<video>".repeat(10_000);
        (0..20).for_each(|_| drop(discovery.push(deep.as_bytes())));
        let many: String = (0..2 * MAX_REFERENCES).map(|i| format!("<img src={i}.png>")).collect();
        assert_eq!(urls(&many).len(), MAX_REFERENCES);
    }

    proptest! {
        #[test]
        fn chunking_does_not_change_what_is_found(size in 1_usize..80) {
            prop_assert_eq!(chunked(PAGE.as_bytes(), size), chunked(PAGE.as_bytes(), PAGE.len()));
        }

        #[test]
        fn any_bytes_are_read(html: Vec<u8>, size in 1_usize..80) {
            chunked(&html, size);
        }

        #[test]
        fn any_markup_is_read(html in "(<(img|base|link|source|svg|math|select|template|/p|!--|script) |src=|href=|rel=icon|srcset=|[\"'/ >&a;,:.]){0,60}", size in 1_usize..20) {
            chunked(html.as_bytes(), size);
        }
    }
}
