//! Printing results, and keeping them in a folder.

use crate::error::CliError;
use farhop_report as report;
use farhop_results::Results;
use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Prints the table, or with `json` one JSON object, on stdout.
pub(crate) fn print(results: &Results, json: bool) -> Result<(), CliError> {
    let text = match &results.grid {
        _ if json => to_json(results),
        Some(grid) => report::grid_table(grid) + &gaps(results),
        None => report::table(results),
    };
    Ok(writeln!(std::io::stdout().lock(), "{}", text.trim_end())?)
}

/// Tells the user something on stderr. If nobody can read it any more, nothing else may fail for that: a run ends as it would
/// have, where `eprintln!` would panic.
pub(crate) fn tell(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Why cells of a grid are empty.
fn gaps(results: &Results) -> String {
    results.gaps.iter().map(|gap| format!("-: {}: {}\n", gap.architecture, gap.reason)).collect()
}

/// Writes `scenario.toml`, `results.json` and `report.html` into `dir`, which is made if need be; of a grid `grid.csv` as well.
pub(crate) fn keep(results: &Results, dir: &Path) -> Result<(), CliError> {
    let files = [("scenario.toml", results.manifest.resolved.clone()), ("results.json", to_json(results) + "\n")];
    write(dir, files)?;
    match &results.grid {
        None => write(dir, [("report.html", report::html(results))]),
        Some(grid) => {
            write(dir, [("grid.csv", report::grid_csv(grid)), ("report.html", report::grid_html(grid, results))])
        }
    }
}

/// Writes files, by name and text, into `dir`, which is made if need be.
pub(crate) fn write<const N: usize>(dir: &Path, files: [(&str, String); N]) -> Result<(), CliError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| CliError::Write { path, source }
    };
    fs::create_dir_all(dir).map_err(failed(dir))?;
    for (name, text) in files {
        let path = dir.join(name);
        fs::write(&path, text).map_err(failed(&path))?;
    }
    Ok(())
}

fn to_json(results: &Results) -> String {
    serde_json::to_string_pretty(results).expect("results hold text keys and finite numbers")
}
