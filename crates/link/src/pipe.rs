//! Propagation: packets in flight, each with a delay of its own, which leave in order unless one is held back.
//!
//! A packet that enters at `t` with delay `d` leaves at `t + d`, or with the packet ahead of it if that would be earlier: so
//! neither jitter nor a path that becomes shorter (a handover to a nearer satellite) reorders, as behind a transmitter that
//! buffers. A packet that is held back leaves so much later than that, and those behind it leave as if it were not. It is
//! overtaken only by packets that leave within that time; nothing else overtakes. The delays come from the caller.

use crate::Count;
use crate::packet::Slot;
use crate::path::Due;
use farhop_units::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// A packet in flight and when it leaves.
type InFlight<P> = (Instant, Slot<P>);

/// Packets in flight.
#[derive(Debug)]
pub(crate) struct Pipe<P> {
    /// Those that keep the order, which is that of their exits.
    in_order: VecDeque<InFlight<P>>,
    /// Those held back, in order of exit, then number. Usually that is their order of entry: all are held back equally long.
    held_back: VecDeque<InFlight<P>>,
    count: Count,
    /// When the last packet to enter leaves, or would if it were not held back.
    last_exit: Instant,
    /// The turn of the last packet in order.
    last_turn: Due,
}

impl<P> Pipe<P> {
    /// An empty pipe.
    pub(crate) fn new() -> Self {
        let (in_order, held_back) = (VecDeque::new(), VecDeque::new());
        let (last_exit, last_turn) = (Instant::START, (Instant::START, 0));
        Self { in_order, held_back, count: Count::default(), last_exit, last_turn }
    }

    /// Sends a packet on its way, which takes `delay`, and, if it is to be overtaken, so much longer. Returns its turn to leave
    /// among the packets of all pipes: when, and its number, or that of a packet ahead which leaves at the same time.
    pub(crate) fn enter(&mut self, now: Instant, delay: Duration, held_back: Option<Duration>, slot: Slot<P>) -> Due {
        self.last_exit = self.last_exit.max(now + delay);
        self.count.add(slot.bytes);
        match held_back {
            None => {
                self.last_turn = self.last_turn.max((self.last_exit, slot.number));
                self.in_order.push_back((self.last_exit, slot));
                self.last_turn
            }
            Some(longer) => self.hold_back(self.last_exit + longer, slot),
        }
    }

    /// The next packet at the end of the pipe.
    pub(crate) fn exit(&mut self) -> Option<InFlight<P>> {
        let in_flight = if self.is_held_back_next() { &mut self.held_back } else { &mut self.in_order };
        let (at, slot) = in_flight.pop_front()?;
        if in_flight.is_empty() {
            // Begins again at the front of its memory, which the cache may still hold.
            in_flight.clear();
        }
        self.count.remove(slot.bytes);
        Some((at, slot))
    }

    /// When the next packet leaves, and its number. Of two that leave together the one of the lower number is next.
    pub(crate) fn next_exit(&self) -> Option<Due> {
        let in_flight = if self.is_held_back_next() { &self.held_back } else { &self.in_order };
        in_flight.front().map(key)
    }

    /// Whether there are packets that nobody overtakes who enters from now on.
    pub(crate) fn keeps_order(&self) -> bool {
        !self.in_order.is_empty()
    }

    /// What is in flight.
    pub(crate) fn count(&self) -> Count {
        self.count
    }

    fn hold_back(&mut self, exit: Instant, slot: Slot<P>) -> Due {
        let turn = (exit, slot.number);
        let place = self.held_back.partition_point(|other| key(other) < turn);
        self.held_back.insert(place, (exit, slot));
        turn
    }

    fn is_held_back_next(&self) -> bool {
        let Some(held_back) = self.held_back.front() else { return false };
        self.in_order.front().is_none_or(|in_order| key(held_back) < key(in_order))
    }
}

