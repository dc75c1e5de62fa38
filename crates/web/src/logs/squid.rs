//! Squid's native format (`logformat squid`): `time.ms elapsed client code/status bytes method URL user hierarchy/host type`.
//!
//! The time is that of the log entry, which Squid writes when the response is complete; less the elapsed milliseconds it is that of the
//! request. The bytes are those sent to the client, head included. The size of requests is not in this format.

use super::LogRecord;
use super::field::{Fields, bytes, digits, seconds, status, unless_dash};
use core::fmt::Write;
use std::time::Duration;

/// Reads a line, or says what is wrong with it.
pub(super) fn parse(line: &str) -> Result<LogRecord, &'static str> {
    let mut fields = Fields::of(line);
    let end = fields.word().and_then(seconds).ok_or("no time in seconds since 1970")?;
    let elapsed = fields.word().ok_or("no elapsed time")?;
    // Squid's clock may be set back while a request runs.
    let elapsed = elapsed.strip_prefix('-').map_or_else(|| digits(elapsed), |back| digits(back).map(|_| 0));
    let elapsed = Duration::from_millis(elapsed.ok_or("no elapsed time in milliseconds")?);
    let client = fields.word().ok_or("no client")?;
    let result = fields.word().and_then(|result| result.split_once('/')).ok_or("no result and status")?;
    let (outcome, code) = (result.0, status(result.1).ok_or("no status")?);
    let reply_bytes = fields.word().and_then(bytes).ok_or("no number of bytes")?;
    let method = fields.word().ok_or("no method")?;
    let url = fields.word().ok_or("no URL")?;
    fields.word().ok_or("no user")?;
    // A line that was cut ends within a URL, which cannot be told from a whole one; but for this.
    let (hierarchy, _) =
        fields.word().and_then(|reached| reached.split_once('/')).ok_or("no hierarchy code and host")?;
    // Squid 1 did not write the type.
    let media_type = fields.word();
    Ok(LogRecord {
        at: end.checked_sub(elapsed).ok_or("longer than since 1970")?,
        client: client.into(),
        method: method.into(),
        url: url.into(),
        status: code,
        outcome: unless_dash(outcome),
        hierarchy: unless_dash(hierarchy),
        request_bytes: None,
        reply_bytes,
        duration: Some(elapsed),
        media_type: media_type.and_then(unless_dash),
        layer: 0,
    })
}

/// The records as Squid would have logged them, in the order in which they were complete. Times are cut to milliseconds; what Squid's format has
/// no place for (sizes of requests) is lost.
pub fn to_squid(records: &[LogRecord]) -> String {
    let end = |record: &LogRecord| record.at.saturating_add(record.duration.unwrap_or_default());
    let mut by_end: Vec<&LogRecord> = records.iter().collect();
    by_end.sort_by_key(|record| end(record));
    let mut text = String::with_capacity(records.len() * 120);
    for record in by_end {
        write_line(&mut text, record, end(record)).expect("a string takes everything");
    }
    text
}

fn write_line(text: &mut String, record: &LogRecord, end: Duration) -> core::fmt::Result {
    let elapsed = record.duration.unwrap_or_default().as_millis();
    write!(text, "{}.{:03} {elapsed:6} {} ", end.as_secs(), end.subsec_millis(), record.client)?;
    write!(text, "{}/{:03} ", record.outcome.as_deref().unwrap_or("-"), record.status.unwrap_or(0))?;
    write!(text, "{} {} {} - ", record.reply_bytes.get(), record.method, record.url)?;
    let media_type = record.media_type.as_deref().unwrap_or("-");
    let hierarchy = record.hierarchy.as_deref().unwrap_or("-");
    writeln!(text, "{hierarchy}/{} {media_type}", record.host().as_deref().unwrap_or("-"))
}
