//! Every point through every engine.
//!
//! Measuring takes most of the time. Points whose link is slow leave the processors idle, so that several runs of one point are
//! measured side by side, each in a testbed of its own with dice of its own.

use crate::{Answer, Hosts, Journal, JournalError, Measured, Outcome, Plan, Point};
use farhop_measure::{HostAnswers, MeasureError, Measurement};
use farhop_results::{Architecture, Gap, Sample};
use farhop_scenario::{HostTimes, Scenario, ScenarioError, seeds};
use farhop_units::Rate;
use std::ops::Range;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Measured runs of a point whose loads say the same.
const CERTAIN_RUNS: u32 = 3;
/// Loads that differ without dice of the link have none in common between engines, so that the mean of few is a draw of its own: they are
/// repeated until the 95 % interval of the mean is within this share of it.
pub(crate) const NARROW: f64 = 0.02;
/// And simulated, which costs little, within this one: the error of the difference is then that of what was measured.
pub(crate) const NARROW_SIMULATED: f64 = 0.005;
/// At most so many times a plan's runs are measured of them. What has no dice of the link is simulated as often at least: rare courses of a load
/// are to be seen.
pub(crate) const MORE: u32 = 10;
/// At most so many times a plan's runs are simulated of them.
pub(crate) const MOST: u32 = 100;
/// Loads that took so long together are not measured again, so that all points stay within two hours.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);
/// Testbeds at once on a link of at most [`SLOW`]; their packets take a few per cent of a processor.
const LANES: u32 = 4;
/// Links up to this rate are measured side by side.
const SLOW: Rate = Rate::mbps(12);

/// Why a run stops.
#[derive(Debug, Error)]
pub enum RunError {
    /// The journal cannot be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A point is no scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Nothing can be measured here.
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

/// Every point of a plan with what each engine says of it.
#[derive(Debug)]
pub struct Study {
    journal: Journal,
    outcomes: Vec<Outcome>,
}

impl Study {
    /// Predicts and simulates every point of the journal's plan; what the journal knows was measured before.
    ///
    /// # Errors
    /// A point is no scenario.
    pub fn new(journal: Journal) -> Result<Self, RunError> {
        let outcomes =
            journal.plan().draw().into_iter().map(|point| known(point, &journal)).collect::<Result<_, _>>()?;
        Ok(Self { journal, outcomes })
    }

    /// Measures what is missing, on the machine that is called `host`. `progress` is told what is being done.
    ///
    /// What is to be measured more often than once is in rounds through all such points, not point by point: machines have their hours, and
    /// loads that follow each other have the same one, which their interval says nothing of.
    ///
    /// # Errors
    /// The journal cannot be written or belongs to another machine, or the emulator cannot be had. What was measured before is kept.
    pub fn measure(&mut self, host: &str, progress: &mut dyn FnMut(&str)) -> Result<(), RunError> {
        let plan = *self.journal.plan();
        let before: Vec<usize> = self.outcomes.iter().map(Outcome::loads).collect();
        let ended = self.measure_in_rounds(host, progress);
        // Whatever came between, what was measured has its hosts.
        for (outcome, before) in self.outcomes.iter_mut().zip(before) {
            if outcome.loads() != before {
                progress(&format!("{}, simulated with the hosts as they were", outcome.point().name()));
                simulate_again(outcome, &plan)?;
            }
        }
        ended
    }

    fn measure_in_rounds(&mut self, host: &str, progress: &mut dyn FnMut(&str)) -> Result<(), RunError> {
        let plan = *self.journal.plan();
        for round in 1_u32.. {
            let open: Vec<&mut Outcome> =
                self.outcomes.iter_mut().filter(|outcome| missing(outcome, &plan) > 0).collect();
            if open.is_empty() {
                break;
            }
            self.journal.check_host(host)?;
            let count = open.len();
            for (index, outcome) in open.into_iter().enumerate() {
                let name = format!("{} ({} of {count} in round {round})", outcome.point().name(), index + 1);
                progress(&progress_line(&name, outcome));
                measure_more(outcome, &plan)?;
                self.journal.keep(outcome.measured.clone(), host)?;
            }
        }
        Ok(())
    }

