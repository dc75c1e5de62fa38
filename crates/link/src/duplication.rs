//! Packets that arrive twice.
//!
//! A link layer whose acknowledgement is lost sends a frame again that had arrived. The copy arrives right after the original;
//! a copy that comes later, among other packets, is left out, and so is a third one.

use crate::Port;
use crate::random::{self, Impairment, Stream};
use farhop_units::Probability;

/// Decides packet by packet.
#[derive(Debug)]
pub(crate) struct Duplication {
    probability: Probability,
    stream: Stream,
    packets: u64,
}

impl Duplication {
    /// The duplication of the path that begins at `entry` in a channel with this seed.
    pub(crate) fn new(probability: Probability, seed: u64, entry: Port) -> Self {
        Self { probability, stream: random::stream(seed, Impairment::Duplication, entry), packets: 0 }
    }

    /// Whether the next packet arrives twice.
    pub(crate) fn next(&mut self) -> bool {
        let index = self.packets;
        self.packets += 1;
        self.stream.happens(index, self.probability)
    }

    /// So many packets have passed unharmed.
    pub(crate) fn skip(&mut self, packets: u64) {
        self.packets += packets;
    }

    /// Changes the probability; the stream goes on.
    pub(crate) fn set_probability(&mut self, probability: Probability) {
        self.probability = probability;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duplication(probability: f64) -> Duplication {
        Duplication::new(Probability::new(probability).expect("from 0 to 1"), 7, Port::Gateway)
    }

    #[test]
    fn the_share_of_packets_arrives_twice() {
        let mut duplication = duplication(0.02);
        let count = (0..100_000).filter(|_| duplication.next()).count();
        // 2000 ± 4·√(100,000 · 0.02 · 0.98)
        assert!((1823..=2177).contains(&count), "{count}");
    }

    #[test]
    fn never_and_always_are_exact() {
        let (mut never, mut always) = (duplication(0.0), duplication(1.0));
        assert!((0..10_000).all(|_| !never.next() && always.next()));
    }

    #[test]
    fn a_change_goes_on_with_the_stream() {
        let (mut changed, mut constant) = (duplication(0.0), duplication(0.5));
        for _ in 0..100 {
            changed.next();
            constant.next();
        }
        changed.set_probability(Probability::new(0.5).unwrap());
        assert!((0..100).all(|_| changed.next() == constant.next()));
    }
}
