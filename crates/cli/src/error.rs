//! Why a command failed, and the exit code that says so.

use farhop_proxy::ProxyError;
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
    Emulation(#[from] farhop_emu::EmuError),
    #[error(transparent)]
    Measurement(#[from] farhop_measure::MeasureError),
    #[error("{path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{0}")]
    System(#[from] std::io::Error),
}

impl CliError {
    /// 2 for a bad file or flag, 1 for a run that failed.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Scenario(_) => ExitCode::from(2),
            Self::Proxy(ProxyError::Config(_) | ProxyError::Read { .. } | ProxyError::Key { .. }) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}
