//! How long an endpoint's host takes beside what [`crate::Kernel`] and [`crate::Program`] say: to send, and behind boxes, where nothing was measured.
//!
//! And how far apart a burst leaves: after a pause the rest of it is behind its first segment, and a long one comes in pieces, so that a packet which
//! leaves a full queue meanwhile makes room for one more. That decides whether something comes behind a long hole: then it is repaired after a
//! round trip, otherwise after a timeout.

use crate::behavior::Behavior;
use crate::congestion::CongestionControl;
use crate::sender::Sender;
use farhop_units::random::{Dice, Stream};
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// After so long without data the first segment leaves before the rest of its burst: 0.4 to 1.4 µs in eight of ten cases, measured as
/// [`crate::kernel`] says.
const PAUSE: Duration = Duration::from_micros(500);
const GAP: [Duration; 2] = [Duration::from_nanos(400), Duration::from_nanos(1400)];
/// So many segments leave together, and the next ones as much later as it takes to send them, each of them and each batch ([`crate::batch`]): bursts of
/// 180 segments in batches of two come to the link within 0.40 to 0.58 ms, those of 4500 in batches of ten within 8 ms, of 7200 in batches of 17
/// within 9 to 13 ms, of 1000 in batches of 45 within 1.2 ms. Bursts of ten are in one piece (190 of them: a microsecond between any two but the second and the
/// third, where a third of them has 30), and long ones have their first gap behind the sixteenth segment more often than anywhere else.
const PIECE: u32 = 16;
const SENDING: Duration = Duration::from_nanos(1050);
const BATCH: [Duration; 2] = [Duration::from_nanos(2400), Duration::from_nanos(4900)];

/// What a measured kernel takes for the segments that what has arrived lets it send, for each of them, and for each piece but the first: beside an
/// acknowledgement one to four segments took 1.7, 2.9, 5.4 and 6.5 µs.
const ANY_SEGMENT: Duration = Duration::from_nanos(600);
const EACH_SEGMENT: Duration = Duration::from_nanos(1100);
const NEXT_PIECE: Duration = Duration::from_nanos(1600);
/// More than so many are sent while the first ones are on their way.
const MOST_AT_ONCE: u64 = 8;

/// What a kernel takes to send so many segments of data at once, beside an acknowledgement.
pub fn sending_time(segments: u32) -> Duration {
    if segments == 0 { Duration::ZERO } else { ANY_SEGMENT + EACH_SEGMENT * segments }
}

/// One endpoint's host.
#[derive(Debug)]
pub(crate) struct Host {
    dice: Dice,
    /// Its kernel's times are known: it answers what it hears of as soon as it has sent it.
    is_measured: bool,
    /// When data left last, and how many segments of it at that time.
    left: Option<Instant>,
    together: u32,
    /// There is room for a program of which its owner was not told; and when that runs, once it has said so.
    finds_room: bool,
    uses_room: Option<Instant>,
}

impl Host {
    /// One of which nothing was measured, if such hosts take any time.
    pub(crate) fn of(behavior: &Behavior, reactions: Stream) -> Option<Box<Self>> {
        let takes_time = !behavior.reaction.is_zero() || !behavior.waking.is_zero();
        takes_time.then(|| Box::new(Self::new(reactions)))
    }

    fn new(reactions: Stream) -> Self {
        Self {
            dice: Dice::new(reactions),
            is_measured: false,
            left: None,
            together: 0,
            finds_room: false,
            uses_room: None,
        }
    }

    /// A segment of data leaves now. What it is the end of, if the next one is not together with it.
    fn spaces(&mut self, now: Instant) -> Option<End> {
        let left = self.left.replace(now);
        self.together = if left == Some(now) { self.together + 1 } else { 1 };
        if left.is_none_or(|left| now.since(left) > PAUSE) {
            return Some(End::Pause);
        }
        (self.together == PIECE).then_some(End::Piece)
    }
}

/// What is over with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Pause,
    Piece,
}

impl End {
    /// How far behind it the next segment is at least and at most, in batches of so many.
    fn gap(self, batch: u64) -> [Duration; 2] {
        match self {
            Self::Pause => GAP,
            Self::Piece => {
                let batch = u32::try_from(batch).unwrap_or(u32::MAX).max(1);
                BATCH.map(|time| SENDING * PIECE + time * PIECE / batch)
            }
        }
    }
}

impl Sender {
    /// It is on a host whose times are drawn from `reactions`.
    pub(crate) fn put_on_host(&mut self, reactions: Stream) {
        self.host = Host::of(self.behavior, reactions);
        self.has_programs = true;
    }

    /// Whose kernel hears of each packet when it does, if it takes any time.
    pub(crate) fn answer_when_heard(&mut self) {
        if let Some(own) = &mut self.host {
            own.is_measured = true;
            self.spaces_bursts = true;
        }
    }

