//! Writes the report of made-up results, to look at: `cargo run -p farhop-report --example sample > report.html`. With an argument
//! another one: `predictions`, `users`, `grid` (one key), `map` (two keys); with `--table`, the table for a terminal.

#[path = "../tests/sample/predictions.rs"]
mod predictions;
#[path = "../tests/sample/mod.rs"]
mod sample;

use farhop_report::{grid_html, grid_table, html, table};
use farhop_results::{Grid, Results};
use predictions::{grid, populations, predictions};
use std::io::Write;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = |name: &str| arguments.iter().any(|argument| argument == name);
    let is_table = named("--table");
    let text = match () {
        () if named("predictions") => shown(&predictions(), is_table),
        () if named("users") => shown(&populations(), is_table),
        () if named("grid") => shown_grid(&grid(1), is_table),
        () if named("map") => shown_grid(&grid(8), is_table),
        () => shown(&comparison(), is_table),
    };
    std::io::stdout().write_all(text.as_bytes())
}

fn shown(results: &Results, is_table: bool) -> String {
    if is_table { table(results) } else { html(results) }
}

fn shown_grid(grid: &Grid, is_table: bool) -> String {
    if is_table { grid_table(grid) } else { grid_html(grid, &sample::results()) }
}

fn comparison() -> Results {
    let mut results = sample::results();
    results
        .gaps
        .retain(|gap| gap.reason.starts_with("no published formula describes") || gap.reason.contains("simulator"));
    results.rows.push(sample::predicted("obata-2002 Eq 13", 21.83, "assumes a full window from the second object on"));
    results.rows.push(sample::predicted("obata-2002 Eq 11", 40.2, "assumes slow start again for every object"));
    results
}
