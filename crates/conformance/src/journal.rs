//! What has been answered so far, kept in a file line by line, so that an interrupted run goes on.
//!
//! The first line is the [`Plan`], each further one an [`Outcome`]; of several of one point the last counts. A last line that was cut off when the machine went down is dropped; any other
//! line that is not an outcome is an error that names it.

use crate::{Plan, Point};
use farhop_results::Sample;
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

/// What all engines said of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The point.
    pub point: Point,
    /// By farhop's model.
    pub predicted: Answer,
    /// By the simulator.
    pub simulated: Answer,
    /// Over the emulator, with the kernel's TCP.
    pub measured: Answer,
    /// Measured runs whose emulator was later than its bound, and which count nevertheless.
    pub late_runs: u32,
}

/// Times that lie further apart than this share of their middle differ by more than what host and emulator take.
const SCATTER: f64 = 0.02;

impl Outcome {
    /// Whether loads differ from run to run: by dice, or because hosts that answer microseconds sooner or later find a queue full or not.
    pub fn is_random(&self) -> bool {
        self.point.is_random() || [&self.simulated, &self.measured].into_iter().any(scatters)
    }
}

fn scatters(answer: &Answer) -> bool {
    let spread = |times: &Sample| {
        let [least, middle, most] = [0.0, 0.5, 1.0].map(|share| times.quantile(share));
        Some((most? - least?) / middle?)
    };
    answer.times().and_then(spread).is_some_and(|spread| spread > SCATTER)
}

/// Outcomes in a file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    plan: Plan,
    outcomes: BTreeMap<String, Outcome>,
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
    /// A line is no outcome.
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
}

impl Journal {
    /// Opens the journal at `path`, or begins it.
    ///
    /// # Errors
    /// The file cannot be used, or holds something else.
    pub fn open(path: &Path, plan: &Plan) -> Result<Self, JournalError> {
        let failed = |source| JournalError::File { path: path.display().to_string(), source };
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(failed)?,
        };
        // What was cut off has no end of line.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let outcomes = read(path, whole, plan)?;
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        file.set_len(whole.len() as u64).map_err(failed)?;
        let mut journal = Self { path: path.to_owned(), file, plan: *plan, outcomes };
        if whole.is_empty() {
            journal.write(&plan)?;
        }
        Ok(journal)
    }

    /// The outcome of a point, if it is known.
    pub fn get(&self, point: &Point) -> Option<&Outcome> {
        self.outcomes.get(&point.name())
    }

    /// Keeps an outcome.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&mut self, outcome: Outcome) -> Result<(), JournalError> {
        self.write(&outcome)?;
        self.outcomes.insert(outcome.point.name(), outcome);
        Ok(())
    }

    /// The plan that the outcomes belong to.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The outcomes there are, in the order of the plan.
    pub fn outcomes(&self) -> Vec<&Outcome> {
        self.plan.draw().iter().filter_map(|point| self.outcomes.get(&point.name())).collect()
    }

    fn write(&mut self, value: &impl Serialize) -> Result<(), JournalError> {
        let mut line = serde_json::to_string(value).expect("plans and outcomes are plain data");
        line.push('\n');
        let failed = |source| JournalError::File { path: self.path.display().to_string(), source };
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data()).map_err(failed)
    }
}

fn read(path: &Path, text: &str, plan: &Plan) -> Result<BTreeMap<String, Outcome>, JournalError> {
    let path = path.display().to_string();
    let broken = |index: usize, error: serde_json::Error| JournalError::Line {
        path: path.clone(),
        line: index + 1,
        problem: error.to_string(),
    };
    let mut lines = text.lines().enumerate();
    if let Some((index, first)) = lines.next() {
        let held: Plan = serde_json::from_str(first).map_err(|error| broken(index, error))?;
        if held != *plan {
            return Err(JournalError::OtherPlan { path, held: first.to_owned() });
        }
    }
    let outcome = |(index, line): (usize, &str)| {
        let outcome: Outcome = serde_json::from_str(line).map_err(|error| broken(index, error))?;
        Ok((outcome.point.name(), outcome))
    };
    lines.map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;

    fn outcome(number: u32) -> Outcome {
        let times = Answer::Times(Sample::new([1.0, 2.5]));
        let point = Point::draw(1, Set::Simulator, number);
        let predicted = Answer::Gap("losses".to_owned());
        Outcome { point, predicted, simulated: times.clone(), measured: times, late_runs: 0 }
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("there is room")
    }

    #[test]
    fn loads_without_dice_are_random_if_they_lie_two_per_cent_apart() {
        let of = |simulated: [f64; 3], measured: [f64; 3]| {
            let [simulated, measured] = [simulated, measured].map(|times| Answer::Times(Sample::new(times)));
            Outcome { simulated, measured, ..outcome(0) }.is_random()
        };
        let (near, far) = ([1.0, 1.019, 1.01], [1.03, 1.0, 1.01]);
        assert!(!of(near, near) && of(near, far) && of(far, near));
    }

    #[test]
    fn an_interrupted_run_goes_on_where_it_stopped() {
        let folder = folder();
        let (path, plan) = (folder.path().join("journal.jsonl"), Plan::default());
        let mut journal = Journal::open(&path, &plan).expect("a new file");
        journal.keep(outcome(0)).expect("room");
        journal.keep(outcome(1)).expect("room");
        drop(journal);
        let text = std::fs::read_to_string(&path).expect("it is there");
        // The machine went down while the last line was written.
        std::fs::write(&path, &text[..text.len() - 20]).expect("room");
        let mut journal = Journal::open(&path, &plan).expect("the rest is whole");
        assert_eq!(journal.outcomes(), [&outcome(0)]);
        journal.keep(outcome(1)).expect("room");
        drop(journal);
        assert_eq!(Journal::open(&path, &plan).expect("whole").outcomes().len(), 2);
    }

    #[test]
    fn what_is_not_a_journal_of_this_plan_is_refused_and_kept() {
        let folder = folder();
        let path = folder.path().join("journal.jsonl");
        drop(Journal::open(&path, &Plan::default()).expect("a new file"));
        let other = Plan { seed: 2, ..Plan::default() };
        let error = Journal::open(&path, &other).expect_err("another plan").to_string();
        assert!(error.contains("holds another plan") && error.contains("\"seed\":1"), "{error}");
        let text = std::fs::read_to_string(&path).expect("it is there") + "nonsense\n";
        std::fs::write(&path, &text).expect("room");
        let error = Journal::open(&path, &Plan::default()).expect_err("a broken line").to_string();
        assert!(error.contains("line 2"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text, "nothing is lost");
    }
}
