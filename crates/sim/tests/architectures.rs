//! What the architectures have in common, and where each must be better.

use farhop_results::{Architecture, Row};
use farhop_scenario::{Scenario, open};
use farhop_sim::{Simulation, simulate};

fn scenario(name: &str, assignments: &[&str]) -> Scenario {
    let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
    open(name, &assignments).expect("the assignments are right")
}

fn row(simulation: &Simulation, architecture: Architecture) -> &Row {
    let row = simulation.rows.iter().find(|row| row.architecture == architecture);
    row.unwrap_or_else(|| panic!("{architecture}: {:?}", simulation.gaps))
}

/// Page load times of `direct` and `split`.
fn both(name: &str, assignments: &[&str]) -> [f64; 2] {
    let all = [assignments, &["run.architectures=direct,split", "run.runs=5"]].concat();
    let simulation = simulate(&scenario(name, &all), 1);
    let times =
        [Architecture::Direct, Architecture::Split].map(|architecture| row(&simulation, architecture).page_load_s);
    times
}

#[test]
fn proxies_at_both_ends_of_a_path_that_is_all_link_change_nothing() {
    // Lan and wan cost nothing here, so that each leg but the middle one is there at once.
    let [direct, split] = both("demo", &[]);
    assert!((split / direct - 1.0).abs() < 0.01);
}

#[test]
fn split_connections_grow_over_the_link_alone() {
    let one_file = ["page.objects=1", "page.size=2 MB", "wan.delay=100 ms", "wan.rate=50 Mbit/s"];
    let [direct, split] = both("demo", &one_file);
    assert!(split < direct);
}

#[test]
fn losses_beyond_the_link_are_repaired_there() {
    let [direct, split] = both("demo", &["wan.delay=20 ms", "wan.loss=2 %"]);
    assert!(split < 0.8 * direct);
}

#[test]
fn split_loads_are_whole() {
    for version in ["1.0", "1.1", "1.1-pipelined"] {
        let version = format!("http.version={version}");
        let assignments =
            ["run.architectures=split", "link.down.loss=2 %", "wan.delay=30 ms", "wan.loss=1 %", &version];
        let scenario = scenario("demo", &assignments);
        for load in simulate(&scenario, 3).loads {
            let sizes: Vec<u64> = scenario.page.objects.iter().map(|object| object.size.get()).collect();
            assert_eq!(load.objects.iter().map(|object| object.bytes).collect::<Vec<_>>(), sizes, "{version}");
        }
    }
}

#[test]
fn users_see_the_same_pages_through_every_architecture() {
    let assignments = [
        "users.model=zhou-2004",
        "users.duration=10 min",
        "users.warm_up=0 s",
        "run.runs=1",
        "access.terminals=8",
        "access.scheme=dedicated",
        "run.architectures=direct,split",
    ];
    let simulation = simulate(&scenario("rwbp-128", &assignments), 5);
    let [direct, split] = [Architecture::Direct, Architecture::Split]
        .map(|architecture| row(&simulation, architecture).users.expect("users have times"));
    assert!(split.page_load_mean_s < direct.page_load_mean_s);
    // As many pages as the faster loads leave time for.
    assert!(split.count >= direct.count && split.count < direct.count * 5 / 4);
}
