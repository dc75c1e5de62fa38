//! The network: clients – lans – terminals – far link – gateway – wans – servers.
//!
//! Each terminal has a lan, which its clients share, and each client's servers a wan, those of a log each one; between them lies one far link with all terminals.
//! A kind of channel that constrains nothing is passed over. Where channels only queue, serialize and delay, they are
//! [`Lanes`](farhop_link::Lanes): a [`Parcel`] is told as it enters when it leaves, and the next that happens to it is that it does,
//! or that it leaves the last of several lanes between which nobody else's parcels can come.
//! Others are [`Channel`](farhop_link::Channel)s that are played, the same machine that the emulator drives, and only those that have
//! something to do wake up. What is simulated is the same, to the nanosecond.
//!
//! Left out: processing time in the boxes between, queues in front of unlimited serializers, ways between clients or between
//! servers.

#[cfg(test)]
mod conservation;
mod looks;
mod parcel;
mod reserve;
mod span;
#[cfg(test)]
mod tests;
mod tracing;
mod waiting;

pub(crate) use parcel::{Content, Line, Parcel, Place, Route, Side, Store, Upper};

use crate::meter::Meter;
use crate::trace::Tracer;
use crate::world::{Event, Events};
use farhop_link::{Class, Direction, DropReason, Output, Port, QueueLimit};
use farhop_scenario::Scenario;
use farhop_scenario::seeds::ChannelName;
use farhop_tcp::Codepoint;
use farhop_transport::{QueueRoom, Room};
use farhop_units::{Bytes, Instant};
use parcel::{NO_LEG, Standing};
use reserve::Reserve;
use span::{Channels, FAR, Form, LAN, Span, Stage, WAN, ahead};
use std::collections::VecDeque;
use waiting::Waiting;

/// What became of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has reached an end of its leg undamaged.
    Arrived {
        leg: u32,
        /// The end that it has reached.
        side: Side,
        packet: Held,
    },
    /// A packet of this leg has been dropped.
    Dropped { leg: u32 },
    /// The link has made another one of this leg.
    Duplicated { leg: u32 },
}

/// A packet that has come out of the network, which keeps it until it is taken out ([`Network::take`]): there it need not be moved.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Held {
    content: u32,
    is_marked: bool,
}

impl Held {
    /// As part of a word, whose last byte is free.
    pub(crate) fn word(&self) -> u64 {
        u64::from(self.content) | u64::from(self.is_marked) << u32::BITS
    }

    /// What such a word was made of.
    #[expect(clippy::cast_possible_truncation, reason = "its lower half is the content")]
    pub(crate) fn of_word(word: u64) -> Self {
        Self { content: word as u32, is_marked: (word >> u32::BITS) & 1 == 1 }
    }

    #[cfg(test)]
    pub(crate) fn any() -> impl proptest::strategy::Strategy<Value = Self> {
        use proptest::prelude::*;
        any::<(u32, bool)>().prop_map(|(content, is_marked)| Self { content, is_marked })
    }
}

/// Packets that the lans, the far link and the wans dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Drops([u64; 3]);

impl Drops {
    /// By the far link.
    pub(crate) const fn link(self) -> u64 {
        self.0[FAR]
    }

    /// By lans, and by wans.
    pub(crate) const fn beside(self) -> [u64; 2] {
        [self.0[LAN], self.0[WAN]]
    }
}

impl core::iter::Sum for Drops {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, other| Self(core::array::from_fn(|span| sum.0[span] + other.0[span])))
    }
}

/// What went through the network so far. What has neither been delivered nor dropped is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Traffic {
    /// Packets handed to the network.
    pub(crate) offered: u64,
    /// Made by links that duplicate.
    pub(crate) duplicated: u64,
    /// Taken out by those whom they have reached.
    pub(crate) delivered: u64,
    /// On the way, or by a host because they were damaged.
    pub(crate) dropped: u64,
    /// Of these, by whom.
    pub(crate) dropped_by: Drops,
    /// Packets that passed a serializer with a finite rate or a delay.
    pub(crate) hops: u64,
}

