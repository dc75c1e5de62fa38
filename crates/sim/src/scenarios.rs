//! Scenarios for the crate's own tests.

use farhop_scenario::Scenario;

/// The shipped demo.
pub(crate) fn demo() -> Scenario {
    farhop_scenario::open("demo", &[]).expect("the demo is shipped")
}
