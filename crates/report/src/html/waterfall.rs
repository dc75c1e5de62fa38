//! A load object by object: waiting for a connection, connecting, waiting for the first byte, receiving.

use super::axis::Axis;
use super::markup::{escape, isolated, put};
use crate::format;
use farhop_results::{Load, ObjectTiming};

/// Height of an object's row, in CSS pixels; the style sheet's list of names has the same.
const ROW: usize = 20;

/// Names and bars, the two columns of a plot.
pub(crate) fn waterfall(load: &Load, axis: Axis, limit_s: f64) -> String {
    let mut out = names(load);
    let height = load.objects.len().max(1) * ROW;
    let label = format!(
        "Waterfall of {} over {} s",
        format::count(load.objects.len(), "object"),
        format::seconds(load.page_load_s)
    );
    put(&mut out, format_args!("<svg height=\"{height}\" role=\"group\" aria-label=\"{label}\">\n"));
    for row in (0..load.objects.len()).step_by(2) {
        put(&mut out, format_args!("<rect class=\"stripe\" width=\"100%\" y=\"{}\" height=\"{ROW}\"/>", row * ROW));
    }
    out.push_str(&grid_lines(axis, height));
    for (row, object) in load.objects.iter().enumerate() {
        put_object(&mut out, object, row * ROW, axis);
    }
    out.push_str(&limit_line(limit_s, axis, height));
    out.push_str(&finish_line(load, axis, height));
    out.push_str("</svg>\n");
    out
}

/// What the bars' colours mean.
pub(crate) fn legend() -> String {
    let entry = |class: &str, y: u32, height: u32, text: &str| {
        format!(
            "<li><svg aria-hidden=\"true\"><rect class=\"{class}\" width=\"22\" y=\"{y}\" height=\"{height}\"/></svg>{text}</li>"
        )
    };
    [
        "<ul class=\"legend\">".to_owned(),
        entry("waiting", 5, 2, "waiting for a connection"),
        entry("connecting", 3, 6, "connecting"),
        entry("asking", 1, 10, "waiting for the first byte"),
        entry("receiving", 0, 12, "receiving"),
        "<li><svg aria-hidden=\"true\"><line class=\"limit\" x2=\"22\" y1=\"6\" y2=\"6\"/></svg>physical limit</li>"
            .to_owned(),
        "</ul>\n".to_owned(),
    ]
    .concat()
}

/// Vertical lines at the ticks, `height` pixels high.
pub(crate) fn grid_lines(axis: Axis, height: usize) -> String {
    axis.ticks()
        .into_iter()
        .map(|(value, _)| {
            format!("<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"{height}\"/>", axis.at(value))
        })
        .collect()
}

/// Where the page is complete.
pub(crate) fn finish_line(load: &Load, axis: Axis, height: usize) -> String {
    let at = axis.at(load.page_load_s);
    format!("<line class=\"finish\" x1=\"{at}\" x2=\"{at}\" y1=\"0\" y2=\"{height}\"/>")
}

/// Where physics would have it complete.
fn limit_line(limit_s: f64, axis: Axis, height: usize) -> String {
    format!("<line class=\"limit\" x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"{height}\"/>", axis.at(limit_s))
}

/// Labels of the ticks, in seconds.
pub(crate) fn tick_labels(axis: Axis, y: u32) -> String {
    let mut out = String::from("<svg height=\"22\" aria-hidden=\"true\">");
    for (value, label) in axis.ticks() {
        let anchor = if value <= 0.0 { "start" } else { "middle" };
        put(
            &mut out,
            format_args!("<text x=\"{}\" y=\"{y}\" text-anchor=\"{anchor}\">{label} s</text>", axis.at(value)),
        );
    }
    out.push_str("</svg>\n");
    out
}

/// A load in few pixels: every object's bar, without names.
pub(crate) fn miniature(load: &Load, axis: Axis, limit_s: f64) -> String {
    let row = (96 / load.objects.len().max(1)).clamp(1, 4);
    let height = (load.objects.len() * row).max(12);
    let label = format!("{} of {} s", format::count(load.objects.len(), "object"), format::seconds(load.page_load_s));
    let mut out = format!("<svg height=\"{height}\" role=\"img\" aria-label=\"{label}\">{}", grid_lines(axis, height));
    for (index, object) in load.objects.iter().enumerate() {
        for (class, start, end) in phases(object) {
            let y = index * row;
            let (x, width) = (axis.at(start), axis.between(start, end));
            put(
                &mut out,
                format_args!("<rect class=\"{class}\" x=\"{x}\" width=\"{width}\" y=\"{y}\" height=\"{row}\"/>"),
            );
        }
    }
    put(&mut out, format_args!("{}</svg>\n", limit_line(limit_s, axis, height)));
    out
}

fn names(load: &Load) -> String {
    let mut out = String::from("<ol class=\"names\">\n");
    for object in &load.objects {
        put(
            &mut out,
            format_args!(
                "<li><span class=\"name\">{}</span><span class=\"size\">{}</span></li>\n",
                isolated(&object.name),
                format::bytes(object.bytes)
            ),
        );
    }
    out.push_str("</ol>\n");
    out
}

fn put_object(out: &mut String, object: &ObjectTiming, top: usize, axis: Axis) {
    put(out, format_args!("<g class=\"row\" role=\"img\"><title>{}</title>", escape(&tooltip(object))));
    // Takes the pointer everywhere in the row.
    put(out, format_args!("<rect width=\"100%\" y=\"{top}\" height=\"{ROW}\" fill=\"transparent\"/>"));
    for (class, start, end) in phases(object) {
        let (inset, height) = match class {
            "waiting" => (9, 2),
            "connecting" => (7, 6),
            "asking" => (5, 10),
            _ => (4, 12),
        };
        let (x, width, y) = (axis.at(start), axis.between(start, end), top + inset);
        put(out, format_args!("<rect class=\"{class}\" x=\"{x}\" width=\"{width}\" y=\"{y}\" height=\"{height}\"/>"));
    }
    // Receiving may last less than a pixel.
    let (x, y1, y2) = (axis.at(object.end_s), top + 4, top + 16);
    put(out, format_args!("<line class=\"end\" x1=\"{x}\" x2=\"{x}\" y1=\"{y1}\" y2=\"{y2}\"/></g>\n"));
}

/// Phases in time, each with its class, start and end.
fn phases(object: &ObjectTiming) -> [(&'static str, f64, f64); 4] {
    let connect = object.connect_s.unwrap_or(object.request_s);
    [
        ("waiting", object.discovered_s, connect),
        ("connecting", connect, object.request_s),
        ("asking", object.request_s, object.first_byte_s),
        ("receiving", object.first_byte_s, object.end_s),
    ]
}

fn tooltip(object: &ObjectTiming) -> String {
    let at = |label: &str, time: f64| format!("{label} {} s\n", format::seconds(time));
    let connect = object.connect_s.map(|time| at("connecting from", time)).unwrap_or_default();
    [
        format!("{}\n{} over connection {}\n", object.name, format::bytes(object.bytes), object.connection),
        at("discovered", object.discovered_s),
        connect,
        at("requested", object.request_s),
        at("first byte", object.first_byte_s),
        at("complete", object.end_s).trim_end().to_owned(),
    ]
    .concat()
}
