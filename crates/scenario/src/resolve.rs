//! What a scenario file may say, key by key, with bounds; `docs/scenario.md` lists them for users.

use crate::files::Files;
use crate::reader::{Document, ValueError};
use crate::scenario::{RunConfig, RwbpSettings, Scenario, typical_page};
use crate::{host_times, log, multicast, network, users, words};
use farhop_results::Architecture;
use farhop_tcp::{ByteCounting, Profile, TcpConfig};
use farhop_units::{Bytes, ParseError, Probability, duration};
use farhop_web::har::{Graph, GraphError, Har};
use farhop_web::{HttpConfig, HttpVersion, MOST_RECORD_BYTES, Page, PageError, Tls};
use std::time::Duration;

/// Reads every key, in the order of the file format; those of the page not if it is that of `known`.
pub(crate) fn resolve(
    name: &str,
    document: &Document,
    files: &Files,
    known: Option<&Scenario>,
) -> Result<Scenario, ValueError> {
    let version = document.get("version", |text| number(text, 1, 1))?;
    let title = document.get("title", |text| Ok(text.to_owned()))?.unwrap_or_default();
    let link = network::far_link(document, files)?;
    let [wan, lan] = ["wan", "lan"].map(|table| network::segment(document, files, table));
    let (wan, lan, tcp) = (wan?, lan?, tcp(document)?);
    let mut lacking = Lacking::default();
    let multicast = lacking.hold(multicast::read(document, &link))?;
    let users = lacking.hold(users::read(document, link.terminals))?;
    let log = match known {
        Some(known) => {
            document.pass_over("log");
            known.log.clone()
        }
        None => lacking.hold(log::read(document, files, response_header_bytes(document)?))?,
    };
    if users.is_some() && log.is_some() {
        return Err(users_beside_a_log(document));
    }
    let typical = || typical_page(users.as_ref(), log.as_ref());
    let graph = match known {
        Some(known) => {
            document.pass_over("page");
            let (page, is_sealed) = (known.page.clone(), known.page_is_sealed);
            Some(Graph { page, is_sealed, notes: known.page_notes.clone() })
        }
        None => lacking.hold(page(document, files, typical).map(Some))?,
    };
    let mut http = http(document, graph.as_ref().is_some_and(|graph| graph.is_sealed))?;
    if log.is_some() {
        as_of_a_log(&mut http, document);
    }
    let rwbp = rwbp(document)?;
    let prefetch_at = document.get("prefetch.at", |text| words::choose(words::PREFETCH_AT, text))?.unwrap_or_default();
    let multiplexed_connections = multiplexed_connections(document)?;
    let run = run(document, users.is_some())?;
    document.finish()?;
    lacking.finish()?;
    let Graph { page, is_sealed, notes } = graph.expect("only what is missing gives none");
    let scenario = Scenario {
        name: name.to_owned(),
        title,
        link,
        wan,
        lan,
        tcp,
        page,
        page_notes: notes,
        page_is_sealed: is_sealed,
        users,
        log,
        http,
        rwbp,
        multicast,
        prefetch_at,
        multiplexed_connections,
        run,
    };
    match version {
        Some(_) => Ok(scenario),
        None => Err(document.missing("version", "version = 1, the format of this file")),
    }
}

/// The first thing that is missing. It may be there under a mistyped name, which is known when every key has been asked for.
#[derive(Debug, Default)]
struct Lacking(Option<ValueError>);

impl Lacking {
    /// What was read; nothing, for now, where that is missing.
    fn hold<T>(&mut self, read: Result<Option<T>, ValueError>) -> Result<Option<T>, ValueError> {
        match read {
            Err(error) if error.is_missing() => {
                self.0.get_or_insert(error);
                Ok(None)
            }
            read => read,
        }
    }

    fn finish(self) -> Result<(), ValueError> {
        self.0.map_or(Ok(()), Err)
    }
}

/// A part of a scenario that no other depends on, so that it can be read again alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Link,
    Wan,
    Lan,
    Tcp,
    Http,
}

impl Part {
    /// The part that `key` belongs to; `None` if others depend on it.
    pub(crate) fn of(key: &str) -> Option<Self> {
        match key.split_once('.')? {
            ("link" | "multicast", _) => Some(Self::Link),
            ("wan", _) => Some(Self::Wan),
            ("lan", _) => Some(Self::Lan),
            ("tcp", _) => Some(Self::Tcp),
            // Logs are read with it.
            ("http", name) if name != "response_header_bytes" => Some(Self::Http),
            _ => None,
        }
    }

