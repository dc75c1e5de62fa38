//! A strict reader of packet logs: what does not follow the format is refused with the number of its line.

use super::column::{BYTES, CLASS, CORRUPTED, DESTINATION, ECN, EVENT, FLOW, ID, PORT, REASON, SETTING, T_NS, VALUE};
use super::{COLUMNS, Class, Condition, DropReason, Ecn, Header, PacketEvent, Port, Record, SEED, Setting, TITLE};
use super::{Traits, VERSION, event};
use core::str::FromStr;
use farhop_units::{Bytes, Instant};
use std::io::{self, BufRead, Read};
use thiserror::Error;

/// Longest line. Records have some 100 bytes; a setting may be a whole recorded trace.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// More settings than any link has.
const MAX_SETTINGS: usize = 1000;

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

/// A log that is being read: an iterator over its records, each already checked against those before it. After an error
/// there is nothing more.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    header: Header,
    last_input: Instant,
    last_outcome: Instant,
    end: Option<Instant>,
    failed: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads what the log says before its records.
    ///
    /// # Errors
    /// Anything that [`Writer`](super::Writer) would not have written.
    pub fn new(input: R) -> Result<Self, PacketLogError> {
        let mut lines = Lines { input, number: 0, text: String::new() };
        read_title(&mut lines)?;
        let header = Header { seed: read_seed(&mut lines)?, settings: read_settings(&mut lines)? };
        let (last_input, last_outcome) = (Instant::START, Instant::START);
        Ok(Self { lines, header, last_input, last_outcome, end: None, failed: false })
    }

    /// What the log says before its records.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Number of the line that was read last, from 1.
    pub const fn line(&self) -> u64 {
        self.lines.number
    }

    /// When the link was last run; `None` until all records have been read.
    pub const fn end(&self) -> Option<Instant> {
        self.end
    }

    /// The next record; `None` after the log's end.
    fn read(&mut self) -> Result<Option<Record>, PacketLogError> {
        self.lines.require()?;
        match parse_line(&self.lines.text).map_err(|problem| self.lines.error(problem))? {
            Line::Record(record) => {
                self.check_order_of(&record)?;
                Ok(Some(record))
            }
            Line::End(end) => {
                self.check_order("end", self.last_input.max(self.last_outcome), end)?;
                if self.lines.advance()? {
                    return Err(self.lines.error("something after the \"end\" record; accepted: nothing"));
                }
                self.end = Some(end);
                Ok(None)
            }
        }
    }

    /// An outcome may stand after a later input, whose handling has brought it about; everything else is in order of time.
    fn check_order_of(&mut self, record: &Record) -> Result<(), PacketLogError> {
        let at = record.at();
        if record.is_input() {
            self.check_order("input", self.last_input.max(self.last_outcome), at)?;
            self.last_input = at;
        } else {
            self.check_order("outcome", self.last_outcome, at)?;
            self.last_outcome = at;
        }
        Ok(())
    }

    fn check_order(&self, kind: &str, last: Instant, at: Instant) -> Result<(), PacketLogError> {
        if at >= last {
            return Ok(());
        }
        Err(self.lines.error(format!("an {kind} at {at} after something at {last}; accepted: times in order")))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Record, PacketLogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.end.is_some() {
            return None;
        }
        let read = self.read();
        self.failed = read.is_err();
        read.transpose()
    }
}

/// Whole lines with their numbers.
#[derive(Debug)]
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
        Some(version) => Err(PacketLogError::Version { found: shown(version) }),
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
            Some(_) if settings.len() == MAX_SETTINGS => {
                return Err(lines.error(format!("another setting; accepted: at most {MAX_SETTINGS}")));
            }
            Some(new) => settings.push(new),
            None => {
                let found = shown(line);
                return Err(
                    lines.error(format!("\"{found}\"; accepted: \"# NAME = VALUE\" or the columns \"{columns}\""))
                );
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
        event::ARRIVAL => &[PORT, ID, BYTES, DESTINATION, FLOW, CLASS, ECN],
        event::DELIVERY => &[PORT, ID, BYTES, ECN, CORRUPTED],
        event::DROP => &[PORT, ID, BYTES, REASON],
        event::CHANGE => &[SETTING, VALUE],
        event::END => &[],
        other => return Err(format!("unknown event \"{}\"; accepted: {}", shown(other), event::ALL.join(", "))),
    };
    row.only(used)?;
    Ok(match row.0[EVENT] {
        event::ARRIVAL => Line::Record(row.arrival(at)?),
        event::DELIVERY => Line::Record(Record::Delivery(row.packet(at)?, row.condition()?)),
        event::DROP => {
            Line::Record(Record::Drop(row.packet(at)?, row.word(REASON, DropReason::ALL, DropReason::word)?))
        }
        event::CHANGE => Line::Record(Record::Change { at, setting: row.setting()? }),
        _ => Line::End(at),
    })
}

