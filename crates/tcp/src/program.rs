//! The program that uses a host's endpoints: it runs a while after something has happened that it waits for.
//!
//! A processor that has slept takes longest to come back to it; one that was at work a moment ago is still awake (Linux polls a while
//! before it sleeps: cpuidle's haltpoll), and what happens before the program runs is answered in the same go. So the requests over six
//! connections leave within some 0.1 ms of each other, as do the answers, and not each after a pause of its own: which of them find
//! room in a queue depends on it.
//!
//! What it takes is an input like what a kernel takes ([`crate::HostTimes`]), and follows how long it has not done the same: caches are cold then, and
//! processors sleep deeper. How long it has not run at all says less: a client that reads every 6 ms opens a connection after 0.47 ms if it has opened
//! none for 0.7 s, and after 0.04 behind another one. On a quiet machine the median grows from 1 µs of clients that
//! ask and 9 of servers that answer within a millisecond to 0.02 and 0.15 ms after 40, and 0.2 and 0.5 after 400, and until a client has opened the first
//! connection for what a document names from 0.02 to 0.7 ms. It was heard in the packets of 120 loads of 11 kinds over 4 to 750 ms of round trip on
//! Linux 6.18 (3200 requests, as many answers and 240 openings): from when its kernel has acknowledged what it answers, or from when that was delivered
//! less what [`crate::Kernel`] takes. On another machine, or beside other work, it is longer.

use crate::TcpConfig;
use crate::behavior::Behavior;
use crate::host_times::{ALL_PARTS, HostTimes, PauseTimes};
use farhop_units::Instant;
use farhop_units::random::{Dice, Stream};
use std::time::Duration;

/// How long a processor stays awake after the program has run.
pub const PROGRAM_STAYS_AWAKE: Duration = Duration::from_millis(1);
/// What it takes to write an answer, awake or not.
pub const PROGRAM_WRITES: Duration = Duration::from_micros(3);
/// One that finds room in a send buffer is so many times as fast as one that answers, since it has nothing to read: 0.39 ms for a quiet machine's 0.65 and
/// 2.7 for a busy one's 5.4 (Linux 6.18, the middle of 16 and of 10 loads in which it had not written on for 0.7 s).
pub const PROGRAM_WRITES_ON_SPEEDUP: u32 = 2;

/// When a host's program runs.
#[derive(Debug, Clone)]
pub struct Program {
    /// What it takes until it has answered, and until it has opened a connection, by how long it has not done that; and until it has read, by how long it
    /// has not run.
    times: PauseTimes,
    opening: PauseTimes,
    reading: PauseTimes,
    dice: Dice,
    /// When it ran last, or will next.
    runs: Instant,
    /// When it answered last, opened a connection and wrote on, or will next.
    answered: Instant,
    opened: Instant,
    wrote_on: Instant,
    /// What it has read last.
    read: Instant,
    /// What woke it last, and how late it is then, of all parts.
    woken: Option<(Instant, u64)>,
}

impl Program {
    /// Whether programs of this profile's hosts take any time; else they run at once.
    pub fn takes_time(config: &TcpConfig) -> bool {
        !Behavior::of(config).waking.is_zero()
    }

    /// Of a host of such times whose programs do; it `answers` after such. How long it takes each time is drawn from `random`.
    pub fn new(host: &HostTimes, answers: &PauseTimes, random: Stream) -> Self {
        Self {
            times: answers.clone(),
            opening: host.opening.clone(),
            reading: host.reading.clone(),
            dice: Dice::new(random),
            runs: Instant::START,
            answered: Instant::START,
            opened: Instant::START,
            wrote_on: Instant::START,
            read: Instant::START,
            woken: None,
        }
    }

    /// When it reads what happens now.
    pub fn reads(&mut self, now: Instant) -> Instant {
        let pause = pause_since(self.runs, now);
        if is_awake(pause) {
            self.runs = self.runs.max(now);
        } else {
            let part = self.dice.below(ALL_PARTS);
            self.runs = now + self.reading.after(pause).at_part(part);
            self.woken = Some((now, part));
        }
        self.read = now;
        self.runs
    }

