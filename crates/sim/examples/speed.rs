//! What the simulator costs: an hour of users at 128 and at 10,000 terminals, and its event queue against a binary heap.
//!
//! `cargo run --release -p farhop-sim --example speed [MINUTES [CASE]]`; a case is part of a name. Times are the processor's, of one
//! thread; memory is the largest that the process had so far, so that the smallest case comes first. How often memory is allocated is
//! told by twice as much of the same: users need some for each page, packets none.

use farhop_results::SimulationCost;
use farhop_scenario::{Scenario, open};
use farhop_sim::{EventQueue, simulate};
use farhop_units::Instant;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    let minutes = std::env::args().nth(1).map_or(Ok(60), |text| text.parse::<u32>());
    let Ok(minutes) = minutes else {
        report("usage: speed [MINUTES [CASE]]");
        std::process::exit(2);
    };
    report(&format!("zhou-2004's users for {minutes} virtual minutes, end-to-end TCP with SACK and windows of 64 kB"));
    report(
        "case                                      packet-hops     events    CPU s  us/hop  us/event  peak MB  mean page s",
    );
    let wanted = std::env::args().nth(2).unwrap_or_default();
    for (name, assignments) in cases().into_iter().filter(|(name, _)| name.contains(&wanted)) {
        run(name, &scenario(minutes, assignments));
    }
    if !wanted.is_empty() {
        return;
    }
    allocations();
    report("events in the queue         ns per push and pop: radix heap   binary heap");
    for pending in [1_000, 30_000, 1_000_000] {
        let [radix, binary] = [hold::<EventQueue<u64>>(pending), hold::<BinaryHeap<Reverse<(u64, u64, u64)>>>(pending)];
        report(&format!("{pending:>20}{radix:>39.0}{binary:>14.0}"));
    }
}

/// Name and settings of each.
fn cases() -> [(&'static str, &'static [&'static str]); 3] {
    [
        ("128 terminals, dedicated access", &["access.scheme=dedicated"]),
        ("128 terminals, CFDAMA", &["access.scheme=cfdama"]),
        (
            "10,000 terminals, dedicated, scaled rates",
            &[
                "access.scheme=dedicated",
                "access.terminals=10000",
                "link.down.rate=312.5 Mbit/s",
                "link.down.queue=19.5 MB",
            ],
        ),
    ]
}

fn scenario(minutes: u32, assignments: &[&str]) -> Scenario {
    // So many terminals take their time.
    let minutes = if assignments.len() > 1 { minutes.div_ceil(20) } else { minutes };
    let users = [
        "users.model=zhou-2004".to_owned(),
        format!("users.duration={minutes} min"),
        "users.warm_up=30 s".to_owned(),
        "run.runs=1".to_owned(),
        "run.architectures=direct".to_owned(),
        "tcp.max_window=64 kB".to_owned(),
    ];
    let assignments: Vec<String> = users.into_iter().chain(assignments.iter().map(ToString::to_string)).collect();
    open("rwbp-128", &assignments).unwrap_or_else(|error| {
        report(&error.to_string());
        std::process::exit(2);
    })
}

fn run(name: &str, scenario: &Scenario) {
    let begin = processor_time();
    let simulation = simulate(scenario, 1);
    let cpu = processor_time() - begin;
    let Some(row) = simulation.rows.first() else { return report(&format!("{name}: {:?}", simulation.gaps)) };
    let mean = row.users.map_or(0.0, |users| users.page_load_mean_s);
    let each = |count: u64| cpu.as_secs_f64() * 1e6 / as_f64(count);
    report(&format!(
        "{name:41}{:>12}{:>11}{:>9.2}{:>8.3}{:>10.3}{:>9}{mean:>13.2}",
        simulation.packet_hops,
        simulation.event_count,
        cpu.as_secs_f64(),
        each(simulation.packet_hops),
        each(simulation.event_count),
        SimulationCost::peak_memory() / 1_000_000,
    ));
    report(&format!("    {}", row.note.as_deref().unwrap_or_default()));
}

/// How often memory is allocated per million packet-hops, once everything has its size.
fn allocations() {
    report("twice as much of the same, 128 terminals, dedicated access      packet-hops  allocations  per million");
    let users = ["users.model=zhou-2004", "users.warm_up=30 s"];
    let download = ["page.objects=1"];
    let cases: [(&str, &[&str], [&str; 2]); 2] = [
        ("users, 10 and 20 min", &users, ["users.duration=10 min", "users.duration=20 min"]),
        ("a download of 50 and 100 MB", &download, ["page.size=50 MB", "page.size=100 MB"]),
    ];
    for (name, common, sizes) in cases {
        let [once, twice] = sizes.map(|size| cost(&[common, &[size]].concat()));
        let [hops, allocations] = [twice.0 - once.0, twice.1.saturating_sub(once.1)];
        let each = as_f64(allocations) / as_f64(hops) * 1e6;
        report(&format!("{name:62}{hops:>13}{allocations:>13}{each:>13.0}"));
    }
}

/// Packet-hops and allocations.
fn cost(settings: &[&str]) -> (u64, u64) {
    let usual = ["run.runs=1", "run.architectures=direct", "access.scheme=dedicated", "tcp.max_window=64 kB"];
    let assignments: Vec<String> = usual.iter().chain(settings).map(ToString::to_string).collect();
    let Ok(scenario) = open("rwbp-128", &assignments) else { return (0, 0) };
    let region = Region::new(ALLOCATOR);
    let simulation = simulate(&scenario, 1);
    (simulation.packet_hops, region.change().allocations as u64)
}

/// A queue of events with times in ns.
trait Queue: Default {
    fn put(&mut self, at: u64, number: u64);
    fn take(&mut self) -> Option<(u64, u64)>;
}

impl Queue for EventQueue<u64> {
    fn put(&mut self, at: u64, number: u64) {
        self.push(Instant::from_nanos(at), number);
    }

    fn take(&mut self) -> Option<(u64, u64)> {
        self.pop().map(|(at, number)| (at.as_nanos(), number))
    }
}

/// Numbered, so that ties keep their order as well.
impl Queue for BinaryHeap<Reverse<(u64, u64, u64)>> {
    fn put(&mut self, at: u64, number: u64) {
        self.push(Reverse((at, number, number)));
    }

    fn take(&mut self) -> Option<(u64, u64)> {
        self.pop().map(|Reverse((at, _, number))| (at, number))
    }
}

/// The hold model: so many events pend, and each that happens schedules another one up to 500 ms ahead. Returns ns per event.
fn hold<Q: Queue>(pending: u64) -> f64 {
    const STEPS: u64 = 3_000_000;
    let dice = farhop_units::random::Stream::new(1, 1);
    let ahead = |number: u64| dice.below(number, 500_000_000);
    let mut queue = Q::default();
    (0..pending).for_each(|number| queue.put(ahead(number), number));
    let mut begin = processor_time();
    for number in pending..pending + 2 * STEPS {
        if number == pending + STEPS {
            // The first half brings the queue into its steady state.
            begin = processor_time();
        }
        let Some((now, _)) = queue.take() else { return 0.0 };
        queue.put(now + ahead(number), number);
    }
    (processor_time() - begin).as_secs_f64() * 1e9 / as_f64(STEPS)
}

#[expect(clippy::cast_precision_loss, reason = "counts are exact below 2^53")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

/// Time that the process has spent on a processor.
fn processor_time() -> Duration {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID);
    time.map_or(Duration::ZERO, Duration::from)
}

#[expect(clippy::print_stdout, reason = "the benchmark's result")]
fn report(line: &str) {
    println!("{line}");
}
