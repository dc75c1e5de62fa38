//! How far two answers are apart.

use farhop_results::Sample;

/// An engine's answer against the measured one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// The engine's middle less the measured one, as a share of the measured: medians without dice, means with them.
    pub error: f64,
    /// Do the 95 % confidence intervals of the means overlap? Absent where there is nothing random.
    pub overlap: Option<bool>,
}

impl Agreement {
    /// Compares `ours` with what was `measured`; `random` if runs differ by dice. None where one of them is empty.
    pub fn of(ours: &Sample, measured: &Sample, random: bool) -> Option<Self> {
        let middle = |sample: &Sample| if random { sample.mean() } else { sample.median() };
        let (a, b) = (middle(ours)?, middle(measured)?);
        let overlap = || Some((a - b).abs() <= ours.mean_error()? + measured.mean_error()?);
        Some(Self { error: a / b - 1.0, overlap: if random { overlap() } else { None } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_compared_where_nothing_is_random_and_means_where_something_is() {
        let (ours, measured) = (Sample::new([2.0]), Sample::new([1.0, 2.0, 6.0]));
        assert_eq!(Agreement::of(&ours, &measured, false), Some(Agreement { error: 0.0, overlap: None }));
        let ours = Sample::new([2.0, 2.5, 3.0]);
        let random = Agreement::of(&ours, &measured, true).expect("both have values");
        assert!((random.error + 1.0 / 6.0).abs() < 1e-12 && random.overlap == Some(true), "{random:?}");
        let apart = Agreement::of(&Sample::new([9.0, 9.1, 9.2]), &Sample::new([1.0, 1.1, 1.2]), true);
        assert_eq!(apart.and_then(|agreement| agreement.overlap), Some(false));
        assert_eq!(Agreement::of(&Sample::default(), &measured, false), None);
    }
}
