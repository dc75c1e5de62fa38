//! The laws of a channel, on random scripts of arrivals, changes and timers: for every setting, any number of terminals and
//! every scheme of medium access.

use farhop_link::replay::{Input, Recorded, replay};
use farhop_link::{
    Access, Change, Channel, ChannelConfig, Class, Count, Destination, Direction, DirectionConfig, DropReason, Lanes,
    LossModel, Output, Packet, Port, QueueLimit, Setting,
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

fn rate() -> impl Strategy<Value = Option<Rate>> {
    let limited = (1_000_000_u64..200_000_000).prop_map(Rate::from_bits_per_second);
    prop_oneof![4 => limited, 1 => Just(None)]
}

fn delay() -> impl Strategy<Value = Duration> {
    prop_oneof![1 => Just(Duration::ZERO), 4 => (0_u64..20_000_000).prop_map(Duration::from_nanos)]
}

fn queue() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        1 => Just(QueueLimit::Unlimited),
        4 => (0_u64..20_000).prop_map(|limit| QueueLimit::Bytes(Bytes::new(limit))),
        1 => (0_u64..15).prop_map(QueueLimit::Packets),
    ]
}

fn loss() -> impl Strategy<Value = LossModel> {
    let bernoulli = (0.0..=1.0).prop_map(|p| LossModel::Bernoulli(Probability::new(p).expect("from 0 to 1")));
    prop_oneof![Just(LossModel::None), bernoulli]
}

/// The simplest direction: rate, delay, drop-tail queue, independent losses.
fn way() -> impl Strategy<Value = DirectionConfig> {
    (rate(), delay(), queue(), loss()).prop_map(|(rate, delay, queue, loss)| DirectionConfig {
        rate,
        delay,
        queue,
        loss,
        ..DirectionConfig::default()
    })
}

/// Values of the settings that `way` leaves as they are, the default among them.
const OTHER: &[(&str, &[&str])] = &[
    (
        "discipline",
        &[
            "drop-tail",
            "codel target=1ms interval=5ms",
            "codel target=1ms interval=5ms ecn=on",
            "fair-queue quantum=300B",
            "fq-codel quantum=1514B target=1ms interval=5ms ecn=on",
            "priority",
        ],
    ),
    ("orbit", &["none", "geo elevation=35deg", "leo altitude=550km elevation=25deg handover=1s pause=20ms"]),
    ("framing", &["none", "overhead=18B redundancy=16/15"]),
    ("jitter", &["none", "uniform max=3ms", "exponential mean=1ms"]),
    ("reordering", &["none", "probability=0.2 by=4ms"]),
    ("loss", &["none", "0.3", "bit-errors rate=0.0001", "gilbert-elliott enter=0.1 leave=0.3 good=0 bad=1"]),
    (
        "outages",
        // No multiple of a frame: else a terminal that asks for a slot again and again may be granted each within an outage.
        &[
            "none",
            "at windows=1ms+2ms;10ms+5ms",
            "periodic first=3ms period=9.7ms length=4ms",
            "random up=5ms down=3ms",
        ],
    ),
    ("corruption", &["0", "0.3"]),
    ("duplication", &["0", "0.3"]),
];

/// Any value of any setting of `OTHER`.
fn other_setting() -> impl Strategy<Value = Setting> {
    (0..OTHER.len(), 0..100_usize).prop_map(|(which, value)| {
        let (word, values) = OTHER[which];
        let setting = Setting::parse(word, values[value % values.len()]).expect("a known setting");
        setting.expect("a good value")
    })
}

/// Recorded links.
const TRACES: &[&str] = &[
    "opportunities end=repeat length=7ms unit=ms times=0;1;1;3*4;7",
    "opportunities end=hold length=40ms unit=ms times=5*2;12;40*400",
    "steps end=repeat length=9ms at=0ms:20Mbit/s:3ms;2ms:0;4ms:3Mbit/s:1ms",
    "steps end=hold length=9ms at=0ms:1Mbit/s;2ms:0;4ms:3Mbit/s",
];

