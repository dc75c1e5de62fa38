//! Links in scenario files: every setting there and back, traces in files, shared channels, contradictions.

use farhop_link::trace::TraceStep;
use farhop_link::{CoDel, GilbertElliott, Trace, TraceEnd, TraceRecord};
use farhop_scenario::{
    ChannelConfig, DirectionConfig, Discipline, Jitter, LossModel, Orbit, Outages, QueueLimit, Scenario, open, parse,
};
use farhop_units::{Bytes, Instant, Probability, Rate};
use proptest::prelude::*;
use std::fs;
use std::time::Duration;

const PAGE: &str = "[page]\nobjects = 2\nsize = \"5 kB\"\n";

fn read(body: &str, assignments: &[&str]) -> Result<Scenario, String> {
    let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
    parse("net", &format!("version = 1\n{body}{PAGE}"), &assignments).map_err(|error| error.to_string())
}

fn error(body: &str) -> String {
    read(body, &[]).expect_err("the file is wrong")
}

#[test]
fn an_orbit_is_for_both_directions_unless_one_has_its_own() {
    let both = read("[link]\norbit = \"geo elevation=40deg\"\n[link.up]\ndelay = \"50 ms\"\n", &[]).unwrap().link;
    assert_eq!((both.down.orbit, both.up.orbit.is_some()), (both.up.orbit, true));
    assert_eq!(both.rtt().as_millis(), 554, "2 × 252 ms of path, and what the way up adds");
    let one = read("[link]\norbit = \"geo elevation=40deg\"\n[link.up]\norbit = \"none\"\n", &[]).unwrap().link;
    assert_eq!((one.down.orbit.is_some(), one.up.orbit), (true, None));
    let table = "[link.orbit]\nmodel = \"geo\"\nelevation = \"40deg\"\n";
    assert_eq!(read(table, &[]).unwrap().link.up.orbit, both.up.orbit);
    assert_ne!(read(table, &["link.orbit.elevation=10deg"]).unwrap().link.up.orbit, both.up.orbit);
}

#[test]
fn a_term_of_several_values_is_a_list() {
    let table = "[link.down.outages]\nmodel = \"at\"\nwindows = [\"10 s + 2 s\", \"60 s + 5 s\"]\n";
    let text = "[link.down]\noutages = \"at windows=10s+2s;60s+5s\"\n";
    assert_eq!(read(table, &[]), read(text, &[]));
    assert!(matches!(read(table, &[]).unwrap().link.down.outages, Outages::At(windows) if windows.len() == 2));
}

#[test]
fn queues_by_default_hold_what_the_path_does() {
    let geo = read("[link.down]\nrate = \"10 Mbit/s\"\norbit = \"geo elevation=90deg\"\n", &[]).unwrap().link.down;
    let path = Duration::from_nanos(238_738_575);
    let Some(held) = (match geo.queue {
        QueueLimit::Bytes(held) => Some(held),
        _ => None,
    }) else {
        panic!("{:?}", geo.queue)
    };
    assert!(held.get().abs_diff(Rate::mbps(10).bytes_in(path).get()) < 100, "{held}");
    let burst = read("[link.down]\ntrace = \"opportunities length=1s times=0;500\"\n", &[]).unwrap().link.down;
    assert_eq!(burst.queue, QueueLimit::Unlimited, "no rate bounds mahimahi's opportunities");
}

