//! From what was simulated to rows of the table.

use crate::error::{self, SimError, seconds};
use crate::log::{self, Replayed};
use crate::metrics::{Metrics, Times};
use crate::network::Drops;
use crate::population::{self, Replication};
use crate::replications::LEAST_REPLICATIONS;
use crate::trunk::rwbp;
use farhop_link::{Access, Direction, DirectionConfig, Framing};
use farhop_model::Limit;
use farhop_results::{Architecture, CacheState, Load, Peaks, RequestTimes, Row, Sample, Source, UserTimes};
use farhop_scenario::{Congestion, HttpVersion, Log, PrefetchSide, Scenario, TcpConfig, Tls, Users};
use farhop_tcp::Profile;
use farhop_units::{Bytes, Instant, Probability, Rate, counted};

/// The share of a direction's rate above which its queue decides what users see.
const OVERLOAD: f64 = 0.95;

/// The row of single page loads.
pub(crate) fn of_loads(scenario: &Scenario, loads: &[Load]) -> Option<Row> {
    let loads: Vec<&Load> = loads.iter().collect();
    let idle = match scenario.link.terminals {
        1 => String::new(),
        terminals => format!("; {} other terminals are idle", terminals - 1),
    };
    let kind = loads.first().map_or(Architecture::Direct, |load| load.architecture);
    let note = format!("{}{idle}", transport(scenario, kind));
    let (page, limit) = (scenario.page.total_bytes(), farhop_model::limit(scenario));
    let row = Row::of_loads(&loads, scenario.tcp.profile.word(), page, limit, None)?;
    let is_told = loads.len() >= LEAST_REPLICATIONS && row.page_load_min_s < row.page_load_max_s;
    let mean = row.mean_s.zip(row.mean_error_s).filter(|_| is_told);
    let told = mean.map_or_else(String::new, |(mean, error)| {
        format!("; mean of {} loads {mean:.3} s ± {error:.3} s", loads.len())
    });
    let means = Sample::new(loads.iter().map(|load| load.page_load_s));
    let precision = told_precision(&means, ("run.precision", scenario.run.precision));
    Some(Row { note: Some(format!("{note}{told}{precision}")), ..row })
}

/// That the mean of what each run gives is not known as well as a setting wants it to be.
fn told_precision(means: &Sample, (key, wanted): (&str, Probability)) -> String {
    let share = means.mean_error().zip(means.mean()).map(|(half, mean)| half / mean);
    match share.filter(|share| !wanted.is_zero() && *share >= wanted.get()) {
        Some(share) => {
            let runs = counted(means.count(), "run");
            format!("; {runs} tell the mean to {:.2} %, not to {wanted} ({key}; run.runs bounds them)", share * 100.0)
        }
        None => String::new(),
    }
}

/// The row of a log: all requests of all runs. Its time is the median of all requests of the log's own, of which those without an answer took
/// longer than all others; where that is one of them it is unknown.
pub(crate) fn of_log(
    (scenario, log): (&Scenario, &Log),
    architecture: Architecture,
    all: &[Replayed],
) -> Result<Row, SimError> {
    let mut metrics = Metrics::default();
    all.iter().for_each(|replayed| metrics.merge(&replayed.metrics));
    let times = request_times(scenario, &metrics, all);
    let asked = (log.records.iter().filter(|record| record.layer == 0).count() * all.len()) as u64;
    let median = metrics.pages.percentile_among(50, asked).ok_or_else(|| SimError::NoMedian {
        answered: times.sample_count,
        asked,
        patience: log::patience_with(scenario),
        used: told_use(scenario, [times.down_used, times.up_used]),
        full: is_overloaded_by_log((scenario, log), [times.down_used, times.up_used]),
    })?;
    let dropped = all.iter().map(|replayed| replayed.dropped).sum();
    let means = Sample::new(all.iter().filter_map(Replayed::mean));
    let precision = told_precision(&means, ("run.precision", scenario.run.precision));
    let note =
        format!("{}; {}{precision}", transport(scenario, architecture), log_note(scenario, log, (&times, dropped)));
    let times_of = (&metrics, median, metrics.bytes.bits_f64() / metrics.pages.sum());
    let limit_s = limit_of_log(scenario, log);
    Ok(Row { log: Some(times), limit_s, ..many((scenario, architecture), all.len(), times_of, note) })
}

