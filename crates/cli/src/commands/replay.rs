//! `farhop replay`: a packet log, recomputed.

use crate::args::Replay;
use crate::error::CliError;
use farhop_recording::replay::{ReplayError, ReplaySummary, verify_log};
use farhop_units::counted;
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, Write};
use std::process::ExitCode;

/// Feeds the log to the link in virtual time and says whether it gives the same deliveries and drops.
pub(crate) fn replay(args: &Replay) -> Result<ExitCode, CliError> {
    let failed = |source: ReplayError| CliError::Replay { path: args.log.clone(), source: Box::new(source) };
    let file = File::open(&args.log).map_err(|source| CliError::Read { path: args.log.clone(), source })?;
    let summary = verify_log(BufReader::new(file)).map_err(failed)?;
    let text = if args.json { as_json(&summary).to_string() } else { told(&summary) };
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}

fn told(summary: &ReplaySummary) -> String {
    let ReplaySummary { arrivals, changes, deliveries, drops, end } = summary;
    format!(
        "{} and {} in {end}: what was delivered ({deliveries}) and dropped ({drops}) is the same",
        counted(arrivals, "packet"),
        counted(changes, "change"),
    )
}

fn as_json(summary: &ReplaySummary) -> serde_json::Value {
    let ReplaySummary { arrivals, changes, deliveries, drops, end } = summary;
    json!({
        "identical": true,
        "arrivals": arrivals,
        "changes": changes,
        "deliveries": deliveries,
        "drops": drops,
        "end_s": end.as_secs_f64(),
    })
}
