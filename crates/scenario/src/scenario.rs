//! A scenario, resolved: every value present, checked and in its own type.

use crate::Multicast;
use farhop_link::ChannelConfig;
use farhop_results::Architecture;
use farhop_tcp::TcpConfig;
use farhop_units::{Bytes, Probability, Rate};
use farhop_web::logs::{Hosts, LogRecord};
use farhop_web::users::UserModel;
use farhop_web::{HttpConfig, Object, Page};
use std::sync::Arc;
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
    /// What is loaded; where there are users or a log and no page is given, their typical page.
    pub page: Page,
    /// How the page was read from a recording, and what of that could not be used; a resolved file has these as comments only.
    pub page_notes: Vec<String>,
    /// It was recorded over TLS, which is then the default; a resolved file says so in `http.tls`.
    pub page_is_sealed: bool,
    /// Who loads pages of their own, for hours; absent where one client loads `page`.
    pub users: Option<Users>,
    /// Whose requests are made again; absent where one client loads `page`, or users do.
    pub log: Option<Log>,
    /// How the client asks for it.
    pub http: HttpConfig,
    /// How `rwbp` sends.
    pub rwbp: RwbpSettings,
    /// What the gateway sends to all terminals, ahead of everything else.
    pub multicast: Option<Multicast>,
    /// Where `prefetch-conventional` has its prefetching proxy.
    pub prefetch_at: PrefetchSide,
    /// TCP connections between the proxies of `multiplexed`, for each terminal.
    pub multiplexed_connections: usize,
    /// What to run.
    pub run: RunConfig,
}

impl Scenario {
    /// Whether `page` is not one that is loaded but stands for those of the users or the requests of the log.
    pub fn has_typical_page(&self) -> bool {
        typical_page(self.users.as_ref(), self.log.as_ref()).as_ref() == Some(&self.page)
    }
}

/// What stands for the pages of users or the requests of a log.
pub(crate) fn typical_page(users: Option<&Users>, log: Option<&Log>) -> Option<Page> {
    users.map(|users| users.model.typical_page()).or_else(|| log.map(Log::typical_page))
}

/// How the proxies of `rwbp` send (zhou-2004).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RwbpSettings {
    /// Data packets per acknowledgement: the paper's N.
    pub ack_every: u32,
    /// What one flow sends at most, headers included; absent where that is the link's rate.
    pub peak_rate: Option<Rate>,
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
    /// Half of the 95 % confidence interval of the mean page time, relative to that, below which no more replications are needed.
    pub precision: Probability,
}

impl Users {
    /// What is left of the virtual time after the warm-up.
    pub fn measured(&self) -> Duration {
        self.duration.saturating_sub(self.warm_up)
    }
}

/// A log whose requests are made again.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The requests that count, those of several days laid over each other, in the order of their times.
    pub records: Arc<[LogRecord]>,
    /// What is known of the servers' TCP.
    pub hosts: Hosts,
    /// So many copies of all requests come beside them.
    pub copies: u32,
    /// So much later each than the one before.
    pub shift: Duration,
    /// What the recorded times are multiplied by: servers that are slower or faster.
    pub server_time: f64,
    /// How it was read, and what of it could not be used; a resolved file has these as comments only.
    pub notes: Vec<String>,
}

impl Log {
    /// A page of one object that is requested, answered and as long as those of the log on average.
    pub fn typical_page(&self) -> Page {
        let count = self.records.len().max(1);
        let mean = |bytes: &dyn Fn(&LogRecord) -> Bytes| {
            let sum: u128 = self.records.iter().map(|record| u128::from(bytes(record).get())).sum();
            Bytes::new(u64::try_from(sum / count as u128).unwrap_or(u64::MAX))
        };
        let times = self.records.iter().filter_map(|record| record.duration);
        let time = times.fold(Duration::ZERO, Duration::saturating_add) / u32::try_from(count).unwrap_or(u32::MAX);
        let mut object = Object::new("reply", "text/html", mean(&|record| record.reply_bytes));
        if self.records.iter().all(|record| record.request_bytes.is_some()) {
            object.request_bytes = Some(mean(&|record| record.request_bytes.unwrap_or_default()));
        }
        object.response_header_bytes = Some(Bytes::ZERO);
        object.think = time.mul_f64(self.server_time);
        Page { objects: vec![object], hosts: vec![Page::HOST.into()] }
    }
}

/// What to run, how often, from which seed.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConfig {
    /// Architectures, in the order of the table.
    pub architectures: Vec<Architecture>,
    /// Loads per architecture and state, measured, and simulated at most; the median is reported.
    pub runs: u32,
    /// Half of the 95 % confidence interval of a page's or a log's mean time, relative to that, below which no more simulated runs are needed; zero
    /// where all are.
    pub precision: Probability,
    /// Seed of everything random.
    pub seed: u64,
}
