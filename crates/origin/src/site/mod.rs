//! What is served: a directory of files at the server's own name, or a recording with all its hosts.

mod conditions;
mod directory;
mod hosts;
mod initiators;
mod media;
mod recorded;
mod recording;
mod representation;

#[cfg(test)]
mod naming_tests;
#[cfg(test)]
mod tests;

pub(crate) use hosts::{Hosts, Place};

use crate::body::Body;
use crate::error::OriginError;
use crate::request::Asked;
use directory::Directory;
use farhop_web::har::{self, Har};
use http::{Response, StatusCode};
use recording::Recording;
use representation::refusal;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// What is served: a directory of files, or a recording.
#[derive(Debug)]
pub struct Site {
    hosts: Hosts,
    content: Content,
    notes: Vec<String>,
}

#[derive(Debug)]
enum Content {
    Directory(Directory),
    Recording(Recording),
}

/// An answer, and how long the recorded server took for it beyond what this one does.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response<Body>,
    pub(crate) think: Duration,
}

impl Site {
    /// The files of a directory, at `http://server/` and `https://server/`.
    ///
    /// # Errors
    /// It is no directory that can be read.
    pub fn from_dir(path: &Path) -> Result<Self, OriginError> {
        let content = Content::Directory(Directory::open(path)?);
        Ok(Self { hosts: Hosts::only_server(), content, notes: Vec::new() })
    }

    /// The responses of a HAR file, each at the URL at which it was recorded.
    ///
    /// # Errors
    /// The file cannot be read, is no HAR file, or holds nothing that can be served.
    pub fn from_har(path: &Path) -> Result<Self, OriginError> {
        let file = read(path).map_err(|source| OriginError::Read { path: path.to_owned(), source })?;
        let har = Har::parse(&file).map_err(|source| OriginError::Har { path: path.to_owned(), source })?;
        let (entries, problems) = (har.entries.len(), har.problems.len());
        let (recording, hosts, notes) = Recording::new(har)?;
        if recording.is_empty() {
            return Err(OriginError::NothingRecorded { path: path.to_owned(), entries, problems });
        }
        Ok(Self { hosts, content: Content::Recording(recording), notes })
    }

    /// A directory or a HAR file, whichever `path` is.
    ///
    /// # Errors
    /// As [`Site::from_dir`] and [`Site::from_har`].
    pub fn open(path: &Path) -> Result<Self, OriginError> {
        if path.is_dir() { Self::from_dir(path) } else { Self::from_har(path) }
    }

    /// What a user must know of what is not served as it was recorded.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Requests for what a recording does not hold, by method and URL.
    pub(crate) fn missed(&self) -> Vec<String> {
        match &self.content {
            Content::Directory(_) => Vec::new(),
            Content::Recording(recording) => recording.missed(),
        }
    }

    /// The hosts of the site.
    pub(crate) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// The answer to a request.
    pub(crate) fn answer(&self, asked: &Asked<'_>) -> Answer {
        match &self.content {
            Content::Directory(directory) => Answer::at_once(directory.answer(asked)),
            // RFC 9110 §15.5.20: the request came to the wrong server.
            Content::Recording(_) if !self.hosts.has(&asked.host) => {
                Answer::at_once(refusal(StatusCode::MISDIRECTED_REQUEST))
            }
            Content::Recording(recording) => recording.answer(asked),
        }
    }
}

impl Answer {
    pub(crate) fn at_once(response: Response<Body>) -> Self {
        Self { response, think: Duration::ZERO }
    }

    pub(crate) fn refusal(status: StatusCode) -> Self {
        Self::at_once(refusal(status))
    }
}

/// The file, or so much of it that it is seen to be too large.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(har::MAX_FILE.get() + 1).read_to_end(&mut content)?;
    Ok(content)
}
