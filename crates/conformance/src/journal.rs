//! What has been measured so far, kept in a file line by line, so that an interrupted run goes on and nobody need measure again to see
//! what the engines say now.
//!
//! The first line is the [`Plan`] and the machine, each further one what was [`Measured`] of a point; of several of one point the last
//! counts. A last line that was cut off when the machine went down is dropped; any other line that is none of these is an error that names it.

use crate::{Plan, Point};
use farhop_results::Sample;
use farhop_scenario::{HostTimes, host_times};
use farhop_units::ParseError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What one engine said of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Page load times in s, one per run.
    Times(Sample),
    /// Why there is none.
    Gap(String),
}

impl Answer {
    /// The times, if there are any.
    pub fn times(&self) -> Option<&Sample> {
        match self {
            Self::Times(times) => Some(times),
            Self::Gap(_) => None,
        }
    }
}

/// What was measured of a point, over the emulator with the kernel's TCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The point.
    pub point: Point,
    /// The times.
    #[serde(flatten)]
    pub answer: Answer,
    /// Runs whose emulator was later than its bound, and which count nevertheless.
    pub late_runs: u32,
    /// How long this machine's hosts took beside these loads, each time that was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Hosts>,
    /// How long that took in s, with setting up and listening to hosts; 0 where it is not known.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub took_s: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_unknown(took_s: &f64) -> bool {
    *took_s <= 0.0
}

impl Measured {
    /// Nothing yet.
    pub(crate) fn nothing(point: Point) -> Self {
        Self { point, answer: Answer::Times(Sample::default()), late_runs: 0, hosts: Vec::new(), took_s: 0.0 }
    }
}

/// How long a machine's hosts took, written as scenarios have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hosts(pub HostTimes);

impl TryFrom<String> for Hosts {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        host_times::parse(&text).map(Self)
    }
}

impl From<Hosts> for String {
    fn from(times: Hosts) -> Self {
        host_times::format(&times.0)
    }
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    #[serde(flatten)]
    plan: Plan,
    /// The machine, its kernel and the program.
    host: String,
}

/// Measured points in a file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    head: Head,
    measured: BTreeMap<String, Measured>,
}

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file system refused.
    #[error("{path}: {source}")]
    File {
        /// The journal.
        path: String,
        /// What it said.
        source: io::Error,
    },
    /// A line says nothing that was measured.
    #[error("{path}, line {line}: {problem}; remove the file to begin again")]
    Line {
        /// The journal.
        path: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The journal belongs to other draws.
    #[error("{path} holds another plan ({held}); continue with that one, or remove the file to begin again")]
    OtherPlan {
        /// The journal.
        path: String,
        /// Its plan.
        held: String,
    },
    /// The journal was begun elsewhere.
    #[error("{path} was measured on {held}, this is {here}; continue there, or keep other answers in another folder")]
    OtherHost {
        /// The journal.
        path: String,
        /// Where it was begun.
        held: String,
        /// Where this is.
        here: String,
    },
}

impl Journal {
    /// Opens the journal at `path`, or begins it with what this machine is.
    ///
    /// # Errors
    /// The file cannot be used, or holds something else.
    pub fn open(path: &Path, plan: &Plan, host: &str) -> Result<Self, JournalError> {
        let failed = |source| JournalError::File { path: path.display().to_string(), source };
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(failed)?,
        };
        // What was cut off has no end of line.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let held = read(path, whole, plan)?;
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        file.set_len(whole.len() as u64).map_err(failed)?;
        let is_new = held.is_none();
        let (head, measured) =
            held.unwrap_or_else(|| (Head { plan: *plan, host: host.to_owned() }, BTreeMap::default()));
        let mut journal = Self { path: path.to_owned(), file, head, measured };
        if is_new {
            journal.write(&journal.head.clone())?;
        }
        Ok(journal)
    }

    /// What was measured of a point, as it is drawn now.
    pub fn get(&self, point: &Point) -> Option<&Measured> {
        self.measured.get(&point.name()).filter(|measured| measured.point.is_same(point))
    }

    /// Keeps what was measured on a machine.
    ///
    /// # Errors
    /// The file cannot be written, or the rest of it was measured elsewhere.
    pub fn keep(&mut self, measured: Measured, host: &str) -> Result<(), JournalError> {
        self.check_host(host)?;
        self.write(&measured)?;
        self.measured.insert(measured.point.name(), measured);
        Ok(())
    }

    /// Whether more can be measured on a machine.
    ///
    /// # Errors
    /// What the journal holds was measured elsewhere.
    pub fn check_host(&self, host: &str) -> Result<(), JournalError> {
        let held = &self.head.host;
        if held == host {
            return Ok(());
        }
        let path = self.path.display().to_string();
        Err(JournalError::OtherHost { path, held: held.clone(), here: host.to_owned() })
    }

    /// The plan that the points belong to.
    pub fn plan(&self) -> &Plan {
        &self.head.plan
    }

    /// Where they were measured.
    pub fn host(&self) -> &str {
        &self.head.host
    }

    fn write(&mut self, value: &impl Serialize) -> Result<(), JournalError> {
        let mut line = serde_json::to_string(value).expect("plans and times are plain data");
        line.push('\n');
        let failed = |source| JournalError::File { path: self.path.display().to_string(), source };
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data()).map_err(failed)
    }
}

type Held = (Head, BTreeMap<String, Measured>);

