//! A link that is changed and looked at while it runs.

use crate::{permitted, scenario, testbed, transfer};
use farhop_emu::control::{ControlError, send};
use farhop_emu::{EmuError, Host, Options, Testbed, replay};
use farhop_link::replay::Input;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The number of the instance that a testbed is.
fn number(testbed: &Testbed) -> u32 {
    let name = testbed.host(Host::Client).name();
    name.split('-').nth(1).and_then(|number| number.parse().ok()).expect("farhop-NUMBER-client")
}

fn tell(testbed: &Testbed, line: &str) -> Result<Vec<String>, ControlError> {
    send(Some(number(testbed)), &[line.to_owned()])
}

#[test]
fn a_change_takes_effect_is_told_and_replays() {
    let Some(testbed) = testbed(&[]) else { return };
    let client_to_server = (Host::Client, Host::Server);
    assert_eq!(transfer(&testbed, client_to_server, vec![1; 50_000], |_| ()).received.len(), 50_000);
    tell(&testbed, "set link.up.rate=3Mbit/s, link.up.queue=20 kB").expect("both can be");
    assert_eq!(tell(&testbed, "get link.up.rate").expect("there is one"), ["link.up.rate=3 Mbit/s"]);
    let started = testbed.clock().now();
    assert_eq!(transfer(&testbed, client_to_server, vec![1; 50_000], |_| ()).received.len(), 50_000);
    let took = testbed.clock().now().since(started);
    assert!(took >= Duration::from_millis(133), "50 kB at 3 Mbit/s in {took:?}");

    let link = testbed.stop().expect("a record").link.expect("a packet log");
    let changes = link.inputs.iter().filter(|input| matches!(input, Input::Change { .. })).count();
    assert_eq!(replay::verify(&link).expect("the same").changes as usize, changes);
    assert_eq!(changes, 2);
}

#[test]
fn what_cannot_be_is_refused_and_the_old_goes_on() {
    let Some(testbed) = testbed(&[]) else { return };
    let before = tell(&testbed, "get").expect("settings");
    for (line, reason) in [
        ("set link.up.rate=9Mbit/s, link.down.rate=fast", "link.down.rate: "),
        ("set link.terminals=2", "link.terminals cannot change while the link runs; accepted: "),
        ("set link.access=dedicated", "link.access cannot change while the link runs; accepted: "),
        ("faster", "unknown command \"faster\"; accepted: set NAME=VALUE, get, status"),
        ("status of all", "unknown command \"status of all\"; accepted: "),
        (&"x".repeat(100_000), &format!("unknown command \"{}\"; accepted: ", "x".repeat(80))),
    ] {
        let refused = tell(&testbed, line).expect_err(line).to_string();
        assert!(refused.starts_with(reason), "{refused}");
    }
    assert_eq!(tell(&testbed, "get").expect("settings"), before);
    assert!(
        testbed
            .stop()
            .expect("a record")
            .link
            .expect("a log")
            .inputs
            .iter()
            .all(|input| matches!(input, Input::Arrival { .. }))
    );
}

#[test]
fn status_counts_what_passed() {
    let Some(testbed) = testbed(&[]) else { return };
    assert_eq!(transfer(&testbed, (Host::Server, Host::Client), vec![1; 30_000], |_| ()).received.len(), 30_000);
    let status = testbed.status().expect("it runs");
    assert!(status.down.delivered.bytes.get() > 30_000 && status.down.delivered.packets >= 21, "{status:?}");
    assert_eq!(status.down.drops(), 0);
    assert!(status.lateness.percentile(100) > Duration::ZERO);
    for way in [&status.down, &status.up] {
        let (come, gone) = (way.arrived + way.duplicated, way.delivered + way.inside);
        assert_eq!(come.packets, gone.packets + way.drops(), "{way:?}");
    }
    let told = tell(&testbed, "status").expect("it runs");
    assert!(told.len() == 1 && told[0].contains("\"delivered_packets\":"), "{told:?}");
}

#[test]
fn a_client_that_does_not_read_keeps_nobody_waiting_and_loses_no_answer() {
    let Some(testbed) = testbed(&[]) else { return };
    let mut slow = UnixStream::connect(format!("/run/farhop/{}.sock", number(&testbed))).expect("a connection");
    slow.set_nonblocking(true).expect("a socket");
    // Until neither questions nor answers find room.
    let mut sent = 0;
    while let Ok(length) = slow.write(b"get\n") {
        assert_eq!(length, 4, "a line is shorter than what the kernel divides");
        sent += 1;
    }
    tell(&testbed, "status").expect("others are answered");
    slow.set_nonblocking(false).expect("a socket");
    slow.shutdown(Shutdown::Write).expect("connected");
    let answers = BufReader::new(slow).lines().map(|line| line.expect("the connection lasts"));
    assert_eq!(answers.filter(|line| line == "ok").count(), sent);
}

#[test]
fn a_timetable_is_kept_and_checked_before_the_start() {
    if !permitted() {
        return;
    }
    let change = |millis, value: &str| (Duration::from_millis(millis), "link.down.delay".to_owned(), value.to_owned());
    let options = |live| Options { live, ..Options::default() };
    let wrong = options(vec![change(50, "20 ms"), change(9, "soon")]);
    let error = Testbed::start_with(&scenario(&[]), &wrong).expect_err("no delay");
    assert!(matches!(error, EmuError::Control(ControlError::Timetable { .. })), "{error}");
    assert!(error.to_string().starts_with("change at 9ms: link.down.delay: "), "{error}");

    let right = options(vec![change(50, "20 ms"), change(9, "30 ms")]);
    let testbed = Testbed::start_with(&scenario(&[]), &right).expect("a testbed");
    while tell(&testbed, "get link.down.delay").expect("a setting") != ["link.down.delay=20 ms"] {
        assert!(testbed.clock().now().as_secs_f64() < 10.0, "the timetable is not kept");
    }
    let link = testbed.stop().expect("a record").link.expect("a packet log");
    let times: Vec<f64> = link
        .inputs
        .iter()
        .filter(|input| matches!(input, Input::Change { .. }))
        .map(|input| input.at().as_secs_f64())
        .collect();
    assert!(times.len() == 2 && times[0] >= 0.009 && times[1] >= 0.050, "{times:?}");
}

#[test]
fn the_socket_goes_with_its_testbed() {
    let Some(testbed) = testbed(&[]) else { return };
    let number = number(&testbed);
    let socket = std::path::PathBuf::from(format!("/run/farhop/{number}.sock"));
    let made = std::fs::metadata(&socket).and_then(|file| file.modified()).expect("it is there");
    testbed.stop().expect("a record");
    // The number may be another testbed's at once.
    assert_ne!(std::fs::metadata(&socket).and_then(|file| file.modified()).ok(), Some(made));
}
