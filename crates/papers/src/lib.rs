//! The papers' tables, curves and numbers, ours beside them: what `farhop reproduce` shows.
//!
//! Each paper's parameters stand in its module, with the text's contradictions. The papers' figures are lost, so that a curve has only
//! those published points that the text tells. The formulas of `farhop-model` fill most of it at once; what the papers simulated or measured is simulated by
//! `farhop-sim`, as long as they did, when a figure that needs it is asked for. What neither gives is a gap with its reason, and what a
//! paper claims without numbers is a claim with its verdict.
//!
//! ```
//! use farhop_papers::{Paper, reproduce};
//! let table = reproduce(Paper::Zhou2004, Some("table-1"))?;
//! assert!((table.rows[0].ours - 4604.5).abs() < 1e-9);
//! # Ok::<(), farhop_papers::PapersError>(())
//! ```

mod citations;
mod comparison;
mod error;
mod filling;
mod judging;
mod lab;
mod nz_us_2000;
mod obata_2001;
mod obata_2002;
mod prefetch_2013;
#[cfg(test)]
mod tests;
mod zhou_2004;

pub use error::PapersError;
pub use lab::Effort;

use core::fmt;
use core::str::FromStr;
use farhop_results::reproduction::{Figure, Reproduction};
use lab::Lab;
use std::collections::BTreeSet;

/// A paper that can be reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Paper {
    /// Satellites and cables between New Zealand and the USA.
    NzUs2000,
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
    pub const ALL: [Self; 5] = [Self::NzUs2000, Self::Obata2001, Self::Obata2002, Self::Prefetch2013, Self::Zhou2004];

    /// The spelling on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NzUs2000 => "nz-us-2000",
            Self::Obata2001 => "obata-2001",
            Self::Obata2002 => "obata-2002",
            Self::Prefetch2013 => "prefetch-2013",
            Self::Zhou2004 => "zhou-2004",
        }
    }

    /// What formulas give.
    fn formulas(self) -> Reproduction {
        use citations as c;
        let (reproduction, paper, captions) = match self {
            Self::NzUs2000 => (nz_us_2000::reproduce(), c::NZ_US_2000, c::NZ_US_2000_CAPTIONS),
            Self::Obata2001 => (obata_2001::reproduce(), c::OBATA_2001, c::OBATA_2001_CAPTIONS),
            Self::Obata2002 => (obata_2002::reproduce(), c::OBATA_2002, c::OBATA_2002_CAPTIONS),
            Self::Prefetch2013 => (prefetch_2013::reproduce(), c::PREFETCH_2013, c::PREFETCH_2013_CAPTIONS),
            Self::Zhou2004 => (zhou_2004::reproduce(), c::ZHOU_2004, c::ZHOU_2004_CAPTIONS),
        };
        Reproduction { paper, captions: captions.to_vec(), ..reproduction }
    }

    /// Everything that [`reproduce`] knows of this paper, in its order.
    pub fn figures(self) -> Vec<Figure> {
        let formulas = self.formulas().figures().into_iter();
        formulas.chain(self.simulated().iter().copied()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The figures that need the simulator.
    const fn simulated(self) -> &'static [Figure] {
        match self {
            Self::NzUs2000 => &nz_us_2000::FIGURES,
            Self::Obata2001 => &obata_2001::experiments::FIGURES,
            Self::Obata2002 => &obata_2002::experiments::FIGURES,
            Self::Prefetch2013 => &prefetch_2013::experiments::FIGURES,
            Self::Zhou2004 => &zhou_2004::experiments::FIGURES,
        }
    }

    /// Adds what the simulator gives of one of these.
    fn simulate(self, figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
        match self {
            Self::NzUs2000 => nz_us_2000::simulate(figure, lab, reproduction),
            Self::Obata2001 => obata_2001::experiments::simulate(figure, lab, reproduction),
            Self::Obata2002 => obata_2002::experiments::simulate(figure, lab, reproduction),
            Self::Prefetch2013 => prefetch_2013::experiments::simulate(figure, lab, reproduction),
            Self::Zhou2004 => zhou_2004::experiments::simulate(figure, lab, reproduction),
        }
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

/// A paper's rows, curves and claims, all of them or those of one figure, named as in `Fig 5`, `fig5` or `table-1`.
///
/// # Errors
/// [`PapersError::UnknownFigure`], with those that there are.
pub fn reproduce(paper: Paper, figure: Option<&str>) -> Result<Reproduction, PapersError> {
    reproduce_with(paper, figure, Effort::Full, &mut |_| {})
}

/// The same with as much simulated as `effort` says; `heard` is told what is about to be simulated.
///
/// # Errors
/// As [`reproduce`].
pub fn reproduce_with(
    paper: Paper,
    figure: Option<&str>,
    effort: Effort,
    heard: &mut dyn FnMut(&str),
) -> Result<Reproduction, PapersError> {
    let known = paper.figures();
    let wanted = match figure {
        None => known,
        Some(name) => match known.iter().find(|figure| figure.is_named(name)) {
            Some(figure) => vec![*figure],
            None => return Err(PapersError::UnknownFigure { paper, figure: name.to_owned(), known }),
        },
    };
    let mut reproduction = paper.formulas();
    if let [only] = wanted[..] {
        reproduction = reproduction.only(only);
    }
    let mut lab = Lab::new(effort, heard);
    for figure in paper.simulated().iter().filter(|figure| wanted.contains(figure)) {
        paper.simulate(*figure, &mut lab, &mut reproduction);
    }
    Ok(reproduction)
}
