//! How many loads per second the recursion answers, on one core, and how often it allocates.
//!
//! `cargo run --release -p farhop-model --example recursion_speed`

mod processor;

use farhop_model::Sweep;
use farhop_model::recursion::{Parameters, ProxySettings, Recursion, Workload};
use farhop_results::Architecture;
use farhop_scenario::{Template, open};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const POINTS: u32 = 10_000;

fn main() {
    for (name, assignments) in [
        ("demo", &[][..]),
        ("demo", &["http.version=1.0"]),
        ("obata-2002", &[]),
        ("demo", &["page.objects=1", "page.size=10 MB"]),
        ("demo", &["page.objects=1", "page.size=10 MB", "link.down.rate=10 Mbit/s"]),
        ("demo", &["page.objects=1", "page.size=1000 GB"]),
    ] {
        loads(name, assignments, Architecture::Direct);
    }
    Architecture::ALL.iter().for_each(|architecture| loads("demo", &[], *architecture));
    points(&[Architecture::Direct, Architecture::Tunnel, Architecture::Accelerated]);
    points(Architecture::ALL);
}

/// One architecture over [`POINTS`] delays.
fn loads(name: &str, assignments: &[&str], architecture: Architecture) {
    let texts: Vec<String> = assignments.iter().map(|&text: &&str| text.to_owned()).collect();
    let scenario = open(name, &texts).expect("a shipped scenario and right assignments");
    let workload = Workload::of(&scenario.page).expect("a page");
    let mut parameters = Parameters::of_architecture(&scenario, architecture, &ProxySettings::default());
    let mut recursion = Recursion::new();
    recursion.load(&parameters, &workload).expect("a load");
    let (start, region) = (processor::seconds(), Region::new(ALLOCATOR));
    let (mut last, mut loads, mut allocations) = (Duration::ZERO, 0_u32, 0);
    for point in 0..POINTS {
        parameters.down[1].delay = Duration::from_micros(10_000 + 79 * u64::from(point));
        last = recursion.load(&parameters, &workload).expect("a load").last_byte;
        loads += 1;
        if loads == 64 {
            // Reading the time allocates.
            allocations = region.change().allocations;
        }
        if loads.is_multiple_of(64) && processor::seconds() - start > 2.0 {
            break;
        }
    }
    let rate = processor::rate(loads, start);
    report(&format!(
        "{name} {assignments:?} {architecture}: {rate:.0} loads/s, {allocations} allocations in 64, last {last:?}"
    ));
}

/// Points of a grid of the demo, resolving them included.
fn points(architectures: &[Architecture]) {
    let template = Template::open("demo", &[]).expect("a shipped scenario");
    let (mut sweep, start) = (Sweep::new(), processor::seconds());
    for point in 0..POINTS {
        let delay = format!("{} us", 10_000 + 79 * point);
        let scenario = template.resolve([("link.down.delay", delay.as_str())]).expect("a delay");
        assert!(sweep.times(&scenario, architectures).iter().all(Result::is_ok));
    }
    let rate = processor::rate(POINTS, start);
    report(&format!(
        "demo, grid of {} architectures: {rate:.0} points/s and core, resolving included",
        architectures.len()
    ));
}

#[expect(clippy::print_stdout, reason = "an example reports to people")]
fn report(line: &str) {
    println!("{line}");
}
