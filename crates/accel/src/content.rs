//! A body's content coding undone on a copy, so that a compressed page can be read while its bytes go on as they are.
//!
//! Models: RFC 9110 §8.4.1, `gzip` and `deflate` (in zlib's wrapping, RFC 1950), which is all that browsers offer over plain HTTP. Leaves
//! out: Brotli and Zstandard, several codings one upon the other; such a body is not read.

use flate2::write::{GzDecoder, ZlibDecoder};
use std::io::Write;

/// What one document may unpack to; what lies beyond is not read. Design point: a hundred times the largest documents in the Web Almanac
/// (2025: p90 of HTML 150 kB).
const MAX_UNPACKED: usize = 16 << 20;
/// Input is unpacked in pieces, so that one that swells (deflate reaches 1:1032) holds about a megabyte at most.
const PIECE: usize = 1024;

/// Undoes a content coding as the bytes stream.
pub(crate) struct Unpacker {
    coding: Coding,
    unpacked: usize,
}

enum Coding {
    Identity,
    Gzip(GzDecoder<Vec<u8>>),
    Zlib(ZlibDecoder<Vec<u8>>),
    /// Not what it said it was, or too long.
    Unreadable,
}

impl Unpacker {
    /// For the value of `Content-Encoding`, empty if there is none; `None` if it cannot be undone.
    pub(crate) fn new(content_encoding: &str) -> Option<Self> {
        let coding = match content_encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Coding::Identity,
            "gzip" | "x-gzip" => Coding::Gzip(GzDecoder::new(Vec::new())),
            "deflate" => Coding::Zlib(ZlibDecoder::new(Vec::new())),
            _ => return None,
        };
        Some(Self { coding, unpacked: 0 })
    }

    /// Hands the next bytes, unpacked, to `read`, piece by piece.
    pub(crate) fn push(&mut self, packed: &[u8], mut read: impl FnMut(&[u8])) {
        if matches!(self.coding, Coding::Identity) {
            return read(packed);
        }
        for piece in packed.chunks(PIECE) {
            let Some(unpacked) = self.unpack(piece) else { break };
            read(&unpacked);
        }
    }

    /// `None` if nothing more can be read.
    fn unpack(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        let (written, output) = match &mut self.coding {
            Coding::Gzip(decoder) => (decoder.write_all(piece).and_then(|()| decoder.flush()), decoder.get_mut()),
            Coding::Zlib(decoder) => (decoder.write_all(piece).and_then(|()| decoder.flush()), decoder.get_mut()),
            Coding::Identity | Coding::Unreadable => return None,
        };
        let unpacked = std::mem::take(output);
        self.unpacked += unpacked.len();
        if written.is_err() || self.unpacked > MAX_UNPACKED {
            self.coding = Coding::Unreadable;
        }
        Some(unpacked)
    }
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").field("unpacked", &self.unpacked).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(coding: &str, packed: &[u8], size: usize) -> Vec<u8> {
        let mut unpacker = Unpacker::new(coding).unwrap();
        let mut text = Vec::new();
        packed.chunks(size).for_each(|chunk| unpacker.push(chunk, |bytes| text.extend_from_slice(bytes)));
        text
    }

    #[test]
    fn bytes_are_readable_as_soon_as_they_have_come() {
        let text: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        let packed = gzip(&text);
        let half = unpacked("gzip", &packed[..packed.len() / 2], 100);
        assert!(half.len() > text.len() / 4 && text.starts_with(&half));
    }

    #[test]
    fn unknown_codings_are_not_read() {
        assert!(Unpacker::new("br").is_none() && Unpacker::new("gzip, br").is_none());
        assert!(Unpacker::new("GZip").is_some());
    }

    #[test]
    fn what_swells_without_end_is_given_up() {
        let bomb = gzip(&vec![b' '; 4 * MAX_UNPACKED]);
        let text = unpacked("gzip", &bomb, bomb.len());
        assert!(text.len() >= MAX_UNPACKED && text.len() <= MAX_UNPACKED + 2 * 1032 * PIECE, "{}", text.len());
    }

    #[test]
    fn what_is_not_compressed_gives_nothing() {
        assert_eq!(unpacked("gzip", b"<img src=a.png>", 99), b"");
    }

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(text: Vec<u8>, size in 1_usize..3000) {
            prop_assert_eq!(&unpacked("gzip", &gzip(&text), size), &text);
            prop_assert_eq!(&unpacked("deflate", &zlib(&text), size), &text);
            prop_assert_eq!(&unpacked("", &text, size), &text);
        }

        #[test]
        fn any_bytes_are_taken(mut packed: Vec<u8>, size in 1_usize..20) {
            unpacked("deflate", &packed, size);
            packed.splice(0..0, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
            unpacked("gzip", &packed, size);
        }
    }
}
