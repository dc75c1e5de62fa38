//! How long to sleep so as to be awake in time, and when to be late on purpose.
//!
//! A timer wakes a thread some time after it was asked to: a few µs on a busy machine, 50 to 100 µs on an idle virtual one.
//! That time is learned, and the thread asks to be woken so much earlier and waits for the rest awake. Since waiting awake takes
//! processor time that the hosts' programs could have, no more than an eighth of any wait is spent so.
//!
//! A packet that wakes the thread waits as long until it is seen, and on a link with a long delay every packet that comes alone does. What
//! even a quick waking takes is taken off, so that a packet's delay begins when it arrived, and so for what came with it: the rest of a
//! burst is not further behind its first packet than it was sent.
//!
//! On a dense link every wait is short, and keeping every packet's time takes a whole processor at real-time priority. At
//! 500 Mbit/s full packets come and go every 12 µs; on two processors the programs that send and receive them then wait for one
//! more than half of the time. So wakings and waits awake are paid from a credit, half of the time that passes. When it is used
//! up, the thread sleeps through whatever comes, [`MODERATION`] at a time, and handles it together, as network cards moderate
//! their interrupts. For full packets one way the credit suffices up to some 150 Mbit/s.

use farhop_units::Instant;
use std::time::Duration;

/// How to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nap {
    /// How long at most; for ever without it.
    pub(super) span: Option<Duration>,
    /// Whether packets that arrive end it.
    pub(super) deaf: bool,
}

impl Nap {
    /// Only looks for what is there.
    pub(super) const NONE: Self = Self { span: Some(Duration::ZERO), deaf: false };
}

/// What waking by the timer costs, as learned, and what may be spent on it.
#[derive(Debug)]
pub(super) struct Sleep {
    oversleep: Duration,
    /// What a quick waking takes, once there was one.
    waking: Option<Duration>,
    credit: Duration,
    /// Until when what comes is handled together, since the credit is used up.
    saving: Option<Instant>,
    /// When the last nap began.
    began: Instant,
    /// What it costs, unless something ends it sooner.
    price: Duration,
}

/// What going to sleep and being woken takes at best: no wait below this is worth it.
const SLEEP_COST: Duration = Duration::from_micros(20);
/// Later wakings are accidents, not a habit.
const MOST_OVERSLEEP: Duration = Duration::from_micros(200);
/// Share of a wait that may be spent awake.
const AWAKE: u32 = 8;
/// How fast a better habit is believed; a worse one is believed at once.
const FORGETTING: u32 = 16;
/// How fast a quicker waking is believed to be one, and that they have become slower: some fifth of them are quicker than what is learned.
const QUICKER: u32 = 4;
const SLOWER: u32 = 64;
/// What a waking takes from others.
const WAKING: Duration = Duration::from_micros(10);
/// Share of all time that may be spent on wakings and waits awake.
const INCOME: u32 = 2;
/// What may be saved: a train of some 25 packets is in time.
const MOST_CREDIT: Duration = Duration::from_millis(1);
/// How long it takes to have it all again, once it is used up: a dense link is precise for a twentieth of the time.
const SAVING: Duration = Duration::from_millis(20);
/// By what packets may be late, and arrivals noticed late, on a dense link: a tenth of the bound of a valid run.
const MODERATION: Duration = Duration::from_micros(50);

impl Default for Sleep {
    fn default() -> Self {
        Self {
            oversleep: Duration::ZERO,
            waking: None,
            credit: MOST_CREDIT,
            saving: None,
            began: Instant::START,
            price: Duration::ZERO,
        }
    }
}

