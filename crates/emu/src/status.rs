//! What a running link does, as one line of text on a terminal and as one line of JSON.

use crate::lateness::LATENESS_BOUND;
use crate::testbed::FAR;
use crate::{DirectionStatus, LinkStatus, Testbed};
use farhop_link::Count;
use farhop_units::{Bytes, counted};
use serde_json::{Map, Value, json};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the line is written.
const INTERVAL: Duration = Duration::from_secs(1);

/// A line on standard error that says once per second what the far link does. Dropping it removes the line.
#[derive(Debug)]
pub struct StatusLine {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StatusLine {
    /// Starts writing.
    ///
    /// # Panics
    /// If the system has no thread to give.
    pub fn start(testbed: &Testbed) -> Self {
        let remote = testbed.remote();
        let (stop, stopped) = channel();
        let name = "farhop-status".to_owned();
        let thread = thread::Builder::new().name(name).spawn(move || {
            let mut last: Option<LinkStatus> = None;
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let Some(status) = remote.status(FAR) else { break };
                write_over(&line(last.as_ref(), &status));
                last = Some(status);
            }
            write_over("");
        });
        Self { stop: Some(stop), thread: Some(thread.expect("the system has threads left")) }
    }

    /// Starts writing if somebody sees it and it does not stand among a command's output: standard error is a terminal and
    /// standard output is not.
    pub fn if_seen(testbed: &Testbed) -> Option<Self> {
        let is_seen = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
        is_seen.then(|| Self::start(testbed))
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.stop = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Replaces the terminal's current line.
fn write_over(text: &str) {
    // A terminal that has gone sees nothing.
    let _ = write!(std::io::stderr().lock(), "\r\x1b[2K{text}");
}

/// What happened since `last`, which is the start if there is none, and what waits now.
fn line(last: Option<&LinkStatus>, status: &LinkStatus) -> String {
    let start = last.map_or(farhop_units::Instant::START, |last| last.at);
    let span = status.at.since(start);
    let way = |name: &str, now: &DirectionStatus, last: Option<&DirectionStatus>| {
        let (bytes, drops) = last.map_or((Bytes::ZERO, 0), |last| (last.delivered.bytes, last.drops()));
        let rate = rate(now.delivered.bytes.get().saturating_sub(bytes.get()), span);
        let dropped = now.drops().saturating_sub(drops);
        format!("{name} {rate}, {} queued, {dropped} dropped", size(now.queued))
    };
    let down = way("down", &status.down, last.map(|last| &last.down));
    let up = way("up", &status.up, last.map(|last| &last.up));
    let lateness = last.map_or_else(|| status.lateness.clone(), |last| status.lateness.since(&last.lateness));
    let late = lateness.percentile(99).as_secs_f64() * 1e3;
    format!("{:.0} s │ {down} │ {up} │ {late:.3} ms late (p99)", status.at.as_secs_f64())
}

/// One direction in the summary of a run.
pub(crate) fn direction_summary(name: &str, way: &DirectionStatus, span: Duration) -> String {
    let Count { packets, bytes } = way.delivered;
    let mut text = format!("{name}: {}, {} delivered", counted(packets, "packet"), size(bytes));
    text.push_str(&format!(" ({} on average), at most {} queued", rate(bytes.get(), span), size(way.peak_queue)));
    match &way.dropped[..] {
        [] => text.push_str(", none dropped"),
        dropped => {
            let told: Vec<String> =
                dropped.iter().map(|(reason, count)| format!("{count} {}", reason.word())).collect();
            text.push_str(&format!(", dropped: {}", told.join(", ")));
        }
    }
    text
}

/// A rate that was seen, to three digits.
fn rate(bytes: u64, span: Duration) -> String {
    if span.is_zero() {
        return "0 bit/s".to_owned();
    }
    scaled(bytes as f64 * 8.0 / span.as_secs_f64(), ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
}

fn size(bytes: Bytes) -> String {
    scaled(bytes.get() as f64, ["B", "kB", "MB", "GB"])
}

fn scaled(value: f64, units: [&str; 4]) -> String {
    let exponent = [1e9, 1e6, 1e3].iter().position(|limit| value >= *limit).map_or(0, |place| 3 - place);
    let scaled = value / [1.0, 1e3, 1e6, 1e9][exponent];
    let digits = if exponent == 0 || scaled >= 100.0 {
        0
    } else if scaled >= 10.0 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$} {}", units[exponent])
}

/// One line of JSON, its keys with their units.
pub(crate) fn json(status: &LinkStatus) -> String {
    let lateness = &status.lateness;
    json!({
        "time_s": status.at.as_secs_f64(),
        "down": direction_json(&status.down),
        "up": direction_json(&status.up),
        "lateness_p50_s": lateness.percentile(50).as_secs_f64(),
        "lateness_p99_s": lateness.percentile(99).as_secs_f64(),
        "lateness_max_s": lateness.max().as_secs_f64(),
        "lateness_bound_s": LATENESS_BOUND.as_secs_f64(),
        "refused_packets": status.refused,
    })
    .to_string()
}

fn direction_json(way: &DirectionStatus) -> Value {
    let dropped: Map<String, Value> =
        way.dropped.iter().map(|(reason, count)| (reason.word().to_owned(), json!(count))).collect();
    json!({
        "arrived_packets": way.arrived.packets,
        "arrived_bytes": way.arrived.bytes.get(),
        "duplicated_packets": way.duplicated.packets,
        "duplicated_bytes": way.duplicated.bytes.get(),
        "delivered_packets": way.delivered.packets,
        "delivered_bytes": way.delivered.bytes.get(),
        "dropped_packets": dropped,
        "inside_packets": way.inside.packets,
        "inside_bytes": way.inside.bytes.get(),
        "queued_bytes": way.queued.get(),
        "peak_queue_bytes": way.peak_queue.get(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::lateness::Lateness;
    use farhop_link::DropReason;
    use farhop_units::Instant;

    /// A link after so many seconds at 2 Mbit/s down and nothing up.
    pub(crate) fn status(seconds: u64) -> LinkStatus {
        let count = |packets: u64, size: u64| Count { packets, bytes: Bytes::new(packets * size) };
        let idle = DirectionStatus {
            arrived: Count::default(),
            duplicated: Count::default(),
            delivered: Count::default(),
            dropped: Vec::new(),
            inside: Count::default(),
            queued: Bytes::ZERO,
            peak_queue: Bytes::ZERO,
        };
        let down = DirectionStatus {
            arrived: count(253 * seconds, 1000),
            duplicated: Count::default(),
            delivered: count(250 * seconds, 1000),
            dropped: vec![(DropReason::QueueFull, 2 * seconds), (DropReason::Lost, seconds)],
            inside: Count::default(),
            queued: Bytes::new(12_345),
            peak_queue: Bytes::new(100_000),
        };
        let mut lateness = Lateness::default();
        lateness.record(Duration::from_millis(seconds));
        LinkStatus { at: Instant::from_nanos(seconds * 1_000_000_000), down, up: idle, lateness, refused: 0 }
    }

    #[test]
    fn the_line_tells_what_happened_since_the_last() {
        let expected = "12 s │ down 2.00 Mbit/s, 12.3 kB queued, 6 dropped │ up 0 bit/s, 0 B queued, 0 dropped │ ";
        let told = line(Some(&status(10)), &status(12));
        assert!(told.starts_with(expected), "{told}");
        let told = line(None, &status(12));
        assert!(told.contains("down 2.00 Mbit/s, 12.3 kB queued, 36 dropped"), "{told}");
        assert!(told.ends_with("12.000 ms late (p99)"), "{told}");
    }

    #[test]
    fn the_summary_names_every_reason() {
        assert_eq!(
            direction_summary("down", &status(10).down, Duration::from_secs(10)),
            "down: 2500 packets, 2.50 MB delivered (2.00 Mbit/s on average), at most 100 kB queued, \
             dropped: 20 queue-full, 10 lost"
        );
    }

    #[test]
    fn json_keys_carry_their_units() {
        let value: Value = serde_json::from_str(&json(&status(2))).expect("JSON");
        assert_eq!(value["down"]["delivered_bytes"], 500_000);
        assert_eq!(value["down"]["dropped_packets"]["queue-full"], 4);
        assert_eq!((&value["time_s"], &value["lateness_max_s"]), (&json!(2.0), &json!(0.002)));
    }
}
