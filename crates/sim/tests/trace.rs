//! What a traced run leaves behind, and that it is what happened.

mod memory;
mod opening;

use farhop_recording::replay::{ReplaySummary, verify_log};
use farhop_results::Architecture;
use farhop_scenario::Scenario;
use farhop_sim::{Simulation, TraceFiles, TraceSummary, simulate, simulate_traced};
use farhop_units::Instant;
use memory::Memory;
use std::collections::BTreeSet;
use std::io::{self, Write};

impl Memory {
    /// The lines below the heading, cut at commas.
    fn lines(&self) -> Vec<Vec<String>> {
        let text = String::from_utf8(self.bytes()).expect("it is text");
        text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
    }
}

#[derive(Default)]
struct Traced {
    packets: Memory,
    capture: Memory,
    queue: Memory,
    connections: Memory,
    windows: Memory,
    segments: Memory,
    simulation: Simulation,
    summary: TraceSummary,
}

impl Traced {
    fn files(&self) -> TraceFiles {
        let Self { packets, capture, queue, connections, windows, segments, .. } = self;
        let [packets, capture, queue, connections, windows, segments] =
            [packets, capture, queue, connections, windows, segments].map(|file| Box::new(file.clone()));
        TraceFiles { packets, capture, queue, connections, windows, segments }
    }

    fn replay(&self) -> ReplaySummary {
        verify_log(&self.packets.bytes()[..]).unwrap_or_else(|error| panic!("{error}"))
    }
}

fn scenario(name: &str, assignments: &[&str]) -> Scenario {
    let mut scenario = opening::scenario(name, assignments);
    // Whoever marks needs somebody to be marked.
    scenario.tcp.ecn = assignments.iter().any(|assignment| assignment.ends_with("ecn=on"));
    scenario
}

fn traced(scenario: &Scenario) -> Traced {
    let mut traced = Traced::default();
    (traced.simulation, traced.summary) = simulate_traced(scenario, 7, traced.files(), &mut |_| {});
    traced
}

const USERS: [&str; 6] = [
    "users.model=zhou-2004",
    "users.duration=90 s",
    "users.warm_up=10 s",
    "run.runs=2",
    "access.terminals=5",
    "run.architectures=direct",
];

