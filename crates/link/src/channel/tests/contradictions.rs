//! Configurations that cannot be: refused by the check, and harmless if nobody asked it.

use super::micros;
use crate::{Change, Channel, ChannelConfig, Destination, Direction, DirectionConfig, Output, Packet, Port};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// So many bytes for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ForAll(u64);

impl Packet for ForAll {
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(self.0)
    }

    fn destination(&self) -> Destination {
        Destination::All
    }
}

fn shared(access: &str, up: DirectionConfig) -> ChannelConfig {
    ChannelConfig { up, terminals: 2, access: access.parse().unwrap(), ..Default::default() }
}

fn at_rate(rate: Rate) -> DirectionConfig {
    DirectionConfig { rate: Some(rate), ..Default::default() }
}

fn problem(config: &ChannelConfig) -> String {
    config.check().unwrap_err().to_string()
}

/// What is delivered until the channel is empty, in a bounded number of steps.
fn delivered(channel: &mut Channel<ForAll>) -> usize {
    for _ in 0..10_000 {
        let Some(due) = channel.next_timeout() else { break };
        channel.handle_timeout(due);
    }
    core::iter::from_fn(|| channel.poll()).filter(|output| matches!(output, Output::Deliver { .. })).count()
}

#[test]
fn shared_access_that_cannot_work_is_dedicated() {
    for (access, up) in [
        ("tdma", DirectionConfig::default()),
        ("tdma frame=1ms slots=1", at_rate(Rate::mbps(1))),
        ("slotted-aloha slot=10us", at_rate(Rate::kbps(1))),
    ] {
        let config = shared(access, up);
        assert!(config.check().is_err());
        let mut channel = Channel::new(config, 1);
        channel.handle_packet(micros(5), Port::Terminal(1), ForAll(40));
        assert_eq!(delivered(&mut channel), 1, "{access}");
    }
}

#[test]
fn a_channel_without_terminals_has_one() {
    let config = ChannelConfig { terminals: 0, ..Default::default() };
    assert_eq!(problem(&config), "terminals: 0 terminals; accepted: a whole number from 1 to 65535");
    let mut channel = Channel::new(config, 1);
    assert_eq!(channel.config().terminals, 1);
    channel.handle_packet(micros(5), Port::Gateway, ForAll(40));
    assert_eq!(delivered(&mut channel), 1);
}

#[test]
fn the_longest_delays_overflow_nothing() {
    let orbit = Some("geo elevation=35deg".parse().unwrap());
    let way = DirectionConfig { delay: Duration::MAX, orbit, ..at_rate(Rate::kbps(400)) };
    for access in ["dedicated", "aloha-periodic", "slotted-aloha", "cfdama requests=random", "dama"] {
        let mut config = shared(access, way.clone());
        config.down = way.clone();
        assert_eq!(config.rtt(), Duration::MAX);
        let mut channel = Channel::new(config, 1);
        for terminal in [0, 1, 0, 1] {
            channel.handle_packet(micros(5), Port::Terminal(terminal), ForAll(400));
        }
        channel.handle_timeout(micros(10_000_000));
    }
}

#[test]
fn handovers_that_pause_cannot_be_shared() {
    let orbit = |pause: &str| format!("leo altitude=550km elevation=25deg pause={pause}").parse().ok();
    let over = |pause| shared("tdma", DirectionConfig { orbit: orbit(pause), ..at_rate(Rate::mbps(1)) });
    assert_eq!(over("0ms").check(), Ok(()));
    assert_eq!(
        problem(&over("30ms")),
        "access: tdma over an orbit with pauses; accepted: pause=0ms, or dedicated access"
    );
    let alone = ChannelConfig { access: Default::default(), ..over("30ms") };
    assert_eq!(alone.check(), Ok(()));
}

#[test]
fn frames_have_a_least_length() {
    let at_gigabits = |access| problem(&shared(access, at_rate(Rate::mbps(8000))));
    let (frame, slot) = (at_gigabits("cfdama frame=2ns slots=2 field=1B"), at_gigabits("slotted-aloha slot=9us"));
    assert_eq!(frame, "access: frame: 2ns is too short; accepted: at least 10us");
    assert_eq!(slot, "access: slot: 9us is too short; accepted: at least 10us");
    // What follows from the rate is never shorter: half a second of waiting is so many frames at most.
    for access in ["cfdama requests=random slots=2 free=0", "aloha-periodic slots=1", "slotted-aloha", "tdma slots=2"] {
        let mut config = shared(access, at_rate(Rate::from_bits_per_second(u64::MAX).unwrap()));
        config.down.delay = Duration::from_millis(50);
        assert_eq!(config.check(), Ok(()), "{access}");
        let mut channel = Channel::new(config, 1);
        channel.handle_packet(micros(5), Port::Terminal(1), ForAll(40));
        assert_eq!(delivered(&mut channel), 1, "{access}");
    }
}

#[test]
fn a_shared_channel_that_becomes_very_slow_still_carries() {
    for access in ["tdma", "cfdama", "aloha-periodic", "dama"] {
        let mut channel = Channel::new(shared(access, at_rate(Rate::mbps(10_000))), 1);
        let change = Change::parse("up.rate", "1bit/s").unwrap();
        assert_eq!(change.direction, Direction::Up);
        channel.reconfigure(micros(1), change);
        assert_eq!(channel.config().check(), Ok(()), "nothing that the check could refuse");
        channel.handle_packet(micros(100_000), Port::Terminal(1), ForAll(2));
        assert_eq!(delivered(&mut channel), 1, "{access}");
    }
}
