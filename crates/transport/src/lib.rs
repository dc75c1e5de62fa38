//! What the far link carries instead of the clients' own TCP connections, as sans-IO machines for the simulator.
//!
//! - [`rwbp`]: receiver window backpressure (zhou-2004): round robin between flows, no congestion control, nothing dropped;
//! - [`multiplex`]: many exchanges over k TCP connections (nz-us-2000).
//!
//! Packets carry numbers and lengths, no bytes. Every machine keeps to one contract: a call with `now` first runs what was due
//! before, at the time it was due; then the owner takes [`Output`]s until there is none, and calls again at the latest at
//! `next_timeout()`. None asks the time or rolls dice.

mod agenda;
pub mod multiplex;
mod output;
mod ranges;
mod rtt;
pub mod rwbp;

pub use output::{Output, StreamId};
