//! A scenario, resolved: every value present, checked and in its own type.

use farhop_link::ChannelConfig;
use farhop_results::Architecture;
use farhop_tcp::TcpConfig;
use farhop_web::{HttpConfig, Page};

/// One network, one workload, the architectures to run it through.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// File name without `.toml`, or the shipped scenario's name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The far link, gateway ↔ terminal.
    pub link: ChannelConfig,
    /// Gateway ↔ server; `down` is server → gateway.
    pub wan: ChannelConfig,
    /// Client ↔ terminal; `down` is terminal → client.
    pub lan: ChannelConfig,
    /// TCP at client and server.
    pub tcp: TcpConfig,
    /// What is loaded.
    pub page: Page,
    /// How the page was read from a recording, and what of that could not be used; a resolved file has these as comments only.
    pub page_notes: Vec<String>,
    /// How the client asks for it.
    pub http: HttpConfig,
    /// What to run.
    pub run: RunConfig,
}

/// What to run, how often, from which seed.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConfig {
    /// Architectures, in the order of the table.
    pub architectures: Vec<Architecture>,
    /// Measured loads per architecture and state; the median is reported.
    pub runs: u32,
    /// Seed of everything random.
    pub seed: u64,
}
