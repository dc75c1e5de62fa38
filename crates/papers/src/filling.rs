//! How a paper's module fills its [`Reproduction`].

use farhop_model::ModelError;
use farhop_results::reproduction::{Axis, Claim, Curve, Figure, Gap, Origin, Reproduction, Row, Verdict};
use farhop_units::Rate;
use std::time::Duration;

/// Adds to what is reproduced.
pub(crate) trait Fill {
    /// Adds a number.
    fn row(&mut self, figure: Figure, quantity: impl Into<String>, published: Option<f64>, ours: f64, reading: &str);

    /// Adds what the paper says of a figure and what was found of it.
    fn claim(&mut self, figure: Figure, claim: impl Into<String>, verdict: Verdict, ours: String, why: &str);

    /// Adds why a figure cannot be filled.
    fn gap(&mut self, figure: Figure, reason: &str);

    /// The same, if that has not been said of the figure.
    fn gap_once(&mut self, figure: Figure, reason: &str);
}

impl Fill for Reproduction {
    fn row(&mut self, figure: Figure, quantity: impl Into<String>, published: Option<f64>, ours: f64, reading: &str) {
        self.rows.push(Row { figure, quantity: quantity.into(), published, ours, reading: reading.to_owned() });
    }

    fn claim(&mut self, figure: Figure, claim: impl Into<String>, verdict: Verdict, ours: String, why: &str) {
        self.claims.push(Claim { figure, claim: claim.into(), verdict, ours, why: why.to_owned() });
    }

    fn gap(&mut self, figure: Figure, reason: &str) {
        self.gaps.push(Gap { figure, reason: reason.to_owned() });
    }

    fn gap_once(&mut self, figure: Figure, reason: &str) {
        if !self.gaps.iter().any(|gap| gap.figure == figure && gap.reason == reason) {
            self.gap(figure, reason);
        }
    }
}

/// A figure's lines, which share its axes.
pub(crate) struct Plot<'a> {
    pub(crate) reproduction: &'a mut Reproduction,
    pub(crate) figure: Figure,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

impl Plot<'_> {
    /// Adds the line of a published formula: `y` over `xs`, without the points that have no value.
    pub(crate) fn line<X: Copy + Into<f64>>(
        &mut self,
        name: impl Into<String>,
        reading: &str,
        xs: impl IntoIterator<Item = X>,
        y: impl Fn(X) -> Result<f64, ModelError>,
    ) {
        let points: Vec<_> = xs.into_iter().filter_map(|x| Some((x.into(), y(x).ok()?))).collect();
        self.points(name, Origin::Formula, reading, points);
    }

    /// The same for the mended formula of the line before.
    pub(crate) fn mended<X: Copy + Into<f64>>(
        &mut self,
        name: impl Into<String>,
        reading: &str,
        xs: impl IntoIterator<Item = X>,
        y: impl Fn(X) -> Result<f64, ModelError>,
    ) {
        self.line(name, reading, xs, y);
        if let Some(line) = self.reproduction.curves.last_mut() {
            line.origin = Origin::Mended;
        }
    }

    /// Adds points, x ascending.
    pub(crate) fn points(
        &mut self,
        name: impl Into<String>,
        origin: Origin,
        reading: &str,
        points: impl Into<Vec<(f64, f64)>>,
    ) {
        let (figure, x, y) = (self.figure, self.x, self.y);
        let (name, points, reading) = (name.into(), points.into(), reading.to_owned());
        self.reproduction.curves.push(Curve { figure, name, origin, x, y, points, reading });
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
