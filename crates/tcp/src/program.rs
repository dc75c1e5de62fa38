//! The program that uses a host's endpoints: it runs a while after something has happened that it waits for.
//!
//! A processor that has slept takes longest to come back to it; one that was at work a moment ago is still awake (Linux polls a while
//! before it sleeps: cpuidle's haltpoll), and what happens before the program runs is answered in the same go. So the requests over six
//! connections leave within some 0.1 ms of each other, as do the answers, and not each after a pause of its own: which of them find
//! room in a queue depends on it.

use crate::TcpConfig;
use crate::behavior::Behavior;
use crate::host::draw;
use farhop_units::Instant;
use farhop_units::random::{Dice, Stream};
use std::time::Duration;

/// How long a processor stays awake after the program has run: seen on Linux 6.18 are 15 to 60 µs after pauses of up to 1 ms, 50 to 140
/// after some ms, 60 to 250 after more, and up to 400 on an idle machine.
const AWAKE: Duration = Duration::from_millis(1);
/// What an answer takes then, at least and at most.
const AT_WORK: [Duration; 2] = [Duration::from_micros(10), Duration::from_micros(50)];

/// When a host's program runs.
#[derive(Debug, Clone)]
pub struct Program {
    /// The longest that it takes from sleep.
    waking: Duration,
    dice: Dice,
    /// When it ran last, or will next.
    runs: Instant,
}

impl Program {
    /// Whether programs of this profile's hosts take any time; else they run at once.
    pub fn takes_time(config: &TcpConfig) -> bool {
        !Behavior::of(config).waking.is_zero()
    }

    /// Of a host with this profile, where they do; how long it takes each time is drawn from `random`.
    pub fn new(config: &TcpConfig, random: Stream) -> Self {
        Self { waking: Behavior::of(config).waking, dice: Dice::new(random), runs: Instant::START }
    }

    /// When it reads what happens now.
    pub fn reads(&mut self, now: Instant) -> Instant {
        if now <= self.runs + AWAKE && self.runs > Instant::START {
            self.runs = self.runs.max(now);
        } else {
            self.runs = now + draw(&mut self.dice, [Duration::ZERO, self.waking]);
        }
        self.runs
    }

    /// When what it does about something that happens now leaves.
    pub fn answers(&mut self, now: Instant) -> Instant {
        self.reads(now);
        self.runs = self.runs.max(now + draw(&mut self.dice, AT_WORK));
        self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    fn program(profile: Profile, seed: u64) -> Program {
        Program::new(&TcpConfig::of(profile), Stream::new(seed, 0))
    }

    /// How long 20 programs take to answer what happens at some time, after others have happened.
    fn spans(profile: Profile, before: &[u64], micros: u64) -> Vec<Duration> {
        let one = |seed: u64| {
            let mut program = program(profile, seed);
            before.iter().for_each(|time| _ = program.reads(at(*time)));
            program.answers(at(micros)).since(at(micros))
        };
        (0..20).map(one).collect()
    }

    #[test]
    fn only_linuxs_programs_take_a_time_and_each_seeds_another() {
        let takes_time = |profile| Program::takes_time(&TcpConfig::of(profile));
        assert_eq!([Profile::Rfc, Profile::Bsd1997, Profile::Linux].map(takes_time), [false, false, true]);
        let linux = spans(Profile::Linux, &[], 1000);
        assert!(linux.iter().all(|span| (10..450).contains(&span.as_micros())), "{linux:?}");
        assert!(linux.iter().any(|span| span.as_micros() > 200) && linux[0] != linux[1], "{linux:?}");
    }

    #[test]
    fn who_has_just_run_answers_soon_and_who_has_not_sleeps_again() {
        let awake = spans(Profile::Linux, &[1000], 2000);
        assert!(awake.iter().all(|span| (10..50).contains(&span.as_micros())), "{awake:?}");
        let asleep = spans(Profile::Linux, &[1000], 3000);
        assert!(asleep.iter().any(|span| span.as_micros() > 200), "{asleep:?}");
    }

    #[test]
    fn what_happens_before_it_runs_is_answered_in_the_same_go() {
        for seed in 0..20 {
            let mut program = program(Profile::Linux, seed);
            let first = program.answers(at(1000));
            let [second, third] = [1, 2].map(|n| program.answers(at(1000 + n)));
            let soon = Duration::from_micros(52);
            assert!(first <= second && second <= third && third <= first.max(at(1000)) + soon, "{first:?} {third:?}");
        }
    }
}
