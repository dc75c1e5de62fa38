//! Many response times of one row: pages and objects of users, or requests of a log; and how what they met is distributed.

use crate::{comparison, format};
use farhop_results::{Difference, Distribution, Quantity, RequestTimes, Results, Row, UserTimes};

/// Headings of [`lines`].
pub(crate) const HEADINGS: [&str; 7] = ["architecture", "source", "what", "count", "p50, s", "p95, s", "mean, s"];

/// Headings of [`spread`].
pub(crate) const SPREAD_HEADINGS: [&str; 8] = ["architecture", "source", "what", "p5", "p50", "p95", "mean", "most"];

/// Headings of [`difference`].
pub(crate) const DIFFERENCE_HEADINGS: [&str; 6] =
    ["architecture", "source", "compared with", "pairs", "difference of means, s", "unpaired, s"];

/// What [`DIFFERENCE_HEADINGS`] mean.
pub(crate) const DIFFERENCES: &str = "Differences, run by run with the same random numbers through all architectures: ± is the 95 % confidence interval of \
     paired differences, unpaired what it would be with random numbers of each one's own";

const FIRST_BYTES: &str = "first bytes";

/// Response times of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    what: &'static str,
    count: u64,
    pub(crate) p50_s: f64,
    pub(crate) p95_s: f64,
    pub(crate) mean_s: f64,
    /// Half-width of the mean's confidence interval.
    mean_error_s: Option<f64>,
}

/// Whose times they are.
pub(crate) fn title(results: &Results) -> &'static str {
    if results.rows.iter().any(|row| row.log.is_some()) { "What the log's requests met" } else { "What users met" }
}

/// The rows that have such times, with those times, the most important kind first.
pub(crate) fn rows(results: &Results) -> impl Iterator<Item = (&Row, Vec<Times>)> {
    let all = results.rows.iter().map(|row| (row, times(row)));
    all.filter(|(_, times)| !times.is_empty())
}

/// Whether a row stands for many pages or requests.
pub(crate) fn is_one(row: &Row) -> bool {
    row.users.is_some() || row.log.is_some()
}

fn times(row: &Row) -> Vec<Times> {
    let users = row.users.as_ref().map(|users| of_users(users).to_vec());
    users.or_else(|| row.log.as_ref().map(|log| of_log(log).to_vec())).unwrap_or_default()
}

fn of_users(users: &UserTimes) -> [Times; 3] {
    [
        Times {
            what: "pages",
            count: users.count,
            p50_s: users.page_load_p50_s,
            p95_s: users.page_load_p95_s,
            mean_s: users.page_load_mean_s,
            mean_error_s: users.page_load_mean_error_s,
        },
        Times {
            what: "objects",
            count: users.object_count,
            p50_s: users.object_p50_s,
            p95_s: users.object_p95_s,
            mean_s: users.object_mean_s,
            mean_error_s: None,
        },
        Times {
            what: FIRST_BYTES,
            count: users.count,
            p50_s: users.first_byte_p50_s,
            p95_s: users.first_byte_p95_s,
            mean_s: users.first_byte_mean_s,
            mean_error_s: None,
        },
    ]
}

fn of_log(log: &RequestTimes) -> [Times; 2] {
    [
        Times {
            what: "requests",
            count: log.sample_count,
            p50_s: log.sample_p50_s,
            p95_s: log.sample_p95_s,
            mean_s: log.sample_mean_s,
            mean_error_s: log.sample_mean_error_s,
        },
        Times {
            what: FIRST_BYTES,
            count: log.sample_count,
            p50_s: log.sample_first_byte_p50_s,
            p95_s: log.sample_first_byte_p95_s,
            mean_s: log.sample_first_byte_mean_s,
            mean_error_s: None,
        },
    ]
}

/// A line for each kind: architecture and source, how many, median, 95th percentile, mean.
pub(crate) fn lines<'a>(row: &'a Row, times: &'a [Times]) -> impl Iterator<Item = [String; 7]> + 'a {
    times.iter().map(|times| {
        let [p50, p95, mean] = [times.p50_s, times.p95_s, times.mean_s].map(format::seconds);
        let error = times.mean_error_s.map(|error| format!(" ± {}", format::seconds(error))).unwrap_or_default();
        let name = comparison::name(row.architecture, Some(row.state));
        [name, row.source.to_string(), times.what.to_owned(), times.count.to_string(), p50, p95, mean + &error]
    })
}

/// The line of a difference: of what, from what, in how many pairs, the mean with its interval, and the interval without pairs.
pub(crate) fn difference(difference: &Difference) -> [String; 6] {
    let Difference { architecture, from, source, runs, mean_s, mean_error_s, unpaired_error_s } = *difference;
    let [paired, unpaired] = [mean_error_s, unpaired_error_s].map(|error| format!("± {}", format::seconds(error)));
    let mean = format!("{} {paired}", format::more_seconds(mean_s));
    [architecture.to_string(), source.to_string(), from.to_string(), runs.to_string(), mean, unpaired]
}

/// How many pages or requests were not complete when time was up; nothing if all were.
pub(crate) fn unfinished(results: &Results) -> Option<String> {
    let count = |row: &Row| {
        let of_users = row.users.as_ref().map(|users| users.unfinished);
        of_users.or_else(|| row.log.as_ref().map(|log| log.unanswered)).filter(|count| *count > 0)
    };
    let rows = results.rows.iter().filter_map(|row| Some((row, count(row)?)));
    let counts: Vec<String> =
        rows.map(|(row, count)| format!("{} {count} ({})", row.architecture, row.source)).collect();
    let is_log = results.rows.iter().any(|row| row.log.is_some());
    let what = if is_log { "requests not answered" } else { "pages not complete when the measured time ended" };
    (!counts.is_empty()).then(|| format!("{what}: {}", counts.join(", ")))
}

/// How the whole of what was asked for is distributed, pages or requests, architecture by architecture.
pub(crate) fn of_wholes(results: &Results) -> impl Iterator<Item = &Distribution> {
    let is_whole = |quantity| matches!(quantity, Quantity::PageLoad | Quantity::Request);
    results.distributions.iter().filter(move |distribution| is_whole(distribution.quantity))
}

/// The line of a distribution that is not one of response times: the values that 5, 50, 95 % do not exceed, the mean and the most.
pub(crate) fn spread(distribution: &Distribution) -> Option<[String; 8]> {
    let Distribution { architecture, source, quantity, mean, max, .. } = distribution;
    let (what, told): (_, fn(f64) -> String) = match quantity {
        Quantity::PageLoad | Quantity::Object | Quantity::Request | Quantity::FirstByte => return None,
        Quantity::Goodput => ("goodput", format::bit_rate),
        Quantity::Connections => ("connections", format::number),
        Quantity::DownUsed => ("use of the link down", format::share),
        Quantity::UpUsed => ("use of the link up", format::share),
        Quantity::QueueDown => ("waiting for the link down", format::bytes_of),
        Quantity::QueueUp => ("waiting for the link up", format::bytes_of),
    };
    let percentiles = [5, 50, 95].map(|percent| distribution.percentile(percent).map_or_else(|| "?".to_owned(), told));
    let [p5, p50, p95] = percentiles;
    let name = comparison::name(*architecture, None);
    Some([name, source.to_string(), what.to_owned(), p5, p50, p95, told(*mean), told(*max)])
}
