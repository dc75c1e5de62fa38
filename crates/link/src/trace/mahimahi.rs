//! mahimahi's packet-delivery traces (Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC
//! 2015).
//!
//! One whole number per line: milliseconds since the beginning at which 1500 B of IP packet could be sent. Times do not
//! decrease; 83 equal lines are 83 opportunities in that millisecond, about 1 Gbit/s. The last must be above 0: the
//! trace ends with it, and when repeated begins again at that very instant. mahimahi's emulator counts 1504 B, four of
//! them the header of its TUN device; this crate counts IP packets, so full packets meet the same fate and smaller
//! ones, of which several fit into one opportunity, are 4 B smaller each.

use super::{MAX_ENTRIES, OPPORTUNITY_BYTES, TraceError, TraceRecord, TraceStep};
use super::{NANOS, bits_per_second, check_count, check_time, spans, without_mark};
use core::fmt::Write;
use farhop_units::{ParseError, duration};
use std::time::Duration;

const ACCEPTED: &str = "a whole number of milliseconds, one per line, none below the one before";
const MILLI: u128 = 1_000_000;

impl TraceRecord {
    /// Reads a packet-delivery trace. Line ends may be those of any system, and blank lines may follow the last.
    ///
    /// # Errors
    /// The first line that is no number, negative or below the one before; an empty trace; one that lasts no time or
    /// too long.
    pub fn from_mahimahi(text: &str) -> Result<Self, TraceError> {
        let mut times: Vec<Duration> = Vec::new();
        for (index, line) in without_mark(text).trim_end().lines().enumerate() {
            let refuse = |problem| TraceError::line(index, problem);
            let time = millis(line.trim()).map_err(refuse)?;
            let last = times.last().copied().unwrap_or_default();
            if time < last {
                let problem = format!("{} after {}", line.trim(), last.as_millis());
                return Err(refuse(ParseError::new(problem, ACCEPTED)));
            }
            times.push(time);
            check_count(times.len()).map_err(refuse)?;
        }
        match times.last().copied() {
            None => Err(TraceError::whole("an empty trace", ACCEPTED)),
            Some(Duration::ZERO) => Err(TraceError::whole("the trace ends at 0 ms", "a last time above 0 ms")),
            Some(length) => Ok(Self::Opportunities { times, length }),
        }
    }

    /// Writes a packet-delivery trace. Times are rounded up to the millisecond, and since such a trace ends with its
    /// last opportunity, that one is put at the end. Steps become an opportunity whenever they have carried another
    /// 1500 B; their delays are left out.
    ///
    /// # Errors
    /// Steps that carry less than 1500 B, or more than 10 million times that.
    pub fn to_mahimahi(&self) -> Result<String, TraceError> {
        match self {
            Self::Opportunities { times, length } => written(times, *length),
            Self::Steps { steps, length } => written(&opportunities(steps, *length)?, *length),
        }
    }
}

fn millis(text: &str) -> Result<Duration, ParseError> {
    let refuse = |problem: &str| ParseError::new(format!("{problem} \"{text}\""), ACCEPTED);
    if text.starts_with('-') {
        return Err(refuse("a negative time"));
    }
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // What has too many digits is a number all the same: the latest there is.
    let time = Duration::from_millis(text.parse().unwrap_or(u64::MAX));
    if is_number { check_time(time).map(|()| time) } else { Err(refuse("not a time:")) }
}

fn written(times: &[Duration], length: Duration) -> Result<String, TraceError> {
    let Some(most) = times.len().checked_sub(1) else {
        let problem = format!("less than one opportunity in {}", duration::format(length));
        return Err(TraceError::whole(problem, format!("a trace that carries at least {OPPORTUNITY_BYTES} B")));
    };
    let mut text = String::new();
    for time in times[..most].iter().chain([&length]) {
        writeln!(text, "{}", time.as_nanos().div_ceil(MILLI)).expect("a string takes all text");
    }
    Ok(text)
}

