//! Users at every terminal, each loading page after page and thinking in between, for hours of virtual time.
//!
//! Users are numbered through all terminals; what user n wants is the same whatever the network and the architecture (common
//! random numbers), so that differences between architectures are not noise. Each user has servers of its own. What is asked for
//! before the warm-up is over does not count, and neither do pages that are not complete at the end, whose number is told.
//!
//! The whole is repeated with other seeds, on all cores ([`replications`]), until the mean page time is known with the scenario's `precision` (half of
//! its 95 % confidence interval over the replications) or as often as its `runs` say, with every architecture as often as with the one that needs most.
//! Those without a complete page, if users are few and the time is short, have no mean; that there are some is told.

use crate::architecture::Chain;
use crate::client::{Client, Servers};
use crate::crowd;
use crate::error::{MOST_LEGS, SimError};
use crate::meter::{Meter, Usage};
use crate::metrics::{Histogram, Metrics};
use crate::network::Drops;
use crate::replications::{self, Plan, Replicated, Results, Watch};
use crate::report;
use crate::trace::Slot;
use crate::trunk::Trunk;
use crate::world::World;
use farhop_link::Direction;
use farhop_results::Sample;
use farhop_scenario::{Scenario, Users};
use farhop_units::random::Stream;
use farhop_units::{Bytes, Instant};
use farhop_web::users::User;
use std::time::Duration;

/// So many without a complete page are enough to expect none.
const HOPELESS: usize = 3;
/// How often progress is told.
const STEPS: u32 = 200;
/// What one replication has shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Replication {
    pub(crate) metrics: Metrics,
    /// Pages begun in the measured time that were not complete at its end.
    pub(crate) unfinished: u64,
    /// What the far link delivered in the measured time, down and up.
    pub(crate) carried: [Bytes; 2],
    /// How much it did and what waited for it, interval by interval.
    pub(crate) usage: Usage,
    /// Most connections at once.
    pub(crate) peak_connections: usize,
    /// For how many ns there were how many.
    pub(crate) connections: Histogram,
    /// Packets that the parts of the network dropped.
    pub(crate) dropped: Drops,
    /// The most that any one of the far link's queues held, down and up.
    pub(crate) queued: [Bytes; 2],
    /// Users wait for the way up that terminals share, and would not if there were few of them.
    pub(crate) is_jammed: bool,
    /// How many pages users would have begun in the measured time if all were as fast as without other users, per page that they did begin;
    /// 1 where the link has room, or none, so that it need not be known.
    pub(crate) wanted: f64,
    /// The link had no time left.
    pub(crate) is_overloaded: bool,
    /// The most that relays at the gateway held together, and those of any one terminal, if there are relays.
    pub(crate) relayed: [Option<Bytes>; 2],
    pub(crate) events: u64,
    pub(crate) hops: u64,
}

/// What is simulated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) users: &'a Users,
    pub(crate) chain: Chain,
    /// For the first replication.
    pub(crate) trace: &'a Slot,
}

/// Runs replication number `run`, watched in virtual time.
fn replicate(case: &Case<'_>, seed: u64, run: u32, watch: &mut Watch<'_, Duration>) -> Replicated<Replication> {
    let Case { scenario, users, trace, .. } = *case;
    let (each, terminals) = shared(case);
    watch.expects(each.max(users.per_terminal as usize).saturating_mul(terminals));
    let mut world = world(case, seed, clients(scenario, users, seed));
    world.begin_trace(trace.take(run));
    let result = go(&mut world, users, watch);
    trace.put(world.end_trace());
    drop(world);
    watch.has_ended();
    let Some((mut replication, stay)) = result? else { return Ok(None) };
    crowd::judge(case, seed, stay, &mut replication);
    replication.is_overloaded = report::is_overloaded(scenario, users, &replication);
    Ok(Some(replication))
}

/// Why nothing is known of pages.
fn no_pages(Case { scenario, users, .. }: &Case<'_>, is_overloaded: bool) -> SimError {
    // Who cannot even ask leaves the link idle: so much is asked for if each user wants one page in all the time.
    let asked = (users.model.typical_page().total_bytes() * user_count(scenario, users)).bits_f64();
    let capacity = scenario.link.down.capacity(Instant::START, Instant::START + users.duration);
    let full = is_overloaded || capacity.is_some_and(|capacity| asked > capacity);
    SimError::NoPages { from: users.warm_up, end: users.duration, full }
}

