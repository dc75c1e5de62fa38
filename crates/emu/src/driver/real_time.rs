//! Real-time priorities (`SCHED_FIFO`) for the threads that move packets.
//!
//! Without the right to have them the threads go on as ordinary ones, and the recorded lateness says what that cost.

use nix::errno::Errno;

/// Who goes first. All are above every ordinary thread and below the kernel's own (`FIFO` 50 is where threaded interrupt
/// handlers run).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Priority {
    /// Reads the clock for every packet, so that whatever it waits for makes packets late.
    Link,
    /// Runs the receiving hosts' network stacks.
    Writer,
}

impl Priority {
    const fn level(self) -> libc::c_int {
        match self {
            Self::Link => 40,
            Self::Writer => 30,
        }
    }
}

/// Gives the calling thread a priority, and timers without slack.
#[expect(unsafe_code, reason = "sched_setscheduler is not in nix")]
pub(super) fn become_real_time(priority: Priority) {
    let parameters = libc::sched_param { sched_priority: priority.level() };
    // SAFETY: the parameters live through the call; 0 names the calling thread.
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if let Err(error) = Errno::result(answer) {
        tracing::debug!(%error, ?priority, "no real-time priority");
    }
    if let Err(error) = nix::sys::prctl::set_timerslack(1) {
        tracing::debug!(%error, ?priority, "timers keep their slack");
    }
}
