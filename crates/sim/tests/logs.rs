//! A log's requests made again: what they take, what raises their load, and what the link cannot carry.

use farhop_results::{RequestTimes, Row};
use farhop_scenario::{Log, Scenario, open};
use farhop_sim::simulate;
use farhop_units::Bytes;
use farhop_web::logs::{LogRecord, Parameters, generate, generate_hosts};
use std::time::Duration;

/// The shipped network of nz-us-2000 with a log.
fn scenario(records: Vec<LogRecord>, assignments: &[&str]) -> Scenario {
    let takes_one =
        ["http.version=1.1-pipelined", "http.version=2"].iter().any(|version| assignments.contains(version));
    let connections = if takes_one { 1 } else { 256 };
    let usual = ["run.architectures=direct", &format!("http.connections={connections}")];
    let assignments: Vec<String> = usual.iter().chain(assignments).map(ToString::to_string).collect();
    let mut scenario = open("nz-us", &assignments).expect("the assignments are right");
    let shift = Duration::from_millis(130);
    let hosts = generate_hosts(&Parameters::default(), 1);
    scenario.log = Some(Log { records: records.into(), hosts, copies: 0, shift, server_time: 1.0, notes: Vec::new() });
    scenario
}

/// Ten minutes with fewer requests than the paper's.
fn some(assignments: &[&str]) -> Scenario {
    scenario(generate(&Parameters { requests: 150, ..Parameters::default() }, 1), assignments)
}

/// A record of a request of 300 B for 10 kB that took 1 s, so many milliseconds after the first.
fn record(ms: u64) -> LogRecord {
    let mut record = generate(&Parameters { requests: 1, ..Parameters::default() }, 1).remove(0);
    record.at = Duration::from_secs(1000) + Duration::from_millis(ms);
    (record.request_bytes, record.reply_bytes) = (Some(Bytes::new(300)), Bytes::kb(10));
    record.duration = Some(Duration::from_secs(1));
    record
}

fn row(scenario: &Scenario) -> Row {
    let mut simulation = simulate(scenario, 1);
    assert_eq!(simulation.gaps, []);
    simulation.rows.remove(0)
}

fn times(scenario: &Scenario) -> RequestTimes {
    row(scenario).log.expect("it has a log")
}

#[test]
fn a_request_takes_its_round_trips_and_the_servers_time() {
    let base = times(&scenario(vec![record(0)], &[])).sample_mean_s;
    // Two round trips of 0.38 s, and the reply within a second.
    assert!((1.5..2.3).contains(&base), "{base}");
    let proxied = times(&scenario(vec![record(0)], &["run.architectures=multiplexed"])).sample_mean_s;
    // One round trip and the reply within a second; the new connection's slow start holds back the last segments.
    assert!((1.38..base - 0.1).contains(&proxied), "{proxied} instead of {base}");
    let twice = vec![record(0), record(5000)];
    let kept = times(&scenario(twice.clone(), &["http.version=1.1", "http.persistence=15 s"])).sample_mean_s;
    // The second needs no handshake, but the ACK of its only segment in flight may be delayed.
    assert!(kept < base - 0.05, "{kept} instead of {base}");
    let gone = times(&scenario(twice, &["http.version=1.1", "http.persistence=2 s"])).sample_mean_s;
    assert!((gone - base).abs() < 1e-9, "it is closed by then: {gone}, {base}, {kept}");
}

/// Whatever is asked for, nothing but the same host's same port is asked over a connection that was there.
#[test]
fn ports_and_tunnels_have_connections_of_their_own() {
    let of = |ms: u64, method: &str, url: &str| LogRecord { method: method.into(), url: url.into(), ..record(ms) };
    let asked = |records: Vec<LogRecord>, architecture: &str| {
        let times = times(&scenario(records, &["http.version=1.1", &format!("run.architectures={architecture}")]));
        (times.sample_mean_s, times.peak_connections)
    };
    // What is between the boxes of the others was there before.
    for (architecture, is_new) in [("direct", true), ("split", true), ("multiplexed", false), ("tunnel", false)] {
        let alone = asked(vec![of(0, "GET", "http://a.example/")], architecture);
        let ports = vec![of(0, "GET", "http://a.example/"), of(10_000, "GET", "http://a.example:81/")];
        let tunnels = [0, 10_000, 20_000].map(|ms| of(ms, "CONNECT", "a.example:443")).to_vec();
        for (records, connections) in [(ports, 2), (tunnels, 1)] {
            let (mean, peak) = asked(records, architecture);
            assert_eq!(peak, connections, "{architecture}");
            assert!(!is_new || (mean - alone.0).abs() < 1e-6, "{architecture}: {mean} s, {} s alone", alone.0);
        }
    }
}

