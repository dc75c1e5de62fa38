//! The recursion: what pages, files and architectures cost.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;

use farhop_model::limit;
use farhop_model::recursion::{
    Control, Flow, Http, Losses, PageLoad, Parameters, PrefetchSide, ProxySettings, Recursion, RecursionError, Tls,
    WayBehind, Workload, WorkloadObject,
};
use farhop_results::Architecture;
use farhop_scenario::{Congestion, FirstAck, LossModel, Profile, QueueLimit, Scenario, TcpConfig, open};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

fn scenario(name: &str, assignments: &[&str]) -> Scenario {
    let assignments: Vec<String> = assignments.iter().map(|&text| text.to_owned()).collect();
    open(name, &assignments).unwrap()
}

fn load(parameters: &Parameters, workload: &Workload) -> PageLoad {
    Recursion::new().load(parameters, workload).unwrap()
}

fn seconds(scenario: &Scenario, change: impl FnOnce(&mut Parameters)) -> f64 {
    let mut parameters = Parameters::of(scenario);
    change(&mut parameters);
    load(&parameters, &Workload::of(&scenario.page).unwrap()).last_byte.as_secs_f64()
}

fn through(scenario: &Scenario, architecture: Architecture) -> PageLoad {
    let workload = Workload::of(&scenario.page).unwrap();
    Recursion::new().load_through(scenario, &workload, architecture, &ProxySettings::default()).unwrap()
}

/// The parts of a breakdown are rounded to nanoseconds one by one.
fn adds_up(load: &PageLoad) -> bool {
    load.breakdown.total().abs_diff(load.last_byte) <= Duration::from_nanos(20)
}

#[test]
fn the_demos_take_as_long_as_on_linux() {
    for (name, measured) in [("demo", 6.04), ("demo-http10", 48.9)] {
        let scenario = scenario(name, &[]);
        let load = through(&scenario, Architecture::Direct);
        println!("{name}: {load:#?}");
        assert!((load.last_byte.as_secs_f64() / measured - 1.0).abs() < 0.02, "{name}: {load:?}");
    }
}

#[test]
fn the_demo_is_twelve_round_trips() {
    let load = through(&scenario("demo", &[]), Architecture::Direct);
    let trips = load.round_trips;
    assert_eq!((trips.handshake, trips.request, trips.discovery, trips.slow_start), (1, 7, 0, 2));
    // The last large images are more than the server's send buffer takes.
    assert_eq!((trips.receive_window, trips.total()), (2, 12));
    assert!(adds_up(&load), "{load:?}");
}

#[test]
fn every_architecture_has_a_time_between_the_limit_and_direct() {
    for profile in ["tcp.profile=linux", "tcp.profile=rfc"] {
        let scenario = scenario("demo", &[profile, STEADY_HOSTS]);
        let direct = through(&scenario, Architecture::Direct).last_byte;
        for architecture in Architecture::ALL {
            let load = through(&scenario, *architecture);
            println!("{}: {:?} {:?} {:?}", architecture.word(), load.last_byte, load.breakdown, load.round_trips);
            assert!(adds_up(&load), "{load:?}");
            assert!(load.last_byte >= limit(&scenario), "{} is faster than light: {load:?}", architecture.word());
            // A proxy's first segment leaves before the rest is there: split takes 2.8 ms longer than direct, simulated too.
            let relaying = if *architecture == Architecture::Split { Duration::from_millis(3) } else { Duration::ZERO };
            // What programs of boxes take on Linux's hosts is the server's, who takes no time here; without boxes both ends' are awake at times.
            let ends = Duration::from_micros(if profile == "tcp.profile=linux" { 100 } else { 0 });
            let awake = ends * u32::try_from(load.round_trips.total()).expect("few");
            let most = direct + relaying + load.breakdown.server + awake;
            assert!(load.last_byte <= most, "{} is slower than direct: {load:?}", architecture.word());
            assert!(load.breakdown.server < Duration::from_millis(10), "{}: {load:?}", architecture.word());
        }
    }
}

