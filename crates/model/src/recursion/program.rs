//! When the program at one end reads what arrives, answers, or opens a connection: some time after it from sleep, soon while its processor is still awake.

use super::ticks::Ticks;
use farhop_scenario::{HostTimes, PROGRAM_AT_WORK, PROGRAM_OPENS, PROGRAM_STAYS_AWAKE, PROGRAM_WRITES, PauseTimes};
use std::time::Duration;

/// The program that has all connections of one end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Program<'a> {
    /// What it takes from sleep until it has done something, and until it has opened a connection, by how long it has not run; none if it reads at once.
    times: Option<[&'a PauseTimes; 2]>,
    /// When it ran last, or will next.
    runs: Option<Ticks>,
    /// Time that was skipped since.
    rested: Ticks,
    /// When it ran last, or will next, to write on.
    wrote_on: Option<Ticks>,
    /// What woke it last.
    woken: Option<Ticks>,
    /// When it has opened a connection for what it reads, if it has slept and has opened none since.
    first_opens: Option<Ticks>,
}

impl<'a> Program<'a> {
    /// The client's and the server's on hosts that take so long.
    pub(crate) fn both(times: &'a HostTimes) -> [Self; 2] {
        [&times.client, &times.server].map(|takes| Self { times: Some([takes, &times.opening]), ..Self::default() })
    }

    /// When it reads what arrives now.
    #[inline(always)]
    pub(crate) fn reads(&mut self, now: Ticks) -> Ticks {
        let runs = match self.runs {
            Some(runs) if now + self.rested <= runs + Ticks::of(PROGRAM_STAYS_AWAKE) => runs.max(now),
            _ => self.wakes(now),
        };
        (self.runs, self.rested) = (Some(runs), Ticks::ZERO);
        runs
    }

    /// So much time is skipped in which it does nothing.
    pub(crate) fn rest(&mut self, span: Ticks) {
        self.rested += span;
    }

    #[inline(never)]
    fn wakes(&mut self, now: Ticks) -> Ticks {
        let Some(times) = self.times else { return now };
        let pause = self.runs.map(|runs| (now.since(runs) + self.rested).to_duration());
        let [runs, opens] = times.map(|takes| now + Ticks::of(takes.after(pause).mean()));
        (self.woken, self.first_opens) = (Some(now), Some(opens));
        runs
    }

    /// When what it does about something that happens now leaves, if it takes a time of its own.
    pub(crate) fn answers(&mut self, now: Ticks) -> Option<Ticks> {
        self.times?;
        let reads = self.reads(now);
        // What it takes from sleep is all that it takes.
        let at_work = if self.woken == Some(now) { Ticks::ZERO } else { middle(PROGRAM_AT_WORK) };
        self.runs = Some((reads + Ticks::of(PROGRAM_WRITES)).max(now + at_work));
        self.runs
    }

    /// When it puts more of what it writes into a send buffer in which it finds room now, if it takes a time of its own: it is no sooner to answer
    /// afterwards.
    pub(crate) fn writes_on(&mut self, now: Ticks) -> Option<Ticks> {
        let [times, _] = self.times?;
        let pause = self.pause_of_writing(now);
        self.wrote_on = Some(match pause.filter(|pause| *pause <= Ticks::of(PROGRAM_STAYS_AWAKE)) {
            Some(_) => self.runs.max(self.wrote_on).unwrap_or(now).max(now) + middle(PROGRAM_AT_WORK),
            None => now + Ticks::of(times.after(pause.map(Ticks::to_duration)).mean() + PROGRAM_WRITES),
        });
        self.wrote_on
    }

    /// How long it has not run, be it to write on.
    fn pause_of_writing(&self, now: Ticks) -> Option<Ticks> {
        let runs = self.runs.map(|runs| now.since(runs) + self.rested);
        // Rounds in which it wrote on repeat.
        let wrote_on = self.wrote_on.map(|wrote| now.since(wrote));
        runs.into_iter().chain(wrote_on).min()
    }

    /// The same, as far as it decides how long it takes to write on the next time.
    pub(crate) fn since_writing(&self, now: Ticks) -> Ticks {
        let Some([times, _]) = self.times else { return Ticks::ZERO };
        let longest = times.pauses().last().map_or(Duration::ZERO, |after| after.pause);
        let most = Ticks::of(longest) + Ticks::from_nanos(1);
        self.pause_of_writing(now).map_or(most, |pause| pause.min(most))
    }

    /// When it has opened a connection for something that happens now, one after the other, if it takes a time of its own.
    pub(crate) fn opens(&mut self, now: Ticks) -> Option<Ticks> {
        self.times?;
        let runs = self.runs.unwrap_or(now);
        let opened = match self.first_opens.take().filter(|_| runs >= now) {
            // No sooner than any behind what it has read since.
            Some(opens) => opens.max(runs + Ticks::of(PROGRAM_OPENS[0])),
            None => runs.max(now) + Self::opening(),
        };
        (self.runs, self.rested) = (Some(opened), Ticks::ZERO);
        self.runs
    }

