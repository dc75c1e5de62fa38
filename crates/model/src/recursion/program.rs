//! When the program at one end reads what arrives: some time after it from sleep, at once while its processor is still awake.

use super::ticks::Ticks;
use farhop_scenario::PROGRAM_STAYS_AWAKE;

/// The program that has all connections of one end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    /// What it takes from sleep.
    waking: Ticks,
    /// When it ran last, or will next.
    runs: Option<Ticks>,
}

impl Program {
    pub(crate) fn new(waking: Ticks) -> Self {
        Self { waking, runs: None }
    }

    /// When it reads what arrives now.
    #[inline(always)]
    pub(crate) fn reads(&mut self, now: Ticks) -> Ticks {
        let runs = match self.runs {
            Some(runs) if now <= runs + Ticks::of(PROGRAM_STAYS_AWAKE) => runs.max(now),
            _ => now + self.waking,
        };
        self.runs = Some(runs);
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_while_it_is_awake_is_read_at_once() {
        let mut program = Program::new(Ticks::from_micros(200));
        let reads = [0, 100, 300, 1300, 2301].map(|micros| program.reads(Ticks::from_micros(micros)));
        assert_eq!(reads, [200, 200, 300, 1300, 2501].map(Ticks::from_micros));
    }
}
