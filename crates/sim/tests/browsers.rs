//! Versions of HTTP, keys and names: what they cost, beside the model, and what they are for.

mod loads;
mod opening;

use farhop_model::recursion::{Parameters, Recursion, Workload};
use farhop_results::Row;
use farhop_scenario::{Object, Page, Reference, Scenario};
use farhop_sim::simulate;
use farhop_units::Bytes;
use opening::scenario;

fn row(scenario: &Scenario) -> Row {
    let mut simulation = simulate(scenario, 1);
    assert!(simulation.gaps.is_empty(), "{:?}", simulation.gaps);
    simulation.rows.remove(0)
}

/// Page load times of direct loads.
fn time(name: &str, assignments: &[&str]) -> f64 {
    row(&scenario(name, &[assignments, &["run.architectures=direct"]].concat())).page_load_s
}

/// An Initial packet takes ten seconds, so that it is repeated before the first has arrived, and what is due at the server then lies in the past.
#[test]
fn a_server_whose_timer_was_due_before_it_could_run_is_woken_again() {
    let slow = ["http.version=3", "link.up.rate=1 kbit/s", "tcp.initial_window=4", "page.objects=1"];
    let time = |size: &str| time("demo", &[&slow[..], &[size]].concat());
    let (four, five) = (time("page.size=4 kB"), time("page.size=5 kB"));
    assert!((80.0..90.0).contains(&four) && five > four && five < four + 20.0, "{four} s and {five} s");
}

/// Each object of HTTP/1.0 has a connection of its own, which is closed a round trip before the next request.
#[test]
fn who_closes_a_connection_has_answered_nobody() {
    let link = ["link.down.delay=30 ms", "link.up.delay=30 ms", "page.objects=3", "page.size=1 kB"];
    let time = |server: &str| {
        let hosts =
            format!("tcp.host_times=after_ms,0,100\n0,11,11\nclient\n0,50,50\nopening\n0,50,50\nserver\n{server}");
        time("demo", &[&link[..], &["http.version=1.0", "http.connections=1", &hosts]].concat())
    };
    let rested = time("0,0,0\n90,5000,5000") - time("0,0,0");
    assert!((rested - 0.015).abs() < 0.001, "three answers two round trips apart: {rested} s");
}

/// Every version with every handshake that it can have and every way to resolve names.
fn combinations() -> Vec<[String; 3]> {
    let mut all = Vec::new();
    for (version, keys) in [
        ("1.0", &["none", "1.2", "1.3"][..]),
        ("1.1", &["none", "1.2", "1.3"]),
        ("1.1-pipelined", &["none", "1.2", "1.3"]),
        ("2", &["none", "1.2", "1.3"]),
        ("3", &["1.3"]),
    ] {
        for tls in keys {
            for dns in ["none", "near", "far"] {
                all.push([format!("http.version={version}"), format!("http.tls={tls}"), format!("http.dns={dns}")]);
            }
        }
    }
    all
}

/// How far the model is from the simulator, and what the simulator says; nothing if timers run out though nothing is lost, which the
/// model does not know.
fn beside_the_model(name: &str, assignments: &[&str]) -> Option<(f64, f64)> {
    of_scenario(&scenario(name, &[assignments, &["run.architectures=direct"]].concat()))
}

fn of_scenario(scenario: &Scenario) -> Option<(f64, f64)> {
    let workload = Workload::of(&scenario.page).expect("a page");
    let load = Recursion::new().load(&Parameters::of(scenario), &workload).expect("it loads");
    let model = load.last_byte.as_secs_f64();
    let simulated = loads::beside(model, scenario);
    (load.late_acks == 0).then_some((model / simulated - 1.0, simulated))
}

/// What the model may be off from what seeds say. Its HTTP/3 is TCP with QUIC's sizes, pace, delays and room, but not its frames.
fn most(profile: &str, version: &str) -> f64 {
    match version.trim_start_matches("http.version=") {
        "3" => 0.01,
        _ if profile.ends_with("rfc") => 1e-5,
        "1.0" | "1.1" => loads::CLOSE,
        _ => 1e-3,
    }
}

