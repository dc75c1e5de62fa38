//! What the gateway sends to all terminals goes before what users ask for, and keeps to its share.

mod memory;
mod opening;

use farhop_link::DropReason;
use farhop_results::{Architecture, Row};
use farhop_scenario::Scenario;
use farhop_sim::{TraceFiles, simulate, simulate_traced};
use memory::Memory;
use opening::scenario;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;
use std::io;

fn row(scenario: &Scenario, architecture: Architecture) -> Row {
    let simulation = simulate(scenario, 5);
    let row = simulation.rows.into_iter().find(|row| row.architecture == architecture);
    row.unwrap_or_else(|| panic!("{architecture}: {:?}", simulation.gaps))
}

/// Many users over 1 Mbit/s and a short queue, with or without multicast.
fn busy(architecture: Architecture, (queue, discipline): (&str, &str), multicast: Option<&str>) -> Row {
    let settings = [
        format!("run.architectures={architecture}"),
        format!("link.down.discipline={discipline}"),
        format!("link.down.queue={queue}"),
        "link.down.rate=1 Mbit/s".to_owned(),
        "access.terminals=64".to_owned(),
        "access.scheme=dedicated".to_owned(),
        "users.model=zhou-2004, sizes = fixed".to_owned(),
        "users.duration=3 min".to_owned(),
        "users.warm_up=0 s".to_owned(),
        "run.runs=1".to_owned(),
    ];
    let multicast = multicast.map(|rate| format!("multicast.rate={rate}"));
    let all: Vec<&str> = settings.iter().chain(&multicast).map(String::as_str).collect();
    row(&scenario("rwbp-128", &all), architecture)
}

fn drops_nothing(row: &Row) -> bool {
    row.note.as_deref().expect("it says what was dropped").contains("the link dropped 0 packets")
}

/// What is multicast reaches no connection's end, whatever is looked at ahead of time.
#[test]
fn much_multicast_may_go_before_every_architecture() {
    for name in ["demo", "office"] {
        let settings = ["multicast.rate=30 Mbit/s", "multicast.packet=300 B", "run.runs=1"];
        let simulation = simulate(&scenario(name, &settings), 5);
        assert!(simulation.rows.len() >= 3 && simulation.gaps.is_empty(), "{name}: {:?}", simulation.gaps);
    }
}

#[test]
fn neither_rwbp_nor_multicast_beside_it_is_dropped() {
    for queue in
        ["20 kB", "4 kB", "6 packets"].into_iter().flat_map(|queue| [(queue, "priority"), (queue, "drop-tail")])
    {
        let row = busy(Architecture::Rwbp, queue, Some("400 kbit/s"));
        assert!(drops_nothing(&row), "{queue:?}: {:?}", row.note);
        assert!(row.note.is_some_and(|note| note.contains("; beside 400 kbit/s of multicast")));
    }
    let full = busy(Architecture::Direct, ("20 kB", "priority"), Some("400 kbit/s"));
    assert!(!drops_nothing(&full), "TCP finds the queue full");
}

#[test]
fn users_have_what_multicast_leaves() {
    let mean = |multicast| {
        let row = busy(Architecture::Rwbp, ("20 kB", "priority"), multicast);
        row.users.expect("users have times").page_load_mean_s
    };
    let [alone, beside] = [mean(None), mean(Some("400 kbit/s"))];
    assert!(beside > 1.4 * alone, "{beside} s, {alone} s alone");
}

/// The link is free half of the time, and who asks is told of the link as it is then: also where the queue keeps no room beside multicast.
#[test]
fn rwbp_uses_what_multicast_leaves_of_a_link_without_much_of_a_queue() {
    for queue in ["4 kB", "1500 B", "2 packets", "1 packets"] {
        // A channel that is played packet by packet, too.
        for duplication in ["0 %", "0.0000001"] {
            let queue = format!("link.down.queue={queue}");
            let duplication = format!("link.down.duplication={duplication}");
            let settings = [
                &queue[..],
                &duplication,
                "link.down.rate=4 Mbit/s",
                "link.up.rate=400 kbit/s",
                "link.down.delay=100 ms",
                "link.up.delay=100 ms",
                "multicast.rate=2 Mbit/s",
                "page.objects=1",
                "page.size=1 MB",
                "run.architectures=rwbp",
            ];
            let row = row(&scenario("obata-2002", &settings), Architecture::Rwbp);
            assert!(row.page_load_s < 6.0, "{queue}, {duplication}: {row:?}");
        }
    }
}

/// Each packet of multicast waits for the end of one other at most, however many others wait.
#[test]
fn a_file_takes_as_long_as_the_rest_of_the_rate_lets_it() {
    for (architecture, most) in [(Architecture::Rwbp, 1.05), (Architecture::Tunnel, 1.15), (Architecture::Direct, 1.6)]
    {
        let one = ["page.objects=1", "page.size=10 MB", "link.down.rate=8 Mbit/s", "link.down.discipline=priority"];
        let architectures = format!("run.architectures={architecture}");
        let time = |more: &[&str]| row(&scenario("demo", &[&one[..], &[&*architectures], more].concat()), architecture);
        let (half, beside) = (time(&["link.down.rate=4 Mbit/s"]), time(&["multicast.rate=4 Mbit/s"]));
        let ratio = beside.page_load_s / half.page_load_s;
        assert!((0.95..most).contains(&ratio), "{architecture}: {ratio}");
    }
}

