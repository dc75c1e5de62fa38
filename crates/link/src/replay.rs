//! The inputs of a recorded run, fed to a fresh channel in virtual time.
//!
//! A channel's outputs depend on arrivals, changes and the seed alone. So whoever drove a channel in real time can check
//! afterwards that it was driven rightly: the recomputed deliveries and drops are those that were recorded, one by one.

use crate::{Change, Channel, ChannelConfig, Class, Destination, Output, Packet, Port};
use farhop_units::{Bytes, Instant};

/// What was done to the channel, in order of time.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A packet entered.
    Arrival {
        /// When: [`Channel::now`] after the call.
        at: Instant,
        /// Where.
        port: Port,
        /// What a channel asks of it.
        packet: Recorded,
    },
    /// A setting changed.
    Change {
        /// When: [`Channel::now`] after the call.
        at: Instant,
        /// How.
        change: Change,
    },
}

impl Input {
    /// When it was done.
    pub const fn at(&self) -> Instant {
        match self {
            Self::Arrival { at, .. } | Self::Change { at, .. } => *at,
        }
    }
}

/// A packet of which only the name and what a channel asks of packets are known, and what the channel did to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The name its arrival gave.
    pub id: u64,
    /// Its size on the wire.
    pub bytes: Bytes,
    /// Where it goes if it enters at the gateway.
    pub destination: Destination,
    /// Its transport connection.
    pub flow: u64,
    /// Its traffic class.
    pub class: Class,
    /// Whether its sender understands congestion notification.
    pub ecn_capable: bool,
    /// Whether it says that congestion was experienced: since before the link, or because the link marked it.
    pub marked: bool,
    /// Whether the link has flipped one of its bits.
    pub corrupted: bool,
}

impl Recorded {
    /// A packet for the first terminal without a flow of its own, of no special class, not capable of ECN.
    pub const fn new(id: u64, bytes: Bytes) -> Self {
        Self {
            id,
            bytes,
            destination: Destination::Terminal(0),
            flow: 0,
            class: Class::Normal,
            ecn_capable: false,
            marked: false,
            corrupted: false,
        }
    }
}

impl Packet for Recorded {
    fn wire_bytes(&self) -> Bytes {
        self.bytes
    }

    fn destination(&self) -> Destination {
        self.destination
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn class(&self) -> Class {
        self.class
    }

    fn is_ecn_capable(&self) -> bool {
        self.ecn_capable
    }

    fn mark_congestion(&mut self) {
        self.marked = true;
    }

    fn corrupt(&mut self, _draw: u64) {
        self.corrupted = true;
    }
}

impl Channel<Recorded> {
    /// Does again what was done once.
    pub fn handle_input(&mut self, input: Input) {
        match input {
            Input::Arrival { at, port, packet } => self.handle_packet(at, port, packet),
            Input::Change { at, change } => self.reconfigure(at, change),
        }
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
        channel.handle_input(input);
    }
    channel.handle_timeout(end);
    core::iter::from_fn(|| channel.poll()).collect()
}
