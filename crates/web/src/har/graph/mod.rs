//! From a recording to a page as a graph.
//!
//! **What names what.** A redirection names its target, which is one request: of several redirections to its URL that which was answered nearest to
//! its beginning led to it. Else the recorded initiator does, then what the `Referer` field names, if that is
//! part of the page, came before and is HTML, CSS or JavaScript; for want of anything else the document, in the order of time. So there
//! are no cycles, whatever the recording says. An object begins the page if it is the first document, or the first of the redirections to it.
//!
//! **Where it is named.** A redirection and what runs as a whole (scripts; style sheets, of which browsers load parts when they have them
//! all) name at their end. A document names where its recorded body has the URL; else at the recorded line; else where its reception stood
//! when the request began; else at its end. Places in decoded bodies count in proportion on the wire.
//!
//! **Who takes time.** A server thinks for the recorded wait less a round trip. The round trip to a host is the shortest recorded connect without
//! its TLS (QUIC's handshake: as a whole); without any, the shortest wait. A browser delays a request by the time from when the name had
//! arrived, in the recording, to the request's beginning: parsing, scripts, timers, and also waiting for other objects, which on another network
//! would be another time.
//!
//! **Sizes** are those on the wire: of bodies with their coding ([`Entry::body_on_the_wire`]), of heads as recorded; where HTTP/2 and 3 compress
//! them, only what is transferred beyond the body counts. Those that nobody recorded are zero for bodies and the scenario's for heads.
//!
//! Left out: what is not HTTP, what got no response, what came after the next navigation, caches (everything is transferred),
//! connections as they were used, and who waits for whom beyond names.

mod naming;
mod pages;
mod place;
mod redirections;
mod sizes;

use super::{Entry, Har, Problem, address};
use crate::page::{Language, MAX_TIME, Method, Object, Page, PageError, Reference};
use farhop_units::counted;
use naming::Naming;
use pages::{Omission, Pages};
use place::Places;
use redirections::Redirections;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use thiserror::Error;
use url::Url;

/// A page out of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// The page.
    pub page: Page,
    /// Its document came over TLS.
    pub is_sealed: bool,
    /// How it was read and what could not be used, line by line.
    pub notes: Vec<String>,
}

/// Why a recording gives no page.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GraphError {
    /// No page of that name.
    #[error("no page {id:?} in the recording")]
    NoPage {
        /// What was asked for.
        id: String,
        /// The pages that there are.
        known: String,
    },
    /// Nothing of the page was answered over HTTP.
    #[error("{page} has no answered HTTP request")]
    Empty {
        /// What was read.
        page: String,
        /// The other pages that have some.
        others: String,
    },
    /// Several objects, none of which can name the others.
    #[error("{page} has no HTML document that was answered")]
    NoDocument {
        /// What was read.
        page: String,
        /// The other pages that have answered requests.
        others: String,
    },
    /// The page cannot be.
    #[error(transparent)]
    Page(#[from] PageError),
}

impl GraphError {
    /// What would give a page.
    pub fn accepted(&self) -> String {
        match self {
            Self::NoPage { known, .. } => known.clone(),
            Self::Empty { others, .. } => format!("at least one, its document{others}"),
            Self::NoDocument { others, .. } => format!("one that begins the page{others}"),
            Self::Page(_) => "a recording of a page with its HTML document".to_owned(),
        }
    }
}

impl Page {
    /// The page `id` of a recording, or its first one with answered requests.
    ///
    /// # Errors
    /// No such page, or none with a document that was answered.
    pub fn from_har(har: &Har, id: Option<&str>) -> Result<Graph, GraphError> {
        let pages = Pages::of(har);
        if let Some(id) = id.filter(|id| !pages.ids.contains(id)) {
            return Err(GraphError::NoPage { id: id.to_owned(), known: pages.known() });
        }
        let id = id.or(pages.first);
        let mut reading = Reading::new(har, &pages, id);
        if reading.entries.is_empty() {
            return Err(GraphError::Empty { page: pages::name(id), others: pages.others(id) });
        }
        if !reading.begin_with_the_document() {
            return Err(GraphError::NoDocument { page: pages::name(id), others: pages.others(id) });
        }
        reading.draw()
    }
}

