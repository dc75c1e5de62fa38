//! The document: what stands where.

use super::bars::bars;
use super::grid_table::grid_table;
use super::loads::loads;
use super::manifest::{manifest, warning};
use super::markup::{class, escape};
use super::style;
use crate::format;
use crate::grid::{Grid, Line};
use farhop_results::{Results, Row};

/// One self-contained file: headline, bars, table, waterfalls, throughput, and what repeats the run.
pub fn html(results: &Results) -> String {
    let grid = Grid::new(results);
    let title = escape(&results.scenario);
    let loads = loads(results);
    let nav = if loads.is_empty() {
        ""
    } else {
        "<a href=\"#together\">One time axis</a><a href=\"#loads\">Load by load</a>"
    };
    [
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n".to_owned(),
        format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", style::policy()),
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n".to_owned(),
        "<meta name=\"color-scheme\" content=\"light dark\">\n".to_owned(),
        format!("<title>farhop: {title}</title>\n<style>{}</style>\n</head>\n<body>\n<header>\n", style::SHEET),
        format!("<p class=\"kicker\">farhop · scenario <code>{title}</code></p>\n<h1>{}</h1>\n", heading(results)),
        headline(results, &grid),
        format!("<nav aria-label=\"Sections\"><a href=\"#table\">Table</a>{nav}<a href=\"#repeat\">Repeat</a></nav>\n"),
        "</header>\n<main>\n".to_owned(),
        warning(results),
        bars(results, &grid),
        format!("<section><h2 id=\"table\">Side by side</h2>\n{}</section>\n", grid_table(results, &grid)),
        loads,
        manifest(results),
        "</main>\n</body>\n</html>\n".to_owned(),
    ]
    .concat()
}

/// The scenario's line for people, or its name.
fn heading(results: &Results) -> String {
    escape(if results.title.is_empty() { &results.scenario } else { &results.title })
}

/// The answer in a sentence: the fastest architecture, against the slowest and against the limit.
fn headline(results: &Results, grid: &Grid<'_>) -> String {
    let Some((line, row)) = fastest(grid) else {
        return format!("<p class=\"lead\">The physical limit is {} s.</p>\n", format::seconds(results.limit_s));
    };
    let against = grid
        .lines
        .iter()
        .filter_map(|other| same_source(other, row))
        .max_by(|a, b| a.page_load_s.total_cmp(&b.page_load_s));
    let against = against.filter(|other| other.architecture != row.architecture).map(|other| {
        let times = format::ratio(other.page_load_s / row.page_load_s);
        format!(", {times} times as fast as {} ({} s)", other.architecture, format::seconds(other.page_load_s))
    });
    format!(
        "<p class=\"lead\">The page loads in <b class=\"{}\">{} s</b> through {} ({}){}. Physics allows {} s.</p>\n",
        class(line.architecture),
        format::seconds(row.page_load_s),
        line.name(),
        row.source,
        against.unwrap_or_default(),
        format::seconds(results.limit_s)
    )
}

/// The fastest line among those with the best source of all.
fn fastest<'g, 'a>(grid: &'g Grid<'a>) -> Option<(&'g Line<'a>, &'g Row)> {
    let best = grid.lines.iter().filter_map(|line| Some((line, line.best()?)));
    let source = best.clone().map(|(_, row)| row.source).max()?;
    best.filter(|(_, row)| row.source == source).min_by(|(_, a), (_, b)| a.page_load_s.total_cmp(&b.page_load_s))
}

/// The line's number from the same source as `row`.
fn same_source<'g>(line: &'g Line<'_>, row: &Row) -> Option<&'g Row> {
    line.best().filter(|other| other.source == row.source)
}
