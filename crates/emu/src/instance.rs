//! What a testbed leaves in the file system, and how it is found and removed when its process did not live to do so.
//!
//! An instance has a number. While its process lives, it holds a lock (`flock`) on `/run/farhop/<number>.lock`; the kernel
//! gives the lock back when the process dies of whatever cause. So an instance whose lock can be taken is stale, and who takes
//! the lock may remove what is the instance's, after killing what still runs inside:
//!
//! - `/run/farhop/<number>.*`: files mounted over those of `/etc`, the control socket, what was changed outside;
//! - `/run/netns/farhop-<number>-<host>`: the network namespaces, where `ip netns` finds them;
//! - outside, with `--nat`: a cable, a table of address translation, settings ([`outside`](crate::outside)).
//!
//! A user without rights has another folder in place of `/run/farhop` ([`user_namespace`](crate::user_namespace)).
//!
//! The lock file holds the number of the owner's process and a word that is this instance's alone. Every process inside has
//! that in its environment: so they are found also where the namespaces' mounts do not reach (another mount namespace: a
//! container, an emulator in an emulator).

use crate::host::Node;
use crate::{EmuError, etc, outside, process, user_namespace};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

pub(crate) const STATE: &str = "/run/farhop";
pub(crate) const NETNS: &str = "/run/netns";

/// The lock of a live instance; whoever holds it owns the instance's files.
#[derive(Debug)]
pub(crate) struct Instance {
    number: u32,
    places: Places,
    lock: Flock<File>,
    /// The word that its processes have in their environment; empty if its owner died before giving it one.
    word: String,
    /// Whether it is being removed.
    is_going: RwLock<bool>,
}

impl Instance {
    /// Takes the lowest number that no live process holds and writes the files for so many terminals.
    pub(crate) fn allocate(terminals: u16) -> Result<Self, EmuError> {
        fs::create_dir_all(STATE).map_err(EmuError::system(format!("create {STATE}")))?;
        fs::create_dir_all(NETNS).map_err(EmuError::system(format!("create {NETNS}")))?;
        let places = Places::of_user();
        let mut number = 1;
        loop {
            let path = places.lock(number);
            let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
            let file = file.map_err(EmuError::system(format!("create {}", path.display())))?;
            if let Some(mut instance) = Self::lock(number, &places, file)? {
                instance.remove_files();
                instance.choose_word().map_err(EmuError::system(format!("write {}", path.display())))?;
                etc::write(&instance, terminals)?;
                return Ok(instance);
            }
            number += 1;
        }
    }

    /// The instance if its lock is free and its lock file still there: its last owner removes the file before the lock.
    fn lock(number: u32, places: &Places, file: File) -> Result<Option<Self>, EmuError> {
        let action = || format!("lock {}", places.lock(number).display());
        let mut lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((_, Errno::EWOULDBLOCK)) => return Ok(None),
            Err((_, error)) => return Err(EmuError::system(action())(error)),
        };
        let links = lock.metadata().map_err(EmuError::system(action()))?.nlink();
        let mut word = String::new();
        lock.read_to_string(&mut word).map_err(EmuError::system(action()))?;
        let word = word.lines().next().unwrap_or_default().to_owned();
        Ok((links > 0).then(|| Self { number, places: places.clone(), lock, word, is_going: RwLock::new(false) }))
    }

    fn choose_word(&mut self) -> io::Result<()> {
        self.word = fs::read_to_string("/proc/sys/kernel/random/uuid")?.trim().to_owned();
        self.lock.rewind()?;
        self.lock.set_len(0)?;
        write!(self.lock, "{}\n{}\n", self.word, std::process::id())
    }

    /// The word by which its processes are known ([`process::MARK`]).
    pub(crate) fn word(&self) -> &str {
        &self.word
    }

    /// The number, which no other live instance on this machine has.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The name of a host's namespace.
    pub(crate) fn namespace(&self, node: Node) -> String {
        format!("{}{node}", self.namespace_prefix())
    }

    fn namespace_prefix(&self) -> String {
        format!("farhop-{}-", self.number)
    }

    /// A file of this instance, which goes with it.
    pub(crate) fn path(&self, kind: &str) -> PathBuf {
        self.places.state.join(format!("{}.{kind}", self.number))
    }

    /// Mounts the calling thread's network namespace under its name.
    pub(crate) fn publish(&self, node: Node) -> Result<(), EmuError> {
        let path = Path::new(NETNS).join(self.namespace(node));
        let action = || format!("mount a network namespace at {}", path.display());
        self.make(|| {
            File::create(&path).map_err(EmuError::system(action()))?;
            let own = Some("/proc/thread-self/ns/net");
            mount(own, &path, None::<&str>, MsFlags::MS_BIND, None::<&str>).map_err(EmuError::system(action()))
        })
    }

    /// Makes something that [`Instance::remove`] removes, unless that has begun: a signal may end a start half way.
    pub(crate) fn make<T>(&self, make: impl FnOnce() -> Result<T, EmuError>) -> Result<T, EmuError> {
        // Whoever panicked in between has made something or not; both can be removed.
        let is_going = self.is_going.read().unwrap_or_else(PoisonError::into_inner);
        if *is_going {
            return Err(EmuError::system("go on: the emulator is being removed")(Errno::ECANCELED));
        }
        make()
    }

    /// Kills what runs in the namespaces and removes everything but the lock. Best effort: what is not there need not go.
    fn remove_files(&self) {
        let namespaces = self.namespaces();
        process::end_all_inside(&namespaces, &self.word);
        outside::restore(self);
        for path in &namespaces {
            outside::forget(path);
            let _ = umount2(path, MntFlags::MNT_DETACH);
            let _ = fs::remove_file(path);
        }
        for path in self.own_files() {
            let _ = fs::remove_file(path);
        }
    }

    fn namespaces(&self) -> Vec<PathBuf> {
        self.places.netns.map_or_else(Vec::new, |folder| entries(Path::new(folder), &self.namespace_prefix()))
    }

    /// All but the lock.
    fn own_files(&self) -> Vec<PathBuf> {
        let mut files = entries(&self.places.state, &format!("{}.", self.number));
        files.retain(|path| *path != self.places.lock(self.number));
        files
    }

    fn has_files(&self) -> bool {
        !self.namespaces().is_empty() || !self.own_files().is_empty()
    }

    /// Ends what was started inside while everything was being removed, by its environment: its namespaces have no names any
    /// more, and the instance's number may be another's.
    pub(crate) fn end_stragglers(&self) {
        process::end_all_inside(&[] as &[PathBuf], &self.word);
    }

    /// Removes everything. Does it again without harm.
    pub(crate) fn remove(&self) {
        *self.is_going.write().unwrap_or_else(PoisonError::into_inner) = true;
        self.remove_files();
        let _ = fs::remove_file(self.places.lock(self.number));
    }
}

