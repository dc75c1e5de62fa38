//! Why a command failed, and the exit code that says so.

use farhop_emu::EmuError;
use farhop_emu::control::ControlError;
use farhop_origin::OriginError;
use farhop_proxy::ProxyError;
use farhop_recording::replay::ReplayError;
use farhop_scenario::TraceError;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;
use thiserror::Error;

/// Why a command failed.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Scenario(#[from] farhop_scenario::ScenarioError),
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error(transparent)]
    Emulation(#[from] EmuError),
    #[error(transparent)]
    Origin(#[from] OriginError),
    #[error(transparent)]
    Papers(#[from] farhop_papers::PapersError),
    #[error(transparent)]
    Conformance(#[from] farhop_conformance::RunError),
    #[error(transparent)]
    Journal(#[from] farhop_conformance::JournalError),
    #[error(transparent)]
    Measurement(#[from] farhop_measure::MeasureError),
    #[error("{path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}")]
    Trace { path: PathBuf, source: TraceError },
    #[error("{path}: {source}")]
    Replay { path: PathBuf, source: Box<ReplayError> },
    /// A wrong flag that the command line alone cannot know to be wrong.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    System(#[from] std::io::Error),
}

impl CliError {
    /// 2 for a bad file or flag, 1 for a run that failed; for the command of `emulate`, as shells have it, 127 if there is none of
    /// its name and 126 if it cannot be run.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Scenario(_)
            | Self::Papers(_)
            | Self::Journal(_)
            | Self::Read { .. }
            | Self::Trace { .. }
            | Self::Usage(_) => ExitCode::from(2),
            Self::Origin(
                OriginError::Read { .. }
                | OriginError::Har { .. }
                | OriginError::NothingRecorded { .. }
                | OriginError::TooManyHosts { .. },
            ) => ExitCode::from(2),
            // A log that the link does not reproduce is a failed run; one that cannot be read is a bad file.
            Self::Replay { source, .. } if !matches!(**source, ReplayError::Difference(_)) => ExitCode::from(2),
            // Changes that cannot be are those of --live; packets cannot be bundled on this link, or files are the same.
            Self::Emulation(
                EmuError::Control(ControlError::Refused(_) | ControlError::Timetable { .. })
                | EmuError::Terminals { .. }
                | EmuError::SameFile { .. },
            ) => ExitCode::from(2),
            Self::Emulation(EmuError::Command { source, .. }) => {
                ExitCode::from(if source.kind() == ErrorKind::NotFound { 127 } else { 126 })
            }
            Self::Proxy(ProxyError::Config(_) | ProxyError::Read { .. } | ProxyError::Key { .. }) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}
