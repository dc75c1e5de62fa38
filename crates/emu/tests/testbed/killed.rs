//! An emulator with a way out and several terminals, killed at several moments: nothing of it stays after cleaning up.

use crate::outside::{HOST, INTERNET, devices, forwarding, who_am_i, with_internet};
use crate::{at, permitted, scenario};
use farhop_emu::{Host, Options, Testbed, cleanup_stale};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

fn with_a_way_out() -> Testbed {
    let options = Options { nat: true, ..Options::default() };
    Testbed::start_with(&scenario(&["access.terminals=4"]), &options).expect("a testbed")
}

/// Not a test: the process that is killed.
#[test]
#[ignore = "started by the test below"]
fn victim() {
    let testbed = with_a_way_out();
    let mut sleeping = testbed.client(3).expect("four clients").command("sh");
    sleeping.args(["-c", "sleep 1000 & wait"]).status().expect("sh runs");
}

/// Not a test: the process that is killed with an emulator in its emulator.
#[test]
#[ignore = "started by the test below"]
fn nested_victim() {
    let outer = with_a_way_out();
    let nested = || {
        let _inner = with_a_way_out();
        // Nobody wakes it for good but who kills it: starting may have left a wake-up behind.
        loop {
            std::thread::park();
        }
    };
    let inner: JoinHandle<()> = outer.host(Host::Client).spawn("inner", nested);
    inner.join().expect("no panic inside");
}

fn start_victim(of: &str) -> Child {
    start("killed::victim", of)
}

fn start(victim: &str, of: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", victim, "--ignored", "--nocapture"]).stdout(Stdio::null());
    command.env(MARK, of).spawn().expect("this program again")
}

/// What emulators have in the file system; with a live one with four terminals and a way out, 17 and more.
fn traces() -> Vec<String> {
    let found =
        ["/run/farhop", "/run/netns"].into_iter().flat_map(|folder| std::fs::read_dir(folder).expect("it is there"));
    found.map(|entry| entry.expect("readable").path().display().to_string()).collect()
}

/// In the environment of the victim and all that it starts.
const MARK: &str = "FARHOP_VICTIM";

/// Number of processes that a test's victims have started and that still run, and of those victims.
fn left_running(of: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let environments = processes.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    let mark = format!("{MARK}={of}").into_bytes();
    environments.filter(|text| text.split(|&byte| byte == 0).any(|variable| variable == mark)).count()
}

#[test]
fn an_emulator_killed_at_any_moment_is_cleaned_up_after() {
    if permitted() {
        with_internet(|| {
            let before = (forwarding(), devices());
            let of = format!("{} at any moment", std::process::id());
            for moment in [1, 2, 4, 6, 8, 10, 12, 14, 16, 17, 18] {
                let mut victim = start_victim(&of);
                while traces().len() < moment && victim.try_wait().expect("a child").is_none() {
                    std::thread::yield_now();
                }
                victim.kill().expect("it is ours");
                victim.wait().expect("a child");
                assert_eq!(cleanup_stale().expect("the state can be read"), 1, "{moment}");
                assert_eq!(traces(), [""; 0], "{moment}");
                assert_eq!((forwarding(), devices()), before, "{moment}");
                assert_eq!(left_running(&of), 0, "{moment}");
            }
            // A table that was left would be in the way.
            let next = with_a_way_out();
            assert_eq!(at(&next, Host::Client, || who_am_i(INTERNET)), IpAddr::V4(HOST));
        });
    }
}

#[test]
fn an_emulator_told_to_end_while_it_starts_leaves_nothing() {
    if permitted() {
        with_internet(|| {
            let before = (forwarding(), devices());
            let of = format!("{} while it starts", std::process::id());
            for moment in 1..=18 {
                let mut victim = start_victim(&of);
                while traces().len() < moment && victim.try_wait().expect("a child").is_none() {
                    std::thread::yield_now();
                }
                let number = i32::try_from(victim.id()).expect("a process number");
                kill(Pid::from_raw(number), Signal::SIGTERM).expect("it is ours");
                victim.wait().expect("a child");
                assert_eq!(traces(), [""; 0], "{moment}");
                assert_eq!((forwarding(), devices()), before, "{moment}");
            }
        });
    }
}

#[test]
fn what_has_lost_its_lock_file_is_found() {
    if permitted() {
        with_internet(|| {
            std::fs::write("/run/farhop/5.ca.crt", "").expect("a file");
            std::fs::write("/run/netns/farhop-6-client", "").expect("a file");
            assert_eq!(cleanup_stale().expect("the state can be read"), 2);
            assert_eq!(traces(), [""; 0]);
        });
    }
}

#[test]
fn the_next_start_cleans_up_without_being_asked() {
    if permitted() {
        with_internet(|| {
            let before = (forwarding(), devices());
            let mut victim = start_victim("when running");
            while !std::path::Path::new("/run/farhop/1.sock").exists() {
                assert!(victim.try_wait().expect("a child").is_none(), "it lives");
                std::thread::yield_now();
            }
            victim.kill().expect("it is ours");
            victim.wait().expect("a child");
            assert_ne!((forwarding(), devices()), before);
            let next = with_a_way_out();
            assert_eq!(at(&next, Host::Client, || who_am_i(INTERNET)), IpAddr::V4(HOST));
            drop(next);
            assert_eq!((forwarding(), devices()), before);
            assert_eq!(traces(), [""; 0]);
        });
    }
}

#[test]
fn of_an_emulator_killed_inside_another_nothing_stays() {
    if permitted() {
        with_internet(|| {
            let before = (forwarding(), devices());
            let mut victim = start("killed::nested_victim", "one in another");
            while !std::path::Path::new("/run/farhop/2.sock").exists() {
                assert!(victim.try_wait().expect("a child").is_none(), "it lives");
                std::thread::yield_now();
            }
            victim.kill().expect("it is ours");
            victim.wait().expect("a child");
            assert_eq!(cleanup_stale().expect("the state can be read"), 2);
            assert_eq!(traces(), [""; 0]);
            assert_eq!((forwarding(), devices()), before);
        });
    }
}
