//! What papers say of formulas beside experiments, judged by ours: which formula comes closer, and whether one is close at all.

use crate::comparison::less;
use crate::filling::Fill;
use farhop_model::ModelError;
use farhop_results::reproduction::{Figure, Reproduction, Verdict};

/// Points of an experiment, x ascending.
pub(crate) type Points = [(f64, f64)];

/// A formula's y at an experiment's x.
pub(crate) type Formula<'a> = &'a dyn Fn(f64) -> Result<f64, ModelError>;

/// How far a formula may be from each point of an experiment that it is said to agree with, in %.
const AGREES: f64 = 5.0;

/// A claim to be judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) figure: Figure,
    pub(crate) claim: &'a str,
    pub(crate) why: &'a str,
}

impl Said<'_> {
    /// "The first formula is closer to the experiment than the second": by its errors, as [`is_closer`] judges them; the first's largest in
    /// words, with x in this unit.
    pub(crate) fn is_closer(
        self,
        to: &mut Reproduction,
        points: &Points,
        unit: &str,
        [first, second]: [Formula<'_>; 2],
    ) {
        let [near, far] = [first, second].map(|formula| errors(points, formula));
        let all = points.iter().map(|point| (point.0, apart(*point, first)));
        let largest = all.max_by(|(_, one), (_, other)| one.abs().total_cmp(&other.abs()));
        let largest = largest.map_or_else(String::new, |(x, apart)| {
            format!(", the first's largest {} at {x:.0} {unit}", percent(apart))
        });
        let closer = near.iter().zip(&far).filter(|(near, far)| near < far).count();
        let words = format!(
            "mean error {:.1} % and {:.1} % over {} points, the first closer at {closer}{largest}",
            mean(&near),
            mean(&far),
            points.len()
        );
        self.judge(to, is_closer(points, [first, second]), words);
    }

    /// "The formula agrees with the experiment": point by point, those in words where it does not, with x in this unit.
    pub(crate) fn agrees(self, to: &mut Reproduction, points: &Points, unit: &str, formula: Formula<'_>) {
        let apart: Vec<f64> = points.iter().map(|point| apart(*point, formula)).collect();
        let missed = points.iter().zip(&apart).filter(|(_, apart)| !is_close(**apart));
        let missed: Vec<String> = missed.map(|((x, _), apart)| format!("{} at {x:.0}", percent(*apart))).collect();
        let words = format!(
            "within {:.0} % at {} of {} points, mean error {:.1} %{}",
            AGREES,
            apart.len() - missed.len(),
            apart.len(),
            mean_error(points, formula),
            if missed.is_empty() { String::new() } else { format!(": {} {unit}", missed.join(", ")) }
        );
        self.judge(to, apart.into_iter().map(is_close), words);
    }

    /// What was found of the claim's parts.
    pub(crate) fn judge(self, to: &mut Reproduction, parts: impl IntoIterator<Item = bool>, ours: String) {
        to.claim(self.figure, self.claim, Verdict::of(parts), ours, self.why);
    }
}

/// Whether the first formula is closer to an experiment than the second, and not the second: a claim's two parts. What differs from point to
/// point as much as the formulas do on average is a tie.
pub(crate) fn is_closer(points: &Points, [first, second]: [Formula<'_>; 2]) -> [bool; 2] {
    let [near, far] = [first, second].map(|formula| errors(points, formula));
    less(&near.into_iter().zip(far).collect::<Vec<_>>())
}

/// How far a formula is above a point, in % of it; where it has no value it is infinitely far.
pub(crate) fn apart((x, y): (f64, f64), formula: Formula<'_>) -> f64 {
    formula(x).map_or(f64::INFINITY, |ours| (ours / y - 1.0) * 100.0)
}

/// Whether a formula that is so many % above or below a point agrees with it.
pub(crate) fn is_close(apart: f64) -> bool {
    apart.abs() <= AGREES
}

/// "+63 %", "−5.2 %": with a decimal below ten.
fn percent(apart: f64) -> String {
    let decimals = usize::from(apart.abs() < 9.95);
    format!("{apart:+.decimals$} %").replace('-', "−")
}

/// Of a formula beside points, in %.
pub(crate) fn mean_error(points: &Points, formula: Formula<'_>) -> f64 {
    mean(&errors(points, formula))
}

fn errors(points: &Points, formula: Formula<'_>) -> Vec<f64> {
    points.iter().map(|point| apart(*point, formula).abs()).collect()
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
        let (verdict, ours) = judged(|said, to| said.is_closer(to, &POINTS, "kB", [near, far]));
        let expected =
            "mean error 2.0 % and 10.0 % over 2 points, the first closer at 2, the first's largest +2.0 % at 2 kB";
        assert_eq!((verdict, &*ours), (Verdict::Holds, expected));
        assert_eq!(judged(|said, to| said.is_closer(to, &POINTS, "kB", [far, near])).0, Verdict::Fails);
    }

    #[test]
    fn a_formula_that_is_closer_here_and_farther_there_is_not_the_closer_one() {
        let (first, second): (Formula<'_>, Formula<'_>) = (&|x| Ok(x * x * 10.0 / 2.0 + 5.0), &|x| Ok(x * 12.0));
        let (verdict, ours) = judged(|said, to| said.is_closer(to, &POINTS, "kB", [first, second]));
        let expected =
            "mean error 12.5 % and 20.0 % over 2 points, the first closer at 1, the first's largest +25 % at 2 kB";
        assert_eq!((verdict, &*ours), (Verdict::InPart, expected));
    }

    #[test]
    fn a_formula_agrees_point_by_point() {
        let (verdict, ours) = judged(|said, to| said.agrees(to, &POINTS, "kB", &|x| Ok(x * x * 10.0)));
        let expected = "within 5 % at 1 of 2 points, mean error 50.0 %: +100 % at 2 kB";
        assert_eq!((verdict, &*ours), (Verdict::InPart, expected));
        let (verdict, ours) = judged(|said, to| said.agrees(to, &POINTS, "kB", &|x| Ok(x * 10.4)));
        assert_eq!((verdict, &*ours), (Verdict::Holds, "within 5 % at 2 of 2 points, mean error 4.0 %"));
        let below = judged(|said, to| said.agrees(to, &POINTS, "kB", &|x| Ok(x * 9.1))).1;
        assert!(below.ends_with("−9.0 % at 1, −9.0 % at 2 kB"), "{below}");
        let none = |_| Err(ModelError::UnlimitedWindow);
        assert_eq!(judged(|said, to| said.agrees(to, &POINTS, "kB", &none)).0, Verdict::Fails);
    }
}
