//! The program that uses a host's endpoints: it runs a while after something has happened that it waits for.
//!
//! A processor that has slept takes longest to come back to it; one that was at work a moment ago is still awake (Linux polls a while
//! before it sleeps: cpuidle's haltpoll), and what happens before the program runs is answered in the same go. So the requests over six
//! connections leave within some 0.1 ms of each other, as do the answers, and not each after a pause of its own: which of them find
//! room in a queue depends on it.
//!
//! What it takes from sleep is an input like what a kernel takes ([`crate::HostTimes`]), and follows how long it has not run: caches are cold then, and
//! processors sleep deeper. On a quiet machine the median grows from 8 µs after 2 ms to 0.2 ms after 160 and half a millisecond after 400, of clients that
//! ask as of servers that answer, and until a client has opened the first connection for what a document names from 64 µs to 0.7 ms. It was heard in the
//! packets of 16 loads of each of 18 kinds over 2 to 500 ms of round trip on Linux 6.18 (2300 requests, 200 openings and 2400 answers): from when its kernel has
//! acknowledged what it answers, or from when that was delivered less what [`crate::Kernel`] takes. On another machine, or beside other work, it is longer.

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
pub const PROGRAM_AT_WORK: [Duration; 2] = [Duration::from_micros(3), Duration::from_micros(24)];
/// And to write one.
pub const PROGRAM_WRITES: Duration = Duration::from_micros(3);
/// What it takes to open a connection when it is at work: seen are 10 to 50 µs to each but the first SYN.
pub const PROGRAM_OPENS: [Duration; 2] = [Duration::from_micros(10), Duration::from_micros(36)];

/// When a host's program runs.
#[derive(Debug, Clone)]
pub struct Program {
    /// What it takes from sleep until it has done something, and until it has opened a connection.
    times: PauseTimes,
    opening: PauseTimes,
    dice: Dice,
    /// When it ran last, or will next.
    runs: Instant,
    /// When it ran last, or will next, to write on.
    writes_on: Instant,
    /// What woke it last.
    woken: Option<Instant>,
    /// If it has slept before that and has opened nothing since, from when it has opened a connection.
    first_opens: Option<Instant>,
}

impl Program {
    /// Whether programs of this profile's hosts take any time; else they run at once.
    pub fn takes_time(config: &TcpConfig) -> bool {
        !Behavior::of(config).waking.is_zero()
    }

    /// Of a host whose programs do; how long it takes each time is drawn from `random`.
    pub fn new(times: PauseTimes, opening: PauseTimes, random: Stream) -> Self {
        Self {
            times,
            opening,
            dice: Dice::new(random),
            runs: Instant::START,
            writes_on: Instant::START,
            woken: None,
            first_opens: None,
        }
    }

    /// When it reads what happens now.
    pub fn reads(&mut self, now: Instant) -> Instant {
        let pause = (self.runs > Instant::START).then(|| now.since(self.runs.min(now)));
        if pause.is_some_and(|pause| pause <= PROGRAM_STAYS_AWAKE) {
            self.runs = self.runs.max(now);
        } else {
            let part = self.dice.below(ALL_PARTS);
            self.runs = now + self.times.after(pause).at_part(part);
            (self.woken, self.first_opens) = (Some(now), Some(now + self.opening.after(pause).at_part(part)));
        }
        self.runs
    }

    /// When a connection opens for something that it has read now, or that it does of its own accord: one after the other.
    pub fn opens(&mut self, now: Instant) -> Instant {
        let reads = self.runs >= now;
        self.runs = match self.first_opens.take().filter(|_| reads) {
            // No sooner than any behind what it has read since.
            Some(opens) => opens.max(self.runs + PROGRAM_OPENS[0]),
            None => self.runs.max(now) + draw(&mut self.dice, PROGRAM_OPENS),
        };
        self.runs
    }

    /// When what it does about something that happens now leaves.
    pub fn answers(&mut self, now: Instant) -> Instant {
        self.reads(now);
        // What it takes from sleep is all that it takes.
        let at_work = if self.woken == Some(now) { Duration::ZERO } else { draw(&mut self.dice, PROGRAM_AT_WORK) };
        self.runs = (self.runs + PROGRAM_WRITES).max(now + at_work);
        self.runs
    }

