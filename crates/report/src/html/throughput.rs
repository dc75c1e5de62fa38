//! What the far link carried while a page loaded, down and up, on the time axis of the waterfall above.

use super::axis::Axis;
use super::markup::{finite, put};
use super::waterfall::{finish_line, grid_lines};
use crate::format;
use farhop_results::{LinkSample, Load};

/// Space above an area for its scale, in CSS pixels.
const HEAD: usize = 22;

/// The axes of throughput that all loads share, so that areas compare.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scales {
    down: Axis,
    up: Axis,
}

impl Scales {
    /// To the largest sample of `loads`.
    pub(crate) fn of<'a>(loads: impl Iterator<Item = &'a Load> + Clone) -> Self {
        let largest =
            |value: fn(&LinkSample) -> f64| Axis::to(loads.clone().flat_map(|load| &load.link).map(value)).rounded_up();
        Self { down: largest(|sample| sample.down_bit_s), up: largest(|sample| sample.up_bit_s) }
    }
}

/// Both directions, two rows of a plot; nothing if the link was not sampled.
pub(crate) fn throughput(load: &Load, time: Axis, scales: Scales) -> String {
    if load.link.is_empty() {
        return String::new();
    }
    let down =
        direction(load, time, scales.down, Direction { class: "down", name: "Down the link", height: 84 }, |s| {
            s.down_bit_s
        });
    let up =
        direction(load, time, scales.up, Direction { class: "up", name: "Up the link", height: 48 }, |s| s.up_bit_s);
    down + &up
}

/// How a direction is drawn.
struct Direction {
    class: &'static str,
    name: &'static str,
    height: usize,
}

fn direction(load: &Load, time: Axis, scale: Axis, drawn: Direction, value: fn(&LinkSample) -> f64) -> String {
    let Direction { class, name, height } = drawn;
    let peak = format::bit_rate(load.link.iter().map(|sample| finite(value(sample))).fold(0.0, f64::max));
    let mut out = format!("<div class=\"side\"><b>{name}</b>peak {peak}</div>\n");
    put(
        &mut out,
        format_args!("<svg height=\"{}\" role=\"img\" aria-label=\"{name} over time, peak {peak}\">", height + HEAD),
    );
    out.push_str(&grid_lines(time, height + HEAD));
    put(
        &mut out,
        format_args!(
            "<svg y=\"{HEAD}\" width=\"100%\" height=\"{height}\" viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\">\
             <path class=\"{class}\" d=\"{}\"/></svg>",
            area(&load.link, time, scale, value)
        ),
    );
    put(&mut out, format_args!("<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>", height + HEAD));
    put(
        &mut out,
        format_args!(
            "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{HEAD}\" y2=\"{HEAD}\" stroke-dasharray=\"2 3\"/>"
        ),
    );
    put(
        &mut out,
        format_args!(
            "<text x=\"100%\" dx=\"-3\" y=\"{}\" text-anchor=\"end\">{}</text>",
            HEAD - 4,
            format::bit_rate(scale.end())
        ),
    );
    out.push_str(&finish_line(load, time, height + HEAD));
    out.push_str("</svg>\n");
    out
}

/// A step for each sample on a canvas of 1000 × 100.
fn area(samples: &[LinkSample], time: Axis, scale: Axis, value: fn(&LinkSample) -> f64) -> String {
    let mut path = String::new();
    for sample in samples {
        let start = time.share(sample.start_s) * 1000.0;
        let end = time.share(finite(sample.start_s) + finite(sample.span_s)) * 1000.0;
        let top = 100.0 - scale.share(value(sample)) * 100.0;
        if end > start && top < 100.0 {
            put(&mut path, format_args!("M{start:.2} 100V{top:.2}H{end:.2}V100Z"));
        }
    }
    path
}
