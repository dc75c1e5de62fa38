//! Rows, curves and gaps of one paper.

use crate::Figure;
use farhop_model::ModelError;
use farhop_units::Rate;
use serde::Serialize;
use std::time::Duration;

/// What a paper says, ours beside it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Reproduction {
    /// Numbers.
    pub rows: Vec<Row>,
    /// Lines of figures.
    pub curves: Vec<Curve>,
    /// What cannot be given, with the reason.
    pub gaps: Vec<Gap>,
}

/// A number of the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Where in the paper.
    pub figure: Figure,
    /// What it is, with its unit.
    pub quantity: String,
    /// The paper's number; `None` where the text gives none.
    pub published: Option<f64>,
    /// Ours.
    pub ours: f64,
    /// The equation, and how the paper is read for it.
    pub reading: String,
}

/// A line of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The figure.
    pub figure: Figure,
    /// What the line is.
    pub name: String,
    /// What its x are.
    pub x: Axis,
    /// What its y are.
    pub y: Axis,
    /// Points, x ascending.
    pub points: Vec<(f64, f64)>,
    /// The equation, and how the paper is read for it.
    pub reading: String,
}

/// One axis of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// What it shows.
    pub label: &'static str,
    /// In what.
    pub unit: &'static str,
}

/// A figure that cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The figure.
    pub figure: Figure,
    /// Why not.
    pub reason: String,
}

impl Reproduction {
    /// All that it has something of, each once, in the order in which they first appear: rows, curves, gaps.
    pub fn figures(&self) -> Vec<Figure> {
        let rows = self.rows.iter().map(|row| row.figure);
        let curves = self.curves.iter().map(|curve| curve.figure);
        let gaps = self.gaps.iter().map(|gap| gap.figure);
        let mut figures = Vec::new();
        for figure in rows.chain(curves).chain(gaps) {
            if !figures.contains(&figure) {
                figures.push(figure);
            }
        }
        figures
    }

    /// The numbers as CSV (RFC 4180), with a heading; an empty cell where the text gives no number.
    pub fn rows_csv(&self) -> String {
        let mut csv = "figure,quantity,published,ours,reading\n".to_owned();
        for Row { figure, quantity, published, ours, reading } in &self.rows {
            let published = published.map_or_else(String::new, |number| number.to_string());
            let cells = [figure.to_string(), quantity.clone(), published, ours.to_string(), reading.clone()];
            push_line(&mut csv, &cells);
        }
        csv
    }

    /// The points of all curves as CSV (RFC 4180), with a heading; one point per line.
    pub fn curves_csv(&self) -> String {
        let mut csv = "figure,curve,x_label,x_unit,x,y_label,y_unit,y,reading\n".to_owned();
        for Curve { figure, name, x, y, points, reading } in &self.curves {
            for (at, value) in points {
                let (figure, at, value) = (figure.to_string(), at.to_string(), value.to_string());
                let cells = [&figure, name, x.label, x.unit, &at, y.label, y.unit, &value, reading];
                push_line(&mut csv, &cells.map(str::to_owned));
            }
        }
        csv
    }

    /// What it has of one figure.
    pub(crate) fn only(mut self, figure: Figure) -> Self {
        self.rows.retain(|row| row.figure == figure);
        self.curves.retain(|curve| curve.figure == figure);
        self.gaps.retain(|gap| gap.figure == figure);
        self
    }

    /// Adds a number.
    pub(crate) fn row(
        &mut self,
        figure: Figure,
        quantity: impl Into<String>,
        published: Option<f64>,
        ours: f64,
        reading: &str,
    ) {
        self.rows.push(Row { figure, quantity: quantity.into(), published, ours, reading: reading.to_owned() });
    }

    /// Adds why a figure cannot be filled.
    pub(crate) fn gap(&mut self, figure: Figure, reason: &str) {
        self.gaps.push(Gap { figure, reason: reason.to_owned() });
    }
}

/// Adds a line of CSV; cells with separators are quoted.
fn push_line(csv: &mut String, cells: &[String]) {
    let quoted = |cell: &String| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    csv.push_str(&cells.iter().map(quoted).collect::<Vec<_>>().join(","));
    csv.push('\n');
}

/// A figure's lines, which share its axes.
pub(crate) struct Plot<'a> {
    pub(crate) reproduction: &'a mut Reproduction,
    pub(crate) figure: Figure,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

impl Plot<'_> {
    /// Adds the line of `y` over `xs`, without the points that have no value.
    pub(crate) fn line<X: Copy + Into<f64>>(
        &mut self,
        name: impl Into<String>,
        reading: &str,
        xs: impl IntoIterator<Item = X>,
        y: impl Fn(X) -> Result<f64, ModelError>,
    ) {
        let points = xs.into_iter().filter_map(|x| Some((x.into(), y(x).ok()?))).collect();
        let (figure, x, y) = (self.figure, self.x, self.y);
        self.reproduction.curves.push(Curve { figure, name: name.into(), x, y, points, reading: reading.to_owned() });
    }
}

/// In kbit/s.
pub(crate) fn kbit_s(rate: Rate) -> f64 {
    rate.as_f64() / 1000.0
}

/// In seconds, for a map.
pub(crate) fn in_s(time: Duration) -> f64 {
    time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use crate::{Paper, reproduce};

    #[test]
    fn csv_has_as_many_cells_in_every_line() {
        for paper in Paper::ALL {
            let everything = reproduce(paper, None).unwrap();
            for (csv, columns) in [(everything.rows_csv(), 5), (everything.curves_csv(), 9)] {
                for line in csv.lines() {
                    // Separators outside quotation marks.
                    let outside: String = line.split('"').step_by(2).collect();
                    assert_eq!(outside.matches(',').count() + 1, columns, "{paper}: {line}");
                }
            }
            assert_eq!(everything.rows_csv().lines().count(), everything.rows.len() + 1);
        }
    }
}
