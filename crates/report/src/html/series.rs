//! A traced simulation over time: what waited for the far link, windows, and time-sequence graphs of the first connections.

use super::markup::escape;
use super::plot::{Look, Plot, Quantity, Series, Shape, colour};
use super::span::Spread;
use farhop_results::{ConnectionSeries, Results, TraceSeries};

const ELSEWHERE: &str = "everything is in the trace's own files";
const SECONDS: Quantity<'static> = Quantity { label: "time", unit: Some("s"), spread: Spread::Linear };

/// A line through a run.
type Points = Vec<(f64, f64)>;

/// The section, or nothing without a trace.
pub(crate) fn series(results: &Results) -> String {
    let Some(series) = results.series.as_ref().filter(|series| !series.queue.is_empty()) else { return String::new() };
    format!(
        "<section><h2 id=\"trace\">The traced run over time</h2>\n<p class=\"soft\">The first run of the first architecture, \
         thinned to what a plot can show; connections are the first ones.</p>\n{}{}{}</section>\n",
        queue(series),
        windows(series),
        sequence(series),
    )
}

fn queue(series: &TraceSeries) -> String {
    let points = |bytes: fn(&farhop_results::QueuePoint) -> u64| {
        steps(series.queue.iter().map(|point| (point.t_s, bytes(point))))
    };
    let (down, up) = (points(|point| point.down_bytes), points(|point| point.up_bytes));
    let lines =
        vec![line("at the gateway, for the way down", 0, &down), line("at the terminals, for the way up", 1, &up)];
    figure("trace-queue", "What waits for the far link", "queue", lines)
}

fn windows(series: &TraceSeries) -> String {
    let points =
        |connection: &ConnectionSeries| steps(connection.windows.iter().map(|point| (point.t_s, point.window_bytes)));
    let points: Vec<Points> = series.connections.iter().map(points).collect();
    let lines = series.connections.iter().zip(&points).enumerate();
    let lines = lines.map(|(place, (connection, points))| line(&name(connection), place, points)).collect();
    figure("trace-windows", "Congestion windows", "congestion window", lines)
}

fn sequence(series: &TraceSeries) -> String {
    let points = |segments: &[farhop_results::SegmentPoint]| -> Points {
        segments.iter().map(|point| (point.t_s, kilobytes(point.sequence))).collect()
    };
    let of_all = |connection: &ConnectionSeries| {
        let ConnectionSeries { sent, retransmitted, acknowledged, .. } = connection;
        [sent, retransmitted, acknowledged].map(|segments| points(segments))
    };
    let points: Vec<[Points; 3]> = series.connections.iter().map(of_all).collect();
    let mut lines = Vec::new();
    for (place, (connection, [sent, again, acknowledged])) in series.connections.iter().zip(&points).enumerate() {
        lines.push(line(&name(connection), place, sent));
        if !acknowledged.is_empty() {
            let name = format!("{}, acknowledged", name(connection));
            lines.push(Series { name, colour: colour(place), look: Look::Dotted, points: acknowledged });
        }
        if !again.is_empty() {
            let name = format!("{}, sent again", name(connection));
            let look = Look::Marks(Shape::ALL[place % Shape::ALL.len()]);
            lines.push(Series { name, colour: colour(place), look, points: again });
        }
    }
    figure("trace-sequence", "Time-sequence graph", "sequence number", lines)
}

fn figure(id: &str, title: &str, label: &str, series: Vec<Series<'_>>) -> String {
    if series.iter().all(|series| series.points.is_empty()) {
        return String::new();
    }
    let y = Quantity { label, unit: Some("kB"), spread: Spread::Linear };
    let plot = Plot { id: id.to_owned(), title: title.to_owned(), x: SECONDS, y, series, elsewhere: ELSEWHERE };
    format!("<h3>{}</h3>\n{}", escape(title), plot.html())
}

fn line<'a>(name: &str, place: usize, points: &'a Points) -> Series<'a> {
    Series { name: name.to_owned(), colour: colour(place), look: Look::Line, points }
}

fn name(connection: &ConnectionSeries) -> String {
    format!("connection {}, {}", connection.connection, connection.direction)
}

/// What holds from its time on until the next one.
fn steps(points: impl Iterator<Item = (f64, u64)>) -> Points {
    let mut out: Points = Vec::new();
    for (t_s, bytes) in points {
        if let Some((_, before)) = out.last().copied() {
            out.push((t_s, before));
        }
        out.push((t_s, kilobytes(bytes)));
    }
    out
}

#[expect(clippy::cast_precision_loss, reason = "a plot shows three digits")]
fn kilobytes(bytes: u64) -> f64 {
    bytes as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_in_steps_is_drawn_in_steps() {
        let points = steps([(0.0, 0), (1.0, 2000), (3.0, 1000)].into_iter());
        assert_eq!(points, [(0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (3.0, 2.0), (3.0, 1.0)]);
    }
}