#[test]
fn nothing_is_faster_than_the_slowest_part_of_the_path() {
    for slow in
        ["wan.rate=2 Mbit/s", "lan.rate=2 Mbit/s", "link.down.rate=2 Mbit/s", "wan.rate=1 kbit/s", "lan.rate=9 kbit/s"]
    {
        let scenario = scenario("demo", &[slow]);
        for architecture in Architecture::ALL {
            for prefetch in [PrefetchSide::Near, PrefetchSide::Far] {
                let settings = ProxySettings { side: prefetch, ..ProxySettings::of(&scenario) };
                let workload = Workload::of(&scenario.page).unwrap();
                let load = Recursion::new().load_through(&scenario, &workload, *architecture, &settings).unwrap();
                // The limit is of TCP's headers, 52 B with 1448; prefetch-2013's datagrams have 36 with 1414.
                let headers =
                    if *architecture == Architecture::Prefetch2013 { 1450.0 / 1414.0 * 1448.0 / 1500.0 } else { 1.0 };
                let least = limit(&scenario).mul_f64(headers);
                assert!(load.last_byte >= least, "{slow}, {}: {load:?}", architecture.word());
            }
        }
    }
}

#[test]
fn pushing_at_a_set_rate_costs_one_round_trip_and_the_transmission() {
    let scenario = scenario("demo", &[]);
    let load = through(&scenario, Architecture::Accelerated);
    assert_eq!((load.round_trips.total(), load.round_trips.request), (1, 1));
    let beyond = load.last_byte.as_secs_f64() / limit(&scenario).as_secs_f64() - 1.0;
    assert!((0.0..0.02).contains(&beyond), "{load:?}");
}

#[test]
fn a_prefetcher_beyond_a_long_wan_saves_its_round_trips() {
    let scenario = scenario("demo", &["wan.delay=100ms"]);
    let workload = Workload::of(&scenario.page).unwrap();
    let time = |side| {
        let settings = ProxySettings { side, ..ProxySettings::default() };
        Recursion::new().load_through(&scenario, &workload, Architecture::PrefetchConventional, &settings).unwrap()
    };
    assert!(time(PrefetchSide::Far).last_byte < time(PrefetchSide::Near).last_byte);
}

#[test]
fn handshakes_cost_their_round_trips() {
    let page = scenario("demo", &["page.objects=1", "page.size=5 kB"]);
    let plain = seconds(&page, |_| {});
    let tls13 = seconds(&page, |parameters| parameters.tls = Tls::Tls13);
    let tls12 = seconds(&page, |parameters| parameters.tls = Tls::Tls12);
    let quic = seconds(&page, |parameters| (parameters.tls, parameters.http) = (Tls::Tls13, Http::Http3));
    assert!((tls13 - plain - 0.5).abs() < 0.01, "{plain} {tls13}");
    assert!((tls12 - plain - 1.0).abs() < 0.01, "{plain} {tls12}");
    assert!((quic - plain).abs() < 0.01, "{plain} {quic}");
    let mut parameters = Parameters::of(&page);
    parameters.tls = Tls::Tls13;
    let load = load(&parameters, &Workload::of(&page.page).unwrap());
    assert!((load.breakdown.tls.as_secs_f64() - 0.5).abs() < 0.01 && adds_up(&load), "{load:?}");
    assert_eq!((load.round_trips.handshake, load.round_trips.tls, load.round_trips.request), (1, 1, 1));
}

