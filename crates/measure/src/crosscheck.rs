//! The same objects fetched by an independent client, curl, over the same testbed: do times and bytes agree?
//!
//! curl cannot find objects in HTML, so both fetch one object at a time, each on a connection of its own (HTTP/1.0, without TLS). What curl needs to
//! start as a program is left out: its times are those that it gives itself for each transfer, put together.

use crate::digest::sha256;
use crate::error::MeasureError;
use crate::session::{Session, Work};
use bytes::Bytes;
use farhop_emu::Host;
use farhop_scenario::{HttpConfig, HttpVersion, Scenario, Tls};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The two clients' times for the same objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crosscheck {
    /// curl's, all transfers put together.
    pub curl: Duration,
    /// From the first SYN of our client to its last byte.
    pub farhop: Duration,
}

/// Fetches the scenario's page with curl and with the built-in client, both by HTTP/1.0 and one object at a time, over one testbed.
///
/// # Errors
/// The testbed or curl cannot be had, a load fails, or one of the two does not bring exactly the origin's bytes.
pub fn crosscheck(scenario: &Scenario) -> Result<Crosscheck, MeasureError> {
    let http = HttpConfig { version: HttpVersion::Http10, connections: 1, tls: Tls::None, ..scenario.http };
    let work = Work::new(&Scenario { http, ..scenario.clone() })?;
    let session = Session::start(&work, 0)?;
    let curl = curl(&session, &work)?;
    let observation = session.load(session.direct())?;
    observation.verify(&work.scenario.page, &work.site)?;
    session.stop()?;
    Ok(Crosscheck { curl, farhop: observation.page_load() })
}

/// curl's time for all objects, their bytes compared.
fn curl(session: &Session, work: &Work) -> Result<Duration, MeasureError> {
    let folder = tempfile::tempdir().map_err(MeasureError::io("creating a directory for what curl fetches"))?;
    let objects = work.scenario.page.objects.len();
    let mut command = session.testbed().host(Host::Client).command("curl");
    command.args(["--silent", "--show-error", "--fail", "--http1.0", "--write-out", "%{time_total}\\n"]);
    for object in 0..objects {
        let path = file(folder.path(), object);
        command.arg("--output").arg(path).arg(work.site.url(object).as_str());
    }
    let times = run(command)?;
    for object in 0..objects {
        compare(work, object, &file(folder.path(), object))?;
    }
    total(&times, objects)
}

fn file(folder: &Path, object: usize) -> std::path::PathBuf {
    folder.join(object.to_string())
}

/// What the command writes, if it succeeds.
fn run(mut command: Command) -> Result<String, MeasureError> {
    let output = command.output().map_err(MeasureError::io("running curl"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(MeasureError::Crosscheck(format!("curl ended with {}: {}", output.status, error.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn compare(work: &Work, object: usize, path: &Path) -> Result<(), MeasureError> {
    let body = std::fs::read(path).map_err(MeasureError::io(format!("reading {}", path.display())))?;
    let (received, sent) = (sha256(&[Bytes::from(body)]), sha256(std::slice::from_ref(work.site.body(object))));
    if received == sent {
        return Ok(());
    }
    let name = &work.scenario.page.objects[object].name;
    Err(MeasureError::Crosscheck(format!(
        "curl received object \"{name}\" with SHA-256 {received}; the origin sent {sent}"
    )))
}

/// The sum of as many lines of seconds as there are transfers.
fn total(lines: &str, transfers: usize) -> Result<Duration, MeasureError> {
    let wrong = || MeasureError::Crosscheck(format!("curl gave \"{lines}\" for the times of {transfers} transfers"));
    let times: Option<Vec<f64>> = lines.lines().map(|line| line.trim().parse().ok()).collect();
    let times = times.filter(|times| times.len() == transfers).ok_or_else(wrong)?;
    Duration::try_from_secs_f64(times.iter().sum()).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curls_times_are_put_together_and_counted() {
        assert_eq!(total("0.25\n1.5\n", 2).unwrap(), Duration::from_millis(1750));
        for lines in ["0.25\n", "0.25\nx\n", "0.25\n-1\n"] {
            assert!(total(lines, 2).unwrap_err().to_string().contains("2 transfers"), "{lines}");
        }
    }
}
