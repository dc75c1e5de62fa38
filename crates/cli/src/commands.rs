//! One function per command.

mod boxes;
mod compare;
mod conformance;
mod doctor;
mod emulate;
mod files;
mod log;
mod predict;
mod replay;
mod reproduce;
mod simulate;
mod trace;

use crate::args::Command;
use crate::error::CliError;
use std::process::ExitCode;

/// Runs `command`.
pub(crate) fn run(command: Command) -> Result<ExitCode, CliError> {
    match command {
        Command::Compare(args) => compare::compare(&args),
        Command::Predict(args) => predict::predict(&args),
        Command::Simulate(args) => simulate::simulate(&args),
        Command::Measure(args) => compare::measure(&args),
        Command::Emulate(args) => emulate::emulate(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Conformance(args) => conformance::conformance(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Log(args) => log::log(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Terminal(args) => boxes::terminal(&args),
        Command::Gateway(args) => boxes::gateway(&args),
        Command::Keys(args) => boxes::keys(&args),
        Command::Scenarios => files::scenarios(),
        Command::Check(args) => files::check(&args),
    }
}
