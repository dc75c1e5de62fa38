//! Ways through the network, and the law that no packet appears or disappears.

use super::*;
use crate::meter::Usage;
use crate::scenarios::demo;
use crate::slab::Slab;
use farhop_link::{LossModel, QueueLimit};
use farhop_units::Probability;
use proptest::prelude::*;
use proptest::sample::select;
use std::time::Duration;

const WHOLE: Route = Route { line: Line { terminal: 0, server: 0 }, near: Place::Client, far: Place::Server };

impl Store<u64> for Slab<u64> {
    fn insert(&mut self, packet: u64) -> u32 {
        Slab::insert(self, packet)
    }

    fn release(&mut self, place: u32) {
        Slab::release(self, place);
    }

    fn get(&self, place: u32) -> u64 {
        self[place]
    }

    fn look_at(&self, _place: u32) {}

    fn len(&self) -> usize {
        Slab::len(self)
    }
}

/// A packet of nothing but headers, with a number.
impl Content for u64 {
    type Store = Slab<Self>;

    fn wire_bytes(&self) -> Bytes {
        Bytes::new(52)
    }

    fn is_ecn_capable(&self) -> bool {
        true
    }

    fn mark_congestion(&mut self) {
        *self |= MARKED;
    }
}

/// The bit that a queue's mark sets.
const MARKED: u64 = 1 << 63;

/// For which traffic is measured in intervals.
const MEASURED: Duration = Duration::from_secs(60);

/// A network whose packets are numbers.
struct Net {
    network: Network<u64>,
    events: Events,
}

impl Net {
    fn new(scenario: &Scenario, seed: u64) -> Self {
        Self { network: Network::new(scenario, (2, 0), seed, Meter::of_load(Duration::ZERO)), events: Events::new() }
    }

    fn send(&mut self, now: Instant, from: Side, route: Route, number: u64) {
        self.network.send(now, from, (0, route), number, &mut self.events);
        self.network.settle(now, &mut self.events);
    }

    /// Lets the next event happen.
    fn step(&mut self) -> Option<Instant> {
        let (now, event) = self.events.pop()?;
        match event {
            Event::Stage(stage) => self.network.handle_timeout(now, stage),
            Event::Exit(parcel) => self.network.handle_exit(now, parcel, &mut self.events),
            other => panic!("{other:?} is no network's"),
        }
        self.network.settle(now, &mut self.events);
        Some(now)
    }

    /// Number, end and time in ms of all that arrives from now on.
    fn arrivals(&mut self) -> Vec<(u64, Side, u128)> {
        let mut arrivals = Vec::new();
        let mut take = |network: &mut Network<u64>, now: Instant| {
            while let Some(outcome) = network.poll() {
                if let Outcome::Arrived { side, packet, .. } = outcome {
                    arrivals.push((network.take(packet), side, now.since(Instant::START).as_millis()));
                }
            }
        };
        take(&mut self.network, Instant::START);
        while let Some(now) = self.step() {
            take(&mut self.network, now);
        }
        arrivals
    }
}

/// 250 ms each way, 40 ms to the server, 2 ms to the client, 3 terminals.
fn network() -> Scenario {
    let mut scenario = demo();
    (scenario.link.down.rate, scenario.link.up.rate, scenario.link.terminals) = (None, None, 3);
    for (channel, ms) in [(&mut scenario.wan, 40), (&mut scenario.lan, 2)] {
        (channel.down.delay, channel.up.delay) = (Duration::from_millis(ms), Duration::from_millis(ms));
    }
    scenario
}

#[test]
fn what_a_queue_has_marked_arrives_marked() {
    let mut scenario = network();
    scenario.link.down.rate = Some(farhop_units::Rate::mbps(1));
    scenario.link.down.discipline = "codel ecn=on".parse().expect("a discipline");
    let mut net = Net::new(&scenario, 1);
    (0..1000).for_each(|number| net.send(Instant::START, Side::Far, WHOLE, number));
    let arrived: Vec<u64> = net.arrivals().into_iter().map(|(number, ..)| number).collect();
    assert_eq!(arrived.iter().map(|number| number & !MARKED).collect::<Vec<_>>(), (0..1000).collect::<Vec<_>>());
    let marked = arrived.iter().filter(|number| **number >= MARKED).count();
    assert!((1..100).contains(&marked), "{marked}: the queue is empty after 0.4 s");
}

#[test]
fn a_packet_passes_what_lies_between_the_ends_of_its_leg() {
    use Place::{Client, Gateway, Server, Terminal};
    let line = Line { terminal: 2, server: 1 };
    for (near, far, ms, hops) in [
        (Client, Server, 292, 3),
        (Client, Gateway, 252, 2),
        (Client, Terminal, 2, 1),
        (Terminal, Gateway, 250, 1),
        (Terminal, Server, 290, 2),
        (Gateway, Server, 40, 1),
    ] {
        for from in [Side::Near, Side::Far] {
            let mut net = Net::new(&network(), 1);
            net.send(Instant::START, from, Route { line, near, far }, 7);
            assert_eq!(net.arrivals(), [(7, from.other(), ms)], "{near:?} {far:?} {from:?}");
            assert_eq!(net.network.traffic().hops, hops);
        }
    }
}

