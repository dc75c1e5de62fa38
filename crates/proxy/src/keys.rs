//! The pairs of key and certificate by which terminal and gateway know each other.
//!
//! Each box has an Ed25519 key and a self-signed certificate; each is configured with the other's certificate and accepts that one and no
//! other, so there is no authority to trust and nothing to expire. Leaves out: renewal (make new pairs and exchange them).

use crate::ProxyError;
use farhop_scenario::read_at_most;
use farhop_units::Bytes;
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The certificates' subject: what TLS calls the peer, since something must be said; it is not checked.
pub(crate) const SERVER_NAME: &str = "farhop";

/// The files [`generate`] wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The gateway's private key.
    pub gateway_key: PathBuf,
    /// The gateway's certificate.
    pub gateway_certificate: PathBuf,
    /// The terminal's private key.
    pub terminal_key: PathBuf,
    /// The terminal's certificate.
    pub terminal_certificate: PathBuf,
}

impl IntoIterator for Generated {
    type Item = PathBuf;
    type IntoIter = std::array::IntoIter<PathBuf, 4>;

    fn into_iter(self) -> Self::IntoIter {
        [self.gateway_key, self.gateway_certificate, self.terminal_key, self.terminal_certificate].into_iter()
    }
}

/// Writes a key pair for each box into `directory`: `gateway.key`, `gateway.crt`, `terminal.key`, `terminal.crt`; keys readable by their
/// owner only. The directory is made if need be.
///
/// # Errors
/// One of the files exists already, or cannot be written.
pub fn generate(directory: &Path) -> Result<Generated, ProxyError> {
    let path = |name: &str| directory.join(name);
    let files = Generated {
        gateway_key: path("gateway.key"),
        gateway_certificate: path("gateway.crt"),
        terminal_key: path("terminal.key"),
        terminal_certificate: path("terminal.crt"),
    };
    // All are looked at first, so that half a set is never written beside an old one.
    if let Some(path) = files.clone().into_iter().find(|path| path.exists()) {
        return Err(ProxyError::Write { path, error: std::io::ErrorKind::AlreadyExists.into() });
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| ProxyError::Write { path: directory.to_owned(), error })?;
    write_pair(&files.gateway_key, &files.gateway_certificate)?;
    write_pair(&files.terminal_key, &files.terminal_certificate)?;
    Ok(files)
}

fn write_pair(key_path: &Path, certificate_path: &Path) -> Result<(), ProxyError> {
    let key = KeyPair::generate_for(&PKCS_ED25519)?;
    let certificate = CertificateParams::new([SERVER_NAME.to_owned()])?.self_signed(&key)?;
    write_new(key_path, &key.serialize_pem(), 0o600)?;
    write_new(certificate_path, &certificate.pem(), 0o644)
}

fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), ProxyError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| ProxyError::Write { path: path.to_owned(), error })
}

pub(crate) fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, ProxyError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|_| wrong(path, "no private key in PEM"))
}

pub(crate) fn read_certificate(path: &Path) -> Result<CertificateDer<'static>, ProxyError> {
    CertificateDer::from_pem_slice(&read(path)?).map_err(|_| wrong(path, "no certificate in PEM"))
}

/// Keys and certificates are never longer.
const LARGEST: Bytes = Bytes::kb(1000);

fn read(path: &Path) -> Result<Vec<u8>, ProxyError> {
    read_at_most(LARGEST, path).map_err(|error| ProxyError::Read { path: path.to_owned(), error })
}

fn wrong(path: &Path, problem: &str) -> ProxyError {
    ProxyError::Key { path: path.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn keys_are_their_owners_only_and_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let files = generate(directory.path()).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&files.gateway_key), mode(&files.terminal_key)), (0o600, 0o600));
        let before = std::fs::read(&files.gateway_key).unwrap();
        std::fs::remove_file(&files.terminal_key).unwrap();
        let error = generate(directory.path()).unwrap_err().to_string();
        assert!(error.contains("gateway.key"), "{error}");
        assert!(!files.terminal_key.exists(), "nothing is written beside old files");
        assert_eq!(std::fs::read(&files.gateway_key).unwrap(), before);
    }

    #[test]
    fn a_directory_that_is_not_there_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let keys = directory.path().join("farhop/keys");
        generate(&keys).unwrap();
        assert_eq!(std::fs::metadata(&keys).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_certificate_is_no_key() {
        let directory = tempfile::tempdir().unwrap();
        let files = generate(directory.path()).unwrap();
        read_key(&files.gateway_key).unwrap();
        let error = read_key(&files.gateway_certificate).unwrap_err().to_string();
        assert!(error.ends_with("gateway.crt: no private key in PEM; `farhop keys` makes such files"), "{error}");
    }
}
