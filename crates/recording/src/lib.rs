//! What a far link did, packet by packet: written into a packet log, read back, and recomputed.
//!
//! Emulator and simulator drive the same link and leave the same log. The log's schema ([`farhop_results::packet_log`]) knows
//! nothing of the link's model; only here both are known.

mod record;
pub mod replay;
pub mod words;

pub use record::LinkRecord;