impl Sleep {
    /// How to wait when something is due in `left`, or nothing is.
    pub(super) fn nap(&mut self, now: Instant, left: Option<Duration>) -> Nap {
        self.settle(now);
        let span = left.map(|left| self.span(left));
        let awake = left.zip(span).map_or(Duration::ZERO, |(left, span)| left - span);
        let waking = if span == Some(Duration::ZERO) { Duration::ZERO } else { WAKING };
        if self.saving.is_none() && self.credit < waking + awake {
            self.saving = Some(now + SAVING);
        }
        if self.saving.is_some() {
            return Nap { span: Some(MODERATION), deaf: true };
        }
        self.price = if waking.is_zero() { awake } else { waking };
        Nap { span, deaf: false }
    }

    /// Earns since the last nap began, and pays for it.
    fn settle(&mut self, now: Instant) {
        if self.saving.is_some_and(|until| until <= now) {
            *self = Self { oversleep: self.oversleep, waking: self.waking, began: now, ..Self::default() };
        }
        let passed = now.since(self.began);
        let earned = (self.credit + passed / INCOME).min(MOST_CREDIT);
        self.credit = earned.saturating_sub(self.price.min(passed));
        self.began = now;
    }

    /// How long to sleep when something is due in `left`; zero if it is not worth it.
    fn span(&self, left: Duration) -> Duration {
        let awake = (self.oversleep + SLEEP_COST).min(left / AWAKE).max(SLEEP_COST);
        left.saturating_sub(awake)
    }

    /// Learns from a waking by the timer.
    pub(super) fn woken(&mut self, asked: Instant, now: Instant) {
        let late = now.since(asked).min(MOST_OVERSLEEP);
        self.oversleep =
            if late > self.oversleep { late } else { self.oversleep - (self.oversleep - late) / FORGETTING };
        let waking = self.waking.unwrap_or(late);
        self.waking = Some(match late.checked_sub(waking) {
            Some(slower) => waking + slower / SLOWER,
            None => waking - (waking - late) / QUICKER,
        });
    }

    /// When a packet came that has ended a nap, as was `noticed` then: not before the nap began.
    pub(super) fn arrived(&self, nap: Nap, noticed: Instant) -> Instant {
        let is_sleep = !nap.deaf && nap.span != Some(Duration::ZERO);
        let waking = self.waking.filter(|_| is_sleep).unwrap_or_default().min(noticed.since(self.began));
        Instant::from_nanos(noticed.as_nanos() - u64::try_from(waking.as_nanos()).unwrap_or(0))
    }
}

/// When the packets came that are read in one go. Those behind one that has ended a nap came as it did, while the thread woke: how fast they
/// are read says how fast they came. If they came at another pace, it is less than a waking by which their times are wrong.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    first: Instant,
    began: Instant,
}

impl Reading {
    /// The first came then, and they are read from `began` on.
    pub(super) fn new(first: Instant, began: Instant) -> Self {
        Self { first, began }
    }

