//! `farhop simulate --trace`: files that the program's own replay and others' tools read.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn farhop(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_farhop")).args(args).output().expect("the program starts")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a temporary path in UTF-8")
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("stdout holds one JSON object and nothing else")
}

#[test]
fn a_traced_simulation_is_replayed_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, out) = (folder.path().join("trace"), folder.path().join("out"));
    let lossy = ["simulate", "demo", "--set", "link.down.loss=1 %", "--set", "run.architectures=direct", "--json"];
    let traced = farhop(&[&lossy[..], &["--trace", text(&trace), "--out", text(&out)]].concat());
    let results = json(&traced);
    let told = String::from_utf8_lossy(&traced.stderr).into_owned();
    assert!(told.contains("arrivals, deliveries and drops of the far link"), "{told}");
    for name in ["packets.log", "packets.pcapng", "queue.csv", "connections.csv", "windows.csv", "segments.csv"] {
        let length = fs::metadata(trace.join(name)).unwrap_or_else(|error| panic!("{name}: {error}")).len();
        assert!(length > 100, "{name} has {length} bytes");
    }
    let replayed = json(&farhop(&["replay", text(&trace.join("packets.log")), "--json"]));
    assert_eq!(replayed["identical"], true);
    assert!(replayed["drops"].as_u64().unwrap() > 5 && replayed["deliveries"].as_u64().unwrap() > 1000, "{replayed}");
    // Tracing changes nothing.
    let plain = json(&farhop(&lossy));
    assert_eq!((&results["rows"], &results["loads"]), (&plain["rows"], &plain["loads"]));
    assert!(plain.get("series").is_none());
    assert_eq!(results["series"]["connections"].as_array().map(Vec::len), Some(6));
    let report = fs::read_to_string(out.join("report.html")).unwrap();
    for title in [
        "What waits for the far link",
        "Congestion windows",
        "Time-sequence graph",
        "sent again",
        "0, down, acknowledged",
    ] {
        assert!(report.contains(title), "{title} is in the report");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_told_before_anything_is_simulated() {
    let output = farhop(&["simulate", "demo", "--trace", "/dev/null/trace"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("/dev/null/trace") && error.contains("/dev/null is not a folder"), "{error}");
    assert!(output.stdout.is_empty());
}