/// An entry at its time.
#[derive(Debug, Clone, Copy)]
struct Timed<'a> {
    entry: &'a Entry,
    started: Duration,
}

/// What named an object, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    Redirection,
    Initiator,
    Referer,
    Time,
}

/// What is counted for the notes.
#[derive(Debug, Default)]
struct Counts {
    evidence: [usize; 4],
    omitted: [usize; 4],
    after_navigation: usize,
    other_pages: usize,
    unknown_pages: usize,
    late: usize,
    without_size: usize,
    without_time: usize,
}

/// A page's entries in the order of time, and what is known of them together.
struct Reading<'a> {
    entries: Vec<Timed<'a>>,
    problems: &'a [Problem],
    /// The place of the first content at a URL.
    contents: BTreeMap<&'a str, usize>,
    redirections: Redirections,
    /// The place of the HTML document.
    document: usize,
    counts: Counts,
}

impl<'a> Reading<'a> {
    fn new(har: &'a Har, pages: &Pages<'_>, id: Option<&str>) -> Self {
        let mut counts = Counts::default();
        let known: BTreeSet<&str> = pages.ids.iter().copied().collect();
        let mut entries = Vec::new();
        let mut before = Duration::ZERO;
        for entry in &har.entries {
            let page = pages.of_entry(entry);
            if page != id {
                let is_known = page.is_some_and(|page| known.contains(page));
                counts.other_pages += usize::from(is_known);
                counts.unknown_pages += usize::from(!is_known);
                continue;
            }
            counts.without_time += usize::from(entry.started.is_none());
            let started = entry.started.unwrap_or(before);
            before = started;
            match Omission::of(entry) {
                Some(omission) => counts.omitted[omission as usize] += 1,
                None => entries.push(Timed { entry, started }),
            }
        }
        entries.sort_by_key(|timed| timed.started);
        let problems = &har.problems;
        let mut reading = Self {
            entries,
            problems,
            contents: BTreeMap::new(),
            redirections: Redirections::default(),
            document: 0,
            counts,
        };
        reading.end_at_the_next_navigation();
        reading
    }

    /// Finds the document, and puts it, or the first of the redirections to it, before everything else; whether there is one.
    fn begin_with_the_document(&mut self) -> bool {
        let is_document = |timed: &Timed<'_>| is_html(timed.entry) && timed.entry.is_content();
        let wanted = |timed: &Timed<'_>| matches!(timed.entry.wanted_for(), None | Some("document"));
        // Whatever its status says, a window shows it; unless it is asked for again, with a password say.
        let contents: BTreeSet<&str> =
            self.entries.iter().filter(|timed| is_document(timed)).map(|timed| timed.entry.address()).collect();
        let is_shown = |timed: &Timed<'_>| {
            is_html(timed.entry) && timed.entry.is_failure() && !contents.contains(timed.entry.address())
        };
        let find = |holds: &dyn Fn(&Timed<'_>) -> bool| self.entries.iter().position(holds);
        let found =
            find(&|timed| wanted(timed) && (is_document(timed) || is_shown(timed))).or_else(|| find(&is_document));
        let document = match found {
            Some(document) => document,
            None if self.entries.len() == 1 => 0,
            None => return false,
        };
        let mut first = document;
        for place in (0..document).rev() {
            let target = self.entries[place].entry.redirects_to();
            if target.is_some_and(|target| address(&target) == self.entries[first].entry.address()) {
                first = place;
            }
        }
        self.entries[..=first].rotate_right(1);
        self.document = if first == document { 0 } else { document };
        self.note_addresses();
        true
    }

