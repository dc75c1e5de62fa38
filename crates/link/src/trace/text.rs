//! A whole trace in one line, in the grammar of [`farhop_units::terms`], for packet logs and resolved scenarios.
//!
//! ```text
//! opportunities end=repeat length=60s unit=ms times=0;5*2;12
//! steps end=hold length=60s at=0ms:20Mbit/s:30ms;1.5s:0
//! ```
//!
//! Opportunities are whole numbers of the unit (ms, us or ns; ms if absent), `n*k` being `k` of them at the time `n`; a
//! step is time, rate and, if it has one, delay. Everything reads back exactly. A line may be megabytes long; reading
//! takes time in proportion.

use super::{MAX_ENTRIES, Trace, TraceRecord, TraceStep, check_count, rate_or_nothing};
use core::fmt;
use core::str::FromStr;
use farhop_units::terms::Terms;
use farhop_units::{ParseError, duration};
use std::time::Duration;

const OPPORTUNITIES: &str = "opportunities";
const STEPS: &str = "steps";
const ACCEPTED: &str = "opportunities or steps with end=repeat or end=hold, length=60s, and unit=ms times=0;5*2;12 or \
                        at=0ms:20Mbit/s:30ms;1.5s:0";
/// Units of opportunities and their nanoseconds, the coarsest first.
const UNITS: [(&str, u64); 3] = [("ms", 1_000_000), ("us", 1000), ("ns", 1)];

impl FromStr for Trace {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let terms = Terms::split(text, ACCEPTED)?;
        if ![OPPORTUNITIES, STEPS].contains(&terms.word) {
            return Err(ParseError::new(format!("unknown trace \"{}\"", shortened(terms.word)), ACCEPTED));
        }
        let missing = |name: &str| ParseError::new(format!("no \"{name}\" in the trace"), ACCEPTED);
        let end = terms.get("end", str::parse)?.unwrap_or_default();
        let length = terms.get("length", duration::parse)?.ok_or_else(|| missing("length"))?;
        let record = if terms.word == STEPS {
            let steps = terms.get("at", steps)?.ok_or_else(|| missing("at"))?;
            TraceRecord::Steps { steps, length }
        } else {
            let unit = terms.get("unit", unit)?.unwrap_or(UNITS[0].1);
            let times = terms.get("times", |text| times(text, unit))?.ok_or_else(|| missing("times"))?;
            TraceRecord::Opportunities { times, length }
        };
        terms.finish()?;
        record.check()?;
        Ok(Self::new(record, end))
    }
}

/// Nanoseconds of a unit.
fn unit(text: &str) -> Result<u64, ParseError> {
    let found = UNITS.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, nanos)| nanos).ok_or_else(|| ParseError::new(format!("unknown unit \"{text}\""), "ms, us or ns"))
}

fn times(text: &str, nanos: u64) -> Result<Vec<Duration>, ParseError> {
    let refuse = |entry: &str| ParseError::new(format!("\"{}\"", shortened(entry)), "times such as 0;5*2;12");
    let mut times = Vec::new();
    for entry in text.split(';') {
        let (time, count) = entry.split_once('*').unwrap_or((entry, "1"));
        let (time, count) = (whole(time), whole(count).and_then(|count| usize::try_from(count).ok()));
        let time = time.and_then(|time| time.checked_mul(nanos)).ok_or_else(|| refuse(entry))?;
        let count = count.filter(|&count| count > 0).ok_or_else(|| refuse(entry))?;
        check_count(count.min(MAX_ENTRIES + 1) + times.len())?;
        times.extend(core::iter::repeat_n(Duration::from_nanos(time), count));
    }
    Ok(times)
}

fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn steps(text: &str) -> Result<Vec<TraceStep>, ParseError> {
    let mut steps = Vec::new();
    for entry in text.split(';') {
        steps.push(step(entry)?);
        check_count(steps.len())?;
    }
    Ok(steps)
}

fn step(entry: &str) -> Result<TraceStep, ParseError> {
    let refuse = || ParseError::new(format!("\"{}\"", shortened(entry)), "a step such as 1.5s:20Mbit/s:30ms or 1.5s:0");
    let (at, rest) = entry.split_once(':').ok_or_else(refuse)?;
    let (rate, delay) = rest.split_once(':').map_or((rest, None), |(rate, delay)| (rate, Some(delay)));
    Ok(TraceStep {
        at: duration::parse(at)?,
        rate: rate_or_nothing(rate)?,
        delay: delay.map(duration::parse).transpose()?,
    })
}