/// Where instances are recorded and their namespaces published.
#[derive(Debug, Clone)]
struct Places {
    state: PathBuf,
    /// A user without rights publishes none.
    netns: Option<&'static str>,
}

impl Places {
    fn of_user() -> Self {
        if user_namespace::is_entered() || user_namespace::is_privileged() {
            Self { state: STATE.into(), netns: Some(NETNS) }
        } else {
            Self { state: user_namespace::folder(), netns: None }
        }
    }

    fn lock(&self, number: u32) -> PathBuf {
        self.state.join(format!("{number}.lock"))
    }
}

/// What is in `folder` and has a name that begins so.
fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)).map(|entry| entry.path()).collect()
}

/// Removes what killed emulators have left behind; returns how many there were. Root does so for root, another user for
/// that user, before entering a user namespace: from inside one, another one's processes cannot be seen.
///
/// # Errors
/// The state directory exists but cannot be read.
pub fn cleanup_stale() -> Result<usize, EmuError> {
    if user_namespace::is_entered() {
        return Ok(0);
    }
    let mut removed = 0;
    for _ in 0..NESTED {
        let stale = stale()?;
        if stale.is_empty() {
            break;
        }
        removed += stale.len();
        stale.iter().for_each(Instance::remove);
    }
    if user_namespace::is_privileged() {
        outside::restore_unused();
    }
    Ok(removed)
}

/// Killing what ran inside a dead emulator may have killed another one, with an instance of its own: so many levels deep.
const NESTED: usize = 8;

/// The instances whose owner is dead, held.
pub(crate) fn stale() -> Result<Vec<Instance>, EmuError> {
    let places = Places::of_user();
    if !user_namespace::is_own(&places.state) {
        return Ok(Vec::new());
    }
    let entries = match fs::read_dir(&places.state) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(EmuError::system(format!("read {}", places.state.display()))(error)),
    };
    let namespaces = places.netns.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let names = entries.chain(namespaces).flatten().map(|entry| entry.file_name());
    let numbers: BTreeSet<u32> = names.filter_map(|name| instance_number(&name.to_string_lossy())).collect();
    Ok(numbers.into_iter().filter_map(|number| lock_stale(number, &places)).collect())
}

/// The instance if its owner is dead; also one whose lock file has gone before the rest.
///
/// A child that a killed owner was just about to start holds the lock until it has become another program.
fn lock_stale(number: u32, places: &Places) -> Option<Instance> {
    const ATTEMPTS: usize = 100;
    const MILLIS: u8 = 2;
    for _ in 0..ATTEMPTS {
        let path = places.lock(number);
        let (file, had_lock) = match File::options().read(true).write(true).open(&path) {
            Ok(file) => (file, true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (File::options().create_new(true).read(true).write(true).open(&path).ok()?, false)
            }
            Err(_) => return None,
        };
        if let Some(instance) = Instance::lock(number, places, file).ok()? {
            if had_lock || instance.has_files() {
                return Some(instance);
            }
            // It has ended since it was seen.
            instance.remove();
            return None;
        }
        let text = fs::read_to_string(path).ok()?;
        if text.lines().nth(1)?.parse().is_ok_and(process::is_alive) {
            return None;
        }
        let _ = nix::poll::poll(&mut [], MILLIS);
    }
    None
}

/// The instance that a file, `<number>.<kind>` or `farhop-<number>-<host>`, belongs to.
fn instance_number(file_name: &str) -> Option<u32> {
    let (number, _) = match file_name.strip_prefix("farhop-") {
        Some(namespace) => namespace.split_once('-')?,
        None => file_name.split_once('.')?,
    };
    // Only as it is written: what somebody else calls 007.jpeg is no instance's.
    number.parse().ok().filter(|parsed: &u32| parsed.to_string() == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_namespaces_tell_their_instance() {
        let names =
            ["7.lock", "12.ca.crt", "farhop-3-client-2", "outside.4026531840", "007.jpeg", "farhop-x-client", "9"];
        assert_eq!(names.map(instance_number), [Some(7), Some(12), Some(3), None, None, None, None]);
    }
}