/// A direction with up to four of the other settings, and now and then with a trace in place of the rate.
fn any_way() -> impl Strategy<Value = DirectionConfig> {
    let trace = proptest::option::weighted(0.2, 0..TRACES.len());
    (way(), proptest::collection::vec(other_setting(), 0..4), trace).prop_map(|(mut way, settings, trace)| {
        settings.into_iter().for_each(|setting| way.apply(setting));
        if let Some(trace) = trace {
            way.rate = None;
            way.trace = Some(TRACES[trace].parse().expect("a good trace"));
        }
        way
    })
}

fn one_terminal() -> impl Strategy<Value = ChannelConfig> {
    (way(), way()).prop_map(|(down, up)| ChannelConfig { down, up, ..ChannelConfig::default() })
}

const TERMINALS: u16 = 4;

/// Schemes, and terms of each of which any number may be given.
const ACCESS: &[(&str, &[&str])] = &[
    ("dedicated", &[]),
    ("tdma", &["frame=3ms", "slots=9"]),
    ("cfdama", &["frame=3ms", "slots=5", "field=7B", "free=2"]),
    ("cfdama requests=pre-assigned", &["frame=3ms", "slots=5", "request-slots=1", "request=3B"]),
    ("cfdama requests=random", &["frame=3ms", "slots=5", "request-slots=1", "backoff=2..9", "free=0"]),
    (
        "aloha-periodic",
        &["frame=3ms", "slots=5", "request-slots=2", "backoff=2", "stream=2", "most=3", "threshold=0B", "timeout=1us"],
    ),
    ("slotted-aloha", &["slot=1ms", "backoff=2..64", "attempts=2"]),
    ("dama", &["frame=3ms", "slots=9", "request-slots=1", "cra=8kbit/s", "rbdc=none", "timeout=1us", "free=2"]),
];

/// A scheme with some of its terms.
fn any_access() -> impl Strategy<Value = Access> {
    (0..ACCESS.len(), any::<[bool; 8]>()).prop_map(|(which, given)| {
        let (scheme, terms) = ACCESS[which];
        let given = terms.iter().zip(given).filter(|(_, given)| *given).map(|(term, _)| *term);
        let text: Vec<&str> = [scheme].into_iter().chain(given).collect();
        text.join(" ").parse().expect("a good scheme")
    })
}

fn any_config() -> impl Strategy<Value = ChannelConfig> {
    (any_way(), any_way(), 1..=TERMINALS, any_access()).prop_map(|(down, up, terminals, access)| {
        let shared = ChannelConfig { down, up, terminals, access };
        // Sharing needs a rate.
        if shared.check().is_ok() { shared } else { ChannelConfig { access: Default::default(), ..shared } }
    })
}

fn size() -> impl Strategy<Value = Bytes> {
    prop_oneof![4 => Just(Bytes::new(40)), 12 => (1_u64..=1500).prop_map(Bytes::new), 1 => (1501_u64..=65_535).prop_map(Bytes::new)]
}

/// Time between two inputs: none, about one packet's, or long enough to empty a queue.
fn gap() -> impl Strategy<Value = Duration> {
    prop_oneof![1 => Just(0), 6 => 0_u64..400_000, 1 => 0_u64..30_000_000].prop_map(Duration::from_nanos)
}

fn simple_setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        rate().prop_map(Setting::Rate),
        delay().prop_map(Setting::Delay),
        queue().prop_map(Setting::Queue),
        loss().prop_map(Setting::Loss),
    ]
}

