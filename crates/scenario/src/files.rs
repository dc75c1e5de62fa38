//! Files that a scenario names: pages and traces.

use crate::shipped;
use farhop_units::ParseError;
use std::fs;
use std::path::PathBuf;

/// Where they are.
#[derive(Debug, Clone)]
pub(crate) enum Files {
    /// In this folder.
    Beside(PathBuf),
    /// Compiled in.
    Shipped,
    /// Compiled in or, if there is none of that name, in this folder.
    ShippedOrBeside(PathBuf),
}

impl Files {
    /// The text of the file at `path`; `what` it should be and what is `accepted` are for the error.
    pub(crate) fn read(&self, path: &str, what: &str, accepted: &str) -> Result<String, ParseError> {
        let shipped = || shipped::file(path).map(str::to_owned);
        let beside = |folder: &PathBuf| {
            let unreadable = |error| ParseError::new(format!("the {what} cannot be read ({error})"), accepted);
            fs::read_to_string(folder.join(path)).map_err(unreadable)
        };
        match self {
            Self::Beside(folder) => beside(folder),
            Self::Shipped => {
                shipped().ok_or_else(|| ParseError::new(format!("no such {what} among the shipped ones"), accepted))
            }
            Self::ShippedOrBeside(folder) => shipped().map_or_else(|| beside(folder), Ok),
        }
    }
}