/// All channels, and the packets in them.
#[derive(Debug)]
pub(crate) struct Network<P: Content> {
    /// The lans, the far link, the wans.
    spans: [Span; 3],
    /// Channels that are played.
    stages: Vec<Stage>,
    contents: P::Store,
    /// Stages whose outputs have not been looked at.
    busy: Vec<u32>,
    outcomes: VecDeque<Outcome>,
    traffic: Traffic,
    meter: Meter,
    /// When something last happened at the far link, if it is made of lanes.
    far_time: Instant,
    /// The seed of the far link's random numbers.
    far_seed: u64,
    /// Writes down what the far link does, if somebody wants that.
    tracer: Option<Box<Tracer>>,
    /// When the run ends, if packets may go through lanes in a row at once: what they do later does not count.
    end: Option<Instant>,
    /// The spans that a packet goes through at once, by the side that sent it and the place where it is, as far as they have many lanes.
    ways: [[Way; 4]; 2],
    /// What the far link's queue down keeps free for multicast.
    reserve: Reserve,
    /// What waits in front of the far link for room, if anything does.
    waiting: Option<Waiting>,
    /// Lowest bits of a server's number that are of no concern to its wan.
    bits_of_host: u32,
}

/// Some spans, in order.
type Way = [Option<usize>; 3];

impl<P: Content> Network<P> {
    /// An empty network with so many wans, to each of which servers belong whose numbers differ in so many lowest bits; it has the scenario's
    /// terminals.
    pub(crate) fn new(scenario: &Scenario, (wans, bits_of_host): (u32, u32), seed: u64, meter: Meter) -> Self {
        let terminals = u32::from(scenario.link.terminals.max(1));
        let lans = Channels { count: terminals, seed, name: ChannelName::Lan, has_classes: false };
        let has_classes = scenario.multicast.is_some();
        let link = Channels { count: 1, seed, name: |_| ChannelName::Link, has_classes };
        let wans = Channels { count: wans, seed, name: ChannelName::Wan, has_classes: false };
        let mut stages = Vec::new();
        let mut span = |place, config, channels: &Channels| Span::new(place, config, channels, &mut stages);
        let mut spans = [
            span(Place::Client, &scenario.lan, &lans),
            span(Place::Terminal, &scenario.link, &link),
            span(Place::Gateway, &scenario.wan, &wans),
        ];
        spans[FAR].counting();
        Self {
            ways: ways(&spans),
            bits_of_host,
            spans,
            stages,
            contents: P::Store::default(),
            busy: Vec::new(),
            outcomes: VecDeque::new(),
            traffic: Traffic::default(),
            meter,
            far_time: Instant::START,
            far_seed: link.seed_of(0),
            tracer: None,
            end: None,
            reserve: Reserve::of(scenario),
            waiting: None,
        }
    }

    /// What happens at `end` or later does not count. All legs are between clients and servers, and each server is for the clients of one
    /// terminal: then packets are in the same order in all lanes up, and in those of the lans as in the far link's, so that from now on
    /// they go through such lanes at once, unless a trace has to see them one by one. It sees both directions of the far link in one order,
    /// too; without, a way that need not be played is not, whatever the other one is.
    pub(crate) fn go_through_until(&mut self, end: Instant) {
        self.end = Some(end);
        if self.tracer.is_none() {
            self.spans.iter_mut().for_each(|span| span.lay_lanes(&self.stages));
            self.spans[FAR].counting();
            for (span, direction) in [(LAN, Direction::Down), (FAR, Direction::Up), (WAN, Direction::Up)] {
                self.spans[span].follow(direction);
            }
            self.ways = ways(&self.spans);
        }
    }