/// The beginning of a text that may be very long.
fn shortened(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(end, _)| &text[..end])
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (end, length) = (self.end, joined(duration::format(self.record.length())));
        match &*self.record {
            TraceRecord::Opportunities { times, .. } => {
                let exact = |nanos: u64| times.iter().all(|time| time.as_nanos() % u128::from(nanos) == 0);
                let (unit, nanos) = UNITS.into_iter().find(|(_, nanos)| exact(*nanos)).unwrap_or(("ns", 1));
                write!(f, "{OPPORTUNITIES} end={end} length={length} unit={unit} times=")?;
                write_times(f, times, nanos)
            }
            TraceRecord::Steps { steps, .. } => {
                write!(f, "{STEPS} end={end} length={length} at=")?;
                for (index, step) in steps.iter().enumerate() {
                    let rate = step.rate.map_or("0".to_owned(), |rate| joined(rate.to_string()));
                    let delay = step.delay.map(|delay| format!(":{}", joined(duration::format(delay))));
                    let (gap, at) = (if index > 0 { ";" } else { "" }, joined(duration::format(step.at)));
                    write!(f, "{gap}{at}:{rate}{}", delay.unwrap_or_default())?;
                }
                Ok(())
            }
        }
    }
}

fn write_times(f: &mut fmt::Formatter<'_>, times: &[Duration], nanos: u64) -> fmt::Result {
    for (index, equal) in times.chunk_by(|a, b| a == b).enumerate() {
        let (gap, time) = (if index > 0 { ";" } else { "" }, equal[0].as_nanos() / u128::from(nanos));
        match equal.len() {
            1 => write!(f, "{gap}{time}")?,
            count => write!(f, "{gap}{time}*{count}")?,
        }
    }
    Ok(())
}

/// As a term holds it.
fn joined(quantity: String) -> String {
    quantity.replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceEnd;
    use crate::trace::tests::{any_opportunities, any_steps};
    use proptest::prelude::*;

    #[test]
    fn traces_read_back() {
        let texts = [
            "opportunities end=repeat length=60s unit=ms times=0;5*2;12",
            "opportunities end=hold length=7us unit=us times=7*3",
            "steps end=hold length=60s at=0ms:20Mbit/s:30ms;1.5s:0;2s:0:30ms;3s:900.7kbit/s",
        ];
        for text in texts {
            assert_eq!(text.parse::<Trace>().map(|trace| trace.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn wrong_texts_say_what_is_wrong() {
        let error = |text: &str| text.parse::<Trace>().unwrap_err().to_string();
        assert_eq!(error("file.csv"), format!("unknown trace \"file.csv\"; accepted: {ACCEPTED}"));
        assert_eq!(error("steps at=0s:1bit/s"), format!("no \"length\" in the trace; accepted: {ACCEPTED}"));
        let steps = |at: &str| error(&format!("steps length=60s at={at}"));
        assert_eq!(steps("0s"), "at: \"0s\"; accepted: a step such as 1.5s:20Mbit/s:30ms or 1.5s:0");
        assert_eq!(steps("1s:1bit/s"), "the first step begins at 1 s; accepted: a first step at 0");
        assert_eq!(steps("0s:1bit/s;0s:2bit/s"), "a time before the one before it; accepted: times in order");
        assert_eq!(steps("0s:0"), "nothing is ever sent; accepted: at least one rate above 0");
        assert!(steps("0s:1bit/s;90s:1bit/s").starts_with("the trace ends at 60 s; accepted: an end after"));
        assert_eq!(steps("0s:1bit/s;60s:2bit/s"), "a time before the one before it; accepted: times in order");
        let times = |times: &str| error(&format!("opportunities length=60s times={times}"));
        assert_eq!(times("5ms"), "times: \"5ms\"; accepted: times such as 0;5*2;12");
        assert_eq!(times("5;6*0"), "times: \"6*0\"; accepted: times such as 0;5*2;12");
        assert_eq!(times("6;5"), "a time before the one before it; accepted: times in order");
        assert_eq!(times("0*18446744073709551615"), "times: too long a trace; accepted: at most 10000000 entries");
        assert!(error("opportunities end=never length=1s times=0").starts_with("end: unknown end of a trace"));
    }

    proptest! {
        #[test]
        fn every_trace_reads_back(record in prop_oneof![any_steps(), any_opportunities()], hold: bool) {
            let trace = Trace::new(record, if hold { TraceEnd::Hold } else { TraceEnd::Repeat });
            let text = trace.to_string();
            prop_assert!(!text.contains([',', '"', '#', '\n']));
            prop_assert_eq!(text.parse(), Ok(trace));
        }

        #[test]
        fn any_text_gives_an_answer(text in "(opportunities|steps)( (end|length|unit|times|at)=[0-9a-zM/:;*.]*)*|.*") {
            let _ = text.parse::<Trace>();
        }
    }
}
