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
    /// Whether boxes on the path are worth while ([`is_benefit`]).
    pub benefit: bool,
}

/// `direct` below it needs nothing else, in s.
const UNDISTURBED_S: f64 = 1.0;
/// The least share of a time whose absence is noticed.
const NOTICED: f64 = 0.2;

/// Whether loading in `page_load_s` instead of `direct_s` is worth while. That is a question about people, not about links:
///
/// - below one second a user's flow of thought stays uninterrupted (Miller, "Response time in man-computer conversational
///   transactions", AFIPS 1968; Nielsen, "Usability Engineering", 1993, §5.5). Where `direct` already stays below, nobody would notice
///   two boxes, whatever their ratio: an office a few milliseconds from its servers;
/// - a change of duration of less than a fifth is not noticed either (Weber's law; Seow, "Designing and Engineering Time", 2008, ch. 3):
///   a large file, for which the link's rate is what counts.
pub fn is_benefit(direct_s: f64, page_load_s: f64) -> bool {
    direct_s > UNDISTURBED_S && direct_s - page_load_s >= direct_s * NOTICED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benefit_takes_a_second_before_and_a_fifth_less() {
        assert!(is_benefit(1.001, 0.8));
        assert!(!is_benefit(1.0, 0.1), "fast enough by itself");
        assert!(!is_benefit(10.0, 8.001), "hardly less");
        assert!(!is_benefit(10.0, 20.0), "slower");
    }
}
