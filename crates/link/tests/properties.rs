//! The laws of a channel, on random scripts of arrivals, changes and timers.

use farhop_link::replay::{Input, Recorded, replay};
use farhop_link::{
    Change, Channel, ChannelConfig, Count, Direction, DirectionConfig, DropReason, LossModel, Output, Packet, Port,
    Setting,
};
use farhop_units::{Bytes, Instant, Probability, Rate};
use proptest::prelude::*;
use std::time::Duration;

const SEED: u64 = 11;

/// Runs at the channel's time until nothing is left in it.
fn drain(channel: &mut Channel<Recorded>) {
    while let Some(due) = channel.next_timeout() {
        channel.handle_timeout(due);
    }
}

fn polled(channel: &mut Channel<Recorded>) -> Vec<Output<Recorded>> {
    core::iter::from_fn(|| channel.poll()).collect()
}

fn packet(output: &Output<Recorded>) -> Recorded {
    let (Output::Deliver { packet, .. } | Output::Drop { packet, .. }) = output;
    *packet
}

/// The direction an output belongs to.
fn direction(output: &Output<Recorded>) -> Direction {
    match output {
        Output::Drop { port, .. } => port.direction(),
        Output::Deliver { port: Port::Gateway, .. } => Direction::Up,
        Output::Deliver { port: Port::Terminal(_), .. } => Direction::Down,
    }
}

fn apply(channel: &mut Channel<Recorded>, input: Input) {
    match input {
        Input::Arrival { at, port, id, bytes } => channel.handle_packet(at, port, Recorded { id, bytes }),
        Input::Change { at, change } => channel.reconfigure(at, change),
    }
}

fn at(input: &Input) -> Instant {
    match input {
        Input::Arrival { at, .. } | Input::Change { at, .. } => *at,
    }
}

fn rate() -> impl Strategy<Value = Option<Rate>> {
    let limited = (1_000_000_u64..200_000_000).prop_map(Rate::from_bits_per_second);
    prop_oneof![4 => limited, 1 => Just(None)]
}

fn delay() -> impl Strategy<Value = Duration> {
    prop_oneof![1 => Just(Duration::ZERO), 4 => (0_u64..20_000_000).prop_map(Duration::from_nanos)]
}

fn queue() -> impl Strategy<Value = Option<Bytes>> {
    prop_oneof![1 => Just(None), 4 => (0_u64..20_000).prop_map(|limit| Some(Bytes::new(limit)))]
}

fn loss() -> impl Strategy<Value = LossModel> {
    let bernoulli = (0.0..=1.0).prop_map(|p| LossModel::Bernoulli(Probability::new(p).expect("from 0 to 1")));
    prop_oneof![Just(LossModel::None), bernoulli]
}

fn way() -> impl Strategy<Value = DirectionConfig> {
    (rate(), delay(), queue(), loss()).prop_map(|(rate, delay, queue, loss)| DirectionConfig {
        rate,
        delay,
        queue,
        loss,
    })
}

fn config() -> impl Strategy<Value = ChannelConfig> {
    (way(), way()).prop_map(|(down, up)| ChannelConfig { down, up })
}

fn size() -> impl Strategy<Value = Bytes> {
    prop_oneof![1 => Just(Bytes::ZERO), 2 => Just(Bytes::new(40)), 6 => (1_u64..=1500).prop_map(Bytes::new)]
}

/// Time between two inputs: none, about one packet's, or long enough to empty a queue.
fn gap() -> impl Strategy<Value = Duration> {
    prop_oneof![1 => Just(0), 6 => 0_u64..400_000, 1 => 0_u64..30_000_000].prop_map(Duration::from_nanos)
}

fn change() -> impl Strategy<Value = Change> {
    let setting = prop_oneof![
        rate().prop_map(Setting::Rate),
        delay().prop_map(Setting::Delay),
        queue().prop_map(Setting::Queue),
        loss().prop_map(Setting::Loss),
    ];
    let direction = prop_oneof![Just(Direction::Down), Just(Direction::Up)];
    (direction, setting).prop_map(|(direction, setting)| Change { direction, setting })
}

/// Arrivals with a change now and then; packets are numbered in order of arrival.
fn script() -> impl Strategy<Value = Vec<Input>> {
    let port = prop_oneof![3 => Just(Port::Gateway), 1 => Just(Port::Terminal(0))];
    let step = (gap(), port, size(), proptest::option::weighted(0.1, change()));
    proptest::collection::vec(step, 1..150).prop_map(|steps| {
        let mut now = Instant::START;
        let steps = steps.into_iter().zip(0..);
        let input = steps.map(|((gap, port, bytes, change), id)| {
            now += gap;
            match change {
                Some(change) => Input::Change { at: now, change },
                None => Input::Arrival { at: now, port, id, bytes },
            }
        });
        input.collect()
    })
}

