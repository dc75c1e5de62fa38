//! Times at which a direction carries nothing: rain, tunnels, an antenna that looks elsewhere.
//!
//! An outage drops what would leave the serializer or arrive during it; the serializer starts nothing new, and queues keep
//! what they hold. Whether a moment lies in an outage is a function of the seed, the setting and the moment alone: neither
//! traffic nor earlier settings move an outage, and each begins and ends on the run's clock.
//!
//! Random outages alternate exponential up and down times: the two-state Markov channel of Lutz et al., "The land mobile
//! satellite communication channel", 1991, with a bad state in which nothing passes. Left out: outages of both directions at
//! once, other than by giving both the same times, and fades that a modem survives at a lower rate (a trace has those).

mod config;
mod process;

pub use config::Outages;
pub(crate) use process::OutageProcess;