/// When the steps have carried another opportunity's bytes, rounded up to the nanosecond.
fn opportunities(steps: &[TraceStep], length: Duration) -> Result<Vec<Duration>, TraceError> {
    const WORK: u128 = OPPORTUNITY_BYTES as u128 * 8 * NANOS;
    let (mut times, mut carried) = (Vec::new(), 0);
    for (step, span) in spans(steps, length) {
        let rate = u128::from(bits_per_second(step.rate));
        let end = span.as_nanos().saturating_mul(rate).saturating_add(carried);
        if end / WORK > (MAX_ENTRIES - times.len()) as u128 {
            let problem = format!("more than {MAX_ENTRIES} opportunities of {OPPORTUNITY_BYTES} B");
            return Err(TraceError::whole(problem, "a shorter or a slower trace"));
        }
        let since = |number: u128| u64::try_from((number * WORK - carried).div_ceil(rate)).unwrap_or(u64::MAX);
        times.extend((1..=end / WORK).map(|number| step.at + Duration::from_nanos(since(number))));
        carried = end % WORK;
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times(record: &TraceRecord) -> Vec<u128> {
        match record {
            TraceRecord::Opportunities { times, .. } => times.iter().map(Duration::as_millis).collect(),
            TraceRecord::Steps { .. } => panic!("opportunities"),
        }
    }

    #[test]
    fn a_trace_ends_with_its_last_opportunity() {
        let record = TraceRecord::from_mahimahi("0\n5\r\n5\n12\n\n").unwrap();
        assert_eq!(times(&record), [0, 5, 5, 12]);
        assert_eq!(record.length(), Duration::from_millis(12));
        assert_eq!(record.to_mahimahi().unwrap(), "0\n5\n5\n12\n");
    }

    #[test]
    fn wrong_lines_are_named() {
        let error = |text: &str| TraceRecord::from_mahimahi(text).unwrap_err().to_string();
        assert_eq!(error("1\n-5\n"), format!("line 2: a negative time \"-5\"; accepted: {ACCEPTED}"));
        assert_eq!(error("1\n\n5\n"), format!("line 2: not a time: \"\"; accepted: {ACCEPTED}"));
        assert_eq!(error("7\n5\n"), format!("line 2: 5 after 7; accepted: {ACCEPTED}"));
        assert_eq!(error("1.5"), format!("line 1: not a time: \"1.5\"; accepted: {ACCEPTED}"));
        assert_eq!(error(" \n"), format!("an empty trace; accepted: {ACCEPTED}"));
        assert_eq!(error("0\n0\n"), "the trace ends at 0 ms; accepted: a last time above 0 ms");
        let late = "line 1: 36000000.001 s is too late; accepted: times up to 36000000 s";
        assert_eq!(error("36000000001"), late);
        assert!(error("99999999999999999999999").contains("is too late"));
    }

    #[test]
    fn too_many_lines_are_refused() {
        let error = TraceRecord::from_mahimahi(&"1\n".repeat(MAX_ENTRIES + 1)).unwrap_err().to_string();
        assert_eq!(error, "line 10000001: too long a trace; accepted: at most 10000000 entries");
    }

    #[test]
    fn steps_become_opportunities_when_they_have_carried_one() {
        // 1500 B take 1 ms at 12 Mbit/s and 10 ms at 1.2 Mbit/s.
        let record = TraceRecord::from_csv("time,rate\n0 s,12 Mbit/s\n2.5 ms,0\n5 ms,1.2 Mbit/s\n25 ms,end").unwrap();
        assert_eq!(record.to_mahimahi().unwrap(), "1\n2\n10\n25\n", "the fourth, at 20 ms, is put at the end");
        let slow = TraceRecord::from_csv("time,rate\n0 s,1 kbit/s\n1 s,end").unwrap();
        let error = slow.to_mahimahi().unwrap_err().to_string();
        assert_eq!(error, "less than one opportunity in 1 s; accepted: a trace that carries at least 1500 B");
        let fast = TraceRecord::from_csv("time,rate\n0 s,10 Gbit/s\n1 h,end").unwrap();
        assert!(fast.to_mahimahi().unwrap_err().to_string().starts_with("more than 10000000 opportunities"));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(gaps in proptest::collection::vec(0_u64..50, 1..100)) {
            let sum = |at: &mut u64, gap: &u64| { *at += gap; Some(Duration::from_millis(*at + 1)) };
            let times: Vec<Duration> = gaps.iter().scan(0, sum).collect();
            let length = *times.last().expect("at least one");
            let record = TraceRecord::Opportunities { times, length };
            prop_assert_eq!(TraceRecord::from_mahimahi(&record.to_mahimahi().unwrap()), Ok(record));
        }

        #[test]
        fn any_text_gives_an_answer(text in "[0-9\r\n -]*|.*") {
            let _ = TraceRecord::from_mahimahi(&text).map(|record| record.check().expect("what is read is right"));
        }
    }
}
