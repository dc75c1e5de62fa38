//! One direction of the path: serializers in a row, each with a queue before it and a delay behind it.
//!
//! All packets of a direction pass the same serializers in the order in which they were sent, so that the arrival of each is known
//! as soon as it is sent: d = max(free, t) + (bytes + overhead)·redundancy·8/Q, t' = d + τ, for each hop in turn. So is whether it
//! finds room: what waits at t are the packets whose service begins later.

use super::ticks::{Fine, Pace, Ticks};
use core::ops::Add;
use farhop_scenario::QueueLimit;
use std::collections::VecDeque;

/// Most hops of a direction: wan, link and lan.
pub(crate) const MOST_HOPS: usize = 3;

/// A serializer with a delay behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Hop {
    pace: Pace,
    /// Bytes that a packet takes beside its own.
    overhead: i64,
    delay: Ticks,
    limit: QueueLimit,
    /// A backlog of so long fits into the queue for certain.
    slack: Fine,
    /// When the serializer has sent all that it was given.
    free: Fine,
    /// The last size and its service time: nearly all packets of a direction are equal.
    last: (u64, Fine),
}

impl Hop {
    pub(crate) fn new(pace: Pace, overhead: i64, delay: Ticks, limit: QueueLimit) -> Self {
        let slack = match limit {
            QueueLimit::Unlimited => Fine::END,
            QueueLimit::Bytes(limit) => pace.fine(limit.get()),
            QueueLimit::Packets(_) => Fine::default(),
        };
        Self {
            pace,
            overhead,
            delay,
            limit,
            slack,
            free: Fine::default(),
            last: (0, pace.fine(0_u64.saturating_add_signed(overhead))),
        }
    }

    fn service(&mut self, bytes: u64) -> Fine {
        if self.last.0 != bytes {
            self.last = (bytes, self.pace.fine(bytes.saturating_add_signed(self.overhead)));
        }
        self.last.1
    }

    /// Sends a packet that has come `at` then, whether or not there is room for it.
    fn pass(&mut self, at: Ticks, bytes: u64) -> Passage {
        let (at, served) = (Fine::from(at), self.service(bytes));
        let found_idle = self.free < at;
        if found_idle {
            self.free = at + served;
            let arrival = self.free.rounded_up() + self.delay;
            return Passage { arrival, waited: Ticks::ZERO, served, found_idle, is_dropped: false };
        }
        let wait = self.free.since(at);
        self.free = self.free + served;
        Passage {
            arrival: self.free.rounded_up() + self.delay,
            waited: wait.rounded_up(),
            served,
            found_idle,
            is_dropped: wait > Fine::default() && wait + served > self.slack,
        }
    }

    /// The same of `count` packets that have come `at` then together: the serializer does not stand still in between, and if any finds no
    /// room the last one does not.
    #[inline(always)]
    fn pass_together(&mut self, at: Ticks, count: u64, bytes: u64, mut tell: impl FnMut(Passage)) -> Together {
        let (served, delay, came) = (self.service(bytes), self.delay, Fine::from(at));
        let found_idle = self.free < came;
        let mut free = self.free.max(came);
        let (mut begins, mut before) = (free.rounded_up(), free);
        for _ in 0..count {
            before = free;
            let waited = begins.since(at);
            free = free + served;
            begins = free.rounded_up();
            tell(Passage { arrival: begins + delay, waited, served, found_idle: false, is_dropped: false });
        }
        self.free = free;
        Together { found_idle, is_dropped: before > came && free > came + self.slack }
    }
}

/// What passing a direction cost several packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Together {
    /// The slowest serializer stood still before one of them.
    pub(crate) found_idle: bool,
    /// There was no room for one of them, or it is not certain that there was.
    pub(crate) is_dropped: bool,
}

/// What passing a direction cost a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Passage {
    pub(crate) arrival: Ticks,
    /// Time spent waiting for serializers that were busy with earlier packets.
    pub(crate) waited: Ticks,
    /// Time on serializers.
    pub(crate) served: Fine,
    /// The slowest serializer stood still before this packet.
    pub(crate) found_idle: bool,
    /// There was no room for it, or it is not certain that there was.
    pub(crate) is_dropped: bool,
}

/// What waits before a serializer: when each packet's service begins, and its size.
#[derive(Debug, Clone, Default)]
struct Room {
    waiting: VecDeque<(Fine, u64)>,
    bytes: u64,
}

impl Room {
    /// Whether a packet of so many bytes finds room `at` then.
    fn admits(&mut self, at: Fine, bytes: u64, limit: QueueLimit) -> bool {
        while let Some((_, gone)) = self.waiting.pop_front_if(|(begins, _)| *begins <= at) {
            self.bytes -= gone;
        }
        match limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Bytes(most) => self.bytes + bytes <= most.get(),
            QueueLimit::Packets(most) => (self.waiting.len() as u64) < most,
        }
    }

    fn push(&mut self, begins: Fine, bytes: u64) {
        self.waiting.push_back((begins, bytes));
        self.bytes += bytes;
    }
}

