use super::*;
use crate::{DirectionConfig, DropReason, LossModel, QueueLimit, Setting};
use farhop_units::{Probability, Rate};
use std::time::Duration;

mod access;
mod contradictions;
mod outages;
mod shared;

/// A packet of a number and a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Datagram(u64, u64);

impl Packet for Datagram {
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(self.1)
    }
}

fn micros(count: u64) -> Instant {
    Instant::START + Duration::from_micros(count)
}

/// 100 Mbit/s (120 µs for a full packet), 1 ms, room for two full packets, down only.
fn config() -> ChannelConfig {
    let (rate, delay, queue) = (Some(Rate::mbps(100)), Duration::from_millis(1), QueueLimit::Bytes(Bytes::new(3000)));
    ChannelConfig { down: DirectionConfig { rate, delay, queue, ..Default::default() }, ..Default::default() }
}

/// A channel with full packets 0, 1, 2, … that entered together at the start.
fn with_burst(config: ChannelConfig, packets: u64) -> Channel<Datagram> {
    let mut channel = Channel::new(config, 1);
    for number in 0..packets {
        channel.handle_packet(Instant::START, Port::Gateway, Datagram(number, 1500));
    }
    channel
}

/// Number of the packet, time in µs and whether it was delivered, of everything that happens until the channel is empty.
fn outcomes(channel: &mut Channel<Datagram>) -> Vec<(u64, u128, bool)> {
    while let Some(due) = channel.next_timeout() {
        channel.handle_timeout(due);
    }
    let outcome = |output: Output<Datagram>| match output {
        Output::Deliver { at, packet, .. } => (packet.0, at.since(Instant::START).as_micros(), true),
        Output::Drop { at, packet, .. } => (packet.0, at.since(Instant::START).as_micros(), false),
    };
    core::iter::from_fn(|| channel.poll()).map(outcome).collect()
}

#[test]
fn a_burst_leaves_at_the_rate_after_the_delay() {
    let mut channel = with_burst(config(), 3);
    assert_eq!(outcomes(&mut channel), [(0, 1120, true), (1, 1240, true), (2, 1360, true)]);
}

#[test]
fn the_queue_excludes_the_packet_in_service() {
    // One in service, two waiting: the fourth is dropped as it arrives.
    let mut channel = with_burst(config(), 4);
    let dropped = Output::Drop {
        at: Instant::START,
        port: Port::Gateway,
        packet: Datagram(3, 1500),
        reason: DropReason::QueueFull,
    };
    assert_eq!(channel.poll(), Some(dropped));
    assert_eq!(channel.poll(), None);
    let books = channel.counters(Direction::Down);
    assert_eq!((books.queued.bytes, books.in_service.bytes), (Bytes::new(3000), Bytes::new(1500)));
}

#[test]
fn the_queue_excludes_packets_in_flight() {
    let mut channel = with_burst(config(), 3);
    channel.handle_timeout(micros(360));
    assert_eq!(channel.counters(Direction::Down).in_flight.packets, 3);
    for number in 3..6 {
        channel.handle_packet(micros(360), Port::Gateway, Datagram(number, 1500));
    }
    assert_eq!(channel.poll(), None, "nothing is dropped");
}

#[test]
fn room_is_made_at_the_very_nanosecond_service_ends() {
    let arrival = |nanos| {
        let mut channel = with_burst(config(), 3);
        channel.handle_packet(Instant::from_nanos(nanos), Port::Gateway, Datagram(3, 1500));
        channel.poll().is_none()
    };
    assert!(!arrival(119_999), "one in service, two waiting");
    assert!(arrival(120_000), "the second has begun");
}

#[test]
fn without_a_queue_an_idle_serializer_still_takes_a_packet() {
    let mut config = config();
    config.down.queue = QueueLimit::Bytes(Bytes::ZERO);
    let mut channel = with_burst(config, 2);
    assert_eq!(outcomes(&mut channel), [(1, 0, false), (0, 1120, true)]);
}

#[test]
fn a_transparent_channel_delivers_within_the_call() {
    let mut channel = Channel::new(ChannelConfig::default(), 1);
    channel.handle_packet(micros(5), Port::Terminal(0), Datagram(0, 1500));
    let delivery = Output::Deliver { at: micros(5), port: Port::Gateway, packet: Datagram(0, 1500) };
    assert_eq!(channel.poll(), Some(delivery));
    assert_eq!(channel.next_timeout(), None);
}

#[test]
fn a_late_timer_changes_no_time() {
    let mut channel = with_burst(config(), 3);
    channel.handle_timeout(micros(50_000));
    assert_eq!(outcomes(&mut channel), [(0, 1120, true), (1, 1240, true), (2, 1360, true)]);
}

