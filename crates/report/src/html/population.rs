//! What users or a log's requests met: from the median to the 95th percentile, the numbers, and how they are distributed.

use super::axis::Axis;
use super::markup::{class, put};
use super::plot::{self, Look, Plot, Shape};
use super::span::Spread;
use super::waterfall::{grid_lines, tick_labels};
use crate::population::{
    DIFFERENCE_HEADINGS, DIFFERENCES, HEADINGS, SPREAD_HEADINGS, Times, difference, lines, of_wholes, rows, spread,
    title, unfinished,
};
use crate::{comparison, format};
use farhop_results::{Architecture, Results, Row};

/// Height of a row, in CSS pixels.
const HEIGHT: usize = 26;

/// The section, or nothing without users and log.
pub(crate) fn population(results: &Results) -> String {
    if rows(results).next().is_none() {
        return String::new();
    }
    let axis = Axis::to(rows(results).flat_map(|(_, times)| [times[0].p50_s, times[0].p95_s, times[0].mean_s]));
    let title = title(results);
    let mut out = format!(
        "<section><h2 id=\"users\">{title}</h2>\n<p class=\"soft\">The dot is the median, the diamond the mean, the stroke the \
         95th percentile.</p>\n<figure aria-label=\"{title}\"><div class=\"bars\">\n",
    );
    for (row, times) in rows(results) {
        let (name, colour) = (comparison::name(row.architecture, Some(row.state)), class(row.architecture));
        let (source, strip) = (row.source, strip(row, times[0], axis));
        put(
            &mut out,
            format_args!("<span class=\"waiter {colour}\"><b>{name}</b> <span>{source}</span></span>{strip}\n"),
        );
    }
    put(&mut out, format_args!("<span></span>{}</div></figure>\n", tick_labels(axis, 14)));
    put_table(&mut out, results);
    put_differences(&mut out, results);
    put_curves(&mut out, results);
    put_spread(&mut out, results);
    out.push_str("</section>\n");
    out
}

fn strip(row: &Row, Times { p50_s, p95_s, mean_s, .. }: Times, axis: Axis) -> String {
    let times = [p50_s, mean_s, p95_s];
    let [median, mean, p95] = times.map(|time| axis.at(time));
    let [told_median, told_mean, told_p95] = times.map(format::seconds);
    format!(
        "<svg class=\"{}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"median {told_median} s, mean {told_mean} s, \
         95th percentile {told_p95} s\">{}<rect class=\"bar simulated\" x=\"{median}\" width=\"{}\" y=\"9\" height=\"8\"/>\
         <line class=\"end\" x1=\"{p95}\" x2=\"{p95}\" y1=\"5\" y2=\"21\"/>\
         <svg x=\"{median}\" y=\"13\"><path class=\"receiving\" d=\"{}\"/></svg>\
         <svg x=\"{mean}\" y=\"13\"><path class=\"mark\" d=\"{}\"/></svg></svg>",
        class(row.architecture),
        grid_lines(axis, HEIGHT),
        axis.between(p50_s, p95_s),
        Shape::Circle.path(),
        Shape::Diamond.path()
    )
}

fn put_table(out: &mut String, results: &Results) {
    const CAPTION: &str = "Pages: from the first action to the last byte of the last object. Objects: from request to last byte. Requests: \
         from their arrival to the last byte. First bytes: of the same pages or requests, to the first byte of the first body. The mean's ± is \
         its 95 % confidence interval over replications.";
    let all: Vec<_> = rows(results).collect();
    let lines = all.iter().flat_map(|(row, times)| lines(row, times).map(|line| (row.architecture, line)));
    put_lines(out, CAPTION, HEADINGS, lines);
    if let Some(text) = unfinished(results) {
        put(out, format_args!("<p class=\"soft\">{text}.</p>\n"));
    }
}

/// How much longer they waited than through the first architecture.
fn put_differences(out: &mut String, results: &Results) {
    if results.differences.is_empty() {
        return;
    }
    out.push_str("<h3>Differences</h3>\n");
    let lines = results.differences.iter().map(|one| (one.architecture, difference(one)));
    put_lines(out, &format!("{DIFFERENCES}."), DIFFERENCE_HEADINGS, lines);
}

/// A table with a line for each architecture and kind.
fn put_lines<const N: usize>(
    out: &mut String,
    caption: &str,
    headings: [&str; N],
    lines: impl Iterator<Item = (Architecture, [String; N])>,
) {
    put(out, format_args!("<div class=\"scroll\"><table>\n<caption>{caption}</caption>\n<thead><tr>"));
    for heading in headings {
        put(out, format_args!("<th scope=\"col\">{heading}</th>"));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (architecture, line) in lines {
        put(out, format_args!("<tr class=\"{}\">", class(architecture)));
        for (place, cell) in line.iter().enumerate() {
            match place {
                0 => put(out, format_args!("<th scope=\"row\"><span class=\"dot\"></span>{cell}</th>")),
                _ => put(out, format_args!("<td>{cell}</td>")),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// How many per cent had what they wanted within which time.
fn put_curves(out: &mut String, results: &Results) {
    let all: Vec<_> = of_wholes(results).map(|one| (one, one.cumulative())).collect();
    let series = all.iter().map(|(one, points)| plot::Series {
        name: comparison::name(one.architecture, None),
        colour: class(one.architecture),
        look: Look::Line,
        points,
    });
    let plot = Plot {
        id: "distribution".to_owned(),
        title: "How response times are distributed".to_owned(),
        x: plot::Quantity { label: "time", unit: Some("s"), spread: Spread::Log },
        y: plot::Quantity { label: "complete within it", unit: Some("%"), spread: Spread::Linear },
        series: series.collect(),
        elsewhere: "the JSON has every per cent",
    };
    // One request or page has one time.
    if all.iter().any(|(_, points)| points.len() > 1) {
        put(out, format_args!("<h3>{}</h3>\n{}", plot.title, plot.html()));
    }
}

/// Goodput, and what of the network was used over time.
fn put_spread(out: &mut String, results: &Results) {
    let lines = results.distributions.iter().filter_map(|one| Some((one.architecture, spread(one)?)));
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        return;
    }
    let interval = results.distributions.iter().find_map(|one| one.interval_s).map(|interval_s| {
        let interval = format::short_time(interval_s);
        format!(
            " Use of the link, and the most that waited for it (up: of any one terminal): in each {interval} of the measured time."
        )
    });
    let caption = format!(
        "Goodput: of each page or request, bits of bodies by its time. Connections: over time.{} So many per cent do not exceed p5, p50, \
         p95.",
        interval.unwrap_or_default()
    );
    out.push_str("<h3>Goodput and use of the network</h3>\n");
    put_lines(out, &caption, SPREAD_HEADINGS, lines.into_iter());
}