/// Of 14.48 kB, the initial window, all but its last bytes come a round trip before the rest of a record of 16 KiB.
#[test]
fn what_a_record_holds_is_named_when_all_of_it_has_come() {
    let page = scenario("demo", &["page.objects=2", "page.size=20 kB", "http.version=2", STEADY_HOSTS]);
    let load = |record: u64| {
        let parameters = Parameters { tls_record: Bytes::new(record), ..Parameters::of(&page) };
        load(&parameters, &Workload::of(&page.page).unwrap())
    };
    let [short, window, long] = [1000, 14_400, 16_384].map(load);
    let more = [&window, &long].map(|load| (load.first_byte - short.first_byte).as_secs_f64());
    assert!((0.001..0.003).contains(&more[0]), "nine more segments: {more:?} s");
    assert!(adds_up(&long) && (more[1] - 0.5).abs() < 0.001, "{more:?} s");
    let later = long.last_byte.as_secs_f64() - short.last_byte.as_secs_f64();
    // The short ones meet an acknowledgement that waits for 40 ms.
    assert!((later - 0.46).abs() < 0.02, "{later} s");
}

#[test]
fn a_chain_of_names_costs_a_round_trip_each() {
    let small = Bytes::new(1000);
    let object = |named| WorkloadObject::new(small, named);
    let document = scenario("demo", &["http.connections=1"]);
    let time = |objects: &[WorkloadObject]| load(&Parameters::of(&document), &Workload::new(objects).unwrap());
    let flat = time(&[object(None), object(Some((0, small)))]);
    let chain = time(&[object(None), object(Some((0, small))), object(Some((1, small)))]);
    assert!((chain.last_byte - flat.last_byte).abs_diff(Duration::from_millis(500)) < Duration::from_millis(2));
    assert_eq!((flat.round_trips.discovery, chain.round_trips.discovery), (1, 2));
}

/// Headers that wait behind each other, or do not.
const MICROS: Duration = Duration::from_micros(50);
/// Programs that take as long after any pause, so that what is added is all that is added.
const STEADILY: Duration = Duration::from_micros(50);
const STEADY_HOSTS: &str = "tcp.host_times=after_ms,0,100\n0,11,11\nclient\n0,50,50\nopening\n0,50,50\nserver\n0,50,50";

/// A document that names so many objects with its last byte, all alike but for what `change` does to each.
fn flat(objects: usize, change: impl Fn(usize, &mut WorkloadObject)) -> Workload {
    let small = Bytes::new(1000);
    let object = |index: usize| {
        let mut object = WorkloadObject::new(small, (index > 0).then_some((0, small)));
        change(index, &mut object);
        object
    };
    Workload::new(&(0..=objects).map(object).collect::<Vec<_>>()).unwrap()
}

#[test]
fn hosts_have_names_to_resolve_and_connections_of_their_own() {
    let mut parameters = Parameters::of(&scenario("demo", &["http.connections=1", STEADY_HOSTS]));
    let one_host = load(&parameters, &flat(3, |_, _| {}));
    let workload = flat(3, |index, object| object.host = index);
    let own_hosts = load(&parameters, &workload);
    // One after the other on one connection takes three round trips; on three connections a handshake and one.
    let gained = one_host.last_byte.checked_sub(own_hosts.last_byte).unwrap();
    assert!(gained.abs_diff(Duration::from_millis(500)) < Duration::from_millis(5), "{gained:?}");
    parameters.lookup = Duration::from_millis(100);
    let resolved = load(&parameters, &workload);
    let resolving = resolved.last_byte - own_hosts.last_byte;
    // Names are asked for as they come, and what it takes to read them is over by the time that they are known.
    assert!(
        resolving.abs_diff(Duration::from_millis(200) - STEADILY) < MICROS,
        "the document's host, then another: {resolving:?}"
    );
    assert_eq!((resolved.breakdown.lookup, resolved.round_trips.lookup), (Duration::from_millis(200), 2));
    assert!(adds_up(&resolved), "{resolved:?}");
}

#[test]
fn a_name_is_resolved_once() {
    let mut parameters = Parameters::of(&scenario("demo", &["http.connections=6"]));
    let before = load(&parameters, &flat(5, |_, _| {}));
    parameters.lookup = Duration::from_millis(100);
    let after = load(&parameters, &flat(5, |_, _| {}));
    assert_eq!(after.last_byte - before.last_byte, Duration::from_millis(100));
}

