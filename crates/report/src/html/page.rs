//! The document: what stands where.

use super::bars::bars;
use super::breakdown::breakdown;
use super::comparison_table::comparison_table;
use super::document::Document;
use super::loads::loads;
use super::manifest::{manifest, warning};
use super::markup::{class, escape};
use super::population::population;
use super::ranking::ranking;
use super::series::series;
use crate::comparison::{Comparison, Line};
use crate::format;
use farhop_results::{Results, Row};

/// One self-contained file: headline, bars, ranking, waits, table, users, waterfalls, throughput, a trace, and what repeats the run.
pub fn html(results: &Results) -> String {
    let comparison = Comparison::new(results);
    let name = escape(&results.scenario);
    let parts = [
        ("", "", warning(results) + &bars(results, &comparison)),
        ("ranking", "Which architecture?", ranking(results)),
        ("waiting", "Waits", breakdown(results)),
        ("table", "Table", table(results, &comparison)),
        ("users", "Users", population(results)),
        ("together", "Loads", loads(results)),
        ("trace", "Trace", series(results)),
        ("repeat", "Repeat", manifest(results)),
    ];
    let sections = parts.iter().filter(|(id, _, html)| !id.is_empty() && !html.is_empty());
    Document {
        kicker: format!("scenario <code>{name}</code>"),
        title: name,
        heading: heading(results),
        lead: headline(results, &comparison),
        sections: sections.map(|(id, name, _)| ((*id).to_owned(), (*name).to_owned())).collect(),
        main: parts.map(|(_, _, html)| html).concat(),
    }
    .html()
}

fn table(results: &Results, comparison: &Comparison<'_>) -> String {
    format!("<section><h2 id=\"table\">Side by side</h2>\n{}</section>\n", comparison_table(results, comparison))
}

/// The scenario's line for people, or its name.
fn heading(results: &Results) -> String {
    escape(if results.title.is_empty() { &results.scenario } else { &results.title })
}

/// The answer in a sentence: the fastest architecture, against the slowest and against the limit.
fn headline(results: &Results, comparison: &Comparison<'_>) -> String {
    let Some((line, row)) = fastest(comparison) else {
        return format!("<p class=\"lead\">The physical limit is {} s.</p>\n", format::seconds(results.limit_s));
    };
    let against = comparison
        .lines
        .iter()
        .filter_map(|other| same_source(other, row))
        .max_by(|a, b| a.page_load_s.total_cmp(&b.page_load_s));
    let against = against.filter(|other| other.architecture != row.architecture).map(|other| {
        let times = format::ratio(other.page_load_s / row.page_load_s);
        format!(", {times} times as fast as {} ({} s)", other.architecture, format::seconds(other.page_load_s))
    });
    format!(
        "<p class=\"lead\">{} <b class=\"{}\">{} s</b> through {} ({}){}. Physics allows {} s.</p>\n",
        quantity(row),
        class(line.architecture),
        format::seconds(row.page_load_s),
        line.name(),
        row.source,
        against.unwrap_or_default(),
        format::seconds(results.limit_s)
    )
}

/// What the time of a row is.
fn quantity(row: &Row) -> &'static str {
    match row {
        Row { users: Some(_), .. } => "Half of the users' pages load within",
        Row { log: Some(_), .. } => "Half of the log's requests are answered within",
        _ => "The page loads in",
    }
}

/// The fastest line among those with the best source of all.
fn fastest<'g, 'a>(comparison: &'g Comparison<'a>) -> Option<(&'g Line<'a>, &'g Row)> {
    let best = comparison.lines.iter().filter_map(|line| Some((line, line.best()?)));
    let source = best.clone().map(|(_, row)| row.source).max()?;
    best.filter(|(_, row)| row.source == source).min_by(|(_, a), (_, b)| a.page_load_s.total_cmp(&b.page_load_s))
}

/// The line's number from the same source as `row`.
fn same_source<'g>(line: &'g Line<'_>, row: &Row) -> Option<&'g Row> {
    line.best().filter(|other| other.source == row.source)
}
