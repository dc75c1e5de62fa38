//! What a run leaves behind: rows for the table, loads for the waterfalls, a manifest to repeat it.

use crate::{Architecture, CacheState, Difference, Distribution, Grid, Rank, Source, TraceSeries, Wait};
use serde::{Deserialize, Serialize};

/// Everything one command found out about one scenario; what `--json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the scenario.
    pub scenario: String,
    /// One line for people.
    pub title: String,
    /// The physical limit, in s: no architecture over TCP can be faster, and none with shorter headers by more than 2 %; with users or a log the least of their rows'.
    pub limit_s: f64,
    /// One row per architecture, source, method and state.
    pub rows: Vec<Row>,
    /// Rows that cannot be filled, each with its reason.
    pub gaps: Vec<Gap>,
    /// The loads behind the rows, object by object.
    pub loads: Vec<Load>,
    /// The distributions behind rows of users or of a log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<Distribution>,
    /// How much longer users or a log waited through each further architecture than through the first, if that was simulated several times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// What the formulas say of the page's bytes as one TCP transfer, if they were asked.
    #[serde(flatten)]
    pub transfer: Option<TransferPrediction>,
    /// What simulating cost, if it was done.
    #[serde(flatten)]
    pub simulation: Option<SimulationCost>,
    /// The architectures in order of their predicted times, if they were predicted; the fastest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranking: Vec<Rank>,
    /// Times over a grid of values, if one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
    /// Queues, windows and sequence numbers over time, if a simulated run was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<TraceSeries>,
    /// What it takes to repeat the run.
    pub manifest: Manifest,
}

/// What obata-2001 says of the page's bytes as one transfer over an open TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TransferPrediction {
    /// Throughput (Eq 10, Eq 12 for small sizes), in bit/s; absent where the formulas give none.
    pub tcp_throughput_bit_s: Option<f64>,
    /// The window at which the down link saturates (Eq 13), in segments; absent where its rate is unlimited.
    pub saturation_window_segments: Option<f64>,
}

/// What a simulation cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SimulationCost {
    /// Events handled.
    pub event_count: u64,
    /// Packets passing a serializer with a finite rate or a delay.
    pub packet_hops: u64,
    /// CPU time, user and system, in s.
    pub cpu_s: f64,
    /// Largest resident memory of the process so far, in bytes.
    pub peak_rss_bytes: u64,
    /// Seed of everything random.
    pub seed: u64,
}

impl SimulationCost {
    /// The most memory that the process has had so far, in bytes; not that of whoever started it, which getrusage(2) would tell.
    pub fn peak_memory() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB"));
        peak.and_then(|kilobytes| kilobytes.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
    }
}

/// One number with its context: a cell of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What the far link carried.
    pub architecture: Architecture,
    /// Which engine.
    pub source: Source,
    /// The formula's name, the simulator's profile, or the client used for measuring.
    pub method: String,
    /// What was known before the load.
    pub state: CacheState,
    /// Number of loads behind the row.
    pub runs: u32,
    /// Median page load time: first action to last byte of the last object, in s.
    pub page_load_s: f64,
    /// Fastest, in s.
    pub page_load_min_s: f64,
    /// Slowest, in s.
    pub page_load_max_s: f64,
    /// Mean of the loads' times, in s, where one page was loaded several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_s: Option<f64>,
    /// Half-width of the mean's 95 % confidence interval, in s; absent with one load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_error_s: Option<f64>,
    /// Median time to the first byte of the first response's body, in s; absent where the method does not give it.
    pub first_byte_s: Option<f64>,
    /// Page bytes without headers × 8 / `page_load_s`, in bit/s.
    pub goodput_bit_s: f64,
    /// The physical limit, in s; with users or a log the median of their pages' or requests'.
    pub limit_s: f64,
    /// What a reader must know about the number.
    pub note: Option<String>,
    /// What the load waits for, where the method knows; the times add up to `page_load_s`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakdown: Vec<Wait>,
    /// What a population of users met, where there is one; `page_load_s` is then the median of their pages.
    #[serde(flatten)]
    pub users: Option<UserTimes>,
    /// What became of a log's requests, where one is replayed; `page_load_s` is then the median time of its own requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<RequestTimes>,
}

