//! A paper's numbers as text, ours beside them.

use crate::format::{self, or_dash};
use farhop_results::reproduction::{Claim, Gap, Reproduction, Row};

/// Beyond this difference a published number counts as missed.
const MET: f64 = 0.05;

/// A line per number, per claim and per curve, and why the rest is missing.
pub fn reproduction_table(reproduction: &Reproduction) -> String {
    let width = reproduction.rows.iter().map(|row| row.quantity.chars().count()).max().unwrap_or(0);
    let heading =
        format!("{:8} {:width$} {:>10} {:>10} {:>7}  reading", "figure", "quantity", "published", "ours", "diff");
    let heading = (!reproduction.rows.is_empty()).then_some(heading);
    let rows = reproduction.rows.iter().map(|row| row_line(row, width));
    let curves = reproduction.curves.iter().map(|curve| {
        let (points, name, reading) = (format::count(curve.points.len(), "point"), &curve.name, &curve.reading);
        let (figure, y, x) = (curve.figure.to_string(), curve.y.label, curve.x.label);
        format!("{figure:8} curve of {points}, {y} by {x}: {name}  {reading}")
    });
    let claim = |claim: &Claim| {
        let Claim { figure, claim, verdict, ours, why } = claim;
        format!("{:8} {}: {claim} ({ours}) {why}", figure.to_string(), verdict.words())
    };
    let claims = reproduction.claims.iter().map(claim);
    let gap = |Gap { figure, reason }: &Gap| format!("{:8} not reproduced: {reason}", figure.to_string());
    let lines = heading.into_iter().chain(rows).chain(claims).chain(curves).chain(reproduction.gaps.iter().map(gap));
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn row_line(row: &Row, width: usize) -> String {
    let [published, difference] =
        [row.published.map(format::number), row.difference().map(format::difference)].map(or_dash);
    let Row { figure, quantity, reading, .. } = row;
    let (figure, ours) = (figure.to_string(), format::number(row.ours));
    format!("{figure:8} {quantity:width$} {published:>10} {ours:>10} {difference:>7}  {reading}")
}

/// Whether ours is the published number; `None` where there is none.
pub(crate) fn is_met(row: &Row) -> Option<bool> {
    row.difference().map(|difference| difference.abs() <= MET)
}

/// "Of 17 rows with a number that the text gives, ours are within 5 % of it in 14." A number may have several rows, one for each reading.
pub(crate) fn summary(reproduction: &Reproduction) -> String {
    let verdicts: Vec<bool> = reproduction.rows.iter().filter_map(is_met).collect();
    let (met, all) = (verdicts.iter().filter(|met| **met).count(), format::count(verdicts.len(), "row"));
    let percent = MET * 100.0;
    match verdicts.len() {
        0 => "The text gives no number of this.".to_owned(),
        count if count == met => format!("Ours are within {percent:.0} % of what the text gives: {all}."),
        _ => format!("Of {all} with a number that the text gives, ours are within {percent:.0} % of it in {met}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_results::reproduction::{Axis, Curve, Figure, Origin, Scale};

    fn row(published: Option<f64>, ours: f64) -> Row {
        Row { figure: Figure::Fig(3), quantity: "time (s)".to_owned(), published, ours, reading: "Eq 1".to_owned() }
    }

    fn curve(x: &'static str) -> Curve {
        let axis = |label, unit| Axis { label, unit, scale: Scale::Linear };
        Curve {
            figure: Figure::Fig(5),
            name: "RWBP".to_owned(),
            origin: Origin::Formula,
            x: axis(x, "s"),
            y: axis("cumulative share", "%"),
            points: vec![(1.0, 50.0)],
            reading: "Eq 2".to_owned(),
        }
    }

    #[test]
    fn a_line_has_both_numbers_and_their_difference() {
        let reproduction = Reproduction {
            rows: vec![row(Some(0.41), 0.4139), row(None, 3.0)],
            curves: vec![curve("object response time")],
            gaps: vec![Gap { figure: Figure::Fig(9), reason: "a measurement".to_owned() }],
            ..Reproduction::default()
        };
        insta::assert_snapshot!(reproduction_table(&reproduction), @"
        figure   quantity  published       ours    diff  reading
        Fig 3    time (s)       0.41     0.4139    +1 %  Eq 1
        Fig 3    time (s)          -          3       -  Eq 1
        Fig 5    curve of 1 point, cumulative share by object response time: RWBP  Eq 2
        Fig 9    not reproduced: a measurement
        ");
    }

    #[test]
    fn the_summary_counts_what_is_met() {
        let of = |rows: Vec<Row>| summary(&Reproduction { rows, ..Reproduction::default() });
        assert_eq!(of(vec![row(None, 1.0)]), "The text gives no number of this.");
        assert_eq!(of(vec![row(Some(1.0), 1.049)]), "Ours are within 5 % of what the text gives: 1 row.");
        let missed = of(vec![row(Some(1.0), 1.06), row(Some(2.0), 2.0)]);
        assert_eq!(missed, "Of 2 rows with a number that the text gives, ours are within 5 % of it in 1.");
    }
}
