//! One rate that several senders share: the gateway's, whose link towards all its terminals is one.
//!
//! Deficit round robin (Shreedhar and Varghese, 1995) without a queue of its own: who has something to send takes one turn at the end
//! of the line, and is told at once when that begins, so that nobody needs to be woken by somebody else. Nobody holds two turns; thus
//! each of N senders with a backlog gets the N-th part of the bytes, who comes with a single packet waits for one turn of each at
//! most, and what some do not use is the others'. Together they never send more than the rate and a packet each.
//!
//! Leaves out: weights; what of a turn its sender does not use after all is lost to the others.

use farhop_units::{Bytes, Instant, Rate};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a turn is worth, for each packet in it: Ethernet's longest.
const QUANTUM: Bytes = Bytes::new(1500);
/// What is no longer, headers included, is at most an acknowledgement and leaves at once: others' turns must not hold up what comes the
/// other way. It counts all the same.
const BRIEF: Bytes = Bytes::new(128);

/// The rate, and until when it is taken.
#[derive(Debug, Clone)]
pub struct SharedRate {
    rate: Rate,
    lateness: Duration,
    /// Nanoseconds since the start.
    taken_until: Arc<AtomicU64>,
}

impl SharedRate {
    /// `rate` counts whole packets, IP and UDP headers included. Who wakes up late by no more than `lateness` makes up for it.
    pub fn new(rate: Rate, lateness: Duration) -> Self {
        Self { rate, lateness, taken_until: Arc::default() }
    }

    /// The whole rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// One more sender.
    pub fn share(&self) -> Share {
        let (turn, reserved, deficit) = (Instant::START, Bytes::ZERO, Bytes::ZERO);
        Share { whole: self.clone(), turn, has_begun: true, reserved, deficit }
    }

    /// The time that `bytes` take, behind all that was taken before; returns when it begins.
    fn take(&self, now: Instant, bytes: Bytes) -> Instant {
        let earliest = earlier(now, self.lateness).as_nanos();
        let took = u64::try_from(self.rate.transmission_time(bytes).as_nanos()).unwrap_or(u64::MAX);
        let end = |until: u64| Some(until.max(earliest).saturating_add(took));
        let before = self.taken_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end);
        Instant::from_nanos(before.unwrap_or_else(|until| until).max(earliest))
    }
}

/// One sender's part.
#[derive(Debug)]
pub struct Share {
    whole: SharedRate,
    /// When the turn begins that was taken last, or what is left of it.
    turn: Instant,
    /// Something was sent in it.
    has_begun: bool,
    /// What is left of it.
    reserved: Bytes,
    /// What turns were worth beyond the packets sent in them.
    deficit: Bytes,
}

impl Share {
    /// When a packet of `size`, or several at once, may leave; headers count. A turn that was taken for it is kept until it has.
    pub fn due(&mut self, now: Instant, size: Bytes) -> Instant {
        if size <= BRIEF {
            return now;
        }
        self.forget_what_is_past(now);
        if self.reserved < size {
            let kept = self.reserved;
            self.deficit += QUANTUM * size.get().div_ceil(QUANTUM.get());
            self.reserved = size * ((self.deficit + kept).get() / size.get());
            self.deficit = self.deficit + kept - self.reserved;
            // What was kept of the turn before comes ahead of this one.
            let begin = self.whole.take(now, self.reserved - kept);
            self.turn = earlier(begin, self.whole.rate.transmission_time(kept));
            self.has_begun = kept > Bytes::ZERO;
        }
        self.turn
    }

    /// It has left, whether it was due or not.
    pub fn sent(&mut self, now: Instant, size: Bytes) {
        if size <= BRIEF {
            self.whole.take(now, size);
            return;
        }
        if size > self.reserved {
            self.whole.take(now, size - self.reserved);
        }
        self.reserved = self.reserved.saturating_sub(size);
        self.has_begun = true;
        self.turn += self.whole.rate.transmission_time(size);
    }

    /// Who had less to send than a turn is worth does not make up for it later.
    fn forget_what_is_past(&mut self, now: Instant) {
        let end = self.turn + self.whole.rate.transmission_time(self.reserved);
        if self.has_begun && end + self.whole.lateness <= now {
            (self.reserved, self.deficit) = (Bytes::ZERO, Bytes::ZERO);
        }
    }

    /// When the turn begins that was taken last.
    pub fn turn(&self) -> Instant {
        self.turn
    }
}

