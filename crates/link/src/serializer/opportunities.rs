//! Delivery opportunities: at each of its times a link carries so many bytes at once, as mahimahi does.
//!
//! A packet leaves at the opportunity that carries its last byte. What is left of that opportunity serves the next
//! packet, if one waits at that instant, and is lost if none does. A packet has missed the opportunities of the instant
//! at which it arrives: an emulator uses them up before it takes the packet in. Opportunities that come together, up to
//! thousands in a millisecond, are as many in a row. Repeated, a trace begins again at its end: opportunities at the
//! end and at the beginning are then at the same instant, one after the other.
//!
//! Capacity is counted in opportunities.

use super::metered::{Capacity, count_before};
use crate::{TraceEnd, TraceRecord};
use farhop_units::Instant;
use std::sync::Arc;
use std::time::Duration;

/// Opportunities since the run's beginning.
#[derive(Debug)]
pub(super) struct Opportunities {
    record: Arc<TraceRecord>,
    /// The time after which they come again; `None` if they do not.
    period: Option<u64>,
    /// The repetition in which the last question was answered: how many opportunities and nanoseconds were before it.
    lap: (u64, u64),
    /// Which opportunity of the record is near the last answer.
    near: usize,
}

impl Opportunities {
    /// The opportunities of a record of them.
    pub(super) fn new(record: Arc<TraceRecord>, end: TraceEnd) -> Self {
        let mut made = Self { record, period: None, lap: (0, 0), near: 0 };
        // A trace cannot end before its last opportunity; one that lasts no time cannot begin again.
        let length = made.times().last().map(|last| nanos(made.record.length().max(*last)));
        made.period = length.filter(|&length| length > 0 && end == TraceEnd::Repeat);
        made
    }

    fn times(&self) -> &[Duration] {
        match &*self.record {
            TraceRecord::Opportunities { times, .. } => times,
            TraceRecord::Steps { .. } => &[],
        }
    }

    /// When the opportunity comes that has so many before it.
    fn time(&mut self, number: u64) -> Option<Instant> {
        let count = self.times().len() as u64;
        if number.checked_sub(self.lap.0).is_none_or(|since| since >= count) {
            let lap = number.checked_div(count)?;
            let begin = if lap > 0 { lap.saturating_mul(self.period?) } else { 0 };
            self.lap = (lap * count, begin);
        }
        let (before, begin) = self.lap;
        let index = usize::try_from(number - before).expect("below the number of opportunities in memory");
        self.near = index;
        Some(Instant::from_nanos(begin.saturating_add(nanos(self.times()[index]))))
    }

    /// How many come at or before `at`.
    fn until(&mut self, at: u64) -> u128 {
        let (lap, since) = self.period.map_or((0, at), |period| (at / period, at % period));
        let within = count_before(self.times(), self.near, |time| nanos(*time) <= since);
        self.near = within;
        u128::from(lap) * self.times().len() as u128 + within as u128
    }
}

impl Capacity for Opportunities {
    fn before(&mut self, at: Instant) -> u128 {
        at.as_nanos().checked_sub(1).map_or(0, |last| self.until(last))
    }

    fn missed(&mut self, at: Instant) -> u128 {
        self.until(at.as_nanos())
    }

    fn reached(&mut self, units: u128) -> Option<Instant> {
        match units.checked_sub(1) {
            None => Some(Instant::START),
            // More than 2⁶⁴ opportunities are not there before the end of time, or at it.
            Some(before) => self.time(u64::try_from(before).ok()?),
        }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
