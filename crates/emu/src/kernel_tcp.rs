//! The kernel's TCP inside the testbed: pinned to the scenario, read back, recorded.
//!
//! Settings are per network namespace (`/proc/sys/net/ipv4/tcp_*`), so nothing outside changes. A congestion control that the
//! machine does not allow everybody cannot be set so (tcp_set_default_congestion_control()); then routes carry the choice.
//! What Linux cannot do is an error that names the scenario's key, never an approximation.

use crate::EmuError;
use crate::driver::MTU;
use farhop_scenario::{Congestion, FirstAck, HEADER_BYTES, TcpConfig};
use farhop_units::Bytes;
use std::fs;
use std::io;

/// Where the settings are.
const ROOT: &str = "/proc/sys/net/ipv4";
const CONGESTION: &str = "tcp_congestion_control";
const SACK: &str = "tcp_sack";
const ECN: &str = "tcp_ecn";
const RECEIVE_BUFFER: &str = "tcp_rmem";
const SEND_BUFFER: &str = "tcp_wmem";
/// The largest send buffer below.
const USUAL_SEND_BUFFER: Bytes = Bytes::kib(4 << 10);

/// Pinned to Linux 6.x's own defaults, whatever the machine's administrator prefers (`sysctl` names under `net.ipv4`).
/// Route metrics are not remembered, so that a load does not start from what the one before has learned.
const PINNED: &[(&str, &str)] = &[
    (SEND_BUFFER, "4096 16384 4194304"),
    ("tcp_no_metrics_save", "1"),
    ("tcp_slow_start_after_idle", "1"),
    ("tcp_timestamps", "1"),
    ("tcp_window_scaling", "1"),
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
pub(crate) fn pin(tcp: &TcpConfig) -> Result<CongestionChoice, EmuError> {
    PINNED.iter().try_for_each(|(name, value)| set(name, value))?;
    set(SACK, if tcp.sack { "1" } else { "0" })?;
    // 2: only if the other side asks.
    set(ECN, if tcp.ecn { "1" } else { "2" })?;
    let largest = tcp.receive_buffer;
    let initial = largest.min(TcpConfig::LINUX_INITIAL_BUFFER);
    set(RECEIVE_BUFFER, &format!("{} {} {}", initial.get().min(4096), initial.get(), largest.get()))?;
    let name = kernel_name(tcp.congestion);
    match set(CONGESTION, name) {
        Ok(()) => Ok(CongestionChoice::Host),
        Err(EmuError::System { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
            Ok(CongestionChoice::Routes(name))
        }
        Err(EmuError::System { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            let reason = format!("this kernel has {}", available_congestion_controls());
            Err(refused("tcp.congestion", format!("{name:?}"), reason))
        }
        Err(error) => Err(error),
    }
}

/// The congestion controls that this kernel has; nothing if it does not say.
pub(crate) fn available_congestion_controls() -> String {
    get("tcp_available_congestion_control").unwrap_or_default()
}

/// What keeps hosts from talking by themselves (names under `net`, for `all` devices and as the `default` of later ones).
const QUIET: &[(&str, &str)] = &[
    // The gateway's way from one terminal to another leads back through the device it came by.
    ("ipv4/conf/{}/send_redirects", "0"),
    ("ipv6/conf/{}/disable_ipv6", "0"),
    ("ipv6/conf/{}/accept_ra", "0"),
    ("ipv6/conf/{}/autoconf", "0"),
    ("ipv6/conf/{}/accept_dad", "0"),
    ("ipv6/conf/{}/router_solicitations", "0"),
    // No link-local addresses: nothing needs them, and neighbours would have to be asked for them.
    ("ipv6/conf/{}/addr_gen_mode", "1"),
];

/// Keeps the calling thread's host quiet.
pub(crate) fn prepare_host() -> Result<(), EmuError> {
    for (name, value) in QUIET.iter().filter(|(name, _)| !name.starts_with("ipv6") || has_ipv6()) {
        for which in ["all", "default"] {
            let path = format!("/proc/sys/net/{}", name.replace("{}", which));
            fs::write(&path, value).map_err(EmuError::system(format!("write {path}")))?;
        }
    }
    Ok(())
}

/// Makes the calling thread's host a router. Devices that shall not join the groups of routers (MLD reports that) must have
/// lost their multicast flag before.
pub(crate) fn forward() -> Result<(), EmuError> {
    if has_ipv6() {
        fs::write(FORWARDING6, "1").map_err(EmuError::system(format!("write {FORWARDING6}")))?;
    }
    set("ip_forward", "1")
}

const FORWARDING6: &str = "/proc/sys/net/ipv6/conf/all/forwarding";

/// Whether this kernel speaks IPv6 at all.
pub(crate) fn has_ipv6() -> bool {
    fs::exists(FORWARDING6).unwrap_or(false)
}

/// Refuses what Linux cannot do.
pub(crate) fn check(tcp: &TcpConfig) -> Result<(), EmuError> {
    let largest = Bytes::new(MTU as u64).saturating_sub(HEADER_BYTES);
    if tcp.first_ack == FirstAck::Delayed {
        let reason = "Linux acknowledges a connection's first segments at once; \"immediate\" is accepted";
        return Err(refused("tcp.first_ack", "\"delayed\"".to_owned(), reason.to_owned()));
    }
    if tcp.mss > largest {
        let reason = format!("emulated packets have at most {MTU} B; at most {} is accepted", largest.get());
        return Err(refused("tcp.mss", tcp.mss.get().to_string(), reason));
    }
    Ok(())
}

fn refused(setting: &'static str, value: String, reason: String) -> EmuError {
    EmuError::Tcp { setting, value, reason }
}

/// Linux's name. Its reno is NewReno: partial ACKs do not end fast recovery (tcp_input.c, RFC 6582).
fn kernel_name(congestion: Congestion) -> &'static str {
    match congestion {
        Congestion::Reno | Congestion::NewReno => "reno",
        Congestion::Cubic => "cubic",
        Congestion::Bbr => "bbr",
    }
}

/// Bounds the receive buffers of the calling thread's host, from the start of a connection on, and lets a sender keep what a
/// peer with such a `window` lets it send.
pub(crate) fn set_buffers(receive: Bytes, window: Bytes) -> Result<(), EmuError> {
    let receive = receive.get();
    set(RECEIVE_BUFFER, &format!("{} {receive} {receive}", receive.min(4096)))?;
    // The kernel counts the memory of packets against the buffer: up to four times their payload, for small ones.
    let send = (window.get() * 4).clamp(USUAL_SEND_BUFFER.get(), i32::MAX as u64);
    set(SEND_BUFFER, &format!("4096 16384 {send}"))
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

/// The settings in force at the calling thread's host; without its congestion control if routes choose another.
pub(crate) fn read_back(congestion: CongestionChoice) -> Result<Vec<(String, String)>, EmuError> {
    let own = (congestion == CongestionChoice::Host).then_some(CONGESTION);
    let names = [RECEIVE_BUFFER, SACK, ECN].into_iter().chain(PINNED.iter().map(|(name, _)| *name)).chain(own);
    names.map(|name| Ok((format!("net.ipv4.{name}"), get(name)?))).collect()
}
