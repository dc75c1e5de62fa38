//! The clock of a running box.

use farhop_units::Instant;

/// Counts from its making.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    origin: std::time::Instant,
}

impl Clock {
    /// Starts at zero.
    #[expect(clippy::disallowed_methods, reason = "a box runs in real time; the decisions get it as an argument")]
    pub(crate) fn start() -> Self {
        Self { origin: std::time::Instant::now() }
    }

    /// A clock that was zero at `origin`.
    pub(crate) fn since(origin: std::time::Instant) -> Self {
        Self { origin }
    }

    /// The time now.
    pub(crate) fn now(self) -> Instant {
        self.at(Self::start().origin)
    }

    /// The library's instant in ours; zero if it lies before this clock's start.
    pub(crate) fn at(self, instant: std::time::Instant) -> Instant {
        Instant::START + instant.saturating_duration_since(self.origin)
    }
}
