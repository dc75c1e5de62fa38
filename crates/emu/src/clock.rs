//! The run clock: the kernel's monotonic clock, counted from the moment the testbed was started.

use farhop_units::Instant;
use std::time::SystemTime;

/// Tells the time since the run began; copies agree with each other and with the packet log.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: std::time::Instant,
    wall: SystemTime,
}

impl Clock {
    /// A clock whose run begins now.
    #[expect(clippy::disallowed_methods, reason = "the emulator's one clock starts here")]
    pub fn start() -> Self {
        Self { start: std::time::Instant::now(), wall: SystemTime::now() }
    }

    /// Now.
    pub fn now(&self) -> Instant {
        Instant::START + self.start.elapsed()
    }

    /// What the wall clock said when the run began.
    pub(crate) fn wall_start(&self) -> SystemTime {
        self.wall
    }
}