/// Of the link's packets that are not multicast: how many came, and how many found no room.
fn refused(scenario: &Scenario) -> (usize, usize) {
    let (log, nothing) = (Memory::default(), || Box::new(io::sink()));
    let files = TraceFiles {
        packets: Box::new(log.clone()),
        capture: nothing(),
        queue: nothing(),
        connections: nothing(),
        windows: nothing(),
        segments: nothing(),
    };
    simulate_traced(scenario, 3, files, &mut |_| {});
    let text = String::from_utf8(log.bytes()).expect("it is text");
    let (mut others, mut refused) = (BTreeSet::new(), 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        match fields[..] {
            [_, "arrival", _, id, _, _, _, "normal", ..] => _ = others.insert(id),
            [_, "drop", _, id, .., reason, _, _] if reason == DropReason::QueueFull.word() => {
                refused += usize::from(others.contains(id));
            }
            _ => {}
        }
    }
    (others.len(), refused)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// zhou-2004 §IV: whatever the link, its outages and its queue, whether multicast goes before or not, and whoever asks for names.
    #[test]
    fn nothing_of_rwbp_finds_a_full_queue(
        (rate, queue, in_packets) in (200_u64..4000, 4_u64..200, any::<bool>()),
        (multicast, packet) in (prop::option::of(0.05..0.9), 100_u64..1500),
        (discipline, up, down) in (select(vec!["priority", "drop-tail", "fair-queue"]), 1_u64..10, 0_u64..4),
        scheme in select(vec!["dedicated", "tdma", "dama", "cfdama", "aloha-periodic"]),
        dns in select(vec!["none", "near", "far"]),
    ) {
        let mut assignments = vec![
            "run.architectures=rwbp".to_owned(),
            format!("link.down.rate={rate} kbit/s"),
            if in_packets { format!("link.down.queue={queue} packets") } else { format!("link.down.queue={queue} kB") },
            format!("link.down.discipline={discipline}"),
            "access.terminals=12".to_owned(),
            format!("access.scheme={scheme}"),
            format!("http.dns={dns}"),
            "users.model=zhou-2004, sizes = fixed".to_owned(),
            "users.duration=60 s".to_owned(),
            "users.warm_up=0 s".to_owned(),
            "run.runs=1".to_owned(),
        ];
        if down > 0 {
            assignments.extend(["down", "up"].map(|way| format!("link.{way}.outages=random up={up}s down={down}s")));
        }
        if let Some(share) = multicast {
            assignments.push(format!("multicast.rate={:.0} bit/s", share * 1e3 * f64::from(u32::try_from(rate).unwrap())));
            assignments.push(format!("multicast.packet={packet} B"));
        }
        let assignments: Vec<&str> = assignments.iter().map(String::as_str).collect();
        let (packets, refused) = refused(&scenario("rwbp-128", &assignments));
        prop_assert!(packets > 0);
        prop_assert_eq!(refused, 0, "of {} packets", packets);
    }
}

/// Multicast that goes on coming while the link pauses pushes out of a fair queue what has most there.
#[test]
fn no_pause_lets_multicast_push_rwbp_out_of_a_fair_queue() {
    let settings = [
        "run.architectures=rwbp",
        "link.down.rate=203 kbit/s",
        "link.down.discipline=fair-queue",
        "link.down.outages=random up=1s down=1s",
        "link.up.outages=random up=1s down=1s",
        "access.terminals=12",
        "access.scheme=dedicated",
        "multicast.rate=10150 bit/s",
        "multicast.packet=100 B",
        "users.model=zhou-2004, sizes = fixed",
        "users.duration=60 s",
        "users.warm_up=0 s",
        "run.runs=1",
    ];
    for queue in ["link.down.queue=7 kB", "link.down.queue=7 packets", "link.down.queue=60 packets"] {
        let (packets, refused) = refused(&scenario("rwbp-128", &[&settings[..], &[queue]].concat()));
        assert!(packets > 1000 && refused == 0, "{queue}: {refused} of {packets}");
    }
}

#[test]
fn packets_of_tcp_do_find_a_full_queue() {
    let settings =
        ["run.architectures=direct", "link.down.rate=300 kbit/s", "link.down.queue=8 kB", "multicast.rate=100 kbit/s"];
    let users = ["users.model=zhou-2004, sizes = fixed", "users.duration=60 s", "users.warm_up=0 s", "run.runs=1"];
    assert!(refused(&scenario("rwbp-128", &[&settings[..], &users[..]].concat())).1 > 10);
}