/// Why a log of which nothing was answered has no row.
pub(crate) fn no_answers((scenario, log): (&Scenario, &Log), all: &[Replayed]) -> SimError {
    let used = use_by_log(scenario, all);
    SimError::NoAnswers {
        patience: log::patience_with(scenario),
        used: told_use(scenario, used),
        full: is_overloaded_by_log((scenario, log), used),
    }
}

/// What half of a log's own requests would take at best.
fn limit_of_log(scenario: &Scenario, log: &Log) -> f64 {
    let (limit, mut limits) = (Limit::of(scenario), Times::default());
    let sample = log.records.iter().filter(|record| record.layer == 0);
    sample.for_each(|record| limits.add(limit.of_reply(record.request_bytes, record.reply_bytes)));
    limits.percentile(50)
}

/// The row of many times in as many runs: their histogram as that of pages, the median and the goodput.
fn many(
    (scenario, architecture): (&Scenario, Architecture),
    runs: usize,
    (metrics, page_load_s, goodput_bit_s): (&Metrics, f64, f64),
    note: String,
) -> Row {
    Row {
        architecture,
        source: Source::Simulated,
        method: scenario.tcp.profile.word().to_owned(),
        state: CacheState::Cold,
        runs: u32::try_from(runs).unwrap_or(u32::MAX),
        page_load_s,
        page_load_min_s: metrics.pages.least(),
        page_load_max_s: metrics.pages.most(),
        mean_s: None,
        mean_error_s: None,
        first_byte_s: None,
        goodput_bit_s,
        limit_s: farhop_model::limit(scenario).as_secs_f64(),
        note: Some(note),
        breakdown: Vec::new(),
        users: None,
        log: None,
    }
}

fn request_times(scenario: &Scenario, metrics: &Metrics, all: &[Replayed]) -> RequestTimes {
    let means = Sample::new(all.iter().filter_map(Replayed::mean));
    let [down_used, up_used] = use_by_log(scenario, all);
    let peak = |way: Direction| all.iter().map(|replayed| replayed.peak_queues[way as usize].get()).max().unwrap_or(0);
    let relayed = all.iter().filter_map(|replayed| replayed.relayed).max();
    RequestTimes {
        sample_count: metrics.pages.count(),
        sample_p50_s: metrics.pages.percentile(50),
        sample_p95_s: metrics.pages.percentile(95),
        sample_mean_s: metrics.pages.mean(),
        sample_mean_error_s: means.mean_error(),
        sample_first_byte_p50_s: metrics.first_bytes.percentile(50),
        sample_first_byte_p95_s: metrics.first_bytes.percentile(95),
        sample_first_byte_mean_s: metrics.first_bytes.mean(),
        sample_goodput_p5_bit_s: as_f64(metrics.goodputs.percentile(5)),
        sample_goodput_p50_bit_s: as_f64(metrics.goodputs.percentile(50)),
        sample_goodput_mean_bit_s: metrics.goodputs.mean(),
        answered: metrics.objects.count(),
        unanswered: all.iter().map(|replayed| replayed.unanswered).sum(),
        peak_queue_bytes: peak(Direction::Down),
        peak_queue_up_bytes: peak(Direction::Up),
        dropped: all.iter().map(|replayed| replayed.dropped.link()).sum(),
        peak_connections: all.iter().map(|replayed| replayed.peak_sessions as u64).max().unwrap_or(0),
        peak_gateway_buffer_bytes: relayed.map(Bytes::get),
        down_used,
        up_used,
    }
}

fn log_note(scenario: &Scenario, log: &Log, (times, dropped): (&RequestTimes, Drops)) -> String {
    let overload =
        if is_overloaded_by_log((scenario, log), [times.down_used, times.up_used]) { error::CANNOT_CARRY } else { "" };
    let left = match times.unanswered {
        0 => String::new(),
        count => {
            let patience = log::patience_with(scenario);
            format!("; {} not answered within {} of the last", counted(count, "request"), seconds(patience))
        }
    };
    let used = told_use(scenario, [times.down_used, times.up_used]);
    let copies = match log.copies {
        0 => String::new(),
        1 => format!(" and a copy {} later", seconds(log.shift)),
        copies => format!(" and {copies} copies, {} apart", seconds(log.shift)),
    };
    let read: String = log.notes.iter().map(|note| format!("; {note}")).collect();
    format!(
        "{}{copies}{used}; at most {} to servers, {} waiting down and {} up{}; {}{overload}{left}{read}",
        counted(log.records.len(), "request"),
        counted(times.peak_connections, "connection"),
        Bytes::new(times.peak_queue_bytes),
        Bytes::new(times.peak_queue_up_bytes),
        told_relays([times.peak_gateway_buffer_bytes, None]),
        told_drops(dropped),
    )
}

