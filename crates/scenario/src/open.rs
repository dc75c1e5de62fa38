//! From what a user types to a resolved scenario.

use crate::files::{Files, read_text};
use crate::reader::{Document, ValueError, key_in};
use crate::template::Template;
use crate::{Scenario, ScenarioError, shipped, words};
use farhop_units::suggestion;
use std::io;
use std::path::{Path, PathBuf};

/// Opens a file or a shipped scenario, with `assignments` (`key=value`) taking precedence over it.
///
/// A name without `/` and without `.toml` is a shipped scenario if there is one of that name.
///
/// # Errors
/// There is neither, the file cannot be read, or a value in it or in `assignments` is wrong.
pub fn open(given: &str, assignments: &[String]) -> Result<Scenario, ScenarioError> {
    template(given, assignments)?.resolve([])
}

/// What `given` names, with `assignments`.
pub(crate) fn template(given: &str, assignments: &[String]) -> Result<Template, ScenarioError> {
    if let Some(shipped) = shipped::find(given) {
        // What an assignment names is the user's, and relative to where the user is.
        let files = Files::ShippedOrBeside(PathBuf::new());
        return read(given, &format!("{given}.toml"), shipped.text, assignments, files);
    }
    let path = Path::new(given);
    let text = match read_text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unknown(given)),
        Err(source) => return Err(ScenarioError::Unreadable { file: given.to_owned(), source }),
    };
    let name = path.file_stem().map_or_else(|| given.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    read(&name, given, &text, assignments, Files::Beside(folder))
}

/// Reads a scenario from text; files it names are looked up among the shipped ones.
///
/// # Errors
/// A value in `text` or `assignments` is wrong.
pub fn parse(name: &str, text: &str, assignments: &[String]) -> Result<Scenario, ScenarioError> {
    read(name, &format!("{name}.toml"), text, assignments, Files::Shipped)?.resolve([])
}

fn read(name: &str, file: &str, text: &str, assignments: &[String], files: Files) -> Result<Template, ScenarioError> {
    let mut document = Document::parse(file, text)?;
    for assignment in assignments {
        document.set(assignment)?;
    }
    Ok(Template::new(name.to_owned(), document, files))
}

/// What stands for the default of the keys that have nothing by default.
const NONE: &str = "none";

/// What the command line replaces beyond the keys that it names; what is said to be none is not there.
pub(crate) fn replace(document: &mut Document) -> Result<(), ValueError> {
    take_back(document);
    replace_page(document);
    replace_lines(document);
    replace_connections(document)?;
    replace_rates(document);
    Ok(())
}

/// Keys whose values are not settings of the link, of which "none" is one, and what says nothing without them.
const TAKEN_BACK: [(&str, &str); 8] = [
    ("link.down.trace", "link.down.trace_end"),
    ("link.up.trace", "link.up.trace_end"),
    ("wan.trace", "wan.trace_end"),
    ("lan.trace", "lan.trace_end"),
    ("multicast.rate", "multicast"),
    ("users.model", "users"),
    ("log.file", "log"),
    ("log.hosts", "log.host_lines"),
];

/// "none" takes back what the file says of it: it is as if nothing stood there.
fn take_back(document: &mut Document) {
    for (key, with_it) in TAKEN_BACK {
        if document.remove(key, NONE) && !document.is_set(key) {
            document.forget(with_it);
        }
    }
}

/// A page described on the command line replaces the file's, whichever way that was described.
fn replace_page(document: &mut Document) {
    const LISTS: [&str; 3] = ["page.sizes", "page.table", "page.har"];
    const EQUAL: [&str; 2] = ["page.objects", "page.size"];
    if EQUAL.iter().any(|key| document.is_set(key)) {
        LISTS.iter().chain(&["page.har_page"]).for_each(|key| document.forget(key));
    }
    if LISTS.iter().any(|key| document.is_set(key)) {
        EQUAL.iter().chain(&LISTS).chain(&["page.har_page"]).for_each(|key| document.forget(key));
    }
}

/// A log on the command line replaces the file's own lines of one.
fn replace_lines(document: &mut Document) {
    if document.is_set("log.file") {
        document.forget("log.lines");
    }
}

/// A version of HTTP on the command line that has one connection, or TLS of its own, replaces what the file says of them.
fn replace_connections(document: &mut Document) -> Result<(), ValueError> {
    const KEY: &str = "http.version";
    if document.is_set(KEY)
        && let Some(version) = document.get(KEY, |text| words::choose(words::HTTP_VERSIONS, text))?
    {
        if version.shares_connection() {
            document.forget("http.connections");
        }
        if version.is_multiplexed() {
            document.forget("http.tls");
        }
    }
    Ok(())
}

/// A trace on the command line replaces the file's rate, and a rate its trace.
fn replace_rates(document: &mut Document) {
    for table in ["link.down", "link.up", "wan", "lan"] {
        if !document.is_set_below(table) {
            continue;
        }
        let [rate, trace, end] = ["rate", "trace", "trace_end"].map(|word| key_in(table, word));
        if document.is_set(&trace) {
            document.forget(&rate);
        }
        if document.is_set(&rate) {
            document.forget(&trace);
            document.forget(&end);
        }
    }
}

fn unknown(given: &str) -> ScenarioError {
    let names: Vec<&str> = shipped::all().map(|shipped| shipped.name).collect();
    let suggestion = suggestion(given, names.iter().copied());
    ScenarioError::Unknown { given: given.to_owned(), suggestion, shipped: names.join(", ") }
}
