//! The command line.

use clap::{Args as ClapArgs, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// The web over links with a long round trip: predict, simulate, emulate, measure, accelerate.
#[derive(Debug, Parser)]
#[command(name = "farhop", version, max_term_width = 100, propagate_version = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Predict, simulate and measure side by side, with the physical limit; write an HTML report
    Compare(Run),
    /// Every published formula that applies
    Predict(Run),
    /// A packet-level run in virtual time
    Simulate(Run),
    /// Load the page for real over the emulated link, through each architecture (needs root)
    Measure(Run),
    /// Run a command behind the emulated link, as the client; the scenario's page is at http://server/ (needs root)
    Emulate(Emulate),
    /// The accelerator's box at the slow end of the link: a proxy for clients
    Terminal(BoxConfig),
    /// The accelerator's box at the fast end of the link
    Gateway(BoxConfig),
    /// Make the keys by which a terminal and a gateway know each other
    Keys(Keys),
    /// List the scenarios that come with the program
    Scenarios,
    /// Check a scenario and print it with every value resolved
    Check(ScenarioArgs),
}

/// Which scenario, with which changes.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct ScenarioArgs {
    /// A scenario file, or the name of a shipped one (see `farhop scenarios`)
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: String,
    /// Change a value, e.g. --set link.down.delay=300ms; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of everything random; the same as --set run.seed=N
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Print one JSON object on stdout instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the run in this folder: resolved scenario, results, report; compare always does [its default: out/SCENARIO]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Emulate {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// The command and its arguments; without one, your shell
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BoxConfig {
    /// Configuration file (TOML); docs/accelerator.md describes it
    #[arg(value_name = "CONFIG")]
    pub(crate) config: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Keys {
    /// Folder to write gateway.key, gateway.crt, terminal.key and terminal.crt into
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

impl Command {
    /// What is logged unless `FARHOP_LOG` says otherwise: the boxes tell what they do, the rest only what went wrong.
    pub(crate) const fn log_level(&self) -> &'static str {
        match self {
            Self::Terminal(_) | Self::Gateway(_) => "info",
            _ => "warn",
        }
    }
}

impl ScenarioArgs {
    /// The assignments in force, the seed among them.
    pub(crate) fn assignments(&self) -> Vec<String> {
        let seed = self.seed.map(|seed| format!("run.seed={seed}"));
        self.set.iter().cloned().chain(seed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