/// What can happen to a channel: a packet enters at a port, or a setting changes.
fn script_of(
    port: impl Strategy<Value = Port>,
    setting: impl Strategy<Value = Setting>,
) -> impl Strategy<Value = Vec<Input>> {
    let to = prop_oneof![5 => (0..=TERMINALS).prop_map(Destination::Terminal), 1 => Just(Destination::All)];
    let class = prop_oneof![Just(Class::High), Just(Class::Normal), Just(Class::Low)];
    let packet = (size(), to, 0_u64..3, class, any::<bool>());
    let direction = prop_oneof![Just(Direction::Down), Just(Direction::Up)];
    let change = (direction, setting).prop_map(|(direction, setting)| Change { direction, setting });
    let step = (gap(), port, packet, proptest::option::weighted(0.1, change));
    proptest::collection::vec(step, 1..150).prop_map(|steps| {
        let mut at = Instant::START;
        let input = steps.into_iter().zip(0..).map(|((gap, port, packet, change), id)| {
            at += gap;
            let (bytes, destination, flow, class, ecn_capable) = packet;
            let packet = Recorded { destination, flow, class, ecn_capable, ..Recorded::new(id, bytes) };
            change.map_or(Input::Arrival { at, port, packet }, |change| Input::Change { at, change })
        });
        input.collect()
    })
}

/// Arrivals at one terminal and its gateway with a simple change now and then; packets are numbered in order of arrival.
fn script() -> impl Strategy<Value = Vec<Input>> {
    let port = prop_oneof![3 => Just(Port::Gateway), 1 => Just(Port::Terminal(0))];
    let to_the_terminal = |input| match input {
        Input::Arrival { at, port, packet } => {
            Input::Arrival { at, port, packet: Recorded { destination: Destination::Terminal(0), ..packet } }
        }
        change => change,
    };
    script_of(port, simple_setting()).prop_map(move |script| script.into_iter().map(to_the_terminal).collect())
}

/// Arrivals anywhere, also at and for a terminal that does not exist, and changes of every setting.
fn any_script() -> impl Strategy<Value = Vec<Input>> {
    let port = prop_oneof![2 => Just(Port::Gateway), 3 => (0..=TERMINALS).prop_map(Port::Terminal)];
    script_of(port, prop_oneof![simple_setting(), other_setting()])
}