    /// When one came that is read now.
    pub(super) fn came(self, now: Instant) -> Instant {
        self.first + now.since(self.began)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_a_packet_that_wakes_the_thread_has_come_as_soon_after_it_as_it_is_read() {
        let micros = |micros| Instant::START + Duration::from_micros(micros);
        let mut sleep = Sleep::default();
        sleep.woken(micros(1000), micros(1030));
        sleep.nap(micros(2000), None);
        // Three came at 3000 µs; the thread has woken and reads them.
        let first = sleep.arrived(Nap { span: None, deaf: false }, micros(3030));
        let reading = Reading::new(first, micros(3035));
        let came = [3035, 3037, 3040].map(|read| reading.came(micros(read)));
        assert_eq!(came, [3000, 3002, 3005].map(micros));
    }

    #[test]
    fn a_late_timer_is_asked_to_be_early() {
        let mut sleep = Sleep::default();
        let (millis, micros) = (Duration::from_millis, Duration::from_micros);
        assert_eq!(sleep.span(millis(50)), millis(50) - SLEEP_COST);
        let asked = Instant::START + millis(50);
        sleep.woken(asked, asked + micros(80));
        assert_eq!(sleep.span(millis(50)), millis(50) - micros(80) - SLEEP_COST);
        for _ in 0..100 {
            sleep.woken(asked, asked + micros(5));
        }
        assert!(sleep.span(millis(50)) > millis(50) - micros(27), "{sleep:?}");
    }

    #[test]
    fn a_packet_that_wakes_the_thread_had_come_before() {
        let mut sleep = Sleep::default();
        let (micros, start) = (Duration::from_micros, Instant::START + Duration::from_secs(1));
        for late in (0..400).map(|round| micros(if round % 4 == 0 { 30 } else { 90 })) {
            sleep.woken(start, start + late);
        }
        let asleep = sleep.nap(start, None);
        let taken_off = |nap, noticed: Instant| noticed.since(sleep.arrived(nap, noticed));
        let waking = taken_off(asleep, start + micros(500));
        assert!((micros(28)..micros(50)).contains(&waking), "{waking:?}: as the quicker ones");
        assert_eq!(taken_off(asleep, start + micros(10)), micros(10), "it may have come when the nap began");
        assert_eq!(taken_off(Nap::NONE, start + micros(500)), Duration::ZERO, "it was awake");
        assert_eq!(taken_off(Nap { span: Some(MODERATION), deaf: true }, start + micros(500)), Duration::ZERO);
    }

    /// What a thread does whose link has something due every `interval` for `span`.
    #[derive(Debug, Default)]
    struct Spent {
        naps: u32,
        deaf: u32,
        awake: Duration,
    }

    fn spend(sleep: &mut Sleep, start: Instant, interval: Duration, span: Duration) -> Spent {
        let (mut now, mut due, mut spent) = (start, start + interval, Spent::default());
        while now < start + span {
            let nap = sleep.nap(now, Some(due.since(now)));
            let slept = nap.span.expect("something is due");
            if slept.is_zero() {
                spent.awake += due.since(now);
                now = due;
            } else {
                (spent.naps, spent.deaf) = (spent.naps + 1, spent.deaf + u32::from(nap.deaf));
                now += slept;
            }
            while due <= now {
                due += interval;
            }
        }
        spent
    }

    #[test]
    fn full_packets_at_100_mbps_are_all_waited_for() {
        let (interval, second) = (Duration::from_micros(120), Duration::from_secs(1));
        let spent = spend(&mut Sleep::default(), Instant::START, interval, second);
        assert_eq!(spent.deaf, 0, "{spent:?}");
        assert!(spent.naps > 8000, "{spent:?}");
    }

    #[test]
    fn a_dense_link_leaves_its_processor_to_others() {
        let second = Duration::from_secs(1);
        let spent = spend(&mut Sleep::default(), Instant::START, Duration::from_micros(12), second);
        assert!(spent.awake < second / 10, "{spent:?}");
        assert!(spent.naps <= 20_000, "{spent:?}");
    }

    #[test]
    fn what_comes_after_a_dense_train_is_waited_for_again() {
        let (mut sleep, second) = (Sleep::default(), Duration::from_secs(1));
        let dense = spend(&mut sleep, Instant::START, Duration::from_micros(12), second);
        assert!(dense.deaf > 10_000, "{dense:?}");
        let after = Instant::START + second + SAVING + MODERATION;
        assert_eq!(sleep.nap(after, None), Nap { span: None, deaf: false });
    }

    #[test]
    fn short_waits_are_mostly_slept() {
        let mut sleep = Sleep::default();
        sleep.woken(Instant::START, Instant::START + Duration::from_secs(1));
        assert_eq!(sleep.span(Duration::from_micros(400)), Duration::from_micros(350));
        assert_eq!(sleep.span(Duration::from_micros(120)), Duration::from_micros(100));
        assert_eq!(sleep.span(Duration::from_micros(20)), Duration::ZERO);
        assert_eq!(sleep.span(Duration::from_secs(9)), Duration::from_secs(9) - MOST_OVERSLEEP - SLEEP_COST);
    }
}
