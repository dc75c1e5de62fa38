//! What in a paper is reproduced, and how people name it.

use core::fmt;
use serde::{Serialize, Serializer};

/// A place in a paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_however_it_is_spelled() {
        for (figure, names) in [
            (Figure::Fig(5), ["Fig 5", "fig. 5", "figure-5", "5"]),
            (Figure::Table(1), ["Table I", "table-1", "table1", "TABLE 1"]),
            (Figure::Section("4.3"), ["§4.3", "section 4.3", "Section-4.3", "§ 4.3"]),
        ] {
            assert!(names.iter().all(|name| figure.is_named(name)), "{figure}");
        }
        assert!(!Figure::Fig(5).is_named("15") && !Figure::Table(1).is_named("1"));
    }
}
