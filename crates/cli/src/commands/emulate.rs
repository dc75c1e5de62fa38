//! `farhop emulate`: any program behind the scenario's link.
//!
//! Beyond the link stands the scenario's page at `http://server/`, or what `--serve` names. Without a scenario, `--live` changes
//! the link of an emulator that is running.

use crate::args::Emulate;
use crate::error::CliError;
use crate::output::tell;
use farhop_emu::{EmuError, Options, Recording, Summary, Testbed, Windows, control, run_at_client};
use farhop_measure::Origin;
use farhop_origin::{OriginOptions, Origins, Site};
use farhop_scenario::{Scenario, open};
use farhop_units::{counted, duration};
use std::process::ExitCode;
use std::time::Duration;

/// Runs the command (or a shell) as the client and returns its exit status.
pub(crate) fn emulate(args: &Emulate) -> Result<ExitCode, CliError> {
    let Some(given) = &args.scenario else { return change_running(args) };
    let scenario = open(given, &assignments(args))?;
    let site = args.serve.as_deref().map(Site::open).transpose()?;
    missing(&scenario).iter().for_each(tell);
    let testbed = Testbed::start_with(&scenario, &options(args)?)?;
    let service = Service::start(&testbed, &scenario, site)?;
    introduce(&testbed, &service);
    let exit_code = run_at_client(&testbed, &args.command, &service.environment())?;
    service.end()?;
    let summary = Summary::from(&testbed.stop()?);
    tell(&summary);
    // A script that asked for a log must not take one that ends early for whole.
    let is_whole = summary.files.is_none();
    Ok(if exit_code == 0 && !is_whole { ExitCode::FAILURE } else { ExitCode::from(exit_code) })
}

/// Changes the link of an emulator that runs already.
fn change_running(args: &Emulate) -> Result<ExitCode, CliError> {
    if !args.changes.assignments().is_empty() {
        let problem = "--set and --seed change a scenario, and none is given; accepted: --live KEY=VALUE alone";
        return Err(CliError::Usage(problem.to_owned()));
    }
    let line = format!("set {}", args.live.join(", "));
    for answer in control::send(args.instance, &[line]).map_err(EmuError::from)? {
        tell(answer);
    }
    Ok(ExitCode::SUCCESS)
}

fn assignments(args: &Emulate) -> Vec<String> {
    let terminals = args.terminals.map(|count| format!("access.terminals={count}"));
    args.changes.assignments().into_iter().chain(terminals).collect()
}

fn options(args: &Emulate) -> Result<Options, CliError> {
    Ok(Options {
        recording: Recording::Totals,
        nat: args.nat,
        log: args.log.clone(),
        pcap: args.pcap.clone(),
        live: args.live.iter().map(|text| timed(text)).collect::<Result<_, _>>()?,
        offload: args.offload,
    })
}

/// Reads `10s:link.down.rate=2Mbit/s`; without a time, the change is made at once.
fn timed(text: &str) -> Result<(Duration, String, String), CliError> {
    const ACCEPTED: &str = "TIME:KEY=VALUE, e.g. --live 10s:link.down.rate=2Mbit/s";
    let refuse = |problem: &str| CliError::Usage(format!("--live {text}: {problem}\n  accepted: {ACCEPTED}"));
    let (name, value) = text.split_once('=').ok_or_else(|| refuse("no \"=\""))?;
    let (at, name) = match name.split_once(':') {
        Some((at, name)) => (duration::parse(at).map_err(|error| refuse(&error.problem))?, name),
        None => (Duration::ZERO, name),
    };
    Ok((at, name.trim().to_owned(), value.trim().to_owned()))
}

/// What stands beyond the link.
enum Service {
    /// The scenario's page, if one server can have it.
    Page(Option<Origin>),
    /// A folder or a recorded page.
    Site(Box<Origins>),
}

