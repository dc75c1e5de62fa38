//! The network: clients – lans – terminals – far link – gateway – wans – servers.
//!
//! Each terminal has a lan, which its clients share, and each server a wan; between them lies one far link with all terminals.
//! All of these are [`Channel`](farhop_link::Channel)s of the `link` crate, the same machine that the emulator drives, and stages
//! of a [`Parcel`]'s way. A kind of channel that constrains nothing is passed over. Only channels that have something to do
//! wake up.
//!
//! Left out: processing time in the boxes between, queues in front of unlimited serializers, ways between clients or between
//! servers.

#[cfg(test)]
mod conservation;
mod parcel;
mod stage;
#[cfg(test)]
mod tests;
mod tracing;

pub(crate) use parcel::{Content, Line, Place, Route, Side, Upper};

use crate::meter::Meter;
use crate::slab::Slab;
use crate::trace::Tracer;
use crate::world::{Event, Events};
use farhop_link::{ChannelConfig, Direction, DropReason, Output, Port};
use farhop_scenario::Scenario;
use farhop_scenario::seeds::{self, ChannelName};
use farhop_units::{Bytes, Instant};
use parcel::Parcel;
use stage::Stage;
use std::collections::VecDeque;

/// What became of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome<P> {
    /// It has reached an end of its leg undamaged.
    Arrived {
        leg: u32,
        /// The end that it has reached.
        side: Side,
        packet: P,
    },
    /// A packet of this leg has been dropped.
    Dropped { leg: u32 },
    /// The link has made another one of this leg.
    Duplicated { leg: u32 },
}

/// What went through the network so far. What has neither been delivered nor dropped is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Traffic {
    /// Packets handed to the network.
    pub(crate) offered: u64,
    /// Made by links that duplicate.
    pub(crate) duplicated: u64,
    pub(crate) delivered: u64,
    /// On the way, or by a host because they were damaged.
    pub(crate) dropped: u64,
    /// Of these, by the far link.
    pub(crate) dropped_by_link: u64,
    /// Packets that passed a serializer with a finite rate or a delay.
    pub(crate) hops: u64,
}

/// All channels, and the packets in them.
#[derive(Debug)]
pub(crate) struct Network<P> {
    /// The far link if it constrains anything, then the lans, then the wans.
    stages: Vec<Stage>,
    far_link: Option<u32>,
    first_lan: Option<u32>,
    first_wan: Option<u32>,
    contents: Slab<P>,
    /// Stages whose outputs have not been looked at.
    busy: Vec<u32>,
    outcomes: VecDeque<Outcome<P>>,
    traffic: Traffic,
    meter: Meter,
    /// Most bytes that waited for the far link, down and up, if somebody wants to know.
    peak_queues: Option<[Bytes; 2]>,
    /// Writes down what the far link does, if somebody wants that.
    tracer: Option<Box<Tracer>>,
}

impl<P: Content> Network<P> {
    /// An empty network with so many servers; it has the scenario's terminals.
    pub(crate) fn new(scenario: &Scenario, servers: u32, seed: u64, meter: Meter) -> Self {
        let mut stages = Vec::new();
        let mut add = |near, config: &ChannelConfig, name: fn(u32) -> ChannelName, count: u32| {
            let first = u32::try_from(stages.len()).ok().filter(|_| !config.is_transparent());
            // Each channel rolls its own dice, those that it has in the emulator too.
            let stage = |copy: u32| Stage::new(near, config, seeds::of_channel(seed, name(copy)));
            stages.extend((0..first.map_or(0, |_| count)).map(stage));
            first
        };
        let far_link = add(Place::Terminal, &scenario.link, |_| ChannelName::Link, 1);
        let first_lan = add(Place::Client, &scenario.lan, ChannelName::Lan, u32::from(scenario.link.terminals.max(1)));
        let first_wan = add(Place::Gateway, &scenario.wan, ChannelName::Wan, servers);
        Self {
            stages,
            far_link,
            first_lan,
            first_wan,
            contents: Slab::new(),
            busy: Vec::new(),
            outcomes: VecDeque::new(),
            traffic: Traffic::default(),
            meter,
            peak_queues: None,
            tracer: None,
        }
    }

