//! What loaded what: from a recording to the names that filler in place of its bodies must hold.
//!
//! Recordings of browsers say what caused a request: a document, a style sheet, a script (HAR's `_initiator`). Whatever of these has no
//! body names what it caused; what is there does so by itself. What something unknown caused, the page's document names; and if a page
//! has no causes at all, its document names all that came later. In a recording without pages, a page begins with each navigation. What browsers ask for unasked (icons of sites, preflights) or because
//! of a redirection is named by nobody, and so is what is not served. Nothing is named twice on a page, and only what came later: frames
//! do not nest without end. Left out: the `Referer` field, which is cut to the origin by default.

use super::hosts::Located;
use crate::names::{Language, Names, Reference, Role};
use farhop_web::har::{Entry, Har};
use http::Method;
use std::collections::{BTreeMap, BTreeSet};
use url::{Position, Url};

/// W3C Fetch Metadata §2.1: browsers say in their requests what they want something for.
const FETCHED_FOR: &str = "sec-fetch-dest";

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

/// The media type of an entry's body, with its parameters.
fn media_type(entry: &Entry) -> &str {
    entry.response_header("content-type").or(entry.media_type.as_deref()).unwrap_or_default()
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
        for (place, &index) in order.iter().enumerate().filter(|(_, index)| is_content(&entries[**index])) {
            contents.entry(address(&entries[index].url)).or_insert(place);
        }
        let mut documents: Vec<_> = (0..order.len()).filter(|&place| is_document(&entries[order[place]])).collect();
        let first = documents.first().copied();
        documents.retain(|&place| Some(place) == first || is_navigation(&entries[order[place]]));
        let redirected = order.iter().filter_map(|&index| target(&entries[index])).collect();
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
            if !named.insert(address(&entry.url)) {
                continue;
            }
            let namer = self.order[namer];
            names[namer].references.push(reference(entry, place));
            if Language::of(media_type(&self.entries[namer])) == Some(Language::Css) {
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
        if !is_caused || !is_nameable(entry) || self.redirected.contains(address(&entry.url)) {
            return None;
        }
        let known = self.initiator(place).filter(|&cause| self.names_something(cause));
        let namer = known.or_else(|| self.document(place))?;
        let comes_later = namer < place && address(&self.entry(namer).url) != address(&entry.url);
        (comes_later && self.entry(namer).body.is_none()).then_some(namer)
    }

    /// The place of the document that the window showed when what is at `place` was asked for.
    fn document(&self, place: usize) -> Option<usize> {
        let later = self.documents.partition_point(|&document| document < place);
        self.documents[..later].last().copied()
    }

    /// Whether what is at `place` names, with its body or with filler.
    fn names_something(&self, place: usize) -> bool {
        Language::of(media_type(self.entry(place))).is_some()
    }

    /// The place of what caused the request at `place`, if that is part of the page.
    fn initiator(&self, place: usize) -> Option<usize> {
        let url = Url::parse(self.entry(place).initiator.as_ref()?.url.as_ref()?).ok()?;
        self.contents.get(address(&url)).copied().filter(|&cause| cause < place)
    }
}

/// What a server sees of a URL.
fn address(url: &Url) -> &str {
    &url[..Position::AfterQuery]
}

/// Whether there is or was a body: the browser may have had it already.
fn is_content(entry: &Entry) -> bool {
    entry.status.is_some_and(|status| (200..300).contains(&status) || status == 304)
}

fn is_document(entry: &Entry) -> bool {
    let is_html = Language::of(media_type(entry)) == Some(Language::Html);
    is_html && role(entry) == Role::Document && is_content(entry) && entry.method == Method::GET.as_str()
}

/// Whether a window went there. Recordings do not tell it from a frame otherwise.
fn is_navigation(entry: &Entry) -> bool {
    entry.request_header(FETCHED_FOR) == Some("document")
}

fn is_media(entry: &Entry) -> bool {
    let media_type = media_type(entry).trim_start().to_ascii_lowercase();
    media_type.starts_with("video/") || media_type.starts_with("audio/")
}

/// Where a redirection leads.
fn target(entry: &Entry) -> Option<String> {
    let is_redirection = entry.status.is_some_and(|status| (300..400).contains(&status));
    let target = entry.url.join(entry.response_header("location").filter(|_| is_redirection)?).ok()?;
    Some(address(&target).to_owned())
}

/// Whether a browser can be made to ask for it, and will get an answer.
fn is_nameable(entry: &Entry) -> bool {
    let is_answered = entry.status.is_some_and(|status| status >= 200);
    entry.method == Method::GET.as_str() && is_answered && !is_navigation(entry) && Located::new(&entry.url).is_ok()
}

fn reference(entry: &Entry, place: usize) -> Reference {
    Reference {
        url: address(&entry.url).to_owned(),
        role: role(entry),
        is_shared: entry.response_header("access-control-allow-origin").is_some(),
        number: u32::try_from(place).unwrap_or(u32::MAX),
    }
}

/// As what the browser wanted it, or else as what it came.
fn role(entry: &Entry) -> Role {
    match entry.resource_type.as_deref().or_else(|| entry.request_header(FETCHED_FOR)) {
        Some("document" | "iframe" | "frame") => Role::Document,
        Some("stylesheet" | "style") => Role::Stylesheet,
        Some("script") => Role::Script,
        Some("image") => Role::Image,
        Some("font") => Role::Font,
        Some(_) => Role::Data,
        None => role_by_type(media_type(entry)),
    }
}

fn role_by_type(media_type: &str) -> Role {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match Language::of(&essence) {
        Some(Language::Html) => Role::Document,
        Some(Language::Css) => Role::Stylesheet,
        Some(Language::Script) => Role::Script,
        None if essence.starts_with("image/") => Role::Image,
        // RFC 8081, and what fonts were called before: `application/x-font-woff`, `application/vnd.ms-fontobject`.
        None if essence.starts_with("font/") || essence.contains("font") => Role::Font,
        None => Role::Data,
    }
}
