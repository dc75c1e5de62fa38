//! How fast data is delivered (draft-cheng-iccrg-delivery-rate-estimation §3, tcp_rate.c): what was delivered since a segment was
//! sent over the longer one of the time in which it was sent and in which it was acknowledged.

use crate::recursion::ticks::Ticks;

/// What a transmission remembers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stamp {
    delivered: u64,
    delivered_at: Ticks,
    /// When the transmission was sent that had been delivered last.
    first_sent: Ticks,
    starved: bool,
}

/// What an acknowledgement says about the rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sample {
    /// Delivered in that time; no sample if it is zero.
    pub(crate) delivered: u64,
    pub(crate) interval: Ticks,
    /// Delivered in all when the segment behind the sample was sent, and by now.
    pub(crate) prior: u64,
    pub(crate) total: u64,
    /// There was too little to send.
    pub(crate) starved: bool,
}

/// The account of deliveries.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rate {
    delivered: u64,
    delivered_at: Ticks,
    first_sent: Ticks,
    starved_until: Option<u64>,
    latest: Option<(Stamp, Ticks)>,
}

impl Rate {
    /// A transmission leaves; `idle` if nothing was on the way.
    pub(super) fn stamp(&mut self, now: Ticks, idle: bool) -> Stamp {
        if idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let Self { delivered, delivered_at, first_sent, .. } = *self;
        Stamp { delivered, delivered_at, first_sent, starved: self.starved_until.is_some() }
    }

    /// A transmission that was sent `at` then has arrived; the sample is that of the latest one.
    pub(super) fn deliver(&mut self, stamp: &Stamp, at: Ticks, bytes: u64) {
        self.delivered += bytes;
        if self.latest.is_none_or(|(_, latest)| at >= latest) {
            self.latest = Some((*stamp, at));
        }
    }

    /// So much has arrived that tells no rate.
    pub(super) fn count(&mut self, bytes: u64) {
        self.delivered += bytes;
    }

    /// So much of what has arrived had been counted before.
    pub(super) fn count_less(&mut self, bytes: u64) {
        self.delivered -= bytes;
    }

    /// There is too little to send with `in_flight` on the way.
    pub(super) fn starve(&mut self, in_flight: u64) {
        self.starved_until = Some(self.delivered + in_flight);
    }

    pub(super) fn is_starved(&self) -> bool {
        self.starved_until.is_some()
    }

    /// The sample of an acknowledgement that has brought `news` bytes.
    pub(super) fn sample(&mut self, now: Ticks, news: u64, least_rtt: Ticks) -> Sample {
        if self.starved_until.is_some_and(|until| self.delivered > until) {
            self.starved_until = None;
        }
        if news > 0 {
            self.delivered_at = now;
        }
        let total = self.delivered;
        let Some((stamp, sent)) = self.latest.take() else { return Sample { total, ..Sample::default() } };
        self.first_sent = sent;
        let interval = sent.since(stamp.first_sent).max(now.since(stamp.delivered_at));
        // What is shorter than a round trip comes from a needless repetition.
        let interval = if interval < least_rtt { Ticks::ZERO } else { interval };
        let delivered = total.saturating_sub(stamp.delivered);
        Sample { delivered, interval, prior: stamp.delivered, total, starved: stamp.starved }
    }
}