#[test]
fn browsers_and_servers_that_think_cost_what_they_think() {
    let parameters = Parameters::of(&scenario("demo", &[STEADY_HOSTS]));
    let before = load(&parameters, &flat(1, |_, _| {}));
    let thinking = load(
        &parameters,
        &flat(1, |index, object| {
            if index == 1 {
                (object.think, object.delay) = (Duration::from_millis(30), Duration::from_millis(70));
            }
        }),
    );
    let thought = thinking.last_byte - before.last_byte;
    assert!(thought.abs_diff(Duration::from_millis(100)) < MICROS, "{thought:?}");
    assert_eq!(thinking.breakdown.server, Duration::from_millis(100));
    assert!(adds_up(&thinking), "{thinking:?}");
}

#[test]
fn what_comes_unasked_waits_until_the_browser_asks() {
    // On its hosts programs take no time, which would pass while the browser waits.
    let scenario = scenario("demo", &["tcp.profile=rfc"]);
    let time = |delays: [u64; 2]| {
        // A sheet, and a font that it names.
        let workload = flat(2, |index, object| {
            if let Some(delay) = index.checked_sub(1) {
                object.delay = Duration::from_millis(delays[delay]);
                object.named = Some((delay, Bytes::new(1000)));
            }
        });
        let settings = ProxySettings::default();
        Recursion::new().load_through(&scenario, &workload, Architecture::Accelerated, &settings).unwrap()
    };
    let at_once = time([0, 0]);
    for (delays, expected) in [([70, 0], 70), ([0, 50], 50), ([70, 50], 120)] {
        let load = time(delays);
        let later = load.last_byte - at_once.last_byte;
        assert!(later.abs_diff(Duration::from_millis(expected)) < Duration::from_millis(1), "{delays:?}: {later:?}");
        assert!(adds_up(&load), "{load:?}");
        assert_eq!(load.breakdown.server, Duration::from_millis(expected));
        assert_eq!(load.round_trips, at_once.round_trips);
    }
}

#[test]
fn streams_do_not_wait_for_servers_that_think_about_others() {
    let mut parameters = Parameters::of(&scenario("demo", &["http.version=2", "http.tls=none"]));
    let slow = flat(2, |index, object| object.think = Duration::from_millis(if index == 1 { 300 } else { 0 }));
    let end = |parameters: &Parameters| {
        let mut recursion = Recursion::new();
        recursion.load(parameters, &slow).unwrap();
        recursion.objects().nth(2).unwrap().end.unwrap()
    };
    let streams = end(&parameters);
    parameters.http = Http::Http11Pipelined;
    assert!(end(&parameters) > streams + Duration::from_millis(250), "in turn");
}

#[test]
fn connections_carry_a_hundred_streams_at_once_and_the_urgent_ones_first() {
    let parameters = Parameters::of(&scenario("demo", &["http.version=2", "http.tls=none"]));
    let workload = flat(150, |index, object| object.urgency = u8::from(index < 101));
    let mut recursion = Recursion::new();
    recursion.load(&parameters, &workload).unwrap();
    let requested: Vec<_> = recursion.objects().map(|object| object.requested.unwrap()).collect();
    let first = requested[150];
    assert_eq!(requested[1..].iter().filter(|at| **at == first).count(), 100);
    assert!(requested[101..].iter().all(|at| *at == first) && requested[100] > first);
}

