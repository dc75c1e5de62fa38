//! Scenario files as users write them: shipped ones, wrong ones, and the way back to text.

use farhop_results::Architecture;
use farhop_scenario::{ByteCounting, Dns, QueueLimit, Scenario, ScenarioError, Tls, open, parse, shipped};
use farhop_units::{Bytes, Rate};
use proptest::prelude::*;
use std::time::Duration;

const PAGE: &str = "[page]\nobjects = 2\nsize = \"5 kB\"\n";

fn error(body: &str) -> String {
    parse("net", &format!("version = 1\n{body}"), &[]).expect_err("the file is wrong").to_string()
}

#[test]
fn shipped_scenarios_resolve_and_have_titles() {
    for known in shipped::all() {
        let scenario = open(known.name, &[]).unwrap_or_else(|error| panic!("{}: {error}", known.name));
        assert!(!scenario.title.is_empty(), "{}", known.name);
    }
}

#[test]
fn demo_is_the_page_of_the_2013_test() {
    let demo = open("demo", &[]).unwrap();
    assert_eq!(demo.page.objects.len(), 28);
    assert_eq!(demo.page.total_bytes(), Bytes::new(1_849_285));
    let of_type = |media: &str| demo.page.objects.iter().filter(|object| object.media_type == media).count();
    assert_eq!(
        [of_type("text/html"), of_type("image/gif"), of_type("image/jpeg"), of_type("image/png")],
        [1, 10, 4, 13]
    );
    assert_eq!(demo.link.rtt(), Duration::from_millis(500));
    assert_eq!(demo.link.down.rate, Some(Rate::mbps(100)));
    let http10 = open("demo-http10", &[]).unwrap();
    assert_eq!((http10.page, http10.link), (demo.page, demo.link));
}

#[test]
fn resolved_scenarios_read_back() {
    for known in shipped::all() {
        let mut scenario = open(known.name, &[]).unwrap();
        let read = parse(known.name, &scenario.to_toml(), &[]).unwrap();
        // What was said of the log's file is a comment there.
        scenario.log.iter_mut().for_each(|log| log.notes.clear());
        assert_eq!(read, scenario);
    }
}

#[test]
fn extremes_read_back_too() {
    for assignments in [
        &["wan.queue=5 kB"][..],
        &["link.down.loss=1e-300", "lan.delay=24 h", "lan.loss=100 %"],
        &["page.objects=100000", "page.size=1000 GB", "tcp.max_window=1 GiB"],
        &["tcp.host_times=after_ms,0,33.3,100\n0,0,0.001,1000000\n0.000001,5,5,5"],
        &["http.version=3", "http.dns=near", "http.persistence=24 h"],
        &["http.version=2", "http.tls=1.2", "http.persistence=1 ns", "prefetch.at=gateway"],
        &[
            "link.up.rate=18446744073709551615 bit/s",
            "link.up.queue=18446744073709551615 B",
            "run.seed=9223372036854775807",
        ],
    ] {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        let scenario = open("demo", &assignments).unwrap_or_else(|error| panic!("{assignments:?}: {error}"));
        assert_eq!(parse("demo", &scenario.to_toml(), &[]).unwrap(), scenario);
    }
}

