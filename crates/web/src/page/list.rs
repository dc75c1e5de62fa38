//! Pages as lists: CSV with a heading, a line per object, the document first.
//!
//! `name`, `type`, `bytes` and `offset_of_reference_in_html` are always there. What else a page may say has columns that may be
//! absent, as may be what is in them: `referrer` (the name of the object that names this one; the document), `end_of_reference` (how much
//! of the referrer must have arrived; the end of the tag that [`body`] writes), `host` (the first one's), `think_ms`, `delay_ms` (0),
//! `request_bytes`, `header_bytes` (the scenario's), `method` (GET, or POST where `request_bytes` says more than a head can hold). The offset
//! counts in the referrer, whatever its column's name says.
//!
//! Where the ends of references are not given, every tag must have room: such a page can be rendered and loaded for real.

use super::{MAX_SIZE, Method, Object, Page, PageError, Reference};
use crate::body;
use crate::http::LONGEST_HEAD;
use farhop_units::{Bytes, duration};
use serde::Deserialize;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: String,
    #[serde(rename = "type")]
    media_type: String,
    bytes: u64,
    offset_of_reference_in_html: u64,
    #[serde(default)]
    end_of_reference: Option<u64>,
    #[serde(default)]
    referrer: Option<String>,
    #[serde(default)]
    host: Option<String>,
    #[serde(default)]
    think_ms: Option<String>,
    #[serde(default)]
    delay_ms: Option<String>,
    #[serde(default)]
    request_bytes: Option<u64>,
    #[serde(default)]
    header_bytes: Option<u64>,
    #[serde(default)]
    method: Option<String>,
}

/// A list as far as it has been read.
#[derive(Default)]
struct Reading {
    objects: Vec<Object>,
    hosts: Vec<SmolStr>,
    places: BTreeMap<String, usize>,
}

impl Page {
    /// Reads a list, whose heading is `name,type,bytes,offset_of_reference_in_html` and may have further columns: `end_of_reference`,
    /// `referrer`, `host`, `think_ms`, `delay_ms`, `request_bytes`, `header_bytes`, `method`, in any order. The first line is the document.
    ///
    /// # Errors
    /// A line that is no object, a name used twice, a referrer that is not before what it names or cannot name anything, or a reference
    /// for which the referrer has no room.
    pub fn from_csv(text: &str) -> Result<Self, PageError> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let has_ends = reader.headers().is_ok_and(|columns| columns.iter().any(|name| name == "end_of_reference"));
        let mut reading = Reading::default();
        let columns = reader.headers().cloned().map_err(|error| line_error(text, &error))?;
        for record in reader.records() {
            let record = record.map_err(|error| line_error(text, &error))?;
            let line = line_of(text, record.position());
            let record = record.deserialize(Some(&columns)).map_err(|error| line_error(text, &error))?;
            reading.add(record).map_err(|problem| PageError::Line { line, problem })?;
        }
        let page = Self { objects: reading.objects, hosts: reading.hosts };
        if !has_ends {
            body::check(&page)?;
        }
        Self::new(page.objects, page.hosts)
    }

    /// The list that [`Page::from_csv`] reads; columns in which nothing would be said are left out.
    ///
    /// Hosts are listed in the order in which objects name them.
    pub fn to_csv(&self) -> String {
        let columns: Vec<&Column> = COLUMNS.iter().filter(|(_, _, is_needed)| is_needed(self)).collect();
        let mut list = String::from("name,type,bytes,offset_of_reference_in_html");
        columns.iter().for_each(|(name, ..)| list.extend([",", name]));
        list.push('\n');
        for (index, object) in self.objects.iter().enumerate() {
            let offset = object.reference.map_or(0, |reference| reference.offset.get());
            let Object { name, media_type, size, .. } = object;
            write!(list, "{name},{media_type},{},{offset}", size.get()).expect("writing to a string succeeds");
            columns.iter().for_each(|(_, cell, _)| list.extend([",", &cell(self, index)]));
            list.push('\n');
        }
        list
    }

    /// Whether object `index` is known at another place than where the tag that names it would end.
    fn is_known_elsewhere(&self, index: usize) -> bool {
        let Some(Reference { object: referrer, offset, end }) = self.objects[index].reference else { return false };
        offset + Bytes::new(body::reference(self, referrer, index).len() as u64) != end
    }
}

