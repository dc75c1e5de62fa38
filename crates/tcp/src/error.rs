//! What can be asked of this crate that it cannot do.

use farhop_units::Bytes;
use thiserror::Error;

/// Why an endpoint cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TcpError {
    /// Segments would carry nothing, or more than any packet does (RFC 2675).
    #[error("a maximum segment size of {mss}; it is 1 B to 4294967295 B")]
    SegmentSize {
        /// What was asked for.
        mss: Bytes,
    },
}