    /// When a connection opens for something that it has read last, or that it does of its own accord: one after the other.
    pub fn opens(&mut self, now: Instant) -> Instant {
        let since = pause_since(self.opened, now);
        let reads = self.runs > Instant::START && self.runs >= now;
        self.opened = if reads && !is_awake(since) {
            let part = self.part_of(self.read);
            // No sooner than any behind what it has read.
            let least = self.opening.after(Some(Duration::ZERO)).at_part(0);
            (self.read + self.opening.after(since).at_part(part)).max(self.runs + least)
        } else {
            let part = self.dice.below(ALL_PARTS);
            self.runs.max(now) + self.opening.after(Some(Duration::ZERO)).at_part(part)
        };
        self.runs = self.opened;
        self.runs
    }

    /// When what it does about something that happens now leaves.
    pub fn answers(&mut self, now: Instant) -> Instant {
        let since = pause_since(self.answered, now);
        self.reads(now);
        let part = self.part_of(now);
        self.runs = self.runs.max(now + self.times.after(since).at_part(part)) + PROGRAM_WRITES;
        self.answered = self.runs;
        self.runs
    }

    /// When it puts more of what it writes into a send buffer in which it finds room now. It is no sooner to answer afterwards: that is another path
    /// through its code, as cold as before (each first answer over a new connection, Linux 6.18, 1 to 2 ms after the server wrote on over another one,
    /// after a pause of 1.2 s: 0.3 to 0.9 ms).
    pub fn writes_on(&mut self, now: Instant) -> Instant {
        let last = self.runs.max(self.wrote_on);
        let begins = if is_awake(pause_since(last, now)) { last.max(now) } else { now };
        let since = pause_since(self.wrote_on, now);
        let part = self.dice.below(ALL_PARTS);
        self.wrote_on = begins + self.times.after(since).at_part(part) / PROGRAM_WRITES_ON_SPEEDUP + PROGRAM_WRITES;
        self.wrote_on
    }

    /// How late it is to do something about what happened then: once for all that it does about what woke it.
    fn part_of(&mut self, then: Instant) -> u64 {
        let woken = self.woken.filter(|(woken, _)| *woken == then);
        woken.map_or_else(|| self.dice.below(ALL_PARTS), |(_, part)| part)
    }
}

/// How long ago that was; none if it never was.
fn pause_since(last: Instant, now: Instant) -> Option<Duration> {
    (last > Instant::START).then(|| now.since(last.min(now)))
}

