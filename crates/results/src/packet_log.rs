//! The packet log: what entered a far link, what was changed, and what became of every packet.
//!
//! Emulator and simulator write the same log, and whoever has the link's model can feed its inputs (settings, seed,
//! arrivals, changes) to a fresh link and compare the outcomes (deliveries, drops) one by one.
//!
//! # Format, version 1
//! CSV with a commented header, UTF-8, one record per line, every line ended by a line feed; in Python
//! `pandas.read_csv(path, comment="#")`. Texts hold neither comma, quotation mark, `#` nor control characters, so nothing
//! is ever quoted. Columns that an event does not use are empty.
//!
//! ```text
//! # farhop packet log, version 1
//! # seed = 42
//! # down.rate = 100 Mbit/s
//! t_ns,event,port,id,bytes,reason,setting,value
//! 0,arrival,gateway,0,1500,,,
//! 1000,arrival,gateway,1,1500,,,
//! 1000,drop,gateway,1,1500,queue-full,,
//! 5000,change,,,,,down.rate,50 Mbit/s
//! 250120000,delivery,terminal-0,0,1500,,,
//! 300000000,end,,,,,,
//! ```
//!
//! - `t_ns`: ns since the run began. Inputs are in order of time, outcomes too; an outcome may stand after a later input.
//! - `port`: `gateway` or `terminal-N`: where the packet entered (arrival, drop) or left (delivery).
//! - `bytes`: on the wire, IP header included, below 4 GiB.
//! - `setting`, `value`: names and values of the link's model with their units; this module does not interpret them. The
//!   header gives all of them as they were at the beginning.
//! - `end`: the link was last run at this time; it has delivered and dropped everything due until then, and nothing after.
//!   A log without it was cut short.

mod read;

pub use read::PacketLogError;

use core::fmt;
use core::str::FromStr;
use farhop_units::{Bytes, Instant};
use std::io::{self, Write};

/// A whole log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PacketLog {
    /// Seed of the link's random streams.
    pub seed: u64,
    /// Every setting of the link as the run began.
    pub settings: Vec<Setting>,
    /// What happened, in the order it was noted.
    pub records: Vec<Record>,
    /// When the link was last run.
    pub end: Instant,
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
    Arrival(PacketEvent),
    /// A setting changed.
    Change {
        /// When.
        at: Instant,
        /// What it is now.
        setting: Setting,
    },
    /// A packet left the link on the other side.
    Delivery(PacketEvent),
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
    /// What the log calls the packet; its arrival and its outcome have the same.
    pub id: u64,
    /// Size on the wire, below 4 GiB.
    pub bytes: Bytes,
}

/// A side of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// Towards the servers.
    Gateway,
    /// Towards the clients of this terminal.
    Terminal(u16),
}

/// Why a packet went no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// No room in the queue.
    QueueFull,
    /// Taken by the loss model.
    Lost,
}

const TITLE: &str = "# farhop packet log, version ";
const VERSION: u32 = 1;
const SEED: &str = "seed";
const COLUMNS: [&str; 8] = ["t_ns", "event", "port", "id", "bytes", "reason", "setting", "value"];
const TERMINAL: &str = "terminal-";

/// Where the columns are in [`COLUMNS`].
mod column {
    pub(super) const T_NS: usize = 0;
    pub(super) const EVENT: usize = 1;
    pub(super) const PORT: usize = 2;
    pub(super) const ID: usize = 3;
    pub(super) const BYTES: usize = 4;
    pub(super) const REASON: usize = 5;
    pub(super) const SETTING: usize = 6;
    pub(super) const VALUE: usize = 7;
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

impl PacketLog {
    /// Writes the log, in large pieces.
    ///
    /// # Errors
    /// What `out` reports, and [`io::ErrorKind::InvalidInput`] for what the format cannot hold: a text with a separator in
    /// it or a packet of 4 GiB.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        writeln!(out, "{TITLE}{VERSION}\n# {SEED} = {}", self.seed)?;
        for setting in &self.settings {
            setting.check()?;
            writeln!(out, "# {} = {}", setting.name, setting.value)?;
        }
        writeln!(out, "{}", COLUMNS.join(","))?;
        for record in &self.records {
            record.check()?;
            writeln!(out, "{record}")?;
        }
        writeln!(out, "{},{},,,,,,", self.end.as_nanos(), event::END)?;
        out.flush()
    }
}

impl Record {
    /// When it happened.
    pub const fn at(&self) -> Instant {
        match self {
            Self::Arrival(packet) | Self::Delivery(packet) | Self::Drop(packet, _) => packet.at,
            Self::Change { at, .. } => *at,
        }
    }

    /// Whether it was done to the link, rather than by it.
    pub const fn is_input(&self) -> bool {
        matches!(self, Self::Arrival(_) | Self::Change { .. })
    }

    /// That the format can hold it.
    fn check(&self) -> io::Result<()> {
        match self {
            Self::Arrival(PacketEvent { bytes, .. })
            | Self::Delivery(PacketEvent { bytes, .. })
            | Self::Drop(PacketEvent { bytes, .. }, _) => {
                u32::try_from(bytes.get()).map(drop).map_err(|_| unwritable(&format!("a packet of {bytes}")))
            }
            Self::Change { setting, .. } => setting.check(),
        }
    }
}

impl Setting {
    /// That the format can hold it.
    fn check(&self) -> io::Result<()> {
        match self {
            Self { name, .. } if !is_name(name) => Err(unwritable(&format!("the name {name:?}"))),
            Self { value, .. } if !is_plain(value) => Err(unwritable(&format!("the value {value:?}"))),
            _ => Ok(()),
        }
    }
}

/// The record's line, without the line feed.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut packet_line = |event: &str, packet: &PacketEvent, reason: &str| {
            let PacketEvent { at, port, id, bytes } = packet;
            write!(f, "{},{event},{port},{id},{},{reason},,", at.as_nanos(), bytes.get())
        };
        match self {
            Self::Arrival(packet) => packet_line(event::ARRIVAL, packet, ""),
            Self::Delivery(packet) => packet_line(event::DELIVERY, packet, ""),
            Self::Drop(packet, reason) => packet_line(event::DROP, packet, reason.word()),
            Self::Change { at, setting: Setting { name, value } } => {
                write!(f, "{},{},,,,,{name},{value}", at.as_nanos(), event::CHANGE)
            }
        }
    }
}

impl DropReason {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::QueueFull, Self::Lost];

    /// The spelling in the log.
    pub const fn word(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::Lost => "lost",
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway => f.write_str("gateway"),
            Self::Terminal(number) => write!(f, "{TERMINAL}{number}"),
        }
    }
}

impl FromStr for Port {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let port = match text.strip_prefix(TERMINAL) {
            Some(number) => Self::Terminal(number.parse().map_err(|_| ())?),
            None => Self::Gateway,
        };
        // One spelling only: neither "terminal-07" nor "terminal-+7".
        if port.to_string() == text { Ok(port) } else { Err(()) }
    }
}

/// Whether the format can hold `text` as it is: no separator, nothing that a reader would trim.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains([',', '"', '#']) && !text.contains(char::is_control)
}

/// Whether `text` can stand before the sign of equality in the header and is not the seed's own name.
fn is_name(text: &str) -> bool {
    is_plain(text) && !text.contains(['=', ' ']) && text != SEED
}

fn unwritable(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("a packet log cannot hold {what}"))
}

#[cfg(test)]
mod tests;
