//! Paced UDP with requests for what is missing, over clean, cut and bad links.

use crate::network::{Machine, Network, Pipe};
use farhop_transport::nack::{NackConfig, Packet, Receiver, Sender};
use farhop_transport::{Output, StreamId};
use farhop_units::random::{Dice, Stream};
use farhop_units::{Bytes, Instant, Rate};
use proptest::prelude::*;
use std::time::Duration;

const MS: fn(u64) -> Duration = Duration::from_millis;

/// Either box.
enum Host {
    Prefetching(Sender),
    Storing(Receiver),
}

impl Machine for Host {
    type Packet = Packet;
    fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        match self {
            Self::Prefetching(sender) => sender.handle_packet(now, packet),
            Self::Storing(receiver) => receiver.handle_packet(now, packet),
        }
    }
    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Prefetching(sender) => sender.handle_timeout(now),
            Self::Storing(receiver) => receiver.handle_timeout(now),
        }
    }
    fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::Prefetching(sender) => sender.next_timeout(),
            Self::Storing(receiver) => receiver.next_timeout(),
        }
    }
    fn poll(&mut self) -> Option<Output<Packet>> {
        match self {
            Self::Prefetching(sender) => sender.poll(),
            Self::Storing(receiver) => receiver.poll(),
        }
    }
    fn wire_bytes(packet: &Packet) -> Bytes {
        packet.wire_bytes()
    }
}

fn network(pipes: [Pipe; 2], seed: u64) -> Network<Host> {
    let (sender, receiver) = (Sender::new(NackConfig::default()), Receiver::new(NackConfig::default()));
    Network::new([Host::Prefetching(sender), Host::Storing(receiver)], pipes, Dice::new(Stream::new(seed, 0)))
}

/// The paper's: 100 Mbit/s, 250 ms.
fn wan() -> Pipe {
    Pipe { rate: Some(Rate::mbps(100)), delay: MS(250), ..Pipe::default() }
}

fn send(network: &mut Network<Host>, stream: u32, bytes: Bytes) {
    network.at(1, |host, now| {
        let Host::Storing(receiver) = host else { panic!("the second end stores") };
        receiver.expect(now, StreamId(stream));
    });
    network.at(0, |host, now| {
        let Host::Prefetching(sender) = host else { panic!("the first end prefetches") };
        sender.send(now, StreamId(stream), bytes);
    });
}

fn at(seconds: f64) -> Instant {
    Instant::START + Duration::from_secs_f64(seconds)
}

fn complete(network: &Network<Host>, streams: u32) -> bool {
    (0..streams).all(|stream| network.stream(1, stream).finished)
}

#[test]
fn a_page_takes_a_millisecond_per_packet_and_one_way() {
    let mut network = network([wan(), wan()], 1);
    send(&mut network, 0, Bytes::new(1_849_285));
    assert!(network.run_until(|network| complete(network, 1)));
    let last = Rate::mbps(100).transmission_time(Bytes::new(1_849_285 - 1307 * 1414 + 36));
    assert_eq!(network.now, Instant::START + MS(1307 + 250) + last);
    assert_eq!(network.seen[0].packets_sent, 1308, "the paper's count");
    assert_eq!(network.seen[1].packets_sent, 0, "nothing is missing, nothing is asked for");
}

#[test]
fn a_content_that_takes_longer_than_the_wait_is_not_asked_for_while_it_comes() {
    let mut network = network([wan(), wan()], 1);
    send(&mut network, 0, Bytes::new(6000 * 1414));
    assert!(network.run_until(|network| complete(network, 1)));
    assert_eq!((network.seen[0].packets_sent, network.seen[1].packets_sent), (6000, 0));
}

#[test]
fn a_content_that_waits_for_its_turn_is_not_asked_for() {
    let mut network = network([wan(), wan()], 1);
    send(&mut network, 0, Bytes::new(6000 * 1414));
    send(&mut network, 1, Bytes::new(1414));
    assert!(network.run_until(|network| complete(network, 2)));
    assert_eq!((network.seen[0].packets_sent, network.seen[1].packets_sent), (6001, 0));
}

#[test]
fn what_is_lost_before_the_last_packet_is_asked_for_when_that_arrives() {
    let mut network = network([Pipe { lost_packets: vec![3, 4, 8], ..wan() }, wan()], 1);
    send(&mut network, 0, Bytes::new(20 * 1414));
    assert!(network.run_until(|network| complete(network, 1)));
    // 20 packets, there and back and there, and three packets again.
    let ideal = 0.019 + 0.25 * 3.0 + 0.002;
    let last = network.now.as_secs_f64();
    assert!((ideal..ideal + 0.001).contains(&last), "{last} s");
    assert_eq!((network.seen[0].packets_sent, network.seen[1].packets_sent), (23, 1));
}

#[test]
fn a_cut_cable_costs_the_wait_and_nothing_is_lost() {
    // The paper's test: the contents pass from 2 s on, the cable is cut from 2.3 to 3.3 s.
    let mut network = network([Pipe { cut: Some((at(2.3), at(3.3))), ..wan() }, wan()], 1);
    network.run_to(at(2.0));
    for content in 0..28 {
        send(&mut network, content, Bytes::new(1_849_285 / 28));
    }
    assert!(network.run_until(|network| complete(network, 28)));
    let bytes: Bytes = (0..28).map(|content| network.stream(1, content).bytes).sum();
    assert_eq!(bytes, Bytes::new(1_849_285 / 28 * 28), "100 %");
    // What was cut is asked for 5 s after its last sign of life or announcement, and comes a round trip and its packets later.
    let last = network.now.as_secs_f64();
    assert!((7.75..9.5).contains(&last), "{last} s");
}

#[test]
fn an_unannounced_content_of_which_nothing_arrives_stays_unknown() {
    let mut network = network([Pipe { lost_packets: vec![0, 1], ..wan() }, wan()], 1);
    network.at(0, |host, now| {
        let Host::Prefetching(sender) = host else { panic!("the first end prefetches") };
        sender.send(now, StreamId(0), Bytes::new(2000));
    });
    assert!(!network.run_until(|network| complete(network, 1)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn whatever_the_link_does_every_content_arrives_once_in_order(
        seed: u64, lost in 0_u64..500, doubled in 0_u64..300, spread in 0_u64..400,
        sizes in prop::collection::vec(0_u64..60_000, 1..6),
    ) {
        let bad = || Pipe { spread: MS(spread), lost, doubled, ..wan() };
        let mut network = network([bad(), bad()], seed);
        for (stream, bytes) in (0..).zip(&sizes) {
            send(&mut network, stream, Bytes::new(*bytes));
        }
        let count = u32::try_from(sizes.len()).expect("few");
        prop_assert!(network.run_until(|network| complete(network, count)));
        for (stream, bytes) in (0..).zip(&sizes) {
            prop_assert_eq!(network.stream(1, stream).bytes, Bytes::new(*bytes));
        }
        prop_assert!(!network.run_until(|_| false), "nothing is left to happen");
    }
}
