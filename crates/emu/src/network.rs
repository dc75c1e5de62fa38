//! Links, addresses and routes inside the testbed, configured with `ip` (iproute2).
//!
//! One `ip -batch` per host. A device without a device at the other end yet is the client's and the server's business: where
//! a network is a plain wire, the host at its outer end makes the veth pair.

use crate::EmuError;
use crate::host::{Host, Net};
use crate::kernel_tcp::CongestionChoice;
use crate::namespace::Namespace;
use farhop_scenario::{Profile, TcpConfig};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Child, Stdio};

/// What neighbours are joined by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Two TUN devices around a channel.
    Emulated,
    /// A veth pair, without delay or limit.
    Plain,
}

/// Packets a TUN device holds until the driver reads them. Far more than arrive while the driver is busy: the emulated
/// link's queue is the only one meant to drop.
const DEVICE_QUEUE: u32 = 20_000;

/// Makes the veth pairs; run before [`configure`].
pub(crate) fn connect(host: Host, namespace: &Namespace, peer: &Namespace, net: Net) -> Result<(), EmuError> {
    let device = net.device();
    let commands = format!("link add {device} type veth peer name {device} netns {}\n", peer.net_path());
    finish(host, start(host, namespace, &commands)?)
}

/// Gives every host its addresses and routes.
pub(crate) fn configure(
    tcp: &TcpConfig,
    congestion: CongestionChoice,
    wires: [Wire; 3],
    namespaces: &[Namespace; 4],
) -> Result<(), EmuError> {
    let attributes = route_attributes(tcp, congestion);
    let started: Vec<_> = Host::ALL
        .into_iter()
        .map(|host| Ok((host, start(host, &namespaces[host.index()], &host_commands(host, wires, &attributes))?)))
        .collect::<Result<_, EmuError>>()?;
    started.into_iter().try_for_each(|(host, child)| finish(host, child))
}

/// The commands that configure one host.
fn host_commands(host: Host, wires: [Wire; 3], attributes: &str) -> String {
    let mut commands = "link set lo up\n".to_owned();
    for (net, wire) in Net::ALL.into_iter().zip(wires) {
        if let Some(address) = net.address(host) {
            let device = net.device();
            let queue = if wire == Wire::Emulated { format!(" txqueuelen {DEVICE_QUEUE}") } else { String::new() };
            let length = Net::PREFIX_LENGTH;
            let _ = write!(
                commands,
                "link set {device} up{queue}\n\
                 address add {address}/{length} dev {device}\n\
                 route replace {prefix} dev {device} proto kernel scope link src {address}{attributes}\n",
                prefix = net.prefix(),
            );
        }
    }
    for (prefix, net) in routes(host) {
        let (gateway_side, terminal_side) = net.ends();
        let neighbour = if host == gateway_side { terminal_side } else { gateway_side };
        let via = net.address(neighbour).expect("both ends of a network have an address in it");
        let _ = writeln!(commands, "route add {prefix} via {via} dev {}{attributes}", net.device());
    }
    commands
}

/// Where a host sends what is not for its neighbours.
fn routes(host: Host) -> Vec<(String, Net)> {
    let everything = || "default".to_owned();
    match host {
        Host::Client => vec![(everything(), Net::Lan)],
        Host::Terminal => vec![(everything(), Net::Far)],
        Host::Gateway => vec![(Net::Lan.prefix(), Net::Far)],
        Host::Server => vec![(everything(), Net::Wan)],
    }
}

/// The scenario's TCP, as far as it is a property of routes: the initial window, the segment size that is announced and,
/// where the host may not choose it, congestion control.
fn route_attributes(tcp: &TcpConfig, congestion: CongestionChoice) -> String {
    let linux = TcpConfig::of(Profile::Linux);
    let mut attributes = String::new();
    if tcp.initial_window != linux.initial_window {
        let _ = write!(attributes, " initcwnd {}", tcp.initial_window);
    }
    if tcp.mss != linux.mss {
        let _ = write!(attributes, " advmss {}", (tcp.mss + TIMESTAMP_OPTION).get());
    }
    if let CongestionChoice::Routes(name) = congestion {
        let _ = write!(attributes, " congctl {name}");
    }
    attributes
}

/// The MSS that a peer announces does not count the timestamp option on every segment (RFC 6691).
const TIMESTAMP_OPTION: farhop_units::Bytes = farhop_units::Bytes::new(12);

fn start(host: Host, namespace: &Namespace, commands: &str) -> Result<Child, EmuError> {
    let mut command = namespace.command("ip");
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(ip_failed(host))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(commands.as_bytes()).map_err(ip_failed(host))?;
    }
    Ok(child)
}

fn finish(host: Host, child: Child) -> Result<(), EmuError> {
    let output = child.wait_with_output().map_err(ip_failed(host))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(EmuError::Ip { host: host.to_string(), message })
}

fn ip_failed(host: Host) -> impl FnOnce(std::io::Error) -> EmuError {
    EmuError::system(format!("run `ip` in {host}"))
}

/// How `host` reaches the others: its default route with the TCP properties in force on it.
pub(crate) fn default_route(host: Host, namespace: &Namespace) -> Result<String, EmuError> {
    let mut command = namespace.command("ip");
    let output = command.args(["route", "show", "default"]).output().map_err(ip_failed(host))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Forgets what TCP has learned of routes (RTT, ssthresh): the next connection starts as the first did.
pub(crate) fn flush_route_metrics(host: Host, namespace: &Namespace) -> Result<(), EmuError> {
    finish(host, start(host, namespace, "tcp_metrics flush\nroute flush cache\n")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_carry_what_differs_from_linux() {
        let linux = TcpConfig::of(Profile::Linux);
        assert_eq!(route_attributes(&linux, CongestionChoice::Host), "");
        let other = TcpConfig { initial_window: 1, mss: farhop_units::Bytes::new(512), ..linux };
        let attributes = route_attributes(&other, CongestionChoice::Routes("cubic"));
        assert_eq!(attributes, " initcwnd 1 advmss 524 congctl cubic");
    }

    #[test]
    fn terminal_and_gateway_route_between_client_and_server() {
        let wires = [Wire::Plain, Wire::Emulated, Wire::Plain];
        let terminal = host_commands(Host::Terminal, wires, "");
        assert!(terminal.contains("route add default via 10.77.2.1 dev far\n"), "{terminal}");
        assert!(terminal.contains("link set far up txqueuelen 20000\n"), "{terminal}");
        let gateway = host_commands(Host::Gateway, wires, " initcwnd 1");
        assert!(gateway.contains("route add 10.77.1.0/24 via 10.77.2.2 dev far initcwnd 1\n"), "{gateway}");
        assert!(
            gateway.contains("10.77.3.0/24 dev wan proto kernel scope link src 10.77.3.2 initcwnd 1\n"),
            "{gateway}"
        );
    }
}
