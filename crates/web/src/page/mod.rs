//! A page as a graph: its objects, their sizes and hosts, who names whom and where, and who thinks for how long.
//!
//! Pages come from a list ([`Page::from_csv`]), from a recording ([`Page::from_har`]), from a model of users, or are made of equal
//! objects ([`Page::uniform`]). An object is named by one other that stands before it: the document names style sheets and scripts,
//! these name fonts, images and further ones, to any depth. Left out: objects that wait for several others (a script that runs when all
//! sheets are there), what a browser loads by chance or because of a user, redirections other than as documents without content that name
//! their target.

mod list;
mod media;

pub(crate) use list::{HEADS, is_host, is_media_type, is_name};
pub(crate) use media::is_data;
pub use media::{Language, Priority, is_font};

use crate::body;
use crate::http::LONGEST_HEAD;
use farhop_units::Bytes;
use smol_str::{SmolStr, format_smolstr};
use std::time::Duration;
use thiserror::Error;

/// A page: object 0 is the HTML document that names the others, directly or through what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The objects, each after the one that names it; never empty.
    pub objects: Vec<Object>,
    /// Names of the hosts that have them; never empty.
    pub hosts: Vec<SmolStr>,
}

/// One object of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Name, which is also the path on the host without the leading slash.
    pub name: SmolStr,
    /// Media type, e.g. `image/png`.
    pub media_type: SmolStr,
    /// Size of the body.
    pub size: Bytes,
    /// Where the object's name stands; `None` for the document itself.
    pub reference: Option<Reference>,
    /// Index of the host that has it.
    pub host: usize,
    /// By what the client asks for it; [`Object::is_posted`] says who may.
    pub method: Method,
    /// Size of the request without TCP/IP headers, with what it posts; `None` is the scenario's.
    pub request_bytes: Option<Bytes>,
    /// Size of status line and headers of the response; `None` is the scenario's.
    pub response_header_bytes: Option<Bytes>,
    /// From the request's arrival at the server to the response's first byte: the server's own time.
    pub think: Duration,
    /// From the discovery of the object to its request: the browser's own time, in which it parses and runs scripts.
    pub delay: Duration,
}

/// How a client asks for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Anybody may ask, any number of times (RFC 9110 §9.2.1: safe).
    #[default]
    Get,
    /// POST or another method that does something at the server, or that no page's markup makes a browser use.
    Post,
}

/// Where an object is referenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// Index of the object whose body holds the reference.
    pub object: usize,
    /// Offset of the reference's first byte in that body.
    pub offset: Bytes,
    /// How much of that body must have arrived for the reference to be known.
    pub end: Bytes,
}

/// An object that another one names. What is less is named by an earlier object, or known earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// Index of the object whose body names it.
    pub by: usize,
    /// How much of that body must have arrived for it to be known.
    pub end: Bytes,
    /// Its index.
    pub object: usize,
}

/// Why a page cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PageError {
    /// A line of the list is not an object.
    #[error("line {line} of the page list: {problem}")]
    Line {
        /// Line, from 1 (the heading).
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// The list holds no object, or `objects` is zero.
    #[error("a page needs at least one object, its HTML document")]
    Empty,
    /// Too many objects to handle.
    #[error("{0} objects; at most {MAX_OBJECTS}")]
    TooMany(usize),
    /// An object that no server has.
    #[error("an object of {0}; at most {MAX_SIZE}")]
    TooLarge(Bytes),
    /// A body is too small to name others where the list says.
    #[error("{referrer} of {size} cannot name {name} at {offset}: its tag needs {needed}")]
    Reference {
        /// What names it.
        referrer: String,
        /// The object named.
        name: String,
        /// Where its tag should start.
        offset: Bytes,
        /// Length of the tag.
        needed: Bytes,
        /// Size of the body that names it.
        size: Bytes,
    },
    /// An object that does not fit into the graph.
    #[error("object {name}: {problem}")]
    Object {
        /// The object.
        name: String,
        /// What is wrong with it, and what is accepted.
        problem: String,
    },
}

/// More objects than any page has; a bound against mistakes and malice.
pub const MAX_OBJECTS: usize = 100_000;
/// A terabyte: larger objects are mistakes.
pub(crate) const MAX_SIZE: Bytes = Bytes::new(1_000_000_000_000);
/// Longer times of a server or a browser are mistakes.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(24 * 3600);

impl Object {
    /// An object of `size` on the page's first host, named by nothing so far, with the scenario's requests and headers, for which
    /// nobody thinks.
    pub fn new(name: impl Into<SmolStr>, media_type: impl Into<SmolStr>, size: Bytes) -> Self {
        Self {
            name: name.into(),
            media_type: media_type.into(),
            size,
            reference: None,
            host: 0,
            method: Method::Get,
            request_bytes: None,
            response_header_bytes: None,
            think: Duration::ZERO,
            delay: Duration::ZERO,
        }
    }