/// Servers are behind one wan, as they are where a page is loaded over the emulated link.
#[test]
fn hosts_share_the_wan() {
    let settings = ["wan.rate=10 Mbit/s", "wan.queue=unlimited", "tcp.profile=rfc", "page.objects=3", "page.size=2 MB"];
    let mut scenario = scenario("demo", &[&settings[..], &["run.architectures=direct"]].concat());
    let one = row(&scenario);
    for (host, object) in (1..).zip(&mut scenario.page.objects[1..]) {
        object.host = host;
        scenario.page.hosts.push(format!("other-{host}.example").into());
    }
    let (error, several) = of_scenario(&scenario).expect("no timer runs out");
    assert!(error.abs() < 1e-5 && several > one.limit_s, "{several} s, model {error:+.6}, limit {} s", one.limit_s);
}

/// The first timeout is a second, which the round trip takes longer than: SYN and SYN-ACK are repeated needlessly, and nothing after them
/// (RFC 6298 §5, §5.7). Slow start from one segment, half as much again in each round trip, takes a dozen of them for 346 segments.
#[test]
fn a_round_trip_beyond_the_first_timeout_does_not_keep_timers_running_out() {
    for way in ["510 ms", "700 ms", "1400 ms"] {
        let delays = [format!("link.down.delay={way}"), format!("link.up.delay={way}")];
        let orbit = ["link.down.orbit=none", "link.up.orbit=none", "link.down.queue=unlimited"];
        let page = ["page.objects=1", "page.size=500 kB", "tcp.profile=rfc", &delays[0], &delays[1]];
        let scenario = scenario("demo", &[&page[..], &orbit[..], &["run.architectures=direct"]].concat());
        let workload = Workload::of(&scenario.page).expect("a page");
        let load = Recursion::new().load(&Parameters::of(&scenario), &workload).expect("it loads");
        let model = load.last_byte.as_secs_f64();
        let simulated = loads::beside(model, &scenario);
        let error = model / simulated - 1.0;
        let round_trip = 2e-3 * way.trim_end_matches(" ms").parse::<f64>().expect("a number");
        assert!(error.abs() < 1e-5, "{way}: {simulated} s, model {:+.4} %", 100.0 * error);
        assert!(simulated < 15.0 * round_trip, "{way}: {simulated} s");
    }
}

/// The queue of one bandwidth-delay product is too short for what six milliseconds bring. A timer of TCP's would make it ten times as long.
#[test]
fn what_http_3_loses_in_full_queues_is_missed_as_soon_as_predicted() {
    for size in ["30 kB", "45 kB", "60 kB", "90 kB"] {
        let size = format!("page.size={size}");
        let office = scenario("office", &["http.version=3", "page.objects=30", &size, "run.architectures=direct"]);
        let workload = Workload::of(&office.page).expect("a page");
        let load = Recursion::new().load(&Parameters::of(&office), &workload).expect("it loads");
        assert!(!load.breakdown.loss.is_zero(), "{size}: {load:?}");
        let off = load.last_byte.as_secs_f64() / row(&office).page_load_s - 1.0;
        println!("{size}: {:.2} % off", off * 100.0);
        assert!(off.abs() < 0.1, "{size}: {:.2} % off", off * 100.0);
    }
}

/// QUIC's receiver tells of room when a quarter of its window is free, so that a window lasts for less than one a round trip.
#[test]
fn what_http_3_waits_for_room_is_predicted() {
    for (window, page) in [
        ("tcp.max_window=20 kB", ["page.objects=3", "page.size=200 kB"]),
        ("tcp.max_window=64 kB", ["page.objects=1", "page.size=1 MB"]),
        ("tcp.max_window=100 kB", ["page.objects=40", "page.size=30 kB"]),
    ] {
        let settings = [&[window, "http.version=3"][..], &page].concat();
        let (error, simulated) = beside_the_model("demo", &settings).expect("nothing is late");
        println!("{settings:?}: {simulated:.6} s, model {:+.4} %", 100.0 * error);
        assert!(error.abs() < 0.005, "{settings:?}: {:.2} % off", 100.0 * error);
    }
}

