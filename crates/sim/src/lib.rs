//! Packets in virtual time: the simulator.
//!
//! A scenario's network (client – lan – terminal – far link – gateway – wan – server) is three channels of the `link` crate; at its
//! ends stand endpoints of the `tcp` crate, a browser driven by the `web` crate's loader, and a server. An event queue of the
//! machines' timers advances virtual time. The same scenario and seed give the same result, bit by bit, on every machine.
//!
//! Left out so far: every architecture but `direct`, DNS and TLS, processing times, more than one client.

mod browser;
mod direct;
mod meter;
mod path;
mod queue;
#[cfg(test)]
mod scenarios;
mod server;
mod simulate;

pub use simulate::{Simulation, simulate};