#[test]
fn scenarios_say_what_names_keys_and_versions_cost() {
    let of = |assignments: &[&str]| {
        let page = ["page.objects=1", "page.size=5 kB", "lan.delay=5 ms", STEADY_HOSTS];
        let scenario = scenario("demo", &[&page, assignments].concat());
        load(&Parameters::of(&scenario), &Workload::of(&scenario.page).unwrap()).last_byte.as_secs_f64()
    };
    let plain = of(&[]);
    for (assignment, more) in [
        ("http.tls=1.2", 1.02),
        ("http.tls=1.3", 0.51),
        ("http.version=2", 0.51),
        ("http.version=3", 0.0),
        ("http.dns=near", 0.01),
        ("http.dns=far", 0.51),
    ] {
        let time = of(&[assignment]);
        assert!((time - plain - more).abs() < 0.002, "{assignment}: {time} s after {plain} s");
    }
}

#[test]
fn multiplexing_is_no_slower_than_asking_one_by_one() {
    let page = scenario("demo", &["http.connections=1"]);
    let one_by_one = seconds(&page, |_| {});
    let http2 = seconds(&page, |parameters| parameters.http = Http::Http2);
    let pipelined = seconds(&page, |parameters| parameters.http = Http::Http11Pipelined);
    assert!(http2 < one_by_one && pipelined < one_by_one, "{http2} {pipelined} {one_by_one}");
}

#[test]
fn servers_that_think_cost_what_they_think() {
    let page = scenario("demo", &["page.objects=1", "page.size=5 kB", STEADY_HOSTS]);
    let mut parameters = Parameters::of(&page);
    parameters.delays.response = Duration::from_millis(70);
    let load = load(&parameters, &Workload::of(&page.page).unwrap());
    assert_eq!(load.breakdown.server, Duration::from_millis(70));
    assert!((load.last_byte.as_secs_f64() - seconds(&page, |_| {}) - 0.07).abs() < 1e-4);
}

/// On Linux 10 MB over 100 Mbit/s take 5.82 s with CUBIC and 6.30 s with BBR.
#[test]
fn cubic_fills_a_link_that_loses_nothing_a_little_sooner_than_bbr() {
    let page = scenario("demo", &["page.objects=1", "page.size=100 MB", "link.down.rate=20 Mbit/s"]);
    let bbr = seconds(&page, |parameters| parameters.tcp.congestion = Congestion::Bbr);
    let cubic = seconds(&page, |_| {});
    println!("bbr {bbr} s, cubic {cubic} s");
    assert!(limit(&page).as_secs_f64() < cubic && cubic < bbr && bbr < 1.1 * cubic, "{bbr} {cubic}");
}

#[test]
fn what_goes_up_takes_as_long_as_what_comes_down_with_any_controller() {
    let link = ["link.down.rate=60 Mbit/s", "link.up.rate=60 Mbit/s", "link.down.delay=45 ms", "link.up.delay=45 ms"];
    for congestion in [Congestion::Reno, Congestion::Cubic, Congestion::Bbr] {
        let mut parameters = Parameters::of(&scenario("demo", &link));
        parameters.tcp.congestion = congestion;
        let (large, small) = (Bytes::new(2_000_000), Bytes::new(200));
        let upload = WorkloadObject { request: Some(large), ..WorkloadObject::new(small, None) };
        let time = |object| load(&parameters, &Workload::new(&[object]).unwrap()).last_byte.as_secs_f64();
        let (up, down) = (time(upload), time(WorkloadObject::new(large, None)));
        println!("{congestion:?}: {up} s up, {down} s down");
        assert!((up / down - 1.0).abs() < 0.01, "{congestion:?}: {up} s up, {down} s down");
    }
}

#[test]
fn a_terabyte_is_answered_at_once() {
    let workload = Workload::file(Bytes::new(1_000_000_000_000));
    for window in [None, Some(4096), Some(65_535), Some(1_000_001)] {
        for profile in [Profile::Linux, Profile::Rfc, Profile::Bsd1997] {
            let mut parameters = Parameters::of(&scenario("demo", &[]));
            parameters.tcp = TcpConfig { max_window: window.map(Bytes::new), ..TcpConfig::of(profile) };
            let load = load(&parameters, &workload);
            println!("{profile:?} {window:?}: {load:?}");
            assert!(load.last_byte > Duration::from_secs(80_000) && adds_up(&load), "{load:?}");
        }
    }
}

