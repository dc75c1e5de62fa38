//! What a scenario file may say, key by key, with bounds; `docs/scenario.md` lists them for users.

use crate::files::Files;
use crate::reader::{Document, ValueError};
use crate::scenario::{RunConfig, Scenario};
use crate::{network, words};
use farhop_results::Architecture;
use farhop_tcp::{Profile, TcpConfig};
use farhop_units::{Bytes, ParseError};
use farhop_web::{HttpConfig, HttpVersion, Page, PageError};

/// Reads every key, in the order of the file format.
pub(crate) fn resolve(name: &str, document: &Document, files: &Files) -> Result<Scenario, ValueError> {
    let version = document.get("version", |text| number(text, 1, 1))?;
    let scenario = Scenario {
        name: name.to_owned(),
        title: document.get("title", |text| Ok(text.to_owned()))?.unwrap_or_default(),
        link: network::far_link(document, files)?,
        wan: network::segment(document, files, "wan")?,
        lan: network::segment(document, files, "lan")?,
        tcp: tcp(document)?,
        page: page(document, files)?,
        http: http(document)?,
        run: run(document)?,
    };
    document.finish()?;
    match version {
        Some(_) => Ok(scenario),
        None => Err(document.missing("version", "version = 1, the format of this file")),
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
    Ok(TcpConfig {
        congestion: congestion.unwrap_or(defaults.congestion),
        initial_window: initial_window
            .map_or(defaults.initial_window, |segments| u32::try_from(segments).expect("at most 1000")),
        max_window: max_window.unwrap_or(defaults.max_window),
        receive_buffer: receive_buffer.unwrap_or(defaults.receive_buffer),
        mss,
        first_ack: first_ack.unwrap_or(defaults.first_ack),
        ..defaults
    })
}

fn page(document: &Document, files: &Files) -> Result<Page, ValueError> {
    const ACCEPTED: &str =
        "one of sizes = \"FILE.csv\", table = \"the lines of such a file\", or objects = 20 with size = \"5 kB\"";
    let sizes = document.get("page.sizes", |path| read_page(path, files))?;
    let table = document.get("page.table", |text| Page::from_csv(text).map_err(page_error))?;
    let objects = document.get("page.objects", |text| number(text, 1, farhop_web::MAX_OBJECTS as u64))?;
    let size = document.get("page.size", str::parse::<Bytes>)?;
    match (sizes, table, objects, size) {
        (Some(page), None, None, None) | (None, Some(page), None, None) => Ok(page),
        (None, None, Some(objects), Some(size)) => {
            let objects = usize::try_from(objects).expect("at most MAX_OBJECTS");
            Page::uniform(objects, size).map_err(|error| document.refuse("page.size", page_error(error)))
        }
        (None, None, Some(_), None) => Err(document.missing("page.size", "the size of every object, e.g. \"5 kB\"")),
        (None, None, None, Some(_)) => Err(document.missing("page.objects", "the number of objects, e.g. 20")),
        (None, None, None, None) => Err(document.missing("page", ACCEPTED)),
        _ => {
            let given = ["page.sizes", "page.table", "page.objects"].into_iter().rfind(|key| document.has(key));
            Err(document
                .refuse(given.unwrap_or("page.size"), ParseError::new("two descriptions of the page", ACCEPTED)))
        }
    }
}

fn read_page(path: &str, files: &Files) -> Result<Page, ParseError> {
    const ACCEPTED: &str = "a CSV file beside the scenario: name,type,bytes,offset_of_reference_in_html";
    Page::from_csv(&files.read(path, "page", ACCEPTED)?).map_err(page_error)
}

fn http(document: &Document) -> Result<HttpConfig, ValueError> {
    let defaults = HttpConfig::DEFAULT;
    let version = document.get("http.version", |text| words::choose(words::HTTP_VERSIONS, text))?;
    let version = version.unwrap_or(defaults.version);
    let most = if version == HttpVersion::Http11Pipelined { 1 } else { 256 };
    let connections = document.get("http.connections", |text| number(text, 1, most))?;
    let connections = connections.map(|count| usize::try_from(count).expect("at most 256"));
    // In the format, with nothing else to choose yet.
    document.get("http.tls", none)?;
    document.get("http.dns", none)?;
    let size = |key: &str, default| {
        document.get(key, |text| number(text, 1, 65_535)).map(|size| size.map_or(default, Bytes::new))
    };
    Ok(HttpConfig {
        version,
        connections: connections.unwrap_or(if most == 1 { 1 } else { defaults.connections }),
        request_bytes: size("http.request_bytes", defaults.request_bytes)?,
        response_header_bytes: size("http.response_header_bytes", defaults.response_header_bytes)?,
    })
}

fn run(document: &Document) -> Result<RunConfig, ValueError> {
    const USUAL: [Architecture; 3] = [Architecture::Direct, Architecture::Tunnel, Architecture::Accelerated];
    let architectures = document.list("run.architectures", words::architecture)?;
    if let Some(problem) = architectures.as_deref().and_then(wrong_choice) {
        const ACCEPTED: &str = "at least one architecture, each once, e.g. [\"direct\", \"accelerated\"]";
        return Err(document.refuse("run.architectures", ParseError::new(problem, ACCEPTED)));
    }
    let runs = document.get("run.runs", |text| number(text, 1, 1000))?.unwrap_or(3);
    Ok(RunConfig {
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

fn none(text: &str) -> Result<(), ParseError> {
    words::choose(&[("none", ())], text)
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

fn number(text: &str, least: u64, most: u64) -> Result<u64, ParseError> {
    let accepted = if least == most { format!("{least}") } else { format!("a whole number from {least} to {most}") };
    let number: u64 = text.parse().map_err(|_| ParseError::new("not a whole number", &accepted))?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(ParseError::new("out of range", accepted)) }
}

fn page_error(error: PageError) -> ParseError {
    ParseError::new(error.to_string(), "a page whose first object is an HTML document large enough to name the others")
}
