//! Ways whose packets' exits are known as they enter: a drop-tail queue, a serializer of a constant rate, a constant delay.
//!
//! Most ways of a large network are no more than this, and then nothing need be played: a packet is served when the one before it is
//! done, or at once (Lindley 1952), so that its exit follows from what has entered before. Lanes do to the nanosecond what a
//! [`Channel`](crate::Channel) does and need no timer. What waits is known by the sizes of packets alone, as the service of each begins when
//! that of the one before it ends.
//!
//! [`Lanes`] are a number of them that have all but this in common. In large networks they are mostly not in the cache: where a queue has no
//! bound, a lane is the time when all that has entered is done, four to a line of the cache; where what waits must be known, it has a line
//! for itself, unless packets of several sizes wait. Left out is everything else that a direction may have: [`Lanes::of`] tells whether that
//! is something. Time that a packet would leave after the end of time is that end.

use crate::{Count, DirectionConfig, Discipline, QueueLimit, serializer};
use core::num::NonZeroU64;
use farhop_units::{Bytes, Instant, look_at};
use std::collections::VecDeque;
use std::time::Duration;

/// Lanes of one kind, by number.
#[derive(Debug)]
pub struct Lanes {
    /// `None` is unlimited.
    pace: Option<Pace>,
    delay: Duration,
    limit: QueueLimit,
    lanes: Form,
}

/// Whether lanes know what waits in them.
#[derive(Debug)]
enum Form {
    Plain(Vec<Moment>),
    Counting(Vec<Lane>),
}

/// Nanoseconds per byte on the wire, and what is added to every packet.
#[derive(Debug, Clone, Copy)]
struct Pace {
    nanos: u64,
    bytes: NonZeroU64,
    overhead: u64,
}

/// One way, of which is known what waits. At the beginning it is empty.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
struct Lane {
    end: Moment,
    queue: Queue,
}

/// When all that has entered is done, exactly: whole nanoseconds, and a fraction with the pace's denominator.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    nanos: u64,
    fraction: u64,
}

/// What waits, of a lane that counts.
#[derive(Debug, Clone, Default)]
#[expect(clippy::box_collection, reason = "they are few, and the rest of a lane fills its line of the cache")]
struct Queue {
    /// When the service of the first begins, if there is one.
    begin: Moment,
    queued: Count,
    /// The first and those behind it that are as large, then others.
    first: Run,
    others: Option<Box<VecDeque<Run>>>,
}

/// Packets of one size.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    packets: u32,
    bytes: u32,
}

impl Lanes {
    /// So many lanes that do what `direction` says to packets of one class; `None` if it says more than lanes do.
    pub fn of(direction: &DirectionConfig, count: usize) -> Option<Self> {
        let DirectionConfig { rate, delay, queue, discipline, framing, .. } = direction.clone();
        let plain = DirectionConfig { rate, delay, queue, discipline, framing, ..DirectionConfig::default() };
        // Packets of one class have no priority over each other.
        let is_plain = plain == *direction && matches!(discipline, Discipline::DropTail | Discipline::Priority);
        let pace = match rate.filter(|_| is_plain) {
            Some(rate) => {
                let (nanos, bytes) = serializer::nanos_per_byte(framing, rate);
                let (nanos, bytes) = (u64::try_from(nanos).ok()?, u64::try_from(bytes).ok()?);
                Some(Pace { nanos, bytes: NonZeroU64::new(bytes)?, overhead: framing.overhead.get() })
            }
            None => None,
        };
        let lanes = match queue {
            QueueLimit::Unlimited => Form::Plain(vec![Moment::default(); count]),
            _ => Form::Counting(vec![Lane::default(); count]),
        };
        is_plain.then_some(Self { pace, delay, limit: queue, lanes })
    }

    /// What waits is known even if there is no bound to it. Nothing has entered yet.
    pub fn count(&mut self) {
        if let Form::Plain(ends) = &self.lanes {
            self.lanes = Form::Counting(vec![Lane::default(); ends.len()]);
        }
    }

    /// Whether there are several.
    pub fn are_many(&self) -> bool {
        match &self.lanes {
            Form::Plain(ends) => ends.len() > 1,
            Form::Counting(lanes) => lanes.len() > 1,
        }
    }

    /// A packet of so many bytes, at most 4 GiB, enters a lane at `now`, which never goes back there; returns when it leaves, or `None` if the
    /// queue is full. Packets leave in the order in which they enter.
    #[inline]
    pub fn enter(&mut self, number: u32, now: Instant, bytes: Bytes) -> Option<Instant> {
        let Some(pace) = &self.pace else { return Some(now + self.delay) };
        let end = match &mut self.lanes {
            Form::Plain(ends) => &mut ends[number as usize],
            Form::Counting(lanes) => {
                let Lane { end, queue } = &mut lanes[number as usize];
                if end.rounded_up() > now {
                    if !self.limit.admits(queue.at(pace, now), bytes) {
                        return None;
                    }
                    queue.join(*end, bytes);
                }
                end
            }
        };
        if end.rounded_up() <= now {
            *end = Moment { nanos: now.as_nanos(), fraction: 0 };
        }
        end.pass(pace, bytes);
        Some(end.rounded_up() + self.delay)
    }

    /// Whether what enters a lane has to wait.
    pub fn is_busy(&self, number: u32, now: Instant) -> bool {
        let end = match &self.lanes {
            Form::Plain(ends) => ends[number as usize],
            Form::Counting(lanes) => lanes[number as usize].end,
        };
        // The event is rounded up to the next nanosecond, the sum is not.
        end.rounded_up() > now
    }

