//! Lines and marks over two axes, as SVG, with a legend above and the numbers below, folded away.
//!
//! Lines are stretched with their canvas and keep their width; text and marks are placed in percent and keep their size.

use super::markup::{escape, percent, put};
use super::span::{Span, Spread};
use crate::format;

/// Height of the canvas, in CSS pixels.
const HEIGHT: usize = 300;
/// Rows of the table of numbers, about.
const ROWS: usize = 60;
/// Colours that series have, each with a dash pattern of its own.
const COLOURS: usize = 8;
/// How series look that have the colour of another: other dashes and full marks, thin strokes, both.
const AGAIN: [&str; 4] = ["", " again", " thin", " again thin"];
/// Points whose x differ by less than this share of them stand in one row of the table.
const SAME: f64 = 1e-9;

/// A plot.
pub(crate) struct Plot<'a> {
    /// Tells it from the other plots of the document; letters, digits and hyphens.
    pub(crate) id: String,
    /// What it shows.
    pub(crate) title: String,
    /// The horizontal axis.
    pub(crate) x: Quantity<'a>,
    /// The vertical axis.
    pub(crate) y: Quantity<'a>,
    /// What is drawn, the first at the bottom.
    pub(crate) series: Vec<Series<'a>>,
    /// Where all points are, if the table leaves some out.
    pub(crate) elsewhere: &'a str,
}

/// What an axis shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity<'a> {
    /// Its name.
    pub(crate) label: &'a str,
    /// Its unit; none for mere numbers.
    pub(crate) unit: Option<&'a str>,
    /// How its values are spread.
    pub(crate) spread: Spread,
}

/// Points that belong together.
pub(crate) struct Series<'a> {
    /// What they are.
    pub(crate) name: String,
    /// The classes that give them their colour and dashes.
    pub(crate) colour: String,
    /// How they are drawn.
    pub(crate) look: Look,
    /// The points, x ascending.
    pub(crate) points: &'a [(f64, f64)],
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// A line through them.
    Line,
    /// A dotted line through them.
    Dotted,
    /// A mark at each.
    Marks(Shape),
}

/// The shape of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Circle,
    Square,
    Diamond,
    Triangle,
}

impl Shape {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Circle, Self::Square, Self::Diamond, Self::Triangle];

    /// Its outline around the origin.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Circle => "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z",
            Self::Square => "M-4.5 -4.5H4.5V4.5H-4.5Z",
            Self::Diamond => "M0 -6L6 0L0 6L-6 0Z",
            Self::Triangle => "M0 -6L5.5 4.5H-5.5Z",
        }
    }
}

/// The classes of the series at `place`, which are those of no other before the 32nd.
pub(crate) fn colour(place: usize) -> String {
    format!("c-{}{}", place % COLOURS, again(place / COLOURS))
}

/// What tells series of one colour apart, of the first four of them.
pub(crate) fn again(round: usize) -> &'static str {
    AGAIN[round % AGAIN.len()]
}

impl Look {
    const fn class(self) -> &'static str {
        match self {
            Self::Line => "curve",
            Self::Dotted => "curve dotted",
            Self::Marks(_) => "mark",
        }
    }
}

impl Quantity<'_> {
    /// "throughput, kbit/s".
    fn heading(&self) -> String {
        let unit = self.unit.map(|unit| format!(", {unit}")).unwrap_or_default();
        escape(&format!("{}{unit}", self.label))
    }

    /// "12.3 kbit/s".
    fn value(&self, value: f64) -> String {
        let unit = self.unit.map(|unit| format!(" {unit}")).unwrap_or_default();
        escape(&format!("{}{unit}", format::number(value)))
    }
}

/// The scales of a plot.
#[derive(Clone, Copy)]
struct Scales {
    x: Span,
    y: Span,
}

