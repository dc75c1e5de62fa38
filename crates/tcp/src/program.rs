//! The program that uses a host's endpoints: it runs a while after something has happened that it waits for.
//!
//! A processor that has slept takes longest to come back to it; one that was at work a moment ago is still awake (Linux polls a while
//! before it sleeps: cpuidle's haltpoll), and what happens before the program runs is answered in the same go. So the requests over six
//! connections leave within some 0.1 ms of each other, as do the answers, and not each after a pause of its own: which of them find
//! room in a queue depends on it.
//!
//! What it takes from sleep is an input like what a kernel takes ([`crate::HostTimes`]): on a quiet machine, from 8 µs on, each half of an octave up to
//! 64 as likely (between the delivery of an object's end and the next request at the link pass 14 to 95 µs, the median 40, of which some 11 are
//! the kernel's), and a server takes 5 to 45 longer until it answers (between the delivery of a request and its answer pass 17 to 105, the median 60).
//! On another one they follow how long it has slept, and what else is at work.

use crate::TcpConfig;
use crate::behavior::Behavior;
use crate::host::draw;
use crate::host_times::{ALL_PARTS, PauseTimes};
use farhop_units::Instant;
use farhop_units::random::{Dice, Stream};
use std::time::Duration;

/// How long a processor stays awake after the program has run.
pub const PROGRAM_STAYS_AWAKE: Duration = Duration::from_millis(1);
/// What an answer takes then, at least and at most: seen on Linux 6.18 are 13 to 38 µs with what [`crate::Kernel`] takes.
const AT_WORK: [Duration; 2] = [Duration::from_micros(3), Duration::from_micros(24)];
/// And to write one.
pub const PROGRAM_WRITES: Duration = Duration::from_micros(3);
/// What it takes to open a connection, and before the first one to read what names its object, after sleep: seen are 40 to 120 µs to the first SYN and 10 to
/// 50 to each of the next.
const OPENING: [Duration; 2] = [Duration::from_micros(10), Duration::from_micros(36)];
const FINDING: [Duration; 2] = [Duration::from_micros(20), Duration::from_micros(80)];

/// When a host's program runs.
#[derive(Debug, Clone)]
pub struct Program {
    /// What it takes from sleep until it has done something.
    times: PauseTimes,
    dice: Dice,
    /// When it ran last, or will next.
    runs: Instant,
    /// What woke it last.
    woken: Option<Instant>,
    /// It has slept before that, and has opened nothing since.
    has_slept: bool,
}

impl Program {
    /// Whether programs of this profile's hosts take any time; else they run at once.
    pub fn takes_time(config: &TcpConfig) -> bool {
        !Behavior::of(config).waking.is_zero()
    }

    /// Of a host whose programs do; how long it takes each time is drawn from `random`.
    pub fn new(times: PauseTimes, random: Stream) -> Self {
        Self { times, dice: Dice::new(random), runs: Instant::START, woken: None, has_slept: false }
    }

    /// When it reads what happens now.
    pub fn reads(&mut self, now: Instant) -> Instant {
        let pause = (self.runs > Instant::START).then(|| now.since(self.runs.min(now)));
        if pause.is_some_and(|pause| pause <= PROGRAM_STAYS_AWAKE) {
            self.runs = self.runs.max(now);
        } else {
            self.runs = now + self.times.after(pause).at_part(self.dice.below(ALL_PARTS));
            (self.woken, self.has_slept) = (Some(now), true);
        }
        self.runs
    }

    /// When a connection opens for something that it has read now, or that it does of its own accord: one after the other.
    pub fn opens(&mut self, now: Instant) -> Instant {
        let reads = self.runs >= now && core::mem::take(&mut self.has_slept);
        let finds = if reads { draw(&mut self.dice, FINDING) } else { Duration::ZERO };
        self.runs = self.runs.max(now) + finds + draw(&mut self.dice, OPENING);
        self.runs
    }

    /// When what it does about something that happens now leaves.
    pub fn answers(&mut self, now: Instant) -> Instant {
        self.reads(now);
        // What it takes from sleep is all that it takes.
        let at_work = if self.woken == Some(now) { Duration::ZERO } else { draw(&mut self.dice, AT_WORK) };
        self.runs = (self.runs + PROGRAM_WRITES).max(now + at_work);
        self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AfterPause, HostTimes, Profile};

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    fn program(seed: u64) -> Program {
        Program::new(HostTimes::quiet().client, Stream::new(seed, 0))
    }

