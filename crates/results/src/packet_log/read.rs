//! A strict reader of packet logs: what does not follow the format is refused with the number of its line.

use super::column::{BYTES, EVENT, ID, PORT, REASON, SETTING, T_NS, VALUE};
use super::{COLUMNS, DropReason, PacketEvent, PacketLog, Port, Record, SEED, Setting, TITLE, VERSION, event};
use farhop_units::{Bytes, Instant};
use std::io::{self, BufRead, Read};
use thiserror::Error;

/// Longest line: the longest record of version 1 has some 100 bytes, settings leave room for long values.
const MAX_LINE_BYTES: u64 = 4096;

/// Why a packet log cannot be read.
#[derive(Debug, Error)]
pub enum PacketLogError {
    /// The file cannot be read.
    #[error("reading the packet log: {0}")]
    Io(#[from] io::Error),
    /// It is a log of a version this program does not know.
    #[error("packet log version {found} is not supported; accepted: version {VERSION}")]
    Version {
        /// The version it says it has.
        found: String,
    },
    /// A line does not follow the format.
    #[error("line {line}: {problem}")]
    Malformed {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong, and what would be accepted.
        problem: String,
    },
    /// The log ends without its last record.
    #[error("the packet log was cut short after line {line}: no \"end\" record")]
    CutShort {
        /// Number of the last whole line.
        line: u64,
    },
}

impl PacketLog {
    /// Reads a log to its end.
    ///
    /// # Errors
    /// Anything that [`PacketLog::write`] would not have written.
    pub fn read(input: impl BufRead) -> Result<Self, PacketLogError> {
        let mut lines = Lines { input, number: 0, text: String::new() };
        read_title(&mut lines)?;
        let seed = read_seed(&mut lines)?;
        let settings = read_settings(&mut lines)?;
        let (records, end) = read_records(&mut lines)?;
        if lines.advance()? {
            return Err(lines.error("something after the \"end\" record; accepted: nothing"));
        }
        Ok(Self { seed, settings, records, end })
    }
}

/// Whole lines with their numbers.
struct Lines<R> {
    input: R,
    number: u64,
    text: String,
}

impl<R: BufRead> Lines<R> {
    /// Goes to the next line, whose text is without its line feed; false at the end of the file.
    fn advance(&mut self) -> Result<bool, PacketLogError> {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        self.input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
        match bytes.pop() {
            None => return Ok(false),
            Some(b'\n') => self.number += 1,
            Some(_) if bytes.len() as u64 + 1 < MAX_LINE_BYTES => {
                return Err(PacketLogError::CutShort { line: self.number });
            }
            Some(_) => {
                self.number += 1;
                return Err(self.error(format!("longer than {MAX_LINE_BYTES} bytes")));
            }
        }
        self.text = String::from_utf8(bytes).map_err(|_| self.error("not UTF-8"))?;
        if self.text.contains(char::is_control) {
            return Err(self.error("a control character; accepted: printable text, ended by a line feed alone"));
        }
        Ok(true)
    }

    /// Goes to the next line; it is an error if there is none.
    fn require(&mut self) -> Result<(), PacketLogError> {
        if self.advance()? { Ok(()) } else { Err(PacketLogError::CutShort { line: self.number }) }
    }

