//! What schemes have in common as a scenario describes them: frames, request slots, backoff.

use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;
use farhop_units::terms::Terms;
use farhop_units::{Bytes, ParseError, Rate, duration};
use std::time::Duration;

/// How long a frame is and into how many data slots it is cut. What is not given follows from rate and terminals: slots
/// of an ATM cell (53 B), as many as fit 26.5 ms and at least as many as the scheme needs, in a frame that just holds them.
/// At 2048 kbit/s, for which Le-Ngoc and Mohammed designed CFDAMA, these are 128 slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameFormat {
    /// From the start of one frame to the start of the next.
    pub frame: Option<Duration>,
    /// Data slots per frame, all of one size.
    pub slots: Option<NonZeroU32>,
}

/// Small slots at the start of every frame that carry requests and no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSlots {
    /// How many per frame; if not given, a tenth of 26.5 ms, at least one and at most one per terminal.
    pub slots: Option<NonZeroU32>,
    /// What one of them takes up, guard time and preamble included.
    pub size: Bytes,
}

/// 8 B: terminal, kind, amount and check of a request, and as much again of preamble and guard time.
impl Default for RequestSlots {
    fn default() -> Self {
        Self { slots: None, size: Bytes::new(8) }
    }
}

/// The request field of a data burst, of which the request is 16 bits.
pub(super) const REQUEST_FIELD: Bytes = Bytes::new(2);

/// In how many slots an attempt is drawn that follows a collision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The window after the first collision.
    pub first: NonZeroU32,
    /// The window doubles with every further collision up to this; the same as `first` is uniform backoff.
    pub longest: NonZeroU32,
}

impl Backoff {
    /// From 8 to 1024 slots: Ethernet's longest window (IEEE 802.3 §4.2.3.2.5), not its shortest, since a collision is known
    /// only after a round trip of many slots. Among more than 1024 terminals the longest window has a slot for each.
    pub(super) fn usual(terminals: u16) -> Self {
        let slots = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
        Self { first: slots(8), longest: slots(u32::from(terminals).next_power_of_two().max(1024)) }
    }

    /// Checks that two terminals that collide need not do so for ever.
    pub(super) fn check(self, terminals: u16) -> Result<(), ParseError> {
        if self.longest.get() > 1 || terminals < 2 {
            return Ok(());
        }
        let problem = format!("backoff: {self} slot, so that two of {terminals} terminals collide for ever");
        Err(ParseError::new(problem, "at least 2 slots, e.g. 8..1024"))
    }

    /// The window after `collisions` collisions, in slots.
    pub(super) fn window(self, collisions: u16) -> u32 {
        let doublings = u32::from(collisions.saturating_sub(1)).min(31);
        let window = u64::from(self.first.get()) << doublings;
        u32::try_from(window).map_or(self.longest.get(), |window| window.min(self.longest.get()))
    }
}

impl FromStr for Backoff {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refuse = || {
            ParseError::new(
                format!("\"{text}\""),
                "slots, e.g. 64, or from the first to the longest window, e.g. 8..1024",
            )
        };
        let (first, longest) = text.split_once("..").unwrap_or((text, text));
        let slots = |text: &str| text.parse::<NonZeroU32>().map_err(|_| refuse());
        let backoff = Self { first: slots(first)?, longest: slots(longest)? };
        if backoff.first <= backoff.longest { Ok(backoff) } else { Err(refuse()) }
    }
}

impl fmt::Display for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.longest {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}..{}", self.first, self.longest)
        }
    }
}

impl FrameFormat {
    pub(super) fn read(terms: &Terms<'_>) -> Result<Self, ParseError> {
        Ok(Self { frame: terms.get("frame", duration::parse)?, slots: terms.get("slots", count)? })
    }
}

/// The terms that are given, each after a blank.
impl fmt::Display for FrameFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(frame) = self.frame {
            write!(f, " frame={}", time(frame))?;
        }
        self.slots.map_or(Ok(()), |slots| write!(f, " slots={slots}"))
    }
}

impl RequestSlots {
    pub(super) fn read(terms: &Terms<'_>) -> Result<Self, ParseError> {
        let size = terms.get("request", some_bytes)?.unwrap_or(Self::default().size);
        Ok(Self { slots: terms.get("request-slots", count)?, size })
    }
}

/// The terms, each after a blank.
impl fmt::Display for RequestSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(slots) = self.slots {
            write!(f, " request-slots={slots}")?;
        }
        write!(f, " request={}", bytes(self.size))
    }
}

/// A backoff that is given, as a term after a blank.
pub(super) fn write_backoff(f: &mut fmt::Formatter<'_>, backoff: Option<Backoff>) -> fmt::Result {
    backoff.map_or(Ok(()), |backoff| write!(f, " backoff={backoff}"))
}

/// Reads a number of slots.
pub(super) fn count(text: &str) -> Result<NonZeroU32, ParseError> {
    text.parse().map_err(|_| ParseError::new(format!("\"{text}\""), "a whole number of at least 1"))
}

/// Reads a number that may be zero.
pub(super) fn number(text: &str) -> Result<u32, ParseError> {
    text.parse().map_err(|_| ParseError::new(format!("\"{text}\""), "a whole number"))
}

/// Reads a size above zero.
pub(super) fn some_bytes(text: &str) -> Result<Bytes, ParseError> {
    match text.parse()? {
        Bytes::ZERO => Err(ParseError::new(format!("\"{text}\" is nothing"), "at least 1 B")),
        size => Ok(size),
    }
}

/// Reads a duration above zero.
pub(super) fn some_time(text: &str) -> Result<Duration, ParseError> {
    match duration::parse(text)? {
        Duration::ZERO => Err(ParseError::new(format!("\"{text}\" is no time"), "more than 0 ms, e.g. 2s")),
        time => Ok(time),
    }
}

/// A duration as a term's value: without blanks.
pub(super) fn time(span: Duration) -> String {
    duration::format(span).replace(' ', "")
}

/// A size as a term's value.
pub(super) fn bytes(size: Bytes) -> String {
    size.to_string().replace(' ', "")
}

/// A rate as a term's value.
pub(super) fn rate(rate: Rate) -> String {
    rate.to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_double_up_to_the_longest() {
        let backoff: Backoff = "3..20".parse().unwrap();
        assert_eq!([0, 1, 2, 3, 4, 5, 40, u16::MAX].map(|count| backoff.window(count)), [3, 3, 6, 12, 20, 20, 20, 20]);
        let uniform: Backoff = "64".parse().unwrap();
        assert_eq!([1, 2, 99].map(|count| uniform.window(count)), [64; 3]);
    }

    #[test]
    fn backoffs_read_back() {
        for text in ["64", "8..1024", "1..4294967295"] {
            assert_eq!(text.parse::<Backoff>().map(|backoff| backoff.to_string()), Ok(text.to_owned()));
        }
        for text in ["0", "8..4", "8..", "-1", "8...9"] {
            assert!(text.parse::<Backoff>().is_err(), "{text}");
        }
    }
}
