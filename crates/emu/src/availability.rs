//! Whether this machine can emulate, found out by trying.

use crate::instance::{NETNS, STATE};
use crate::tun::{TUN_CONTROL, Tun};
use crate::{EmuError, kernel_tcp};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{AccessFlags, access};
use std::fs::{self, OpenOptions};
use std::io;
use std::process::{Command, Stdio};
use std::thread;

/// Says in one line what emulating needs, when something is missing.
///
/// # Errors
/// [`EmuError::Unavailable`] with the need, the problem and the remedy.
pub fn availability() -> Result<(), EmuError> {
    device()?;
    namespaces()?;
    state()?;
    ip()
}

fn device() -> Result<(), EmuError> {
    let opened = OpenOptions::new().read(true).write(true).open(TUN_CONTROL);
    opened.map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => no_rights(format!("{TUN_CONTROL}: {error}")),
        _ => EmuError::Unavailable {
            needs: "the TUN driver",
            problem: format!("{TUN_CONTROL}: {error}"),
            remedy: "load it with `modprobe tun`, or give the container that device",
        },
    })
}

/// Tries on a thread of its own, whose namespaces end with it.
fn namespaces() -> Result<(), EmuError> {
    let tried = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)
            .map_err(|error| no_rights(format!("unshare: {}", error.desc().to_lowercase())))?;
        Tun::create("probe").map(drop).map_err(|error| no_rights(error.to_string()))?;
        kernel_tcp::prepare_host().map_err(|error| EmuError::Unavailable {
            needs: "network settings that can be written",
            problem: error.to_string(),
            remedy: "give the container a writable /proc/sys",
        })
    });
    tried.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn no_rights(problem: String) -> EmuError {
    EmuError::Unavailable {
        needs: "root, or CAP_SYS_ADMIN and CAP_NET_ADMIN, for network namespaces",
        problem,
        remedy: "run it with sudo",
    }
}

fn state() -> Result<(), EmuError> {
    let writable = |folder| fs::create_dir_all(folder).and_then(|()| Ok(access(folder, AccessFlags::W_OK)?));
    [STATE, NETNS].into_iter().try_for_each(|folder| {
        writable(folder).map_err(|error| EmuError::Unavailable {
            needs: "a folder for what must be removed if it is killed",
            problem: format!("{folder}: {error}"),
            remedy: "make /run writable",
        })
    })
}

fn ip() -> Result<(), EmuError> {
    let ran = Command::new("ip").arg("-Version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    ran.map(drop).map_err(|error| EmuError::Unavailable {
        needs: "the program `ip`",
        problem: error.to_string(),
        remedy: "install the package iproute2",
    })
}
