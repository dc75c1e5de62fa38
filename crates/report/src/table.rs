//! The comparison as text, at most 100 columns wide, without colour.

use crate::comparison::{self, Cell, Comparison, Line, Value};
use crate::{format, population, ranking};
use comfy_table::{Cell as TextCell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use farhop_results::{Rank, Results, Row, Source};

/// Columns of a terminal that the table and its footnotes fit into.
const WIDTH: usize = 100;

/// A row per architecture and state: predicted, simulated, measured, limit and ratio to the limit, with numbered footnotes.
pub fn table(results: &Results) -> String {
    let comparison = Comparison::new(results);
    let mut text = wrap(&heading(results), "");
    text.push_str(&comparison_text(&comparison, results.limit_s));
    text.push_str("\n\n");
    text.push_str(&wrap(&legend(results), ""));
    if let Some(transfer) = comparison::transfer(results) {
        text.push_str(&wrap(&transfer, ""));
    }
    for (index, footnote) in comparison.footnotes.iter().enumerate() {
        text.push_str(&wrap(&format!("[{}] {footnote}", index + 1), "    "));
    }
    text.push_str(&ranking_text(results));
    text.push_str(&population_text(results));
    text.push_str(&validity(results));
    text
}

/// A line per architecture, the fastest first; nothing without a ranking.
fn ranking_text(results: &Results) -> String {
    let Some(conclusion) = ranking::conclusion(results) else { return String::new() };
    let line = |(index, rank): (usize, &Rank)| {
        let (architecture, time) = (rank.architecture, format::seconds(rank.page_load_s));
        format!("{:>3}. {architecture:21} {time:>8} s   {}\n", index + 1, ranking::verdict(rank))
    };
    let lines: String = results.ranking.iter().enumerate().map(line).collect();
    format!("\n{}{lines}", wrap(&format!("ranking: {conclusion}"), "    "))
}

/// What users or a log's requests met; nothing without them.
fn population_text(results: &Results) -> String {
    if population::rows(results).next().is_none() {
        return String::new();
    }
    let mut table = ruled();
    table.set_header(population::HEADINGS);
    for (row, times) in population::rows(results) {
        table.add_rows(population::lines(row, &times));
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let unfinished = population::unfinished(results).map(|text| wrap(&text, "    ")).unwrap_or_default();
    let differences = differences_text(results);
    format!("\n{}:\n{}\n{unfinished}{differences}", population::title(results), table.trim_fmt())
}

/// How much longer they waited than through the first architecture; nothing of one alone.
fn differences_text(results: &Results) -> String {
    if results.differences.is_empty() {
        return String::new();
    }
    let mut table = ruled();
    table.set_header(population::DIFFERENCE_HEADINGS);
    table.add_rows(results.differences.iter().map(population::difference));
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("\n{}{}\n", wrap(&format!("{}:", population::DIFFERENCES), ""), table.trim_fmt())
}

/// A table with rules above, below and under its header, as wide as a terminal.
pub(crate) fn ruled() -> Table {
    let rule = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table.load_style(TableStyle::new().top_border(rule).header_separator(rule).bottom_border(rule));
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(WIDTH).unwrap_or(u16::MAX));
    table
}

fn comparison_text(comparison: &Comparison<'_>, limit_s: f64) -> String {
    let mut table = ruled();
    table.set_header(header(comparison));
    for line in &comparison.lines {
        table.add_row(text_line(line, limit_s));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

fn header(comparison: &Comparison<'_>) -> Vec<String> {
    let sources = comparison.sources.iter().map(|source| format!("{source}, s"));
    std::iter::once("architecture".to_owned())
        .chain(sources)
        .chain(["limit, s".to_owned(), "ratio to limit".to_owned()])
        .collect()
}

fn text_line(line: &Line<'_>, limit_s: f64) -> Vec<TextCell> {
    let ratio = line.best().and_then(|row| Some(format!("{}{}", format::ratio(comparison::ratio(row)?), basis(row))));
    std::iter::once(line.name())
        .chain(line.cells.iter().map(cell))
        .chain([format::seconds(line.limit_s(limit_s)), ratio.unwrap_or_else(|| "-".to_owned())])
        .map(TextCell::new_owned)
        .collect()
}

/// What a ratio compares where nothing was measured.
fn basis(row: &Row) -> &'static str {
    match row.source {
        Source::Predicted => " (p)",
        Source::Simulated => " (s)",
        Source::Measured => "",
    }
}

/// A line per value, or "-" with the reason's number.
fn cell(cell: &Cell<'_>) -> String {
    if cell.values.is_empty() {
        let reasons: String = cell.reasons.iter().map(|number| format!(" [{number}]")).collect();
        return format!("-{reasons}");
    }
    cell.values.iter().map(value).collect::<Vec<_>>().join("\n")
}

fn value(value: &Value<'_>) -> String {
    let range = comparison::range(value.row).map(|range| format!(" ({range})")).unwrap_or_default();
    let footnote = value.footnote.map(|number| format!(" [{number}]")).unwrap_or_default();
    format!("{}{range}{footnote}", format::seconds(value.row.page_load_s))
}

fn legend(results: &Results) -> String {
    let mut parts = comparison::methods(results);
    parts.push("ratio: measured over limit, else simulated (s), else predicted (p)".to_owned());
    parts.join(". ")
}

/// A warning if the emulator was too late for its measurements to count.
fn validity(results: &Results) -> String {
    let invalid = results.manifest.emulation.filter(|quality| !quality.is_valid());
    invalid.map_or_else(String::new, |quality| {
        let (late, bound) = (format::short_time(quality.lateness_p99_s), format::short_time(quality.bound_s));
        wrap(&format!("INVALID: the emulator was {late} late at the 99th percentile, its bound is {bound}"), "")
    })
}

/// The scenario's name and its line for people.
fn heading(results: &Results) -> String {
    if results.title.is_empty() { results.scenario.clone() } else { format!("{}: {}", results.scenario, results.title) }
}

/// Breaks `text` between words, with `indent` before every line but the first. What steers a terminal counts as a space.
fn wrap(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(|c: char| c.is_whitespace() || format::steers(c)).filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            lines.push('\n');
            lines.push_str(indent);
            width = indent.len();
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footnotes_wrap_between_words() {
        let text = wrap(&"word ".repeat(40), "    ");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(text.lines().nth(1).map(|line| line.starts_with("    word")), Some(true));
        assert_eq!(text.split_whitespace().count(), 40);
    }
}