/// RFC 9002 §7.7: what BBR spreads over time may leave ahead of its pace, by as much as the first window has.
#[test]
fn bursts_of_http_3_are_not_spread_by_bbr() {
    let quic = ["http.version=3", "tcp.congestion=bbr", "page.objects=1"];
    for size in ["page.size=14 kB", "page.size=20 kB"] {
        let (error, _) = beside_the_model("demo", &[&quic[..], &[size]].concat()).expect("nothing is late");
        assert!(error.abs() < 0.001, "{size}: {:.2} % off", 100.0 * error);
    }
}

/// A server's first flight waits for a small window, which the end of the handshake fills, too; the client's first answer is a full packet.
#[test]
fn the_handshake_of_http_3_takes_as_long_as_predicted() {
    for (assignments, bound) in [
        (&["tcp.initial_window=2", "page.objects=5", "page.size=5 kB"][..], 0.001),
        (&["tcp.initial_window=3", "page.objects=1", "page.size=100 kB", "link.up.rate=300 kbit/s"], 0.01),
        (&["page.objects=1", "page.size=2 kB", "link.up.rate=100 kbit/s"], 0.001),
    ] {
        let settings = [assignments, &["http.version=3"]].concat();
        let (error, simulated) = beside_the_model("demo", &settings).expect("nothing is late");
        println!("{settings:?}: {simulated:.6} s, model {:+.4} %", 100.0 * error);
        assert!(error.abs() < bound, "{settings:?}: {:.2} % off", 100.0 * error);
    }
    // RFC 9002 §7.2: no window is less than two packets.
    let [one, two] =
        ["1", "2"].map(|window| time("demo", &["http.version=3", &format!("tcp.initial_window={window}")]));
    assert!((one / two - 1.0).abs() < 1e-9, "{one} s, {two} s");
}

const PROFILES: [&str; 2] = ["tcp.profile=rfc", "tcp.profile=linux"];

#[test]
fn shipped_links_take_as_long_as_the_model_says() {
    for name in ["demo", "geo-consumer", "transpacific", "quic4sat-10-2", "quic4sat-50-0.5", "quic4sat-250-3"] {
        for congestion in ["tcp.congestion=cubic", "tcp.congestion=newreno"] {
            for version in ["http.version=1.1", "http.version=2", "http.version=3"] {
                for profile in PROFILES {
                    let settings = [profile, congestion, version, "http.tls=1.3", "http.dns=far"];
                    let Some((error, simulated)) = beside_the_model(name, &settings) else { continue };
                    println!("{name} {settings:?}: {simulated:.6} s, model {:+.4} %", 100.0 * error);
                    assert!(error.abs() < most(profile, version));
                }
            }
        }
    }
}

/// A page of several levels: sheets and scripts that name fonts, images and further scripts, images beside them.
fn deep_page() -> Page {
    let mut objects = vec![Object::new("index.html", "text/html", Bytes::kb(60))];
    let mut add = |kind: &str, media_type: &str, by: usize, end: u64, size: u64| {
        let reference = Some(Reference { object: by, offset: Bytes::ZERO, end: Bytes::new(end) });
        let name = format!("{kind}{}", objects.len());
        objects.push(Object { reference, ..Object::new(name, media_type, Bytes::new(size)) });
        objects.len() - 1
    };
    let sheet = add("s", "text/css", 0, 500, 30_000);
    let script = add("j", "text/javascript", 0, 700, 90_000);
    (0..12).for_each(|number| _ = add("i", "image/png", 0, 3000 + 4000 * number, 40_000));
    add("f", "font/woff2", sheet, 30_000, 25_000);
    let more = add("j", "text/javascript", script, 90_000, 40_000);
    (0..6).for_each(|_| _ = add("i", "image/jpeg", more, 40_000, 70_000));
    Page::new(objects, vec![Page::HOST.into()]).expect("a page")
}

#[test]
fn deep_pages_take_as_long_as_the_model_says() {
    for rate in ["link.down.rate=1 Mbit/s", "link.down.rate=10 Mbit/s", "link.down.rate=100 Mbit/s"] {
        for version in ["http.version=1.1", "http.version=2", "http.version=3"] {
            for profile in PROFILES {
                let settings = [profile, version, rate, "http.tls=1.3", "run.architectures=direct"];
                let mut scenario = scenario("demo", &settings);
                scenario.page = deep_page();
                let Some((error, simulated)) = of_scenario(&scenario) else { continue };
                println!("{settings:?}: {simulated:.6} s, model {:+.4} %", 100.0 * error);
                assert!(error.abs() < most(profile, version));
            }
        }
    }
}