    /// How long the host takes to answer what has arrived, if it has something to send.
    pub(crate) fn reaction(&mut self) -> Option<Duration> {
        let most = self.behavior.reaction;
        let has_more = self.written > self.next || self.scoreboard.lost() > 0;
        if most.is_zero() || !has_more || !self.is_established() {
            return None;
        }
        if self.host.as_ref()?.is_measured {
            return self.wants_to_send().then(|| self.sending());
        }
        Some(draw(&mut self.host.as_mut()?.dice, [Duration::ZERO, most]))
    }

    /// What it takes to send what may be sent at once.
    fn sending(&self) -> Duration {
        let segments = |bytes: Bytes| bytes.get().div_ceil(self.mss.get().max(1));
        let room = segments(self.takes_in_all()).clamp(1, MOST_AT_ONCE);
        let piece = self.batch_circumstances().most(room).max(1);
        let at_once = if self.congestion.pacing_rate().is_some() { piece } else { room };
        let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        sending_time(count(at_once)) + NEXT_PIECE * count(at_once.div_ceil(piece) - 1)
    }

    /// There is room that the program has waited for. Whether it runs later, as when something arrives that it answers: when is for the owner to
    /// say, if that is known.
    pub(crate) fn tells_program_of_room(&mut self) -> bool {
        let Some(host) = self.host.as_mut().filter(|host| host.is_measured) else { return false };
        (host.finds_room, host.uses_room) = (true, None);
        true
    }

    /// Whether the owner is to say when its program runs, once.
    pub(crate) fn finds_room(&mut self) -> bool {
        self.host.as_mut().is_some_and(|host| core::mem::take(&mut host.finds_room))
    }

    /// Then it does.
    pub(crate) fn use_room_at(&mut self, runs: Instant) {
        if let Some(host) = &mut self.host {
            host.uses_room = Some(runs);
        }
    }

    /// When it does, if that is known.
    pub(crate) fn program_uses_room(&self) -> Option<Instant> {
        self.host.as_ref().and_then(|host| host.uses_room)
    }

    /// How long it takes until the program runs that has something to send.
    pub(crate) fn waking(&mut self) -> Option<Duration> {
        let most = self.behavior.waking;
        if !self.has_programs || most.is_zero() {
            return None;
        }
        Some(draw(&mut self.host.as_mut()?.dice, [Duration::ZERO, most]))
    }

    /// How long after a segment of so much payload, which leaves now, the rest of its burst does, if not at once.
    pub(crate) fn gap(&mut self, now: Instant, payload: Bytes) -> Option<Duration> {
        if !self.spaces_bursts || payload == Bytes::ZERO {
            return None;
        }
        let end = self.host.as_mut()?.spaces(now)?;
        let goes_on = self.batch.is_under_way() || self.congestion.pacing_rate().is_none();
        if !goes_on || !self.wants_to_send() {
            return None;
        }
        let range = end.gap(self.batch_circumstances().most(u64::MAX));
        Some(draw(&mut self.host.as_mut()?.dice, range))
    }
}

/// Anything in this range.
pub(crate) fn draw(dice: &mut Dice, [least, most]: [Duration; 2]) -> Duration {
    least + Duration::from_nanos(dice.below(as_nanos(most - least)))
}

pub(crate) fn as_nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    #[test]
    fn a_pause_is_half_a_millisecond_without_data() {
        let mut host = Host::new(Stream::new(1, 1));
        let gap = Some(End::Pause);
        assert_eq!([0, 500, 1000, 1501].map(|micros| host.spaces(at(micros))), [gap, None, None, gap]);
    }

    #[test]
    fn sixteen_segments_leave_together_and_a_few_at_a_time_go_on_at_once() {
        let mut host = Host::new(Stream::new(1, 1));
        let mut burst =
            |micros: u64, segments: usize| -> Vec<_> { (0..segments).map(|_| host.spaces(at(micros))).collect() };
        // The first one is alone after a pause.
        assert_eq!(burst(0, 1), [Some(End::Pause)]);
        let between = Some(End::Piece);
        for micros in [1, 20, 40] {
            let mut all = [None; 16];
            all[15] = between;
            assert_eq!(burst(micros, 16), all, "at {micros} µs");
        }
        for micros in 100..120 {
            assert_eq!(burst(micros, 4), [None; 4]);
        }
    }

    #[test]
    fn large_batches_leave_sooner() {
        let between = |batch| End::Piece.gap(batch).map(|gap| gap.as_nanos());
        assert_eq!(between(2), [36_000, 56_000]);
        assert_eq!(between(16), [19_200, 21_700]);
        assert_eq!(End::Pause.gap(2), GAP);
    }
}
