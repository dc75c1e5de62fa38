//! `[log]`: a proxy's or a server's log whose requests are made again at their times, and how its load is raised.
//!
//! Only requests that a server answered with success count. What cannot be read and what does not count is told in notes, which a
//! resolved file has as comments; its `lines` are what is left, as Squid would have written it.

use crate::files::Files;
use crate::reader::{Document, ValueError};
use crate::resolve::number;
use crate::scenario::Log;
use crate::words;
use farhop_units::{Bytes, ParseError, counted, duration};
use farhop_web::logs::{self, Format, Hosts, LogRecord, Strictness};
use std::collections::BTreeSet;
use std::time::Duration;

/// More requests, copies included, are more than memory should be given to.
const MOST_REQUESTS: u64 = 1_000_000;
const A_LOG: &str = "a log beside the scenario, or a list of them, one for each day: file = \"access.log\"";
/// Keys that mean nothing without a log. That broken lines are refused may be said of any scenario.
const BESIDE: [&str; 5] = ["log.format", "log.hosts", "log.copies", "log.shift", "log.server_time"];

/// The requests of one day, and what is to be said of the rest.
struct Day {
    records: Vec<LogRecord>,
    note: String,
}

/// Reads the section; without lines there is no log. Responses are `head` longer than formats say that leave it out.
pub(crate) fn read(document: &Document, files: &Files, head: Bytes) -> Result<Option<Log>, ValueError> {
    let format = document.get("log.format", str::parse::<Format>)?.unwrap_or(Format::Squid);
    let strictness = document.get("log.broken", |text| words::choose(words::BROKEN_LINES, text))?;
    let strictness = strictness.unwrap_or(Strictness::Skip);
    let from_file = |path: &str| {
        let text = files.read_bytes(path, "log", A_LOG)?;
        day(&text, path, format, strictness, head)
    };
    let from_files = document.one_or_more("log.file", from_file)?;
    let from_line = |text: &str| day(text.as_bytes(), "lines", Format::Squid, strictness, head);
    let from_lines = document.one_or_more("log.lines", from_line)?;
    let (key, days) = match (from_files, from_lines) {
        (Some(_), Some(_)) => {
            return Err(document.refuse("log.lines", ParseError::new("two logs", "either log.file or log.lines")));
        }
        (Some(days), None) => ("log.file", days),
        (None, Some(days)) => ("log.lines", days),
        (None, None) => return none(document),
    };
    let (days, notes): (Vec<_>, Vec<_>) = days.into_iter().map(|day| (day.records, day.note)).unzip();
    let records = logs::merge_days(days);
    // Whatever is laid over the first log, its requests are those whose times are told.
    if !records.iter().any(|record| record.layer == 0) {
        let problem =
            format!("no request of the first log was answered by a server with success ({})", notes.join("; "));
        return Err(document.refuse(key, ParseError::new(problem, A_LOG)));
    }
    let hosts = hosts(document, files)?;
    let (copies, shift) = raised(document, key, &records)?;
    let server_time = document.get("log.server_time", factor)?.unwrap_or(1.0);
    let known = known(&hosts, &records);
    let notes = if key == "log.file" { notes.into_iter().chain(known).collect() } else { Vec::new() };
    Ok(Some(Log { records: records.into(), hosts, copies, shift, server_time, notes }))
}

fn none(document: &Document) -> Result<Option<Log>, ValueError> {
    let hosts = document.get("log.host_lines", |_| Ok(()))?.map(|()| "log.host_lines");
    BESIDE.iter().for_each(|key| drop(document.get(key, |_| Ok(()))));
    let is_given = BESIDE.into_iter().chain(hosts).any(|key| document.has(key));
    if is_given { Err(document.missing("log.file", A_LOG)) } else { Ok(None) }
}