    /// `packet` leaves one end of the leg for the other.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        from: Side,
        (leg, route): (u32, Route),
        packet: P,
        events: &mut Events,
    ) {
        self.traffic.offered += 1;
        let (start, to) = match from {
            Side::Near => (route.near, route.far),
            Side::Far => (route.far, route.near),
        };
        let Line { terminal, server } = route.line;
        let mut parcel = Parcel {
            leg,
            server,
            terminal,
            to,
            from,
            ahead: start,
            // No IP packet is larger (RFC 2675).
            bytes: u32::try_from(packet.wire_bytes().get()).unwrap_or(u32::MAX),
            codepoint: if packet.is_ecn_capable() { Codepoint::Capable } else { Codepoint::NotCapable },
            is_damaged: false,
            standing: if self.waiting.is_some() && packet.is_of_names() { Standing::Patient } else { Standing::Usual },
            content: self.contents.insert(packet),
        };
        self.enter(now, start, &mut parcel, events);
    }

    /// A packet for all terminals enters the far link at the gateway. Nobody there waits for it, so that it counts as received once, by the
    /// first.
    pub(crate) fn send_to_all(&mut self, now: Instant, packet: P, events: &mut Events) {
        let route = Route { line: Line { terminal: 0, server: 0 }, near: Place::Terminal, far: Place::Gateway };
        self.send(now, Side::Far, (NO_LEG, route), packet, events);
    }

    /// The wake-up of a stage has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant, stage: u32) {
        let woken = &mut self.stages[stage as usize];
        // The one that counts; others were replaced by an earlier one.
        if woken.wake.counts(now) {
            if self.tracer.is_some() && woken.span == FAR {
                self.trace_time(now);
            }
            let woken = &mut self.stages[stage as usize];
            woken.channel.handle_timeout(now);
            self.busy.push(stage);
        }
    }

    /// A parcel comes out of a lane.
    pub(crate) fn handle_exit(&mut self, now: Instant, mut parcel: Parcel, events: &mut Events) {
        let (_, span) = ahead(parcel.ahead, parcel.from.other());
        if span == FAR {
            self.leave_far_lane(now, &mut parcel);
        }
        self.leave(now, span, &mut parcel, events);
    }

    /// Moves all that stages have put out, and schedules when they are to be woken.
    #[inline]
    pub(crate) fn settle(&mut self, now: Instant, events: &mut Events) {
        // Asked several times per packet, and mostly there is none.
        if !self.busy.is_empty() {
            self.empty_stages(now, events);
        }
    }

    fn empty_stages(&mut self, now: Instant, events: &mut Events) {
        while let Some(&number) = self.busy.last() {
            let stage = &mut self.stages[number as usize];
            match stage.channel.poll() {
                Some(output) => {
                    let span = stage.span;
                    if span == FAR {
                        self.note_exit(now, &output);
                    }
                    self.handle_output(now, span, output, events);
                }
                None => {
                    self.busy.pop();
                    if let Some(due) = self.stages[number as usize].rearm() {
                        events.push(due, Event::Stage(number));
                    }
                }
            }
        }
    }

    /// A parcel is no longer on the far link, unless it is the copy of another.
    fn note_exit(&mut self, now: Instant, output: &Output<Parcel>) {
        let (Output::Deliver { packet, .. } | Output::Drop { packet, .. }) = output;
        if packet.from == Side::Near && packet.standing != Standing::Copy {
            self.meter.leaves_up(now);
        }
    }

    /// What the far link takes at `now` of the packets that enter from this side of it: nothing while others wait for room there.
    pub(crate) fn queue_room(&mut self, now: Instant, from: Side, terminal: u16) -> Room {
        if self.waiting.as_ref().is_some_and(|waiting| waiting.is_at(from, terminal)) {
            return QueueRoom::Packets(0).into();
        }
        self.free_room(now, from, terminal)
    }

    fn free_room(&mut self, now: Instant, from: Side, terminal: u16) -> Room {
        let port = match from {
            Side::Near => Port::Terminal(terminal),
            Side::Far => Port::Gateway,
        };
        let (room, at_once) = match self.spans[FAR].form_mut(from.direction()) {
            Form::Nothing => (QueueLimit::Unlimited, true),
            Form::Lanes(lanes) => {
                let lane = far_lane(port);
                (lanes.room(lane, now), !lanes.is_busy(lane, now))
            }
            Form::Stages(first) => {
                let channel = &mut self.stages[*first as usize].channel;
                (channel.queue_room(now, port, Class::Normal), channel.is_free(now, port))
            }
        };
        let kept = if from == Side::Far { self.reserve } else { Reserve::default() };
        let queue = match room {
            QueueLimit::Unlimited => QueueRoom::Unlimited,
            QueueLimit::Bytes(bytes) => QueueRoom::Bytes(bytes.saturating_sub(kept.bytes)),
            QueueLimit::Packets(packets) => QueueRoom::Packets(packets.saturating_sub(kept.packets)),
        };
        Room { queue, at_once }
    }

    fn handle_output(&mut self, now: Instant, span: usize, mut output: Output<Parcel>, events: &mut Events) {
        if self.tracer.is_some() && span == FAR {
            self.trace_output(&mut output);
        }
        match output {
            Output::Deliver { mut packet, .. } => self.leave(now, span, &mut packet, events),
            Output::Drop { packet, reason, .. } => self.drop_in(now, span, &packet, reason),
        }
    }

    /// What has become of packets, one by one.
    pub(crate) fn poll(&mut self) -> Option<Outcome> {
        self.outcomes.pop_front()
    }

    /// Hands over what has arrived.
    #[inline]
    pub(crate) fn take(&mut self, Held { content, is_marked }: Held) -> P {
        self.traffic.delivered += 1;
        self.contents.release(content);
        let mut packet = self.contents.get(content);
        if is_marked {
            packet.mark_congestion();
        }
        packet
    }

    /// What a packet is that has not been taken out.
    pub(crate) fn peek(&self, packet: &Held) -> P {
        self.contents.get(packet.content)
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

    /// Whether what happens now does not count.
    fn is_over(&self, now: Instant) -> bool {
        self.end.is_some_and(|end| now >= end)
    }

    /// A parcel comes out of a channel.
    fn leave(&mut self, now: Instant, span: usize, parcel: &mut Parcel, events: &mut Events) {
        self.pass(now, span, parcel);
        if parcel.standing == Standing::Copy {
            self.materialize(parcel);
        }
        self.enter(now, parcel.ahead, parcel, events);
    }

    /// A parcel has passed a channel, which counts.
    fn pass(&mut self, now: Instant, span: usize, parcel: &Parcel) {
        if self.is_over(now) {
            return;
        }
        self.traffic.hops += self.spans[span].hops(parcel.from.direction());
        // A copy is made behind the serializer, whose time it does not take.
        if span == FAR && parcel.standing != Standing::Copy {
            self.count(now, parcel);
        }
    }

    /// A copy gets a packet of its own; that of the original is still there.
    fn materialize(&mut self, copy: &mut Parcel) {
        self.traffic.duplicated += 1;
        self.tell(copy.leg, Outcome::Duplicated { leg: copy.leg });
        let packet = self.contents.get(copy.content);
        (copy.content, copy.standing) = (self.contents.insert(packet), Standing::Usual);
    }

    /// A parcel is at `place`: into the next channel, or out of the network.
    fn enter(&mut self, now: Instant, mut place: Place, parcel: &mut Parcel, events: &mut Events) {
        while place != parcel.to {
            let (next, span) = ahead(place, parcel.from);
            parcel.ahead = next;
            if span == FAR && parcel.standing == Standing::Patient && self.has_to_wait(now, parcel, events) {
                return;
            }
            match *self.spans[span].form(parcel.from.direction()) {
                // A far link that constrains nothing is measured too.
                Form::Nothing if span == FAR => self.count(now, parcel),
                Form::Nothing => {}
                Form::Lanes(_) => return self.enter_lane(now, span, parcel, events),
                Form::Stages(first) => return self.enter_stage(now, span, first, parcel),
            }
            place = next;
        }
        self.arrive(parcel);
    }

    fn enter_lane(&mut self, now: Instant, span: usize, parcel: &mut Parcel, events: &mut Events) {
        let port = port_at(span, parcel.from, parcel);
        if self.tracer.is_some() && span == FAR {
            self.trace_arrival(now, port, parcel);
        }
        let exit = if parcel.standing == Standing::Refused { None } else { self.exit(now, span, parcel) };
        match exit {
            Some(exit) => {
                if self.end.is_none() {
                    return events.push(exit, &*parcel);
                }
                let last = self.go_through(exit, span, parcel);
                // Timers come first, so that it is all the same how long before this was known.
                events.push_last(last, &*parcel);
            }
            None => {
                let drop = Output::Drop { at: now, port, packet: parcel.moved(), reason: DropReason::QueueFull };
                self.handle_output(now, span, drop, events);
            }
        }
    }

    /// When a parcel leaves the lane that it enters now, if there is room for it.
    fn exit(&mut self, now: Instant, span: usize, parcel: &Parcel) -> Option<Instant> {
        let (lane, direction, is_over) =
            (lane_of(span, parcel.from, parcel.line(), self.bits_of_host), parcel.from.direction(), self.is_over(now));
        let Form::Lanes(lanes) = self.spans[span].form_mut(direction) else { return None };
        let bytes = Bytes::new(parcel.bytes.into());
        if span != FAR {
            return lanes.enter(lane, now, bytes);
        }
        self.far_time = now;
        // What finds nothing to wait for leaves the queue as it is.
        let waits = lanes.is_busy(lane, now) && !is_over;
        let exit = lanes.enter(lane, now, bytes);
        if waits {
            self.meter.waits(now, direction, lanes.queued(lane, now).bytes);
        }
        exit
    }

    /// A parcel that is to come out of a lane goes on through those behind that follow it; returns when it comes out of the last one.
    fn go_through(&mut self, mut exit: Instant, mut span: usize, parcel: &mut Parcel) -> Instant {
        while parcel.ahead != parcel.to {
            let (next, behind) = ahead(parcel.ahead, parcel.from);
            if !self.spans[behind].follows(parcel.from) {
                break;
            }
            let Some(last) = self.exit(exit, behind, parcel) else {
                parcel.standing = Standing::Refused;
                break;
            };
            self.pass(exit, span, parcel);
            (exit, span, parcel.ahead) = (last, behind, next);
        }
        exit
    }

    fn enter_stage(&mut self, now: Instant, span: usize, first: u32, parcel: &mut Parcel) {
        let port = port_at(span, parcel.from, parcel);
        let stage = match span {
            LAN => first + u32::from(parcel.terminal),
            WAN => first + (parcel.server >> self.bits_of_host),
            _ => first,
        };
        if self.tracer.is_some() && span == FAR {
            self.trace_arrival(now, port, parcel);
        }
        if span == FAR && parcel.from == Side::Near {
            self.meter.enters_up(now);
        }
        let channel = &mut self.stages[stage as usize].channel;
        channel.handle_packet(now, port, parcel.moved());
        if span == FAR {
            self.meter.waits(now, parcel.from.direction(), channel.queued(port));
        }
        self.busy.push(stage);
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
        if parcel.leg == NO_LEG {
            self.traffic.delivered += 1;
            return self.contents.release(parcel.content);
        }
        let packet = Held { content: parcel.content, is_marked: parcel.codepoint == Codepoint::Experienced };
        self.tell(parcel.leg, Outcome::Arrived { leg: parcel.leg, side: parcel.from.other(), packet });
    }

    fn drop_in(&mut self, now: Instant, span: usize, parcel: &Parcel, reason: DropReason) {
        // Packets are lost at the end of the pipe or in an outage; those that queue or medium access give up were never sent.
        if matches!(reason, DropReason::Lost | DropReason::Outage) {
            self.traffic.hops += self.spans[span].hops(parcel.from.direction());
            if span == FAR {
                self.meter.count_lost(now, parcel.from.direction(), Bytes::new(u64::from(parcel.bytes)));
            }
        }
        self.traffic.dropped_by.0[span] += 1;
        self.discard(parcel);
    }

    fn discard(&mut self, parcel: &Parcel) {
        self.contents.release(parcel.content);
        self.traffic.dropped += 1;
        self.tell(parcel.leg, Outcome::Dropped { leg: parcel.leg });
    }

    fn tell(&mut self, leg: u32, outcome: Outcome) {
        if leg != NO_LEG {
            self.outcomes.push_back(outcome);
        }
    }
}

