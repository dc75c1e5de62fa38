//! What papers say of formulas beside experiments, judged by ours: which formula comes closer, and whether one is close at all.

use crate::filling::Fill;
use farhop_model::ModelError;
use farhop_results::reproduction::{Figure, Reproduction, Verdict};

/// Points of an experiment, x ascending.
pub(crate) type Points = [(f64, f64)];

/// A formula's y at an experiment's x.
pub(crate) type Formula<'a> = &'a dyn Fn(f64) -> Result<f64, ModelError>;

/// How far a formula may be from each point of an experiment that it is said to agree with.
const AGREES: f64 = 0.05;

/// A claim to be judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) figure: Figure,
    pub(crate) claim: &'a str,
    pub(crate) why: &'a str,
}

impl Said<'_> {
    /// "The first formula is closer to the experiment than the second": by the mean of its errors.
    pub(crate) fn is_closer(self, to: &mut Reproduction, points: &Points, [first, second]: [Formula<'_>; 2]) {
        let [near, far] = [first, second].map(|formula| errors(points, formula));
        let words = format!("mean error {:.1} % and {:.1} % over {} points", mean(&near), mean(&far), points.len());
        self.judge(to, [mean(&near) < mean(&far)], words);
    }

    /// "The formula agrees with the experiment": point by point.
    pub(crate) fn agrees(self, to: &mut Reproduction, points: &Points, formula: Formula<'_>) {
        let errors = errors(points, formula);
        let within = |error: &f64| *error <= AGREES * 100.0;
        let close = errors.iter().filter(|error| within(error)).count();
        let words = format!(
            "within {:.0} % at {close} of {} points, mean error {:.1} %",
            AGREES * 100.0,
            errors.len(),
            mean(&errors)
        );
        self.judge(to, errors.iter().map(within), words);
    }

    /// What was found of the claim's parts.
    pub(crate) fn judge(self, to: &mut Reproduction, parts: impl IntoIterator<Item = bool>, ours: String) {
        to.claim(self.figure, self.claim, Verdict::of(parts), ours, self.why);
    }
}

/// How far a formula is from each point, in % of it; where it has no value it is infinitely far.
fn errors(points: &Points, formula: Formula<'_>) -> Vec<f64> {
    let error = |(x, y): &(f64, f64)| formula(*x).map_or(f64::INFINITY, |ours| (ours / y - 1.0).abs() * 100.0);
    points.iter().map(error).collect()
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().sum::<f64>() / f64::from(u32::try_from(errors.len()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [(f64, f64); 2] = [(1.0, 10.0), (2.0, 20.0)];

    fn judged(judge: impl FnOnce(Said<'_>, &mut Reproduction)) -> (Verdict, String) {
        let mut reproduction = Reproduction::default();
        judge(Said { figure: Figure::Fig(1), claim: "so", why: "because" }, &mut reproduction);
        let claim = reproduction.claims.remove(0);
        (claim.verdict, claim.ours)
    }

    #[test]
    fn the_closer_formula_is_the_one_with_the_smaller_errors() {
        let (near, far): (Formula<'_>, Formula<'_>) = (&|x| Ok(x * 10.2), &|x| Ok(x * 9.0));
        let (verdict, ours) = judged(|said, to| said.is_closer(to, &POINTS, [near, far]));
        assert_eq!((verdict, &*ours), (Verdict::Holds, "mean error 2.0 % and 10.0 % over 2 points"));
        assert_eq!(judged(|said, to| said.is_closer(to, &POINTS, [far, near])).0, Verdict::Fails);
    }

    #[test]
    fn a_formula_agrees_point_by_point() {
        let (verdict, ours) = judged(|said, to| said.agrees(to, &POINTS, &|x| Ok(x * x * 10.0)));
        assert_eq!((verdict, &*ours), (Verdict::InPart, "within 5 % at 1 of 2 points, mean error 50.0 %"));
        assert_eq!(judged(|said, to| said.agrees(to, &POINTS, &|x| Ok(x * 10.4))).0, Verdict::Holds);
        let none = |_| Err(ModelError::UnlimitedWindow);
        assert_eq!(judged(|said, to| said.agrees(to, &POINTS, &none)).0, Verdict::Fails);
    }
}