/// What became of a log's requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RequestTimes {
    /// Requests of the sample that were answered: those of the log itself, which are the same however its load is raised.
    pub sample_count: u64,
    /// Median of their times from the request's arrival to the reply's last byte, in s; where some were not answered the row's time is more.
    pub sample_p50_s: f64,
    /// 95th percentile of these times, in s.
    pub sample_p95_s: f64,
    /// Mean of these times, in s.
    pub sample_mean_s: f64,
    /// Half-width of the mean's 95 % confidence interval, over runs with other seeds, in s; absent with one.
    pub sample_mean_error_s: Option<f64>,
    /// Median of the times from the request's arrival to the first byte of the reply's body, in s.
    pub sample_first_byte_p50_s: f64,
    /// 95th percentile of these times, in s.
    pub sample_first_byte_p95_s: f64,
    /// Mean of these times, in s.
    pub sample_first_byte_mean_s: f64,
    /// What 95 % of the sample's requests had at least of bits of their replies by their times, in bit/s.
    pub sample_goodput_p5_bit_s: f64,
    /// What half of them had at least, in bit/s.
    pub sample_goodput_p50_bit_s: f64,
    /// The mean of that, in bit/s.
    pub sample_goodput_mean_bit_s: f64,
    /// Requests that were answered, those of further days and copies included.
    pub answered: u64,
    /// Requests that were not.
    pub unanswered: u64,
    /// Most bytes that waited for the link down at once.
    pub peak_queue_bytes: u64,
    /// Most bytes that waited for the link up at once.
    pub peak_queue_up_bytes: u64,
    /// Packets that the link dropped.
    pub dropped: u64,
    /// Most connections to servers at once.
    pub peak_connections: u64,
    /// The most that the relays at the gateway had received and not passed on, together; absent without relays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_gateway_buffer_bytes: Option<u64>,
    /// Share of the link's rate down that was used from the first request to the last; absent if it is unlimited, or if they came at once.
    pub down_used: Option<f64>,
    /// The same of its rate up.
    pub up_used: Option<f64>,
}

/// Response times that a population of users met.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UserTimes {
    /// Pages that were complete.
    pub count: u64,
    /// Median of the pages' times, in s.
    pub page_load_p50_s: f64,
    /// 95th percentile of the pages' times, in s.
    pub page_load_p95_s: f64,
    /// Mean of the pages' times, in s.
    pub page_load_mean_s: f64,
    /// Half-width of the mean's 95 % confidence interval, over replications, in s; absent with one.
    pub page_load_mean_error_s: Option<f64>,
    /// Objects that were complete.
    pub object_count: u64,
    /// Median of the objects' times, in s: from when the browser wants one to its last byte, waiting for a connection included.
    pub object_p50_s: f64,
    /// 95th percentile of the objects' times, in s.
    pub object_p95_s: f64,
    /// Mean of the objects' times, in s.
    pub object_mean_s: f64,
    /// Median of the times to the first byte of a page's first body, in s.
    pub first_byte_p50_s: f64,
    /// 95th percentile of these times, in s.
    pub first_byte_p95_s: f64,
    /// Mean of these times, in s.
    pub first_byte_mean_s: f64,
    /// What 95 % of the pages had at least of bits of their bodies by their times, in bit/s.
    pub goodput_p5_bit_s: f64,
    /// What half of them had at least, in bit/s.
    pub goodput_p50_bit_s: f64,
    /// The mean of that, in bit/s; `goodput_bit_s` is the bits of all pages by their times together.
    pub goodput_mean_bit_s: f64,
    /// Share of the link's rate down that was used in the measured time; absent if it is unlimited.
    pub down_used: Option<f64>,
    /// The same of the rate up, of all terminals' together.
    pub up_used: Option<f64>,
    /// Pages begun within the measured time that were not complete at its end.
    pub unfinished: u64,
    /// What was needed for them, at most.
    #[serde(flatten)]
    pub peaks: Peaks,
}

