//! What a prediction adds to a time: why it is so long, and which architecture to choose.

use crate::{Architecture, words::words};
use serde::{Deserialize, Serialize};

words! {
    /// What a page waits for.
    Waiting {
        /// The name's address.
        Dns = "dns",
        /// TCP's or QUIC's handshake.
        Handshake = "handshake",
        /// TLS.
        Tls = "tls",
        /// A request and the first byte of its response.
        Request = "request",
        /// A document that names the next object.
        Discovery = "discovery",
        /// A window that is still growing.
        SlowStart = "slow-start",
        /// A window that the receiver limits.
        ReceiveWindow = "receive-window",
        /// Bits at the rate of the slowest hop.
        Transmission = "transmission",
        /// Packets before it in a queue.
        Queueing = "queueing",
        /// Losses, as far as they are expected.
        Recovery = "recovery",
        /// The receiver's timer for acknowledgements.
        DelayedAck = "delayed-ack",
        /// Servers and browsers at work.
        Thinking = "thinking",
    }
}

/// One thing that a page waits for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// What for.
    pub waiting: Waiting,
    /// Round trips of it.
    pub round_trips: u64,
    /// How long in all, in s.
    pub time_s: f64,
}

/// Where an architecture stands among those of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// What the far link carries.
    pub architecture: Architecture,
    /// The method behind the number.
    pub method: String,
    /// Predicted page load time, in s.
    pub page_load_s: f64,
    /// How many times faster than `direct`; 1 is as fast.
    pub gain: f64,
    /// Whether people notice the gain, so that boxes on the path are worth while: `direct` takes longer than the second in which a
    /// user's train of thought goes on undisturbed, and at least a fifth of its time is saved, the least difference that is noticed.
    pub benefit: bool,
}