/// By the side that sends and the place where a packet is, where it goes at once: into the next span and those that follow it. A single lane
/// is in the cache in any case.
fn ways(spans: &[Span; 3]) -> [[Way; 4]; 2] {
    let way = |from: Side, mut place: Place| {
        let (mut way, mut count) = ([None; 3], 0);
        loop {
            let (next, span) = ahead(place, from);
            if spans[span].has_many_lanes(from.direction()) {
                (way[count], count) = (Some(span), count + 1);
            }
            place = next;
            if matches!(next, Place::Client | Place::Server) || !spans[ahead(next, from).1].follows(from) {
                return way;
            }
        }
    };
    [Side::Near, Side::Far]
        .map(|from| [Place::Client, Place::Terminal, Place::Gateway, Place::Server].map(|place| way(from, place)))
}

/// Where a parcel enters a channel.
fn port_at(span: usize, from: Side, parcel: &Parcel) -> Port {
    match from {
        Side::Far => Port::Gateway,
        Side::Near if span == FAR => Port::Terminal(parcel.terminal),
        Side::Near => Port::Terminal(0),
    }
}

/// The lane of a span into which a parcel goes from there.
fn lane_of(span: usize, from: Side, line: Line, bits_of_host: u32) -> u32 {
    match (span, from) {
        (WAN, _) => line.server >> bits_of_host,
        (FAR, Side::Far) => 0,
        _ => line.terminal.into(),
    }
}

/// The lane of the far link behind a port.
fn far_lane(port: Port) -> u32 {
    match port {
        Port::Gateway => 0,
        Port::Terminal(number) => number.into(),
    }
}
