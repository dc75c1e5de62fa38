//! What the manifest says about this machine, and what a run cost.

use farhop_results::Manifest;
use farhop_scenario::Scenario;
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::utsname::uname;

/// The manifest of a run of `scenario`, without what only an engine knows.
pub(crate) fn manifest(scenario: &Scenario) -> Manifest {
    Manifest { seed: scenario.run.seed, resolved: scenario.to_toml(), ..without_scenario() }
}

/// The manifest of what needs no scenario.
pub(crate) fn without_scenario() -> Manifest {
    let name = uname().ok();
    let text =
        |text: Option<&std::ffi::OsStr>| text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().collect(),
        host: text(name.as_ref().map(|name| name.nodename())),
        kernel: text(name.as_ref().map(|name| name.release())),
        ..Manifest::default()
    }
}

/// CPU time of this process so far, user and system, in s.
pub(crate) fn cpu_s() -> f64 {
    let seconds = |time: nix::sys::time::TimeVal| {
        // Both parts are far below 2^53.
        #[expect(clippy::cast_precision_loss, reason = "seconds and microseconds of one process")]
        let seconds = time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        seconds
    };
    getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Lets this process open as many files as it may. A box holds two for each client; the usual soft limit of 1024 is meant for
/// programs that use select(2).
pub(crate) fn allow_open_files() {
    let raised =
        getrlimit(Resource::RLIMIT_NOFILE).and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    if let Err(error) = raised {
        tracing::warn!("the limit of open files stays as it is: {error}");
    }
}
