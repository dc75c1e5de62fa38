//! A log's requests made again at their times: one proxy at a terminal asks, through every architecture (nz-us-2000).
//!
//! From the paper: the proxy opens a connection for each request, or from HTTP/1.1 on takes an idle one to the same host and port, which is closed
//! when it has been idle for the persistence timeout. Ours: a request that waits for a connection to open takes one that is idle sooner; a tunnel
//! (`CONNECT`) has a connection of its own, which is closed when it has ended (RFC 9110 §9.3.6).
//! Servers release replies segment by segment, so that the last one leaves when the recorded time is over. Windows and segment sizes of
//! servers are those of the host file. What is told is how long the requests of the log itself took, which are the same however its load is
//! raised.
//!
//! The proxy is at the terminal, so that no lan is crossed; where there is no wan servers are at the gateway, and what passes between them and
//! a proxy there is the recorded time alone.
//!
//! So each port of a server and each tunnel has a client of its own, whose page is all that the log asks there, each object at its time.
//! Left out, as in the paper: caches, errors, processing times, and the clients behind the proxy.

use crate::architecture::Chain;
use crate::client::{Arrival, Client, LogServer};
use crate::error::patience;
use crate::meter::{Meter, Usage};
use crate::metrics::{Histogram, Metrics};
use crate::network::Drops;
use crate::replications::{Replicated, Watch};
use crate::report;
use crate::trace::Slot;
use crate::world::World;
use farhop_link::{ChannelConfig, Count, Direction, Framing};
use farhop_model::Limit;
use farhop_scenario::{HEADER_BYTES, Log, Profile, Scenario, TcpConfig};
use farhop_units::{Bytes, Instant};
use farhop_web::logs::{Hosts, LogRecord, Raised, raised};
use farhop_web::{Object, Page};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// The log begins when what architectures keep open has long been there.
const HEAD_START: Duration = Duration::from_secs(30);
/// How often progress is told.
const STEPS: u32 = 200;
/// A burst with which the link is busy for longer than this is more than it carries.
const LONG: Duration = Duration::from_secs(60);

/// What became of the requests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Replayed {
    /// The sample's times as those of pages, all times as those of objects.
    pub(crate) metrics: Metrics,
    /// Requests that were not answered.
    pub(crate) unanswered: u64,
    /// Most bytes that waited for the link, down and up.
    pub(crate) peak_queues: [Bytes; 2],
    /// Packets that the parts of the network dropped.
    pub(crate) dropped: Drops,
    /// The most that relays at the gateway held together, if there are relays: at terminals requests begin.
    pub(crate) relayed: Option<Bytes>,
    /// Most connections to servers at once.
    pub(crate) peak_sessions: usize,
    /// From the first request to the last, for how many ns there were how many.
    pub(crate) sessions: Histogram,
    /// What the link delivered from the first request to the last, down and up.
    pub(crate) carried: [Bytes; 2],
    /// How much it did and what waited for it in that time, interval by interval.
    pub(crate) usage: Usage,
    /// How long that was.
    pub(crate) span: Duration,
    pub(crate) events: u64,
    pub(crate) hops: u64,
}

impl Replayed {
    /// The mean of the sample's times, if there are any.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.metrics.pages.count() > 0).then(|| self.metrics.pages.mean())
    }
}

/// Makes the requests of `log`, watched in virtual time, with that of the last request beside it.
pub(crate) fn replay(
    (scenario, log): (&Scenario, &Log),
    chain: Chain,
    (seed, run): (u64, u32),
    trace: &Slot,
    watch: &mut Watch<'_, (Duration, Duration)>,
) -> Replicated<Replayed> {
    let chain = chain.without_ends(scenario.wan.is_transparent());
    let (clients, requests, span) = clients(scenario, log);
    let from = Instant::START + HEAD_START;
    let meter = Meter::of_many(from, span, report::serializers(scenario));
    let mut world = World::new((scenario, chain), seed, clients, meter, Metrics::new(from));
    world.begin_trace(trace.take(run));
    let sessions = go(&mut world, requests, (from + span, patience_with(scenario)), watch);
    trace.put(world.end_trace());
    let Some(sessions) = sessions? else { return Ok(None) };
    let (metrics, meter) = (world.metrics().clone(), world.network().meter());
    Ok(Some(Replayed {
        unanswered: requests - metrics.objects.count(),
        metrics,
        peak_queues: Direction::BOTH.map(|direction| meter.peak_queue(direction)),
        dropped: world.network().traffic().dropped_by,
        relayed: world.buffers().peaks()[0],
        peak_sessions: world.legs().sessions().peak(),
        sessions,
        carried: Direction::BOTH.map(|direction| meter.total(direction)),
        usage: meter.usage(span),
        span,
        events: world.event_count(),
        hops: world.network().traffic().hops,
    }))
}

