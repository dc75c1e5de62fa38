//! Why there is no scenario.

use crate::reader::ValueError;
use thiserror::Error;

/// Why there is no scenario.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// Neither a file nor a shipped scenario.
    #[error("{given}: no such file or shipped scenario{suggestion}\n  accepted: a file, or one of {shipped}")]
    Unknown {
        /// What was asked for.
        given: String,
        /// `; did you mean …?`, or nothing.
        suggestion: String,
        /// The names of the shipped scenarios.
        shipped: String,
    },
    /// The file cannot be read.
    #[error("{file}: {source}\n  accepted: a readable text file in UTF-8")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// A value in the file or on the command line.
    #[error(transparent)]
    Value(#[from] ValueError),
}
