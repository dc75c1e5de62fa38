//! What instances with a way out change in the network that they were started in, and how it is put back.
//!
//! - A cable `farhop<number>` to the server; it goes with the server's namespace, or is removed by name.
//! - A table `farhop-<number>` of address translation; it goes with its process, or is removed by name.
//! - Settings under `/proc/sys/net` that let packets pass from device to device. What they were is written to
//!   `/run/farhop/outside.<network>` before the first change. All instances in a network share them: the last one to end, or
//!   whoever cleans up after it, puts them back.
//!
//! An instance that has a way out has a file `/run/farhop/<number>.nat` with the network's identity (the inode of its
//! namespace): an emulator inside another one has another outside. All of this happens under a lock on `/run/farhop`.

use crate::instance::{Instance, STATE};
use crate::{EmuError, netfilter, network};
use nix::fcntl::{Flock, FlockArg};
use nix::net::if_::if_nametoindex;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The kind of an instance's file that says which network its way out leads to.
const MARK: &str = "nat";

/// Name of the cable's outer end.
pub(crate) fn device(instance: &Instance) -> String {
    format!("farhop{}", instance.number())
}

/// Name of the outer table.
pub(crate) fn table(instance: &Instance) -> String {
    format!("farhop-{}", instance.number())
}

/// The right to change the calling thread's network, until dropped.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Where the former values are kept.
    former: PathBuf,
    _lock: Flock<File>,
}

impl Changes {
    /// Begins to change things for `instance`, whose removal will put them back.
    pub(crate) fn begin(instance: &Instance) -> Result<Self, EmuError> {
        let lock = lock().map_err(EmuError::system(format!("lock {STATE}")))?;
        let (path, network) = (instance.path(MARK), own_network().map_err(EmuError::system("look at the network"))?);
        fs::write(&path, &network).map_err(EmuError::system(format!("write {}", path.display())))?;
        Ok(Self { former: former_values(&network), _lock: lock })
    }

    /// Gives a setting (a file under `/proc/sys`) a value.
    pub(crate) fn set(&self, path: &Path, value: &str) -> Result<(), EmuError> {
        let failed = || EmuError::system(format!("set {} to {value}", path.display()));
        let before = fs::read_to_string(path).map_err(failed())?;
        let before = before.trim();
        if before == value {
            return Ok(());
        }
        self.remember(path, before).map_err(EmuError::system(format!("write {}", self.former.display())))?;
        fs::write(path, value).map_err(failed())
    }

    fn remember(&self, path: &Path, value: &str) -> io::Result<()> {
        let known = fs::read_to_string(&self.former).unwrap_or_default();
        let path = path.display().to_string();
        if known.lines().any(|line| line.split_once(' ').is_some_and(|(name, _)| name == path)) {
            return Ok(());
        }
        writeln!(File::options().create(true).append(true).open(&self.former)?, "{path} {value}")
    }
}

/// Undoes what `instance` has changed outside, if that is the calling thread's network.
pub(crate) fn restore(instance: &Instance) {
    let mark = instance.path(MARK);
    let (Ok(network), Ok(own)) = (fs::read_to_string(&mark), own_network()) else { return };
    let Ok(_lock) = lock() else { return };
    let _ = fs::remove_file(mark);
    if network == own {
        let device = device(instance);
        if if_nametoindex(&*device).is_ok() {
            let _ = network::ip(&device, &format!("link delete {device}\n"));
        }
        let _ = netfilter::delete(&table(instance));
        restore_settings(&own);
    }
}

/// Forgets what was changed in the network namespace at `path`, which is about to go. An emulator inside another one changes
/// that one's; when both are killed, nobody is left inside to put it back.
pub(crate) fn forget(path: &Path) {
    if let Ok(namespace) = fs::metadata(path) {
        let _ = fs::remove_file(former_values(&namespace.ino().to_string()));
    }
}

/// Puts settings back that no instance needs any more.
pub(crate) fn restore_unused() {
    if let (Ok(own), Ok(_lock)) = (own_network(), lock()) {
        restore_settings(&own);
    }
}

/// Puts the settings of a network back unless somebody still has a way out through it.
fn restore_settings(network: &str) {
    let files: Vec<PathBuf> = fs::read_dir(STATE).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let mut marks = files.iter().filter(|path| path.extension().is_some_and(|kind| kind == MARK));
    if marks.any(|mark| fs::read_to_string(mark).is_ok_and(|found| found == network)) {
        return;
    }
    let former = former_values(network);
    let text = fs::read_to_string(&former).unwrap_or_default();
    // The last change first: a setting of all devices would overwrite those of single ones.
    for (path, value) in text.lines().rev().filter_map(|line| line.split_once(' ')) {
        // A device that has gone has no settings left.
        let _ = fs::write(path, value);
    }
    let _ = fs::remove_file(former);
}

fn former_values(network: &str) -> PathBuf {
    Path::new(STATE).join(format!("outside.{network}"))
}

/// The identity of the calling thread's network.
fn own_network() -> io::Result<String> {
    Ok(fs::metadata("/proc/thread-self/ns/net")?.ino().to_string())
}

fn lock() -> io::Result<Flock<File>> {
    Flock::lock(File::open(STATE)?, FlockArg::LockExclusive).map_err(|(_, error)| error.into())
}