proptest! {
    #[test]
    fn bytes_in_are_delivered_dropped_or_held_at_every_instant(config in any_config(), script in any_script()) {
        let mut channel = Channel::new(config, SEED);
        let mut arrived = [Count::default(); 2];
        let mut outputs = Vec::new();
        for input in script {
            if let Input::Arrival { port, packet, .. } = &input {
                count(&mut arrived[port.direction() as usize], packet.bytes);
            }
            channel.handle_input(input);
            check_books(&mut channel, arrived, &mut outputs)?;
        }
        let mut steps = 0;
        while let Some(due) = channel.next_timeout() {
            channel.handle_timeout(due);
            steps += 1;
            prop_assert!(steps < 1_000_000, "no end at {}: {:?}", due, channel.access_counters());
        }
        check_books(&mut channel, arrived, &mut outputs)?;
        for direction in Direction::BOTH {
            prop_assert_eq!(channel.held(direction), Bytes::ZERO);
        }
    }

    #[test]
    fn outputs_are_in_order_of_time(config in any_config(), script in any_script()) {
        let outputs = replay(config, SEED, script, Instant::from_nanos(u64::MAX));
        prop_assert!(outputs.iter().map(Output::at).is_sorted(), "{:?}", outputs);
    }

    #[test]
    fn at_one_instant_what_arrived_first_comes_out_first(config in one_terminal(), script in script()) {
        let mut channel = Channel::new(config, SEED);
        for input in script {
            channel.handle_input(input);
        }
        drain(&mut channel);
        let keys: Vec<_> = polled(&mut channel).iter().map(|output| (output.at(), packet(output).id)).collect();
        prop_assert!(keys.is_sorted(), "{:?}", keys);
    }

    #[test]
    fn nobody_overtakes_on_the_way_without_reordering(config in any_config(), script in any_script()) {
        let keeps_order = |way: &DirectionConfig| way.reordering == Default::default();
        prop_assume!(keeps_order(&config.down) && keeps_order(&config.up));
        let reorders = |input: &Input| matches!(input, Input::Change { change, .. } if matches!(change.setting, Setting::Reordering(_)));
        let script: Vec<_> = script.into_iter().filter(|input| !reorders(input)).collect();
        let entries = entries(&script);
        let outputs = replay(config, SEED, script, Instant::from_nanos(u64::MAX));
        let is_delivered = |output: &&Output<Recorded>| matches!(output, Output::Deliver { .. });
        // Every discipline keeps the order within one flow of one class; a packet entered where its terminal or the gateway is.
        let mut last = std::collections::BTreeMap::new();
        for output in outputs.iter().filter(is_delivered) {
            let (Output::Deliver { port, packet, .. } | Output::Drop { port, packet, .. }) = output;
            let entered = entries[&packet.id];
            let before = last.insert((*port, entered, packet.flow, packet.class), packet.id);
            prop_assert!(before.is_none_or(|before| before <= packet.id), "{} after {:?}", packet.id, before);
        }
    }

    #[test]
    fn outputs_do_not_depend_on_how_late_timers_are_served(
        config in any_config(),
        script in any_script(),
        lateness in proptest::collection::vec(proptest::option::of(0_u64..5_000_000), 1..40),
    ) {
        let expected = replay(config.clone(), SEED, script.iter().cloned(), Instant::from_nanos(u64::MAX));
        let mut channel = Channel::new(config, SEED);
        let mut outputs = Vec::new();
        let mut lateness = lateness.into_iter().cycle();
        for input in script {
            serve_late(&mut channel, input.at(), &mut lateness);
            channel.handle_input(input);
            outputs.extend(polled(&mut channel));
        }
        drain(&mut channel);
        outputs.extend(polled(&mut channel));
        prop_assert_eq!(outputs, expected);
    }

    #[test]
    fn no_output_comes_before_its_timer(config in any_config(), script in any_script()) {
        let expected = replay(config.clone(), SEED, script.iter().cloned(), Instant::from_nanos(u64::MAX));
        let mut channel = Channel::new(config, SEED);
        let mut outputs = Vec::new();
        let end = Instant::from_nanos(u64::MAX);
        for (until, input) in script.into_iter().map(|input| (input.at(), Some(input))).chain([(end, None)]) {
            while let Some(due) = channel.next_timeout().filter(|due| *due < until || input.is_none()) {
                prop_assert!(due > channel.now() || due == end);
                channel.handle_timeout(due);
                let new = polled(&mut channel);
                prop_assert!(new.iter().all(|output| output.at() == due), "{:?} at {}", new, due);
                outputs.extend(new);
            }
            input.into_iter().for_each(|input| channel.handle_input(input));
            outputs.extend(polled(&mut channel));
        }
        prop_assert_eq!(outputs, expected);
    }

    #[test]
    fn outputs_never_lie_in_the_future_nor_come_after_their_timer(config in any_config(), script in any_script()) {
        let mut channel = Channel::new(config, SEED);
        for input in script {
            channel.handle_input(input);
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
        let outputs = replay(config, SEED, arrivals.iter().cloned(), Instant::from_nanos(u64::MAX));
        let down: Vec<_> = outputs.into_iter().filter(|output| direction(output) == Direction::Down).collect();
        prop_assert_eq!(down, closed_form(&way, &arrivals));
    }

    #[test]
    fn a_lane_does_what_a_channel_does(way in way(), framing in any::<bool>(), script in script()) {
        let text = if framing { "overhead=18B redundancy=16/15" } else { "none" };
        let framing = text.parse().expect("a good framing");
        let down = DirectionConfig { loss: LossModel::None, framing, ..way };
        let lanes = || Lanes::of(&down, 3).expect("no more than a lane");
        let (mut lane, mut plain) = (lanes(), lanes());
        lane.count();
        let mut channel = Channel::new(ChannelConfig { down: down.clone(), ..Default::default() }, SEED);
        let mut fates = Vec::new();
        for input in script {
            let Input::Arrival { at, port: Port::Gateway, packet } = input else { continue };
            channel.handle_packet(at, Port::Gateway, packet);
            let exit = lane.enter(1, at, packet.bytes);
            prop_assert_eq!(exit, plain.enter(2, at, packet.bytes), "whether it counts or not");
            fates.push((exit.unwrap_or(at), packet.id, exit.is_some()));
            let room = channel.queue_room(at, Port::Gateway, Class::Normal);
            prop_assert_eq!(lane.queued(1, at), channel.counters(Direction::Down).queued);
            prop_assert_eq!(lane.room(1, at), room);
            prop_assert_eq!(!lane.is_busy(1, at), channel.is_free(at, Port::Gateway));
            prop_assert_eq!((plain.is_busy(2, at), plain.queued(1, at)), (lane.is_busy(1, at), Count::default()), "others are empty");
        }
        drain(&mut channel);
        let outputs = polled(&mut channel);
        let fate = |output: &Output<Recorded>| (output.at(), packet(output).id, matches!(output, Output::Deliver { .. }));
        fates.sort_unstable();
        prop_assert_eq!(outputs.iter().map(fate).collect::<Vec<_>>(), fates);
    }

    #[test]
    fn a_change_of_the_link_does_not_change_who_is_lost(way in way(), script in script(), probability in 0.0..=1.0) {
        // Without a limit nothing is dropped at the queue, so that every packet meets the same number.
        let loss = LossModel::Bernoulli(Probability::new(probability).expect("from 0 to 1"));
        let way = DirectionConfig { queue: QueueLimit::Unlimited, loss, ..way };
        let config = ChannelConfig { down: way.clone(), up: way, ..Default::default() };
        let keep = |input: &Input| match input {
            Input::Arrival { .. } => true,
            Input::Change { change, .. } => matches!(change.setting, Setting::Rate(_) | Setting::Delay(_)),
        };
        let changing = script.iter().filter(|input| keep(input)).cloned();
        let constant = script.iter().filter(|input| matches!(input, Input::Arrival { .. })).cloned();
        prop_assert_eq!(lost(config.clone(), changing), lost(config, constant));
    }
}

/// Where each packet entered.
fn entries(script: &[Input]) -> std::collections::BTreeMap<u64, Port> {
    let entry = |input: &Input| match input {
        Input::Arrival { port, packet, .. } => Some((packet.id, *port)),
        Input::Change { .. } => None,
    };
    script.iter().filter_map(entry).collect()
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
        let held = books.held();
        prop_assert_eq!(channel.held(way), held.bytes);
        let (in_bytes, out_bytes) =
            (arrived.bytes + books.duplicated.bytes, delivered.bytes + dropped.bytes + held.bytes);
        prop_assert_eq!(in_bytes, out_bytes);
        let (ins, outs) =
            (arrived.packets + books.duplicated.packets, delivered.packets + dropped.packets + held.packets);
        prop_assert_eq!(ins, outs);
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
        let &Input::Arrival { at, port: Port::Gateway, packet } = input else { continue };
        let (bytes, now) = (packet.bytes, u128::from(at.as_nanos()));
        let waiting: Vec<u64> =
            accepted.iter().filter(|packet| packet.begin > now).map(|packet| packet.bytes).collect();
        let is_busy = end.div_ceil(rate) > now;
        let is_full = match way.queue {
            QueueLimit::Unlimited => false,
            QueueLimit::Bytes(limit) => waiting.iter().sum::<u64>() + bytes.get() > limit.get(),
            QueueLimit::Packets(limit) => waiting.len() as u64 >= limit,
        };
        if is_busy && is_full {
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
