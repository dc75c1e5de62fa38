//! `farhop trace`: what a recorded link is, and the same in another format.

use crate::args::{Trace as Args, TraceFormat};
use crate::error::CliError;
use crate::output::tell;
use farhop_scenario::{Trace, TraceEnd, TraceRecord, read_text};
use std::fs;
use std::io::Write;
use std::process::ExitCode;

/// Tells of a trace, or writes it in the format asked for.
pub(crate) fn trace(args: &Args) -> Result<ExitCode, CliError> {
    let path = || args.file.clone();
    let text = read_text(&args.file).map_err(|source| CliError::Read { path: path(), source })?;
    let failed = |source| CliError::Trace { path: path(), source };
    let record = TraceRecord::from_file(&text).map_err(failed)?;
    let Some(format) = args.to else {
        let kind = if matches!(record, TraceRecord::Steps { .. }) { "rates" } else { "delivery opportunities" };
        let summary = Trace::new(record, TraceEnd::default()).summary();
        writeln!(std::io::stdout().lock(), "{kind}: {summary}")?;
        return Ok(ExitCode::SUCCESS);
    };
    let written = match format {
        TraceFormat::Csv => record.to_csv(),
        TraceFormat::Mahimahi => record.to_mahimahi(),
    };
    let written = written.map_err(failed)?;
    match &args.out {
        Some(out) => fs::write(out, written).map_err(|source| CliError::Write { path: out.clone(), source })?,
        None => std::io::stdout().lock().write_all(written.as_bytes())?,
    }
    if format == TraceFormat::Mahimahi && has_delays(&record) {
        tell(format_args!("its delays are left out, for which mahimahi's format has no place"));
    }
    Ok(ExitCode::SUCCESS)
}

fn has_delays(record: &TraceRecord) -> bool {
    matches!(record, TraceRecord::Steps { steps, .. } if steps.iter().any(|step| step.delay.is_some()))
}