    /// `packet` leaves one end of the leg for the other.
    pub(crate) fn send(&mut self, now: Instant, from: Side, (leg, route): (u32, Route), packet: P) {
        self.traffic.offered += 1;
        let (start, to) = match from {
            Side::Near => (route.near, route.far),
            Side::Far => (route.far, route.near),
        };
        let Line { terminal, server } = route.line;
        let parcel = Parcel {
            leg,
            server,
            terminal,
            port: 0,
            to,
            from,
            // No IP packet is larger (RFC 2675).
            bytes: u32::try_from(packet.wire_bytes().get()).unwrap_or(u32::MAX),
            is_ecn_capable: packet.is_ecn_capable(),
            is_marked: false,
            is_damaged: false,
            is_copy: false,
            content: self.contents.insert(packet),
        };
        self.enter(now, start, parcel);
    }

    /// The wake-up of a stage has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant, stage: u32) {
        let woken = &mut self.stages[stage as usize];
        // The one that counts; others were replaced by an earlier one.
        if woken.wake == Some(now) {
            woken.wake = None;
            if self.tracer.is_some() && self.far_link == Some(stage) {
                self.trace_time(now);
            }
            let woken = &mut self.stages[stage as usize];
            woken.channel.handle_timeout(now);
            self.busy.push(stage);
        }
    }

    /// Moves all that stages have put out, and schedules when they are to be woken.
    pub(crate) fn settle(&mut self, now: Instant, events: &mut Events) {
        while let Some(&stage) = self.busy.last() {
            match self.stages[stage as usize].channel.poll() {
                Some(output) => self.handle_output(now, stage, output),
                None => {
                    self.busy.pop();
                    if let Some(due) = self.stages[stage as usize].rearm() {
                        events.push(due, Event::Stage(stage));
                    }
                }
            }
        }
    }

    /// How many bytes the far link's queue takes that packets from this side of it enter; `None` without a bound.
    pub(crate) fn queue_room(&mut self, from: Side, terminal: u16) -> Option<Bytes> {
        let port = match from {
            Side::Near => Port::Terminal(terminal),
            Side::Far => Port::Gateway,
        };
        self.stages[self.far_link? as usize].channel.queue_room(port)
    }

    fn handle_output(&mut self, now: Instant, stage: u32, mut output: Output<Parcel>) {
        if self.tracer.is_some() && self.far_link == Some(stage) {
            self.trace_output(&mut output);
        }
        match output {
            Output::Deliver { packet, .. } => self.leave(now, stage, packet),
            Output::Drop { packet, reason, .. } => self.drop_in(stage, &packet, reason),
        }
    }

    /// What has become of packets, one by one.
    pub(crate) fn poll(&mut self) -> Option<Outcome<P>> {
        self.outcomes.pop_front()
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Packets on their way.
    pub(crate) fn held(&self) -> usize {
        self.contents.len()
    }

    /// What the far link has delivered.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// A parcel has passed a stage.
    fn leave(&mut self, now: Instant, number: u32, mut parcel: Parcel) {
        let direction = parcel.from.direction();
        let stage = &self.stages[number as usize];
        let place = stage.exit(direction);
        self.traffic.hops += stage.hops(direction);
        if self.far_link == Some(number) {
            self.count(now, &parcel);
        }
        if parcel.is_copy {
            parcel = self.materialize(parcel);
        }
        self.enter(now, place, parcel);
    }

    /// A copy gets a packet of its own; that of the original is still there.
    fn materialize(&mut self, copy: Parcel) -> Parcel {
        self.traffic.duplicated += 1;
        self.outcomes.push_back(Outcome::Duplicated { leg: copy.leg });
        let packet = self.contents[copy.content].clone();
        Parcel { content: self.contents.insert(packet), is_copy: false, ..copy }
    }

    /// A parcel is at `place`: into the next stage, or out of the network.
    fn enter(&mut self, now: Instant, mut place: Place, mut parcel: Parcel) {
        while place != parcel.to {
            let Next { stage, port, exit } = self.next_stage(place, &parcel);
            if let Some(stage) = stage {
                let is_far_link = self.far_link == Some(stage);
                parcel.port = if is_far_link { parcel.terminal } else { 0 };
                if self.tracer.is_some() && is_far_link {
                    self.trace_arrival(now, port, &mut parcel);
                }
                self.stages[stage as usize].channel.handle_packet(now, port, parcel);
                self.busy.push(stage);
                if is_far_link {
                    self.watch_queue(stage, if port == Port::Gateway { Direction::Down } else { Direction::Up });
                }
                return;
            }
            // A far link that constrains nothing is measured too.
            if place.min(exit) == Place::Terminal {
                self.count(now, &parcel);
            }
            place = exit;
        }
        self.arrive(&parcel);
    }

    /// From now on it is known how much has waited for the far link at most.
    pub(crate) fn begin_watch(&mut self) {
        self.peak_queues = Some([Bytes::ZERO; 2]);
    }

    /// Most bytes that have waited for the far link, down and up, since that was to be known.
    pub(crate) fn peak_queues(&self) -> [Bytes; 2] {
        self.peak_queues.unwrap_or_default()
    }

    fn watch_queue(&mut self, far_link: u32, direction: Direction) {
        if let Some(peaks) = &mut self.peak_queues {
            let books = self.stages[far_link as usize].channel.counters(direction);
            let peak = &mut peaks[direction as usize];
            *peak = (*peak).max(books.queued.bytes);
        }
    }

    fn next_stage(&self, place: Place, parcel: &Parcel) -> Next {
        let lan = self.first_lan.map(|first| first + u32::from(parcel.terminal));
        let wan = self.first_wan.map(|first| first + parcel.server);
        let (only, terminal) = (Port::Terminal(0), Port::Terminal(parcel.terminal));
        let (stage, port, exit) = match (parcel.from, place) {
            (Side::Near, Place::Client) => (lan, only, Place::Terminal),
            (Side::Near, Place::Terminal) => (self.far_link, terminal, Place::Gateway),
            (Side::Near, Place::Gateway | Place::Server) => (wan, only, Place::Server),
            (Side::Far, Place::Server) => (wan, Port::Gateway, Place::Gateway),
            (Side::Far, Place::Gateway) => (self.far_link, Port::Gateway, Place::Terminal),
            (Side::Far, Place::Terminal | Place::Client) => (lan, Port::Gateway, Place::Client),
        };
        Next { stage, port, exit }
    }

    /// A parcel has crossed the far link.
    fn count(&mut self, now: Instant, parcel: &Parcel) {
        self.meter.count(now, parcel.from.direction(), Bytes::new(u64::from(parcel.bytes)));
    }

    fn arrive(&mut self, parcel: &Parcel) {
        if parcel.is_damaged {
            // Checksums find every single flipped bit (RFC 9293 §3.1).
            return self.discard(parcel);
        }
        self.traffic.delivered += 1;
        self.contents.release(parcel.content);
        let mut packet = self.contents[parcel.content].clone();
        if parcel.is_marked {
            packet.mark_congestion();
        }
        self.outcomes.push_back(Outcome::Arrived { leg: parcel.leg, side: parcel.from.other(), packet });
    }

    fn drop_in(&mut self, stage: u32, parcel: &Parcel, reason: DropReason) {
        // Packets are lost at the end of the pipe or in an outage; those that queue or medium access give up were never sent.
        if matches!(reason, DropReason::Lost | DropReason::Outage) {
            self.traffic.hops += self.stages[stage as usize].hops(parcel.from.direction());
        }
        self.traffic.dropped_by_link += u64::from(self.far_link == Some(stage));
        self.discard(parcel);
    }

    fn discard(&mut self, parcel: &Parcel) {
        self.contents.release(parcel.content);
        self.traffic.dropped += 1;
        self.outcomes.push_back(Outcome::Dropped { leg: parcel.leg });
    }
}

/// Where a parcel goes next.
struct Next {
    /// The stage, if it constrains anything.
    stage: Option<u32>,
    /// Where it enters it.
    port: Port,
    /// The place behind it.
    exit: Place,
}