/// How long answers are waited for when the last request has come: no answer at all takes less than a reply of nothing.
pub(crate) fn patience_with(scenario: &Scenario) -> Duration {
    patience(Limit::of(scenario).of_reply(None, Bytes::ZERO))
}

/// Lets things happen until all requests are answered, or nobody would wait any longer; returns for how many ns until the last request there
/// were how many connections to servers, unless nobody wants to know any more.
fn go(
    world: &mut World<'_>,
    requests: u64,
    (last, patience): (Instant, Duration),
    watch: &mut Watch<'_, (Duration, Duration)>,
) -> Replicated<Histogram> {
    let (mut next_step, mut sessions) = (Instant::START, None);
    while world.metrics().objects.count() < requests {
        let Some(at) = world.step()?.filter(|at| *at <= last + patience) else { break };
        watch.check_size(world)?;
        if at > last && sessions.is_none() {
            sessions = Some(world.legs().sessions().until(last));
        }
        if at >= next_step {
            next_step = at + (last - Instant::START) / STEPS;
            if !watch.has_reached((at - Instant::START, last - Instant::START)) {
                return Ok(None);
            }
        }
    }
    Ok(Some(sessions.unwrap_or_else(|| world.legs().sessions().until(last))))
}

/// Whether the log asks for more than one of the link's directions carries, however little of it connections get to use.
///
/// From its first request to its last that is so if what could be carried before the last one comes, at the link's mean rate and when it has
/// nothing else to do, is more than all: of a burst shortly before that most is not asked for in that time. Such a burst is too much if the link is
/// busy with it for long: if all takes a minute longer than that time and the largest reply alone, of which counts how long one is waited for.
pub(crate) fn asks_too_much(scenario: &Scenario, log: &Log) -> bool {
    let (limit, mss) = (Limit::of(scenario), scenario.tcp.mss.max(TcpConfig::of(Profile::Linux).mss));
    let all: Vec<Raised<'_>> = raised(&log.records, log.copies, log.shift).collect();
    let times = all.iter().map(|raised| raised.at);
    let (Some(first), Some(last)) = (times.clone().min(), times.max()) else { return false };
    let span = last - first;
    let is_too_much = |direction: Direction| {
        let within = span.max(Duration::from_secs(1));
        let Some(capacity) = capacity(scenario, direction, within) else { return false };
        let (mut asked, mut whole, mut largest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for Raised { record, at, .. } in &all {
            let request = record.request_bytes.unwrap_or(scenario.http.request_bytes);
            let bytes = if direction == Direction::Down { record.reply_bytes } else { request };
            let packets = bytes.get().div_ceil(mss.get());
            // With headers of packets as large as any.
            let wire = on_wire(direction.of(&scenario.link).framing, bytes + HEADER_BYTES * packets, packets);
            let sending = Duration::try_from_secs_f64(within.as_secs_f64() * wire / capacity).unwrap_or(Duration::MAX);
            let begins = limit.of_reply(Some(request), Bytes::ZERO) + takes(record, log);
            asked = asked.saturating_add(sending.min((last - *at).saturating_sub(begins)));
            (whole, largest) = (whole.saturating_add(sending), largest.max(sending));
        }
        asked > span || whole > span.saturating_add(largest.min(patience_with(scenario))).saturating_add(LONG)
    };
    Direction::BOTH.into_iter().any(is_too_much)
}

/// What a direction can carry from the first request to the last, in bits, for the one terminal that has any; `None` is no bound.
pub(crate) fn capacity(scenario: &Scenario, direction: Direction, span: Duration) -> Option<f64> {
    let from = Instant::START + HEAD_START;
    let whole = direction.of(&scenario.link).capacity(from, from + span)?;
    Some(if direction == Direction::Up { whole * share_of_one(&scenario.link) } else { whole })
}

/// What one terminal may have of the way up.
fn share_of_one(link: &ChannelConfig) -> f64 {
    link.up.rate.map_or(1.0, |rate| link.access.most_of_one(link.terminals, rate, link.rtt()))
}

/// What packets of so many bytes in all are on the wire, in bits.
fn on_wire(framing: Framing, bytes: Bytes, packets: u64) -> f64 {
    let bytes = framing.work(Count { packets, bytes }) / framing.work_per_byte();
    Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX)).bits_f64()
}

