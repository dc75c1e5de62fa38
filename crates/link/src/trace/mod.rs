//! A link whose rate and delay were recorded.
//!
//! Two kinds of record. mahimahi's lists *delivery opportunities*: times at which a packet's worth of bytes could be
//! sent ([`TraceRecord::from_mahimahi`]). The other lists *steps*: a rate, and perhaps a delay, that hold until the
//! next ([`TraceRecord::from_csv`]). Both run by the run's clock from its beginning, whether packets pass or not, and
//! either begin again after their end or hold ([`TraceEnd`]). A record may last 10 000 h and have 10 million entries.
//!
//! [`Trace`]'s text form is one line with everything in it, for logs and resolved scenarios:
//! `steps end=hold length=60s at=0ms:20Mbit/s:30ms;1.5s:0`.

mod csv;
mod mahimahi;
mod text;

use crate::serializer::Step;
use core::fmt;
use farhop_units::{Instant, ParseError, Rate, duration};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A recorded link. Clones share it.
#[derive(Debug, Clone)]
pub struct Trace {
    /// What was recorded.
    pub record: Arc<TraceRecord>,
    /// What comes after its end.
    pub end: TraceEnd,
    /// What its steps carry, once it was worked out: the same for all terminals.
    carried: Arc<OnceLock<Arc<[Step]>>>,
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        (&self.record, self.end) == (&other.record, other.end)
    }
}

impl Eq for Trace {}

/// What comes after the end of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TraceEnd {
    /// It begins again.
    #[default]
    Repeat,
    /// Its last rate and delay stay; after the last delivery opportunity there are no more.
    Hold,
}

/// What was recorded, from the beginning of the run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceRecord {
    /// Times at which so many bytes could be delivered (mahimahi's packet-delivery traces: 1500 B each), in order.
    Opportunities {
        /// The times; several may be equal.
        times: Vec<Duration>,
        /// When the trace ends.
        length: Duration,
    },
    /// Rate and delay that hold from one time to the next, in order; the first at 0.
    Steps {
        /// The steps.
        steps: Vec<TraceStep>,
        /// When the trace ends.
        length: Duration,
    },
}

/// A rate and a delay from one time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceStep {
    /// From when on.
    pub at: Duration,
    /// The rate; `None` means that nothing is sent.
    pub rate: Option<Rate>,
    /// One-way delay; absent where the trace has none, and the direction's own holds.
    pub delay: Option<Duration>,
}

/// Why a text is not a trace, or a trace cannot be written in a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A line cannot be read, or not follow the one before.
    #[error("line {line}: {problem}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong, with the offending text, and what would be accepted.
        problem: ParseError,
    },
    /// The trace as a whole cannot be.
    #[error("{0}")]
    Whole(ParseError),
}

/// What a delivery opportunity carries: mahimahi's 1504 B, less the 4 B that a TUN device puts before an IP packet.
pub(crate) const OPPORTUNITY_BYTES: u64 = 1500;
/// The most steps or opportunities that are accepted.
const MAX_ENTRIES: usize = 10_000_000;
/// The longest time that is accepted.
const MAX_LENGTH: Duration = Duration::from_secs(10_000 * 3600);

impl TraceError {
    fn whole(problem: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self::Whole(ParseError::new(problem, accepted))
    }

    fn line(index: usize, problem: ParseError) -> Self {
        Self::Line { line: index + 1, problem }
    }
}

impl TraceRecord {
    /// Reads a file of either format: CSV if its first line begins with a letter or `#`, else mahimahi's.
    ///
    /// # Errors
    /// See [`TraceRecord::from_csv`] and [`TraceRecord::from_mahimahi`].
    pub fn from_file(text: &str) -> Result<Self, TraceError> {
        let begins = without_mark(text).trim_start().starts_with(|c: char| c.is_alphabetic() || c == '#');
        if begins { Self::from_csv(text) } else { Self::from_mahimahi(text) }
    }

    /// How long it lasts.
    pub fn length(&self) -> Duration {
        match self {
            Self::Opportunities { length, .. } | Self::Steps { length, .. } => *length,
        }
    }

