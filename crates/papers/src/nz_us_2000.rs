//! nz-us-2000: twelve ways between New Zealand and the USA, replaying a log.
//!
//! The paper's log is not public. Ours is generated in its format: as many requests in ten minutes, everything else assumed
//! (`farhop_web::logs`). One number is fitted: what the recorded times are multiplied by, so that the base case, no proxy over
//! cables with HTTP/1.0, has the paper's mean of 2.8 s. The other eleven are predictions. With faster servers and larger replies the base case
//! has the same 2.8 s, which shows what hangs on the log. Load is raised as in the paper, by the same
//! hour of further days, then by copies of all that shifted in time.

use crate::filling::{Fill, Plot};
use crate::lab::{Effort, Found, Lab, in_parallel, scenario};
use farhop_results::Architecture;
use farhop_results::reproduction::{Axis, Claim, Figure, Origin, Reproduction, Verdict};
use farhop_sim::{ReplayConfig, Replayed, replay};
use farhop_units::Bytes;
use farhop_web::logs::{Hosts, LogRecord, Parameters, generate, generate_hosts, merge_days, raised};
use std::time::Duration;

/// The figures that are simulated.
pub(crate) const FIGURES: [Figure; 3] = [Figure::Fig(4), Figure::Fig(5), Figure::Fig(6)];

/// The base case's mean latency, in s, and that of satellites both ways.
const BASE: f64 = 2.8;
const SATELLITE: f64 = 5.8;
/// Days of July.
const DAYS: u32 = 31;
/// Connections between the proxies; the paper does not give them. Windows of 32,767 B fill the link over satellites with 84.
const CONNECTIONS: u32 = 128;
const PERSISTENCE: Duration = Duration::from_secs(15);
const SEED: u64 = 1;
/// One-way delays, to the USA and back, in ms.
const LINKS: [(&str, u32, u32); 3] = [("TT", 60, 60), ("ST", 60, 320), ("SS", 320, 320)];

/// One of the twelve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    proxy: bool,
    /// Place in [`LINKS`].
    link: usize,
    persistent: bool,
}

impl Way {
    /// All, the base case first.
    fn all() -> Vec<Self> {
        let ways =
            |proxy| (0..3).flat_map(move |link| [false, true].map(|persistent| Self { proxy, link, persistent }));
        [false, true].into_iter().flat_map(ways).collect()
    }

    fn of(proxy: bool, link: &str, persistent: bool) -> Self {
        let link = LINKS.iter().position(|(name, ..)| *name == link).unwrap_or(0);
        Self { proxy, link, persistent }
    }

    /// As the paper calls it.
    fn name(self) -> String {
        let (proxy, version) =
            (if self.proxy { "proxy" } else { "no proxy" }, if self.persistent { "1.1" } else { "1.0" });
        format!("{proxy}, {}, HTTP/{version}", LINKS[self.link].0)
    }
}

/// What the text says, beside which ours will lie.
pub(crate) fn reproduce() -> Reproduction {
    let mut reproduction = Reproduction::default();
    let mut plot = Plot { reproduction: &mut reproduction, figure: Figure::Fig(4), x: LOAD, y: LATENCY };
    for (way, latency) in [(Way::of(false, "TT", false), BASE), (Way::of(false, "SS", false), SATELLITE)] {
        plot.points(
            format!("the text's {latency} s, {}", way.name()),
            Origin::Text,
            "of the base load",
            [(421.0, latency)],
        );
    }
    reproduction
}

const LOAD: Axis = Axis::log("requests in ten minutes", "1");
const LATENCY: Axis = Axis::linear("mean latency of the sample", "s");

/// All twelve over all loads.
#[derive(Debug)]
pub(crate) struct Experiment {
    server_time: f64,
    others: Vec<OtherFit>,
    /// Requests of each load.
    loads: Vec<u32>,
    /// By way, as in [`Way::all`], then by load.
    results: Vec<Vec<Replayed>>,
}

impl Experiment {
    fn of(&self, way: Way) -> &[Replayed] {
        let place = Way::all().iter().position(|other| *other == way).unwrap_or(0);
        &self.results[place]
    }

    /// Of the base load, in s.
    fn latency(&self, way: Way) -> f64 {
        self.of(way)[0].mean_latency_s()
    }
}

/// A log of so many days' hours, copied so many times.
struct Log {
    records: Vec<LogRecord>,
    hosts: Hosts,
}

impl Log {
    fn new(days: u32, copies: u32) -> Self {
        let day = |day| generate(&Parameters { day, ..Parameters::default() }, SEED);
        let records = merge_days((0..days).map(day).collect());
        let shift = Parameters::default().interval / (copies + 1);
        let copied = raised(&records, copies, shift).map(|raised| LogRecord {
            at: raised.at,
            layer: raised.layer,
            ..raised.record.clone()
        });
        Self { records: copied.collect(), hosts: generate_hosts(&Parameters::default(), SEED) }
    }
}

