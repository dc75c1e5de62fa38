//! The numbers of small scenarios, digit by digit: another machine, another compiler or a change that should change nothing must give
//! the same. Where a change is meant, `INSTA_UPDATE=always cargo test -p farhop-sim --test golden` writes the new ones.

use farhop_scenario::open;
use farhop_sim::simulate;
use std::fmt::Write;

/// Everything that is counted or timed, one number per line.
fn numbers(name: &str, assignments: &[&str]) -> String {
    let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
    let simulation = simulate(&open(name, &assignments).expect("the assignments are right"), 1);
    let mut out = format!("events {}\npacket-hops {}\n", simulation.event_count, simulation.packet_hops);
    for row in &simulation.rows {
        let _ = writeln!(out, "{} {} {:?} {:?}", row.architecture, row.runs, row.page_load_s, row.first_byte_s);
        if let Some(users) = row.users {
            let times = (users.page_load_mean_s, users.page_load_p95_s, users.object_mean_s);
            let _ = writeln!(out, "  {} pages, {} objects: {times:?}", users.count, users.object_count);
        }
    }
    out
}

#[test]
fn the_demo_has_its_numbers() {
    insta::assert_snapshot!(numbers("demo", &["run.architectures=direct"]));
}

#[test]
fn a_page_over_a_lossy_link_has_its_numbers() {
    let settings = ["run.architectures=direct, split", "link.down.loss=1 %", "run.runs=3", "tcp.profile=rfc"];
    insta::assert_snapshot!(numbers("demo", &settings));
}

#[test]
fn users_have_their_numbers() {
    let settings = [
        "users.model=zhou-2004",
        "users.duration=5 min",
        "users.warm_up=30 s",
        "run.runs=2",
        "run.architectures=direct",
        "access.terminals=8",
        "access.scheme=cfdama",
        "link.down.loss=0.1 %",
    ];
    insta::assert_snapshot!(numbers("rwbp-128", &settings));
}
