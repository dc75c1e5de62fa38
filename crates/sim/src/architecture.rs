//! Architectures as chains of legs: where the connections between a client and a server end, and who passes on what.

use crate::error::SimError;
use crate::network::Place;
use farhop_results::Architecture;

/// One leg of a chain: the places that it spans, and what it is.
pub(crate) type Span = (Place, Place, Protocol);

/// What a leg is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// A TCP connection of its own.
    Tcp,
    /// A flow of RWBP.
    Rwbp,
}

/// The legs between a browser and a server, from the client's side. Where one ends and the next begins stands a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain(&'static [Span]);

const LAN: Span = (Place::Client, Place::Terminal, Protocol::Tcp);
const WAN: Span = (Place::Gateway, Place::Server, Protocol::Tcp);
const DIRECT: Chain = Chain(&[(Place::Client, Place::Server, Protocol::Tcp)]);
const SPLIT: Chain = Chain(&[LAN, (Place::Terminal, Place::Gateway, Protocol::Tcp), WAN]);
const RWBP: Chain = Chain(&[LAN, (Place::Terminal, Place::Gateway, Protocol::Rwbp), WAN]);

impl Chain {
    /// The chain of `architecture`.
    pub(crate) fn of(architecture: Architecture) -> Result<Self, SimError> {
        match architecture {
            Architecture::Direct => Ok(DIRECT),
            Architecture::Split => Ok(SPLIT),
            Architecture::Rwbp => Ok(RWBP),
            _ => Err(SimError::NoTransport),
        }
    }

    /// Whether a leg is of this protocol.
    pub(crate) fn has(self, protocol: Protocol) -> bool {
        self.0.iter().any(|(_, _, of)| *of == protocol)
    }

    /// The leg of this number, and whether a server is at its end.
    pub(crate) fn span(self, number: u8) -> Option<(Span, bool)> {
        let number = usize::from(number);
        self.0.get(number).map(|span| (*span, number + 1 == self.0.len()))
    }
}