impl Service {
    fn start(testbed: &Testbed, scenario: &Scenario, site: Option<Site>) -> Result<Self, CliError> {
        if let Some(site) = site {
            let usual = OriginOptions::default();
            // A client that answers after a round trip is not silent.
            let patience = usual.patience.max(scenario.link.rtt() * 8);
            return Ok(Self::Site(Box::new(Origins::start(testbed, site, &OriginOptions { patience, ..usual })?)));
        }
        match Origin::start(testbed, scenario) {
            Err(error) if error.is_beyond_measuring() => {
                tell(format_args!("nothing is served at http://server/: {error}"));
                Ok(Self::Page(None))
            }
            origin => Ok(Self::Page(Some(origin?))),
        }
    }

    fn environment(&self) -> Vec<(String, String)> {
        match self {
            Self::Page(_) => Vec::new(),
            Self::Site(origins) => origins.environment(),
        }
    }

    fn end(self) -> Result<(), CliError> {
        match self {
            Self::Page(origin) => Ok(origin.map_or(Ok(()), Origin::end)?),
            Self::Site(origins) => {
                for missed in origins.missed() {
                    tell(format_args!("not in the recording: {missed}"));
                }
                Ok(origins.stop()?)
            }
        }
    }
}

/// What the scenario has on its link that nobody here sends.
fn missing(scenario: &Scenario) -> Option<String> {
    let multicast = scenario.multicast?;
    Some(format!(
        "not sent: {} of multicast; the emulator carries what programs send, `farhop simulate` has both",
        multicast.rate
    ))
}

/// Says what cannot be seen from inside: names of the other clients, what is served, windows in force.
fn introduce(testbed: &Testbed, service: &Service) {
    if testbed.terminals() > 1 {
        let clients = (0..testbed.terminals()).filter_map(|number| testbed.client(number));
        let names: Vec<&str> = clients.map(farhop_emu::Namespace::name).collect();
        tell(format_args!("clients, for `ip netns exec NAME CMD`: {}", names.join(" ")));
    }
    if let Service::Site(origins) = service {
        let names: Vec<String> = origins.names().iter().map(|name| name.name.clone()).collect();
        tell(format_args!("served: {}; certificates by {}", names.join(" "), origins.certificate().display()));
        origins.notes().iter().for_each(|note| tell(format_args!("note: {note}")));
    }
    tell(format_args!("TCP inside, as measured: {}", told(&testbed.windows())));
}

/// The windows in force.
fn told(windows: &Windows) -> String {
    let advertised = match windows.advertised {
        Some(window) => format!("receive window {window}"),
        None => "receive window left to the kernel's autotuning".to_owned(),
    };
    let initial = counted(windows.initial, "segment");
    format!("initial window {initial} of {}, {advertised}", windows.segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multicast_is_said_to_be_missing() {
        let said = |assignments: &[String]| missing(&open("rwbp-128", assignments).unwrap());
        let beside = said(&["multicast.rate=1 Mbit/s".to_owned()]);
        assert!(beside.is_some_and(|text| text.starts_with("not sent: 1 Mbit/s of multicast;")));
        assert_eq!(said(&[]), None);
    }

    #[test]
    fn changes_may_have_a_time() {
        let at = |text| timed(text).map(|(at, name, value)| (at.as_millis(), name, value)).map_err(|e| e.to_string());
        let change = |millis, value: &str| Ok((millis, "link.down.rate".to_owned(), value.to_owned()));
        assert_eq!(at("1.5s:link.down.rate=2Mbit/s"), change(1500, "2Mbit/s"));
        assert_eq!(at("link.down.rate=2Mbit/s"), change(0, "2Mbit/s"));
        // Values may hold what separates times and names.
        assert_eq!(
            at("link.down.loss=gilbert-elliott enter=1% leave=9%").unwrap().2,
            "gilbert-elliott enter=1% leave=9%"
        );
        assert!(at("10s:link.down.rate").unwrap_err().starts_with("--live 10s:link.down.rate: no \"=\""));
        assert!(at("soon:link.down.rate=1Mbit/s").unwrap_err().contains("no number in \"soon\""));
    }
}
