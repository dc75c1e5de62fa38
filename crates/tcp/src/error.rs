//! What can be asked of this crate that it cannot do.

use crate::Congestion;
use thiserror::Error;

/// Why an endpoint cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TcpError {
    /// The congestion controller is not among those this crate has.
    #[error("no simulated congestion controller {congestion:?}; there are Reno, NewReno and Cubic")]
    NoController {
        /// The controller that was asked for.
        congestion: Congestion,
    },
}
