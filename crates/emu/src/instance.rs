//! What a testbed leaves in the file system, and how it is found and removed when its process did not live to do so.
//!
//! An instance has a number. While its process lives, it holds a lock (`flock`) on `/run/farhop/<number>.lock`; the kernel
//! gives the lock back when the process dies of whatever cause. So an instance whose lock can be taken is stale, and who takes
//! the lock may remove its namespaces, after killing what still runs in them. Beside the lock lies the hosts file; the network
//! namespaces are mounted at `/run/netns/farhop-<number>-<host>`, where `ip netns` finds them.

use crate::EmuError;
use crate::host::{Host, hosts_file};
use crate::process;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) const STATE: &str = "/run/farhop";
pub(crate) const NETNS: &str = "/run/netns";

/// The lock of a live instance; whoever holds it owns the instance's files.
#[derive(Debug)]
pub(crate) struct Instance {
    number: u32,
    _lock: Flock<File>,
}

impl Instance {
    /// Takes the lowest number that no live process holds and writes its hosts file.
    pub(crate) fn allocate() -> Result<Self, EmuError> {
        fs::create_dir_all(STATE).map_err(EmuError::system(format!("create {STATE}")))?;
        fs::create_dir_all(NETNS).map_err(EmuError::system(format!("create {NETNS}")))?;
        let mut number = 1;
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(lock_path(number));
            let file = file.map_err(EmuError::system(format!("create {}", lock_path(number).display())))?;
            if let Some(instance) = Self::lock(number, file)? {
                instance.remove_files();
                instance.write_hosts()?;
                return Ok(instance);
            }
            number += 1;
        }
    }

    /// The instance if its lock is free and its lock file still there: its last owner removes the file before the lock.
    fn lock(number: u32, file: File) -> Result<Option<Self>, EmuError> {
        let action = || format!("lock {}", lock_path(number).display());
        let lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((_, Errno::EWOULDBLOCK)) => return Ok(None),
            Err((_, error)) => return Err(EmuError::system(action())(error)),
        };
        let links = lock.metadata().map_err(EmuError::system(action()))?.nlink();
        Ok((links > 0).then_some(Self { number, _lock: lock }))
    }

    fn write_hosts(&self) -> Result<(), EmuError> {
        let machine = nix::unistd::gethostname().unwrap_or_default();
        let path = self.hosts_path();
        fs::write(&path, hosts_file(&machine.to_string_lossy()))
            .map_err(EmuError::system(format!("write {}", path.display())))
    }

    /// The name of a host's namespace.
    pub(crate) fn namespace(&self, host: Host) -> String {
        format!("farhop-{}-{host}", self.number)
    }

    pub(crate) fn hosts_path(&self) -> PathBuf {
        Path::new(STATE).join(format!("{}.hosts", self.number))
    }

    /// Mounts the calling thread's network namespace under its name.
    pub(crate) fn publish(&self, host: Host) -> Result<(), EmuError> {
        let path = self.netns_path(host);
        let action = || format!("mount a network namespace at {}", path.display());
        File::create(&path).map_err(EmuError::system(action()))?;
        let own = Some("/proc/thread-self/ns/net");
        mount(own, &path, None::<&str>, MsFlags::MS_BIND, None::<&str>).map_err(EmuError::system(action()))
    }

    fn netns_path(&self, host: Host) -> PathBuf {
        Path::new(NETNS).join(self.namespace(host))
    }

    /// Kills what runs in the namespaces and removes everything but the lock. Best effort: what is not there need not go.
    fn remove_files(&self) {
        let paths = Host::ALL.map(|host| self.netns_path(host));
        process::end_all_inside(&paths);
        for path in &paths {
            let _ = umount2(path, MntFlags::MNT_DETACH);
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_file(self.hosts_path());
    }

    /// Removes everything. Does it again without harm.
    pub(crate) fn remove(&self) {
        self.remove_files();
        let _ = fs::remove_file(lock_path(self.number));
    }
}

fn lock_path(number: u32) -> PathBuf {
    Path::new(STATE).join(format!("{number}.lock"))
}

/// Removes what killed emulators have left behind; returns how many there were.
///
/// # Errors
/// The state directory exists but cannot be read.
pub fn cleanup_stale() -> Result<usize, EmuError> {
    let entries = match fs::read_dir(STATE) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(EmuError::system(format!("read {STATE}"))(error)),
    };
    let numbers = entries.flatten().filter_map(|entry| instance_number(&entry.file_name().to_string_lossy()));
    let stale = numbers.filter_map(|number| {
        let file = File::options().write(true).open(lock_path(number)).ok()?;
        Instance::lock(number, file).ok()?
    });
    Ok(stale.map(|instance| instance.remove()).count())
}

fn instance_number(file_name: &str) -> Option<u32> {
    file_name.strip_suffix(".lock")?.parse().ok()
}

/// Makes mounts of the calling thread its own and puts the instance's hosts file over the system's.
pub(crate) fn mount_hosts(hosts: &Path) -> Result<(), EmuError> {
    const HOSTS: &str = "/etc/hosts";
    let none = None::<&str>;
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).map_err(EmuError::system("create a mount namespace"))?;
    // Unmounting outside must reach here, or this copy would keep other instances' namespaces alive.
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)
        .map_err(EmuError::system("detach the mount namespace (in a changed root, / must be a mount point)"))?;
    mount(Some(hosts), HOSTS, none, MsFlags::MS_BIND, none).map_err(EmuError::system(format!("mount {HOSTS}")))
}
