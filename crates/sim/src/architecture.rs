//! Architectures as chains of legs: where the connections between a client and a server end, and who passes on what.

use crate::network::Place;
use crate::programs::Duty;
use farhop_results::Architecture;
use farhop_scenario::{Dns, HttpConfig, HttpVersion, PrefetchSide};

/// One leg of a chain: the places that it spans, and what it is.
pub(crate) type Span = (Place, Place, Protocol);

/// What a leg is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// A TCP connection of its own.
    Tcp,
    /// A flow of RWBP.
    Rwbp,
    /// Part of TCP connections that are shared.
    Multiplexed,
    /// A QUIC connection, with a stream for each exchange.
    Quic,
    /// A question for a host's address.
    Dns,
    /// A flow of farhop's tunnel.
    Tunnel,
    /// What passes between farhop's boxes, which have legs of their own to clients and servers.
    Accelerated,
    /// What the trunk's packets belong to, if it is not TCP that carries it.
    Carrier,
}

/// The legs between a browser and a server, from the client's side. Where one ends and the next begins stands a relay, or a box with
/// its duty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain(&'static [Span], &'static [Duty]);

const LAN: Span = (Place::Client, Place::Terminal, Protocol::Tcp);
const LINK: Span = (Place::Terminal, Place::Gateway, Protocol::Tcp);
const WAN: Span = (Place::Gateway, Place::Server, Protocol::Tcp);
const DIRECT: Chain = Chain(&[(Place::Client, Place::Server, Protocol::Tcp)], &[]);
const SPLIT: Chain = Chain(&[LAN, LINK, WAN], &[]);
const QUIC: Chain = Chain(&[(Place::Client, Place::Server, Protocol::Quic)], &[]);
const RWBP: Chain = Chain(&[LAN, (Place::Terminal, Place::Gateway, Protocol::Rwbp), WAN], &[]);
const PREFETCH_NEAR: Chain = Chain(&[LAN, (Place::Terminal, Place::Server, Protocol::Tcp)], &[Duty::Fetch]);
const PREFETCH_FAR: Chain = Chain(&[(Place::Client, Place::Gateway, Protocol::Tcp), WAN], &[Duty::Fetch]);
const PREFETCH_2013: Chain = Chain(&[LAN, LINK, WAN], &[Duty::Store, Duty::Push]);

const MULTIPLEXED: Chain = Chain(&[LAN, (Place::Terminal, Place::Gateway, Protocol::Multiplexed), WAN], &[]);
const TUNNEL: Chain = Chain(&[LAN, (Place::Terminal, Place::Gateway, Protocol::Tunnel), WAN], &[]);
const ACCELERATED: Chain = Chain(&[LAN, (Place::Terminal, Place::Gateway, Protocol::Accelerated), WAN], &[]);

impl Chain {
    /// The chain of `architecture`; `side` says where it prefetches if it has the choice.
    pub(crate) const fn of(architecture: Architecture, side: PrefetchSide) -> Self {
        match architecture {
            Architecture::Direct => DIRECT,
            Architecture::Split => SPLIT,
            Architecture::Rwbp => RWBP,
            Architecture::Multiplexed => MULTIPLEXED,
            Architecture::PrefetchConventional => match side {
                PrefetchSide::Near => PREFETCH_NEAR,
                PrefetchSide::Far => PREFETCH_FAR,
            },
            Architecture::Prefetch2013 => PREFETCH_2013,
            Architecture::Tunnel => TUNNEL,
            Architecture::Accelerated => ACCELERATED,
        }
    }

    /// Whether clients ask the terminal for each connection (RFC 9110 §9.3.6: CONNECT).
    pub(crate) fn asks_to_connect(self) -> bool {
        self.over_the_link() == Protocol::Tunnel
    }

    /// Whether who is asked at the terminal's end of a client's leg is the terminal itself.
    pub(crate) fn ends_at_the_terminal(self) -> bool {
        self.over_the_link() == Protocol::Accelerated
    }

