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
//! 96 µs. What they take is for the most part until they wake up: a packet that comes meanwhile is got to right behind the one before, so that of five
//! SYNs that come within 100 µs to a kernel which takes 60 the last ones take a third of that. The least round-trip time that a connection knows is often
//! that of its handshake, and a probe's acknowledgement that is quicker says nothing of what was lost (RFC 8985 §6.2, Step 2). The first packet of a
//! round trip often comes after a pause: what it takes longer than the others is what they come sooner to a queue that
//! serves them at their own pace.
//!
//! Both ends' hosts share a processor there, as they do on one machine: whoever owns these kernels lets one get to a packet after the other has, and
//! pacing timers wait for both. Where packets fall due at both ends at nearly the same time that is 10 to 25 µs.
//!
//! All of this is of a quiet machine. On another one, or in another hour, the same answers may take twice as long, and some of them ten times, and
//! means of loads whose queues are short follow that: so these times are an input like a rate ([`crate::HostTimes`]), which can be measured. What
//! sending takes is always a quiet machine's.

use crate::Segment;
use crate::host::draw;
use crate::host_times::{ALL_PARTS, HostTimes, PauseTimes};
use farhop_units::random::{Dice, Stream};
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// What each takes that waits behind another; and a SYN or what answers it.
const BEHIND_ANOTHER: Duration = Duration::from_nanos(300);
const OPENS_BEHIND_ANOTHER: [Duration; 2] = [Duration::from_micros(1), Duration::from_micros(5)];

/// When a host's kernel gets to packets.
#[derive(Debug, Clone)]
pub struct Kernel {
    times: PauseTimes,
    data: PauseTimes,
    syn: PauseTimes,
    syn_ack: PauseTimes,
    dice: Dice,
    /// When the last one came, and when it got to it.
    last: Option<(Instant, Instant)>,
}

impl Kernel {
    /// Of a host that takes such times; how long each time is drawn from `random`.
    pub fn new(times: &HostTimes, random: Stream) -> Self {
        let HostTimes { kernel, data, syn, syn_ack, .. } = times.clone();
        Self { times: kernel, data, syn, syn_ack, dice: Dice::new(random), last: None }
    }

    /// When it gets, or got, to the last packet.
    pub fn last(&self) -> Option<Instant> {
        self.last.map(|(_, heard)| heard)
    }

    /// When it gets to `segment`, which comes now: one after the other.
    pub fn hears(&mut self, now: Instant, segment: &Segment) -> Instant {
        let times = match (segment.syn, segment.acknowledgment) {
            (true, None) => &self.syn,
            (true, Some(_)) => &self.syn_ack,
            _ if segment.payload > Bytes::ZERO => &self.data,
            _ => &self.times,
        };
        let heard = match self.last.filter(|(_, heard)| *heard > now) {
            Some((_, before)) if segment.syn => before + draw(&mut self.dice, OPENS_BEHIND_ANOTHER),
            Some((_, before)) => before + BEHIND_ANOTHER,
            None => {
                let pause = self.last.map(|(came, _)| now.since(came.min(now)));
                now + times.after(pause).at_part(self.dice.below(ALL_PARTS))
            }
        };
        self.last = Some((now, heard));
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AfterPause, HostTimes, Sequence};

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    const fn micros([least, most]: [u64; 2]) -> [Duration; 2] {
        [Duration::from_micros(least), Duration::from_micros(most)]
    }

    fn acknowledgment() -> Segment {
        Segment { acknowledgment: Some(Sequence::FIRST_BYTE), ..Segment::default() }
    }

