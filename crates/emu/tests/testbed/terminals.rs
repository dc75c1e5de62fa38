//! Several terminals behind one gateway, and both families of addresses.

use crate::{at, permitted, scenario, testbed};
use farhop_emu::{EmuError, Host, Namespace, Testbed};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};

/// Sends a word from one place to the other and back.
fn say_hello(from: &Namespace, to: (&Namespace, IpAddr)) {
    let address = SocketAddr::from((to.1, 0));
    let listener = to.0.spawn("listener", move || TcpListener::bind(address).expect("a free port"));
    let listener = listener.join().expect("no panic");
    let address = listener.local_addr().expect("bound");
    let caller = from.spawn("caller", move || {
        let mut stream = TcpStream::connect(address).expect("somebody listens");
        stream.write_all(b"hello").expect("it is read");
        stream.read_exact(&mut [0; 5]).expect("an answer");
    });
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut word = [0; 5];
    stream.read_exact(&mut word).expect("a word");
    stream.write_all(&word).expect("it is read");
    caller.join().expect("no panic in the caller");
}

#[test]
fn every_client_meets_the_server_and_the_other_clients() {
    let Some(testbed) = testbed(&["access.terminals=3"]) else { return };
    assert_eq!(testbed.terminals(), 3);
    let server = testbed.host(Host::Server);
    let both: [IpAddr; 2] = [testbed.address(Host::Server).into(), testbed.address6(Host::Server).into()];
    for number in 0..3 {
        let client = testbed.client(number).expect("a client");
        let (v4, v6) = testbed.client_addresses(number).expect("its addresses");
        for address in both {
            say_hello(client, (server, address));
        }
        for address in [v4.into(), v6.into()] {
            say_hello(server, (client, address));
            say_hello(testbed.client((number + 1) % 3).expect("another client"), (client, address));
        }
    }
    assert!(testbed.client(3).is_none() && testbed.terminal(3).is_none() && testbed.client_addresses(3).is_none());
}

#[test]
fn clients_have_names() {
    let Some(testbed) = testbed(&["access.terminals=2"]) else { return };
    let second = testbed.client(1).expect("two clients");
    assert_eq!(second.name(), format!("{}-2", testbed.host(Host::Client).name()));
    let (v4, v6) = testbed.client_addresses(1).expect("two clients");
    let found = at(&testbed, Host::Server, || ("client-2", 80).to_socket_addrs().map(Iterator::collect::<Vec<_>>));
    let found: Vec<IpAddr> = found.expect("the name resolves").iter().map(SocketAddr::ip).collect();
    assert_eq!(found, [IpAddr::V4(v4), IpAddr::V6(v6)], "both families, the older first");
    let output = second.command("ip").args(["-brief", "address", "show", "dev", "lan"]).output().expect("ip runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains(&v4.to_string()));
}

#[test]
fn nothing_but_what_programs_send_is_on_the_link() {
    let Some(testbed) = testbed(&["access.terminals=2"]) else { return };
    // The kernel would solicit routers and report groups within a second or two of a device coming up.
    let waiting = at(&testbed, Host::Server, || {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(std::time::Duration::from_secs(3))).expect("a timeout");
        socket.recv(&mut [0]).is_err()
    });
    assert!(waiting);
    let link = testbed.stop().expect("a record").link.expect("a packet log");
    assert_eq!(link.inputs, []);
}

#[test]
fn lans_are_emulated_one_by_one() {
    let Some(testbed) = testbed(&["access.terminals=2", "lan.delay=20ms"]) else { return };
    for number in 0..2 {
        let (v4, v6) = testbed.client_addresses(number).expect("its addresses");
        for address in [v4.into(), v6.into()] {
            let terminal = testbed.terminal(number).expect("a terminal");
            let clock = testbed.clock();
            let before = clock.now();
            say_hello(terminal, (testbed.client(number).expect("a client"), address));
            // A handshake and a word: two round trips.
            assert!(clock.now() - before >= std::time::Duration::from_millis(80));
        }
    }
}

#[test]
fn a_hundred_and_twenty_eight_terminals_at_once() {
    let Some(testbed) = testbed(&["access.terminals=128"]) else { return };
    let last = testbed.client(127).expect("the last client");
    assert!(last.name().ends_with("-client-128"), "{}", last.name());
    say_hello(last, (testbed.host(Host::Server), testbed.address(Host::Server).into()));
    let (_, v6) = testbed.client_addresses(127).expect("its addresses");
    say_hello(testbed.host(Host::Server), (last, v6.into()));
}

#[test]
fn more_terminals_than_addresses_are_refused() {
    if permitted() {
        let refused = Testbed::start(&scenario(&["access.terminals=1001"])).expect_err("too many");
        assert!(matches!(refused, EmuError::Terminals { wanted: 1001 }), "{refused}");
        assert_eq!(refused.to_string(), "cannot emulate 1001 terminals; 1 to 1000 are accepted");
    }
}

#[test]
fn packet_sockets_stand_in_for_tun_devices() {
    if permitted() {
        let covered = std::thread::spawn(|| {
            cover("/dev/net/tun");
            let testbed = Testbed::start(&scenario(&["access.terminals=2"])).expect("a testbed");
            let second = testbed.client(1).expect("two clients");
            for address in [testbed.address(Host::Server).into(), testbed.address6(Host::Server).into()] {
                say_hello(second, (testbed.host(Host::Server), address));
            }
            let mut command = testbed.terminal(1).expect("two terminals").command("ip");
            assert!(command.args(["link", "show", "far-link"]).status().expect("ip runs").success());
        });
        covered.join().expect("no panic");
    }
}

/// Hides a file from the calling thread.
fn cover(file: &str) {
    use nix::mount::{MsFlags, mount};
    let (none, own) = (None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE);
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).expect("permitted");
    mount(none, "/", none, own, none).expect("mounts of its own");
    mount(Some("/dev/null"), file, none, MsFlags::MS_BIND, none).expect("a bind mount");
}
