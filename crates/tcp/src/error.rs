//! What can be asked of this crate that it cannot do.

use farhop_units::Bytes;
use thiserror::Error;

/// Why an endpoint cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TcpError {
    /// Segments would carry nothing.
    #[error("a maximum segment size of {mss}; it is at least 1 B")]
    EmptySegments {
        /// What was asked for.
        mss: Bytes,
    },
}