/// A column that may be absent: its name, what an object has in it, and whether a page needs it.
type Column = (&'static str, fn(&Page, usize) -> String, fn(&Page) -> bool);

const COLUMNS: &[Column] = &[
    (
        "end_of_reference",
        |page, index| optional(page.objects[index].reference.map(|reference| reference.end)),
        |page| body::check(page).is_err() || (0..page.objects.len()).any(|index| page.is_known_elsewhere(index)),
    ),
    (
        "referrer",
        |page, index| {
            let by = page.objects[index].reference.map_or(0, |reference| reference.object);
            if by == 0 { String::new() } else { page.objects[by].name.to_string() }
        },
        |page| page.objects.iter().any(|object| object.reference.is_some_and(|reference| reference.object > 0)),
    ),
    (
        "host",
        |page, index| page.hosts[page.objects[index].host].to_string(),
        |page| page.objects.iter().any(|object| page.hosts[object.host] != Page::HOST),
    ),
    (
        "think_ms",
        |page, index| millis(page.objects[index].think),
        |page| page.objects.iter().any(|object| !object.think.is_zero()),
    ),
    (
        "delay_ms",
        |page, index| millis(page.objects[index].delay),
        |page| page.objects.iter().any(|object| !object.delay.is_zero()),
    ),
    (
        "request_bytes",
        |page, index| optional(page.objects[index].request_bytes),
        |page| page.objects.iter().any(|object| object.request_bytes.is_some()),
    ),
    (
        "header_bytes",
        |page, index| optional(page.objects[index].response_header_bytes),
        |page| page.objects.iter().any(|object| object.response_header_bytes.is_some()),
    ),
    (
        "method",
        |page, index| if page.objects[index].method == Method::Post { POST.to_owned() } else { String::new() },
        |page| page.objects.iter().any(|object| object.method == Method::Post),
    ),
];

const GET: &str = "GET";
const POST: &str = "POST";

fn optional(size: Option<Bytes>) -> String {
    size.map_or_else(String::new, |size| size.get().to_string())
}

/// Milliseconds, to the nanosecond; nothing for none.
fn millis(span: Duration) -> String {
    const NANOS_PER_MILLI: u128 = 1_000_000;
    let (whole, rest) = (span.as_nanos() / NANOS_PER_MILLI, span.as_nanos() % NANOS_PER_MILLI);
    match (whole, rest) {
        (0, 0) => String::new(),
        (whole, 0) => whole.to_string(),
        (whole, rest) => format!("{whole}.{rest:06}").trim_end_matches('0').to_owned(),
    }
}

impl Reading {
    fn add(&mut self, record: Record) -> Result<(), String> {
        check(&record)?;
        let index = self.objects.len();
        if self.places.insert(record.name.clone(), index).is_some() {
            return Err(format!("the name {:?} is used twice", record.name));
        }
        let referrer = match record.referrer.as_deref() {
            Some(_) if index == 0 => {
                return Err("a document with a referrer; accepted: none for the first line".to_owned());
            }
            Some(name) => self
                .places
                .get(name)
                .copied()
                .filter(|place| *place < index)
                .ok_or_else(|| format!("the referrer {name:?} is no object before this one"))?,
            None => 0,
        };
        let host = self.host(record.host.unwrap_or_default());
        let method = method(record.method.as_deref(), record.request_bytes)?;
        self.objects.push(Object {
            host,
            method,
            request_bytes: record.request_bytes.map(Bytes::new),
            response_header_bytes: record.header_bytes.map(Bytes::new),
            think: time("think_ms", record.think_ms)?,
            delay: time("delay_ms", record.delay_ms)?,
            ..Object::new(record.name, record.media_type, Bytes::new(record.bytes))
        });
        if index > 0 {
            self.refer(index, referrer, Bytes::new(record.offset_of_reference_in_html), record.end_of_reference);
        }
        Ok(())
    }

    fn refer(&mut self, index: usize, referrer: usize, offset: Bytes, end: Option<u64>) {
        match end {
            Some(end) => {
                let reference = Reference { object: referrer, offset, end: Bytes::new(end) };
                self.objects[index].reference = Some(reference);
            }
            None => {
                let (objects, hosts) = (core::mem::take(&mut self.objects), core::mem::take(&mut self.hosts));
                let mut page = Page { objects, hosts };
                page.refer(index, referrer, offset);
                (self.objects, self.hosts) = (page.objects, page.hosts);
            }
        }
    }

    /// The index of a host; without a name, of the document's.
    fn host(&mut self, name: String) -> usize {
        let name = if !name.is_empty() {
            name
        } else if self.hosts.is_empty() {
            Page::HOST.to_owned()
        } else {
            return 0;
        };
        self.hosts.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.hosts.push(name.into());
            self.hosts.len() - 1
        })
    }
}

/// A method by its name, of a request of so many bytes.
fn method(cell: Option<&str>, request_bytes: Option<u64>) -> Result<Method, String> {
    match (cell.filter(|cell| !cell.is_empty()), request_bytes) {
        (Some(GET), Some(bytes)) if bytes > LONGEST_HEAD.get() => {
            Err(format!("{GET} with a request of {bytes} B; accepted: {POST}, or at most {} B", LONGEST_HEAD.get()))
        }
        (None | Some(GET), _) => Ok(Method::Get),
        (Some(POST), _) => Ok(Method::Post),
        (Some(other), _) => Err(format!("{other:?} is no method; accepted: {GET}, {POST}")),
    }
}

