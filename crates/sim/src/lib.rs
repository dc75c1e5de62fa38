//! Packets in virtual time: the simulator.
//!
//! A scenario's network (clients – lans – terminals – far link – gateway – wans – servers) is made of channels of the `link` crate;
//! between its hosts stand legs, pairs of endpoints of the `tcp` crate or of `transport`'s QUIC; at the hosts run browsers, driven by
//! the `web` crate's loader, and servers. An event queue of the machines' timers advances virtual time. One client loads one page, or users at every
//! terminal load page after page for hours. The same scenario and seed give the same result, bit by bit, on every machine and
//! any number of threads.
//!
//! Left out so far: processing times, and the headers of frames of HTTP/2 and 3 (less than half a percent of what they carry).

mod architecture;
mod client;
mod crowd;
mod distributions;
mod engine;
mod error;
mod legs;
mod log;
mod meter;
mod metrics;
mod network;
mod paced;
mod packet;
mod page_load;
mod population;
mod programs;
mod replications;
mod report;
#[cfg(test)]
mod scenarios;
mod simulate;
mod slab;
mod trace;
mod trunk;
mod wake;
mod world;

pub use distributions::{Population, ResponseTimes};
pub use engine::EventQueue;
pub use simulate::{Progress, Simulation, simulate, simulate_traced, simulate_with};
pub use trace::{TraceFiles, TraceSummary};