    /// The mean rate from its beginning to its end; `None` if below 1 bit/s.
    pub fn mean_rate(&self) -> Option<Rate> {
        let mean = self.bit_nanos_by(Duration::MAX).checked_div(self.length().as_nanos())?;
        Rate::from_bits_per_second(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// What can be carried from its beginning to before then, in bits, times the nanoseconds of a second.
    fn bit_nanos_by(&self, at: Duration) -> u128 {
        match self {
            Self::Opportunities { times, .. } => {
                times.partition_point(|time| *time < at) as u128 * u128::from(OPPORTUNITY_BYTES) * 8 * NANOS
            }
            Self::Steps { steps, length } => spans(steps, *length)
                .map(|(step, span)| {
                    let span = span.min(at.saturating_sub(step.at));
                    span.as_nanos().saturating_mul(u128::from(bits_per_second(step.rate)))
                })
                .fold(0, u128::saturating_add),
        }
    }

    /// Checks what a record must be: neither empty nor too long, in order, and not without any capacity.
    pub(crate) fn check(&self) -> Result<(), ParseError> {
        let (count, first, last) = match self {
            Self::Opportunities { times, .. } => (times.len(), times.first().copied(), times.last().copied()),
            Self::Steps { steps, .. } => {
                (steps.len(), steps.first().map(|step| step.at), steps.last().map(|step| step.at))
            }
        };
        let (Some(first), Some(last)) = (first, last) else {
            return Err(ParseError::new("an empty trace", "at least one entry"));
        };
        check_count(count)?;
        let length = self.length();
        if length.is_zero() || length < last || length > MAX_LENGTH {
            let problem = format!("the trace ends at {}", duration::format(length));
            let limit = duration::format(MAX_LENGTH);
            return Err(ParseError::new(problem, format!("an end after its last entry, above 0 and at most {limit}")));
        }
        match self {
            Self::Opportunities { times, .. } => check_order(times.is_sorted()),
            Self::Steps { steps, .. } if !first.is_zero() => Err(not_from_the_start(steps[0].at)),
            Self::Steps { steps, .. } => {
                check_order(steps.is_sorted_by(|a, b| a.at < b.at) && last < length)?;
                if steps.iter().any(|step| step.rate.is_some()) { Ok(()) } else { Err(nothing_sent()) }
            }
        }
    }
}

impl Trace {
    /// A record and what comes after its end.
    pub fn new(record: TraceRecord, end: TraceEnd) -> Self {
        Self { record: Arc::new(record), end, carried: Arc::default() }
    }

    /// What its steps carry, which `sum` works out.
    pub(crate) fn carried(&self, sum: impl FnOnce() -> Arc<[Step]>) -> Arc<[Step]> {
        Arc::clone(self.carried.get_or_init(sum))
    }

    /// One line for people: `60 s, 5.2 Mbit/s on average, repeats`.
    pub fn summary(&self) -> String {
        let mean = self.record.mean_rate().map_or("below 1 bit/s".to_owned(), |rate| three_digits(rate).to_string());
        let end = match (self.end, &*self.record) {
            (TraceEnd::Repeat, _) => "repeats",
            (TraceEnd::Hold, TraceRecord::Steps { .. }) => "then stays as it ends",
            (TraceEnd::Hold, TraceRecord::Opportunities { .. }) => "then carries nothing",
        };
        format!("{}, {mean} on average, {end}", duration::format(self.record.length()))
    }

    /// What can be carried until then, in bits.
    pub(crate) fn bits_by(&self, at: Instant) -> f64 {
        let (length, at) = (self.record.length(), at - Instant::START);
        let rounds = at.as_nanos() / length.as_nanos().max(1);
        let rest = Duration::from_nanos_u128(at.as_nanos() % length.as_nanos().max(1));
        // The last opportunity may be at the very end.
        let by = |record: &TraceRecord, at: Duration| {
            as_f64(record.bit_nanos_by(if at < length { at } else { Duration::MAX })) / as_f64(NANOS)
        };
        match (self.end, &*self.record) {
            (TraceEnd::Repeat, record) => as_f64(rounds) * by(record, length) + by(record, rest),
            (TraceEnd::Hold, record @ TraceRecord::Steps { steps, .. }) => {
                let last = steps.last().and_then(|step| step.rate).map_or(0.0, Rate::as_f64);
                by(record, at) + last * at.saturating_sub(length).as_secs_f64()
            }
            (TraceEnd::Hold, record) => by(record, at),
        }
    }

    /// The most that is ever carried; `None` is no bound.
    pub(crate) fn peak_rate(&self) -> Option<Rate> {
        match &*self.record {
            TraceRecord::Steps { steps, .. } => steps.iter().filter_map(|step| step.rate).max(),
            // Each carries its bytes in no time, and several may coincide.
            TraceRecord::Opportunities { .. } => None,
        }
    }

    /// The shortest delay; `own` holds where the trace has none.
    pub(crate) fn least_delay(&self, own: Duration) -> Option<Duration> {
        match &*self.record {
            TraceRecord::Steps { steps, .. } => steps.iter().map(|step| step.delay.unwrap_or(own)).min(),
            TraceRecord::Opportunities { .. } => None,
        }
    }
}

impl TraceEnd {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Repeat, Self::Hold];

    /// The spelling in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Hold => "hold",
        }
    }
}

