//! The kernel of a host: it gets to a packet a while after that has come.
//!
//! Without that drop-tail queues and flows that clock themselves fall into step, and it is always the same packets that find a queue full (Floyd &
//! Jacobson, "On traffic phase effects in packet-switched gateways", 1992). The pace of acknowledgements is nearly that of the packets which they
//! let go: what finds room in a queue that each of them just leaves is decided by the few microseconds that are left. So it matters which these are,
//! for acknowledgements as for data.
//!
//! They were measured between Linux 6.18 and an emulated link of 1 to 40 Mbit/s and 22 to 600 ms, as what passes from a packet's delivery until
//! what it lets the kernel send is at the link again (30,000 answers). On a link that is not dense most take within a microsecond of the same, so that what
//! has found room in a queue finds it round after round; some take longer, as another thread runs. Data take some microseconds more, for the segments
//! that are sent ([`crate::host`]). After a pause, when caches are cold and a processor sleeps, all take longer, the longer the deeper it sleeps (40,000
//! answers in 23 loads), and a SYN takes the most, since a connection is made for it: the first of a load, before which nothing was heard for long,
//! 96 µs. The first packet of a round trip often comes after a pause: what it takes longer than the others is what they come sooner to a queue that
//! serves them at their own pace.
//!
//! Both ends' hosts share a processor there, as they do on one machine: whoever owns these kernels lets one get to a packet after the other has, and
//! pacing timers wait for both. Where packets fall due at both ends at nearly the same time that is 10 to 25 µs.

use crate::Segment;
use crate::host::draw;
use farhop_units::Instant;
use farhop_units::random::{Dice, Stream};
use std::time::Duration;

/// How long it takes: of how many in 64 packets no longer than so many ns, from the one before on.
type Shares = [(u64, [u64; 2]); 6];
/// So soon after another, and later.
const SOON: Duration = Duration::from_millis(1);
const TAKES: [Shares; 2] = [
    [
        (6, [8500, 10_000]),
        (16, [10_000, 10_600]),
        (48, [10_600, 10_900]),
        (58, [10_900, 11_300]),
        (63, [11_300, 15_000]),
        (64, [15_000, 40_000]),
    ],
    [
        (6, [9000, 10_500]),
        (32, [10_500, 11_000]),
        (54, [11_000, 11_800]),
        (60, [11_800, 13_500]),
        (63, [13_500, 20_000]),
        (64, [20_000, 36_000]),
    ],
];
/// And what each takes that waits behind another.
const BEHIND_ANOTHER: Duration = Duration::from_nanos(300);
/// After so many ms without a packet it takes this long, at least and at most.
const AFTER_PAUSE: [(u64, [Duration; 2]); 5] = [
    (10, micros([10, 18])),
    (30, micros([11, 26])),
    (60, micros([13, 42])),
    (120, micros([20, 55])),
    (300, micros([45, 105])),
];
/// For a SYN, and for what answers it; after a pause, and after a long one.
const OPENING: [[Duration; 2]; 3] = [micros([12, 25]), micros([19, 52]), micros([64, 120])];
const OPENED: [[Duration; 2]; 3] = [micros([14, 23]), micros([16, 50]), micros([41, 80])];

const fn micros([least, most]: [u64; 2]) -> [Duration; 2] {
    [Duration::from_micros(least), Duration::from_micros(most)]
}

/// When a host's kernel gets to packets.
#[derive(Debug, Clone)]
pub struct Kernel {
    dice: Dice,
    /// When it got to the last one.
    last: Option<Instant>,
}

impl Kernel {
    /// Of a host; how long it takes each time is drawn from `random`.
    pub fn new(random: Stream) -> Self {
        Self { dice: Dice::new(random), last: None }
    }

    /// When it gets, or got, to the last packet.
    pub fn last(&self) -> Option<Instant> {
        self.last
    }

