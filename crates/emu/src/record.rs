//! What the emulator remembers of an emulated link: every input and output of its channel, cheaply.
//!
//! Written by the real-time driver, so nothing is formatted or looked up: an entry is a few words appended to a vector whose
//! memory was reserved before the run. What a channel did is repeatable from `config`, `seed` and `inputs` alone; the outputs
//! are kept so that the repetition can be compared with them.

use crate::lateness::Lateness;
use farhop_link::replay::{Input, Recorded};
use farhop_link::{ChannelConfig, Output};
use farhop_results::EmulationQuality;
use farhop_units::Instant;

/// Everything that happened on one emulated link, in the words of [`farhop_link::replay`](mod@farhop_link::replay).
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
    pub(crate) fn new(config: ChannelConfig, seed: u64) -> Self {
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

/// What a testbed leaves behind.
#[derive(Debug, Clone)]
pub struct EmulationRecord {
    /// How well the emulator kept time.
    pub quality: EmulationQuality,
    /// How late every packet was delivered, on all emulated links together.
    pub lateness: Lateness,
    /// Packets the far link dropped.
    pub dropped: u64,
    /// The far link's packets; absent if it was transparent or the testbed was started without a packet log.
    pub link: Option<LinkRecord>,
}
