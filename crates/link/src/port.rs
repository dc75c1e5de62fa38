//! Where packets enter and leave a channel, and the two ways through it.

/// Where a packet enters or leaves a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port {
    /// The gateway's side, towards the servers.
    Gateway,
    /// One terminal's side, towards its clients. A channel has one terminal for now, number 0.
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

    /// Where packets of this direction leave.
    pub const fn exit(self) -> Port {
        match self {
            Self::Down => Port::Terminal(0),
            Self::Up => Port::Gateway,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_leaves_at_the_other_side() {
        assert_eq!(Port::Gateway.direction().exit(), Port::Terminal(0));
        assert_eq!(Port::Terminal(0).direction().exit(), Port::Gateway);
    }
}