fn earlier(time: Instant, span: Duration) -> Instant {
    Instant::START + time.since(Instant::START + span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const RATE: Rate = Rate::mbps(12);
    /// 1500 B at that rate.
    const MILLISECOND: Duration = Duration::from_millis(1);

    fn at(millis: u64) -> Instant {
        Instant::START + MILLISECOND * u32::try_from(millis).expect("small")
    }

    /// Senders with packets of these sizes send as soon as they may until `end`; who comes later comes at that time. When each sent.
    fn sent(senders: &[(Instant, u64, usize)], end: Instant) -> Vec<Vec<Instant>> {
        let whole = SharedRate::new(RATE, Duration::ZERO);
        let mut shares: Vec<_> = senders.iter().map(|_| whole.share()).collect();
        let mut times = vec![vec![]; senders.len()];
        let mut agenda: BTreeSet<(Instant, usize)> = BTreeSet::new();
        agenda.extend(senders.iter().enumerate().map(|(sender, (from, ..))| (*from, sender)));
        while let Some((now, sender)) = agenda.pop_first().filter(|(now, _)| *now < end) {
            let (_, size, packets) = senders[sender];
            let due = shares[sender].due(now, Bytes::new(size));
            if due > now {
                agenda.insert((due, sender));
            } else if times[sender].len() < packets {
                shares[sender].sent(now, Bytes::new(size));
                times[sender].push(now);
                agenda.insert((now, sender));
            }
        }
        times
    }

    #[test]
    fn who_is_alone_keeps_exactly_to_the_rate() {
        let times = sent(&[(at(5), 750, 1000)], at(5000)).remove(0);
        let expected: Vec<_> = (0..1000).map(|packet| at(5) + MILLISECOND * packet / 2).collect();
        assert_eq!(times, expected);
    }

    #[test]
    fn bytes_are_shared_whatever_the_packets() {
        let all = (Instant::START, usize::MAX);
        let times = sent(&[(all.0, 1500, all.1), (all.0, 1228, all.1), (all.0, 400, all.1)], at(9000));
        let bytes: Vec<_> = times.iter().zip([1500, 1228, 400]).map(|(times, size)| times.len() * size).collect();
        assert!(bytes.iter().all(|bytes| bytes.abs_diff(9000 * 1500 / 3) <= 3000), "{bytes:?}");
    }

    #[test]
    fn what_one_leaves_is_the_others() {
        let times = sent(&[(at(0), 1500, usize::MAX), (at(0), 1500, 100)], at(1000));
        assert!(
            times[0].len().abs_diff(900) <= 1 && times[1].len() == 100,
            "{} and {}",
            times[0].len(),
            times[1].len()
        );
    }

    #[test]
    fn a_newcomer_waits_for_a_packet_of_each_and_not_for_what_they_have_in_store() {
        let bulk = (at(0), 1500, usize::MAX);
        let times = sent(&[bulk, bulk, bulk, bulk, (at(500), 1000, 1)], at(1000));
        let waited = times[4][0].since(at(500));
        // And for the one that is just leaving.
        assert!((MILLISECOND * 4..=MILLISECOND * 5).contains(&waited), "{waited:?}");
    }

    #[test]
    fn who_was_idle_has_nothing_in_store() {
        let mut share = SharedRate::new(RATE, Duration::ZERO).share();
        for now in [at(0), at(100), at(200)] {
            // A full packet could have been sent.
            assert!(share.due(now, Bytes::new(1200)) <= now);
            share.sent(now, Bytes::new(200));
        }
        assert!(share.due(at(300), Bytes::new(1200)) <= at(300));
        share.sent(at(300), Bytes::new(1200));
        assert!(share.due(at(300), Bytes::new(1200)) > at(300));
    }

    #[test]
    fn an_acknowledgement_does_not_wait_and_is_paid_for() {
        let whole = SharedRate::new(RATE, Duration::ZERO);
        let (mut bulk, mut other) = (whole.share(), whole.share());
        bulk.due(at(0), Bytes::new(1500));
        bulk.sent(at(0), Bytes::new(1500));
        assert_eq!(other.due(at(0), Bytes::new(75)), at(0));
        (0..20).for_each(|_| other.sent(at(0), Bytes::new(75)));
        assert_eq!(bulk.due(at(0), Bytes::new(1500)), at(2));
    }

    #[test]
    fn who_wakes_up_late_makes_up_for_it_within_bounds() {
        let mut share = SharedRate::new(RATE, MILLISECOND * 4).share();
        let mut burst = |now| {
            let mut packets = 0;
            while share.due(now, Bytes::new(1500)) <= now {
                share.sent(now, Bytes::new(1500));
                packets += 1;
            }
            packets
        };
        burst(at(100));
        assert_eq!(burst(at(103)), 3);
        // The turn that it had, and what it is forgiven.
        assert_eq!(burst(at(200)), 6);
    }

    proptest! {
        #[test]
        fn together_they_keep_to_the_rate(senders in proptest::collection::vec((0_u64..200, 129_u64..4000, 1_usize..50), 1..12)) {
            let senders: Vec<_> = senders.into_iter().map(|(from, size, packets)| (at(from), size, packets)).collect();
            let times = sent(&senders, at(4000));
            let mut all: Vec<_> = times.iter().zip(&senders)
                .flat_map(|(times, (_, size, _))| times.iter().map(|time| (*time, *size))).collect();
            all.sort_unstable();
            let allowance: u64 = senders.iter().map(|(_, size, _)| 2 * size + QUANTUM.get()).sum();
            for (first, (begin, _)) in all.iter().enumerate() {
                let mut bytes = 0;
                for (time, size) in &all[first..] {
                    bytes += size;
                    prop_assert!(bytes <= RATE.bytes_in(time.since(*begin)).get() + allowance);
                }
            }
            // And nothing is left over.
            let total: usize = senders.iter().map(|(_, _, packets)| packets).sum();
            let end = at(4000).since(at(0));
            let bytes: u64 = senders.iter().map(|(_, size, packets)| size * *packets as u64).sum();
            prop_assert!(all.len() == total || bytes > RATE.bytes_in(end).get() - allowance);
        }
    }
}