fn time(column: &str, cell: Option<String>) -> Result<Duration, String> {
    let Some(cell) = cell else { return Ok(Duration::ZERO) };
    duration::parse(&format!("{cell} ms"))
        .map_err(|_| format!("{cell:?} is no {column}; accepted: a number of milliseconds, e.g. 12.5"))
}

/// Names become paths and attribute values, so only harmless characters are accepted.
fn check(record: &Record) -> Result<(), String> {
    if !is_name(&record.name) {
        return Err(format!("{:?} is no name; accepted: letters, digits, . - _ and single /", record.name));
    }
    if !is_media_type(&record.media_type) {
        return Err(format!("{:?} is no media type; accepted: e.g. image/png", record.media_type));
    }
    if let Some(host) = record.host.as_deref().filter(|host| !is_host(host)) {
        return Err(format!("{host:?} is no host; accepted: letters, digits, . - and a port, e.g. img.example:8080"));
    }
    if record.bytes > MAX_SIZE.get() {
        return Err(PageError::TooLarge(Bytes::new(record.bytes)).to_string());
    }
    match [record.request_bytes, record.header_bytes].into_iter().flatten().find(|size| !HEADS.contains(size)) {
        Some(size) => Err(format!("a request or header of {size} B; accepted: 1 to {} B", HEADS.end())),
        None => Ok(()),
    }
}

/// Sizes of requests, with what they upload, and of heads: none is empty.
pub(crate) const HEADS: core::ops::RangeInclusive<u64> = 1..=1_000_000_000;

/// Whether `name` can be a path and an attribute's value as it is.
pub(crate) fn is_name(name: &str) -> bool {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    !name.is_empty()
        && name.len() <= 200
        && name.chars().all(harmless)
        && !name.starts_with('/')
        && !name.split('/').any(|part| part.is_empty() || part == "." || part == "..")
}

/// Whether `text` is a type and a subtype, of harmless characters.
pub(crate) fn is_media_type(text: &str) -> bool {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '/');
    text.split('/').filter(|part| !part.is_empty()).count() == 2 && text.chars().all(harmless)
}

/// Whether `text` is a name or an address of a host, perhaps with a port.
pub(crate) fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').unwrap_or((text, "1"));
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !name.is_empty()
        && text.len() <= 253
        && name.chars().all(harmless)
        && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The number of a record's line, from 1: its position is before the empty lines that precede it.
fn line_of(text: &str, position: Option<&csv::Position>) -> u64 {
    let Some(position) = position else { return 1 };
    let begin = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let before = text.as_bytes().get(begin..).unwrap_or_default();
    let empty = before.iter().take_while(|byte| byte.is_ascii_whitespace()).filter(|byte| **byte == b'\n').count();
    position.line() + empty as u64
}

