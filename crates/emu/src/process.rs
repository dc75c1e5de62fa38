//! Ends the processes inside given network namespaces, and no others.
//!
//! A process is inside if its `/proc/<pid>/ns/net` is the same file as the namespace's mount, or if the instance's word is in
//! the environment that it was started with. It is held by a pidfd from before the comparison until the signal, so that a
//! number used again in between cannot send the signal astray.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// What a polite request to end (`SIGTERM`) is given before `SIGKILL`.
const GRACE: Duration = Duration::from_millis(100);
/// What the kernel is given to carry out a `SIGKILL`.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// Rounds of killing, as the processes found may have started others meanwhile.
const ROUNDS: usize = 8;

/// The environment variable in which processes inside have the word of their instance.
pub(crate) const MARK: &str = "FARHOP_INSTANCE";

/// Ends every process in the network namespaces mounted at `paths` or with the instance's word in its environment (this
/// process excepted) and waits until they are gone.
pub(crate) fn end_all_inside(paths: &[impl AsRef<Path>], word: &str) {
    let namespaces: BTreeSet<FileId> = paths.iter().filter_map(|path| namespace_id(path.as_ref())).collect();
    let inside = Inside { namespaces, mark: (!word.is_empty()).then(|| format!("{MARK}={word}").into_bytes()) };
    if inside.namespaces.is_empty() && inside.mark.is_none() {
        return;
    }
    let found = inside.processes();
    signal_and_wait(&found, libc::SIGTERM, GRACE);
    for _ in 0..ROUNDS {
        let found = inside.processes();
        if found.is_empty() {
            return;
        }
        signal_and_wait(&found, libc::SIGKILL, KILL_WAIT);
    }
}

/// Whether a process runs. One that has ended may still have its number until its parent asks how.
pub(crate) fn is_alive(number: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains(['Z', 'X']))
}

/// Device and inode of a file.
type FileId = (u64, u64);

fn file_id(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The identity of the namespace mounted at `path`; `None` for a file that is only the place for one.
fn namespace_id(path: &Path) -> Option<FileId> {
    let is_namespace = nix::sys::statfs::statfs(path).ok()?.filesystem_type() == nix::sys::statfs::NSFS_MAGIC;
    if is_namespace { file_id(path) } else { None }
}

/// What tells that a process is inside.
struct Inside {
    namespaces: BTreeSet<FileId>,
    mark: Option<Vec<u8>>,
}

impl Inside {
    /// All processes inside but this one.
    fn processes(&self) -> Vec<OwnedFd> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let others = numbers.filter(|&number| number != std::process::id());
        others.filter_map(|number| self.hold(number)).collect()
    }

    fn hold(&self, number: u32) -> Option<OwnedFd> {
        // Most processes are elsewhere: look before holding, then look again at the one held.
        if !self.has(number) {
            return None;
        }
        let held = pidfd_open(number)?;
        self.has(number).then_some(held)
    }

    fn has(&self, number: u32) -> bool {
        let folder = Path::new("/proc").join(number.to_string());
        file_id(&folder.join("ns/net")).is_some_and(|id| self.namespaces.contains(&id))
            || self.mark.as_deref().is_some_and(|mark| is_marked(&folder, mark))
    }
}

fn is_marked(folder: &Path, mark: &[u8]) -> bool {
    let environment = fs::read(folder.join("environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|variable| variable == mark)
}

fn signal_and_wait(processes: &[OwnedFd], signal: libc::c_int, patience: Duration) {
    for process in processes {
        pidfd_send_signal(process, signal);
    }
    let mut left = patience;
    for process in processes {
        left = wait_for_end(process, left);
    }
}

/// Waits until the process has ended, for at most `patience`; what is left of it (to the millisecond).
fn wait_for_end(process: &OwnedFd, patience: Duration) -> Duration {
    let clock = crate::clock::Clock::start();
    let millis = u16::try_from(patience.as_millis()).unwrap_or(u16::MAX);
    let _ = poll(&mut [PollFd::new(process.as_fd(), PollFlags::POLLIN)], millis);
    patience.saturating_sub(clock.now().since(farhop_units::Instant::START))
}

#[expect(unsafe_code, reason = "pidfd_open is not in nix")]
fn pidfd_open(number: u32) -> Option<OwnedFd> {
    // SAFETY: plain integers go in; what comes out is checked.
    let answer = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) };
    let descriptor = i32::try_from(Errno::result(answer).ok()?).ok()?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[expect(unsafe_code, reason = "pidfd_send_signal is not in nix")]
fn pidfd_send_signal(process: &OwnedFd, signal: libc::c_int) {
    let no_details: *const libc::siginfo_t = std::ptr::null();
    // SAFETY: the descriptor is open; a null pointer stands for the details kill(2) would send. A process that has ended
    // meanwhile is what was wanted, so the answer does not matter.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, no_details, 0) };
}
