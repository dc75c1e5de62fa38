//! A host: a network namespace, with the mount namespace that holds the testbed's files over those of `/etc`.
//!
//! A thread or a child process enters both. Entering replaces the working directory, which is therefore looked up and entered
//! again. A process that leaves no thread behind keeps neither alive: the handles are file descriptors.

use crate::process;
use nix::sched::{CloneFlags, setns, unshare};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// One host of the testbed, as a place to run things in. Clones are handles to the same host.
#[derive(Debug, Clone)]
pub struct Namespace {
    name: String,
    net: Arc<OwnedFd>,
    mounts: Arc<Mounts>,
}

/// The mounts of all hosts: the system's own but for some files of `/etc`.
#[derive(Debug)]
pub(crate) struct Mounts {
    pub(crate) namespace: OwnedFd,
    /// The root directory, which entering would reset to the system's where this process runs in a changed root.
    pub(crate) root: OwnedFd,
    /// The instance's word, by which processes started inside are found if this one is killed.
    pub(crate) word: String,
}

impl Namespace {
    pub(crate) fn new(name: String, net: OwnedFd, mounts: Arc<Mounts>) -> Self {
        Self { name, net: Arc::new(net), mounts }
    }

    /// The name under which `ip netns exec` finds it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A path by which any process that may look into this one finds the network namespace, whatever it has mounted: names in
    /// `/run/netns` reach another mount namespace only where mounts propagate, which they do not in most containers.
    pub(crate) fn net_path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.net.as_raw_fd())
    }

    /// Runs `f` on a new thread inside the namespace. Threads and processes that `f` starts are inside, too.
    ///
    /// # Panics
    /// If the system has no thread to give, as [`thread::spawn`]. The new thread panics if it cannot enter, which needs the
    /// same rights as creating the namespace did.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: impl Into<String>,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let namespace = self.clone();
        thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                namespace.enter().expect("who may create a namespace may enter it");
                f()
            })
            .expect("the system has threads left")
    }

    /// Runs `f` inside and waits for it.
    pub(crate) fn run<T: Send + 'static>(&self, f: impl FnOnce() -> T + Send + 'static) -> T {
        match self.spawn("farhop-enter", f).join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// A command that will run inside: network and names.
    ///
    /// The child is killed when the thread that started it ends (`PR_SET_PDEATHSIG`), so that nothing is left behind when
    /// this process is killed: start it from a thread that lives as long as it should.
    #[expect(unsafe_code, reason = "code between fork and exec")]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let namespace = self.clone();
        let parent = std::process::id();
        let mut command = Command::new(program);
        command.env(process::MARK, &self.mounts.word);
        // SAFETY: between fork and exec in a process that may have had other threads only async-signal-safe calls are
        // allowed. The closure makes plain system calls (prctl, getppid, unshare, setns, getcwd into the stack, fchdir, chroot, chdir) and
        // allocates nothing: the namespaces' descriptors and the parent's id were moved in before.
        unsafe {
            command.pre_exec(move || {
                die_with(parent)?;
                namespace.enter()
            });
        }
        command
    }

    /// Moves the calling thread inside the network alone: enough for whoever reads no names, and cheap.
    pub(crate) fn move_in(&self) -> io::Result<()> {
        Ok(setns(&*self.net, CloneFlags::CLONE_NEWNET)?)
    }

    /// Moves the calling thread inside. The thread gets a working directory of its own (`CLONE_FS`), without which the kernel
    /// refuses to change the mount namespace of one thread among several.
    fn enter(&self) -> io::Result<()> {
        let mut buffer = [0; PATH_MAX];
        let directory = working_directory(&mut buffer);
        unshare(CloneFlags::CLONE_FS)?;
        setns(&*self.net, CloneFlags::CLONE_NEWNET)?;
        setns(&self.mounts.namespace, CloneFlags::CLONE_NEWNS)?;
        nix::unistd::fchdir(&self.mounts.root)?;
        nix::unistd::chroot(".")?;
        if let Some(directory) = directory {
            // A directory that is gone leaves the command in the root directory.
            let _ = nix::unistd::chdir(directory);
        }
        Ok(())
    }
}

const PATH_MAX: usize = libc::PATH_MAX as usize;

/// The working directory, without allocating (this runs between fork and exec).
#[expect(unsafe_code, reason = "getcwd without allocation is not in nix")]
fn working_directory(buffer: &mut [u8; PATH_MAX]) -> Option<&std::ffi::CStr> {
    // SAFETY: the pointer and the length are those of `buffer`.
    let found = unsafe { !libc::getcwd(buffer.as_mut_ptr().cast(), buffer.len()).is_null() };
    if found { std::ffi::CStr::from_bytes_until_nul(buffer).ok() } else { None }
}

/// Asks the kernel to kill this child with its parent, and makes up for a parent that died before the question.
fn die_with(parent: u32) -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    if u32::try_from(nix::unistd::getppid().as_raw()) == Ok(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}
