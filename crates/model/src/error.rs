//! Why a formula has no value for its parameters.

use farhop_units::{Bytes, Probability};
use std::time::Duration;
use thiserror::Error;

/// A parameter outside the range for which a formula is defined.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ModelError {
    /// A segment without payload never finishes a transfer.
    #[error("mss is 0 B; accepted: at least 1 B")]
    ZeroMss,
    /// TCP cannot send a full segment into the window.
    #[error("max_window {max_window} is below one segment; accepted: at least the mss, {mss}, or \"unlimited\"")]
    WindowBelowSegment {
        /// The window given.
        max_window: Bytes,
        /// One segment's payload.
        mss: Bytes,
    },
    /// A page without objects takes no defined time.
    #[error("data_sets is 0; accepted: at least 1")]
    NoDataSets,
    /// Nothing to transfer, so that a throughput is undefined.
    #[error("size is 0 B; accepted: at least 1 B")]
    ZeroSize,
    /// Eq 10 of obata-2001 holds once the window is full; this window never fills.
    #[error("max_window is unlimited, so that slow start never ends; accepted: a size in bytes")]
    UnlimitedWindow,
    /// The transfer ends during slow start, where obata-2001 Eq 10 does not hold.
    #[error("size {size} fits into slow start; accepted: at least {slow_start}")]
    EndsInSlowStart {
        /// The size given.
        size: Bytes,
        /// Bytes sent before the window is full.
        slow_start: Bytes,
    },
    /// The transfer outlasts slow start, where obata-2001 Eq 12 does not hold.
    #[error("size {size} outlasts slow start; accepted: at most {slow_start}")]
    OutlastsSlowStart {
        /// The size given.
        size: Bytes,
        /// Bytes sent before the window is full.
        slow_start: Bytes,
    },
    /// A redundancy code that sends fewer bits than it carries.
    #[error("redundancy sends {sent} bits for {carried}; accepted: at least as many as it carries, and at least 1")]
    Redundancy {
        /// Bits on the link.
        sent: u32,
        /// Bits of data among them.
        carried: u32,
    },
    /// The throughput is not between 1 bit/s and 2⁶⁴ bit/s.
    #[error("size {size} in {time:?} is no rate; accepted: a time above zero that gives at least 1 bit/s")]
    NoRate {
        /// Size of the transfer.
        size: Bytes,
        /// Its time.
        time: Duration,
    },
    /// A throughput per round trip, without round trip.
    #[error("rtt is 0 s; accepted: above 0 s")]
    NoRoundTrip,
    /// A loss rate at which the formula divides by zero or has no meaning.
    #[error("loss {loss} is too high; accepted: below {below}")]
    LossTooHigh {
        /// The loss given.
        loss: Probability,
        /// The first loss rate that is not accepted.
        below: Probability,
    },
    /// A rate that only losses limit, without losses.
    #[error("loss is 0 %, which limits nothing; accepted: above 0 %")]
    NoLoss,
    /// The rate is below 1 bit/s.
    #[error("the rate is below 1 bit/s; accepted: an rtt, an mss and a loss that give at least 1 bit/s")]
    TooSlow,
    /// An object that waits for itself or for an object listed after it.
    #[error("object {object} needs object {needs}; accepted: an object before it")]
    NeedsLaterObject {
        /// Index of the object.
        object: usize,
        /// Index of the object it waits for.
        needs: usize,
    },
}
