//! The host file of nz-us-2000: an entry for each server with "a unique ID, the DNS name, the maximum window size and the TCP maximum
//! segment size (MSS) for connections to the host".
//!
//! One line per host, four fields between blanks, `#` begins a comment: `17 www.example.com 8760 1460`, sizes in bytes. Hosts that did not
//! advertise a segment size have the most common one, [`Hosts::COMMON_MSS`], as in the paper.

use super::field::digits;
use super::{LogRecord, canonical};
use crate::BYTE_ORDER_MARK;
use core::fmt;
use core::str::FromStr;
use farhop_units::Bytes;
use std::collections::BTreeMap;
use thiserror::Error;

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Number, unique in the file.
    pub id: u32,
    /// DNS name, or address.
    pub name: String,
    /// Largest window that it uses.
    pub max_window: Bytes,
    /// Largest segment that it sends.
    pub mss: Bytes,
}

/// The servers of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts {
    list: Vec<Host>,
    places: BTreeMap<String, usize>,
}

/// Why a text is no host file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "line {line} of the host file: {problem}; accepted: an unused number, an unused name, window and segment size in bytes, \
         e.g. \"17 www.example.com 8760 1460\""
)]
pub struct HostsError {
    /// Number of the line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: String,
}

impl Hosts {
    /// The segment size of hosts that do not say: "the most common MSS (1480)" of the paper.
    pub const COMMON_MSS: Bytes = Bytes::new(1480);
    /// The window of hosts that do not say: 4.4 BSD's default socket buffer. Ours; the paper measured all.
    pub const COMMON_WINDOW: Bytes = Bytes::new(8192);

    /// The hosts that a log names, numbered from 0 in the order of their first request, with the common values.
    pub fn of(records: &[LogRecord]) -> Self {
        let mut hosts = Self::default();
        for name in records.iter().filter_map(LogRecord::host) {
            if !hosts.places.contains_key(&*name) {
                let id = u32::try_from(hosts.list.len()).expect("memory holds fewer than four billion names");
                let (max_window, mss) = (Self::COMMON_WINDOW, Self::COMMON_MSS);
                hosts.push(Host { id, name: name.into_owned(), max_window, mss });
            }
        }
        hosts
    }

    /// The hosts in the order of the file.
    pub fn list(&self) -> &[Host] {
        &self.list
    }

    /// The host of this name, in any letters (RFC 4343).
    pub fn named(&self, name: &str) -> Option<&Host> {
        self.places.get(&*canonical(name)).map(|place| &self.list[*place])
    }

    /// Adds a host whose name is new.
    pub(super) fn push(&mut self, host: Host) {
        self.places.insert(canonical(&host.name).into_owned(), self.list.len());
        self.list.push(host);
    }
}

impl FromStr for Hosts {
    type Err = HostsError;

    fn from_str(text: &str) -> Result<Self, HostsError> {
        let mut hosts = Self::default();
        let mut ids = std::collections::BTreeSet::new();
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            let error = |problem: String| HostsError { line, problem };
            let host = host(content).map_err(error)?;
            if !ids.insert(host.id) {
                return Err(error(format!("number {} is used twice", host.id)));
            }
            if hosts.named(&host.name).is_some() {
                return Err(error(format!("\"{}\" is there twice", host.name)));
            }
            hosts.push(host);
        }
        Ok(hosts)
    }
}

/// What an IPv4 packet of 65,535 bytes holds behind its header and TCP's with timestamps.
const LARGEST_SEGMENT: u64 = 65_535 - 20 - 32;

fn host(line: &str) -> Result<Host, String> {
    let mut fields = line.split_whitespace();
    let mut next = |what: &str| fields.next().ok_or_else(|| format!("no {what}"));
    let number = |what: &str, text: &str, range: core::ops::RangeInclusive<u64>| {
        let value = digits(text).filter(|value| range.contains(value));
        value.ok_or_else(|| format!("{what} \"{text}\" is not {} to {}", range.start(), range.end()))
    };
    let id = number("number", next("number")?, 0..=u64::from(u32::MAX))?;
    let name = next("name")?.to_owned();
    // Larger windows than RFC 7323 can scale to are mistakes.
    let max_window = Bytes::new(number("window", next("window")?, 1..=1 << 30)?);
    let mss = Bytes::new(number("segment size", next("segment size")?, 1..=LARGEST_SEGMENT)?);
    match fields.next() {
        Some(more) => Err(format!("\"{more}\" behind the segment size")),
        None => Ok(Host { id: u32::try_from(id).expect("checked above"), name, max_window, mss }),
    }
}

/// What [`Hosts::from_str`] reads.
impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("# id name max_window_bytes mss_bytes\n")?;
        self.list
            .iter()
            .try_for_each(|host| writeln!(f, "{} {} {} {}", host.id, host.name, host.max_window.get(), host.mss.get()))
    }
}
