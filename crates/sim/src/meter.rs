//! What the far link delivers and what waits for it over time, in intervals of equal length, and in all.
//!
//! A packet counts when it has crossed, with what it took of the link's rate, of users and logs with the link's frames and coding: of one that crossed just after a measured time began, most was
//! sent before, and of one that crosses just after its end most was sent in it. So nothing is used more than fully, however short the
//! time and however slow the link, but where packets come out closer together than they were sent: what jitter delays, and what several
//! terminals send in slots of their own, counts as sent later than it was.
//!
//! Packets need not be counted in the order of their times: what goes through lanes at once is counted ahead of them.

mod stay;

use crate::metrics::Histogram;
use farhop_link::{Count, Direction, Framing};
use farhop_results::LinkSample;
use farhop_units::{Bytes, Instant, Rate};
use stay::Stay;
use std::time::Duration;

/// Length of an interval of one load: fine enough to show one round trip of a satellite link in ten steps or more.
const OF_A_LOAD: Duration = Duration::from_millis(25);
/// No more of them go into the least time that a load may take, which has longer ones otherwise: those between planets take days.
const MOST_OF_A_LOAD: u32 = 14_400;
/// Length of an interval of a measured time that is no longer than so many of them, a day.
const USUAL: Duration = Duration::from_secs(1);
const MOST: u32 = 86_400;
/// No segment is larger: what crossed so long after an interval began as this takes was all sent in it.
const LARGEST: Bytes = Bytes::new(9000);

/// Bytes delivered, and the most that waited, down and up.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    /// What happens before does not count but in the peaks, and what happens later than the end not in the total.
    from: Instant,
    end: Instant,
    /// At which packets are sent, down and up, if anything limits that; and how long the largest takes.
    rates: [Option<Rate>; 2],
    longest: [Duration; 2],
    /// What is added to every packet, if that counts.
    frames: [Option<Frames>; 2],
    /// What is lost on the way counts, too.
    counts_lost: bool,
    /// Length of an interval.
    length: Duration,
    /// What happens after so many does not count in them.
    most: usize,
    intervals: Vec<Interval>,
    /// The interval that was counted in last, and when it begins.
    last: (usize, Instant),
    total: [Bytes; 2],
    /// The most that any one queue held, from the beginning of the run on.
    peaks: [Bytes; 2],
    /// How long packets are on their way up, where terminals share it.
    up: Stay,
}

#[derive(Debug, Clone, Copy, Default)]
struct Interval {
    carried: [Bytes; 2],
    queued: [Bytes; 2],
}

/// What the link adds to packets, and what of a byte was not counted with the last one.
#[derive(Debug, Clone, Copy)]
struct Frames {
    framing: Framing,
    rest: u128,
}

impl Frames {
    fn of(framing: Framing) -> Option<Self> {
        (!framing.is_none()).then_some(Self { framing, rest: 0 })
    }

    /// What a packet is on the wire.
    fn on_wire(&mut self, bytes: Bytes) -> Bytes {
        let work = self.rest + self.framing.work(Count { packets: 1, bytes });
        self.rest = work % self.framing.work_per_byte();
        Bytes::new(u64::try_from(work / self.framing.work_per_byte()).unwrap_or(u64::MAX))
    }
}

/// What whole intervals of the measured time were like, down and up, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) interval: Duration,
    pub(crate) carried: [Histogram; 2],
    pub(crate) queued: [Histogram; 2],
}

impl Meter {
    /// Counts interval by interval for one load that takes `least` at least, from the beginning, each packet at once.
    pub(crate) fn of_load(least: Duration) -> Self {
        let length = OF_A_LOAD.max(least / MOST_OF_A_LOAD);
        Self::new((Instant::START, Instant::START + Duration::MAX), (length, usize::MAX), [None; 2])
    }

    /// Counts what happens at `from` or later, in intervals of the `measured` time; serializers send at these rates down and up, and add this
    /// to packets.
    pub(crate) fn of_many(
        from: Instant,
        measured: Duration,
        (rates, framings): ([Option<Rate>; 2], [Framing; 2]),
    ) -> Self {
        let length = USUAL.max(measured / MOST);
        let meter = Self::new((from, from + measured), (length, whole(measured, length)), rates);
        Self { frames: framings.map(Frames::of), counts_lost: true, ..meter }
    }

