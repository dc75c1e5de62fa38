//! What is loaded: objects, their sizes, where each is named and what else it costs.

use super::parameters::{MOST_HEADER, RecursionError};
use super::ticks::Ticks;
use farhop_scenario::{Object, Page};
use farhop_units::Bytes;
use std::time::Duration;

/// 2⁵⁰ B: sums of these stay far from the end of 64 bits.
const MOST_OBJECT: u64 = 1 << 50;

/// An object of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkloadObject {
    /// Size of the body.
    pub size: Bytes,
    /// The object that names it, and how much of that must have arrived for it to be known; `None` for the document alone.
    pub named: Option<(usize, Bytes)>,
    /// The host that has it; every host has connections of its own.
    pub host: usize,
    /// How urgent it is where requests share a connection; less is more urgent, equals go in the order of discovery.
    pub urgency: u8,
    /// Parts of it are of use before the whole is there, so that it takes turns with what is as urgent.
    pub in_turns: bool,
    /// Size of its request without TCP/IP headers; `None` is that of all.
    pub request: Option<Bytes>,
    /// Size of its response's status line and headers; `None` is that of all.
    pub header: Option<Bytes>,
    /// Boxes read it and learn what it names.
    pub is_document: bool,
    /// Nobody but the client asks for it: no box may, or knows of it.
    pub is_clients: bool,
    /// How long its server thinks.
    pub think: Duration,
    /// How long the browser waits before it asks for it.
    pub delay: Duration,
    /// Length of its URL, by which boxes announce it.
    pub url: Bytes,
}

/// `http://server/image.png`, or one like it.
const USUAL_URL: Bytes = Bytes::new(23);

impl WorkloadObject {
    /// An object of `size` that is like all others.
    pub fn new(size: Bytes, named: Option<(usize, Bytes)>) -> Self {
        let (host, urgency, in_turns, is_document, is_clients) = (0, 0, true, true, false);
        let (request, header, none) = (None, None, Duration::ZERO);
        let (think, delay, url) = (none, none, USUAL_URL);
        Self { size, named, host, urgency, in_turns, request, header, is_document, is_clients, think, delay, url }
    }

    fn check(&self) -> Result<(), RecursionError> {
        let sizes = [
            ("size", Some(self.size), MOST_OBJECT),
            ("request", self.request, MOST_HEADER),
            ("header", self.header, MOST_HEADER),
        ];
        for (name, value, most) in sizes {
            if let Some(value) = value.filter(|value| value.get() > most) {
                return Err(RecursionError::OutOfRange { name, value, most: Bytes::new(most) });
            }
        }
        if self.request == Some(Bytes::ZERO) { Err(RecursionError::ZeroRequest) } else { Ok(()) }
    }
}

/// What is loaded: made once, used for any number of parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    objects: Vec<WorkloadObject>,
    /// For each object what its body names, in the order in which the names end.
    named: Vec<Vec<(u64, usize)>>,
    /// Whether the browser waits before it asks for any of them.
    has_delays: bool,
}

impl Workload {
    /// Objects in any order but with the document first and each after the one that names it: chains (document → style sheet →
    /// font) are as deep as you like.
    ///
    /// # Errors
    /// [`RecursionError::NoObjects`], [`RecursionError::Reference`], an object beyond 2⁵⁰ B.
    pub fn new(objects: &[WorkloadObject]) -> Result<Self, RecursionError> {
        if objects.is_empty() {
            return Err(RecursionError::NoObjects);
        }
        let mut named = vec![Vec::new(); objects.len()];
        for (index, object) in objects.iter().enumerate() {
            object.check()?;
            if let Some((by, at)) = object.named.filter(|_| index > 0) {
                let size =
                    objects.get(by).filter(|_| by < index).ok_or(RecursionError::Reference { object: index, by })?;
                named[by].push((at.get().min(size.size.get()), index));
            }
        }
        named.iter_mut().for_each(|list: &mut Vec<(u64, usize)>| list.sort_unstable());
        let has_delays = objects.iter().any(|object| !object.delay.is_zero());
        Ok(Self { objects: objects.to_vec(), named, has_delays })
    }

    /// The objects of `page`.
    ///
    /// # Errors
    /// As [`Workload::new`].
    pub fn of(page: &Page) -> Result<Self, RecursionError> {
        let object = |object: &Object| WorkloadObject {
            size: object.size,
            named: object.reference.map(|reference| (reference.object, reference.end)),
            host: object.host,
            urgency: object.priority().urgency(),
            in_turns: object.priority().is_incremental(),
            request: object.request_bytes,
            header: object.response_header_bytes,
            is_document: object.is_read_by_boxes(),
            is_clients: !object.is_fetched_by_boxes(),
            think: object.think,
            delay: object.delay,
            url: Bytes::new(("http:///".len() + page.hosts[object.host].len() + object.name.len()) as u64),
        };
        let objects: Vec<WorkloadObject> = page.objects.iter().map(object).collect();
        Self::new(&objects)
    }

    /// One object of `size`.
    pub fn file(size: Bytes) -> Self {
        let file = WorkloadObject::new(size.min(Bytes::new(MOST_OBJECT)), None);
        Self { objects: vec![file], named: vec![Vec::new()], has_delays: false }
    }

    /// Number of objects.
    #[expect(clippy::len_without_is_empty, reason = "a workload always has its document")]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    pub(crate) fn size(&self, object: usize) -> u64 {
        self.objects[object].size.get()
    }

    pub(crate) fn object(&self, object: usize) -> &WorkloadObject {
        &self.objects[object]
    }

    pub(crate) fn has_delays(&self) -> bool {
        self.has_delays
    }

    pub(crate) fn objects(&self) -> &[WorkloadObject] {
        &self.objects
    }

    /// Size of the request for `object`, where that of all is `usual`.
    pub(crate) fn request(&self, object: usize, usual: Bytes) -> u64 {
        self.objects[object].request.unwrap_or(usual).get()
    }

    /// Size of the head of the response with `object`, where that of all is `usual`.
    pub(crate) fn header(&self, object: usize, usual: Bytes) -> u64 {
        self.objects[object].header.unwrap_or(usual).get()
    }

    pub(crate) fn think(&self, object: usize) -> Ticks {
        Ticks::of(self.objects[object].think)
    }

    pub(crate) fn named_by(&self, object: usize) -> &[(u64, usize)] {
        &self.named[object]
    }

    /// Of what `document` names, what boxes that read it may ask for.
    pub(crate) fn fetched_of(&self, document: usize) -> impl Iterator<Item = (u64, usize)> {
        let named = self.named[document].iter().filter(move |_| self.objects[document].is_document);
        named.copied().filter(|(_, object)| !self.objects[*object].is_clients)
    }

    /// Bytes of all bodies.
    pub fn total(&self) -> Bytes {
        Bytes::new(self.objects.iter().fold(0_u64, |sum, object| sum.saturating_add(object.size.get())))
    }
}
