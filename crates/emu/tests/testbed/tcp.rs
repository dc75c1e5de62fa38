//! The scenario's TCP is the one that connections inside get.

use crate::{permitted, scenario, testbed, transfer};
use farhop_emu::{ConnectionState, EmuError, Host, Testbed};
use farhop_units::Bytes;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::socket::{getsockopt, sockopt};
use std::fs::File;
use std::net::TcpStream;

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// The machine's list, read when no testbed is just being started.
fn allowed_outside() -> Option<String> {
    let list = Flock::lock(File::open(ALLOWED).ok()?, FlockArg::LockShared).ok()?;
    std::io::read_to_string(&*list).ok()
}

#[test]
fn connections_have_the_scenarios_congestion_control() {
    let before = allowed_outside();
    for congestion in ["cubic", "reno", "bbr"] {
        let Some(testbed) = testbed(&[&format!("tcp.congestion={congestion}")]) else { return };
        let name = |stream: &TcpStream| getsockopt(stream, sockopt::TcpCongestion).expect("a name");
        let found = transfer(&testbed, (Host::Server, Host::Client), Vec::new(), name).before;
        assert_eq!(found.to_string_lossy().trim_end_matches('\0'), congestion);
        let told = ("net.ipv4.tcp_congestion_control".to_owned(), congestion.to_owned());
        assert!(testbed.tcp_settings().expect("settings").contains(&told));
    }
    assert_eq!(allowed_outside(), before, "the machine's own list changed");
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
fn flushing_needs_no_metrics() {
    let Some(testbed) = testbed(&[]) else { return };
    testbed.flush_route_metrics().expect("nothing to flush is no error");
}

#[test]
fn a_tcp_that_linux_does_not_speak_is_refused_by_name() {
    if !permitted() {
        return;
    }
    let refused = Testbed::start(&scenario(&["tcp.first_ack=delayed"])).expect_err("Linux cannot");
    assert!(matches!(refused, EmuError::Tcp { setting: "tcp.first_ack", .. }), "{refused}");
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