fn read(path: &Path, text: &str, plan: &Plan) -> Result<Option<Held>, JournalError> {
    let path = path.display().to_string();
    let broken = |index: usize, error: serde_json::Error| JournalError::Line {
        path: path.clone(),
        line: index + 1,
        problem: error.to_string(),
    };
    let mut lines = text.lines().enumerate();
    let Some((index, first)) = lines.next() else { return Ok(None) };
    let head: Head = serde_json::from_str(first).map_err(|error| broken(index, error))?;
    if head.plan != *plan {
        return Err(JournalError::OtherPlan { path, held: first.to_owned() });
    }
    let measured = |(index, line): (usize, &str)| {
        let measured: Measured = serde_json::from_str(line).map_err(|error| broken(index, error))?;
        Ok((measured.point.name(), measured))
    };
    Ok(Some((head, lines.map(measured).collect::<Result<_, _>>()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;

    const HOST: &str = "a machine";

    fn table() -> HostTimes {
        host_times::parse("after_ms,0,100\n0,9.5,12\n3,9.5,30\n").expect("a table")
    }

    fn measured(number: u32) -> Measured {
        let answer = Answer::Times(Sample::new([1.0, 2.5]));
        let hosts = [HostTimes::quiet(), table()].map(Hosts).to_vec();
        Measured { answer, hosts, took_s: 1.5, ..Measured::nothing(Point::draw(1, Set::Simulator, number)) }
    }

    fn open(path: &Path) -> Result<Journal, JournalError> {
        Journal::open(path, &Plan::default(), HOST)
    }

    fn numbers(journal: &Journal) -> Vec<u32> {
        (0..60).filter(|number| journal.get(&measured(*number).point) == Some(&measured(*number))).collect()
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("there is room")
    }

    #[test]
    fn an_interrupted_run_goes_on_where_it_stopped() {
        let folder = folder();
        let path = folder.path().join("journal.jsonl");
        let mut journal = open(&path).expect("a new file");
        journal.keep(measured(0), HOST).expect("room");
        journal.keep(measured(1), HOST).expect("room");
        drop(journal);
        let text = std::fs::read_to_string(&path).expect("it is there");
        // The machine went down while the last line was written.
        std::fs::write(&path, &text[..text.len() - 20]).expect("room");
        let mut journal = open(&path).expect("the rest is whole");
        assert_eq!(numbers(&journal), [0]);
        journal.keep(measured(1), HOST).expect("room");
        drop(journal);
        assert_eq!(numbers(&open(&path).expect("whole")), [0, 1]);
    }

    #[test]
    fn what_was_measured_before_hosts_were_listened_to_still_counts() {
        let folder = folder();
        let path = folder.path().join("journal.jsonl");
        drop(open(&path).expect("a new file"));
        let text = std::fs::read_to_string(&path).expect("it is there");
        let line = serde_json::to_string(&Measured { hosts: Vec::new(), ..measured(0) }).expect("plain data");
        assert!(!line.contains("hosts"), "{line}");
        std::fs::write(&path, text + &line + "\n").expect("room");
        let journal = open(&path).expect("whole");
        assert_eq!(journal.get(&measured(0).point).map(|measured| measured.hosts.len()), Some(0));
    }

    #[test]
    fn what_was_measured_of_another_point_by_this_name_does_not_count() {
        let folder = folder();
        let path = folder.path().join("journal.jsonl");
        let mut journal = open(&path).expect("a new file");
        let mut other = measured(0);
        other.point.queue_bytes += 1;
        journal.keep(other, HOST).expect("room");
        assert_eq!(journal.get(&measured(0).point), None);
        journal.keep(measured(0), HOST).expect("room");
        assert_eq!(numbers(&open(&path).expect("whole")), [0]);
    }

    #[test]
    fn what_is_not_a_journal_of_this_plan_is_refused_and_kept() {
        let folder = folder();
        let path = folder.path().join("journal.jsonl");
        drop(open(&path).expect("a new file"));
        let other = Plan { seed: 2, ..Plan::default() };
        let error = Journal::open(&path, &other, HOST).expect_err("another plan").to_string();
        assert!(error.contains("holds another plan") && error.contains("\"seed\":1"), "{error}");
        let text = std::fs::read_to_string(&path).expect("it is there");
        let times = serde_json::to_string(&measured(0)).expect("plain data").replace("quiet", "quick");
        std::fs::write(&path, text.clone() + &times + "\n").expect("room");
        let error = open(&path).expect_err("no times of hosts").to_string();
        assert!(error.contains("line 2: no heading"), "{error}");
        let text = text + "nonsense\n";
        std::fs::write(&path, &text).expect("room");
        let error = open(&path).expect_err("a broken line").to_string();
        assert!(error.contains("line 2"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text, "nothing is lost");
    }

    #[test]
    fn elsewhere_a_journal_is_read_and_not_continued() {
        let folder = folder();
        let path = folder.path().join("journal.jsonl");
        let mut journal = open(&path).expect("a new file");
        journal.keep(measured(0), HOST).expect("room");
        let mut journal = Journal::open(&path, &Plan::default(), "another machine").expect("it can be read");
        assert_eq!((numbers(&journal), journal.host()), (vec![0], HOST));
        let error = journal.keep(measured(1), "another machine").expect_err("two machines").to_string();
        assert!(error.contains("measured on a machine, this is another machine"), "{error}");
        assert_eq!(numbers(&journal), [0]);
    }
}
