//! When the program at one end reads what arrives, answers, or opens a connection: the later the longer it has not done the same.

use super::ticks::Ticks;
use farhop_scenario::{HostTimes, PROGRAM_STAYS_AWAKE, PROGRAM_WRITES, PROGRAM_WRITES_ON_SPEEDUP, PauseTimes};
use std::time::Duration;

/// The program that has all connections of one end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Program<'a> {
    /// What it takes until it has answered, and until it has opened a connection, by how long it has not done that, and until it has read, by how long it
    /// has not run; none if it does so at once.
    times: Option<[&'a PauseTimes; 3]>,
    runs: Last,
    answered: Last,
    opened: Last,
    /// Rounds in which it wrote on repeat: time that is skipped is none since then.
    wrote_on: Last,
    /// When something came that it has read last.
    read: Ticks,
}

/// When a program did something last, or will next.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    at: Option<Ticks>,
    /// Time that was skipped since.
    rested: Ticks,
}

impl Last {
    const fn new(at: Ticks) -> Self {
        Self { at: Some(at), rested: Ticks::ZERO }
    }

    /// How long ago that was.
    fn since(&self, now: Ticks) -> Option<Ticks> {
        self.at.map(|at| (now + self.rested).since(at))
    }

    /// Whether the program has not slept since.
    fn is_awake(&self, now: Ticks) -> bool {
        self.since(now).is_some_and(|pause| pause <= Ticks::of(PROGRAM_STAYS_AWAKE))
    }
}

impl<'a> Program<'a> {
    /// The client's and the server's on hosts that take so long.
    pub(crate) fn both(times: &'a HostTimes) -> [Self; 2] {
        let of = |takes| Self { times: Some([takes, &times.opening, &times.reading]), ..Self::default() };
        [&times.client, &times.server].map(of)
    }

    /// When it reads what arrives now.
    #[inline(always)]
    pub(crate) fn reads(&mut self, now: Ticks) -> Ticks {
        let runs = match self.runs.at {
            Some(runs) if self.runs.is_awake(now) => runs.max(now),
            _ => self.wakes(now),
        };
        (self.runs, self.read) = (Last::new(runs), now);
        runs
    }

    /// So much time is skipped in which it does nothing.
    pub(crate) fn rest(&mut self, span: Ticks) {
        self.runs.rested += span;
        self.reads_through(span);
    }

    /// So much time is skipped in which it reads and does nothing else.
    pub(crate) fn reads_through(&mut self, span: Ticks) {
        self.answered.rested += span;
        self.opened.rested += span;
    }

    #[inline(never)]
    fn wakes(&self, now: Ticks) -> Ticks {
        self.times.map_or(now, |[.., times]| now + after(times, self.runs.since(now)))
    }

    /// When what it does about something that happens now leaves, if it takes a time of its own.
    pub(crate) fn answers(&mut self, now: Ticks) -> Option<Ticks> {
        let [times, ..] = self.times?;
        let takes = after(times, self.answered.since(now));
        let answers = self.reads(now).max(now + takes) + Ticks::of(PROGRAM_WRITES);
        (self.runs, self.answered) = (Last::new(answers), Last::new(answers));
        Some(answers)
    }

    /// When it puts more of what it writes into a send buffer in which it finds room now, if it takes a time of its own: it is no sooner to answer
    /// afterwards.
    pub(crate) fn writes_on(&mut self, now: Ticks) -> Option<Ticks> {
        let [times, ..] = self.times?;
        let ran = [self.runs, self.wrote_on].into_iter().filter(|last| last.is_awake(now)).filter_map(|last| last.at);
        let begins = ran.max().map_or(now, |ran| ran.max(now));
        let takes = after(times, self.wrote_on.since(now)).per(PROGRAM_WRITES_ON_SPEEDUP.into());
        let writes = begins + takes + Ticks::of(PROGRAM_WRITES);
        self.wrote_on = Last::new(writes);
        Some(writes)
    }

    /// How long it has not written on, as far as it decides how long it takes the next time.
    pub(crate) fn since_writing(&self, now: Ticks) -> Ticks {
        let Some([times, ..]) = self.times else { return Ticks::ZERO };
        let longest = times.pauses().last().map_or(Duration::ZERO, |after| after.pause);
        let most = Ticks::of(longest) + Ticks::from_nanos(1);
        self.wrote_on.since(now).map_or(most, |pause| pause.min(most))
    }