    fn new((from, end): (Instant, Instant), (length, most): (Duration, usize), rates: [Option<Rate>; 2]) -> Self {
        let (last, none) = ((0, from), [Bytes::ZERO; 2]);
        let longest = rates.map(|rate| takes(rate, LARGEST));
        Self {
            from,
            end,
            rates,
            longest,
            frames: [None; 2],
            counts_lost: false,
            length,
            most,
            intervals: Vec::new(),
            last,
            total: none,
            peaks: none,
            up: Stay::new(from, end),
        }
    }

    /// A packet of `bytes` left the link at `at`.
    #[inline]
    pub(crate) fn count(&mut self, at: Instant, direction: Direction, bytes: Bytes) {
        let bytes = match &mut self.frames[direction as usize] {
            Some(frames) => frames.on_wire(bytes),
            None => bytes,
        };
        let (place, begin) = self.last;
        let is_known = bytes <= LARGEST && at >= begin + self.longest[direction as usize];
        let is_within = is_known && at < begin + self.length && at <= self.end;
        match self.intervals.get_mut(place) {
            Some(interval) if is_within => {
                interval.carried[direction as usize] += bytes;
                self.total[direction as usize] += bytes;
            }
            _ => self.count_parts(at, direction, bytes),
        }
    }

    /// A packet of `bytes` was lost behind the serializer at `at`: of many loads it counts, as it has used the link.
    pub(crate) fn count_lost(&mut self, at: Instant, direction: Direction, bytes: Bytes) {
        if self.counts_lost {
            self.count(at, direction, bytes);
        }
    }

    /// The same where parts of it may have been sent in several intervals, or not in the measured time.
    fn count_parts(&mut self, at: Instant, direction: Direction, bytes: Bytes) {
        if at < self.from {
            return;
        }
        let takes = takes(self.rates[direction as usize], bytes);
        let sent = |until| sent_by(until, (at, takes), bytes);
        // What happens at the end itself is within the measured time.
        let counted = if at <= self.end { bytes } else { sent(self.end) };
        self.total[direction as usize] += counted - sent(self.from);
        let first = place_of((at - self.from).saturating_sub(takes), self.length);
        for place in first..=place_of(at - self.from, self.length).min(self.most.saturating_sub(1)) {
            let begin = self.start_of(place);
            let part = sent(begin + self.length) - sent(begin);
            if let Some(interval) = self.interval(begin) {
                interval.carried[direction as usize] += part;
            }
        }
    }

    /// So much waits in one of the link's queues at `at`, when something has joined it.
    pub(crate) fn waits(&mut self, at: Instant, direction: Direction, bytes: Bytes) {
        let peak = &mut self.peaks[direction as usize];
        *peak = bytes.max(*peak);
        if let Some(Interval { queued, .. }) = self.interval(at) {
            queued[direction as usize] = bytes.max(queued[direction as usize]);
        }
    }

    /// A packet begins to wait for the way up that terminals share.
    pub(crate) fn enters_up(&mut self, at: Instant) {
        self.up.enters(at);
    }

    /// It has crossed, or was dropped.
    pub(crate) fn leaves_up(&mut self, at: Instant) {
        self.up.leaves(at);
    }

    /// How long packets were on the shared way up on average, in the measured time.
    pub(crate) fn mean_stay_up(&self) -> Option<Duration> {
        self.up.mean()
    }

    /// The interval that holds `at`, if it counts.
    fn interval(&mut self, at: Instant) -> Option<&mut Interval> {
        let (mut place, begin) = self.last;
        if at < begin || at >= begin + self.length {
            place = place_of(at - self.from, self.length);
            if at < self.from || place >= self.most {
                return None;
            }
            self.last = (place, self.start_of(place));
        }
        if self.intervals.len() <= place {
            self.intervals.resize(place + 1, Interval::default());
        }
        self.intervals.get_mut(place)
    }

    fn start_of(&self, place: usize) -> Instant {
        self.from + self.length * u32::try_from(place).expect("there are fewer intervals")
    }

    /// All that was delivered in the measured time.
    pub(crate) const fn total(&self, direction: Direction) -> Bytes {
        self.total[direction as usize]
    }