#[test]
fn every_combination_takes_as_long_as_the_model_says() {
    for [version, tls, dns] in combinations() {
        for settings in [&["lan.delay=2 ms"][..], &["link.down.rate=2 Mbit/s", "wan.delay=20 ms"]] {
            for profile in PROFILES {
                let settings = [&[profile, &version, &tls, &dns], settings].concat();
                let Some((error, simulated)) = beside_the_model("demo", &settings) else { continue };
                println!("{settings:?}: {simulated:.6} s, model {:+.4} %", 100.0 * error);
                assert!(error.abs() < most(profile, &version));
            }
        }
    }
}

#[test]
fn records_of_all_sizes_take_as_long_as_the_model_says() {
    for record in ["64 B", "700 B", "1414 B", "4 KiB", "10 kB", "16 KiB"] {
        let record = format!("http.tls_record={record}");
        for version in ["http.version=1.0", "http.version=1.1", "http.version=1.1-pipelined", "http.version=2"] {
            for tls in ["http.tls=1.2", "http.tls=1.3"] {
                for profile in PROFILES {
                    let settings = [profile, version, tls, &record];
                    let Some((error, simulated)) = beside_the_model("demo", &settings) else { continue };
                    println!("{settings:?}: {simulated:.6} s, model {:+.4} %", 100.0 * error);
                    assert!(error.abs() < most(profile, version));
                }
            }
        }
    }
}

/// Ten segments are the initial window, 14.48 kB: the last byte of a record of 16 KiB comes a round trip after the first.
#[test]
fn a_record_longer_than_the_initial_window_is_read_a_round_trip_later() {
    for version in ["http.version=1.1", "http.version=2"] {
        let load = |record: &str| {
            let record = format!("http.tls_record={record}");
            let settings = [version, "http.tls=1.3", "page.objects=1", "page.size=30 kB", "run.architectures=direct"];
            row(&scenario("demo", &[&settings[..], &[&record]].concat()))
        };
        let [short, window, long] = ["1 kB", "14.4 kB", "16 KiB"].map(load);
        let first = |row: &Row| row.first_byte_s.expect("there is a first byte");
        let [more, none] = [first(&long) - first(&short), first(&window) - first(&short)];
        assert!((more / 0.5 - 1.0).abs() < 0.02 && (0.0..0.01).contains(&none), "{version}: {more} s, {none} s");
        assert!(
            (long.page_load_s / short.page_load_s - 1.0).abs() < 0.01,
            "{version}: the last byte is that of a record"
        );
    }
}

#[test]
fn names_and_keys_cost_their_round_trips() {
    // Linux's programs take another time with each seed.
    let page = ["http.connections=1", "tcp.profile=rfc"];
    let plain = time("demo", &page);
    let with = |assignment| time("demo", &[page[0], page[1], assignment]) - plain;
    for (assignment, round_trips) in
        [("http.dns=near", 0.0), ("http.dns=far", 1.0), ("http.tls=1.3", 1.0), ("http.tls=1.2", 2.0)]
    {
        let more = with(assignment);
        println!("{assignment}: {more} s");
        assert!((more / 0.5 - round_trips).abs() < 0.01, "{assignment}: {more} s");
    }
}

#[test]
fn a_lost_question_is_asked_again_after_five_seconds() {
    // The outage is where the question arrives, and over when anything else does.
    let outage = ["link.up.outages=at windows=200ms+100ms", "http.dns=far"];
    let more = time("demo", &outage) - time("demo", &["http.dns=far"]);
    assert!((more - 5.0).abs() < 0.01, "{more} s");
}

