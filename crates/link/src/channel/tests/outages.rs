//! Outages and handovers, seen from outside a channel.

use super::{config, micros, outcomes, with_burst};
use crate::{Change, ChannelConfig, Direction, DropReason, Output, Setting};

/// 100 Mbit/s (120 µs for a full packet), 1 ms, with `outages` on the way down.
fn with_outages(outages: &str) -> ChannelConfig {
    let mut config = config();
    config.down.outages = outages.parse().unwrap();
    config
}

/// As outcomes are told, with the reasons of drops.
fn outcomes_of(outages: &str, packets: u64) -> Vec<(u64, u128, bool)> {
    outcomes(&mut with_burst(with_outages(outages), packets))
}

#[test]
fn what_would_leave_the_serializer_in_an_outage_is_dropped_and_the_queue_keeps_the_rest() {
    // 100 to 500 µs: the first packet ends service in it, the others wait for its end.
    assert_eq!(
        outcomes_of("at windows=100us+400us", 3),
        [(0, 120, false), (1, 500 + 120 + 1000, true), (2, 500 + 240 + 1000, true)]
    );
}

#[test]
fn what_would_arrive_in_an_outage_is_dropped() {
    // The first arrives at 1120 µs, the second at 1240 µs.
    assert_eq!(outcomes_of("at windows=1100us+100us", 3), [(0, 1120, false), (1, 1240, true), (2, 1360, true)]);
}

#[test]
fn an_outage_begins_with_its_first_nanosecond_and_ends_before_its_last() {
    assert_eq!(outcomes_of("at windows=120us+400us", 1), [(0, 120, false)]);
    assert_eq!(outcomes_of("at windows=100us+20us", 1), [(0, 1120, true)]);
}

#[test]
fn a_packet_that_arrives_in_an_outage_waits_for_its_end() {
    assert_eq!(outcomes_of("at windows=0us+300us;400us+100us", 2), [(0, 420, false), (1, 500 + 120 + 1000, true)]);
}

#[test]
fn ending_an_outage_by_hand_lets_packets_go() {
    let mut channel = with_burst(with_outages("at windows=0us+900us"), 1);
    channel.reconfigure(
        micros(200),
        Change { direction: Direction::Down, setting: Setting::Outages("none".parse().unwrap()) },
    );
    assert_eq!(outcomes(&mut channel), [(0, 200 + 120 + 1000, true)]);
}

#[test]
fn a_drop_says_that_it_was_an_outage() {
    let mut channel = with_burst(with_outages("at windows=0us+10us;100us+400us"), 1);
    while let Some(due) = channel.next_timeout() {
        channel.handle_timeout(due);
    }
    assert!(matches!(channel.poll(), Some(Output::Drop { reason: DropReason::Outage, .. })));
}

#[test]
fn a_handover_stops_the_serializer_and_loses_nothing() {
    let mut config = config();
    config.down.delay = std::time::Duration::ZERO;
    config.down.orbit = Some("leo altitude=550km elevation=25deg handover=15s pause=100ms".parse().unwrap());
    let handover = micros(15_000_000);
    let mut channel = crate::Channel::new(config, 1);
    channel.handle_packet(micros(14_999_940), crate::Port::Gateway, super::Datagram(0, 1500));
    channel.handle_timeout(handover);
    let books = channel.counters(Direction::Down);
    assert_eq!((books.in_service.packets, books.dropped.packets), (1, 0));
    // Half of it was sent before the handover, the other half after its pause.
    let [(0, at, true)] = outcomes(&mut channel)[..] else { panic!("one delivery") };
    let path = std::time::Duration::from_micros(u64::try_from(at - 15_100_060).unwrap());
    assert!((3500..8000).contains(&path.as_micros()), "{path:?}");
}
