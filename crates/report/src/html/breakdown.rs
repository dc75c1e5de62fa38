//! What the page waits for: a stacked bar per row that has a breakdown, and the same as a table.

use super::axis::Axis;
use super::markup::{class, escape, finite, put};
use super::waterfall::{grid_lines, tick_labels};
use crate::{comparison, format};
use farhop_results::{Results, Row, Wait, Waiting};
use farhop_units::counted;

/// Height of a bar's row, in CSS pixels.
const HEIGHT: usize = 26;
/// Share of the width from which a part has room for its number of round trips.
const ROOM: f64 = 0.03;
/// How much longer the axis is than the longest bar, so that each has room for its time behind it.
const BEHIND: f64 = 1.12;

/// The section, or nothing if no row has a breakdown.
pub(crate) fn breakdown(results: &Results) -> String {
    let rows: Vec<&Row> = results.rows.iter().filter(|row| !row.breakdown.is_empty()).collect();
    if rows.is_empty() {
        return String::new();
    }
    let (axis, waits) = (Axis::to(rows.iter().map(|row| total(row) * BEHIND)), waits(&rows));
    let mut out = String::from(
        "<section><h2 id=\"waiting\">What the page waits for</h2>\n<p class=\"soft\">A number in a bar counts round trips.</p>\n",
    );
    put_legend(&mut out, &waits);
    out.push_str("<figure aria-label=\"What the page waits for\"><div class=\"bars\">\n");
    for row in &rows {
        let (colour, name, bar) = (class(row.architecture), name(row), bar(row, axis));
        put(&mut out, format_args!("<span class=\"waiter {colour}\">{name}</span>{bar}\n"));
    }
    put(&mut out, format_args!("<span></span>{}</div></figure>\n", tick_labels(axis, 14)));
    put_table(&mut out, &rows, &waits);
    out.push_str("</section>\n");
    out
}

/// "direct", and below it "farhop, predicted: 12 round trips".
fn name(row: &Row) -> String {
    let trips = row.breakdown.iter().fold(0_u64, |sum, wait| sum.saturating_add(wait.round_trips));
    let name = comparison::name(row.architecture, Some(row.state));
    format!("<b>{name}</b> <span>{}, {}: {}</span>", escape(&row.method), row.source, counted(trips, "round trip"))
}

/// Seconds that count: neither less than none nor no number.
fn time(wait: &Wait) -> f64 {
    finite(wait.time_s).max(0.0)
}

fn total(row: &Row) -> f64 {
    row.breakdown.iter().map(time).sum()
}

/// What any of the rows waits for, in the usual order.
fn waits(rows: &[&Row]) -> Vec<Waiting> {
    let is_waited_for = |waiting: &Waiting| rows.iter().any(|row| part(row, *waiting).is_some());
    Waiting::ALL.iter().copied().filter(is_waited_for).collect()
}

fn part(row: &Row, waiting: Waiting) -> Option<&Wait> {
    row.breakdown.iter().find(|wait| wait.waiting == waiting && time(wait) > 0.0)
}

fn bar(row: &Row, axis: Axis) -> String {
    let (name, total) = (comparison::name(row.architecture, Some(row.state)), format::seconds(total(row)));
    let mut out = format!(
        "<svg height=\"{HEIGHT}\" role=\"img\" aria-label=\"{name} waits {total} s\">{}",
        grid_lines(axis, HEIGHT)
    );
    let mut start = 0.0;
    for wait in Waiting::ALL.iter().filter_map(|waiting| part(row, *waiting)) {
        let end = start + time(wait);
        put_part(&mut out, wait, axis, start, end);
        start = end;
    }
    if axis.share(start) <= BEHIND {
        put(
            &mut out,
            format_args!("<text class=\"value\" x=\"{}\" dx=\"8\" y=\"18\">{total} s</text>", axis.at(start)),
        );
    }
    out.push_str("</svg>");
    out
}

fn put_part(out: &mut String, wait: &Wait, axis: Axis, start: f64, end: f64) {
    let (x, width, waiting) = (axis.at(start), axis.between(start, end), wait.waiting);
    let trips = wait.round_trips;
    let trips = if trips > 0 { format!(", {}", counted(trips, "round trip")) } else { String::new() };
    let what = meaning(waiting);
    put(
        out,
        format_args!(
            "<g class=\"wait w-{waiting}\"><title>{what}: {} s{trips}</title><rect x=\"{x}\" width=\"{width}\" y=\"3\" height=\"20\"/>",
            format::seconds(wait.time_s)
        ),
    );
    if wait.round_trips > 0 && axis.share(end) - axis.share(start) > ROOM {
        let middle = axis.at(f64::midpoint(start, end));
        put(out, format_args!("<text x=\"{middle}\" y=\"17\" text-anchor=\"middle\">{}</text>", wait.round_trips));
    }
    out.push_str("</g>");
}

fn put_legend(out: &mut String, waits: &[Waiting]) {
    out.push_str("<ul class=\"legend\">");
    for waiting in waits {
        let what = meaning(*waiting);
        put(
            out,
            format_args!(
                "<li><svg aria-hidden=\"true\"><g class=\"wait w-{waiting}\"><rect width=\"22\" height=\"12\"/></g></svg>{what}</li>"
            ),
        );
    }
    out.push_str("</ul>\n");
}

/// A wait in words.
const fn meaning(waiting: Waiting) -> &'static str {
    match waiting {
        Waiting::Dns => "a name's address",
        Waiting::Handshake => "TCP's or QUIC's handshake",
        Waiting::Tls => "TLS",
        Waiting::Request => "a request's answer",
        Waiting::Discovery => "the document that names the next object",
        Waiting::SlowStart => "slow start",
        Waiting::ReceiveWindow => "the receive window",
        Waiting::Transmission => "bits on the slowest hop",
        Waiting::Queueing => "queues",
        Waiting::Recovery => "losses",
        Waiting::DelayedAck => "delayed ACKs",
        Waiting::Thinking => "servers and browser at work",
    }
}

fn put_table(out: &mut String, rows: &[&Row], waits: &[Waiting]) {
    out.push_str(
        "<details><summary>The numbers</summary>\n<div class=\"scroll\"><table>\n<caption>Seconds, and round trips in \
         brackets.</caption>\n<thead><tr><th scope=\"col\">waits for</th>",
    );
    for row in rows {
        let (name, method) = (comparison::name(row.architecture, Some(row.state)), escape(&row.method));
        put(out, format_args!("<th scope=\"col\">{name}<br>{method}, {}</th>", row.source));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for waiting in waits {
        put(out, format_args!("<tr><th scope=\"row\">{}</th>", meaning(*waiting)));
        for row in rows {
            put(out, format_args!("<td>{}</td>", format::or_dash(part(row, *waiting).map(told))));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></details>\n");
}

/// "1.500 (3)".
fn told(wait: &Wait) -> String {
    let trips = if wait.round_trips > 0 { format!(" ({})", wait.round_trips) } else { String::new() };
    format!("{}{trips}", format::seconds(wait.time_s))
}
