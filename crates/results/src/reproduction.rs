//! A paper's numbers and curves, ours beside them: what `farhop reproduce` finds.
//!
//! A [`Row`] has the number that the text gives, if it gives one, ours, and the reading that makes ours; a [`Curve`] is a line of a
//! figure, or the points of it that the text gives; a [`Claim`] is what the paper says of a figure without numbers, with what
//! became of it here; a [`Gap`] is a figure that nothing gives, with the reason.

mod csv;
mod figure;

pub use figure::Figure;

use serde::Serialize;
use std::collections::BTreeSet;

/// What a paper says, ours beside it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Reproduction {
    /// The paper.
    pub paper: Citation,
    /// What its figures show.
    pub captions: Vec<Caption>,
    /// Numbers.
    pub rows: Vec<Row>,
    /// Lines of figures, and points that the text gives.
    pub curves: Vec<Curve>,
    /// What it claims, and whether that is so here.
    pub claims: Vec<Claim>,
    /// What cannot be given, with the reason.
    pub gaps: Vec<Gap>,
}

/// A paper, and how it must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Citation {
    /// The spelling on the command line.
    pub name: &'static str,
    /// Who wrote it.
    pub authors: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Where and when it was published.
    pub published: &'static str,
    /// Its mistakes and contradictions, and how each is read.
    pub mistakes: &'static [&'static str],
}

/// What a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Caption {
    /// The figure.
    pub figure: Figure,
    /// What it shows, in our words.
    pub text: &'static str,
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

impl Row {
    /// How far ours is from the published number, as a share of that; `None` without one, or if it is zero.
    pub fn difference(&self) -> Option<f64> {
        Some(self.ours / self.published? - 1.0).filter(|difference| difference.is_finite())
    }
}

/// A line of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The figure.
    pub figure: Figure,
    /// What the line is.
    pub name: String,
    /// Whose it is.
    pub origin: Origin,
    /// What its x are.
    pub x: Axis,
    /// What its y are.
    pub y: Axis,
    /// Points, x ascending.
    pub points: Vec<(f64, f64)>,
    /// The equation, and how the paper is read for it.
    pub reading: String,
}

/// Where a line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A formula as published.
    Formula,
    /// The formula of the line before it, mended.
    Mended,
    /// Points that the text gives.
    Text,
    /// The simulator.
    Simulated,
    /// Single events of a simulation, which no line joins.
    Events,
}

impl Origin {
    /// The spelling in CSV and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Formula => "formula",
            Self::Mended => "mended",
            Self::Text => "text",
            Self::Simulated => "simulated",
            Self::Events => "events",
        }
    }
}

/// One axis of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// What it shows.
    pub label: &'static str,
    /// In what; "1" for mere numbers.
    pub unit: &'static str,
    /// How values are spread over it.
    pub scale: Scale,
}

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal steps are equally long.
    Linear,
    /// Equal ratios are equally long.
    Log,
}

impl Axis {
    /// A linear axis.
    pub const fn linear(label: &'static str, unit: &'static str) -> Self {
        Self { label, unit, scale: Scale::Linear }
    }

    /// A logarithmic axis.
    pub const fn log(label: &'static str, unit: &'static str) -> Self {
        Self { label, unit, scale: Scale::Log }
    }
}

/// What the paper says of a figure, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The figure.
    pub figure: Figure,
    /// What the paper says.
    pub claim: String,
    /// Whether it is so here.
    pub verdict: Verdict,
    /// The numbers behind the verdict.
    pub ours: String,
    /// What makes it so.
    pub why: String,
}

/// Whether a claim was found to be so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// In everything that was looked at.
    Holds,
    /// In some of it.
    InPart,
    /// In nothing of it.
    Fails,
}

impl Verdict {
    /// The verdict of what was looked at one by one; what was not looked at does not hold.
    pub fn of(parts: impl IntoIterator<Item = bool>) -> Self {
        let parts: Vec<bool> = parts.into_iter().collect();
        match (parts.contains(&true), parts.contains(&false)) {
            (true, false) => Self::Holds,
            (true, true) => Self::InPart,
            (false, _) => Self::Fails,
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::InPart => "holds in part",
            Self::Fails => "does not hold",
        }
    }
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
    /// All that it has something of, each once: figures, tables and equations by their numbers, then sections; and then what
    /// has gaps alone.
    pub fn figures(&self) -> Vec<Figure> {
        let rows = self.rows.iter().map(|row| row.figure);
        let claims = self.claims.iter().map(|claim| claim.figure);
        let curves = self.curves.iter().map(|curve| curve.figure);
        let filled: BTreeSet<Figure> = rows.chain(curves).chain(claims).collect();
        let gaps: BTreeSet<Figure> = self.gaps.iter().map(|gap| gap.figure).collect();
        filled.iter().chain(gaps.difference(&filled)).copied().collect()
    }

    /// What a figure shows, if that is known.
    pub fn caption(&self, figure: Figure) -> Option<&'static str> {
        self.captions.iter().find(|caption| caption.figure == figure).map(|caption| caption.text)
    }

    /// What it has of one figure.
    #[must_use]
    pub fn only(mut self, figure: Figure) -> Self {
        self.captions.retain(|caption| caption.figure == figure);
        self.rows.retain(|row| row.figure == figure);
        self.curves.retain(|curve| curve.figure == figure);
        self.claims.retain(|claim| claim.figure == figure);
        self.gaps.retain(|gap| gap.figure == figure);
        self
    }
}