/// The row of a population: all pages of all replications.
pub(crate) fn of_users(scenario: &Scenario, users: &Users, architecture: Architecture, all: &[Replication]) -> Row {
    let mut metrics = Metrics::default();
    all.iter().for_each(|replication| metrics.merge(&replication.metrics));
    let times = times((scenario, users), &metrics, all);
    let means = Sample::new(all.iter().filter_map(Replication::mean));
    let precision = told_precision(&means, ("users.precision", users.precision));
    let note = format!("{}; {}{precision}", transport(scenario, architecture), note(scenario, users, all));
    let times_of = (&metrics, times.page_load_p50_s, metrics.bytes.bits_f64() / metrics.pages.sum());
    let first_byte_s = Some(metrics.first_bytes.percentile(50));
    // Their pages are their own.
    let limit_s = metrics.limits.percentile(50);
    Row { first_byte_s, limit_s, users: Some(times), ..many((scenario, architecture), all.len(), times_of, note) }
}

fn times((scenario, users): (&Scenario, &Users), metrics: &Metrics, all: &[Replication]) -> UserTimes {
    let [down_used, up_used] = use_of_the_link(scenario, users, all);
    let means = Sample::new(all.iter().filter_map(Replication::mean));
    UserTimes {
        count: metrics.pages.count(),
        page_load_p50_s: metrics.pages.percentile(50),
        page_load_p95_s: metrics.pages.percentile(95),
        page_load_mean_s: metrics.pages.mean(),
        page_load_mean_error_s: means.mean_error(),
        object_count: metrics.objects.count(),
        object_p50_s: metrics.objects.percentile(50),
        object_p95_s: metrics.objects.percentile(95),
        object_mean_s: metrics.objects.mean(),
        first_byte_p50_s: metrics.first_bytes.percentile(50),
        first_byte_p95_s: metrics.first_bytes.percentile(95),
        first_byte_mean_s: metrics.first_bytes.mean(),
        goodput_p5_bit_s: as_f64(metrics.goodputs.percentile(5)),
        goodput_p50_bit_s: as_f64(metrics.goodputs.percentile(50)),
        goodput_mean_bit_s: metrics.goodputs.mean(),
        down_used,
        up_used,
        unfinished: all.iter().map(|replication| replication.unfinished).sum(),
        peaks: peaks(all),
    }
}

/// Of the replication that needed most.
fn peaks(all: &[Replication]) -> Peaks {
    let most = |need: fn(&Replication) -> Option<Bytes>| all.iter().filter_map(need).max().map(Bytes::get);
    Peaks {
        peak_connections: all.iter().map(|replication| replication.peak_connections as u64).max().unwrap_or(0),
        peak_queue_down_bytes: most(|replication| Some(replication.queued[0])).unwrap_or(0),
        peak_queue_up_bytes: most(|replication| Some(replication.queued[1])).unwrap_or(0),
        peak_gateway_buffer_bytes: most(|replication| replication.relayed[0]),
        peak_terminal_buffer_bytes: most(|replication| replication.relayed[1]),
    }
}

fn note(scenario: &Scenario, users: &Users, all: &[Replication]) -> String {
    let [down, up] = use_of_the_link(scenario, users, all);
    let full: String = full_ways(scenario, users, all).collect();
    let dropped = told_drops(all.iter().map(|replication| replication.dropped).sum());
    let without = match all.iter().filter(|replication| replication.mean().is_none()).count() {
        0 => String::new(),
        count => format!("; {count} of {} without a complete page", counted(all.len(), "run")),
    };
    format!(
        "{}, {}{}; at most {}; {dropped}{full}{without}",
        counted(population::user_count(scenario, users), "user"),
        users.model,
        told_use(scenario, [down, up]),
        needs(&peaks(all)),
    )
}

/// "the link dropped 12 packets", and what lans and wans dropped, if they did: then it may be they that cannot carry the load.
fn told_drops(dropped: Drops) -> String {
    let beside =
        ["; lans dropped ", "; wans dropped "].into_iter().zip(dropped.beside()).filter(|(_, count)| *count > 0);
    let beside: String = beside.map(|(who, count)| format!("{who}{}", counted(count, "packet"))).collect();
    format!("the link dropped {}{beside}", counted(dropped.link(), "packet"))
}

