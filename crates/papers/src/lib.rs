//! The papers' tables, curves and numbers, ours beside them: what `farhop reproduce` shows.
//!
//! Each paper's parameters stand in its module, with the text's contradictions. A [`Row`] has the number that the text gives, if it gives
//! one, ours, and the reading that makes ours; a [`Curve`] is a line of a figure. The figures themselves are lost, so that curves
//! have no published points. What no formula gives (simulations, measurements) is a [`Gap`].
//!
//! So far the formulas of `farhop-model` fill it. Left out: nz-us-2000, which has no formula.
//!
//! ```
//! use farhop_papers::{Paper, reproduce};
//! let table = reproduce(Paper::Zhou2004, Some("table-1"))?;
//! assert!((table.rows[0].ours - 4604.5).abs() < 1e-9);
//! # Ok::<(), farhop_papers::PapersError>(())
//! ```

mod figure;
mod obata_2001;
mod obata_2002;
mod prefetch_2013;
mod reproduction;
mod zhou_2004;

pub use figure::{Figure, PapersError};
pub use reproduction::{Axis, Curve, Gap, Reproduction, Row};

use core::fmt;
use core::str::FromStr;

/// A paper that can be reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Paper {
    /// TCP throughput on asymmetric networks.
    Obata2001,
    /// HTTP transfer time on asymmetric networks.
    Obata2002,
    /// Prefetching over extremely large latency.
    Prefetch2013,
    /// Web access over a multiple access channel.
    Zhou2004,
}

impl Paper {
    /// All of them, in the order of the manual.
    pub const ALL: [Self; 4] = [Self::Obata2001, Self::Obata2002, Self::Prefetch2013, Self::Zhou2004];

    /// The spelling on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Obata2001 => "obata-2001",
            Self::Obata2002 => "obata-2002",
            Self::Prefetch2013 => "prefetch-2013",
            Self::Zhou2004 => "zhou-2004",
        }
    }

    fn everything(self) -> Reproduction {
        match self {
            Self::Obata2001 => obata_2001::reproduce(),
            Self::Obata2002 => obata_2002::reproduce(),
            Self::Prefetch2013 => prefetch_2013::reproduce(),
            Self::Zhou2004 => zhou_2004::reproduce(),
        }
    }

    /// Everything that [`reproduce`] knows of this paper, in its order.
    pub fn figures(self) -> Vec<Figure> {
        self.everything().figures()
    }
}

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Paper {
    type Err = PapersError;
    fn from_str(text: &str) -> Result<Self, PapersError> {
        let known = Self::ALL.into_iter().find(|paper| paper.word() == text);
        known.ok_or_else(|| PapersError::UnknownPaper { paper: text.to_owned() })
    }
}

/// A paper's rows and curves, all of them or those of one figure, named as in `Fig 5`, `fig5` or `table-1`.
///
/// # Errors
/// [`PapersError::UnknownFigure`], with those that there are.
pub fn reproduce(paper: Paper, figure: Option<&str>) -> Result<Reproduction, PapersError> {
    let everything = paper.everything();
    let Some(wanted) = figure else { return Ok(everything) };
    let figures = everything.figures();
    match figures.iter().find(|figure| figure.is_named(wanted)) {
        Some(figure) => Ok(everything.only(*figure)),
        None => Err(PapersError::UnknownFigure { paper, figure: wanted.to_owned(), known: figures }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_number_is_met_or_the_reading_says_why_not() {
        for paper in Paper::ALL {
            for row in reproduce(paper, None).unwrap().rows {
                assert!(row.ours.is_finite(), "{paper}: {row:?}");
                let Some(published) = row.published else { continue };
                let is_met = (row.ours / published - 1.0).abs() < 0.05;
                println!(
                    "{paper:14} {:8} {:62} {published:9} {:12.4} {}",
                    row.figure, row.quantity, row.ours, row.reading
                );
                assert_eq!(is_met, !row.reading.contains("not reproduced"), "{paper}: {row:?}");
            }
        }
    }

    #[test]
    fn curves_are_lines_of_finite_points() {
        for paper in Paper::ALL {
            for curve in reproduce(paper, None).unwrap().curves {
                assert!(curve.points.len() > 1, "{paper}: {curve:?}");
                assert!(curve.points.iter().all(|(x, y)| x.is_finite() && y.is_finite()), "{paper}: {curve:?}");
                assert!(curve.points.is_sorted_by(|a, b| a.0 < b.0), "{paper}: {curve:?}");
            }
        }
    }

    #[test]
    fn a_figure_is_found_however_it_is_spelled() {
        for name in ["Fig 5", "fig5", "fig. 5", "figure-5", "5"] {
            let reproduction = reproduce(Paper::Obata2001, Some(name)).unwrap();
            assert_eq!(reproduction.figures(), [Figure::Fig(5)], "{name}");
        }
        let error = reproduce(Paper::Zhou2004, Some("fig 99")).unwrap_err().to_string();
        assert_eq!(error, "zhou-2004 has no \"fig 99\" to reproduce; accepted: Table 1, §3, Fig 5, Fig 6, Fig 7");
        assert!("zhou-2005".parse::<Paper>().unwrap_err().to_string().contains("zhou-2004"));
    }

    #[test]
    fn every_paper_reads_back() {
        for paper in Paper::ALL {
            assert_eq!(paper.word().parse::<Paper>(), Ok(paper));
            assert!(!paper.figures().is_empty());
        }
    }
}
