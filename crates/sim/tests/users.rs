//! Populations of users through the simulator.

use farhop_results::{Row, UserTimes};
use farhop_scenario::{Scenario, open};
use farhop_sim::{Progress, Simulation, simulate, simulate_with};
use std::time::Duration;

fn scenario(assignments: &[&str]) -> Scenario {
    let usual = [
        "users.model=zhou-2004",
        "users.duration=10 min",
        "users.warm_up=1 min",
        "run.runs=1",
        "run.architectures=direct",
        "access.terminals=16",
        "access.scheme=dedicated",
        "tcp.initial_window=10",
        "tcp.max_window=unlimited",
    ];
    let assignments: Vec<String> = usual.iter().chain(assignments).map(ToString::to_string).collect();
    open("rwbp-128", &assignments).expect("the assignments are right")
}

fn row(assignments: &[&str]) -> (Row, UserTimes) {
    let simulation = simulate(&scenario(assignments), 1);
    let row = simulation.rows.first().unwrap_or_else(|| panic!("{:?}", simulation.gaps)).clone();
    let users = row.users.expect("users have times");
    (row, users)
}

#[test]
fn the_same_seed_gives_the_same_simulation() {
    let scenario = scenario(&["link.down.loss=1 %", "run.runs=2"]);
    assert_eq!(simulate(&scenario, 7), simulate(&scenario, 7));
    assert_ne!(simulate(&scenario, 7).rows, simulate(&scenario, 8).rows);
}

/// Pages of the model are on up to 150 hosts, all behind the user's wan.
#[test]
fn what_users_meet_does_not_hang_on_a_page_that_they_never_load() {
    let with = |page: &[&str]| {
        let slow_wan = ["users.model=page-2025", "wan.rate=200 kbit/s", "access.terminals=2"];
        row(&[&slow_wan[..], page].concat())
    };
    let (own, other) = (with(&[]), with(&["page.objects=2", "page.size=1 kB"]));
    assert_eq!(own.1, other.1);
    assert!(own.1.page_load_p50_s > own.0.limit_s, "{own:?}");
}

#[test]
fn what_a_slow_lan_drops_is_said() {
    let note = |lan: &[&str]| {
        row(&[&["users.duration=3 min", "lan.queue=10 packets"][..], lan].concat()).0.note.expect("a note")
    };
    assert!(!note(&[]).contains("lans"), "it is as fast as any");
    assert!(note(&["lan.rate=20 kbit/s"]).contains("; lans dropped "), "{}", note(&["lan.rate=20 kbit/s"]));
}

#[test]
fn what_was_needed_at_most_is_told() {
    let peaks = |assignments: &[&str]| row(assignments).1.peaks;
    let direct = peaks(&["link.down.queue=30 kB"]);
    assert!((29_000..=30_000).contains(&direct.peak_queue_down_bytes), "16 users fill the queue: {direct:?}");
    assert!((1_000..20_000).contains(&direct.peak_queue_up_bytes), "requests and acknowledgements: {direct:?}");
    assert!((2..=32).contains(&direct.peak_connections), "two of each user: {direct:?}");
    assert_eq!((direct.peak_gateway_buffer_bytes, direct.peak_terminal_buffer_bytes), (None, None));
    let split = peaks(&["run.architectures=split"]);
    let [gateway, terminal] = [split.peak_gateway_buffer_bytes, split.peak_terminal_buffer_bytes];
    assert!(
        gateway > Some(10_000) && gateway > terminal && terminal.is_some(),
        "replies wait at the gateway: {split:?}"
    );
    // The same whether the far link is played or not.
    let played = peaks(&["link.down.queue=30 kB", "link.down.discipline=fair-queue"]);
    assert!((29_000..=30_000).contains(&played.peak_queue_down_bytes), "{played:?}");
}

#[test]
fn users_load_page_after_page_and_think_between() {
    let (row, users) = row(&["users.model=zhou-2004, sizes = fixed, think = exponential mean=20s"]);
    println!("{row:?}");
    // 16 users for 9 minutes, each page and the thinking after it together a little over 20 s.
    let expected = 16.0 * 540.0 / (20.0 + users.page_load_mean_s);
    #[expect(clippy::cast_precision_loss, reason = "there are few pages")]
    let count = users.count as f64;
    assert!((count / expected - 1.0).abs() < 0.15, "{count} pages instead of {expected}");
    assert!(users.object_count > 4 * users.count && users.object_count < 9 * users.count);
    assert!(users.page_load_p50_s > row.limit_s);
    let in_order = [row.page_load_min_s, users.page_load_p50_s, users.page_load_p95_s, row.page_load_max_s];
    assert!(in_order.is_sorted() && users.object_p50_s < users.page_load_p50_s, "{row:?}");
    assert!(users.unfinished <= 16);
}