    /// What it takes in ns to hear of such a segment so long after another one, a thousand times, in order.
    fn times(segment: &Segment, pause_us: u64) -> Vec<u128> {
        let mut kernel = Kernel::new(&HostTimes::quiet(), Stream::new(1, 0));
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
            (acknowledgment(), 11_000, micros([10, 18])),
            (acknowledgment(), 31_000, micros([11, 26])),
            (acknowledgment(), 61_000, micros([13, 42])),
            (acknowledgment(), 121_000, micros([20, 55])),
            (acknowledgment(), 301_000, micros([45, 105])),
            (syn, 29_000, micros([12, 25])),
            (syn, 31_000, micros([19, 52])),
            (syn, 299_000, micros([19, 52])),
            (syn, 301_000, micros([64, 120])),
            (answer, 29_000, micros([14, 23])),
            (answer, 31_000, micros([16, 50])),
            (answer, 301_000, micros([41, 80])),
        ] {
            let times = times(&segment, pause_us);
            assert!(times[0] >= least.as_nanos() && times[999] <= most.as_nanos(), "{segment:?}: {times:?}");
            assert!(times[900] - times[100] > (most - least).as_nanos() / 2, "{segment:?}: {times:?}");
        }
    }

    #[test]
    fn another_machine_takes_what_was_measured_there() {
        let after = |millis, times: [u64; 3]| AfterPause {
            pause: Duration::from_millis(millis),
            quantiles: [0, 900, 1000].into_iter().zip(times.map(Duration::from_micros)).collect(),
        };
        let pauses = vec![after(0, [20, 30, 200]), after(7, [40, 50, 50])];
        let kernel = PauseTimes::new(pauses).expect("in order");
        let times = HostTimes { kernel, ..HostTimes::quiet() };
        let takes = |pause_us: u64| {
            let mut kernel = Kernel::new(&times, Stream::new(1, 0));
            let mut one = |number: u64| {
                let now = at(number * 1_000_000 + 1_000_000);
                kernel.hears(now, &acknowledgment());
                let comes = now + Duration::from_micros(pause_us);
                kernel.hears(comes, &acknowledgment()).since(comes).as_micros()
            };
            let mut takes: Vec<u128> = (0..1000).map(&mut one).collect();
            takes.sort_unstable();
            takes
        };
        let soon = takes(6999);
        assert!(soon[0] == 20 && (24..27).contains(&soon[450]) && (29..34).contains(&soon[900]), "{soon:?}");
        assert!(soon[990] > 120 && soon[999] <= 200, "{soon:?}");
        let late = takes(7001);
        assert!(late[0] == 40 && (44..47).contains(&late[450]) && (49..=50).contains(&late[999]), "{late:?}");
    }

    #[test]
    fn data_take_what_data_do() {
        let of = |micros: u64| {
            let quantiles = [0, 1000].map(|share| (share, Duration::from_micros(micros))).to_vec();
            PauseTimes::new(vec![AfterPause { pause: Duration::ZERO, quantiles }]).expect("in order")
        };
        let times = HostTimes { kernel: of(20), data: of(15), syn: of(40), syn_ack: of(30), ..HostTimes::quiet() };
        let mut kernel = Kernel::new(&times, Stream::new(1, 0));
        let syn = Segment { syn: true, ..Segment::default() };
        let data = Segment { payload: Bytes::new(1), ..acknowledgment() };
        let all = [acknowledgment(), data, syn, Segment { syn: true, ..acknowledgment() }];
        let takes =
            all.into_iter().zip(2..).map(|(segment, ms)| kernel.hears(at(ms * 1000), &segment).since(at(ms * 1000)));
        assert_eq!(takes.map(|takes| takes.as_micros()).collect::<Vec<_>>(), [20, 15, 40, 30]);
    }

    #[test]
    fn the_first_packet_comes_after_a_long_pause() {
        let syn = Segment { syn: true, ..Segment::default() };
        for seed in 0..20 {
            let mut kernel = Kernel::new(&HostTimes::quiet(), Stream::new(seed, 0));
            let takes = kernel.hears(at(1000), &syn).since(at(1000));
            assert!((64..=120).contains(&takes.as_micros()), "{takes:?}");
        }
    }

    #[test]
    fn what_comes_while_it_wakes_up_is_got_to_right_behind_the_one_before() {
        let syn = Segment { syn: true, ..Segment::default() };
        let mut kernel = Kernel::new(&HostTimes::quiet(), Stream::new(1, 0));
        let first = kernel.hears(at(0), &syn);
        let behind = [10, 20, 30].map(|micros| kernel.hears(at(micros), &syn));
        for two in [first].into_iter().chain(behind).collect::<Vec<_>>().windows(2) {
            assert!((1..=5).contains(&two[1].since(two[0]).as_micros()), "{two:?}");
        }
        assert_eq!(kernel.hears(at(40), &acknowledgment()).since(behind[2]), BEHIND_ANOTHER);
        let awake = kernel.hears(at(1000), &syn).since(at(1000));
        assert!((12..=25).contains(&awake.as_micros()), "{awake:?}");
    }

    #[test]
    fn what_comes_behind_another_is_not_heard_before_it() {
        let mut kernel = Kernel::new(&HostTimes::quiet(), Stream::new(1, 0));
        let heard: Vec<Instant> = (0..1000).map(|micros| kernel.hears(at(micros), &acknowledgment())).collect();
        assert!(heard.windows(2).all(|two| two[0] < two[1]), "{heard:?}");
        assert!(heard.windows(2).any(|two| two[1].since(two[0]) == BEHIND_ANOTHER), "{heard:?}");
    }
}