    /// A recording without pages may hold several.
    fn end_at_the_next_navigation(&mut self) {
        let mut has_begun = false;
        let next = self.entries.iter().position(|timed| {
            let is_first = timed.entry.is_navigation() && timed.entry.is_content();
            is_first && core::mem::replace(&mut has_begun, true)
        });
        if let Some(next) = next {
            self.counts.after_navigation = self.entries.len() - next;
            self.entries.truncate(next);
        }
    }

    fn note_addresses(&mut self) {
        for (place, Timed { entry, .. }) in self.entries.iter().enumerate() {
            if entry.is_content() || place == self.document {
                self.contents.entry(entry.address()).or_insert(place);
            }
        }
    }

    fn draw(mut self) -> Result<Graph, GraphError> {
        let referrers = self.referrers();
        let round_trips = RoundTrips::of(&self.entries);
        let scheme = self.entries[self.document].entry.url.scheme();
        let mut naming = Naming::new(scheme);
        let mut places = Places::new(&self.entries, &referrers);
        let mut objects: Vec<Object> = Vec::with_capacity(self.entries.len());
        for (place, referrer) in referrers.into_iter().enumerate() {
            let entry = self.entries[place].entry;
            let (size, head) = sizes::response(entry);
            self.counts.without_size += usize::from(size.is_none());
            let (end, delay) = match referrer {
                Some(by) => {
                    let (share, delay) = places.of(by, place);
                    self.counts.late += usize::from(delay > MAX_TIME);
                    (Some((by, share)), delay)
                }
                None => (None, Duration::ZERO),
            };
            objects.push(Object {
                host: naming.host(&entry.url),
                reference: end.map(|(object, share)| {
                    let end = place::share_of(objects[object].size, share);
                    Reference { object, offset: end, end }
                }),
                method: if entry.method == "GET" { Method::Get } else { Method::Post },
                request_bytes: sizes::request(entry),
                response_header_bytes: head,
                think: round_trips.think(entry).min(MAX_TIME),
                delay: delay.min(MAX_TIME),
                ..Object::new(naming.name(&entry.url), naming::media_type(entry), size.unwrap_or_default())
            });
        }
        let notes = self.counts.notes(objects.len(), naming.hosts.len(), self.problems, &round_trips);
        Ok(Graph { page: Page::new(objects, naming.hosts)?, is_sealed: scheme == "https", notes })
    }

    /// What named each entry.
    fn referrers(&mut self) -> Vec<Option<usize>> {
        let places = 0..self.entries.len();
        let referrer = |place: usize| {
            let referrer = self.referrer(place);
            self.redirections.note(place, &self.entries[place]);
            referrer
        };
        places.map(referrer).collect()
    }

    /// What named the entry at `place`: something before it.
    fn referrer(&mut self, place: usize) -> Option<usize> {
        if place == 0 {
            return None;
        }
        let entry = self.entries[place].entry;
        let redirection = self.redirections.follow(&self.entries[place]);
        let can_name = |known: Option<&usize>| {
            let by = *known.filter(|by| **by < place)?;
            Language::of(&naming::media_type(self.entries[by].entry)).is_some().then_some(by)
        };
        let at = |url: Option<&str>| can_name(self.contents.get(address(&Url::parse(url?).ok()?)));
        let initiator = || at(entry.initiator.as_ref()?.url.as_deref());
        let referer = || at(entry.request_header("referer"));
        let (evidence, by) = None
            .or_else(|| Some((Evidence::Redirection, redirection?)))
            .or_else(|| Some((Evidence::Initiator, initiator()?)))
            .or_else(|| Some((Evidence::Referer, referer()?)))
            .unwrap_or((Evidence::Time, if self.document < place { self.document } else { 0 }));
        self.counts.evidence[evidence as usize] += 1;
        Some(by)
    }
}