/// A server that releases a reply bit by bit releases the records that it lies in.
#[test]
fn replies_behind_keys_are_whole() {
    for version in ["http.version=1.0", "http.version=1.1", "http.version=2"] {
        let plain = times(&scenario(vec![record(0)], &[version, "http.connections=1", "http.tls=none"]));
        for size in ["http.tls_record=1 kB", "http.tls_record=16 KiB"] {
            let sealed = times(&scenario(vec![record(0)], &[version, "http.connections=1", "http.tls=1.3", size]));
            assert_eq!((sealed.answered, sealed.unanswered), (1, 0), "{version} {size}");
            let more = sealed.sample_mean_s - plain.sample_mean_s;
            assert!(more > 0.38, "keys take a round trip: {version} {size}, {more} s");
        }
    }
}

/// The limit is that of half of the sample's own replies, whatever copies there are and whatever page the scenario has.
#[test]
fn what_is_possible_follows_from_the_logs_replies() {
    let large = LogRecord { reply_bytes: Bytes::kb(1000), ..record(10_000) };
    let records = vec![record(0), record(5000), large];
    for more in [&[][..], &["page.objects=1", "page.size=50 MB"]] {
        let limit = row(&scenario(records.clone(), &[&["link.down.rate=1 Mbit/s"], more].concat())).limit_s;
        // 0.38 s, and 10 kB in seven packets of at most 1448 B with 52 B more each.
        let expected = 0.38 + (10_000.0 + 7.0 * 52.0) * 8.0 / 1e6;
        assert!((limit - expected).abs() < 0.002, "{limit} s instead of {expected} s");
    }
}

#[test]
fn servers_take_their_recorded_time_times_its_factor() {
    let with = |factor: f64| {
        let mut scenario = scenario(vec![record(0)], &["tcp.initial_window=10"]);
        scenario.log.as_mut().expect("it has a log").server_time = factor;
        times(&scenario).sample_mean_s
    };
    assert!((with(5.0) - with(4.0) - 1.0).abs() < 0.001, "{} and {}", with(5.0), with(4.0));
    assert!(with(0.0) < with(1.0));
}

#[test]
fn windows_and_segments_of_a_server_are_those_of_the_host_file() {
    let mean = |window: u32, mss: u32| {
        let mut scenario = scenario(vec![record(0)], &[]);
        let log = scenario.log.as_mut().expect("it has a log");
        let name = log.records[0].host().expect("it is a proxy's").into_owned();
        log.hosts = format!("0 {name} {window} {mss}").parse().expect("it is a host file");
        times(&scenario).sample_mean_s
    };
    let usual = mean(32_768, 1460);
    // Seven segments one by one take four round trips of 0.38 s more than in slow start, forty in slow start three more than seven.
    assert!(mean(1460, 1460) > usual + 1.0, "{} and {usual}", mean(1460, 1460));
    assert!(mean(32_768, 256) > usual + 0.5, "{} and {usual}", mean(32_768, 256));
}

#[test]
fn persistence_saves_time_and_costs_sessions() {
    let base = times(&some(&[]));
    let kept = times(&some(&["http.version=1.1", "http.persistence=15 s"]));
    assert!(kept.sample_mean_s < base.sample_mean_s);
    assert!(base.peak_connections < kept.peak_connections, "{base:?}, {kept:?}");
    assert_eq!([base, kept].map(|times| (times.sample_count, times.answered, times.unanswered)), [(150, 150, 0); 2]);
}

#[test]
fn copies_raise_the_load_and_leave_the_sample_as_it_is() {
    let mut raised = some(&[]);
    raised.log.as_mut().expect("it has a log").copies = 3;
    let (base, raised) = (times(&some(&[])), times(&raised));
    assert_eq!((raised.sample_count, raised.answered), (150, 600));
    assert!(raised.peak_connections > 2 * base.peak_connections, "{base:?}, {raised:?}");
    assert!(raised.down_used > base.down_used.map(|used| 3.0 * used));
    assert!((raised.sample_mean_s / base.sample_mean_s - 1.0).abs() < 0.05, "the link has room: {base:?}, {raised:?}");
}

