//! What the far link carries instead of the clients' own TCP connections, as sans-IO machines for the simulator.
//!
//! - [`rwbp`]: receiver window backpressure (zhou-2004): round robin between flows, no congestion control, nothing dropped;
//! - [`multiplex`]: many exchanges over k TCP connections (nz-us-2000);
//! - [`nack`]: paced UDP whose receiver asks for what is missing (prefetch-2013);
//! - [`quic`]: RFC 9000, for HTTP/3 and for farhop's own tunnel.
//!
//! Packets carry numbers and lengths, no bytes. Every machine keeps to one contract: a call with `now` first runs what was due
//! before, at the time it was due; then the owner takes [`Output`]s until there is none, and calls again at the latest at
//! `next_timeout()`. None asks the time or rolls dice.

mod agenda;
pub mod multiplex;
pub mod nack;
mod output;
pub mod quic;
mod ranges;
mod room;
mod rtt;
pub mod rwbp;

pub use output::{Output, StreamId};
pub use room::{QueueRoom, Room};

use farhop_units::Bytes;

/// Headers of a UDP datagram over IPv4: 20 + 8 bytes.
const UDP_HEADER_BYTES: Bytes = Bytes::new(28);