    /// The tables that it is read from.
    pub(crate) fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Link => &["link", "access", "multicast"],
            Self::Wan => &["wan"],
            Self::Lan => &["lan"],
            Self::Tcp => &["tcp"],
            Self::Http => &["http"],
        }
    }

    /// Reads it again.
    pub(crate) fn read(self, document: &Document, files: &Files, scenario: &mut Scenario) -> Result<(), ValueError> {
        match self {
            Self::Link => {
                scenario.link = network::far_link(document, files)?;
                scenario.multicast = multicast::read(document, &scenario.link)?;
            }
            Self::Wan => scenario.wan = network::segment(document, files, "wan")?,
            Self::Lan => scenario.lan = network::segment(document, files, "lan")?,
            Self::Tcp => scenario.tcp = tcp(document)?,
            Self::Http => {
                scenario.http = http(document, scenario.page_is_sealed)?;
                if scenario.log.is_some() {
                    as_of_a_log(&mut scenario.http, document);
                }
            }
        }
        Ok(())
    }
}

/// Neither takes the other's place by itself: the title, the page and what else the file says are the other's, and nobody said so.
fn users_beside_a_log(document: &Document) -> ValueError {
    const ACCEPTED: &str = "either users or a log: users.model=none takes back the users, log.file=none the log";
    let log = if document.has("log.file") { "log.file" } else { "log.lines" };
    // Of the two the one that was given on the command line is what is new.
    let (key, problem) = match document.is_set(log) {
        true => (log, "a log beside the users of users.model".to_owned()),
        false => ("users.model", format!("users beside the log of {log}")),
    };
    document.refuse(key, ParseError::new(problem, ACCEPTED))
}

/// Nobody's browser holds back the requests of a log.
fn as_of_a_log(http: &mut HttpConfig, document: &Document) {
    if !document.has("http.connections") && !http.version.shares_connection() {
        http.connections = MOST_CONNECTIONS;
    }
}

fn tcp(document: &Document) -> Result<TcpConfig, ValueError> {
    let profile = document.get("tcp.profile", |text| words::choose(words::PROFILES, text))?;
    let defaults = TcpConfig::of(profile.unwrap_or(Profile::Linux));
    let congestion = document.get("tcp.congestion", |text| words::choose(words::CONGESTION, text))?;
    let initial_window = document.get("tcp.initial_window", |text| number(text, 1, 1000))?;
    let mss = document.get("tcp.mss", |text| number(text, 88, 8948))?.map_or(defaults.mss, Bytes::new);
    let max_window = document.get("tcp.max_window", |text| window(text, mss))?;
    let receive_buffer = document.get("tcp.receive_buffer", receive_buffer)?;
    let first_ack = document.get("tcp.first_ack", |text| words::choose(words::FIRST_ACK, text))?;
    let sack = document.get("tcp.sack", |text| words::choose(words::SWITCH, text))?;
    let ecn = document.get("tcp.ecn", |text| words::choose(words::SWITCH, text))?;
    let byte_counting = document.get("tcp.byte_counting", byte_counting)?;
    let host_times = document.get("tcp.host_times", host_times::parse)?;
    Ok(TcpConfig {
        congestion: congestion.unwrap_or(defaults.congestion),
        initial_window: initial_window
            .map_or(defaults.initial_window, |segments| u32::try_from(segments).expect("at most 1000")),
        max_window: max_window.unwrap_or(defaults.max_window),
        receive_buffer: receive_buffer.unwrap_or(defaults.receive_buffer),
        mss,
        first_ack: first_ack.unwrap_or(defaults.first_ack),
        sack: sack.unwrap_or(defaults.sack),
        ecn: ecn.unwrap_or(defaults.ecn),
        byte_counting: byte_counting.unwrap_or(defaults.byte_counting),
        host_times: host_times.unwrap_or_else(|| defaults.host_times.clone()),
        ..defaults
    })
}

