//! `farhop log`: a proxy's log made from a seed, for scenarios with a `[log]`.

use crate::args::Log;
use crate::error::CliError;
use crate::output;
use farhop_units::{counted, duration};
use farhop_web::logs::{Hosts, Parameters, generate, generate_hosts, to_squid};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Writes the log in Squid's native format, and if asked for the host file that belongs to it.
pub(crate) fn log(args: &Log) -> Result<ExitCode, CliError> {
    if args.hosts.is_some() && args.hosts == args.file {
        return Err(CliError::Usage("the log and --hosts are one file; accepted: two".to_owned()));
    }
    let parameters = args.parameters();
    let records = generate(&parameters, args.seed);
    let hosts = args.hosts.as_ref().map(|path| Ok((path, host_file(&parameters, args.seed)?)));
    let hosts = hosts.transpose().map_err(CliError::Usage)?;
    let text = to_squid(&records);
    match &args.file {
        Some(path) => write(path, &text)?,
        None => std::io::stdout().lock().write_all(text.as_bytes())?,
    }
    if let Some((path, text)) = hosts {
        write(path, &text)?;
    }
    output::tell(format_args!(
        "{} to {} in {}, seed {}",
        counted(records.len(), "request"),
        counted(Hosts::of(&records).list().len(), "server"),
        duration::format(parameters.interval),
        args.seed
    ));
    Ok(ExitCode::SUCCESS)
}

/// The host file, if one can be read that has the windows and segments asked for.
fn host_file(parameters: &Parameters, seed: u64) -> Result<String, String> {
    let text = generate_hosts(parameters, seed).to_string();
    text.parse::<Hosts>().map(|_| text).map_err(|error| format!("--windows or --segment-sizes: {error}"))
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|source| CliError::Write { path: path.to_owned(), source })
}
