//! Reading a log line by line, with what is wrong counted and told.

use super::{LogRecord, common, squid};
use crate::BYTE_ORDER_MARK;
use core::fmt;
use core::str::FromStr;
use farhop_units::{ParseError, counted};
use thiserror::Error;

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Squid's native format.
    Squid,
    /// The Common Log Format.
    Common,
    /// The Combined Log Format: the Common one with referrer and user agent.
    Combined,
}

impl Format {
    const ALL: [Self; 3] = [Self::Squid, Self::Common, Self::Combined];

    const fn word(self) -> &'static str {
        match self {
            Self::Squid => "squid",
            Self::Common => "common",
            Self::Combined => "combined",
        }
    }

    /// Whether sizes of responses in this format include their heads.
    pub const fn counts_heads(self) -> bool {
        matches!(self, Self::Squid)
    }

    fn parse(self, line: &str) -> Result<LogRecord, &'static str> {
        match self {
            Self::Squid => squid::parse(line),
            Self::Common => common::parse_common(line),
            Self::Combined => common::parse_combined(line),
        }
    }
}

impl FromStr for Format {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let words = Self::ALL.map(Self::word);
        let known = Self::ALL.into_iter().find(|format| format.word() == text);
        known.ok_or_else(|| ParseError::unknown("format of logs", text, words, words.join(", ")))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What to do about broken lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Count and skip them.
    Skip,
    /// Refuse the log at the first.
    Refuse,
}

/// Why a log is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LogError {
    /// A broken line, and none is allowed.
    #[error("{0}; accepted: lines of the {1} format only, or broken lines skipped")]
    Broken(BrokenLine, Format),
}

/// A line that is no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct BrokenLine {
    /// Number of the line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// What a log says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// The entries, in the order of their requests.
    pub records: Vec<LogRecord>,
    /// Lines read, empty ones and comments not counted.
    pub lines: u64,
    /// Lines that are no entries.
    pub broken: u64,
    /// The first of them.
    pub first_broken: Vec<BrokenLine>,
}

impl Log {
    /// How many broken lines are told one by one.
    pub const TOLD: usize = 5;

    /// What there is to say about the log, in one line.
    pub fn summary(&self) -> String {
        let told: Vec<String> = self.first_broken.iter().map(BrokenLine::to_string).collect();
        let lines = counted(self.lines, "line");
        match self.broken {
            0 => lines,
            broken if broken > Self::TOLD as u64 => format!("{lines}, {broken} broken: {}, …", told.join(", ")),
            broken => format!("{lines}, {broken} broken: {}", told.join(", ")),
        }
    }

    fn add_broken(&mut self, broken: BrokenLine) {
        self.broken += 1;
        if self.first_broken.len() < Self::TOLD {
            self.first_broken.push(broken);
        }
    }
}

/// Reads a log. Empty lines and comments (`#`) are neither entries nor broken.
///
/// # Errors
/// A broken line, if `strictness` refuses it.
pub fn read(text: &[u8], format: Format, strictness: Strictness) -> Result<Log, LogError> {
    let mut log = Log::default();
    let text = text.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(text);
    // Old Macintoshes end lines so.
    let end = if text.contains(&b'\n') { b'\n' } else { b'\r' };
    for (number, line) in (1..).zip(text.split(|byte| *byte == end)) {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        log.lines += 1;
        match entry(line, format) {
            Ok(record) => log.records.push(record),
            Err(problem) => {
                let broken = BrokenLine { line: number, problem };
                if strictness == Strictness::Refuse {
                    return Err(LogError::Broken(broken, format));
                }
                log.add_broken(broken);
            }
        }
    }
    log.records.sort_by_key(|record| record.at);
    Ok(log)
}

fn entry(line: &[u8], format: Format) -> Result<LogRecord, &'static str> {
    /// Longer than any URL that a proxy accepts, with all else beside it.
    const LONGEST: usize = 64 << 10;
    if line.len() > LONGEST {
        return Err("longer than 64 KiB");
    }
    format.parse(core::str::from_utf8(line).map_err(|_| "no UTF-8")?)
}
