//! Files that a scenario names: pages, traces, logs.

use crate::shipped;
use farhop_units::ParseError;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Larger pages, recordings and traces are mistakes, or no files at all.
const LARGEST: u64 = 512 << 20;

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
        let no_text = || ParseError::new(format!("the {what} is no text in UTF-8"), accepted);
        String::from_utf8(self.read_bytes(path, what, accepted)?).map_err(|_| no_text())
    }

    /// The same of a file that may hold anything.
    pub(crate) fn read_bytes(&self, path: &str, what: &str, accepted: &str) -> Result<Vec<u8>, ParseError> {
        let shipped = || shipped::file(path).map(|text| text.as_bytes().to_vec());
        let beside = |folder: &PathBuf| {
            let unreadable = |error| ParseError::new(format!("the {what} cannot be read ({error})"), accepted);
            let too_long = || ParseError::new(format!("the {what} has more than {} MiB", LARGEST >> 20), accepted);
            let bytes = read_whole(&folder.join(path)).map_err(unreadable)?;
            bytes.ok_or_else(too_long)
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

/// The text of a file that may be anything, endless or no text.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let too_long = || io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {} MiB", LARGEST >> 20));
    let bytes = read_whole(path)?.ok_or_else(too_long)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no text in UTF-8"))
}

/// What the file holds, unless that is too much.
fn read_whole(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= LARGEST).then_some(bytes))
}
