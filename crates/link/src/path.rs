//! One way through a channel: queue → transmitter → pipe → impairments.
//!
//! The place where packets go from stage to stage. The way down is one path for all terminals; up, each terminal has a path
//! of its own. The transmitter is a serializer, or, where terminals share the way up, slots that medium access grants.
//!
//! Where nothing can happen to a packet between its arrival and its exit from the pipe (no outages, no queue that drops what
//! waits, a constant delay), the ends of services are not events of their own: they are made up, at their own times, before
//! the next arrival or exit, so that a packet costs one event instead of two.
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
use crate::{ChannelConfig, Count, Destination, Direction, DirectionConfig, DropReason, Output, Packet, Port, Setting};
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// When something is due, and the number of the packet it happens to. Of two events of one instant the one of the packet
/// that arrived first comes first.
pub(crate) type Due = (Instant, u64);

/// The stages of one way and its books.
#[derive(Debug)]
pub(crate) struct Path<P> {
    queue: Queue<P>,
    transmitter: Transmitter<P>,
    /// The end of the outage that the transmitter waits for, with packets in the queue.
    held_until: Option<Instant>,
    /// When that outage ended, for whoever grants slots.
    resumed: Option<Instant>,
    delay: Delay,
    /// The delay of all packets, where ends of services are made up.
    foreseen: Option<Duration>,
    /// Packets in flight, with what becomes of each.
    pipe: Pipe<(P, Arrival)>,
    outages: OutageProcess,
    impairments: Impairments,
    terminals: u16,
    /// Packets that a stage has just given up.
    given_up: Dropped<P>,
    arrived: Count,
    duplicated: Count,
    delivered: Count,
    dropped: Count,
}

/// What puts packets on the wire.
#[derive(Debug)]
enum Transmitter<P> {
    /// A channel of the path's own.
    Serializer(Serializer<P>),
    /// Slots of a shared channel.
    Slots(Burst<P>),
}

/// What is next.
#[derive(Debug, Clone, Copy)]
enum Step {
    LeavePipe,
    EndService,
    EndOutage,
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

    /// Whether ends of services can be made up.
    fn foresee(&mut self) {
        let is_quiet = self.outages.is_never() && self.held_until.is_none() && !self.queue.drops_what_waits();
        let has_serializer = matches!(self.transmitter, Transmitter::Serializer(_));
        self.foreseen = self.delay.constant().filter(|_| is_quiet && has_serializer);
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

    /// When something happens next, at the earliest.
    pub(crate) fn next_due(&self) -> Option<Due> {
        match (self.foreseen, &self.transmitter) {
            (Some(delay), Transmitter::Serializer(serializer)) => self.next_exit(delay, serializer),
            _ => self.next_step().map(|(due, _)| due),
        }
    }

    /// When a packet leaves the pipe next, at the earliest: one that is in it, or one in service.
    fn next_exit(&self, delay: Duration, serializer: &Serializer<P>) -> Option<Due> {
        let in_service = || serializer.next_finish().map(|(end, number)| (end + delay, number));
        match self.pipe.next_exit() {
            // Whoever is in service does not overtake those that keep the order.
            Some(exit) if self.pipe.keeps_order() => Some(exit),
            exit => exit.into_iter().chain(in_service()).min(),
        }
    }

    /// Lets happen what is due at `now`, which [`Path::next_due`] may have named too early.
    pub(crate) fn step(&mut self, now: Instant, outputs: &mut VecDeque<Output<P>>) {
        if self.foreseen.is_some() {
            self.catch_up(now, outputs);
            if self.pipe.next_exit().is_some_and(|(exit, _)| exit <= now) {
                self.leave_pipe(outputs);
            }
            return;
        }
        match self.next_step() {
            Some((_, Step::LeavePipe)) => self.leave_pipe(outputs),
            Some(((at, _), Step::EndService)) => self.end_service(at, outputs),
            Some(((at, _), Step::EndOutage)) => self.end_outage(at, outputs),
            None => {}
        }
    }

    /// What could be sent in a slot, on the wire: nothing, from the first slot in an outage to its end.
    pub(crate) fn backlog(&self) -> Bytes {
        match &self.transmitter {
            Transmitter::Slots(burst) if self.held_until.is_none() => burst.backlog(self.queue.count()),
            Transmitter::Slots(_) | Transmitter::Serializer(_) => Bytes::ZERO,
        }
    }

    /// Sends `bytes` in the slot from `start` to `end`, or keeps silent until an outage is over.
    pub(crate) fn send(&mut self, start: Instant, bytes: Bytes, end: Instant, outputs: &mut VecDeque<Output<P>>) {
        self.held_until = self.outages.until(start);
        if let (None, Transmitter::Slots(burst)) = (self.held_until, &mut self.transmitter) {
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

    fn next_step(&self) -> Option<(Due, Step)> {
        let service = match &self.transmitter {
            Transmitter::Serializer(serializer) => serializer.next_finish(),
            Transmitter::Slots(burst) => burst.next_finish(),
        };
        // Plain comparisons: this is asked twice per event.
        let mut next = self.pipe.next_exit().map(|due| (due, Step::LeavePipe));
        if let Some(due) = service
            && next.is_none_or(|(earliest, _)| due < earliest)
        {
            next = Some((due, Step::EndService));
        }
        if let Some(at) = self.held_until
            && next.is_none_or(|(earliest, _)| (at, LAST) < earliest)
        {
            next = Some(((at, LAST), Step::EndOutage));
        }
        next
    }

    /// The packet in service goes into the pipe and the next one into service.
    fn end_service(&mut self, now: Instant, outputs: &mut VecDeque<Output<P>>) {
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
        let Some(slot) = done else { return };
        // Every packet that is sent meets its numbers, whatever becomes of it.
        let fate = self.impairments.next(slot.bytes);
        if outage.is_some() {
            return self.drop_packet(now, slot, DropReason::Outage, outputs);
        }
        let delay = self.delay.at(now).saturating_add(fate.jitter);
        self.pipe.enter(now, delay, fate.held_back, slot.map(|packet| (packet, fate.arrival)));
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
    fn leave_pipe(&mut self, outputs: &mut VecDeque<Output<P>>) {
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
