//! `farhop conformance`: the engines against real programs, at points drawn with a seed.

use crate::args::Conformance;
use crate::error::CliError;
use crate::output::tell;
use crate::progress::Progress;
use farhop_conformance::{Journal, Plan, Study, markdown};
use farhop_units::counted;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Predicts and simulates every point, measures those that the journal does not know yet, and writes the page, whatever came between.
pub(crate) fn conformance(args: &Conformance) -> Result<ExitCode, CliError> {
    let plan = Plan { seed: args.seed, cases: args.cases, points: args.points, runs: args.runs };
    fs::create_dir_all(&args.out).map_err(|source| CliError::Write { path: args.out.clone(), source })?;
    let machine = machine();
    let journal = Journal::open(&args.out.join("journal.jsonl"), &plan, &machine)?;
    let progress = Progress::start();
    progress.say("predicting and simulating");
    let mut study = Study::new(journal)?;
    if let (points @ 1.., time) = study.ahead() {
        progress.keep(&format!(
            "measuring {} in real time, {} min or more; what is measured is kept in {}, from where the same call goes on",
            counted(points, "point"),
            (time.as_secs() / 60).max(1),
            args.out.display()
        ));
    }
    let result = study.measure(&machine, &mut |message| progress.say(message));
    progress.finish();
    let page: PathBuf = args.markdown.clone().unwrap_or_else(|| args.out.join("accuracy.md"));
    fs::write(&page, markdown(&study)).map_err(|source| CliError::Write { path: page.clone(), source })?;
    tell(format_args!("{} of {} points: {}", study.outcomes().len(), plan.draw().len(), page.display()));
    result?;
    Ok(ExitCode::SUCCESS)
}

fn machine() -> String {
    let kernel = nix::sys::utsname::uname().map(|name| name.release().to_string_lossy().into_owned());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{cores} cores, Linux {}, farhop {}", kernel.unwrap_or_default(), env!("CARGO_PKG_VERSION"))
}
