//! Files that a scenario names: pages, traces, logs. None is read beyond a size that it may sensibly have.

use crate::shipped;
use farhop_units::{Bytes, ParseError};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Larger pages, recordings and traces are mistakes, or no files at all.
const LARGEST: Bytes = Bytes::new(500_000_000);

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
            read_at_most(LARGEST, &folder.join(path)).map_err(unreadable)
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

/// The text of a file that may be anything, endless or no text; of as much as a page, a recording or a trace sensibly has.
///
/// # Errors
/// It cannot be read, is larger, or holds no text.
pub fn read_text(path: &Path) -> io::Result<String> {
    read_text_at_most(LARGEST, path)
}

/// The text of a file of at most so much, as [`read_at_most`].
///
/// # Errors
/// It cannot be read, holds more than `most`, or no text.
pub fn read_text_at_most(most: Bytes, path: &Path) -> io::Result<String> {
    let bytes = read_at_most(most, path)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no text in UTF-8"))
}

/// What a file holds whose name a user gives: it may be anything, even endless.
///
/// # Errors
/// It cannot be read, or holds more than `most`.
pub fn read_at_most(most: Bytes, path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most.get() + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most.get() {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most}")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_a_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"0123456789").unwrap();
        assert_eq!(read_text_at_most(Bytes::new(10), &path).unwrap(), "0123456789");
        let refused = |most, path: &Path| read_text_at_most(Bytes::new(most), path).unwrap_err().to_string();
        assert_eq!(refused(9, &path), "more than 9 B");
        assert_eq!(refused(1000, Path::new("/dev/zero")), "more than 1 kB", "what has no end is not waited for");
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(refused(9, &path), "no text in UTF-8");
    }
}
