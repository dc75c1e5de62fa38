//! Raising the load of a log, as nz-us-2000 did: "traces for the same time on successive days … were integrated into a single trace. When
//! higher still loads were required more than one copy of each trace was integrated … Each copy was offset in time".
//!
//! Hosts keep their names, so that more load means more requests to the same servers.

use super::LogRecord;
use std::time::Duration;

/// Logs of different days are laid over each other by this.
pub(super) const DAY: Duration = Duration::from_secs(86_400);

/// Lays logs of several days over each other: each is moved by whole days until it begins within half a day of the first one's beginning.
pub fn merge_days(days: Vec<Vec<LogRecord>>) -> Vec<LogRecord> {
    let begin = |records: &[LogRecord]| records.iter().map(|record| record.at).min();
    let Some(first) = days.iter().find_map(|day| begin(day)) else { return Vec::new() };
    let mut merged: Vec<LogRecord> = Vec::with_capacity(days.iter().map(Vec::len).sum());
    for (layer, mut day) in (0..).zip(days) {
        let start = begin(&day).unwrap_or(first);
        for record in &mut day {
            record.at = moved(record.at, start, first);
            record.layer = layer;
        }
        merged.append(&mut day);
    }
    merged.sort_by_key(|record| record.at);
    merged
}

/// `at` moved by the whole number of days that brings `start` nearest to `first`.
fn moved(at: Duration, start: Duration, first: Duration) -> Duration {
    let days = |span: Duration| u32::try_from((span + DAY / 2).as_secs() / DAY.as_secs()).unwrap_or(u32::MAX);
    if start >= first {
        // `at` is not before `start`, nor that many days after the epoch less than `first`.
        at.saturating_sub(DAY.saturating_mul(days(start - first)))
    } else {
        at.saturating_add(DAY.saturating_mul(days(first - start)))
    }
}

/// A request of a log whose load is raised.
#[derive(Debug, Clone, Copy)]
pub struct Raised<'a> {
    /// The request.
    pub record: &'a LogRecord,
    /// When it comes here.
    pub at: Duration,
    /// Its layer here ([`LogRecord::layer`]).
    pub layer: u32,
}

/// The log, then `copies` more of itself, the n-th `n × shift` later. What a copy would have beyond the end of the log comes at its
/// beginning instead (ours: the paper does not say), so that the load is raised evenly and the log stays as long as it is.
pub fn raised(records: &[LogRecord], copies: u32, shift: Duration) -> impl Iterator<Item = Raised<'_>> {
    let begin = records.iter().map(|record| record.at).min().unwrap_or_default();
    let end = records.iter().map(|record| record.at).max().unwrap_or_default();
    // One nanosecond more, so that first and last request stay apart.
    let length = (end - begin).as_nanos() + 1;
    let layers = records.iter().map(|record| record.layer.saturating_add(1)).max().unwrap_or_default();
    let rotated = move |record: &LogRecord, copy: u32| {
        let offset = ((record.at - begin).as_nanos() + shift.as_nanos() * u128::from(copy)) % length;
        begin + Duration::from_nanos(u64::try_from(offset).unwrap_or(u64::MAX))
    };
    let copy = move |copy: u32| {
        let layer = move |record: &LogRecord| copy.saturating_mul(layers).saturating_add(record.layer);
        records.iter().map(move |record| Raised { record, at: rotated(record, copy), layer: layer(record) })
    };
    (0..=copies).flat_map(copy)
}
