//! Paced UDP whose receiver asks for what is missing after the last packet (prefetch-2013: "Web acceleration by prefetching in
//! extremely large latency network", §3.4 and §4).
//!
//! From the paper: the prefetching server divides a content into n packets of fixed size, numbered from 1, the n-th marked as the
//! last, and sends one at a fixed interval; nothing acknowledges them. When the last packet arrives, the information storage
//! server asks for the numbers that are missing, if any, and gets them again. It also asks when for a certain time (5 s) nothing
//! has come after a packet that was not the last, or in answer to what it asked.
//!
//! What the paper leaves undefined, and what is done here:
//! - A receiver that has not seen the last packet does not know how many there are: it asks for everything from the highest
//!   number it knows on. The sender answers with what it has sent so far; the rest comes anyway.
//! - A content is announced by a datagram of its own ahead of it ("the prefetching server reports the prefetching URL"). One of
//!   which nothing arrives is asked for if the announcement did ([`Receiver::expect`]), the same wait after it or after the last
//!   packet of a content with a lower number, as contents come one after the other. Without announcement it stays unknown.
//! - An answer that leaves something missing is followed by another wait, even if its highest number has arrived; only the last
//!   packet of the content is answered at once.
//! - One clock paces a sender: contents go one after the other, what is sent again before what is sent first.
//! - 1414 bytes are content per packet (1,849,285 bytes are then the 1308 packets of the paper); number and content's name take 8
//!   bytes more. A request names ranges of 8 bytes, up to [`MAX_RANGES`] of them, the lowest first; more are asked for when these
//!   have been answered, after the wait or the last packet.
//! - Nothing tells the sender that a content is complete; it answers until it is told to forget it.

mod packet;
mod receiver;
mod sender;

pub use packet::{MAX_RANGES, Packet};
pub use receiver::Receiver;
pub use sender::Sender;

use farhop_units::Bytes;
use std::time::Duration;

/// Both boxes' settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NackConfig {
    /// Content of every packet but the last.
    pub payload: Bytes,
    /// From one packet to the next.
    pub interval: Duration,
    /// How long the receiver waits for another packet before it asks.
    pub wait: Duration,
}

impl Default for NackConfig {
    /// The paper's test: 1414 bytes every millisecond, a wait of 5 s.
    fn default() -> Self {
        Self { payload: Bytes::new(1414), interval: Duration::from_millis(1), wait: Duration::from_secs(5) }
    }
}

impl NackConfig {
    /// The payload as a number that may divide.
    fn packet_payload(&self) -> u64 {
        self.payload.get().max(1)
    }
}