#[test]
fn channels_that_constrain_nothing_are_no_hops() {
    let mut net = Net::new(&demo(), 1);
    net.send(Instant::START, Side::Near, WHOLE, 1);
    assert_eq!(net.arrivals().len(), 1);
    assert_eq!(net.network.traffic(), Traffic { offered: 1, delivered: 1, hops: 1, ..Traffic::default() });
}

#[test]
fn lans_of_different_terminals_do_not_wait_for_each_other() {
    let mut scenario = network();
    scenario.lan.up.rate = farhop_units::Rate::from_bits_per_second(52 * 8);
    let times = |terminals: [u16; 2]| {
        let mut net = Net::new(&scenario, 1);
        for terminal in terminals {
            let line = Line { terminal, server: 0 };
            net.send(Instant::START, Side::Near, Route { line, near: Place::Client, far: Place::Terminal }, 0);
        }
        net.arrivals().into_iter().map(|(_, _, ms)| ms).collect::<Vec<_>>()
    };
    assert_eq!(times([0, 1]), [1002, 1002]);
    assert_eq!(times([1, 1]), [1002, 2002]);
}

#[test]
fn damaged_packets_arrive_and_are_thrown_away() {
    let mut scenario = demo();
    scenario.link.down.corruption = Probability::ONE;
    let mut net = Net::new(&scenario, 1);
    net.send(Instant::START, Side::Far, WHOLE, 1);
    net.send(Instant::START, Side::Near, WHOLE, 2);
    assert_eq!(net.arrivals().iter().map(|(number, ..)| *number).collect::<Vec<_>>(), [2]);
    assert_eq!((net.network.traffic().dropped, net.network.held()), (1, 0));
}

#[test]
fn a_copy_is_a_packet_of_its_own() {
    let mut scenario = network();
    scenario.link.down.duplication = Probability::ONE;
    scenario.wan.down.duplication = Probability::ONE;
    let mut net = Net::new(&scenario, 1);
    net.send(Instant::START, Side::Far, WHOLE, 9);
    assert_eq!(net.arrivals(), [(9, Side::Near, 292); 4]);
    let traffic = net.network.traffic();
    assert_eq!((traffic.offered, traffic.duplicated, traffic.delivered, net.network.held()), (1, 3, 4, 0));
}

/// What becomes of packets and when, what of them counts, and in how many steps.
type Ended = ((Vec<(Instant, String)>, ([(Bytes, Bytes); 2], Usage), Traffic), u64);

/// Sends packets at times in ns, by terminal, some of them up, to three servers; those behind lanes at once or one by one.
fn outcome_of(scenario: &Scenario, sends: &[(u64, u16, bool)], end: Instant, at_once: bool) -> Ended {
    let mut network: Network<u64> = Network::new(
        scenario,
        (3, 0),
        1,
        Meter::of_many(Instant::START, MEASURED, crate::report::serializers(scenario)),
    );
    if at_once {
        network.go_through_until(end);
    } else {
        network.end = Some(end);
    }
    let (mut events, mut outcomes, mut steps) = (Events::new(), Vec::new(), 0);
    for (number, (at, ..)) in (0..).zip(sends) {
        events.push(Instant::from_nanos(*at), Event::Client(number));
    }
    while let Some((now, event)) = events.pop() {
        match event {
            Event::Client(number) => {
                let (_, terminal, up) = sends[number as usize];
                let route = Route { line: Line { terminal, server: terminal.into() }, ..WHOLE };
                let from = if up { Side::Near } else { Side::Far };
                network.send(now, from, (number, route), number.into(), &mut events);
            }
            Event::Exit(parcel) => network.handle_exit(now, parcel, &mut events),
            Event::Stage(stage) => network.handle_timeout(now, stage),
            other => panic!("{other:?} is no network's"),
        }
        network.settle(now, &mut events);
        while let Some(outcome) = network.poll() {
            let told = match outcome {
                Outcome::Arrived { leg, side, packet } => format!("{} of {leg} at {side:?}", network.take(packet)),
                lost => format!("{lost:?}"),
            };
            outcomes.push((now, told));
        }
        steps += 1;
    }
    outcomes.sort();
    let totals =
        Direction::BOTH.map(|direction| (network.meter().total(direction), network.meter().peak_queue(direction)));
    ((outcomes, (totals, network.meter().usage(MEASURED)), network.traffic()), steps)
}

#[test]
fn of_a_shared_way_up_only_that_is_played() {
    let mut scenario = network();
    (scenario.link.access, scenario.link.up.rate) =
        ("cfdama".parse().expect("a scheme"), Some(farhop_units::Rate::kbps(100)));
    let mut network: Network<u64> = Network::new(
        &scenario,
        (3, 0),
        1,
        Meter::of_many(Instant::START, MEASURED, crate::report::serializers(&scenario)),
    );
    let is_lanes = |network: &Network<u64>| {
        Direction::BOTH.map(|direction| matches!(network.spans[FAR].form(direction), Form::Lanes(_)))
    };
    assert_eq!(is_lanes(&network), [false, false]);
    network.go_through_until(Instant::START);
    assert_eq!(is_lanes(&network), [true, false]);
}

