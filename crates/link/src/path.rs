//! One way through a channel: queue → transmitter → pipe → impairments.
//!
//! The place where packets go from stage to stage. The way down is one path for all terminals; up, each terminal has a path
//! of its own. The transmitter is a serializer, or, where terminals share the way up, slots that medium access grants.
//!
//! Where nothing can happen to a packet between its arrival and its exit from the pipe (no outages, no queue that drops what
//! waits, the same delay for all), the ends of services on the way down are not events of their own: they are made up, at their own
//! times, before the next arrival or exit, so that a packet costs one event instead of two.
//!
//! During an outage nothing new is begun and what would leave the transmitter or the pipe is dropped; the queue keeps what it
//! holds.

use crate::burst::Burst;
use crate::counters::Counters;
use crate::delay::Delay;
use crate::impairments::{Arrival, Impairments};
use crate::outages::OutageProcess;
use crate::packet::Slot;
use crate::pipe::Pipe;
use crate::queue::{Dropped, Queue};
use crate::serializer::Serializer;
use crate::{
    ChannelConfig, Class, Count, Destination, Direction, DirectionConfig, DropReason, Output, Packet, Port, QueueLimit,
    Setting,
};
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// When something is due, and the number of the packet it happens to. Of two events of one instant the one of the packet
/// that arrived first comes first.
pub(crate) type Due = (Instant, u64);

/// The stages of one way and its books. The fields are in the order in which a packet meets them, so that each of its few
/// visits touches neighbours: with thousands of terminals, memory is what takes time.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Path<P> {
    transmitter: Transmitter<P>,
    /// The end of the outage that the transmitter waits for, with packets in the queue.
    held_until: Option<Instant>,
    arrived: Count,
    impairments: Impairments,
    delay: Delay,
    outages: OutageProcess,
    /// Packets in flight, with what becomes of each.
    pipe: Pipe<(P, Arrival)>,
    delivered: Count,
    /// The delay of all packets, where ends of services are made up.
    foreseen: Option<Duration>,
    direction: Direction,
    terminals: u16,
    /// Packets that a stage has just given up.
    given_up: Dropped<P>,
    queue: Queue<P>,
    duplicated: Count,
    dropped: Count,
    /// When that outage ended, for whoever grants slots.
    resumed: Option<Instant>,
}

/// What puts packets on the wire.
#[derive(Debug)]
enum Transmitter<P> {
    /// A channel of the path's own.
    Serializer(Serializer<P>),
    /// Slots of a shared channel.
    Slots(Burst<P>),
}

