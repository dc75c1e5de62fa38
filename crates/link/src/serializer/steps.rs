//! A rate that changes in steps: from one time to the next it is constant, or nothing is sent.
//!
//! Capacity is the integral of the rate over time in nanobits (bit/s × ns), a whole number at every nanosecond.

use super::metered::{Capacity, count_before};
use crate::trace::bits_per_second;
use crate::{TraceEnd, TraceStep};
use farhop_units::{Instant, Rate};
use std::sync::Arc;
use std::time::Duration;

/// The integral of a rate. Its first step begins at 0; without a step, nothing is ever sent.
#[derive(Debug)]
pub(super) struct Steps {
    steps: Arc<[Step]>,
    /// The time after which it begins again, and what it carries until then; `None` if the last step lasts for ever.
    period: Option<(u64, u128)>,
    /// Where the last question was answered: the next answer is here or soon after.
    here: Stretch,
}

/// One step of the record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    begin: u64,
    /// Carried before it since the record's beginning.
    carried: u128,
    rate: u64,
}

/// One step at one time it comes round.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    lap: u128,
    index: usize,
    begin: u64,
    /// The first nanosecond after it; the end of time if it lasts for ever.
    end: u64,
    /// Carried before it since the run's beginning.
    carried: u128,
    /// Carried until its end.
    carried_end: u128,
    rate: u64,
}

impl Steps {
    /// The steps of a record.
    pub(super) fn new(steps: Arc<[Step]>, length: Duration, end: TraceEnd) -> Self {
        let last = steps.last().map(|last| last.followed(nanos(length), 0));
        let period = last.map(|last| (last.begin, last.carried)).filter(|(length, _)| *length > 0);
        Self::from_parts(steps, period.filter(|_| end == TraceEnd::Repeat))
    }

    /// One rate for ever.
    pub(super) fn constant(rate: Rate) -> Self {
        Self::from_parts([Step { begin: 0, carried: 0, rate: rate.bits_per_second() }].into(), None)
    }

    fn from_parts(steps: Arc<[Step]>, period: Option<(u64, u128)>) -> Self {
        let mut made = Self { steps, period, here: Stretch::default() };
        if !made.steps.is_empty() {
            made.here = made.stretch(0, 0);
        }
        made
    }

    /// Step `index` of the record, which is there, in its `lap`-th repetition.
    fn stretch(&self, lap: u128, index: usize) -> Stretch {
        let (length, total) = self.period.unwrap_or((u64::MAX, 0));
        let (step, shift) = (self.steps[index], lap.saturating_mul(u128::from(length)));
        let time = |begin: u64| u64::try_from(shift.saturating_add(u128::from(begin))).unwrap_or(u64::MAX);
        let (begin, end) = (time(step.begin), time(self.steps.get(index + 1).map_or(length, |next| next.begin)));
        let carried = lap.saturating_mul(total).saturating_add(step.carried);
        let carried_end = carried.saturating_add(u128::from(end - begin) * u128::from(step.rate));
        Stretch { lap, index, begin, end, carried, carried_end, rate: step.rate }
    }

    /// The stretch after this one, if there is one.
    fn next(&self) -> Option<Stretch> {
        let (lap, index) = (self.here.lap, self.here.index);
        let again = || self.period.map(|_| self.stretch(lap + 1, 0));
        if index + 1 < self.steps.len() { Some(self.stretch(lap, index + 1)) } else { again() }
    }

    /// Goes to the stretch that holds the nanosecond `at`.
    fn go_to_time(&mut self, at: u64) {
        let (lap, since) = self.period.map_or((0, at), |(length, _)| (at / length, at % length));
        let index = count_before(&self.steps, self.here.index, |step| step.begin <= since).saturating_sub(1);
        self.here = self.stretch(u128::from(lap), index);
    }

    /// Goes to the stretch in which so many nanobits, at least one, are reached; `false` if that never happens.
    fn go_to_carried(&mut self, nanobits: u128) -> bool {
        let (lap, since) = match self.period {
            Some((_, 0)) => return false,
            Some((_, total)) => ((nanobits - 1) / total, (nanobits - 1) % total + 1),
            None => (0, nanobits),
        };
        let index = count_before(&self.steps, self.here.index, |step| step.carried < since).saturating_sub(1);
        self.here = self.stretch(lap, index);
        self.here.rate > 0
    }
}

impl Step {
    /// Steps as they were recorded. What is out of order counts as coming at the time of the one before.
    pub(super) fn list(steps: &[TraceStep]) -> Arc<[Self]> {
        let mut made: Vec<Self> = Vec::with_capacity(steps.len());
        for step in steps {
            let (begin, rate) = (nanos(step.at), bits_per_second(step.rate));
            made.push(made.last().map_or(Self { begin: 0, carried: 0, rate }, |last| last.followed(begin, rate)));
        }
        made.into()
    }

    /// The step after this one, which changes at `begin` to `rate`.
    fn followed(&self, begin: u64, rate: u64) -> Self {
        let begin = begin.max(self.begin);
        let carried = u128::from(begin - self.begin) * u128::from(self.rate);
        Self { begin, carried: self.carried.saturating_add(carried), rate }
    }
}

impl Stretch {
    fn holds_time(&self, at: u64) -> bool {
        self.begin <= at && at < self.end
    }

    fn reaches(&self, nanobits: u128) -> bool {
        self.carried < nanobits && nanobits <= self.carried_end
    }

    /// The nanosecond by which so many nanobits, which this stretch reaches, are carried.
    fn time(&self, nanobits: u128) -> Instant {
        let (work, rate) = (nanobits - self.carried, self.rate.max(1));
        let since = match u64::try_from(work) {
            Ok(work) => work.div_ceil(rate),
            Err(_) => u64::try_from(work.div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
        };
        Instant::from_nanos(self.begin.saturating_add(since))
    }
}

impl Capacity for Steps {
    fn before(&mut self, at: Instant) -> u128 {
        let at = at.as_nanos();
        if self.steps.is_empty() {
            return 0;
        }
        if !self.here.holds_time(at) {
            match self.next().filter(|next| next.holds_time(at)) {
                Some(next) => self.here = next,
                None => self.go_to_time(at),
            }
        }
        self.here.carried.saturating_add(u128::from(at - self.here.begin) * u128::from(self.here.rate))
    }

    fn missed(&mut self, at: Instant) -> u128 {
        self.before(at)
    }

    fn reached(&mut self, nanobits: u128) -> Option<Instant> {
        if nanobits == 0 || self.steps.is_empty() {
            return (nanobits == 0).then_some(Instant::START);
        }
        if !self.here.reaches(nanobits) {
            match self.next().filter(|next| next.reaches(nanobits)) {
                Some(next) => self.here = next,
                None if !self.go_to_carried(nanobits) => return None,
                None => {}
            }
        }
        Some(self.here.time(nanobits))
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