proptest! {
    /// Seen one by one they arrive and are dropped at the same times, and count the same when the run ends.
    #[test]
    fn lanes_that_follow_each_other_can_be_gone_through_at_once(
        queues in prop::array::uniform4(1_u64..6), end in 0_u64..2_000,
        sends in prop::collection::vec((0_u64..1_000_000_000, 0_u16..3, any::<bool>()), 1..300),
    ) {
        let mut scenario = network();
        let directions = [&mut scenario.lan.down, &mut scenario.lan.up, &mut scenario.link.up, &mut scenario.wan.up];
        for ((direction, packets), kbps) in directions.into_iter().zip(queues).zip([9, 20, 15, 12]) {
            (direction.rate, direction.queue) = (Some(farhop_units::Rate::kbps(kbps)), QueueLimit::Packets(packets));
        }
        scenario.link.down.rate = Some(farhop_units::Rate::kbps(40));
        let end = Instant::START + Duration::from_millis(end);
        let [one_by_one, at_once] = [false, true].map(|at_once| outcome_of(&scenario, &sends, end, at_once));
        prop_assert_eq!(&one_by_one.0, &at_once.0);
        prop_assert!(at_once.1 <= one_by_one.1);
        prop_assert!(at_once.1 < one_by_one.1 || at_once.0.2.delivered == 0, "{} steps", at_once.1);
    }

    /// Whatever the other way is, what need not be played does the same as a lane.
    #[test]
    fn a_way_down_need_not_be_played_because_the_way_up_must_be(
        scheme in select(vec!["cfdama", "tdma", "dama", "dedicated"]), queue in 1_u64..6,
        sends in prop::collection::vec((0_u64..1_000_000_000, 0_u16..3, any::<bool>()), 1..300),
    ) {
        let mut scenario = network();
        scenario.link.access = scheme.parse().expect("a scheme");
        scenario.link.up.rate = Some(farhop_units::Rate::kbps(100));
        scenario.link.up.loss = LossModel::Bernoulli(Probability::new(0.1).expect("from 0 to 1"));
        (scenario.link.down.rate, scenario.link.down.queue) =
            (Some(farhop_units::Rate::kbps(40)), QueueLimit::Packets(queue));
        let end = Instant::START + Duration::from_secs(3600);
        let [played, laid] = [false, true].map(|at_once| outcome_of(&scenario, &sends, end, at_once));
        prop_assert_eq!(&played.0, &laid.0);
    }

    #[test]
    fn what_is_offered_is_delivered_dropped_or_held(
        loss in 0.0..1.0, duplication in 0.0..1.0, queue in 0_u64..2000, seed: u64,
        sends in prop::collection::vec((0_u64..1_000_000, 0_u16..3, any::<bool>()), 1..300),
    ) {
        let probability = |value| Probability::new(value).expect("from 0 to 1");
        let mut scenario = network();
        scenario.link.down.rate = Some(farhop_units::Rate::mbps(1));
        scenario.link.down.queue = QueueLimit::Bytes(Bytes::new(queue));
        scenario.link.down.duplication = probability(duplication);
        scenario.link.up.loss = LossModel::Bernoulli(probability(loss));
        scenario.wan.up.corruption = probability(loss / 2.0);
        scenario.wan.down.rate = Some(farhop_units::Rate::mbps(10));
        let mut net = Net::new(&scenario, seed);
        let (mut now, mut offered, [mut arrived, mut dropped, mut duplicated]) = (Instant::START, 0, [0_u64; 3]);
        let mut check = |net: &mut Net, offered: u64| {
            while let Some(outcome) = net.network.poll() {
                match outcome {
                    Outcome::Arrived { packet, .. } => {
                        net.network.take(packet);
                        arrived += 1;
                    }
                    Outcome::Dropped { .. } => dropped += 1,
                    Outcome::Duplicated { .. } => duplicated += 1,
                }
            }
            let traffic = net.network.traffic();
            prop_assert_eq!(traffic.offered, offered);
            prop_assert_eq!(traffic.offered + traffic.duplicated, traffic.delivered + traffic.dropped + net.network.held() as u64);
            prop_assert_eq!([arrived, dropped, duplicated], [traffic.delivered, traffic.dropped, traffic.duplicated]);
            Ok(())
        };
        for (gap, terminal, up) in sends {
            now += Duration::from_nanos(gap);
            let route = Route { line: Line { terminal, server: u32::from(terminal) % 2 }, ..WHOLE };
            net.send(now, if up { Side::Near } else { Side::Far }, route, offered);
            offered += 1;
            check(&mut net, offered)?;
        }
        while net.step().is_some() {
            check(&mut net, offered)?;
        }
        prop_assert_eq!(net.network.held(), 0);
    }
}
