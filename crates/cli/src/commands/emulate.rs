//! `farhop emulate`: any program behind the scenario's link.

use crate::args::Emulate;
use crate::error::CliError;
use farhop_emu as emu;
use farhop_scenario::open;
use std::process::ExitCode;

/// Runs the command (or a shell) as the client and returns its exit status.
pub(crate) fn emulate(args: &Emulate) -> Result<ExitCode, CliError> {
    let scenario = open(&args.scenario.scenario, &args.scenario.assignments())?;
    let run = emu::emulate(&scenario, &args.command)?;
    eprintln!("{}", run.summary);
    Ok(ExitCode::from(run.exit_code))
}
