//! `farhop doctor`: what works on this machine.

use crate::args::Doctor;
use crate::error::CliError;
use crate::output::tell;
use farhop_emu::{Finding, cleanup_stale, doctor as examine};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

/// Says what works, what does not, why, and what to do; with `--clean` first removes what killed emulators have left.
/// The exit code is 1 if something is missing without which nothing can be emulated.
pub(crate) fn doctor(args: &Doctor) -> Result<ExitCode, CliError> {
    if args.clean {
        match cleanup_stale()? {
            0 => tell("no killed emulator has left anything"),
            count => tell(format_args!("removed what killed emulators had left: {count}")),
        }
    }
    let findings = examine();
    let text = if args.json { as_json(&findings) } else { findings.iter().map(told).collect() };
    writeln!(std::io::stdout().lock(), "{}", text.trim_end())?;
    let lacks = findings.iter().any(|finding| finding.required && !finding.works);
    Ok(if lacks { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// One line, and below it what to do.
fn told(finding: &Finding) -> String {
    let verdict = match (finding.works, finding.required) {
        (true, _) => "works",
        (false, true) => "MISSING",
        (false, false) => "absent",
    };
    let remedy = finding.remedy.as_ref().map_or_else(String::new, |remedy| format!("{:39}do: {remedy}\n", ""));
    format!("{verdict:8} {:30} {}\n{remedy}", finding.what, finding.detail)
}

fn as_json(findings: &[Finding]) -> String {
    let finding = |finding: &Finding| {
        json!({
            "what": finding.what,
            "works": finding.works,
            "required": finding.required,
            "detail": finding.detail,
            "remedy": finding.remedy,
        })
    };
    json!({ "findings": findings.iter().map(finding).collect::<Vec<_>>() }).to_string()
}
