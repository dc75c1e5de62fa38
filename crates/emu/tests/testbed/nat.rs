//! The way out: what the inside reaches, what it looks like from there, and that nothing of it stays.

use crate::outside::{HOST, HOST6, INTERNET, INTERNET6, devices, forwarding, resolve, upload, who_am_i, with_internet};
use crate::{RECKONED, at, permitted, scenario};
use farhop_emu::{Host, Options, Testbed};
use std::net::{IpAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

fn with_a_way_out(assignments: &[&str]) -> Testbed {
    Testbed::start_with(&scenario(assignments), &Options { nat: true, ..Options::default() }).expect("a testbed")
}

#[test]
fn the_inside_reaches_the_hosts_network_by_the_hosts_address() {
    if permitted() {
        with_internet(|| {
            let before = (forwarding(), devices());
            let testbed = with_a_way_out(&["access.terminals=2"]);
            let dns = testbed.outer_dns().expect("a relay");
            for host in Host::ALL {
                assert_eq!(at(&testbed, host, || who_am_i(INTERNET)), IpAddr::V4(HOST), "{host}");
                assert_eq!(at(&testbed, host, || who_am_i(INTERNET6)), IpAddr::V6(HOST6), "{host}");
                assert_eq!(at(&testbed, host, move || resolve(dns)), [b"id? yes", b"id? yes"], "{host}");
            }
            // More than a queue of packets that are too large for the host's network and must be told so.
            assert_eq!(at(&testbed, Host::Client, || upload(INTERNET, 300_000)), 300_000);
            assert_eq!(at(&testbed, Host::Client, || upload(INTERNET6, 300_000)), 300_000);
            let second = testbed.client(1).expect("two clients");
            assert_eq!(second.spawn("second", || who_am_i(INTERNET)).join().expect("no panic"), IpAddr::V4(HOST));
            let inside = at(&testbed, Host::Client, || std::fs::read_to_string("/etc/resolv.conf").expect("a file"));
            assert_eq!(inside.lines().next(), Some(&*format!("nameserver {}", dns.ip())));
            assert_ne!((forwarding(), devices()), before);
            testbed.stop().expect("a record");
            assert_eq!((forwarding(), devices()), before);
        });
    }
}

#[test]
fn settings_outside_last_as_long_as_somebody_needs_them() {
    if permitted() {
        with_internet(|| {
            let before = forwarding();
            let (one, other) = (with_a_way_out(&[]), with_a_way_out(&[]));
            let needed = forwarding();
            drop(one);
            assert_eq!(forwarding(), needed);
            assert_eq!(at(&other, Host::Client, || who_am_i(INTERNET)), IpAddr::V4(HOST));
            drop(other);
            assert_eq!(forwarding(), before);
        });
    }
}

/// Starts a testbed at the client of another one, `levels` deep, and runs `test` at the innermost client.
fn nested(levels: u32, test: impl FnOnce(&Testbed) + Send + 'static) {
    let testbed = with_a_way_out(&["link.down.delay=20ms", "link.up.delay=20ms"]);
    if levels == 1 {
        test(&testbed);
    } else {
        testbed.host(Host::Client).spawn("inner", move || nested(levels - 1, test)).join().expect("no panic inside");
    }
}

#[test]
fn emulators_nest_three_deep_and_their_delays_add_up() {
    if permitted() {
        with_internet(|| {
            nested(3, |innermost| {
                let clock = innermost.clock();
                let dns = innermost.outer_dns().expect("a relay");
                at(innermost, Host::Client, move || {
                    let before = clock.now();
                    TcpStream::connect((INTERNET, 7)).expect("the internet answers");
                    let took = clock.now() - before;
                    assert!(took + RECKONED >= Duration::from_millis(3 * 40), "three round trips of 40 ms in {took:?}");
                    assert_eq!(who_am_i(INTERNET), IpAddr::V4(HOST));
                    assert_eq!(who_am_i(INTERNET6), IpAddr::V6(HOST6));
                    assert_eq!(resolve(dns), [b"id? yes", b"id? yes"]);
                });
            });
            assert_eq!(devices().iter().filter(|name| name.starts_with("farhop")).count(), 0);
        });
    }
}

#[test]
fn without_a_way_out_the_outside_cannot_be_reached() {
    if permitted() {
        with_internet(|| {
            let testbed = Testbed::start(&scenario(&[])).expect("a testbed");
            assert_eq!(testbed.outer_dns(), None);
            for internet in [IpAddr::from(INTERNET), IpAddr::from(INTERNET6)] {
                let refused =
                    at(&testbed, Host::Client, move || TcpStream::connect((internet, 7)).expect_err("no way out"));
                // Told at once, not found out by waiting.
                assert_ne!(refused.kind(), std::io::ErrorKind::TimedOut, "{internet}: {refused}");
            }
            assert!(!Path::new("/proc/sys/net/ipv4/conf/farhop1").exists());
        });
    }
}