fn line_error(text: &str, error: &csv::Error) -> PageError {
    let line = line_of(text, error.position());
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
    fn every_column_reads_and_prints_back() {
        let text = "name,type,bytes,offset_of_reference_in_html,end_of_reference,referrer,host,think_ms,delay_ms,request_bytes,header_bytes\n\
                    index.html,text/html,300,0,,,a.test,,,,\n\
                    a.css,text/css,100,10,20,,b.test:8080,12.5,,,300\n\
                    a.woff2,font/woff2,5000,0,100,a.css,b.test:8080,,0.000001,400,\n";
        let page = Page::from_csv(text).unwrap();
        assert_eq!(page.hosts, ["a.test", "b.test:8080"]);
        let font = &page.objects[2];
        let reference = Reference { object: 1, offset: Bytes::ZERO, end: Bytes::new(100) };
        assert_eq!((font.reference, font.host, font.request_bytes), (Some(reference), 1, Some(Bytes::new(400))));
        assert_eq!((font.delay, page.objects[1].think), (Duration::from_nanos(1), Duration::from_micros(12_500)));
        assert_eq!(page.to_csv(), text);
    }

    #[test]
    fn what_is_posted_reads_and_prints_back() {
        let text = "name,type,bytes,offset_of_reference_in_html,request_bytes,method\n\
                    index.html,text/html,900,0,,\n\
                    a.js,text/javascript,300,70,,\n\
                    b.json,application/json,10,200,,POST\n\
                    c.json,application/json,10,400,32769,\n";
        let page = Page::from_csv(text).unwrap();
        assert_eq!(page.to_csv(), text);
        let posted: Vec<_> = page.objects.iter().map(Object::is_posted).collect();
        assert_eq!(posted, [false, false, true, true], "the last one's request is longer than a head");
        assert_eq!(page.discovered_at(2), Bytes::new(200 + "<form action=\"b.json\" method=\"post\">".len() as u64));
        assert_eq!(Page::from_csv(&text.replace("300,70,,", "300,70,,GET")).unwrap(), page);
    }

    #[test]
    fn columns_may_come_in_any_order_and_hold_nothing() {
        let text = "referrer,bytes,name,type,offset_of_reference_in_html\n,300,i,text/html,0\n,100,a.css,text/css,70\na.css,5,b,image/png,2\n";
        let page = Page::from_csv(text).unwrap();
        let by: Vec<_> = page.objects.iter().filter_map(|object| object.reference.map(|by| by.object)).collect();
        assert_eq!(by, [0, 1]);
        assert_eq!(page.hosts, [Page::HOST]);
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
        let blank = "\n\nindex.html,text/html,many,0\n";
        assert!(problem(blank).starts_with("line 4 of the page list: field 2: "), "{}", problem(blank));
        let name = "index.html,text/html,10,0\n\n\n../x,image/png,10,0\n";
        assert!(problem(name).starts_with("line 5 of the page list: \"../x\" is no name"), "{}", problem(name));
        assert_eq!(problem(""), PageError::Empty.to_string());
    }

    #[test]
    fn broken_cells_of_further_columns_say_what_is_accepted() {
        let problem = |column: &str, cells: [&str; 2]| {
            let text = format!(
                "name,type,bytes,offset_of_reference_in_html,{column}\ni,text/html,900,0,{}\na,image/png,1,70,{}\n",
                cells[0], cells[1]
            );
            Page::from_csv(&text).unwrap_err().to_string()
        };
        assert!(
            problem("referrer", ["", "a"]).contains("line 3 of the page list: the referrer \"a\" is no object before")
        );
        assert!(problem("referrer", ["i", ""]).contains("line 2 of the page list: a document with a referrer"));
        assert!(problem("host", ["", "a b"]).contains("\"a b\" is no host"));
        assert!(problem("host", ["", "a:0"]).contains("\"a:0\" is no host"));
        assert!(problem("think_ms", ["", "-1"]).contains("\"-1\" is no think_ms; accepted: a number of milliseconds"));
        assert!(problem("delay_ms", ["", "1 s"]).contains("\"1 s\" is no delay_ms"));
        assert!(problem("header_bytes", ["", "0"]).contains("a request or header of 0 B"));
        assert!(problem("method", ["", "PUT"]).contains("\"PUT\" is no method; accepted: GET, POST"));
        let long = problem("request_bytes,method", [",", "32769,GET"]);
        assert!(long.contains("GET with a request of 32769 B; accepted: POST, or at most 32768 B"), "{long}");
        assert!(problem("end_of_reference", ["", "901"]).contains("from 70 B to 901 B of i, which has 900 B"));
        assert!(problem("colour", ["", ""]).contains("unknown field `colour`"));
    }

    #[test]
    fn documents_too_small_for_their_references_are_refused() {
        assert!(problem("i,text/html,70,0\na,image/png,1,65\n").contains("cannot name a at 65 B"));
        assert!(problem("i,text/html,999,0\na,image/png,1,65\nb,image/png,1,70\n").contains("cannot name a"));
        let listed = problem(&format!("index.html,text/html,{},0\n", MAX_SIZE.get() + 1));
        assert_eq!(listed, "line 2 of the page list: an object of 1.000000000001 TB; at most 1 TB");
    }

    proptest! {
        #[test]
        fn any_list_gives_an_answer(text in ".*") {
            let _ = Page::from_csv(&text);
            let _ = Page::from_csv(&format!("{HEADING}{text}"));
        }

        #[test]
        fn any_cells_give_an_answer(cells in "([a-c0-9.:,/-]|text/css|text/html|\n){0,80}") {
            let heading = "name,type,bytes,offset_of_reference_in_html,end_of_reference,referrer,host,think_ms";
            if let Ok(page) = Page::from_csv(&format!("{heading}\n{cells}")) {
                prop_assert_eq!(Page::from_csv(&page.to_csv()), Ok(page));
            }
        }

        #[test]
        fn uniform_pages_have_the_bytes_asked_for(objects in 1_usize..200, size in 20_000_u64..100_000) {
            let page = Page::uniform(objects, Bytes::new(size)).unwrap();
            prop_assert_eq!(page.total_bytes(), Bytes::new(size) * objects as u64);
            prop_assert_eq!(Page::from_csv(&page.to_csv()), Ok(page));
        }

        #[test]
        fn times_read_back(nanos in 0..1_000_000_000_000_u64) {
            let span = Duration::from_nanos(nanos);
            let cell = millis(span);
            prop_assert_eq!(time("think_ms", (!cell.is_empty()).then_some(cell)), Ok(span));
        }
    }
}
