//! Fig 6 simulated: how data sets begin, as a capture at the server shows it, by how long after each other they are asked for.
//!
//! The page is Fig 5's with 20 data sets of 10 kB. The first one names the others in its last segment, so that all are known when it has come; they are
//! asked for one after another, or with the pauses of §4.3's side experiments, which are the browser's own time.

use super::experiments::SCENARIO;
use super::{SENT, SHOWN, SHOWN_SIZE, claims};
use crate::filling::{Fill, Plot};
use crate::lab::Lab;
use farhop_results::reproduction::{Figure, Origin, Reproduction};
use farhop_results::{Architecture, ConnectionSeries, Load, Sample};
use farhop_units::Bytes;
use std::time::Duration;

const FIGURE: Figure = Figure::Fig(6);
/// The text's "about 0.28 second".
pub(super) const PUBLISHED_INTERVAL: f64 = 0.28;
/// The text's other intervals.
const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(10);
/// A header of one byte goes before each data set, in the scenario.
const WITH_HEADER: u64 = SHOWN_SIZE.get() + 1;
/// Of the search for the shortest interval with slow start: to some milliseconds.
const HALVINGS: u32 = 12;
const READING: &str = "simulated: as a capture at the server shows it, Fig 5's page of 20 data sets of 10 kB, bsd-1997, window of 16 KiB (not in the text)";

/// How the data sets of a page begin that are asked for at one interval.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Starts {
    /// Between requests, in s: the median.
    pub(super) interval: f64,
    /// Segments that leave at once when each data set begins.
    pub(super) at_once: Vec<usize>,
}

impl Starts {
    fn new(load: &Load, connection: &ConnectionSeries, first: usize) -> Self {
        // The first data set is not asked for at the interval, and its slow start is not either.
        let requests: Vec<f64> = load.objects.iter().map(|object| object.request_s).skip(1).collect();
        let intervals = Sample::new(requests.windows(2).map(|pair| pair[1] - pair[0]));
        let at_once = |(begin, _): (f64, u64)| connection.sent.iter().filter(|point| is_same(point.t_s, begin)).count();
        Self {
            interval: intervals.median().unwrap_or(f64::NAN),
            at_once: beginnings(connection).into_iter().skip(first).map(at_once).collect(),
        }
    }

    /// Which of the data sets begin with a single segment, the scenario's initial window.
    pub(super) fn slow(&self) -> impl Iterator<Item = bool> {
        self.at_once.iter().map(|segments| *segments == 1)
    }

    /// Whether any does.
    pub(super) fn are_slow(&self) -> bool {
        self.slow().any(|slow| slow)
    }
}

/// The same time, in s.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6
}

/// When each data set's first segment was sent, and the sequence number after it.
fn beginnings(connection: &ConnectionSeries) -> Vec<(f64, u64)> {
    // The first byte has number 1, and `sequence` is the number after the last one.
    let set = |sequence: u64| sequence.saturating_sub(2) / WITH_HEADER;
    let mut found: Vec<(f64, u64)> = Vec::new();
    for point in &connection.sent {
        if found.last().is_none_or(|(_, last)| set(point.sequence) > set(*last)) {
            found.push((point.t_s, point.sequence));
        }
    }
    found
}

/// The page whose requests from the third on come at this interval; without one each waits for the data set before alone.
fn page(interval: Duration) -> String {
    let mut table = "name,type,bytes,offset_of_reference_in_html,delay_ms\ndocument,text/html,10000,0,0".to_owned();
    for set in 1..SHOWN {
        let (offset, delay) = (8800 + 60 * set, interval * (set - 1));
        table += &format!("\n{set}.png,image/png,{},{offset},{}", SHOWN_SIZE.get(), delay.as_secs_f64() * 1000.0);
    }
    table
}

/// Whose idle time is meant: 4.4BSD's is from what it last received; RFC 5681 §4.1's from what was last sent.
#[derive(Debug, Clone, Copy)]
enum Idle {
    Unheard,
    Unsent,
}

fn traced(lab: &mut Lab<'_>, interval: Duration, idle: Idle) -> Result<(Load, ConnectionSeries), String> {
    let mut changes = vec!["http.version=1.1".to_owned(), format!("page.table={}", page(interval))];
    if let Idle::Unsent = idle {
        changes.push("tcp.profile=rfc".to_owned());
    }
    lab.trace(SCENARIO, Architecture::Direct, &changes)
}

/// What a page with this interval shows.
fn starts(lab: &mut Lab<'_>, interval: Duration, idle: Idle) -> Result<Starts, String> {
    let (load, connection) = traced(lab, interval, idle)?;
    // The second data set follows the first one at once, whatever the interval.
    Ok(Starts::new(&load, &connection, 2))
}