proptest! {
    #[test]
    fn bytes_in_are_delivered_dropped_or_held_at_every_instant(config in config(), script in script()) {
        let mut channel = Channel::new(config, SEED);
        let mut arrived = [Count::default(); 2];
        let mut outputs = Vec::new();
        for input in script {
            apply(&mut channel, input);
            if let Input::Arrival { port, bytes, .. } = input {
                count(&mut arrived[port.direction() as usize], bytes);
            }
            check_books(&mut channel, arrived, &mut outputs)?;
        }
        while let Some(due) = channel.next_timeout() {
            channel.handle_timeout(due);
            check_books(&mut channel, arrived, &mut outputs)?;
        }
        for direction in Direction::BOTH {
            prop_assert_eq!(channel.held(direction), Bytes::ZERO);
        }
    }

    #[test]
    fn outputs_are_in_order_of_time_then_arrival(config in config(), script in script()) {
        let mut channel = Channel::new(config, SEED);
        for input in script {
            apply(&mut channel, input);
        }
        drain(&mut channel);
        let keys: Vec<_> = polled(&mut channel).iter().map(|output| (output.at(), packet(output).id)).collect();
        prop_assert!(keys.is_sorted(), "{:?}", keys);
    }

    #[test]
    fn nobody_overtakes_within_a_direction(config in config(), script in script()) {
        let mut channel = Channel::new(config, SEED);
        for input in script {
            apply(&mut channel, input);
        }
        drain(&mut channel);
        let delivered = |output: &Output<Recorded>| matches!(output, Output::Deliver { .. });
        let outputs: Vec<_> = polled(&mut channel).into_iter().filter(delivered).collect();
        for way in Direction::BOTH {
            let ids: Vec<_> = outputs.iter().filter(|o| direction(o) == way).map(|o| packet(o).id).collect();
            prop_assert!(ids.is_sorted(), "{:?}: {:?}", way, ids);
        }
    }

    #[test]
    fn outputs_do_not_depend_on_how_late_timers_are_served(
        config in config(),
        script in script(),
        lateness in proptest::collection::vec(proptest::option::of(0_u64..5_000_000), 1..40),
    ) {
        let expected = replay(config.clone(), SEED, script.iter().copied(), Instant::from_nanos(u64::MAX));
        let mut channel = Channel::new(config, SEED);
        let mut outputs = Vec::new();
        let mut lateness = lateness.into_iter().cycle();
        for input in script {
            serve_late(&mut channel, at(&input), &mut lateness);
            apply(&mut channel, input);
            outputs.extend(polled(&mut channel));
        }
        drain(&mut channel);
        outputs.extend(polled(&mut channel));
        prop_assert_eq!(outputs, expected);
    }

    #[test]
    fn outputs_never_lie_in_the_future_nor_come_after_their_timer(config in config(), script in script()) {
        let mut channel = Channel::new(config, SEED);
        for input in script {
            apply(&mut channel, input);
            let due = channel.next_timeout();
            prop_assert!(due.is_none_or(|due| due > channel.now()), "{:?} is over at {}", due, channel.now());
            for output in polled(&mut channel) {
                prop_assert!(output.at() <= channel.now(), "{:?} at {}", output, channel.now());
            }
        }
    }

    #[test]
    fn a_direction_keeps_to_the_closed_form(way in way(), script in script()) {
        let arrivals: Vec<_> = script.into_iter().filter(|input| matches!(input, Input::Arrival { .. })).collect();
        let config = ChannelConfig { down: DirectionConfig { loss: LossModel::None, ..way.clone() }, ..Default::default() };
        let outputs = replay(config, SEED, arrivals.iter().copied(), Instant::from_nanos(u64::MAX));
        let down: Vec<_> = outputs.into_iter().filter(|output| direction(output) == Direction::Down).collect();
        prop_assert_eq!(down, closed_form(&way, &arrivals));
    }

    #[test]
    fn a_change_of_the_link_does_not_change_who_is_lost(way in way(), script in script(), probability in 0.0..=1.0) {
        // Without a limit nothing is dropped at the queue, so that every packet meets the same number.
        let loss = LossModel::Bernoulli(Probability::new(probability).expect("from 0 to 1"));
        let way = DirectionConfig { queue: None, loss, ..way };
        let config = ChannelConfig { down: way.clone(), up: way };
        let keep = |input: &Input| match input {
            Input::Arrival { .. } => true,
            Input::Change { change, .. } => matches!(change.setting, Setting::Rate(_) | Setting::Delay(_)),
        };
        let changing = script.iter().copied().filter(keep);
        let constant = script.iter().copied().filter(|input| matches!(input, Input::Arrival { .. }));
        prop_assert_eq!(lost(config.clone(), changing), lost(config, constant));
    }
}

