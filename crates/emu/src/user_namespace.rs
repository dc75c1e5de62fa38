//! Emulating without root: a user namespace in which this process is root (user_namespaces(7)).
//!
//! Entered before anything else, because the kernel lets only a process with a single thread do so. Inside, network and mount
//! namespaces can be made as root makes them. What needs files of the machine's root gets its own: `/run` is a private
//! file system with everything of the machine's in it, but with folders `/run/farhop` and `/run/netns` that are this user's.
//! `/run/farhop` shows a folder of the user's ([`folder`]), so that what a killed emulator leaves is found by the next one.
//!
//! Left out, as they need the machine's root: real-time priority, processors kept awake, the way out (`--nat`), and names of
//! namespaces that others than the processes inside can use.

use crate::{EmuError, instance};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use std::ffi::CString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

static ENTERED: AtomicBool = AtomicBool::new(false);

/// What lets this process emulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// It is root, or has root's rights over namespaces and networks.
    Root,
    /// It is root in a user namespace only: without real-time priority, processors kept awake or a way out.
    UserNamespace,
}

/// Gets this process the right to emulate: enters a user namespace unless it has that right already. To be called first thing
/// in `main`, while the process has a single thread. Removes first what this user's killed emulators have left, which cannot be
/// done from inside.
///
/// # Errors
/// User namespaces are not to be had: [`EmuError::Unavailable`] says why and what helps.
pub fn enter_user_namespace() -> Result<Rights, EmuError> {
    if is_entered() {
        return Ok(Rights::UserNamespace);
    }
    if is_privileged() {
        return Ok(Rights::Root);
    }
    instance::cleanup_stale()?;
    let (user, group) = (geteuid(), getegid());
    let folder = folder();
    enter().map_err(unavailable)?;
    become_root(user.as_raw(), group.as_raw()).map_err(|error| unavailable(errno(&error)))?;
    // Only what is opened inside can be mounted inside.
    furnish(&own_folder(&folder)?).map_err(EmuError::system("make a private /run"))?;
    ENTERED.store(true, Ordering::Relaxed);
    Ok(Rights::UserNamespace)
}

/// Whether this process has entered a user namespace, and so left the machine's network.
pub(crate) fn is_entered() -> bool {
    ENTERED.load(Ordering::Relaxed)
}

/// Whether this process may make namespaces and configure networks as it is (capabilities(7)).
pub(crate) fn is_privileged() -> bool {
    const CAP_NET_ADMIN: u64 = 1 << 12;
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    effective & (CAP_NET_ADMIN | CAP_SYS_ADMIN) == CAP_NET_ADMIN | CAP_SYS_ADMIN
}

/// Where a user without rights keeps what must be removed if an emulator is killed: `farhop` in `$XDG_RUNTIME_DIR`, or
/// `/tmp/farhop-<uid>`.
pub(crate) fn folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| is_own(folder));
    runtime.map_or_else(|| format!("/tmp/farhop-{}", geteuid()).into(), |folder| folder.join("farhop"))
}

/// That folder, open; made if it is not there. In `/tmp` anybody may have made it.
fn own_folder(folder: &Path) -> Result<File, EmuError> {
    let failed = || EmuError::system(format!("use {}", folder.display()));
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed()(error)),
        _ => {}
    }
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(folder).map_err(failed())?;
    if opened.metadata().is_ok_and(|found| found.uid() == geteuid().as_raw()) {
        Ok(opened)
    } else {
        Err(failed()(io::Error::other("it belongs to somebody else")))
    }
}

/// Whether a folder is there, is no link elsewhere and belongs to this user.
pub(crate) fn is_own(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw())
}

fn enter() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET)
}

/// Makes this user root inside, and nobody else anybody.
fn become_root(user: u32, group: u32) -> io::Result<()> {
    // Without this, a member of a group that files exclude could leave the group.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    // Where AppArmor lets a user namespace be made, but takes its rights away, this is the first thing that fails.
    let none = None::<&str>;
    Ok(mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)?)
}

/// Where the machine's `/run` is inside.
const OUTSIDE: &str = "/run/.outside";