impl Plot<'_> {
    /// The figure: legend, drawing, and its numbers.
    pub(crate) fn html(&self) -> String {
        let points = || self.series.iter().flat_map(|series| series.points);
        let scales = Scales {
            x: Span::over(points().map(|point| point.0), self.x.spread),
            y: Span::over(points().map(|point| point.1), self.y.spread),
        };
        let mut out = String::from("<figure class=\"chart\">\n");
        self.put_legend(&mut out);
        put(&mut out, format_args!("<p class=\"axis y\">{}</p>\n<div class=\"canvas\">", self.y.heading()));
        self.put_drawing(&mut out, scales);
        put(&mut out, format_args!("</div>\n<p class=\"axis x\">{}</p>\n", self.x.heading()));
        self.put_table(&mut out);
        out.push_str("</figure>\n");
        out
    }

    fn put_legend(&self, out: &mut String) {
        out.push_str("<ul class=\"legend\">");
        for Series { name, colour, look, .. } in &self.series {
            let sample = match look {
                Look::Marks(shape) => {
                    format!("<svg x=\"22\" y=\"6\"><path class=\"mark\" d=\"{}\"/></svg>", shape.path())
                }
                look => format!("<line class=\"{}\" x1=\"0\" x2=\"44\" y1=\"6\" y2=\"6\"/>", look.class()),
            };
            let name = escape(name);
            put(out, format_args!("<li class=\"{colour}\"><svg aria-hidden=\"true\">{sample}</svg>{name}</li>"));
        }
        out.push_str("</ul>\n");
    }

    fn put_drawing(&self, out: &mut String, scales: Scales) {
        let (id, title) = (&self.id, escape(&self.title));
        put(
            out,
            format_args!(
                "<svg height=\"{HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-title {id}-what\"><title id=\"{id}-title\">{title}</title>\
                 <desc id=\"{id}-what\">{}</desc>\n",
                self.description()
            ),
        );
        put_axes(out, scales);
        out.push_str("<svg width=\"100%\" height=\"100%\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\">\n");
        for Series { name, colour, look, points } in &self.series {
            if !matches!(look, Look::Marks(_)) {
                let (class, path, name) = (look.class(), path(points, scales), escape(name));
                put(out, format_args!("<path class=\"{class} {colour}\" d=\"{path}\"><title>{name}</title></path>\n"));
            }
        }
        out.push_str("</svg>\n");
        self.series.iter().for_each(|series| self.put_marks(out, series, scales));
        out.push_str("</svg>");
    }

    /// What a reader who cannot see it must know.
    fn description(&self) -> String {
        let names: Vec<_> = self.series.iter().map(|series| series.name.as_str()).collect();
        let (y, x) = (self.y.label, self.x.label);
        escape(&format!("{y} over {x}: {}. The numbers follow as a table.", names.join("; ")))
    }

    fn put_marks(&self, out: &mut String, series: &Series<'_>, scales: Scales) {
        let Look::Marks(shape) = series.look else { return };
        let (name, colour) = (escape(&series.name), &series.colour);
        for (x, y) in series.points {
            let (Some(across), Some(up)) = (scales.x.share(*x), scales.y.share(*y)) else { continue };
            let (left, top, path) = (percent(across), percent(1.0 - up), shape.path());
            let (x, y) = (self.x.value(*x), self.y.value(*y));
            put(
                out,
                format_args!(
                    "<svg x=\"{left}\" y=\"{top}\"><path class=\"mark {colour}\" d=\"{path}\"><title>{name}: {x}, {y}</title></path></svg>\n"
                ),
            );
        }
    }

    /// The numbers: a row for each x, of many every n-th; a column for each series.
    fn put_table(&self, out: &mut String) {
        let rows = rows(&self.series);
        let every = rows.len().div_ceil(ROWS).max(1);
        let left_out = if every > 1 { format!(", at one x of {every}; {}", self.elsewhere) } else { String::new() };
        put(out, format_args!("<details><summary>The numbers{}</summary>\n", escape(&left_out)));
        put(out, format_args!("<div class=\"scroll\"><table><thead><tr><th scope=\"col\">{}</th>", self.x.heading()));
        for series in &self.series {
            put(out, format_args!("<th scope=\"col\">{}</th>", escape(&series.name)));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        let last = rows.len().saturating_sub(1);
        for (index, (x, values)) in rows.into_iter().enumerate() {
            // Marks are few: all are kept.
            if index % every == 0 || index == last || self.series.iter().any(|series| series.is_marked_at(x)) {
                put_row(out, x, values);
            }
        }
        out.push_str("</tbody></table></div></details>\n");
    }
}

impl Series<'_> {
    fn is_marked_at(&self, x: f64) -> bool {
        matches!(self.look, Look::Marks(_)) && self.points.iter().any(|(at, _)| is_same(*at, x))
    }

    fn value_at(&self, x: f64) -> Option<f64> {
        let after = self.points.partition_point(|point| point.0 < x - x.abs() * SAME);
        self.points.get(after).filter(|point| is_same(point.0, x)).map(|point| point.1)
    }
}

fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= a.abs() * SAME
}