/// What was needed at most.
fn needs(peaks: &Peaks) -> String {
    let Peaks { peak_connections, peak_queue_down_bytes, peak_queue_up_bytes, .. } = *peaks;
    let relays = told_relays([peaks.peak_gateway_buffer_bytes, peaks.peak_terminal_buffer_bytes]);
    format!(
        "{} at once, {} in the link's queue down and {} up{}",
        counted(peak_connections, "connection"),
        Bytes::new(peak_queue_down_bytes),
        Bytes::new(peak_queue_up_bytes),
        relays,
    )
}

/// What relays held at the gateway and at a terminal, where there are any.
fn told_relays(held: [Option<u64>; 2]) -> String {
    let relays = ["at the gateway", "at a terminal"].into_iter().zip(held);
    relays.filter_map(|(at, held)| Some(format!(", {} in relays {at}", Bytes::new(held?)))).collect()
}

/// Whether one of the link's directions cannot carry what users want in a replication.
pub(crate) fn is_overloaded(scenario: &Scenario, users: &Users, replication: &Replication) -> bool {
    full_ways(scenario, users, std::slice::from_ref(replication)).next().is_some()
}

/// Of each way that has no time left, or too little for all that users want, that it cannot carry that.
fn full_ways(scenario: &Scenario, users: &Users, all: &[Replication]) -> impl Iterator<Item = String> {
    let used = use_of_the_link(scenario, users, all);
    let is_jammed = all.iter().any(|replication| replication.is_jammed);
    let wanted = Sample::new(all.iter().map(|replication| replication.wanted));
    let is_full = move |way: &Direction| {
        let used = used[*way as usize];
        let is_wanted = used.zip(wanted.mean()).is_some_and(|(used, wanted)| used * wanted > 1.0);
        is_wanted || is_full(used) || (is_jammed && *way == Direction::Up)
    };
    Direction::BOTH.into_iter().filter(is_full).map(|way| format!("; {} cannot carry what they want", way.word()))
}

/// Whether the link had no time left in one of its directions, or was asked for more than all it has.
fn is_overloaded_by_log((scenario, log): (&Scenario, &Log), used: [Option<f64>; 2]) -> bool {
    used.into_iter().any(is_full) || log::asks_too_much(scenario, log)
}

pub(crate) fn is_full(share: Option<f64>) -> bool {
    share.is_some_and(|share| share > OVERLOAD)
}

/// "; link down 41 % used, up unlimited"; nothing of what was not measured, because the log is of one instant.
fn told_use(scenario: &Scenario, used: [Option<f64>; 2]) -> String {
    let is_unlimited = |direction: Direction| {
        let direction = direction.of(&scenario.link);
        direction.rate.is_none() && direction.trace.is_none()
    };
    let told = |direction: Direction| match used[direction as usize] {
        Some(share) => Some(format!("{} {:.0} % used", direction.word(), share * 100.0)),
        None => is_unlimited(direction).then(|| format!("{} unlimited", direction.word())),
    };
    let told: Vec<String> = Direction::BOTH.into_iter().filter_map(told).collect();
    if told.is_empty() { String::new() } else { format!("; link {}", told.join(", ")) }
}

/// The shares of the rates that users had used in the measured time, down and up; `None` where a rate is unlimited.
pub(crate) fn use_of_the_link(scenario: &Scenario, users: &Users, all: &[Replication]) -> [Option<f64>; 2] {
    let (from, runs) = (Instant::START + users.warm_up, f64::from(u32::try_from(all.len()).unwrap_or(u32::MAX)));
    Direction::BOTH.map(|direction| {
        let carried: Bytes = all.iter().map(|replication| replication.carried[direction as usize]).sum();
        let each = direction.of(&scenario.link).capacity(from, from + users.measured())?;
        Some(carried.bits_f64() / (each * channels(scenario, direction) * runs)).filter(|used| used.is_finite())
    })
}

/// The same of a log, from its first request to its last: of what its terminal may have of them.
fn use_by_log(scenario: &Scenario, all: &[Replayed]) -> [Option<f64>; 2] {
    Direction::BOTH.map(|direction| {
        let carried: Bytes = all.iter().map(|replayed| replayed.carried[direction as usize]).sum();
        let each = |replayed: &Replayed| log::capacity(scenario, direction, replayed.span);
        let capacity = all.iter().map(each).sum::<Option<f64>>()?;
        Some(carried.bits_f64() / capacity).filter(|used| used.is_finite())
    })
}

/// At what rates the far link's serializers send at most, down and up, `None` if that is unlimited; and what they add to packets.
pub(crate) fn serializers(scenario: &Scenario) -> ([Option<Rate>; 2], [Framing; 2]) {
    let of = |direction: Direction| direction.of(&scenario.link);
    (Direction::BOTH.map(|direction| of(direction).peak_rate()), Direction::BOTH.map(|direction| of(direction).framing))
}

