//! Loads of many seeds, beside which the model is.

use farhop_scenario::Scenario;
use farhop_sim::simulate;

/// Hosts and programs of Linux take another time with each seed; so many show between which times loads are.
const SEEDS: u32 = 19;
/// Of all loads, however many, the middle one is between these two of so many seeds', counted from the fastest, 98 times of 100: fewer than five of
/// nineteen tosses are heads once in a hundred times.
const MIDDLE: [usize; 2] = [4, 14];
/// Seeds that are no further apart than this are of one group.
pub(crate) const CLOSE: f64 = 0.005;

/// The time of the scenario's only architecture that `model` is to be compared with: the middle of loads, as far as so many seeds tell it.
/// Where these are further apart the nearest between them, as which of parallel connections is free first may be a matter of microseconds, and of a round trip in the end.
pub(crate) fn beside(model: f64, scenario: &Scenario) -> f64 {
    let mut scenario = scenario.clone();
    scenario.run.runs = SEEDS;
    let simulation = simulate(&scenario, 1);
    assert!(simulation.gaps.is_empty(), "{:?}", simulation.gaps);
    let mut loads: Vec<f64> = simulation.loads.iter().map(|load| load.page_load_s).collect();
    loads.sort_by(f64::total_cmp);
    let (fastest, slowest) = (loads[0], loads[loads.len() - 1]);
    // Where nothing is drawn all are one.
    let is_close = slowest / fastest - 1.0 < CLOSE && loads.len() > MIDDLE[1];
    let [from, to] = if is_close { MIDDLE.map(|place| loads[place]) } else { [fastest, slowest] };
    model.clamp(from, to)
}
