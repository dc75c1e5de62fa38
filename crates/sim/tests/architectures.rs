//! What the architectures have in common, and where each must be better.

mod opening;

use farhop_results::{Architecture, Row, Source};
use farhop_scenario::{Object, Page, Reference};
use farhop_sim::{Simulation, simulate};
use farhop_units::Bytes;
use farhop_units::random::Stream;
use opening::scenario;
use proptest::prelude::*;

fn row(simulation: &Simulation, architecture: Architecture) -> &Row {
    let row = simulation.rows.iter().find(|row| row.architecture == architecture);
    row.unwrap_or_else(|| panic!("{architecture}: {:?}", simulation.gaps))
}

/// Page load times of `direct` and `split`.
fn both(name: &str, assignments: &[&str]) -> [f64; 2] {
    let all = [assignments, &["run.architectures=direct,split", "run.runs=5"]].concat();
    let simulation = simulate(&scenario(name, &all), 1);
    [Architecture::Direct, Architecture::Split].map(|architecture| row(&simulation, architecture).page_load_s)
}

#[test]
fn proxies_at_both_ends_of_a_path_that_is_all_link_change_nothing() {
    // Lan and wan cost nothing here, so that each leg but the middle one is there at once. How long Linux's hosts take decides which connection is
    // free first.
    let [direct, split] = both("demo", &["tcp.profile=rfc"]);
    assert!((split / direct - 1.0).abs() < 0.01, "{split} s instead of {direct} s");
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
fn loads_through_relays_are_whole() {
    for (version, architecture) in ["split", "rwbp", "multiplexed", "tunnel", "accelerated"]
        .into_iter()
        .flat_map(|known| ["1.0", "1.1", "1.1-pipelined"].map(|version| (version, known)))
    {
        let [version, architecture] = [format!("http.version={version}"), format!("run.architectures={architecture}")];
        let assignments = [&architecture, "link.down.loss=2 %", "wan.delay=30 ms", "wan.loss=1 %", &version];
        let scenario = scenario("demo", &assignments);
        let loads = simulate(&scenario, 3).loads;
        assert!(!loads.is_empty(), "{assignments:?}");
        for load in loads {
            let sizes: Vec<u64> = scenario.page.objects.iter().map(|object| object.size.get()).collect();
            assert_eq!(load.objects.iter().map(|object| object.bytes).collect::<Vec<_>>(), sizes, "{version}");
        }
    }
}

#[test]
fn rwbp_drops_nothing_and_keeps_its_peak_rate() {
    // A queue of a few packets, a link that many flows overload.
    let means = ["5 kB", "4 packets", "1 kB", "0 B"].map(|queue| {
        let assignments = [
            "run.architectures=rwbp",
            "users.model=zhou-2004, sizes = fixed",
            "users.duration=3 min",
            "users.warm_up=0 s",
            "run.runs=1",
            "access.terminals=64",
            "access.scheme=dedicated",
            &format!("link.down.queue={queue}"),
            "link.down.rate=1 Mbit/s",
        ];
        let simulation = simulate(&scenario("rwbp-128", &assignments), 5);
        let Row { note, users, .. } = row(&simulation, Architecture::Rwbp);
        assert!(note.as_deref().is_some_and(|note| note.contains("the link dropped 0 packets")), "{queue}: {note:?}");
        users.expect("users have times").page_load_mean_s
    });
    // Where no full packet may wait, each enters when the link is free; where none may at all, when somebody asks after that.
    assert!(means[..3].iter().all(|mean| (mean / means[0] - 1.0).abs() < 0.05), "{means:?}");
    assert!(means[3] < 2.0 * means[0], "{means:?}");
    for (peak, kbps) in [("rwbp.peak_rate=900 kbit/s", 900.0), ("link.down.rate=2 Mbit/s", 2000.0)] {
        let one = ["page.objects=1", "page.size=1 MB", "run.architectures=rwbp", peak];
        let alone = row(&simulate(&scenario("demo", &one), 1), Architecture::Rwbp).page_load_s;
        // 1 MB in packets of 1448 B with 40 B of headers.
        let at_peak_rate = 1e6 * 8.0 / (kbps * 1e3) * 1488.0 / 1448.0;
        assert!((at_peak_rate..at_peak_rate + 2.0).contains(&alone), "{peak}: {alone} s, {at_peak_rate} s");
    }
}

#[test]
fn rwbp_drops_nothing_on_the_way_up() {
    let schemes = ["tdma", "dama", "cfdama", "aloha-periodic", "slotted-aloha"];
    let beside = ["multicast.rate=none", "multicast.rate=500 kbit/s"];
    for (scheme, multicast) in schemes.into_iter().flat_map(|scheme| beside.map(|multicast| (scheme, multicast))) {
        let assignments = [
            "run.architectures=rwbp",
            "link.down.discipline=priority",
            multicast,
            "users.model=zhou-2004",
            "users.per_terminal=3",
            "users.duration=3 min",
            "users.warm_up=0 s",
            "run.runs=1",
            "access.terminals=24",
            "link.up.queue=1 packets",
            "http.version=1.0",
            &format!("access.scheme={scheme}"),
        ];
        let simulation = simulate(&scenario("rwbp-128", &assignments), 1);
        let note = row(&simulation, Architecture::Rwbp).note.as_deref().unwrap_or_default();
        assert!(note.contains("the link dropped 0 packets"), "{scheme}, {multicast}: {note}");
    }
}

/// A flow whose own path takes no time at all is still paced by what the link behind it takes.
#[test]
fn bbr_beside_the_client_keeps_up_with_the_link() {
    let assignments = ["tcp.congestion=bbr", "link.down.rate=6 Mbit/s", "wan.delay=30 ms", "http.version=2"];
    let [direct, split] = both("demo", &assignments);
    assert!(split < direct, "{split} s, direct {direct} s");
}

#[test]
fn connections_that_are_up_save_handshakes_and_slow_start() {
    let time = |assignments: &[&str], architecture| {
        let all = [assignments, &["run.architectures=split,multiplexed"]].concat();
        row(&simulate(&scenario("demo", &all), 1), architecture).page_load_s
    };
    let [split, shared] = [Architecture::Split, Architecture::Multiplexed].map(|known| time(&[], known));
    assert!(shared < split - 0.5, "{shared} s, split {split} s: a handshake is a round trip of 0.5 s");
    // The window that replies have made serves all that come later.
    let one = time(&["multiplexed.connections=1"], Architecture::Multiplexed);
    let many = time(&["multiplexed.connections=16"], Architecture::Multiplexed);
    assert!(one < many, "{one} s over one connection, {many} s over sixteen");
}

/// Parts of 200 B to 60 kB at 51 hosts, of which some have many more than others: the last of a host's decide.
fn page_that_fills_the_link(parts: u64) -> Page {
    let (hosts, sizes) = (Stream::new(7, 0), Stream::new(7, 1));
    let part = |number: u64| {
        let reference = Some(Reference { object: 0, offset: Bytes::ZERO, end: Bytes::new(number * 30) });
        let (host, size) = (hosts.below(number, 51), Bytes::new(200 + sizes.below(number, 59_800)));
        let host = usize::try_from(host).expect("below 51");
        Object { reference, host, ..Object::new(format!("i{number}.png"), "image/png", size) }
    };
    let document = Object::new("index.html", "text/html", Bytes::kb(60));
    let names = (0..51).map(|host| format!("h{host}.example").into()).collect();
    Page::new(core::iter::once(document).chain((1..parts).map(part)).collect(), names).expect("a page")
}

#[test]
fn what_a_gateway_leaves_to_the_client_does_not_starve_what_it_pushes() {
    let takes = |architecture: Architecture| {
        let mut scenario = scenario("demo", &[&format!("run.architectures={architecture}")]);
        scenario.page = page_that_fills_the_link(2000);
        row(&simulate(&scenario, 1), architecture).page_load_s
    };
    let [tunnel, accelerated] = [Architecture::Tunnel, Architecture::Accelerated].map(takes);
    assert!(accelerated < tunnel - 0.2, "{accelerated} s, through the tunnel {tunnel} s");
}

/// Times that farhop measured over the same link on a quiet machine (README).
#[test]
fn the_demo_takes_as_long_through_farhops_boxes_as_measured() {
    for (architecture, measured) in [(Architecture::Tunnel, 3.081), (Architecture::Accelerated, 0.658)] {
        let only = format!("run.architectures={architecture}");
        let simulated = row(&simulate(&scenario("demo", &[&only]), 1), architecture).page_load_s;
        assert!((simulated / measured - 1.0).abs() < 0.01, "{architecture}: {simulated} s, measured {measured} s");
    }
}

#[test]
fn the_same_seed_gives_the_same_loads_through_every_architecture() {
    let words = Architecture::ALL.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let all = format!("run.architectures={words}");
    let loads = |assignments: &[&str], seed| {
        let simulation = simulate(&scenario("demo", &[assignments, &[&all]].concat()), seed);
        assert!(simulation.gaps.is_empty(), "{:?}", simulation.gaps);
        simulation.loads
    };
    let lossy = ["link.down.loss=1 %", "link.up.loss=1 %", "wan.delay=10 ms"];
    assert_eq!(loads(&lossy, 7), loads(&lossy, 7));
    let (one, other) = (loads(&lossy, 7), loads(&lossy, 8));
    assert!(one.iter().zip(&other).all(|(one, other)| one != other));
}

#[test]
fn a_client_of_the_tunnel_asks_for_each_connection() {
    let load = |assignments: &[&str]| {
        let all = [assignments, &["run.architectures=tunnel", "lan.delay=10 ms"]].concat();
        simulate(&scenario("demo", &all), 1).loads.remove(0)
    };
    // A handshake and a question, each a round trip, before the first request leaves.
    assert!((load(&[]).objects[0].request_s - 0.04).abs() < 0.001);
}

#[test]
fn streams_of_the_tunnel_do_not_wait_for_each_other() {
    let time = |assignments: &[&str]| {
        let all = [assignments, &["run.architectures=tunnel", "link.down.loss=1 %", "run.runs=9"]].concat();
        row(&simulate(&scenario("demo", &all), 1), Architecture::Tunnel).page_load_s
    };
    // 28 objects one after the other, of which many lose a packet, or six at a time.
    assert!(time(&["http.connections=6"]) < 0.4 * time(&["http.connections=1"]));
}

/// The next response's head does not fit in what the last one has left of a small window.
#[test]
fn a_gateway_makes_room_for_the_rest_of_a_head() {
    let settings = [
        "page.objects=5",
        "page.size=50 kB",
        "http.response_header_bytes=400",
        "tcp.mss=88",
        "tcp.receive_buffer=4 KiB",
        "tcp.max_window=64 kB",
        "link.down.rate=64 kbit/s",
        "link.up.rate=2 Mbit/s",
        "wan.delay=0 ms",
        "wan.loss=1 %",
        "run.runs=2",
        "run.architectures=accelerated",
    ];
    let simulation = simulate(&scenario("demo", &settings), 1);
    assert_eq!((simulation.rows.len(), &simulation.gaps[..]), (1, &[][..]), "pages end");
}

/// zhou-2004 §III: a link that is full holds back its gateway, and that the server: what waits between them does not grow with what is asked for.
#[test]
fn rwbp_holds_back_the_server() {
    let load = |megabytes: u64| {
        let size = format!("page.size={megabytes} MB");
        let link = ["link.down.rate=1 Mbit/s", "link.down.queue=60 kB", "wan.rate=100 Mbit/s", "lan.rate=100 Mbit/s"];
        let page = ["page.objects=1", "http.connections=1", "run.runs=1", "tcp.profile=rfc", "tcp.max_window=64 kB"];
        let mut simulation =
            simulate(&scenario("demo", &[&link[..], &page, &["run.architectures=rwbp", &size]].concat()), 1);
        let needs = simulation.loads.remove(0).needs.expect("it is simulated");
        assert_eq!(needs.dropped, 0);
        (needs.peaks.peak_queue_down_bytes, needs.peaks.peak_gateway_buffer_bytes.expect("there are relays"))
    };
    let [(_, short), (queued, long)] = [2, 10].map(load);
    assert!(queued < 3000, "the link is asked for what it can take: {queued} B waited");
    // What the server's window lets come, and a packet.
    assert!(short == long && long <= 64_000 + 1500, "the gateway holds {short} B of 2 MB and {long} B of 10 MB");
}

/// Who hears of a queue by marks loses nothing in it (RFC 3168), whatever the profile.
#[test]
fn marks_take_the_place_of_drops() {
    for profile in ["linux", "rfc", "bsd-1997"] {
        let load = |ecn: &str| {
            let profile = format!("tcp.profile={profile}");
            let link = ["link.down.discipline=fq-codel ecn=on", "link.down.rate=4 Mbit/s", "run.architectures=direct"];
            let page = ["page.objects=1", "page.size=4 MB", "http.connections=1", "run.runs=1"];
            let tcp = ["tcp.max_window=unlimited", "tcp.congestion=newreno", &profile, ecn];
            let mut simulation = simulate(&scenario("demo", &[&link[..], &page, &tcp].concat()), 1);
            let load = simulation.loads.remove(0);
            (load.needs.expect("it is simulated").dropped, load.page_load_s)
        };
        let [(dropped, without), (left, with)] = ["tcp.ecn=off", "tcp.ecn=on"].map(load);
        assert!(dropped > 0 && left == 0, "{profile}: {dropped} without, {left} with");
        assert!((with - without).abs() > 1e-3, "{profile}: {without} s without, {with} s with");
    }
}

#[test]
fn a_load_tells_what_it_needed() {
    let settings = ["run.architectures=direct,split", "link.down.queue=30 kB", "link.down.rate=5 Mbit/s", "run.runs=1"];
    let simulation = simulate(&scenario("demo", &settings), 1);
    let [direct, split] = [0, 1].map(|load| simulation.loads[load].needs.expect("it is simulated"));
    assert!((28_000..=30_000).contains(&direct.peaks.peak_queue_down_bytes) && direct.dropped > 0, "{direct:?}");
    assert!((1..=6).contains(&direct.peaks.peak_connections), "{direct:?}");
    assert_eq!(direct.peaks.peak_gateway_buffer_bytes, None);
    assert!(split.peaks.peak_connections > direct.peaks.peak_connections, "{split:?}");
    assert!(split.peaks.peak_gateway_buffer_bytes > Some(10_000), "{split:?}");
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
        "tcp.initial_window=10",
        "run.architectures=direct,split,rwbp,multiplexed,tunnel,accelerated",
    ];
    let simulation = simulate(&scenario("rwbp-128", &assignments), 5);
    use Architecture::{Accelerated, Direct, Multiplexed, Rwbp, Split, Tunnel};
    let [direct, split, rwbp, shared, tunnel, accelerated] = [Direct, Split, Rwbp, Multiplexed, Tunnel, Accelerated]
        .map(|architecture| row(&simulation, architecture).users.expect("users have times"));
    assert!(split.page_load_mean_s < direct.page_load_mean_s);
    assert!(rwbp.page_load_mean_s < direct.page_load_mean_s);
    assert!(shared.page_load_mean_s < split.page_load_mean_s);
    assert!(tunnel.page_load_mean_s < direct.page_load_mean_s);
    assert!(accelerated.page_load_mean_s < tunnel.page_load_mean_s);
    // What is possible follows from their pages, not from the scenario's, which is 500 times as large here and changes nothing.
    for row in &simulation.rows {
        let ratio = row.page_load_s / row.limit_s;
        assert!(ratio >= 1.0 && (row.architecture != Accelerated || ratio < 2.0), "{row:?}");
    }
    let larger = [&assignments[..], &["page.objects=1", "page.size=50 MB"]].concat();
    assert_eq!(simulate(&scenario("rwbp-128", &larger), 5).rows, simulation.rows);
    // As many pages as the faster loads leave time for.
    assert!(split.count >= direct.count && split.count < direct.count * 5 / 4);
}