#[test]
fn time_that_runs_backwards_stands_still() {
    let mut channel = with_burst(config(), 1);
    channel.handle_timeout(micros(2000));
    channel.handle_packet(micros(100), Port::Gateway, Datagram(1, 1500));
    channel.handle_timeout(micros(0));
    assert_eq!(channel.now(), micros(2000));
    assert_eq!(outcomes(&mut channel), [(0, 1120, true), (1, 3120, true)]);
}

#[test]
fn timers_name_every_step_that_can_be_seen_and_no_other() {
    let timers = |settings: &[(&str, &str)]| {
        let mut config = config();
        settings.iter().for_each(|(name, value)| config.set(name, value).unwrap());
        let mut channel = with_burst(config, 2);
        let mut timers = Vec::new();
        while let Some(due) = channel.next_timeout() {
            timers.push(due);
            channel.handle_timeout(due);
        }
        timers
    };
    assert_eq!(timers(&[]), [micros(1120), micros(1240)], "ends of services are nobody's concern");
    // They are where packets may be dropped then.
    let every = [micros(120), micros(240), micros(1120), micros(1240)];
    assert_eq!(timers(&[("down.discipline", "codel")]), every);
    assert_eq!(timers(&[("down.outages", "at windows=9s+1s")]), every);
}

#[test]
fn at_the_same_instant_the_packet_that_arrived_first_is_first() {
    // Up takes 1120 µs and starts 0 µs, down takes 1000 µs and starts 120 µs later; and the other way round.
    for (first, second) in [(Port::Terminal(0), Port::Gateway), (Port::Gateway, Port::Terminal(0))] {
        let mut config = ChannelConfig::default();
        (config.down.delay, config.up.delay) = match first {
            Port::Gateway => (Duration::from_micros(1120), Duration::from_millis(1)),
            Port::Terminal(_) => (Duration::from_millis(1), Duration::from_micros(1120)),
        };
        let mut channel = Channel::new(config, 1);
        channel.handle_packet(micros(0), first, Datagram(0, 40));
        channel.handle_packet(micros(120), second, Datagram(1, 40));
        assert_eq!(outcomes(&mut channel), [(0, 1120, true), (1, 1120, true)]);
    }
}

#[test]
fn directions_do_not_disturb_each_other() {
    let mut both = config();
    both.up = both.down.clone();
    let mut channel = with_burst(both, 3);
    channel.handle_packet(micros(0), Port::Terminal(0), Datagram(9, 40));
    let up: Vec<_> = outcomes(&mut channel).into_iter().filter(|(number, ..)| *number == 9).collect();
    assert_eq!(up, [(9, 1003, true)]);
}

#[test]
fn losses_are_dropped_at_the_end_of_the_pipe() {
    let mut config = config();
    config.down.loss = Probability::new(1.0).map_or(LossModel::None, LossModel::Bernoulli);
    let mut channel = with_burst(config, 1);
    channel.handle_timeout(micros(1119));
    assert_eq!((channel.poll(), channel.held(Direction::Down)), (None, Bytes::new(1500)));
    channel.handle_timeout(micros(1120));
    let (at, packet) = (micros(1120), Datagram(0, 1500));
    assert_eq!(channel.poll(), Some(Output::Drop { at, port: Port::Gateway, packet, reason: DropReason::Lost }));
}

#[test]
fn a_change_first_runs_what_was_due_before_it() {
    let mut channel = with_burst(config(), 3);
    // At 200 µs the first packet is in flight, the second in service, the third waits.
    for setting in [Setting::Rate(Some(Rate::mbps(10))), Setting::Delay(Duration::from_millis(5))] {
        channel.reconfigure(micros(200), Change { direction: Direction::Down, setting });
    }
    assert_eq!(outcomes(&mut channel), [(0, 1120, true), (1, 5240, true), (2, 6440, true)]);
}

#[test]
fn a_smaller_queue_drops_arrivals_only() {
    let mut channel = with_burst(config(), 3);
    let setting = Setting::Queue(QueueLimit::Bytes(Bytes::new(1500)));
    channel.reconfigure(micros(0), Change { direction: Direction::Down, setting });
    channel.handle_packet(micros(10), Port::Gateway, Datagram(3, 40));
    assert_eq!(outcomes(&mut channel), [(3, 10, false), (0, 1120, true), (1, 1240, true), (2, 1360, true)]);
}

#[test]
fn the_end_of_time_is_reached_without_harm() {
    let mut config = config();
    config.down.delay = Duration::MAX;
    let mut channel = with_burst(config, 2);
    let end = Instant::from_nanos(u64::MAX);
    channel.handle_timeout(micros(1000));
    assert_eq!(channel.next_timeout(), Some(end));
    channel.handle_timeout(end);
    assert_eq!(core::iter::from_fn(|| channel.poll()).map(|output| output.at()).collect::<Vec<_>>(), [end, end]);
}
