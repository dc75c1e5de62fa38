//! Scenarios of tests.

use farhop_scenario::{Scenario, open};

/// The scenario of this name with what is assigned.
pub(crate) fn scenario(name: &str, assignments: &[&str]) -> Scenario {
    let assigned: Vec<String> = assignments.iter().map(ToString::to_string).collect();
    open(name, &assigned).unwrap_or_else(|error| panic!("{assignments:?}: {error}"))
}
