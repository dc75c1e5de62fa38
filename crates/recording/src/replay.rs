//! A recorded link recomputed, and its packet log.
//!
//! [`verify`] and [`verify_log`] feed the recorded inputs to a fresh link in virtual time and compare what comes out with what
//! was recorded, one by one; nothing of the recorded outputs enters the computation. A difference means that the engine did
//! not drive the link as its contract says, that the log was altered, or that the link's model has changed since. A log is
//! read record by record, and what the link does is compared as soon as the log has it, so that millions of packets take no
//! memory but for those inside the link.

use crate::LinkRecord;
use crate::words::{self, link_input, log_input, log_output};
use farhop_link::replay::{Input, Recorded};
use farhop_link::{Channel, ChannelConfig, ConfigError, Port, SettingError};
use farhop_results::packet_log::{PacketLogError, Reader, Record, Writer};
use farhop_units::Instant;
use std::collections::VecDeque;
use std::io::{self, BufRead, Write};
use thiserror::Error;

/// What was recomputed and found the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplaySummary {
    /// Packets that entered the link.
    pub arrivals: u64,
    /// Settings that changed.
    pub changes: u64,
    /// Packets that left it on the other side.
    pub deliveries: u64,
    /// Packets that went no further.
    pub drops: u64,
    /// When the recording ended.
    pub end: Instant,
}

/// Why a log could not be recomputed, or was recomputed to something else.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Log(#[from] PacketLogError),
    /// A setting is none of the link's.
    #[error("line {line}: {problem}")]
    Setting {
        /// Number of the line, from 1; of the header's last line if the setting is in the header.
        line: u64,
        /// What is wrong with it.
        problem: SettingError,
    },
    /// The settings of the header contradict each other.
    #[error("the link's settings: {0}")]
    Config(#[from] ConfigError),
    /// A packet came from a terminal that the link does not have.
    #[error("line {line}: a packet from terminal {terminal}; accepted: terminals below {terminals}")]
    NoTerminal {
        /// Number of the line, from 1.
        line: u64,
        /// The terminal.
        terminal: u16,
        /// How many there are.
        terminals: u16,
    },
    /// The link does something else.
    #[error(transparent)]
    Difference(#[from] Box<Difference>),
}

/// The first outcome of a recorded link that the link would not have given.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{}outcome {number} of the link differs: recorded {}, recomputed {}",
    place(line),
    told(recorded),
    told(recomputed)
)]
pub struct Difference {
    /// Line of the log where it was noticed, if there is a log.
    pub line: Option<u64>,
    /// Its number among the deliveries and drops, from 1.
    pub number: u64,
    /// What was recorded; `None` if that is fewer outcomes.
    pub recorded: Option<Record>,
    /// What the link does; `None` if it does less.
    pub recomputed: Option<Record>,
}

