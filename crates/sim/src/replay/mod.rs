//! A proxy's log replayed: requests at their recorded times from one proxy over the far link to many servers (nz-us-2000).
//!
//! From the paper: the proxy at the slow end opens a connection for each request, or with HTTP/1.1 takes an idle one to the same
//! server, which is closed when it has been idle for the persistence timeout. With a proxy at the fast end too, k connections between
//! the two stay open and carry all requests and replies, multiplexed; the reply takes the connection with the fewest bytes waiting or
//! unacknowledged when its first segment arrives from the server. Servers release replies segment by segment, so that the last
//! one leaves when the recorded time is over. Windows and segment sizes of servers are those of the host file.
//!
//! Ours: requests choose their connection between the proxies as replies do. Between the fast end's proxy and the servers the
//! recorded time is all that passes, no TCP is simulated; without that proxy it passes beside what TCP takes over the link. Left
//! out, as in the paper: caches, clients behind the proxy, errors, processing times.

mod connection;
mod world;

use crate::metrics::Histogram;
use farhop_link::ChannelConfig;
use farhop_tcp::TcpConfig;
use farhop_units::Bytes;
use farhop_web::logs::{Hosts, LogRecord};
use std::time::Duration;

/// What a log is replayed over.
#[derive(Debug, Clone)]
pub struct ReplayConfig {
    /// The far link: servers send down, the proxy of the log is the terminal.
    pub link: ChannelConfig,
    /// TCP between the proxies; connections to servers have the server's segments, and its window if that is smaller.
    pub tcp: TcpConfig,
    /// Connections between two proxies, if there is one at the fast end.
    pub proxies: Option<u32>,
    /// How long connections to servers stay open when idle; `None` is HTTP/1.0.
    pub persistence: Option<Duration>,
    /// What the recorded times are multiplied by.
    pub server_time: f64,
    /// Seed of the link's random numbers.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Of the requests of layer 0 ([`LogRecord::layer`]): from arrival at the proxy to the reply's last byte.
    latencies: Histogram,
    /// Requests of all layers that were answered in full.
    pub answered: u64,
    /// Requests that were not.
    pub unanswered: u64,
    /// Most bytes that waited for the link down.
    pub peak_buffer: Bytes,
    /// Packets that the link dropped.
    pub dropped: u64,
    /// Most connections to servers at once.
    pub peak_sessions: usize,
    /// Share of the link's rate down that was used from the first request to the last; `None` if it is unlimited.
    pub used: Option<f64>,
}

impl Replayed {
    /// Mean latency of the sample, in s.
    pub fn mean_latency_s(&self) -> f64 {
        self.latencies.mean()
    }

    /// How many requests of the sample were answered.
    pub fn sample_count(&self) -> u64 {
        self.latencies.count()
    }
}

/// Replays `records`, in the order of their times; a host that is not in `hosts` has the common values.
///
/// # Errors
/// Why not: a TCP configuration that contradicts itself, or more than the simulator can hold.
pub fn replay(config: &ReplayConfig, records: &[LogRecord], hosts: &Hosts) -> Result<Replayed, String> {
    world::World::new(config, records, hosts).run().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_web::logs::{Parameters, generate, generate_hosts};

    fn config(change: impl Fn(&mut ReplayConfig)) -> ReplayConfig {
        let scenario = farhop_scenario::open("nz-us", &[]).expect("it is shipped");
        let mut config = ReplayConfig {
            link: scenario.link,
            tcp: scenario.tcp,
            proxies: None,
            persistence: None,
            server_time: 1.0,
            seed: 1,
        };
        change(&mut config);
        config
    }

    fn replayed(change: impl Fn(&mut ReplayConfig)) -> Replayed {
        let parameters = Parameters { requests: 150, ..Parameters::default() };
        let (records, hosts) = (generate(&parameters, 1), generate_hosts(&parameters, 1));
        let replayed = replay(&config(change), &records, &hosts).expect("it can be replayed");
        assert_eq!((replayed.answered, replayed.unanswered, replayed.sample_count()), (150, 0, 150));
        replayed
    }

    /// A record of a request of 300 B for 10 kB that took 1 s, so many milliseconds after the first.
    fn record(ms: u64) -> LogRecord {
        let mut record = generate(&Parameters { requests: 1, ..Parameters::default() }, 1).remove(0);
        record.at = Duration::from_secs(1000) + Duration::from_millis(ms);
        (record.request_bytes, record.reply_bytes) = (Some(Bytes::new(300)), Bytes::kb(10));
        record.duration = Some(Duration::from_secs(1));
        record
    }

    #[test]
    fn one_request_takes_its_round_trips_and_the_servers_time() {
        let latency = |change: &dyn Fn(&mut ReplayConfig), records: &[LogRecord]| {
            replay(&config(change), records, &Hosts::default()).expect("it can be replayed").mean_latency_s()
        };
        let base = latency(&|_| {}, &[record(0)]);
        // Two round trips of 0.38 s, and the reply within a second.
        assert!((1.5..2.3).contains(&base), "{base}");
        let proxied = latency(&|config| config.proxies = Some(4), &[record(0)]);
        // One round trip and the reply within a second; the new connection's slow start holds back the last segments.
        assert!((1.38..base - 0.1).contains(&proxied), "{proxied} instead of {base}");
        let twice = [record(0), record(5000)];
        let kept = latency(&|config| config.persistence = Some(Duration::from_secs(15)), &twice);
        // The second needs no handshake, but the ACK of its only segment in flight may be delayed.
        assert!(kept < base - 0.05, "{kept} instead of {base}");
        let gone = latency(&|config| config.persistence = Some(Duration::from_secs(2)), &twice);
        assert!((gone - base).abs() < 1e-9, "it is closed by then: {gone}, {base}, {kept}");
    }

    #[test]
    fn proxies_and_persistence_save_time_and_cost_sessions() {
        let base = replayed(|_| {});
        let kept = replayed(|config| config.persistence = Some(Duration::from_secs(15)));
        let proxied = replayed(|config| config.proxies = Some(4));
        assert!(kept.mean_latency_s() < base.mean_latency_s());
        assert!(proxied.mean_latency_s() < kept.mean_latency_s());
        assert!(proxied.peak_sessions <= base.peak_sessions && base.peak_sessions < kept.peak_sessions);
    }

    #[test]
    fn a_full_buffer_drops_and_everything_arrives_all_the_same() {
        let full = replayed(|config| {
            config.link.down.rate = Some(farhop_units::Rate::kbps(64));
            config.link.down.queue = farhop_link::QueueLimit::Packets(20);
        });
        assert!(full.dropped > 0 && full.used.is_some_and(|used| used > 0.5), "{full:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_result() {
        assert_eq!(replayed(|config| config.proxies = Some(2)), replayed(|config| config.proxies = Some(2)));
    }
}
