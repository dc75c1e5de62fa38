//! What in a paper is reproduced, and how people name it.

use crate::Paper;
use core::fmt;
use serde::{Serialize, Serializer};
use thiserror::Error;

/// A place in a paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Figure {
    /// A figure.
    Fig(u8),
    /// A table.
    Table(u8),
    /// An equation.
    Eq(u8),
    /// A section, for numbers in its text.
    Section(&'static str),
}

impl Figure {
    /// Whether people mean this by `name`: `Fig 5`, `figure-5` and `5` are one, `section 4.3` and `§4.3`, `Table I` and `table1`.
    pub fn is_named(self, name: &str) -> bool {
        let bare = |text: &str| -> String {
            let kept = text.chars().filter(|c| c.is_alphanumeric() || *c == '§');
            kept.flat_map(char::to_lowercase).collect()
        };
        let wanted = bare(name).replace("figure", "fig").replace("section", "§").replace("tablei", "table1");
        let ours = bare(&self.to_string());
        wanted == ours || ours.strip_prefix("fig").is_some_and(|number| number == wanted)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self {
            Self::Fig(number) => format!("Fig {number}"),
            Self::Table(number) => format!("Table {number}"),
            Self::Eq(number) => format!("Eq {number}"),
            Self::Section(number) => format!("§{number}"),
        })
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What cannot be reproduced.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PapersError {
    /// No such paper.
    #[error("unknown paper \"{paper}\"; accepted: {}", list(&Paper::ALL))]
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
