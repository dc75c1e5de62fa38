//! `farhop conformance`: the engines against real programs, at points drawn with a seed.

use crate::args::Conformance;
use crate::error::CliError;
use crate::output::tell;
use crate::progress::Progress;
use farhop_conformance::{Journal, Plan, markdown, renew, run};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs what the journal does not know yet, or renews what it does, then writes the page.
pub(crate) fn conformance(args: &Conformance) -> Result<ExitCode, CliError> {
    let plan = Plan { seed: args.seed, cases: args.cases, points: args.points, runs: args.runs };
    fs::create_dir_all(&args.out).map_err(|source| CliError::Write { path: args.out.clone(), source })?;
    let mut journal = Journal::open(&args.out.join("journal.jsonl"), &plan)?;
    let progress = Progress::start();
    let engines = if args.renew { renew } else { run };
    let result = engines(&mut journal, &mut |message| progress.say(message));
    progress.finish();
    let page: PathBuf = args.markdown.clone().unwrap_or_else(|| args.out.join("accuracy.md"));
    let text = markdown(&plan, &journal.outcomes(), &command(&plan), &machine());
    fs::write(&page, text).map_err(|source| CliError::Write { path: page.clone(), source })?;
    tell(format_args!("{} of {} points: {}", journal.outcomes().len(), plan.draw().len(), page.display()));
    result?;
    Ok(ExitCode::SUCCESS)
}

/// What to type to have the same points again.
fn command(plan: &Plan) -> String {
    let Plan { seed, cases, points, runs } = plan;
    format!("farhop conformance --seed {seed} --cases {cases} --points {points} --runs {runs}")
}

fn machine() -> String {
    let kernel = nix::sys::utsname::uname().map(|name| name.release().to_string_lossy().into_owned());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{cores} cores, Linux {}, farhop {}", kernel.unwrap_or_default(), env!("CARGO_PKG_VERSION"))
}
