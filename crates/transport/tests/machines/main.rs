//! Two machines and the link between them.

mod nack;
mod network;
mod quic;
mod rwbp;
