//! The flags of `farhop log`: what the log to be made is like.

use clap::{Args as ClapArgs, value_parser};
use farhop_units::{Bytes, ParseError, duration};
use farhop_web::distribution::Distribution;
use farhop_web::logs::Parameters;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, ClapArgs)]
pub(crate) struct Log {
    /// Write the log into this file instead of to stdout
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Write the servers' host file for log.hosts here: number, name, largest window and segment size of each
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts: Option<PathBuf>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    #[command(flatten)]
    shape: Shape,
}

/// What is asked for, of whom, and how often. What is not given is as in the reproduction of nz-us-2000.
#[derive(Debug, ClapArgs)]
struct Shape {
    /// Requests in the log
    #[arg(long, value_name = "N", default_value_t = usual().requests, value_parser = value_parser!(u32).range(1..=1_000_000))]
    requests: u32,
    /// Time in which they come
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = within_a_day)]
    duration: Duration,
    /// Which day's log; days of one seed share their servers, and lie over each other as log.file = ["day0", "day1"]
    #[arg(long, value_name = "N", default_value_t = usual().day, value_parser = value_parser!(u32).range(..=10_000))]
    day: u32,
    /// Clients behind the proxy
    #[arg(long, value_name = "N", default_value_t = usual().clients, value_parser = value_parser!(u32).range(1..=65_536))]
    clients: u32,
    /// Rank of a visit's server by popularity, from 1 to a million
    #[arg(long, value_name = "DISTRIBUTION", default_value_t = usual().popularity)]
    popularity: Distribution<f64>,
    /// Requests of a visit to a server: a page and its images
    #[arg(long, value_name = "DISTRIBUTION", default_value_t = usual().visit_requests)]
    visit_requests: Distribution<f64>,
    /// Time between the requests of a visit
    #[arg(long, value_name = "DISTRIBUTION", default_value_t = usual().gaps)]
    gaps: Distribution<Duration>,
    /// Sizes of replies
    #[arg(long, value_name = "DISTRIBUTION", default_value_t = usual().reply_sizes)]
    reply_sizes: Distribution<Bytes>,
    /// What a server sends in a second on average
    #[arg(long, value_name = "DISTRIBUTION", default_value_t = usual().server_rates)]
    server_rates: Distribution<Bytes>,
    /// Time from a request's arrival to the reply's first byte
    #[arg(long, value_name = "DISTRIBUTION", default_value_t = usual().server_delays)]
    server_delays: Distribution<Duration>,
    /// Largest windows of servers, for the host file
    #[arg(long, value_name = "DISTRIBUTION", default_value_t = usual().windows)]
    windows: Distribution<Bytes>,
    /// Segment sizes of servers, for the host file
    #[arg(long, value_name = "DISTRIBUTION", default_value_t = usual().segment_sizes)]
    segment_sizes: Distribution<Bytes>,
}

fn usual() -> Parameters {
    Parameters::default()
}

/// Days of a log begin a day apart, each at the same hour.
fn within_a_day(text: &str) -> Result<Duration, ParseError> {
    let time = duration::parse(text)?;
    let accepted = Duration::from_millis(1)..=Duration::from_secs(86_400);
    if accepted.contains(&time) { Ok(time) } else { Err(ParseError::new("out of range", "1 ms to 24 h")) }
}

impl Log {
    /// What the flags say.
    pub(crate) fn parameters(&self) -> Parameters {
        let shape = &self.shape;
        Parameters {
            requests: shape.requests,
            interval: shape.duration,
            day: shape.day,
            clients: shape.clients,
            popularity: shape.popularity.clone(),
            visit_requests: shape.visit_requests.clone(),
            gaps: shape.gaps.clone(),
            reply_sizes: shape.reply_sizes.clone(),
            server_rates: shape.server_rates.clone(),
            server_delays: shape.server_delays.clone(),
            windows: shape.windows.clone(),
            segment_sizes: shape.segment_sizes.clone(),
            ..usual()
        }
    }
}
