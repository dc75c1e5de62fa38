//! How much longer times are through one architecture than through another, repetition by repetition.

use crate::{Architecture, Sample, Source};
use serde::{Deserialize, Serialize};

/// By how much the mean time through one architecture exceeds that through another, where each repetition has the same random numbers through both.
///
/// What users or a log want is then the same, so that much of what differs between repetitions does not differ between architectures (common random
/// numbers: Law, Simulation Modeling and Analysis, §11.2; the interval is that of paired differences, §10.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Whose times these are.
    pub architecture: Architecture,
    /// What they are compared with.
    pub from: Architecture,
    /// Which engine.
    pub source: Source,
    /// Repetitions that have a mean through both.
    pub runs: u32,
    /// The mean of the repetitions' differences, in s; below zero where the architecture is faster.
    pub mean_s: f64,
    /// Half-width of its 95 % confidence interval, in s.
    pub mean_error_s: f64,
    /// What that would be if each architecture's repetitions had random numbers of their own, in s, by the means' own scatter.
    pub unpaired_error_s: f64,
}

impl Difference {
    /// The difference of one architecture's means from another's, each repetition's in s, in the same order; `None` of fewer than two pairs.
    pub fn of(
        (architecture, means): (Architecture, &[Option<f64>]),
        (from, others): (Architecture, &[Option<f64>]),
        source: Source,
    ) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = means.iter().zip(others).filter_map(|(mean, other)| mean.zip(*other)).collect();
        let [means, others] =
            [Sample::new(pairs.iter().map(|pair| pair.0)), Sample::new(pairs.iter().map(|pair| pair.1))];
        let differences = Sample::new(pairs.iter().map(|(mean, other)| mean - other));
        Some(Self {
            architecture,
            from,
            source,
            runs: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
            mean_s: differences.mean()?,
            mean_error_s: differences.mean_error()?,
            unpaired_error_s: means.difference_error(&others)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(means: &[Option<f64>], others: &[Option<f64>]) -> Option<Difference> {
        Difference::of((Architecture::Rwbp, means), (Architecture::Direct, others), Source::Simulated)
    }

    #[test]
    fn what_all_have_in_common_is_no_scatter_of_their_difference() {
        let others = [3.0, 5.0, 10.0];
        let means = others.map(|other| Some(other - 2.0));
        let difference = of(&means, &others.map(Some)).expect("three pairs");
        assert_eq!((difference.runs, difference.mean_s, difference.mean_error_s), (3, -2.0, 0.0));
        // Variances of 13 each, t = 2.7764 with four degrees of freedom.
        assert!((difference.unpaired_error_s - 2.7764 * (2.0_f64 * 13.0 / 3.0).sqrt()).abs() < 1e-3);
    }

    #[test]
    fn what_is_known_of_one_alone_does_not_count() {
        let difference = of(&[Some(1.0), None, Some(4.0), Some(9.0)], &[Some(2.0), Some(7.0), Some(6.0), None]);
        let difference = difference.expect("two pairs");
        assert_eq!((difference.runs, difference.mean_s), (2, -1.5));
        assert_eq!(of(&[Some(1.0), None], &[Some(2.0), Some(7.0)]), None);
        assert_eq!(of(&[], &[]), None);
    }
}
