//! `farhop compare` and `measure`: engines in, one set of results out.

use crate::args::{Changes, Measure, Run, ScenarioArgs, folder};
use crate::commands::files::tell_of_page;
use crate::commands::simulate;
use crate::error::CliError;
use crate::progress::Progress;
use crate::{host, output};
use farhop_emu as emu;
use farhop_measure::HostAnswers;
use farhop_results::{Architecture, Gap, Results, SimulationCost, Source, TransferPrediction};
use farhop_scenario::{Scenario, host_times, open};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// All engines side by side; the report is always written.
pub(crate) fn compare(args: &Run) -> Result<ExitCode, CliError> {
    let mut run = Session::open(&args.scenario)?;
    let default = || Path::new("out").join(&run.scenario.name);
    let dir = args.out.clone().map_or_else(|| folder(default()).map_err(CliError::Usage), Ok)?;
    run.predict();
    run.simulate(None)?;
    let measured = match emu::availability() {
        Ok(()) => run.measure(),
        Err(error) => {
            run.progress.keep(&format!("not measured: {error}"));
            run.leave_unmeasured(&error.to_string());
            Ok(())
        }
    };
    // What was predicted and simulated is not lost because measuring failed.
    if let Err(error) = &measured {
        run.leave_unmeasured(&error.to_string());
    }
    let code = run.finish(args.json, Some(&dir))?;
    measured.map(|()| code)
}

/// The real thing alone.
pub(crate) fn measure(args: &Measure) -> Result<ExitCode, CliError> {
    if args.host_times { listen_to_hosts(&args.run.scenario) } else { single(&args.run, Session::measure) }
}

