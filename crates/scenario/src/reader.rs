//! A TOML file as a flat list of dotted keys that remember their lines.
//!
//! Scenario files and the configuration files of terminal and gateway are read through [`Document`], so that every wrong value
//! anywhere gives the same kind of error: file, line, key, the value given, and what would be accepted. Keys nobody asked for
//! are errors too, with a suggestion.

use core::cell::RefCell;
use core::fmt;
use farhop_units::{ParseError, suggestion};
use thiserror::Error;

mod compound;
mod flat;

pub use compound::Spread;

/// What is wrong with a key that must be there.
const MISSING: &str = "missing";

/// A parsed file whose keys are asked for one by one.
#[derive(Debug, Clone)]
pub struct Document {
    file: String,
    entries: Vec<Entry>,
    asked: RefCell<Asked>,
}

/// Keys that were asked for, one behind the other: a grid asks for dozens at each point.
#[derive(Debug, Clone, Default)]
struct Asked {
    text: String,
    ends: Vec<usize>,
}

impl Asked {
    fn push(&mut self, key: &str) {
        self.text.push_str(key);
        self.ends.push(self.text.len());
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = core::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }
}

#[derive(Debug, Clone)]
struct Entry {
    key: String,
    value: Typed,
    origin: Origin,
}

#[derive(Debug, Clone)]
enum Typed {
    Text(String),
    List(Vec<String>),
    /// A table or anything else that cannot be a value here.
    Other(&'static str),
}

/// Where a value was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Line(usize),
    CommandLine,
}

/// A wrong value: the one error a user gets for a file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct ValueError {
    /// The file's name, or `--set` for a value of the command line.
    pub file: String,
    /// Line in the file, from 1; absent when the key is missing or was given on the command line.
    pub line: Option<usize>,
    /// The dotted key; empty for a syntax error.
    pub key: String,
    /// The value as written, if there is one.
    pub value: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What would be accepted.
    pub accepted: String,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        match (&self.key, &self.value) {
            (key, _) if key.is_empty() => {}
            (key, Some(value)) => write!(f, " {key} = {value}:")?,
            (key, None) => write!(f, " {key}:")?,
        }
        write!(f, " {}\n  accepted: {}", self.problem, self.accepted)
    }
}

impl ValueError {
    /// Whether it is one of [`Document::missing`].
    pub(crate) fn is_missing(&self) -> bool {
        self.problem == MISSING
    }
}

