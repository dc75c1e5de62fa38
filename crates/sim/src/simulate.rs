//! One scenario through every architecture it names.

use crate::architecture::{Chain, Protocol};
use crate::distributions::{self, Population};
use crate::error::SimError;
use crate::log::{self, Replayed};
use crate::page_load::{self, Outcome};
use crate::population::{self, Case, Replication};
use crate::replications::{self, Plan, Replicated, Watch};
use crate::report;
use crate::trace::{Slot, TraceFiles, TraceSummary, Tracer};
use farhop_link::{Access, Cfdama, ChannelConfig, DirectionConfig, Jitter, Outages, Requests};
use farhop_results::{Architecture, Difference, Distribution, Gap, Load, Row, Source};
use farhop_scenario::{HttpVersion, Log, Scenario, Users, seeds};
use farhop_tcp::Profile;
use std::time::Duration;

/// What simulating a scenario gave and what it cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Simulation {
    /// One row per architecture that could be simulated.
    pub rows: Vec<Row>,
    /// The architectures that could not, with the reason.
    pub gaps: Vec<Gap>,
    /// Every load behind the rows; users' pages are too many to be listed.
    pub loads: Vec<Load>,
    /// The distributions behind the rows of users or of a log.
    pub distributions: Vec<Distribution>,
    /// How much longer pages or requests took through each further architecture than through the first that was simulated, if all were several times.
    pub differences: Vec<Difference>,
    /// What users met, for every row that has users.
    pub populations: Vec<Population>,
    /// Events handled; with a trace there are more of them.
    pub event_count: u64,
    /// Packets passing a serializer with a finite rate or a delay.
    pub packet_hops: u64,
}

/// How far a simulation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being simulated.
    pub architecture: Architecture,
    /// Which repetition, from 0.
    pub run: u32,
    /// The virtual time that it has come to.
    pub reached: Duration,
    /// The virtual time at which it ends, if that is known.
    pub end: Option<Duration>,
}

/// Simulates `scenario`; the same scenario and seed give the same result on every machine and any number of threads.
///
/// Where users load pages, each replication is such a time of so many hours; there are as many as it takes, and as the scenario's
/// `runs` allow, and the row tells of all their pages. Otherwise, where something is random the page is loaded as often as the
/// scenario says, or until its mean is known as well as that asks for, with the seeds that measured runs of `seed` have, and the row gives the median; where nothing is random once, as every
/// load is the same. Between Linux's hosts every load is random: how long they and their programs take is. The many requests of a log have
/// the mean of that: they are made once unless the network is random.
pub fn simulate(scenario: &Scenario, seed: u64) -> Simulation {
    simulate_with(scenario, seed, &mut |_| {})
}

/// The same; `heard` is told of progress, often enough to show it.
pub fn simulate_with(scenario: &Scenario, seed: u64, heard: &mut dyn FnMut(Progress)) -> Simulation {
    simulate_and(scenario, seed, &Slot::default(), heard)
}

/// The same, with everything that happens in the first run of the first architecture written down.
pub fn simulate_traced(
    scenario: &Scenario,
    seed: u64,
    files: TraceFiles,
    heard: &mut dyn FnMut(Progress),
) -> (Simulation, TraceSummary) {
    let trace = Slot::new(Tracer::new(scenario, files));
    let simulation = simulate_and(scenario, seed, &trace, heard);
    (simulation, trace.into_summary().unwrap_or_default())
}

