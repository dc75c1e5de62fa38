//! Where experiments are simulated: a shipped scenario with changes, through one architecture.
//!
//! What figures share is simulated once. Experiments have the same seed, so that users want the same in all of them.

use crate::nz_us_2000;
use farhop_results::{Architecture, ConnectionSeries, Load, Row};
use farhop_scenario::Scenario;
use farhop_sim::{Population, Simulation, TraceFiles, simulate, simulate_traced};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// As long as the paper did.
    #[default]
    Full,
    /// A quarter of it or less, to see the shape.
    Quick,
}

/// Seed of all experiments.
const SEED: u64 = 1;

/// Why there is no page load.
const HAS_USERS: &str = "the scenario has users";

/// What one experiment says, or why there is none.
pub(crate) type Found<T> = Result<Rc<T>, String>;

/// What is changed in a shipped scenario.
pub(crate) type Changes = Vec<String>;

/// A shipped scenario, what the far link carries, and changes.
type Setup = (&'static str, Architecture, Changes);

/// Simulates.
pub(crate) struct Lab<'a> {
    effort: Effort,
    heard: &'a mut dyn FnMut(&str),
    populations: BTreeMap<Setup, Found<Population>>,
    replays: Option<Found<nz_us_2000::Experiment>>,
}

impl<'a> Lab<'a> {
    /// A laboratory that tells `heard` what it is about to simulate.
    pub(crate) fn new(effort: Effort, heard: &'a mut dyn FnMut(&str)) -> Self {
        Self { effort, heard, populations: BTreeMap::new(), replays: None }
    }

    pub(crate) const fn effort(&self) -> Effort {
        self.effort
    }

    pub(crate) fn say(&mut self, text: &str) {
        (self.heard)(text);
    }

    /// What the users of a scenario meet in each experiment; what is not known yet is simulated side by side, on all cores.
    pub(crate) fn populations(
        &mut self,
        scenario: &'static str,
        experiments: Vec<(Architecture, Changes)>,
    ) -> Vec<Found<Population>> {
        let setups: Vec<Setup> =
            experiments.into_iter().map(|(architecture, changes)| (scenario, architecture, changes)).collect();
        let mut unknown: Vec<Setup> = Vec::new();
        for setup in &setups {
            if !self.populations.contains_key(setup) && !unknown.contains(setup) {
                let (scenario, architecture, changes) = setup;
                self.say(&format!("{architecture} over {scenario} with {}", changes.join(", ")));
                unknown.push(setup.clone());
            }
        }
        let found = in_parallel(&unknown, users).into_iter().map(|found| found.map(Rc::new));
        self.populations.extend(unknown.into_iter().zip(found));
        setups.iter().map(|setup| self.populations[setup].clone()).collect()
    }

    /// The replays of nz-us-2000, which its figures share.
    pub(crate) fn replays(&mut self) -> Found<nz_us_2000::Experiment> {
        let effort = self.effort;
        let heard = &mut *self.heard;
        self.replays.get_or_insert_with(|| nz_us_2000::Experiment::run(effort, heard).map(Rc::new)).clone()
    }

    /// One page load, the first of as many as the scenario has; and the row of them all.
    pub(crate) fn load(
        &mut self,
        scenario: &str,
        architecture: Architecture,
        changes: &[String],
    ) -> Result<(Load, Row), String> {
        let mut simulation = simulated(scenario, architecture, changes, |scenario| simulate(scenario, SEED))?;
        let (load, row) = (simulation.loads.drain(..).next(), simulation.rows.pop());
        load.zip(row).ok_or_else(|| HAS_USERS.to_owned())
    }

    /// One page load, and what happens on its first connection.
    pub(crate) fn trace(
        &mut self,
        scenario: &str,
        architecture: Architecture,
        changes: &[String],
    ) -> Result<(Load, ConnectionSeries), String> {
        let mut connections = Vec::new();
        let mut simulation = simulated(scenario, architecture, changes, |scenario| {
            let (simulation, summary) = simulate_traced(scenario, SEED, TraceFiles::nowhere(), &mut |_| {});
            connections = summary.series.connections;
            simulation
        })?;
        let load = simulation.loads.drain(..).next().ok_or_else(|| HAS_USERS.to_owned())?;
        let first = connections.drain(..).next().ok_or_else(|| "nothing is sent over TCP".to_owned())?;
        Ok((load, first))
    }
}

/// What users meet there.
fn users((scenario, architecture, changes): &Setup) -> Result<Population, String> {
    let mut simulation = simulated(scenario, *architecture, changes, |scenario| simulate(scenario, SEED))?;
    simulation.populations.pop().ok_or_else(|| "the scenario has no users".to_owned())
}

/// The shipped scenario with these changes.
pub(crate) fn scenario(name: &str, architecture: Architecture, changes: &[String]) -> Result<Scenario, String> {
    let mut scenario = farhop_scenario::open(name, changes).map_err(|error| error.to_string())?;
    scenario.run.architectures = vec![architecture];
    Ok(scenario)
}

/// What `f` says of all, in their order, on all cores.
pub(crate) fn in_parallel<T: Sync, R: Send>(all: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(all.len()) {
            scope.spawn(|| {
                while let Some((place, one)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|place| Some((place, all.get(place)?)))
                {
                    let result = f(one);
                    results.lock().expect("nobody panics with it").push((place, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("nobody panics with it");
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

fn simulated(
    name: &str,
    architecture: Architecture,
    changes: &[String],
    simulate: impl FnOnce(&Scenario) -> Simulation,
) -> Result<Simulation, String> {
    let simulation = simulate(&scenario(name, architecture, changes)?);
    match simulation.gaps.first() {
        Some(gap) => Err(format!("{architecture} cannot be simulated: {}", gap.reason)),
        None => Ok(simulation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order() {
        let numbers: Vec<u64> = (0..100).collect();
        let slow_first = |number: &u64| (0..(100 - number) * 1000).fold(*number, |sum, one| sum ^ one ^ one);
        assert_eq!(in_parallel(&numbers, slow_first), numbers);
        assert!(in_parallel(&[], slow_first).is_empty());
    }
}
