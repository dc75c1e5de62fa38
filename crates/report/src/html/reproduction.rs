//! A paper's figures: curves with the points that the text gives, numbers beside the published ones, and what is missing.

use super::document::Document;
use super::manifest::command;
use super::markup::{escape, put};
use super::plot::{Look, Plot, Quantity, Series, Shape, again, colour};
use super::span::Spread;
use crate::format::{self, or_dash};
use crate::reproduction::{is_met, summary};
use farhop_results::Manifest;
use farhop_results::reproduction::{Axis, Claim, Curve, Figure, Origin, Reproduction, Row, Scale};

/// Looks that are tried before two series of a plot share one.
const LOOKS: usize = 32;
/// More numbers without a published one than this are folded away.
const MANY: usize = 6;

/// One self-contained file: a section for each figure. Of `manifest`, command and version are shown.
pub fn reproduction_html(reproduction: &Reproduction, manifest: &Manifest) -> String {
    let (paper, figures) = (&reproduction.paper, reproduction.figures());
    let mut main = mistakes(paper.mistakes);
    figures.iter().for_each(|figure| put_figure(&mut main, reproduction, *figure));
    main.push_str(&repeat(manifest));
    let link = |figure: &Figure| (id(*figure), escape(&figure.to_string()));
    let repeat = [("repeat".to_owned(), "Repeat".to_owned())];
    let (authors, published) = (escape(paper.authors), escape(paper.published));
    Document {
        title: escape(paper.name),
        kicker: format!("reproduced: <code>{}</code>", escape(paper.name)),
        heading: escape(paper.title),
        lead: format!(
            "<p class=\"cite\">{authors}. {published}.</p>\n<p class=\"lead\">{}</p>\n",
            escape(&summary(reproduction))
        ),
        sections: figures.iter().map(link).chain(repeat).collect(),
        main,
    }
    .html()
}

/// "fig-5", "section-4-3".
fn id(figure: Figure) -> String {
    let text = figure.to_string().replace('§', "section ").to_lowercase();
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn mistakes(mistakes: &[&str]) -> String {
    if mistakes.is_empty() {
        return String::new();
    }
    let count = mistakes.len();
    let mut out = format!(
        "<details><summary>The paper's known mistakes, and how each is read ({count})</summary>\n<ul class=\"readings\">\n"
    );
    for mistake in mistakes {
        put(&mut out, format_args!("<li>{}</li>\n", escape(mistake)));
    }
    out.push_str("</ul></details>\n");
    out
}

fn put_figure(out: &mut String, reproduction: &Reproduction, figure: Figure) {
    let caption = reproduction.caption(figure).map(|caption| format!(": {}", escape(caption))).unwrap_or_default();
    put(out, format_args!("<section><h2 id=\"{}\">{}{caption}</h2>\n", id(figure), escape(&figure.to_string())));
    for (number, curves) in by_axes(reproduction, figure).into_iter().enumerate() {
        put_plot(out, figure, number, &curves);
    }
    let rows: Vec<&Row> = reproduction.rows.iter().filter(|row| row.figure == figure).collect();
    put_rows(out, &rows);
    put_claims(out, reproduction, figure);
    for gap in reproduction.gaps.iter().filter(|gap| gap.figure == figure) {
        put(out, format_args!("<p class=\"gap\">Not reproduced: {}.</p>\n", escape(&gap.reason)));
    }
    out.push_str("</section>\n");
}

/// What the paper says, and what was found.
fn put_claims(out: &mut String, reproduction: &Reproduction, figure: Figure) {
    let claims: Vec<&Claim> = reproduction.claims.iter().filter(|claim| claim.figure == figure).collect();
    if claims.is_empty() {
        return;
    }
    out.push_str(
        "<div class=\"scroll\"><table class=\"left\"><thead><tr><th scope=\"col\">the paper says</th><th scope=\"col\">here it</th>\
         <th scope=\"col\">numbers</th><th scope=\"col\">why</th></tr></thead><tbody>\n",
    );
    for Claim { claim, verdict, ours, why, .. } in claims {
        let cells = [claim, verdict.words(), ours, why].map(|text| format!("<td>{}</td>", escape(text))).concat();
        put(out, format_args!("<tr>{cells}</tr>\n"));
    }
    out.push_str("</tbody></table></div>\n");
}

/// The figure's curves, those with the same axes together.
fn by_axes(reproduction: &Reproduction, figure: Figure) -> Vec<Vec<&Curve>> {
    let mut groups: Vec<Vec<&Curve>> = Vec::new();
    for curve in reproduction.curves.iter().filter(|curve| curve.figure == figure) {
        match groups.iter_mut().find(|group| (group[0].x, group[0].y) == (curve.x, curve.y)) {
            Some(group) => group.push(curve),
            None => groups.push(vec![curve]),
        }
    }
    groups
}

fn put_plot(out: &mut String, figure: Figure, number: usize, curves: &[&Curve]) {
    let Some(first) = curves.first() else { return };
    let plot = Plot {
        id: format!("{}-plot-{number}", id(figure)),
        title: format!("{figure}: {} over {}", first.y.label, first.x.label),
        x: quantity(first.x),
        y: quantity(first.y),
        series: series(curves),
        elsewhere: "all points are in curves.csv",
    };
    out.push_str(&plot.html());
    put_readings(out, curves);
}

fn quantity(axis: Axis) -> Quantity<'static> {
    let spread = match axis.scale {
        Scale::Linear => Spread::Linear,
        Scale::Log => Spread::Log,
    };
    Quantity { label: axis.label, unit: Some(axis.unit).filter(|unit| *unit != "1"), spread }
}

