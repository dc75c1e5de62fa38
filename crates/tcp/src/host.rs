//! How long an endpoint's host takes.
//!
//! Without that drop-tail queues and flows that clock themselves fall into step, and it is always the same packets that find a queue full (Floyd &
//! Jacobson, "On traffic phase effects in packet-switched gateways", 1992). The pace of acknowledgements is nearly that of the packets which they
//! let go: what finds room in a queue that each of them just leaves is decided by the few microseconds that are left. So it matters which these are,
//! and they were measured between Linux 6.18 and an emulated link: a processor that has slept takes longer than one that was at work a moment ago,
//! and hosts differ more from each other than each time from the time before.

use crate::behavior::Behavior;
use crate::congestion::CongestionControl;
use crate::sender::Sender;
use farhop_units::random::{Dice, Stream};
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// What answering with data takes, at least and at most, from sleep and when something came within [`AWAKE`].
const FROM_SLEEP: [Duration; 2] = [Duration::from_micros(30), Duration::from_micros(65)];
const WHEN_AWAKE: [Duration; 2] = [Duration::from_micros(15), Duration::from_micros(30)];
const AWAKE: Duration = Duration::from_millis(2);
/// By what consecutive times of one host differ at most.
const JITTER: Duration = Duration::from_micros(15);
/// After so long without data the first segment leaves before the rest of its burst: 4 to 13 µs were seen, half of them below 5. When a queue has
/// room for only some of a burst, a packet that leaves it meanwhile makes room for one more.
const PAUSE: Duration = Duration::from_micros(500);
const GAP: [Duration; 2] = [Duration::from_micros(3), Duration::from_micros(7)];

/// One endpoint's host.
#[derive(Debug)]
pub(crate) struct Host {
    dice: Dice,
    /// Of one that takes as long as was measured, where among hosts it is in each range: the first number of this.
    measured: Option<Stream>,
    /// When something came last that could be answered, and when data left.
    came: Option<Instant>,
    left: Option<Instant>,
}

impl Host {
    /// One of which nothing was measured, if such hosts take any time.
    pub(crate) fn of(behavior: &Behavior, reactions: Stream) -> Option<Box<Self>> {
        let takes_time = !behavior.reaction.is_zero() || !behavior.waking.is_zero();
        takes_time.then(|| Box::new(Self::new(reactions)))
    }

    fn new(reactions: Stream) -> Self {
        Self { dice: Dice::new(reactions), measured: None, came: None, left: None }
    }

    pub(crate) fn take_as_measured(&mut self, host: Stream) {
        self.measured = Some(host);
    }

    /// Something comes now: how long it takes to answer, and at most if nothing was measured.
    pub(crate) fn answers(&mut self, now: Instant, most: Duration) -> Duration {
        let Some(host) = self.measured else { return draw(&mut self.dice, [Duration::ZERO, most]) };
        let is_awake = self.came.is_some_and(|came| now.since(came) <= AWAKE);
        let [least, most] = if is_awake { WHEN_AWAKE } else { FROM_SLEEP };
        let own = least + Duration::from_nanos(host.below(0, as_nanos(most - least - JITTER)));
        draw(&mut self.dice, [own, own + JITTER])
    }

    /// Something came now, answered or not.
    pub(crate) fn note_arrival(&mut self, now: Instant) {
        self.came = Some(now);
    }

    /// Data leaves now; whether none had for a while.
    pub(crate) fn ends_pause(&mut self, now: Instant) -> bool {
        self.left.replace(now).is_none_or(|left| now.since(left) > PAUSE)
    }

    /// How far behind it is.
    pub(crate) fn gap(&mut self) -> Duration {
        draw(&mut self.dice, GAP)
    }

    /// How long it takes until a program runs, at most.
    pub(crate) fn wakes(&mut self, most: Duration) -> Duration {
        draw(&mut self.dice, [Duration::ZERO, most])
    }
}

impl Sender {
    /// It is on a host whose times are drawn from `reactions`.
    pub(crate) fn put_on_host(&mut self, reactions: Stream) {
        self.host = Host::of(self.behavior, reactions);
        self.has_programs = true;
    }

    /// Which takes as long as was measured, if it takes any time.
    pub(crate) fn take_as_measured(&mut self, host: Stream) {
        if let Some(own) = &mut self.host {
            own.take_as_measured(host);
            self.spaces_bursts = true;
        }
    }

    /// How long the host takes to answer what has arrived, if it has something to send.
    pub(crate) fn reaction(&mut self, now: Instant) -> Option<Duration> {
        let most = self.behavior.reaction;
        if most.is_zero() {
            return None;
        }
        let has_more = self.written > self.next || self.scoreboard.lost() > 0;
        let answers = has_more && self.is_established();
        let host = self.host.as_mut()?;
        let reaction = answers.then(|| host.answers(now, most));
        host.note_arrival(now);
        reaction
    }

    /// How long it takes until the program runs that has something to send.
    pub(crate) fn waking(&mut self) -> Option<Duration> {
        let most = self.behavior.waking;
        if !self.has_programs || most.is_zero() {
            return None;
        }
        Some(self.host.as_mut()?.wakes(most))
    }

    /// How long after a segment of so much payload, which leaves now, the rest of its burst does, if not at once.
    pub(crate) fn gap(&mut self, now: Instant, payload: Bytes) -> Option<Duration> {
        if !self.spaces_bursts || payload == Bytes::ZERO || !self.host.as_mut()?.ends_pause(now) {
            return None;
        }
        let goes_on = self.batch.is_under_way() || self.congestion.pacing_rate().is_none();
        if goes_on && self.wants_to_send() { Some(self.host.as_mut()?.gap()) } else { None }
    }
}

/// Anything in this range.
pub(crate) fn draw(dice: &mut Dice, [least, most]: [Duration; 2]) -> Duration {
    least + Duration::from_nanos(dice.below(as_nanos(most - least)))
}

fn as_nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    fn measured(seed: u64, reactions: u64) -> Host {
        let mut host = Host::new(Stream::new(seed, reactions));
        host.take_as_measured(Stream::new(seed, 0));
        host
    }

    #[test]
    fn hosts_differ_more_than_each_does_from_time_to_time() {
        let times = |seed| {
            // Two endpoints of it.
            let mut ends = [1, 2].map(|reactions| measured(seed, reactions));
            let mut answers = || ends.each_mut().map(|end| end.answers(at(0), Duration::ZERO));
            (0..50).flat_map(|_| answers()).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..50).map(times).collect();
        let spread = |times: &[Duration]| *times.iter().max().expect("some") - *times.iter().min().expect("some");
        assert!(all.iter().all(|times| spread(times) <= JITTER));
        let every: Vec<_> = all.concat();
        let range = FROM_SLEEP[0]..FROM_SLEEP[1];
        assert!(spread(&every) > JITTER * 2 && every.iter().all(|time| range.contains(time)));
    }

    #[test]
    fn who_has_just_heard_something_answers_sooner() {
        let mut host = measured(1, 1);
        host.note_arrival(at(1000));
        assert!(host.answers(at(3000), Duration::ZERO) < WHEN_AWAKE[1]);
        assert!(host.answers(at(3001), Duration::ZERO) >= FROM_SLEEP[0]);
    }

    #[test]
    fn a_pause_is_half_a_millisecond_without_data() {
        let mut host = measured(1, 1);
        assert_eq!([0, 500, 1000, 1501].map(|micros| host.ends_pause(at(micros))), [true, false, false, true]);
    }
}