#[test]
fn wrong_settings_name_the_key_that_is_wrong() {
    insta::assert_snapshot!(error("[link.down.outages]\nmodel = \"periodic\"\nfirst = \"1 s\"\nperiod = \"10 s\"\nlenght = \"2 s\"\n"), @r#"
    net.toml:3: link.down.outages.model = "periodic": no "length" in "periodic first=1s period=10s lenght=2s"
      accepted: none, at windows=10s+2s;60s+5s (beginning+length), periodic first=10s period=60s length=2s, or random up=60s down=2s
    "#);
    insta::assert_snapshot!(error("[link.up]\njitter = \"gaussian sd=1ms\"\n"), @r#"
    net.toml:3: link.up.jitter = "gaussian sd=1ms": unknown jitter "gaussian"
      accepted: none, uniform max=5ms, or exponential mean=2ms
    "#);
    insta::assert_snapshot!(error("[link.down]\nrate = \"1 Mbit/s\"\ntrace = \"steps length=1s at=0s:1Mbit/s\"\n"), @r#"
    net.toml:4: link.down.trace = "steps length=1s at=0s:1Mbit/s": the direction has a constant rate as well
      accepted: a trace or a rate, not both
    "#);
    insta::assert_snapshot!(error("[link.down]\ntrace_end = \"hold\"\n"), @r#"
    net.toml:3: link.down.trace_end = "hold": the end of no trace
      accepted: a trace beside it
    "#);
    insta::assert_snapshot!(error("[link.down]\ntrace = \"nowhere.mahi\"\n"), @r#"
    net.toml:3: link.down.trace = "nowhere.mahi": no such trace among the shipped ones
      accepted: a file beside the scenario: a packet-delivery trace of mahimahi, or a CSV file with the heading time,rate,delay
    "#);
    insta::assert_snapshot!(error("[link.donw]\nrate = \"1 Mbit/s\"\n"), @r#"
    net.toml:2: link.donw: unknown key; did you mean link.down?
      accepted: down, orbit, up
    "#);
    insta::assert_snapshot!(error("[link.down]\nrate = { model = \"1 Mbit/s\" }\n"), @r#"
    net.toml:3: link.down.rate: a table
      accepted: a single value
    "#);
}

#[test]
fn wrong_access_names_the_key_that_is_wrong() {
    let shared = |terms: &str| format!("[link.up]\nrate = \"400 kbit/s\"\n[access]\n{terms}");
    insta::assert_snapshot!(error(&shared("terminals = 0\n")), @r#"
    net.toml:5: access.terminals = "0": not a number of terminals
      accepted: a whole number from 1 to 65535
    "#);
    insta::assert_snapshot!(error(&shared("terminals = 8\nscheme = \"fdma\"\n")), @r#"
    net.toml:6: access.scheme = "fdma": unknown access scheme "fdma"; did you mean tdma?
      accepted: dedicated, tdma, cfdama, aloha-periodic, slotted-aloha or dama, each with its terms, e.g. "cfdama frame=26.5ms slots=128"
    "#);
    insta::assert_snapshot!(error(&shared("terminals = 128\nscheme = \"tdma\"\nslots = 16\n")), @r#"
    net.toml:7: access.slots = "16": 16 slots are too few for this scheme and its terminals
      accepted: slots=128 or more
    "#);
    insta::assert_snapshot!(error("[access]\nterminals = 8\nscheme = \"tdma\"\n"), @r#"
    net.toml:4: access.scheme = "tdma": tdma without an up rate
      accepted: a constant up rate to cut into slots, e.g. "400 kbit/s"
    "#);
    let eight = read(&shared("terminals = 8\n"), &["access.terminals=9"]).unwrap().link;
    assert_eq!((eight.terminals, &eight.access), (9, &ChannelConfig::default().access));
}

#[test]
fn another_scheme_leaves_the_number_of_terminals() {
    let file = "[link.up]\nrate = \"400 kbit/s\"\n[access]\nterminals = 8\nscheme = \"cfdama\"\nfree = 2\n";
    for assignments in [&["access=tdma"][..], &["access.scheme=tdma"]] {
        let link = read(file, assignments).unwrap().link;
        assert_eq!((link.terminals, link.access), (8, "tdma".parse().unwrap()), "{assignments:?}");
    }
    for assignments in [["access=tdma slots=16", "access.terminals=9"], ["access.terminals=9", "access=tdma slots=16"]]
    {
        let link = read(file, &assignments).unwrap().link;
        assert_eq!((link.terminals, link.access), (9, "tdma slots=16".parse().unwrap()), "{assignments:?}");
    }
}

#[test]
fn shared_channels_read_back() {
    for scheme in [
        "dedicated",
        "tdma frame=200ms slots=16",
        "cfdama requests=pre-assigned request-slots=4 request=4B free=2",
        "cfdama slots=64 requests=random backoff=8..64",
        "aloha-periodic stream=2 most=9 threshold=512B timeout=1.5s",
        "slotted-aloha slot=40ms attempts=3",
        "dama cra=none rbdc=64kbit/s",
    ] {
        let body = format!("[link.up]\nrate = \"400 kbit/s\"\n[access]\nterminals = 8\nscheme = \"{scheme}\"\n");
        let shared = read(&body, &[]).unwrap();
        assert_eq!((shared.link.terminals, Ok(&shared.link.access)), (8, scheme.parse().as_ref()));
        assert_eq!(parse("net", &shared.to_toml(), &[]).unwrap(), shared);
    }
}

#[test]
fn traces_stand_beside_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("mine.toml");
    let body = "[link.down]\ntrace = \"cell.csv\"\ntrace_end = \"hold\"\n[link.up]\ntrace = \"up.mahi\"\n";
    fs::write(&scenario, format!("version = 1\n{body}{PAGE}")).unwrap();
    fs::write(folder.path().join("cell.csv"), "time,rate,delay\n0 s,20 Mbit/s,30 ms\n1.5 s,0,30 ms\n60 s,end\n")
        .unwrap();
    fs::write(folder.path().join("up.mahi"), "0\n5\n5\n12\n").unwrap();
    let given = scenario.to_str().unwrap();
    let read = open(given, &[]).unwrap();
    assert_eq!(read.link.down.trace.as_ref().map(|trace| trace.end), Some(TraceEnd::Hold));
    assert_eq!(read.link.down.peak_rate(), Some(Rate::mbps(20)));
    assert_eq!(read.link.rtt(), Duration::from_millis(30));
    assert_eq!(parse("mine", &read.to_toml(), &[]).unwrap(), read, "without the files");
    for (text, problem) in [
        ("", "an empty trace"),
        ("7\n5\n", "line 2 of it: 5 after 7"),
        ("time,rate\n0 s,1 Mbit/s\n0 s,2 Mbit/s\n", "line 3 of it: "),
        ("time,rate\n0 s,0\n", "nothing is ever sent"),
    ] {
        fs::write(folder.path().join("up.mahi"), text).unwrap();
        let error = open(given, &[]).unwrap_err().to_string();
        let place = format!("{given}:6: link.up.trace = \"up.mahi\": {problem}");
        assert!(error.starts_with(&place), "{error}");
    }
}

#[test]
fn a_trace_on_the_command_line_takes_the_place_of_the_rate() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.csv");
    fs::write(&file, "time,rate\n0 s,3 Mbit/s\n").unwrap();
    let traced = open("demo", &[format!("link.down.trace={}", file.display())]).unwrap().link.down;
    assert_eq!((traced.rate, traced.peak_rate()), (None, Some(Rate::mbps(3))));
    let with =
        |assignment: &str| open("quic4sat-variable", &[assignment.to_owned()]).map(|scenario| scenario.link.down);
    let rated = with("link.down.rate=2 Mbit/s").unwrap();
    assert_eq!((rated.rate, rated.trace), (Some(Rate::mbps(2)), None));
    assert_eq!(open("demo", &["link.down.trace=none".to_owned()]).unwrap().link.down.rate, Some(Rate::mbps(100)));
    assert!(with("link.down.trace_end=often").is_err());
}

fn probability() -> impl Strategy<Value = Probability> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..1.0, 0.0..1e-9]
        .prop_map(|value| Probability::new(value).expect("from 0 to 1"))
}

fn above_zero() -> impl Strategy<Value = Probability> {
    probability().prop_filter("zero is none", |probability| !probability.is_zero())
}

fn span(longest: Duration) -> impl Strategy<Value = Duration> {
    let most = u64::try_from(longest.as_nanos()).expect("584 years at most");
    (1..=most).prop_map(Duration::from_nanos)
}

fn seconds(count: u64) -> impl Strategy<Value = Duration> {
    span(Duration::from_secs(count))
}

fn rate() -> impl Strategy<Value = Rate> {
    (1_u64..).prop_map(|bits| Rate::from_bits_per_second(bits).expect("above zero"))
}

fn steps() -> impl Strategy<Value = TraceRecord> {
    let step = (seconds(100), prop::option::of(rate()), prop::option::of(seconds(9)));
    (rate(), prop::collection::vec(step, 0..5), seconds(9)).prop_map(|(first, later, rest)| {
        let mut at = Duration::ZERO;
        let mut steps = vec![TraceStep { at, rate: Some(first), delay: None }];
        for (after, rate, delay) in later {
            at += after;
            steps.push(TraceStep { at, rate, delay });
        }
        TraceRecord::Steps { steps, length: at + rest }
    })
}

fn opportunities() -> impl Strategy<Value = TraceRecord> {
    (prop::collection::vec(seconds(100), 1..9), seconds(9)).prop_map(|(mut times, rest)| {
        times.sort();
        let length = times[times.len() - 1] + rest;
        TraceRecord::Opportunities { times, length }
    })
}

fn trace() -> impl Strategy<Value = Trace> {
    (prop_oneof![steps(), opportunities()], any::<bool>())
        .prop_map(|(record, repeat)| Trace::new(record, if repeat { TraceEnd::Repeat } else { TraceEnd::Hold }))
}

fn orbit() -> impl Strategy<Value = Orbit> {
    let geo = (0.0..=90.0, 0.0..=90.0).prop_map(|(terminal_elevation_deg, gateway_elevation_deg)| {
        Orbit::Geostationary { terminal_elevation_deg, gateway_elevation_deg }
    });
    let leo = (500e3..2000e3, 5.0..40.0, 0_u64..1_000_000_000).prop_map(|(altitude_m, least_elevation_deg, pause)| {
        let (handover, pause) = (Duration::from_nanos(15_000_000_001), Duration::from_nanos(pause));
        Orbit::LowEarth { altitude_m, least_elevation_deg, handover, pause }
    });
    prop_oneof![geo, leo]
}

fn queue() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        Just(QueueLimit::Unlimited),
        any::<u64>().prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
        any::<u64>().prop_map(QueueLimit::Packets),
    ]
}

fn codel() -> impl Strategy<Value = CoDel> {
    (seconds(9), seconds(9), any::<bool>()).prop_map(|(target, interval, ecn)| CoDel {
        target: target.min(interval),
        interval,
        ecn,
    })
}

fn discipline() -> impl Strategy<Value = Discipline> {
    let quantum = || (1_u64..100_000).prop_map(Bytes::new);
    prop_oneof![
        Just(Discipline::DropTail),
        Just(Discipline::Priority),
        codel().prop_map(Discipline::CoDel),
        quantum().prop_map(|quantum| Discipline::FairQueue { quantum }),
        (quantum(), codel()).prop_map(|(quantum, codel)| Discipline::FqCoDel { quantum, codel }),
    ]
}

fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![Just(Jitter::None), seconds(9).prop_map(Jitter::Uniform), seconds(9).prop_map(Jitter::Exponential)]
}

fn loss() -> impl Strategy<Value = LossModel> {
    let bursts = (probability(), probability(), probability(), probability())
        .prop_map(|(enter, leave, good, bad)| LossModel::GilbertElliott(GilbertElliott { enter, leave, good, bad }));
    prop_oneof![
        Just(LossModel::None),
        above_zero().prop_map(LossModel::Bernoulli),
        probability().prop_map(LossModel::BitErrors),
        bursts,
    ]
}

fn outages() -> impl Strategy<Value = Outages> {
    let windows = prop::collection::vec((seconds(99), seconds(9)), 1..5).prop_map(|windows| {
        let mut end = Instant::START;
        let placed = windows.into_iter().map(|(gap, length)| {
            let begin = end + gap;
            end = begin + length;
            (begin, length)
        });
        Outages::At(placed.collect())
    });
    let periodic = (seconds(99), seconds(9), seconds(9)).prop_map(|(first, length, between)| Outages::Periodic {
        first: Instant::START + first,
        period: length + between,
        length,
    });
    let random = (1_u64..100, 1_u64..100)
        .prop_map(|(up, down)| Outages::Random { up: Duration::from_secs(up), down: Duration::from_secs(down) });
    prop_oneof![Just(Outages::None), windows, periodic, random]
}

prop_compose! {
    fn direction()(
        fixed in prop::option::of(rate()),
        trace in prop::option::of(trace()),
        delay in prop_oneof![Just(Duration::ZERO), span(Duration::from_secs(86_400))],
        orbit in prop::option::of(orbit()),
        queue in queue(),
        discipline in discipline(),
        (overhead, useful, sent) in (0_u64..=65_535, 1_u32.., any::<u32>()),
        jitter in jitter(),
        (held_back, by) in (above_zero(), seconds(9)),
        reorders: bool,
        loss in loss(),
        outages in outages(),
        (corruption, duplication) in (probability(), probability()),
    ) -> DirectionConfig {
        let framing = format!("overhead={overhead}B redundancy={}/{useful}", useful.saturating_add(sent));
        let mut config = DirectionConfig {
            rate: if trace.is_some() { None } else { fixed },
            trace, delay, orbit, queue, discipline, jitter, loss, outages, corruption, duplication,
            framing: framing.parse().expect("a framing"),
            ..DirectionConfig::default()
        };
        if reorders {
            (config.reordering.probability, config.reordering.by) = (held_back, by);
        }
        config
    }
}

proptest! {
    #[test]
    fn any_link_reads_back(down in direction(), up in direction(), wan in direction(), terminals in 1_u16..) {
        let mut scenario = open("demo", &[]).unwrap();
        scenario.link = ChannelConfig { down, up, terminals, ..ChannelConfig::default() };
        scenario.wan = ChannelConfig { down: wan.clone(), up: wan, ..ChannelConfig::default() };
        prop_assert!(scenario.link.check().is_ok() && scenario.wan.check().is_ok());
        let text = scenario.to_toml();
        let read = parse("demo", &text, &[]);
        prop_assert_eq!(read.map_err(|error| error.to_string()), Ok(scenario), "{}", text);
    }
}
