//! What losses are expected to cost, added to the time without loss.
//!
//! A closed formula takes the expected number of segments before the first loss and goes on from there, as Cardwell et al. do; but
//! time grows with the logarithm of that number in slow start and with its root later, so that the time at the mean is not the mean
//! time: by up to a half for a few megabytes over a long delay. Here the mean is taken over what can happen instead: a fixed number of
//! loads in *rounds* (a window sent, a round trip waited), each with losses drawn from the link's own model by a stream of its
//! own, and the same load without them. The difference of the means is added to the recursion's exact time. Nothing depends on a seed that
//! could be chosen, so that an answer is a function of its parameters like any other.
//!
//! **What a round knows** (`flow`): slow start by ACKs or bytes, HyStart's exit, Reno's and CUBIC's growth and reduction, one reduction
//! per recovery; repair by SACK a round trip after the loss, or one hole per round trip (NewReno, RFC 6582); the reordering window where
//! fewer than three segments follow (RFC 8985 §6.2), tail-loss probes (§7), timeouts with their backing off. BBR does not slow
//! down; a sender at a set rate repeats what is lost a round trip later. **What a page knows** (`page`): connections that take
//! the next object as they come free, discovery, lost SYNs, lost requests; requests of several segments, which are uploads, go up in rounds
//! of their own.
//!
//! **Left out**: lost acknowledgements, which the next ones make up for; windows that shrink while idle, and what other connections' losses
//! leave of the link: the rate is shared evenly. Bursts hit one connection's segments as if it were alone on the link.

mod flow;
mod losses;
mod page;

pub use losses::Losses;

use super::parameters::Parameters;
use super::workload::Workload;
use super::{PageLoad, Recursion, RecursionError};
use crate::path::seconds;
use farhop_units::Probability;
use losses::Fate;
use page::Rounds;
use std::time::Duration;

/// Loads of which the mean is taken: its standard error is a twentieth of a single load's deviation.
const SAMPLES: u64 = 400;
/// Fewer for pages of many objects and large files, so that an answer takes milliseconds.
const LEAST_SAMPLES: u64 = 24;
const WORK: u64 = 100_000;

impl Recursion {
    /// [`Recursion::load`], with what losing each segment on the way down with probability `loss` is expected to add.
    ///
    /// # Errors
    /// As [`Recursion::load`].
    pub fn load_with_loss(
        &mut self,
        parameters: &Parameters,
        workload: &Workload,
        loss: Probability,
    ) -> Result<PageLoad, RecursionError> {
        self.load_with_losses(parameters, workload, &Losses::independent(loss))
    }

    /// [`Recursion::load`], with what `losses` are expected to add.
    ///
    /// # Errors
    /// As [`Recursion::load`].
    pub fn load_with_losses(
        &mut self,
        parameters: &Parameters,
        workload: &Workload,
        losses: &Losses,
    ) -> Result<PageLoad, RecursionError> {
        let load = self.load(parameters, workload)?;
        let (first, last) = losses.delays(parameters, workload)?;
        Ok(load.delayed_by(first, last))
    }

    /// When the last byte arrives, as [`Recursion::load_with_losses`] has it.
    ///
    /// # Errors
    /// As [`Recursion::load`].
    pub fn time_with_losses(
        &mut self,
        parameters: &Parameters,
        workload: &Workload,
        losses: &Losses,
    ) -> Result<Duration, RecursionError> {
        let time = self.time(parameters, workload)?;
        Ok(time.saturating_add(losses.delays(parameters, workload)?.1))
    }
}

impl Losses {
    /// What they are expected to add until the first byte and the last.
    fn delays(&self, parameters: &Parameters, workload: &Workload) -> Result<(Duration, Duration), RecursionError> {
        if self.are_none() {
            return Ok((Duration::ZERO, Duration::ZERO));
        }
        self.check()?;
        let mut rounds = Rounds::new(parameters, workload);
        let without = rounds.load(&mut Fate::none());
        let samples = (WORK / rounds.work()).clamp(LEAST_SAMPLES, SAMPLES);
        let (mut last, mut first) = (0.0, 0.0);
        for sample in 0..samples {
            let with = rounds.load(&mut Fate::new(self, sample));
            last += with.last;
            first += with.first;
        }
        #[expect(clippy::cast_precision_loss, reason = "at most some hundred samples")]
        let mean = |sum: f64, without: f64| seconds(sum / samples as f64 - without);
        Ok((mean(first, without.first), mean(last, without.last)))
    }
}

impl PageLoad {
    fn delayed_by(mut self, first: Duration, last: Duration) -> Self {
        self.first_byte = self.first_byte.saturating_add(first.min(last));
        self.last_byte = self.last_byte.saturating_add(last);
        self.breakdown.loss = self.breakdown.loss.saturating_add(last);
        self
    }
}