/// From a request's arrival at its server to the end of the reply there.
fn takes(record: &LogRecord, log: &Log) -> Duration {
    record.duration.unwrap_or_default().mul_f64(log.server_time)
}

/// A client for each [`Target`], how many requests they make, and the time from the first to the last.
fn clients(scenario: &Scenario, log: &Log) -> (Vec<Client>, u64, Duration) {
    let begin = log.records.first().map(|record| record.at).unwrap_or_default();
    let mut all: Vec<Raised<'_>> = raised(&log.records, log.copies, log.shift).collect();
    all.sort_by_key(|raised| raised.at);
    let span = all.last().map_or(Duration::ZERO, |last| last.at - begin);
    let mut targets: BTreeMap<Target<'_>, Wanted> = BTreeMap::new();
    for (number, raised) in all.iter().enumerate() {
        let wanted = targets.entry(Target::of(raised.record, number)).or_default();
        wanted.objects.push(object(raised));
        let takes = takes(raised.record, log);
        let at = Instant::START + HEAD_START + (raised.at - begin);
        wanted.arrivals.push(Arrival { at, takes, is_sample: raised.layer == 0 });
    }
    let mut numbers: BTreeMap<Cow<'_, str>, u32> = BTreeMap::new();
    let mut clients = Vec::with_capacity(targets.len());
    for (target, Wanted { objects, arrivals }) in targets {
        let tcp = tcp(&scenario.tcp, &log.hosts, &target.name);
        let page = Page { objects, hosts: vec![target.name.as_ref().into()] };
        let next = u32::try_from(numbers.len()).expect("memory holds fewer than four billion names");
        let number = *numbers.entry(target.name).or_insert(next);
        let server = LogServer { number, tcp, is_tunnel: target.tunnel.is_some() };
        clients.push(Client::log(0, page, arrivals, server));
    }
    (clients, all.len() as u64, span)
}

/// What a connection of the proxy leads to.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Target<'a> {
    name: Cow<'a, str>,
    port: Option<u16>,
    /// The request that asked for a tunnel.
    tunnel: Option<usize>,
}

impl<'a> Target<'a> {
    /// What request `number` asks.
    fn of(record: &'a LogRecord, number: usize) -> Self {
        let tunnel = record.is_tunnel().then_some(number);
        Self { name: record.host().unwrap_or(Page::HOST.into()), port: record.port(), tunnel }
    }
}

/// What is asked there.
#[derive(Debug, Default)]
struct Wanted {
    objects: Vec<Object>,
    arrivals: Vec<Arrival>,
}

/// Sizes of logs are those of replies with their heads.
fn object(raised: &Raised<'_>) -> Object {
    let mut object = Object::new("", "", raised.record.reply_bytes.max(Bytes::new(1)));
    object.request_bytes = raised.record.request_bytes.filter(|bytes| *bytes > Bytes::ZERO);
    object.response_header_bytes = Some(Bytes::ZERO);
    object
}

/// TCP of connections to a server: the host file's segments, and its window if that is smaller.
fn tcp(own: &TcpConfig, hosts: &Hosts, name: &str) -> TcpConfig {
    let Some(host) = hosts.named(name) else { return own.clone() };
    let window = own.max_window.map_or(host.max_window, |window| window.min(host.max_window));
    // A window holds a segment at least.
    TcpConfig { max_window: Some(window.max(host.mss)), mss: host.mss, ..own.clone() }
}