    /// The most that any one queue has held so far.
    pub(crate) const fn peak_queue(&self, direction: Direction) -> Bytes {
        self.peaks[direction as usize]
    }

    /// The intervals from the one that holds `began` to the one that holds `end`, empty ones included, on a clock that begins at `began`. Of
    /// the first one only the time since then counts: what was carried in it was carried then, as nothing else happens before a load.
    pub(crate) fn samples(&self, began: Instant, end: Instant) -> Vec<LinkSample> {
        let sample = |place: usize| {
            let Interval { carried, .. } = self.intervals.get(place).copied().unwrap_or_default();
            let start = self.start_of(place);
            let span = (self.length - began.since(start)).as_secs_f64();
            let rate = |direction: Direction| carried[direction as usize].bits_f64() / span;
            let start_s = start.max(began).as_secs_f64() - began.as_secs_f64();
            LinkSample { start_s, span_s: span, down_bit_s: rate(Direction::Down), up_bit_s: rate(Direction::Up) }
        };
        (place_of(began - self.from, self.length)..=place_of(end - self.from, self.length)).map(sample).collect()
    }

    /// What the whole intervals of the `measured` time were like.
    pub(crate) fn usage(&self, measured: Duration) -> Usage {
        let count = whole(measured, self.length).min(self.most);
        let of = |value: fn(&Interval) -> [Bytes; 2]| {
            Direction::BOTH.map(|direction| {
                let mut histogram = Histogram::default();
                let counted = self.intervals.iter().take(count);
                counted.for_each(|interval| histogram.add(value(interval)[direction as usize].get()));
                histogram.add_times(0, count.saturating_sub(self.intervals.len()) as u64);
                histogram
            })
        };
        Usage {
            interval: self.length,
            carried: of(|interval| interval.carried),
            queued: of(|interval| interval.queued),
        }
    }
}

impl Usage {
    /// Adds that of another replication, which was measured for the same time.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (ours, theirs) in [(&mut self.carried, &other.carried), (&mut self.queued, &other.queued)] {
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| ours.merge(theirs));
        }
    }
}

/// How long a packet takes the serializer.
fn takes(rate: Option<Rate>, bytes: Bytes) -> Duration {
    rate.map_or(Duration::ZERO, |rate| rate.transmission_time(bytes))
}

/// How much was sent before a time of a packet that has crossed at `at`, and took so long to send.
fn sent_by(until: Instant, (at, takes): (Instant, Duration), bytes: Bytes) -> Bytes {
    let left = at.since(until);
    if until > at {
        bytes
    } else if left >= takes {
        Bytes::ZERO
    } else {
        let part = u128::from(bytes.get()) * (takes - left).as_nanos() / takes.as_nanos();
        Bytes::new(u64::try_from(part).unwrap_or(u64::MAX))
    }
}

/// How many whole intervals of this length there are in a time.
fn whole(time: Duration, length: Duration) -> usize {
    place_of(time, length)
}

