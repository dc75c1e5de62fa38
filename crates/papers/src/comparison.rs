//! Which of two is less beyond chance, judged pair by pair: replications of populations, logs, points of an experiment.

use farhop_results::Sample;
use farhop_sim::ResponseTimes;

/// What of response times is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statistic {
    Median,
    Tail,
    Mean,
}

impl Statistic {
    pub(crate) const ALL: [Self; 3] = [Self::Median, Self::Tail, Self::Mean];

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Tail => "95th percentile",
            Self::Mean => "mean",
        }
    }

    /// Of all replications together, in s.
    pub(crate) fn of(self, times: &ResponseTimes) -> f64 {
        match self {
            Self::Median => times.percentile(50),
            Self::Tail => times.percentile(95),
            Self::Mean => times.mean(),
        }
    }

    fn by_replication(self, times: &ResponseTimes) -> Vec<Option<f64>> {
        match self {
            Self::Median => times.percentiles(50),
            Self::Tail => times.percentiles(95),
            Self::Mean => times.means(),
        }
    }
}

/// Whether `slow` is slower than `fast` beyond chance: the 95 % confidence interval of the difference, over replications that have
/// the same users, lies above zero.
pub(crate) fn is_slower(statistic: Statistic, slow: &ResponseTimes, fast: &ResponseTimes) -> bool {
    let [slow, fast] = [slow, fast].map(|times| statistic.by_replication(times));
    let pairs = slow.into_iter().zip(fast).filter_map(|(slow, fast)| slow.zip(fast));
    is_above_zero(&Sample::new(pairs.map(|(slow, fast)| slow - fast)))
}

fn is_above_zero(differences: &Sample) -> bool {
    differences.mean().zip(differences.mean_error()).is_some_and(|(mean, error)| mean > error)
}

/// "The first of each pair is less than the second", as a claim's two parts: it is beyond chance, and the second is not. So a tie holds in
/// part.
pub(crate) fn less(pairs: &[(f64, f64)]) -> [bool; 2] {
    let less = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
        is_above_zero(&Sample::new(pairs.map(|(first, second)| second - first)))
    };
    [less(&mut pairs.iter().copied()), !less(&mut pairs.iter().map(|(first, second)| (*second, *first)))]
}

/// "median 5.31 and 4.2 s, 95th percentile …".
pub(crate) fn numbers(statistics: &[Statistic], all: &[&ResponseTimes]) -> String {
    let of = |statistic: &Statistic| {
        let values: Vec<String> = all.iter().map(|times| format!("{:.3}", statistic.of(times))).collect();
        format!("{} {} s", statistic.words(), values.join(", "))
    };
    statistics.iter().map(of).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_beyond_chance_alone() {
        assert!(is_above_zero(&Sample::new([1.0, 1.1, 0.9])));
        assert!(!is_above_zero(&Sample::new([5.0, -4.0, 1.0])), "noise");
        assert!(!is_above_zero(&Sample::new([-1.0, -1.1, -0.9])), "the other way round");
        assert!(!is_above_zero(&Sample::new([7.0])), "once is not enough");
    }

    #[test]
    fn a_tie_is_half_of_less() {
        assert_eq!(less(&[(1.0, 2.0), (2.0, 3.1), (1.5, 2.4)]), [true, true]);
        assert_eq!(less(&[(1.0, 1.3), (2.0, 1.8), (1.5, 1.4)]), [false, true]);
        assert_eq!(less(&[(2.0, 1.0), (3.1, 2.0), (2.4, 1.5)]), [false, false]);
    }
}
