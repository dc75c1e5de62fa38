//! What a testbed is asked for besides the scenario.

use crate::control::TimedChange;
use std::path::PathBuf;

/// How to run a scenario's network; the default is a packet log in memory and no way out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// What to remember of the far link's packets.
    pub recording: Recording,
    /// Whether the inside reaches the host's network, through address translation at the server.
    pub nat: bool,
    /// A file for the far link's packet log.
    pub log: Option<PathBuf>,
    /// A file for the far link's packets themselves, in the format pcapng.
    pub pcap: Option<PathBuf>,
    /// Changes of the far link at times after the start.
    pub live: Vec<TimedChange>,
    /// Whether TCP may pass in bundles of up to 64 KiB, as between network cards that segment themselves: faster, and only for
    /// a link that does nothing but delay.
    pub offload: bool,
}

/// Whether every packet of the far link is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recording {
    /// About 100 bytes of memory per packet, for as long as the testbed runs.
    #[default]
    Packets,
    /// Only counts and lateness.
    Totals,
}
