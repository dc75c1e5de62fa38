//! Tells outages from other times, for a path that asks as time goes by.
//!
//! Time is cut into phases, up or down as a whole. Listed and periodic phases are found directly; random ones are drawn one
//! after the other, phase n from number n of the stream, so that even phases are up and odd ones outages. After a million
//! outages the pattern repeats, which bounds the way to any moment.

use crate::random::{self, Impairment, Stream};
use crate::{Outages, Port};
use farhop_units::Instant;
use std::sync::Arc;
use std::time::Duration;

/// Whether a path is down.
#[derive(Debug)]
pub(crate) struct OutageProcess {
    stream: Stream,
    schedule: Schedule,
    /// The phase of the last question, in which the next one most likely lies.
    phase: Phase,
}

/// Where phases come from.
#[derive(Debug)]
enum Schedule {
    Never,
    /// One list for all terminals.
    Listed(Arc<[(Instant, Duration)]>),
    Periodic {
        first: Instant,
        period: Duration,
        length: Duration,
    },
    Random(Box<RandomPhases>),
}

/// A time from `begin` to before `end` that is one outage, or free of them.
#[derive(Debug, Clone, Copy)]
struct Phase {
    begin: Instant,
    end: Instant,
    is_down: bool,
}

/// Where every phase ends at the latest; this moment itself lies in none, and so in no outage.
const END_OF_TIME: Instant = Instant::from_nanos(u64::MAX);

impl Phase {
    /// Nothing is known yet: no moment lies in it.
    const EMPTY: Self = Self::up(Instant::START, Instant::START);

    const fn up(begin: Instant, end: Instant) -> Self {
        Self { begin, end, is_down: false }
    }

    const fn down(begin: Instant, end: Instant) -> Self {
        Self { begin, end, is_down: true }
    }

    fn contains(&self, at: Instant) -> bool {
        self.begin <= at && at < self.end
    }
}

impl OutageProcess {
    /// The outages of the path that begins at `entry` in a channel with this seed.
    pub(crate) fn new(outages: &Outages, seed: u64, entry: Port) -> Self {
        let stream = random::stream(seed, Impairment::Outage, entry);
        Self { stream, schedule: Schedule::new(outages, stream), phase: Phase::EMPTY }
    }

    /// The end of the outage that `at` lies in; `None` if it lies in none. The answer does not depend on earlier questions,
    /// but one that goes back among random outages costs more.
    pub(crate) fn until(&mut self, at: Instant) -> Option<Instant> {
        if !self.phase.contains(at) {
            self.phase = if at < END_OF_TIME { self.schedule.phase(at) } else { Phase::EMPTY };
        }
        self.phase.is_down.then_some(self.phase.end)
    }

    /// Whether there is no outage at all.
    pub(crate) fn is_never(&self) -> bool {
        matches!(self.schedule, Schedule::Never)
    }

    /// Changes when outages are, to what they would be had they been so from the beginning of the run.
    pub(crate) fn set_outages(&mut self, outages: &Outages) {
        *self = Self { schedule: Schedule::new(outages, self.stream), phase: Phase::EMPTY, ..*self };
    }
}

impl Schedule {
    fn new(outages: &Outages, stream: Stream) -> Self {
        match *outages {
            Outages::None => Self::Never,
            Outages::At(ref windows) => Self::Listed(Arc::clone(windows)),
            Outages::Periodic { first, period, length } => Self::Periodic { first, period, length },
            Outages::Random { up, down } => Self::Random(Box::new(RandomPhases::new(stream, up, down))),
        }
    }

    /// The phase of `at`, which is before the end of time.
    fn phase(&mut self, at: Instant) -> Phase {
        match self {
            Self::Never => Phase::up(Instant::START, END_OF_TIME),
            Self::Listed(windows) => listed(windows, at),
            Self::Periodic { first, period, length } => periodic(*first, *period, *length, at),
            Self::Random(phases) => phases.phase(at),
        }
    }
}

/// The phase of `at` among windows in order.
fn listed(windows: &[(Instant, Duration)], at: Instant) -> Phase {
    let begun = windows.partition_point(|(begin, _)| *begin <= at);
    let next = windows.get(begun).map_or(END_OF_TIME, |(begin, _)| *begin);
    match windows[..begun].last() {
        None => Phase::up(Instant::START, next),
        Some(&(begin, length)) if at < begin + length => Phase::down(begin, begin + length),
        Some(&(begin, length)) => Phase::up(begin + length, next),
    }
}

/// The phase of `at` if an outage begins every `period` from `first` on.
fn periodic(first: Instant, period: Duration, length: Duration, at: Instant) -> Phase {
    if at < first {
        return Phase::up(Instant::START, first);
    }
    let into = at.since(first).as_nanos() % period.as_nanos().max(1);
    let begin = back(at, into);
    let end = begin + length;
    if at < end { Phase::down(begin, end) } else { Phase::up(end, begin + period) }
}

/// `nanos` before `at`, which is at least as far from the beginning of the run.
fn back(at: Instant, nanos: u128) -> Instant {
    let nanos = u64::try_from(nanos).expect("less than the time since the beginning of the run");
    Instant::from_nanos(at.as_nanos() - nanos)
}

/// Phases of exponential length.
#[derive(Debug)]
struct RandomPhases {
    stream: Stream,
    up: Duration,
    down: Duration,
    phase: Phase,
    /// Which phase of the pattern it is.
    number: u64,
    /// When the pattern began, for the last time so far.
    origin: Instant,
}

/// Phases until the pattern repeats; even, so that it begins up again.
const PATTERN: u64 = 1 << 21;

impl RandomPhases {
    fn new(stream: Stream, up: Duration, down: Duration) -> Self {
        let mut phases = Self { stream, up, down, phase: Phase::EMPTY, number: 0, origin: Instant::START };
        phases.repeat_from(Instant::START);
        phases
    }

    /// The phase of `at`. Since that is before the end of time, each step on the way gets nearer.
    fn phase(&mut self, at: Instant) -> Phase {
        if at < self.phase.begin {
            self.repeat_from(Instant::START);
        }
        while at >= self.phase.end {
            if self.number + 1 < PATTERN {
                self.enter(self.number + 1, self.phase.end);
            } else {
                let length = self.phase.end.since(self.origin).as_nanos();
                let into = at.since(self.phase.end).as_nanos() % length;
                self.repeat_from(back(at, into));
            }
        }
        self.phase
    }

    /// Begins the pattern again.
    fn repeat_from(&mut self, origin: Instant) {
        self.origin = origin;
        self.enter(0, origin);
    }

    fn enter(&mut self, number: u64, begin: Instant) {
        let is_down = number % 2 == 1;
        let mean = if is_down { self.down } else { self.up };
        let length = self.stream.exponential(number, mean).max(Duration::from_nanos(1));
        self.number = number;
        self.phase = Phase { begin, end: begin + length, is_down };
    }
}

#[cfg(test)]
mod tests;
