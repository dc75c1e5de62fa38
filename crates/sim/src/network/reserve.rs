//! Room in the far link's queue that who asks for room is not told of, because multicast goes before it.
//!
//! zhou-2004 (§IV, Fig 3) has a queue for multicast beside that for all else, and promises that neither overflows. So has the link where it is
//! served by priority. Where they share one, who fills what room there is would leave none to multicast.

use farhop_scenario::{Discipline, Multicast, Scenario};
use farhop_units::{Bytes, Rate};

/// The longest packet that multicast may have to wait for.
const LONGEST: Bytes = Bytes::new(1500);

/// What is kept free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reserve {
    pub(super) bytes: Bytes,
    pub(super) packets: u64,
}

impl Reserve {
    /// For the multicast of a scenario, if it has some.
    pub(super) fn of(scenario: &Scenario) -> Self {
        let is_shared = scenario.link.down.discipline != Discipline::Priority;
        let rate = scenario.link.down.peak_rate().filter(|_| is_shared);
        scenario
            .multicast
            .zip(rate)
            .map_or_else(Self::default, |(multicast, rate)| Self::for_multicast(multicast, rate))
    }

    /// One that comes as another packet's service begins, and those that follow until it ends.
    fn for_multicast(Multicast { rate, packet }: Multicast, link: Rate) -> Self {
        let meanwhile = rate.bytes_in(link.transmission_time(LONGEST)).get().div_ceil(packet.get().max(1));
        let packets = meanwhile + 1;
        Self { bytes: Bytes::new(packet.get() * packets), packets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_kept_for_what_comes_while_a_packet_is_served() {
        let reserve =
            |rate, packet| Reserve::for_multicast(Multicast { rate, packet: Bytes::new(packet) }, Rate::mbps(4));
        assert_eq!(reserve(Rate::mbps(1), 1344), Reserve { bytes: Bytes::new(2688), packets: 2 });
        // 375 B come in 3 ms.
        assert_eq!(reserve(Rate::mbps(1), 100), Reserve { bytes: Bytes::new(500), packets: 5 });
    }
}