/// The number of the interval in which a time since the beginning lies.
fn place_of(time: Duration, length: Duration) -> usize {
    usize::try_from(time.as_nanos() / length.as_nanos()).expect("no run has so many intervals")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn count_some(meter: &mut Meter) {
        meter.count(at(24), Direction::Down, Bytes::new(1000));
        meter.count(at(60), Direction::Up, Bytes::new(52));
        // A packet that goes through several lanes at once is counted ahead of its time.
        meter.count(at(25), Direction::Down, Bytes::new(500));
    }

    #[test]
    fn samples_hold_every_bit_counted() {
        let mut meter = Meter::of_load(Duration::ZERO);
        count_some(&mut meter);
        let samples = meter.samples(at(0), at(60));
        assert_eq!(samples.len(), 3);
        let rates: Vec<_> = samples.iter().map(|sample| (sample.down_bit_s.round(), sample.up_bit_s.round())).collect();
        assert_eq!(rates, [(320_000.0, 0.0), (160_000.0, 0.0), (0.0, 16640.0)]);
    }

    #[test]
    fn a_load_of_days_has_longer_samples_which_begin_with_it() {
        let mut meter = Meter::of_load(Duration::from_secs(4 * 14_400));
        meter.count(at(3500), Direction::Down, Bytes::new(1000));
        meter.count(at(4000), Direction::Down, Bytes::new(2000));
        let samples = meter.samples(at(3000), at(7999));
        let told: Vec<_> = samples.iter().map(|sample| (sample.start_s, sample.span_s, sample.down_bit_s)).collect();
        assert_eq!(told, [(0.0, 1.0, 8000.0), (1.0, 4.0, 4000.0)]);
    }

    #[test]
    fn no_time_is_used_more_than_fully() {
        // A packet of 1250 B each 10 s, one after the other from 3 s before the measured time on.
        let rate = Rate::from_bits_per_second(1000).expect("it is not zero");
        let measured = Duration::from_millis(12_500);
        let mut meter = Meter::of_many(at(3000), measured, ([Some(rate); 2], [Framing::default(); 2]));
        for end in [10_000, 20_000, 30_000] {
            meter.count(at(end), Direction::Down, Bytes::new(1250));
        }
        assert_eq!(meter.total(Direction::Down).get(), 1562, "1000 bit/s for 12.5 s");
        let carried = &meter.usage(measured).carried[Direction::Down as usize];
        assert_eq!((carried.count(), carried.least(), carried.most()), (12, 125, 125));
    }

    #[test]
    fn totals_begin_when_they_are_asked_for() {
        let mut meter = Meter::of_many(at(25), Duration::from_secs(1), ([None; 2], [Framing::default(); 2]));
        count_some(&mut meter);
        assert_eq!(Direction::BOTH.map(|direction| meter.total(direction).get()), [500, 52]);
    }

    #[test]
    fn usage_is_that_of_whole_intervals_of_the_measured_time() {
        let measured = Duration::from_millis(3900);
        let mut meter = Meter::of_many(at(500), measured, ([None; 2], [Framing::default(); 2]));
        for (ms, bytes) in [(499, 1), (500, 10), (1499, 20), (1500, 40), (3499, 80), (3500, 160), (1600, 320)] {
            meter.count(at(ms), Direction::Down, Bytes::new(bytes));
            meter.waits(at(ms), Direction::Up, Bytes::new(bytes));
        }
        let usage = meter.usage(measured);
        let [carried, queued] = [&usage.carried[Direction::Down as usize], &usage.queued[Direction::Up as usize]];
        // 30 B in the first second, 360 B in the second, of which 320 B waited at once, 80 B in the third; the fourth is not whole.
        assert_eq!((carried.count(), carried.least(), carried.percentile(50), carried.most()), (3, 30, 80, 360));
        assert_eq!((queued.count(), queued.least(), queued.percentile(50), queued.most()), (3, 20, 80, 320));
        assert_eq!(meter.peak_queue(Direction::Up), Bytes::new(320));
        let idle = &usage.carried[Direction::Up as usize];
        assert_eq!((idle.count(), idle.most()), (3, 0));
    }

    #[test]
    fn intervals_are_never_too_many() {
        let measured = Duration::from_secs(365 * 86_400);
        let mut meter = Meter::of_many(at(0), measured, ([None; 2], [Framing::default(); 2]));
        meter.count(at(0) + (measured - Duration::from_secs(1)), Direction::Down, Bytes::new(1));
        meter.count(at(0) + measured * 9, Direction::Down, Bytes::new(1));
        let usage = meter.usage(measured);
        assert_eq!((usage.interval, meter.intervals.len()), (Duration::from_secs(365), 86_400));
        assert_eq!((usage.carried[0].count(), usage.carried[0].most()), (86_400, 1));
    }

    #[test]
    fn frames_and_coding_count_to_the_last_bit() {
        let framing: Framing = "overhead=8B redundancy=16/15".parse().expect("there is such framing");
        let measured = Duration::from_secs(10);
        let mut meter = Meter::of_many(at(0), measured, ([None; 2], [framing, Framing::default()]));
        for number in 0..30 {
            for direction in Direction::BOTH {
                meter.count(at(10 + number), direction, Bytes::new(40));
            }
        }
        // 30 times 48 B, a fifteenth more.
        assert_eq!(Direction::BOTH.map(|direction| meter.total(direction)), [Bytes::new(1536), Bytes::new(1200)]);
    }
}
