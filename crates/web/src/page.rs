//! A page as a graph: its objects, their sizes, and where each is referenced.
//!
//! Pages come from a list of sizes ([`Page::from_csv`]) or are made of equal objects ([`Page::uniform`]). Only one level of
//! references is modelled: the document names every other object.

use crate::body;
use farhop_units::Bytes;
use serde::Deserialize;
use std::collections::HashSet;
use thiserror::Error;

/// A page: object 0 is the HTML document that names the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The objects, in the order in which the document names them; never empty.
    pub objects: Vec<Object>,
}

/// One object of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Name, which is also the path on the server without the leading slash.
    pub name: String,
    /// Media type, e.g. `image/png`.
    pub media_type: String,
    /// Size of the body.
    pub size: Bytes,
    /// Where the object's name stands; `None` for the document itself.
    pub reference: Option<Reference>,
}

/// Where an object is referenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// Index of the object whose body holds the reference.
    pub object: usize,
    /// Offset of the referring tag's first byte in that body.
    pub offset: Bytes,
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
    /// The document is too small to name the others where the list says.
    #[error("the document of {size} cannot name {name} at {offset}: its tag needs {needed}")]
    Reference {
        /// The object named.
        name: String,
        /// Where its tag should start.
        offset: Bytes,
        /// Length of the tag.
        needed: Bytes,
        /// Size of the document.
        size: Bytes,
    },
}

/// More objects than any page has; a bound against mistakes and malice.
pub const MAX_OBJECTS: usize = 100_000;
/// A terabyte: larger objects are mistakes.
const MAX_SIZE: Bytes = Bytes::new(1_000_000_000_000);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: String,
    #[serde(rename = "type")]
    media_type: String,
    bytes: u64,
    offset_of_reference_in_html: u64,
}

impl Page {
    /// Reads a list with the heading `name,type,bytes,offset_of_reference_in_html`; the first line is the document.
    ///
    /// # Errors
    /// A line that is no object, a name used twice, or a reference for which the document has no room.
    pub fn from_csv(text: &str) -> Result<Self, PageError> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let mut objects = Vec::new();
        let mut names = HashSet::with_hasher(std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default());
        for record in reader.deserialize::<Record>() {
            let record = record.map_err(|error| line_error(&error))?;
            let line = objects.len() as u64 + 2;
            check(&record).map_err(|problem| PageError::Line { line, problem })?;
            if !names.insert(record.name.clone()) {
                return Err(PageError::Line { line, problem: format!("the name {:?} is used twice", record.name) });
            }
            let offset = Bytes::new(record.offset_of_reference_in_html);
            let reference = (!objects.is_empty()).then_some(Reference { object: 0, offset });
            let (name, media_type, size) = (record.name, record.media_type, Bytes::new(record.bytes));
            objects.push(Object { name, media_type, size, reference });
        }
        Self::checked(objects)
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
        let object = |index: usize| {
            let offset = || Bytes::new(body::PRELUDE_BYTES.get() + spacing * (index as u64 - 1));
            let (name, media_type) = match index {
                0 => ("index.html".to_owned(), "text/html"),
                _ => (format!("i{index}.png"), "image/png"),
            };
            let reference = (index > 0).then(|| Reference { object: 0, offset: offset() });
            Object { name, media_type: media_type.to_owned(), size, reference }
        };
        Self::checked((0..objects).map(object).collect())
    }

    /// The list that [`Page::from_csv`] reads.
    pub fn to_csv(&self) -> String {
        let line = |object: &Object| {
            let offset = object.reference.map_or(0, |reference| reference.offset.get());
            format!("{},{},{},{offset}\n", object.name, object.media_type, object.size.get())
        };
        let lines: String = self.objects.iter().map(line).collect();
        format!("name,type,bytes,offset_of_reference_in_html\n{lines}")
    }

    /// Bytes of all bodies.
    pub fn total_bytes(&self) -> Bytes {
        self.objects.iter().map(|object| object.size).sum()
    }

    /// How much of the document must have arrived for a browser to know object `index`: the end of its tag.
    pub fn discovered_at(&self, index: usize) -> Bytes {
        let object = &self.objects[index];
        let tag = Bytes::new(body::tag(object).len() as u64);
        object.reference.map_or(Bytes::ZERO, |reference| reference.offset + tag)
    }

    fn checked(objects: Vec<Object>) -> Result<Self, PageError> {
        let size = objects.first().ok_or(PageError::Empty)?.size;
        if objects.len() > MAX_OBJECTS {
            return Err(PageError::TooMany(objects.len()));
        }
        let page = Self { objects };
        // Tags may neither overlap nor pass the end of the document: each ends before the next begins.
        let mut end = size;
        for (index, object) in page.objects.iter().enumerate().skip(1).rev() {
            let offset = object.reference.map_or(Bytes::ZERO, |reference| reference.offset);
            if offset < body::PRELUDE_BYTES || page.discovered_at(index) > end {
                let needed = Bytes::new(body::tag(object).len() as u64);
                return Err(PageError::Reference { name: object.name.clone(), offset, needed, size });
            }
            end = offset;
        }
        Ok(page)
    }
}