#[test]
fn common_random_numbers_make_differences_certain() {
    let assignments = [
        "users.model=zhou-2004",
        "users.duration=5 min",
        "users.warm_up=0 s",
        "run.runs=8",
        "access.terminals=8",
        "access.scheme=dedicated",
        "run.architectures=direct,split,multiplexed",
    ];
    let simulation = simulate(&scenario("rwbp-128", &assignments), 5);
    let [split, shared] = simulation.differences[..] else { panic!("{:?}", simulation.differences) };
    assert_eq!([split.architecture, shared.architecture], [Architecture::Split, Architecture::Multiplexed]);
    for one in [split, shared] {
        assert_eq!((one.from, one.source, one.runs), (Architecture::Direct, Source::Simulated, 8));
        let mean = |of| row(&simulation, of).users.expect("users have times").page_load_mean_s;
        let of_means = mean(one.architecture) - mean(one.from);
        // Replications count alike there, and pages here.
        assert!((one.mean_s - of_means).abs() < 0.1 * of_means.abs(), "{one:?} {of_means}");
        assert!(one.mean_s < -one.mean_error_s && one.mean_error_s < one.unpaired_error_s / 2.0, "{one:?}");
    }
    let alone = [&assignments[..], &["run.architectures=direct"]].concat();
    assert_eq!(simulate(&scenario("rwbp-128", &alone), 5).differences, []);
    let once = [&assignments[..], &["run.runs=1"]].concat();
    assert_eq!(simulate(&scenario("rwbp-128", &once), 5).differences, []);
}