/// One day's requests that a server answered, to the millisecond and in an order that does not depend on how they were written.
fn day(text: &[u8], name: &str, format: Format, strictness: Strictness, head: Bytes) -> Result<Day, ParseError> {
    let refused = |error: logs::LogError| {
        let accepted = format!("lines of the {format} format, or broken = \"skip\" to do without the others");
        let logs::LogError::Broken(line, _) = error;
        ParseError::new(format!("{name}: {line}"), accepted)
    };
    let log = logs::read(text, format, strictness).map_err(refused)?;
    let summary = log.summary();
    let (mut records, others): (Vec<_>, Vec<_>) = log.records.into_iter().partition(LogRecord::is_fetched);
    let head = if format.counts_heads() { Bytes::ZERO } else { head };
    records.iter_mut().for_each(|record| normalize(record, head));
    records.sort_by_key(|record| (record.at, record.duration));
    let others = match others.len() {
        0 => String::new(),
        count => format!("; {count} from a cache, or without success, left out"),
    };
    Ok(Day { records, note: format!("{name}: {summary}{others}") })
}

/// What Squid's format can say of a record.
fn normalize(record: &mut LogRecord, head: Bytes) {
    let whole = |time: Duration| time - Duration::from_nanos(u64::from(time.subsec_nanos() % 1_000_000));
    record.at = whole(record.at);
    record.duration = Some(whole(record.duration.unwrap_or_default()));
    record.reply_bytes += head;
}

fn hosts(document: &Document, files: &Files) -> Result<Hosts, ValueError> {
    const ACCEPTED: &str =
        "a host file beside the scenario: number, name, window and segment size in bytes in each line";
    let read = |text: &str| text.parse::<Hosts>().map_err(|error| ParseError::new(error.to_string(), ACCEPTED));
    let from_file = document.get("log.hosts", |path| read(&files.read(path, "host file", ACCEPTED)?))?;
    let from_lines = document.get("log.host_lines", read)?;
    match (from_file, from_lines) {
        (Some(_), Some(_)) => {
            let accepted = "either log.hosts or log.host_lines";
            Err(document.refuse("log.host_lines", ParseError::new("two host files", accepted)))
        }
        (hosts, lines) => Ok(hosts.or(lines).unwrap_or_default()),
    }
}

/// How many of the log's servers a host file knows.
fn known(hosts: &Hosts, records: &[LogRecord]) -> Option<String> {
    let servers: BTreeSet<_> = records.iter().filter_map(LogRecord::host).collect();
    let known = servers.iter().filter(|name| hosts.named(name).is_some()).count();
    let servers = counted(servers.len(), "server");
    (!hosts.list().is_empty()).then(|| format!("host file: it has {known} of the log's {servers}"))
}

/// How many copies of the log there are beside it, and by how much each comes after the one before: evenly, unless given.
fn raised(document: &Document, log: &str, records: &[LogRecord]) -> Result<(u32, Duration), ValueError> {
    let copies = document.get("log.copies", |text| number(text, 0, 1_000_000))?.unwrap_or(0);
    let all = (copies + 1) * records.len() as u64;
    if all > MOST_REQUESTS {
        let key = if document.has("log.copies") { "log.copies" } else { log };
        let accepted = format!("at most {MOST_REQUESTS} requests, copies included");
        return Err(document.refuse(key, ParseError::new(format!("{all} requests"), accepted)));
    }
    let copies = u32::try_from(copies).expect("at most a million");
    let span = records.last().map_or(Duration::ZERO, |last| last.at - records[0].at);
    let shift = document.get("log.shift", duration::parse)?;
    Ok((copies, shift.unwrap_or(span / (copies + 1))))
}

fn factor(text: &str) -> Result<f64, ParseError> {
    const MOST: f64 = 1000.0;
    let factor = text.parse().ok().filter(|factor| (0.0..=MOST).contains(factor));
    factor.ok_or_else(|| ParseError::new("not a factor", "a number from 0 to 1000, e.g. 0.5 for servers twice as fast"))
}