    /// An error in the current line.
    fn error(&self, problem: impl Into<String>) -> PacketLogError {
        PacketLogError::Malformed { line: self.number, problem: problem.into() }
    }
}

fn read_title(lines: &mut Lines<impl BufRead>) -> Result<(), PacketLogError> {
    lines.require()?;
    match lines.text.strip_prefix(TITLE) {
        Some(version) if version == VERSION.to_string() => Ok(()),
        Some(version) => Err(PacketLogError::Version { found: version.to_owned() }),
        None => Err(lines.error(format!("not a packet log; accepted: \"{TITLE}{VERSION}\""))),
    }
}

fn read_seed(lines: &mut Lines<impl BufRead>) -> Result<u64, PacketLogError> {
    lines.require()?;
    let seed = setting(&lines.text).filter(|seed| seed.name == SEED).and_then(|seed| whole_number(&seed.value));
    seed.ok_or_else(|| lines.error(format!("no seed; accepted: \"# {SEED} = \" and a whole number")))
}

/// The settings up to and including the line of column names.
fn read_settings(lines: &mut Lines<impl BufRead>) -> Result<Vec<Setting>, PacketLogError> {
    let columns = COLUMNS.join(",");
    let mut settings: Vec<Setting> = Vec::new();
    loop {
        lines.require()?;
        let line = &lines.text;
        if *line == columns {
            return Ok(settings);
        }
        let known = |new: &Setting| settings.iter().any(|old| old.name == new.name);
        match setting(line).filter(|setting| super::is_name(&setting.name)) {
            Some(new) if known(&new) => return Err(lines.error(format!("a second value for \"{}\"", new.name))),
            Some(new) => settings.push(new),
            None => {
                return Err(
                    lines.error(format!("\"{line}\"; accepted: \"# NAME = VALUE\" or the columns \"{columns}\""))
                );
            }
        }
    }
}

/// The records up to and including `end`, and its time.
fn read_records(lines: &mut Lines<impl BufRead>) -> Result<(Vec<Record>, Instant), PacketLogError> {
    let mut records = Vec::new();
    let (mut last_input, mut last_outcome) = (Instant::START, Instant::START);
    loop {
        lines.require()?;
        let line = parse_line(&lines.text).map_err(|problem| lines.error(problem))?;
        let (kind, last, at) = match &line {
            Line::End(end) => ("end", last_input.max(last_outcome), *end),
            Line::Record(record) if record.is_input() => ("input", last_input, record.at()),
            Line::Record(record) => ("outcome", last_outcome, record.at()),
        };
        if at < last {
            return Err(lines.error(format!("an {kind} at {at} after one at {last}; accepted: times in order")));
        }
        match line {
            Line::End(end) => return Ok((records, end)),
            Line::Record(record) => {
                *if record.is_input() { &mut last_input } else { &mut last_outcome } = at;
                records.push(record);
            }
        }
    }
}

/// A line below the column names.
enum Line {
    Record(Record),
    End(Instant),
}

fn parse_line(line: &str) -> Result<Line, String> {
    let row = Row::split(line)?;
    let at = Instant::from_nanos(row.number(T_NS)?);
    let used: &[usize] = match row.0[EVENT] {
        event::ARRIVAL | event::DELIVERY => &[PORT, ID, BYTES],
        event::DROP => &[PORT, ID, BYTES, REASON],
        event::CHANGE => &[SETTING, VALUE],
        event::END => &[],
        other => return Err(format!("unknown event \"{other}\"; accepted: {}", event::ALL.join(", "))),
    };
    row.only(used)?;
    Ok(match row.0[EVENT] {
        event::ARRIVAL => Line::Record(Record::Arrival(row.packet(at)?)),
        event::DELIVERY => Line::Record(Record::Delivery(row.packet(at)?)),
        event::DROP => Line::Record(Record::Drop(row.packet(at)?, row.reason()?)),
        event::CHANGE => Line::Record(Record::Change { at, setting: row.setting()? }),
        _ => Line::End(at),
    })
}

/// The fields of one line.
struct Row<'a>([&'a str; 8]);

impl<'a> Row<'a> {
    fn split(line: &'a str) -> Result<Self, String> {
        let count = line.split(',').count();
        if count != COLUMNS.len() {
            return Err(format!("{count} columns; accepted: {}", COLUMNS.len()));
        }
        let mut fields = line.split(',');
        Ok(Self(core::array::from_fn(|_| fields.next().unwrap_or_default())))
    }

    /// That the columns after `t_ns` and `event` are empty, but for `used`.
    fn only(&self, used: &[usize]) -> Result<(), String> {
        match (PORT..COLUMNS.len()).find(|column| !used.contains(column) && !self.0[*column].is_empty()) {
            Some(column) => Err(self.problem(column, "nothing here")),
            None => Ok(()),
        }
    }

    fn packet(&self, at: Instant) -> Result<PacketEvent, String> {
        let port: Port = self.0[PORT].parse().map_err(|()| self.problem(PORT, "gateway, terminal-0, terminal-1, …"))?;
        let bytes = u32::try_from(self.number(BYTES)?).map_err(|_| self.problem(BYTES, "a whole number below 2^32"))?;
        Ok(PacketEvent { at, port, id: self.number(ID)?, bytes: Bytes::new(bytes.into()) })
    }

    fn reason(&self) -> Result<DropReason, String> {
        let known = DropReason::ALL.into_iter().find(|reason| reason.word() == self.0[REASON]);
        known.ok_or_else(|| self.problem(REASON, &DropReason::ALL.map(DropReason::word).join(", ")))
    }

    fn setting(&self) -> Result<Setting, String> {
        let [.., name, value] = self.0;
        if !super::is_name(name) {
            return Err(self.problem(SETTING, "a name without spaces"));
        }
        if !super::is_plain(value) {
            return Err(self.problem(VALUE, "a value without spaces around it"));
        }
        Ok(Setting { name: name.to_owned(), value: value.to_owned() })
    }

    fn number(&self, column: usize) -> Result<u64, String> {
        whole_number(self.0[column]).ok_or_else(|| self.problem(column, "a whole number below 2^64"))
    }

    fn problem(&self, column: usize, accepted: &str) -> String {
        format!("{} \"{}\"; accepted: {accepted}", COLUMNS[column], self.0[column])
    }
}

/// `# NAME = VALUE`.
fn setting(line: &str) -> Option<Setting> {
    let (name, value) = line.strip_prefix("# ")?.split_once(" = ")?;
    super::is_plain(value).then(|| Setting { name: name.to_owned(), value: value.to_owned() })
}

/// A whole number in its one spelling: neither `+7` nor `07`.
fn whole_number(text: &str) -> Option<u64> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    if is_plain { text.parse().ok() } else { None }
}