impl fmt::Display for TraceEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl core::str::FromStr for TraceEnd {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = Self::ALL.into_iter().find(|end| end.word() == text);
        known.ok_or_else(|| ParseError::unknown("end of a trace", text, Self::ALL.map(Self::word), "repeat or hold"))
    }
}

const NANOS: u128 = 1_000_000_000;

#[expect(clippy::cast_precision_loss, reason = "sums of bits are good to fifteen digits")]
fn as_f64(count: u128) -> f64 {
    count as f64
}

/// Each step and how long it holds.
fn spans(steps: &[TraceStep], length: Duration) -> impl Iterator<Item = (&TraceStep, Duration)> {
    let ends = steps.iter().skip(1).map(|step| step.at).chain([length]);
    steps.iter().zip(ends).map(|(step, end)| (step, end.saturating_sub(step.at)))
}

/// Nothing is 0.
pub(crate) fn bits_per_second(rate: Option<Rate>) -> u64 {
    rate.map_or(0, Rate::bits_per_second)
}

/// A rate, or zero of any unit for nothing.
fn rate_or_nothing(text: &str) -> Result<Option<Rate>, ParseError> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - digits.len()];
    let is_zero = number.contains('0') && number.chars().all(|c| matches!(c, '0' | '.'));
    if is_zero && (digits.is_empty() || format!("1{digits}").parse::<Rate>().is_ok()) {
        return Ok(None);
    }
    let extend = |error: ParseError| ParseError { accepted: format!("{}, or 0", error.accepted), ..error };
    text.parse().map(Some).map_err(extend)
}

/// Rounded to three digits, for people.
fn three_digits(rate: Rate) -> Rate {
    let bits = rate.bits_per_second();
    let unit = 10_u64.pow(bits.ilog10().saturating_sub(2));
    Rate::from_bits_per_second(bits.saturating_add(unit / 2) / unit * unit).unwrap_or(rate)
}

/// The text without the byte order mark that spreadsheets write.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn check_count(count: usize) -> Result<(), ParseError> {
    let refuse = || ParseError::new("too long a trace", format!("at most {MAX_ENTRIES} entries"));
    if count <= MAX_ENTRIES { Ok(()) } else { Err(refuse()) }
}

fn check_time(time: Duration) -> Result<(), ParseError> {
    let problem = || format!("{} is too late", duration::format(time));
    let refuse = || ParseError::new(problem(), format!("times up to {}", duration::format(MAX_LENGTH)));
    if time <= MAX_LENGTH { Ok(()) } else { Err(refuse()) }
}

fn check_order(sorted: bool) -> Result<(), ParseError> {
    if sorted { Ok(()) } else { Err(ParseError::new("a time before the one before it", "times in order")) }
}

fn not_from_the_start(at: Duration) -> ParseError {
    ParseError::new(format!("the first step begins at {}", duration::format(at)), "a first step at 0")
}

fn nothing_sent() -> ParseError {
    ParseError::new("nothing is ever sent", "at least one rate above 0")
}

#[cfg(test)]
mod tests;