#[test]
fn what_relays_hold_of_a_log_is_told() {
    let slow = |architecture: &str| {
        let architecture = format!("run.architectures={architecture}");
        some(&["link.down.rate=64 kbit/s", "wan.delay=20 ms", &architecture])
    };
    assert_eq!(times(&slow("direct")).peak_gateway_buffer_bytes, None);
    let held = times(&slow("split")).peak_gateway_buffer_bytes;
    assert!(held > Some(10_000), "{held:?}");
    let note = row(&slow("split")).note.expect("there is something to say");
    assert!(note.contains(" in relays at the gateway; "), "{note}");
}

#[test]
fn a_full_buffer_drops_and_everything_arrives_all_the_same() {
    let full = times(&some(&["link.down.rate=48 kbit/s", "link.down.queue=20 kB"]));
    assert!(full.dropped > 0 && full.down_used.is_some_and(|used| used > 0.5), "{full:?}");
    assert!(full.peak_queue_bytes <= 20_000 && full.peak_queue_bytes > 15_000, "{full:?}");
    assert_eq!((full.answered, full.unanswered), (150, 0));
}

#[test]
fn a_load_that_the_link_cannot_carry_is_said_and_ends() {
    let row = row(&some(&["link.down.rate=16 kbit/s", "link.down.queue=unlimited"]));
    let note = row.note.expect("there is something to say");
    assert!(note.contains("the link cannot carry what the log asks for"), "{note}");
    let times = row.log.expect("it has a log");
    assert!(times.unanswered < 75 && times.answered + times.unanswered == 150, "{times:?}");
}

/// The row's time is the median of all requests: whoever has no answer has waited longer than who has one.
#[test]
fn requests_without_an_answer_took_longer_than_all_others() {
    let mut records: Vec<LogRecord> = (0..10).map(|number| record(number * 5000)).collect();
    for record in &mut records[..4] {
        record.reply_bytes = Bytes::new(1 << 60);
    }
    let row = row(&scenario(records, &["link.down.rate=64 kbit/s", "tcp.max_window=4 kB"]));
    let times = row.log.expect("it has a log");
    assert_eq!((times.sample_count, times.unanswered), (6, 4));
    assert!(row.page_load_s > times.sample_p50_s && row.page_load_s < row.page_load_max_s, "{row:?}");
    let note = row.note.expect("there is something to say");
    assert!(note.contains("; 4 requests not answered within 3600 s of the last"), "{note}");
}

/// Half of the requests took longer than anybody waited.
#[test]
fn a_log_of_which_most_is_not_answered_has_no_median() {
    let simulation = simulate(&some(&["link.down.rate=1 kbit/s", "link.down.queue=unlimited"]), 1);
    assert_eq!(simulation.rows, []);
    let reason = &simulation.gaps[0].reason;
    let told = [
        " of the log's own 150 requests were answered within 3600 s of the last, so that half of them took longer than is known; link down \
         100 % used",
        "; the link cannot carry what the log asks for",
    ];
    assert!(told.iter().all(|told| reason.contains(told)), "{reason}");
}

/// One connection to each host cannot fill the link, and all the same the log asks for more than it has.
#[test]
fn a_load_above_the_links_rate_is_said_though_windows_leave_it_time() {
    let told = |rate: &str| {
        let mut scenario = some(&["http.version=2", "tcp.max_window=8 kB", rate]);
        scenario.log.as_mut().expect("it has a log").copies = 99;
        let row = row(&scenario);
        let used = row.log.and_then(|log| log.down_used).expect("its rate is limited");
        (used, row.note.expect("it has one").contains("the link cannot carry what the log asks for"))
    };
    let (used, is_told) = told("link.down.rate=2400 kbit/s");
    assert!(used < 0.9 && is_told, "{used}");
    let (used, is_told) = told("link.down.rate=3200 kbit/s");
    assert!(used < 0.9 && !is_told, "the link could carry it: {used}");
}

/// What a burst leaves for later is no overload, however short the log is.
#[test]
fn a_burst_that_ends_is_no_overload() {
    let burst = (0..20).map(|number| record(number * 10)).collect();
    let note = row(&scenario(burst, &["link.down.rate=256 kbit/s"])).note.expect("it has one");
    assert!(!note.contains("cannot carry"), "{note}");
}

