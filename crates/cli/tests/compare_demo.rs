//! The whole chain, for real: `farhop compare demo` in network namespaces (needs root).

use serde_json::Value;
use std::process::Command;

fn page_load_s(results: &Value, architecture: &str, source: &str, state: &str) -> f64 {
    let rows = results["rows"].as_array().expect("rows");
    let row =
        rows.iter().find(|row| row["architecture"] == architecture && row["source"] == source && row["state"] == state);
    row.unwrap_or_else(|| panic!("no {source} row for {architecture}, {state}"))["page_load_s"]
        .as_f64()
        .expect("a number")
}

/// Whether nothing can be emulated here, which is said.
fn is_skipped() -> bool {
    let Err(reason) = farhop_emu::availability() else { return false };
    assert!(std::env::var_os("FARHOP_REQUIRE_ROOT_TESTS").is_none(), "{reason}");
    eprintln!("skipped: {reason}");
    true
}

#[test]
fn compare_demo_predicts_simulates_and_measures() {
    if is_skipped() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_farhop"))
        .args(["compare", "demo", "--json", "--set", "run.runs=1", "--out"])
        .arg(folder.path())
        .output()
        .expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let results: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");

    // Times are real, so only their order and what physics says is asserted; `farhop compare` prints the numbers.
    let limit = results["limit_s"].as_f64().unwrap();
    let direct = page_load_s(&results, "direct", "measured", "cold");
    let tunnel = page_load_s(&results, "tunnel", "measured", "cold");
    for state in ["cold", "warm"] {
        let accelerated = page_load_s(&results, "accelerated", "measured", state);
        assert!(limit < accelerated && accelerated < tunnel && tunnel < direct, "{accelerated} {tunnel} {direct}");
        // Without announce and push it would be a tunnel, six round trips; with them it is one.
        assert!(2.0 * accelerated < tunnel, "{state}: {accelerated} s is hardly less than the tunnel's {tunnel} s");
    }
    assert!(page_load_s(&results, "direct", "simulated", "cold") > limit);

    // Every cell that is empty has its reason.
    let gaps = results["gaps"].as_array().unwrap();
    assert!(gaps.iter().all(|gap| gap["reason"].as_str().is_some_and(|reason| !reason.is_empty())));

    // What the client received is what the origin sent, object by object, through every architecture.
    let loads = results["loads"].as_array().unwrap();
    let hashes = |load: &Value| -> Vec<String> {
        let objects = load["objects"].as_array().expect("objects");
        objects.iter().map(|object| object["sha256"].as_str().expect("a hash").to_owned()).collect()
    };
    let measured: Vec<&Value> = loads.iter().filter(|load| load["source"] == "measured").collect();
    assert_eq!(measured.len(), 4, "direct, tunnel, accelerated cold and warm");
    assert!(measured.iter().all(|load| hashes(load) == hashes(measured[0]) && hashes(load).len() == 28));

    let report = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(report.contains("<svg") && !report.contains("src=\"http") && !report.contains("href=\"http"));
}

#[test]
fn this_machines_hosts_are_listened_to_and_simulated() {
    if is_skipped() {
        return;
    }
    let farhop = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_farhop")).args(args).output().expect("the program starts");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {told}");
        (String::from_utf8(output.stdout).expect("text"), told)
    };
    let link = ["--set", "link.down.rate=5 Mbit/s", "--set", "link.down.delay=20 ms", "--set", "link.up.delay=20 ms"];
    let one = ["--set", "run.runs=1", "--set", "http.connections=1"];
    let twice = ["--set", "run.runs=2", "--set", "http.connections=1"];
    // A thousand full packets, every other one of them acknowledged at once, and each acknowledgement lets two go; then 28 objects, one by one; twice.
    // A processor that others have for a while makes answers fewer, never more: one of a few attempts has them all.
    let mut attempts = (0..5).map(|_| farhop(&[&["measure", "demo", "--host-times"], &twice[..], &link[..]].concat()));
    let is_whole = |(_, told): &(String, String)| {
        let line = told.lines().find(|line| line.contains("answers of kernels")).expect("it is told what was heard");
        let counts: Vec<u32> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        matches!(counts[..], [1000..=10_000, 40..=56, 0, 40..=56])
    };
    let (table, _) = attempts.find(is_whole).expect("everything is heard");
    let times = farhop_scenario::host_times::parse(&table).expect("a table");
    assert!(["\nclient\n", "\nserver\n"].iter().all(|programs| table.contains(programs)), "{table}");
    // They came every 2.4 ms: how long each takes is the machine's affair, but no time of a wire, and not what a quiet one takes.
    let after = |times: &farhop_scenario::HostTimes| {
        let heard = times.kernel.after(Some(std::time::Duration::from_millis(2))).clone();
        [0, 500, 1000].map(|share| heard.at(share).as_nanos())
    };
    let [least, middle, most] = after(&times);
    assert!(0 < least && least < middle && middle < most && most <= 1_000_000, "{table}");
    assert_ne!(after(&times), after(&farhop_scenario::HostTimes::quiet()));
    let given = format!("tcp.host_times={table}");
    let simulate = ["simulate", "demo", "--json", "--set", "run.architectures=direct"];
    let load = |more: &[&str]| {
        let told = farhop(&[&simulate[..], &one[..], &link[..], more].concat()).0;
        let results: Value = serde_json::from_str(&told).expect("one JSON object");
        page_load_s(&results, "direct", "simulated", "cold")
    };
    let (quiet, here) = (load(&[]), load(&["--set", &given]));
    let difference = (quiet - here).abs() / quiet;
    assert!(difference > 1e-9 && difference < 0.1, "{quiet} {here}");
}
