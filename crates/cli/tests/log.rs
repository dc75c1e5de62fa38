//! `farhop log`: a log from a seed, what comes of it, and what the program says of logs that are not as they should be.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn farhop(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_farhop")).args(args).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a refused command says, which is one error and exit code 2.
fn refused(args: &[&str]) -> String {
    let output = farhop(args);
    assert_eq!(output.status.code(), Some(2), "{args:?} says {}", stderr(&output));
    assert_eq!(stderr(&output).matches("error:").count(), 1, "{args:?} says {}", stderr(&output));
    stderr(&output)
}

fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/logs").join(name);
    fs::read_to_string(path).expect("it is shipped")
}

#[test]
fn the_shipped_log_is_what_the_command_makes() {
    let folder = tempfile::tempdir().expect("a folder");
    let [log, hosts] = ["access.log", "access.hosts"].map(|name| folder.path().join(name));
    let made = farhop(&["log", log.to_str().expect("text"), "--hosts", hosts.to_str().expect("text")]);
    assert_eq!(stdout(&made), "", "the log is in the file");
    assert!(stderr(&made).starts_with("421 requests to ") && stderr(&made).ends_with(" in 600 s, seed 1\n"));
    assert_eq!(fs::read_to_string(log).expect("it is written"), shipped("nz-us.log"));
    assert_eq!(fs::read_to_string(hosts).expect("it is written"), shipped("nz-us.hosts"));
}

#[test]
fn flags_say_what_the_log_is_like() {
    let flags = ["--requests", "50", "--duration", "5s", "--clients", "1", "--reply-sizes", "constant value=7kB"];
    let text = stdout(&farhop(&[&["log"][..], &flags].concat()));
    assert_eq!(text.lines().count(), 50);
    let fields: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(fields.iter().all(|line| (line[2], line[4]) == ("10.0.0.0", "7000")), "{text}");
    let starts =
        fields.iter().map(|line| line[0].parse::<f64>().expect("s") - line[1].parse::<f64>().expect("ms") / 1e3);
    assert!(starts.clone().fold(f64::MIN, f64::max) - starts.fold(f64::MAX, f64::min) < 5.0, "{text}");
    let farthest = stdout(&farhop(&["log", "--requests", "1", "--popularity", "constant value=2000000"]));
    assert!(farthest.contains("http://www1000000.example.com/"), "ranks end at a million: {farthest}");
    let again = |more: &[&str]| stdout(&farhop(&[&["log"][..], &flags, more].concat()));
    assert_eq!(again(&["--seed", "1"]), text);
    assert_ne!(again(&["--seed", "2"]), text);
    assert_ne!(again(&["--day", "1"]), text);
}

#[test]
fn wrong_flags_are_told() {
    assert!(refused(&["log", "--requests", "0"]).contains("--requests"));
    assert!(refused(&["log", "--duration", "2 days"]).contains("unknown unit \"days\""));
    assert!(refused(&["log", "--duration", "25h"]).contains("out of range; accepted: 1 ms to 24 h"));
    assert!(refused(&["log", "--reply-sizes", "lognorm mean=1kB"]).contains("unknown distribution \"lognorm\""));
    assert!(refused(&["log", "same", "--hosts", "same"]).contains("are one file"));
    let hosts = refused(&["log", "--hosts", "/dev/null", "--segment-sizes", "constant value=100kB"]);
    assert!(hosts.contains("segment size \"100000\" is not 1 to 65483"), "{hosts}");
    let unwritable = farhop(&["log", "/nowhere/access.log"]);
    assert_eq!(unwritable.status.code(), Some(1));
    assert!(stderr(&unwritable).contains("/nowhere/access.log: No such file"), "{}", stderr(&unwritable));
}

#[test]
fn a_log_goes_through_the_shipped_network() {
    let mean = |assignments: &[&str]| {
        let sets = assignments.iter().flat_map(|assignment| ["--set", assignment]);
        let args: Vec<&str> = ["simulate", "nz-us-log", "--json"].into_iter().chain(sets).collect();
        let results: serde_json::Value = serde_json::from_str(&stdout(&farhop(&args))).expect("JSON");
        let of = |place: usize| {
            let log = &results["rows"][place]["log"];
            assert_eq!((log["answered"].as_u64(), log["unanswered"].as_u64()), (Some(421), Some(0)), "{log}");
            log["sample_mean_s"].as_f64().expect("a time")
        };
        [of(0), of(1)]
    };
    let cables = mean(&["link.down.delay=60ms"]);
    assert!((cables[0] - 2.8).abs() < 0.02, "the paper's base case, to which the servers' time is fitted: {cables:?}");
    let satellite = mean(&[]);
    assert!(satellite[0] > cables[0] && satellite[1] < satellite[0], "{cables:?} {satellite:?}");
}

#[test]
fn logs_that_cannot_be_used_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        format!("log.file={}", path.display())
    };
    let said = |assignment: &str| refused(&["check", "nz-us-log", "--set", assignment]);
    assert!(said("log.file=/nowhere/access.log").contains("the log cannot be read (No such file"));
    for (name, text) in
        [("empty", &b""[..]), ("blank", b"\n\n# nothing\n"), ("text", b"half a line\n"), ("bytes", b"\xff\0")]
    {
        let error = said(&file(name, text));
        assert!(error.contains("no request of the first log was answered by a server with success"), "{error}");
    }
    let hit = "868917601.000 1 c TCP_HIT/200 9000 GET http://a.example/ - NONE/- text/html\n";
    assert!(said(&file("hits", hit.as_bytes())).contains("1 line; 1 from a cache, or without success, left out"));
    let mixed = [shipped("nz-us.log").as_bytes(), b"868935602.305 182 c TCP_MISS/20", b"\nhalf\n"].concat();
    let mixed = file("mixed", &mixed);
    let skipped = farhop(&["check", "nz-us-log", "--set", &mixed]);
    assert!(skipped.status.success());
    let told = "423 lines, 2 broken: line 422: no status, line 423: no time in seconds since 1970";
    assert!(stderr(&skipped).contains(told), "{}", stderr(&skipped));
    let strict = refused(&["check", "nz-us-log", "--strict", "--set", &mixed]);
    assert!(strict.contains("line 422: no status"), "{strict}");
    assert!(farhop(&["check", "nz-us-log", "--strict"]).status.success(), "the shipped log has no broken line");
}

#[test]
fn what_is_wrong_in_a_recording_is_told_by_every_command_that_loads_its_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = r#"{"log": {"pages": [{"id": "first"}], "entries": [
        {"pageref": "first", "startedDateTime": "2026-11-02T10:00:00Z", "request": {"method": "GET", "url": "http://a.test/"},
         "response": {"status": 200, "bodySize": -500, "content": {"mimeType": "text/html"}}, "timings": {"wait": 50}}]}}"#;
    fs::write(folder.path().join("page.har"), recording).expect("it is written");
    let set = format!("page.har={}", folder.path().join("page.har").display());
    for command in ["check", "predict", "simulate"] {
        let output = farhop(&[command, "demo", "--set", &set]);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        assert!(stderr(&output).contains("page.har: log.entries[0].response.bodySize: -500 is no size"), "{command}");
    }
}