    /// How many points [`Self::measure`] has to measure, and for about how long if loads take as long as simulated ones; what shows to scatter
    /// takes longer, and so do setting up and listening to hosts.
    pub fn ahead(&self) -> (usize, Duration) {
        let plan = self.journal.plan();
        let open = self.outcomes.iter().map(|outcome| (outcome, missing(outcome, plan))).filter(|(_, runs)| *runs > 0);
        let times = open.map(|(outcome, runs)| {
            let one = outcome.simulated.times().and_then(Sample::mean).unwrap_or_default();
            one * f64::from(runs.div_ceil(lanes(outcome.point(), runs)))
        });
        let (points, seconds) = times.fold((0, 0.0), |(points, sum), seconds| (points + 1, sum + seconds));
        (points, Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    /// The points of which something was measured or cannot be.
    pub fn outcomes(&self) -> Vec<&Outcome> {
        let is_measured = |outcome: &&Outcome| outcome.measured.answer.times().is_none_or(|times| times.count() > 0);
        self.outcomes.iter().filter(is_measured).collect()
    }

    /// What was measured, and where.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }
}

/// What is known of a point before more is measured.
fn known(point: Point, journal: &Journal) -> Result<Outcome, RunError> {
    let scenario = point.scenario(journal.plan().runs, journal.plan().seed)?;
    let measured = journal.get(&point).cloned().unwrap_or_else(|| Measured::nothing(point));
    let mut outcome = Outcome { measured, predicted: predicted(&scenario), simulated: simulated(&scenario) };
    simulate_again(&mut outcome, journal.plan())?;
    Ok(outcome)
}

/// What is being done, with what is known of a mean that takes more runs than usual.
fn progress_line(name: &str, outcome: &Outcome) -> String {
    let known = outcome.measured.answer.times().filter(|times| times.count() > CERTAIN_RUNS as usize);
    let width = known.and_then(|times| Some((times.count(), relative_error(times)?)));
    width.map_or_else(
        || name.to_owned(),
        |(count, width)| format!("{name}, mean within {:.1} % after {count} loads", width * 100.0),
    )
}

/// Simulates an outcome with the hosts that were measured beside it, and as often as it takes.
fn simulate_again(outcome: &mut Outcome, plan: &Plan) -> Result<(), RunError> {
    if !outcome.measured.hosts.is_empty() {
        outcome.simulated = simulated_with(&outcome.measured, plan, plan.runs)?;
    }
    if outcome.point().is_random() {
        return Ok(());
    }
    let [least, most] = [MORE, MOST].map(|times| plan.runs.saturating_mul(times));
    let lacks = |outcome: &Outcome, times: &Sample| {
        runs_of(times) < least || outcome.is_random() && !is_known(times, NARROW_SIMULATED) && runs_of(times) < most
    };
    while let Some(known) = outcome.simulated.times().filter(|times| lacks(outcome, times)).map(runs_of) {
        // Run n has the same dice however many there are, so that the first ones come out again.
        let runs = known.saturating_mul(2).clamp(least, most);
        outcome.simulated = simulated_with(&outcome.measured, plan, runs)?;
    }
    Ok(())
}

/// What the simulator says of so many runs at least, as many of them with each of the hosts' times that were measured beside the loads; with a
/// quiet machine's if none were.
fn simulated_with(measured: &Measured, plan: &Plan, runs: u32) -> Result<Answer, RunError> {
    let quiet = [Hosts(HostTimes::quiet())];
    let hosts = if measured.hosts.is_empty() { &quiet } else { measured.hosts.as_slice() };
    let share = runs.div_ceil(u32::try_from(hosts.len()).unwrap_or(u32::MAX));
    let mut all = Sample::default();
    for (number, Hosts(times)) in (0_u32..).zip(hosts) {
        let mut scenario = measured.point.scenario(share, plan.seed)?;
        // The first ones share their dice with measured runs.
        scenario.run.seed = seeds::of_run(scenario.run.seed, number.saturating_mul(plan.runs.saturating_mul(MOST)));
        scenario.tcp.host_times = times.clone();
        match simulated(&scenario) {
            Answer::Times(times) => all = joined(&all, &times),
            gap @ Answer::Gap(_) => return Ok(gap),
        }
    }
    Ok(Answer::Times(all))
}

/// Whether the mean's interval is within this share of it.
fn is_known(times: &Sample, narrow: f64) -> bool {
    relative_error(times).is_some_and(|error| error <= narrow)
}

/// Half of the mean's 95 % confidence interval, as a share of it.
fn relative_error(times: &Sample) -> Option<f64> {
    Some(times.mean_error()? / times.mean()?)
}

fn runs_of(times: &Sample) -> u32 {
    u32::try_from(times.count()).unwrap_or(u32::MAX)
}

/// How many measured runs an outcome lacks for now: few are enough where they say the same, and where they differ without dice of the link
/// more may turn out to be wanted.
pub(crate) fn missing(outcome: &Outcome, plan: &Plan) -> u32 {
    let Answer::Times(times) = &outcome.measured.answer else { return 0 };
    let known = runs_of(times);
    if !outcome.is_random() {
        return CERTAIN_RUNS.saturating_sub(known);
    }
    if known < plan.runs || outcome.point().is_random() {
        return plan.runs.saturating_sub(known);
    }
    let spent: f64 = times.values().iter().sum::<f64>() / f64::from(lanes(outcome.point(), plan.runs));
    if is_known(times, NARROW) || spent >= PATIENCE.as_secs_f64() {
        return 0;
    }
    plan.runs.saturating_mul(MORE).saturating_sub(known).min(plan.runs)
}

/// Whether hosts are listened to beside an outcome's next runs: where loads follow that. Those with losses have the dice of simulated runs, one by
/// one: theirs are once.
fn listens(outcome: &Outcome) -> bool {
    outcome.is_random() && (outcome.measured.hosts.is_empty() || !outcome.point().is_random())
}

#[expect(clippy::disallowed_methods, reason = "real programs take real time, and the page says how much of it")]
fn now() -> Instant {
    Instant::now()
}

/// Measures more runs of an outcome, and beside them how long the hosts take.
fn measure_more(outcome: &mut Outcome, plan: &Plan) -> Result<(), RunError> {
    let Answer::Times(times) = &outcome.measured.answer else { return Ok(()) };
    let begin = now();
    let (known, runs) = (runs_of(times), missing(outcome, plan));
    let scenario = outcome.point().scenario(plan.runs, plan.seed)?;
    let kernels = if listens(outcome) { Some(listen(outcome.point(), &scenario, runs)?) } else { None };
    let (answer, late_runs, heard) = measured(outcome.point(), &scenario, known..known + runs)?;
    outcome.measured.answer = match answer {
        Answer::Times(now) => Answer::Times(joined(times, &now)),
        gap @ Answer::Gap(_) => gap,
    };
    outcome.measured.late_runs = outcome.measured.late_runs.saturating_add(late_runs);
    if let Some(mut hosts) = kernels {
        hosts.extend([heard]);
        outcome.measured.hosts.push(Hosts(hosts.host_times()));
    }
    outcome.measured.took_s += begin.elapsed().as_secs_f64();
    Ok(())
}

/// How long hosts' kernels take now at the link's pace, with as many testbeds at once as so many loads have.
fn listen(point: &Point, scenario: &Scenario, runs: u32) -> Result<HostAnswers, RunError> {
    let (lanes, mut answers) = (lanes(point, runs), HostAnswers::default());
    answers.extend(side_by_side(0..lanes, lanes, |_| farhop_measure::answers(scenario))?);
    Ok(answers)
}

/// What was measured before, and now.
fn joined(before: &Sample, now: &Sample) -> Sample {
    Sample::new(before.values().iter().chain(now.values()).copied())
}

/// The reason of the gap, if there is one.
fn gap(gaps: &[Gap]) -> Answer {
    let reason = gaps.iter().find(|gap| gap.architecture == Architecture::Direct).map(|gap| gap.reason.clone());
    Answer::Gap(reason.unwrap_or_else(|| "no answer".to_owned()))
}

fn predicted(scenario: &Scenario) -> Answer {
    let prediction = farhop_model::predict(scenario);
    let own = prediction.rows.iter().find(|row| row.method == farhop_model::OWN_METHOD);
    own.map_or_else(|| gap(&prediction.gaps), |row| Answer::Times(Sample::new([row.page_load_s])))
}

fn simulated(scenario: &Scenario) -> Answer {
    let simulation = farhop_sim::simulate(scenario, scenario.run.seed);
    if simulation.loads.is_empty() {
        return gap(&simulation.gaps);
    }
    Answer::Times(Sample::new(simulation.loads.iter().map(|load| load.page_load_s)))
}

/// How many of so many runs are measured at once.
fn lanes(point: &Point, runs: u32) -> u32 {
    if point.rate() <= SLOW { LANES.min(runs) } else { 1 }
}

/// The measured times, run by run with the dice that the simulator's runs have, how many had a late emulator, and how long hosts took in them.
fn measured(point: &Point, scenario: &Scenario, runs: Range<u32>) -> Result<(Answer, u32, HostAnswers), RunError> {
    let lanes = lanes(point, runs.end - runs.start);
    let one = |run: u32| {
        let mut own = scenario.clone();
        (own.run.runs, own.run.seed) = (1, seeds::of_run(scenario.run.seed, run));
        farhop_measure::measure(&own, &mut |_| {})
    };
    let measurements: Vec<Measurement> = side_by_side(runs, lanes, one)?;
    let times = Sample::new(measurements.iter().flat_map(|run| &run.loads).map(|load| load.page_load_s));
    let late = measurements.iter().filter(|run| !run.quality.is_valid()).count();
    let (mut gaps, mut hosts) = (Vec::new(), HostAnswers::default());
    for run in measurements {
        gaps.extend(run.gaps);
        hosts.extend([run.hosts]);
    }
    let answer = if times.count() == 0 { gap(&gaps) } else { Answer::Times(times) };
    Ok((answer, u32::try_from(late).unwrap_or(u32::MAX), hosts))
}

/// What each of the runs gives, in their order, as many of them at once as there are `lanes`.
fn side_by_side<T: Send, E: Send>(
    runs: Range<u32>,
    lanes: u32,
    one: impl Fn(u32) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let one = |run| Ok((run, one(run)?));
    let lane = |lane: u32| (runs.start + lane..runs.end).step_by(lanes as usize).map(one).collect();
    let made: Vec<Result<Vec<(u32, T)>, E>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..lanes).map(|number| scope.spawn(move || lane(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a run does not panic")).collect()
    });
    let mut all: Vec<(u32, T)> = made.into_iter().collect::<Result<Vec<_>, E>>()?.into_iter().flatten().collect();
    all.sort_by_key(|(run, _)| *run);
    Ok(all.into_iter().map(|(_, made)| made).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;
    use proptest::prelude::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// What is known of a point without losses.
    fn outcome(simulated: &[f64], answer: Answer) -> Outcome {
        let mut points = (0..).map(|number| Point::draw(1, Set::Simulator, number));
        let point = points.find(|point| !point.is_random()).expect("some lose nothing");
        let simulated = Answer::Times(Sample::new(simulated.iter().copied()));
        let measured = Measured { answer, ..Measured::nothing(point) };
        Outcome { measured, predicted: Answer::Gap("none".to_owned()), simulated }
    }

    fn times(values: &[f64]) -> Answer {
        Answer::Times(Sample::new(values.iter().copied()))
    }

    #[test]
    fn few_runs_are_enough_where_they_say_the_same_and_scattered_ones_ask_for_all() {
        let plan = Plan::default();
        let lacks = |simulated: &[f64], measured| missing(&outcome(simulated, measured), &plan);
        assert_eq!(lacks(&[1.0, 1.0], times(&[])), CERTAIN_RUNS);
        assert_eq!(lacks(&[1.0, 1.0], times(&[1.0, 1.0])), CERTAIN_RUNS - 2);
        assert_eq!(lacks(&[1.0, 1.0], times(&[1.0, 1.001, 1.0])), 0);
        assert_eq!(lacks(&[1.0, 1.0], times(&[1.0, 1.2, 1.0])), plan.runs - 3, "the measured ones scatter");
        assert_eq!(lacks(&[1.0, 1.2], times(&[])), plan.runs, "the simulated ones scatter");
        assert_eq!(lacks(&[1.0, 1.2], Answer::Gap("nothing can be measured".to_owned())), 0);
        let mut lossy = outcome(&[1.0, 1.0], times(&[1.0]));
        lossy.measured.point.loss = 0.01;
        assert_eq!(missing(&lossy, &plan), plan.runs - 1);
    }

    #[test]
    fn scattered_runs_are_measured_until_their_mean_is_known_or_patience_ends() {
        let plan = Plan { runs: 4, ..Plan::default() };
        let lacks = |measured: &[f64]| {
            let mut outcome = outcome(&[1.0, 1.2], times(measured));
            outcome.measured.point.rate_bit_s = SLOW.bits_per_second();
            missing(&outcome, &plan)
        };
        let wide =
            |count: usize, time: f64| [1.0, 1.5].repeat(count / 2).iter().map(|share| share * time).collect::<Vec<_>>();
        assert_eq!(lacks(&[1.0, 1.02, 1.0, 1.02]), 0, "the mean is known to 1.8 %");
        assert_eq!(lacks(&[1.0, 1.03, 1.0, 1.03]), 4, "2.7 %");
        assert_eq!(lacks(&wide(38, 1.0)), 2);
        assert_eq!(lacks(&wide(40, 1.0)), 0, "ten times the plan's runs");
        assert_eq!(lacks(&wide(8, 239.0)), 4, "four at a time, just below ten minutes");
        assert_eq!(lacks(&wide(8, 241.0)), 0);
        let mut lossy = outcome(&[1.0, 1.5], times(&wide(4, 1.0)));
        lossy.measured.point.loss = 0.01;
        assert_eq!(missing(&lossy, &plan), 0, "with losses the runs are pairs");
    }

    #[test]
    fn what_has_no_dice_of_the_link_is_simulated_more_often() {
        let plan = Plan { runs: 2, ..Plan::default() };
        let runs = |mut outcome: Outcome| {
            outcome.measured.point.object_bytes = 10_000;
            simulate_again(&mut outcome, &plan).expect("a scenario");
            let once = outcome.simulated.times().map(Sample::count);
            simulate_again(&mut outcome, &plan).expect("a scenario");
            assert_eq!(outcome.simulated.times().map(Sample::count), once, "enough is enough");
            once
        };
        assert_eq!(runs(outcome(&[1.0, 1.2], times(&[]))), Some(20), "the simulated ones scatter");
        assert_eq!(runs(outcome(&[1.0, 1.0], times(&[1.0, 1.2]))), Some(20), "the measured ones do");
        assert_eq!(runs(outcome(&[1.0, 1.0], times(&[1.0]))), Some(20), "one in ten may be another");
        let mut lossy = outcome(&[1.0, 1.2], times(&[]));
        lossy.measured.point.loss = 0.01;
        assert_eq!(runs(lossy), Some(2), "runs share their dice with the measured ones");
    }

    #[test]
    fn what_is_ahead_is_told_before_it_is_measured() {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = Journal::open(&folder.path().join("journal"), &Plan::default(), "here").expect("a new one");
        let mut slow = outcome(&[30.0], times(&[]));
        slow.measured.point.rate_bit_s = SLOW.bits_per_second();
        let mut fast = outcome(&[2.0], times(&[2.0]));
        fast.measured.point.rate_bit_s = SLOW.bits_per_second() + 1;
        let known = outcome(&[9.0], times(&[9.0, 9.0, 9.0]));
        let study = Study { journal, outcomes: vec![slow, fast, known] };
        assert_eq!(study.ahead(), (2, Duration::from_secs(30 + 2 * 2)), "three at once, two one after the other");
    }

    #[test]
    fn loads_are_simulated_with_each_of_the_hosts_measured_beside_them() {
        let plan = Plan { runs: 4, ..Plan::default() };
        let hosts = |micros: u64| {
            let table = format!("after_ms,0,100\n0,{micros},{micros}\n");
            Hosts(farhop_scenario::host_times::parse(&table).expect("a table"))
        };
        let mut measured = outcome(&[], times(&[])).measured;
        (measured.point.object_bytes, measured.point.objects) = (1, 1);
        let mut with = |all: &[u64], runs| {
            measured.hosts = all.iter().copied().map(hosts).collect();
            let simulated = simulated_with(&measured, &plan, runs).expect("a scenario");
            simulated.times().expect("it can be simulated").clone()
        };
        let (quick, slow, none) = (with(&[1], 2), with(&[1000], 2), with(&[], 2));
        let [quick, slow, none] = [quick, slow, none].map(|times| times.mean().expect("two runs"));
        assert!(quick < none && none < slow - 1e-3, "{quick} {none} {slow}");
        let (both, odd) = (with(&[1, 1000], 4), with(&[1, 1000], 3));
        assert_eq!([both.count(), odd.count()], [4, 4], "as many of each");
        assert!((both.mean().expect("four") - (quick + slow) / 2.0).abs() < 1e-4, "{both:?} {quick} {slow}");
    }

    #[test]
    fn hosts_are_listened_to_beside_loads_that_differ_and_once_where_dice_are_shared() {
        let mut certain = outcome(&[1.0, 1.0], times(&[1.0]));
        let mut differing = outcome(&[1.0, 1.2], times(&[1.0]));
        let mut lossy = outcome(&[1.0, 1.0], times(&[1.0]));
        lossy.measured.point.loss = 0.01;
        assert_eq!([&certain, &differing, &lossy].map(listens), [false, true, true]);
        for outcome in [&mut certain, &mut differing, &mut lossy] {
            outcome.measured.hosts = vec![Hosts(HostTimes::quiet())];
        }
        assert_eq!([&certain, &differing, &lossy].map(listens), [false, true, false]);
    }

    #[test]
    fn what_was_measured_before_counts() {
        assert_eq!(joined(&Sample::new([1.0, 3.0]), &Sample::new([2.0])), Sample::new([1.0, 3.0, 2.0]));
    }

    #[test]
    fn runs_that_fail_say_why() {
        let failing = side_by_side(0..7, 3, |run| if run == 5 { Err(run) } else { Ok(run) });
        assert_eq!(failing, Err(5));
    }

    proptest! {
        #[test]
        fn runs_side_by_side_are_made_once_each_and_told_in_order(start in 0_u32..50, count in 0_u32..30, lanes in 1_u32..6) {
            let (made, now, most) = (Mutex::new(Vec::new()), AtomicU32::new(0), AtomicU32::new(0));
            let told = side_by_side(start..start + count, lanes, |run| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                made.lock().expect("nobody panics").push(run);
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, ()>(run)
            });
            let all: Vec<u32> = (start..start + count).collect();
            prop_assert_eq!(told, Ok(all.clone()));
            let mut made = made.into_inner().expect("nobody panics");
            made.sort_unstable();
            prop_assert_eq!(made, all);
            prop_assert!(most.into_inner() <= lanes);
        }
    }
}
