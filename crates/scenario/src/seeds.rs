//! Whose dice are whose: the seed of every run and every channel, the same for all engines.
//!
//! A simulated load and a measured one of the same scenario, seed and run therefore lose the same packets, as long as they send the
//! same; what differs between them is the engines, not luck.

use farhop_units::random::Stream;

/// One of the channels of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelName {
    /// The far link.
    Link,
    /// The lan of a terminal, from 0.
    Lan(u32),
    /// The way to a server, from 0.
    Wan(u32),
}

/// The seed of run number `run`, from 0, of what is run several times; the first has the seed itself.
pub const fn of_run(seed: u64, run: u32) -> u64 {
    match run {
        0 => seed,
        run => Stream::new(seed, run as u64).bits(0),
    }
}

/// The seed of a channel in a run; the far link has the run's own, which its packet log names.
pub const fn of_channel(run: u64, channel: ChannelName) -> u64 {
    match channel {
        ChannelName::Link => run,
        ChannelName::Lan(number) => Stream::new(run, 1 << 32 | number as u64).bits(0),
        ChannelName::Wan(number) => Stream::new(run, 2 << 32 | number as u64).bits(0),
    }
}

/// The seed of what the hosts of a run do at random.
pub const fn of_hosts(run: u64) -> u64 {
    Stream::new(run, 3 << 32).bits(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn nothing_of_any_run_shares_a_seed() {
        let mut seeds = BTreeSet::new();
        for seed in [1, 2] {
            for run in 0..20 {
                let run = of_run(seed, run);
                seeds.extend([of_channel(run, ChannelName::Link), of_hosts(run)]);
                for number in 0..200 {
                    seeds.insert(of_channel(run, ChannelName::Lan(number)));
                    seeds.insert(of_channel(run, ChannelName::Wan(number)));
                }
            }
        }
        assert_eq!(seeds.len(), 2 * 20 * 402);
    }

    #[test]
    fn the_first_run_and_the_far_link_have_the_seed_as_given() {
        assert_eq!(of_channel(of_run(7, 0), ChannelName::Link), 7);
    }
}
