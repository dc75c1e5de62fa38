//! SHA-256 in hexadecimal, to compare bodies at both ends.

use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The hash of the parts put together.
pub(crate) fn sha256(parts: &[Bytes]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_standards() {
        // FIPS 180-4, example "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&[Bytes::from_static(b"a"), Bytes::from_static(b"bc")]), abc);
    }
}
