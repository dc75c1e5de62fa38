//! Real programs behind a real-time link.
//!
//! [`Testbed::start`] builds the network of a scenario out of four network namespaces and drives the same
//! [`farhop_link::Channel`] that the simulator drives, on a timer, between TUN devices:
//!
//! ```text
//! client ── lan ── terminal ══ far link ══ gateway ── wan ── server
//! ```
//!
//! `lan` and `wan` are plain virtual cables where the scenario gives them neither rate nor delay nor loss, and emulated like
//! the far link where it does. Inside, the four names resolve, TCP is the kernel's own with the scenario's settings, and
//! nothing outside can be reached. [`emulate`] runs one command at the client.
//!
//! Everything that touches the operating system is in this crate: namespaces, mounts, TUN, timers, signals. Left out:
//! medium access, more than one terminal, IPv6.

mod availability;
mod clock;
mod connection;
mod driver;
mod emulate;
mod error;
mod host;
mod instance;
mod kernel_tcp;
mod lateness;
mod namespace;
mod network;
mod process;
mod record;
pub mod replay;
mod shutdown;
mod testbed;
mod tun;
mod wakefulness;
mod window;

pub use availability::availability;
pub use clock::Clock;
pub use connection::ConnectionState;
pub use emulate::{Emulated, Summary, emulate, run_at_client};
pub use error::EmuError;
pub use host::Host;
pub use instance::cleanup_stale;
pub use lateness::{LATENESS_BOUND, Lateness};
pub use namespace::Namespace;
pub use record::{EmulationRecord, LinkRecord};
pub use testbed::{Recording, Testbed};
