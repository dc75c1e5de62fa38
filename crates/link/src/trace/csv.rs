//! Traces as tables: a rate, and perhaps a delay, from one time to the next.
//!
//! ```text
//! # where it comes from
//! time,rate,delay                   or time_s,rate_mbit_s,delay_ms
//! 0 s,20 Mbit/s,30 ms                  0,20,30
//! 1.5 s,0,30 ms                        1.5,0,30
//! 60 s,end                             60,end
//! ```
//!
//! A header, then rows in order of time, the first at 0. Values carry their units, or the header does for its whole
//! column: time and delay in s, ms, us or ns, rate in bit_s, kbit_s, mbit_s or gbit_s. Columns come in any order; the
//! delay may be missing, as a column or in a row, and the direction's own holds. At a rate of 0 nothing is sent. The
//! last row says by the word `end` in place of a rate when the trace ends; without it the last step lasts as long as
//! the one before it, a lone step one second. Blank lines and lines that begin with `#` are skipped. Left out: quoted
//! values.

use super::{TraceError, TraceRecord, TraceStep, check_count, check_time, not_from_the_start, nothing_sent};
use super::{rate_or_nothing, without_mark};
use core::fmt::Write;
use farhop_units::{ParseError, duration};
use std::time::Duration;

const HEADER: &str = "a header of time, rate and perhaps delay, with or without units: time,rate,delay or \
                      time_s,rate_mbit_s,delay_ms";
const END: &str = "end";
const TIMES: &[(&str, &str)] = &[("s", "s"), ("ms", "ms"), ("us", "us"), ("ns", "ns")];
const RATES: &[(&str, &str)] = &[("bit_s", "bit/s"), ("kbit_s", "kbit/s"), ("mbit_s", "Mbit/s"), ("gbit_s", "Gbit/s")];
/// How long a lone step lasts. It matters only to what repeats: nothing, since nothing changes.
const LONE_STEP: Duration = Duration::from_secs(1);

impl TraceRecord {
    /// Reads a table of steps, each with its time, rate and, if it has one, delay:
    ///
    /// ```
    /// use farhop_link::TraceRecord;
    /// let with_units = TraceRecord::from_csv("time,rate,delay\n0 s,20 Mbit/s,30 ms\n1.5 s,0,30 ms\n60 s,end")?;
    /// let units_above = TraceRecord::from_csv("time_s,rate_mbit_s,delay_ms\n0,20,30\n1.5,0,30\n60,end")?;
    /// assert_eq!(with_units, units_above);
    /// # Ok::<(), farhop_link::TraceError>(())
    /// ```
    ///
    /// Without the last row the last step lasts as long as the one before it. Lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// The first line that cannot be read or is out of order; an empty trace, one that sends nothing or is too long.
    pub fn from_csv(text: &str) -> Result<Self, TraceError> {
        let lines = without_mark(text).lines().map(str::trim).enumerate();
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (index, header) = lines.next().ok_or_else(|| TraceError::whole("an empty trace", HEADER))?;
        let columns = Columns::new(header).map_err(|problem| TraceError::line(index, problem))?;
        let mut table = Table::default();
        for (index, line) in lines {
            table.add(&columns, line).map_err(|problem| TraceError::line(index, problem))?;
        }
        table.finish().map_err(TraceError::Whole)
    }

    /// Writes a table of steps, from which [`TraceRecord::from_csv`] reads the same ones.
    ///
    /// # Errors
    /// Opportunities have no rate.
    pub fn to_csv(&self) -> Result<String, TraceError> {
        let Self::Steps { steps, length } = self else {
            return Err(TraceError::whole(
                "delivery opportunities have no rate",
                "a trace of steps; mahimahi's format",
            ));
        };
        let mut text = String::from("time,rate,delay\n");
        let mut row = |at, rate: &str, delay: &str| {
            writeln!(text, "{},{rate},{delay}", duration::format(at)).expect("a string takes all text");
        };
        for step in steps {
            let rate = step.rate.map_or("0".to_owned(), |rate| rate.to_string());
            row(step.at, &rate, &step.delay.map(duration::format).unwrap_or_default());
        }
        row(*length, END, "");
        Ok(text)
    }
}

