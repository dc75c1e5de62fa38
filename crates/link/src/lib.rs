//! A far link as a sans-IO machine: both directions between a gateway and its terminals.
//!
//! Each way is queue → serializer or slots → pipe → impairments. [`Channel`] never asks the time and never sleeps: a caller tells
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
//! #[derive(Clone)]
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
//! The way down is shared by all terminals of a channel; up, each has a path of its own, or they share the channel by one of
//! the schemes of [`Access`]. Everything a channel can be is in [`ChannelConfig`], and every setting has one text, the same in
//! scenario files, packet logs and changes on a running link ([`Setting`]).
//!
//! A network of thousands of links that only queue, serialize and delay is made of [`Lanes`]: the same to the nanosecond, in a cache
//! line each or less.

mod access;
mod agenda;
mod burst;
mod change;
mod channel;
mod config;
mod corruption;
mod counters;
mod delay;
mod duplication;
mod framing;
mod impairments;
mod jitter;
mod lane;
mod loss;
mod orbit;
mod outages;
mod packet;
mod path;
mod pipe;
mod port;
mod queue;
mod random;
mod reordering;
pub mod replay;
mod serializer;
pub mod trace;

pub use access::{
    Access, AccessCounters, AlohaPeriodic, Backoff, Cfdama, Dama, FixedTdma, Frame, FrameFormat, RequestSlots,
    Requests, SlottedAloha,
};
pub use change::{Change, Setting, SettingError};
pub use channel::Channel;
pub use config::{ChannelConfig, ConfigError, DirectionConfig};
pub use counters::{Count, Counters};
pub use framing::Framing;
pub use jitter::Jitter;
pub use lane::Lanes;
pub use loss::{GilbertElliott, LossModel};
pub use orbit::Orbit;
pub use outages::Outages;
pub use packet::{Class, Destination, DropReason, Output, Packet};
pub use port::{Direction, Port};
pub use queue::{CoDel, Discipline, QueueLimit};
pub use reordering::Reordering;
pub use replay::replay;
pub use trace::{Trace, TraceEnd, TraceError, TraceRecord, TraceStep};