/// How long hosts take, listened to as often as the scenario's page is loaded without boxes.
fn listen_to_hosts(args: &ScenarioArgs) -> Result<ExitCode, CliError> {
    let run = Session::open(args)?;
    let mut answers = HostAnswers::default();
    for number in 0..run.scenario.run.runs {
        run.progress.say(&format!("listening to hosts {}/{}", number + 1, run.scenario.run.runs));
        answers.extend([farhop_measure::answers(&run.scenario)?]);
    }
    let plain = farhop_measure::with_plain_programs(&run.scenario);
    let measurement = farhop_measure::measure(&plain, &mut |line| run.progress.say(line))?;
    if let Some(gap) = measurement.gaps.first() {
        run.progress.keep(&format!("neither programs nor kernels that have rested are listened to: {}", gap.reason));
    }
    answers.extend([measurement.hosts]);
    let [kernels, clients, openings, servers] = answers.counts();
    run.progress.keep(&format!(
        "{kernels} answers of kernels, {clients} of clients, {openings} by opening connections, and {servers} of servers"
    ));
    run.progress.finish();
    writeln!(std::io::stdout().lock(), "{}", host_times::format(&answers.host_times()).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// One engine alone.
pub(super) fn single(
    args: &Run,
    engine: impl FnOnce(&mut Session) -> Result<(), CliError>,
) -> Result<ExitCode, CliError> {
    let mut run = Session::open(&args.scenario)?;
    engine(&mut run)?;
    run.finish(args.json, args.out.as_deref())
}

/// Results without any.
pub(super) fn nothing_yet(scenario: &Scenario, changes: &Changes) -> Results {
    Results {
        scenario: scenario.name.clone(),
        title: title(scenario, changes),
        limit_s: farhop_model::limit(scenario).as_secs_f64(),
        rows: Vec::new(),
        gaps: Vec::new(),
        loads: Vec::new(),
        distributions: Vec::new(),
        differences: Vec::new(),
        transfer: None,
        simulation: None,
        ranking: Vec::new(),
        grid: None,
        series: None,
        manifest: host::manifest(scenario),
    }
}

/// The scenario's title, and what the command line has changed, of which the title does not know.
fn title(scenario: &Scenario, changes: &Changes) -> String {
    let of_others = |change: &&String| !change.trim_start().starts_with("title");
    let changed: Vec<&str> = changes.set.iter().filter(of_others).map(String::as_str).collect();
    let with = if changed.is_empty() { String::new() } else { format!("with {}", changed.join(", ")) };
    let parts = [scenario.title.clone(), with].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("; ")
}

/// A scenario on its way through the engines.
pub(super) struct Session {
    scenario: Scenario,
    results: Results,
    progress: Progress,
    /// A trace was asked for that could not be written.
    lacks_trace: bool,
}

impl Session {
    fn open(args: &ScenarioArgs) -> Result<Self, CliError> {
        let scenario = open(&args.scenario, &args.changes.assignments())?;
        tell_of_page(&scenario);
        let results = nothing_yet(&scenario, &args.changes);
        Ok(Self { scenario, results, progress: Progress::start(), lacks_trace: false })
    }

    pub(super) fn predict(&mut self) {
        self.progress.say("predicting");
        let prediction = farhop_model::predict(&self.scenario);
        self.results.rows.extend(prediction.rows);
        self.results.gaps.extend(prediction.gaps);
        self.results.ranking = prediction.ranking;
        self.results.transfer = Some(TransferPrediction {
            tcp_throughput_bit_s: prediction.throughput.map(farhop_units::Rate::as_f64),
            saturation_window_segments: prediction.saturation_window.map(farhop_model::Segments::as_f64),
        });
    }

    /// Simulates, with a trace in this folder if one is asked for.
    pub(super) fn simulate(&mut self, trace: Option<&Path>) -> Result<(), CliError> {
        let before = host::cpu_s();
        let (simulation, traced) = simulate::run(&self.scenario, trace, &self.progress)?;
        if let Some((series, is_written)) = traced {
            self.results.series = Some(series);
            self.lacks_trace = !is_written;
        }
        // Users and logs have pages of their own, not the scenario's.
        let of_many = simulation.rows.iter().filter(|row| row.users.is_some() || row.log.is_some());
        if let Some(least) = of_many.map(|row| row.limit_s).min_by(f64::total_cmp) {
            self.results.limit_s = least;
        }
        self.results.rows.extend(simulation.rows);
        self.results.gaps.extend(simulation.gaps);
        self.results.loads.extend(simulation.loads);
        self.results.distributions.extend(simulation.distributions);
        self.results.differences = simulation.differences;
        self.results.simulation = Some(SimulationCost {
            event_count: simulation.event_count,
            packet_hops: simulation.packet_hops,
            cpu_s: host::cpu_s() - before,
            peak_rss_bytes: SimulationCost::peak_memory(),
            seed: self.scenario.run.seed,
        });
        Ok(())
    }

    fn measure(&mut self) -> Result<(), CliError> {
        let progress = &self.progress;
        let measurement = farhop_measure::measure(&self.scenario, &mut |message| progress.say(message))?;
        self.results.rows.extend(measurement.rows);
        self.results.gaps.extend(measurement.gaps);
        self.results.loads.extend(measurement.loads);
        self.results.manifest.tcp = measurement.tcp;
        self.results.manifest.emulation = Some(measurement.quality);
        Ok(())
    }

    /// Leaves the measured cells empty, with the reason.
    fn leave_unmeasured(&mut self, reason: &str) {
        let gap = |architecture: &Architecture| Gap {
            architecture: *architecture,
            source: Source::Measured,
            reason: reason.to_owned(),
        };
        self.results.gaps.extend(self.scenario.run.architectures.iter().map(gap));
    }

    fn finish(self, json: bool, dir: Option<&Path>) -> Result<ExitCode, CliError> {
        self.progress.finish();
        output::print(&self.results, json)?;
        if let Some(dir) = dir {
            output::keep(&self.results, dir)?;
            let report: PathBuf = dir.join("report.html");
            output::tell(format_args!("report: {}", report.display()));
        }
        // Cells may be empty, each with its reason; if all are, nothing has come of the run. What was traced in part was told of.
        let has_failed = self.results.rows.is_empty() || self.lacks_trace;
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
