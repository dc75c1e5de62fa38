//! What cannot be reproduced.

use crate::Paper;
use core::fmt;
use farhop_results::reproduction::Figure;
use farhop_units::suggestion;
use thiserror::Error;

/// What cannot be reproduced.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PapersError {
    /// No such paper.
    #[error("unknown paper \"{paper}\"{}; accepted: {}", suggestion(paper, Paper::ALL.map(Paper::word)), list(&Paper::ALL))]
    UnknownPaper {
        /// What was asked for.
        paper: String,
    },
    /// Nothing in the paper by that name.
    #[error("{paper} has no \"{figure}\" to reproduce; accepted: {}", list(known))]
    UnknownFigure {
        /// The paper.
        paper: Paper,
        /// What was asked for.
        figure: String,
        /// What there is.
        known: Vec<Figure>,
    },
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