#[test]
fn a_list_on_the_command_line_is_written_with_commas_or_as_in_a_file() {
    let with = |value: &str| open("demo", &[format!("run.architectures={value}")]);
    for value in ["direct,split", "direct, split", r#"["direct", "split"]"#, " [ 'direct','split', ] "] {
        let architectures = with(value).unwrap_or_else(|error| panic!("{value}: {error}")).run.architectures;
        assert_eq!(architectures, [Architecture::Direct, Architecture::Split], "{value}");
    }
    let refused = |value: &str| with(value).expect_err(value).to_string();
    insta::assert_snapshot!(refused("[direct, split]"), @r#"
    --set: run.architectures = "[direct, split]": unknown word; did you mean direct?
      accepted: "direct", "split", "multiplexed", "rwbp", "prefetch-conventional", "prefetch-2013", "tunnel", "accelerated"
    "#);
    insta::assert_snapshot!(refused("[\"direct\", [\"split\"]]"), @r#"
    --set: run.architectures: a nested list
      accepted: a list, e.g. ["a", "b"]
    "#);
    insta::assert_snapshot!(refused("[]"), @r#"
    --set: run.architectures = []: no architecture
      accepted: at least one architecture, each once, e.g. ["direct", "accelerated"]
    "#);
}

#[test]
fn values_that_could_not_be_run_are_refused() {
    let refused = |assignment: &str| open("demo", &[assignment.to_owned()]).expect_err(assignment).to_string();
    insta::assert_snapshot!(refused("tcp.max_window=2 GiB"), @r#"
    --set: tcp.max_window = "2 GiB": more than TCP can advertise
      accepted: a size of at least one segment and at most 1 GiB, e.g. "64 KiB", or "unlimited"
    "#);
    insta::assert_snapshot!(refused("run.architectures=direct,tunnel,direct"), @r#"
    --set: run.architectures = "direct,tunnel,direct": "direct" is there twice
      accepted: at least one architecture, each once, e.g. ["direct", "accelerated"]
    "#);
    insta::assert_snapshot!(refused("run.precision=2"), @r#"
    --set: run.precision = "2": "2" is outside 0 to 1
      accepted: a number from 0 to 1, or a percentage such as "0.1 %"
    "#);
    insta::assert_snapshot!(error(&format!("{PAGE}[users]\nmodel = \"zhou-2004\"\n[run]\nprecision = \"1 %\"\n")), @r#"
    net.toml:8: run.precision = "1 %": users have a precision of their own
      accepted: users.precision
    "#);
    insta::assert_snapshot!(error(&format!("{PAGE}[run]\narchitectures = []\n")), @r#"
    net.toml:6: run.architectures = []: no architecture
      accepted: at least one architecture, each once, e.g. ["direct", "accelerated"]
    "#);
    let larger = open("demo", &["page.objects=1".to_owned(), "page.size=1001 GB".to_owned()]).expect_err("too large");
    insta::assert_snapshot!(larger, @r#"
    --set: page.size = "1001 GB": an object of 1.001 TB; at most 1 TB
      accepted: a page whose first object is an HTML document large enough to name the others
    "#);
}

#[test]
fn how_well_a_mean_is_to_be_known_is_zero_if_nothing_is_said() {
    let read = |assignments: &[&str]| {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        open("demo", &assignments).expect("the assignments are right")
    };
    let known = ["", "run.precision=2 %", "run.precision=0"].map(|set| {
        let scenario = read(&if set.is_empty() { vec![] } else { vec![set] });
        assert_eq!(parse("demo", &scenario.to_toml(), &[]).unwrap(), scenario);
        scenario.run.precision.to_string()
    });
    assert_eq!(known, ["0 %", "2 %", "0 %"]);
}

#[test]
fn users_are_read_and_bring_a_page_with_them() {
    let read = |assignments: &[&str]| {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        let text = "version = 1\n[access]\nterminals = 128\n[users]\nmodel = \"zhou-2004, sizes = fixed\"\n";
        parse("net", text, &assignments).map_err(|error| error.to_string())
    };
    let scenario = read(&["users.per_terminal=3", "users.warm_up=0 s"]).unwrap();
    let users = scenario.users.clone().unwrap();
    let precision = |set: &[&str]| read(set).unwrap().users.unwrap().precision.to_string();
    assert_eq!(
        [precision(&[]), precision(&["users.precision=1 %"]), precision(&["users.precision=0"])],
        ["5 %", "1 %", "0 %"]
    );
    assert_eq!((users.per_terminal, users.duration, users.warm_up), (3, Duration::from_secs(3600), Duration::ZERO));
    assert_eq!(
        (users.model.to_string(), &scenario.page),
        ("zhou-2004, sizes = fixed".to_owned(), &users.model.typical_page())
    );
    assert_eq!(parse("net", &scenario.to_toml(), &[]).unwrap(), scenario);
    let with_page = read(&["page.objects=2", "page.size=5 kB"]).unwrap();
    assert_eq!((with_page.page.objects.len(), with_page.users.is_some()), (2, true));
    assert_eq!(parse("net", &with_page.to_toml(), &[]).unwrap(), with_page);
    insta::assert_snapshot!(read(&["users.per_terminal=0"]).unwrap_err(), @r#"
    --set: users.per_terminal = "0": out of range
      accepted: a whole number from 1 to 1000000
    "#);
    insta::assert_snapshot!(read(&["users.per_terminal=1000000"]).unwrap_err(), @r#"
    --set: users.per_terminal = "1000000": 128000000 users at 128 terminals
      accepted: at most 1000000 in all
    "#);
    insta::assert_snapshot!(read(&["users.warm_up=1 h"]).unwrap_err(), @r#"
    --set: users.warm_up = "1 h": not below users.duration, which is 3600 s
      accepted: a part of users.duration, or 0 s
    "#);
    insta::assert_snapshot!(read(&["users.precision=-1 %"]).unwrap_err(), @r#"
    --set: users.precision = "-1 %": "-1 %" is outside 0 to 1
      accepted: a number from 0 to 1, or a percentage such as "0.1 %"
    "#);
    insta::assert_snapshot!(error(&format!("{PAGE}[users]\nprecision = 0.01\n")), @r#"
    net.toml: users.model: missing
      accepted: who the users are, e.g. "zhou-2004"
    "#);
    insta::assert_snapshot!(error(&format!("{PAGE}[users]\nduration = \"1 h\"\n")), @r#"
    net.toml: users.model: missing
      accepted: who the users are, e.g. "zhou-2004"
    "#);
}

#[test]
fn what_is_mistyped_is_told_before_what_is_missing() {
    insta::assert_snapshot!(error("[user]\nmodel = \"zhou-2004\"\n"), @r#"
    net.toml:2: user: unknown key; did you mean users?
      accepted: access, http, lan, link, log, multicast, multiplexed, page, prefetch, run, rwbp, tcp, title, users, version, wan
    "#);
    insta::assert_snapshot!(error("[users]\nmodle = \"zhou-2004\"\nduration = \"1 h\"\n"), @r#"
    net.toml:3: users.modle = "zhou-2004": unknown key; did you mean users.model?
      accepted: duration, model, per_terminal, precision, warm_up
    "#);
    insta::assert_snapshot!(error("users = \"3gpp\"\n"), @r#"
    net.toml:2: users = "3gpp": a table has no value of its own
      accepted: its keys duration, model, per_terminal, precision, warm_up
    "#);
    insta::assert_snapshot!(error("[Log]\nfile = \"a.log\"\n"), @r#"
    net.toml:2: Log: unknown key; did you mean log?
      accepted: access, http, lan, link, log, multicast, multiplexed, page, prefetch, run, rwbp, tcp, title, users, version, wan
    "#);
    insta::assert_snapshot!(error("[page]\nobject = 3\nsize = \"5 kB\"\n"), @r#"
    net.toml:3: page.object = "3": unknown key; did you mean page.objects?
      accepted: har, har_page, objects, size, sizes, table
    "#);
    insta::assert_snapshot!(error("[multicast]\nrat = \"1 Mbit/s\"\npacket = \"1 kB\"\n"), @r#"
    net.toml:3: multicast.rat = "1 Mbit/s": unknown key; did you mean multicast.rate?
      accepted: packet, rate
    "#);
    insta::assert_snapshot!(error("[http]\nversion = \"4\"\n"), @r#"
    net.toml:3: http.version = "4": unknown word
      accepted: "1.0", "1.1", "1.1-pipelined", "2", "3"
    "#);
    insta::assert_snapshot!(error("[users]\n"), @r#"
    net.toml: users.model: missing
      accepted: who the users are, e.g. "zhou-2004"
    "#);
}

#[test]
fn what_counts_of_an_acknowledgement_is_the_profiles_or_a_number_of_segments() {
    let read = |assignments: &[&str]| {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        let scenario = open("demo", &assignments).map_err(|error| error.to_string())?;
        assert_eq!(parse("demo", &scenario.to_toml(), &[]).unwrap().tcp, scenario.tcp);
        Ok::<_, String>(scenario.tcp.byte_counting)
    };
    let given = |value: &str| read(&[&format!("tcp.byte_counting={value}")]);
    assert_eq!(read(&[]), Ok(ByteCounting::Unlimited));
    assert_eq!(read(&["tcp.profile=rfc"]), Ok(ByteCounting::Packets));
    assert_eq!(read(&["tcp.profile=bsd-1997", "tcp.byte_counting=2"]), Ok(ByteCounting::Segments(2)));
    assert_eq!((given("packets"), given("unlimited")), (Ok(ByteCounting::Packets), Ok(ByteCounting::Unlimited)));
    for refused in ["0", "1001", "1.5", "bytes"] {
        let error = given(refused).unwrap_err();
        let accepted = "\"packets\", a whole number of segments from 1 to 1000, e.g. 2, or \"unlimited\"";
        assert!(error.contains(&format!("tcp.byte_counting = \"{refused}\"")) && error.contains(accepted), "{error}");
    }
}

#[test]
fn absent_queues_hold_a_bandwidth_delay_product() {
    let text = format!("version = 1\n[link.down]\nrate = \"10 Mbit/s\"\ndelay = \"600 ms\"\n{PAGE}");
    let scenario = parse("net", &text, &[]).unwrap();
    assert_eq!(scenario.link.down.queue, QueueLimit::Bytes(Bytes::kb(750)));
    assert_eq!(scenario.link.up.queue, QueueLimit::Unlimited, "an unlimited rate never queues");
    let unlimited = parse("net", &text, &["link.down.queue=unlimited".to_owned()]).unwrap();
    assert_eq!(unlimited.link.down.queue, QueueLimit::Unlimited);
}

#[test]
fn assignments_win_over_the_file() {
    let scenario = open("demo", &["link.down.delay=300ms".to_owned(), "run.architectures=direct".to_owned()]).unwrap();
    assert_eq!(scenario.link.down.delay, Duration::from_millis(300));
    assert_eq!(scenario.run.architectures.len(), 1);
}

#[test]
fn a_page_of_the_command_line_replaces_the_files() {
    let equal = open("demo", &["page.objects=3".to_owned(), "page.size=5kB".to_owned()]).unwrap();
    assert_eq!((equal.page.objects.len(), equal.page.total_bytes()), (3, Bytes::kb(15)));
    let larger = open("obata-2002", &["page.size=10kB".to_owned()]).unwrap();
    assert_eq!(larger.page.total_bytes(), Bytes::kb(200), "the file's page.objects stays");
    let listed = open("obata-2002", &["page.sizes=pages/page-2013.csv".to_owned()]).unwrap();
    assert_eq!(listed.page.objects.len(), 28);
}

#[test]
fn versions_of_http_bring_their_tls_and_connections() {
    let http = |assignments: &[&str]| {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        open("demo", &assignments).unwrap_or_else(|error| panic!("{assignments:?}: {error}")).http
    };
    for (version, tls, connections) in
        [("1.0", Tls::None, 6), ("1.1-pipelined", Tls::None, 1), ("2", Tls::V13, 1), ("3", Tls::V13, 1)]
    {
        let http = http(&[&format!("http.version={version}")]);
        assert_eq!((http.tls, http.connections), (tls, connections), "{version}");
    }
    let cleartext = http(&["http.version=2", "http.tls=none", "http.dns=far", "http.persistence=15 s"]);
    assert_eq!((cleartext.tls, cleartext.dns), (Tls::None, Dns::Far));
    assert_eq!(cleartext.persistence, Some(Duration::from_secs(15)));
    let record = |assignments| http(assignments).tls_record;
    assert_eq!((record(&[]), record(&["http.tls=1.2", "http.tls_record=1.4 kB"])), (Bytes::kib(16), Bytes::new(1400)));
}

#[test]
fn wrong_files_get_one_clear_error() {
    insta::assert_snapshot!(error("[link.down]\nrate = \"20 mbps\"\n"), @r#"
    net.toml:3: link.down.rate = "20 mbps": unknown unit "mbps"
      accepted: a number above zero and bit/s, kbit/s, Mbit/s or Gbit/s, e.g. "2048 kbit/s", or "unlimited"
    "#);
    insta::assert_snapshot!(error("[link.down]\ndelay = \"-5 ms\"\n"), @r#"
    net.toml:3: link.down.delay = "-5 ms": "-5 ms" is negative
      accepted: a number and ns, us, ms, s, min or h, e.g. "250 ms"
    "#);
    insta::assert_snapshot!(error(&format!("[link.down]\nrat = \"5 Mbit/s\"\n{PAGE}")), @r#"
    net.toml:3: link.down.rat = "5 Mbit/s": unknown key; did you mean link.down.rate?
      accepted: corruption, delay, discipline, duplication, framing, jitter, loss, orbit, outages, queue, rate, reordering, trace, trace_end
    "#);
    insta::assert_snapshot!(error("[page]\nsizes = \"nowhere.csv\"\n"), @r#"
    net.toml:3: page.sizes = "nowhere.csv": no such page among the shipped ones
      accepted: a CSV file beside the scenario: name,type,bytes,offset_of_reference_in_html
    "#);
    insta::assert_snapshot!(error(&format!("[run]\narchitectures = [\"direct\", \"tunel\"]\n{PAGE}")), @r#"
    net.toml:3: run.architectures = ["direct", "tunel"]: unknown word; did you mean tunnel?
      accepted: "direct", "split", "multiplexed", "rwbp", "prefetch-conventional", "prefetch-2013", "tunnel", "accelerated"
    "#);
    insta::assert_snapshot!(error(&format!("[tcp]\nmax_window = \"1 kB\"\n{PAGE}")), @r#"
    net.toml:3: tcp.max_window = "1 kB": smaller than one segment of 1.448 kB
      accepted: a size of at least one segment and at most 1 GiB, e.g. "64 KiB", or "unlimited"
    "#);
    insta::assert_snapshot!(error("[page]\nobjects = 100\nsize = \"1 kB\"\n"), @r#"
    net.toml:4: page.size = "1 kB": index.html of 1 kB cannot name i98.png at 932 B: its tag needs 19 B
      accepted: a page whose first object is an HTML document large enough to name the others
    "#);
    insta::assert_snapshot!(error(&format!("[http]\nversion = \"3\"\ntls = \"none\"\n{PAGE}")), @r#"
    net.toml:4: http.tls = "none": HTTP/3 is always over TLS 1.3
      accepted: "1.3" with version "3"
    "#);
    insta::assert_snapshot!(error(&format!("[http]\nversion = \"2\"\nconnections = 6\n{PAGE}")), @r#"
    net.toml:4: http.connections = "6": out of range
      accepted: 1
    "#);
    insta::assert_snapshot!(error(&format!("[http]\ntls_record = \"63 B\"\n{PAGE}")), @r#"
    net.toml:3: http.tls_record = "63 B": out of range
      accepted: from 64 B to 16 KiB, e.g. "4 KiB"
    "#);
    insta::assert_snapshot!(error(&format!("[http]\npersistence = \"0 s\"\n{PAGE}")), @r#"
    net.toml:3: http.persistence = "0 s": out of range
      accepted: a time above zero and up to 24 h, e.g. "15 s", or "unlimited"
    "#);
    insta::assert_snapshot!(error(""), @r#"
    net.toml: page: missing
      accepted: one of sizes = "FILE.csv", har = "FILE.har", table = "the lines of such a CSV file", or objects = 20 with size = "5 kB"
    "#);
    insta::assert_snapshot!(error(&format!("{PAGE}sizes = \"pages/page-2013.csv\"\n")), @r#"
    net.toml:3: page.objects = "2": two descriptions of the page
      accepted: one of sizes = "FILE.csv", har = "FILE.har", table = "the lines of such a CSV file", or objects = 20 with size = "5 kB"
    "#);
    insta::assert_snapshot!(error("a = = 1"), @r#"
    net.toml:2: extra `=`, expected nothing
      accepted: TOML, e.g. [link.down] and below it rate = "2 Mbit/s"
    "#);
    insta::assert_snapshot!(parse("net", PAGE, &[]).expect_err("no version"), @r#"
    net.toml: version: missing
      accepted: version = 1, the format of this file
    "#);
    insta::assert_snapshot!(open("dmeo", &[]).expect_err("no such scenario"), @r#"
    dmeo: no such file or shipped scenario; did you mean demo?
      accepted: a file, or one of demo, demo-http10, geo-consumer, inflight-geo, starlink, transpacific, office, quic4sat-10-2, quic4sat-50-10, quic4sat-50-0.5, quic4sat-250-3, quic4sat-variable, quic4sat-10-2-lossy, quic4sat-50-10-lossy, quic4sat-50-0.5-lossy, quic4sat-250-3-lossy, obata-2002, vsat-2001, vsat-2002, nz-us, nz-us-log, rwbp-128, train-2013, lunar, mars
    "#);
}

#[test]
fn page_files_stand_beside_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "version = 1\n[page]\nsizes = \"p.csv\"\n").unwrap();
    let given = path.to_str().unwrap();
    assert!(matches!(open(given, &[]), Err(ScenarioError::Value(error)) if error.problem.contains("No such file")));
    std::fs::write(folder.path().join("p.csv"), "name,type,bytes,offset_of_reference_in_html\na.html,text/html,99,0\n")
        .unwrap();
    let scenario: Scenario = open(given, &[]).unwrap();
    assert_eq!((scenario.name.as_str(), scenario.page.objects.len()), ("mine", 1));
}

/// A document on one host and a sheet on another.
const RECORDING: &str = r#"{"log": {"pages": [{"id": "first"}, {"id": "second"}], "entries": [
    {"pageref": "first", "startedDateTime": "2026-11-02T10:00:00Z", "request": {"method": "GET", "url": "https://a.test/"},
     "response": {"status": 200, "bodySize": 2000, "content": {"mimeType": "text/html"}}, "timings": {"connect": 20, "wait": 50}},
    {"pageref": "first", "startedDateTime": "2026-11-02T10:00:00.1Z", "request": {"method": "GET", "url": "https://b.test/a.css"},
     "response": {"status": 200, "content": {"mimeType": "text/css"}}, "_initiator": {"url": "https://a.test/"}}
]}}"#;

#[test]
fn recorded_pages_become_lists_with_notes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "version = 1\n[page]\nhar = \"p.har\"\n").unwrap();
    std::fs::write(folder.path().join("p.har"), RECORDING).unwrap();
    let given = path.to_str().unwrap();
    let scenario = open(given, &[]).unwrap();
    assert_eq!((scenario.page.hosts.len(), scenario.page.objects[0].think), (2, Duration::from_millis(30)));
    let resolved = scenario.to_toml();
    assert!(resolved.contains("# bodies without a recorded size, which count 0 B (1)\n"), "{resolved}");
    assert_eq!(
        parse("mine", &resolved, &[]).unwrap(),
        Scenario { page_notes: Vec::new(), page_is_sealed: false, ..scenario }
    );

    let refused = |assignment: &str| open(given, &[assignment.to_owned()]).unwrap_err().to_string();
    insta::assert_snapshot!(refused("page.har_page=third"), @r#"
    --set: page.har_page = "third": no page "third" in the recording
      accepted: "first", "second"
    "#);
    insta::assert_snapshot!(refused("page.har_page=second"), @r#"
    --set: page.har_page = "second": page "second" of the recording has no answered HTTP request
      accepted: at least one, its document, or another page: "first"
    "#);
    std::fs::write(folder.path().join("p.har"), "{}").unwrap();
    assert!(refused("title=x").contains("not a HAR file: missing field `log` at line 1 column 2"));
}

#[test]
fn what_was_recorded_over_tls_is_loaded_over_it() {
    let folder = tempfile::tempdir().unwrap();
    let har = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        format!("page.har={}", path.display())
    };
    let (sealed, open_page) =
        (har("sealed.har", RECORDING), har("open.har", &RECORDING.replace("https://a", "http://a")));
    let tls = |page: &str, more: &[&str]| {
        let assignments: Vec<String> = [&[page], more].concat().into_iter().map(str::to_owned).collect();
        open("demo", &assignments).unwrap().http.tls
    };
    assert_eq!(tls(&sealed, &[]), Tls::V13);
    assert_eq!(tls(&sealed, &["http.version=1.0"]), Tls::V13);
    assert_eq!(tls(&sealed, &["http.tls=none"]), Tls::None);
    assert_eq!(tls(&sealed, &["http.tls=1.2"]), Tls::V12);
    assert_eq!(tls(&open_page, &[]), Tls::None);
}

#[test]
fn a_recording_on_the_command_line_replaces_the_files_page() {
    let folder = tempfile::tempdir().unwrap();
    let har = folder.path().join("p.har");
    std::fs::write(&har, RECORDING).unwrap();
    let scenario = open("demo", &[format!("page.har={}", har.display()), "page.har_page=first".to_owned()]).unwrap();
    assert_eq!(scenario.page.objects.len(), 2);
    insta::assert_snapshot!(open("demo", &["page.har_page=first".to_owned()]).unwrap_err(), @r#"
    --set: page.har_page = "first": a page of no recording
      accepted: har = "FILE.har" beside it
    "#);
}

proptest! {
    #[test]
    fn any_text_gives_an_answer(text in ".*") {
        let _ = parse("any", &text, &[]);
    }

    #[test]
    fn any_value_gives_an_answer(key in "(link.down.rate|link.up.delay|link.orbit|link.down.loss.model|link.up.outages|link.down.trace|access.scheme|access.terminals|tcp.mss|tcp.max_window|page.objects|http.version|run.seed)", value in ".*") {
        let _ = open("demo", &[format!("{key}={value}")]);
    }
}

#[test]
fn none_takes_back_what_a_file_says() {
    let open = |name: &str, assignments: &[&str]| {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        farhop_scenario::open(name, &assignments).unwrap_or_else(|error| panic!("{name}, {assignments:?}: {error}"))
    };
    let set = ["users.model=zhou-2004", "users.duration=10 min", "multicast.rate=64 kbit/s"];
    let with = open("rwbp-128", &set);
    assert!(with.users.is_some() && with.multicast.is_some());
    let file = with.to_toml();
    let parse = |assignments: &[&str]| {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        farhop_scenario::parse("with", &file, &assignments).unwrap_or_else(|error| panic!("{assignments:?}: {error}"))
    };
    assert!(parse(&[]).users.is_some() && parse(&[]).multicast.is_some(), "{file}");
    let without = parse(&["multicast.rate=none"]);
    assert!(without.multicast.is_none() && without.users == with.users);
    let written = file.replace("rate = \"64 kbit/s\"", "rate = \"none\"");
    assert!(written != file && farhop_scenario::parse("with", &written, &[]).expect("it is right").multicast.is_none());
    let log = |assignments: &[&str]| open("nz-us-log", assignments).log.expect("it has one");
    let [hosts, none] = [log(&[]), log(&["log.hosts=none"])].map(|log| log.hosts);
    assert!(hosts != none && none == Default::default());
    // Without its log there is nothing to load until a page is named.
    let bare = open("nz-us-log", &["log.file=none", "page.objects=1", "page.size=10 kB"]);
    assert!(bare.log.is_none());
}