impl Document {
    /// Parses `text`; `file` is the name that errors show.
    ///
    /// # Errors
    /// A syntax error of TOML, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, ValueError> {
        let parsed = toml_edit::Document::parse(text).map_err(|error| ValueError {
            file: file.to_owned(),
            line: error.span().map(|span| flat::line_of(text, &span)),
            key: String::new(),
            value: None,
            problem: error.message().replace('\n', ", "),
            accepted: "TOML, e.g. [link.down] and below it rate = \"2 Mbit/s\"".to_owned(),
        })?;
        let mut entries = Vec::new();
        flat::flatten(text, "", parsed.as_table(), &mut entries);
        Ok(Self { file: file.to_owned(), entries, asked: RefCell::default() })
    }

    /// Gives `assignment` (`key=value`, as typed behind `--set`) precedence over the file.
    ///
    /// # Errors
    /// There is no `=`.
    pub fn set(&mut self, assignment: &str) -> Result<(), ValueError> {
        let (key, value) = assignment.split_once('=').ok_or_else(|| ValueError {
            file: "--set".to_owned(),
            line: None,
            key: String::new(),
            value: None,
            problem: format!("no \"=\" in \"{assignment}\""),
            accepted: "KEY=VALUE, e.g. link.down.delay=300ms".to_owned(),
        })?;
        self.assign(key.trim(), value.trim().trim_matches('"'));
        Ok(())
    }

    /// Gives `value` for `key` precedence over the file.
    pub fn assign(&mut self, key: &str, value: &str) {
        self.entries.retain(|entry| entry.key != key);
        let value = flat::typed_word(value);
        self.entries.push(Entry { key: key.to_owned(), value, origin: Origin::CommandLine });
    }

    /// Whether `key` was given on the command line.
    pub fn is_set(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key && entry.origin == Origin::CommandLine)
    }

    /// Whether anything below `table` was.
    pub(crate) fn is_set_below(&self, table: &str) -> bool {
        self.entries.iter().any(|entry| entry.origin == Origin::CommandLine && is_below(&entry.key, table))
    }

    /// Removes `key` and what is below it, unless it was given on the command line.
    pub fn forget(&mut self, key: &str) {
        let is_meant = |entry: &Entry| entry.key == key || is_below(&entry.key, key);
        self.entries.retain(|entry| !is_meant(entry) || entry.origin == Origin::CommandLine);
    }

    /// Removes `key` if its value is `value`; whether it was.
    pub(crate) fn remove(&mut self, key: &str, value: &str) -> bool {
        let is_meant = |entry: &Entry| entry.key == key && matches!(&entry.value, Typed::Text(text) if text == value);
        let before = self.entries.len();
        self.entries.retain(|entry| !is_meant(entry));
        self.entries.len() < before
    }

    /// The same with nothing but these tables.
    pub(crate) fn only(&self, tables: &[&str]) -> Self {
        let belongs = |entry: &&Entry| tables.iter().any(|table| entry.key == *table || is_below(&entry.key, table));
        let entries = self.entries.iter().filter(belongs).cloned().collect();
        Self { file: self.file.clone(), entries, asked: RefCell::default() }
    }

    /// The value of `key`, read by `parse`; `None` if it is absent.
    ///
    /// # Errors
    /// `parse` refused the value, or it is not a single value.
    pub fn get<T>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<Option<T>, ValueError> {
        let Some(entry) = self.ask(key) else { return Ok(None) };
        let parsed = match &entry.value {
            Typed::Text(text) => parse(text),
            Typed::List(_) => Err(ParseError::new("a list", "a single value")),
            Typed::Other(what) => Err(ParseError::new(*what, "a single value")),
        };
        parsed.map(Some).map_err(|error| self.refuse(key, error))
    }

    /// The values of `key`, each read by `parse`; on the command line they may be separated by commas. `None` if it is absent.
    ///
    /// # Errors
    /// `parse` refused a value, or the key does not hold a list.
    pub fn list<T>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> Result<Option<Vec<T>>, ValueError> {
        let Some(entry) = self.ask(key) else { return Ok(None) };
        let parsed = match (&entry.value, entry.origin) {
            (Typed::List(items), _) => items.iter().map(|item| parse(item)).collect(),
            (Typed::Text(text), Origin::CommandLine) => text.split(',').map(|item| parse(item.trim())).collect(),
            (Typed::Text(_), Origin::Line(_)) => Err(ParseError::new("not a list", "a list, e.g. [\"a\", \"b\"]")),
            (Typed::Other(what), _) => Err(ParseError::new(*what, "a list, e.g. [\"a\", \"b\"]")),
        };
        parsed.map(Some).map_err(|error| self.refuse(key, error))
    }

    /// The values of `key`, which holds one or a list of them, each read by `parse`; `None` if it is absent.
    ///
    /// # Errors
    /// `parse` refused a value, or the key holds a table.
    pub fn one_or_more<T>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> Result<Option<Vec<T>>, ValueError> {
        match self.entries.iter().find(|entry| entry.key == key) {
            Some(Entry { value: Typed::Text(_), origin: Origin::Line(_), .. }) => {
                self.get(key, parse).map(|one| one.map(|one| vec![one]))
            }
            _ => self.list(key, parse),
        }
    }

    /// Whether `key` is given.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// Takes all keys below `table` as asked for.
    pub(crate) fn pass_over(&self, table: &str) {
        let keys = self.entries.iter().map(|entry| &entry.key).filter(|key| is_below(key, table));
        keys.for_each(|key| self.asked.borrow_mut().push(key));
    }

    /// The error for `key` with its line and value, for checks that `parse` alone cannot make.
    pub fn refuse(&self, key: &str, error: ParseError) -> ValueError {
        let entry = self.entries.iter().find(|entry| entry.key == key);
        let (file, line) = match entry.map(|entry| entry.origin) {
            Some(Origin::CommandLine) => ("--set".to_owned(), None),
            Some(Origin::Line(line)) => (self.file.clone(), Some(line)),
            None => (self.file.clone(), None),
        };
        let value = entry.and_then(|entry| entry.value.as_written());
        ValueError { file, line, key: key.to_owned(), value, problem: error.problem, accepted: error.accepted }
    }

    /// The error for `key` that must be there and is not.
    pub fn missing(&self, key: &str, accepted: &str) -> ValueError {
        self.refuse(key, ParseError::new(MISSING, accepted))
    }

    /// Checks that every key in the file was asked for.
    ///
    /// # Errors
    /// The first key that was not, with the nearest known key.
    pub fn finish(&self) -> Result<(), ValueError> {
        let asked = self.asked.borrow();
        let is_known = |entry: &Entry| match entry.value {
            // A table is known if some key below it is.
            Typed::Other("a table") => asked.iter().any(|known| is_below(known, &entry.key)),
            _ => asked.iter().any(|known| known == entry.key),
        };
        match self.entries.iter().find(|entry| !is_known(entry)) {
            None => Ok(()),
            Some(entry) if asked.iter().any(|known| is_below(known, &entry.key)) => {
                let keys = siblings(&format!("{}.", entry.key), &asked);
                Err(self
                    .refuse(&entry.key, ParseError::new("a table has no value of its own", format!("its keys {keys}"))))
            }
            Some(entry) => {
                let suggestion = suggestion(&entry.key, asked.iter().map(|known| entry.counterpart(known)));
                let problem = format!("unknown key{suggestion}");
                let siblings = siblings(&entry.key, &asked);
                Err(self.refuse(&entry.key, ParseError::new(problem, siblings)))
            }
        }
    }

    fn ask(&self, key: &str) -> Option<&Entry> {
        self.asked.borrow_mut().push(key);
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// The key of `name` in `table`; [`format!`] takes several times as long, which a grid would notice.
pub(crate) fn key_in(table: &str, name: &str) -> String {
    [table, ".", name].concat()
}

impl Entry {
    /// What of `known` this entry may have been meant for: of a table, the table that holds it.
    fn counterpart<'a>(&self, known: &'a str) -> &'a str {
        let depth = self.key.matches('.').count();
        match (&self.value, known.match_indices('.').nth(depth)) {
            (Typed::Other(_), Some((end, _))) => &known[..end],
            _ => known,
        }
    }
}

