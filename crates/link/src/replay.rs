//! The inputs of a recorded run, fed to a fresh channel in virtual time.
//!
//! A channel's outputs depend on arrivals, changes and the seed alone. So whoever drove a channel in real time can check
//! afterwards that it was driven rightly: the recomputed deliveries and drops are those that were recorded, one by one.

use crate::{Change, Channel, ChannelConfig, Output, Packet, Port};
use farhop_units::{Bytes, Instant};

/// What was done to the channel, in order of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Input {
    /// A packet entered.
    Arrival {
        /// When: [`Channel::now`] after the call.
        at: Instant,
        /// Where.
        port: Port,
        /// What it is called in the outcome.
        id: u64,
        /// Its size on the wire.
        bytes: Bytes,
    },
    /// A setting changed.
    Change {
        /// When: [`Channel::now`] after the call.
        at: Instant,
        /// How.
        change: Change,
    },
}

/// A packet of which only the name and the size are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The name its arrival gave.
    pub id: u64,
    /// Its size on the wire.
    pub bytes: Bytes,
}

impl Packet for Recorded {
    fn wire_bytes(&self) -> Bytes {
        self.bytes
    }
}

/// The outcome of `inputs` up to and including `end`, the channel's time when the recording stopped.
pub fn replay(
    config: ChannelConfig,
    seed: u64,
    inputs: impl IntoIterator<Item = Input>,
    end: Instant,
) -> Vec<Output<Recorded>> {
    let mut channel = Channel::new(config, seed);
    for input in inputs {
        match input {
            Input::Arrival { at, port, id, bytes } => channel.handle_packet(at, port, Recorded { id, bytes }),
            Input::Change { at, change } => channel.reconfigure(at, change),
        }
    }
    channel.handle_timeout(end);
    core::iter::from_fn(|| channel.poll()).collect()
}
