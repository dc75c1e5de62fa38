//! Where packets enter and leave a channel, and the two ways through it.

use crate::{ChannelConfig, DirectionConfig};

/// Where a packet enters or leaves a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port {
    /// The gateway's side, towards the servers.
    Gateway,
    /// One terminal's side, towards its clients; numbered from 0.
    Terminal(u16),
}

impl Port {
    /// The direction of a packet that enters here.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Gateway => Direction::Down,
            Self::Terminal(_) => Direction::Up,
        }
    }
}

/// One of the two ways through a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Gateway → terminal.
    Down,
    /// Terminal → gateway.
    Up,
}

impl Direction {
    /// Both of them.
    pub const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// This direction's part of a channel's configuration.
    pub const fn of(self, channel: &ChannelConfig) -> &DirectionConfig {
        match self {
            Self::Down => &channel.down,
            Self::Up => &channel.up,
        }
    }

    /// The spelling in scenario files and logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}
