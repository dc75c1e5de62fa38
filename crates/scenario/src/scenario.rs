//! A scenario, resolved: every value present, checked and in its own type.

use farhop_link::ChannelConfig;
use farhop_results::Architecture;
use farhop_tcp::TcpConfig;
use farhop_web::users::UserModel;
use farhop_web::{HttpConfig, Page};
use std::time::Duration;

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
    /// What is loaded; where there are users and no page is given, their typical page.
    pub page: Page,
    /// How the page was read from a recording, and what of that could not be used; a resolved file has these as comments only.
    pub page_notes: Vec<String>,
    /// Who loads pages of their own, for hours; absent where one client loads `page`.
    pub users: Option<Users>,
    /// How the client asks for it.
    pub http: HttpConfig,
    /// Data packets per acknowledgement of RWBP: N of zhou-2004.
    pub rwbp_ack_every: u32,
    /// Where `prefetch-conventional` has its prefetching proxy.
    pub prefetch_at: PrefetchSide,
    /// TCP connections between the proxies of `multiplexed`, for each terminal.
    pub multiplexed_connections: usize,
    /// What to run.
    pub run: RunConfig,
}

/// Where a prefetching proxy stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrefetchSide {
    /// At the terminal: it sees a document when it has crossed the link.
    #[default]
    Near,
    /// At the gateway: what it has fetched must still be asked for across the link.
    Far,
}

/// A population of users.
#[derive(Debug, Clone, PartialEq)]
pub struct Users {
    /// What they want.
    pub model: UserModel,
    /// How many share a terminal.
    pub per_terminal: u32,
    /// Virtual time of a simulation, the warm-up included.
    pub duration: Duration,
    /// At the beginning; what is asked for meanwhile does not count.
    pub warm_up: Duration,
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
