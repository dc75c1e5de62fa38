//! The comparison as an HTML table with footnotes, from the same layout as the terminal's.

use super::markup::{class, escape, put};
use crate::comparison::{self, Cell, Comparison, Line, Value};
use crate::format;
use farhop_results::Results;

/// The table and its footnotes.
pub(crate) fn comparison_table(results: &Results, comparison: &Comparison<'_>) -> String {
    let mut out =
        String::from("<div class=\"scroll\"><table>\n<caption>Page load time in seconds. Ratio: load time over ");
    out.push_str(
        "the physical limit; measured if it was measured, else simulated, else predicted.</caption>\n<thead><tr>",
    );
    out.push_str("<th scope=\"col\">architecture</th>");
    for source in &comparison.sources {
        put(&mut out, format_args!("<th scope=\"col\">{source}</th>"));
    }
    out.push_str("<th scope=\"col\">limit</th><th scope=\"col\">ratio to limit</th></tr></thead>\n<tbody>\n");
    for line in &comparison.lines {
        put_line(&mut out, line, results.limit_s);
    }
    out.push_str("</tbody></table></div>\n");
    put_notes(&mut out, results, comparison);
    out
}

fn put_line(out: &mut String, line: &Line<'_>, limit_s: f64) {
    put(
        out,
        format_args!(
            "<tr class=\"{}\"><th scope=\"row\"><span class=\"dot\"></span>{}</th>",
            class(line.architecture),
            line.name()
        ),
    );
    for cell in &line.cells {
        put(out, format_args!("<td>{}</td>", self::cell(cell)));
    }
    let basis = line.best().map(|row| format!(" <span class=\"range\">{}</span>", row.source)).unwrap_or_default();
    let ratio = line.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{}{basis}", format::ratio(ratio)));
    put(out, format_args!("<td>{}</td><td>{ratio}</td></tr>\n", format::seconds(line.limit_s(limit_s))));
}

fn cell(cell: &Cell<'_>) -> String {
    if cell.values.is_empty() {
        return format!("-{}", cell.reasons.iter().map(|number| reference(*number)).collect::<String>());
    }
    cell.values.iter().map(value).collect()
}

fn value(value: &Value<'_>) -> String {
    let range =
        comparison::range(value.row).map(|range| format!("<span class=\"range\">{range}</span>")).unwrap_or_default();
    let footnote = value.footnote.map(reference).unwrap_or_default();
    format!("<span class=\"value\">{}{footnote}</span>{range}", format::seconds(value.row.page_load_s))
}

fn reference(number: usize) -> String {
    format!("<sup><a href=\"#note-{number}\" aria-label=\"note {number}\">{number}</a></sup>")
}

fn put_notes(out: &mut String, results: &Results, comparison: &Comparison<'_>) {
    for line in comparison::methods(results).into_iter().chain(comparison::transfer(results)) {
        put(out, format_args!("<p class=\"soft\">{}.</p>\n", escape(&line)));
    }
    if comparison.footnotes.is_empty() {
        return;
    }
    out.push_str("<ol class=\"notes\">\n");
    for (index, footnote) in comparison.footnotes.iter().enumerate() {
        put(out, format_args!("<li id=\"note-{}\">{}</li>\n", index + 1, escape(footnote)));
    }
    out.push_str("</ol>\n");
}
