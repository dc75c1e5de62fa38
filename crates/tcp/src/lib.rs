//! TCP endpoints as sans-IO machines, for the simulator.

mod config;

pub use config::{Congestion, FirstAck, HEADER_BYTES, Profile, TcpConfig};
