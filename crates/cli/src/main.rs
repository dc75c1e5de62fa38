//! `farhop`: the web over links with a long round trip, predicted, simulated, emulated and accelerated.
//!
//! Thin by intent: parse the command line, call an engine, print. Exit codes: 0 done, 1 the run failed or nothing came of it, 2 a bad file or flag;
//! `emulate` returns the exit status of the command it ran; 1 if that has succeeded but the log or the capture is not whole; 127 if
//! there is no such command and 126 if it cannot be run.

mod args;
mod commands;
mod error;
mod host;
mod output;
mod progress;

use clap::Parser;
use std::io::IsTerminal;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Args::parse();
    if args.command.emulates() {
        // Without the right to emulate, the command itself says so where it needs it.
        let _ = farhop_emu::enter_user_namespace();
    }
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("FARHOP_LOG")
                .unwrap_or_else(|_| args.command.log_level().into()),
        )
        .init();
    match commands::run(args.command) {
        Ok(code) => code,
        // Whoever reads the results has read enough, as `head` does.
        Err(error::CliError::System(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            output::tell(format_args!("error: {error}"));
            error.exit_code()
        }
    }
}