fn simulate_and(scenario: &Scenario, seed: u64, trace: &Slot, heard: &mut dyn FnMut(Progress)) -> Simulation {
    let architectures = scenario.run.architectures.iter().copied();
    let tasks = architectures.map(|architecture| (architecture, Task::new(scenario, architecture, seed, trace)));
    let mut simulation = Simulation::default();
    let mut add = |architecture, found: Result<Simulation, SimError>| match found {
        Ok(found) => simulation.add(found),
        Err(reason) => {
            simulation.gaps.push(Gap { architecture, source: Source::Simulated, reason: reason.to_string() });
        }
    };
    match (&scenario.log, &scenario.users) {
        (Some(log), _) => {
            let all = equally(tasks, |task, runs| task.replay(log, runs, heard));
            let differences = differences(&all, Replayed::mean);
            for (of, found) in all {
                add(of, found.and_then(|(task, all)| task.tell_of_log(log, &all)));
            }
            simulation.compare(differences);
        }
        (None, None) => {
            for (of, found) in equally(tasks, |task, runs| task.load(runs, heard)) {
                add(of, found.map(|(task, outcomes)| task.tell_of_loads(outcomes)));
            }
        }
        (None, Some(users)) => {
            let all = equally(tasks, |task, runs| task.populate(users, runs, heard));
            let differences = differences(&all, Replication::mean);
            for (of, found) in all {
                add(of, found.map(|(task, replications)| task.tell_of_users(users, &replications)));
            }
            simulation.compare(differences);
        }
    }
    simulation
}

/// Runs that are to be there: the first ones may be known, and exactly so many may be asked for.
type Runs<T> = (Vec<T>, Option<u32>);

/// An architecture and what its runs gave.
type Done<'a, T> = (Task<'a>, Vec<T>);

/// What came of each architecture.
type Found<'a, T> = Vec<(Architecture, Result<Done<'a, T>, SimError>)>;

/// Does something `of` each architecture, as often with all of them as with the one that needs most, so that their differences are not those of other
/// runs.
fn equally<'a, T>(
    tasks: impl Iterator<Item = (Architecture, Result<Task<'a>, SimError>)>,
    mut of: impl FnMut(&Task<'a>, Runs<T>) -> Result<Vec<T>, SimError>,
) -> Found<'a, T> {
    let mut first = |task: Task<'a>| {
        let all = of(&task, (Vec::new(), None))?;
        Ok((task, all))
    };
    let found: Vec<_> = tasks.map(|(name, task)| (name, task.and_then(&mut first))).collect();
    let counts = found.iter().filter_map(|(_, found)| Some(found.as_ref().ok()?.1.len()));
    let most = counts.max().unwrap_or(0);
    let mut more = |(task, known): Done<'a, T>| {
        let is_less = known.len() < most;
        let exactly = Some(u32::try_from(most).unwrap_or(u32::MAX));
        let all = if is_less { of(&task, (known, exactly))? } else { known };
        Ok((task, all))
    };
    found.into_iter().map(|(name, found)| (name, found.and_then(&mut more))).collect()
}

/// The differences of all architectures from the first one that gave anything, run by run.
fn differences<T>(found: &Found<'_, T>, mean: impl Fn(&T) -> Option<f64>) -> Vec<Difference> {
    let done = found.iter().filter_map(|(name, found)| Some((*name, &found.as_ref().ok()?.1)));
    let mut means = done.map(|(name, all)| (name, all.iter().map(&mean).collect::<Vec<_>>()));
    let Some((first, others)) = means.next() else { return Vec::new() };
    means.filter_map(|(name, means)| Difference::of((name, &means), (first, &others), Source::Simulated)).collect()
}

impl Simulation {
    /// Nothing but what it cost: events and hops of each run.
    fn that_cost(runs: impl Iterator<Item = (u64, u64)>) -> Self {
        let (event_count, packet_hops) = runs.fold((0, 0), |(events, hops), run| (events + run.0, hops + run.1));
        Self { event_count, packet_hops, ..Self::default() }
    }

    /// Tells the differences between those that have a row.
    fn compare(&mut self, differences: Vec<Difference>) {
        let has_row = |architecture| self.rows.iter().any(|row| row.architecture == architecture);
        let told = differences.into_iter().filter(|one| has_row(one.architecture) && has_row(one.from));
        self.differences = told.collect();
    }

    /// Adds what was found of another architecture.
    fn add(&mut self, found: Self) {
        self.rows.extend(found.rows);
        self.gaps.extend(found.gaps);
        self.loads.extend(found.loads);
        self.distributions.extend(found.distributions);
        self.populations.extend(found.populations);
        self.event_count += found.event_count;
        self.packet_hops += found.packet_hops;
    }
}

