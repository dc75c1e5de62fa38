//! farhop's model for many scenarios that differ little: the points of a grid, or one scenario's architectures.
//!
//! What does not depend on what varies is made once: buffers, and the workload as long as the page stays. Architectures whose parameters
//! are the same (`split` and `direct` without a wan and lan) have the same answer.

use crate::own::Question;
use crate::recursion::{Recursion, Workload};
use farhop_results::Architecture;
use farhop_scenario::{Page, Scenario};
use std::time::Duration;

/// The model with all that it keeps from one scenario to the next; one for each thread.
#[derive(Debug, Default)]
pub struct Sweep {
    recursion: Recursion,
    workload: Option<(Page, Result<Workload, String>)>,
    answers: Vec<(Question, Result<Duration, String>)>,
}

impl Sweep {
    /// With nothing kept yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The page load time of each of `architectures`, in their order, or why there is none.
    pub fn times(&mut self, scenario: &Scenario, architectures: &[Architecture]) -> Vec<Result<Duration, String>> {
        if self.workload.as_ref().is_none_or(|(page, _)| *page != scenario.page) {
            let workload = Workload::of(&scenario.page).map_err(|error| error.to_string());
            self.workload = Some((scenario.page.clone(), workload));
        }
        self.answers.clear();
        architectures.iter().map(|&architecture| self.time(scenario, architecture)).collect()
    }

    fn time(&mut self, scenario: &Scenario, architecture: Architecture) -> Result<Duration, String> {
        let question = Question::of(scenario, architecture)?;
        if let Some((_, known)) = self.answers.iter().find(|(asked, _)| *asked == question) {
            return known.clone();
        }
        let (_, workload) = self.workload.as_ref().expect("`times` has made it");
        let answer = match workload {
            Ok(workload) => question.time(&mut self.recursion, workload),
            Err(reason) => Err(reason.clone()),
        };
        self.answers.push((question, answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict;
    use farhop_scenario::open;

    #[test]
    fn what_is_kept_changes_no_answer() {
        let mut sweep = Sweep::new();
        let scenarios = [
            ("demo", &[][..]),
            ("demo", &["wan.delay=30ms"]),
            ("demo", &["lan.delay=2ms", "link.down.loss=1%"]),
            ("office", &[]),
            ("demo", &[]),
        ];
        for (name, assignments) in scenarios {
            let assignments: Vec<String> = assignments.iter().map(|&text: &&str| text.to_owned()).collect();
            let mut scenario = open(name, &assignments).unwrap();
            scenario.run.architectures = Architecture::ALL.to_vec();
            let times = sweep.times(&scenario, Architecture::ALL);
            let rows = predict(&scenario).rows;
            for (architecture, time) in Architecture::ALL.iter().zip(times) {
                let row = rows.iter().find(|row| row.architecture == *architecture).unwrap();
                assert!((row.page_load_s - time.unwrap().as_secs_f64()).abs() < 1e-12, "{name} {architecture}");
            }
        }
    }

    #[test]
    fn a_point_without_an_answer_says_why() {
        let scenario = open("rwbp-128", &[]).unwrap();
        let times = Sweep::new().times(&scenario, &[Architecture::Direct]);
        assert_eq!(times, [Err("farhop's model does not know medium access on a shared channel (access)".to_owned())]);
    }
}
