//! Several terminals behind one gateway.

use super::{config, micros};
use crate::{Channel, ChannelConfig, Destination, Direction, DropReason, Output, Packet, Port};
use farhop_units::Bytes;
use std::time::Duration;

/// A full packet for a terminal, or for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Addressed(Destination);

impl Packet for Addressed {
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(1500)
    }

    fn destination(&self) -> Destination {
        self.0
    }
}

fn to(terminal: u16) -> Addressed {
    Addressed(Destination::Terminal(terminal))
}

/// 100 Mbit/s (120 µs for a full packet) and 1 ms both ways.
fn terminals(count: u16) -> Channel<Addressed> {
    let down = config().down;
    Channel::new(ChannelConfig { up: down.clone(), down, terminals: count, ..Default::default() }, 1)
}

/// Port and time in µs of every delivery until the channel is empty.
fn deliveries(channel: &mut Channel<Addressed>) -> Vec<(Port, u128)> {
    while let Some(due) = channel.next_timeout() {
        channel.handle_timeout(due);
    }
    core::iter::from_fn(|| channel.poll())
        .map(|output| match output {
            Output::Deliver { at, port, .. } => (port, at.since(micros(0)).as_micros()),
            Output::Drop { .. } => panic!("{output:?}"),
        })
        .collect()
}

#[test]
fn all_terminals_share_the_way_down() {
    let mut channel = terminals(3);
    for terminal in [2, 0, 1] {
        channel.handle_packet(micros(0), Port::Gateway, to(terminal));
    }
    let expected = [(Port::Terminal(2), 1120), (Port::Terminal(0), 1240), (Port::Terminal(1), 1360)];
    assert_eq!(deliveries(&mut channel), expected);
}

#[test]
fn with_dedicated_access_each_terminal_has_the_way_up_to_itself() {
    let mut channel = terminals(3);
    for terminal in [2, 0, 1, 0] {
        channel.handle_packet(micros(0), Port::Terminal(terminal), to(0));
    }
    let times: Vec<_> = deliveries(&mut channel).into_iter().map(|(port, at)| (port == Port::Gateway, at)).collect();
    assert_eq!(times, [(true, 1120), (true, 1120), (true, 1120), (true, 1240)]);
    let mut books = |terminal| channel.counters_of(Port::Terminal(terminal)).unwrap().delivered.packets;
    assert_eq!([books(0), books(1), books(2)], [2, 1, 1]);
    assert_eq!(channel.counters(Direction::Up).delivered.packets, 4);
}

#[test]
fn a_packet_for_all_is_sent_once_and_received_by_each() {
    let mut channel = terminals(3);
    channel.handle_packet(micros(0), Port::Gateway, Addressed(Destination::All));
    channel.handle_packet(micros(0), Port::Gateway, to(1));
    let expected = [0, 1, 2].map(|terminal| (Port::Terminal(terminal), 1120));
    assert_eq!(deliveries(&mut channel), [&expected[..], &[(Port::Terminal(1), 1240)]].concat());
    let books = channel.counters(Direction::Down);
    assert_eq!((books.arrived.packets, books.duplicated.packets, books.delivered.packets), (2, 2, 4));
}

#[test]
fn a_packet_for_nobody_is_dropped_as_it_enters() {
    let mut channel = terminals(2);
    for (port, packet) in [(Port::Gateway, to(2)), (Port::Terminal(7), to(0))] {
        channel.handle_packet(micros(5), port, packet);
        let drop = Output::Drop { at: micros(5), port, packet, reason: DropReason::NoTerminal };
        assert_eq!(channel.poll(), Some(drop));
    }
    for direction in Direction::BOTH {
        let books = channel.counters(direction);
        assert_eq!((books.arrived, books.held().packets), (books.dropped, 0));
    }
}

#[test]
fn a_change_of_the_way_up_is_every_terminals() {
    let mut channel = terminals(2);
    let change = crate::Change { direction: Direction::Up, setting: crate::Setting::Delay(Duration::from_millis(3)) };
    channel.reconfigure(micros(0), change);
    assert_eq!(channel.config().up.delay, Duration::from_millis(3));
    for terminal in [0, 1] {
        channel.handle_packet(micros(0), Port::Terminal(terminal), to(0));
    }
    let times: Vec<_> = deliveries(&mut channel).into_iter().map(|(_, at)| at).collect();
    assert_eq!(times, [3120, 3120]);
}
