//! The packet log: what entered a far link, what was changed, and what became of every packet.
//!
//! Emulator and simulator write the same log, and whoever has the link's model can feed its inputs (settings, seed,
//! arrivals, changes) to a fresh link and compare the outcomes (deliveries, drops) one by one. [`Writer`] and [`Reader`] go
//! through a log record by record, so that millions of packets take no memory.
//!
//! # Format, version 2
//! CSV with a commented header, UTF-8, one record per line, every line ended by a line feed; in Python
//! `pandas.read_csv(path, comment="#")`. Texts hold neither comma, quotation mark, `#` nor control characters, so nothing
//! is ever quoted. Columns that an event does not use are empty.
//!
//! ```text
//! # farhop packet log, version 2
//! # seed = 42
//! # down.rate = 100 Mbit/s
//! t_ns,event,port,id,bytes,destination,flow,class,ecn,corrupted,reason,setting,value
//! 0,arrival,gateway,0,1500,terminal-0,8812,normal,ect,,,,
//! 1000,arrival,gateway,1,1500,all,17,high,not-ect,,,,
//! 1000,drop,gateway,1,1500,,,,,,queue-full,,
//! 2000,arrival,terminal-0,2,52,,4711,normal,not-ect,,,,
//! 5000,change,,,,,,,,,,down.rate,50 Mbit/s
//! 10000,delivery,gateway,2,52,,,,not-ect,yes,,,
//! 250120000,delivery,terminal-0,0,1500,,,,ce,,,,
//! 300000000,end,,,,,,,,,,,
//! ```
//!
//! - `t_ns`: ns since the run began. Inputs are in order of time, outcomes too; an outcome may stand after a later input, but
//!   not before an earlier one.
//! - `port`: `gateway` or `terminal-N`: where the packet entered (arrival, drop) or left (delivery).
//! - `bytes`: on the wire, IP header included, below 4 GiB.
//! - `destination`: of a packet that arrives at the gateway, `terminal-N` or `all`; what arrives at a terminal has none and
//!   goes to the gateway.
//! - `flow`: the same number for all packets of one transport connection and direction.
//! - `class`: `high`, `normal` or `low`. `ecn` (RFC 3168): `not-ect`, `ect` (the sender understands marks) or `ce` (congestion
//!   was experienced).
//! - `corrupted`: `yes` for a packet delivered with a flipped bit.
//! - `setting`, `value`: names and values of the link's model with their units; this module does not interpret them. The
//!   header gives those that are not the model's default as they were at the beginning. A recorded trace is one value, so
//!   that a line may have up to 64 MiB.
//! - `end`: the link was last run at this time; it has delivered and dropped everything due until then, and nothing after.
//!   A log without it was cut short: its writer was killed, or could not keep up.
//!
//! Version 1 had no `destination`, `flow`, `class`, `ecn` and `corrupted`; it is not read.

mod read;
mod words;
mod write;

pub use read::{PacketLogError, Reader};
pub use words::{Class, Destination, DropReason, Ecn, Port};
pub use write::Writer;

use farhop_units::{Bytes, Instant};

/// What a log says before its records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// Seed of the link's random streams.
    pub seed: u64,
    /// Settings of the link as the run began; what is absent has the model's default.
    pub settings: Vec<Setting>,
}

/// A setting of the link with its value, as the link's model writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Name, e.g. `down.rate`.
    pub name: String,
    /// Value with its unit, e.g. `100 Mbit/s`.
    pub value: String,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A packet entered the link.
    Arrival(PacketEvent, Traits),
    /// A setting changed.
    Change {
        /// When.
        at: Instant,
        /// What it is now.
        setting: Setting,
    },
    /// A packet left the link on the other side.
    Delivery(PacketEvent, Condition),
    /// A packet went no further.
    Drop(PacketEvent, DropReason),
}

/// A packet at a place and a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketEvent {
    /// When.
    pub at: Instant,
    /// Where it entered (arrival, drop) or left (delivery).
    pub port: Port,
    /// What the log calls the packet; its arrival and its outcomes have the same.
    pub id: u64,
    /// Size on the wire, below 4 GiB.
    pub bytes: Bytes,
}

/// What the link may ask of a packet that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits {
    /// Where it goes; `None` for one that arrives at a terminal, which goes to the gateway.
    pub destination: Option<Destination>,
    /// Its transport connection.
    pub flow: u64,
    /// Its traffic class.
    pub class: Class,
    /// Its congestion notification.
    pub ecn: Ecn,
}

/// How a packet was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// Its congestion notification, which the link may have changed.
    pub ecn: Ecn,
    /// Whether the link has flipped a bit.
    pub corrupted: bool,
}

impl Record {
    /// When it happened.
    pub const fn at(&self) -> Instant {
        match self {
            Self::Arrival(packet, _) | Self::Delivery(packet, _) | Self::Drop(packet, _) => packet.at,
            Self::Change { at, .. } => *at,
        }
    }

    /// Whether it was done to the link, rather than by it.
    pub const fn is_input(&self) -> bool {
        matches!(self, Self::Arrival(..) | Self::Change { .. })
    }
}

const TITLE: &str = "# farhop packet log, version ";
const VERSION: u32 = 2;
const SEED: &str = "seed";
const COLUMNS: [&str; 13] = [
    "t_ns",
    "event",
    "port",
    "id",
    "bytes",
    "destination",
    "flow",
    "class",
    "ecn",
    "corrupted",
    "reason",
    "setting",
    "value",
];
const CORRUPTED: &str = "yes";

/// Where the columns are in [`COLUMNS`].
mod column {
    pub(super) const T_NS: usize = 0;
    pub(super) const EVENT: usize = 1;
    pub(super) const PORT: usize = 2;
    pub(super) const ID: usize = 3;
    pub(super) const BYTES: usize = 4;
    pub(super) const DESTINATION: usize = 5;
    pub(super) const FLOW: usize = 6;
    pub(super) const CLASS: usize = 7;
    pub(super) const ECN: usize = 8;
    pub(super) const CORRUPTED: usize = 9;
    pub(super) const REASON: usize = 10;
    pub(super) const SETTING: usize = 11;
    pub(super) const VALUE: usize = 12;
}

/// The words of the column `event`.
mod event {
    pub(super) const ARRIVAL: &str = "arrival";
    pub(super) const CHANGE: &str = "change";
    pub(super) const DELIVERY: &str = "delivery";
    pub(super) const DROP: &str = "drop";
    pub(super) const END: &str = "end";
    pub(super) const ALL: [&str; 5] = [ARRIVAL, CHANGE, DELIVERY, DROP, END];
}

/// Whether the format can hold `text` as it is: no separator, nothing that a reader would trim.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains([',', '"', '#']) && !text.contains(char::is_control)
}

/// Whether `text` can stand before the sign of equality in the header and is not the seed's own name.
fn is_name(text: &str) -> bool {
    is_plain(text) && !text.contains(['=', ' ']) && text != SEED
}

#[cfg(test)]
mod tests;