/// A burst with which the link is busy for minutes is one, and so is a reply for which nobody waits that long. One download is none.
#[test]
fn a_burst_that_lasts_is_an_overload() {
    let told = |bytes: &[u64]| {
        let burst =
            (0..).zip(bytes).map(|(number, bytes)| LogRecord { reply_bytes: Bytes::new(*bytes), ..record(number) });
        let simulation = simulate(&scenario(burst.collect(), &["link.down.rate=1 Mbit/s"]), 1);
        let note = simulation.rows.iter().find_map(|row| row.note.clone());
        let told = note.or(simulation.gaps.first().map(|gap| gap.reason.clone())).expect("a row or a gap");
        told.contains("the link cannot carry what the log asks for")
    };
    // 10 MB take the link some 83 s.
    let large = 10_000_000;
    assert_eq!([&[large][..], &[1000, large, 1000], &[large / 2, large / 2]].map(told), [false; 3]);
    assert_eq!([&[large; 2][..], &[1000, large * 100], &[large / 10; 20]].map(told), [true; 3]);
}

/// A packet that crosses as the measured time begins was sent before, most of it.
#[test]
fn a_slow_link_beside_a_burst_is_not_used_more_than_fully() {
    let busy = ["link.down.rate=16 kbit/s", "link.up.rate=16 kbit/s", "multicast.rate=15 kbit/s"];
    let records = || (0..10).map(|number| record(number * 300)).collect();
    for architecture in ["run.architectures=direct", "run.architectures=multiplexed"] {
        let times = times(&scenario(records(), &[&busy[..], &[architecture]].concat()));
        let used = [times.down_used, times.up_used].map(|used| used.expect("rates are limited"));
        let twice =
            crate::times(&scenario(records(), &[&busy[..], &[architecture, "link.down.duplication=100 %"]].concat()));
        assert!(twice.down_used.is_some_and(|used| used > 0.9 && used <= 1.0), "{architecture}: {twice:?}");
        assert!(used[0] > 0.9 && used.iter().all(|used| *used <= 1.0), "{architecture}: {used:?}");
    }
}

#[test]
fn notes_tell_times_to_the_millisecond() {
    let mut raised = some(&[]);
    let log = raised.log.as_mut().expect("it has a log");
    (log.copies, log.shift) = (3, Duration::from_nanos(5_850_762_376));
    let note = row(&raised).note.expect("it has one");
    assert!(note.contains(" and 3 copies, 5.851 s apart; link down"), "{note}");
}

#[test]
fn a_full_way_up_is_told_as_well_as_one_down() {
    let row = row(&some(&["link.up.rate=3 kbit/s", "link.up.queue=unlimited"]));
    let times = row.log.expect("it has a log");
    assert!(times.up_used.is_some_and(|used| used > 0.95), "{times:?}");
    let note = row.note.expect("it has one");
    let waiting = [times.peak_queue_bytes, times.peak_queue_up_bytes].map(Bytes::new);
    assert!(note.contains(&format!(", {} waiting down and {} up; ", waiting[0], waiting[1])), "{note}");
    assert!(note.contains("the link cannot carry what the log asks for") && note.contains("up 100 % used"), "{note}");
}

/// The log's terminal is one of those that share the way up, and has no more of it than the scheme gives to one.
#[test]
fn a_full_share_of_the_way_up_is_told_too() {
    for (scheme, rate) in [
        ("tdma", "400 kbit/s"),
        ("aloha-periodic", "2 kbit/s"),
        ("slotted-aloha", "4 kbit/s"),
        ("cfdama", "3 kbit/s"),
        ("dama", "3 kbit/s"),
    ] {
        let (scheme, rate) = (format!("access.scheme={scheme}"), format!("link.up.rate={rate}"));
        let shared = [&scheme, &rate, "access.terminals=128", "link.up.queue=unlimited", "run.runs=1"];
        let simulation = simulate(&some(&shared), 1);
        let note = simulation.rows.iter().find_map(|row| row.note.as_deref());
        let told = note.or(simulation.gaps.first().map(|gap| gap.reason.as_str())).expect("a row or a gap");
        let used: u32 = told.split_once("up ").and_then(|(_, rest)| rest.split_once(" %")?.0.parse().ok()).expect(told);
        assert!((95..=100).contains(&used), "{scheme}: {told}");
        assert!(told.contains("the link cannot carry what the log asks for"), "{scheme}: {told}");
    }
}

#[test]
fn one_request_uses_no_share_of_a_time() {
    let note = row(&scenario(vec![record(0)], &[])).note.expect("it has one");
    assert!(note.contains("; 1 request; at most 1 connection"), "{note}");
    let note = row(&scenario(vec![record(0)], &["link.down.rate=unlimited"])).note.expect("it has one");
    assert!(note.contains("; link down unlimited; at most"), "{note}");
}

