//! Why a site cannot be served.

use farhop_emu::EmuError;
use farhop_web::har::HarError;
use std::io;
use std::path::PathBuf;

/// Why a site cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// The file or directory to serve cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// As given.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The file is no recording.
    #[error("{path}: {source}")]
    Har {
        /// As given.
        path: PathBuf,
        /// What is wrong with it.
        source: HarError,
    },
    /// A recording without a single response that could be given again.
    #[error(
        "{path} holds no response of an http or https server that could be served ({entries} entries, {problems} unusable)"
    )]
    NothingRecorded {
        /// As given.
        path: PathBuf,
        /// Entries that could be read.
        entries: usize,
        /// Entries that could not.
        problems: usize,
    },
    /// More hosts than there are addresses for.
    #[error("{count} hosts; at most {most} have addresses of their own")]
    TooManyHosts {
        /// How many.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// Certificates cannot be made.
    #[error("cannot make certificates: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// `ip` refused the addresses of the names.
    #[error("`ip` cannot add the site's addresses: {0}")]
    Addresses(String),
    /// The testbed cannot be told of its new name server.
    #[error(transparent)]
    Testbed(#[from] EmuError),
    /// A system call failed that should not have.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The servers ended without an error of their own: a bug.
    #[error("the servers of the site panicked")]
    Panicked,
}

impl OriginError {
    /// For `map_err`: the system's answer to doing something.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing: doing.into(), source }
    }
}
