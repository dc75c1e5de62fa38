//! A recorded link in memory.

use farhop_link::replay::{Input, Recorded};
use farhop_link::{ChannelConfig, Output};
use farhop_units::Instant;

/// Everything that happened on one link, in the words of [`farhop_link::replay`](mod@farhop_link::replay).
#[derive(Debug, Clone)]
pub struct LinkRecord {
    /// The link.
    pub config: ChannelConfig,
    /// The seed of its random streams.
    pub seed: u64,
    /// What was done to the channel, in order; packets are numbered from 0 in order of arrival.
    pub inputs: Vec<Input>,
    /// What the channel gave out, in order.
    pub outputs: Vec<Output<Recorded>>,
    /// The channel's time when the recording stopped.
    pub end: Instant,
}

impl LinkRecord {
    /// An empty record of a link, with room for ten seconds of full packets both ways at 100 Mbit/s.
    pub fn new(config: ChannelConfig, seed: u64) -> Self {
        const PACKETS: usize = 1 << 18;
        Self {
            config,
            seed,
            inputs: Vec::with_capacity(PACKETS),
            outputs: Vec::with_capacity(PACKETS),
            end: Instant::START,
        }
    }
}