#[test]
fn six_terabytes_side_by_side_are_answered_too() {
    let size = Bytes::new(1_000_000_000_000);
    let objects: Vec<_> =
        (0..7).map(|index| WorkloadObject::new(size, (index > 0).then_some((0, Bytes::new(1000))))).collect();
    let load = load(&Parameters::of(&scenario("demo", &[])), &Workload::new(&objects).unwrap());
    let rate = 7.0 * size.bits_f64() / load.last_byte.as_secs_f64();
    // The seventh is alone in the end, held by the send buffer.
    assert!((0.7e8..1e8).contains(&rate), "{rate} {load:?}");
}

/// At a set rate all of a response leaves before any of it has arrived, and is not gone through packet by packet.
#[test]
fn gigabytes_side_by_side_cross_at_a_set_rate() {
    let scenario = scenario("demo", &["page.objects=3", "page.size=1 GB"]);
    for architecture in [Architecture::Rwbp, Architecture::Tunnel, Architecture::Accelerated] {
        let load = through(&scenario, architecture);
        let rate = 8.0 * 3e9 / load.last_byte.as_secs_f64();
        assert!(adds_up(&load) && (0.95e8..0.98e8).contains(&rate), "{architecture}: {rate} bit/s, {load:?}");
    }
}

#[test]
fn what_has_just_begun_is_not_taken_to_stay_as_slow() {
    // Twenty thousand small packets a round trip: many more than when the second response is asked for and begins.
    let mut parameters = Parameters::of(&scenario("demo", &["http.connections=2", "tcp.profile=rfc"]));
    (parameters.down[1].rate, parameters.up[1].rate) = (None, None);
    (parameters.tcp.mss, parameters.tcp.max_window) = (Bytes::new(100), Some(Bytes::new(2_000_000)));
    let size = Bytes::new(20_000_000_000);
    for named_at in (0..8).map(|at| Bytes::new(200_000_000 + at * 300_000)) {
        let objects = [WorkloadObject::new(size, None), WorkloadObject::new(size, Some((0, named_at)))];
        let load = load(&parameters, &Workload::new(&objects).unwrap());
        println!("{named_at:?}: {load:?}");
        assert!(adds_up(&load), "{load:?}");
        // 4 MB/s from the fiftieth second on.
        let seconds = load.last_byte.as_secs_f64();
        assert!((5050.0..5150.0).contains(&seconds), "{seconds} s: {load:?}");
    }
}

#[test]
fn a_terabyte_at_once_is_refused_before_it_fills_the_memory() {
    let mut parameters = Parameters::of(&scenario("demo", &[]));
    parameters.tcp = TcpConfig { initial_window: u32::MAX, mss: Bytes::new(1), ..TcpConfig::of(Profile::Rfc) };
    let workload = Workload::file(Bytes::new(1_000_000_000_000));
    assert_eq!(Recursion::new().load(&parameters, &workload), Err(RecursionError::TooLong));
}

#[test]
fn a_connection_that_idles_starts_slowly_again() {
    // RFC 5681 §4.1: the second response finds the initial window if the server thinks for longer than a timeout.
    let objects = [
        WorkloadObject::new(Bytes::new(500_000), None),
        WorkloadObject::new(Bytes::new(500_000), Some((0, Bytes::new(499_990)))),
    ];
    let workload = Workload::new(&objects).unwrap();
    let waits = |think| {
        let mut parameters = Parameters::of(&scenario("demo", &["http.connections=1", "tcp.profile=rfc"]));
        parameters.delays.response = Duration::from_secs(think);
        load(&parameters, &workload).round_trips.slow_start
    };
    let (short, long) = (waits(0), waits(10));
    assert!(long > short + 2, "{short} and {long} waits for acknowledgements");
}

