//! A shared way up, seen from outside a channel. The schemes' own laws are tested beside them.

use super::{Datagram, micros};
use crate::{Change, Channel, ChannelConfig, Direction, DirectionConfig, Output, Port, Setting};
use farhop_units::Rate;
use std::time::Duration;

/// Two terminals on a channel of 1 Mbit/s and 10 ms in frames of 8 ms with two slots, 500 B in each.
fn tdma() -> ChannelConfig {
    let up = DirectionConfig { rate: Some(Rate::mbps(1)), delay: Duration::from_millis(10), ..Default::default() };
    let access = "tdma frame=8ms slots=2".parse().unwrap();
    ChannelConfig { up, terminals: 2, access, ..Default::default() }
}

/// Number of the packet and time in µs of every delivery until the channel is empty.
fn deliveries(channel: &mut Channel<Datagram>) -> Vec<(u64, u128)> {
    while let Some(due) = channel.next_timeout() {
        channel.handle_timeout(due);
    }
    core::iter::from_fn(|| channel.poll())
        .map(|output| match output {
            Output::Deliver { at, packet, .. } => (packet.0, at.since(micros(0)).as_micros()),
            Output::Drop { .. } => panic!("{output:?}"),
        })
        .collect()
}

#[test]
fn a_packet_leaves_with_the_slot_of_its_last_byte() {
    let mut channel = Channel::new(tdma(), 1);
    // Terminal 1 has the second slot of every frame, 4 to 8 ms: 600 B take two of them.
    channel.handle_packet(micros(100), Port::Terminal(1), Datagram(0, 600));
    channel.handle_packet(micros(100), Port::Terminal(0), Datagram(1, 400));
    assert_eq!(deliveries(&mut channel), [(1, 12_000 + 10_000), (0, 16_000 + 10_000)]);
    let slots = channel.access_counters().unwrap();
    assert_eq!(slots.used, 3);
}

#[test]
fn terminals_keep_queues_of_their_own() {
    let mut config = tdma();
    config.up.queue = "1 packets".parse().unwrap();
    let mut channel = Channel::new(config, 1);
    for (terminal, number) in [(0, 0), (0, 1), (1, 2)] {
        channel.handle_packet(micros(100), Port::Terminal(terminal), Datagram(number, 400));
    }
    assert!(matches!(channel.poll(), Some(Output::Drop { packet: Datagram(1, _), .. })));
    assert_eq!(deliveries(&mut channel), [(2, 8_000 + 10_000), (0, 12_000 + 10_000)]);
}

#[test]
fn a_slot_in_an_outage_stays_silent_and_the_packet_waits() {
    let mut config = tdma();
    config.up.outages = "at windows=1ms+20ms".parse().unwrap();
    let mut channel = Channel::new(config, 1);
    channel.handle_packet(micros(100), Port::Terminal(1), Datagram(0, 400));
    // Slots of terminal 1 begin at 4, 12, 20 and 28 ms.
    assert_eq!(deliveries(&mut channel), [(0, 32_000 + 10_000)]);
    assert_eq!(channel.access_counters().unwrap().used, 1, "nothing is sent at 4, 12 and 20 ms");
}

/// Two terminals under slotted Aloha in slots of 1 ms, which know 27 ms after a burst began what became of it.
fn aloha(outages: &str) -> Channel<Datagram> {
    let mut config = tdma();
    config.access = "slotted-aloha slot=1ms".parse().unwrap();
    config.up.delay = Duration::from_millis(13);
    config.down.delay = Duration::from_millis(13);
    config.up.outages = outages.parse().unwrap();
    Channel::new(config, 1)
}

#[test]
fn outages_in_step_with_what_is_known_of_bursts_do_not_silence_a_terminal_for_ever() {
    let mut channel = aloha("periodic first=3ms period=9ms length=4ms");
    for number in 0..20 {
        channel.handle_packet(micros(3_100), Port::Terminal(0), Datagram(number, 100));
    }
    let mut steps = 0;
    while let Some(due) = channel.next_timeout() {
        channel.handle_timeout(due);
        steps += 1;
        assert!(steps < 1000, "no end at {due}: {:?}", channel.access_counters());
    }
    assert_eq!(channel.access_counters().unwrap().used, 16, "2000 B in slots of 125 B");
}

#[test]
fn nobody_collides_in_an_outage() {
    let mut channel = aloha("at windows=1ms+20ms");
    for terminal in [0, 1] {
        channel.handle_packet(micros(1_100), Port::Terminal(terminal), Datagram(terminal.into(), 100));
    }
    channel.handle_timeout(micros(20_900));
    let slots = channel.access_counters().unwrap();
    assert_eq!((slots.used, slots.collisions), (0, 0));
    assert_eq!(deliveries(&mut channel).len(), 2);
}

#[test]
fn nothing_is_asked_for_during_an_outage() {
    let mut config = tdma();
    config.access = "cfdama requests=pre-assigned frame=8ms slots=2 request-slots=1".parse().unwrap();
    config.up.outages = "at windows=1ms+500ms".parse().unwrap();
    let mut channel = Channel::new(config, 1);
    channel.handle_packet(micros(100), Port::Terminal(1), Datagram(0, 4000));
    channel.handle_timeout(micros(30_000));
    channel.handle_packet(micros(30_000), Port::Terminal(1), Datagram(1, 4000));
    let before = channel.access_counters().unwrap();
    channel.handle_timeout(micros(500_000));
    let after = channel.access_counters().unwrap();
    assert_eq!((after.requests, after.used), (before.requests, before.used));
    assert_eq!(deliveries(&mut channel).len(), 2);
}

#[test]
fn redundancy_fills_slots_and_a_change_of_it_is_noticed() {
    let mut config = tdma();
    config.up.framing = "redundancy=2/1".parse().unwrap();
    let mut channel = Channel::new(config.clone(), 1);
    channel.handle_packet(micros(100), Port::Terminal(1), Datagram(0, 400));
    assert_eq!(deliveries(&mut channel), [(0, 16_000 + 10_000)]);
    let mut channel = Channel::new(config, 1);
    channel.handle_packet(micros(100), Port::Terminal(1), Datagram(0, 400));
    channel
        .reconfigure(micros(200), Change { direction: Direction::Up, setting: Setting::Framing(Default::default()) });
    assert_eq!(deliveries(&mut channel), [(0, 8_000 + 10_000)]);
}

#[test]
fn a_slot_that_follows_from_the_rate_follows_a_new_one() {
    let mut config = tdma();
    config.access = "slotted-aloha".parse().unwrap();
    let mut channel = Channel::new(config, 1);
    let rate = Change { direction: Direction::Up, setting: Setting::Rate(Some(Rate::kbps(100))) };
    channel.reconfigure(micros(100), rate);
    channel.handle_packet(micros(13_000), Port::Terminal(0), Datagram(0, 1500));
    // The slot of 12 ms in which the rate changed is over; those of 120 ms begin with the next.
    assert_eq!(deliveries(&mut channel), [(0, 12_000 + 2 * 120_000 + 10_000)]);
    assert_eq!(channel.access_counters().unwrap().used, 1, "a full packet fits");
}
