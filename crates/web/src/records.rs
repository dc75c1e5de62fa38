//! Records of TLS: a receiver can read what is in one when all of it has come (RFC 5246 §6.2.3, RFC 8446 §5.2).
//!
//! A message fills records of one size, the last of them as far as it reaches, and has none in common with another message: so do servers that
//! write a response at once. With n bytes of content and o of its own each, content up to byte p can be read when ⌈p/n⌉·(n + o) bytes of the
//! message have come, or all. Left out: records that begin short and grow, as some servers write them, and padding (RFC 8446 §5.4).

use crate::Tls;
use farhop_units::Bytes;

/// What a record can hold (RFC 8446 §5.1).
pub const MOST_RECORD_BYTES: Bytes = Bytes::kib(16);

/// How messages are cut into records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Records {
    /// Bytes of content in each.
    content: u64,
    /// What each takes in addition.
    overhead: u64,
}

impl Default for Records {
    fn default() -> Self {
        Self::NONE
    }
}

impl Records {
    /// There are none: each byte can be read as it comes.
    pub const NONE: Self = Self { content: 1, overhead: 0 };

    /// Records with so much content; none is taken as one byte.
    pub const fn new(tls: Tls, content: Bytes) -> Self {
        let overhead = match tls {
            Tls::None => return Self::NONE,
            // RFC 5246 §6.2.3.3 and RFC 5288 §3: a header, the nonce's part that is sent, the tag of AES-GCM.
            Tls::V12 => 5 + 8 + 16,
            // RFC 8446 §5.2: a header, the content's type, the tag.
            Tls::V13 => 5 + 1 + 16,
        };
        let content = if content.get() == 0 { 1 } else { content.get() };
        Self { content, overhead }
    }

    /// What a message with so much content takes.
    pub const fn sealed(self, message: Bytes) -> Bytes {
        Bytes::new(message.get() + message.get().div_ceil(self.content) * self.overhead)
    }

    /// How much of a message must have come until its first `wanted` bytes can be read.
    pub fn needed(self, wanted: Bytes, message: Bytes) -> Bytes {
        let whole = wanted.get().div_ceil(self.content).saturating_mul(self.content);
        self.sealed(Bytes::new(whole).min(message))
    }

    /// How much of a message can be read of which so much has come.
    pub fn readable(self, come: Bytes, message: Bytes) -> Bytes {
        let whole = come.get() / (self.content + self.overhead) * self.content;
        if come < self.sealed(message) { Bytes::new(whole) } else { message }
    }

    /// What a frame takes of as many whole records as have room in so many bytes.
    pub const fn frame(self, most: Bytes) -> Bytes {
        let whole = most.get() / self.content * self.content;
        self.sealed(if whole == 0 { most } else { Bytes::new(whole) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const THOUSAND: Records = Records::new(Tls::V13, Bytes::new(1000));

    #[test]
    fn a_record_is_read_when_all_of_it_has_come() {
        let message = Bytes::new(2500);
        assert_eq!(THOUSAND.sealed(message), Bytes::new(2500 + 3 * 22));
        let read =
            [0, 1021, 1022, 2043, 2044, 2565, 2566].map(|come| THOUSAND.readable(Bytes::new(come), message).get());
        assert_eq!(read, [0, 0, 1000, 1000, 2000, 2000, 2500]);
        let needed = [0, 1, 1000, 1001, 2001, 2500].map(|wanted| THOUSAND.needed(Bytes::new(wanted), message).get());
        assert_eq!(needed, [0, 1022, 1022, 2044, 2566, 2566]);
    }

    #[test]
    fn without_keys_each_byte_is_read_as_it_comes() {
        let (none, message) = (Records::new(Tls::None, MOST_RECORD_BYTES), Bytes::new(77));
        for bytes in (0..=77).map(Bytes::new) {
            assert_eq!(
                (none.sealed(bytes), none.needed(bytes, message), none.readable(bytes, message)),
                (bytes, bytes, bytes)
            );
        }
        assert_eq!(none.frame(MOST_RECORD_BYTES), MOST_RECORD_BYTES);
    }

    #[test]
    fn frames_are_of_whole_records() {
        assert_eq!(THOUSAND.frame(MOST_RECORD_BYTES), Bytes::new(16 * 1022));
        let longest = Records::new(Tls::V12, MOST_RECORD_BYTES);
        assert_eq!([500, 16_384].map(|most| longest.frame(Bytes::new(most)).get()), [529, 16_384 + 29]);
    }

    proptest! {
        #[test]
        fn what_is_needed_is_just_enough(content in 1..20_000_u64, message in 1..100_000_u64, part in 0.0..=1.0) {
            let records = Records::new(Tls::V12, Bytes::new(content));
            let message = Bytes::new(message);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a small number")]
            let wanted = Bytes::new(((message.as_f64() * part) as u64).max(1));
            let needed = records.needed(wanted, message);
            prop_assert!(needed <= records.sealed(message));
            prop_assert!(records.readable(needed, message) >= wanted);
            prop_assert!(records.readable(needed - Bytes::new(1), message) < wanted);
        }
    }
}