/// The fields of one line.
struct Row<'a>([&'a str; COLUMNS.len()]);

const TERMINALS: &str = "terminal-0, terminal-1, …";

impl<'a> Row<'a> {
    fn split(line: &'a str) -> Result<Self, String> {
        let mut fields = line.split(',');
        let row = core::array::from_fn(|_| fields.next());
        let missing = row.iter().filter(|field| field.is_none()).count();
        match COLUMNS.len() - missing + fields.count() {
            count if count == COLUMNS.len() => Ok(Self(row.map(Option::unwrap_or_default))),
            count => Err(format!("{count} columns; accepted: {}", COLUMNS.len())),
        }
    }

    /// That the columns after `t_ns` and `event` are empty, but for `used`.
    fn only(&self, used: &[usize]) -> Result<(), String> {
        match (PORT..COLUMNS.len()).find(|column| !used.contains(column) && !self.0[*column].is_empty()) {
            Some(column) => Err(self.problem(column, "nothing here")),
            None => Ok(()),
        }
    }

    fn arrival(&self, at: Instant) -> Result<Record, String> {
        let packet = self.packet(at)?;
        let destination = match (packet.port, self.0[DESTINATION]) {
            (Port::Terminal(_), "") => None,
            (Port::Terminal(_), _) => {
                return Err(self.problem(DESTINATION, "nothing here, for an arrival at a terminal"));
            }
            (Port::Gateway, _) => Some(self.parse(DESTINATION, &format!("all, {TERMINALS}"))?),
        };
        let class = self.word(CLASS, Class::ALL, Class::word)?;
        Ok(Record::Arrival(packet, Traits { destination, flow: self.number(FLOW)?, class, ecn: self.ecn()? }))
    }

    fn packet(&self, at: Instant) -> Result<PacketEvent, String> {
        let port = self.parse(PORT, &format!("gateway, {TERMINALS}"))?;
        let bytes = u32::try_from(self.number(BYTES)?).map_err(|_| self.problem(BYTES, "a whole number below 2^32"))?;
        Ok(PacketEvent { at, port, id: self.number(ID)?, bytes: Bytes::new(bytes.into()) })
    }

    fn condition(&self) -> Result<Condition, String> {
        let corrupted = match self.0[CORRUPTED] {
            "" => false,
            super::CORRUPTED => true,
            _ => return Err(self.problem(CORRUPTED, &format!("{}, or nothing", super::CORRUPTED))),
        };
        Ok(Condition { ecn: self.ecn()?, corrupted })
    }

    fn ecn(&self) -> Result<Ecn, String> {
        self.word(ECN, Ecn::ALL, Ecn::word)
    }

    fn parse<T: FromStr>(&self, column: usize, accepted: &str) -> Result<T, String> {
        self.0[column].parse().map_err(|_| self.problem(column, accepted))
    }

    /// One of `all`, in its spelling.
    fn word<T: Copy>(&self, column: usize, all: &[T], spelling: fn(T) -> &'static str) -> Result<T, String> {
        let known = all.iter().copied().find(|known| spelling(*known) == self.0[column]);
        known.ok_or_else(|| {
            self.problem(column, &all.iter().map(|known| spelling(*known)).collect::<Vec<_>>().join(", "))
        })
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
        format!("{} \"{}\"; accepted: {accepted}", COLUMNS[column], shown(self.0[column]))
    }
}

/// What of a text an error message can show.
fn shown(text: &str) -> String {
    const MOST: usize = 100;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `# NAME = VALUE`.
fn setting(line: &str) -> Option<Setting> {
    let (name, value) = line.strip_prefix("# ")?.split_once(" = ")?;
    super::is_plain(value).then(|| Setting { name: name.to_owned(), value: value.to_owned() })
}

/// A whole number in its one spelling: neither `+7` nor `07`.
pub(super) fn whole_number(text: &str) -> Option<u64> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    if is_plain { text.parse().ok() } else { None }
}