/// One architecture of a scenario.
struct Task<'a> {
    scenario: &'a Scenario,
    architecture: Architecture,
    chain: Chain,
    seed: u64,
    trace: &'a Slot,
}

impl<'a> Task<'a> {
    fn new(scenario: &'a Scenario, architecture: Architecture, seed: u64, trace: &'a Slot) -> Result<Self, SimError> {
        let chain = Chain::of(architecture, scenario.prefetch_at);
        match why_not_carried(scenario, chain) {
            Some(reason) => Err(SimError::NotCarried(reason)),
            None => Ok(Self { scenario, architecture, chain: chain.carrying(&scenario.http), seed, trace }),
        }
    }

    /// Loads the page as often as it takes.
    fn load(&self, runs: Runs<Outcome>, heard: &mut dyn FnMut(Progress)) -> Result<Vec<Outcome>, SimError> {
        let Self { scenario, architecture, trace, .. } = *self;
        let is_random = has_random_hosts(scenario) || has_random_network(scenario);
        let mut heard = |run, reached| heard(Progress { architecture, run, reached, end: None });
        let one =
            |run: (u64, u32), watch: &mut Watch<'_, _>| page_load::load(scenario, architecture, run, trace, watch);
        self.repeat((is_random, runs), one, |outcome: &Outcome| Some(outcome.load.page_load_s), &mut heard)
    }

    /// What is told of that.
    fn tell_of_loads(&self, outcomes: Vec<Outcome>) -> Simulation {
        let cost = Simulation::that_cost(outcomes.iter().map(|outcome| (outcome.events, outcome.hops)));
        let loads: Vec<Load> = outcomes.into_iter().map(|outcome| outcome.load).collect();
        Simulation { rows: report::of_loads(self.scenario, &loads).into_iter().collect(), loads, ..cost }
    }

