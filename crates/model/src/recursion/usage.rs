//! How the congestion window has been used (RFC 2861; Linux's tcp_cwnd_validate()): one that does not limit does not grow, and decays.

use super::ticks::Ticks;
use super::window::Window;

/// The state of the window of data in progress, and since when the window has neither limited nor might have grown.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    limited: bool,
    most: u64,
    until: u64,
    good_since: Ticks,
    most_since: u64,
}

impl Usage {
    /// Whether growing is justified; in slow start half a window in use is enough.
    pub(crate) fn is_limited(&self, window: &Window) -> bool {
        self.limited || (window.in_slow_start() && window.size < self.most * 2)
    }

    /// Data was acknowledged where windows grow, whether this one does or not, or it was made smaller for idle time: it does not decay for so long
    /// (tcp_cong_avoid(), tcp_cwnd_restart()).
    pub(crate) fn progress(&mut self, now: Ticks) {
        self.good_since = now;
    }

    pub(crate) fn update(&mut self, limited: bool, in_flight: u64, acknowledged: u64, next: u64) {
        if acknowledged >= self.until || limited || (!self.limited && in_flight > self.most) {
            (self.limited, self.most, self.until) = (limited, in_flight, next);
        }
    }

    /// Halfway to what was used, after a timeout in which the window never limited.
    pub(crate) fn decayed(
        &mut self,
        now: Ticks,
        in_flight: u64,
        window: &Window,
        timeout: Ticks,
        initial: u64,
    ) -> Option<u64> {
        if self.is_limited(window) {
            (self.good_since, self.most_since) = (now, 0);
            return None;
        }
        self.most_since = self.most_since.max(in_flight);
        if now.since(self.good_since) < timeout {
            return None;
        }
        let used = self.most_since.max(initial);
        (self.good_since, self.most_since) = (now, 0);
        (used < window.size).then(|| used + (window.size - used) / 2)
    }
}