fn config(way: Way, server_time: f64) -> Result<ReplayConfig, String> {
    let (_, up, down) = LINKS[way.link];
    let changes = [
        format!("link.up.delay={up} ms"),
        format!("link.down.delay={down} ms"),
        "tcp.profile=bsd-1997".to_owned(),
        "tcp.first_ack=delayed".to_owned(),
        "tcp.mss=1460".to_owned(),
    ];
    let scenario = scenario("nz-us", Architecture::Direct, &changes)?;
    Ok(ReplayConfig {
        link: scenario.link,
        tcp: scenario.tcp,
        proxies: way.proxy.then_some(CONNECTIONS),
        persistence: way.persistent.then_some(PERSISTENCE),
        server_time,
        seed: SEED,
    })
}

fn replayed(way: Way, server_time: f64, log: &Log) -> Result<Replayed, String> {
    replay(&config(way, server_time)?, &log.records, &log.hosts)
}

impl Log {
    /// The same with replies so many times as large.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "replies have some megabytes")]
    fn with_sizes(&self, factor: f64) -> Self {
        let scaled = |record: &LogRecord| LogRecord {
            reply_bytes: Bytes::new((record.reply_bytes.as_f64() * factor) as u64),
            ..record.clone()
        };
        Self { records: self.records.iter().map(scaled).collect(), hosts: self.hosts.clone() }
    }
}

/// The factor of the recorded times that gives the base case its 2.8 s; latency grows with it.
fn calibrated(log: &Log) -> Result<f64, String> {
    let (mut low, mut high) = (0.0, 4.0);
    for _ in 0..16 {
        let middle = f64::midpoint(low, high);
        let latency = replayed(Way::of(false, "TT", false), middle, log)?.mean_latency_s();
        if latency < BASE { low = middle } else { high = middle }
    }
    Ok(f64::midpoint(low, high))
}

/// Other logs that have the base case's 2.8 s as well: what recorded times are multiplied by, and what sizes of replies then must be.
const OTHER_FITS: [f64; 2] = [0.5, 0.1];

/// A fit, and the mean latencies of all ways with it.
#[derive(Debug)]
struct OtherFit {
    server_time: f64,
    size: f64,
    latencies: Vec<f64>,
}

impl OtherFit {
    fn new(server_time: f64, log: &Log) -> Result<Self, String> {
        let (mut low, mut high) = (0.1, 100.0);
        for _ in 0..16 {
            let middle = f64::midpoint(low, high);
            let latency = replayed(Way::of(false, "TT", false), server_time, &log.with_sizes(middle))?.mean_latency_s();
            if latency < BASE { low = middle } else { high = middle }
        }
        let size = f64::midpoint(low, high);
        let log = log.with_sizes(size);
        let latencies = in_parallel(&Way::all(), |way| Ok(replayed(*way, server_time, &log)?.mean_latency_s()));
        Ok(Self { server_time, size, latencies: latencies.into_iter().collect::<Result<_, String>>()? })
    }
}

/// Days and copies of each load.
fn loads(effort: Effort) -> &'static [(u32, u32)] {
    match effort {
        Effort::Full => &[(1, 0), (DAYS, 0), (DAYS, 7), (DAYS, 15)],
        Effort::Quick => &[(1, 0), (8, 0)],
    }
}

/// Runs it all, once for all figures.
pub(crate) fn experiment(effort: Effort, say: &mut dyn FnMut(&str)) -> Result<Experiment, String> {
    say("nz-us-2000: fitting the base case");
    let base = Log::new(1, 0);
    let server_time = calibrated(&base)?;
    let others = OTHER_FITS.iter().map(|time| OtherFit::new(*time, &base)).collect::<Result<_, String>>()?;
    let (mut sizes, mut results) = (Vec::new(), vec![Vec::new(); Way::all().len()]);
    for (days, copies) in loads(effort) {
        let log = Log::new(*days, *copies);
        say(&format!("nz-us-2000: twelve ways, {} requests", log.records.len()));
        sizes.push(u32::try_from(log.records.len()).unwrap_or(u32::MAX));
        let found = in_parallel(&Way::all(), |way| replayed(*way, server_time, &log));
        for (of_way, found) in results.iter_mut().zip(found) {
            of_way.push(found?);
        }
    }
    Ok(Experiment { server_time, others, loads: sizes, results })
}

