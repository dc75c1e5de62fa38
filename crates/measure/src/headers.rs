//! Message heads of an exact size, so that measured, simulated and predicted requests and responses are equally long.
//!
//! RFC 9112 §5.1 allows white space after a field's value and makes recipients ignore it. One field of each head has as much of it as
//! brings the head to its size, which works for every size from the necessary one up. A head that is too long without any stays as it
//! is; whoever asked for a shorter one is told.

use farhop_units::Bytes;

/// No head is brought beyond this: servers and proxies refuse longer ones (8 to 64 KiB are usual limits).
pub(crate) const LONGEST: u64 = 32 << 10;

/// Bytes a header field takes: name, colon, space, value, CRLF.
pub(crate) fn field_bytes(name: &str, value: &[u8]) -> usize {
    name.len() + value.len() + 4
}

/// White space that brings a head of `used` bytes to `wanted`, as far as that is possible.
pub(crate) fn padding(used: usize, wanted: Bytes) -> String {
    let wanted = usize::try_from(wanted.get().min(LONGEST)).expect("a limit of some kB");
    " ".repeat(wanted.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_takes_up_what_is_left() {
        assert_eq!(padding(94, Bytes::new(96)), "  ");
        assert_eq!(padding(96, Bytes::new(96)), "");
    }

    #[test]
    fn a_head_that_is_too_long_stays_as_it_is() {
        assert_eq!(padding(100, Bytes::ZERO), "");
    }

    #[test]
    fn no_head_is_longer_than_servers_accept() {
        assert!(padding(100, Bytes::new(u64::MAX)).len() < 33_000);
    }
}