/// Over how many channels all terminals together send in a direction.
fn channels(scenario: &Scenario, direction: Direction) -> f64 {
    match (direction, &scenario.link.access) {
        (Direction::Up, Access::Dedicated) => f64::from(scenario.link.terminals.max(1)),
        _ => 1.0,
    }
}

/// The most that all terminals together may send over the far link in a direction, in bit/s, or get; `None` if that is unlimited.
pub(crate) fn peak_for_users(scenario: &Scenario, direction: Direction) -> Option<f64> {
    Some(peak_for_log(scenario, direction)? * channels(scenario, direction))
}

/// The most that one channel of a direction carries.
pub(crate) fn peak_for_log(scenario: &Scenario, direction: Direction) -> Option<f64> {
    direction.of(&scenario.link).peak_rate().map(Rate::as_f64)
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
pub(crate) fn as_f64(value: u64) -> f64 {
    value as f64
}

/// What carries the page over the far link, and beside what.
fn transport(scenario: &Scenario, architecture: Architecture) -> String {
    let beside = scenario.multicast.map(|multicast| format!("; beside {} of multicast", multicast.rate));
    carriage(scenario, architecture) + beside.as_deref().unwrap_or_default()
}

fn carriage(scenario: &Scenario, architecture: Architecture) -> String {
    let tcp = format!("TCP {}", controller(&scenario.tcp));
    let is_quic = scenario.http.version == HttpVersion::Http3;
    let hidden = (!scenario.http.is_readable()).then_some(match scenario.http.tls {
        Tls::None => "HTTP/2",
        Tls::V12 | Tls::V13 => "TLS",
    });
    match architecture {
        Architecture::Direct if is_quic => quic(&scenario.tcp),
        _ if is_quic => {
            format!("{} from end to end: proxies cannot split it", quic(&scenario.tcp))
        }
        Architecture::Split => format!("{tcp} on each of three legs"),
        Architecture::Multiplexed => {
            let shared = counted(scenario.multiplexed_connections, "connection");
            format!("{tcp} over {shared} up and shared, and beyond")
        }
        Architecture::Tunnel => format!("farhop's tunnel at the link's rate; {tcp} beyond"),
        Architecture::Accelerated if let Some(hidden) = hidden => {
            format!("farhop's tunnel at the link's rate: its boxes cannot read {hidden} and push nothing; {tcp} beyond")
        }
        Architecture::Accelerated => format!("farhop's accelerator at the link's rate; {tcp} beyond"),
        Architecture::Rwbp => {
            let link = [&scenario.link.down, &scenario.link.up];
            let may_drop = |way: &DirectionConfig| way.discipline.drops_early() && way.peak_rate().is_some();
            let drops = if link.into_iter().any(may_drop) { ", whose packets CoDel may drop" } else { "" };
            format!("RWBP, at most {} a flow{drops}; {tcp} beyond", rwbp::peak_rate(scenario))
        }
        Architecture::PrefetchConventional => {
            let place = match scenario.prefetch_at {
                PrefetchSide::Near => "terminal",
                PrefetchSide::Far => "gateway",
            };
            let idle =
                hidden.map(|hidden| format!(", which cannot read {hidden} and passes it on")).unwrap_or_default();
            format!("{tcp}; a prefetching proxy at the {place}{idle}")
        }
        Architecture::Prefetch2013 if let Some(hidden) = hidden => {
            format!("{tcp} on each of three legs: the boxes cannot read {hidden} and pass it on")
        }
        Architecture::Prefetch2013 => format!(
            "documents by {tcp}, what they name by UDP of 1414 B every ms or at the link's rate, asked for again after 5 s"
        ),
        _ => tcp,
    }
}

/// QUIC's CUBIC is RFC 9438's, with RFC 9406.
fn quic(tcp: &TcpConfig) -> String {
    let name = controller(tcp);
    format!("QUIC {}", name.split(" with").next().unwrap_or(name))
}

fn controller(tcp: &TcpConfig) -> &'static str {
    match tcp.congestion {
        Congestion::Reno => "Reno",
        Congestion::NewReno => "NewReno",
        Congestion::Cubic if tcp.profile == Profile::Linux => "CUBIC with HyStart",
        Congestion::Cubic => "CUBIC with HyStart++",
        Congestion::Bbr => "BBR",
    }
}