/// The mean time of a page with a long chain of scripts, which an image of 400 kB comes beside, in so many loads.
fn chain_beside_an_image(version: &str, loss: &str, runs: u32) -> f64 {
    let assignments = [
        &format!("http.version={version}"),
        &format!("link.down.loss={loss}"),
        &format!("run.runs={runs}"),
        "run.architectures=direct",
        "http.tls=1.3",
        "tcp.congestion=newreno",
        "link.down.delay=50 ms",
        "link.up.delay=50 ms",
    ];
    let mut scenario = scenario("demo", &assignments);
    let named = |name: String, media_type: &str, by: usize, size: u64| {
        let reference = Some(Reference { object: by, offset: Bytes::ZERO, end: Bytes::new(500) });
        Object { reference, ..Object::new(name, media_type, Bytes::new(size)) }
    };
    let mut objects = vec![Object::new("index.html", "text/html", Bytes::kb(1))];
    objects.push(named("image.png".to_owned(), "image/png", 0, 400_000));
    objects.push(named("s2.js".to_owned(), "text/javascript", 0, 500));
    objects.extend((3..40).map(|number| named(format!("s{number}.js"), "text/javascript", number - 1, 500)));
    scenario.page = Page::new(objects, vec![Page::HOST.into()]).expect("a page");
    let loads = simulate(&scenario, 1).loads;
    loads.iter().map(|load| load.page_load_s).sum::<f64>() / f64::from(u32::try_from(loads.len()).expect("few"))
}

#[test]
fn streams_of_http_3_do_not_wait_for_each_other() {
    // Without loss one load tells all.
    let [before, after] = ["0 %", "1 %"].map(|loss| ["2", "3"].map(|version| chain_beside_an_image(version, loss, 40)));
    println!("HTTP/2 and 3 without loss {before:?} s, with 1 % {after:?} s");
    let [two, three] = [after[0] - before[0], after[1] - before[1]];
    assert!(after[1] < after[0] - 0.1, "{after:?}");
    assert!(three < 0.7 * two, "losses cost HTTP/2 {two} s, HTTP/3 {three} s");
}

#[test]
fn proxies_that_split_connections_pass_quic_on() {
    let through = |architecture: &str| {
        let settings =
            [&format!("run.architectures={architecture}"), "http.version=3", "http.dns=far", "wan.delay=20 ms"];
        row(&scenario("demo", &settings))
    };
    let [direct, split, rwbp] = ["direct", "split", "rwbp"].map(through);
    assert_eq!((split.page_load_s, rwbp.page_load_s), (direct.page_load_s, direct.page_load_s));
    let note = split.note.expect("there is a note");
    assert!(note.contains("QUIC CUBIC from end to end: proxies cannot split it"), "{note}");
}

#[test]
fn keys_are_agreed_on_through_proxies() {
    for version in ["1.0", "1.1", "2"] {
        for architecture in ["split", "rwbp"] {
            let load = |tls: &str| {
                let settings = [
                    &format!("run.architectures={architecture}"),
                    &format!("http.version={version}"),
                    &format!("http.tls={tls}"),
                    "http.tls_record=1 kB",
                    "http.connections=1",
                ];
                row(&scenario("demo", &settings)).first_byte_s.expect("there is a first byte")
            };
            let more = load("1.3") - load("none");
            assert!((0.5..0.55).contains(&more), "HTTP/{version}, {architecture}: {more} s");
        }
    }
}

#[test]
fn bbr_is_the_same_over_quic() {
    let time = |version: &str, congestion: &str, loss: &str| {
        let size = ["page.objects=1", "page.size=10 MB", "link.down.rate=20 Mbit/s", "link.down.queue=5 MB"];
        let how = [&format!("http.version={version}"), &format!("tcp.congestion={congestion}"), loss];
        time("demo", &[&size[..], &how, &["tcp.profile=rfc", "tcp.max_window=unlimited", "run.runs=5"]].concat())
    };
    let [tcp, quic] = ["1.1", "3"].map(|version| time(version, "bbr", "link.down.loss=0 %"));
    // Acknowledgements come at other times.
    assert!((quic / tcp - 1.0).abs() < 0.1, "{quic} s over QUIC, {tcp} s over TCP");
    let [bbr, cubic] = ["bbr", "cubic"].map(|congestion| time("3", congestion, "link.down.loss=1 %"));
    assert!(bbr < 1.5 * quic && cubic > 3.0 * quic, "{bbr} s with BBR, {cubic} s with CUBIC; {quic} s without loss");
}