/// The earlier of two that may never be.
pub(crate) fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    // Plain comparisons: this is asked several times per packet.
    match (one, other) {
        (Some(one), Some(other)) => Some(if other < one { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// After all packets of the same instant.
const LAST: u64 = u64::MAX;

impl<P: Packet> Path<P> {
    /// Empty stages of the path that begins at `entry`; `is_shared` says whether somebody grants slots on the way up.
    pub(crate) fn new(channel: &ChannelConfig, seed: u64, entry: Port, is_shared: bool) -> Self {
        let config = entry.direction().of(channel);
        let mut path = Self {
            queue: Queue::new(config.queue, config.discipline),
            transmitter: match is_shared && entry.direction() == Direction::Up {
                true => Transmitter::Slots(Burst::new(config.framing)),
                false => Transmitter::Serializer(Serializer::new(config)),
            },
            held_until: None,
            resumed: None,
            delay: Delay::new(config),
            foreseen: None,
            direction: entry.direction(),
            pipe: Pipe::new(),
            outages: OutageProcess::new(&config.outages, seed, entry),
            impairments: Impairments::new(config, seed, entry),
            terminals: channel.terminals,
            given_up: Vec::new(),
            arrived: Count::default(),
            duplicated: Count::default(),
            delivered: Count::default(),
            dropped: Count::default(),
        };
        path.foresee();
        path
    }

    /// Whether ends of services can be made up. Not those of the terminals: they put packets in flight in order of time.
    fn foresee(&mut self) {
        let is_quiet = self.outages.is_never() && self.held_until.is_none() && !self.queue.drops_what_waits();
        // When the next exit is must not depend on whether somebody has looked, or a run that is watched would take other steps.
        let is_quiet = is_quiet && self.impairments.keep_time();
        self.foreseen = self.delay.constant().filter(|_| is_quiet && self.direction == Direction::Down);
    }

    /// Makes up the ends of services until `now`.
    pub(crate) fn catch_up(&mut self, now: Instant, outputs: &mut VecDeque<Output<P>>) {
        if self.foreseen.is_none() {
            return;
        }
        while let Transmitter::Serializer(serializer) = &self.transmitter
            && let Some((end, _)) = serializer.next_finish().filter(|(end, _)| *end <= now)
        {
            self.end_service(end, outputs);
        }
    }

    /// A packet arrives at the queue, or at the serializer if nobody is before it.
    pub(crate) fn arrive(&mut self, now: Instant, slot: Slot<P>, outputs: &mut VecDeque<Output<P>>) {
        self.catch_up(now, outputs);
        self.arrived.add(slot.bytes);
        if let Transmitter::Serializer(serializer) = &mut self.transmitter
            && serializer.is_idle()
            && self.held_until.is_none()
        {
            self.held_until = self.outages.until(now);
            if self.held_until.is_none() {
                return serializer.start(now, slot);
            }
        }
        self.queue.enqueue(now, slot, &mut self.given_up);
        self.drop_given_up(now, outputs);
    }

    /// Drops what has just arrived: there is no such terminal.
    pub(crate) fn refuse(&mut self, now: Instant, slot: Slot<P>, outputs: &mut VecDeque<Output<P>>) {
        self.arrived.add(slot.bytes);
        self.drop_packet(now, slot, DropReason::NoTerminal, outputs);
    }

    /// When something happens next, at the earliest. For the way down, where packets in flight are in one line anyway.
    pub(crate) fn next_due(&self) -> Option<Due> {
        let Some(delay) = self.foreseen else { return earlier(self.pipe.next_exit(), self.next_transmission()) };
        match self.pipe.next_exit() {
            // Whoever is in service does not overtake those that keep the order.
            Some(exit) if self.pipe.keeps_order() => Some(exit),
            exit => earlier(exit, self.next_finish().map(|(end, number)| (end + delay, number))),
        }
    }

    /// When the next output comes, at the earliest, if it comes `reach` after what the transmitter does.
    pub(crate) fn next_output(&self, reach: Duration) -> Option<Instant> {
        if self.foreseen.is_some() {
            return self.next_due().map(|(at, _)| at);
        }
        let exit = self.pipe.next_exit().map(|(at, _)| at);
        earlier(exit, self.next_transmission().map(|(at, _)| at + reach))
    }

    /// Lets happen what is due at `now`, which [`Path::next_due`] may have named too early.
    pub(crate) fn step(&mut self, now: Instant, outputs: &mut VecDeque<Output<P>>) {
        self.catch_up(now, outputs);
        let exit = self.pipe.next_exit().filter(|(at, _)| *at <= now);
        let is_exit = |exit| self.foreseen.is_some() || self.next_transmission().is_none_or(|due| exit <= due);
        if exit.is_some_and(is_exit) {
            self.leave_pipe(outputs);
        } else if self.foreseen.is_none() {
            self.transmit(now, outputs);
        }
    }

    /// When the transmitter has something to do next.
    pub(crate) fn next_transmission(&self) -> Option<Due> {
        earlier(self.next_finish(), self.held_until.map(|end| (end, LAST)))
    }

    /// Lets the transmitter do what is due next; says when the packet that goes into the pipe will leave it.
    pub(crate) fn transmit(&mut self, now: Instant, outputs: &mut VecDeque<Output<P>>) -> Option<Due> {
        if self.next_finish().is_some_and(|(at, _)| at <= now) {
            return self.end_service(now, outputs);
        }
        if self.held_until.is_some_and(|at| at <= now) {
            self.end_outage(now, outputs);
        }
        None
    }

    /// What waits for slots, on the wire: nothing, from the first slot in an outage to its end.
    pub(crate) fn backlog(&self) -> Bytes {
        match &self.transmitter {
            Transmitter::Slots(burst) if self.held_until.is_none() => burst.backlog(self.queue.count()),
            Transmitter::Slots(_) | Transmitter::Serializer(_) => Bytes::ZERO,
        }
    }

    /// What can be sent in a slot that begins at `start`: nothing in an outage, until whose end the path keeps silent. Says whether
    /// it does so from now on.
    pub(crate) fn offer(&mut self, start: Instant) -> (Bytes, bool) {
        let waiting = self.backlog();
        if waiting > Bytes::ZERO {
            self.held_until = self.outages.until(start);
        }
        if self.held_until.is_some() { (Bytes::ZERO, waiting > Bytes::ZERO) } else { (waiting, false) }
    }

    /// Sends `bytes` in the slot from `start` to `end`, of what was offered.
    pub(crate) fn send(&mut self, start: Instant, bytes: Bytes, end: Instant, outputs: &mut VecDeque<Output<P>>) {
        if let Transmitter::Slots(burst) = &mut self.transmitter {
            burst.fill(bytes, end, || self.queue.dequeue(start, &mut self.given_up));
            self.drop_given_up(start, outputs);
        }
    }

    /// When slots can be used again after an outage in which one was not; says it once.
    pub(crate) fn take_resumed(&mut self) -> Option<Instant> {
        self.resumed.take()
    }

    /// Drops the packet whose turn it is, after too many collisions.
    pub(crate) fn give_up(&mut self, now: Instant, outputs: &mut VecDeque<Output<P>>) {
        let Transmitter::Slots(burst) = &mut self.transmitter else { return };
        if let Some(slot) = burst.give_up().or_else(|| self.queue.dequeue(now, &mut self.given_up)) {
            self.drop_packet(now, slot, DropReason::Collisions, outputs);
        }
        self.drop_given_up(now, outputs);
    }

    /// Changes one setting from now on, until when everything has been made up; `config` has it already.
    pub(crate) fn set(&mut self, now: Instant, setting: &Setting, config: &DirectionConfig) {
        self.change(now, setting, config);
        self.foresee();
    }

    fn change(&mut self, now: Instant, setting: &Setting, config: &DirectionConfig) {
        match setting {
            Setting::Queue(limit) => self.queue.set_limit(*limit),
            Setting::Discipline(discipline) => self.queue.set_discipline(now, *discipline),
            Setting::Outages(outages) => {
                self.outages.set_outages(outages);
                // Whether the transmitter still has to wait is looked at anew.
                self.held_until = self.held_until.map(|_| now);
            }
            Setting::Delay(_) => self.delay.set(config),
            Setting::Rate(_) | Setting::Trace(_) | Setting::Orbit(_) | Setting::Framing(_) => {
                self.delay.set(config);
                match &mut self.transmitter {
                    Transmitter::Serializer(serializer) => serializer.set(now, config),
                    Transmitter::Slots(burst) => burst.set_framing(config.framing),
                }
            }
            Setting::Loss(_)
            | Setting::Jitter(_)
            | Setting::Reordering(_)
            | Setting::Corruption(_)
            | Setting::Duplication(_) => self.impairments.set(setting),
        }
    }

    /// What the queue takes of a class now.
    pub(crate) fn queue_room(&self, class: Class) -> QueueLimit {
        self.queue.room(class)
    }

    /// Whether a packet that arrives now does not wait.
    pub(crate) fn is_free(&mut self, now: Instant) -> bool {
        let is_idle = matches!(&self.transmitter, Transmitter::Serializer(serializer) if serializer.is_idle());
        is_idle && self.held_until.is_none() && self.outages.until(now).is_none()
    }

    /// What waits, as of the last time until which everything has been made up.
    pub(crate) fn queued(&self) -> Bytes {
        self.queue.count().bytes
    }

    /// The books, as of the last time until which everything has been made up.
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            arrived: self.arrived,
            duplicated: self.duplicated,
            delivered: self.delivered,
            dropped: self.dropped,
            queued: self.queue.count(),
            in_service: match &self.transmitter {
                Transmitter::Serializer(serializer) => serializer.count(),
                Transmitter::Slots(burst) => burst.count(),
            },
            in_flight: self.pipe.count(),
        }
    }

    fn next_finish(&self) -> Option<Due> {
        match &self.transmitter {
            Transmitter::Serializer(serializer) => serializer.next_finish(),
            Transmitter::Slots(burst) => burst.next_finish(),
        }
    }

    /// The packet in service goes into the pipe and the next one into service.
    fn end_service(&mut self, now: Instant, outputs: &mut VecDeque<Output<P>>) -> Option<Due> {
        let outage = self.outages.until(now);
        let done = match &mut self.transmitter {
            Transmitter::Slots(burst) => burst.finish(),
            Transmitter::Serializer(serializer) => {
                let next = if outage.is_none() { self.queue.dequeue(now, &mut self.given_up) } else { None };
                self.held_until = outage;
                serializer.finish(next)
            }
        };
        self.drop_given_up(now, outputs);
        let slot = done?;
        // Every packet that is sent meets its numbers, whatever becomes of it.
        let fate = self.impairments.next(slot.bytes);
        if outage.is_some() {
            self.drop_packet(now, slot, DropReason::Outage, outputs);
            return None;
        }
        let delay = self.delay.at(now).saturating_add(fate.jitter);
        Some(self.pipe.enter(now, delay, fate.held_back, slot.map(|packet| (packet, fate.arrival))))
    }

    /// The transmitter goes on after an outage, unless the next has begun.
    fn end_outage(&mut self, now: Instant, outputs: &mut VecDeque<Output<P>>) {
        self.held_until = self.outages.until(now);
        if self.held_until.is_some() {
            return;
        }
        match &mut self.transmitter {
            Transmitter::Slots(_) => self.resumed = Some(now),
            Transmitter::Serializer(serializer) => {
                if let Some(slot) = self.queue.dequeue(now, &mut self.given_up) {
                    serializer.start(now, slot);
                }
                self.drop_given_up(now, outputs);
            }
        }
        self.foresee();
    }

    /// The first packet in the pipe comes out, if nothing takes it.
    pub(crate) fn leave_pipe(&mut self, outputs: &mut VecDeque<Output<P>>) {
        let Some((at, slot)) = self.pipe.exit() else { return };
        let arrival = slot.packet.1;
        let mut slot = slot.map(|(packet, _)| packet);
        if self.outages.until(at).is_some() {
            return self.drop_packet(at, slot, DropReason::Outage, outputs);
        }
        if arrival.is_lost {
            return self.drop_packet(at, slot, DropReason::Lost, outputs);
        }
        if let Some(draw) = arrival.corrupted {
            slot.packet.corrupt(draw);
        }
        if arrival.is_duplicated {
            self.duplicated.add(slot.bytes);
            self.deliver(at, slot.clone(), outputs);
        }
        self.deliver(at, slot, outputs);
    }

    /// Puts a packet out, at every terminal if it is for all.
    fn deliver(&mut self, at: Instant, slot: Slot<P>, outputs: &mut VecDeque<Output<P>>) {
        let Slot { bytes, entered, packet, .. } = slot;
        let mut output = |port, packet| {
            self.delivered.add(bytes);
            outputs.push_back(Output::Deliver { at, port, packet });
        };
        match (entered, packet.destination()) {
            (Port::Terminal(_), _) => output(Port::Gateway, packet),
            (Port::Gateway, Destination::Terminal(number)) => output(Port::Terminal(number), packet),
            (Port::Gateway, Destination::All) => {
                for number in 1..self.terminals {
                    self.duplicated.add(bytes);
                    output(Port::Terminal(number - 1), packet.clone());
                }
                output(Port::Terminal(self.terminals - 1), packet);
            }
        }
    }

    fn drop_given_up(&mut self, at: Instant, outputs: &mut VecDeque<Output<P>>) {
        // Most calls have nothing to drop; the list keeps its memory.
        for (slot, reason) in self.given_up.drain(..) {
            self.dropped.add(slot.bytes);
            outputs.push_back(Output::Drop { at, port: slot.entered, packet: slot.packet, reason });
        }
    }

    fn drop_packet(&mut self, at: Instant, slot: Slot<P>, reason: DropReason, outputs: &mut VecDeque<Output<P>>) {
        self.given_up.push((slot, reason));
        self.drop_given_up(at, outputs);
    }
}
