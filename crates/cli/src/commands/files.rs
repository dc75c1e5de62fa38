//! `farhop scenarios` and `farhop check`.

use crate::args::ScenarioArgs;
use crate::error::CliError;
use crate::output::tell;
use farhop_scenario::{Brief, Scenario, open, shipped};
use std::io::Write;
use std::process::ExitCode;

/// Lists the shipped scenarios, group by group: rates down and up, round trip, loss, title.
pub(crate) fn scenarios() -> Result<ExitCode, CliError> {
    let mut out = std::io::stdout().lock();
    for (place, group) in shipped::GROUPS.iter().enumerate() {
        let gap = if place == 0 { "" } else { "\n" };
        writeln!(out, "{gap}{}", group.title)?;
        for known in group.scenarios {
            let scenario = open(known.name, &[])?;
            let Brief { rate, round_trip, loss } = scenario.brief();
            let loss = if loss == "none" { String::new() } else { format!("loss {loss}") };
            writeln!(out, "  {:<22} {rate:>20} {round_trip:>11}  {loss:<13}  {}", known.name, scenario.title)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks a scenario and prints it resolved, its traces in a line each.
pub(crate) fn check(args: &ScenarioArgs) -> Result<ExitCode, CliError> {
    let scenario = open(&args.scenario, &args.changes.assignments())?;
    writeln!(std::io::stdout().lock(), "{}", scenario.to_toml().trim_end())?;
    for (key, way) in [("link.down", &scenario.link.down), ("link.up", &scenario.link.up)] {
        if let Some(trace) = &way.trace {
            tell(format_args!("{key}.trace: {}", trace.summary()));
        }
    }
    tell_of_page(&scenario);
    scenario.log.iter().flat_map(|log| &log.notes).for_each(|note| tell(format_args!("log.file: {note}")));
    tell(format_args!("{}: correct", args.scenario));
    Ok(ExitCode::SUCCESS)
}

/// How the page was read from a recording, and what of that could not be used.
pub(super) fn tell_of_page(scenario: &Scenario) {
    scenario.page_notes.iter().for_each(|note| tell(format_args!("page.har: {note}")));
}
