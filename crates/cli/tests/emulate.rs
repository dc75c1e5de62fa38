//! `farhop emulate` as a user lives with it (needs root or user namespaces), and `farhop replay` of what it logged.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Whether emulating works here; says why not.
fn permitted() -> bool {
    let Err(reason) = farhop_emu::availability() else { return true };
    assert!(std::env::var_os("FARHOP_REQUIRE_ROOT_TESTS").is_none(), "{reason}");
    eprintln!("skipped: {reason}");
    false
}

fn farhop(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_farhop")).args(args).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a temporary path in UTF-8")
}

/// A link of 100 ms round trip.
const NEAR: [&str; 5] = ["demo", "--set", "link.down.delay=50ms", "--set", "link.up.delay=50ms"];

#[test]
fn a_served_folder_is_loaded_logged_captured_and_replayed() {
    if !permitted() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("site");
    fs::create_dir(&site).unwrap();
    fs::write(site.join("hello.txt"), "hello over the link").unwrap();
    let (log, capture) = (folder.path().join("run.csv"), folder.path().join("run.pcapng"));
    let served = ["--serve", text(&site), "--log", text(&log), "--pcap", text(&capture), "--"];
    let both = ["sh", "-c", "curl -sS http://server/hello.txt && curl -sS https://server/hello.txt && exit 7"];
    let output = farhop(&[&["emulate"], &NEAR[..], &served, &both].concat());
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert_eq!(stdout(&output), "hello over the link".repeat(2));
    assert!(stderr(&output).contains("packets delivered"), "{}", stderr(&output));
    assert!(fs::metadata(&capture).unwrap().len() > 2000, "the capture holds the packets");

    let replayed = farhop(&["replay", text(&log), "--json"]);
    assert!(replayed.status.success(), "{}", stderr(&replayed));
    let summary: Value = serde_json::from_slice(&replayed.stdout).expect("one JSON object");
    assert!(summary["deliveries"].as_u64() >= Some(20), "{summary}");

    // One delivery a nanosecond later is another run.
    let honest = fs::read_to_string(&log).unwrap();
    let delivery = honest.lines().find(|line| line.contains(",delivery,")).expect("a delivery");
    let (at, rest) = delivery.split_once(',').unwrap();
    let forged = format!("{},{rest}", at.parse::<u64>().unwrap() + 1);
    fs::write(&log, honest.replacen(delivery, &forged, 1)).unwrap();
    let refused = farhop(&["replay", text(&log)]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("differs: recorded"), "{}", stderr(&refused));
}

#[test]
fn a_link_changes_while_a_command_runs_behind_it() {
    if !permitted() {
        return;
    }
    let program = env!("CARGO_BIN_EXE_farhop");
    // The emulator's socket is the same file inside and outside.
    let script = format!(
        "n=$(ip netns identify $$ | sed 's/farhop-\\([0-9]*\\)-.*/\\1/')
         {program} emulate --instance $n --live link.down.rate=1Mbit/s --live link.up.delay=70ms || exit 3
         {program} emulate --instance $n --live 'link.down.loss=often' && exit 4
         {program} emulate --instance $n --live terminals=2 && exit 5
         ping -c 1 -q server"
    );
    let output = farhop(&[&["emulate"], &NEAR[..], &["--", "sh", "-c", &script]].concat());
    assert!(output.status.success(), "{:?} {}", output.status, stderr(&output));
    assert!(stderr(&output).contains("unknown loss model \"often\""), "{}", stderr(&output));
    let line = stdout(&output).lines().find(|line| line.starts_with("rtt ")).expect("ping's summary").to_owned();
    let least = line.split(['=', '/']).nth(4).expect("the least time").trim().parse::<f64>().unwrap();
    assert!(least >= 120.0, "50 ms down and 70 ms up: {line}");
}

#[test]
fn a_log_that_cannot_be_whole_fails_the_run_unless_the_command_did() {
    if !permitted() {
        return;
    }
    let run = |command: &str| {
        let full = ["--log", "/dev/full", "--pcap", "/dev/null", "--", "sh", "-c", command];
        farhop(&[&["emulate"], &NEAR[..], &full].concat())
    };
    let output = run("ping -c 1 -q server");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("No space left"), "{}", stderr(&output));
    assert_eq!(run("exit 3").status.code(), Some(3));
}

#[test]
fn every_terminal_has_a_client_of_its_own() {
    if !permitted() {
        return;
    }
    let script = "ping -c 1 -q client-3 >/dev/null && ping -6 -c 1 -q server >/dev/null && getent hosts client-3";
    let output = farhop(&[&["emulate"], &NEAR[..], &["--terminals", "3", "--", "sh", "-c", script]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("client-3"), "{}", stdout(&output));
    assert!(stderr(&output).contains("-client-2 "), "the clients' names are printed: {}", stderr(&output));
}
