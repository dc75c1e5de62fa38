//! What other threads may ask of the link's thread while it runs.

use crate::record::LinkStatus;
use farhop_link::Change;
use farhop_units::Instant;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What is asked for.
#[derive(Debug)]
pub(super) enum Command {
    Change { segment: usize, changes: Vec<Change>, done: Sender<Instant> },
    Status { segment: usize, answer: Sender<LinkStatus> },
    Stop,
}

/// Asks. Clones ask the same driver.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    commands: Sender<Command>,
    bell: Arc<EventFd>,
}

/// The driver's end: readable when there are commands.
#[derive(Debug)]
pub(super) struct Commands {
    commands: Receiver<Command>,
    bell: Arc<EventFd>,
}

pub(super) fn pair() -> io::Result<(Remote, Commands)> {
    let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
    let (sender, receiver) = channel();
    let remote = Remote { commands: sender, bell: Arc::clone(&bell) };
    Ok((remote, Commands { commands: receiver, bell }))
}

impl Remote {
    /// Changes settings of a link, all at the same time; when that was, or `None` if the links no longer run. Whether the
    /// settings can be together is for the caller to know.
    pub(crate) fn change(&self, segment: usize, changes: Vec<Change>) -> Option<Instant> {
        let (done, is_done) = channel();
        self.send(Command::Change { segment, changes, done });
        is_done.recv().ok()
    }

    /// What a link has done so far, or `None` if the links no longer run.
    pub(crate) fn status(&self, segment: usize) -> Option<LinkStatus> {
        let (answer, answered) = channel();
        self.send(Command::Status { segment, answer });
        answered.recv().ok()
    }

    /// Makes the driver stop, if it runs.
    pub(super) fn stop(&self) {
        self.send(Command::Stop);
    }

    /// A driver that has ended drops what it is sent, and with it the way to answer.
    fn send(&self, command: Command) {
        let _ = self.commands.send(command);
        // The bell can only be full if it rings already.
        let _ = self.bell.write(1);
    }
}

impl Commands {
    /// The next command; `None` until the bell rings again.
    pub(super) fn next(&mut self) -> Option<Command> {
        let next = self.commands.try_recv().ok();
        if next.is_none() {
            let _ = self.bell.read();
            // Who rang between the two lines is heard now, and at most for nothing later.
            return self.commands.try_recv().ok();
        }
        next
    }
}

impl AsFd for Commands {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
