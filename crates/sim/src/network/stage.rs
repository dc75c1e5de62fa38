//! One channel of the network.

use super::parcel::{Parcel, Place};
use farhop_link::{Channel, ChannelConfig, Direction, DirectionConfig};
use farhop_units::Instant;

/// A channel, with what the network must know of it.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) channel: Channel<Parcel>,
    /// Seed of its random streams.
    pub(super) seed: u64,
    /// The place at its client's side.
    near: Place,
    /// Does passing count as a hop, down and up?
    constrains: [bool; 2],
    /// When a wake-up is scheduled, if one is.
    pub(super) wake: Option<Instant>,
}

impl Stage {
    pub(super) fn new(near: Place, config: &ChannelConfig, seed: u64) -> Self {
        let constrains = |direction: &DirectionConfig| {
            direction.rate.is_some() || direction.trace.is_some() || !direction.least_delay().is_zero()
        };
        Self {
            channel: Channel::new(config.clone(), seed),
            seed,
            near,
            constrains: [constrains(&config.down), constrains(&config.up)],
            wake: None,
        }
    }

    /// Hops that a packet makes by passing.
    pub(super) fn hops(&self, direction: Direction) -> u64 {
        u64::from(self.constrains[direction as usize])
    }

    /// The place on the other side, for packets that go in `direction`.
    pub(super) fn exit(&self, direction: Direction) -> Place {
        match (direction, self.near) {
            (Direction::Down, near) => near,
            (Direction::Up, Place::Client) => Place::Terminal,
            (Direction::Up, Place::Terminal) => Place::Gateway,
            (Direction::Up, Place::Gateway | Place::Server) => Place::Server,
        }
    }

    /// When to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(super) fn rearm(&mut self) -> Option<Instant> {
        let due = self.channel.next_timeout().filter(|due| self.wake.is_none_or(|wake| *due < wake))?;
        self.wake = Some(due);
        Some(due)
    }
}
