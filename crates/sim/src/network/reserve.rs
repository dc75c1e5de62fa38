//! Room in the far link's queue that who asks for room is not told of, because multicast goes before it.
//!
//! zhou-2004 (§IV, Fig 3) has a queue for multicast beside that for all else, and promises that neither overflows. So has the link where it is
//! served by priority. Where they share one, who fills what room there is would leave none to multicast.

use farhop_link::QueueLimit;
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
        let down = &scenario.link.down;
        let Some(multicast) = scenario.multicast else { return Self::default() };
        let meanwhile = || down.peak_rate().map_or_else(Self::default, |rate| Self::for_multicast(multicast, rate));
        match down.discipline {
            Discipline::Priority => Self::default(),
            Discipline::FairQueue { .. } | Discipline::FqCoDel { .. } => {
                let (meanwhile, longer) = (meanwhile(), Self::of_the_longer(multicast, down.queue));
                Self { bytes: meanwhile.bytes.max(longer.bytes), packets: meanwhile.packets.max(longer.packets) }
            }
            Discipline::DropTail | Discipline::CoDel(_) => meanwhile(),
        }
    }

    /// A full fair queue drops from what has most bytes in it. That is multicast, however long the link pauses, if all else has at most as many as
    /// are left for multicast.
    fn of_the_longer(Multicast { packet, .. }: Multicast, limit: QueueLimit) -> Self {
        match limit {
            QueueLimit::Unlimited => Self::default(),
            QueueLimit::Bytes(limit) => Self { bytes: Bytes::new(limit.get().div_ceil(2)), packets: 0 },
            QueueLimit::Packets(limit) => {
                let [limit_of_all, packet, longest] = [limit, packet.get(), LONGEST.get()].map(u128::from);
                let others = u64::try_from(limit_of_all * packet / (longest + packet)).unwrap_or(limit);
                Self { bytes: Bytes::ZERO, packets: limit - others }
            }
        }
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

    #[test]
    fn what_is_pushed_out_of_a_fair_queue_is_multicast() {
        let of = |packet, limit| {
            Reserve::of_the_longer(Multicast { rate: Rate::mbps(1), packet: Bytes::new(packet) }, limit)
        };
        assert_eq!(of(100, QueueLimit::Unlimited), Reserve::default());
        assert_eq!(of(100, QueueLimit::Bytes(Bytes::new(7001))).bytes, Bytes::new(3501));
        for (packet, limit) in [(100, 4), (100, 200), (1500, 7), (750, 30), (1, u64::MAX)] {
            let others = limit - of(packet, QueueLimit::Packets(limit)).packets;
            // As soon as it is full one of multicast comes, and there are more bytes of it than of the others.
            let multicast = u128::from(limit - others + 1) * u128::from(packet);
            assert!(multicast > u128::from(others) * 1500, "{packet} B: {others} of {limit}");
            let one_more = u128::from(limit - others - 1) * u128::from(packet);
            assert!(one_more < u128::from(others + 1) * 1500, "{packet} B: more than {others} of {limit} would do");
        }
    }
}