fn count(count: &mut Count, bytes: Bytes) {
    *count = Count { packets: count.packets + 1, bytes: count.bytes + bytes };
}

/// That the channel's books agree with what went in and what came out, direction by direction.
fn check_books(
    channel: &mut Channel<Recorded>,
    arrived: [Count; 2],
    outputs: &mut Vec<Output<Recorded>>,
) -> Result<(), TestCaseError> {
    outputs.extend(polled(channel));
    for way in Direction::BOTH {
        let (mut delivered, mut dropped) = (Count::default(), Count::default());
        for output in outputs.iter().filter(|output| direction(output) == way) {
            let into = if matches!(output, Output::Deliver { .. }) { &mut delivered } else { &mut dropped };
            count(into, packet(output).bytes);
        }
        let books = channel.counters(way);
        let arrived = arrived[way as usize];
        prop_assert_eq!((books.arrived, books.delivered, books.dropped), (arrived, delivered, dropped));
        let held = arrived.bytes - delivered.bytes - dropped.bytes;
        prop_assert_eq!((channel.held(way), books.held().bytes), (held, held));
        prop_assert_eq!(books.held().packets, arrived.packets - delivered.packets - dropped.packets);
    }
    Ok(())
}

/// Serves each timer due before `until` as late as `lateness` says, or not at all.
fn serve_late(channel: &mut Channel<Recorded>, until: Instant, lateness: &mut impl Iterator<Item = Option<u64>>) {
    while let Some(due) = channel.next_timeout().filter(|due| *due < until) {
        let Some(Some(late)) = lateness.next() else { return };
        channel.handle_timeout((due + Duration::from_nanos(late)).min(until));
    }
}

/// The numbers of the packets that the loss model takes.
fn lost(config: ChannelConfig, inputs: impl Iterator<Item = Input>) -> Vec<u64> {
    let outputs = replay(config, SEED, inputs, Instant::from_nanos(u64::MAX));
    let is_lost = |output: &&Output<Recorded>| matches!(output, Output::Drop { reason: DropReason::Lost, .. });
    let mut ids: Vec<u64> = outputs.iter().filter(is_lost).map(|output| packet(output).id).collect();
    ids.sort_unstable();
    ids
}

/// A packet the closed form let pass: when its service begins, rounded up to the ns.
struct Accepted {
    begin: u128,
    bytes: u64,
}

/// The down direction by Lindley's recursion on exact fractions: service of a packet begins at its arrival or at the end of
/// the one before, whichever is later, and takes 8·bytes/rate. Times are kept in units of 1/rate ns. A packet is dropped
/// if the serializer is busy and the bytes of those whose service has not begun leave no room.
fn closed_form(way: &DirectionConfig, arrivals: &[Input]) -> Vec<Output<Recorded>> {
    let rate = u128::from(way.rate.map_or(1, Rate::bits_per_second));
    let mut accepted: Vec<Accepted> = Vec::new();
    let mut outputs = Vec::new();
    let mut end = 0_u128;
    for input in arrivals {
        let &Input::Arrival { at, port: Port::Gateway, id, bytes } = input else { continue };
        let (packet, now) = (Recorded { id, bytes }, u128::from(at.as_nanos()));
        let waiting: u64 = accepted.iter().filter(|packet| packet.begin > now).map(|packet| packet.bytes).sum();
        let is_busy = end.div_ceil(rate) > now;
        if is_busy && way.queue.is_some_and(|limit| waiting + bytes.get() > limit.get()) {
            outputs.push(Output::Drop { at, port: Port::Gateway, packet, reason: DropReason::QueueFull });
            continue;
        }
        let begin = end.max(now * rate);
        end = begin + way.rate.map_or(0, |_| u128::from(packet.wire_bytes().get()) * 8_000_000_000);
        accepted.push(Accepted { begin: begin.div_ceil(rate), bytes: bytes.get() });
        let done = Instant::from_nanos(u64::try_from(end.div_ceil(rate)).expect("a short script"));
        outputs.push(Output::Deliver { at: done + way.delay, port: Port::Terminal(0), packet });
    }
    outputs.sort_by_key(|output| (output.at(), packet(output).id));
    outputs
}
