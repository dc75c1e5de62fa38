//! How well a mean of a few independent replications is known (Student, "The probable error of a mean", 1908).

/// 97.5 % quantiles of Student's distribution with 1, 2, … degrees of freedom.
const QUANTILES: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// The same with very many: the normal distribution's.
const NORMAL: f64 = 1.960;

/// Half the width of the 95 % confidence interval of the mean of `values`; `None` with fewer than two.
pub(crate) fn half_width(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let mean = mean(values);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / as_f64(freedom);
    Some(quantile(freedom) * (variance / as_f64(values.len())).sqrt())
}

/// The mean of `values`, of which there is one at least.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / as_f64(values.len())
}

/// Beyond the table by the first term of Fisher's expansion, which is off by less than a thousandth there.
fn quantile(freedom: usize) -> f64 {
    QUANTILES.get(freedom - 1).copied().unwrap_or_else(|| NORMAL + (NORMAL.powi(3) + NORMAL) / (4.0 * as_f64(freedom)))
}

#[expect(clippy::cast_precision_loss, reason = "replications are few")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        assert_eq!(half_width(&[3.0]), None);
        // Of 1, 2, 3: deviation 1, standard error 1/√3, two degrees of freedom.
        let width = half_width(&[1.0, 2.0, 3.0]).unwrap();
        assert!((width - 4.303 / 3_f64.sqrt()).abs() < 1e-9);
        assert_eq!(half_width(&[5.0; 10]), Some(0.0));
    }

    #[test]
    fn quantiles_fall_to_those_of_the_normal_distribution() {
        let quantiles: Vec<f64> = (1..200).map(quantile).collect();
        assert!(quantiles.is_sorted_by(|a, b| a > b));
        assert!((quantile(60) - 2.0003).abs() < 0.001, "{}", quantile(60));
    }
}