fn cases() -> Vec<(&'static str, Vec<&'static str>)> {
    let users = |more: &[&'static str]| [&USERS[..], more].concat();
    vec![
        ("demo", vec![]),
        ("demo", vec!["run.architectures=split"]),
        ("demo", vec!["run.architectures=rwbp", "link.down.loss=1 %", "link.up.duplication=1 %"]),
        (
            "demo",
            vec!["link.down.loss=2 %", "link.up.loss=2 %", "link.down.duplication=2 %", "link.down.corruption=1 %"],
        ),
        ("demo", vec!["link.down.jitter=uniform max=20ms", "link.down.reordering=probability=1% by=10ms"]),
        (
            "demo",
            vec![
                "run.architectures=direct",
                "http.version=3",
                "http.dns=far",
                "link.down.loss=1 %",
                "link.down.corruption=1 %",
            ],
        ),
        ("demo", vec!["run.architectures=split", "http.version=2", "http.dns=near", "link.up.loss=2 %"]),
        ("demo", vec!["wan.corruption=2 %", "link.down.corruption=2 %", "link.down.queue=30 packets"]),
        ("demo", vec!["link.down.discipline=fq-codel ecn=on", "link.down.rate=5 Mbit/s"]),
        ("rwbp-128", users(&["access.scheme=cfdama"])),
        ("rwbp-128", users(&["access.scheme=tdma", "multicast.rate=3 Mbit/s", "link.down.queue=20 kB"])),
        (
            "rwbp-128",
            users(&["multicast.rate=3 Mbit/s", "link.down.discipline=drop-tail", "link.down.queue=10 packets"]),
        ),
        ("rwbp-128", users(&["access.scheme=slotted-aloha", "link.down.loss=0.5 %"])),
        ("rwbp-128", users(&["access.scheme=dedicated", "link.down.rate=300 kbit/s", "link.down.queue=10 packets"])),
    ]
}

#[test]
fn the_far_links_log_is_recomputed_packet_by_packet() {
    let mut drops = 0;
    for (name, settings) in cases() {
        let traced = traced(&scenario(name, &settings));
        assert_eq!((traced.summary.problem.as_deref(), traced.simulation.gaps.len()), (None, gaps(name, &settings)));
        let replayed = traced.replay();
        println!("{name} {settings:?}: {replayed:?}");
        assert!(replayed.arrivals > 500, "{settings:?}: {replayed:?}");
        assert_eq!(replayed.arrivals + replayed.deliveries + replayed.drops, traced.summary.records);
        assert_eq!(replayed.end, traced.summary.end);
        drops += replayed.drops;
    }
    assert!(drops > 100, "some of it is dropped");
}

/// Architectures of a scenario that cannot be simulated.
fn gaps(name: &str, settings: &[&str]) -> usize {
    let is_chosen = settings.iter().any(|setting| setting.starts_with("run.architectures"));
    if name == "demo" && !is_chosen { simulate(&scenario(name, &[]), 7).gaps.len() } else { 0 }
}

#[test]
fn a_log_of_something_else_is_not_recomputed() {
    let traced = traced(&scenario("demo", &["link.down.loss=1 %"]));
    let log = String::from_utf8(traced.packets.bytes()).expect("it is text");
    verify_log(log.as_bytes()).expect("it is what happened");
    let other = log.replacen("# seed = ", "# seed = 1", 1);
    assert!(verify_log(other.as_bytes()).is_err());
}

#[test]
fn a_run_that_is_traced_takes_the_same_course() {
    for (name, settings) in cases() {
        let scenario = scenario(name, &settings);
        let (mut traced, plain) = (traced(&scenario).simulation, simulate(&scenario, 7));
        // A trace sees packets between lanes that they go through at once otherwise.
        assert!(traced.event_count >= plain.event_count, "{name} {settings:?}");
        traced.event_count = plain.event_count;
        // Not assert_eq!: loads are long.
        assert!(traced.rows == plain.rows, "{name} {settings:?}: {:?} and {:?}", traced.rows, plain.rows);
        assert!(traced == plain, "{name} {settings:?}");
    }
}

#[test]
fn a_link_that_constrains_nothing_is_traced_too() {
    let free = ["link.down.rate=unlimited", "link.up.rate=unlimited", "link.down.delay=0ms", "link.up.delay=0ms"];
    let settings = [&free[..], &["wan.delay=50ms", "run.architectures=direct"]].concat();
    let scenario = scenario("demo", &settings);
    assert!(scenario.link.is_transparent());
    let replayed = traced(&scenario).replay();
    assert!(replayed.arrivals > 1000 && replayed.arrivals == replayed.deliveries, "{replayed:?}");
    // Bursts over several connections wait for each other at the same instants: whether somebody looks must not decide who is first.
    for seed in 0..20 {
        let (traced, _) = simulate_traced(&scenario, seed, Traced::default().files(), &mut |_| {});
        assert_eq!(traced.rows, simulate(&scenario, seed).rows, "seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let scenario = scenario("demo", &["link.down.loss=1 %"]);
    let [one, other] = [0, 1].map(|_| traced(&scenario));
    let files = |traced: &Traced| {
        let Traced { packets, capture, queue, connections, windows, segments, .. } = traced;
        [packets, capture, queue, connections, windows, segments].map(Memory::bytes)
    };
    assert!(files(&one).iter().all(|file| !file.is_empty()));
    assert_eq!(files(&one), files(&other));
}

#[test]
fn a_capture_has_a_block_for_every_record_and_headers_alone() {
    let traced = traced(&scenario("demo", &["link.down.queue=30 packets"]));
    let bytes = traced.capture.bytes();
    let word = |place: usize| u32::from_ne_bytes(bytes[place..place + 4].try_into().expect("four bytes"));
    let (mut place, mut packets, mut cut) = (0, 0_u64, 0_u64);
    while place < bytes.len() {
        if word(place) == 6 {
            let (captured, length) = (word(place + 20), word(place + 24));
            assert_eq!(word(place + 28), 2, "the address family, as from a loopback device");
            let [captured, length] = [captured, length].map(|bytes| bytes - 4);
            assert!((52..=80).contains(&captured) && captured <= length, "{captured} of {length} bytes");
            // IPv4, whose length is the packet's.
            assert_eq!(
                (bytes[place + 32], u32::from(bytes[place + 34]) << 8 | u32::from(bytes[place + 35])),
                (0x45, length)
            );
            packets += 1;
            cut += u64::from(captured < length);
        }
        place += word(place + 4) as usize;
    }
    assert_eq!(packets, traced.summary.records);
    assert!(cut > 2000 && cut < packets, "{cut} of {packets} have a payload");
}

#[test]
fn captures_show_datagrams_with_ports_and_no_payload() {
    let traced = traced(&scenario("demo", &["run.architectures=direct", "http.version=3", "http.dns=far"]));
    let bytes = traced.capture.bytes();
    let word = |place: usize| u32::from_ne_bytes(bytes[place..place + 4].try_into().expect("four bytes"));
    let (mut place, mut ports) = (0, std::collections::BTreeMap::<u16, u64>::new());
    while place < bytes.len() {
        if word(place) == 6 {
            let packet = &bytes[place + 32..place + 28 + word(place + 20) as usize];
            assert_eq!((packet.len(), packet[9]), (28, 17), "IPv4 and UDP");
            let number = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
            assert_eq!(u32::from(number(24)) + 20, word(place + 24) - 4, "the length is the packet's");
            *ports.entry(number(20).min(number(22))).or_default() += 1;
        }
        place += word(place + 4) as usize;
    }
    assert_eq!(ports.keys().copied().collect::<Vec<_>>(), [53, 443]);
    // A question and its answer, each at both ends of the link.
    assert_eq!((ports[&53], ports[&53] + ports[&443]), (4, traced.summary.records));
    let places: Vec<[String; 2]> =
        traced.connections.lines().into_iter().map(|line| [line[9].clone(), line[5].clone()]).collect();
    assert_eq!(places, [["53", "gateway"], ["443", "server"]].map(|pair| pair.map(str::to_owned)));
}

#[test]
fn series_tell_of_quics_windows() {
    let settings = ["run.architectures=direct", "http.version=3", "link.down.loss=1 %"];
    let windows = traced(&scenario("demo", &settings)).windows.lines();
    let down: Vec<&Vec<String>> = windows.iter().filter(|line| line[2] == "down").collect();
    let bytes = |text: &str| text.parse::<u64>().expect("a number");
    let sizes: Vec<u64> = down.iter().map(|line| bytes(&line[3])).collect();
    let first = sizes.first().expect("servers send");
    assert!(sizes.iter().max() > Some(&(2 * first)) && sizes.windows(2).any(|pair| pair[1] < pair[0]), "{sizes:?}");
    assert!(down.iter().any(|line| !line[4].is_empty()), "a loss ends slow start");
    let before_loss = down.iter().take_while(|line| line[4].is_empty());
    assert!(before_loss.into_iter().all(|line| bytes(&line[5]) <= bytes(&line[3])), "{down:?}");
    let (rtt, numbers) =
        (&down.last().expect("there is one")[6], down.iter().filter(|line| !line[7].is_empty()).count());
    assert!(rtt.parse::<f64>().expect("a time") >= 0.5 && numbers == 0, "{rtt}, {numbers}");
}

#[test]
fn series_tell_of_windows_queues_and_segments_sent_again() {
    let traced = traced(&scenario("demo", &["link.down.queue=30 packets", "link.down.rate=5 Mbit/s"]));
    let number = |text: &String| text.parse::<f64>().expect("a number");
    let queue = traced.queue.lines();
    let largest = queue.iter().map(|line| number(&line[1])).fold(0.0, f64::max);
    assert!(largest > 20.0 * 1500.0 && largest <= 30.0 * 1500.0, "{largest} bytes waited");
    let windows = traced.windows.lines();
    let down = windows.iter().find(|line| line[2] == "down").expect("servers send");
    assert_eq!((&down[3], &down[4]), (&"14480".to_owned(), &String::new()), "an initial window of 10 segments");
    assert!(windows.iter().any(|line| !line[4].is_empty()), "losses set a threshold");
    assert!(
        windows.iter().filter(|line| !line[6].is_empty()).all(|line| number(&line[6]) > 0.5),
        "500 ms there and back"
    );
    let segments = traced.segments.lines();
    let again = segments.iter().filter(|line| line[7] == "yes").count();
    assert!(again > 0 && again < segments.len() / 5, "{again} of {}", segments.len());
    let log = String::from_utf8(traced.packets.bytes()).expect("it is text");
    assert_eq!(segments.len(), log.lines().filter(|line| line.contains(",arrival,")).count(), "lan and wan do nothing");
    let connections: BTreeSet<String> = traced.connections.lines().iter().map(|line| line[0].clone()).collect();
    assert_eq!(connections.len(), 6);
    let series = &traced.summary.series;
    assert_eq!((series.connections.len(), series.connections[0].direction.as_str()), (6, "down"));
    assert!(series.connections.iter().any(|connection| !connection.retransmitted.is_empty()));
    let acknowledged: Vec<f64> =
        windows.iter().filter(|line| line[1] == "0" && line[2] == "down").map(|line| number(&line[7])).collect();
    assert!(acknowledged.is_sorted() && acknowledged.last().is_some_and(|last| *last > 14480.0));
    for connection in &series.connections {
        let end = |points: &[farhop_results::SegmentPoint]| points.last().map(|point| point.sequence);
        assert!(end(&connection.acknowledged).is_some());
        assert!(end(&connection.acknowledged) <= end(&connection.sent), "{connection:?}");
    }
    assert!(series.queue.iter().map(|point| point.down_bytes).max() == Some(largest as u64));
}

/// Reckoned from the log's arrivals: each packet is served as soon as those before it have been, 1.6 us a byte.
#[test]
fn queues_hold_what_waits_at_the_time_of_their_line() {
    let traced = traced(&scenario("demo", &["link.down.queue=30 packets", "link.down.rate=5 Mbit/s"]));
    let log = String::from_utf8(traced.packets.bytes()).expect("it is text");
    let lines: Vec<Vec<&str>> = log.lines().map(|line| line.split(',').collect()).collect();
    let refused = lines.iter().filter(|line| line[1..].contains(&"queue-full")).map(|line| line[3]);
    let (refused, mut free, mut waits) = (refused.collect::<BTreeSet<_>>(), 0_u64, Vec::new());
    for line in lines.iter().filter(|line| line.len() > 4 && line[1] == "arrival" && line[2] == "gateway") {
        let [at, bytes] = [line[0], line[4]].map(|text| text.parse::<u64>().expect("a number"));
        if !refused.contains(line[3]) {
            let begins = free.max(at);
            waits.push((at, begins, bytes));
            free = begins + bytes * 1600;
        }
    }
    let queue = traced.queue.lines();
    assert!(!refused.is_empty() && queue.len() > 100, "{} refused, {} lines", refused.len(), queue.len());
    for line in queue {
        let now = line[0].replace('.', "").parse::<u64>().expect("nanoseconds");
        let waiting = waits.iter().filter(|(at, begins, _)| *at <= now && *begins > now).map(|(.., bytes)| bytes);
        assert_eq!(line[1], waiting.sum::<u64>().to_string(), "at {} s", line[0]);
    }
}

#[test]
fn only_the_first_run_of_the_first_architecture_is_traced() {
    let settings = ["link.down.loss=1 %", "run.runs=3", "run.architectures=split, direct"];
    let traced = traced(&scenario("demo", &settings));
    let load = &traced.simulation.loads[0];
    assert_eq!((load.architecture, load.run), (Architecture::Split, 0));
    let end = traced.summary.end - Instant::START;
    assert!((end.as_secs_f64() - load.page_load_s).abs() < 1.0, "{end:?} of {} s", load.page_load_s);
    let places: BTreeSet<[String; 2]> =
        traced.connections.lines().into_iter().map(|line| [line[4].clone(), line[5].clone()]).collect();
    assert_eq!(places.len(), 3, "{places:?}");
}

/// A disk that takes so many bytes.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_trace_but_not_the_simulation() {
    let scenario = scenario("demo", &[]);
    let memory = Traced::default();
    let files = TraceFiles { segments: Box::new(Disk(100)), ..memory.files() };
    let (simulation, summary) = simulate_traced(&scenario, 7, files, &mut |_| {});
    assert_eq!(simulation, simulate(&scenario, 7));
    assert!(summary.problem.is_some_and(|problem| problem.starts_with("the trace was cut short: ")));
    assert!(summary.has_failed);
    let (_, whole) = simulate_traced(&scenario, 7, Traced::default().files(), &mut |_| {});
    assert!(whole.problem.is_none() && !whole.has_failed);
}

#[test]
fn what_cannot_be_simulated_leaves_no_trace_and_says_so() {
    let traced = traced(&scenario("demo", &["run.architectures=tunnel", "http.version=3"]));
    assert!(traced.summary.problem.is_some_and(|problem| problem.starts_with("nothing was traced")));
    assert!(traced.packets.bytes().is_empty());
}

/// Both ends' hosts share a processor: a timer of the pace that runs out while the client takes a packet waits for that.
#[test]
fn what_is_paced_does_not_leave_while_the_other_end_takes_a_packet() {
    let settings =
        ["tcp.profile=linux", "tcp.congestion=bbr", "page.objects=1", "page.size=4 MB", "link.down.rate=8 Mbit/s"];
    let only = [&settings[..], &["link.down.queue=unlimited", "run.architectures=direct", "run.runs=1"]].concat();
    let lines = traced(&scenario("demo", &only)).packets.lines();
    // When the last packet came to either end, and how long after one to the client what is paced leaves: nothing has come to the server lately.
    let (mut at_client, mut at_server, mut after) = (0, 0, Vec::new());
    for fields in lines {
        // The heading has more than one line.
        let Ok(at) = fields[0].parse::<u64>() else { continue };
        match (fields[1].as_str(), fields[2].as_str()) {
            ("delivery", "gateway") => at_server = at,
            ("delivery", _) => at_client = at,
            ("arrival", "gateway") if at > at_server + 100_000 => after.push(at - at_client),
            _ => {}
        }
    }
    assert!(after.len() > 500, "{}", after.len());
    let soonest = after.iter().filter(|span| **span > 0).min().expect("there are some");
    assert!(*soonest > 15_000, "{soonest} ns after a packet came to the client");
}
