//! From what a model draws to a [`Page`].

use crate::distribution::Distribution;
use crate::page::{MAX_SIZE, MAX_TIME};
use crate::{MAX_OBJECTS, Object, Page, Reference};
use core::fmt::Write;
use farhop_units::{Bytes, random::Dice};
use std::time::Duration;

/// An object as a model describes it.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) name: String,
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
pub(super) fn page(drafts: Vec<Draft>, hosts: usize) -> Page {
    let reference =
        |(object, end): (usize, Bytes)| Reference { object, offset: end.min(MAX_SIZE), end: end.min(MAX_SIZE) };
    let object = |draft: Draft| Object {
        name: draft.name,
        media_type: draft.media_type.to_owned(),
        size: draft.size.min(MAX_SIZE),
        reference: draft.named_by.map(reference),
        host: draft.host,
        request_bytes: draft.request,
        response_header_bytes: draft.header,
        think: Duration::ZERO,
        delay: draft.delay.min(MAX_TIME),
    };
    let name = |host: usize| if host == 0 { Page::HOST.to_owned() } else { numbered("host", host, "") };
    Page { objects: drafts.into_iter().map(object).collect(), hosts: (0..hosts).map(name).collect() }
}

/// A page of the older models: one document, images that are known as soon as it is complete, all on one host.
pub(super) struct DocumentAndImages<'a> {
    pub(super) requests: &'a Distribution<Bytes>,
    pub(super) document: &'a Distribution<Bytes>,
    pub(super) images: &'a Distribution<Bytes>,
    /// See [`Draft::header`].
    pub(super) header: Option<Bytes>,
    /// How long the browser reads a complete document before it requests the images.
    pub(super) parsing: Duration,
}

impl DocumentAndImages<'_> {
    /// The page with `count` images, whose object `i` is drawn with `dice(i)`.
    pub(super) fn page(&self, count: usize, dice: impl Fn(usize) -> Dice) -> Page {
        self.assemble(count, |index| {
            let mut dice = dice(index);
            (self.sizes(index).draw(&mut dice), self.requests.draw(&mut dice))
        })
    }

    /// The page with about `count` images, all sizes at their means.
    pub(super) fn typical_page(&self, count: f64) -> Page {
        self.assemble(whole(count), |index| (mean(self.sizes(index)), mean(self.requests)))
    }

    const fn sizes(&self, index: usize) -> &Distribution<Bytes> {
        if index == 0 { self.document } else { self.images }
    }

    fn assemble(&self, count: usize, sizes: impl Fn(usize) -> (Bytes, Bytes)) -> Page {
        let (size, request) = sizes(0);
        let mut drafts = Vec::with_capacity(count + 1);
        drafts.push(Draft { header: self.header, ..document(size, Some(request)) });
        drafts.extend((1..=count).map(|index| {
            let (image, request) = sizes(index);
            Draft {
                name: numbered("i", index, ".png"),
                media_type: "image/png",
                size: image,
                request: Some(request),
                header: self.header,
                host: 0,
                named_by: Some((0, size)),
                delay: self.parsing,
            }
        }));
        page(drafts, 1)
    }
}

/// The document of a page.
pub(super) fn document(size: Bytes, request: Option<Bytes>) -> Draft {
    let (name, media_type) = ("index.html".to_owned(), "text/html");
    Draft { name, media_type, size, request, header: None, host: 0, named_by: None, delay: Duration::ZERO }
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
pub(super) fn numbered(stem: &str, number: usize, extension: &str) -> String {
    let mut name = String::with_capacity(stem.len() + extension.len() + 6);
    write!(name, "{stem}{number}{extension}").expect("a string takes everything");
    name
}