/// Puts the figure, and what the text says of it.
pub(super) fn sequence(lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    if let Err(reason) = try_sequence(lab, reproduction) {
        reproduction.gap(FIGURE, &reason);
    }
}

fn try_sequence(lab: &mut Lab<'_>, reproduction: &mut Reproduction) -> Result<(), String> {
    let (load, connection) = traced(lab, Duration::ZERO, Idle::Unheard)?;
    put_trace(reproduction, &connection);
    let following = Starts::new(&load, &connection, 1);
    let quantity = "interval of data requests, simulated (s)";
    let reading = format!(
        "{READING}; the median: each is sent when the data set before has come, which takes propagation and 10 kB on the link"
    );
    reproduction.row(FIGURE, quantity, Some(PUBLISHED_INTERVAL), following.interval, &reading);
    let [short, long] = [starts(lab, SHORT, Idle::Unheard)?, starts(lab, LONG, Idle::Unheard)?];
    let by_rfc = starts(lab, LONG, Idle::Unsent)?;
    let shortest = shortest_slow(lab)?;
    let quantity = "shortest interval of requests whose data sets begin slowly, simulated (s)";
    let reading = format!(
        "{READING}, but profile rfc, whose idle time is from what was last sent (RFC 5681 §4.1); 4.4BSD's is from what it last received"
    );
    reproduction.row(FIGURE, quantity, None, shortest, &reading);
    claims::of_starts(reproduction, [&following, &short, &long, &by_rfc], shortest);
    Ok(())
}

/// The shortest interval with slow start by the RFC, in s, if there is one up to the longest of the text's; NaN if not.
fn shortest_slow(lab: &mut Lab<'_>) -> Result<f64, String> {
    let (mut quick, mut slow) = (SHORT / 2, LONG);
    if !starts(lab, slow, Idle::Unsent)?.are_slow() {
        return Ok(f64::NAN);
    }
    for _ in 0..HALVINGS {
        let middle = (quick + slow) / 2;
        if starts(lab, middle, Idle::Unsent)?.are_slow() { slow = middle } else { quick = middle }
    }
    Ok(slow.as_secs_f64())
}

/// What the server has sent by when, and where data sets begin.
fn put_trace(reproduction: &mut Reproduction, connection: &ConnectionSeries) {
    let (x, y) = SENT;
    let kb = |sequence: u64| Bytes::new(sequence - 1).as_f64() / 1000.0;
    let sent: Vec<_> = connection.sent.iter().map(|point| (point.t_s, kb(point.sequence))).collect();
    let begin: Vec<_> = beginnings(connection).into_iter().map(|(at, sequence)| (at, kb(sequence))).collect();
    let mut plot = Plot { reproduction, figure: FIGURE, x, y };
    plot.points("HTTP/1.1, simulated", Origin::Simulated, READING, sent);
    plot.points("data sets begin, simulated", Origin::Events, READING, begin);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Effort;
    use farhop_results::SegmentPoint;

    /// Segments sent at these times, with these numbers after their last bytes.
    fn sent(points: &[(f64, u64)]) -> ConnectionSeries {
        let point = |(t_s, sequence): &(f64, u64)| SegmentPoint { t_s: *t_s, sequence: *sequence };
        ConnectionSeries {
            connection: 0,
            direction: "down".to_owned(),
            windows: Vec::new(),
            sent: points.iter().map(point).collect(),
            retransmitted: Vec::new(),
            acknowledged: Vec::new(),
        }
    }

    #[test]
    fn a_data_set_begins_after_the_last_byte_of_the_one_before() {
        let connection =
            sent(&[(0.1, 1449), (0.4, 10_002), (0.7, 11_450), (0.7, 12_898), (1.0, 20_003), (1.3, 20_004)]);
        assert_eq!(beginnings(&connection), [(0.1, 1449), (0.7, 11_450), (1.3, 20_004)]);
    }

    #[test]
    fn requests_come_at_their_interval_from_the_third_on() {
        let mut lab_hears = |_: &str| {};
        let mut lab = Lab::new(Effort::Full, &mut lab_hears);
        for seconds in [1, 10] {
            let starts = starts(&mut lab, Duration::from_secs(seconds), Idle::Unheard).expect("it can be simulated");
            assert!(
                (starts.interval - f64::from(u32::try_from(seconds).expect("they are few"))).abs() < 1e-6,
                "{starts:?}"
            );
            assert_eq!(starts.at_once.len(), 18, "the first two are not at the interval");
        }
    }
}
