//! From what a user types to a resolved scenario.

use crate::reader::{Document, nearest};
use crate::resolve::{PageFiles, resolve};
use crate::{Scenario, ScenarioError, shipped};
use std::fs;
use std::io;
use std::path::Path;

/// Opens a file or a shipped scenario, with `assignments` (`key=value`) taking precedence over it.
///
/// A name without `/` and without `.toml` is a shipped scenario if there is one of that name.
///
/// # Errors
/// There is neither, the file cannot be read, or a value in it or in `assignments` is wrong.
pub fn open(given: &str, assignments: &[String]) -> Result<Scenario, ScenarioError> {
    if let Some(shipped) = shipped::find(given) {
        let files = PageFiles::Shipped;
        return read(given, &format!("{given}.toml"), shipped.text, assignments, &files);
    }
    let path = Path::new(given);
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unknown(given)),
        Err(source) => return Err(ScenarioError::Unreadable { file: given.to_owned(), source }),
    };
    let name = path.file_stem().map_or_else(|| given.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    read(&name, given, &text, assignments, &PageFiles::Beside(folder))
}

/// Reads a scenario from text; page files are looked up among the shipped ones.
///
/// # Errors
/// A value in `text` or `assignments` is wrong.
pub fn parse(name: &str, text: &str, assignments: &[String]) -> Result<Scenario, ScenarioError> {
    read(name, &format!("{name}.toml"), text, assignments, &PageFiles::Shipped)
}

fn read(
    name: &str,
    file: &str,
    text: &str,
    assignments: &[String],
    pages: &PageFiles,
) -> Result<Scenario, ScenarioError> {
    let mut document = Document::parse(file, text)?;
    for assignment in assignments {
        document.set(assignment)?;
    }
    replace_page(&mut document);
    Ok(resolve(name, &document, pages)?)
}

/// A page described on the command line replaces the file's, whichever way that was described.
fn replace_page(document: &mut Document) {
    const LISTS: [&str; 2] = ["page.sizes", "page.table"];
    const EQUAL: [&str; 2] = ["page.objects", "page.size"];
    if EQUAL.iter().any(|key| document.is_set(key)) {
        LISTS.iter().for_each(|key| document.forget(key));
    }
    if LISTS.iter().any(|key| document.is_set(key)) {
        EQUAL.iter().chain(&LISTS).for_each(|key| document.forget(key));
    }
}

fn unknown(given: &str) -> ScenarioError {
    let names: Vec<&str> = shipped::SHIPPED.iter().map(|shipped| shipped.name).collect();
    let suggestion = nearest(given, names.iter().copied());
    let suggestion = suggestion.map_or_else(String::new, |name| format!("; did you mean {name}?"));
    ScenarioError::Unknown { given: given.to_owned(), suggestion, shipped: names.join(", ") }
}