    /// When it has opened a connection for something that happens now, one after the other, if it takes a time of its own.
    pub(crate) fn opens(&mut self, now: Ticks) -> Option<Ticks> {
        let [_, times, _] = self.times?;
        let reads = self.runs.at.filter(|runs| *runs >= now && !self.opened.is_awake(now));
        let opened = match reads {
            // No sooner than any behind what it has read.
            Some(runs) => {
                let least = Ticks::of(times.after(Some(Duration::ZERO)).at(0));
                (self.read + after(times, self.opened.since(now))).max(runs + least)
            }
            None => self.runs.at.unwrap_or(now).max(now) + self.opening(),
        };
        (self.runs, self.opened) = (Last::new(opened), Last::new(opened));
        Some(opened)
    }

    /// When it has opened a connection that it opens then, of its own accord.
    pub(crate) fn opens_later(&mut self, then: Ticks) -> Ticks {
        let opened = then + self.opening();
        self.opened = Last::new(opened);
        opened
    }

    /// What it takes to open a connection behind another one, or of its own accord.
    fn opening(&self) -> Ticks {
        self.times.map_or(Ticks::ZERO, |[_, times, _]| after(times, Some(Ticks::ZERO)))
    }
}

/// The mean of what it takes after such a pause.
fn after(times: &PauseTimes, pause: Option<Ticks>) -> Ticks {
    Ticks::of(times.after(pause.map(Ticks::to_duration)).mean())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_scenario::AfterPause;

    const fn at(micros: u64) -> Ticks {
        Ticks::from_micros(micros)
    }

    /// Within a millisecond, later, and after more than 10 ms.
    fn times(micros: [u64; 3]) -> PauseTimes {
        let after = |(millis, micros): (u64, u64)| AfterPause {
            pause: Duration::from_millis(millis),
            // Their mean is none of their quantiles.
            quantiles: [(0, micros / 4), (500, micros / 2), (PauseTimes::ALL, micros * 11 / 4)]
                .map(|(share, micros)| (share, Duration::from_micros(micros)))
                .to_vec(),
        };
        PauseTimes::new([0, 1, 10].into_iter().zip(micros).map(after).collect()).expect("in order")
    }

    fn both() -> [PauseTimes; 2] {
        [times([20, 200, 300]), times([40, 500, 700])]
    }

    /// One that reads as late as it answers.
    fn program([takes, opens]: &[PauseTimes; 2]) -> Program<'_> {
        Program { times: Some([takes, opens, takes]), ..Program::default() }
    }

    #[test]
    fn what_comes_while_it_is_awake_is_read_at_once() {
        let times = both();
        let mut program = program(&times);
        let reads = [0, 100, 300, 1300, 2301, 20_000].map(|micros| program.reads(at(micros)));
        assert_eq!(reads, [300, 300, 300, 1300, 2501, 20_300].map(at), "it had never run, and sleeps again in the end");
        let mut none = Program::default();
        assert_eq!(([none.reads(at(0)), none.reads(at(9000))], none.answers(at(9000))), ([at(0), at(9000)], None));
        assert_eq!((none.opens(at(9000)), none.opening()), (None, Ticks::ZERO));
    }

    #[test]
    fn it_reads_by_how_long_it_has_not_run_and_answers_later() {
        let (both, reading) = (both(), times([4, 32, 52]));
        let host = HostTimes { client: both[0].clone(), opening: both[1].clone(), reading, ..HostTimes::quiet() };
        let [mut client, _] = Program::both(&host);
        assert_eq!([0, 100, 2000].map(|micros| client.reads(at(micros))), [52, 100, 2032].map(at));
        assert_eq!(client.answers(at(2500)), Some(at(2803)), "it has never asked");
    }

    #[test]
    fn it_sleeps_through_what_is_skipped() {
        let times = both();
        let mut sleeping = program(&times);
        sleeping.reads(at(0));
        sleeping.rest(at(20_000));
        assert_eq!([400, 500].map(|micros| sleeping.reads(at(micros))), [at(700), at(700)]);
        assert_eq!(sleeping.reads(at(3000)), at(3200), "that is over");
        let mut waking = program(&times);
        assert_eq!(waking.reads(at(0)), at(300));
        waking.rest(at(1050));
        assert_eq!(waking.reads(at(200)), at(300), "0.95 ms after it has read");
        let mut reading = program(&times);
        assert_eq!(reading.answers(at(0)), Some(at(303)));
        reading.reads_through(at(20_000));
        assert_eq!(reading.reads(at(400)), at(400), "it is awake");
        assert_eq!(reading.answers(at(400)), Some(at(703)), "but has not answered for long");
        assert_eq!(reading.answers(at(1000)), Some(at(1023)), "that is over");
    }

    #[test]
    fn it_answers_by_how_long_it_has_not() {
        let times = both();
        let mut program = program(&times);
        let answers = [0, 100, 1000, 2500].map(|micros| program.answers(at(micros)));
        assert_eq!(answers, [at(303), at(306), at(1023), at(2703)].map(Some));
        assert_eq!([3400, 4300, 5200].map(|micros| program.reads(at(micros))), [3400, 4300, 5200].map(at));
        assert_eq!(program.answers(at(5200)), Some(at(5403)), "it was awake, but has not answered");
    }

    #[test]
    fn it_takes_half_as_long_for_room_and_is_no_sooner_to_answer() {
        let times = both();
        let mut writing = program(&times);
        assert_eq!(writing.answers(at(0)), Some(at(303)));
        let writes = [20_303, 22_000, 22_500, 22_502].map(|now| writing.writes_on(at(now)));
        assert_eq!(
            writes,
            [20_456, 22_103, 22_513, 22_526].map(|then| Some(at(then))),
            "awake it does one after the other"
        );
        assert_eq!(writing.since_writing(at(25_000)), at(25_000 - 22_526));
        assert_eq!(writing.since_writing(at(90_000)), at(10_000) + Ticks::from_nanos(1), "no pause is longer");
        assert_eq!(writing.answers(at(22_600)), Some(at(22_903)), "since it has answered");
        assert_eq!(writing.writes_on(at(23_000)), Some(at(23_013)));
        writing.rest(at(20_000));
        assert_eq!(writing.writes_on(at(23_100)), Some(at(23_113)), "rounds repeat");
        assert_eq!(writing.answers(at(44_000)), Some(at(44_303)));
        assert_eq!(writing.writes_on(at(44_100)), Some(at(44_303 + 150 + 3)), "when it has answered");
        assert_eq!(Program::default().writes_on(at(0)), None);
    }

    #[test]
    fn it_opens_the_first_connection_for_what_it_reads_later_than_it_answers() {
        let both = both();
        let mut program = program(&both);
        assert_eq!(program.opening(), at(40));
        assert_eq!(program.opens(at(1000)), Some(at(1040)), "of its own accord");
        program.reads(at(5000));
        assert_eq!([(); 2].map(|()| program.opens(at(5000))), [5500, 5540].map(|then| Some(at(then))));
        program.reads(at(9000));
        assert_eq!(program.opens(at(9900)), Some(at(9940)), "it had read that before");
        program.reads(at(20_000));
        program.reads(at(20_850));
        assert_eq!(program.opens(at(20_850)), Some(at(21_550)), "awake as well");
        let reads = program.reads(at(40_000));
        assert_eq!(reads, at(40_300));
        program.reads(at(40_100));
        assert_eq!(program.opens(reads), Some(at(40_800)), "since what names it came");
        let slow = [times([20, 200, 900]), both[1].clone()];
        let mut late = self::program(&slow);
        let reads = late.reads(at(5000));
        assert_eq!(late.opens(reads), Some(reads + at(40 / 4)), "no sooner than behind what it reads");
        let mut later = self::program(&both);
        assert_eq!(later.opens_later(at(9000)), at(9040));
        later.reads(at(14_000));
        assert_eq!(later.opens(at(14_000)), Some(at(14_500)), "since it opened that");
        assert_eq!((later.opens(at(14_000)), later.opens(at(14_000))), (Some(at(14_540)), Some(at(14_580))));
    }
}
