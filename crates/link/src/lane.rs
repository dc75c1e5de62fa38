//! A way whose packets' exits are known as they enter: a drop-tail queue, a serializer of a constant rate, a constant delay.
//!
//! Most ways of a large network are no more than this, and then nothing need be played: a packet is served when the one before it is
//! done, or at once (Lindley 1952), so that its exit follows from what has entered before. Lanes do to the nanosecond what a
//! [`Channel`](crate::Channel) does, take a few words of memory each, and need no timer.
//!
//! What lanes of one kind have in common is kept once, in a [`LaneKind`]. Left out is everything else that a direction may have:
//! [`LaneKind::of`] tells whether that is something. Time that a packet would leave after the end of time is that end.

use crate::{Count, DirectionConfig, Discipline, QueueLimit, serializer};
use core::num::NonZeroU64;
use farhop_units::{Bytes, Instant, look_at};
use std::collections::VecDeque;
use std::time::Duration;

/// What a number of lanes have in common.
#[derive(Debug, Clone)]
pub struct LaneKind {
    /// `None` is unlimited.
    pace: Option<Pace>,
    delay: Duration,
    limit: QueueLimit,
    /// Whether lanes know what waits in them.
    counts: bool,
}

/// Nanoseconds per byte on the wire, and what is added to every packet.
#[derive(Debug, Clone, Copy)]
struct Pace {
    nanos: u64,
    bytes: NonZeroU64,
    overhead: u64,
}

impl LaneKind {
    /// The lanes that do what `direction` says to packets of one class; `None` if it says more than lanes do.
    pub fn of(direction: &DirectionConfig) -> Option<Self> {
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
        is_plain.then_some(Self { pace, delay, limit: queue, counts: queue != QueueLimit::Unlimited })
    }

    /// The same, and what waits is known even if there is no bound to it.
    #[must_use]
    pub fn counting(self) -> Self {
        Self { counts: true, ..self }
    }
}

/// One way of some [`LaneKind`], which is to be the same in every call. At the beginning it is empty.
#[derive(Debug, Clone, Default)]
pub struct Lane {
    /// When all that has entered is done, exactly: whole nanoseconds, and a fraction with the pace's denominator.
    end: u64,
    fraction: u64,
    /// Absent until a packet had to wait that counts: most of many lanes never have a queue, and those of a large network are kept small.
    queue: Option<Box<Queue>>,
}

/// What waits, of a lane that counts.
#[derive(Debug, Clone, Default)]
struct Queue {
    /// When the service of each packet begins, and its size.
    waiting: VecDeque<(Instant, u32)>,
    queued: Count,
}

impl Lane {
    /// A packet of so many bytes, at most 4 GiB, enters at `now`, which never goes back; returns when it leaves, or `None` if the queue
    /// is full. Packets leave in the order in which they enter.
    #[inline]
    pub fn enter(&mut self, kind: &LaneKind, now: Instant, bytes: Bytes) -> Option<Instant> {
        let Some(pace) = &kind.pace else { return Some(now + kind.delay) };
        let free = self.free();
        if free <= now {
            (self.end, self.fraction) = (now.as_nanos(), 0);
        } else if kind.counts {
            let queue = self.queue.get_or_insert_default();
            if !kind.limit.admits(queue.at(now), bytes) {
                return None;
            }
            queue.join(free, bytes);
        }
        self.serve(pace, bytes);
        Some(self.free() + kind.delay)
    }

    /// What waits at `now`, not counting the packet in service.
    pub fn queued(&mut self, now: Instant) -> Count {
        self.queue.as_mut().map_or(Count::default(), |queue| queue.at(now))
    }

    /// What may join what waits at `now`.
    pub fn room(&mut self, kind: &LaneKind, now: Instant) -> QueueLimit {
        let waiting = self.queued(now);
        kind.limit.room(waiting)
    }

    /// Asks memory for what a packet needs that enters. Whoever has thousands of lanes does that for several, first with `look` 0 for all
    /// of them, then with 1 and 2 for what is found from there.
    #[inline]
    pub fn look_at(&self, look: u32) {
        match (look, &self.queue) {
            (0, _) => look_at(self),
            (1, Some(queue)) => look_at(&**queue),
            (2, Some(queue)) => queue.look_at(),
            _ => {}
        }
    }

    /// When the serializer has nothing to do any more: the event is rounded up to the next nanosecond, the sum is not.
    pub const fn free(&self) -> Instant {
        Instant::from_nanos(self.end.saturating_add((self.fraction > 0) as u64))
    }

    fn serve(&mut self, pace: &Pace, bytes: Bytes) {
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
        self.end = self.end.saturating_add(span);
    }
}

impl Queue {
    /// Asks memory for the first that waits and for the place behind the last.
    fn look_at(&self) {
        self.waiting.front().into_iter().chain(self.waiting.back()).for_each(look_at);
    }

    /// What waits at `now`: whose service has begun does not any more.
    fn at(&mut self, now: Instant) -> Count {
        while let Some((_, bytes)) = self.waiting.pop_front_if(|(begin, _)| *begin <= now) {
            self.queued.remove(Bytes::new(bytes.into()));
        }
        self.queued
    }

    /// A packet waits until its service begins.
    fn join(&mut self, begin: Instant, bytes: Bytes) {
        self.queued.add(bytes);
        self.waiting.push_back((begin, u32::try_from(bytes.get()).unwrap_or(u32::MAX)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;

    fn kind_with(name: &str, value: &str) -> Option<LaneKind> {
        let mut direction = DirectionConfig { rate: "1 Mbit/s".parse().ok(), ..DirectionConfig::default() };
        direction.apply(Setting::parse(name, value).expect("a known setting").expect("a good value"));
        LaneKind::of(&direction)
    }

    #[test]
    fn what_must_be_played_is_no_lane() {
        let simple =
            [("delay", "3 ms"), ("queue", "9 packets"), ("framing", "overhead=8B"), ("discipline", "priority")];
        assert!(simple.into_iter().all(|(name, value)| kind_with(name, value).is_some()));
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
            assert!(kind_with(name, value).is_none(), "{name} = {value}");
        }
    }

    #[test]
    fn a_lane_takes_three_words() {
        assert_eq!(size_of::<Lane>(), 24);
    }
}
