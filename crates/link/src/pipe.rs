//! Propagation: a constant one-way delay that never reorders.
//!
//! A packet that enters at `t` leaves at `t + delay`, where `delay` is what it was at `t`. After the delay was shortened
//! a packet could overtake those ahead of it; it leaves with the last of them instead, as in a radio path that changes its
//! length (a handover to a nearer satellite) behind a transmitter that buffers. Left out: jitter, several paths.

use crate::Count;
use crate::packet::Slot;
use farhop_units::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Packets in flight, in order of their exit.
#[derive(Debug)]
pub(crate) struct Pipe<P> {
    delay: Duration,
    in_flight: VecDeque<(Instant, Slot<P>)>,
    count: Count,
    last_exit: Instant,
}

impl<P> Pipe<P> {
    /// An empty pipe.
    pub(crate) fn new(delay: Duration) -> Self {
        Self { delay, in_flight: VecDeque::new(), count: Count::default(), last_exit: Instant::START }
    }

    /// Sends a packet on its way.
    pub(crate) fn enter(&mut self, now: Instant, slot: Slot<P>) {
        self.last_exit = self.last_exit.max(now + self.delay);
        self.count.add(slot.bytes);
        self.in_flight.push_back((self.last_exit, slot));
    }

    /// The packet at the end of the pipe.
    pub(crate) fn exit(&mut self) -> Option<(Instant, Slot<P>)> {
        let (at, slot) = self.in_flight.pop_front()?;
        self.count.remove(slot.bytes);
        Some((at, slot))
    }

    /// When the next packet leaves, and its number.
    pub(crate) fn next_exit(&self) -> Option<(Instant, u64)> {
        self.in_flight.front().map(|(at, slot)| (*at, slot.number))
    }

    /// Changes the delay of packets that enter from now on.
    pub(crate) fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// What is in flight.
    pub(crate) fn count(&self) -> Count {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;
    use farhop_units::Bytes;

    fn millis(count: u64) -> Instant {
        Instant::START + Duration::from_millis(count)
    }

    fn enter(pipe: &mut Pipe<()>, now: Instant, number: u64) {
        pipe.enter(now, Slot { number, bytes: Bytes::new(40), entered: Port::Gateway, packet: () });
    }

    #[test]
    fn a_longer_delay_spares_packets_in_flight() {
        let mut pipe = Pipe::new(Duration::from_millis(10));
        enter(&mut pipe, millis(0), 0);
        pipe.set_delay(Duration::from_millis(250));
        enter(&mut pipe, millis(1), 1);
        assert_eq!(pipe.exit().map(|(at, slot)| (at, slot.number)), Some((millis(10), 0)));
        assert_eq!(pipe.exit().map(|(at, slot)| (at, slot.number)), Some((millis(251), 1)));
    }

    #[test]
    fn a_shorter_delay_lets_nobody_overtake() {
        let mut pipe = Pipe::new(Duration::from_millis(250));
        enter(&mut pipe, millis(0), 0);
        pipe.set_delay(Duration::from_millis(10));
        enter(&mut pipe, millis(1), 1);
        enter(&mut pipe, millis(300), 2);
        assert_eq!(pipe.exit().map(|(at, slot)| (at, slot.number)), Some((millis(250), 0)));
        assert_eq!(pipe.exit().map(|(at, slot)| (at, slot.number)), Some((millis(250), 1)));
        assert_eq!(pipe.exit().map(|(at, slot)| (at, slot.number)), Some((millis(310), 2)));
    }
}