    /// What it takes to open a connection when it is awake.
    pub(crate) fn opening() -> Ticks {
        middle(PROGRAM_OPENS)
    }
}

fn middle([least, most]: [Duration; 2]) -> Ticks {
    Ticks::of((least + most) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_scenario::AfterPause;

    const fn at(micros: u64) -> Ticks {
        Ticks::from_micros(micros)
    }

    /// After pauses of no time, and of more than 10 ms.
    fn times(micros: [u64; 2]) -> PauseTimes {
        let after = |(millis, micros): (u64, u64)| AfterPause {
            pause: Duration::from_millis(millis),
            // Their mean is none of their quantiles.
            quantiles: [(0, 0), (500, micros / 2), (PauseTimes::ALL, 3 * micros)]
                .map(|(share, micros)| (share, Duration::from_micros(micros)))
                .to_vec(),
        };
        PauseTimes::new([0, 10].into_iter().zip(micros).map(after).collect()).expect("in order")
    }

    #[test]
    fn what_comes_while_it_is_awake_is_read_at_once() {
        let (takes, opens) = (times([200, 300]), times([500, 700]));
        let mut program = Program { times: Some([&takes, &opens]), ..Program::default() };
        let reads = [0, 100, 300, 1300, 2301, 20_000].map(|micros| program.reads(at(micros)));
        assert_eq!(reads, [300, 300, 300, 1300, 2501, 20_300].map(at), "it had never run, and sleeps again in the end");
        let mut none = Program::default();
        assert_eq!(([none.reads(at(0)), none.reads(at(9000))], none.answers(at(9000))), ([at(0), at(9000)], None));
        assert_eq!(none.opens(at(9000)), None);
    }

    #[test]
    fn it_sleeps_through_what_is_skipped() {
        let (takes, opens) = (times([200, 300]), times([500, 700]));
        let mut program = Program { times: Some([&takes, &opens]), ..Program::default() };
        program.reads(at(0));
        program.rest(at(20_000));
        assert_eq!([400, 500].map(|micros| program.reads(at(micros))), [at(700), at(700)]);
        assert_eq!(program.reads(at(3000)), at(3200), "that is over");
    }

    #[test]
    fn it_answers_what_woke_it_then_and_what_comes_later_soon() {
        let (takes, opens) = (times([200, 300]), times([500, 700]));
        let mut program = Program { times: Some([&takes, &opens]), ..Program::default() };
        let answers = [0, 100, 1000].map(|micros| program.answers(at(micros)));
        assert_eq!(answers, [at(303), at(306), at(1000) + middle(PROGRAM_AT_WORK)].map(Some));
        program.reads(at(5000));
        assert_eq!(program.answers(at(5000)), Some(at(5203)), "it is woken once");
    }

    #[test]
    fn it_sleeps_as_long_for_room_and_is_no_sooner_to_answer() {
        let (takes, opens) = (times([200, 300]), times([500, 700]));
        let mut program = Program { times: Some([&takes, &opens]), ..Program::default() };
        assert_eq!(program.answers(at(0)), Some(at(303)));
        assert_eq!([20_303, 22_000].map(|now| program.writes_on(at(now))), [20_606, 22_203].map(|then| Some(at(then))));
        assert_eq!(program.writes_on(at(22_500)), Some(at(22_500) + middle(PROGRAM_AT_WORK)), "it is awake");
        assert_eq!(program.since_writing(at(25_000)), at(2500).since(middle(PROGRAM_AT_WORK)));
        assert_eq!(program.since_writing(at(90_000)), at(10_000) + Ticks::from_nanos(1), "no pause is longer");
        assert_eq!(program.answers(at(22_600)), Some(at(22_903)), "since it has answered");
        let mut rested = Program { times: Some([&takes, &opens]), ..Program::default() };
        rested.answers(at(0));
        rested.rest(at(20_000));
        assert_eq!(rested.writes_on(at(400)), Some(at(703)), "time was skipped");
        assert_eq!(Program::default().writes_on(at(0)), None);
    }

    #[test]
    fn it_opens_the_first_connection_for_what_it_reads_later_than_it_answers() {
        let (takes, opens) = (times([200, 300]), times([500, 700]));
        let mut program = Program { times: Some([&takes, &opens]), ..Program::default() };
        assert_eq!(program.opens(at(1000)), Some(at(1000) + Program::opening()), "of its own accord");
        program.reads(at(5000));
        assert_eq!(program.opens(at(5000)), Some(at(5500)));
        assert_eq!(program.opens(at(5000)), Some(at(5500) + Program::opening()));
        program.reads(at(9000));
        assert_eq!(program.opens(at(9900)), Some(at(9900) + Program::opening()), "it had read that before");
        program.reads(at(20_000));
        program.reads(at(20_950));
        let least = Ticks::of(PROGRAM_OPENS[0]);
        assert_eq!(program.opens(at(20_950)), Some(at(20_950) + least), "it was awake all the time");
    }
}