fn is_awake(pause: Option<Duration>) -> bool {
    pause.is_some_and(|pause| pause <= PROGRAM_STAYS_AWAKE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AfterPause, Profile};

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    /// As likely each of 0 to 21 µs within a millisecond and of 8 to 64 afterwards, and of 50 to 150 until a connection is opened and 10 to 36 behind another.
    fn program(seed: u64) -> Program {
        let times = PauseTimes::new(vec![between(0, [0, 21]), between(1, [8, 64])]).expect("in order");
        let opening = PauseTimes::new(vec![between(0, [10, 36]), between(1, [50, 150])]).expect("in order");
        program_of(&times, &opening, seed)
    }

    /// One that reads as late as it answers.
    fn program_of(times: &PauseTimes, opening: &PauseTimes, seed: u64) -> Program {
        let host = HostTimes { opening: opening.clone(), reading: times.clone(), ..HostTimes::quiet() };
        Program::new(&host, times, Stream::new(seed, 0))
    }

    /// As likely each time between two, in µs, after a pause of so many ms.
    fn between(millis: u64, micros: [u64; 2]) -> AfterPause {
        let quantiles = [0, PauseTimes::ALL].into_iter().zip(micros.map(Duration::from_micros)).collect();
        AfterPause { pause: Duration::from_millis(millis), quantiles }
    }

    /// So many µs each time after a pause of so many ms.
    fn after(millis: u64, micros: u64) -> AfterPause {
        between(millis, [micros; 2])
    }

    /// How many µs 40 programs take to answer what happens at some time, after others have happened; from the least.
    fn spans(before: &[u64], micros: u64) -> Vec<u128> {
        let one = |seed: u64| {
            let mut program = program(seed);
            before.iter().for_each(|time| _ = program.answers(at(*time)));
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
            let mut program = program_of(&times, &times, 1);
            let slept = program.answers(at(1000)) + Duration::from_millis(pause_ms);
            program.answers(slept).since(slept) - PROGRAM_WRITES
        };
        assert_eq!([29, 31].map(takes), [100, 200].map(Duration::from_micros));
        let mut reading = program_of(&times, &times, 1);
        assert_eq!(reading.reads(at(1000)), at(1200), "it has never run");
        assert_eq!(reading.answers(at(1000)), at(1200) + PROGRAM_WRITES, "it wakes up for both");
        assert_eq!(reading.answers(at(1100)), at(1200) + PROGRAM_WRITES * 2, "it is still waking up");
    }

    #[test]
    fn who_is_awake_takes_what_was_measured_of_such() {
        let times = PauseTimes::new(vec![after(0, 50), after(1, 100)]).expect("in order");
        let mut program = program_of(&times, &times, 1);
        let writes = PROGRAM_WRITES;
        assert_eq!(program.answers(at(1000)), at(1100) + writes);
        assert_eq!(program.answers(at(2000)), at(2050) + writes);
        assert_eq!(program.answers(at(2020)), at(2070) + writes, "while it is at work");
        assert_eq!(program.answers(at(2021)), at(2073) + writes, "after that");
        assert_eq!(program.answers(at(2073)), at(2123) + writes);
        assert_eq!(program.answers(at(3127)), at(3227) + writes, "it has slept");
        assert_eq!([3900, 4500].map(|micros| program.reads(at(micros))), [3900, 4500].map(at));
        assert_eq!(program.answers(at(5000)), at(5100) + writes, "it has read, but not answered");
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
            // That is as cold for who has read in between, and not what it does of its own accord.
            for (late, span) in [(0, 50..150), (1, 10..38)] {
                let begins = 20_000 * (late + 1);
                program.reads(at(begins));
                let read = program.reads(at(begins + 500));
                let awake = program.opens(read + Duration::from_micros(late)).since(at(begins + 500)).as_micros();
                assert!(span.contains(&awake), "{awake}");
            }
        }
    }

    #[test]
    fn the_first_connection_takes_what_was_measured_after_that_pause() {
        let [takes, opening] = [[20, 100, 200], [30, 300, 500]].map(|[least, short, long]| {
            PauseTimes::new(vec![after(0, least), after(1, short), after(30, long)]).expect("in order")
        });
        for (pause_ms, micros) in [(29, 300), (31, 500)] {
            let mut program = program_of(&takes, &opening, 1);
            let opened = program.opens(at(1000));
            assert_eq!(opened, at(1030), "of its own accord");
            let wakes = opened + Duration::from_millis(pause_ms);
            program.answers(opened + Duration::from_millis(pause_ms - 10));
            let reads = program.reads(wakes);
            assert_eq!(program.opens(reads), wakes + Duration::from_micros(micros), "whatever else it has done");
            assert_eq!(program.opens(reads), wakes + Duration::from_micros(micros + 30), "one after the other");
        }
        let mut program = program_of(&PauseTimes::new(vec![after(0, 600)]).expect("in order"), &opening, 1);
        program.reads(at(1000));
        assert_eq!(program.opens(at(1000)), at(1600 + 30), "no sooner than behind what it reads");
    }

    #[test]
    fn who_finds_room_is_sooner_than_who_answers_and_is_no_sooner_to_answer() {
        let times = PauseTimes::new(vec![after(0, 50), after(1, 100), after(30, 200)]).expect("in order");
        let mut program = program_of(&times, &times, 1);
        let slept = |micros| Duration::from_micros(micros) + PROGRAM_WRITES;
        assert_eq!(program.answers(at(1000)), at(1000) + slept(200));
        assert_eq!(
            program.writes_on(at(21_000)),
            at(21_000) + slept(100),
            "half of what an answer takes after it never has"
        );
        assert_eq!(program.writes_on(at(31_000)), at(31_000) + slept(50), "and since it has written on");
        assert_eq!(program.writes_on(at(31_500)), at(31_500) + slept(25), "it is awake");
        assert_eq!(program.writes_on(at(31_510)), at(31_528) + slept(25), "one after the other");
        assert_eq!(program.answers(at(31_600)), at(31_600) + slept(200), "since it has answered");
        assert_eq!(program.writes_on(at(31_700)), at(31_803) + slept(25), "when it has answered");
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