    /// The same for a client that is at the terminal and, where there is no wan, servers that are at the gateway: between what stands at one
    /// place there are no connections.
    pub(crate) fn without_ends(self, no_wan: bool) -> Self {
        let Self(mut spans, duties) = self;
        if let [LAN, rest @ ..] = spans {
            spans = rest;
        }
        if let (true, [rest @ .., WAN]) = (no_wan, spans) {
            spans = rest;
        }
        Self(spans, duties)
    }

    /// Whether nothing but clients and servers has legs.
    pub(crate) const fn is_end_to_end(self) -> bool {
        matches!(self.0, [(Place::Client, Place::Server, _)])
    }

    /// What the leg is that crosses the far link.
    pub(crate) fn over_the_link(self) -> Protocol {
        let crosses = |span: &&Span| span.0 <= Place::Terminal && span.1 >= Place::Gateway;
        self.0.iter().find(crosses).map_or(Protocol::Tcp, |(_, _, protocol)| *protocol)
    }

    /// The chain that carries HTTP spoken so. QUIC's packets are sealed, its acknowledgements too: proxies that split connections and
    /// boxes pass them on as they are. So do boxes with bytes that they cannot read, as their clients ask farhop's to.
    pub(crate) fn carrying(self, http: &HttpConfig) -> Self {
        match self.over_the_link() {
            _ if http.version == HttpVersion::Http3 => QUIC,
            _ if http.is_readable() => self,
            Protocol::Accelerated => TUNNEL,
            _ => Self(self.0, &[]),
        }
    }

    /// How clients speak HTTP: those of a proxy leave it to that to find servers.
    pub(crate) fn http_of_clients(self, http: HttpConfig) -> HttpConfig {
        match self.over_the_link() {
            Protocol::Multiplexed | Protocol::Tunnel | Protocol::Accelerated => HttpConfig { dns: Dns::None, ..http },
            _ => http,
        }
    }

    /// The duties of the boxes between the legs; none where relays are.
    pub(crate) const fn duties(self) -> &'static [Duty] {
        self.1
    }

    /// The leg of this number, and whether a server is at its end.
    pub(crate) fn span(self, number: u8) -> Option<(Span, bool)> {
        let number = usize::from(number);
        self.0.get(number).map(|span| (*span, number + 1 == self.0.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_leads_from_the_client_to_the_server_without_a_gap() {
        let sides = [PrefetchSide::Near, PrefetchSide::Far];
        let all = Architecture::ALL.iter().flat_map(|architecture| sides.map(|side| Chain::of(*architecture, side)));
        for chain in all {
            assert!(chain.duties().is_empty() || chain.duties().len() + 1 == chain.0.len());
            let ends = chain.0.iter().flat_map(|(near, far, _)| [*near, *far]).collect::<Vec<_>>();
            assert_eq!((ends.first(), ends.last()), (Some(&Place::Client), Some(&Place::Server)));
            assert!(ends.is_sorted() && ends[1..ends.len() - 1].chunks(2).all(|pair| pair[0] == pair[1]));
            let (number, server) = (u8::try_from(chain.0.len() - 1).expect("few legs"), Some(true));
            assert_eq!(chain.span(number).map(|(_, is_last)| is_last), server);
            assert_eq!(chain.span(number + 1), None);
        }
    }

    #[test]
    fn ends_that_are_at_one_place_need_no_legs() {
        for (no_wan, last) in [(true, Place::Gateway), (false, Place::Server)] {
            let Chain(spans, _) = MULTIPLEXED.without_ends(no_wan);
            assert_eq!(
                (spans.first().map(|span| span.0), spans.last().map(|span| span.1)),
                (Some(Place::Terminal), Some(last))
            );
            assert_eq!(DIRECT.without_ends(no_wan), DIRECT);
        }
    }
}
