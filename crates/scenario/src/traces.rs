//! Recorded links: files beside the scenario, or the text form that a resolved scenario and a packet log have.

use crate::files::Files;
use crate::network::{MODEL, setting};
use crate::reader::{Document, ValueError, key_in};
use farhop_link::trace::TraceError;
use farhop_link::{DirectionConfig, Setting, Trace, TraceEnd, TraceRecord};
use farhop_units::ParseError;

/// Reads `trace` and `trace_end` of the direction `table`.
pub(crate) fn read(
    document: &Document,
    files: &Files,
    table: &str,
    config: &mut DirectionConfig,
) -> Result<(), ValueError> {
    let parse = |text: &str| if is_file(text) { from_file(text, files) } else { setting("trace", text) };
    if let Some(trace) = document.compound(&key_in(table, "trace"), MODEL, parse)? {
        config.apply(trace);
    }
    let key = key_in(table, "trace_end");
    match (document.get(&key, str::parse::<TraceEnd>)?, &mut config.trace) {
        (Some(end), Some(trace)) => trace.end = end,
        (Some(_), None) => {
            return Err(document.refuse(&key, ParseError::new("the end of no trace", "a trace beside it")));
        }
        (None, _) => {}
    }
    Ok(())
}

/// Every text form but `none` has terms.
fn is_file(text: &str) -> bool {
    text != "none" && !text.contains('=')
}

/// Repeats, unless `trace_end` says otherwise.
fn from_file(path: &str, files: &Files) -> Result<Setting, ParseError> {
    const ACCEPTED: &str = "a file beside the scenario: a packet-delivery trace of mahimahi, or a CSV file with the heading \
                            time,rate,delay";
    let record = TraceRecord::from_file(&files.read(path, "trace", ACCEPTED)?).map_err(|error| match error {
        TraceError::Line { line, problem } => {
            ParseError::new(format!("line {line} of it: {}", problem.problem), problem.accepted)
        }
        TraceError::Whole(problem) => problem,
    })?;
    Ok(Setting::Trace(Some(Trace::new(record, TraceEnd::default()))))
}
