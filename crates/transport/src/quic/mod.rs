//! QUIC (RFC 9000, 9001, 9002), as far as it decides when which bytes arrive.
//!
//! A [`Connection`] is one end: handshake flights in their real sizes, streams that do not wait for each other, flow control,
//! acknowledgements, loss detection, and either a congestion controller of [`farhop_tcp`] or a set rate as farhop's tunnel uses
//! ([`farhop_accel::rate`]). A [`Packet`] is one UDP datagram.
//!
//! What differs from the RFCs, and what is left out:
//! - One packet number space instead of three, and one number per datagram though it may carry packets of several levels, each of
//!   which costs its header. An acknowledgement is counted once, at the level that fits it.
//! - A datagram with 1-RTT data that arrives before the handshake is complete, or with 0-RTT data before the ClientHello, is
//!   lost, as if nobody buffered what cannot be read yet (RFC 9001 §5.7 allows either). The handshake's bytes in it count.
//! - A datagram holds at most [`MAX_FRAMES`] frames besides the acknowledgement, which names at most [`MAX_RANGES`] ranges, the
//!   latest.
//! - Connection identifiers of 8 bytes, packet numbers of 2; no version negotiation, Retry, migration, path MTU discovery, key
//!   update, ECN, stream resets, limits on the number of streams, an end of the connection (its owner lets both ends go),
//!   datagrams (RFC 9221); 0-RTT is never refused.
//! - Persistent congestion (RFC 9002 §7.6) is judged within one acknowledgement.

mod acks;
mod config;
mod connection;
mod content;
mod control;
mod flight;
mod handshake;
mod incoming;
mod outgoing;
mod packet;
mod streams;

pub use config::{Order, QuicConfig, Resumption, Sending};
pub use connection::Connection;
pub use packet::{Ack, Frame, Level, MAX_FRAMES, MAX_RANGES, Packet};