impl Typed {
    fn as_written(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(shortened(format!("{text:?}"))),
            Self::List(items) => Some(shortened(format!("{items:?}"))),
            Self::Other(_) => None,
        }
    }
}

/// A trace or a page may be megabytes long; an error shows where it begins.
fn shortened(text: String) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn is_below(key: &str, table: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

/// The known keys of the table that `key` stands in; the known tables if that table has none.
fn siblings(key: &str, asked: &Asked) -> String {
    let table = key.rsplit_once('.').map_or("", |(table, _)| table);
    let child = |known: &str| match table {
        "" => known.split('.').next().map(str::to_owned),
        _ => is_below(known, table).then(|| known[table.len() + 1..].split('.').next().unwrap_or_default().to_owned()),
    };
    let mut names: Vec<String> = asked.iter().filter_map(child).collect();
    names.sort();
    names.dedup();
    if names.is_empty() { siblings(table, asked) } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_units::Rate;
    use proptest::prelude::*;

    const TEXT: &str = "title = \"x\"\n\n[link.down]\nrate = \"20 mbps\"\n[run]\nwords = [\"a\", \"b\"]\n";

    fn word(text: &str) -> Result<String, ParseError> {
        Ok(text.to_owned())
    }

    #[test]
    fn wrong_value_names_file_line_key_value_and_what_is_accepted() {
        let document = Document::parse("net.toml", TEXT).unwrap();
        let error = document.get("link.down.rate", str::parse::<Rate>).unwrap_err();
        insta::assert_snapshot!(error, @r#"
        net.toml:4: link.down.rate = "20 mbps": unknown unit "mbps"
          accepted: a number above zero and bit/s, kbit/s, Mbit/s or Gbit/s, e.g. "2048 kbit/s"
        "#);
    }

    #[test]
    fn unknown_key_is_refused_with_a_suggestion() {
        let document = Document::parse("net.toml", "[link.down]\ndelya = \"1 ms\"\n").unwrap();
        assert_eq!(document.get("link.down.delay", word), Ok(None));
        assert_eq!(document.get("link.down.rate", word), Ok(None));
        insta::assert_snapshot!(document.finish().unwrap_err(), @r#"
        net.toml:2: link.down.delya = "1 ms": unknown key; did you mean link.down.delay?
          accepted: delay, rate
        "#);
    }

    #[test]
    fn unknown_empty_table_is_refused() {
        let document = Document::parse("net.toml", "[acess]\n").unwrap();
        assert_eq!(document.get("link.rate", word), Ok(None));
        assert_eq!(document.finish().unwrap_err().key, "acess");
    }

    #[test]
    fn a_value_for_a_table_is_refused_with_its_keys() {
        let mut document = Document::parse("net.toml", "").unwrap();
        document.set("link.down=3").unwrap();
        assert_eq!(document.get("link.down.delay", word), Ok(None));
        assert_eq!(document.get("link.down.rate", word), Ok(None));
        insta::assert_snapshot!(document.finish().unwrap_err(), @r#"
        --set: link.down = "3": a table has no value of its own
          accepted: its keys delay, rate
        "#);
    }

    #[test]
    fn command_line_wins_over_the_file() {
        let mut document = Document::parse("net.toml", TEXT).unwrap();
        document.set("link.down.rate=2Mbit/s").unwrap();
        document.set("run.words = c, d").unwrap();
        assert_eq!(document.get("link.down.rate", str::parse), Ok(Some(Rate::mbps(2))));
        assert_eq!(document.list("run.words", word), Ok(Some(vec!["c".to_owned(), "d".to_owned()])));
        assert!(document.set("nothing").is_err());
    }

    #[test]
    fn syntax_error_has_a_line() {
        let error = Document::parse("net.toml", "a = 1\nb = = 2\n").unwrap_err();
        assert_eq!(error.line, Some(2));
    }

    proptest! {
        #[test]
        fn any_text_gives_an_answer(text in ".*") {
            if let Ok(document) = Document::parse("x", &text) {
                let _ = document.finish();
            }
        }
    }
}
