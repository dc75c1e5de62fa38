//! Runs a command behind a scenario's link: `behind demo link.down.delay=20ms -- curl http://server/`.
#![allow(clippy::print_stderr)]

use farhop_emu::emulate;
use std::error::Error;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut parts = arguments.splitn(2, |argument| argument == "--");
    let (name, assignments) =
        parts.next().and_then(<[String]>::split_first).ok_or("usage: behind SCENARIO [KEY=VALUE…] -- COMMAND…")?;
    let scenario = farhop_scenario::open(name, assignments)?;
    let command: Vec<_> = parts.next().unwrap_or_default().iter().map(Into::into).collect();
    let emulated = emulate(&scenario, &command)?;
    eprintln!("{}", emulated.summary);
    Ok(ExitCode::from(emulated.exit_code))
}
