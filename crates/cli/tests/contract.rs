//! The program's contract with scripts: commands, exit codes, errors on stderr, results on stdout.

use std::fs::File;
use std::process::{Command, Output};

fn farhop(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_farhop")).args(args).output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).expect("stdout holds one JSON object and nothing else")
}

#[test]
fn shipped_scenarios_are_listed_and_correct() {
    let listed = farhop(&["scenarios"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    // Groups have a heading, their scenarios are indented below it.
    let entries = text.lines().filter_map(|line| line.strip_prefix("  "));
    let names: Vec<&str> = entries.filter_map(|entry| entry.split_whitespace().next()).collect();
    for name in ["demo", "geo-consumer", "quic4sat-250-3-lossy", "rwbp-128", "mars"] {
        assert!(names.contains(&name), "{name} is not in\n{text}");
    }
    for name in names {
        assert_eq!(farhop(&["check", name]).status.code(), Some(0), "{name}");
    }
}

#[test]
fn a_resolved_scenario_is_a_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resolved.toml");
    let resolved = farhop(&["check", "demo"]).stdout;
    std::fs::write(&file, &resolved).unwrap();
    assert_eq!(farhop(&["check", file.to_str().unwrap()]).stdout, resolved);
}

#[test]
fn bad_files_and_flags_exit_with_2_and_one_error() {
    let cases = [
        (vec!["check", "dmeo"], "did you mean demo?"),
        (vec!["check", "demo", "--set", "link.down.rate=20 mbps"], "unknown unit \"mbps\""),
        (vec!["check", "demo", "--set", "link.down.delya=1ms"], "did you mean link.down.delay?"),
        (vec!["predict", "demo", "--set", "link.up.delay=-5ms"], "is negative"),
        (vec!["compare", "demo", "--set", "nothing"], "no \"=\""),
        (vec!["simulate", "/nowhere/x.toml"], "no such file"),
        (vec!["cmopare", "demo"], "compare"),
        (vec!["terminal", "/nowhere/terminal.toml"], "/nowhere/terminal.toml"),
        (vec!["replay", "/nowhere/run.csv"], "/nowhere/run.csv"),
        (vec!["replay", env!("CARGO_MANIFEST_PATH")], "not a packet log"),
        (vec!["trace", "/nowhere/drive.csv"], "/nowhere/drive.csv"),
        (vec!["trace", env!("CARGO_MANIFEST_PATH")], "line 1: not a time"),
        (vec!["trace", env!("CARGO_MANIFEST_PATH"), "--to", "mahi"], "[possible values: csv, mahimahi]"),
        (vec!["trace", env!("CARGO_MANIFEST_PATH"), "--out", "x"], "--to"),
        (vec!["emulate", "demo", "--live", "10s:link.down.rate", "--", "true"], "no \"=\""),
        (vec!["predict", "demo", "--out", env!("CARGO_MANIFEST_PATH")], "Cargo.toml is not a folder"),
        (
            vec!["simulate", "demo", "--trace", concat!(env!("CARGO_MANIFEST_PATH"), "/trace")],
            "Cargo.toml is not a folder",
        ),
        (vec!["emulate", "demo", "--serve", "/nowhere", "--", "true"], "/nowhere"),
        (vec!["emulate"], "SCENARIO"),
        (vec!["emulate", "demo", "--live", "1s:link.down.rate=-1"], "is negative"),
        (vec!["emulate", "demo", "--offload", "--", "true"], "packets pass in bundles"),
        (vec!["emulate", "demo", "--terminals", "1001", "--", "true"], "1 to 1000 are accepted"),
        // What belongs to a start is not for an emulator that runs.
        (vec!["emulate", "--live", "link.down.rate=1Mbit/s", "--", "true"], "SCENARIO"),
        (vec!["emulate", "--live", "link.down.rate=1Mbit/s", "--terminals", "2"], "SCENARIO"),
        (vec!["emulate", "--live", "link.down.rate=1Mbit/s", "--nat"], "SCENARIO"),
        (vec!["emulate", "--live", "link.down.rate=1Mbit/s", "--log", "run.csv"], "SCENARIO"),
        (vec!["emulate", "--live", "link.down.rate=1Mbit/s", "--seed", "2"], "accepted: --live KEY=VALUE alone"),
        (vec!["check", "rwbp-128", "--set", "access.scheme=tdma", "--set", "access.slots=12"], "access.slots"),
        (vec!["check", "demo", "--set", "link.down.loss.entr=1%"], "link.down.loss"),
        (vec!["simulate", "demo", "--seed", "-1"], "invalid value '-1' for '--seed <N>'"),
        (vec!["conformance", "--seed", "-1"], "invalid value '-1' for '--seed <N>'"),
        (vec!["check", "demo", "--set", "tcp.host_times=slow"], "accepted: \"quiet\", or lines such as"),
        (vec!["measure", "demo", "--host-times", "--json"], "cannot be used with"),
        (vec!["log", "--seed", "-1"], "invalid value '-1' for '--seed <N>'"),
    ];
    for (args, expected) in cases {
        let output = farhop(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(expected), "{args:?} says: {}", stderr(&output));
        assert_eq!(stderr(&output).matches("error:").count(), 1, "{args:?} says: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "errors go to stderr");
    }
}

#[test]
fn a_recorded_link_is_told_of_and_written_in_mahimahis_format() {
    let folder = tempfile::tempdir().unwrap();
    let [steps, times] = ["drive.csv", "drive.trace"].map(|name| folder.path().join(name).display().to_string());
    // 1500 B take 4 ms.
    std::fs::write(&steps, "time,rate,delay\n0 s,3 Mbit/s,30 ms\n10 ms,0,30 ms\n12 ms,3 Mbit/s,30 ms\n18 ms,end\n")
        .unwrap();
    let told = farhop(&["trace", &steps]);
    assert_eq!(String::from_utf8_lossy(&told.stdout), "rates: 18 ms, 2.67 Mbit/s on average, repeats\n");
    let written = farhop(&["trace", &steps, "--to", "mahimahi", "--out", &times]);
    assert!(written.status.success() && written.stdout.is_empty(), "{}", stderr(&written));
    assert!(stderr(&written).contains("delays are left out"), "{}", stderr(&written));
    // The first half of the third packet before the pause, and the end is the last one's.
    assert_eq!(std::fs::read_to_string(&times).unwrap(), "4\n8\n14\n18\n");
    let told = farhop(&["trace", &times]);
    assert!(told.stdout.starts_with(b"delivery opportunities: 18 ms, 2.67 Mbit/s"), "{told:?}");
    let same = farhop(&["trace", &times, "--to", "mahimahi"]);
    assert_eq!((same.stdout, same.stderr), (std::fs::read(&times).unwrap(), Vec::new()));
    let refused = farhop(&["trace", &times, "--to", "csv"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("drive.trace: delivery opportunities have no rate; accepted:"),
        "{}",
        stderr(&refused)
    );
    let back = farhop(&["trace", &steps, "--to", "csv"]);
    assert_eq!(String::from_utf8_lossy(&back.stdout).lines().last(), Some("18 ms,end,"));
}

#[test]
fn a_run_of_which_nothing_has_come_exits_with_1() {
    let code = |architectures: &str| {
        let architectures = format!("run.architectures={architectures}");
        let output = farhop(&["simulate", "demo", "--set", &architectures, "--set", "http.version=3"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("carries no UDP"), "{text}");
        output.status.code()
    };
    assert_eq!([code("accelerated"), code("direct, accelerated")], [Some(1), Some(0)]);
}

#[test]
fn the_heading_tells_what_the_command_line_has_changed() {
    let title = |more: &[&str]| {
        let results = json(&farhop(&[&["predict", "office", "--json"][..], more].concat()));
        results["title"].as_str().expect("a title").to_owned()
    };
    let own = title(&[]);
    assert_eq!(
        title(&["--set", "lan.delay=1ms", "--set", "run.seed=3"]),
        own.clone() + "; with lan.delay=1ms, run.seed=3"
    );
    assert_eq!(title(&["--set", "title=mine", "--seed", "3"]), "mine");
    assert_eq!(title(&["--set", "title=", "--set", "lan.delay=1ms"]), "with lan.delay=1ms");
    assert!(!own.contains("with lan"), "{own}");
}

#[test]
fn nobody_need_read_all_of_the_results() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut unread = Command::new(env!("CARGO_BIN_EXE_farhop"));
    let output = unread.args(["check", "demo"]).stdout(writer).output().expect("the program starts");
    assert_eq!((output.status.code(), stderr(&output).contains("error")), (Some(0), false), "{}", stderr(&output));
}

#[test]
fn predict_gives_rows_with_their_units_in_the_keys() {
    let results = json(&farhop(&["predict", "demo-http10", "--json"]));
    let limit = results["limit_s"].as_f64().unwrap();
    assert!((limit - 0.653).abs() < 0.0005, "the demo's physical limit is 0.653 s, not {limit}");
    let row = &results["rows"][0];
    assert_eq!((row["architecture"].as_str(), row["source"].as_str()), (Some("direct"), Some("predicted")));
    for key in
        ["method", "state", "runs", "page_load_s", "page_load_min_s", "page_load_max_s", "goodput_bit_s", "limit_s"]
    {
        assert!(!row[key].is_null(), "{key} is missing");
    }
    assert!(row["page_load_s"].as_f64().unwrap() > limit);
}

#[test]
fn simulate_is_repeatable_and_tells_its_cost() {
    let run = || json(&farhop(&["simulate", "demo", "--seed", "7", "--json"]));
    let (first, second) = (run(), run());
    assert_eq!((&first["rows"], &first["loads"]), (&second["rows"], &second["loads"]));
    assert_eq!(first["seed"], 7);
    for key in ["event_count", "packet_hops", "cpu_s", "peak_rss_bytes"] {
        assert!(first[key].as_f64().is_some_and(|value| value > 0.0), "{key}: {}", first[key]);
    }
}

#[test]
fn emulate_returns_the_exit_status_of_its_command() {
    if let Err(reason) = farhop_emu::availability() {
        assert!(std::env::var_os("FARHOP_REQUIRE_ROOT_TESTS").is_none(), "{reason}");
        eprintln!("skipped: {reason}");
        return;
    }
    let run = |command: &str| farhop(&["emulate", "demo", "--set", "link.down.delay=5ms", "--", "sh", "-c", command]);
    assert_eq!(run("exit 7").status.code(), Some(7));
    let started = |command: &str| farhop(&["emulate", "demo", "--", command]);
    for (command, code) in [("no-such-program", 127), ("/", 126)] {
        let output = started(command);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("error: cannot run {command}: ")), "{}", stderr(&output));
    }
    let mut unheard = Command::new(env!("CARGO_BIN_EXE_farhop"));
    unheard.args(["emulate", "demo", "--", "sh", "-c", "exit 5"]).stderr(File::create("/dev/full").unwrap());
    assert_eq!(unheard.status().unwrap().code(), Some(5), "nobody need read the summary");
    let fetched = run("curl -sf http://server/i3.gif | wc -c");
    assert_eq!(String::from_utf8_lossy(&fetched.stdout).trim(), "1911", "{}", stderr(&fetched));
    let resolved = run("getent hosts server gateway terminal client | wc -l");
    assert_eq!(String::from_utf8_lossy(&resolved.stdout).trim(), "4", "{}", stderr(&resolved));
    assert!(stderr(&resolved).contains("late"), "the summary tells the lateness: {}", stderr(&resolved));
}

#[test]
fn logs_are_simulated_and_their_broken_lines_told_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let line = |end: u32, name: &str| {
        format!("{end}.000 1000 c TCP_MISS/200 9000 GET http://{name}/ - DIRECT/{name} text/html\n")
    };
    let log = format!("{}half a line\n{}", line(868_917_601, "a.example"), line(868_917_603, "b.example"));
    std::fs::write(folder.path().join("access.log"), log).unwrap();
    let file = folder.path().join("replay.toml");
    let text = "version = 1\n[link]\norbit = \"geo elevation=40deg\"\n[link.down]\nrate = \"2 Mbit/s\"\n[log]\nfile = \"access.log\"\n\
                [run]\narchitectures = [\"direct\", \"multiplexed\"]\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();

    let results = json(&farhop(&["simulate", file, "--json"]));
    let rows = results["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(
            (row["log"]["sample_count"].as_u64(), row["log"]["unanswered"].as_u64()),
            (Some(2), Some(0)),
            "{row}"
        );
        let note = row["note"].as_str().unwrap();
        assert!(note.contains("access.log: 3 lines, 1 broken: line 2: no time in seconds since 1970"), "{note}");
    }
    let [direct, shared] = [0, 1].map(|place: usize| rows[place]["log"]["sample_mean_s"].as_f64().unwrap());
    assert!(shared > 1.0 && shared < direct, "{shared} and {direct}");

    let out = folder.path().join("out");
    let shown = farhop(&["simulate", file, "--out", out.to_str().unwrap()]);
    let table = String::from_utf8(shown.stdout).unwrap();
    assert!(table.contains("What the log's requests met:"), "{table}");
    assert!(std::fs::read_to_string(out.join("report.html")).unwrap().contains("What the log's requests met"));
    let again = json(&farhop(&["simulate", out.join("scenario.toml").to_str().unwrap(), "--json"]));
    assert_eq!(again["rows"][0]["log"], rows[0]["log"], "the resolved scenario has the log with it");

    let strict = farhop(&["simulate", file, "--strict"]);
    assert_eq!(strict.status.code(), Some(2));
    let error = stderr(&strict);
    assert!(
        error.contains("replay.toml:7: log.file = \"access.log\": access.log: line 2: no time in seconds"),
        "{error}"
    );
    assert!(error.contains("accepted: lines of the squid format, or broken = \"skip\""), "{error}");
    assert_eq!(farhop(&["check", "demo", "--strict"]).status.code(), Some(0), "there is nothing to refuse");
}
