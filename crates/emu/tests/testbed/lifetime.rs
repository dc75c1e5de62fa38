//! Commands, their status, and what is left when testbeds end, well or badly.

use crate::{permitted, scenario, testbed};
use farhop_emu::{EmuError, Host, Testbed, availability, cleanup_stale, emulate};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::SystemTime;

fn exit_code_of(script: &str) -> u8 {
    let command = ["sh", "-c", script].map(OsString::from);
    emulate(&scenario(&[]), &command).expect("sh runs").exit_code
}

#[test]
fn the_commands_exit_status_is_returned() {
    if permitted() {
        assert_eq!(exit_code_of("exit 7"), 7);
        assert_eq!(exit_code_of("kill -TERM $$"), 128 + 15);
        assert_eq!(exit_code_of("kill -INT $$"), 128 + 2);
    }
}

#[test]
fn a_command_that_does_not_exist_is_an_error() {
    if permitted() {
        let command = [OsString::from("no-such-program")];
        let error = emulate(&scenario(&[]), &command).expect_err("there is no such program");
        assert!(matches!(error, EmuError::Command { .. }), "{error}");
        assert!(error.to_string().starts_with("cannot run no-such-program: "), "{error}");
    }
}

/// What a testbed leaves in the file system while it lives. Numbers are used again at once, so a file of the same name may
/// be another test's; what tells is when it was made.
struct Traces {
    files: Vec<(PathBuf, SystemTime)>,
}

impl Traces {
    /// Those of the testbed whose client's namespace has this name.
    fn of(client: &str) -> Self {
        let number = client.split('-').nth(1).expect("farhop-NUMBER-client");
        let namespaces = Host::ALL.map(|host| format!("/run/netns/farhop-{number}-{host}"));
        let state = ["lock", "hosts"].map(|kind| format!("/run/farhop/{number}.{kind}"));
        let files = namespaces.into_iter().chain(state).map(PathBuf::from);
        Self { files: files.map(|file| (file.clone(), modified(&file).expect("it is there"))).collect() }
    }

    fn left(&self) -> bool {
        self.files.iter().any(|(file, made)| modified(file).is_some_and(|now| now == *made))
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|data| data.modified()).ok()
}

#[test]
fn stopping_ends_what_still_runs_inside_and_removes_everything() {
    let Some(testbed) = testbed(&[]) else { return };
    let traces = Traces::of(testbed.host(Host::Client).name());
    assert!(traces.left());
    let mut left_running = testbed.host(Host::Server).command("sleep").arg("1000").spawn().expect("sleep runs");
    testbed.stop().expect("a record");
    assert!(left_running.wait().expect("a child").signal().is_some());
    assert!(!traces.left());
}

/// Not a test: the process that the tests below kill. Prints its namespace and a process inside, then waits.
#[test]
#[ignore = "started by other tests"]
fn holder() {
    let testbed = Testbed::start(&scenario(&[])).expect("a testbed");
    let client = testbed.host(Host::Client);
    // The inner sleep outlives its parent, which dies with this process.
    let script = format!("sleep 1000 & echo holding {} $!; wait", client.name());
    client.command("sh").args(["-c", &script]).status().expect("sh runs");
    loop {
        std::thread::park();
    }
}

struct Holder {
    process: Child,
    traces: Traces,
    inside: u32,
}

impl Holder {
    fn start() -> Self {
        // Whoever runs the tests may ignore signals (a shell's background does), and what is ignored is inherited.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT,TERM,HUP").arg(std::env::current_exe().expect("this program"));
        command.args(["--exact", "lifetime::holder", "--ignored", "--nocapture"]).stdout(Stdio::piped());
        let mut process = command.spawn().expect("this program again");
        let lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let said =
            lines.map_while(Result::ok).find_map(|line| line.split_once("holding ").map(|(_, said)| said.to_owned()));
        let said = said.expect("the holder says what it holds");
        let (namespace, inside) = said.split_once(' ').expect("two words");
        Self { process, traces: Traces::of(namespace), inside: inside.parse().expect("a process") }
    }

    fn end_by(&mut self, signal: Signal) -> ExitStatus {
        kill(Pid::from_raw(self.process.id().try_into().expect("a process")), signal).expect("it lives");
        self.process.wait().expect("a child")
    }

    /// Whether files or the process inside are still there.
    fn leftovers(&self) -> bool {
        let runs = std::fs::metadata(format!("/proc/{}/ns/net", self.inside)).is_ok();
        runs || self.traces.left()
    }
}

#[test]
fn signals_remove_everything_before_they_end_the_process() {
    if permitted() {
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            let mut holder = Holder::start();
            assert_eq!(holder.end_by(signal).signal(), Some(signal as i32));
            assert!(!holder.leftovers(), "{signal}");
        }
    }
}

#[test]
fn the_next_start_cleans_up_after_a_killed_one() {
    if permitted() {
        let mut holder = Holder::start();
        assert!(holder.leftovers());
        assert_eq!(holder.end_by(Signal::SIGKILL).signal(), Some(Signal::SIGKILL as i32));
        let testbed = Testbed::start(&scenario(&[])).expect("a testbed");
        // Another test's start may have been first and still be at it.
        while holder.leftovers() {
            assert!(testbed.clock().now().as_secs_f64() < 10.0, "something of the killed testbed is still there");
            std::thread::yield_now();
        }
    }
}

/// What `availability` says where `folder` is read-only.
fn availability_without(folder: &'static str) -> String {
    let asked = thread::spawn(move || {
        let (none, own) = (None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE);
        unshare(CloneFlags::CLONE_NEWNS).expect("permitted");
        mount(none, "/", none, own, none).expect("mounts of its own");
        mount(Some(folder), folder, none, MsFlags::MS_BIND, none).expect("a bind mount");
        let read_only = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        mount(none, folder, none, read_only, none).expect("a read-only mount");
        availability().expect_err(folder).to_string()
    });
    asked.join().expect("no panic")
}

#[test]
fn a_machine_that_may_not_write_settings_or_state_cannot_emulate() {
    if permitted() {
        let settings = availability_without("/proc/sys");
        assert!(settings.starts_with("emulating needs network settings that can be written: "), "{settings}");
        assert!(settings.ends_with("; give the container a writable /proc/sys"), "{settings}");
        let state = availability_without("/run");
        assert!(
            state.starts_with("emulating needs a folder for what must be removed if it is killed: /run/"),
            "{state}"
        );
    }
}

#[test]
fn a_live_testbed_is_not_cleaned_up() {
    let Some(testbed) = testbed(&[]) else { return };
    let traces = Traces::of(testbed.host(Host::Client).name());
    cleanup_stale().expect("the state can be read");
    assert!(traces.left());
}
