//! What users or a log's requests met: from the median to the 95th percentile, and the numbers.

use super::axis::Axis;
use super::markup::{class, put};
use super::plot::Shape;
use super::waterfall::{grid_lines, tick_labels};
use crate::population::{HEADINGS, Times, lines, rows, title, unfinished};
use crate::{comparison, format};
use farhop_results::{Results, Row};

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
    out.push_str(
        "<div class=\"scroll\"><table>\n<caption>Pages: from the first action to the last byte of the last object. Objects: \
         from request to last byte. Requests: from their arrival to the last byte. The mean's ± is its 95 % confidence interval over replications.</caption>\n<thead><tr>",
    );
    for heading in HEADINGS {
        put(out, format_args!("<th scope=\"col\">{heading}</th>"));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (row, times) in rows(results) {
        let colour = class(row.architecture);
        for [name, rest @ ..] in lines(row, &times) {
            put(out, format_args!("<tr class=\"{colour}\"><th scope=\"row\"><span class=\"dot\"></span>{name}</th>"));
            rest.iter().for_each(|cell| put(out, format_args!("<td>{cell}</td>")));
            out.push_str("</tr>\n");
        }
    }
    out.push_str("</tbody></table></div>\n");
    if let Some(text) = unfinished(results) {
        put(out, format_args!("<p class=\"soft\">{text}.</p>\n"));
    }
}
