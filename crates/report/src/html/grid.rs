//! A grid of predictions: one key as lines, two keys as a map of the fastest architecture, and all of it as a table.

use super::document::Document;
use super::manifest::manifest;
use super::map::map;
use super::markup::{class, escape, put};
use super::plot::{Look, Plot, Quantity, Series};
use super::span::Spread;
use crate::format;
use crate::grid::{Choice, cells, choice};
use crate::values::{Numbers, numbers};
use farhop_results::{Architecture, Grid, Results};

/// Lines of the table, about.
const LINES: usize = 200;

/// One self-contained file. Of `about`, scenario, title and manifest are shown.
pub fn grid_html(grid: &Grid, about: &Results) -> String {
    let (name, keys) = (escape(&about.scenario), escape(&grid.keys.join(" × ")));
    Document {
        kicker: format!("scenario <code>{name}</code> over <code>{keys}</code>"),
        heading: if about.title.is_empty() { name.clone() } else { escape(&about.title) },
        title: format!("{name} over {keys}"),
        lead: format!("<p class=\"lead\">{}</p>\n", conclusion(grid)),
        sections: [("times", "Times"), ("table", "Table"), ("repeat", "Repeat")]
            .map(|(id, name)| (id.to_owned(), name.to_owned()))
            .to_vec(),
        main: format!(
            "<section><h2 id=\"times\">Predicted page load times</h2>\n{}</section>\n{}{}",
            picture(grid),
            table(grid),
            manifest(about)
        ),
    }
    .html()
}

/// Which architecture is the fastest how often, and where nothing is worth while.
fn conclusion(grid: &Grid) -> String {
    let choices: Vec<Choice> = grid.points.iter().filter_map(choice).collect();
    let count = |wanted| choices.iter().filter(|choice| choice.architecture() == wanted).count();
    let told = |count, text: String| (count > 0).then(|| format!("{text} at {count}"));
    let winners = grid.architectures().into_iter().map(|architecture| {
        let text = format!("<b class=\"{}\">{architecture}</b> is the fastest", class(architecture));
        told(count(Some(architecture)), text)
    });
    let counts = winners.chain([told(count(None), "there is no benefit".to_owned())]).flatten();
    let counts = counts.collect::<Vec<_>>().join(", ");
    let counts = if counts.is_empty() { "none has a prediction" } else { &counts };
    format!("Of {}, {counts}.", format::count(grid.points.len(), "point"))
}

fn picture(grid: &Grid) -> String {
    match grid.keys.as_slice() {
        [key] => lines(grid, key),
        [down, across] => map(grid, down, across),
        _ => "<p class=\"soft\">More than two keys: only the table shows them.</p>\n".to_owned(),
    }
}

/// A line for each architecture over the one key.
fn lines(grid: &Grid, key: &str) -> String {
    let typed: Option<Vec<&str>> = grid.points.iter().map(|point| Some(point.values.first()?.as_str())).collect();
    let Some(Numbers { unit, values, is_geometric }) = typed.and_then(|typed| numbers(&typed)) else {
        return "<p class=\"soft\">The values are no numbers of one kind: only the table shows them.</p>\n".to_owned();
    };
    let over = |architecture: Architecture| {
        let times = grid.points.iter().zip(&values).filter_map(|(point, x)| Some((*x, point.time(architecture)?)));
        let mut points: Vec<_> = times.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (architecture, points)
    };
    let drawn: Vec<_> = grid.architectures().into_iter().map(over).collect();
    let series = drawn.iter().map(|(architecture, points)| Series {
        name: architecture.to_string(),
        colour: class(*architecture),
        look: Look::Line,
        points,
    });
    Plot {
        id: "grid".to_owned(),
        title: format!("Page load time over {key}"),
        x: Quantity { label: key, unit, spread: if is_geometric { Spread::Log } else { Spread::Linear } },
        y: Quantity { label: "page load time", unit: Some("s"), spread: Spread::Linear },
        series: series.collect(),
        elsewhere: "all points are in grid.csv",
    }
    .html()
}

/// Every point, or of many every n-th.
fn table(grid: &Grid) -> String {
    let (architectures, every) = (grid.architectures(), grid.points.len().div_ceil(LINES).max(1));
    let left_out = if every > 1 { format!(" One point of {every}; all are in grid.csv.") } else { String::new() };
    let mut out = format!(
        "<section><h2 id=\"table\">Table</h2>\n<div class=\"scroll\"><table>\n<caption>Predicted page load times in \
         seconds.{left_out}</caption>\n<thead><tr>"
    );
    let names = architectures.iter().map(ToString::to_string).chain(["fastest", "gain"].map(str::to_owned));
    for heading in grid.keys.iter().cloned().chain(names) {
        put(&mut out, format_args!("<th scope=\"col\">{}</th>", escape(&heading)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for point in grid.points.iter().step_by(every) {
        out.push_str("<tr>");
        for cell in cells(point, &architectures) {
            put(&mut out, format_args!("<td>{}</td>", escape(&cell)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></section>\n");
    out
}
