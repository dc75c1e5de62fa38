//! The random numbers of a channel: one stream per impairment and path, addressed by number.
//!
//! A stream is a function: the n-th packet to reach a stage meets the stage's n-th number, whether the numbers before were
//! looked at or not. So switching one impairment on, off or to other parameters leaves what all others do as it was, before
//! and after any change of the link; two runs of one seed that differ in one setting are compared on common random numbers;
//! and what is off costs nothing.
//!
//! The generator is [`farhop_units::random`]'s.

use crate::Port;
pub(crate) use farhop_units::random::Stream;

/// What needs random numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Impairment {
    /// Whether a packet is lost.
    Loss = 0,
    /// When a bursty channel turns bad or good.
    Burst = 1,
    /// When outages begin and end.
    Outage = 2,
    /// Whether a packet is corrupted.
    Corruption = 3,
    /// Whether a packet arrives twice.
    Duplication = 4,
    /// How much longer a packet takes.
    Jitter = 5,
    /// Which packets are overtaken.
    Reordering = 6,
    /// Medium access: request slots, backoff.
    Access = 7,
    /// Which bit of a corrupted packet is flipped.
    CorruptedBit = 8,
}

/// The stream of `impairment` on the path that begins at `entry`, in a channel with this seed.
pub(crate) const fn stream(seed: u64, impairment: Impairment, entry: Port) -> Stream {
    let path = match entry {
        Port::Gateway => 0,
        Port::Terminal(number) => 1 + number as u64,
    };
    Stream::new(seed, path << 8 | impairment as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_is_its_own() {
        let mut firsts = Vec::new();
        for seed in [1, 2] {
            for entry in [Port::Gateway, Port::Terminal(0), Port::Terminal(1)] {
                for impairment in [Impairment::Loss, Impairment::Burst, Impairment::Access] {
                    firsts.extend((0..20).map(|index| stream(seed, impairment, entry).bits(index)));
                }
            }
        }
        let count = firsts.len();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), count);
    }
}