/// RFC 3465 allows a limit of one or two segments; more tells what it is for.
fn byte_counting(text: &str) -> Result<ByteCounting, ParseError> {
    const MOST: u64 = 1000;
    const ACCEPTED: &str = "\"packets\", a whole number of segments from 1 to 1000, e.g. 2, or \"unlimited\"";
    let refused = |_| ParseError::new("no way to count", ACCEPTED);
    match number(text, 1, MOST) {
        Ok(segments) => Ok(ByteCounting::Segments(u16::try_from(segments).expect("at most 1000"))),
        Err(_) => words::choose(words::BYTE_COUNTING, text).map_err(refused),
    }
}

/// The page, and how it was read; the typical one if there is none.
fn page(document: &Document, files: &Files, typical: impl FnOnce() -> Option<Page>) -> Result<Graph, ValueError> {
    const ACCEPTED: &str = "one of sizes = \"FILE.csv\", har = \"FILE.har\", table = \"the lines of such a CSV file\", or objects = 20 with \
                            size = \"5 kB\"";
    let listed = |page| Graph { page, is_sealed: false, notes: Vec::new() };
    let sizes = document.get("page.sizes", |path| read_page(path, files).map(listed))?;
    let table = document.get("page.table", |text| Page::from_csv(text).map(listed).map_err(page_error))?;
    let har = recorded(document, files)?;
    let objects = document.get("page.objects", |text| number(text, 1, farhop_web::MAX_OBJECTS as u64))?;
    let size = document.get("page.size", str::parse::<Bytes>)?;
    let mut whole = [sizes, table, har].into_iter().flatten();
    match (whole.next(), whole.next(), objects, size) {
        (Some(page), None, None, None) => Ok(page),
        (None, None, Some(objects), Some(size)) => {
            let objects = usize::try_from(objects).expect("at most MAX_OBJECTS");
            let page = Page::uniform(objects, size);
            page.map(listed).map_err(|error| document.refuse("page.size", page_error(error)))
        }
        (None, None, Some(_), None) => Err(document.missing("page.size", "the size of every object, e.g. \"5 kB\"")),
        (None, None, None, Some(_)) => Err(document.missing("page.objects", "the number of objects, e.g. 20")),
        (None, None, None, None) => typical().map(listed).ok_or_else(|| document.missing("page", ACCEPTED)),
        _ => {
            let keys = ["page.sizes", "page.table", "page.har", "page.objects"];
            let given = keys.into_iter().rfind(|key| document.has(key));
            Err(document
                .refuse(given.unwrap_or("page.size"), ParseError::new("two descriptions of the page", ACCEPTED)))
        }
    }
}

fn read_page(path: &str, files: &Files) -> Result<Page, ParseError> {
    const ACCEPTED: &str = "a CSV file beside the scenario: name,type,bytes,offset_of_reference_in_html";
    Page::from_csv(&files.read(path, "page", ACCEPTED)?).map_err(page_error)
}

/// A page of a recording: the first one with answered requests, or the one that `page.har_page` names.
fn recorded(document: &Document, files: &Files) -> Result<Option<Graph>, ValueError> {
    const KEY: &str = "page.har";
    const ACCEPTED: &str = "a HAR file beside the scenario";
    let id = document.get("page.har_page", |text| Ok(text.to_owned()))?;
    let har = document.get(KEY, |path| {
        let text = files.read(path, "recording", ACCEPTED)?;
        Har::parse(text.as_bytes()).map_err(|error| ParseError::new(error.to_string(), ACCEPTED))
    })?;
    let wrong_page = |error: GraphError| {
        let is_named = document.has("page.har_page") && !matches!(error, GraphError::Page(_));
        let key = if is_named { "page.har_page" } else { KEY };
        document.refuse(key, ParseError::new(error.to_string(), error.accepted()))
    };
    match (har, id) {
        (Some(har), id) => Page::from_har(&har, id.as_deref()).map(Some).map_err(wrong_page),
        (None, Some(_)) => {
            Err(document
                .refuse("page.har_page", ParseError::new("a page of no recording", "har = \"FILE.har\" beside it")))
        }
        (None, None) => Ok(None),
    }
}

/// Connections to one host at once.
const MOST_CONNECTIONS: usize = 256;

