//! How many loads per second the recursion answers, on one core, and how often it allocates.
//!
//! `cargo run --release -p farhop-model --example recursion_speed`

use farhop_model::recursion::{Parameters, Recursion, Workload};
use farhop_scenario::open;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const POINTS: u32 = 10_000;

#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]
fn main() {
    for (name, assignments) in [
        ("demo", &[][..]),
        ("demo", &["http.version=1.0"]),
        ("obata-2002", &[]),
        ("demo", &["page.objects=1", "page.size=10 MB"]),
        ("demo", &["page.objects=1", "page.size=10 MB", "link.down.rate=10 Mbit/s"]),
        ("demo", &["page.objects=1", "page.size=1000 GB"]),
    ] {
        let texts: Vec<String> = assignments.iter().map(|&text: &&str| text.to_owned()).collect();
        let scenario = open(name, &texts).expect("a shipped scenario and right assignments");
        let workload = Workload::of(&scenario.page).expect("a page");
        let (mut parameters, mut recursion) = (Parameters::of(&scenario), Recursion::new());
        recursion.load(&parameters, &workload).expect("a load");
        let (region, start) = (Region::new(ALLOCATOR), Instant::now());
        let (mut last, mut loads) = (Duration::ZERO, 0_u32);
        for point in 0..POINTS {
            parameters.down[1].delay = Duration::from_micros(10_000 + 79 * u64::from(point));
            last = recursion.load(&parameters, &workload).expect("a load").last_byte;
            loads += 1;
            if start.elapsed() > Duration::from_secs(2) {
                break;
            }
        }
        let rate = f64::from(loads) / start.elapsed().as_secs_f64();
        let allocations = region.change().allocations;
        println!("{name} {assignments:?}: {rate:.0} loads/s, {allocations} allocations, the last took {last:?}");
    }
}