pub(crate) fn simulate(figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let found: Found<Experiment> = lab.replays();
    let experiment = match found {
        Ok(experiment) => experiment,
        Err(reason) => return reproduction.gap(figure, &reason),
    };
    match figure {
        Figure::Fig(4) => {
            latencies(&experiment, reproduction);
            other_fits(&experiment, reproduction);
            latency_claims(&experiment, reproduction);
        }
        Figure::Fig(5) => buffers(&experiment, reproduction),
        _ => sessions(&experiment, reproduction),
    }
}

fn reading(experiment: &Experiment, way: Way) -> String {
    let fit = format!("recorded times × {:.3}", experiment.server_time);
    match way == Way::of(false, "TT", false) {
        true => format!("simulated: {fit}, fitted to this number alone"),
        false => format!("simulated: a prediction with {fit}, {CONNECTIONS} connections between proxies"),
    }
}

fn curves(
    experiment: &Experiment,
    reproduction: &mut Reproduction,
    figure: Figure,
    y: Axis,
    value: impl Fn(&Replayed) -> f64,
) {
    for way in Way::all() {
        let points: Vec<_> =
            experiment.loads.iter().map(|load| f64::from(*load)).zip(experiment.of(way).iter().map(&value)).collect();
        let mut plot = Plot { reproduction: &mut *reproduction, figure, x: LOAD, y };
        plot.points(way.name(), Origin::Simulated, &reading(experiment, way), points);
    }
}

/// Fig 4.
fn latencies(experiment: &Experiment, reproduction: &mut Reproduction) {
    let told = [
        (Way::of(false, "TT", false), BASE, "the base case"),
        (Way::of(false, "SS", false), SATELLITE, "\"doubled to 5.8 seconds\""),
        (Way::of(false, "ST", false), 0.75 * SATELLITE, "\"75 %\" of 5.8 s"),
        (
            Way::of(true, "SS", false),
            0.55 * SATELLITE,
            "\"55 % of the base satellite case\", \"50 % improvement\" elsewhere",
        ),
        (
            Way::of(false, "SS", true),
            0.82 * SATELLITE,
            "\"between 18 % and 40 %\" less than 5.8 s, the former at low load",
        ),
        (Way::of(true, "SS", true), 0.45 * SATELLITE, "\"a 55 % improvement\" on 5.8 s"),
    ];
    for way in Way::all() {
        let told = told.iter().find(|(other, ..)| *other == way);
        let quantity = format!("{}: mean latency, {} requests (s)", way.name(), experiment.loads[0]);
        let reading = match told {
            Some((_, _, text)) => format!("{text}; {}", reading(experiment, way)),
            None => reading(experiment, way),
        };
        let published = told.map(|(_, latency, _)| *latency);
        reproduction.row(Figure::Fig(4), quantity, published, experiment.latency(way), &reading);
    }
    curves(experiment, reproduction, Figure::Fig(4), LATENCY, Replayed::mean_latency_s);
}

/// What the unknown sizes of replies would change.
fn other_fits(experiment: &Experiment, reproduction: &mut Reproduction) {
    for OtherFit { server_time, size, latencies } in &experiment.others {
        let reading = format!(
            "simulated: recorded times × {server_time}, replies × {size:.2}, so that the base case has its 2.8 s: sizes of replies are not known"
        );
        for (way, latency) in Way::all().into_iter().zip(latencies) {
            let quantity = format!("servers × {server_time}, {}: mean latency (s)", way.name());
            reproduction.row(Figure::Fig(4), quantity, None, *latency, &reading);
        }
    }
}

fn claim(reproduction: &mut Reproduction, figure: Figure, claim: &str, parts: Vec<bool>, ours: String, why: &str) {
    let verdict = Verdict::of(parts);
    reproduction.claims.push(Claim { figure, claim: claim.to_owned(), verdict, ours, why: why.to_owned() });
}

