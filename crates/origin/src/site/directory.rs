//! A directory's files by their paths.
//!
//! The kernel keeps requests inside: files are opened below the directory (`openat2` with `RESOLVE_BENEATH`), so that neither `..` nor
//! a symbolic link leads out, whatever changes meanwhile. `index.html` stands for its directory. Left out: listings, content coding,
//! what is neither file nor directory.

use super::conditions::Validators;
use super::media;
use super::representation::{Representation, refusal};
use crate::body::{Body, Source};
use crate::error::OriginError;
use crate::request::Asked;
use http::header::{ALLOW, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, LAST_MODIFIED, LOCATION};
use http::{Method, Response, StatusCode};
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use percent_encoding::percent_decode_str;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

const INDEX: &str = "index.html";

/// A directory, held open: it is served even where it is not mounted.
#[derive(Debug)]
pub(super) struct Directory(File);

/// What a path leads to.
enum Found {
    File(File, Metadata),
    Directory,
}

impl Directory {
    pub(super) fn open(path: &Path) -> Result<Self, OriginError> {
        let read = |source| OriginError::Read { path: path.to_owned(), source };
        let directory = File::open(path).map_err(read)?;
        let is_directory = directory.metadata().map_err(read)?.is_dir();
        if is_directory { Ok(Self(directory)) } else { Err(read(io::ErrorKind::NotADirectory.into())) }
    }

    pub(super) fn answer(&self, asked: &Asked<'_>) -> Response<Body> {
        if asked.method != Method::GET && asked.method != Method::HEAD {
            let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match self.find(asked) {
            Ok(representation) => representation.respond(asked),
            Err(response) => *response,
        }
    }

    fn find(&self, asked: &Asked<'_>) -> Result<Representation, Box<Response<Body>>> {
        let refused = |status| Box::new(refusal(status));
        let names = names(asked.path()).ok_or_else(|| refused(StatusCode::NOT_FOUND))?;
        let wants_directory = asked.path().ends_with('/');
        let mut path = names.join("/");
        if wants_directory {
            path = if path.is_empty() { INDEX.to_owned() } else { format!("{path}/{INDEX}") };
        }
        match self.open_inside(&path) {
            Ok(Found::File(file, metadata)) => Ok(representation(&path, file, &metadata)),
            Ok(Found::Directory) if !wants_directory => Err(Box::new(to_directory(asked))),
            Ok(Found::Directory) => Err(refused(StatusCode::NOT_FOUND)),
            Err(Errno::EACCES | Errno::EPERM) => Err(refused(StatusCode::FORBIDDEN)),
            Err(Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM) => Err(refused(StatusCode::SERVICE_UNAVAILABLE)),
            Err(_) => Err(refused(StatusCode::NOT_FOUND)),
        }
    }

    fn open_inside(&self, path: &str) -> Result<Found, Errno> {
        // Without O_NONBLOCK, opening a FIFO would wait for somebody to write to it.
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let inside = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        let file = File::from(openat2(&self.0, path, OpenHow::new().flags(flags).resolve(inside))?);
        let metadata = file.metadata().map_err(|_| Errno::EIO)?;
        match () {
            () if metadata.is_file() => Ok(Found::File(file, metadata)),
            () if metadata.is_dir() => Ok(Found::Directory),
            () => Err(Errno::ENOENT),
        }
    }
}

/// The names on a path, decoded; `None` if one cannot be a file's name. Empty names and `.` say nothing.
fn names(path: &str) -> Option<Vec<String>> {
    let decoded = path.split('/').map(|name| percent_decode_str(name).decode_utf8().ok());
    let names = decoded.filter(|name| !matches!(name.as_deref(), Some("" | ".")));
    names.map(|name| Some(name?.into_owned()).filter(|name| name != ".." && !name.contains(['/', '\0']))).collect()
}

/// Where the same directory is for a browser, whose relative references need the slash at the end.
fn to_directory(asked: &Asked<'_>) -> Response<Body> {
    let name = asked.path().rsplit('/').next().unwrap_or_default();
    let query = &asked.target[asked.path().len()..];
    let mut response = refusal(StatusCode::MOVED_PERMANENTLY);
    // "./", or a name with a colon would be a scheme.
    if let Ok(location) = HeaderValue::try_from(format!("./{name}/{query}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn representation(path: &str, file: File, metadata: &Metadata) -> Representation {
    let modified = metadata.modified().ok();
    let etag = format!("\"{:x}-{:x}.{:x}\"", metadata.len(), metadata.mtime(), metadata.mtime_nsec());
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media::of(path)));
    headers.insert(ETAG, HeaderValue::try_from(&etag).expect("hexadecimal digits make a value"));
    if let Some(date) = modified.and_then(|modified| HeaderValue::try_from(httpdate::fmt_http_date(modified)).ok()) {
        headers.insert(LAST_MODIFIED, date);
    }
    Representation {
        status: StatusCode::OK,
        headers,
        validators: Validators { etag: Some(etag), last_modified: modified },
        length: metadata.len(),
        source: Source::File(Arc::new(file)),
    }
}