    /// How many µs 40 programs take to answer what happens at some time, after others have happened; from the least.
    fn spans(before: &[u64], micros: u64) -> Vec<u128> {
        let one = |seed: u64| {
            let mut program = program(seed);
            before.iter().for_each(|time| _ = program.reads(at(*time)));
            program.answers(at(micros)).since(at(micros)).as_micros()
        };
        let mut spans: Vec<_> = (0..40).map(one).collect();
        spans.sort_unstable();
        spans
    }

    #[test]
    fn only_linuxs_programs_take_a_time() {
        let takes_time = |profile| Program::takes_time(&TcpConfig::of(profile));
        assert_eq!([Profile::Rfc, Profile::Bsd1997, Profile::Linux].map(takes_time), [false, false, true]);
    }

    #[test]
    fn who_has_just_run_answers_soon_and_who_has_not_sleeps_again() {
        let awake = spans(&[1000], 2000);
        assert!(awake[0] >= 3 && (19..24).contains(&awake[39]), "{awake:?}");
        for asleep in [spans(&[1000], 3000), spans(&[], 1000)] {
            assert!(asleep[0] >= 11 && (20..40).contains(&asleep[20]) && (50..68).contains(&asleep[39]), "{asleep:?}");
        }
    }

    #[test]
    fn a_server_that_has_slept_takes_longer_to_answer() {
        let HostTimes { client, server, .. } = HostTimes::quiet();
        let one = |times: &PauseTimes, seed: u64, before: &[u64]| {
            let mut program = Program::new(times.clone(), Stream::new(seed, 0));
            before.iter().for_each(|micros| _ = program.answers(at(*micros)));
            program.answers(at(2000)).since(at(2000)).as_micros()
        };
        let longer = |before: &[u64]| {
            let all = (0..400).map(|seed| one(&server, seed, before) - one(&client, seed, before));
            let mut all: Vec<_> = all.collect();
            all.sort_unstable();
            all
        };
        let asleep = longer(&[]);
        assert!(asleep[0] >= 5 && (22..32).contains(&asleep[200]) && (38..46).contains(&asleep[399]), "{asleep:?}");
        assert_eq!(longer(&[1500])[399], 0, "it was at work");
    }

    #[test]
    fn programs_of_another_machine_take_what_was_measured_there() {
        let after = |millis, micros: u64| AfterPause {
            pause: Duration::from_millis(millis),
            quantiles: [0, 1000].map(|share| (share, Duration::from_micros(micros))).to_vec(),
        };
        let times = PauseTimes::new(vec![after(0, 100), after(30, 200)]).expect("in order");
        let takes = |pause_ms: u64| {
            let mut program = Program::new(times.clone(), Stream::new(1, 1));
            let slept = program.answers(at(1000)) + Duration::from_millis(pause_ms);
            program.answers(slept).since(slept) - PROGRAM_WRITES
        };
        assert_eq!([29, 31].map(takes), [100, 200].map(Duration::from_micros));
        let mut reading = Program::new(times, Stream::new(1, 1));
        assert_eq!(reading.reads(at(1000)), at(1200), "it has never run");
        assert_eq!(reading.answers(at(1000)), at(1200) + PROGRAM_WRITES, "it wakes up for both");
        assert_eq!(reading.answers(at(1100)), at(1200) + PROGRAM_WRITES * 2, "it is still waking up");
    }

    #[test]
    fn connections_open_one_after_the_other_and_the_first_when_its_object_is_found() {
        for seed in 0..20 {
            let mut program = program(seed);
            let alone = program.opens(at(1000)).since(at(1000)).as_micros();
            let reads = program.reads(at(5000));
            let [first, second, third] = [(); 3].map(|()| program.opens(at(5000)));
            let spans = [first.since(reads), second.since(first), third.since(second)].map(|span| span.as_micros());
            assert!((10..36).contains(&alone) && (30..116).contains(&spans[0]), "{alone} {spans:?}");
            assert!(spans[1..].iter().all(|span| (10..36).contains(span)), "{spans:?}");
        }
    }

    #[test]
    fn what_happens_before_it_runs_is_answered_in_the_same_go() {
        for seed in 0..20 {
            let mut program = program(seed);
            let first = program.answers(at(1000));
            let [second, third] = [1, 2].map(|n| program.answers(at(1000 + n)));
            let soon = Duration::from_micros(27);
            assert!(first <= second && second <= third && third <= first.max(at(1000)) + soon, "{first:?} {third:?}");
        }
    }
}
