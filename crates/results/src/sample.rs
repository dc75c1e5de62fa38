//! What repeated runs say of the number behind them.

use serde::{Deserialize, Serialize};

/// Values of independent runs, in any order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// A sample of these values.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Self {
        Self(values.into_iter().collect())
    }

    /// The values as they came.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// One more value.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The mean; none of no value.
    pub fn mean(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.iter().sum::<f64>() / count(&self.0))
    }

    /// The middle value, the mean of the two middle ones of an even number; none of no value.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// The value below which this share lies, between the two neighbours in proportion (Hyndman and Fan's seventh definition).
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let place = share.clamp(0.0, 1.0) * count(&sorted[1..]);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the last place")]
        let below = (place.floor() as usize).min(last);
        let above = (below + 1).min(last);
        Some(sorted[below] + (sorted[above] - sorted[below]) * (place - place.floor()))
    }

    /// Half the width of the mean's 95 % confidence interval, by Student's t; none of fewer than two values.
    pub fn mean_error(&self) -> Option<f64> {
        Some(student_t(self.freedom()?) * self.mean_variance()?.sqrt())
    }

    /// The same of the difference between this mean and another, of values that are independent of these; none of fewer than two values of either.
    pub fn difference_error(&self, other: &Self) -> Option<f64> {
        let freedom = self.freedom()? + other.freedom()?;
        Some(student_t(freedom) * (self.mean_variance()? + other.mean_variance()?).sqrt())
    }

    /// Degrees of freedom of the variance.
    fn freedom(&self) -> Option<usize> {
        self.0.len().checked_sub(1).filter(|freedom| *freedom > 0)
    }

    /// Variance of the mean, as the values tell it.
    fn mean_variance(&self) -> Option<f64> {
        let (mean, others) = (self.mean()?, self.0.get(1..).filter(|others| !others.is_empty())?);
        let squares = self.0.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
        Some(squares / count(others) / count(&self.0))
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run is repeated 2⁵³ times")]
fn count(values: &[f64]) -> f64 {
    values.len() as f64
}

/// The 97.5 % quantile of Student's distribution: tabulated up to 30 degrees of freedom, above by its expansion around the normal
/// distribution's 1.959964 (Abramowitz and Stegun 26.7.5), which is exact to four digits there.
#[expect(clippy::cast_precision_loss, reason = "degrees of freedom are few")]
fn student_t(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604,
        2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518,
        2.0484, 2.0452, 2.0423,
    ];
    const NORMAL: f64 = 1.959_964;
    match TABLE.get(freedom.wrapping_sub(1)) {
        Some(quantile) => *quantile,
        None => {
            let (n, x) = (freedom as f64, NORMAL);
            let [cube, fifth] = [x * x * x, x * x * x * x * x];
            x + (cube + x) / (4.0 * n) + (5.0 * fifth + 16.0 * cube + 3.0 * x) / (96.0 * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Sample {
        Sample::new(values.iter().copied())
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(of(&[3.0, 1.0, 2.0]).median(), Some(2.0));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]).median(), Some(2.5));
        assert_eq!(of(&[5.0]).median(), Some(5.0));
        assert_eq!(of(&[]).median(), None);
        assert_eq!(of(&[1.0, 2.0, 3.0]).quantile(0.75), Some(2.5));
    }

    #[test]
    fn intervals_are_students() {
        // 1, 2, 3: mean 2, deviation 1, t = 4.3027 with two degrees of freedom.
        let error = of(&[1.0, 2.0, 3.0]).mean_error().expect("three values");
        assert!((error - 4.3027 / 3.0_f64.sqrt()).abs() < 1e-4, "{error}");
        assert_eq!(of(&[1.0]).mean_error(), None);
    }

    #[test]
    fn a_difference_of_independent_means_has_the_scatter_of_both() {
        // Variances of the means 1/3 and 4/2 = 2, t = 3.1824 with three degrees of freedom.
        let error = of(&[1.0, 2.0, 3.0]).difference_error(&of(&[5.0, 5.0 + 8.0_f64.sqrt()])).expect("there are enough");
        assert!((error - 3.1824 * (1.0_f64 / 3.0 + 2.0).sqrt()).abs() < 1e-4, "{error}");
        assert_eq!(of(&[1.0, 2.0]).difference_error(&of(&[1.0])), None);
    }

    #[test]
    fn the_expansion_goes_on_where_the_table_ends() {
        // Tables give 2.0395 for 31 and 1.9840 for 100 degrees of freedom.
        assert!((student_t(31) - 2.0395).abs() < 1e-4, "{}", student_t(31));
        assert!((student_t(100) - 1.9840).abs() < 1e-4, "{}", student_t(100));
        assert!(student_t(30) > student_t(31));
    }
}
