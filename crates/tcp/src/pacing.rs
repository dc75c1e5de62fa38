//! Spreading segments over time, for controllers that give a rate (Linux: tcp_internal_pacing(), tcp_update_skb_after_send()).
//!
//! Only controllers that ask for it are paced: Linux's CUBIC and Reno send as fast as the window allows unless the host's queue
//! (fq) paces them. Nothing waits for the first nine segments. What leaves at once is a [batch](crate::batch), which is paced as one.

use farhop_units::{Bytes, Instant, Rate};
use std::time::Duration;

/// The first segment that another has to wait for: tp->data_segs_out counts what leaves.
const FIRST_PACED: u32 = 10;

/// When the next segment may leave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pacer {
    /// The earliest departure of the next batch (tp->tcp_wstamp_ns).
    free: Instant,
    /// Of the time for which nothing left before this batch, at most four seconds, what it was not given yet, in ns.
    credit: u32,
    sent: u32,
}

impl Pacer {
    /// Time since the last batch or acknowledgement, and since the next one might have left.
    pub(crate) fn idle(&self, now: Instant) -> Duration {
        now.since(self.free)
    }

    /// Until when a segment has to wait, if it has to.
    pub(crate) fn wait(&self, now: Instant) -> Option<Instant> {
        Some(self.free).filter(|free| *free > now)
    }

    /// How many segments may leave that nothing waits for, of which so many are a batch: what begins before the pace does.
    pub(crate) fn unpaced(&self, batch: u64) -> u64 {
        u64::from(FIRST_PACED.saturating_sub(self.sent)).max(batch)
    }

    /// The first segment of a batch is about to leave at `now`, or an acknowledgement without data, which costs nothing but ends what was
    /// idle time before.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.credit = u32::try_from(now.since(self.free).as_nanos()).unwrap_or(u32::MAX);
        self.free = self.free.max(now);
    }

    /// A segment leaves of a batch that has begun and of which `left` more follow. Time that was lost before the batch counts, but for at most
    /// half of it. Without data it costs nothing.
    pub(crate) fn send(&mut self, payload: Bytes, left: u64, rate: Rate) {
        self.sent = self.sent.saturating_add(u32::from(payload > Bytes::ZERO));
        if u64::from(self.sent).saturating_add(left) < FIRST_PACED.into() {
            return;
        }
        let span = rate.transmission_time(payload);
        let given = Duration::from_nanos(self.credit.into()).min(span / 2);
        self.credit = self.credit.saturating_sub(u32::try_from(given.as_nanos()).unwrap_or(u32::MAX));
        self.free += span - given;
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

    /// A batch leaves; when the next one may.
    fn send(pacer: &mut Pacer, now: Instant, segments: u64) -> Option<Instant> {
        pacer.begin(now);
        (0..segments).for_each(|sent| pacer.send(PAYLOAD, segments - 1 - sent, RATE));
        pacer.wait(now)
    }

    #[test]
    fn the_first_ten_leave_together_and_then_a_batch_at_a_time() {
        let mut pacer = Pacer::default();
        assert_eq!([pacer.unpaced(2), pacer.unpaced(12)], [10, 12]);
        pacer.begin(Instant::START);
        (0..9).for_each(|_| pacer.send(PAYLOAD, 0, RATE));
        assert_eq!(pacer.unpaced(2), 2);
    }

    #[test]
    fn batches_are_spaced_at_the_rate_from_the_tenth_segment_on() {
        let mut pacer = Pacer::default();
        assert_eq!(send(&mut pacer, at(5000), 9), None);
        assert_eq!(send(&mut pacer, at(5000), 1), Some(at(6000)), "nothing was idle");
        assert_eq!(pacer.wait(at(6000)), None);
        assert_eq!(send(&mut pacer, at(6200), 1), Some(at(7000)), "what was late is made up for");
        assert_eq!(send(&mut pacer, at(9000), 1), Some(at(9500)), "by half a segment at most");
        assert_eq!(send(&mut pacer, at(20_000), 3), Some(at(21_500)), "of a batch by half of that");
        assert_eq!(send(&mut pacer, at(22_200), 2), Some(at(23_500)), "of 0.7 ms");
    }

    #[test]
    fn a_batch_with_the_tenth_segment_is_paced_as_a_whole() {
        let mut pacer = Pacer::default();
        assert_eq!(send(&mut pacer, at(0), 8), None);
        assert_eq!(send(&mut pacer, at(0), 2), Some(at(2000)));
    }

    #[test]
    fn handshakes_do_not_count() {
        let mut pacer = Pacer::default();
        pacer.send(Bytes::ZERO, 0, RATE);
        assert_eq!(send(&mut pacer, at(5000), 9), None);
    }

    #[test]
    fn an_acknowledgement_ends_idle_time() {
        let mut pacer = Pacer::default();
        send(&mut pacer, at(0), 10);
        pacer.begin(at(50_000));
        assert_eq!(send(&mut pacer, at(50_300), 2), Some(at(50_300 + 1700)));
    }
}
