//! Real-time priorities (`SCHED_FIFO`) for the threads that move packets.
//!
//! Without the right to have them the threads go on as ordinary ones, and the recorded lateness says what that cost.

use nix::errno::Errno;
use nix::unistd::Pid;

/// Who goes first. All are above every ordinary thread and below the kernel's own (`FIFO` 50 is where threaded interrupt
/// handlers run).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// A kernel's thread that runs a host's network stack where it has the link's processor: it takes a packet as soon as there is one, as
    /// an interrupt would, and a host's answer is there before the link's thread goes to sleep. Behind it the answer would be as late as that
    /// takes, which is 12 µs longer where another packet is due within a millisecond: a timer has to be set for it.
    Host,
    /// Reads the clock for every packet, so that whatever it waits for makes packets late.
    Link,
    /// Runs the receiving hosts' network stacks.
    Writer,
    /// The same on a link that is dense, or that may deliver packets together.
    DenseHost,
}

impl Priority {
    const fn level(self) -> libc::c_int {
        match self {
            Self::Host => 45,
            Self::Link => 40,
            Self::Writer => 30,
            Self::DenseHost => 20,
        }
    }
}

/// Gives a thread a priority.
#[expect(unsafe_code, reason = "sched_setscheduler is not in nix")]
pub(crate) fn give(thread: Pid, priority: Priority) -> nix::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority.level() };
    // SAFETY: the parameters live through the call.
    let answer = unsafe { libc::sched_setscheduler(thread.as_raw(), libc::SCHED_FIFO, &raw const parameters) };
    Errno::result(answer).map(drop)
}

/// Gives the calling thread a priority, and timers without slack.
pub(crate) fn become_real_time(priority: Priority) {
    if let Err(error) = give(Pid::from_raw(0), priority) {
        tracing::debug!(%error, ?priority, "no real-time priority");
    }
    if let Err(error) = nix::sys::prctl::set_timerslack(1) {
        tracing::debug!(%error, ?priority, "timers keep their slack");
    }
}
