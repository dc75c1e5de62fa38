//! What loaded what: from a recording to the names that filler in place of its bodies must hold.
//!
//! Recordings of browsers say what caused a request: a document, a style sheet, a script (HAR's `_initiator`). Whatever of these has no
//! body names what it caused; what is there does so by itself. What something unknown caused, the page's document names; and if a page
//! has no causes at all, its document names all that came later. In a recording without pages, a page begins with each navigation. What browsers ask for unasked (icons of sites, preflights) or because
//! of a redirection is named by nobody, and so is what is not served. Nothing is named twice on a page, and only what came later: frames
//! do not nest without end. Left out: the `Referer` field, which is cut to the origin by default.

use super::hosts::Located;
use crate::names::{Names, Reference, Role};
use farhop_web::har::{Entry, Har, address};
use farhop_web::{Language, is_font};
use http::Method;
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

/// What each entry's filler must name, by the entry's index.
pub(super) fn names(har: &Har) -> Vec<Names> {
    let mut names = vec![Names::default(); har.entries.len()];
    let mut pages: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (index, entry) in har.entries.iter().enumerate() {
        pages.entry(entry.page.as_deref()).or_default().push(index);
    }
    for order in pages.into_values() {
        Page::new(&har.entries, order).name(&mut names);
    }
    names
}

/// The entries of a page.
struct Page<'a> {
    entries: &'a [Entry],
    /// Indices in the order of time.
    order: Vec<usize>,
    /// The place in that order of the first content at a URL.
    contents: BTreeMap<&'a str, usize>,
    /// What the page led to by redirections.
    redirected: BTreeSet<String>,
    /// The places of documents that a window has shown: the first one, and further ones where a recording has no pages.
    documents: Vec<usize>,
    has_initiators: bool,
}

impl<'a> Page<'a> {
    fn new(entries: &'a [Entry], mut order: Vec<usize>) -> Self {
        order.sort_by_key(|&index| (entries[index].started, index));
        let mut contents = BTreeMap::new();
        for (place, &index) in order.iter().enumerate().filter(|(_, index)| entries[**index].is_content()) {
            contents.entry(entries[index].address()).or_insert(place);
        }
        let mut documents: Vec<_> = (0..order.len()).filter(|&place| is_document(&entries[order[place]])).collect();
        let first = documents.first().copied();
        documents.retain(|&place| Some(place) == first || entries[order[place]].is_navigation());
        let redirected = order.iter().filter_map(|&index| entries[index].redirects_to());
        let redirected = redirected.map(|target| address(&target).to_owned()).collect();
        let mut page = Self { entries, order, contents, redirected, documents, has_initiators: false };
        page.has_initiators = (0..page.order.len()).any(|place| page.initiator(place).is_some());
        page
    }

    fn name(&self, names: &mut [Names]) {
        let mut named = BTreeSet::new();
        let mut sheets = BTreeSet::new();
        for place in 0..self.order.len() {
            let Some(namer) = self.namer(place) else { continue };
            let entry = self.entry(place);
            if !named.insert(entry.address()) {
                continue;
            }
            let namer = self.order[namer];
            names[namer].references.push(reference(entry, place));
            if Language::of(self.entries[namer].content_type()) == Some(Language::Css) {
                sheets.insert(namer);
            }
        }
        for (sheet, &index) in sheets.iter().enumerate() {
            (names[index].sheet, names[index].sheets) = (sheet, sheets.len());
        }
    }

    fn entry(&self, place: usize) -> &'a Entry {
        &self.entries[self.order[place]]
    }

    /// The place of what must name the entry at `place`.
    fn namer(&self, place: usize) -> Option<usize> {
        let entry = self.entry(place);
        let has_cause = entry.initiator.as_ref().is_some_and(|cause| cause.url.is_some());
        // Chrome names no cause for what `video` and `audio` load.
        let is_caused = has_cause || !self.has_initiators || is_media(entry);
        if !is_caused || !is_nameable(entry) || self.redirected.contains(entry.address()) {
            return None;
        }
        let known = self.initiator(place).filter(|&cause| self.names_something(cause));
        let namer = known.or_else(|| self.document(place))?;
        let comes_later = namer < place && self.entry(namer).address() != entry.address();
        (comes_later && self.entry(namer).body.is_none()).then_some(namer)
    }

    /// The place of the document that the window showed when what is at `place` was asked for.
    fn document(&self, place: usize) -> Option<usize> {
        let later = self.documents.partition_point(|&document| document < place);
        self.documents[..later].last().copied()
    }

    /// Whether what is at `place` names, with its body or with filler.
    fn names_something(&self, place: usize) -> bool {
        Language::of(self.entry(place).content_type()).is_some()
    }

    /// The place of what caused the request at `place`, if that is part of the page.
    fn initiator(&self, place: usize) -> Option<usize> {
        let url = Url::parse(self.entry(place).initiator.as_ref()?.url.as_ref()?).ok()?;
        self.contents.get(address(&url)).copied().filter(|&cause| cause < place)
    }
}

fn is_document(entry: &Entry) -> bool {
    let is_html = Language::of(entry.content_type()) == Some(Language::Html);
    is_html && role(entry) == Role::Document && entry.is_content() && entry.method == Method::GET.as_str()
}

fn is_media(entry: &Entry) -> bool {
    let media_type = entry.content_type().trim_start().to_ascii_lowercase();
    media_type.starts_with("video/") || media_type.starts_with("audio/")
}

/// Whether a browser can be made to ask for it, and will get an answer.
fn is_nameable(entry: &Entry) -> bool {
    let is_answered = entry.status.is_some_and(|status| status >= 200);
    entry.method == Method::GET.as_str() && is_answered && !entry.is_navigation() && Located::new(&entry.url).is_ok()
}

fn reference(entry: &Entry, place: usize) -> Reference {
    Reference {
        url: entry.address().to_owned(),
        role: role(entry),
        is_shared: entry.response_header("access-control-allow-origin").is_some(),
        number: u32::try_from(place).unwrap_or(u32::MAX),
    }
}

/// As what the browser wanted it, or else as what it came.
fn role(entry: &Entry) -> Role {
    match entry.wanted_for() {
        Some("document" | "iframe" | "frame") => Role::Document,
        Some("stylesheet" | "style") => Role::Stylesheet,
        Some("script") => Role::Script,
        Some("image") => Role::Image,
        Some("font") => Role::Font,
        Some(_) => Role::Data,
        None => role_by_type(entry.content_type()),
    }
}

fn role_by_type(media_type: &str) -> Role {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match Language::of(&essence) {
        Some(Language::Html) => Role::Document,
        Some(Language::Css) => Role::Stylesheet,
        Some(Language::Script) => Role::Script,
        None if essence.starts_with("image/") => Role::Image,
        None if is_font(&essence) => Role::Font,
        None => Role::Data,
    }
}
