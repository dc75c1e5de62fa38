//! Message heads of an exact size, so that measured, simulated and predicted requests and responses are equally long, across proxies, too.
//!
//! A field that says nothing brings a head to its size. Where not even an empty one has room it is white space after another field's value,
//! which RFC 9112 §5.1 allows and makes recipients ignore; that works for every size from the necessary one up. A head that is too long
//! without any stays as it is; whoever asked for a shorter one is told.

use farhop_units::Bytes;
use farhop_web::LONGEST_HEAD;

/// Bytes a header field takes: name, colon, space, value, CRLF.
pub(crate) fn field_bytes(name: &str, value: &[u8]) -> usize {
    name.len() + value.len() + 4
}

/// What brings a head to its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Filler {
    /// A further field's value.
    Field(String),
    /// White space after a field's value.
    Space(String),
}

impl Filler {
    /// For a head of `used` bytes that is to have `wanted`, as far as that is possible, with a field of this name.
    pub(crate) fn of(name: &str, used: usize, wanted: Bytes) -> Self {
        let wanted = usize::try_from(wanted.min(LONGEST_HEAD).get()).expect("a limit of some kB");
        let left = wanted.saturating_sub(used);
        match left.checked_sub(field_bytes(name, b"")) {
            Some(value) => Self::Field("x".repeat(value)),
            None => Self::Space(" ".repeat(left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filler_takes_up_what_is_left() {
        assert_eq!(Filler::of("pad", 94, Bytes::new(96)), Filler::Space("  ".to_owned()));
        assert_eq!(Filler::of("pad", 89, Bytes::new(96)), Filler::Field(String::new()));
        assert_eq!(Filler::of("pad", 86, Bytes::new(96)), Filler::Field("xxx".to_owned()));
        assert_eq!(Filler::of("pad", 96, Bytes::new(96)), Filler::Space(String::new()));
    }

    #[test]
    fn a_head_that_is_too_long_stays_as_it_is() {
        assert_eq!(Filler::of("pad", 100, Bytes::ZERO), Filler::Space(String::new()));
    }

    #[test]
    fn no_head_is_longer_than_servers_accept() {
        let Filler::Field(value) = Filler::of("pad", 100, Bytes::new(u64::MAX)) else { panic!("there is room") };
        assert!(value.len() < 33_000);
    }
}
