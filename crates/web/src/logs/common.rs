//! The Common Log Format, `client ident user [day/month/year:time zone] "method path version" status bytes`, and the Combined one, which adds
//! `"referrer" "user agent"` (CERN httpd, Apache httpd's mod_log_config).
//!
//! The time is that of the request's arrival, the bytes are those of the body. How long it took is not in these formats.

use super::LogRecord;
use super::field::{Fields, bytes, status};
use crate::har::since_epoch;
use farhop_units::Bytes;
use std::time::Duration;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

pub(super) const NO_TIME: &str = "no time in brackets such as [10/Oct/2000:13:55:36 -0700]";

/// Reads a line of the Common Log Format; what follows does not matter.
pub(super) fn parse_common(line: &str) -> Result<LogRecord, &'static str> {
    record(&mut Fields::of(line))
}

/// Reads a line of the Combined Log Format.
pub(super) fn parse_combined(line: &str) -> Result<LogRecord, &'static str> {
    let mut fields = Fields::of(line);
    let record = record(&mut fields)?;
    fields.between('"', '"').ok_or("no referrer in quotes")?;
    fields.between('"', '"').ok_or("no user agent in quotes")?;
    Ok(record)
}

fn record(fields: &mut Fields<'_>) -> Result<LogRecord, &'static str> {
    let client = fields.word().ok_or("no client")?;
    fields.word().ok_or("no identity")?;
    // Names may have blanks in them.
    if fields.before('[').ok_or(NO_TIME)?.is_empty() {
        return Err("no user");
    }
    let at = fields.between('[', ']').and_then(time).ok_or(NO_TIME)?;
    let request = fields.between('"', '"').ok_or("no request in quotes")?;
    let status = fields.word().and_then(status).ok_or("no status")?;
    let size = fields.word().ok_or("no number of bytes")?;
    let reply_bytes = if size == "-" { Bytes::ZERO } else { bytes(size).ok_or("no number of bytes")? };
    let mut words = Fields::of(request);
    // Who connects and says nothing, or speaks TLS to the wrong port, is logged, too.
    let (method, url) = match (words.word(), words.word()) {
        (Some(method), Some(url)) => (method, url),
        (method, _) => (method.unwrap_or("-"), "-"),
    };
    Ok(LogRecord {
        at,
        client: client.into(),
        method: method.into(),
        url: url.into(),
        status,
        outcome: None,
        hierarchy: None,
        request_bytes: None,
        reply_bytes,
        duration: None,
        media_type: None,
        layer: 0,
    })
}

/// `10/Oct/2000:13:55:36 -0700` since the Unix epoch.
fn time(text: &str) -> Option<Duration> {
    let (date, clock) = text.split_once(':')?;
    let mut parts = date.split('/');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let month = 1 + MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))?;
    let (time, zone) = clock.split_once(' ')?;
    since_epoch(&format!("{year}-{month}-{day}T{time}{zone}"))
}