#[test]
fn what_is_random_is_repeated_and_the_same_seed_gives_the_same() {
    let lossy = some(&["link.down.loss=2 %", "run.runs=2"]);
    let found = row(&lossy);
    assert_eq!(found, row(&lossy));
    let times = found.log.expect("it has a log");
    assert_eq!((found.runs, times.sample_count), (2, 300));
    assert!(times.sample_mean_error_s.is_some_and(|error| error > 0.0));
}

#[test]
fn a_log_goes_through_every_architecture() {
    let scenario = some(&["run.architectures=direct,split,rwbp,multiplexed,tunnel", "tcp.mss=512"]);
    let simulation = simulate(&scenario, 1);
    assert_eq!(simulation.gaps, []);
    let times: Vec<_> = simulation.rows.iter().filter_map(|row| row.log).collect();
    assert_eq!(times.iter().map(|times| (times.answered, times.unanswered)).collect::<Vec<_>>(), [(150, 0); 5]);
    assert!(times[2].sample_mean_s < times[0].sample_mean_s, "RWBP has no slow start: {times:?}");
    assert!(times[3].sample_mean_s < times[0].sample_mean_s, "its connections are there: {times:?}");
}

#[test]
fn any_version_with_any_keys_is_answered_through_every_trunk() {
    for version in ["1.0", "1.1", "1.1-pipelined", "2"] {
        for keys in ["none", "1.2", "1.3"] {
            for architecture in ["rwbp", "multiplexed", "tunnel"] {
                let [version, keys] = [format!("http.version={version}"), format!("http.tls={keys}")];
                let through = |architecture: &str| {
                    let architecture = format!("run.architectures={architecture}");
                    let mut records: Vec<LogRecord> = (0..10).map(|number| record(number * 300)).collect();
                    // When all is over one is answered at once.
                    records.push(LogRecord { duration: None, ..record(15_000) });
                    times(&scenario(records, &[&version, &keys, &architecture]))
                };
                let (times, direct) = (through(architecture), through("direct"));
                let which = format!("{version}, {keys}, {architecture}");
                assert_eq!((times.answered, times.unanswered), (11, 0), "{which}");
                let [took, most] = [times.sample_p50_s, direct.sample_p50_s];
                // A round trip and the server's second at least.
                assert!((1.38..most).contains(&took), "{which}: {took} s, direct {most} s");
            }
        }
    }
}

#[test]
fn a_log_of_which_nothing_is_answered_has_no_row() {
    let simulation = simulate(&scenario(vec![record(0)], &["link.down.loss=100 %"]), 1);
    assert_eq!(simulation.rows, []);
    let reasons: Vec<&str> = simulation.gaps.iter().map(|gap| gap.reason.as_str()).collect();
    assert_eq!(reasons, ["none of the log's requests was answered within 3600 s of the last"]);
    let slow = simulate(&some(&["link.up.rate=1 bit/s"]), 1);
    let reason = &slow.gaps[0].reason;
    let told = "of the last; link down 0 % used, up 99 % used; the link cannot carry what the log asks for";
    assert!(slow.rows.is_empty() && reason.ends_with(told), "{reason}");
}

/// A request crosses the link once each way at least, for which an hour is short between planets.
#[test]
fn a_log_over_a_long_link_is_waited_for() {
    let far = ["link.up.delay=30 min", "link.down.delay=30 min", "tcp.profile=linux"];
    for architecture in ["direct", "multiplexed"] {
        let architecture = format!("run.architectures={architecture}");
        let times = times(&scenario(vec![record(0), record(900)], &[&far[..], &[&architecture]].concat()));
        assert_eq!((times.answered, times.unanswered), (2, 0), "{architecture}");
        assert!(times.sample_p50_s > 3600.0, "{architecture}: {times:?}");
    }
}

#[test]
fn one_absurd_reply_does_not_make_a_run_endless() {
    let mut records = vec![record(0), record(100)];
    records[1].reply_bytes = Bytes::new(1 << 60);
    let row = row(&scenario(records, &["link.down.rate=64 kbit/s", "tcp.max_window=4 kB"]));
    let times = row.log.expect("it has a log");
    assert_eq!((times.answered, times.unanswered), (1, 1));
    // Nobody waits as long as the link would take with it.
    let note = row.note.expect("there is something to say");
    assert!(note.contains("; 1 request not answered within 3600 s of the last") && note.contains("cannot"), "{note}");
}
