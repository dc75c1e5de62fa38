//! Real programs behind a real-time link.
//!
//! [`Testbed::start`] builds the network of a scenario out of network namespaces and drives the same
//! [`farhop_link::Channel`] that the simulator drives, on a timer, between devices of their network stacks:
//!
//! ```text
//! client   ── lan ── terminal   ══╗
//! client-2 ── lan ── terminal-2 ══╬══ far link ══ gateway ── wan ── server ( ── the host's network )
//! client-3 ── lan ── terminal-3 ══╝
//! ```
//!
//! `lan` and `wan` are plain virtual cables where the scenario gives them neither rate nor delay nor loss, and emulated like
//! the far link where it does. Inside there are IPv4 and IPv6, the hosts' names resolve, and TCP is the kernel's own with the
//! scenario's settings. Nothing outside can be reached unless [`Options::nat`] opens a way out, which also works in an emulator
//! inside another one. [`emulate`] runs one command at the first client.
//!
//! Root, or whoever has its rights over namespaces and networks, can emulate; others after [`enter_user_namespace`]. [`doctor`]
//! says what works on a machine. Whatever happens to the process, the next one or [`cleanup_stale`] removes what it has left.
//!
//! Everything that touches the operating system is in this crate: namespaces, mounts, devices, timers, signals.

mod clock;
mod connection;
pub mod control;
mod device;
mod dns_relay;
mod doctor;
mod driver;
mod emulate;
mod error;
mod etc;
mod host;
mod hosts;
mod instance;
mod kernel_tcp;
mod lateness;
mod namespace;
mod nat;
mod netfilter;
mod netlink;
mod network;
mod options;
mod outside;
mod preemption;
mod process;
mod real_time;
mod record;
mod shutdown;
mod status;
mod testbed;
mod tun;
mod user_namespace;
mod wakefulness;
mod window;

pub use clock::Clock;
pub use connection::ConnectionState;
pub use doctor::{Finding, availability, doctor};
pub use driver::Written;
pub use emulate::{Emulated, Summary, emulate, run_at_client};
pub use error::EmuError;
pub use farhop_recording::{LinkRecord, replay};
pub use host::Host;
pub use instance::cleanup_stale;
pub use lateness::{LATENESS_BOUND, Lateness};
pub use namespace::Namespace;
pub use options::{Options, Recording};
pub use record::{DirectionStatus, EmulationRecord, LinkStatus};
pub use status::StatusLine;
pub use testbed::Testbed;
pub use user_namespace::{Rights, enter_user_namespace};
pub use window::Windows;
