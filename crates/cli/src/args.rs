//! The command line.

mod log;

pub(crate) use log::Log;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand};
use farhop_papers::Paper;
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
    /// Times by farhop's model and every published formula that applies, and which architecture is worth while
    Predict(Predict),
    /// A packet-level run in virtual time
    Simulate(Simulate),
    /// Load the page for real over the emulated link, through each architecture
    Measure(Measure),
    /// Run a command behind the emulated link, as the client; the scenario's page is at http://server/
    Emulate(Emulate),
    /// A paper's tables, figures and claims by its formulas and by simulation, ours beside the published numbers
    Reproduce(Reproduce),
    /// Predict, simulate and measure points drawn with a seed; write a page with every difference
    Conformance(Conformance),
    /// Feed a packet log to the link in virtual time and compare every delivery and drop
    Replay(Replay),
    /// Make a web proxy's log in Squid's format, for scenarios with a [log]
    Log(Box<Log>),
    /// Say what a recorded link carries, or write it in another format, mahimahi's or CSV
    Trace(Trace),
    /// Say what works on this machine, what does not, why, and what to do
    Doctor(Doctor),
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
    #[command(flatten)]
    pub(crate) changes: Changes,
}

/// Values that take precedence over the scenario's.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Changes {
    /// Change a value, e.g. --set link.down.delay=300ms; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of everything random; the same as --set run.seed=N
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Refuse logs with broken lines instead of skipping them; the same as --set log.broken=refuse
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Print one JSON object on stdout instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the run in this folder: resolved scenario, results, report; compare always does [its default: out/SCENARIO]
    #[arg(long, value_name = "DIR", value_parser = PathBufValueParser::new().try_map(folder))]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Measure {
    #[command(flatten)]
    pub(crate) run: Run,
    /// Instead print how long this machine's hosts take, at the pace of the scenario's link and as its page is loaded, for --set tcp.host_times=
    #[arg(long, conflicts_with_all = ["json", "out"])]
    pub(crate) host_times: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Predict {
    #[command(flatten)]
    pub(crate) run: Run,
    /// Vary a key over values or a range and print farhop's model at each point, e.g. --over link.down.delay=10ms..800ms:50 (evenly),
    /// :50log (by factors), or A,B,C; several make a grid of all combinations
    #[arg(long, value_name = "KEY=VALUES")]
    pub(crate) over: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) run: Run,
    /// Write what happens in the first run of the first architecture into this folder: packets.log (for `farhop replay`),
    /// packets.pcapng (for Wireshark), and queue, windows, segments and connections over time as CSV; at most 2 GB
    #[arg(long, value_name = "DIR", value_parser = PathBufValueParser::new().try_map(folder))]
    pub(crate) trace: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Emulate {
    /// A scenario file, or the name of a shipped one (see `farhop scenarios`); none with --live to change a running emulator
    #[arg(value_name = "SCENARIO", required_unless_present = "live")]
    pub(crate) scenario: Option<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// Number of terminals, each with a client of its own; the same as --set access.terminals=N
    #[arg(long, value_name = "N", requires = "scenario")]
    pub(crate) terminals: Option<u16>,
    /// Serve a folder at http(s)://server/, or every host of a recorded page (page.har) under its own name
    #[arg(long, value_name = "DIR|HAR", requires = "scenario")]
    pub(crate) serve: Option<PathBuf>,
    /// Let the inside reach the network of this machine, beyond the server
    #[arg(long, requires = "scenario")]
    pub(crate) nat: bool,
    /// Change the link while it runs: KEY=VALUE, on a running emulator now, or with a scenario TIME:KEY=VALUE after its start
    #[arg(long, value_name = "[TIME:]KEY=VALUE")]
    pub(crate) live: Vec<String>,
    /// Which running emulator --live changes, if there are several
    #[arg(long, value_name = "NUMBER", conflicts_with = "scenario")]
    pub(crate) instance: Option<u32>,
    /// Write the far link's packets to this file, for Wireshark or tcpdump
    #[arg(long, value_name = "FILE", requires = "scenario")]
    pub(crate) pcap: Option<PathBuf>,
    /// Write what the far link did to every packet to this file, for `farhop replay`
    #[arg(long, value_name = "FILE", requires = "scenario")]
    pub(crate) log: Option<PathBuf>,
    /// Carry TCP in pieces of up to 64 KiB instead of packets: faster, only for links of unlimited rate
    #[arg(long, requires = "scenario")]
    pub(crate) offload: bool,
    /// The command and its arguments; without one, your shell
    #[arg(last = true, value_name = "CMD", requires = "scenario")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    /// Remove what killed emulators have left behind
    #[arg(long)]
    pub(crate) clean: bool,
    /// Print one JSON object on stdout instead of lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Reproduce {
    /// nz-us-2000, obata-2001, obata-2002, prefetch-2013 or zhou-2004
    #[arg(value_name = "PAPER")]
    pub(crate) paper: Paper,
    /// One figure or table of it, e.g. "Fig 5" or table-1
    #[arg(value_name = "FIGURE")]
    pub(crate) figure: Option<String>,
    /// Simulate a quarter of the papers' time or less, to see the shape of their figures
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print one JSON object on stdout instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write report.html with plots, rows.csv and curves.csv into this folder
    #[arg(long, value_name = "DIR", value_parser = PathBufValueParser::new().try_map(folder))]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Conformance {
    /// Seed of the points and of every run
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// How many files and pages without loss
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub(crate) cases: u32,
    /// How many points with losses, small queues and uploads
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub(crate) points: u32,
    /// Runs of a point with losses, simulated and measured each
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) runs: u32,
    /// Keep what was measured in this folder, and go on from what is there
    #[arg(long, value_name = "DIR", default_value = "out/conformance", value_parser = PathBufValueParser::new().try_map(folder))]
    pub(crate) out: PathBuf,
    /// Write the page here [default: accuracy.md in that folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Replay {
    /// A packet log, as `farhop emulate --log` and `farhop simulate --trace` write it
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,
    /// Print one JSON object on stdout instead of a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Trace {
    /// A trace of a link: CSV (time,rate,delay), or mahimahi's packet-delivery format
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write it in this format, on stdout
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<TraceFormat>,
    /// Write it into this file instead
    #[arg(long, value_name = "FILE", requires = "to")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TraceFormat {
    /// time,rate,delay; only what has rates
    Csv,
    /// A line for each packet of 1500 B that could be sent, in ms
    Mahimahi,
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

impl Command {
    /// Whether the command makes namespaces. An ordinary user can do so only from the very start of the process.
    pub(crate) const fn emulates(&self) -> bool {
        match self {
            Self::Compare(_) | Self::Measure(_) | Self::Conformance(_) => true,
            Self::Emulate(args) => args.scenario.is_some(),
            _ => false,
        }
    }
}

impl Changes {
    /// The assignments in force, the seed and what is refused among them.
    pub(crate) fn assignments(&self) -> Vec<String> {
        let seed = self.seed.map(|seed| format!("run.seed={seed}"));
        let strict = self.strict.then(|| "log.broken=refuse".to_owned());
        self.set.iter().cloned().chain(seed).chain(strict).collect()
    }
}

/// A folder, or a place for one. Said before a run, so that nothing is lost after it.
pub(crate) fn folder(path: PathBuf) -> Result<PathBuf, String> {
    match path.ancestors().find(|part| part.exists()).filter(|part| !part.is_dir()) {
        Some(file) => {
            Err(format!("{} is not a folder\n  accepted: a folder, which is made if need be", file.display()))
        }
        None => Ok(path),
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