    /// Whether nobody but the client may ask for it: boxes never fetch it ahead, and never read what it names. What no head can hold is
    /// posted, whatever the method.
    pub fn is_posted(&self) -> bool {
        self.method == Method::Post || self.request_bytes.is_some_and(|bytes| bytes > LONGEST_HEAD)
    }

    /// Whether it is a document: the page's own or a frame's.
    pub fn is_document(&self) -> bool {
        Language::of(&self.media_type) == Some(Language::Html)
    }

    /// Whether boxes that read the document which names it ask for it before the client does. They do not know what scripts ask for, leave
    /// frames to the client, and may not post.
    pub fn is_fetched_by_boxes(&self) -> bool {
        !self.is_document() && !is_data(&self.media_type) && !self.is_posted()
    }

    /// Whether boxes read it for what it names: HTML that anybody may ask for.
    pub fn is_read_by_boxes(&self) -> bool {
        self.is_document() && !self.is_posted()
    }

    /// How urgent the object is to a browser.
    pub fn priority(&self) -> Priority {
        Priority::of(&self.media_type)
    }
}

impl Page {
    /// The host of pages that have one and do not say which: the server of the emulated network.
    pub const HOST: &'static str = "server";

    /// A page of these objects on these hosts.
    ///
    /// # Errors
    /// No object, too many, or one that does not fit into the graph: named by nothing, by something after it, or by what can name
    /// nothing; known beyond the end of what names it; at a host that is not there; larger or slower than anything real.
    pub fn new(objects: Vec<Object>, hosts: Vec<SmolStr>) -> Result<Self, PageError> {
        let document = objects.first().ok_or(PageError::Empty)?;
        if objects.len() > MAX_OBJECTS {
            return Err(PageError::TooMany(objects.len()));
        }
        if document.reference.is_some() {
            return Err(wrong(
                document,
                "the document is named by another object; accepted: the document first".to_owned(),
            ));
        }
        let page = Self { objects, hosts };
        (0..page.objects.len()).try_for_each(|index| page.check(index))?;
        Ok(page)
    }

    /// A document of `size` that names `objects - 1` images of `size`, evenly spread over it.
    ///
    /// # Errors
    /// No object at all, too many, or a document too small to name the others.
    pub fn uniform(objects: usize, size: Bytes) -> Result<Self, PageError> {
        if objects > MAX_OBJECTS {
            return Err(PageError::TooMany(objects));
        }
        if size > MAX_SIZE {
            return Err(PageError::TooLarge(size));
        }
        let room = size.get().saturating_sub(body::PRELUDE_BYTES.get());
        let spacing = room / (objects as u64).saturating_sub(1).max(1);
        let mut page = Self { objects: Vec::with_capacity(objects), hosts: vec![SmolStr::new_static(Self::HOST)] };
        for index in 0..objects {
            let (name, media_type) = match index {
                0 => (SmolStr::new_static("index.html"), "text/html"),
                _ => (format_smolstr!("i{index}.png"), "image/png"),
            };
            page.objects.push(Object::new(name, media_type, size));
            if let Some(before) = (index as u64).checked_sub(1) {
                page.refer(index, 0, Bytes::new(body::PRELUDE_BYTES.get() + spacing * before));
            }
        }
        body::check(&page)?;
        Self::new(page.objects, page.hosts)
    }

    /// Lets `referrer` name the object `index` at `offset`, in as many bytes as that takes.
    fn refer(&mut self, index: usize, referrer: usize, offset: Bytes) {
        let length = body::reference(self, referrer, index).len() as u64;
        let end = Bytes::new(offset.get().saturating_add(length));
        self.objects[index].reference = Some(Reference { object: referrer, offset, end });
    }

    /// Bytes of all bodies.
    pub fn total_bytes(&self) -> Bytes {
        self.objects.iter().map(|object| object.size).sum()
    }

    /// How much of what names object `index` must have arrived for a browser to know that object; nothing for the document.
    pub fn discovered_at(&self, index: usize) -> Bytes {
        self.objects[index].reference.map_or(Bytes::ZERO, |reference| reference.end)
    }

    /// For each object what its body names, in the order in which it is known, with how much of the body must have arrived.
    pub fn references(&self) -> Vec<Vec<(Bytes, usize)>> {
        let mut references = vec![Vec::new(); self.objects.len()];
        for Named { by, end, object } in self.named() {
            references[by].push((end, object));
        }
        references.iter_mut().for_each(|named| named.sort_unstable());
        references
    }

    /// What names each object but the document, in the order of the objects.
    pub fn named(&self) -> impl Iterator<Item = Named> {
        let named = |(object, Reference { object: by, end, .. })| Named { by, end, object };
        self.objects.iter().enumerate().filter_map(|(index, object)| Some((index, object.reference?))).map(named)
    }

