//! The network of a scenario: client – lan – terminal – far link – gateway – wan – server.
//!
//! Each of the three is a [`Channel`] of the `link` crate, the same machine that the emulator drives. A channel that constrains
//! nothing is passed over. Left out: processing time in the boxes between, and queues in front of unlimited serializers.

use crate::meter::Meter;
use farhop_link::{Channel, ChannelConfig, Direction, DirectionConfig, DropReason, Output, Packet, Port};
use farhop_scenario::Scenario;
use farhop_tcp::Segment;
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;

/// The two ends of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// Where the browser is.
    Client,
    /// Where the page is.
    Server,
}

/// A segment on its way, with the connection it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parcel {
    connection: usize,
    segment: Segment,
    /// A bit has been flipped on the way.
    damaged: bool,
}

impl Parcel {
    pub(crate) fn new(connection: usize, segment: Segment) -> Self {
        Self { connection, segment, damaged: false }
    }
}

impl Packet for Parcel {
    fn wire_bytes(&self) -> Bytes {
        self.segment.wire_bytes()
    }

    fn flow(&self) -> u64 {
        self.connection as u64
    }

    fn corrupt(&mut self, _draw: u64) {
        self.damaged = true;
    }
}

/// A segment that has reached a host undamaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) host: Host,
    pub(crate) connection: usize,
    pub(crate) segment: Segment,
}

/// What went through the path so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Traffic {
    /// Parcels handed to the path; delivered to a host; dropped on the way, or by a host because they were damaged.
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
    pub(crate) dropped: u64,
    /// Parcels that passed a serializer with a finite rate or a delay.
    pub(crate) hops: u64,
}

/// One channel of the path.
struct Stage {
    channel: Channel<Parcel>,
    transparent: bool,
    /// Does passing count as a hop, down and up?
    constrains: [bool; 2],
}

/// Three channels in a row, from the client to the server.
pub(crate) struct Path {
    stages: [Stage; 3],
    arrivals: VecDeque<Arrival>,
    traffic: Traffic,
    meter: Meter,
}

/// Which of the stages is the far link.
const FAR_LINK: usize = 1;

impl Path {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let configs = [&scenario.lan, &scenario.link, &scenario.wan];
        let mut number = 0;
        let stages = configs.map(|config| {
            number += 1;
            // Each channel rolls its own dice; neighbouring seeds give independent streams in the channel's generator.
            Stage::new(config, seed.wrapping_mul(3).wrapping_add(number))
        });
        Self { stages, arrivals: VecDeque::new(), traffic: Traffic::default(), meter: Meter::default() }
    }

    /// `parcel` leaves `host`.
    pub(crate) fn send(&mut self, now: Instant, host: Host, parcel: Parcel) {
        self.traffic.sent += 1;
        match host {
            Host::Client => self.enter(now, Some(0), Direction::Up, parcel),
            Host::Server => self.enter(now, Some(self.stages.len() - 1), Direction::Down, parcel),
        }
        self.collect();
    }

    /// Runs the channels up to `now`, each event at its own time and in order of time.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(due) = self.next_timeout().filter(|due| *due <= now) {
            for stage in &mut self.stages {
                stage.channel.handle_timeout(due);
            }
            self.collect();
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.stages.iter().filter_map(|stage| stage.channel.next_timeout()).min()
    }

    pub(crate) fn poll(&mut self) -> Option<Arrival> {
        self.arrivals.pop_front()
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Moves every output of a channel on to the next one or to a host.
    fn collect(&mut self) {
        while let Some((index, output)) = self.next_output() {
            match output {
                Output::Deliver { at, port, packet } => self.leave(at, index, port, packet),
                Output::Drop { port, reason, .. } => {
                    self.traffic.dropped += 1;
                    self.count_hop(index, port.direction(), has_passed_the_serializer(reason));
                }
            }
        }
    }

    fn next_output(&mut self) -> Option<(usize, Output<Parcel>)> {
        self.stages.iter_mut().enumerate().find_map(|(index, stage)| stage.channel.poll().map(|output| (index, output)))
    }

    fn leave(&mut self, at: Instant, index: usize, port: Port, parcel: Parcel) {
        let (direction, next) = match port {
            Port::Gateway => (Direction::Up, Some(index + 1).filter(|next| *next < self.stages.len())),
            Port::Terminal(_) => (Direction::Down, index.checked_sub(1)),
        };
        self.count_hop(index, direction, true);
        if index == FAR_LINK {
            self.meter.count(at, direction, parcel.wire_bytes());
        }
        self.enter(at, next, direction, parcel);
    }

    fn count_hop(&mut self, index: usize, direction: Direction, passed: bool) {
        self.traffic.hops += u64::from(passed && self.stages[index].constrains[direction as usize]);
    }

    /// Into the channel `index`, or to the host behind the last one.
    fn enter(&mut self, at: Instant, index: Option<usize>, direction: Direction, parcel: Parcel) {
        let (host, port, exit) = match direction {
            Direction::Up => (Host::Server, Port::Terminal(0), Port::Gateway),
            Direction::Down => (Host::Client, Port::Gateway, Port::Terminal(0)),
        };
        match index {
            Some(index) if self.stages[index].transparent => self.leave(at, index, exit, parcel),
            Some(index) => self.stages[index].channel.handle_packet(at, port, parcel),
            // The checksum of TCP finds every single flipped bit (RFC 9293 §3.1).
            None if parcel.damaged => self.traffic.dropped += 1,
            None => {
                let Parcel { connection, segment, .. } = parcel;
                self.traffic.arrived += 1;
                self.arrivals.push_back(Arrival { at, host, connection, segment });
            }
        }
    }
}

