//! Making programs inside trust the private authority: its certificate in files, and the variables by which programs find them.
//!
//! | variable | read by |
//! |---|---|
//! | `SSL_CERT_FILE`, `NIX_SSL_CERT_FILE` | OpenSSL, Python, Ruby, Go, rustls-native-certs; Nix's builds of them |
//! | `CURL_CA_BUNDLE`, `GIT_SSL_CAINFO`, `CARGO_HTTP_CAINFO` | curl, git, cargo |
//! | `REQUESTS_CA_BUNDLE`, `PIP_CERT`, `AWS_CA_BUNDLE`, `HTTPLIB2_CA_CERTS` | Python's requests, pip, boto, httplib2 |
//! | `GRPC_DEFAULT_SSL_ROOTS_FILE_PATH` | gRPC |
//! | `NODE_EXTRA_CA_CERTS`, `DENO_CERT` | Node.js, Deno: beside those they have |
//!
//! All but the last line replace what a program trusts, so that the file for them can hold the system's authorities as well. Left out:
//! browsers, which have stores of their own (see [`Origins::servers_key_hash`](crate::Origins::servers_key_hash) for Chromium), and Java.

use crate::error::OriginError;
use std::fs;
use std::path::{Path, PathBuf};

/// The files' names, or their ends.
pub(crate) const CERTIFICATE: &str = "ca.crt";
pub(crate) const BUNDLE: &str = "ca-bundle.crt";

/// Variables whose file replaces what a program trusts.
const REPLACING: [&str; 10] = [
    "SSL_CERT_FILE",
    "NIX_SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "HTTPLIB2_CA_CERTS",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
];

/// Variables whose file adds to what a program trusts.
const ADDING: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"];

/// Where systems have their authorities: Debian, Fedora, openSUSE, Alpine and the BSDs.
const SYSTEM: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The files with the authority's certificate.
#[derive(Debug)]
pub(crate) struct Trust {
    certificate: PathBuf,
    bundle: PathBuf,
}

impl Trust {
    /// Writes the certificate to one file alone and to another together with the system's, if `with_system`.
    pub(crate) fn write(
        text: &str,
        [certificate, bundle]: [PathBuf; 2],
        with_system: bool,
    ) -> Result<Self, OriginError> {
        write(&certificate, text)?;
        let system = if with_system { system_authorities() } else { String::new() };
        write(&bundle, &format!("{text}{system}"))?;
        Ok(Self { certificate, bundle })
    }

    /// The file that holds the authority's certificate alone.
    pub(crate) fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// Variables and their values.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let set = |path: &Path| {
            let path = path.to_string_lossy().into_owned();
            move |name: &str| (name.to_owned(), path.clone())
        };
        let replacing = REPLACING.into_iter().map(set(&self.bundle));
        replacing.chain(ADDING.into_iter().map(set(&self.certificate))).collect()
    }
}

fn write(path: &Path, text: &str) -> Result<(), OriginError> {
    fs::write(path, text).map_err(OriginError::io(format!("writing {}", path.display())))
}

/// What programs outside trust; nothing if it is not where systems have it.
fn system_authorities() -> String {
    let chosen = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let candidates = chosen.into_iter().chain(SYSTEM.into_iter().map(PathBuf::from));
    let found = candidates.filter_map(|path| fs::read_to_string(path).ok()).next();
    found.unwrap_or_else(|| {
        tracing::warn!(
            "the system's certificate authorities are in none of {}: only the test authority is trusted",
            SYSTEM.join(", ")
        );
        String::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_replace_their_trust_find_all_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let files = [CERTIFICATE, BUNDLE].map(|name| directory.path().join(name));
        let trust = Trust::write("CERTIFICATE\n", files, true).unwrap();
        let environment = trust.environment();
        let file = |name: &str| &environment.iter().find(|(variable, _)| variable == name).unwrap().1;
        assert!(file("SSL_CERT_FILE").ends_with("/ca-bundle.crt") && file("NODE_EXTRA_CA_CERTS").ends_with("/ca.crt"));
        assert!(fs::read_to_string(file("CURL_CA_BUNDLE")).unwrap().starts_with("CERTIFICATE\n"));
        assert_eq!(fs::read_to_string(file("DENO_CERT")).unwrap(), "CERTIFICATE\n");
    }
}
