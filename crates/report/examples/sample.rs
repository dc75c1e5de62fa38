//! Writes the report of made-up results, to look at: `cargo run -p farhop-report --example sample > report.html`; with the argument
//! `--table`, the table for a terminal.

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::io::Write;

fn main() -> std::io::Result<()> {
    let mut results = sample::results();
    results
        .gaps
        .retain(|gap| gap.reason.starts_with("no published formula describes") || gap.reason.contains("simulator"));
    results.rows.push(sample::predicted("obata-2002 Eq 13", 21.83, "assumes a full window from the second object on"));
    results.rows.push(sample::predicted("obata-2002 Eq 11", 40.2, "assumes slow start again for every object"));
    let table = std::env::args().any(|argument| argument == "--table");
    let text = if table { farhop_report::table(&results) } else { farhop_report::html(&results) };
    std::io::stdout().write_all(text.as_bytes())
}
