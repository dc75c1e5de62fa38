//! A far link as a sans-IO machine: both directions between a gateway and its terminals.
//!
//! Each direction is queue → serializer → pipe → loss. [`Channel`] never asks the time and never sleeps: a caller tells
//! it what happened and when, and asks what came of it. A call with `now` first runs everything that was due until
//! then, at the time it was due, so that outputs depend on arrivals, changes and the seed, never on how late a timer was
//! served. The same machine therefore runs on virtual time in a simulator and on a timer in an emulator, and [`replay()`]
//! recomputes what an emulator recorded.
//!
//! ```
//! use farhop_link::{Channel, ChannelConfig, DirectionConfig, Output, Packet, Port};
//! use farhop_units::{Bytes, Instant, Rate};
//! use std::time::Duration;
//!
//! struct Datagram(u64);
//! impl Packet for Datagram {
//!     fn wire_bytes(&self) -> Bytes {
//!         Bytes::new(self.0)
//!     }
//! }
//!
//! let down = DirectionConfig { rate: Some(Rate::mbps(100)), delay: Duration::from_millis(250), ..Default::default() };
//! let mut channel = Channel::new(ChannelConfig { down, ..Default::default() }, 1);
//! channel.handle_packet(Instant::START, Port::Gateway, Datagram(1500));
//! while let Some(due) = channel.next_timeout() {
//!     channel.handle_timeout(due);
//! }
//! let Some(Output::Deliver { at, port, .. }) = channel.poll() else { panic!("nothing is lost here") };
//! assert_eq!(at - Instant::START, Duration::from_micros(250_120));
//! assert_eq!(port, Port::Terminal(0));
//! ```
//!
//! Left out so far: queue disciplines other than drop-tail, medium access between queue and serializer, more than one
//! terminal, outages, jitter, losses in bursts. Each has its place among the stages of a direction.

mod change;
mod channel;
mod config;
mod counters;
mod loss;
mod packet;
mod path;
mod pipe;
mod port;
mod queue;
pub mod replay;
mod serializer;

pub use change::{Change, Setting, SettingError};
pub use channel::Channel;
pub use config::{ChannelConfig, DirectionConfig, LossModel};
pub use counters::{Count, Counters};
pub use packet::{DropReason, Output, Packet};
pub use port::{Direction, Port};
pub use replay::replay;
