//! `farhop simulate`: packets in virtual time, shown while they go, and written down on request.

use crate::args::Simulate;
use crate::commands::compare;
use crate::error::CliError;
use crate::progress::Progress;
use farhop_results::{Architecture, TraceSeries};
use farhop_scenario::Scenario;
use farhop_sim::{Simulation, TraceFiles};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The simulator alone.
pub(crate) fn simulate(args: &Simulate) -> Result<ExitCode, CliError> {
    compare::single(&args.run, |run| run.simulate(args.trace.as_deref()))
}

/// Simulates `scenario`, with a trace in this folder if one is asked for: what of that is drawn, and whether all of it could be written.
pub(super) fn run(
    scenario: &Scenario,
    trace: Option<&Path>,
    progress: &Progress,
) -> Result<(Simulation, Option<(TraceSeries, bool)>), CliError> {
    progress.say("simulating");
    let mut pace = Pace::default();
    let mut heard = |news: farhop_sim::Progress| {
        let since = pace.since(news, now());
        progress.show(|| told(news, since));
    };
    let seed = scenario.run.seed;
    let Some(dir) = trace else { return Ok((farhop_sim::simulate_with(scenario, seed, &mut heard), None)) };
    let (simulation, summary) = farhop_sim::simulate_traced(scenario, seed, files(dir)?, &mut heard);
    if let Some(problem) = &summary.problem {
        progress.keep(problem);
    }
    let (records, end, dir) = (summary.records, summary.end, dir.display());
    progress.keep(&format!("trace: {dir}: {records} arrivals, deliveries and drops of the far link in {end}"));
    Ok((simulation, Some((summary.series, !summary.has_failed))))
}

/// The files of a trace in a folder, which is made if need be.
fn files(dir: &Path) -> Result<TraceFiles, CliError> {
    fs::create_dir_all(dir).map_err(|source| CliError::Write { path: dir.to_owned(), source })?;
    let create = |name: &str| {
        let path = dir.join(name);
        let file = File::create(&path).map_err(|source| CliError::Write { path, source })?;
        Ok::<Box<dyn Write + Send>, CliError>(Box::new(file))
    };
    Ok(TraceFiles {
        packets: create("packets.log")?,
        capture: create("packets.pcapng")?,
        queue: create("queue.csv")?,
        connections: create("connections.csv")?,
        windows: create("windows.csv")?,
        segments: create("segments.csv")?,
    })
}

/// When which run was first heard of.
#[derive(Default)]
struct Pace(BTreeMap<(Architecture, u32), Instant>);

impl Pace {
    fn since(&mut self, news: farhop_sim::Progress, now: Instant) -> Duration {
        now - *self.0.entry((news.architecture, news.run)).or_insert(now)
    }
}

/// The one clock: how fast virtual time goes is shown, and nothing depends on it.
#[expect(clippy::disallowed_methods, reason = "a shell shows how fast a simulation is")]
fn now() -> Instant {
    Instant::now()
}

/// "simulating direct: 23 of 60 min, 812 times real time, replication 2", or of a page "simulating direct: 9 s, 3 times real time, load 2".
fn told(news: farhop_sim::Progress, since: Duration) -> String {
    let farhop_sim::Progress { architecture, run, reached, end } = news;
    // At first there is nothing to divide by.
    let pace = if since >= Duration::from_millis(50) {
        format!(", {:.0} times real time", reached.as_secs_f64() / since.as_secs_f64())
    } else {
        String::new()
    };
    let Some(end) = end else {
        return format!("simulating {architecture}: {:.0} s{pace}, load {}", reached.as_secs_f64(), run + 1);
    };
    let (unit, name) = if end >= Duration::from_secs(120) { (60.0, "min") } else { (1.0, "s") };
    let [reached, end] = [reached, end].map(|time| time.as_secs_f64() / unit);
    format!("simulating {architecture}: {reached:.0} of {end:.0} {name}{pace}, replication {}", run + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_tells_how_far_how_fast_and_which() {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        let news = farhop_sim::Progress {
            architecture: Architecture::Direct,
            run: 1,
            reached: minutes(23),
            end: Some(minutes(60)),
        };
        let text = told(news, Duration::from_millis(1700));
        assert_eq!(text, "simulating direct: 23 of 60 min, 812 times real time, replication 2");
        assert_eq!(told(news, Duration::ZERO), "simulating direct: 23 of 60 min, replication 2");
        let short = farhop_sim::Progress { reached: Duration::from_secs(7), end: Some(minutes(1)), ..news };
        assert_eq!(
            told(short, Duration::from_secs(1)),
            "simulating direct: 7 of 60 s, 7 times real time, replication 2"
        );
        let page = farhop_sim::Progress { end: None, ..short };
        assert_eq!(told(page, Duration::ZERO), "simulating direct: 7 s, load 2");
        assert_eq!(told(page, Duration::from_secs(2)), "simulating direct: 7 s, 4 times real time, load 2");
    }
}
