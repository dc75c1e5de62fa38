//! Spreading segments over time, for controllers that give a rate (Linux: tcp_internal_pacing(), tcp_update_skb_after_send()).
//!
//! Only controllers that ask for it are paced: Linux's CUBIC and Reno send as fast as the window allows unless the host's queue
//! (fq) paces them. The first ten segments are not. What may leave at once is a [batch](crate::batch).

use farhop_units::{Bytes, Instant, Rate};

/// Segments that leave at once when a connection is young.
const UNPACED: u32 = 10;

/// When the next segment may leave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pacer {
    /// The earliest departure of the next segment.
    free: Instant,
    sent: u32,
}

impl Pacer {
    /// Until when a segment has to wait, if it has to.
    pub(crate) fn wait(&self, now: Instant) -> Option<Instant> {
        Some(self.free).filter(|free| *free > now)
    }

    /// A segment leaves at `now`. Time that was lost before counts, but for at most half a segment.
    pub(crate) fn send(&mut self, now: Instant, payload: Bytes, rate: Rate) {
        self.sent = self.sent.saturating_add(1);
        if self.sent <= UNPACED {
            return;
        }
        let span = rate.transmission_time(payload);
        let late = now.since(self.free);
        self.free = self.free.max(now) + (span - late.min(span / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const PAYLOAD: Bytes = Bytes::new(1250);
    /// A segment per millisecond.
    const RATE: Rate = Rate::mbps(10);

    fn at(us: u64) -> Instant {
        Instant::START + Duration::from_micros(us)
    }

    #[test]
    fn segments_are_spaced_at_the_rate_after_the_first_ten() {
        let mut pacer = Pacer::default();
        (0..10).for_each(|_| pacer.send(at(5000), PAYLOAD, RATE));
        assert_eq!(pacer.wait(at(5000)), None);
        pacer.send(at(5000), PAYLOAD, RATE);
        // The pacer was free since the start: half a segment's credit.
        assert_eq!(pacer.wait(at(5000)), Some(at(5500)));
        pacer.send(at(5500), PAYLOAD, RATE);
        assert_eq!(pacer.wait(at(5500)), Some(at(6500)));
        assert_eq!(pacer.wait(at(6500)), None);
        pacer.send(at(6700), PAYLOAD, RATE);
        assert_eq!(pacer.wait(at(6700)), Some(at(7500)), "what was late is made up for");
    }
}