/// One direction. A hop without a rate holds nothing back: it is a delay, which counts as the hop's before it or, ahead of all, as the
/// route's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Route {
    ahead: Ticks,
    hops: [Hop; MOST_HOPS],
    used: usize,
    is_bounded: bool,
    slowest: usize,
    /// Kept where it is to be known which packets are dropped, and not only whether any may be.
    rooms: Option<Box<[Room; MOST_HOPS]>>,
}

impl Route {
    /// The hops in the order in which packets pass them; those without rate and delay are passed over.
    pub(crate) fn new(hops: impl IntoIterator<Item = Hop>) -> Self {
        let mut route = Self::default();
        for hop in hops.into_iter().filter(|hop| !(hop.pace.is_instant() && hop.delay == Ticks::ZERO)).take(MOST_HOPS) {
            route.is_bounded |= hop.limit != QueueLimit::Unlimited;
            if !hop.pace.is_instant() {
                route.hops[route.used] = hop;
                route.used += 1;
            } else if let Some(before) = route.hops[..route.used].last_mut() {
                before.delay += hop.delay;
            } else {
                route.ahead += hop.delay;
            }
        }
        if route.used == 0 && route.ahead > Ticks::ZERO {
            // Which packets come behind another one is to be known here, too.
            (route.hops[0], route.used) = (Hop::new(Pace::default(), 0, route.ahead, QueueLimit::Unlimited), 1);
            route.ahead = Ticks::ZERO;
        }
        let pace = |index: &usize| route.hops[*index].pace;
        route.slowest = (0..route.used).max_by_key(pace).unwrap_or(0);
        route
    }

    /// The same, knowing which packets are dropped.
    pub(crate) fn with_rooms(self) -> Self {
        Self { rooms: Some(Box::default()), ..self }
    }

    /// Whether a queue may be full.
    pub(crate) fn is_bounded(&self) -> bool {
        self.is_bounded
    }

