//! Why emulating failed, in words that name the remedy.

use crate::host::MAX_TERMINALS;
use std::io;
use std::path::PathBuf;

/// Why emulating failed.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    /// This machine, or this user on it, cannot emulate at all.
    #[error("emulating needs {needs}: {problem}; {remedy}")]
    Unavailable {
        /// What is needed.
        needs: &'static str,
        /// What was found instead.
        problem: String,
        /// How to get it.
        remedy: &'static str,
    },
    /// A system call failed that should not have.
    #[error("cannot {action}: {source}")]
    System {
        /// What was being done, with its object.
        action: String,
        /// The system's answer.
        source: io::Error,
    },
    /// `ip` refused the addresses, links or routes of a host.
    #[error("`ip` cannot configure {host}: {message}")]
    Ip {
        /// Which host, or what else.
        host: String,
        /// What `ip` wrote to its standard error.
        message: String,
    },
    /// The scenario asks for a TCP that this kernel does not speak.
    #[error("this kernel's TCP cannot have {setting} = {value}: {reason}")]
    Tcp {
        /// The scenario's key.
        setting: &'static str,
        /// The scenario's value.
        value: String,
        /// Why not, and what would be accepted.
        reason: String,
    },
    /// More terminals than a testbed has addresses for.
    #[error("cannot emulate {wanted} terminals; 1 to {MAX_TERMINALS} are accepted")]
    Terminals {
        /// How many the scenario has.
        wanted: u16,
    },
    /// Packet log and capture would overwrite each other.
    #[error("packet log and capture cannot both be {}; two files are accepted", path.display())]
    SameFile {
        /// The one file.
        path: PathBuf,
    },
    /// The link cannot be changed as wanted.
    #[error(transparent)]
    Control(#[from] crate::control::ControlError),
    /// The command to run behind the link did not start.
    #[error("cannot run {command}: {source}")]
    Command {
        /// The program as given.
        command: String,
        /// The system's answer.
        source: io::Error,
    },
}

impl EmuError {
    /// For `map_err`: the system's answer to `action`.
    pub(crate) fn system<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |source| Self::System { action: action.into(), source: source.into() }
    }
}
