//! `farhop emulate`: any program behind the scenario's link, the scenario's page at `http://server/`.

use crate::args::Emulate;
use crate::error::CliError;
use farhop_emu::{Recording, Summary, Testbed, run_at_client};
use farhop_measure::{MeasureError, Origin};
use farhop_scenario::open;
use std::process::ExitCode;

/// Runs the command (or a shell) as the client and returns its exit status.
pub(crate) fn emulate(args: &Emulate) -> Result<ExitCode, CliError> {
    let scenario = open(&args.scenario.scenario, &args.scenario.assignments())?;
    let testbed = Testbed::start_with(&scenario, Recording::Totals)?;
    let origin = match Origin::start(&testbed, &scenario) {
        Err(error @ MeasureError::TooLarge { .. }) => {
            eprintln!("nothing is served at http://server/: {error}");
            None
        }
        origin => Some(origin?),
    };
    let exit_code = run_at_client(&testbed, &args.command)?;
    origin.map_or(Ok(()), Origin::end)?;
    eprintln!("{}", Summary::from(&testbed.stop()?));
    Ok(ExitCode::from(exit_code))
}
