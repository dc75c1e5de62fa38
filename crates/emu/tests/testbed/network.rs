//! Delays, names, packets.

use crate::{RECKONED, at, scenario, testbed, transfer};
use farhop_emu::{Clock, Host, Testbed};
use farhop_link::replay::Input;
use farhop_units::Bytes;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::Duration;

/// A small datagram there and back.
fn round_trip(testbed: &Testbed, from: Host, to: Host) -> Duration {
    let address = SocketAddr::from((testbed.address(to), 0));
    let echo = at(testbed, to, move || UdpSocket::bind(address).expect("a free port"));
    let address = echo.local_addr().expect("bound");
    let answering = std::thread::spawn(move || {
        let mut datagram = [0; 64];
        let (length, peer) = echo.recv_from(&mut datagram).expect("a datagram");
        echo.send_to(&datagram[..length], peer).expect("the way back");
    });
    let clock: Clock = testbed.clock();
    let span = at(testbed, from, move || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let sent = clock.now();
        socket.send_to(&[1; 32], address).expect("the way there");
        socket.recv(&mut [0; 64]).expect("an answer within 10 s");
        clock.now() - sent
    });
    answering.join().expect("no panic in the echo");
    span
}

fn assert_about(span: Duration, expected: Duration) {
    assert!(span + RECKONED >= expected, "{span:?} is faster than the link, {expected:?}");
    assert!(span < expected + Duration::from_millis(300), "{span:?} instead of {expected:?}");
}

#[test]
fn round_trip_is_the_scenarios() {
    let Some(testbed) = testbed(&["link.down.delay=120ms", "link.up.delay=30ms"]) else { return };
    assert_about(round_trip(&testbed, Host::Client, Host::Server), Duration::from_millis(150));
    assert_about(round_trip(&testbed, Host::Server, Host::Client), Duration::from_millis(150));
    assert_about(round_trip(&testbed, Host::Terminal, Host::Gateway), Duration::from_millis(150));
    assert_about(round_trip(&testbed, Host::Client, Host::Terminal), Duration::ZERO);
    assert_about(round_trip(&testbed, Host::Gateway, Host::Server), Duration::ZERO);
}

#[test]
fn lan_and_wan_are_emulated_where_they_have_delays() {
    let Some(testbed) = testbed(&["lan.delay=20ms", "wan.delay=70ms"]) else { return };
    assert_about(round_trip(&testbed, Host::Client, Host::Terminal), Duration::from_millis(40));
    assert_about(round_trip(&testbed, Host::Gateway, Host::Server), Duration::from_millis(140));
    assert_about(round_trip(&testbed, Host::Client, Host::Server), Duration::from_millis(40 + 20 + 140));
}

#[test]
fn two_testbeds_do_not_meet() {
    let Some(near) = testbed(&["link.down.delay=10ms", "link.up.delay=10ms"]) else { return };
    let far = Testbed::start(&scenario(&["link.down.delay=300ms", "link.up.delay=300ms"])).expect("a second testbed");
    assert_ne!(near.host(Host::Client).name(), far.host(Host::Client).name());
    assert_about(round_trip(&far, Host::Client, Host::Server), Duration::from_millis(600));
    assert_about(round_trip(&near, Host::Client, Host::Server), Duration::from_millis(20));
    drop(far);
    assert_about(round_trip(&near, Host::Client, Host::Server), Duration::from_millis(20));
}

#[test]
fn names_resolve_inside_everywhere() {
    let Some(testbed) = testbed(&[]) else { return };
    for host in Host::ALL {
        for name in Host::ALL {
            let found =
                at(&testbed, host, move || (name.name(), 80).to_socket_addrs().map(Iterator::collect::<Vec<_>>));
            let found = found.expect("the name resolves");
            assert!(found.iter().any(|address| address.ip() == IpAddr::V4(testbed.address(name))), "{name} at {host}");
        }
    }
}

#[test]
fn directory_and_names_are_there_for_commands() {
    let Some(testbed) = testbed(&[]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = testbed.host(Host::Terminal).command("sh");
    let output = command.args(["-c", "pwd; cat /etc/hosts"]).current_dir(&directory).output().expect("sh runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().next(), directory.path().to_str());
    assert!(text.contains(&format!("{} server\n", testbed.address(Host::Server))), "{text}");
}

#[test]
fn packets_enter_the_link_as_they_are_on_the_wire() {
    let Some(testbed) = testbed(&[]) else { return };
    // TCP hands the network card up to 64 kB at once where the card cuts them; the link must see them cut.
    let sent: Vec<u8> = (0..2_000_000_u32).map(|number| (number % 251) as u8).collect();
    let received = transfer(&testbed, (Host::Server, Host::Client), sent.clone(), |_| ()).received;
    assert!(received == sent, "the bytes changed on the way");
    let link = testbed.stop().expect("a record").link.expect("a packet log");
    let sizes = link.inputs.iter().map(|input| match input {
        Input::Arrival { packet, .. } => packet.bytes,
        Input::Change { .. } => Bytes::ZERO,
    });
    assert_eq!(sizes.max(), Some(Bytes::new(1500)));
}
