//! `farhop predict`: formulas for one scenario, or farhop's model over a grid of them.
//!
//! A grid is cut into pieces that the machine's cores take in turn; every point is resolved from one parsed file, or from the point before
//! it as far as they are alike, so that a wrong value anywhere in the grid is the error that `--set` gives for it. What a point gives does not
//! depend on who takes it.

use crate::args::Predict;
use crate::commands::compare;
use crate::error::CliError;
use crate::progress::Progress;
use crate::{host, output};
use farhop_model::Sweep;
use farhop_results::{Architecture, Gap, Grid, GridPoint, Source};
use farhop_scenario::{Over, Scenario, ScenarioError, Template, Variation};
use farhop_units::counted;
use std::collections::BTreeMap;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Points that a thread takes at once.
const PIECE: usize = 16;

/// Formulas alone.
pub(crate) fn predict(args: &Predict) -> Result<ExitCode, CliError> {
    if args.over.is_empty() {
        return compare::single(&args.run, |run| {
            run.predict();
            Ok(())
        });
    }
    let scenario = &args.run.scenario;
    let template = Template::open(&scenario.scenario, &scenario.changes.assignments())?;
    let over = Over::parse(&args.over).map_err(ScenarioError::from)?;
    if let Some(axis) = over.axes().iter().find(|axis| template.is_set(&axis.key)) {
        return Err(CliError::Usage(format!("{} is given to --set and --over\n  accepted: one of them", axis.key)));
    }
    let mut variation = Variation::new(template);
    let first = resolve(&mut variation, &over, 0)?;
    let (mut results, architectures) =
        (compare::nothing_yet(first, &scenario.changes), first.run.architectures.clone());
    let (progress, start, cpu) = (Progress::start(), now(), host::cpu_s());
    let answers = Sweeper { variation, over, architectures }.run(&progress)?;
    let (span, cpu) = (start.elapsed(), host::cpu_s() - cpu);
    progress.finish();
    let count = answers.grid.points.len();
    (results.grid, results.gaps) = (Some(answers.grid), answers.gaps);
    output::print(&results, args.run.json)?;
    if let Some(dir) = &args.run.out {
        output::keep(&results, dir)?;
    }
    output::tell(cost(count, span, cpu));
    let is_empty = results.grid.is_none_or(|grid| grid.architectures().is_empty());
    Ok(if is_empty { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The one clock: how long a grid takes is told, and nothing depends on it.
#[expect(clippy::disallowed_methods, reason = "a shell says what a run cost")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::cast_precision_loss, reason = "at most a million points")]
fn cost(count: usize, span: Duration, cpu: f64) -> String {
    let rate = count as f64 / cpu.max(1e-6);
    let points = counted(count, "point");
    format!("{points} in {:.2} s, {cpu:.2} s of CPU: {rate:.0} points/s and core", span.as_secs_f64())
}

/// The scenario at a point.
fn resolve<'a>(variation: &'a mut Variation, over: &Over, index: usize) -> Result<&'a Scenario, ScenarioError> {
    variation.resolve(over.point(index)).map_err(|error| match error {
        ScenarioError::Value(mut error) if over.axes().iter().any(|axis| axis.key == error.key) => {
            "--over".clone_into(&mut error.file);
            error.into()
        }
        error => error,
    })
}

/// What a grid gives, and why some architectures have no time at some points.
struct Answers {
    grid: Grid,
    gaps: Vec<Gap>,
}

/// What all threads need to know.
#[derive(Clone)]
struct Sweeper {
    variation: Variation,
    over: Over,
    architectures: Vec<Architecture>,
}

/// Reasons, with the number of points they are true for.
type Reasons = BTreeMap<(Architecture, String), usize>;

/// What one thread has found: pieces by their first point, and the first wrong point.
#[derive(Default)]
struct Found {
    pieces: Vec<(usize, Vec<GridPoint>)>,
    reasons: Reasons,
    error: Option<(usize, ScenarioError)>,
}

impl Sweeper {
    fn run(&self, progress: &Progress) -> Result<Answers, ScenarioError> {
        let next = AtomicUsize::new(0);
        let threads = thread::available_parallelism().map_or(1, usize::from).min(self.over.len().div_ceil(PIECE));
        let found: Vec<Found> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    let (mut own, next) = (self.clone(), &next);
                    scope.spawn(move || own.work(next, progress))
                })
                .collect();
            let join = |worker: thread::ScopedJoinHandle<'_, Found>| worker.join().expect("a worker does not panic");
            workers.into_iter().map(join).collect()
        });
        self.gather(found)
    }

    /// Takes pieces until there are none.
    fn work(&mut self, next: &AtomicUsize, progress: &Progress) -> Found {
        let (mut sweep, mut found, count) = (Sweep::new(), Found::default(), self.over.len());
        loop {
            let from = next.fetch_add(PIECE, Ordering::Relaxed);
            if from >= count {
                return found;
            }
            progress.show(|| format!("{from} of {count} points"));
            match self.piece(from..count.min(from + PIECE), &mut sweep, &mut found.reasons) {
                Ok(points) => found.pieces.push((from, points)),
                Err(error) => {
                    // Nobody begins another one.
                    next.store(count, Ordering::Relaxed);
                    found.error = Some((from, error));
                    return found;
                }
            }
        }
    }

    fn piece(
        &mut self,
        points: Range<usize>,
        sweep: &mut Sweep,
        reasons: &mut Reasons,
    ) -> Result<Vec<GridPoint>, ScenarioError> {
        points.map(|index| self.point(index, sweep, reasons)).collect()
    }

    fn point(&mut self, index: usize, sweep: &mut Sweep, reasons: &mut Reasons) -> Result<GridPoint, ScenarioError> {
        let scenario = resolve(&mut self.variation, &self.over, index)?;
        let answers = sweep.times(scenario, &self.architectures);
        let mut times = Vec::with_capacity(answers.len());
        for (architecture, answer) in self.architectures.iter().zip(answers) {
            match answer {
                Ok(time) => times.push((*architecture, time.as_secs_f64())),
                Err(reason) => *reasons.entry((*architecture, reason)).or_default() += 1,
            }
        }
        Ok(GridPoint { values: self.over.point(index).map(|(_, value)| value.to_owned()).collect(), times })
    }

    /// Everything in the order of the grid, whoever found it; or the first wrong point's error.
    fn gather(&self, found: Vec<Found>) -> Result<Answers, ScenarioError> {
        let (mut pieces, mut reasons, mut errors) = (Vec::new(), Reasons::new(), Vec::new());
        for part in found {
            pieces.extend(part.pieces);
            part.reasons.into_iter().for_each(|(reason, count)| *reasons.entry(reason).or_default() += count);
            errors.extend(part.error);
        }
        if let Some((_, error)) = errors.into_iter().min_by_key(|(index, _)| *index) {
            return Err(error);
        }
        pieces.sort_by_key(|(from, _)| *from);
        let keys = self.over.axes().iter().map(|axis| axis.key.clone()).collect();
        let grid = Grid { keys, points: pieces.into_iter().flat_map(|(_, points)| points).collect() };
        let gap = |((architecture, reason), count): ((Architecture, String), usize)| {
            let reason = format!("{reason} (at {})", counted(count, "point"));
            Gap { architecture, source: Source::Predicted, reason }
        };
        Ok(Answers { grid, gaps: reasons.into_iter().map(gap).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweeper(over: &[&str]) -> Sweeper {
        let over: Vec<String> = over.iter().map(|&text| text.to_owned()).collect();
        let architectures = vec![Architecture::Direct, Architecture::Accelerated];
        let variation = Variation::new(Template::open("demo", &[]).unwrap());
        Sweeper { variation, over: Over::parse(&over).unwrap(), architectures }
    }

    fn run(over: &[&str]) -> Result<Answers, ScenarioError> {
        sweeper(over).run(&Progress::start())
    }

    #[test]
    fn a_grid_gives_what_each_point_gives_by_itself_in_order() {
        let answers = run(&["link.down.delay=10ms..200ms:20", "link.down.rate=1Mbit/s..100Mbit/s:10log"]).unwrap();
        assert_eq!((answers.grid.points.len(), answers.gaps.len()), (200, 0));
        for index in [0, 63, 64, 137, 199] {
            let point = &answers.grid.points[index];
            let set: Vec<String> =
                answers.grid.keys.iter().zip(&point.values).map(|(key, value)| format!("{key}={value}")).collect();
            let scenario = farhop_scenario::open("demo", &set).unwrap();
            let rows = farhop_model::predict(&scenario).rows;
            for (architecture, time) in &point.times {
                let row = rows.iter().find(|row| row.architecture == *architecture && row.method == "farhop").unwrap();
                assert!((row.page_load_s - time).abs() < 1e-9, "{set:?} {architecture}: {time} {row:?}");
            }
        }
    }

    #[test]
    fn a_wrong_value_anywhere_is_the_error_of_the_first_one() {
        let error = run(&["link.up.delay=1ms..9ms:200", "link.down.delay=1ms,1 day,2 days"]).err().unwrap().to_string();
        assert!(error.starts_with("--over: link.down.delay = \"1 day\"") && error.contains("accepted"), "{error}");
        let error = run(&["link.down.delya=1ms,2ms"]).err().unwrap().to_string();
        assert!(error.contains("did you mean link.down.delay?"), "{error}");
    }

    #[test]
    fn an_architecture_without_an_answer_is_a_gap_that_counts_its_points() {
        let answers = run(&["link.down.jitter=none,uniform max=1ms,uniform max=2ms"]).unwrap();
        let times: Vec<usize> = answers.grid.points.iter().map(|point| point.times.len()).collect();
        assert_eq!(times, [2, 0, 0]);
        assert_eq!(answers.gaps.len(), 2);
        assert_eq!(answers.gaps[0].reason, "farhop's model does not know jitter (link.down) (at 2 points)");
    }
}