    /// Lets users load pages.
    fn populate(
        &self,
        users: &Users,
        runs: Runs<Replication>,
        heard: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Replication>, SimError> {
        let Self { scenario, architecture, chain, trace, .. } = *self;
        let case = Case { scenario, users, chain, trace };
        let mut heard = |run, reached| heard(Progress { architecture, run, reached, end: Some(users.duration) });
        population::run((case, self.seed), replications::cores(), runs, &mut heard)
    }

    /// What is told of that.
    fn tell_of_users(&self, users: &Users, replications: &[Replication]) -> Simulation {
        let Self { scenario, architecture, .. } = *self;
        let used = report::use_of_the_link(scenario, users, replications);
        let cost = Simulation::that_cost(replications.iter().map(|replication| (replication.events, replication.hops)));
        Simulation {
            rows: vec![report::of_users(scenario, users, architecture, replications)],
            distributions: distributions::of_users(scenario, architecture, replications),
            populations: vec![Population::new(architecture, replications, used)],
            ..cost
        }
    }

    /// Makes a log's requests as often as it takes.
    fn replay(
        &self,
        log: &Log,
        runs: Runs<Replayed>,
        heard: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Replayed>, SimError> {
        let Self { scenario, architecture, chain, trace, .. } = *self;
        let mut heard = |run, (reached, end)| heard(Progress { architecture, run, reached, end: Some(end) });
        let one = |run: (u64, u32), watch: &mut Watch<'_, _>| log::replay((scenario, log), chain, run, trace, watch);
        self.repeat((has_random_network(scenario), runs), one, Replayed::mean, &mut heard)
    }

    /// What is told of that, if there are times to tell.
    fn tell_of_log(&self, log: &Log, all: &[Replayed]) -> Result<Simulation, SimError> {
        let Self { scenario, architecture, .. } = *self;
        if all.iter().all(|replayed| replayed.metrics.pages.count() == 0) {
            return Err(report::no_answers((scenario, log), all));
        }
        if all.iter().all(|replayed| replayed.metrics.pages.most() == 0.0) {
            return Err(SimError::NoTime);
        }
        let cost = Simulation::that_cost(all.iter().map(|replayed| (replayed.events, replayed.hops)));
        Ok(Simulation {
            rows: vec![report::of_log((scenario, log), architecture, all)?],
            distributions: distributions::of_log(scenario, architecture, all),
            ..cost
        })
    }

    /// Does something as often as it is worth it, with the seed and the number of each run: several times if it `is_random`, until the `mean` of what
    /// each gives is known as well as the scenario asks for.
    fn repeat<T: Send, At: Send>(
        &self,
        (is_random, (known, exactly)): (bool, Runs<T>),
        one: impl Fn((u64, u32), &mut Watch<'_, At>) -> Replicated<T> + Sync,
        mean: impl Fn(&T) -> Option<f64>,
        heard: &mut dyn FnMut(u32, At),
    ) -> Result<Vec<T>, SimError> {
        let run = &self.scenario.run;
        let most = exactly.unwrap_or(if is_random { run.runs.max(1) } else { 1 });
        let precision = exactly.map_or(run.precision.get(), |_| 0.0);
        let plan = Plan { threads: replications::cores(), known, most };
        let one = |run, watch: &mut Watch<'_, At>| one((seeds::of_run(self.seed, run), run), watch);
        replications::run(plan, one, |results| replications::known(results, precision, &mean), heard)
    }
}

/// Why an architecture's boxes have nothing to do with what the scenario asks for.
fn why_not_carried(scenario: &Scenario, chain: Chain) -> Option<&'static str> {
    let has_farhops_boxes = matches!(chain.over_the_link(), Protocol::Tunnel | Protocol::Accelerated);
    let reads = chain.ends_at_the_terminal() || !chain.duties().is_empty();
    if has_farhops_boxes && scenario.http.version == HttpVersion::Http3 {
        return Some(
            "farhop's terminal is a proxy for TCP connections and carries no UDP: browsers behind it speak HTTP/2 \
             instead (http.version=2)",
        );
    }
    (reads && scenario.log.is_some()).then_some("boxes that prefetch read pages, and a log has none")
}

/// Whether hosts take another time with each seed; QUIC answers at once on every one.
fn has_random_hosts(scenario: &Scenario) -> bool {
    scenario.tcp.profile == Profile::Linux && scenario.http.version != HttpVersion::Http3
}

/// Whether what the network does to packets differs from seed to seed.
fn has_random_network(scenario: &Scenario) -> bool {
    let random = |channel: &ChannelConfig| {
        is_contended(&channel.access) || [&channel.down, &channel.up].into_iter().any(rolls_dice)
    };
    [&scenario.lan, &scenario.link, &scenario.wan].into_iter().any(random)
}

/// Whether terminals back off at random after collisions.
fn is_contended(access: &Access) -> bool {
    matches!(
        access,
        Access::AlohaPeriodic(_)
            | Access::SlottedAloha(_)
            | Access::Cfdama(Cfdama { requests: Requests::Random { .. }, .. })
    )
}

fn rolls_dice(direction: &DirectionConfig) -> bool {
    let probabilities = [direction.reordering.probability, direction.corruption, direction.duplication];
    !direction.loss.is_none()
        || direction.jitter != Jitter::None
        || matches!(direction.outages, Outages::Random { .. })
        || probabilities.into_iter().any(|probability| !probability.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_with(assignment: &str) -> Row {
        let scenario = farhop_scenario::open("obata-2002", &[assignment.to_owned()]).expect("the assignment is right");
        simulate(&scenario, 1).rows.remove(0)
    }

    #[test]
    fn what_is_random_is_loaded_several_times() {
        for random in [
            "link.down.loss=0.1 %",
            "link.up.loss=bit-errors rate=1e-7",
            "link.down.jitter=uniform max=5ms",
            "link.up.reordering=probability=1% by=10ms",
            "wan.outages=random up=60s down=1s",
            "lan.corruption=0.1 %",
            "link.down.duplication=0.1 %",
            "access.scheme=slotted-aloha",
            "access.scheme=cfdama requests=random",
        ] {
            assert_eq!(row_with(random).runs, 3, "{random}");
        }
        for certain in [
            "link.down.queue=100 packets",
            "link.down.discipline=fq-codel",
            "link.down.framing=redundancy=16/15",
            "link.up.outages=at windows=1s+100ms",
            "link.orbit=leo altitude=550km elevation=25deg pause=30ms",
            "access.scheme=cfdama",
        ] {
            assert_eq!(row_with(certain).runs, 1, "{certain}");
        }
    }

    #[test]
    fn lossy_pages_are_loaded_until_their_mean_is_known_and_with_every_architecture_as_often() {
        let simulated = |more: &[&str]| {
            let lossy = ["link.down.loss=0.5 %", "page.objects=4", "run.runs=200", "run.architectures=direct,tunnel"];
            let assignments: Vec<String> = lossy.iter().chain(more).map(ToString::to_string).collect();
            let scenario = farhop_scenario::open("obata-2002", &assignments).expect("the assignments are right");
            simulate(&scenario, 1)
        };
        let [all, some] = [simulated(&[]), simulated(&["run.precision=10 %"])];
        assert_eq!(all.rows.iter().map(|row| row.runs).collect::<Vec<_>>(), [200, 200]);
        let count = some.rows[0].runs;
        assert!((11..200).contains(&count) && some.rows[1].runs == count, "{count} loads");
        let is_known = |row: &Row| row.mean_error_s.expect("several") < 0.1 * row.mean_s.expect("several");
        assert!(some.rows.iter().any(is_known), "the one that needs most");
        let note = some.rows[0].note.as_deref().expect("there is one");
        assert!(note.contains(&format!("; mean of {count} loads ")), "{note}");
        assert!(!note.contains("tell the mean"), "{note}");
        let few = simulated(&["run.runs=12", "run.precision=0.1 %"]);
        let note = few.rows[0].note.as_deref().expect("there is one");
        assert!(
            note.contains("; 12 runs tell the mean to ") && note.contains(" %, not to 0.1 % (run.precision; "),
            "{note}"
        );
        let first = |simulation: &Simulation| simulation.loads[..count as usize].to_vec();
        assert_eq!(first(&some), first(&all), "the same loads, but fewer");
    }

    #[test]
    fn every_setting_costs_time() {
        let before = row_with("title=x").page_load_s;
        for slower in [
            "link.down.framing=redundancy=16/15",
            "link.up.outages=at windows=250ms+200ms",
            "link.orbit=geo elevation=40deg",
            "link.down.jitter=uniform max=50ms",
            "link.down.corruption=5 %",
            "access.scheme=tdma",
        ] {
            let after = row_with(slower).page_load_s;
            assert!(after > before, "{slower}: {after} s instead of {before} s");
        }
    }

    #[test]
    fn the_note_tells_which_slow_start_it_is() {
        for (profile, expected) in [("linux", "TCP CUBIC with HyStart"), ("rfc", "TCP CUBIC with HyStart++")] {
            let assignments = [format!("tcp.profile={profile}"), "tcp.congestion=cubic".to_owned()];
            let scenario = farhop_scenario::open("obata-2002", &assignments).expect("the assignments are right");
            let simulation = simulate(&scenario, 1);
            assert_eq!(simulation.rows[0].note.as_deref(), Some(expected));
        }
    }

    #[test]
    fn that_codel_may_drop_packets_of_rwbp_is_told_in_the_note() {
        let note = |discipline: &str| {
            let assignments = [format!("link.down.discipline={discipline}"), "run.architectures=rwbp".to_owned()];
            let scenario = farhop_scenario::open("rwbp-128", &assignments).expect("the assignments are right");
            simulate(&scenario, 1).rows.remove(0).note.expect("there is one")
        };
        let told =
            ["drop-tail", "fair-queue", "codel", "fq-codel"].map(|discipline| note(discipline).contains("CoDel may"));
        assert_eq!(told, [false, false, true, true]);
    }

    #[test]
    fn idle_terminals_are_told_in_the_note() {
        let scenario = farhop_scenario::open("rwbp-128", &[]).expect("it is shipped");
        let simulation = simulate(&scenario, 1);
        assert_eq!(simulation.rows[0].note.as_deref(), Some("TCP Reno; 127 other terminals are idle"));
    }
}