#[test]
fn users_load_pages_over_every_version() {
    let usual = [
        "users.model=zhou-2004",
        "users.duration=5 min",
        "users.warm_up=30 s",
        "run.runs=1",
        "access.terminals=8",
        "run.architectures=direct,split",
        "http.persistence=5 s",
        "link.down.loss=0.5 %",
        "http.dns=far",
    ];
    for more in
        [["http.version=1.1", "http.tls=1.2"], ["http.version=2", "http.tls=1.3"], ["http.version=3", "http.tls=1.3"]]
    {
        let scenario = scenario("rwbp-128", &[&usual[..], &more].concat());
        let simulation = simulate(&scenario, 3);
        assert_eq!(simulation, simulate(&scenario, 3), "{more:?}");
        for row in &simulation.rows {
            let users = row.users.expect("users have times");
            assert!(users.count > 50 && users.unfinished < 9, "{more:?}: {users:?}");
        }
        assert_eq!(simulation.rows.len(), 2, "{:?}", simulation.gaps);
    }
}

#[test]
fn a_script_overtakes_the_image_that_was_asked_for_before_it() {
    for version in ["1.1-pipelined", "2", "3"] {
        let settings =
            [&format!("http.version={version}"), "http.tls=1.3", "link.down.rate=2 Mbit/s", "run.architectures=direct"];
        let mut scenario = scenario("demo", &settings);
        let named = |name: &str, media_type: &str, end: u64, size: u64| {
            let reference = Some(Reference { object: 0, offset: Bytes::ZERO, end: Bytes::new(end) });
            Object { reference, ..Object::new(name, media_type, Bytes::new(size)) }
        };
        let document = Object::new("index.html", "text/html", Bytes::kb(20));
        let others = [
            named("first.png", "image/png", 500, 300_000),
            named("second.png", "image/png", 600, 300_000),
            named("a.js", "text/javascript", 20_000, 100_000),
        ];
        let objects = [document].into_iter().chain(others).collect();
        scenario.page = Page::new(objects, vec![Page::HOST.into()]).expect("a page");
        let load = simulate(&scenario, 1).loads.remove(0);
        let end = |name: &str| load.objects.iter().find(|object| object.name == name).expect("it is there").end_s;
        let [first, second, script] = ["first.png", "second.png", "a.js"].map(end);
        if version == "1.1-pipelined" {
            assert!(first + 1.0 < second && second < script, "{first} s, {second} s, {script} s");
        } else {
            // With equal shares 400 kB would come after the script, 1.6 s.
            assert!(script + 2.0 < first.min(second), "HTTP/{version}: {script} s, {first} s, {second} s");
            assert!((first - second).abs() < 0.1, "images take turns over HTTP/{version}: {first} s, {second} s");
        }
    }
}

const KEPT: &str = r#"
version = 1
title = "a file, small ones, and another over the same connection"
[link.down]
rate = "20 Mbit/s"
delay = "300 ms"
queue = "2 MB"
[link.up]
rate = "20 Mbit/s"
delay = "300 ms"
queue = "2 MB"
[page]
table = """
name,type,bytes,offset_of_reference_in_html
index.html,text/html,120000,0
a.png,image/png,14000,100
b.png,image/png,14000,200
c.png,image/png,14000,300
d.png,image/png,14000,400
e.png,image/png,14000,500
f.png,image/png,14000,600
g.png,image/png,90000,700
"""
[http]
version = "1.1"
connections = 1
[run]
architectures = ["direct"]
"#;

/// Linux took 7.2865 to 7.2875 s (eight loads, CUBIC and Reno). Were the window to decay to what the small files use, it would be 8.45 s.
#[test]
fn small_files_over_the_same_connection_do_not_cost_the_window() {
    for congestion in ["cubic", "reno"] {
        let assignments = [format!("tcp.congestion={congestion}")];
        let scenario = farhop_scenario::parse("kept", KEPT, &assignments).expect("a scenario");
        let (error, simulated) = of_scenario(&scenario).expect("no timer runs out");
        assert!(
            error.abs() < 1e-3 && (7.28..7.295).contains(&simulated),
            "{congestion}: {simulated} s, model {error:+}"
        );
    }
}