    /// When it puts more of what it writes into a send buffer in which it finds room now. It sleeps as long for that as for anything, but is no sooner
    /// to answer afterwards: that is another path through its code, as cold as before (each first answer over a new connection, Linux 6.18, 1 to 2 ms
    /// after the server wrote on over another one, after a pause of 1.2 s: 0.3 to 0.9 ms).
    pub fn writes_on(&mut self, now: Instant) -> Instant {
        let last = self.runs.max(self.writes_on);
        let pause = (last > Instant::START).then(|| now.since(last.min(now)));
        self.writes_on = if pause.is_some_and(|pause| pause <= PROGRAM_STAYS_AWAKE) {
            last.max(now) + draw(&mut self.dice, PROGRAM_AT_WORK)
        } else {
            let part = self.dice.below(ALL_PARTS);
            now + self.times.after(pause).at_part(part) + PROGRAM_WRITES
        };
        self.writes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AfterPause, Profile};

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    /// As likely each of 8 to 64 µs from sleep, and of 50 to 150 until a connection is opened.
    fn program(seed: u64) -> Program {
        let times = |micros: [u64; 2]| {
            let quantiles = [0, PauseTimes::ALL].into_iter().zip(micros.map(Duration::from_micros)).collect();
            PauseTimes::new(vec![AfterPause { pause: Duration::ZERO, quantiles }]).expect("in order")
        };
        Program::new(times([8, 64]), times([50, 150]), Stream::new(seed, 0))
    }

    /// So many µs each time after a pause of so many ms.
    fn after(millis: u64, micros: u64) -> AfterPause {
        let quantiles = [0, PauseTimes::ALL].map(|share| (share, Duration::from_micros(micros))).to_vec();
        AfterPause { pause: Duration::from_millis(millis), quantiles }
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
            assert!(asleep[0] >= 11 && (30..50).contains(&asleep[20]) && (58..68).contains(&asleep[39]), "{asleep:?}");
        }
    }

    #[test]
    fn programs_of_another_machine_take_what_was_measured_there() {
        let times = PauseTimes::new(vec![after(0, 100), after(30, 200)]).expect("in order");
        let takes = |pause_ms: u64| {
            let mut program = Program::new(times.clone(), times.clone(), Stream::new(1, 1));
            let slept = program.answers(at(1000)) + Duration::from_millis(pause_ms);
            program.answers(slept).since(slept) - PROGRAM_WRITES
        };
        assert_eq!([29, 31].map(takes), [100, 200].map(Duration::from_micros));
        let mut reading = Program::new(times.clone(), times, Stream::new(1, 1));
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
            let [first, second, third] = [(); 3].map(|()| program.opens(reads));
            let spans = [first.since(at(5000)), second.since(first), third.since(second)].map(|span| span.as_micros());
            assert!((10..36).contains(&alone) && (50..150).contains(&spans[0]), "{alone} {spans:?}");
            assert!(reads < first && spans[1..].iter().all(|span| (10..36).contains(span)), "{spans:?}");
            // What it reads later, awake, takes no longer for that, and no less than any.
            for late in [0, 1] {
                let begins = 20_000 * (late + 1);
                program.reads(at(begins));
                let read = program.reads(at(begins + 500));
                let awake = program.opens(read + Duration::from_micros(late)).since(at(begins + 500)).as_micros();
                assert!((10..37).contains(&awake), "{awake}");
            }
        }
    }

    #[test]
    fn the_first_connection_takes_what_was_measured_after_that_pause() {
        let [takes, opening] = [[100, 200], [300, 500]]
            .map(|[short, long]| PauseTimes::new(vec![after(0, short), after(30, long)]).expect("in order"));
        for (pause_ms, micros) in [(29, 300), (31, 500)] {
            let mut program = Program::new(takes.clone(), opening.clone(), Stream::new(1, 1));
            let wakes = program.answers(at(1000)) + Duration::from_millis(pause_ms);
            let reads = program.reads(wakes);
            assert_eq!(program.opens(reads), wakes + Duration::from_micros(micros));
        }
    }

    #[test]
    fn who_finds_room_sleeps_as_long_for_it_and_is_no_sooner_to_answer() {
        let times = PauseTimes::new(vec![after(0, 100), after(30, 200)]).expect("in order");
        let mut program = Program::new(times.clone(), times, Stream::new(1, 1));
        let slept = |micros| Duration::from_micros(micros) + PROGRAM_WRITES;
        assert_eq!(program.answers(at(1000)), at(1000) + slept(200));
        assert_eq!(program.writes_on(at(41_203)), at(41_203) + slept(200), "since it has answered");
        assert_eq!(program.writes_on(at(51_000)), at(51_000) + slept(100), "since it has written on");
        let awake = program.writes_on(at(51_500)).since(at(51_500));
        assert!((PROGRAM_AT_WORK[0]..PROGRAM_AT_WORK[1]).contains(&awake), "{awake:?}");
        assert_eq!(program.answers(at(51_600)), at(51_600) + slept(200), "since it has answered");
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
