//! What travels over legs, and who is at their ends.

use farhop_units::Bytes;

/// What two ends of a leg tell each other, in part or as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) exchange: Exchange,
    pub(crate) bytes: Bytes,
}

/// What a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exchange {
    /// The handshake of keys between browser and server.
    Keys,
    /// The request for this object of the page, or the response with it.
    Object(u32),
    /// A client asks its proxy for a connection, or is told that it has one.
    Connect,
    /// Flows of a trunk, of which the trunk's stations know what they are.
    Flows,
}

/// Who uses one end of a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A client's browser.
    Browser {
        client: u32,
        /// What the browser calls it.
        connection: u32,
    },
    /// A client's browser that waits for the address of a host.
    Lookup {
        client: u32,
        /// What the browser calls the host's name.
        name: u32,
    },
    /// A server that has what this client wants.
    Origin { client: u32 },
    /// A box that takes requests for this client, who stands behind it.
    Prefetcher { client: u32 },
    /// A proxy that opens the next leg of the client's chain, of this number, when this one is there.
    Opener { client: u32, next: u8 },
    /// A proxy that passes on what comes to the end of another leg that is with it.
    Relay { peer: u32 },
    /// The trunk, of which it is a connection of this number.
    Trunk { connection: u32 },
    /// farhop's terminal, as the proxy of this client.
    Proxy { client: u32 },
    /// farhop's gateway, which fetches.
    Fetcher,
    /// A server that is asked by farhop's gateway.
    Source,
    /// Nobody any more.
    Nobody,
}
