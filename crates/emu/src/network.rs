//! Links, addresses and routes inside the testbed, configured with `ip` (iproute2).
//!
//! One `ip -batch` per host, and one that makes the veth pairs of the networks that are plain wires. Every host has both
//! families. Addresses come without the routes that the kernel would add to them, because routes carry part of the scenario's
//! TCP. Links carry nothing that no program has sent: devices do not resolve addresses (ARP, neighbour discovery), those of
//! emulated links join no groups (MLD), and hosts neither solicit nor advertise routers.

use crate::EmuError;
use crate::host::{LANS, Net, Node};
use crate::hosts::Hosts;
use crate::kernel_tcp::{self, CongestionChoice};
use farhop_scenario::{Profile, TcpConfig};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What the hosts of a network are joined by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Devices around a channel.
    Emulated,
    /// A veth pair, without delay or limit.
    Plain,
}

/// Which networks are emulated. All lans are alike; the far link always is, so that it can be changed and observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wires {
    pub(crate) lan: Wire,
    pub(crate) wan: Wire,
}

impl Wires {
    pub(crate) fn of(self, net: Net) -> Wire {
        match net {
            Net::Lan(_) => self.lan,
            Net::Far => Wire::Emulated,
            Net::Wan => self.wan,
        }
    }
}

/// Packets a device holds until the driver reads them. Far more than arrive while the driver is busy: the emulated link's
/// queue is the only one meant to drop.
const DEVICE_QUEUE: u32 = 20_000;

/// The address of both ends of a veth pair. Without address resolution (ARP, neighbour discovery) a device sends to its own
/// address, which then is its neighbour's: no packet waits for an answer, no resolution fails.
pub(crate) const MAC: &str = "02:00:00:00:00:01";

/// Makes the veth pairs; run before [`configure`].
pub(crate) fn connect(wires: Wires, hosts: &Hosts) -> Result<(), EmuError> {
    let mut commands = String::new();
    for net in Net::all(hosts.terminals()).filter(|net| wires.of(*net) == Wire::Plain) {
        let device = net.device();
        let one = hosts[net.gateway_side()].net_path();
        for node in net.terminal_sides(hosts.terminals()) {
            let other = hosts[node].net_path();
            let _ = writeln!(
                commands,
                "link add {device} netns {one} address {MAC} type veth peer name {device} netns {other} address {MAC}"
            );
        }
    }
    hosts[Node::Gateway].run(move || ip("the cables", &commands))
}

/// Gives every host the scenario's TCP, its addresses and its routes; how the hosts choose their congestion control.
pub(crate) fn configure(tcp: &TcpConfig, wires: Wires, hosts: &Hosts) -> Result<CongestionChoice, EmuError> {
    let choices = hosts.run_in_each(|node| {
        let congestion = kernel_tcp::pin(tcp)?;
        let families = if kernel_tcp::has_ipv6() { 2 } else { 1 };
        let plan = Plan { node, wires, families, attributes: &route_attributes(tcp, congestion) };
        ip(&node.to_string(), &plan.commands(hosts.terminals()))?;
        kernel_tcp::forward()?;
        Ok(congestion)
    })?;
    // All hosts are equal in what they may choose.
    Ok(choices[0])
}

/// How one host is configured.
struct Plan<'a> {
    node: Node,
    wires: Wires,
    /// 1 for IPv4 alone, 2 for both.
    families: usize,
    /// What routes carry of the scenario's TCP.
    attributes: &'a str,
}