fn latency_claims(experiment: &Experiment, reproduction: &mut Reproduction) {
    let satellite = experiment.latency(Way::of(false, "SS", false));
    let shares = [
        (
            "satellites both ways double the time of cables",
            satellite / experiment.latency(Way::of(false, "TT", false)),
            1.8,
            2.3,
            "a reply released over its recorded time hides slow start behind the server, so that few of the longer round trips count; with faster servers and larger replies the same base case more than doubles",
        ),
        (
            "with a satellite back alone it is 75 % of that with both",
            experiment.latency(Way::of(false, "ST", false)) / satellite,
            0.70,
            0.80,
            "as many round trips of 0.38 s",
        ),
        (
            "with a proxy it is 50 to 55 % of the satellite base",
            experiment.latency(Way::of(true, "SS", false)) / satellite,
            0.45,
            0.60,
            "one round trip and the server's time: no handshake, and slow start where a connection has been idle",
        ),
        (
            "with a proxy and HTTP/1.1 it is 45 %",
            experiment.latency(Way::of(true, "SS", true)) / satellite,
            0.40,
            0.50,
            "between the USA's proxy and servers only the recorded time passes here, so that HTTP/1.1 saves nothing more",
        ),
    ];
    for (text, share, least, most, why) in shares {
        let ours = format!("{:.0} %", share * 100.0);
        claim(reproduction, Figure::Fig(4), text, vec![(least..=most).contains(&share)], ours, why);
    }
    let at = |way: Way| experiment.of(way).iter().map(Replayed::mean_latency_s).collect::<Vec<f64>>();
    let saved: Vec<f64> = at(Way::of(false, "SS", true))
        .iter()
        .zip(at(Way::of(false, "SS", false)))
        .map(|(kept, base)| 1.0 - kept / base)
        .collect();
    let ours = saved.iter().map(|saved| format!("{:.0} %", saved * 100.0)).collect::<Vec<_>>().join(", ");
    let parts = saved.iter().map(|saved| (0.15..=0.43).contains(saved)).collect();
    claim(
        reproduction,
        Figure::Fig(4),
        "HTTP/1.1 saves 18 to 40 % over satellites",
        parts,
        format!("{ours} from load to load"),
        "how often a connection is there depends on how many requests go to one host",
    );
    let grows = saved.windows(2).map(|pair| pair[1] > pair[0]).collect();
    claim(
        reproduction,
        Figure::Fig(4),
        "HTTP/1.1 saves more the higher the load",
        grows,
        format!("{ours} from load to load"),
        "more requests to the same hosts find more idle connections, as hosts keep their names when load is raised",
    );
    let [proxy, kept] = [Way::of(true, "SS", false), Way::of(false, "SS", true)].map(|way| experiment.latency(way));
    claim(
        reproduction,
        Figure::Fig(4),
        "a proxy helps more than HTTP/1.1",
        vec![proxy < kept],
        format!("{proxy:.2} and {kept:.2} s"),
        "its connections are always there",
    );
}

/// Fig 5.
fn buffers(experiment: &Experiment, reproduction: &mut Reproduction) {
    #[expect(clippy::cast_precision_loss, reason = "a buffer is small")]
    let peak = |replayed: &Replayed| replayed.peak_buffer.get() as f64 / 1000.0;
    curves(experiment, reproduction, Figure::Fig(5), Axis::linear("peak buffer towards New Zealand", "kB"), peak);
    let most = experiment.results.iter().flatten().map(peak).fold(0.0, f64::max);
    let drops = experiment.results.iter().flatten().filter(|replayed| replayed.dropped > 0).count();
    claim(
        reproduction,
        Figure::Fig(5),
        "the buffer never holds more than 256 kB and drops what comes then",
        vec![most <= 256.0],
        format!("at most {most:.0} kB; {drops} of {} runs drop", experiment.results.iter().flatten().count()),
        "it is the buffer's size",
    );
}

/// Fig 6.
fn sessions(experiment: &Experiment, reproduction: &mut Reproduction) {
    let count = |replayed: &Replayed| f64::from(u32::try_from(replayed.peak_sessions).unwrap_or(u32::MAX));
    curves(experiment, reproduction, Figure::Fig(6), Axis::log("most sessions to servers at once", "1"), count);
    let more = |slow: &dyn Fn(Way) -> Way, ways: Vec<Way>| -> (Vec<bool>, String) {
        let pair = |way: Way| (count(&experiment.of(slow(way))[0]), count(&experiment.of(way)[0]));
        let pairs: Vec<(f64, f64)> = ways.into_iter().map(pair).collect();
        let text = pairs.iter().map(|(more, less)| format!("{more} and {less}")).collect::<Vec<_>>().join(", ");
        (pairs.iter().map(|(more, less)| more >= less).collect(), text)
    };
    let with = |pick: fn(&Way) -> bool| Way::all().into_iter().filter(pick).collect::<Vec<_>>();
    let (parts, ours) = more(&|way| Way { proxy: false, ..way }, with(|way| way.proxy));
    claim(
        reproduction,
        Figure::Fig(6),
        "without a proxy there are more sessions than with one",
        parts,
        format!("{ours} at the base load"),
        "sessions last as long as the link takes",
    );
    let (parts, ours) = more(&|way| Way { persistent: true, ..way }, with(|way| !way.persistent));
    claim(
        reproduction,
        Figure::Fig(6),
        "with HTTP/1.1 there are more sessions than with 1.0",
        parts,
        format!("{ours} at the base load"),
        "idle ones stay for 15 s",
    );
}
