//! What comes before the first request: names and keys, as bytes and round trips.
//!
//! Keys (TLS) are flights of messages: the client sends one, the server answers it with the next, and requests follow the last
//! answer. The Finished of TLS 1.3's client goes along with its first request and is not counted, nor are session tickets. Names
//! (DNS, RFC 1035) are a question and an answer, a UDP datagram each. Left out: resumption and early data over TCP, resolvers
//! that do not know the answer, and addresses of both families, which browsers ask for at once.

use crate::Tls;
use farhop_units::Bytes;
use std::time::Duration;

/// One round trip of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flights {
    /// What the client sends.
    pub client: Bytes,
    /// What the server answers when it has all of that.
    pub server: Bytes,
}

const fn flights(client: u64, server: u64) -> Flights {
    Flights { client: Bytes::new(client), server: Bytes::new(server) }
}

impl Tls {
    /// The handshake over TCP, a round trip each: hellos with a chain of two certificates, about what public servers send.
    pub const fn flights(self) -> &'static [Flights] {
        // RFC 5246 §7.3: hellos and certificates; keys and Finished, and the server's Finished.
        const V12: [Flights; 2] = [flights(250, 3000), flights(126, 51)];
        // RFC 8446 §2: a ClientHello, padded as browsers do (RFC 7685); everything of the server.
        const V13: [Flights; 1] = [flights(517, 3200)];
        match self {
            Self::None => &[],
            Self::V12 => &V12,
            Self::V13 => &V13,
        }
    }
}

/// A question for an address on the wire: IPv4, UDP, the DNS header, a name of 17 bytes as of `www.example.com`, type and class,
/// and the option that allows long answers (RFC 6891 §6.1).
pub const DNS_QUERY_BYTES: Bytes = Bytes::new(20 + 8 + 12 + 17 + 4 + 11);
/// Its answer: the same and one record of an IPv4 address, whose name is a pointer (RFC 1035 §4.1.3-4).
pub const DNS_ANSWER_BYTES: Bytes = Bytes::new(DNS_QUERY_BYTES.get() + 16);
/// What a client of farhop's says to ask a proxy for a connection to `server:80` (RFC 9110 §9.3.6: CONNECT), and what hyper answers.
pub const CONNECT_BYTES: [Bytes; 2] = [Bytes::new(47), Bytes::new(56)];
/// How long a client waits for an answer before it asks again: `RES_TIMEOUT` of the resolver in BSD and glibc (resolv.conf(5)).
pub const DNS_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_take_the_round_trips_that_the_standards_say() {
        assert_eq!([Tls::None, Tls::V12, Tls::V13].map(|tls| tls.flights().len()), [0, 2, 1]);
        assert!([Tls::V12, Tls::V13].iter().flat_map(|tls| tls.flights()).all(|flight| flight.client > Bytes::ZERO));
    }
}
