//! The hosts of a testbed as namespaces: made together, found by name.

use crate::host::Node;
use crate::instance::Instance;
use crate::namespace::{Mounts, Namespace};
use crate::{EmuError, etc, kernel_tcp};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fs::File;
use std::ops::Index;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

/// All hosts of a testbed.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// In the order of [`Node::all`].
    namespaces: Vec<Namespace>,
    terminals: u16,
}

impl Index<Node> for Hosts {
    type Output = Namespace;

    fn index(&self, node: Node) -> &Namespace {
        &self.namespaces[node.index()]
    }
}

impl Hosts {
    /// Creates the namespaces, on threads of their own, which end outside the caller's.
    pub(crate) fn create(instance: &Arc<Instance>, terminals: u16) -> Result<Self, EmuError> {
        allow_files(terminals)?;
        let nodes: Vec<Node> = Node::all(terminals).collect();
        let networks = in_parallel(&nodes, |node| create_network(instance, node))?;
        // The mounts last: they hold the names of the networks.
        let mounts = Arc::new(in_thread(|| create_mounts(instance))?);
        let named = nodes.into_iter().zip(networks);
        let namespaces =
            named.map(|(node, net)| Namespace::new(instance.namespace(node), net, Arc::clone(&mounts))).collect();
        Ok(Self { namespaces, terminals })
    }

    /// Number of terminals, and of clients.
    pub(crate) fn terminals(&self) -> u16 {
        self.terminals
    }

    /// All hosts.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> {
        Node::all(self.terminals)
    }

    /// Runs `f` inside every host; the answers in the order of [`Hosts::nodes`].
    pub(crate) fn run_in_each<T: Send>(
        &self,
        f: impl Fn(Node) -> Result<T, EmuError> + Sync,
    ) -> Result<Vec<T>, EmuError> {
        self.run_in(&self.nodes().collect::<Vec<_>>(), f)
    }

    /// Runs `f` inside each of `nodes` (their network; names are the system's); the answers in their order.
    pub(crate) fn run_in<T: Send>(
        &self,
        nodes: &[Node],
        f: impl Fn(Node) -> Result<T, EmuError> + Sync,
    ) -> Result<Vec<T>, EmuError> {
        in_parallel(nodes, |node| {
            self[node].move_in().map_err(EmuError::system(format!("enter {node}")))?;
            f(node)
        })
    }
}

/// A network namespace for `node`, published and prepared.
fn create_network(instance: &Instance, node: Node) -> Result<OwnedFd, EmuError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(no_network)?;
    instance.publish(node)?;
    kernel_tcp::prepare_host()?;
    own("net")
}

fn no_network(error: Errno) -> EmuError {
    match error {
        Errno::ENOSPC => EmuError::Unavailable {
            needs: "two network namespaces for each terminal, and two more",
            problem: "the system allows no further one".to_owned(),
            remedy: "sudo sysctl user.max_net_namespaces=10000, or have fewer terminals",
        },
        error => EmuError::system("create a network namespace")(error),
    }
}

/// Open files that a terminal needs: two namespaces, the ends of its links; and what everything else together needs.
const FILES_PER_TERMINAL: u64 = 5;
const OTHER_FILES: u64 = 512;

/// Lets this process open as many files as the terminals take.
fn allow_files(terminals: u16) -> Result<(), EmuError> {
    let failed = || EmuError::system("look at the number of files that may be open");
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed())?;
    let needed = u64::from(terminals) * FILES_PER_TERMINAL + OTHER_FILES;
    if needed <= soft {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed.min(hard), hard).map_err(failed())?;
    if needed <= hard {
        return Ok(());
    }
    Err(EmuError::Unavailable {
        needs: "open files for every terminal",
        problem: format!("{terminals} terminals take {needed}, {hard} are allowed"),
        remedy: "raise the limit with `ulimit -Hn`, or have fewer terminals",
    })
}

fn create_mounts(instance: &Instance) -> Result<Mounts, EmuError> {
    etc::mount_over(instance)?;
    let root = File::open("/").map_err(EmuError::system("open /"))?.into();
    Ok(Mounts { namespace: own("mnt")?, root, word: instance.word().to_owned() })
}

/// A handle to one of the calling thread's namespaces.
fn own(kind: &str) -> Result<OwnedFd, EmuError> {
    let path = format!("/proc/thread-self/ns/{kind}");
    Ok(File::open(&path).map_err(EmuError::system(format!("open {path}")))?.into())
}

/// Does the same for every host, on as many threads as there are processors; each thread may move between namespaces.
fn in_parallel<T: Send>(nodes: &[Node], f: impl Fn(Node) -> Result<T, EmuError> + Sync) -> Result<Vec<T>, EmuError> {
    let threads = thread::available_parallelism().map_or(1, Into::into);
    let share = nodes.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let f = &f;
        let started: Vec<_> = nodes
            .chunks(share)
            .map(|nodes| scope.spawn(move || nodes.iter().map(|&node| f(node)).collect::<Result<Vec<_>, _>>()))
            .collect();
        let mut answers = Vec::with_capacity(nodes.len());
        for thread in started {
            answers.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(answers)
    })
}

fn in_thread<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(f).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
