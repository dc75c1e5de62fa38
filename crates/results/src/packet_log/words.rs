//! The words of a packet log: where, what kind, why.

use crate::words::words;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// A side of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// Towards the servers.
    Gateway,
    /// Towards the clients of this terminal.
    Terminal(u16),
}

/// Where a packet that arrives at the gateway goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// One terminal.
    Terminal(u16),
    /// Every terminal: sent once, received by all.
    All,
}

words! {
    /// A traffic class, which matters where one class is served before another.
    Class {
        /// Before everything else.
        High = "high",
        /// Ordinary traffic.
        Normal = "normal",
        /// What the others leave.
        Low = "low",
    }
}

words! {
    /// Explicit congestion notification (RFC 3168 §5).
    Ecn {
        /// The sender does not understand it.
        NotEct = "not-ect",
        /// The sender understands it.
        Ect = "ect",
        /// Congestion was experienced.
        Ce = "ce",
    }
}

words! {
    /// Why a packet went no further.
    DropReason {
        /// No room in the queue, or another took it.
        QueueFull = "queue-full",
        /// Active queue management signalled congestion.
        QueueDelay = "queue-delay",
        /// Taken by the loss model.
        Lost = "lost",
        /// Sent or received during an outage.
        Outage = "outage",
        /// Random access gave it up.
        Collisions = "collisions",
        /// For a terminal that does not exist.
        NoTerminal = "no-terminal",
    }
}

const GATEWAY: &str = "gateway";
const TERMINAL: &str = "terminal-";
const ALL: &str = "all";

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway => f.write_str(GATEWAY),
            Self::Terminal(number) => write!(f, "{TERMINAL}{number}"),
        }
    }
}

impl FromStr for Port {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        if text == GATEWAY { Ok(Self::Gateway) } else { terminal(text).map(Self::Terminal) }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal(number) => write!(f, "{TERMINAL}{number}"),
            Self::All => f.write_str(ALL),
        }
    }
}

impl FromStr for Destination {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        if text == ALL { Ok(Self::All) } else { terminal(text).map(Self::Terminal) }
    }
}

/// A terminal's number in its one spelling: neither "terminal-07" nor "terminal-+7".
fn terminal(text: &str) -> Result<u16, ()> {
    let number = super::read::whole_number(text.strip_prefix(TERMINAL).ok_or(())?).ok_or(())?;
    u16::try_from(number).map_err(drop)
}