fn key<P>((exit, slot): &InFlight<P>) -> Due {
    (*exit, slot.number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;
    use farhop_units::Bytes;
    use proptest::prelude::*;

    const BY: Duration = Duration::from_millis(10);

    fn millis(count: u64) -> Instant {
        Instant::START + Duration::from_millis(count)
    }

    fn slot(number: u64) -> Slot<()> {
        Slot { number, bytes: Bytes::new(40), entered: Port::Gateway, packet: () }
    }

    /// Sends packet `number` on a way of `delay` ms.
    fn enter(pipe: &mut Pipe<()>, at: u64, delay: u64, held_back: Option<Duration>, number: u64) {
        pipe.enter(millis(at), Duration::from_millis(delay), held_back, slot(number));
    }

    /// Exit in ms and number of all that is in flight.
    fn exits(pipe: &mut Pipe<()>) -> Vec<(u128, u64)> {
        let exits = core::iter::from_fn(|| pipe.exit());
        exits.map(|(at, slot)| (at.since(Instant::START).as_millis(), slot.number)).collect()
    }

    #[test]
    fn a_longer_delay_spares_packets_in_flight() {
        let mut pipe = Pipe::new();
        enter(&mut pipe, 0, 10, None, 0);
        enter(&mut pipe, 1, 250, None, 1);
        assert_eq!(exits(&mut pipe), [(10, 0), (251, 1)]);
    }

    #[test]
    fn a_shorter_delay_lets_nobody_overtake() {
        let mut pipe = Pipe::new();
        enter(&mut pipe, 0, 250, None, 0);
        enter(&mut pipe, 1, 10, None, 1);
        enter(&mut pipe, 300, 10, None, 2);
        assert_eq!(exits(&mut pipe), [(250, 0), (250, 1), (310, 2)]);
    }

    #[test]
    fn a_packet_held_back_is_overtaken_and_delays_nobody() {
        let mut pipe = Pipe::new();
        enter(&mut pipe, 0, 100, Some(BY), 0);
        enter(&mut pipe, 4, 100, None, 1);
        enter(&mut pipe, 9, 100, None, 2);
        enter(&mut pipe, 11, 100, None, 3);
        assert_eq!(exits(&mut pipe), [(104, 1), (109, 2), (110, 0), (111, 3)]);
    }

    #[test]
    fn of_two_that_leave_together_the_lower_number_is_first() {
        let mut pipe = Pipe::new();
        enter(&mut pipe, 0, 100, Some(BY), 0);
        enter(&mut pipe, 10, 100, None, 1);
        assert_eq!(exits(&mut pipe), [(110, 0), (110, 1)]);
        // A queue that is not first in, first out sends a later arrival earlier.
        enter(&mut pipe, 200, 100, Some(BY), 5);
        enter(&mut pipe, 210, 100, None, 4);
        assert_eq!(exits(&mut pipe), [(310, 4), (310, 5)]);
    }

    #[test]
    fn packets_held_back_for_different_times_leave_when_each_is_due() {
        let mut pipe = Pipe::new();
        enter(&mut pipe, 0, 100, Some(5 * BY), 0);
        enter(&mut pipe, 1, 100, Some(BY), 1);
        enter(&mut pipe, 2, 100, Some(3 * BY), 2);
        assert_eq!(exits(&mut pipe), [(111, 1), (132, 2), (150, 0)]);
    }

    #[test]
    fn what_leaves_after_the_end_of_time_leaves_there_in_order() {
        let mut pipe = Pipe::new();
        let last = Instant::from_nanos(u64::MAX);
        pipe.enter(millis(1), Duration::MAX, Some(BY), slot(0));
        pipe.enter(last, Duration::ZERO, None, slot(1));
        pipe.enter(last, BY, Some(Duration::MAX), slot(2));
        let order: Vec<_> = core::iter::from_fn(|| pipe.exit()).map(|(at, slot)| (at, slot.number)).collect();
        assert_eq!(order, [(last, 0), (last, 1), (last, 2)]);
    }

    /// What enters: ns since the packet before, delay without jitter, jitter, and whether it is held back.
    type Entry = (u64, u64, u64, bool);

    const DELAY: u64 = 200;
    const JITTER: u64 = 50;
    const HELD: u64 = 100;

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        proptest::collection::vec((0_u64..40, Just(DELAY), 0..=JITTER, proptest::bool::weighted(0.2)), 1..100)
    }

    /// Entry and exit in ns of every packet, in order of exit.
    fn run(pipe: &mut Pipe<()>, entries: &[Entry], may_hold_back: bool) -> Vec<(u64, u64, u64)> {
        let (mut now, mut entered, mut left) = (0, Vec::new(), Vec::new());
        for (&(gap, delay, jitter, is_held_back), number) in entries.iter().zip(0..) {
            now += gap;
            entered.push(now);
            let held_back = (is_held_back && may_hold_back).then_some(Duration::from_nanos(HELD));
            pipe.enter(Instant::from_nanos(now), Duration::from_nanos(delay + jitter), held_back, slot(number));
            while pipe.next_exit().is_some_and(|(at, _)| at.as_nanos() <= now) {
                left.extend(pipe.exit());
            }
        }
        left.extend(core::iter::from_fn(|| pipe.exit()));
        let entry = |number: u64| entered[usize::try_from(number).expect("few packets")];
        left.into_iter().map(|(at, slot)| (slot.number, entry(slot.number), at.as_nanos())).collect()
    }

    proptest! {
        #[test]
        fn delays_alone_never_reorder(
            entries in proptest::collection::vec((0_u64..40, 0_u64..1000, 0_u64..1000, Just(false)), 1..100),
        ) {
            let left = run(&mut Pipe::new(), &entries, true);
            prop_assert!(left.is_sorted_by_key(|&(number, _, exit)| (number, exit)));
            for (&(_, entry, exit), &(_, delay, jitter, _)) in left.iter().zip(&entries) {
                prop_assert!(exit >= entry + delay + jitter);
            }
        }

        #[test]
        fn what_is_next_leaves_next_and_time_never_runs_back(entries in entries()) {
            let left = run(&mut Pipe::new(), &entries, true);
            prop_assert!(left.is_sorted_by_key(|&(_, _, exit)| exit));
        }

        #[test]
        fn a_packet_is_overtaken_only_by_those_that_enter_within_its_time(entries in entries()) {
            let left = run(&mut Pipe::new(), &entries, true);
            for (place, &(number, entry, _)) in left.iter().enumerate() {
                for &(other, other_entry, _) in left[..place].iter().filter(|(other, ..)| *other > number) {
                    let is_held_back = |number: u64| entries[usize::try_from(number).expect("few packets")].3;
                    prop_assert!(is_held_back(number), "{} overtakes {}", other, number);
                    prop_assert!(other_entry - entry < HELD + JITTER, "{} overtakes {}", other, number);
                }
            }
        }

        #[test]
        fn holding_back_some_moves_no_other(entries in entries()) {
            let mut with = run(&mut Pipe::new(), &entries, true);
            with.sort_unstable();
            let without = run(&mut Pipe::new(), &entries, false);
            for ((with, without), entry) in with.iter().zip(&without).zip(&entries) {
                prop_assert_eq!(with.2, without.2 + if entry.3 { HELD } else { 0 });
            }
        }

        #[test]
        fn packets_in_have_left_or_are_in_flight(entries in entries(), leave in proptest::collection::vec(any::<bool>(), 100)) {
            let mut pipe = Pipe::new();
            let (mut numbers, mut now) = (Vec::new(), Instant::START);
            for ((&(gap, delay, jitter, held), leave), number) in entries.iter().zip(leave).zip(0_u64..) {
                now += Duration::from_nanos(gap);
                pipe.enter(now, Duration::from_nanos(delay + jitter), held.then_some(BY), slot(number));
                let next = pipe.next_exit();
                if leave {
                    let left = pipe.exit();
                    prop_assert_eq!(left.as_ref().map(|(at, slot)| (*at, slot.number)), next);
                    numbers.extend(left.map(|(_, slot)| slot.number));
                }
                let held = number + 1 - numbers.len() as u64;
                prop_assert_eq!(pipe.count(), Count { packets: held, bytes: Bytes::new(40 * held) });
            }
            numbers.extend(core::iter::from_fn(|| pipe.exit()).map(|(_, slot)| slot.number));
            numbers.sort_unstable();
            prop_assert!(numbers.into_iter().eq(0..entries.len() as u64));
            prop_assert_eq!((pipe.count(), pipe.next_exit()), (Count::default(), None));
        }
    }
}
