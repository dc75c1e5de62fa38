//! Rows and curves as CSV (RFC 4180), with a heading.

use super::{Curve, Reproduction, Row};
use csv::Writer;

impl Reproduction {
    /// The numbers; an empty cell where the text gives none.
    pub fn rows_csv(&self) -> String {
        let heading = ["figure", "quantity", "published", "ours", "reading"];
        let line = |row: &Row| {
            let Row { figure, quantity, published, ours, reading } = row;
            let published = published.map_or_else(String::new, |number| number.to_string());
            [figure.to_string(), quantity.clone(), published, ours.to_string(), reading.clone()]
        };
        written(heading, self.rows.iter().map(line))
    }

    /// The points of all curves, one on each line.
    pub fn curves_csv(&self) -> String {
        let heading = ["figure", "curve", "origin", "x_label", "x_unit", "x", "y_label", "y_unit", "y", "reading"];
        let lines = self.curves.iter().flat_map(|curve| {
            let Curve { figure, name, origin, x, y, points, reading } = curve;
            points.iter().map(move |(at, value)| {
                let (figure, at, value) = (figure.to_string(), at.to_string(), value.to_string());
                [&figure, name, origin.word(), x.label, x.unit, &at, y.label, y.unit, &value, reading]
                    .map(str::to_owned)
            })
        });
        written(heading, lines)
    }
}

fn written<const N: usize>(heading: [&str; N], lines: impl Iterator<Item = [String; N]>) -> String {
    const HOLDS: &str = "memory takes every line";
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(heading).expect(HOLDS);
    lines.for_each(|line| writer.write_record(&line).expect(HOLDS));
    String::from_utf8(writer.into_inner().expect(HOLDS)).expect("cells are text")
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Citation, Figure, Gap, Origin, Verdict};
    use super::*;

    fn sample() -> Reproduction {
        let figure = Figure::Fig(2);
        Reproduction {
            paper: Citation::default(),
            captions: Vec::new(),
            rows: vec![Row {
                figure,
                quantity: "time, \"cold\" (s)".to_owned(),
                published: None,
                ours: 1.5,
                reading: "Eq 1".to_owned(),
            }],
            curves: vec![Curve {
                figure,
                name: "a, b".to_owned(),
                origin: Origin::Mended,
                x: Axis::linear("window", "kByte"),
                y: Axis::linear("time", "s"),
                points: vec![(1.0, 2.5), (2.0, 3.0)],
                reading: "Eq 2".to_owned(),
            }],
            claims: Vec::new(),
            gaps: vec![Gap { figure: Figure::Section("3"), reason: "none".to_owned() }],
        }
    }

    #[test]
    fn separators_and_quotes_stay_in_their_cells() {
        assert_eq!(
            sample().rows_csv(),
            "figure,quantity,published,ours,reading\nFig 2,\"time, \"\"cold\"\" (s)\",,1.5,Eq 1\n"
        );
        let curves = sample().curves_csv();
        assert_eq!(curves.lines().nth(2), Some("Fig 2,\"a, b\",mended,window,kByte,2,time,s,3,Eq 2"));
    }

    #[test]
    fn the_words_of_origins_are_those_of_json() {
        for origin in [Origin::Formula, Origin::Mended, Origin::Text, Origin::Simulated, Origin::Events] {
            assert_eq!(serde_json::to_value(origin).unwrap(), origin.word());
        }
    }

    #[test]
    fn gaps_come_last_and_one_figure_can_be_had_alone() {
        let mut sample = sample();
        sample.gaps.push(Gap { figure: Figure::Fig(1), reason: "none".to_owned() });
        sample.gaps.push(Gap { figure: Figure::Fig(2), reason: "in part".to_owned() });
        assert_eq!(sample.figures(), [Figure::Fig(2), Figure::Fig(1), Figure::Section("3")]);
        let only = sample.only(Figure::Section("3"));
        assert!(only.rows.is_empty() && only.curves.is_empty() && only.gaps.len() == 1);
    }

    #[test]
    fn a_claim_holds_where_all_that_was_looked_at_agrees() {
        for (parts, verdict) in [
            (&[true, true][..], Verdict::Holds),
            (&[false, true], Verdict::InPart),
            (&[false], Verdict::Fails),
            (&[], Verdict::Fails),
        ] {
            assert_eq!(Verdict::of(parts.iter().copied()), verdict, "{parts:?}");
        }
    }

    #[test]
    fn a_difference_needs_a_published_number() {
        let mut row = sample().rows.remove(0);
        assert_eq!(row.difference(), None);
        row.published = Some(2.0);
        assert_eq!(row.difference(), Some(-0.25));
        row.published = Some(0.0);
        assert_eq!(row.difference(), None);
    }
}