#[test]
fn tunnels_keep_to_what_their_modems_take_of_a_shared_way_up() {
    // Requests of 20 kB over a way up of 400 kbit/s that eight terminals share; 4 kB fit into a modem.
    for (scheme, queue) in [("cfdama", "4 kB"), ("tdma", "4 kB"), ("dama", "4 kB"), ("dama", "3 packets")] {
        let assignments = [
            "users.model=zhou-2004, sizes = fixed, requests = constant value=20kB, think = exponential mean=30s",
            "users.duration=5 min",
            "users.warm_up=0 s",
            "run.runs=1",
            "access.terminals=8",
            &format!("access.scheme={scheme}"),
            &format!("link.up.queue={queue}"),
            "run.architectures=tunnel,accelerated",
        ];
        let simulation = simulate(&scenario("rwbp-128", &assignments), 5);
        for architecture in [Architecture::Tunnel, Architecture::Accelerated] {
            let Row { note, users, .. } = row(&simulation, architecture);
            let note = note.as_deref().expect("it says what was dropped");
            assert!(note.contains("the link dropped 0 packets"), "{scheme}, {architecture}: {note}");
            assert!(users.is_some_and(|users| users.count > 20), "{scheme}, {architecture}: {users:?}");
        }
    }
}

/// While a modem is full no timer of the connection over it runs; what was due meanwhile is, when there is room again.
#[test]
fn a_full_modem_does_not_end_a_connection() {
    for (scheme, delay) in [("tdma", "1 s"), ("cfdama", "1 s"), ("dama", "1 s"), ("aloha-periodic", "600 ms")] {
        let [down, up] = ["down", "up"].map(|way| format!("link.{way}.delay={delay}"));
        let scheme = format!("access.scheme={scheme}");
        let assignments = [
            &down[..],
            &up,
            &scheme,
            "access.terminals=4",
            "page.objects=6",
            "page.size=16 kB",
            "link.up.rate=400 kbit/s",
            "link.up.queue=1500 B",
            "run.architectures=tunnel,accelerated",
        ];
        let simulation = simulate(&scenario("obata-2002", &assignments), 5);
        for architecture in [Architecture::Tunnel, Architecture::Accelerated] {
            let row = row(&simulation, architecture);
            assert!(row.page_load_s < 30.0, "{scheme}, {architecture}: {row:?}");
        }
    }
}

