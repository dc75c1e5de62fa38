//! A log in the spirit of nz-us-2000's, whose own is not public: ten minutes of a national exchange's requests to servers abroad.
//!
//! The paper says: 15:00 to 15:10 on days of July 1997, 421 successful requests per interval that no cache answered, a host for each, the
//! sizes of request and reply, the time taken beyond the far end. It says nothing of how these are distributed.
//!
//! Ours, and parameters of [`Parameters`]: requests come in visits to one host (a page and its images), visits at any time of the interval
//! alike; hosts are as popular as Zipf's law says; every host has a mean rate, at which its replies come, and a time to the first byte.
//! The sizes of requests are those of Choi and Limb. A parameter to calibrate a base case with is `server_rates`.
//!
//! A host's name, rate, window and segment size depend on the seed alone, so that several days of the same seed share their hosts. Left out:
//! how the load varies within the interval, and errors.

use super::merge::DAY;
use super::{Host, Hosts, LogRecord};
use crate::distribution::Distribution;
use core::str::FromStr;
use farhop_units::{
    Bytes, ParseError,
    random::{Dice, Stream},
};
use std::time::Duration;

/// What a generated log is like.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Beginning of the interval on day 0, since the Unix epoch.
    pub begin: Duration,
    /// Length of the interval.
    pub interval: Duration,
    /// Day, from 0; each has visits of its own.
    pub day: u32,
    /// Requests in the interval.
    pub requests: u32,
    /// Clients, which are all alike.
    pub clients: u32,
    /// Rank of a visit's host, from 1; ranks above a million count as a million.
    pub popularity: Distribution<f64>,
    /// Requests of a visit; at least one.
    pub visit_requests: Distribution<f64>,
    /// Time between the requests of a visit.
    pub gaps: Distribution<Duration>,
    /// Sizes of requests.
    pub request_sizes: Distribution<Bytes>,
    /// Sizes of replies.
    pub reply_sizes: Distribution<Bytes>,
    /// What hosts send in a second on average.
    pub server_rates: Distribution<Bytes>,
    /// What a reply's rate is of its host's.
    pub rate_factors: Distribution<f64>,
    /// From the request's arrival at the server to the first byte.
    pub server_delays: Distribution<Duration>,
    /// Largest windows of hosts.
    pub windows: Distribution<Bytes>,
    /// Largest segments of hosts.
    pub segment_sizes: Distribution<Bytes>,
}

/// Reads one of the values below; a test reads all.
fn assumed<T: FromStr<Err = ParseError>>(text: &str) -> T {
    text.parse().expect("assumed values are readable")
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            // 15 July 1997, 15:00 in New Zealand.
            begin: Duration::from_secs(868_935_600),
            interval: Duration::from_secs(600),
            day: 0,
            requests: 421,
            clients: 100,
            popularity: assumed("zipf count=200 exponent=0.8"),
            visit_requests: assumed("gamma mean=4 deviation=4"),
            gaps: assumed("exponential mean=800ms"),
            request_sizes: assumed("lognormal mean=360B deviation=107B"),
            reply_sizes: assumed("lognormal mean=10kB deviation=30kB from=150B to=4MB"),
            server_rates: assumed("lognormal mean=20kB deviation=25kB from=1kB to=1MB"),
            rate_factors: assumed("lognormal mu=0 sigma=0.5 from=0.1 to=10"),
            server_delays: assumed("exponential mean=400ms"),
            windows: assumed(
                "50% constant value=8192B | 30% constant value=8760B | 15% constant value=16384B | 5% constant value=32768B",
            ),
            segment_sizes: assumed(
                "60% constant value=1480B | 25% constant value=1460B | 10% constant value=536B | 5% constant value=512B",
            ),
        }
    }
}

/// The generator's purpose among the streams of a seed, and its parts.
const PURPOSE: u64 = 0x6c6f_6773;
const HOSTS: u64 = 0;
const DAYS: u64 = 1;

/// The log of an interval: exactly as many requests as asked for, to the millisecond, in the order of their arrival.
pub fn generate(parameters: &Parameters, seed: u64) -> Vec<LogRecord> {
    let stream = Stream::new(seed, PURPOSE);
    let visits = stream.split(DAYS).split(u64::from(parameters.day));
    let wanted = parameters.requests as usize;
    let mut records = Vec::with_capacity(wanted);
    for visit in (0..).map(|number| visits.split(number)) {
        let rest = wanted - records.len();
        if rest == 0 {
            break;
        }
        records.extend(parameters.visit(visit, stream.split(HOSTS)).take(rest));
    }
    records.sort_by_key(|record: &LogRecord| record.at);
    records
}

