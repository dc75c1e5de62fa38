//! Architectures as chains of legs: where the connections between a client and a server end, and who passes on what.

use crate::error::SimError;
use crate::network::Place;
use farhop_results::Architecture;

/// The places that one leg of a chain spans.
pub(crate) type Span = (Place, Place);

/// The legs between a browser and a server, from the client's side. Where one ends and the next begins stands a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain(&'static [Span]);

const DIRECT: Chain = Chain(&[(Place::Client, Place::Server)]);
const SPLIT: Chain =
    Chain(&[(Place::Client, Place::Terminal), (Place::Terminal, Place::Gateway), (Place::Gateway, Place::Server)]);

impl Chain {
    /// The chain of `architecture`.
    pub(crate) fn of(architecture: Architecture) -> Result<Self, SimError> {
        match architecture {
            Architecture::Direct => Ok(DIRECT),
            Architecture::Split => Ok(SPLIT),
            _ => Err(SimError::NoTransport),
        }
    }

    /// The leg of this number, and whether a server is at its end.
    pub(crate) fn span(self, number: u8) -> Option<(Span, bool)> {
        let number = usize::from(number);
        self.0.get(number).map(|span| (*span, number + 1 == self.0.len()))
    }
}
