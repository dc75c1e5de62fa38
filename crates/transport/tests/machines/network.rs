//! Two machines and a pipe each way, just enough to test the machines alone: a pipe has a queue with a limit that must never be
//! exceeded, a rate, a delay, a spread of extra delay that reorders, and probabilities of loss and duplication.

use farhop_transport::{Output, QueueRoom, Room, StreamId};
use farhop_units::random::Dice;
use farhop_units::{Bytes, Instant, Rate};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Far more than any test needs: who goes on for longer goes on for ever.
const MAX_STEPS: u64 = 1_000_000;

/// What the network needs of a machine.
pub(crate) trait Machine {
    type Packet: Copy;
    fn handle_packet(&mut self, now: Instant, packet: &Self::Packet);
    fn handle_timeout(&mut self, now: Instant);
    fn next_timeout(&self) -> Option<Instant>;
    fn poll(&mut self) -> Option<Output<Self::Packet>>;
    fn wire_bytes(packet: &Self::Packet) -> Bytes;
    fn read(&mut self, _now: Instant, _stream: StreamId, _bytes: Bytes) {}
    fn set_link_room(&mut self, _now: Instant, _room: Room) {}
}

/// That a machine is one, by its own methods; further ones than all have behind the types.
macro_rules! machine {
    ($machine:ty, $packet:ty $(, $method:ident($($name:ident: $type:ty),*))*) => {
        impl crate::network::Machine for $machine {
            type Packet = $packet;
            fn handle_packet(&mut self, now: Instant, packet: &$packet) {
                self.handle_packet(now, packet);
            }
            fn handle_timeout(&mut self, now: Instant) {
                self.handle_timeout(now);
            }
            fn next_timeout(&self) -> Option<Instant> {
                self.next_timeout()
            }
            fn poll(&mut self) -> Option<Output<$packet>> {
                self.poll()
            }
            fn wire_bytes(packet: &$packet) -> Bytes {
                packet.wire_bytes()
            }
            $(fn $method(&mut self, now: Instant, $($name: $type),*) {
                self.$method(now, $($name),*);
            })*
        }
    };
}
pub(crate) use machine;

/// One direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pipe {
    pub(crate) rate: Option<Rate>,
    /// The queue before it, the packet in service not counted; the machine is told of its room.
    pub(crate) queue: Option<Bytes>,
    pub(crate) delay: Duration,
    /// Up to this much is added to the delay of each packet.
    pub(crate) spread: Duration,
    /// Of a thousand packets.
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    /// Packets lost for certain: counted from 0 in the order of sending, or those that leave the serializer in a span of time.
    pub(crate) lost_packets: Vec<u64>,
    pub(crate) cut: Option<(Instant, Instant)>,
}

/// What one end has received of one stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) bytes: Bytes,
    pub(crate) first: Option<Instant>,
    pub(crate) last: Option<Instant>,
    pub(crate) finished: bool,
    pub(crate) closed: bool,
}

struct Line<P> {
    pipe: Pipe,
    waiting: VecDeque<P>,
    held: Bytes,
    most_held: Bytes,
    serving: Option<(Instant, P)>,
    left: u64,
}

/// What happened at one end.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) streams: BTreeMap<StreamId, Stream>,
    pub(crate) connected: Option<Instant>,
    pub(crate) packets_sent: u64,
    pub(crate) bytes_sent: Bytes,
    pub(crate) room: Vec<(Instant, StreamId, Bytes)>,
}

pub(crate) struct Network<M: Machine> {
    pub(crate) ends: [M; 2],
    lines: [Line<M::Packet>; 2],
    flying: BTreeMap<(Instant, u64), (usize, M::Packet)>,
    numbered: u64,
    steps: u64,
    dice: Dice,
    pub(crate) now: Instant,
    pub(crate) seen: [Seen; 2],
    /// Whether an end reads at once what it receives.
    pub(crate) reads: [bool; 2],
}

impl<M: Machine> Network<M> {
    /// `pipes` are from the first end to the second and back.
    pub(crate) fn new(ends: [M; 2], pipes: [Pipe; 2], dice: Dice) -> Self {
        let line = |pipe: Pipe| {
            let (waiting, [held, most_held]) = (VecDeque::new(), [Bytes::ZERO; 2]);
            Line { pipe, waiting, held, most_held, serving: None, left: 0 }
        };
        let mut network = Self {
            ends,
            lines: pipes.map(line),
            flying: BTreeMap::new(),
            numbered: 0,
            steps: 0,
            dice,
            now: Instant::START,
            seen: Default::default(),
            reads: [true; 2],
        };
        for end in 0..2 {
            network.tell_room(end);
            network.collect(end);
        }
        network
    }

    /// Does something at one end now.
    pub(crate) fn at<T>(&mut self, end: usize, action: impl FnOnce(&mut M, Instant) -> T) -> T {
        let done = action(&mut self.ends[end], self.now);
        self.collect(end);
        done
    }

