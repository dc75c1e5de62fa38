//! The style sheet: light and dark, wide and narrow, a colour per architecture.

use sha2::{Digest, Sha256};

/// The whole style sheet.
pub(crate) const SHEET: &str =
    concat!(include_str!("style.css"), include_str!("plot.css"), include_str!("findings.css"));

/// What the file may load: nothing; and which style sheet counts: this one.
pub(crate) fn policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(SHEET))
    )
}

/// RFC 4648 §4, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().chain([0; 3].iter()).take(3).fold(0_u32, |group, byte| group << 8 | u32::from(*byte));
        for digit in 0..4 {
            let index = (group >> (18 - 6 * digit)) & 63;
            text.push(if digit > chunk.len() { '=' } else { char::from(ALPHABET[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        // RFC 4648 §10.
        let vectors = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(vectors, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn the_sheet_loads_nothing_and_cannot_end_its_element() {
        assert!(["url(", "@import", "@font-face", "</"].iter().all(|text| !SHEET.contains(text)));
    }
}
