//! `farhop reproduce`: a paper's tables and figures, ours beside them.

use crate::args::Reproduce;
use crate::error::CliError;
use crate::progress::Progress;
use crate::{host, output};
use farhop_papers::{Effort, reproduce_with};
use farhop_report as report;
use farhop_results::reproduction::Reproduction;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Prints the numbers, or with `--json` everything; with `--out` also writes the report with its plots, rows and curves.
pub(crate) fn reproduce(args: &Reproduce) -> Result<ExitCode, CliError> {
    let effort = if args.quick { Effort::Quick } else { Effort::Full };
    let progress = Progress::start();
    let filled = reproduce_with(args.paper, args.figure.as_deref(), effort, &mut |text| progress.say(text));
    progress.finish();
    let reproduction = filled?;
    let text = if args.json {
        serde_json::to_string_pretty(&reproduction).expect("rows hold text keys and finite numbers")
    } else {
        report::reproduction_table(&reproduction)
    };
    writeln!(std::io::stdout().lock(), "{}", text.trim_end())?;
    match &args.out {
        Some(dir) => keep(&reproduction, dir)?,
        None if args.json => {}
        None => output::tell("plots, and all points as CSV: with --out DIR"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes `report.html`, `rows.csv` and `curves.csv` into `dir`, which is made if need be.
fn keep(reproduction: &Reproduction, dir: &Path) -> Result<(), CliError> {
    let files = [
        ("report.html", report::reproduction_html(reproduction, &host::without_scenario())),
        ("rows.csv", reproduction.rows_csv()),
        ("curves.csv", reproduction.curves_csv()),
    ];
    output::write(dir, files)?;
    output::tell(format_args!("report: {}", dir.join("report.html").display()));
    Ok(())
}
