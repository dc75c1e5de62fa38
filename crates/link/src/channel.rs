//! Both directions between a gateway and its terminals, run as one machine on the caller's time.

use crate::packet::Slot;
use crate::path::{Due, Path};
use crate::{Change, ChannelConfig, Counters, Direction, Output, Packet, Port};
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;

/// A far link: two directions, each queue → serializer → pipe → loss.
///
/// Every call with `now` first runs what was due until then, at the time it was due. A `now` before an earlier call's
/// counts as that earlier time ([`Channel::now`]): what has happened is not taken back.
#[derive(Debug)]
pub struct Channel<P> {
    down: Path<P>,
    up: Path<P>,
    outputs: VecDeque<Output<P>>,
    now: Instant,
    arrivals: u64,
}

impl<P: Packet> Channel<P> {
    /// An empty channel at the beginning of the run. The seed decides every random number it will ever use.
    pub fn new(config: ChannelConfig, seed: u64) -> Self {
        Self {
            down: Path::new(&config.down, seed, Direction::Down),
            up: Path::new(&config.up, seed, Direction::Up),
            outputs: VecDeque::new(),
            now: Instant::START,
            arrivals: 0,
        }
    }

    /// A packet enters at `port`.
    pub fn handle_packet(&mut self, now: Instant, port: Port, packet: P) {
        self.run_until(now);
        let slot = Slot { number: self.arrivals, bytes: packet.wire_bytes(), entered: port, packet };
        self.arrivals += 1;
        let path = match port.direction() {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        };
        path.arrive(self.now, slot, &mut self.outputs);
        // Without rate and delay the packet is through at once.
        self.run_until(self.now);
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.run_until(now);
    }

    /// Changes one setting of one direction from `now` on, without touching its random streams. The packet in service
    /// finishes at its old rate, packets in flight keep their delay, and the queue keeps what it holds.
    pub fn reconfigure(&mut self, now: Instant, change: Change) {
        self.run_until(now);
        self.path_mut(change.direction).set(change.setting);
    }

    /// The next output, in order of time; `None` until something more has happened.
    pub fn poll(&mut self) -> Option<Output<P>> {
        self.outputs.pop_front()
    }

    /// When [`Channel::handle_timeout`] has something to do next.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.next_due().map(|((at, _), _)| at)
    }

    /// The channel's time: the latest `now` of any call. A log of its inputs notes this time, after the call.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Bytes of one direction that are queued, in service or in flight.
    pub fn held(&self, direction: Direction) -> Bytes {
        self.counters(direction).held().bytes
    }

    /// The books of one direction. A packet counts as delivered as soon as its output can be polled.
    pub fn counters(&self, direction: Direction) -> Counters {
        match direction {
            Direction::Down => self.down.counters(),
            Direction::Up => self.up.counters(),
        }
    }

    /// Runs everything due at or before `now`, in order of time and, within an instant, of arrival.
    fn run_until(&mut self, now: Instant) {
        self.now = self.now.max(now);
        while let Some(((at, _), direction)) = self.next_due() {
            if at > self.now {
                break;
            }
            match direction {
                Direction::Down => self.down.step(&mut self.outputs),
                Direction::Up => self.up.step(&mut self.outputs),
            }
        }
    }

    /// What happens next, and in which direction.
    fn next_due(&self) -> Option<(Due, Direction)> {
        let down = self.down.next_due().map(|due| (due, Direction::Down));
        let up = self.up.next_due().map(|due| (due, Direction::Up));
        match (down, up) {
            (Some(down), Some(up)) => Some(down.min(up)),
            (down, up) => down.or(up),
        }
    }

    fn path_mut(&mut self, direction: Direction) -> &mut Path<P> {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }
}

#[cfg(test)]
mod tests;
