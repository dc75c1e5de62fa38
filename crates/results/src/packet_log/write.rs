//! Writes packet logs, record by record.

use super::{COLUMNS, CORRUPTED, Condition, Header, PacketEvent, Port, Record, SEED, Setting, TITLE, Traits, VERSION};
use super::{event, is_name, is_plain};
use core::fmt;
use farhop_units::Instant;
use std::io::{self, BufWriter, Write};

/// A log that is being written. Without [`Writer::finish`] it is one that was cut short.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: BufWriter<W>,
}

/// A system call per megabyte at most.
const BUFFER: usize = 1 << 20;

impl<W: Write> Writer<W> {
    /// Begins a log.
    ///
    /// # Errors
    /// What `out` reports, and [`io::ErrorKind::InvalidInput`] for a setting that the format cannot hold.
    pub fn new(out: W, header: &Header) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(BUFFER, out);
        writeln!(out, "{TITLE}{VERSION}\n# {SEED} = {}", header.seed)?;
        for setting in &header.settings {
            setting.check()?;
            writeln!(out, "# {} = {}", setting.name, setting.value)?;
        }
        writeln!(out, "{}", COLUMNS.join(","))?;
        Ok(Self { out })
    }

    /// Adds a record. Their order is for the caller to keep.
    ///
    /// # Errors
    /// What `out` reports, and [`io::ErrorKind::InvalidInput`] for what the format cannot hold: a text with a separator in it
    /// or a packet of 4 GiB.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        record.check()?;
        writeln!(self.out, "{record}")
    }

    /// Ends the log; the link was last run at `end`.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn finish(mut self, end: Instant) -> io::Result<W> {
        writeln!(self.out, "{},{},,,,,,,,,,,", end.as_nanos(), event::END)?;
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }

    /// Leaves the log without its end, as one that was cut short.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn cut_short(self) -> io::Result<W> {
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl Record {
    /// That the format can hold it.
    fn check(&self) -> io::Result<()> {
        match self {
            Self::Arrival(PacketEvent { port, .. }, Traits { destination, .. })
                if (*port == Port::Gateway) != destination.is_some() =>
            {
                Err(unwritable(&format!("a packet from {port} to {destination:?}")))
            }
            Self::Arrival(PacketEvent { bytes, .. }, _)
            | Self::Delivery(PacketEvent { bytes, .. }, _)
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
        let begin = |f: &mut fmt::Formatter<'_>, event: &str, packet: &PacketEvent| {
            let PacketEvent { at, port, id, bytes } = packet;
            write!(f, "{},{event},{port},{id},{},", at.as_nanos(), bytes.get())
        };
        match self {
            Self::Arrival(packet, Traits { destination, flow, class, ecn }) => {
                begin(f, event::ARRIVAL, packet)?;
                if let Some(destination) = destination {
                    write!(f, "{destination}")?;
                }
                write!(f, ",{flow},{class},{ecn},,,,")
            }
            Self::Delivery(packet, Condition { ecn, corrupted }) => {
                begin(f, event::DELIVERY, packet)?;
                write!(f, ",,,{ecn},{},,,", if *corrupted { CORRUPTED } else { "" })
            }
            Self::Drop(packet, reason) => {
                begin(f, event::DROP, packet)?;
                write!(f, ",,,,,{reason},,")
            }
            Self::Change { at, setting: Setting { name, value } } => {
                write!(f, "{},{},,,,,,,,,,{name},{value}", at.as_nanos(), event::CHANGE)
            }
        }
    }
}

fn unwritable(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("a packet log cannot hold {what}"))
}