/// Packets are lost at the end of the pipe or in an outage; those that queue or medium access give up were never sent.
fn has_passed_the_serializer(reason: DropReason) -> bool {
    matches!(reason, DropReason::Lost | DropReason::Outage)
}

impl Stage {
    fn new(config: &ChannelConfig, seed: u64) -> Self {
        let constrains = |direction: &DirectionConfig| {
            direction.rate.is_some() || direction.trace.is_some() || !direction.least_delay().is_zero()
        };
        Self {
            channel: Channel::new(config.clone(), seed),
            transparent: config.is_transparent(),
            constrains: [constrains(&config.down), constrains(&config.up)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::demo;
    use farhop_link::{LossModel, QueueLimit};
    use farhop_units::Probability;
    use proptest::prelude::*;
    use std::time::Duration;

    fn parcel(payload: u64) -> Parcel {
        Parcel::new(0, Segment { payload: Bytes::new(payload), ..Segment::default() })
    }

    fn run(path: &mut Path) -> Vec<Arrival> {
        while let Some(due) = path.next_timeout() {
            path.handle_timeout(due);
        }
        std::iter::from_fn(|| path.poll()).collect()
    }

    #[test]
    fn delays_of_all_three_channels_add_up() {
        let mut scenario = demo();
        scenario.link.down.rate = None;
        scenario.wan.down.delay = Duration::from_millis(40);
        scenario.lan.down.delay = Duration::from_millis(2);
        let mut path = Path::new(&scenario, 1);
        path.send(Instant::START, Host::Server, parcel(1448));
        let arrivals = run(&mut path);
        assert_eq!(arrivals.len(), 1);
        assert_eq!((arrivals[0].host, arrivals[0].at), (Host::Client, Instant::START + Duration::from_millis(292)));
        assert_eq!(path.traffic().hops, 3);
    }

    #[test]
    fn channels_that_constrain_nothing_are_no_hops() {
        let mut path = Path::new(&demo(), 1);
        path.send(Instant::START, Host::Client, parcel(0));
        assert_eq!(run(&mut path)[0].host, Host::Server);
        assert_eq!(path.traffic(), Traffic { sent: 1, arrived: 1, dropped: 0, hops: 1 });
    }

    #[test]
    fn damaged_segments_arrive_and_are_thrown_away() {
        let mut scenario = demo();
        scenario.link.down.corruption = Probability::ONE;
        let mut path = Path::new(&scenario, 1);
        path.send(Instant::START, Host::Server, parcel(1448));
        path.send(Instant::START, Host::Client, parcel(0));
        let hosts: Vec<Host> = run(&mut path).into_iter().map(|arrival| arrival.host).collect();
        assert_eq!((hosts, path.traffic().dropped), (vec![Host::Server], 1));
    }

    proptest! {
        #[test]
        fn what_is_sent_arrives_or_is_dropped(loss in 0.0..1.0, queue in 0_u64..20_000, seed: u64,
                                              sends in prop::collection::vec((0_u64..1_000_000, 0_u64..1448, any::<bool>()), 1..300)) {
            let mut scenario = demo();
            scenario.link.down.queue = QueueLimit::Bytes(Bytes::new(queue));
            scenario.link.up.loss = LossModel::Bernoulli(Probability::new(loss).expect("from 0 to 1"));
            scenario.wan.down.rate = Some(farhop_units::Rate::mbps(10));
            let mut path = Path::new(&scenario, seed);
            let mut now = Instant::START;
            let (mut sent, mut arrived) = (0, 0);
            for (gap, payload, up) in sends {
                now += Duration::from_nanos(gap);
                path.handle_timeout(now);
                path.send(now, if up { Host::Client } else { Host::Server }, parcel(payload));
                sent += 1;
            }
            let mut last = Instant::START;
            for arrival in run(&mut path) {
                prop_assert!(arrival.at >= last, "time never runs back");
                last = arrival.at;
                arrived += 1;
            }
            let traffic = path.traffic();
            prop_assert_eq!(traffic.sent, sent);
            prop_assert_eq!(traffic.arrived, arrived);
            prop_assert_eq!(traffic.arrived + traffic.dropped, sent);
        }
    }
}
