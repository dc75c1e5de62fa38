//! `[multicast]`: what the gateway sends to all terminals beside what users ask for (zhou-2004 §IV-A).

use crate::reader::{Document, ValueError};
use farhop_link::ChannelConfig;
use farhop_units::{Bytes, ParseError, Rate};
use std::time::Duration;

/// A stream of packets of one size at a constant rate, from the gateway to every terminal, of the most urgent class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Multicast {
    /// How much there is of it, IP headers included.
    pub rate: Rate,
    /// One packet of it, IP header included.
    pub packet: Bytes,
}

impl Multicast {
    /// Seven packets of an MPEG transport stream, of 188 B each, behind headers of UDP and IPv4 (ETSI TS 102 034 §7.1).
    const USUAL_PACKET: Bytes = Bytes::new(7 * 188 + 8 + 20);
    /// The headers alone, and what an Ethernet carries.
    const PACKETS: core::ops::RangeInclusive<u64> = 28..=1500;

    /// When packet `number` comes, since the beginning; the first is number 0.
    pub fn time_of(&self, number: u64) -> Duration {
        self.rate.transmission_time(Bytes::new(number.saturating_mul(self.packet.get())))
    }

    /// What it leaves of `rate`.
    pub fn left_of(&self, rate: Rate) -> Rate {
        let left = rate.bits_per_second().saturating_sub(self.rate.bits_per_second());
        Rate::from_bits_per_second(left.max(1)).unwrap_or(rate)
    }
}

/// Reads the section, which is about the far link.
pub(crate) fn read(document: &Document, link: &ChannelConfig) -> Result<Option<Multicast>, ValueError> {
    let rate = document.get("multicast.rate", str::parse::<Rate>)?;
    let packet = document.get("multicast.packet", packet)?;
    let Some(rate) = rate else {
        let missing = || document.missing("multicast.rate", "how much there is of it, e.g. \"1 Mbit/s\"");
        return if packet.is_some() { Err(missing()) } else { Ok(None) };
    };
    match link.down.peak_rate() {
        Some(most) if rate >= most => {
            let problem = format!("nothing is left of the link's {most}");
            Err(document.refuse("multicast.rate", ParseError::new(problem, "a rate below link.down.rate")))
        }
        _ => Ok(Some(Multicast { rate, packet: packet.unwrap_or(Multicast::USUAL_PACKET) })),
    }
}

fn packet(text: &str) -> Result<Bytes, ParseError> {
    let size: Bytes = text.parse()?;
    if Multicast::PACKETS.contains(&size.get()) {
        Ok(size)
    } else {
        Err(ParseError::new("out of range", "28 B to 1500 B, headers of UDP and IP included"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, ScenarioError, open, parse};

    fn with(assignments: &[&str]) -> Result<Scenario, ScenarioError> {
        open("rwbp-128", &assignments.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn a_rate_is_enough_and_is_written_back() {
        let scenario = with(&["multicast.rate=1 Mbit/s"]).expect("below 4 Mbit/s");
        let multicast = Multicast { rate: Rate::mbps(1), packet: Bytes::new(1344) };
        assert_eq!(scenario.multicast, Some(multicast));
        assert_eq!(multicast.time_of(1000), Duration::from_millis(10_752));
        assert_eq!(multicast.left_of(Rate::mbps(4)), Rate::mbps(3));
        let again = parse(&scenario.name, &scenario.to_toml(), &[]).expect("it has been written by us");
        assert_eq!(again.multicast, Some(multicast));
        assert_eq!(with(&[]).expect("it is shipped").multicast, None);
    }

    #[test]
    fn what_leaves_nothing_of_the_link_is_refused() {
        for (assignments, problem) in [
            (&["multicast.rate=4 Mbit/s"][..], "nothing is left of the link's 4 Mbit/s"),
            (&["multicast.rate=1 Mbit/s", "multicast.packet=20 B"], "out of range"),
            (&["multicast.packet=1 kB"], "how much there is of it"),
        ] {
            let error = with(assignments).expect_err(problem).to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
