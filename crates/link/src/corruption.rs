//! Packets in which one bit is flipped.
//!
//! The link decides whether, and draws the number that says where; what a bit is only the packet knows
//! ([`Packet::corrupt`](crate::Packet::corrupt)). Whether and where have a stream each, so that rare corruption still meets
//! every bit. Left out: several wrong bits in one packet, and frames that a checksum of the link discards (bit errors of the
//! loss model).

use crate::Port;
use crate::random::{self, Impairment, Stream};
use farhop_units::Probability;

/// Decides packet by packet.
#[derive(Debug)]
pub(crate) struct Corruption {
    probability: Probability,
    whether: Stream,
    place: Stream,
    packets: u64,
}

impl Corruption {
    /// The corruption of the path that begins at `entry` in a channel with this seed.
    pub(crate) fn new(probability: Probability, seed: u64, entry: Port) -> Self {
        let whether = random::stream(seed, Impairment::Corruption, entry);
        let place = random::stream(seed, Impairment::CorruptedBit, entry);
        Self { probability, whether, place, packets: 0 }
    }

    /// If the next packet is corrupted, the random number that decides where.
    pub(crate) fn next(&mut self) -> Option<u64> {
        let index = self.packets;
        self.packets += 1;
        self.whether.happens(index, self.probability).then(|| self.place.bits(index))
    }

    /// So many packets have passed unharmed.
    pub(crate) fn skip(&mut self, packets: u64) {
        self.packets += packets;
    }

    /// Changes the probability; the streams go on.
    pub(crate) fn set_probability(&mut self, probability: Probability) {
        self.probability = probability;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corruption(probability: f64) -> Corruption {
        Corruption::new(Probability::new(probability).expect("from 0 to 1"), 7, Port::Gateway)
    }

    #[test]
    fn the_share_of_packets_is_corrupted() {
        let mut corruption = corruption(0.02);
        let count = (0..100_000).filter_map(|_| corruption.next()).count();
        // 2000 ± 4·√(100,000 · 0.02 · 0.98)
        assert!((1823..=2177).contains(&count), "{count}");
    }

    #[test]
    fn never_and_always_are_exact() {
        let (mut never, mut always) = (corruption(0.0), corruption(1.0));
        assert!((0..10_000).all(|_| never.next().is_none() && always.next().is_some()));
    }

    #[test]
    fn rare_corruption_meets_every_bit_evenly() {
        let mut corruption = corruption(0.05);
        let mut eighths = [0; 8];
        for draw in (0..100_000).filter_map(|_| corruption.next()) {
            eighths[usize::try_from(draw >> 61).unwrap()] += 1;
        }
        // 5000 draws: 625 ± 4·√(5000 · 1/8 · 7/8), and the deviation of their number.
        assert!(eighths.iter().all(|count| (520..=730).contains(count)), "{eighths:?}");
    }

    #[test]
    fn a_change_goes_on_with_the_streams() {
        let (mut changed, mut constant) = (corruption(0.0), corruption(0.5));
        for _ in 0..100 {
            changed.next();
            constant.next();
        }
        changed.set_probability(Probability::new(0.5).unwrap());
        assert!((0..100).all(|_| changed.next() == constant.next()));
    }
}