    /// Sends a packet at `now`, which is not before any earlier packet's.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Ticks, bytes: u64) -> Passage {
        let now = now + self.ahead;
        if self.used == 1 && self.rooms.is_none() { self.hops[0].pass(now, bytes) } else { self.pass_hops(now, bytes) }
    }

    #[inline(never)]
    fn pass_hops(&mut self, now: Ticks, bytes: u64) -> Passage {
        let mut passage = Passage { arrival: now, ..Passage::default() };
        for (index, hop) in self.hops.iter_mut().take(self.used).enumerate() {
            let at = Fine::from(passage.arrival);
            if let Some(rooms) = &mut self.rooms
                && hop.free > at
            {
                let room = &mut rooms[index];
                if !room.admits(at, bytes, hop.limit) {
                    passage.is_dropped = true;
                    return passage;
                }
                room.push(hop.free, bytes);
            }
            let here = hop.pass(passage.arrival, bytes);
            passage.arrival = here.arrival;
            passage.waited += here.waited;
            passage.served = passage.served + here.served;
            passage.found_idle |= here.found_idle && index == self.slowest;
            passage.is_dropped |= here.is_dropped && self.rooms.is_none();
        }
        passage
    }

    /// Sends `count` packets at `now`, and tells of each; no queue is reckoned packet by packet.
    #[inline(always)]
    pub(crate) fn pass_together(
        &mut self,
        now: Ticks,
        count: u64,
        bytes: u64,
        mut tell: impl FnMut(Passage),
    ) -> Together {
        if self.used == 1 {
            return self.hops[0].pass_together(now + self.ahead, count, bytes, tell);
        }
        let mut together = Together::default();
        for _ in 0..count {
            let passage = self.pass(now, bytes);
            together.found_idle |= passage.found_idle;
            together.is_dropped |= passage.is_dropped;
            tell(passage);
        }
        together
    }

    /// Passes so many packets of so many bytes that leave at `now` together, as [`Self::pass`] would one by one if no queue had a bound.
    pub(crate) fn pass_train(&mut self, now: Ticks, packets: u64, bytes: u64) {
        // When the first and the last of them arrive: those between never wait longer than for the slower of both.
        let now = now + self.ahead;
        let (mut first, mut last) = (now, now);
        for hop in &mut self.hops[..self.used] {
            let (service, begins) = (hop.service(bytes), hop.free.max(first.into()));
            hop.free = (begins + service.times(packets)).max(Fine::from(last) + service);
            first = (begins + service).rounded_up() + hop.delay;
            last = hop.free.rounded_up() + hop.delay;
        }
    }

    /// Propagation delay of all hops.
    pub(crate) fn delay(&self) -> Ticks {
        self.hops[..self.used].iter().fold(self.ahead, |sum, hop| sum + hop.delay)
    }

    /// Time that so many packets keep the slowest serializer busy.
    pub(crate) fn slowest_service(&self, packets: u64, bytes: u64) -> Ticks {
        let hop = &self.hops[self.slowest];
        hop.pace.fine(bytes.saturating_add_signed(hop.overhead)).times(packets).rounded_up()
    }

    /// Time that a packet spends in all serializers if it never waits.
    pub(crate) fn service(&self, bytes: u64) -> Ticks {
        let times = self.hops[..self.used].iter().map(|hop| hop.pace.time(bytes.saturating_add_signed(hop.overhead)));
        times.fold(Ticks::ZERO, Ticks::add)
    }

    /// How busy the serializers are at `now`, for comparing two states.
    pub(crate) fn backlog(&self, now: Ticks) -> [Fine; MOST_HOPS] {
        self.hops.map(|hop| hop.free.since(now.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_units::Rate;

    fn hop(kbps: u64, delay_ms: u64) -> Hop {
        Hop::new(Pace::of(Some(Rate::kbps(kbps)), (1, 1)), 0, Ticks::from_millis(delay_ms), QueueLimit::Unlimited)
    }

    #[test]
    fn packets_wait_for_earlier_ones_at_the_slowest_hop() {
        let mut route = Route::new([hop(8000, 10), hop(800, 20)]);
        let first = route.pass(Ticks::ZERO, 1000);
        assert_eq!((first.arrival, first.waited, first.found_idle), (Ticks::from_millis(41), Ticks::ZERO, true));
        let second = route.pass(Ticks::ZERO, 1000);
        assert_eq!((second.arrival, second.found_idle), (Ticks::from_millis(51), false));
        assert_eq!(second.waited, Ticks::from_millis(1 + 9));
    }

    #[test]
    fn a_full_queue_drops_and_one_without_account_says_that_it_may() {
        let bounded = |limit| {
            Route::new([Hop {
                slack: Hop::new(hop(8000, 10).pace, 0, Ticks::ZERO, limit).slack,
                limit,
                ..hop(8000, 10)
            }])
        };
        let drops = |route: &mut Route, ms: u64| route.pass(Ticks::from_millis(ms), 1000).is_dropped;
        for limit in [QueueLimit::Packets(2), QueueLimit::Bytes(farhop_units::Bytes::new(2500))] {
            // A millisecond each: one in service, two that wait.
            let mut exact = bounded(limit).with_rooms();
            assert_eq!([0, 0, 0, 0, 1, 1].map(|ms| drops(&mut exact, ms)), [false, false, false, true, false, true]);
            let mut wary = bounded(limit);
            assert!(!drops(&mut wary, 0) && (0..3).any(|_| drops(&mut wary, 0)));
        }
    }

    #[test]
    fn a_train_takes_as_long_as_its_packets_do() {
        let instant = Hop::new(Pace::of(None, (1, 1)), 0, Ticks::from_millis(3), QueueLimit::Unlimited);
        let (slow, quick) = (hop(800, 20), hop(8000, 10));
        for hops in [vec![slow], vec![slow, instant], vec![instant, slow], vec![slow, quick], vec![quick, slow, quick]]
        {
            let (mut together, mut alone) = (Route::new(hops.clone()), Route::new(hops));
            for route in [&mut together, &mut alone] {
                // One is on its way already.
                route.pass(Ticks::ZERO, 700);
            }
            let now = Ticks::from_millis(2);
            together.pass_train(now, 50, 1000);
            for _ in 0..50 {
                alone.pass(now, 1000);
            }
            assert_eq!(together.backlog(now), alone.backlog(now));
        }
    }

    #[test]
    fn a_hop_without_a_rate_is_a_delay_and_which_packets_come_behind_another_is_known_of_it_too() {
        let instant = |ms| Hop::new(Pace::of(None, (1, 1)), 0, Ticks::from_millis(ms), QueueLimit::Packets(1));
        for hops in [vec![instant(3), hop(800, 20), instant(4)], vec![instant(3), instant(4)], vec![instant(5)]] {
            let mut route = Route::new(hops.clone());
            let mut alone = hops;
            for (ms, bytes) in [(2, 700), (2, 1000), (9, 1000), (50, 40)] {
                let passage = route.pass(Ticks::from_millis(ms), bytes);
                let mut at = Ticks::from_millis(ms);
                let idle: Vec<bool> = alone
                    .iter_mut()
                    .map(|hop| {
                        let here = hop.pass(at, bytes);
                        at = here.arrival;
                        here.found_idle
                    })
                    .collect();
                assert_eq!((passage.arrival, passage.found_idle), (at, idle[idle.len() / 2]));
            }
            let delay = alone.iter().fold(Ticks::ZERO, |sum, hop| sum + hop.delay);
            assert_eq!((route.delay(), route.is_bounded()), (delay, true));
        }
    }

    #[test]
    fn a_route_without_hops_takes_no_time() {
        assert_eq!(Route::new([]).pass(Ticks::from_millis(3), 1500).arrival, Ticks::from_millis(3));
    }
}