/// The most that was needed at once in a whole run, the first part of it included in which nothing is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Peaks {
    /// Transport connections.
    pub peak_connections: u64,
    /// What waited in the far link's queue down.
    pub peak_queue_down_bytes: u64,
    /// What waited in the far link's queue up, of any one terminal.
    pub peak_queue_up_bytes: u64,
    /// What the relays at the gateway had received and not passed on, together; absent without relays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_gateway_buffer_bytes: Option<u64>,
    /// The same at any one terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_terminal_buffer_bytes: Option<u64>,
}

/// A cell that nobody can fill, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// What the far link would have carried.
    pub architecture: Architecture,
    /// Which engine could not.
    pub source: Source,
    /// Why not.
    pub reason: String,
}

/// One load of the page, object by object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// What the far link carried.
    pub architecture: Architecture,
    /// Which engine.
    pub source: Source,
    /// What was known before the load.
    pub state: CacheState,
    /// Which repetition, from 0.
    pub run: u32,
    /// First action to last byte of the last object, in s.
    pub page_load_s: f64,
    /// First action to first byte of the first body, in s.
    pub first_byte_s: f64,
    /// Every object, in the order of the page.
    pub objects: Vec<ObjectTiming>,
    /// What the far link carried while the page loaded.
    pub link: Vec<LinkSample>,
    /// What it needed of the network, where that is known: of what is simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
}

/// What one load needed of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// At most at once.
    #[serde(flatten)]
    pub peaks: Peaks,
    /// Packets that the far link dropped or lost.
    pub dropped: u64,
}

/// When what happened to one object; times in s since the load's first action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectTiming {
    /// Name.
    pub name: String,
    /// Bytes of the body that arrived.
    pub bytes: u64,
    /// Which of the client's connections carried it, from 0.
    pub connection: u32,
    /// The client learned of the object.
    pub discovered_s: f64,
    /// The connection was begun, with its SYN or the lookup of its host's name, if it was opened for this object.
    pub connect_s: Option<f64>,
    /// The request was sent.
    pub request_s: f64,
    /// The first byte of the response's body arrived.
    pub first_byte_s: f64,
    /// The last byte arrived.
    pub end_s: f64,
    /// SHA-256 of the body, hexadecimal, where bytes are real.
    pub sha256: Option<String>,
}

/// What the far link carried in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkSample {
    /// Start of the interval, in s since the load's first action.
    pub start_s: f64,
    /// Length of the interval, in s.
    pub span_s: f64,
    /// Bits delivered gateway → terminal per second.
    pub down_bit_s: f64,
    /// Bits delivered terminal → gateway per second.
    pub up_bit_s: f64,
}

/// What it takes to repeat a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Manifest {
    /// farhop's version.
    pub version: String,
    /// The command as typed.
    pub command: Vec<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// Host name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// TCP settings that were in force inside, name and value.
    pub tcp: Vec<(String, String)>,
    /// The emulator's own quality, where it ran.
    pub emulation: Option<EmulationQuality>,
    /// The scenario as resolved, in TOML.
    pub resolved: String,
}

/// How late the emulator delivered packets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EmulationQuality {
    /// Packets delivered.
    pub packets: u64,
    /// Median lateness, in s.
    pub lateness_p50_s: f64,
    /// 99th percentile of lateness, in s.
    pub lateness_p99_s: f64,
    /// Largest lateness, in s.
    pub lateness_max_s: f64,
    /// The bound that p99 must keep for the run to be valid, in s.
    pub bound_s: f64,
}

impl EmulationQuality {
    /// Whether the emulator kept its bound, so that what was measured behind it counts.
    pub fn is_valid(&self) -> bool {
        self.lateness_p99_s <= self.bound_s
    }
}