impl Replication {
    /// The pages' mean time in s, if one was complete.
    pub(crate) fn mean(&self) -> Option<f64> {
        let pages = &self.metrics.pages;
        (pages.count() > 0).then(|| pages.mean())
    }
}

/// The network with these clients, before anything happens.
pub(crate) fn world<'a>(case: &Case<'a>, seed: u64, clients: Vec<Client>) -> World<'a> {
    let Case { scenario, users, chain, .. } = *case;
    let from = Instant::START + users.warm_up;
    let meter = Meter::of_many(from, users.measured(), report::serializers(scenario));
    World::new((scenario, chain), seed, clients, meter, Metrics::new(from))
}

/// Lets things happen until the time is over; returns with it how long packets were on a shared way up.
pub(crate) fn go(
    world: &mut World<'_>,
    users: &Users,
    watch: &mut Watch<'_, Duration>,
) -> Result<Option<(Replication, Option<Duration>)>, SimError> {
    let end = Instant::START + users.duration;
    world.runs_until(end);
    let mut next_step = Instant::START;
    while let Some(at) = world.step()?.filter(|at| *at < end) {
        watch.check_size(world)?;
        if world.metrics().took_no_time {
            return Err(SimError::NoTime);
        }
        if at < next_step {
            continue;
        }
        next_step = at + users.duration / STEPS;
        if !watch.has_reached(at - Instant::START) {
            return Ok(None);
        }
    }
    Ok(Some((conclude(world, users), world.network().meter().mean_stay_up())))
}

fn conclude(world: &World<'_>, users: &Users) -> Replication {
    let metrics = world.metrics();
    let loading = world.clients().iter().filter(|client| client.is_loading);
    let begun = loading.filter_map(|client| client.browser.as_ref()).filter(|browser| metrics.counts(browser.began()));
    Replication {
        metrics: metrics.clone(),
        unfinished: begun.count() as u64,
        carried: Direction::BOTH.map(|direction| world.network().meter().total(direction)),
        usage: world.network().meter().usage(users.measured()),
        peak_connections: world.legs().occupancy().peak(),
        connections: world.legs().occupancy().until(Instant::START + users.duration),
        dropped: world.network().traffic().dropped_by,
        queued: Direction::BOTH.map(|direction| world.network().meter().peak_queue(direction)),
        is_jammed: false,
        wanted: 1.0,
        is_overloaded: false,
        relayed: world.buffers().peaks(),
        events: world.event_count(),
        hops: world.network().traffic().hops,
    }
}

/// How many users there are at all terminals.
pub(crate) fn user_count(scenario: &Scenario, users: &Users) -> u64 {
    u64::from(users.per_terminal) * u64::from(scenario.link.terminals.max(1))
}

/// All users, those of one terminal next to each other.
pub(crate) fn clients(scenario: &Scenario, users: &Users, seed: u64) -> Vec<Client> {
    let terminals = 0..scenario.link.terminals.max(1);
    let seats = terminals.flat_map(|terminal| (0..users.per_terminal).map(move |_| terminal));
    let client = |(number, terminal): (u32, u16)| {
        let servers = Servers::of(number, users.model.most_hosts());
        Client::user(terminal, servers, User::new(&users.model, seed, number))
    };
    (0..).zip(seats).map(client).collect()
}

/// Runs replications on so many threads until enough are known, of which the first may be, or exactly so many; returns those that count, in order.
/// `heard` is told which has come to which time.
pub(crate) fn run(
    (case, seed): (Case<'_>, u64),
    threads: usize,
    (known, exactly): (Vec<Replication>, Option<u32>),
    heard: &mut dyn FnMut(u32, Duration),
) -> Result<Vec<Replication>, SimError> {
    check_trunk(&case)?;
    let plan = Plan { threads, known, most: exactly.unwrap_or(case.scenario.run.runs.max(1)) };
    let one = |number, watch: &mut Watch<'_, Duration>| {
        replicate(&case, Stream::new(seed, u64::from(number)).bits(0), number, watch)
    };
    let precision = exactly.map_or(case.users.precision.get(), |_| 0.0);
    let all = replications::run(plan, one, |results| enough(results, precision), heard)?;
    if all.iter().any(|replication| replication.mean().is_some()) {
        return Ok(all);
    }
    Err(no_pages(&case, all.iter().any(|replication| replication.is_overloaded)))
}