impl Plan<'_> {
    fn commands(&self, terminals: u16) -> String {
        let mut commands = "link set lo up\n".to_owned();
        for net in Net::all(terminals).filter(|net| net.has(self.node)) {
            self.bring_up(net, &mut commands);
        }
        self.add_routes(&mut commands);
        commands
    }

    fn bring_up(&self, net: Net, commands: &mut String) {
        let (device, attributes) = (net.device(), self.attributes);
        let flags = match self.wires.of(net) {
            Wire::Emulated => format!(" txqueuelen {DEVICE_QUEUE} arp off multicast off"),
            Wire::Plain => " arp off".to_owned(),
        };
        let _ = writeln!(commands, "link set {device} up{flags}");
        for place in net.places(self.node).into_iter().take(self.families) {
            let (address, length, prefix) = (place.address, place.length, place.prefix());
            let unchecked = if address.is_ipv6() { " nodad" } else { "" };
            let _ = write!(
                commands,
                "address add {address}/{length} dev {device} noprefixroute{unchecked}\n\
                 route add {prefix} dev {device} proto kernel scope link src {address}{attributes}\n",
            );
        }
    }

    /// Where the host sends what is not for its neighbours.
    fn add_routes(&self, commands: &mut String) {
        let attributes = self.attributes;
        let mut via = |family: usize, prefix: &str, net: Net, neighbour: Node| {
            let (gateway, device) = (net.places(neighbour)[family].address, net.device());
            let _ = writeln!(commands, "route add {prefix} via {gateway} dev {device}{attributes}");
        };
        let far = Net::Far.places(Node::Gateway).map(|place| place.prefix());
        for family in 0..self.families {
            let everything = ["default", "::/0"][family];
            match self.node {
                Node::Client(number) => via(family, everything, Net::Lan(number), Node::Terminal(number)),
                Node::Terminal(_) => via(family, everything, Net::Far, Node::Gateway),
                Node::Gateway => via(family, everything, Net::Wan, Node::Server),
                // Not everything: what nobody has would go to and fro between server and gateway.
                Node::Server => {
                    via(family, LANS[family], Net::Wan, Node::Gateway);
                    via(family, &far[family], Net::Wan, Node::Gateway);
                }
            }
        }
        if self.node == Node::Gateway {
            // All lans at once; the channel knows whose packet is whose.
            for lans in LANS.into_iter().take(self.families) {
                let _ = writeln!(commands, "route add {lans} dev {}{attributes}", Net::Far.device());
            }
        }
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

/// Runs `ip` in the calling thread's network; `subject` is what it configures.
pub(crate) fn ip(subject: &str, commands: &str) -> Result<(), EmuError> {
    let failed = || EmuError::system(format!("run `ip` for {subject}"));
    let mut command = Command::new("ip");
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed())?;
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(commands.as_bytes()));
    let output = child.wait_with_output().map_err(failed())?;
    if output.status.success() {
        return written.map_err(failed());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(EmuError::Ip { host: subject.to_owned(), message })
}

/// How the server reaches the clients: its route with the TCP properties in force on it.
pub(crate) fn route_to_clients(hosts: &Hosts) -> Result<String, EmuError> {
    hosts[Node::Server].run(|| {
        let output = Command::new("ip").args(["route", "show", LANS[0]]).output();
        let output = output.map_err(EmuError::system("run `ip` for the server"))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    })
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

    fn commands(node: Node, families: usize, attributes: &str) -> String {
        let wires = Wires { lan: Wire::Plain, wan: Wire::Plain };
        Plan { node, wires, families, attributes }.commands(300)
    }

    #[test]
    fn terminals_and_gateway_route_between_clients_and_server() {
        let terminal = commands(Node::Terminal(299), 2, "");
        assert!(terminal.contains("address add 10.81.43.1/24 dev lan noprefixroute\n"), "{terminal}");
        assert!(terminal.contains("route add default via 10.77.16.1 dev far\n"), "{terminal}");
        assert!(terminal.contains("route add ::/0 via fd77:0:0:2::1 dev far\n"), "{terminal}");
        assert!(terminal.contains("link set far up txqueuelen 20000 arp off multicast off\n"), "{terminal}");
        let gateway = commands(Node::Gateway, 2, " initcwnd 1");
        assert!(gateway.contains("route add 10.80.0.0/14 dev far initcwnd 1\n"), "{gateway}");
        assert!(
            gateway.contains("10.77.3.0/24 dev wan proto kernel scope link src 10.77.3.2 initcwnd 1\n"),
            "{gateway}"
        );
    }

    #[test]
    fn a_kernel_without_ipv6_is_told_nothing_of_it() {
        for node in Node::all(2) {
            assert!(!commands(node, 1, "").contains("fd77"), "{node}");
        }
    }
}
