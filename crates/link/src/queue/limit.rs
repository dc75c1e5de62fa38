//! How much a queue holds.

use core::fmt;
use core::str::FromStr;
use farhop_units::{Bytes, ParseError, counted};

/// What may wait for the serializer, not counting the packet in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueLimit {
    /// No limit.
    #[default]
    Unlimited,
    /// So many bytes on the wire.
    Bytes(Bytes),
    /// So many packets, whatever their size.
    Packets(u64),
}

const PACKETS: [&str; 2] = ["packets", "packet"];
const UNLIMITED: &str = "unlimited";
const ACCEPTED: &str = "a size such as \"256 kB\", a number of packets such as \"100 packets\", or \"unlimited\"";

impl FromStr for QueueLimit {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refuse = |problem: String| ParseError::new(problem, ACCEPTED);
        if text.trim() == UNLIMITED {
            return Ok(Self::Unlimited);
        }
        match PACKETS.into_iter().find_map(|unit| text.trim().strip_suffix(unit)) {
            Some(number) => {
                let number = number.trim().parse();
                number.map(Self::Packets).map_err(|_| refuse(format!("no number of packets in \"{text}\"")))
            }
            None => text.parse().map(Self::Bytes).map_err(|error: ParseError| refuse(error.problem)),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str(UNLIMITED),
            Self::Bytes(limit) => write!(f, "{limit}"),
            Self::Packets(limit) => f.write_str(&counted(limit, "packet")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_in_bytes_or_packets() {
        assert_eq!("256 kB".parse(), Ok(QueueLimit::Bytes(Bytes::kb(256))));
        assert_eq!("100 packets".parse(), Ok(QueueLimit::Packets(100)));
        assert_eq!("1packet".parse(), Ok(QueueLimit::Packets(1)));
        assert_eq!("unlimited".parse(), Ok(QueueLimit::Unlimited));
        for limit in [QueueLimit::Unlimited, QueueLimit::Bytes(Bytes::new(1501)), QueueLimit::Packets(7)] {
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
    }

    #[test]
    fn other_texts_say_what_is_wrong() {
        let problem = |text: &str| text.parse::<QueueLimit>().unwrap_err().problem;
        assert_eq!(problem("many packets"), "no number of packets in \"many packets\"");
        assert_eq!(problem("-1 packets"), "no number of packets in \"-1 packets\"");
        assert_eq!(problem("5"), "\"5\" has no unit");
    }
}
