//! Without root: a testbed in a user namespace, as an unprivileged user, and what is left of it when it is killed.
//!
//! A program of its own, because a user namespace can be entered only while there is a single thread. Started by root it
//! becomes the user `nobody` in a child; where user namespaces are not to be had it says so and passes, unless
//! `FARHOP_REQUIRE_ROOT_TESTS=1`.
#![allow(clippy::print_stdout)]

use farhop_emu::{EmuError, Host, Options, Rights, Testbed, cleanup_stale, doctor, enter_user_namespace};
use nix::mount::{MsFlags, mount};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

const NOBODY: u32 = 65_534;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("hold") => hold(),
        Some("enter") => {
            println!("{}", enter_user_namespace().expect_err("there is none to be had"));
            ExitCode::SUCCESS
        }
        Some("trial") => trial(),
        _ => as_user(),
    }
}

/// Runs the trial as an unprivileged user.
fn as_user() -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("rootless");
    // The user need not be able to read the build's folder.
    std::fs::copy(std::env::current_exe().expect("this program"), &program).expect("a copy");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("ours");
    let mut command = Command::new(&program);
    command.arg("trial").current_dir("/").env_remove("XDG_RUNTIME_DIR");
    if Uid::effective().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    if command.status().expect("this program again").success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn trial() -> ExitCode {
    // Children of this process are killed and cleaned up after by it, which it can only do from outside.
    let mut holder = start_holder();
    let mut said = String::new();
    let mut output = BufReader::new(holder.stdout.take().expect("piped"));
    output.read_line(&mut said).expect("a line");
    let Some(inside) = said.trim().strip_prefix("holding ") else {
        holder.wait().expect("a child");
        println!("test rootless ... skipped: {}", said.trim());
        let required = std::env::var("FARHOP_REQUIRE_ROOT_TESTS").is_ok_and(|value| value == "1");
        return if required { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    };
    a_killed_one_is_cleaned_up_after(&mut holder, inside);
    println!("test a_killed_one_is_cleaned_up_after ... ok");

    assert_eq!(enter_user_namespace().expect("it worked before"), Rights::UserNamespace);
    assert_eq!(enter_user_namespace().expect("it is entered"), Rights::UserNamespace, "twice does no harm");
    println!("test a_user_namespace_is_entered ... ok");
    everything_works_inside();
    println!("test everything_works_inside ... ok");
    there_is_no_way_out();
    println!("test there_is_no_way_out ... ok");
    the_doctor_knows();
    println!("test the_doctor_knows ... ok");
    cover_tun_devices();
    everything_works_inside();
    println!("test packet_sockets_stand_in_for_tun_devices ... ok");
    a_refusal_names_its_reason();
    println!("test a_refusal_names_its_reason ... ok");
    ExitCode::SUCCESS
}

fn start_holder() -> std::process::Child {
    let program = std::env::current_exe().expect("this program");
    Command::new(program).arg("hold").stdout(Stdio::piped()).spawn().expect("this program again")
}

/// The process that is killed: prints a process inside its testbed, then waits.
fn hold() -> ExitCode {
    if let Err(error) = enter_user_namespace() {
        println!("{error}");
        return ExitCode::SUCCESS;
    }
    let testbed = Testbed::start(&scenario(&["access.terminals=2"])).expect("a testbed");
    let mut command = testbed.client(1).expect("two clients").command("sh");
    // The inner sleep outlives its parent, which dies with this process.
    command.args(["-c", "sleep 1000 & echo holding $(readlink /proc/self/ns/net) $!; wait"]).status().expect("sh runs");
    ExitCode::FAILURE
}

fn a_killed_one_is_cleaned_up_after(holder: &mut std::process::Child, inside: &str) {
    kill(Pid::from_raw(holder.id().try_into().expect("a process")), Signal::SIGKILL).expect("it lives");
    holder.wait().expect("a child");
    let (_, sleeper) = inside.split_once(' ').expect("two words");
    assert!(runs(sleeper), "it outlives its parent");
    assert_eq!(cleanup_stale().expect("the state can be read"), 1);
    assert!(!runs(sleeper), "and is found");
    let state = std::fs::read_dir(format!("/tmp/farhop-{}", Uid::effective())).expect("the user's state");
    assert_eq!(state.count(), 0);
}

/// Whether a process runs; one that has ended may still be there until somebody asks how.
fn runs(process: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

/// 100 Mbit/s, 10 ms each way, with assignments of `key=value`.
fn scenario(assignments: &[&str]) -> farhop_scenario::Scenario {
    let text = "version = 1\n\
                [link.down]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"2.5 MB\"\n\
                [link.up]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"2.5 MB\"\n\
                [page]\nobjects = 1\nsize = \"5 kB\"\n";
    let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
    farhop_scenario::parse("rootless", text, &assignments).expect("a valid scenario")
}

fn everything_works_inside() {
    let testbed = Testbed::start(&scenario(&["access.terminals=3", "tcp.max_window=64 KiB"])).expect("a testbed");
    for address in [IpAddr::from(testbed.address(Host::Server)), testbed.address6(Host::Server).into()] {
        let listener = testbed.host(Host::Server).spawn("listener", move || TcpListener::bind((address, 0)));
        let listener: TcpListener = listener.join().expect("no panic").expect("a free port");
        let to: SocketAddr = listener.local_addr().expect("bound");
        let clock = testbed.clock();
        let caller = testbed.client(2).expect("three clients").spawn("caller", move || {
            let before = clock.now();
            let mut stream = TcpStream::connect(to).expect("somebody listens");
            let took = clock.now() - before;
            stream.write_all(&[7; 100_000]).expect("it is read");
            took
        });
        let mut received = Vec::new();
        listener.accept().expect("a connection").0.read_to_end(&mut received).expect("bytes");
        assert_eq!(received.len(), 100_000);
        // When a packet came is reckoned back by up to 0.2 ms, once each way.
        let took = caller.join().expect("no panic") + Duration::from_micros(2 * 200);
        assert!(took >= Duration::from_millis(20), "the link's round trip");
    }
    let output = testbed.host(Host::Client).command("sh").args(["-c", "cat /etc/hosts; id -u"]).output();
    let text = String::from_utf8(output.expect("sh runs").stdout).expect("text");
    assert!(text.contains(" client-3\n") && text.ends_with("\n0\n"), "{text}");
    let record = testbed.stop().expect("a record");
    assert!(record.quality.packets > 100);
}

fn there_is_no_way_out() {
    let options = Options { nat: true, ..Options::default() };
    let refused = Testbed::start_with(&scenario(&[]), &options).expect_err("there is no network outside");
    assert!(matches!(refused, EmuError::Unavailable { .. }), "{refused}");
    assert!(refused.to_string().ends_with("; run it with sudo"), "{refused}");
}

fn the_doctor_knows() {
    let findings = doctor();
    assert!(findings.iter().all(|finding| finding.works || !finding.required), "{findings:#?}");
    let way_out = findings.iter().find(|finding| finding.what.starts_with("way out")).expect("a finding");
    assert!(!way_out.works && way_out.remedy.is_some(), "{way_out:?}");
}

/// As in a container without that device.
fn cover_tun_devices() {
    let none = None::<&str>;
    mount(Some("/dev/null"), "/dev/net/tun", none, MsFlags::MS_BIND, none).expect("root may, here");
    let findings = doctor();
    let works = |what: &str| findings.iter().find(|finding| finding.what == what).expect("a finding").works;
    assert!(!works("TUN devices") && works("packet sockets"), "{findings:#?}");
}

/// Who may make no user namespaces is told which setting forbids it.
#[expect(unsafe_code, reason = "code between fork and exec")]
fn a_refusal_names_its_reason() {
    // This setting is each user namespace's own; inside, we are root.
    std::fs::write("/proc/sys/user/max_user_namespaces", "0").expect("root may, here");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    // SAFETY: prctl(2) is async-signal-safe.
    unsafe {
        command.arg("enter").pre_exec(|| {
            // Root without any rights, once it has become another program.
            (0..64).for_each(|right| {
                libc::prctl(libc::PR_CAPBSET_DROP, right);
            });
            Ok(())
        });
    }
    let output = command.output().expect("this program again");
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(told.starts_with("emulating needs root, or user namespaces: none are allowed (user.max_user"), "{told}");
    assert!(told.contains("; sudo sysctl user.max_user_namespaces=10000, or run it with sudo"), "{told}");
}