/// The series, none of which looks like another.
fn series<'a>(curves: &[&'a Curve]) -> Vec<Series<'a>> {
    let mut looks =
        Looks { has_formulas: curves.iter().any(|curve| curve.origin == Origin::Formula), ..Looks::default() };
    let drawn = |curve: &&'a Curve| {
        let (colour, look) = looks.of(curve.origin);
        Series { name: curve.name.clone(), colour, look, points: &curve.points }
    };
    curves.iter().map(drawn).collect()
}

/// Which looks the series of a plot have so far.
#[derive(Default)]
struct Looks {
    has_formulas: bool,
    lines: usize,
    marks: usize,
    taken: Vec<(String, Look)>,
}

impl Looks {
    /// A colour for each published formula, shared by its mended line; a shape for each series of points.
    fn of(&mut self, origin: Origin) -> (String, Look) {
        let last = self.lines.saturating_sub(1);
        match origin {
            Origin::Mended => self.first_free((last..last + LOOKS).map(|place| (colour(place), Look::Dotted))),
            // Simulated points lie beside the formula before them; without formulas they are the lines.
            Origin::Events => self.mark(|round| colour(last + round)),
            Origin::Simulated if self.has_formulas => self.mark(|round| colour(last + round)),
            Origin::Text => self.mark(|round| format!("c-text{}", again(round))),
            Origin::Formula | Origin::Simulated => {
                self.lines += 1;
                (colour(self.lines - 1), Look::Line)
            }
        }
    }

    /// The next shape; if there is such a mark, another shape, and then another colour.
    fn mark(&mut self, colour: impl Fn(usize) -> String) -> (String, Look) {
        let (first, shapes) = (self.marks, Shape::ALL.len());
        self.marks += 1;
        let nth = |n| (colour(n / shapes), Look::Marks(Shape::ALL[(first + n) % shapes]));
        self.first_free((0..LOOKS).map(nth))
    }

    fn first_free(&mut self, mut looks: impl Iterator<Item = (String, Look)>) -> (String, Look) {
        let free = looks.find(|look| !self.taken.contains(look)).unwrap_or_else(|| (colour(0), Look::Dotted));
        self.taken.push(free.clone());
        free
    }
}

/// How the paper is read for the lines; lines that share a reading share an entry.
fn put_readings(out: &mut String, curves: &[&Curve]) {
    let mut readings: Vec<(&str, Vec<&str>)> = Vec::new();
    for curve in curves {
        match readings.iter_mut().find(|(reading, _)| *reading == curve.reading) {
            Some((_, names)) => names.push(&curve.name),
            None => readings.push((&curve.reading, vec![&curve.name])),
        }
    }
    out.push_str("<ul class=\"readings\">\n");
    for (reading, names) in readings {
        put(out, format_args!("<li>{}: {}.</li>\n", escape(&names.join("; ")), escape(reading)));
    }
    out.push_str("</ul>\n");
}

/// What the text gives; the rest below, folded away if it is long.
fn put_rows(out: &mut String, rows: &[&Row]) {
    let (published, ours): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.published.is_some());
    let folds = ours.len() > MANY;
    let shown = if folds { &published } else { rows };
    if !shown.is_empty() {
        put_table(out, shown);
    }
    if folds {
        let count = format::count(ours.len(), "number");
        put(out, format_args!("<details><summary>{count} that the text does not give</summary>\n"));
        put_table(out, &ours);
        out.push_str("</details>\n");
    }
}

fn put_table(out: &mut String, rows: &[&Row]) {
    out.push_str(
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"words\">quantity</th><th scope=\"col\">published</th>\
         <th scope=\"col\">ours</th><th scope=\"col\">difference</th><th scope=\"col\" class=\"words\">reading</th></tr></thead>\n<tbody>\n",
    );
    for row in rows {
        let tone = if is_met(row) == Some(false) { " class=\"off\"" } else { "" };
        let [published, difference] =
            [row.published.map(format::number), row.difference().map(format::difference)].map(or_dash);
        put(
            out,
            format_args!(
                "<tr><td class=\"words\">{}</td><td>{published}</td><td>{}</td><td{tone}>{difference}</td>\
                 <td class=\"words soft\">{}</td></tr>\n",
                escape(&row.quantity),
                format::number(row.ours),
                escape(&row.reading)
            ),
        );
    }
    out.push_str("</tbody></table></div>\n");
}

fn repeat(manifest: &Manifest) -> String {
    let (command, version) = (escape(&command(manifest)), escape(&manifest.version));
    format!(
        "<section><h2 id=\"repeat\">To repeat this</h2>\n<dl>\n<dt>command</dt><dd><code>{command}</code></dd>\n\
         <dt>farhop</dt><dd>{version}</dd>\n</dl></section>\n"
    )
}
