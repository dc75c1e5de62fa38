//! From what a model draws to a [`Page`].

use crate::distribution::Distribution;
use crate::page::{MAX_SIZE, MAX_TIME};
use crate::{MAX_OBJECTS, Method, Object, Page, Reference};
use farhop_units::{Bytes, random::Dice};
use smol_str::{SmolStr, SmolStrBuilder};
use std::time::Duration;

/// An object as a model describes it.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) name: SmolStr,
    pub(super) media_type: &'static str,
    pub(super) size: Bytes,
    /// Size of the request.
    pub(super) request: Option<Bytes>,
    /// Size of the response's head, where the model's sizes include it.
    pub(super) header: Option<Bytes>,
    /// Number of the host that has it.
    pub(super) host: usize,
    /// Object that names it, and how much of that must have arrived; `None` for the document.
    pub(super) named_by: Option<(usize, Bytes)>,
    /// The browser's time between discovery and request.
    pub(super) delay: Duration,
}

/// The page of these objects on this many hosts. This is the one place that knows what a [`Page`] is made of; sizes and times beyond what
/// a page may have are cut.
pub(super) fn page(drafts: impl Iterator<Item = Draft>, hosts: usize) -> Page {
    let name = |host: usize| if host == 0 { SmolStr::new_static(Page::HOST) } else { numbered("host", host, "") };
    Page { objects: drafts.map(object).collect(), hosts: (0..hosts).map(name).collect() }
}

/// No message is empty, whatever a distribution draws: who asked for nothing, or was sent nothing, would wait for ever.
const SOMETHING: Bytes = Bytes::new(1);

fn object(draft: Draft) -> Object {
    let least = if draft.header == Some(Bytes::ZERO) { SOMETHING } else { Bytes::ZERO };
    let reference = |(object, end): (usize, Bytes)| {
        let end = end.min(MAX_SIZE);
        Reference { object, offset: end, end }
    };
    Object {
        name: draft.name,
        media_type: SmolStr::new_static(draft.media_type),
        size: draft.size.clamp(least, MAX_SIZE),
        reference: draft.named_by.map(reference),
        host: draft.host,
        method: Method::Get,
        request_bytes: draft.request.map(|request| request.max(SOMETHING)),
        response_header_bytes: draft.header,
        think: Duration::ZERO,
        delay: draft.delay.min(MAX_TIME),
    }
}

/// A page of the older models: one document, images that are known as soon as it is complete, all on one host.
pub(super) struct DocumentAndImages<'a> {
    pub(super) requests: &'a Distribution<Bytes>,
    pub(super) document: &'a Distribution<Bytes>,
    pub(super) images: &'a Distribution<Bytes>,
    /// See [`Draft::header`].
    pub(super) header: Option<Bytes>,
    /// How long the browser reads a complete document before it requests the first image.
    pub(super) parsing: Duration,
    /// From the request for an image to the next one's; `None` requests all at once.
    pub(super) gaps: Option<&'a Distribution<Duration>>,
}

/// What is drawn for an object.
struct Drawn {
    size: Bytes,
    request: Bytes,
    /// From the request for the image before.
    gap: Duration,
}

impl DocumentAndImages<'_> {
    /// The page with `count` images, whose object `i` is drawn with `dice(i)`.
    pub(super) fn page(&self, count: usize, dice: impl Fn(usize) -> Dice) -> Page {
        self.assemble(count, |index| {
            let mut dice = dice(index);
            let (size, request) = (self.sizes(index).draw(&mut dice), self.requests.draw(&mut dice));
            Drawn { size, request, gap: self.gaps.map_or(Duration::ZERO, |gaps| gaps.draw(&mut dice)) }
        })
    }

    /// The page with about `count` images, everything at its mean.
    pub(super) fn typical_page(&self, count: f64) -> Page {
        let gap = self.gaps.and_then(Distribution::mean).unwrap_or_default();
        let request = mean(self.requests);
        self.assemble(whole(count), |index| Drawn { size: mean(self.sizes(index)), request, gap })
    }

    const fn sizes(&self, index: usize) -> &Distribution<Bytes> {
        if index == 0 { self.document } else { self.images }
    }

    fn assemble(&self, count: usize, draw: impl Fn(usize) -> Drawn) -> Page {
        let Drawn { size: complete, request, .. } = draw(0);
        let first = Draft { request: Some(request), header: self.header, ..Draft::document(complete) };
        let mut delay = self.parsing;
        let images = (1..=count).map(|index| {
            let Drawn { size, request, gap } = draw(index);
            if index > 1 {
                delay = delay.saturating_add(gap);
            }
            let draft = Draft::new(numbered("i", index, ".png"), "image/png", size);
            Draft { request: Some(request), header: self.header, named_by: Some((0, complete)), delay, ..draft }
        });
        page(core::iter::once(first).chain(images), 1)
    }
}

impl Draft {
    /// An object on the document's host that nothing names, with the scenario's requests and heads.
    pub(super) const fn new(name: SmolStr, media_type: &'static str, size: Bytes) -> Self {
        Self { name, media_type, size, request: None, header: None, host: 0, named_by: None, delay: Duration::ZERO }
    }

    /// The document of a page.
    pub(super) fn document(size: Bytes) -> Self {
        Self::new(SmolStr::new_static("index.html"), "text/html", size)
    }
}

/// A mean size, or the largest possible where it is infinite.
pub(super) fn mean(distribution: &Distribution<Bytes>) -> Bytes {
    distribution.mean().unwrap_or(MAX_SIZE)
}

/// A mean count, which may be infinite.
pub(super) fn mean_count(distribution: &Distribution<f64>) -> f64 {
    distribution.mean().unwrap_or(f64::INFINITY)
}

/// The whole number of objects nearest to `count`, as far as a page has room beside its document.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
pub(super) fn whole(count: f64) -> usize {
    (count.round() as usize).min(MAX_OBJECTS - 1)
}

/// `i1.png`.
pub(super) fn numbered(stem: &str, number: usize, extension: &str) -> SmolStr {
    let mut name = SmolStrBuilder::new();
    name.push_str(stem);
    push_digits(&mut name, number);
    name.push_str(extension);
    name.finish()
}

/// Several times as fast as formatting, which the many names of pages would otherwise wait for.
fn push_digits(text: &mut SmolStrBuilder, number: usize) {
    if number >= 10 {
        push_digits(text, number / 10);
    }
    text.push(char::from(b"0123456789"[number % 10]));
}
