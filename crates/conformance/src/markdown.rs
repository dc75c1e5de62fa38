//! The page with every point.

use crate::run::{MORE, MOST, NARROW, NARROW_SIMULATED, PATIENCE, missing};
use crate::{Agreement, Answer, Outcome, Plan, Set, Study};
use core::fmt::Write;
use farhop_results::Sample;
use farhop_units::duration;

/// Which engine a column is.
type Engine = (&'static str, fn(&Outcome) -> &Answer);

const ENGINES: [Engine; 2] = [("predicted", |outcome| &outcome.predicted), ("simulated", |outcome| &outcome.simulated)];

/// The table of a study, as Markdown.
pub fn markdown(study: &Study) -> String {
    page(study.journal().plan(), study.journal().host(), &study.outcomes())
}

fn page(plan: &Plan, host: &str, outcomes: &[&Outcome]) -> String {
    let Plan { seed, cases, points, runs } = plan;
    let mut text = format!(
        "# Accuracy: predicted and simulated against measured\n\n\
         Made by `farhop conformance --seed {seed} --cases {cases} --points {points} --runs {runs}`; measured on {host}. Every point is \
         drawn with seed {seed}; another seed draws others. *Measured* is Linux's TCP over the \
         emulated link: the median of three loads; where loads differ from run to run, the mean of {runs} or more with its 95 % confidence \
         interval, and errors are those of means. They differ with losses, and also where some lie more than 2 % apart without: hosts that \
         answer microseconds sooner or later find a small queue full or not. How long they take to get to packets at the link's pace is \
         measured beside loads that differ, over a transfer that nothing disturbs, and how long programs, and kernels that have rested, take in those loads; the \
         simulator's hosts draw theirs from that, for other paces and points from a quiet machine's; which answer is late in which run is not \
         known. All points without losses \
         are simulated {} times or more, to see rare courses; those that differ are repeated until the interval of the mean is within {:.0} % of it measured, {runs} to \
         {} times for at most {} of loads, and within {:.1} % simulated, up to {} times. Those with losses are simulated as often as measured, with the same losses. Errors are \
         relative to what was measured. Times are in s; a queue is given in bandwidth-delay products.\n",
        runs * MORE,
        NARROW * 100.0,
        runs * MORE,
        duration::format(PATIENCE),
        NARROW_SIMULATED * 100.0,
        runs * MOST,
    );
    if let Some(minutes) = minutes(outcomes) {
        let _ = write!(text, "\nMeasuring took {minutes} minutes.\n");
    }
    let all = plan.draw().len();
    let open = all - outcomes.iter().filter(|outcome| missing(outcome, plan) == 0).count();
    if open > 0 {
        let _ = write!(text, "\nThe run is not complete: {open} of {all} points are to be measured, or more often.\n");
    }
    for set in Set::ALL {
        let points: Vec<&Outcome> = outcomes.iter().copied().filter(|outcome| outcome.point().set == set).collect();
        if !points.is_empty() {
            section(&mut text, set, &points);
        }
    }
    text
}

/// How long measuring took, where that is known of every point.
fn minutes(outcomes: &[&Outcome]) -> Option<String> {
    let seconds = outcomes.iter().map(|outcome| Some(outcome.measured.took_s).filter(|took_s| *took_s > 0.0));
    let minutes = seconds.sum::<Option<f64>>()? / 60.0;
    (minutes > 0.0).then(|| format!("{minutes:.0}"))
}

fn section(text: &mut String, set: Set, points: &[&Outcome]) {
    let title = match set {
        Set::Model => "Files and pages without loss",
        Set::Simulator => "Losses, small queues, uploads",
    };
    let _ = write!(text, "\n## {title}\n\n");
    for (name, answer) in ENGINES {
        summary(text, name, "without loss", points, answer, |outcome| !outcome.point().is_random());
        summary(text, name, "with losses", points, answer, |outcome| outcome.point().is_random());
    }
    limits(text, points);
    text.push_str(
        "\n| point | Mbit/s | round trip | queue | loss | TCP | connections | bytes | measured | predicted | error | simulated | error |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for outcome in points {
        row(text, outcome);
    }
    gaps(text, points);
}

/// What the simulator is held to: without losses so much at most in the middle and at any point; with losses the intervals overlap or means are so
/// close.
const MEDIAN_LIMIT: f64 = 0.02;
const LARGEST_LIMIT: f64 = 0.05;
const LIMIT_OF_MEANS: f64 = 0.1;

/// Which points the simulator misses by more than it is allowed to.
fn limits(text: &mut String, points: &[&Outcome]) {
    let agreement = |outcome: &Outcome| outcome.agreement(&outcome.simulated);
    if points.iter().all(|outcome| agreement(outcome).is_none()) {
        return;
    }
    let of = |random: bool| points.iter().copied().filter(move |outcome| outcome.point().is_random() == random);
    let errors = Sample::new(of(false).filter_map(agreement).map(|agreement| agreement.error.abs()));
    let wide = errors.median().filter(|median| *median > MEDIAN_LIMIT);
    let far =
        of(false).filter(|outcome| agreement(outcome).is_some_and(|found| found.error.abs() > LARGEST_LIMIT + 1e-9));
    let apart = of(true).filter(|outcome| agreement(outcome).is_some_and(|found| !found.is_close()));
    let names: Vec<String> = far.chain(apart).map(|outcome| outcome.point().name()).collect();
    let _ = writeln!(
        text,
        "- limits of the simulator's errors: without loss {} in the middle and {} at any point; with losses intervals overlap or means are \
         within {}: {}",
        whole_percent(MEDIAN_LIMIT),
        whole_percent(LARGEST_LIMIT),
        whole_percent(LIMIT_OF_MEANS),
        beyond(&names, wide),
    );
}

/// What is beyond its limit: these points, the median.
fn beyond(names: &[String], median: Option<f64>) -> String {
    let points = match names {
        [] => "no point is beyond".to_owned(),
        [one] => format!("beyond is {one}"),
        many => format!("beyond are {}", many.join(", ")),
    };
    match median {
        None => points,
        Some(median) if names.is_empty() => format!("{points}, but the median of {} is", percent(median)),
        Some(median) => format!("{points}, and the median of {}", percent(median)),
    }
}

impl Agreement {
    /// Whether intervals overlap or means are close.
    fn is_close(self) -> bool {
        self.overlap == Some(true) || self.error.abs() <= LIMIT_OF_MEANS
    }
}

/// One line on an engine: how many points, median and largest error, that of those whose loads all take the same time if others' do not, and
/// how many intervals of the others overlap.
fn summary(
    text: &mut String,
    name: &str,
    which: &str,
    points: &[&Outcome],
    answer: fn(&Outcome) -> &Answer,
    of: fn(&Outcome) -> bool,
) {
    let points: Vec<&Outcome> = points.iter().copied().filter(|outcome| of(outcome)).collect();
    let agreements: Vec<Agreement> = points.iter().filter_map(|outcome| outcome.agreement(answer(outcome))).collect();
    let errors = Sample::new(agreements.iter().map(|agreement| agreement.error.abs()));
    let (Some(median), Some(most)) = (errors.median(), errors.quantile(1.0)) else { return };
    let _ = write!(
        text,
        "- {name}, {which}: {} of {} points, median error {}, largest {}",
        agreements.len(),
        points.len(),
        percent(median),
        percent(most)
    );
    let certain = points.iter().filter(|outcome| !outcome.is_random());
    let certain =
        certain.filter_map(|outcome| outcome.agreement(answer(outcome))).map(|agreement| agreement.error.abs());
    let certain: Vec<f64> = certain.collect();
    if let Some(most) = Sample::new(certain.iter().copied()).quantile(1.0).filter(|_| certain.len() < agreements.len())
    {
        let _ = write!(text, " ({} among the {} whose loads do not differ)", percent(most), certain.len());
    }
    let random: Vec<&Agreement> = agreements.iter().filter(|agreement| agreement.overlap.is_some()).collect();
    if !random.is_empty() {
        let good = random.iter().filter(|agreement| agreement.is_close());
        let _ = write!(
            text,
            "; intervals overlap or means are within {} in {} of {}",
            whole_percent(LIMIT_OF_MEANS),
            good.count(),
            random.len()
        );
    }
    text.push('\n');
}

fn row(text: &mut String, outcome: &Outcome) {
    let point = outcome.point();
    let late = if outcome.measured.late_runs > 0 { " (late)" } else { "" };
    let bytes = if point.upload { format!("{} up", point.size()) } else { point.size().to_string() };
    let _ = write!(
        text,
        "| {} | {:.3} | {} | {:.2} | {} | {} | {} | {bytes} | {}{late} |",
        point.name(),
        point.rate().as_f64() / 1e6,
        duration::format(point.round_trip()),
        point.queue_of_product(),
        percent(point.loss),
        point.congestion,
        point.connections,
        time(&outcome.measured.answer, outcome.is_random()),
    );
    for (_, answer) in ENGINES {
        let error = outcome.agreement(answer(outcome)).map_or_else(String::new, |agreement| signed(agreement.error));
        let _ = write!(text, " {} | {error} |", time(answer(outcome), outcome.is_random()));
    }
    text.push('\n');
}

fn time(answer: &Answer, random: bool) -> String {
    let Some(times) = answer.times() else { return "-".to_owned() };
    match (times.mean(), times.median(), times.mean_error()) {
        (Some(mean), _, Some(error)) if random => format!("{mean:.3} ± {error:.3}"),
        (_, Some(median), _) => format!("{median:.3}"),
        _ => "-".to_owned(),
    }
}

/// Why cells are empty, each reason once with its points.
fn gaps(text: &mut String, points: &[&Outcome]) {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for outcome in points {
        for answer in [&outcome.predicted, &outcome.simulated, &outcome.measured.answer] {
            if let Answer::Gap(reason) = answer {
                match reasons.iter_mut().find(|(known, _)| known == reason) {
                    Some((_, names)) => names.push(outcome.point().name()),
                    None => reasons.push((reason.clone(), vec![outcome.point().name()])),
                }
            }
        }
    }
    if !reasons.is_empty() {
        text.push_str("\nWithout an answer:\n\n");
    }
    for (reason, names) in reasons {
        let _ = writeln!(text, "- {reason}: {}", names.join(", "));
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measured, Point};

    fn outcome(set: Set, number: u32, predicted: Answer, simulated: [f64; 3], measured: [f64; 3]) -> Outcome {
        let times = |values: [f64; 3]| Answer::Times(Sample::new(values));
        let measured = Measured { answer: times(measured), ..Measured::nothing(Point::draw(1, set, number)) };
        Outcome { measured, predicted, simulated: times(simulated) }
    }

    #[test]
    fn every_point_and_every_reason_is_there() {
        let certain = outcome(Set::Model, 0, Answer::Times(Sample::new([2.2])), [1.9; 3], [2.0; 3]);
        let random =
            outcome(Set::Simulator, 6, Answer::Gap("knows no losses".to_owned()), [1.0, 2.0, 3.0], [1.5, 2.0, 2.5]);
        assert!(random.point().is_random());
        let text = page(&Plan::default(), "a machine", &[&certain, &random]);
        assert!(
            text.contains("- predicted, without loss: 1 of 1 points, median error 10.0 %, largest 10.0 %\n"),
            "{text}"
        );
        assert!(text.contains("- simulated, with losses: 1 of 1 points, median error 0.0 %, largest 0.0 %; intervals overlap or means are within 10 % in 1 of 1\n"), "{text}");
        assert!(text.contains("means are within 10 %: no point is beyond, but the median of 5.0 % is\n"), "{text}");
        assert!(text.contains("| 2.000 | 2.200 | +10.0 % | 1.900 | -5.0 % |"), "{text}");
        assert!(text.contains("- knows no losses: point-7\n"), "{text}");
        assert!(
            text.contains("\nThe run is not complete: 79 of 80 points are to be measured, or more often.\n"),
            "{text}"
        );
        let chaotic = outcome(Set::Model, 1, Answer::Times(Sample::new([2.5])), [1.0, 2.0, 3.6], [1.0, 2.0, 3.0]);
        assert!(chaotic.is_random() && !chaotic.point().is_random());
        let text = page(&Plan::default(), "a machine", &[&certain, &chaotic]);
        let line = "- simulated, without loss: 2 of 2 points, median error 7.5 %, largest 10.0 % (5.0 % among the 1 whose loads do \
                    not differ); intervals overlap or means are within 10 % in 1 of 1\n";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("means are within 10 %: beyond is case-2, and the median of 7.5 %\n"), "{text}");
    }

    #[test]
    fn what_measuring_took_is_told_once_it_is_known_of_every_point() {
        let [mut first, mut second] =
            [0, 1].map(|number| outcome(Set::Model, number, Answer::Gap("none".to_owned()), [1.0; 3], [1.0; 3]));
        first.measured.took_s = 200.0;
        let told =
            |outcomes: [&Outcome; 2]| page(&Plan::default(), "a machine", &outcomes).contains("\nMeasuring took");
        assert!(!told([&first, &second]));
        second.measured.took_s = 280.0;
        let text = page(&Plan::default(), "a machine", &[&first, &second]);
        assert!(text.contains("\nMeasuring took 8 minutes.\n"), "{text}");
    }
}
