//! The kernel of a host: it gets to a packet a while after that has come.
//!
//! Without that drop-tail queues and flows that clock themselves fall into step, and it is always the same packets that find a queue full (Floyd &
//! Jacobson, "On traffic phase effects in packet-switched gateways", 1992). The pace of acknowledgements is nearly that of the packets which they
//! let go: what finds room in a queue that each of them just leaves is decided by the few microseconds that are left. So it matters which these are,
//! for acknowledgements as for data.
//!
//! They were measured between Linux 6.18 and an emulated link of 1 to 40 Mbit/s, 40 ms and 24 ms, as what passes from a packet's delivery until what
//! it lets the kernel send is at the link again (5,800 answers). Data and acknowledgements take as long, each time anew: the 10th, 50th
//! and 90th percentiles are 2, 4 to 8 and 8 to 25 µs, after a pause, when caches are cold, 10, 18 and 34. A SYN takes the most, since a connection is made
//! for it, and its answer finds a program to wake.

use crate::Segment;
use crate::host::{draw, octaves};
use farhop_units::Instant;
use farhop_units::random::{Dice, Stream};
use std::time::Duration;

/// What it takes at least, and the halves of octaves beyond that of which all are as likely: up to 30 µs.
const LEAST_NS: u64 = 1250;
const HALF_OCTAVES: u32 = 9;
/// After so long without a packet it takes this long, at least and at most.
const PAUSE: Duration = Duration::from_millis(30);
const AFTER_PAUSE: [Duration; 2] = [Duration::from_micros(9), Duration::from_micros(35)];
/// For a SYN, and for what answers it.
const OPENING: [Duration; 2] = [Duration::from_micros(45), Duration::from_micros(85)];
const OPENED: [Duration; 2] = [Duration::from_micros(20), Duration::from_micros(50)];

/// When a host's kernel gets to packets.
#[derive(Debug, Clone)]
pub struct Kernel {
    dice: Dice,
    /// When it got to the last one.
    last: Instant,
}

impl Kernel {
    /// Of a host; how long it takes each time is drawn from `random`.
    pub fn new(random: Stream) -> Self {
        Self { dice: Dice::new(random), last: Instant::START }
    }

    /// When it gets to `segment`, which comes now: one after the other.
    pub fn hears(&mut self, now: Instant, segment: &Segment) -> Instant {
        let takes = match (segment.syn, segment.acknowledgment) {
            (true, None) => draw(&mut self.dice, OPENING),
            (true, Some(_)) => draw(&mut self.dice, OPENED),
            _ if now > self.last + PAUSE => draw(&mut self.dice, AFTER_PAUSE),
            _ => Duration::from_nanos(octaves(&mut self.dice, LEAST_NS, HALF_OCTAVES)),
        };
        self.last = self.last.max(now + takes);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sequence;

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    fn acknowledgment() -> Segment {
        Segment { acknowledgment: Some(Sequence::FIRST_BYTE), ..Segment::default() }
    }

    /// What it takes in ns to hear of such a segment so long after another one, a thousand times, in order.
    fn times(segment: &Segment, pause_us: u64) -> Vec<u128> {
        let mut kernel = Kernel::new(Stream::new(1, 0));
        let mut one = |round: u64| {
            let now = at((round + 1) * 1_000_000);
            kernel.hears(now, &acknowledgment());
            let comes = now + Duration::from_micros(pause_us);
            kernel.hears(comes, segment).since(comes).as_nanos()
        };
        let mut times: Vec<u128> = (0..1000).map(&mut one).collect();
        times.sort_unstable();
        times
    }

    #[test]
    fn most_take_a_few_microseconds_and_some_many() {
        let times = times(&acknowledgment(), 1000);
        let [tenth, half, most] = [100, 500, 900].map(|place| times[place] / 100);
        assert!((13..23).contains(&tenth) && (40..80).contains(&half) && (160..250).contains(&most), "{times:?}");
        assert!(times[0] >= 1250 && times[999] < 30_000, "{times:?}");
    }

    #[test]
    fn pauses_and_beginnings_take_longer() {
        let syn = Segment { syn: true, ..Segment::default() };
        let answer = Segment { syn: true, ..acknowledgment() };
        for (segment, pause_us, [least, most]) in
            [(acknowledgment(), 31_000, AFTER_PAUSE), (syn, 1000, OPENING), (answer, 1000, OPENED)]
        {
            let times = times(&segment, pause_us);
            assert!(times[0] >= least.as_nanos() && times[999] <= most.as_nanos(), "{segment:?}: {times:?}");
            assert!(times[900] - times[100] > (most - least).as_nanos() / 2, "{segment:?}: {times:?}");
        }
    }

    #[test]
    fn what_comes_behind_another_is_not_heard_before_it() {
        let mut kernel = Kernel::new(Stream::new(1, 0));
        let heard: Vec<Instant> = (0..1000).map(|micros| kernel.hears(at(micros), &acknowledgment())).collect();
        assert!(heard.is_sorted() && heard.windows(2).any(|two| two[0] == two[1]), "{heard:?}");
    }
}
