//! What the link adds to every packet on the wire.

use crate::Count;
use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;
use farhop_units::terms::Terms;
use farhop_units::{Bytes, ParseError};

/// Frame headers and coding. The serializer is busy for `(packet + overhead) × redundancy`; queues, counters and logs count
/// the packet alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// Bytes added to every packet.
    pub overhead: Bytes,
    /// Transmitted bits per bit of frame: obata-2001's α = 16/15. Never below one.
    pub redundancy: (NonZeroU32, NonZeroU32),
}

impl Default for Framing {
    fn default() -> Self {
        Self { overhead: Bytes::ZERO, redundancy: (NonZeroU32::MIN, NonZeroU32::MIN) }
    }
}

/// Longest frame header that is accepted.
const MAX_OVERHEAD: Bytes = Bytes::new(65_535);
const NONE: &str = "none";
const ACCEPTED: &str = "none, or overhead=8B, redundancy=16/15 or both";

impl Framing {
    /// What so many packets of so many bytes together cost on the wire, in units of which a byte has
    /// [`Framing::work_per_byte`]: exact, so that the work of packets adds up.
    pub fn work(&self, packets: Count) -> u128 {
        let frames = u128::from(packets.bytes.get()) + u128::from(packets.packets) * u128::from(self.overhead.get());
        frames * u128::from(self.redundancy.0.get())
    }

    /// Units of work in a byte on the wire.
    pub fn work_per_byte(&self) -> u128 {
        self.redundancy.1.get().into()
    }

    /// Whether nothing is added.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl FromStr for Framing {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let terms = Terms::split(text, ACCEPTED)?;
        if !["", NONE].contains(&terms.word) {
            return Err(ParseError::unknown("framing", terms.word, [NONE], ACCEPTED));
        }
        if terms.word == NONE {
            terms.finish()?;
            return Ok(Self::default());
        }
        let overhead = terms.get("overhead", overhead)?.unwrap_or(Bytes::ZERO);
        let redundancy = terms.get("redundancy", ratio)?;
        terms.finish()?;
        Ok(Self { overhead, redundancy: redundancy.unwrap_or(Self::default().redundancy) })
    }
}

fn overhead(text: &str) -> Result<Bytes, ParseError> {
    let bytes: Bytes = text.parse()?;
    if bytes <= MAX_OVERHEAD { Ok(bytes) } else { Err(ParseError::new("too long a header", "at most 65535 B")) }
}

/// A fraction of at least one in lowest terms.
fn ratio(text: &str) -> Result<(NonZeroU32, NonZeroU32), ParseError> {
    let refuse = || ParseError::new(format!("\"{text}\""), "a fraction of at least one, e.g. 16/15");
    let (sent, useful) = text.split_once('/').ok_or_else(refuse)?;
    let number = |text: &str| text.trim().parse::<NonZeroU32>().map_err(|_| refuse());
    let (sent, useful) = (number(sent)?, number(useful)?);
    let divisor = gcd(sent.get(), useful.get());
    let reduced = |number: NonZeroU32| NonZeroU32::new(number.get() / divisor).ok_or_else(refuse);
    if sent < useful { Err(refuse()) } else { Ok((reduced(sent)?, reduced(useful)?)) }
}

const fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sent, useful) = self.redundancy;
        match (self.overhead, sent == useful) {
            (Bytes::ZERO, true) => f.write_str(NONE),
            (Bytes::ZERO, false) => write!(f, "redundancy={sent}/{useful}"),
            (overhead, true) => write!(f, "overhead={}B", overhead.get()),
            (overhead, false) => write!(f, "overhead={}B redundancy={sent}/{useful}", overhead.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn framings_read_back() {
        for text in ["none", "overhead=18B", "redundancy=16/15", "overhead=4B redundancy=4/3"] {
            assert_eq!(text.parse::<Framing>().map(|framing| framing.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("redundancy=32/30".parse::<Framing>(), "redundancy=16/15".parse());
    }

    #[test]
    fn less_than_the_packet_itself_is_refused() {
        let error = "redundancy=15/16".parse::<Framing>().unwrap_err().to_string();
        assert_eq!(error, "redundancy: \"15/16\"; accepted: a fraction of at least one, e.g. 16/15");
        for text in ["redundancy=1/0", "redundancy=2", "overhead=1MB", "ethernet", "none overhead=1B"] {
            assert!(text.parse::<Framing>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_framing_reads_back(overhead in 0_u64..=65_535, useful in 1_u32..1000, more in 0_u32..1000) {
            let text = format!("overhead={overhead}B redundancy={}/{useful}", useful + more);
            let framing: Framing = text.parse().unwrap();
            prop_assert_eq!(framing.to_string().parse(), Ok(framing));
        }

        #[test]
        fn any_text_gives_an_answer(text in "((overhead|redundancy|none)[=/ 0-9B]*)*|.*") {
            let _ = text.parse::<Framing>();
        }
    }
}