fn is_html(entry: &Entry) -> bool {
    Language::of(&naming::media_type(entry)) == Some(Language::Html)
}

/// Round trips to hosts.
struct RoundTrips<'a> {
    connects: BTreeMap<&'a str, Duration>,
    waits: BTreeMap<&'a str, Duration>,
}

impl<'a> RoundTrips<'a> {
    fn of(entries: &[Timed<'a>]) -> Self {
        let mut round_trips = Self { connects: BTreeMap::new(), waits: BTreeMap::new() };
        for Timed { entry, .. } in entries {
            let host = entry.url.host_str().unwrap_or_default();
            let timings = &entry.timings;
            let tls = timings.tls.unwrap_or_default();
            // A handshake that is TLS's alone is QUIC's.
            let connect = timings.connect.map(|connect| match connect.saturating_sub(tls) {
                Duration::ZERO => connect,
                rest => rest,
            });
            let least = |known: &mut BTreeMap<&'a str, Duration>, span: Option<Duration>| {
                if let Some(span) = span.filter(|span| !span.is_zero()) {
                    known.entry(host).and_modify(|least| *least = span.min(*least)).or_insert(span);
                }
            };
            least(&mut round_trips.connects, connect);
            least(&mut round_trips.waits, timings.wait);
        }
        round_trips
    }

    /// How long the server thought before it answered.
    fn think(&self, entry: &Entry) -> Duration {
        let host = entry.url.host_str().unwrap_or_default();
        let round_trip = self.connects.get(host).or_else(|| self.waits.get(host)).copied().unwrap_or_default();
        entry.timings.wait.unwrap_or_default().saturating_sub(round_trip)
    }
}

impl Counts {
    fn notes(&self, objects: usize, hosts: usize, problems: &[Problem], round_trips: &RoundTrips<'_>) -> Vec<String> {
        let [redirections, initiators, referers, time] = self.evidence;
        let [unanswered, of_the_browser, prefetched, not_http] = self.omitted;
        let mut notes = vec![format!(
            "{} at {}; named by recorded initiators ({initiators}), by redirections ({redirections}), by Referer \
             ({referers}), by the document for want of these ({time})",
            counted(objects, "object"),
            counted(hosts, "host"),
        )];
        let connected = round_trips.connects.len();
        let guessed = round_trips.waits.keys().filter(|host| !round_trips.connects.contains_key(*host)).count();
        notes.push(format!(
            "servers think for the recorded wait less a round trip, which is the shortest connect ({}) or the shortest wait ({})",
            counted(connected, "host"),
            counted(guessed, "host"),
        ));
        let counted = [
            (self.without_size, "bodies without a recorded size, which count 0 B"),
            (self.without_time, "requests without a recorded time, which count as begun with the one before"),
            (unanswered, "left out: requests without a response"),
            (of_the_browser, "left out: redirections of the browser's own"),
            (prefetched, "left out: requests for a page that may come"),
            (not_http, "left out: requests that are not HTTP"),
            (self.after_navigation, "left out: requests after the next navigation"),
            (self.other_pages, "left out: requests of the recording's other pages"),
            (self.unknown_pages, "left out: requests of pages that the recording does not have"),
            (self.late, "requests more than a day after what names them, which count as a day after it"),
        ];
        notes.extend(counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{what} ({count})")));
        notes.extend(told(problems));
        notes
    }
}

/// How many values are wrong, then the first of them, what is accepted, and what became of them.
fn told(problems: &[Problem]) -> Vec<String> {
    const TOLD: usize = 3;
    if problems.is_empty() {
        return Vec::new();
    }
    let count = format!("values of the file that are not as they should be ({})", problems.len());
    let more = (problems.len() > TOLD).then(|| "…".to_owned());
    core::iter::once(count).chain(problems.iter().take(TOLD).map(Problem::to_string)).chain(more).collect()
}

#[cfg(test)]
mod tests;