/// Names become paths and attribute values, so only harmless characters are accepted.
fn check(record: &Record) -> Result<(), String> {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    let name_ok = !record.name.is_empty()
        && record.name.len() <= 200
        && record.name.chars().all(harmless)
        && !record.name.starts_with('/')
        && !record.name.split('/').any(|part| part.is_empty() || part == "." || part == "..");
    if !name_ok {
        return Err(format!("{:?} is no name; accepted: letters, digits, . - _ and single /", record.name));
    }
    let media_ok = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '/');
    if record.media_type.split('/').filter(|part| !part.is_empty()).count() != 2
        || !record.media_type.chars().all(media_ok)
    {
        return Err(format!("{:?} is no media type; accepted: e.g. image/png", record.media_type));
    }
    if record.bytes > MAX_SIZE.get() {
        return Err(PageError::TooLarge(Bytes::new(record.bytes)).to_string());
    }
    Ok(())
}

fn line_error(error: &csv::Error) -> PageError {
    let line = error.position().map_or(1, csv::Position::line);
    let problem = match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => format!("{len} fields instead of {expected_len}"),
        _ => error.to_string(),
    };
    PageError::Line { line, problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADING: &str = "name,type,bytes,offset_of_reference_in_html\n";

    fn problem(lines: &str) -> String {
        Page::from_csv(&format!("{HEADING}{lines}")).unwrap_err().to_string()
    }

    #[test]
    fn list_reads_and_prints_back() {
        let text = format!("{HEADING}index.html,text/html,300,0\na.png,image/png,5000,65\n");
        let page = Page::from_csv(&text).unwrap();
        assert_eq!(page.total_bytes(), Bytes::new(5300));
        assert_eq!(page.discovered_at(1), Bytes::new(65 + "<img src=\"a.png\">".len() as u64));
        assert_eq!(page.to_csv(), text);
    }

    #[test]
    fn broken_lists_say_which_line() {
        assert_eq!(
            problem("index.html,text/html,many,0\n"),
            "line 2 of the page list: field 2: invalid digit found in string"
        );
        assert_eq!(problem("index.html,text/html\n"), "line 2 of the page list: 2 fields instead of 4");
        assert!(problem("../x,text/html,10,0\n").starts_with("line 2 of the page list: \"../x\" is no name"));
        assert!(problem("x,text,10,0\n").contains("no media type"));
        let twice = "i,text/html,999,0\na,image/png,1,65\na,image/png,1,200\n";
        assert_eq!(problem(twice), "line 4 of the page list: the name \"a\" is used twice");
        assert_eq!(problem(""), PageError::Empty.to_string());
    }

    #[test]
    fn documents_too_small_for_their_references_are_refused() {
        assert!(problem("i,text/html,70,0\na,image/png,1,65\n").contains("cannot name a at 65 B"));
        assert!(problem("i,text/html,999,0\na,image/png,1,65\nb,image/png,1,70\n").contains("cannot name a"));
        assert!(Page::uniform(100, Bytes::new(1000)).is_err());
        assert_eq!(Page::uniform(0, Bytes::new(1000)), Err(PageError::Empty));
    }

    #[test]
    fn no_page_is_larger_than_a_sum_of_bytes_can_say() {
        let (largest, more) = (MAX_SIZE, MAX_SIZE + Bytes::new(1));
        let page = Page::uniform(MAX_OBJECTS, largest).unwrap();
        assert_eq!(page.total_bytes(), largest * MAX_OBJECTS as u64);
        assert_eq!(Page::uniform(1, more), Err(PageError::TooLarge(more)));
        let listed = problem(&format!("index.html,text/html,{},0\n", more.get()));
        assert_eq!(listed, "line 2 of the page list: an object of 1000.000000001 GB; at most 1000 GB");
        assert!(Page::uniform(MAX_OBJECTS + 1, Bytes::ZERO).is_err());
    }

    proptest! {
        #[test]
        fn any_list_gives_an_answer(text in ".*") {
            let _ = Page::from_csv(&text);
            let _ = Page::from_csv(&format!("{HEADING}{text}"));
        }

        #[test]
        fn uniform_pages_have_the_bytes_asked_for(objects in 1_usize..200, size in 20_000_u64..100_000) {
            let page = Page::uniform(objects, Bytes::new(size)).unwrap();
            prop_assert_eq!(page.total_bytes(), Bytes::new(size) * objects as u64);
            prop_assert_eq!(Page::from_csv(&page.to_csv()), Ok(page));
        }
    }
}