/// Refuses connections between proxies that are too many as soon as they are there, which is before anybody uses them.
fn check_trunk(case: &Case<'_>) -> Result<(), SimError> {
    let (each, terminals) = shared(case);
    if each.saturating_mul(terminals) > MOST_LEGS {
        return Err(SimError::TooManyShared { each, terminals });
    }
    Ok(())
}

/// Connections of the trunk at each terminal, and how many terminals there are.
fn shared(case: &Case<'_>) -> (usize, usize) {
    (Trunk::connections_of(case.scenario, case.chain.over_the_link()), case.scenario.link.terminals.max(1).into())
}

/// How many of the first replications are enough: up to a failure, until the mean is known with so much `precision` or nothing is known of it, or all
/// of them.
fn enough(results: &Results<Replication>, precision: f64) -> Option<usize> {
    let mut means = Sample::default();
    for (result, count) in results.iter().zip(1..) {
        let Ok(replication) = result.as_ref()? else { return Some(count) };
        replication.mean().into_iter().for_each(|mean| means.push(mean));
        let is_known = replications::is_known(&means, precision);
        let is_hopeless = means.count() == 0 && (count >= HOPELESS || replication.is_overloaded);
        if is_known || is_hopeless || count == results.len() {
            return Some(count);
        }
    }
    None
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use farhop_results::Architecture;
    use farhop_scenario::PrefetchSide;
    use std::sync::LazyLock;

    pub(crate) fn scenario(assignments: &[&str]) -> Scenario {
        let usual = ["users.model=zhou-2004", "users.duration=3 min", "users.warm_up=30 s", "access.terminals=6"];
        let assignments: Vec<String> = usual.iter().chain(assignments).map(ToString::to_string).collect();
        farhop_scenario::open("rwbp-128", &assignments).expect("the assignments are right")
    }

    pub(crate) fn case(scenario: &Scenario) -> Case<'_> {
        static UNTRACED: LazyLock<Slot> = LazyLock::new(Slot::default);
        let users = scenario.users.as_ref().expect("there are users");
        Case { scenario, users, chain: Chain::of(Architecture::Direct, scenario.prefetch_at), trace: &UNTRACED }
    }

    pub(crate) fn replications(scenario: &Scenario, threads: usize) -> Vec<Replication> {
        run((case(scenario), 1), threads, (Vec::new(), None), &mut |_, _| {}).expect("pages are complete")
    }

    #[test]
    fn threads_change_nothing() {
        let scenario = scenario(&["run.runs=5"]);
        let alone = replications(&scenario, 1);
        assert_eq!(alone.len(), 5);
        assert_eq!(alone, replications(&scenario, 2));
        assert_eq!(alone, replications(&scenario, 7));
        assert_ne!(alone[0], alone[1]);
    }

    #[test]
    fn results_are_the_same_byte_by_byte_with_one_thread_and_with_two() {
        let scenario = scenario(&["run.runs=4", "link.down.loss=1 %", "access.scheme=slotted-aloha"]);
        let users = scenario.users.as_ref().expect("there are users");
        let json = |threads: usize| {
            let all = replications(&scenario, threads);
            let row = crate::report::of_users(&scenario, users, Architecture::Direct, &all);
            serde_json::to_string(&row).expect("rows hold finite numbers")
        };
        let alone = json(1);
        assert_eq!(alone, json(2));
        assert!(alone.contains("\"runs\":4"), "it tells of several replications: {alone}");
    }

    #[test]
    fn users_want_the_same_whatever_the_network() {
        let pages = |assignments: &[&str]| {
            let scenario = scenario(assignments);
            let users = scenario.users.clone().expect("there are users");
            clients(&scenario, &users, 7)
                .into_iter()
                .map(|mut client| {
                    let due = client.rearm().expect("it begins");
                    client.handle_timeout(due, scenario.http);
                    (due, client.browser.expect("it loads").page().clone())
                })
                .collect::<Vec<_>>()
        };
        let usual = pages(&[]);
        assert_eq!(usual, pages(&["link.down.rate=1 Mbit/s", "http.version=1.0"]));
        assert_eq!(pages(&["users.per_terminal=2", "access.terminals=3"]), usual);
    }

    #[test]
    fn a_path_that_takes_no_time_is_refused() {
        let no_time = |model: &str| {
            let model = format!("users.model=zhou-2004, sizes = constant value=1kB{model}");
            let users = [&*model, "users.duration=2 min", "users.warm_up=1 s", "run.runs=1", "tcp.profile=rfc"];
            let path =
                ["link.down.rate=unlimited", "link.up.rate=unlimited", "link.down.delay=0 s", "link.up.delay=0 s"];
            let assignments: Vec<String> = users.iter().chain(&path).map(ToString::to_string).collect();
            let scenario = farhop_scenario::open("demo", &assignments).expect("the assignments are right");
            run((case(&scenario), 1), 1, (Vec::new(), None), &mut |_, _| {}).err().map(|error| error.to_string())
        };
        let said = "a path without delay and with unlimited rates takes no time";
        assert_eq!(
            [no_time(""), no_time(", think = constant value=0s")],
            [said, said].map(|said| Some(said.to_owned()))
        );
    }

    #[test]
    fn a_failure_ends_the_replications() {
        let broken = scenario(&["run.runs=4", "link.up.loss=100 %"]);
        let error = run((case(&broken), 1), 2, (Vec::new(), None), &mut |_, _| {}).expect_err("nothing arrives");
        assert_eq!(error.to_string(), "no page that was asked for from 30 s on was complete at 180 s");
        // What is wanted is too much even if nothing of it is asked for.
        let crowd = scenario(&["run.runs=1", "link.up.loss=100 %", "access.terminals=2000"]);
        let error = run((case(&crowd), 1), 1, (Vec::new(), None), &mut |_, _| {}).expect_err("nothing arrives");
        assert!(error.to_string().ends_with("at 180 s: the network cannot carry what the users want"), "{error}");
    }

    #[test]
    fn too_many_connections_are_noticed_at_once() {
        // A step of progress is 18 s here, within which all users connect several times.
        let many = scenario(&["run.runs=1", "users.per_terminal=4000", "users.duration=1 h"]);
        let mut last = Duration::ZERO;
        let error = run((case(&many), 1), 1, (Vec::new(), None), &mut |_, reached| last = reached)
            .expect_err("they are too many");
        let SimError::TooManyLegs(at) = error else { panic!("{error}") };
        assert!(at > last && at < last + many.users.clone().expect("there are users").duration / STEPS, "{at:?}");
    }

    #[test]
    fn too_many_connections_of_proxies_are_refused_before_there_are_any() {
        // As many users as terminals: nobody's own connections would be too many.
        let many = scenario(&["access.terminals=65535", "multiplexed.connections=1000"]);
        let case =
            |scenario| Case { chain: Chain::of(Architecture::Multiplexed, PrefetchSide::Near), ..case(scenario) };
        let error =
            run((case(&many), 1), 1, (Vec::new(), None), &mut |_, at| panic!("it has begun and come to {at:?}"))
                .expect_err("they are too many");
        assert_eq!(
            error.to_string(),
            "1000 connections of the proxies at each of 65535 terminals are more than 20000, the most at once that can be \
             simulated; accepted: fewer of them (multiplexed.connections) or fewer terminals (access.terminals)"
        );
        let most = scenario(&["access.terminals=20", "multiplexed.connections=1000"]);
        assert_eq!(check_trunk(&case(&most)), Ok(()));
    }

    #[test]
    fn a_link_is_full_with_its_frames_outages_and_slow_times() {
        let full = |setting: &str, trace: Option<&str>| {
            let many = ["run.runs=1", "access.scheme=dedicated", "users.per_terminal=400", setting];
            let mut scenario = scenario(&many);
            if let Some(trace) = trace {
                scenario.link.down.rate = None;
                scenario.link.down.trace = Some(trace.parse().expect("there is such a trace"));
            }
            let all = replications(&scenario, 1);
            let users = scenario.users.as_ref().expect("there are users");
            let row = crate::report::of_users(&scenario, users, Architecture::Direct, &all);
            let (note, used) = (row.note.expect("users are noted"), row.users.and_then(|users| users.down_used));
            assert!(note.contains("; down cannot carry what they want"), "{setting} {trace:?}: {note}");
            assert!(used.is_some_and(|used| used < 1.01), "{setting} {trace:?}: {used:?}");
        };
        full("link.down.framing=none", None);
        full("link.down.loss=10 %", None);
        full("link.down.framing=overhead=20B redundancy=4/3", None);
        full("link.down.outages=periodic first=5s period=10s length=2s", None);
        full("link.down.framing=none", Some("steps end=repeat length=10s at=0ms:500kbit/s;5s:2Mbit/s"));
        full("link.down.framing=none", Some("opportunities end=repeat length=12ms unit=ms times=12"));
    }

    #[test]
    fn a_narrow_interval_is_enough() {
        let replication = replications(&scenario(&["run.runs=1"]), 1).remove(0);
        let with_mean = |seconds: u64| {
            let mut replication = replication.clone();
            replication.metrics = Metrics::default();
            replication.metrics.pages.add(Duration::from_secs(seconds));
            Some(Ok(replication))
        };
        let results = |means: &[u64], most: usize, precision: f64| {
            let mut results: Vec<_> = means.iter().map(|mean| with_mean(*mean)).collect();
            results.resize_with(most, || None);
            enough(&results, precision)
        };
        let (narrow, wide): (Vec<u64>, Vec<u64>) = ((100..110).collect(), [100, 150].repeat(5));
        assert_eq!(results(&narrow[..9], 20, 0.05), None, "nine are too few");
        assert_eq!([0.05, 0.01, 0.0].map(|precision| results(&narrow, 20, precision)), [Some(10), None, None]);
        assert_eq!([0.05, 0.2].map(|precision| results(&wide, 20, precision)), [None, Some(10)]);
        assert_eq!(results(&wide, 10, 0.05), Some(10), "there are no more");
    }

    #[test]
    fn replications_without_a_page_count_and_have_no_mean() {
        let page = replications(&scenario(&["run.runs=1"]), 1).remove(0);
        let none = Replication { metrics: Metrics::default(), ..page.clone() };
        let all = |with: &[bool]| {
            let mut results: Vec<_> =
                with.iter().map(|with| Some(Ok(if *with { page.clone() } else { none.clone() }))).collect();
            results.resize_with(30, || None);
            enough(&results, 0.05)
        };
        let every_second = [false, true].repeat(10);
        assert_eq!(all(&every_second[..19]), None, "nine with a page are too few");
        assert_eq!(all(&every_second), Some(20));
        assert_eq!(all(&[false, false]), None, "the next may have one");
        assert_eq!(all(&[false, false, false]), Some(3), "the next will have none either");
    }

    #[test]
    fn what_is_known_is_not_run_again() {
        let scenario = scenario(&["run.runs=4"]);
        let all = replications(&scenario, 2);
        let mut reached = Vec::new();
        let known = all[..3].to_vec();
        let again = run((case(&scenario), 1), 2, (known, None), &mut |replication, _| reached.push(replication));
        assert_eq!(again.expect("pages are complete"), all);
        assert!(!reached.is_empty() && reached.iter().all(|replication| *replication == 3), "{reached:?}");
    }

    #[test]
    fn few_users_in_a_short_time_have_pages_in_some_replications() {
        // They think for some 25 s, so that one of two hardly has a page within the 15 s that count.
        let few = ["run.runs=40", "users.duration=30 s", "users.warm_up=15 s", "access.terminals=1"];
        let few = scenario(&[&few[..], &["users.per_terminal=2", "access.scheme=dedicated"]].concat());
        let all = replications(&few, 2);
        let without = all.iter().filter(|replication| replication.mean().is_none()).count();
        assert!((1..all.len()).contains(&without), "{without} of {}", all.len());
        let users = few.users.as_ref().expect("there are users");
        let row = crate::report::of_users(&few, users, Architecture::Direct, &all);
        let note = row.note.expect("users are noted");
        assert!(note.contains(&format!("; {without} of {} runs without a complete page", all.len())), "{note}");
        let times = row.users.expect("there are users");
        assert!(times.page_load_mean_error_s.is_some_and(f64::is_finite) && row.page_load_min_s > 0.0);
    }
}
