//! What a population of users met: two lines for each row that has users.

use crate::{comparison, format};
use farhop_results::{Results, Row, UserTimes};

/// Headings of [`lines`].
pub(crate) const HEADINGS: [&str; 7] = ["architecture", "source", "what", "count", "p50, s", "p95, s", "mean, s"];

/// The rows that have users.
pub(crate) fn rows(results: &Results) -> impl Iterator<Item = (&Row, &UserTimes)> {
    results.rows.iter().filter_map(|row| Some((row, row.users.as_ref()?)))
}

/// Its pages and its objects, a line each: architecture and source, how many, median, 95th percentile, mean.
pub(crate) fn lines(row: &Row, users: &UserTimes) -> [[String; 7]; 2] {
    let mean = format::seconds(users.page_load_mean_s);
    let error = users.page_load_mean_error_s.map(|error| format!(" ± {}", format::seconds(error))).unwrap_or_default();
    let name = comparison::name(row.architecture, Some(row.state));
    let line = |what: &str, count: u64, p50: f64, p95: f64, mean: String| {
        let [p50, p95] = [p50, p95].map(format::seconds);
        [name.clone(), row.source.to_string(), what.to_owned(), count.to_string(), p50, p95, mean]
    };
    let pages = line("pages", users.count, users.page_load_p50_s, users.page_load_p95_s, mean + &error);
    let objects_mean = format::seconds(users.object_mean_s);
    [pages, line("objects", users.object_count, users.object_p50_s, users.object_p95_s, objects_mean)]
}

/// How many pages were not complete when time was up; nothing if all were.
pub(crate) fn unfinished(results: &Results) -> Option<String> {
    let counts: Vec<String> = rows(results)
        .filter(|(_, users)| users.unfinished > 0)
        .map(|(row, users)| format!("{} {} ({})", row.architecture, users.unfinished, row.source))
        .collect();
    (!counts.is_empty()).then(|| format!("pages not complete when the measured time ended: {}", counts.join(", ")))
}
