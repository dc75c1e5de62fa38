//! What the machines tell their owner.

use farhop_units::{Bytes, Instant};

/// One stream of bytes: a flow of RWBP, an exchange of a lane, a prefetched content. Both ends call it by the same number, which
/// whoever opens it chooses; it means another stream only once both ends have forgotten it and nothing of it is on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StreamId(pub u32);

/// What a machine has to tell its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output<P> {
    /// Carry this packet to the other end.
    Transmit {
        /// When it leaves.
        at: Instant,
        /// The packet.
        packet: P,
    },
    /// From now on this end may send without limits of a handshake.
    Connected {
        /// When.
        at: Instant,
        /// The flow, or `None` for the connection that carries all streams.
        stream: Option<StreamId>,
    },
    /// Data arrived in order; it occupies the receive buffer until the owner says that it was read.
    Received {
        /// When.
        at: Instant,
        /// Of which stream.
        stream: StreamId,
        /// How many bytes are new; zero if only the end is.
        bytes: Bytes,
        /// No more will come.
        finished: bool,
    },
    /// A write that was not taken whole may be continued.
    Room {
        /// When.
        at: Instant,
        /// Of which stream.
        stream: StreamId,
        /// How much the send buffer takes now.
        room: Bytes,
    },
    /// Both directions of a stream are complete, and the other end has said so for this end's.
    Closed {
        /// When.
        at: Instant,
        /// Which stream.
        stream: StreamId,
    },
}
