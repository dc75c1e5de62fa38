//! The headline chart: a bar per architecture, state and source against the limit.

use super::axis::Axis;
use super::markup::{class, escape, put};
use crate::comparison::{Comparison, Line, spread};
use crate::format;
use farhop_results::{Results, Row, Source};

/// Height of a bar's row, in CSS pixels.
const HEIGHT: u32 = 24;
/// Share of the width from which a value stands inside its bar, so that it cannot leave the page.
const INSIDE: f64 = 0.5;

/// The chart, or nothing if there is no value.
pub(crate) fn bars(results: &Results, comparison: &Comparison<'_>) -> String {
    if results.rows.is_empty() {
        return String::new();
    }
    let axis = Axis::to(results.rows.iter().map(|row| ends(row)[1]).chain([results.limit_s]));
    let mut out = String::from("<figure aria-label=\"Page load times\"><div class=\"bars\">\n");
    for line in &comparison.lines {
        put_line(&mut out, line, axis, results.limit_s);
    }
    put(&mut out, format_args!("<span></span>{}</div>\n", scale(axis, results.limit_s)));
    out.push_str(
        "<figcaption>Page load time in seconds: filled = measured, half-filled = simulated, outlined = predicted; ",
    );
    if results.rows.iter().any(|row| spread(row).is_some()) {
        out.push_str("the whisker spans all runs, ");
    }
    out.push_str("the dashed line is the physical limit.</figcaption></figure>\n");
    out
}

fn put_line(out: &mut String, line: &Line<'_>, axis: Axis, limit_s: f64) {
    let values: Vec<&Row> = line.cells.iter().rev().flat_map(|cell| &cell.values).map(|value| value.row).collect();
    if values.is_empty() {
        return;
    }
    put(out, format_args!("<p class=\"group {}\">{}</p>\n", class(line.architecture), line.name()));
    for row in values {
        let method = if row.source == Source::Predicted {
            format!(" ({})", escape(short_method(&row.method)))
        } else {
            String::new()
        };
        put(out, format_args!("<span class=\"source\">{}{method}</span>{}\n", row.source, bar(row, axis, limit_s)));
    }
}

/// "Eq 13" of "obata-2002 Eq 13"; the footnotes give the whole name.
fn short_method(method: &str) -> &str {
    method.find("Eq ").map_or(method, |start| &method[start..])
}

fn bar(row: &Row, axis: Axis, limit_s: f64) -> String {
    let (end, time) = (axis.at(row.page_load_s), format::seconds(row.page_load_s));
    let label = format!("{}, {}: {time} s", crate::comparison::name(row.architecture, Some(row.state)), row.source);
    let times =
        crate::comparison::ratio(row).map(|ratio| format!(" ({}× limit)", format::ratio(ratio))).unwrap_or_default();
    let whisker = spread(row).map_or_else(String::new, |ends| whisker(ends, axis));
    let (at, offset, anchor, tone) = place(row, axis);
    format!(
        "<svg class=\"{}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"{label}\"><title>{label}{times}</title>\
         <rect class=\"bar {}\" x=\"0\" y=\"4\" width=\"{end}\" height=\"16\" rx=\"2\"/>{whisker}\
         <line class=\"limit\" x1=\"{2}\" x2=\"{2}\" y1=\"0\" y2=\"{HEIGHT}\"/>\
         <text class=\"{tone}\" x=\"{at}\" dx=\"{offset}\" y=\"17\" text-anchor=\"{anchor}\">{time} s{times}</text></svg>",
        class(row.architecture),
        row.source,
        axis.at(limit_s)
    )
}

/// Where a bar's value stands: position, offset in pixels, anchor and class; beside the bar and its whisker, or within both.
fn place(row: &Row, axis: Axis) -> (String, &'static str, &'static str, &'static str) {
    let [first, last] = ends(row);
    if axis.share(row.page_load_s) <= INSIDE {
        return (axis.at(last), "8", "start", "value");
    }
    let tone = if row.source == Source::Measured { "value inside" } else { "value" };
    (axis.at(first), "-8", "end", tone)
}

/// Where what is drawn at the end of a bar begins and ends.
fn ends(row: &Row) -> [f64; 2] {
    let [min, max] = spread(row).unwrap_or([row.page_load_s; 2]);
    [min.min(row.page_load_s), max.max(row.page_load_s)]
}

/// From the fastest run to the slowest.
fn whisker(ends: [f64; 2], axis: Axis) -> String {
    let [min, max] = ends.map(|end| axis.at(end));
    format!(
        "<line class=\"whisker\" x1=\"{min}\" x2=\"{max}\" y1=\"12\" y2=\"12\"/>\
         <line class=\"whisker\" x1=\"{min}\" x2=\"{min}\" y1=\"8\" y2=\"16\"/>\
         <line class=\"whisker\" x1=\"{max}\" x2=\"{max}\" y1=\"8\" y2=\"16\"/>"
    )
}

/// Below the bars: the limit's value at its line.
fn scale(axis: Axis, limit_s: f64) -> String {
    let limit = axis.at(limit_s);
    let (anchor, offset) = if axis.share(limit_s) > INSIDE { ("end", "-4") } else { ("start", "-2") };
    format!(
        "<svg height=\"24\" aria-hidden=\"true\"><line class=\"limit\" x1=\"{limit}\" x2=\"{limit}\" y1=\"0\" y2=\"8\"/>\
         <text class=\"limit-label\" x=\"{limit}\" dx=\"{offset}\" y=\"20\" text-anchor=\"{anchor}\">limit {} s</text></svg>",
        format::seconds(limit_s)
    )
}