/// `is_sealed`: the page was recorded over TLS.
fn http(document: &Document, is_sealed: bool) -> Result<HttpConfig, ValueError> {
    let defaults = HttpConfig::DEFAULT;
    let version = document.get("http.version", |text| words::choose(words::HTTP_VERSIONS, text))?;
    let version = version.unwrap_or(defaults.version);
    let most = if version.shares_connection() { 1 } else { MOST_CONNECTIONS };
    let connections = document.get("http.connections", |text| number(text, 1, most as u64))?;
    let connections = connections.map(|count| usize::try_from(count).expect("at most MOST_CONNECTIONS"));
    Ok(HttpConfig {
        version,
        connections: connections.unwrap_or(if most == 1 { 1 } else { defaults.connections }),
        tls: tls(document, version, is_sealed)?,
        tls_record: document.get("http.tls_record", record)?.unwrap_or(defaults.tls_record),
        dns: document.get("http.dns", |text| words::choose(words::DNS, text))?.unwrap_or(defaults.dns),
        persistence: document.get("http.persistence", persistence)?.unwrap_or(defaults.persistence),
        request_bytes: head_bytes(document, "http.request_bytes")?.unwrap_or(defaults.request_bytes),
        response_header_bytes: response_header_bytes(document)?,
    })
}

fn response_header_bytes(document: &Document) -> Result<Bytes, ValueError> {
    let given = head_bytes(document, "http.response_header_bytes")?;
    Ok(given.unwrap_or(HttpConfig::DEFAULT.response_header_bytes))
}

fn head_bytes(document: &Document, key: &str) -> Result<Option<Bytes>, ValueError> {
    Ok(document.get(key, |text| number(text, 1, 65_535))?.map(Bytes::new))
}

/// Browsers speak HTTP/2 over TLS alone, and QUIC has no handshake but TLS 1.3's (RFC 9001). What was recorded over TLS is loaded over it.
fn tls(document: &Document, version: HttpVersion, is_sealed: bool) -> Result<Tls, ValueError> {
    let given = document.get("http.tls", |text| words::choose(words::TLS, text))?;
    match (version, given) {
        (HttpVersion::Http3, Some(Tls::None | Tls::V12)) => {
            Err(document
                .refuse("http.tls", ParseError::new("HTTP/3 is always over TLS 1.3", "\"1.3\" with version \"3\"")))
        }
        (_, Some(tls)) => Ok(tls),
        (HttpVersion::Http2 | HttpVersion::Http3, None) => Ok(Tls::V13),
        (_, None) => Ok(if is_sealed { Tls::V13 } else { HttpConfig::DEFAULT.tls }),
    }
}

/// RFC 8449 §4: no less than 64 B can be asked for.
fn record(text: &str) -> Result<Bytes, ParseError> {
    const RANGE: core::ops::RangeInclusive<Bytes> = Bytes::new(64)..=MOST_RECORD_BYTES;
    let record: Bytes = text.parse()?;
    if RANGE.contains(&record) {
        Ok(record)
    } else {
        Err(ParseError::new("out of range", "from 64 B to 16 KiB, e.g. \"4 KiB\""))
    }
}

fn persistence(text: &str) -> Result<Option<Duration>, ParseError> {
    const LONGEST: Duration = Duration::from_secs(24 * 3600);
    let timeout = or_unlimited(text, duration::parse)?;
    match timeout {
        Some(timeout) if timeout.is_zero() || timeout > LONGEST => {
            let accepted = "a time above zero and up to 24 h, e.g. \"15 s\", or \"unlimited\"";
            Err(ParseError::new("out of range", accepted))
        }
        _ => Ok(timeout),
    }
}

/// What RWBP acknowledges if nothing is said: the first N of zhou-2004's Fig 7, and TCP's habit.
pub(crate) const USUAL_RWBP_ACK_EVERY: u32 = 2;

fn rwbp(document: &Document) -> Result<RwbpSettings, ValueError> {
    let every = document.get("rwbp.ack_every", |text| number(text, 1, 1000))?;
    Ok(RwbpSettings {
        ack_every: every.map_or(USUAL_RWBP_ACK_EVERY, |every| u32::try_from(every).expect("at most 1000")),
        peak_rate: document.get("rwbp.peak_rate", str::parse)?,
    })
}

/// Connections of `multiplexed` if nothing is said: nz-us-2000 gives no number; a few are enough that a lost packet does not stop all.
pub(crate) const USUAL_MULTIPLEXED_CONNECTIONS: usize = 4;

