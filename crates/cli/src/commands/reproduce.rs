//! `farhop reproduce`: a paper's tables and figures, ours beside them.

use crate::args::Reproduce;
use crate::error::CliError;
use farhop_papers::{Gap, Reproduction, Row, reproduce as fill};
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Prints the numbers, or with `--json` everything; with `--out` also writes rows and curves as CSV.
pub(crate) fn reproduce(args: &Reproduce) -> Result<ExitCode, CliError> {
    let reproduction = fill(args.paper, args.figure.as_deref())?;
    let text = if args.json {
        serde_json::to_string_pretty(&reproduction).expect("rows hold text keys and finite numbers")
    } else {
        told(&reproduction)
    };
    writeln!(std::io::stdout().lock(), "{}", text.trim_end())?;
    if let Some(dir) = &args.out {
        keep(&reproduction, dir)?;
        eprintln!("rows and curves: {}", dir.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// A line per number and per curve, and why the rest is missing.
fn told(reproduction: &Reproduction) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        let _ = writeln!(text, "{}", line.trim_end());
    };
    let width = reproduction.rows.iter().map(|row| row.quantity.chars().count()).max().unwrap_or(0);
    if !reproduction.rows.is_empty() {
        line(format!("{:8} {:width$} {:>10} {:>10}  reading", "figure", "quantity", "published", "ours"));
    }
    for Row { figure, quantity, published, ours, reading } in &reproduction.rows {
        let published = published.map_or_else(|| "-".to_owned(), number);
        line(format!("{:8} {quantity:width$} {published:>10} {:>10}  {reading}", figure.to_string(), number(*ours)));
    }
    for curve in &reproduction.curves {
        let (points, name, reading) = (curve.points.len(), &curve.name, &curve.reading);
        line(format!("{:8} curve of {points} points: {name}  {reading}", curve.figure.to_string()));
    }
    for Gap { figure, reason } in &reproduction.gaps {
        line(format!("{:8} not reproduced: {reason}", figure.to_string()));
    }
    text
}

/// Up to five significant digits.
fn number(value: f64) -> String {
    let before_the_point = value.abs().log10().floor().max(0.0);
    let decimals = if before_the_point >= 4.0 {
        0
    } else if before_the_point >= 3.0 {
        1
    } else {
        4
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Writes `rows.csv` and `curves.csv` into `dir`, which is made if need be.
fn keep(reproduction: &Reproduction, dir: &Path) -> Result<(), CliError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| CliError::Write { path, source }
    };
    fs::create_dir_all(dir).map_err(failed(dir))?;
    for (name, text) in [("rows.csv", reproduction.rows_csv()), ("curves.csv", reproduction.curves_csv())] {
        let path = dir.join(name);
        fs::write(&path, text).map_err(failed(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_tell_something() {
        let told = [0.2943, 1024.0, 4604.5, 37.58, 212.9, 123_456.7, 0.0].map(number);
        assert_eq!(told, ["0.2943", "1024", "4604.5", "37.58", "212.9", "123457", "0"]);
    }
}
