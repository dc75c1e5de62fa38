//! What a population of users met: from the median to the 95th percentile, and the numbers.

use super::axis::Axis;
use super::markup::{class, put};
use super::plot::Shape;
use super::waterfall::{grid_lines, tick_labels};
use crate::population::{HEADINGS, lines, rows, unfinished};
use crate::{comparison, format};
use farhop_results::{Results, Row, UserTimes};

/// Height of a row, in CSS pixels.
const HEIGHT: usize = 26;

/// The section, or nothing without users.
pub(crate) fn population(results: &Results) -> String {
    if rows(results).next().is_none() {
        return String::new();
    }
    let ends = |users: &UserTimes| [users.page_load_p50_s, users.page_load_p95_s, users.page_load_mean_s];
    let axis = Axis::to(rows(results).flat_map(|(_, users)| ends(users)));
    let mut out = String::from(
        "<section><h2 id=\"users\">What users meet</h2>\n<p class=\"soft\">Pages of all users: the dot is the median, the \
         diamond the mean, the stroke the 95th percentile.</p>\n<figure aria-label=\"Page load times of users\"><div class=\"bars\">\n",
    );
    for (row, users) in rows(results) {
        let (name, colour) = (comparison::name(row.architecture, Some(row.state)), class(row.architecture));
        let (source, strip) = (row.source, strip(row, users, axis));
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

fn strip(row: &Row, users: &UserTimes, axis: Axis) -> String {
    let times = [users.page_load_p50_s, users.page_load_mean_s, users.page_load_p95_s];
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
        axis.between(users.page_load_p50_s, users.page_load_p95_s),
        Shape::Circle.path(),
        Shape::Diamond.path()
    )
}

fn put_table(out: &mut String, results: &Results) {
    out.push_str(
        "<div class=\"scroll\"><table>\n<caption>Pages: from the first action to the last byte of the last object. Objects: \
         from request to last byte. The mean's ± is its 95 % confidence interval over replications.</caption>\n<thead><tr>",
    );
    for heading in HEADINGS {
        put(out, format_args!("<th scope=\"col\">{heading}</th>"));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (row, users) in rows(results) {
        let colour = class(row.architecture);
        for [name, rest @ ..] in lines(row, users) {
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
