//! Which waiting packet goes next, and which is dropped.

use core::fmt;
use core::str::FromStr;
use farhop_units::terms::Terms;
use farhop_units::{Bytes, ParseError, duration};
use std::time::Duration;

/// A queue's discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Discipline {
    /// First in, first out; what does not fit is dropped.
    #[default]
    DropTail,
    /// Controlled delay (RFC 8289) over one first-in-first-out queue.
    CoDel(CoDel),
    /// Fair between flows by deficit round robin, new flows first (RFC 8290 without its CoDel); a full queue drops from
    /// the longest flow.
    FairQueue {
        /// Bytes a flow may send per round.
        quantum: Bytes,
    },
    /// Fair between flows, each under CoDel (RFC 8290).
    FqCoDel {
        /// Bytes a flow may send per round.
        quantum: Bytes,
        /// The control of every flow.
        codel: CoDel,
    },
    /// Strict priority between the classes of [`Class`](crate::Class), each first in, first out in a queue of its own, of the
    /// whole limit.
    Priority,
}

impl Discipline {
    /// Whether it drops packets that there is room for.
    pub const fn drops_early(&self) -> bool {
        match self {
            Self::CoDel(_) | Self::FqCoDel { .. } => true,
            Self::DropTail | Self::FairQueue { .. } | Self::Priority => false,
        }
    }
}

/// Parameters of CoDel (RFC 8289 §4.2-4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDel {
    /// Standing delay that is acceptable.
    pub target: Duration,
    /// Time over which the least delay is judged: a usual round trip of the connections passing.
    pub interval: Duration,
    /// Whether packets of ECN-capable connections are marked instead of dropped.
    pub ecn: bool,
}

impl CoDel {
    /// RFC 8289's: 5 ms, 100 ms; no marking.
    pub const DEFAULT: Self =
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false };
}

/// RFC 8290 §5.2.2's quantum: one full packet with its Ethernet header.
const QUANTUM: Bytes = Bytes::new(1514);

const WORDS: [&str; 5] = ["drop-tail", "codel", "fair-queue", "fq-codel", "priority"];
const ACCEPTED: &str = "drop-tail, codel, fair-queue, fq-codel or priority; codel and fq-codel with target=5ms, \
                        interval=100ms, ecn=on; fair-queue and fq-codel with quantum=1514B";

impl FromStr for Discipline {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let terms = Terms::split(text, ACCEPTED)?;
        let discipline = match terms.word {
            "drop-tail" => Self::DropTail,
            "codel" => Self::CoDel(codel(&terms)?),
            "fair-queue" => Self::FairQueue { quantum: quantum(&terms)? },
            "fq-codel" => Self::FqCoDel { quantum: quantum(&terms)?, codel: codel(&terms)? },
            "priority" => Self::Priority,
            other => return Err(ParseError::unknown("discipline", other, WORDS, ACCEPTED)),
        };
        terms.finish()?;
        Ok(discipline)
    }
}

fn quantum(terms: &Terms<'_>) -> Result<Bytes, ParseError> {
    let accepted = "at least 1 B, e.g. quantum=1514B";
    match terms.get("quantum", str::parse::<Bytes>)? {
        Some(Bytes::ZERO) => Err(ParseError::new("quantum: a round without a byte", accepted)),
        quantum => Ok(quantum.unwrap_or(QUANTUM)),
    }
}

fn codel(terms: &Terms<'_>) -> Result<CoDel, ParseError> {
    let default = CoDel::DEFAULT;
    let (target, interval) = (terms.get("target", duration::parse)?, terms.get("interval", duration::parse)?);
    let interval = interval.unwrap_or(default.interval);
    if interval.is_zero() {
        return Err(ParseError::new("interval: no time to judge delays", "more than 0 ms, e.g. interval=100ms"));
    }
    Ok(CoDel {
        target: target.unwrap_or(default.target),
        interval,
        ecn: terms.get("ecn", on_or_off)?.unwrap_or(default.ecn),
    })
}

fn on_or_off(text: &str) -> Result<bool, ParseError> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(ParseError::new(format!("\"{text}\""), "on or off")),
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |quantity: String| quantity.replace(' ', "");
        match self {
            Self::DropTail => f.write_str("drop-tail"),
            Self::CoDel(codel) => write!(f, "codel {codel}"),
            Self::FairQueue { quantum } => write!(f, "fair-queue quantum={}", joined(quantum.to_string())),
            Self::FqCoDel { quantum, codel } => {
                write!(f, "fq-codel quantum={} {codel}", joined(quantum.to_string()))
            }
            Self::Priority => f.write_str("priority"),
        }
    }
}

/// The terms alone.
impl fmt::Display for CoDel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |span| duration::format(span).replace(' ', "");
        let ecn = if self.ecn { "on" } else { "off" };
        write!(f, "target={} interval={} ecn={ecn}", time(self.target), time(self.interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disciplines_read_back() {
        let codel = CoDel { target: Duration::from_millis(20), ecn: true, ..CoDel::DEFAULT };
        let quantum = Bytes::new(300);
        let all = [
            Discipline::DropTail,
            Discipline::CoDel(codel),
            Discipline::FairQueue { quantum },
            Discipline::FqCoDel { quantum, codel },
            Discipline::Priority,
        ];
        for discipline in all {
            assert_eq!(discipline.to_string().parse(), Ok(discipline));
        }
        assert_eq!("codel".parse(), Ok(Discipline::CoDel(CoDel::DEFAULT)));
    }

    #[test]
    fn wrong_terms_are_named() {
        let problem = |text: &str| text.parse::<Discipline>().unwrap_err().to_string();
        assert_eq!(problem("red"), format!("unknown discipline \"red\"; accepted: {ACCEPTED}"));
        assert_eq!(
            problem("codel target=5"),
            "target: \"5\" has no unit; accepted: a number and ns, us, ms, s, min or h, e.g. \"250 ms\""
        );
        assert_eq!(problem("priority classes=3"), "unknown term \"classes\"; accepted: \"priority\" alone");
        assert_eq!(
            problem("fair-queue quantum=0B"),
            "quantum: a round without a byte; accepted: at least 1 B, e.g. quantum=1514B"
        );
        assert_eq!(
            problem("codel interval=0ms"),
            "interval: no time to judge delays; accepted: more than 0 ms, e.g. interval=100ms"
        );
    }
}
