//! The kernel's TCP inside the testbed: pinned to the scenario, read back, recorded.
//!
//! Settings are per network namespace (`/proc/sys/net/ipv4/tcp_*`), so nothing outside changes, with one exception for the
//! time of a start: a congestion control that the machine does not allow everybody is allowed, chosen inside, and
//! disallowed again. Where that may not be done (in a container), routes carry the choice. What Linux cannot do is an error that names the scenario's key, never an approximation.

use crate::EmuError;
use farhop_scenario::{Congestion, FirstAck, TcpConfig};
use farhop_units::Bytes;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::io;

/// Where the settings are.
const ROOT: &str = "/proc/sys/net/ipv4";
const CONGESTION: &str = "tcp_congestion_control";
const RECEIVE_BUFFER: &str = "tcp_rmem";
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Pinned to Linux 6.x's own defaults, whatever the machine's administrator prefers (`sysctl` names under `net.ipv4`).
/// Route metrics are not remembered, so that a load does not start from what the one before has learned.
const PINNED: &[(&str, &str)] = &[
    (RECEIVE_BUFFER, "4096 131072 33554432"),
    ("tcp_wmem", "4096 16384 4194304"),
    ("tcp_no_metrics_save", "1"),
    ("tcp_slow_start_after_idle", "1"),
    ("tcp_timestamps", "1"),
    ("tcp_sack", "1"),
    ("tcp_window_scaling", "1"),
    ("tcp_ecn", "2"),
    ("tcp_moderate_rcvbuf", "1"),
];

/// What makes a host's connections use the scenario's congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CongestionChoice {
    /// The host's own default.
    Host,
    /// An attribute of its routes, with Linux's name.
    Routes(&'static str),
}

/// Sets the TCP of the calling thread's host.
pub(crate) fn pin(congestion: Congestion) -> Result<CongestionChoice, EmuError> {
    PINNED.iter().try_for_each(|(name, value)| set(name, value))?;
    let name = kernel_name(congestion);
    Ok(if set(CONGESTION, name).is_ok() { CongestionChoice::Host } else { CongestionChoice::Routes(name) })
}

/// What must not be on the emulated links besides the packets of interest, and what hosts between others do.
pub(crate) fn prepare_host() -> Result<(), EmuError> {
    // IPv6 announces and solicits by itself; a kernel without it has no such file.
    for which in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        if fs::exists(&path).unwrap_or(false) {
            fs::write(&path, "1").map_err(EmuError::system(format!("write {path}")))?;
        }
    }
    set("ip_forward", "1")
}

/// Refuses what Linux cannot do.
pub(crate) fn check(tcp: &TcpConfig) -> Result<(), EmuError> {
    if tcp.first_ack == FirstAck::Delayed {
        return Err(EmuError::Tcp {
            setting: "tcp.first_ack",
            value: "\"delayed\"".to_owned(),
            reason: "Linux acknowledges a connection's first segments at once; \"immediate\" is accepted".to_owned(),
        });
    }
    Ok(())
}

/// Linux's name. Its reno is NewReno: partial ACKs do not end fast recovery (tcp_input.c, RFC 6582).
fn kernel_name(congestion: Congestion) -> &'static str {
    match congestion {
        Congestion::Reno | Congestion::NewReno => "reno",
        Congestion::Cubic => "cubic",
        Congestion::Bbr => "bbr",
    }
}

/// Runs `f` while the scenario's congestion control may be chosen in any namespace.
///
/// Only the initial namespace may choose one that is not allowed to everybody, so it is allowed for a moment. The lock
/// keeps two emulators from restoring each other's momentary lists.
pub(crate) fn while_allowed<T>(congestion: Congestion, f: impl FnOnce() -> Result<T, EmuError>) -> Result<T, EmuError> {
    let name = kernel_name(congestion);
    let _lock = File::open(ALLOWED).ok().and_then(|file| Flock::lock(file, FlockArg::LockExclusive).ok());
    let before = fs::read_to_string(ALLOWED).unwrap_or_default();
    if before.split_whitespace().any(|allowed| allowed == name) {
        return f();
    }
    let extended = fs::write(ALLOWED, format!("{} {name}", before.trim())).is_ok();
    let result = f();
    if extended {
        fs::write(ALLOWED, before.trim()).map_err(EmuError::system(format!("restore {ALLOWED}")))?;
    }
    result
}

/// Bounds the receive buffers of the calling thread's host, from the start of a connection on.
pub(crate) fn set_receive_buffer(buffer: Bytes) -> Result<(), EmuError> {
    let buffer = buffer.get();
    set(RECEIVE_BUFFER, &format!("{} {buffer} {buffer}", buffer.min(4096)))
}

/// Writes a setting and reads it back.
fn set(name: &str, value: &str) -> Result<(), EmuError> {
    let path = format!("{ROOT}/{name}");
    let action = || format!("set net.ipv4.{name} to {value}");
    fs::write(&path, value).map_err(EmuError::system(action()))?;
    let found = get(name)?;
    if found == value { Ok(()) } else { Err(EmuError::system(action())(io::Error::other(format!("it stays {found}")))) }
}

/// Reads a setting, its parts parted by single blanks.
fn get(name: &str) -> Result<String, EmuError> {
    let path = format!("{ROOT}/{name}");
    let text = fs::read_to_string(&path).map_err(EmuError::system(format!("read {path}")))?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The settings in force at the calling thread's host.
pub(crate) fn read_back() -> Result<Vec<(String, String)>, EmuError> {
    let names = PINNED.iter().map(|(name, _)| *name).chain([CONGESTION]);
    names.map(|name| Ok((format!("net.ipv4.{name}"), get(name)?))).collect()
}