#[test]
fn many_terminals_open_their_connections_without_overloading_the_link() {
    let assignments = [
        "users.model=zhou-2004",
        "users.duration=1 min",
        "users.warm_up=0 s",
        "run.runs=1",
        "access.terminals=400",
        "access.scheme=dedicated",
        "link.down.rate=40 Mbit/s",
        "link.down.queue=20 kB",
        "run.architectures=direct,multiplexed,accelerated",
    ];
    let simulation = simulate(&scenario("rwbp-128", &assignments), 5);
    let [direct, shared, accelerated] = [Architecture::Direct, Architecture::Multiplexed, Architecture::Accelerated]
        .map(|architecture| row(&simulation, architecture).users.expect("users have times").count);
    assert!(shared.min(accelerated) > direct * 9 / 10, "{direct}, {shared} and {accelerated} pages");
}

/// A user of pages with several hosts, sheets and fonts, behind a satellite.
const USER: &str = r#"
version = 1
link.down = { rate = "20 Mbit/s", delay = "250 ms" }
link.up = { rate = "2 Mbit/s", delay = "250 ms" }
wan.delay = "10 ms"
users = { model = "page-2025", duration = "3 min", warm_up = "0 s" }
run.runs = 1
"#;

#[test]
fn pages_of_several_hosts_and_levels_are_whole_through_boxes() {
    for (architecture, prefetch_at) in [
        ("rwbp", "terminal"),
        ("multiplexed", "terminal"),
        ("tunnel", "terminal"),
        ("accelerated", "terminal"),
        ("prefetch-conventional", "terminal"),
        ("prefetch-conventional", "gateway"),
        ("prefetch-2013", "terminal"),
    ] {
        let only = [format!("run.architectures={architecture}"), format!("prefetch.at={prefetch_at}")];
        let scenario = farhop_scenario::parse("user", USER, &only).expect("it is a scenario");
        assert!(scenario.page.hosts.len() > 1 && scenario.page.references()[1..].iter().any(|named| !named.is_empty()));
        let simulation = simulate(&scenario, 1);
        let users = simulation.rows.first().and_then(|row| row.users).expect("pages are complete");
        assert!(users.count > 1 && users.unfinished <= 1, "{architecture}: {users:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever is lost anywhere, and however small the windows, relays pass on every byte.
    #[test]
    fn every_load_through_relays_is_whole(
        architecture in prop::sample::select(vec!["split", "rwbp", "multiplexed", "tunnel", "accelerated"]),
        version in prop::sample::select(vec!["1.0", "1.1", "1.1-pipelined", "2", "3"]),
        dns in prop::sample::select(vec!["none", "near", "far"]),
        window in prop::sample::select(vec!["3 kB", "20 kB", "unlimited"]),
        losses in prop::array::uniform3(0_u32..6), kbps in 100_u64..20_000, seed in 0_u64..1000,
    ) {
        let cannot_be = matches!((architecture, version), ("tunnel" | "accelerated", "3"));
        let version = if cannot_be { "1.1" } else { version };
        let [lan, link, wan] = losses.map(|loss| format!("loss={loss} %"));
        let scenario = scenario("demo", &[
            &format!("run.architectures={architecture}"), &format!("http.version={version}"), &format!("tcp.max_window={window}"),
            &format!("http.dns={dns}"),
            &format!("lan.{lan}"), &format!("link.down.{link}"), &format!("link.up.{link}"), &format!("wan.{wan}"),
            &format!("link.down.rate={kbps} kbit/s"), "wan.delay=10 ms", "lan.rate=5 Mbit/s",
            "page.objects=8", "page.size=30 kB", "run.runs=1",
        ]);
        let simulation = simulate(&scenario, seed);
        prop_assert!(simulation.gaps.is_empty(), "{:?}", simulation.gaps);
        let bytes: u64 = simulation.loads[0].objects.iter().map(|object| object.bytes).sum();
        prop_assert_eq!(bytes, scenario.page.total_bytes().get());
    }
}