/// Where each quantity stands, and the unit that its header gives to a whole column.
struct Columns {
    time: (usize, &'static str),
    rate: (usize, &'static str),
    delay: Option<(usize, &'static str)>,
    count: usize,
}

impl Columns {
    fn new(header: &str) -> Result<Self, ParseError> {
        let (mut time, mut rate, mut delay) = (None, None, None);
        for (place, title) in header.split(',').map(str::trim).enumerate() {
            let (name, unit) = title.split_once('_').map_or((title, None), |(name, unit)| (name, Some(unit)));
            let (column, units) = match name {
                "time" => (&mut time, TIMES),
                "rate" => (&mut rate, RATES),
                "delay" => (&mut delay, TIMES),
                _ => return Err(ParseError::new(format!("unknown column \"{title}\""), HEADER)),
            };
            let known = |unit| units.iter().find(|(known, _)| *known == unit).map(|(_, unit)| *unit);
            let Some(unit) = unit.map_or(Some(""), known) else {
                return Err(ParseError::new(format!("unknown unit in \"{title}\""), HEADER));
            };
            if column.replace((place, unit)).is_some() {
                return Err(ParseError::new(format!("two columns \"{name}\""), HEADER));
            }
        }
        let missing = |name: &str| ParseError::new(format!("no column \"{name}\""), HEADER);
        let count = header.split(',').count();
        Ok(Self {
            time: time.ok_or_else(|| missing("time"))?,
            rate: rate.ok_or_else(|| missing("rate"))?,
            delay,
            count,
        })
    }
}

/// The rows so far.
#[derive(Default)]
struct Table {
    steps: Vec<TraceStep>,
    end: Option<Duration>,
}

impl Table {
    fn add(&mut self, columns: &Columns, line: &str) -> Result<(), ParseError> {
        if self.end.is_some() {
            return Err(ParseError::new(
                format!("\"{line}\" after the end"),
                format!("\"{END}\" in the last row alone"),
            ));
        }
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let (place, unit) = columns.time;
        let at = duration::parse(&with_unit(cells.get(place).unwrap_or(&""), unit))?;
        check_time(at)?;
        self.check_order(at)?;
        if cells.get(columns.rate.0) == Some(&END) {
            self.end = Some(at);
            return Ok(());
        }
        if cells.len() != columns.count {
            let problem = format!("{} values in \"{line}\"", cells.len());
            return Err(ParseError::new(problem, format!("{}, as many as the header has", columns.count)));
        }
        let (place, unit) = columns.rate;
        let rate = rate_or_nothing(&with_unit(cells[place], unit))?;
        let delay = columns.delay.map(|(place, unit)| (cells[place], unit)).filter(|(cell, _)| !cell.is_empty());
        let delay = delay.map(|(cell, unit)| duration::parse(&with_unit(cell, unit))).transpose()?;
        delay.map_or(Ok(()), check_time)?;
        self.steps.push(TraceStep { at, rate, delay });
        check_count(self.steps.len())
    }

    fn check_order(&self, at: Duration) -> Result<(), ParseError> {
        match self.steps.last() {
            None if at.is_zero() => Ok(()),
            None => Err(not_from_the_start(at)),
            Some(last) if at > last.at => Ok(()),
            Some(last) => {
                let problem = format!("{} after {}", duration::format(at), duration::format(last.at));
                Err(ParseError::new(problem, "times that increase"))
            }
        }
    }

    fn finish(self) -> Result<TraceRecord, ParseError> {
        let length = match (self.end, self.steps.as_slice()) {
            (_, []) => return Err(ParseError::new("an empty trace", "at least one row of time and rate")),
            (Some(end), _) => end,
            (None, [_]) => LONE_STEP,
            (None, [.., before, last]) => last.at + (last.at - before.at),
        };
        check_time(length)?;
        if self.steps.iter().all(|step| step.rate.is_none()) {
            return Err(nothing_sent());
        }
        Ok(TraceRecord::Steps { steps: self.steps, length })
    }
}

/// The value with its column's unit, if that has one.
fn with_unit(value: &str, unit: &str) -> String {
    if unit.is_empty() { value.to_owned() } else { format!("{value} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::any_steps;
    use farhop_units::Rate;
    use proptest::prelude::*;

    #[test]
    fn units_stand_in_values_or_in_the_header() {
        let text = "\u{feff}# measured\r\ntime,rate,delay\r\n0 s,20 Mbit/s,30 ms\r\n\r\n1.5 s,0,\r\n60 s,end\r\n";
        let record = TraceRecord::from_csv(text).unwrap();
        let first =
            TraceStep { at: Duration::ZERO, rate: Some(Rate::mbps(20)), delay: Some(Duration::from_millis(30)) };
        let second = TraceStep { at: Duration::from_millis(1500), rate: None, delay: None };
        let steps = vec![first, second];
        assert_eq!(record, TraceRecord::Steps { steps, length: Duration::from_secs(60) });
        assert_eq!(TraceRecord::from_csv("delay_ms,time_s,rate_mbit_s\n30,0,20\n,1.5,0.0\n,60,end"), Ok(record));
    }

    #[test]
    fn the_last_step_lasts_as_long_as_the_one_before() {
        let length = |text: &str| TraceRecord::from_csv(text).map(|record| record.length().as_secs());
        assert_eq!(length("time_s,rate_kbit_s\n0,5\n3,6\n10,7\n"), Ok(17));
        assert_eq!(length("time_s,rate_kbit_s\n0,5\n"), Ok(1));
    }

    #[test]
    fn wrong_lines_are_named() {
        let error = |text: &str| TraceRecord::from_csv(text).unwrap_err().to_string();
        assert_eq!(error("# nothing\n"), format!("an empty trace; accepted: {HEADER}"));
        assert_eq!(error("time,speed"), format!("line 1: unknown column \"speed\"; accepted: {HEADER}"));
        assert_eq!(error("time_h,rate"), format!("line 1: unknown unit in \"time_h\"; accepted: {HEADER}"));
        assert_eq!(error("time,time"), format!("line 1: two columns \"time\"; accepted: {HEADER}"));
        assert_eq!(error("time,delay"), format!("line 1: no column \"rate\"; accepted: {HEADER}"));
        assert_eq!(error("time,rate"), "an empty trace; accepted: at least one row of time and rate");
        let row = |rows: &str| error(&format!("time_s,rate_kbit_s\n{rows}"));
        assert_eq!(row("5,1"), "line 2: the first step begins at 5 s; accepted: a first step at 0");
        assert_eq!(row("0,1\n5,2\n5,3"), "line 4: 5 s after 5 s; accepted: times that increase");
        assert_eq!(
            row("0,1\n\n-5,2"),
            "line 4: \"-5 s\" is negative; accepted: a number and ns, us, ms, s, min or h, e.g. \"250 ms\""
        );
        assert!(row("0,1\nx,2").starts_with("line 3: no number in \"x s\""));
        assert!(row("0,fast").starts_with("line 2: no number in \"fast kbit/s\""));
        assert_eq!(row("0"), "line 2: 1 values in \"0\"; accepted: 2, as many as the header has");
        assert_eq!(row("0,1\n5,end\n6,1"), "line 4: \"6,1\" after the end; accepted: \"end\" in the last row alone");
        assert_eq!(row("0,0\n5,0"), "nothing is ever sent; accepted: at least one rate above 0");
        assert_eq!(row("0,1\n36000001,1"), "line 3: 36000001 s is too late; accepted: times up to 36000000 s");
    }

    #[test]
    fn opportunities_have_no_table() {
        let record = TraceRecord::from_mahimahi("5").unwrap();
        assert!(record.to_csv().unwrap_err().to_string().starts_with("delivery opportunities have no rate"));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(record in any_steps()) {
            prop_assert_eq!(TraceRecord::from_csv(&record.to_csv().unwrap()), Ok(record));
        }

        #[test]
        fn any_text_gives_an_answer(text in "(time,rate(,delay)?\n|time_s,rate_bit_s\n)?([0-9., -]|\n|end|bit/s)*|.*") {
            let _ = TraceRecord::from_csv(&text).map(|record| record.check().expect("what is read is right"));
        }
    }
}