    /// Checks what an object says of itself and of what is before it.
    fn check(&self, index: usize) -> Result<(), PageError> {
        let object = &self.objects[index];
        if object.size > MAX_SIZE {
            return Err(PageError::TooLarge(object.size));
        }
        let problem = if object.host >= self.hosts.len() {
            Some(format!("at host {}; the page has {}", object.host, self.hosts.len()))
        } else if object.think.max(object.delay) > MAX_TIME {
            Some("waits for more than 24 h; accepted: less".to_owned())
        } else if index > 0 {
            self.wrong_reference(index)
        } else {
            None
        };
        problem.map_or(Ok(()), |problem| Err(wrong(object, problem)))
    }

    fn wrong_reference(&self, index: usize) -> Option<String> {
        let Some(Reference { object: by, offset, end }) = self.objects[index].reference else {
            return Some(
                "named by nothing; accepted: every object but the document is named by one before it".to_owned(),
            );
        };
        if by >= index {
            return Some(
                "named by an object that is not before it; accepted: what names comes before what it names".to_owned(),
            );
        }
        let Object { name, media_type, size, .. } = &self.objects[by];
        if Language::of(media_type).is_none() {
            return Some(format!(
                "named by {name}, which is {media_type}; accepted: HTML, CSS and JavaScript name others"
            ));
        }
        (offset > end || end > *size).then(|| format!("named from {offset} to {end} of {name}, which has {size}"))
    }
}

fn wrong(object: &Object, problem: String) -> PageError {
    PageError::Object { name: object.name.to_string(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(objects: Vec<Object>) -> Result<Page, PageError> {
        Page::new(objects, vec![Page::HOST.into()])
    }

    fn named(name: &str, media_type: &str, by: usize, end: u64) -> Object {
        let reference = Reference { object: by, offset: Bytes::ZERO, end: Bytes::new(end) };
        Object { reference: Some(reference), ..Object::new(name, media_type, Bytes::kb(1)) }
    }

    fn document() -> Object {
        Object::new("index.html", "text/html", Bytes::kb(1))
    }

    #[test]
    fn sheets_and_scripts_name_further_objects() {
        let chain = [("a.css", "text/css", 0), ("a.woff2", "font/woff2", 1), ("a.js", "text/javascript", 0)];
        let mut objects = vec![document()];
        objects.extend(chain.map(|(name, media_type, by)| named(name, media_type, by, 1000)));
        objects.push(named("b.json", "application/json", 3, 10));
        let page = page(objects).unwrap();
        let at = Bytes::kb(1);
        assert_eq!(page.references()[0], [(at, 1), (at, 3)]);
        assert_eq!((page.references()[3][0], page.discovered_at(4)), ((Bytes::new(10), 4), Bytes::new(10)));
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        let problem = |object: Object| page(vec![document(), object]).unwrap_err().to_string();
        assert!(problem(document()).contains("named by nothing"));
        assert!(problem(named("a.css", "text/css", 1, 0)).contains("not before it"), "itself");
        assert!(problem(named("a.css", "text/css", 7, 0)).contains("not before it"), "what is not there");
        assert!(problem(named("a.css", "text/css", 0, 1001)).contains("from 0 B to 1.001 kB of index.html"));
        assert!(problem(Object { host: 1, ..named("a", "image/png", 0, 0) }).contains("at host 1; the page has 1"));
        let slow = Object { think: MAX_TIME * 2, ..named("a", "image/png", 0, 0) };
        assert!(problem(slow).contains("more than 24 h"));
        let by_image = vec![document(), named("a", "image/png", 0, 0), named("b", "image/png", 1, 0)];
        assert!(page(by_image).unwrap_err().to_string().contains("named by a, which is image/png"));
        assert!(page(vec![named("a", "text/html", 0, 0)]).unwrap_err().to_string().contains("document first"));
        assert_eq!(page(Vec::new()), Err(PageError::Empty));
    }

    #[test]
    fn equal_objects_need_room_for_their_names() {
        assert!(Page::uniform(100, Bytes::new(1000)).is_err());
        assert_eq!(Page::uniform(0, Bytes::new(1000)), Err(PageError::Empty));
        let page = Page::uniform(2, Bytes::new(1000)).unwrap();
        let tag = "<img src=\"i1.png\">".len() as u64;
        assert_eq!(page.discovered_at(1), body::PRELUDE_BYTES + Bytes::new(tag));
    }

    #[test]
    fn no_page_is_larger_than_a_sum_of_bytes_can_say() {
        let (largest, more) = (MAX_SIZE, MAX_SIZE + Bytes::new(1));
        let page = Page::uniform(MAX_OBJECTS, largest).unwrap();
        assert_eq!(page.total_bytes(), largest * MAX_OBJECTS as u64);
        assert_eq!(Page::uniform(1, more), Err(PageError::TooLarge(more)));
        assert!(Page::uniform(MAX_OBJECTS + 1, Bytes::ZERO).is_err());
    }
}
