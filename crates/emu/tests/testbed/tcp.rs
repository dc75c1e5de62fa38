//! The scenario's TCP is the one that connections inside get.

use crate::{at, permitted, scenario, testbed, transfer};
use farhop_emu::{ConnectionState, EmuError, Host, Testbed, Windows};
use farhop_units::Bytes;
use nix::sys::socket::{getsockopt, sockopt};
use std::net::{SocketAddr, TcpListener, TcpStream};

fn congestion_of(stream: &TcpStream) -> String {
    let name = getsockopt(stream, sockopt::TcpCongestion).expect("a name");
    name.to_string_lossy().trim_end_matches('\0').to_owned()
}

/// What `look` sees of a connection from one host to another at the end that accepted it.
fn accepted<T>(testbed: &Testbed, (from, to): (Host, Host), look: impl Fn(&TcpStream) -> T) -> T {
    let address = SocketAddr::from((testbed.address(to), 0));
    let listener = at(testbed, to, move || TcpListener::bind(address).expect("a free port"));
    let address = listener.local_addr().expect("bound");
    let opened = testbed.host(from).spawn("opener", move || TcpStream::connect(address).expect("it listens"));
    let seen = look(&listener.accept().expect("a connection").0);
    opened.join().expect("no panic inside");
    seen
}

#[test]
fn connections_have_the_scenarios_congestion_control() {
    for congestion in ["cubic", "reno", "bbr"] {
        let Some(testbed) = testbed(&[&format!("tcp.congestion={congestion}")]) else { return };
        for ends in [(Host::Server, Host::Client), (Host::Client, Host::Server), (Host::Terminal, Host::Gateway)] {
            assert_eq!(transfer(&testbed, ends, Vec::new(), congestion_of).before, congestion, "opened {ends:?}");
            assert_eq!(accepted(&testbed, ends, congestion_of), congestion, "accepted {ends:?}");
        }
        let told = testbed.tcp_settings().expect("settings");
        let by_host = told.contains(&("net.ipv4.tcp_congestion_control".to_owned(), congestion.to_owned()));
        let by_route =
            told.iter().any(|(name, value)| name == "route" && value.contains(&format!("congctl {congestion}")));
        assert!(by_host != by_route, "one of them chooses: {told:?}");
    }
}

#[test]
fn initial_window_and_segment_size_are_the_scenarios() {
    let seen = |stream: &TcpStream| {
        let state = ConnectionState::of(stream).expect("TCP_INFO");
        (state.congestion_window, state.segment.get())
    };
    for (assignments, expected) in [(&[][..], (10, 1448)), (&["tcp.initial_window=1", "tcp.mss=512"][..], (1, 512))] {
        let Some(testbed) = testbed(assignments) else { return };
        for ends in [(Host::Server, Host::Client), (Host::Client, Host::Server), (Host::Terminal, Host::Gateway)] {
            let found = transfer(&testbed, ends, Vec::new(), seen).before;
            assert_eq!(found, expected, "{assignments:?} {ends:?}");
        }
    }
}

#[test]
fn a_connection_learns_nothing_from_those_before() {
    let Some(testbed) = testbed(&["link.down.loss=3 %", "link.down.queue=20 kB"]) else { return };
    let received = transfer(&testbed, (Host::Server, Host::Client), vec![1; 300_000], |_| ()).received;
    assert_eq!(received.len(), 300_000);
    let remembered = testbed.host(Host::Server).command("ip").args(["tcp_metrics", "show"]).output().expect("ip runs");
    let remembered = String::from_utf8_lossy(&remembered.stdout).into_owned();
    assert!(!["rtt", "cwnd", "ssthresh"].iter().any(|metric| remembered.contains(metric)), "{remembered}");
}

#[test]
fn a_tcp_that_linux_does_not_speak_is_refused_by_name() {
    if !permitted() {
        return;
    }
    for (wrong, told) in [
        (
            "tcp.first_ack=delayed",
            "tcp.first_ack = \"delayed\": Linux acknowledges a connection's first segments at once; \
                                   \"immediate\" is accepted",
        ),
        ("tcp.mss=1449", "tcp.mss = 1449: emulated packets have at most 1500 B; at most 1448 is accepted"),
    ] {
        let refused = Testbed::start(&scenario(&[wrong])).expect_err("Linux cannot");
        assert!(matches!(refused, EmuError::Tcp { .. }), "{refused}");
        assert_eq!(refused.to_string(), format!("this kernel's TCP cannot have {told}"));
    }
}

#[test]
fn receive_window_is_the_scenarios() {
    for window in [Bytes::kib(16), Bytes::new(65_535), Bytes::kib(256)] {
        let Some(testbed) = testbed(&[&format!("tcp.max_window={window}")]) else { return };
        let sent = usize::try_from(window.get() * 4).expect("a size");
        for ends in [(Host::Server, Host::Client), (Host::Client, Host::Server)] {
            let peer_window = |stream: &TcpStream| ConnectionState::of(stream).expect("TCP_INFO").peer_window;
            let found = transfer(&testbed, ends, vec![0; sent], peer_window).after;
            let packet = Bytes::new(1500);
            assert!(found < window + packet && found + packet > window, "{found} instead of {window}");
        }
    }
}

#[test]
fn windows_are_measured_and_told() {
    let Some(testbed) = testbed(&["tcp.max_window=48 MiB", "tcp.initial_window=4"]) else { return };
    let Windows { initial, segment, advertised } = testbed.windows();
    assert_eq!((initial, segment), (4, Bytes::new(1448)));
    let unit = Bytes::kib(48 << 10).get() >> 15;
    let found = advertised.expect("the scenario bounds it").get();
    assert!(found.abs_diff(Bytes::kib(48 << 10).get()) < unit, "{found}");
    let told = testbed.tcp_settings().expect("settings");
    for (name, value) in [
        ("measured initial window", "4 segments of 1448 B".to_owned()),
        ("measured receive window", format!("{found} B")),
    ] {
        assert!(told.contains(&(name.to_owned(), value)), "{name}: {told:?}");
    }
    assert_eq!(crate::testbed(&[]).expect("a testbed").windows().advertised, None, "autotuning decides");
}

#[test]
fn autotuning_ends_at_the_buffer_of_the_scenario() {
    let largest_window = |assignments: &[&str]| {
        let testbed = testbed(&[&["link.down.rate=unlimited", "link.up.rate=unlimited"], assignments].concat())?;
        let window = |stream: &TcpStream| ConnectionState::of(stream).expect("a TCP connection").peer_window;
        Some(transfer(&testbed, (Host::Server, Host::Client), vec![1; 4_000_000], window).after)
    };
    let Some(tuned) = largest_window(&[]) else { return };
    let Some(bounded) = largest_window(&["tcp.receive_buffer=64 KiB"]) else { return };
    // The window is between half of the buffer and all of it, as packets need memory of their own.
    assert!(bounded <= Bytes::kib(64) && bounded > Bytes::kib(16), "{bounded}");
    assert!(tuned > Bytes::kib(200), "{tuned}");
}
