//! The handshake of keys over TCP (TLS, RFC 5246 and 8446), at both ends: flights of messages in turn, before the first request.

use farhop_units::Bytes;
use farhop_web::Flights;

/// What an end of a handshake does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It waits for the other end.
    Wait,
    /// It sends so much.
    Say(Bytes),
    /// Requests may follow.
    Done,
}

/// The browser's end.
#[derive(Debug, Clone)]
pub(crate) struct ClientKeys {
    /// What is to come, the present flight first.
    flights: &'static [Flights],
    /// Bytes of the server's present flight that have not arrived.
    left: Bytes,
}

impl ClientKeys {
    pub(crate) const fn new(flights: &'static [Flights]) -> Self {
        Self { flights, left: Bytes::ZERO }
    }

    /// The connection is up.
    pub(crate) fn begin(&mut self) -> Step {
        let Some(flight) = self.flights.first() else { return Step::Done };
        self.left = flight.server;
        Step::Say(flight.client)
    }

    /// Bytes of the server's flight have arrived.
    pub(crate) fn hear(&mut self, bytes: Bytes) -> Step {
        self.left = self.left.saturating_sub(bytes);
        if self.left > Bytes::ZERO {
            return Step::Wait;
        }
        self.flights = self.flights.get(1..).unwrap_or_default();
        self.begin()
    }
}

/// The server's end.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerKeys {
    flights: &'static [Flights],
    /// Bytes of the client's present flight that have arrived.
    heard: Bytes,
}

impl ServerKeys {
    pub(crate) const fn new(flights: &'static [Flights]) -> Self {
        Self { flights, heard: Bytes::ZERO }
    }

    /// Bytes of the client's flight have arrived.
    pub(crate) fn hear(&mut self, bytes: Bytes) -> Step {
        let Some((flight, rest)) = self.flights.split_first() else { return Step::Done };
        self.heard += bytes;
        if self.heard < flight.client {
            return Step::Wait;
        }
        (self.flights, self.heard) = (rest, Bytes::ZERO);
        Step::Say(flight.server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_web::Tls;

    #[test]
    fn flights_go_to_and_fro_and_then_requests_may() {
        for tls in [Tls::None, Tls::V12, Tls::V13] {
            let (mut client, mut server) = (ClientKeys::new(tls.flights()), ServerKeys::new(tls.flights()));
            let (mut step, mut rounds) = (client.begin(), 0);
            while let Step::Say(flight) = step {
                assert_eq!(server.hear(flight - Bytes::new(1)), Step::Wait);
                let Step::Say(answer) = server.hear(Bytes::new(1)) else { panic!("the flight is complete") };
                assert_eq!(client.hear(answer - Bytes::new(1)), Step::Wait);
                (step, rounds) = (client.hear(Bytes::new(1)), rounds + 1);
            }
            assert_eq!((step, rounds), (Step::Done, tls.flights().len()));
        }
    }
}