    pub(crate) fn stream(&self, end: usize, stream: u32) -> Stream {
        self.seen[end].streams.get(&StreamId(stream)).copied().unwrap_or_default()
    }

    /// The most that has waited before the link behind one end.
    pub(crate) fn most_waiting(&self, end: usize) -> Bytes {
        self.lines[end].most_held
    }

    /// Runs until `done` or until nothing is left to happen; says whether it was done.
    pub(crate) fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool) -> bool {
        while !done(self) {
            if !self.step(None) {
                return done(self);
            }
        }
        true
    }

    /// Runs up to `end`.
    pub(crate) fn run_to(&mut self, end: Instant) {
        while self.step(Some(end)) {}
        self.now = end;
    }

    fn step(&mut self, end: Option<Instant>) -> bool {
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        let services = self.lines.iter().filter_map(|line| line.serving.as_ref().map(|(at, _)| *at));
        let timers = self.ends.iter().filter_map(M::next_timeout);
        let Some(next) = timers.chain(arrival).chain(services).min() else { return false };
        if end.is_some_and(|end| next > end) {
            return false;
        }
        assert!(next >= self.now, "a timer is never in the past: {next} at {}", self.now);
        self.steps += 1;
        assert!(self.steps < MAX_STEPS, "still busy at {next}");
        self.now = next;
        for end in 0..2 {
            if let Some((at, packet)) = self.lines[end].serving.take_if(|(at, _)| *at <= next) {
                self.fly(end, at, packet);
                self.serve(end);
            }
        }
        if let Some(first) = self.flying.first_entry().filter(|first| first.key().0 <= next) {
            let (to, packet) = first.remove();
            self.ends[to].handle_packet(next, &packet);
            self.collect(to);
        }
        for end in 0..2 {
            self.ends[end].handle_timeout(next);
            self.collect(end);
        }
        true
    }

    fn collect(&mut self, end: usize) {
        while let Some(output) = self.ends[end].poll() {
            match output {
                Output::Transmit { at, packet } => {
                    assert!(at == self.now, "nothing leaves in the past: {at} at {}", self.now);
                    self.enter(end, packet);
                }
                Output::Connected { at, .. } => _ = self.seen[end].connected.get_or_insert(at),
                Output::Received { at, stream, bytes, finished } => {
                    let seen = self.seen[end].streams.entry(stream).or_default();
                    assert!(!seen.finished, "nothing after the end");
                    seen.bytes += bytes;
                    seen.first.get_or_insert(at);
                    (seen.last, seen.finished) = (Some(at), finished);
                    if self.reads[end] {
                        self.ends[end].read(at, stream, bytes);
                    }
                }
                Output::Room { at, stream, room } => self.seen[end].room.push((at, stream, room)),
                Output::Closed { stream, .. } => self.seen[end].streams.entry(stream).or_default().closed = true,
            }
        }
    }

    fn enter(&mut self, end: usize, packet: M::Packet) {
        let wire = M::wire_bytes(&packet);
        self.seen[end].packets_sent += 1;
        self.seen[end].bytes_sent += wire;
        self.lines[end].waiting.push_back(packet);
        self.lines[end].held += wire;
        self.serve(end);
        let line = &mut self.lines[end];
        line.most_held = line.most_held.max(line.held);
        assert!(line.pipe.queue.is_none_or(|limit| line.held <= limit), "{} wait before the link", line.held);
    }

    fn serve(&mut self, end: usize) {
        let line = &mut self.lines[end];
        if line.serving.is_some() {
            return;
        }
        let Some(packet) = line.waiting.pop_front() else { return };
        let wire = M::wire_bytes(&packet);
        line.held -= wire;
        let time = line.pipe.rate.map_or(Duration::ZERO, |rate| rate.transmission_time(wire));
        line.serving = Some((self.now + time, packet));
        self.tell_room(end);
    }

    fn tell_room(&mut self, end: usize) {
        let line = &self.lines[end];
        if let Some(limit) = line.pipe.queue {
            self.ends[end].set_link_room(self.now, QueueRoom::Bytes(limit - line.held).into());
        }
    }

    fn fly(&mut self, end: usize, at: Instant, packet: M::Packet) {
        let line = &mut self.lines[end];
        let number = line.left;
        line.left += 1;
        let pipe = &line.pipe;
        let cut = pipe.cut.is_some_and(|(from, to)| from <= at && at < to);
        let lost = self.dice.below(1000) < pipe.lost || cut || pipe.lost_packets.contains(&number);
        let copies = if lost { 0 } else { 1 + u64::from(self.dice.below(1000) < pipe.doubled) };
        for _ in 0..copies {
            let extra = pipe.spread.mul_f64(self.dice.uniform());
            self.flying.insert((at + pipe.delay + extra, self.numbered), (1 - end, packet));
            self.numbered += 1;
        }
    }
}