/// Covers `/run` with a file system of our own that shows the machine's, but for our own folders.
fn furnish(state: &File) -> io::Result<()> {
    // Before they are covered.
    let machines = detached_copy(&File::open("/run")?)?;
    let state = detached_copy(state)?;
    let (flags, mode) = (MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some("mode=0755"));
    mount(Some("tmpfs"), "/run", Some("tmpfs"), flags, mode)?;
    attach(&machines, OUTSIDE)?;
    for entry in fs::read_dir(OUTSIDE)?.flatten() {
        let own = Path::new("/run").join(entry.file_name());
        if ![instance::STATE, instance::NETNS, OUTSIDE].map(Path::new).contains(&&*own) {
            symlink(entry.path(), own)?;
        }
    }
    fs::create_dir(instance::NETNS)?;
    attach(&state, instance::STATE)
}

/// A copy of what is mounted at and below a folder, not yet mounted anywhere (open_tree(2)).
#[expect(unsafe_code, reason = "open_tree is not in nix")]
fn detached_copy(folder: &File) -> io::Result<OwnedFd> {
    const OPEN_TREE_CLONE: libc::c_int = 1;
    const AT_RECURSIVE: libc::c_int = 0x8000;
    let flags = OPEN_TREE_CLONE | AT_RECURSIVE | libc::AT_EMPTY_PATH | libc::O_CLOEXEC;
    // SAFETY: the path is a string with its end; the answer is checked.
    let answer = unsafe { libc::syscall(libc::SYS_open_tree, folder.as_raw_fd(), c"".as_ptr(), flags) };
    let descriptor = Errno::result(answer)? as RawFd;
    // SAFETY: the kernel has just given this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Makes a folder and mounts the copy there (move_mount(2)).
#[expect(unsafe_code, reason = "move_mount is not in nix")]
fn attach(copy: &OwnedFd, target: &str) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_int = 4;
    fs::create_dir(target)?;
    let target = CString::new(target)?;
    let (from, anywhere, flags) = (copy.as_raw_fd(), libc::AT_FDCWD, MOVE_MOUNT_F_EMPTY_PATH);
    // SAFETY: both paths are strings with their ends and live through the call.
    let answer = unsafe { libc::syscall(libc::SYS_move_mount, from, c"".as_ptr(), anywhere, target.as_ptr(), flags) };
    Errno::result(answer)?;
    Ok(())
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or_default())
}

/// Why there is no user namespace, as far as it can be found out, and what helps.
fn unavailable(error: Errno) -> EmuError {
    let setting = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).map(|text| text.trim().to_owned());
    let is = |name: &str, value: &str| setting(name).is_ok_and(|found| found == value);
    let (problem, remedy) = if is("user/max_user_namespaces", "0") {
        (
            "none are allowed (user.max_user_namespaces is 0)",
            "sudo sysctl user.max_user_namespaces=10000, or run it with sudo",
        )
    } else if is("kernel/unprivileged_userns_clone", "0") {
        (
            "only root may make them (kernel.unprivileged_userns_clone is 0)",
            "sudo sysctl kernel.unprivileged_userns_clone=1, or run it with sudo",
        )
    } else if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        (
            "AppArmor takes their rights away (kernel.apparmor_restrict_unprivileged_userns is 1, as on Ubuntu since 23.10)",
            "give farhop an AppArmor profile with `userns,`, or sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, \
             or run it with sudo",
        )
    } else {
        match error {
            Errno::EINVAL => ("this process already has several threads", "enter it first thing in main"),
            Errno::ENOSPC => {
                ("there are too many, or too deep in each other", "sudo sysctl user.max_user_namespaces=10000")
            }
            Errno::EPERM | Errno::ENOSYS | Errno::EACCES => (
                "the system forbids them (in a container: its seccomp profile; in a changed root: the kernel)",
                "give the container CAP_SYS_ADMIN and CAP_NET_ADMIN, or seccomp=unconfined, or run it with sudo",
            ),
            _ => ("they cannot be made", "run it with sudo"),
        }
    };
    let problem = format!("{problem}: {}", error.desc().to_lowercase());
    EmuError::Unavailable { needs: "root, or user namespaces", problem, remedy }
}