    /// When it gets to `segment`, which comes now: one after the other.
    pub fn hears(&mut self, now: Instant, segment: &Segment) -> Instant {
        let is_over = |pause: Duration| self.last.is_none_or(|last| now > last + pause);
        let pauses = AFTER_PAUSE.iter().take_while(|(pause, _)| is_over(Duration::from_millis(*pause))).count();
        let rest = pauses.saturating_sub(1).div_ceil(AFTER_PAUSE.len() - 2);
        let takes = match (segment.syn, segment.acknowledgment) {
            (true, None) => draw(&mut self.dice, OPENING[rest]),
            (true, Some(_)) => draw(&mut self.dice, OPENED[rest]),
            _ if pauses > 0 => draw(&mut self.dice, AFTER_PAUSE[pauses - 1].1),
            _ => self.takes(&TAKES[usize::from(is_over(SOON))]),
        };
        let heard = self.last.map_or(now, |last| last + BEHIND_ANOTHER).max(now + takes);
        self.last = Some(heard);
        heard
    }

    fn takes(&mut self, shares: &Shares) -> Duration {
        const PARTS: u32 = 10;
        let drawn = self.dice.below(64 << PARTS);
        let place = shares.iter().position(|(up_to, _)| drawn < up_to << PARTS).unwrap_or(0);
        let (up_to, [least, most]) = shares[place];
        let from = if place == 0 { 0 } else { shares[place - 1].0 };
        let within = (drawn - (from << PARTS)) * (most - least) / (up_to - from);
        Duration::from_nanos(least + (within >> PARTS))
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
    fn most_take_eleven_microseconds_and_a_little_more_on_a_slower_link() {
        for (pause_us, tenth, half, most) in [(500, 98..102, 106..109, 112..114), (6000, 104..107, 109..112, 124..132)]
        {
            let times = times(&acknowledgment(), pause_us);
            let [lower, middle, upper] = [100, 500, 900].map(|place| times[place] / 100);
            assert!(
                tenth.contains(&lower) && half.contains(&middle) && most.contains(&upper),
                "{lower} {middle} {upper}"
            );
            assert!(times[0] >= 8500 && times[999] < 40_000, "{times:?}");
        }
    }

    #[test]
    fn pauses_and_beginnings_take_longer() {
        let syn = Segment { syn: true, ..Segment::default() };
        let answer = Segment { syn: true, ..acknowledgment() };
        for (segment, pause_us, [least, most]) in [
            (acknowledgment(), 11_000, AFTER_PAUSE[0].1),
            (acknowledgment(), 31_000, AFTER_PAUSE[1].1),
            (acknowledgment(), 61_000, AFTER_PAUSE[2].1),
            (acknowledgment(), 121_000, AFTER_PAUSE[3].1),
            (acknowledgment(), 301_000, AFTER_PAUSE[4].1),
            (syn, 29_000, OPENING[0]),
            (syn, 31_000, OPENING[1]),
            (syn, 299_000, OPENING[1]),
            (syn, 301_000, OPENING[2]),
            (answer, 29_000, OPENED[0]),
            (answer, 31_000, OPENED[1]),
            (answer, 301_000, OPENED[2]),
        ] {
            let times = times(&segment, pause_us);
            assert!(times[0] >= least.as_nanos() && times[999] <= most.as_nanos(), "{segment:?}: {times:?}");
            assert!(times[900] - times[100] > (most - least).as_nanos() / 2, "{segment:?}: {times:?}");
        }
    }

    #[test]
    fn the_first_packet_comes_after_a_long_pause() {
        let syn = Segment { syn: true, ..Segment::default() };
        for seed in 0..20 {
            let mut kernel = Kernel::new(Stream::new(seed, 0));
            let takes = kernel.hears(at(1000), &syn).since(at(1000));
            assert!(takes >= OPENING[2][0] && takes <= OPENING[2][1], "{takes:?}");
        }
    }

    #[test]
    fn what_comes_behind_another_is_not_heard_before_it() {
        let mut kernel = Kernel::new(Stream::new(1, 0));
        let heard: Vec<Instant> = (0..1000).map(|micros| kernel.hears(at(micros), &acknowledgment())).collect();
        assert!(heard.windows(2).all(|two| two[0] < two[1]), "{heard:?}");
        assert!(heard.windows(2).any(|two| two[1].since(two[0]) == BEHIND_ANOTHER), "{heard:?}");
    }
}