    /// What waits in a lane at `now`, not counting the packet in service; nothing where that is not counted.
    pub fn queued(&mut self, number: u32, now: Instant) -> Count {
        match (&mut self.lanes, &self.pace) {
            (Form::Counting(lanes), Some(pace)) => lanes[number as usize].queue.at(pace, now),
            _ => Count::default(),
        }
    }

    /// What waits in all of them together.
    pub fn all_queued(&mut self, now: Instant) -> Bytes {
        match (&mut self.lanes, &self.pace) {
            (Form::Counting(lanes), Some(pace)) => lanes.iter_mut().map(|lane| lane.queue.at(pace, now).bytes).sum(),
            _ => Bytes::ZERO,
        }
    }

    /// What may join what waits in a lane at `now`.
    pub fn room(&mut self, number: u32, now: Instant) -> QueueLimit {
        let waiting = self.queued(number, now);
        self.limit.room(waiting)
    }

    /// Asks memory for a lane that a packet will enter: whoever has thousands of them does that for several first.
    #[inline]
    pub fn look_at(&self, number: u32) {
        match &self.lanes {
            Form::Plain(ends) => look_at(&ends[number as usize]),
            Form::Counting(lanes) => look_at(&lanes[number as usize]),
        }
    }
}

impl Moment {
    const fn rounded_up(self) -> Instant {
        Instant::from_nanos(self.nanos.saturating_add((self.fraction > 0) as u64))
    }

    /// Moves on by the service of a packet.
    fn pass(&mut self, pace: &Pace, bytes: Bytes) {
        let size = bytes.get().saturating_add(pace.overhead);
        let work = u128::from(size) * u128::from(pace.nanos) + u128::from(self.fraction);
        let span = match u64::try_from(work) {
            Ok(work) => {
                self.fraction = work % pace.bytes;
                work / pace.bytes
            }
            Err(_) => {
                let bytes = u128::from(pace.bytes.get());
                self.fraction = u64::try_from(work % bytes).unwrap_or(0);
                u64::try_from(work / bytes).unwrap_or(u64::MAX)
            }
        };
        self.nanos = self.nanos.saturating_add(span);
    }
}

impl Queue {
    /// What waits at `now`: whose service has begun does not any more.
    fn at(&mut self, pace: &Pace, now: Instant) -> Count {
        while self.first.packets > 0 && self.begin.rounded_up() <= now {
            let bytes = Bytes::new(self.first.bytes.into());
            self.begin.pass(pace, bytes);
            self.queued.remove(bytes);
            self.first.packets -= 1;
            if self.first.packets == 0 {
                self.first = self.others().and_then(VecDeque::pop_front).unwrap_or_default();
            }
        }
        self.queued
    }

    /// What waits behind the first run, if anything does: else memory is not asked for the list, which is not where the lane is.
    fn others(&mut self) -> Option<&mut VecDeque<Run>> {
        if self.queued.packets > self.first.packets.into() { self.others.as_deref_mut() } else { None }
    }

    /// A packet waits until all before it is done, which is at `end`; whose service had begun by now has been taken out.
    fn join(&mut self, end: Moment, bytes: Bytes) {
        let new = Run { packets: 1, bytes: u32::try_from(bytes.get()).unwrap_or(u32::MAX) };
        let joins = |last: &Run| last.bytes == new.bytes && last.packets < u32::MAX;
        if self.first.packets == 0 {
            (self.begin, self.first) = (end, new);
        } else if let Some(others) = self.others() {
            match others.back_mut().filter(|last| joins(last)) {
                Some(last) => last.packets += 1,
                None => others.push_back(new),
            }
        } else if joins(&self.first) {
            self.first.packets += 1;
        } else {
            self.others.get_or_insert_default().push_back(new);
        }
        self.queued.add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;

    fn lanes_with(name: &str, value: &str) -> Option<Lanes> {
        let mut direction = DirectionConfig { rate: "1 Mbit/s".parse().ok(), ..DirectionConfig::default() };
        direction.apply(Setting::parse(name, value).expect("a known setting").expect("a good value"));
        Lanes::of(&direction, 2)
    }

    #[test]
    fn what_must_be_played_is_no_lane() {
        let simple =
            [("delay", "3 ms"), ("queue", "9 packets"), ("framing", "overhead=8B"), ("discipline", "priority")];
        assert!(simple.into_iter().all(|(name, value)| lanes_with(name, value).is_some()));
        for (name, value) in [
            ("discipline", "codel"),
            ("discipline", "fair-queue"),
            ("orbit", "geo elevation=35deg"),
            ("jitter", "uniform max=3ms"),
            ("reordering", "probability=0.2 by=4ms"),
            ("loss", "0.3"),
            ("outages", "at windows=1ms+2ms"),
            ("corruption", "0.3"),
            ("duplication", "0.3"),
        ] {
            assert!(lanes_with(name, value).is_none(), "{name} = {value}");
        }
    }

    #[test]
    fn a_packet_that_comes_as_the_last_is_done_begins_then() {
        // A byte takes a third of a nanosecond, the end of which is rounded up.
        let mut lanes = lanes_with("rate", "24 Gbit/s").expect("no more than a lane");
        for count in [false, true] {
            let mut enter =
                |at| lanes.enter(count.into(), Instant::from_nanos(at), Bytes::new(1)).map(Instant::as_nanos);
            assert_eq!([0, 0, 1, 2].map(&mut enter), [1, 1, 2, 3].map(Some), "counting: {count}");
            lanes.count();
        }
    }

    #[test]
    fn a_lane_takes_a_line_of_the_cache() {
        assert_eq!((size_of::<Lane>(), align_of::<Lane>()), (64, 64));
        assert_eq!(size_of::<Moment>(), 16, "and four that count nothing do");
    }
}