#[test]
fn one_user_alone_loads_as_fast_as_a_single_client() {
    let page = ["page.objects=6", "page.size=11 kB", "http.persistence=1 ms"];
    let windows = ["tcp.initial_window=10", "tcp.max_window=unlimited"];
    let alone = ["users.model=zhou-2004, sizes = fixed, inline-objects = constant value=5", "access.terminals=1"];
    let assignments: Vec<String> =
        page.iter().chain(&windows).chain(&["access.scheme=dedicated"]).map(ToString::to_string).collect();
    let single = open("rwbp-128", &assignments).expect("the assignments are right");
    let single = simulate(&single, 1).rows[0].page_load_s;
    let (_, users) = row(&[&page[..], &alone].concat());
    println!("single {single}, users {users:?}");
    assert!((users.page_load_p50_s / single - 1.0).abs() < 0.2);
}

#[test]
fn more_users_wait_longer() {
    let mut last = 0.0;
    for terminals in [8, 64, 128] {
        let (row, users) = row(&[&format!("access.terminals={terminals}"), "users.model=zhou-2004, sizes = fixed"]);
        println!("{terminals}: {:.3} s, {:?}", users.page_load_mean_s, row.note);
        assert!(users.page_load_mean_s > last);
        last = users.page_load_mean_s;
    }
}

#[test]
fn replications_end_when_every_architecture_is_known_well_enough() {
    let runs = |architectures: &str, precision: &str| -> Vec<u32> {
        let [architectures, precision] =
            [format!("run.architectures={architectures}"), format!("users.precision={precision}")];
        let simulation = simulate(&scenario(&[&architectures, &precision, "run.runs=16"]), 1);
        simulation.rows.iter().map(|row| row.runs).collect()
    };
    assert_eq!(runs("direct", "50 %"), [10], "fewer agree by chance");
    assert_eq!(runs("direct", "0.01 %"), [16], "as often as may be");
    // One of them alone needs more than the other: together both have as many.
    let precisions = ["0.5 %", "1 %", "1.5 %", "2 %", "2.5 %"];
    let apart = precisions.map(|precision| [runs("direct", precision)[0], runs("rwbp", precision)[0]]);
    let place = apart.iter().position(|[one, other]| one != other).unwrap_or_else(|| panic!("{apart:?}"));
    let most = apart[place][0].max(apart[place][1]);
    assert_eq!(runs("direct, rwbp", precisions[place]), [most; 2]);
}

#[test]
fn users_at_one_terminal_share_its_lan_and_its_slots() {
    let mean = |assignments: &[&str]| row(assignments).1.page_load_mean_s;
    let apart = mean(&["access.terminals=16", "lan.rate=200 kbit/s"]);
    let together = mean(&["access.terminals=4", "users.per_terminal=4", "lan.rate=200 kbit/s"]);
    assert!(together > apart, "{together} s instead of {apart} s");
}

#[test]
fn too_much_load_is_told_and_eats_no_memory() {
    let (row, users) = row(&["link.down.rate=400 kbit/s", "users.per_terminal=4"]);
    let note = row.note.expect("there is a note");
    assert!(note.contains("down cannot carry what they want"), "{note}");
    assert!(users.unfinished > 20, "{users:?}");
}

/// What schemes of access can carry is less than the rate of their way up, and differs from one to the other.
#[test]
fn a_shared_way_up_that_is_jammed_is_told() {
    let note = |scheme: &str, terminals: u32| {
        let scheme = format!("access.scheme={scheme}");
        let terminals = format!("access.terminals={terminals}");
        row(&["users.model=zhou-2004", &scheme, &terminals]).0.note.expect("there is a note")
    };
    for (scheme, few, many) in [("slotted-aloha", 8, 160), ("dama", 96, 500), ("tdma", 128, 1500)] {
        let [few, many] = [few, many].map(|terminals| note(scheme, terminals));
        assert!(!few.contains("cannot carry"), "{scheme}: {few}");
        assert!(many.contains("; up cannot carry what they want"), "{scheme}: {many}");
    }
}

#[test]
fn what_never_ends_is_a_gap() {
    let simulation = simulate(&scenario(&["link.up.loss=100 %"]), 1);
    assert!(simulation.rows.is_empty());
    assert_eq!(simulation.gaps[0].reason, "no page that was asked for from 60 s on was complete at 600 s");
}

#[test]
fn a_link_that_completes_no_page_is_said_to_be_overloaded() {
    let simulation = simulate(&scenario(&["link.down.rate=40 kbit/s", "users.per_terminal=50"]), 1);
    assert!(simulation.rows.is_empty());
    let reason = &simulation.gaps[0].reason;
    assert!(reason.ends_with("was complete at 600 s: the network cannot carry what the users want"), "{reason}");
}

#[test]
fn progress_is_told() {
    let mut heard: Vec<Progress> = Vec::new();
    let simulation: Simulation = simulate_with(&scenario(&[]), 1, &mut |progress| heard.push(progress));
    assert_eq!(simulation.rows.len(), 1);
    assert!(heard.len() > 50 && heard.is_sorted_by_key(|progress| progress.reached));
    assert!(heard.iter().all(|progress| progress.end == Some(Duration::from_secs(600))));
}
