//! One command behind the link: what `farhop emulate SCENARIO -- CMD…` does.
//!
//! The command is the client's. It inherits standard input, output and the terminal and stays in the foreground process
//! group, so that an interactive shell works; Ctrl-C and Ctrl-\ are the command's, as they are with `system(3)`, and this
//! process goes on to tidy up.

use crate::record::{DirectionStatus, EmulationRecord, LinkStatus};
use crate::{EmuError, Host, Options, Recording, StatusLine, Testbed, Written, status};
use core::fmt;
use farhop_results::EmulationQuality;
use farhop_scenario::Scenario;
use farhop_units::{Instant, counted};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// How a command behind the link ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Emulated {
    /// The command's exit code; 128 and the signal's number if a signal ended it, as shells say it.
    pub exit_code: u8,
    /// What the links did meanwhile.
    pub summary: Summary,
}

/// What the emulated links did: a line for all deliveries, one per direction of the far link, and one for files that are not whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Packets delivered and how late.
    pub quality: EmulationQuality,
    /// Packets the far link dropped.
    pub dropped: u64,
    /// What the far link did, by direction.
    pub directions: [DirectionStatus; 2],
    /// How long it ran.
    pub span: Duration,
    /// Packets of the far link that a host did not take.
    pub refused: u64,
    /// What the packet log or the capture lacks, if they lack anything.
    pub files: Option<String>,
    /// Whether packets passed in bundles.
    pub offload: bool,
}

impl From<&EmulationRecord> for Summary {
    fn from(record: &EmulationRecord) -> Self {
        let LinkStatus { at, down, up, refused, .. } = &record.far;
        Self {
            quality: record.quality,
            dropped: record.dropped,
            directions: [down.clone(), up.clone()],
            span: at.since(Instant::START),
            refused: *refused,
            files: record.files.as_ref().and_then(Written::problem),
            offload: record.offload,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quality = &self.quality;
        let millis = |seconds: f64| seconds * 1e3;
        write!(
            f,
            "{} delivered by all links, {} dropped by the far link; delivered late by {:.3} ms (median), {:.3} ms (p99), {:.3} ms (most)",
            counted(quality.packets, "packet"),
            self.dropped,
            millis(quality.lateness_p50_s),
            millis(quality.lateness_p99_s),
            millis(quality.lateness_max_s),
        )?;
        if !quality.is_valid() {
            write!(f, ": too late to trust (p99 above {:.3} ms)", millis(quality.bound_s))?;
        }
        for (name, way) in ["down", "up"].into_iter().zip(&self.directions) {
            write!(f, "\n{}", status::direction_summary(name, way, self.span))?;
        }
        if self.refused > 0 {
            write!(f, "\nnot taken by their host: {}", counted(self.refused, "packet"))?;
        }
        if self.offload {
            f.write_str("\npackets passed in bundles of up to 64 KiB (offload)")?;
        }
        self.files.as_ref().map_or(Ok(()), |files| write!(f, "\n{files}"))
    }
}

/// Runs `command` as the client of `scenario`'s network, `$SHELL` if it is empty, and waits for it.
///
/// # Errors
/// The testbed cannot be had, or the command does not start. A command that fails is not an error.
pub fn emulate(scenario: &Scenario, command: &[OsString]) -> Result<Emulated, EmuError> {
    let testbed = Testbed::start_with(scenario, &Options { recording: Recording::Totals, ..Options::default() })?;
    let exit_code = run_at_client(&testbed, command, &[])?;
    Ok(Emulated { exit_code, summary: Summary::from(&testbed.stop()?) })
}

/// Runs `command` as the client of a testbed, `$SHELL` if it is empty, with these variables in its environment; waits for it
/// and gives its exit code as shells say it.
///
/// # Errors
/// The command does not start. A command that fails is not an error.
pub fn run_at_client(
    testbed: &Testbed,
    command: &[OsString],
    environment: &[(String, String)],
) -> Result<u8, EmuError> {
    let shell = [std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())];
    let (program, arguments) = command.split_first().or_else(|| shell.split_first()).expect("the shell is one word");
    let _shown = StatusLine::if_seen(testbed);
    let mut inside = testbed.host(Host::Client).command(program);
    inside.envs(environment.iter().map(|(name, value)| (name, value)));
    let status = run_in_foreground(inside, program, arguments)?;
    Ok(exit_code(status))
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// Signals that the terminal sends to every process in the foreground; only the command shall act on them.
const FROM_TERMINAL: [Signal; 2] = [Signal::SIGINT, Signal::SIGQUIT];

#[expect(unsafe_code, reason = "code between fork and exec")]
fn run_in_foreground(mut command: Command, program: &OsStr, arguments: &[OsString]) -> Result<ExitStatus, EmuError> {
    command.args(arguments);
    let before = FROM_TERMINAL.map(|signal| (signal, set(signal, &action(SigHandler::SigIgn))));
    // A shell that runs this in the background has it ignore them, and the command with it.
    let ignored = before.map(|(_, action)| action.is_some_and(|action| matches!(action.handler(), SigHandler::SigIgn)));
    // SAFETY: sigaction(2) is async-signal-safe and the closure allocates nothing.
    unsafe {
        command.pre_exec(move || {
            for (signal, _) in FROM_TERMINAL.into_iter().zip(ignored).filter(|(_, ignored)| !ignored) {
                set(signal, &action(SigHandler::SigDfl));
            }
            Ok(())
        });
    }
    let status = command.status();
    for (signal, action) in before {
        if let Some(action) = action {
            set(signal, &action);
        }
    }
    let name = program.to_string_lossy().into_owned();
    status.map_err(|source| EmuError::Command { command: name, source })
}

fn action(handler: SigHandler) -> SigAction {
    SigAction::new(handler, SaFlags::empty(), SigSet::empty())
}

/// Sets what a signal does; what it did before.
#[expect(unsafe_code, reason = "sets a signal disposition")]
fn set(signal: Signal, action: &SigAction) -> Option<SigAction> {
    // SAFETY: `action` ignores, restores the default, or is what was installed before.
    unsafe { sigaction(signal, action) }.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_counts_128_more() {
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(exit_code(ExitStatus::from_raw(libc::SIGINT)), 130);
    }

    #[test]
    fn the_summary_says_when_not_to_trust_the_run() {
        let quality = |p99| EmulationQuality {
            packets: 6,
            lateness_p50_s: 5e-5,
            lateness_p99_s: p99,
            lateness_max_s: 1e-3,
            bound_s: 5e-4,
        };
        let far = status::tests::status(10);
        let summary = |p99| Summary {
            quality: quality(p99),
            dropped: 1,
            directions: [far.down.clone(), far.up.clone()],
            span: Duration::from_secs(10),
            refused: 0,
            files: None,
            offload: false,
        };
        let told = summary(2e-4).to_string();
        let mut lines = told.lines();
        assert_eq!(
            lines.next(),
            Some(
                "6 packets delivered by all links, 1 dropped by the far link; \
                 delivered late by 0.050 ms (median), 0.200 ms (p99), 1.000 ms (most)"
            )
        );
        assert_eq!(lines.map(|line| &line[..3]).collect::<Vec<_>>(), ["dow", "up:"]);
        assert!(summary(6e-4).to_string().contains(": too late to trust (p99 above 0.500 ms)\n"));
    }
}