/// The host file that belongs to the logs of this seed.
pub fn generate_hosts(parameters: &Parameters, seed: u64) -> Hosts {
    let stream = Stream::new(seed, PURPOSE).split(HOSTS);
    let last = rank(&parameters.popularity, 1.0 - f64::EPSILON);
    let mut hosts = Hosts::default();
    for rank in 1..=last {
        let mut dice = Dice::new(stream.split(u64::from(rank)));
        // The first number is the rate's.
        dice.bits();
        let (max_window, mss) = (parameters.windows.draw(&mut dice), parameters.segment_sizes.draw(&mut dice));
        hosts.push(Host { id: rank - 1, name: name(rank), max_window, mss });
    }
    hosts
}

fn name(rank: u32) -> String {
    format!("www{rank}.example.com")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ranks are whole numbers up to a million")]
fn rank(popularity: &Distribution<f64>, uniform: f64) -> u32 {
    // A host file of more would not fit into memory where popularity has a heavy tail.
    const MOST: f64 = 1e6;
    popularity.at(uniform).round().clamp(1.0, MOST) as u32
}

impl Parameters {
    /// The requests of one visit.
    fn visit(&self, stream: Stream, hosts: Stream) -> impl Iterator<Item = LogRecord> {
        let mut dice = Dice::new(stream);
        let start = self.interval.mul_f64(dice.uniform());
        let rank = rank(&self.popularity, dice.uniform());
        let client = dice.below(u64::from(self.clients));
        let count = self.visit_requests.draw(&mut dice).round().max(1.0);
        let host_rate = self.server_rates.draw(&mut Dice::new(hosts.split(u64::from(rank))));
        let mut since_start = Duration::ZERO;
        (0..u32::MAX).take_while(move |place| f64::from(*place) < count).map(move |place| {
            let mut dice = Dice::new(stream.split(u64::from(place)));
            let offset = start.saturating_add(since_start);
            since_start = since_start.saturating_add(self.gaps.draw(&mut dice));
            let (url, media_type) = match place {
                0 => (format!("http://{}/page{}.html", name(rank), stream.bits(0) % 1000), "text/html"),
                _ => (format!("http://{}/image{place}.gif", name(rank)), "image/gif"),
            };
            let (request_bytes, reply_bytes) = (self.request_sizes.draw(&mut dice), self.reply_sizes.draw(&mut dice));
            LogRecord {
                at: self.begin.saturating_add(DAY.saturating_mul(self.day)).saturating_add(self.within(offset)),
                client: format!("10.0.{}.{}", client / 256 % 256, client % 256).into(),
                method: "GET".into(),
                url: url.into(),
                status: Some(200),
                outcome: Some("TCP_MISS".into()),
                hierarchy: Some("DIRECT".into()),
                request_bytes: Some(request_bytes),
                reply_bytes,
                duration: Some(self.duration(reply_bytes, host_rate, &mut dice)),
                media_type: Some(media_type.into()),
                layer: 0,
            }
        })
    }

    /// An offset within the interval: what would come after its end comes at its beginning.
    fn within(&self, offset: Duration) -> Duration {
        let milliseconds = offset.as_millis() % self.interval.as_millis().max(1);
        Duration::from_millis(u64::try_from(milliseconds).unwrap_or_default())
    }

    /// How long a reply of a host with this rate takes, in whole milliseconds and at least one.
    fn duration(&self, reply: Bytes, host_rate: Bytes, dice: &mut Dice) -> Duration {
        let rate = host_rate.as_f64().max(1.0) * self.rate_factors.draw(dice).max(0.001);
        let delay = self.server_delays.draw(dice);
        let took = delay.saturating_add(Duration::try_from_secs_f64(reply.as_f64() / rate).unwrap_or(Duration::MAX));
        Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX).clamp(1, MOST_MILLISECONDS))
    }
}

/// A day: longer replies are mistakes.
const MOST_MILLISECONDS: u64 = 86_400_000;