fn place(line: &Option<u64>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

/// An outcome in a message: its line in the log.
fn told(record: &Option<Record>) -> String {
    record.as_ref().map_or_else(|| "nothing".to_owned(), Record::to_string)
}

/// Recomputes the deliveries and drops of a packet log from its settings, seed and inputs, and compares them with those it
/// holds.
///
/// # Errors
/// The log does not follow its format, was cut short (what it holds is then compared before that is said), or differs.
pub fn verify_log(input: impl BufRead) -> Result<ReplaySummary, ReplayError> {
    let mut log = Reader::new(input)?;
    let config = words::config(log.header()).map_err(|problem| ReplayError::Setting { line: log.line(), problem })?;
    config.check()?;
    let terminals = config.terminals;
    let mut repetition = Repetition::new(config, log.header().seed);
    while let Some(record) = log.next() {
        let (record, line) = (record?, log.line());
        match link_input(&record).map_err(|problem| ReplayError::Setting { line, problem })? {
            Some(Input::Arrival { port: Port::Terminal(terminal), .. }) if terminal >= terminals => {
                return Err(ReplayError::NoTerminal { line, terminal, terminals });
            }
            Some(input) => repetition.handle_input(input).map_err(at_line(line))?,
            None => repetition.compare(record).map_err(at_line(line))?,
        }
    }
    let end = log.end().expect("a log without errors has an end");
    Ok(repetition.finish(end).map_err(at_line(log.line()))?)
}

fn at_line(line: u64) -> impl FnOnce(Box<Difference>) -> Box<Difference> {
    move |mut difference| {
        difference.line = Some(line);
        difference
    }
}

/// Recomputes the deliveries and drops of a link recorded in memory, and compares.
///
/// # Errors
/// The first difference.
pub fn verify(record: &LinkRecord) -> Result<ReplaySummary, Box<Difference>> {
    let mut repetition = Repetition::new(record.config.clone(), record.seed);
    for item in merged(record) {
        match item {
            Item::Input(input) => repetition.handle_input(input.clone())?,
            Item::Outcome(outcome) => repetition.compare(log_output(outcome))?,
        }
    }
    repetition.finish(record.end)
}

/// Writes the packet log of a link recorded in memory.
///
/// # Errors
/// What `out` reports.
pub fn write_log(record: &LinkRecord, out: impl Write) -> io::Result<()> {
    let mut log = Writer::new(out, &words::header(&record.config, record.seed))?;
    for item in merged(record) {
        log.write(&match item {
            Item::Input(input) => log_input(input),
            Item::Outcome(outcome) => log_output(outcome),
        })?;
    }
    log.finish(record.end)?.flush()
}

/// What was done to a link, or what it did.
enum Item<'a> {
    Input(&'a Input),
    Outcome(&'a farhop_link::Output<Recorded>),
}

/// In order of time; what is done to the link stands before what it does at the same time.
fn merged(record: &LinkRecord) -> impl Iterator<Item = Item<'_>> {
    let (mut inputs, mut outputs) = (record.inputs.iter().peekable(), record.outputs.iter().peekable());
    core::iter::from_fn(move || {
        let outcome_at = outputs.peek().map(|output| output.at());
        let input = inputs.next_if(|input| outcome_at.is_none_or(|at| input.at() <= at));
        input.map(Item::Input).or_else(|| outputs.next().map(Item::Outcome))
    })
}

/// A fresh link in virtual time, ahead of what has been compared.
struct Repetition {
    channel: Channel<Recorded>,
    /// What the link has done and was not compared yet.
    ahead: VecDeque<Record>,
    summary: ReplaySummary,
}

/// A log that says nothing of what the link did is not followed for ever. Far more than a link does while its driver is late.
const MOST_AHEAD: usize = 1 << 20;

impl Repetition {
    fn new(config: ChannelConfig, seed: u64) -> Self {
        Self { channel: Channel::new(config, seed), ahead: VecDeque::new(), summary: ReplaySummary::default() }
    }

    fn handle_input(&mut self, input: Input) -> Result<(), Box<Difference>> {
        match input {
            Input::Arrival { .. } => self.summary.arrivals += 1,
            Input::Change { .. } => self.summary.changes += 1,
        }
        self.channel.handle_input(input);
        self.collect();
        if self.ahead.len() <= MOST_AHEAD { Ok(()) } else { Err(self.difference(None)) }
    }

    /// Compares the next thing that the link does with what was recorded. Every input before that time has been handled.
    fn compare(&mut self, recorded: Record) -> Result<(), Box<Difference>> {
        self.channel.handle_timeout(recorded.at());
        self.collect();
        if self.ahead.front() != Some(&recorded) {
            return Err(self.difference(Some(recorded)));
        }
        self.ahead.pop_front();
        match recorded {
            Record::Drop(..) => self.summary.drops += 1,
            _ => self.summary.deliveries += 1,
        }
        Ok(())
    }

    fn finish(mut self, end: Instant) -> Result<ReplaySummary, Box<Difference>> {
        self.channel.handle_timeout(end);
        self.collect();
        if self.ahead.is_empty() { Ok(ReplaySummary { end, ..self.summary }) } else { Err(self.difference(None)) }
    }

    fn collect(&mut self) {
        while let Some(output) = self.channel.poll() {
            self.ahead.push_back(log_output(&output));
        }
    }

    fn difference(&mut self, recorded: Option<Record>) -> Box<Difference> {
        let number = self.summary.deliveries + self.summary.drops + 1;
        Box::new(Difference { line: None, number, recorded, recomputed: self.ahead.pop_front() })
    }
}

#[cfg(test)]
mod tests;