fn multiplexed_connections(document: &Document) -> Result<usize, ValueError> {
    let connections = document.get("multiplexed.connections", |text| number(text, 1, 1000))?;
    Ok(connections.map_or(USUAL_MULTIPLEXED_CONNECTIONS, |given| usize::try_from(given).expect("at most 1000")))
}

fn run(document: &Document, has_users: bool) -> Result<RunConfig, ValueError> {
    const USUAL: [Architecture; 3] = [Architecture::Direct, Architecture::Tunnel, Architecture::Accelerated];
    let architectures = document.list("run.architectures", words::architecture)?;
    if let Some(problem) = architectures.as_deref().and_then(wrong_choice) {
        const ACCEPTED: &str = "at least one architecture, each once, e.g. [\"direct\", \"accelerated\"]";
        return Err(document.refuse("run.architectures", ParseError::new(problem, ACCEPTED)));
    }
    let runs = document.get("run.runs", |text| number(text, 1, 1000))?.unwrap_or(3);
    let precision = document.get("run.precision", str::parse::<Probability>)?;
    if precision.is_some() && has_users {
        let problem = ParseError::new("users have a precision of their own".to_owned(), "users.precision");
        return Err(document.refuse("run.precision", problem));
    }
    Ok(RunConfig {
        precision: precision.unwrap_or(Probability::ZERO),
        architectures: architectures.unwrap_or_else(|| USUAL.to_vec()),
        runs: u32::try_from(runs).expect("at most 1000"),
        seed: document.get("run.seed", |text| number(text, 0, i64::MAX.unsigned_abs()))?.unwrap_or(1),
    })
}

/// Why these architectures cannot be the rows of a table.
fn wrong_choice(architectures: &[Architecture]) -> Option<String> {
    let repeated = architectures.iter().enumerate().find(|(place, known)| architectures[..*place].contains(known));
    match repeated {
        Some((_, repeated)) => Some(format!("\"{repeated}\" is there twice")),
        None if architectures.is_empty() => Some("no architecture".to_owned()),
        None => None,
    }
}

/// The largest window that TCP can advertise (RFC 7323 §2.3).
const MAX_WINDOW: Bytes = Bytes::kib(1 << 20);

fn window(text: &str, mss: Bytes) -> Result<Option<Bytes>, ParseError> {
    const ACCEPTED: &str = "a size of at least one segment and at most 1 GiB, e.g. \"64 KiB\", or \"unlimited\"";
    let window = or_unlimited(text, str::parse::<Bytes>)?;
    match window {
        Some(size) if size < mss => Err(ParseError::new(format!("smaller than one segment of {mss}"), ACCEPTED)),
        Some(size) if size > MAX_WINDOW => Err(ParseError::new("more than TCP can advertise", ACCEPTED)),
        _ => Ok(window),
    }
}

/// What `tcp_rmem` takes: the kernel's least buffer to the largest signed number of 32 bits.
fn receive_buffer(text: &str) -> Result<Bytes, ParseError> {
    const RANGE: core::ops::RangeInclusive<Bytes> = Bytes::kib(4)..=Bytes::new(i32::MAX as u64);
    let buffer: Bytes = text.parse()?;
    let accepted = "from 4 KiB to below 2 GiB, e.g. \"32 MiB\"";
    if RANGE.contains(&buffer) { Ok(buffer) } else { Err(ParseError::new("out of range", accepted)) }
}

fn or_unlimited<T>(text: &str, parse: impl Fn(&str) -> Result<T, ParseError>) -> Result<Option<T>, ParseError> {
    if text == "unlimited" {
        return Ok(None);
    }
    let extend = |error: ParseError| ParseError { accepted: format!("{}, or \"unlimited\"", error.accepted), ..error };
    parse(text).map(Some).map_err(extend)
}

pub(crate) fn number(text: &str, least: u64, most: u64) -> Result<u64, ParseError> {
    let accepted = if least == most { format!("{least}") } else { format!("a whole number from {least} to {most}") };
    let number: u64 = text.parse().map_err(|_| ParseError::new("not a whole number", &accepted))?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(ParseError::new("out of range", accepted)) }
}

fn page_error(error: PageError) -> ParseError {
    ParseError::new(error.to_string(), "a page whose first object is an HTML document large enough to name the others")
}
