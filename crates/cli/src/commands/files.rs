//! `farhop scenarios` and `farhop check`.

use crate::args::ScenarioArgs;
use crate::error::CliError;
use farhop_scenario::{open, shipped};
use std::io::Write;
use std::process::ExitCode;

/// Lists the shipped scenarios.
pub(crate) fn scenarios() -> Result<ExitCode, CliError> {
    let mut out = std::io::stdout().lock();
    for known in shipped::SHIPPED {
        let scenario = open(known.name, &[])?;
        writeln!(out, "{:<14} {}", known.name, scenario.title)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks a scenario and prints it resolved.
pub(crate) fn check(args: &ScenarioArgs) -> Result<ExitCode, CliError> {
    let scenario = open(&args.scenario, &args.assignments())?;
    writeln!(std::io::stdout().lock(), "{}", scenario.to_toml().trim_end())?;
    eprintln!("{}: correct", args.scenario);
    Ok(ExitCode::SUCCESS)
}