/// Every x with the values of all series there.
fn rows(series: &[Series<'_>]) -> Vec<(f64, Vec<Option<f64>>)> {
    let mut xs: Vec<f64> = series.iter().flat_map(|series| series.points).map(|point| point.0).collect();
    xs.retain(|x| x.is_finite());
    xs.sort_by(f64::total_cmp);
    xs.dedup_by(|a, b| is_same(*a, *b));
    xs.into_iter().map(|x| (x, series.iter().map(|series| series.value_at(x)).collect())).collect()
}

fn put_row(out: &mut String, x: f64, values: Vec<Option<f64>>) {
    put(out, format_args!("<tr><th scope=\"row\">{}</th>", format::number(x)));
    for value in values {
        put(out, format_args!("<td>{}</td>", value.map_or_else(|| "-".to_owned(), format::number)));
    }
    out.push_str("</tr>\n");
}

/// Grid lines with their values.
fn put_axes(out: &mut String, scales: Scales) {
    for (value, label) in scales.y.ticks() {
        let y = percent(1.0 - scales.y.share(value).unwrap_or(0.0));
        put(
            out,
            format_args!(
                "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>\
                 <text x=\"0\" dx=\"-8\" y=\"{y}\" dy=\"4\" text-anchor=\"end\">{label}</text>\n"
            ),
        );
    }
    for (value, label) in scales.x.ticks() {
        let x = scales.x.at(value);
        put(
            out,
            format_args!(
                "<line class=\"grid\" x1=\"{x}\" x2=\"{x}\" y1=\"0\" y2=\"100%\"/>\
                 <text x=\"{x}\" y=\"100%\" dy=\"18\" text-anchor=\"middle\">{label}</text>\n"
            ),
        );
    }
}

/// A line through the points on a canvas of 1000 × 1000; it is interrupted where a point cannot be shown.
fn path(points: &[(f64, f64)], scales: Scales) -> String {
    let (mut path, mut command) = (String::new(), 'M');
    for (x, y) in points {
        let (Some(across), Some(up)) = (scales.x.share(*x), scales.y.share(*y)) else {
            command = 'M';
            continue;
        };
        put(&mut path, format_args!("{command}{:.1} {:.1}", across * 1000.0, (1.0 - up) * 1000.0));
        command = 'L';
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: [(f64, f64); 3] = [(0.0, 0.0), (50.0, 5.0), (100.0, 10.0)];

    fn plot<'a>(points: &'a [(f64, f64)], marks: &'a [(f64, f64)], spread: Spread) -> Plot<'a> {
        let series =
            |name: &str, look, points| Series { name: name.to_owned(), colour: "c-0".to_owned(), look, points };
        Plot {
            id: "fig-1".to_owned(),
            title: "a & b".to_owned(),
            x: Quantity { label: "window", unit: Some("kByte"), spread },
            y: Quantity { label: "time", unit: None, spread: Spread::Linear },
            series: vec![series("<line>", Look::Line, points), series("text", Look::Marks(Shape::Square), marks)],
            elsewhere: "all in curves.csv",
        }
    }

    #[test]
    fn a_line_is_a_path_from_corner_to_corner() {
        let html = plot(&LINE, &[], Spread::Linear).html();
        assert!(html.contains("d=\"M0.0 1000.0L500.0 500.0L1000.0 0.0\""), "{html}");
        assert!(html.contains("window, kByte") && html.contains("<p class=\"axis y\">time</p>"));
    }

    #[test]
    fn a_point_of_the_text_is_a_mark_at_its_place_and_in_the_table() {
        let html = plot(&LINE, &[(25.0, 7.5)], Spread::Linear).html();
        assert!(html.contains("<svg x=\"25.000%\" y=\"25.000%\"><path class=\"mark c-0\""), "{html}");
        assert!(html.contains("<title>text: 25 kByte, 7.5</title>"), "{html}");
        assert!(html.contains("<tr><th scope=\"row\">25</th><td>-</td><td>7.5</td></tr>"), "{html}");
    }

    #[test]
    fn dashes_of_a_colour_differ_from_all_others() {
        let sheet = include_str!("plot.css");
        let dashes = |classes: &str| {
            let rule = format!("\n{classes}.curve, ");
            let rest = &sheet[sheet.find(&rule).unwrap_or_else(|| panic!("{rule}"))..];
            let rest = &rest[rest.find("stroke-dasharray: ").unwrap() + 18..];
            rest[..rest.find(';').unwrap()].to_owned()
        };
        // The first is solid.
        let mut all: Vec<String> =
            (1..2 * COLOURS).map(|place| dashes(&format!(".{}", colour(place).replace(' ', ".")))).collect();
        all.sort();
        assert_eq!(all.len(), 15);
        assert!(all.windows(2).all(|two| two[0] != two[1]), "{all:?}");
    }

    #[test]
    fn names_are_text_and_the_drawing_has_title_and_description() {
        let html = plot(&LINE, &[], Spread::Linear).html();
        assert!(!html.contains("<line>") && html.contains("&lt;line&gt;"));
        assert!(html.contains("aria-labelledby=\"fig-1-title fig-1-what\""));
        assert!(html.contains("<title id=\"fig-1-title\">a &amp; b</title>"));
        assert!(html.contains("<desc id=\"fig-1-what\">time over window: &lt;line&gt;; text."), "{html}");
    }

    #[test]
    fn what_a_logarithmic_axis_cannot_show_interrupts_the_line() {
        let html = plot(&[(1.0, 0.0), (-1.0, 5.0), (10.0, 10.0), (100.0, f64::NAN)], &[], Spread::Log).html();
        assert!(html.contains("d=\"M0.0 1000.0M500.0 0.0\""), "{html}");
        assert!(!html.contains("NaN") && !html.contains("inf"));
    }

    #[test]
    fn a_long_table_is_thinned_says_so_and_keeps_its_ends_and_marks() {
        let points: Vec<(f64, f64)> = (0..=600_u32).map(|n| (f64::from(n), f64::from(n))).collect();
        let html = plot(&points, &[(7.0, 1.0)], Spread::Linear).html();
        let rows = html.matches("<th scope=\"row\">").count();
        assert!((ROWS / 2..=ROWS + 2).contains(&rows), "{rows}");
        assert!(html.contains("at one x of 11; all in curves.csv"), "{html}");
        for kept in ["0", "600", "7"] {
            assert!(html.contains(&format!("<th scope=\"row\">{kept}</th>")), "{kept}");
        }
    }
}