#[test]
fn what_a_file_waits_for_is_told_apart() {
    let file = |assignments: &[&str]| {
        let all =
            [&["page.objects=1", "page.size=1 MB", "http.connections=1", "tcp.profile=rfc"], assignments].concat();
        through(&scenario("demo", &all), Architecture::Direct)
    };
    let start = file(&[]);
    assert!(start.breakdown.slow_start > start.last_byte / 2 && start.breakdown.receive_window.is_zero(), "{start:?}");
    let window = file(&["tcp.max_window=20 kB"]);
    assert!(window.breakdown.receive_window > window.last_byte / 2, "{window:?}");
    let slow = file(&["link.down.rate=100 kbit/s"]);
    assert!(slow.breakdown.transmission > slow.last_byte * 9 / 10, "{slow:?}");
    let narrow = file(&["link.up.rate=4 kbit/s"]);
    assert!(narrow.breakdown.queueing > narrow.last_byte / 4, "{narrow:?}");
}

#[test]
fn what_cannot_be_is_named() {
    let good = Parameters::of(&scenario("demo", &[]));
    let workload = Workload::file(Bytes::new(5000));
    let error = |change: &dyn Fn(&mut Parameters)| {
        let mut parameters = good.clone();
        change(&mut parameters);
        Recursion::new().load(&parameters, &workload).unwrap_err().to_string()
    };
    assert!(error(&|parameters| parameters.tcp.mss = Bytes::ZERO).contains("mss"));
    assert!(error(&|parameters| parameters.tcp.max_window = Some(Bytes::ZERO)).contains("max_window"));
    assert!(error(&|parameters| parameters.tcp.initial_window = 0).contains("initial_window"));
    assert!(error(&|parameters| parameters.request_bytes = Bytes::ZERO).contains("request_bytes"));
    assert!(error(&|parameters| parameters.tcp.mss = Bytes::new(1 << 40)).contains("mss"));
    assert_eq!(Workload::new(&[]), Err(RecursionError::NoObjects));
    let unknown = WorkloadObject::new(Bytes::new(1), Some((1, Bytes::ZERO)));
    let first = WorkloadObject::new(Bytes::new(1), None);
    assert_eq!(Workload::new(&[first, unknown]), Err(RecursionError::Reference { object: 1, by: 1 }));
}

#[test]
fn windows_below_a_segment_and_delays_of_twenty_minutes_have_answers() {
    let small = scenario("demo", &["page.objects=1", "page.size=5 kB"]);
    let narrow = seconds(&small, |parameters| parameters.tcp.max_window = Some(Bytes::new(100)));
    assert!(narrow > 20.0, "{narrow}");
    let mut parameters = Parameters::of(&small);
    parameters.up[1].delay = Duration::from_secs(1200);
    let load = load(&parameters, &Workload::of(&small.page).unwrap());
    assert!(load.last_byte > Duration::from_secs(2400) && load.late_acks > 0, "{load:?}");
}

/// What is asked for through shared connections goes on over another one when nothing of it was under way for long.
#[test]
fn what_a_page_waits_for_adds_up_where_responses_change_connections() {
    for (size, queue) in [("50 kB", "1 B"), ("120 kB", "1 B"), ("50 kB", "unlimited"), ("120 kB", "unlimited")] {
        let far = ["wan.delay=20 min", "page.objects=7", "run.architectures=multiplexed"].map(str::to_owned);
        let more = [format!("page.size={size}"), format!("link.down.queue={queue}")];
        let scenario = farhop_scenario::open("demo", &[&far[..], &more].concat()).unwrap();
        let prediction = farhop_model::predict(&scenario);
        let own = prediction.rows.iter().find(|row| row.method == "farhop").unwrap();
        let sum: f64 = own.breakdown.iter().map(|wait| wait.time_s).sum();
        assert!((sum / own.page_load_s - 1.0).abs() < 1e-6, "{size} {queue}: {sum} s of {} s", own.page_load_s);
    }
}
