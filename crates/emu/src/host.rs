//! The hosts of a testbed, their names and their private addresses.
//!
//! ```text
//! client   ── lan ── terminal   ══╗
//! client-2 ── lan ── terminal-2 ══╬══ far ══ gateway ── wan ── server
//! client-3 ── lan ── terminal-3 ══╝
//! ```
//!
//! | network      | IPv4                        | IPv6                  | addresses                           |
//! |--------------|-----------------------------|-----------------------|-------------------------------------|
//! | lan of the k-th terminal (from 0) | 10.(80 + k/256).(k mod 256).0/24 | fd77:0:0:(1000 + k)::/64 | terminal 1, client 2 |
//! | far          | 10.77.16.0/20               | fd77:0:0:2::/64       | gateway 1, k-th terminal 2 + k      |
//! | wan          | 10.77.3.0/24                | fd77:0:0:3::/64       | server 1, gateway 2                 |
//!
//! (k is hexadecimal in the subnet of IPv6.) The rest of 10.77.0.0/16 and fd77::/48 is the server's to use: the gateway sends
//! everything there that it does not know to be elsewhere. A name is that of the host's address towards its client; the
//! gateway's is the one towards the terminals.
//!
//! The addresses live in namespaces of their own, so that every testbed can use the same ones, also one inside another.

use core::fmt;
use farhop_link::Destination;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host of the testbed; with several terminals, of the first one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Host {
    /// Runs the browser.
    Client,
    /// The near end of the far link.
    Terminal,
    /// The far end of the far link.
    Gateway,
    /// Runs the origin.
    Server,
}

impl Host {
    /// All four, from client to server.
    pub const ALL: [Self; 4] = [Self::Client, Self::Terminal, Self::Gateway, Self::Server];

    /// The name that resolves inside.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Terminal => "terminal",
            Self::Gateway => "gateway",
            Self::Server => "server",
        }
    }

    /// The IPv4 address its name resolves to: the terminal's towards the client, the gateway's towards the terminal.
    pub const fn address(self) -> Ipv4Addr {
        self.node().address()
    }

    /// The IPv6 address its name resolves to.
    pub const fn address6(self) -> Ipv6Addr {
        self.node().address6()
    }

    pub(crate) const fn node(self) -> Node {
        match self {
            Self::Client => Node::Client(0),
            Self::Terminal => Node::Terminal(0),
            Self::Gateway => Node::Gateway,
            Self::Server => Node::Server,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Terminals that a testbed can have: what the address plan holds, less a little for a round number.
pub(crate) const MAX_TERMINALS: u16 = 1000;

/// One of a testbed's hosts, whatever the number of terminals. Terminals and their clients count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Client(u16),
    Terminal(u16),
    Gateway,
    Server,
}

impl Node {
    /// All hosts of a testbed with so many terminals, in the order of [`Node::index`].
    pub(crate) fn all(terminals: u16) -> impl Iterator<Item = Self> {
        let pairs = (0..terminals).flat_map(|number| [Self::Client(number), Self::Terminal(number)]);
        [Self::Gateway, Self::Server].into_iter().chain(pairs)
    }

    /// Place in arrays of hosts.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Gateway => 0,
            Self::Server => 1,
            Self::Client(number) => 2 + 2 * number as usize,
            Self::Terminal(number) => 3 + 2 * number as usize,
        }
    }

    /// The network in which its name's address is.
    const fn home(self) -> Net {
        match self {
            Self::Client(number) | Self::Terminal(number) => Net::Lan(number),
            Self::Gateway => Net::Far,
            Self::Server => Net::Wan,
        }
    }

    pub(crate) const fn address(self) -> Ipv4Addr {
        let home = self.home();
        home.address_of(home.number_of(self))
    }

    pub(crate) const fn address6(self) -> Ipv6Addr {
        let home = self.home();
        home.address6_of(home.number_of(self))
    }
}

/// The name that resolves inside: the first client is `client`, the next `client-2`.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, number) = match self {
            Self::Client(number) => (Host::Client.name(), *number),
            Self::Terminal(number) => (Host::Terminal.name(), *number),
            Self::Gateway => (Host::Gateway.name(), 0),
            Self::Server => (Host::Server.name(), 0),
        };
        if number == 0 { f.write_str(name) } else { write!(f, "{name}-{}", number + 1) }
    }
}

/// A network between neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Net {
    /// Client – terminal, one per terminal.
    Lan(u16),
    /// Terminals – gateway.
    Far,
    /// Gateway – server.
    Wan,
}

impl Net {
    /// All networks of a testbed with so many terminals, from the clients to the server.
    pub(crate) fn all(terminals: u16) -> impl Iterator<Item = Self> {
        (0..terminals).map(Self::Lan).chain([Self::Far, Self::Wan])
    }

    /// The name of the devices at its ends.
    pub(crate) const fn device(self) -> &'static str {
        match self {
            Self::Lan(_) => "lan",
            Self::Far => "far",
            Self::Wan => "wan",
        }
    }

    /// The host at the gateway's side of the channel, whose `down` leads away from it: terminal → client, gateway → terminal,
    /// server → gateway (as scenarios define it).
    pub(crate) const fn gateway_side(self) -> Node {
        match self {
            Self::Lan(number) => Node::Terminal(number),
            Self::Far => Node::Gateway,
            Self::Wan => Node::Server,
        }
    }

    /// The hosts at the terminals' side, in the order of the channel's ports.
    pub(crate) fn terminal_sides(self, terminals: u16) -> Vec<Node> {
        match self {
            Self::Lan(number) => vec![Node::Client(number)],
            Self::Far => (0..terminals).map(Node::Terminal).collect(),
            Self::Wan => vec![Node::Gateway],
        }
    }

    /// The number of a host of this network among its addresses.
    const fn number_of(self, node: Node) -> u16 {
        match (self, node) {
            (Self::Far, Node::Terminal(number)) => 2 + number,
            (Self::Lan(_), Node::Terminal(_)) | (Self::Far, Node::Gateway) | (Self::Wan, Node::Server) => 1,
            _ => 2,
        }
    }

    /// Whether `node` has an end of it.
    pub(crate) fn has(self, node: Node) -> bool {
        match self {
            Self::Lan(number) => node == Node::Terminal(number) || node == Node::Client(number),
            Self::Far => matches!(node, Node::Gateway | Node::Terminal(_)),
            Self::Wan => matches!(node, Node::Gateway | Node::Server),
        }
    }

    const fn address_of(self, number: u16) -> Ipv4Addr {
        let [high, low] = number.to_be_bytes();
        match self {
            Self::Lan(k) => {
                let [block, lan] = k.to_be_bytes();
                Ipv4Addr::new(10, LANS_SECOND + block, lan, low)
            }
            Self::Far => Ipv4Addr::new(10, 77, FAR_THIRD + high, low),
            Self::Wan => Ipv4Addr::new(10, 77, 3, low),
        }
    }

    const fn address6_of(self, number: u16) -> Ipv6Addr {
        let subnet = match self {
            Self::Lan(k) => LANS6_SUBNET + k,
            Self::Far => FAR6_SUBNET,
            Self::Wan => 3,
        };
        Ipv6Addr::new(0xfd77, 0, 0, subnet, 0, 0, 0, number)
    }

    const fn length(self) -> u8 {
        if matches!(self, Self::Far) { 20 } else { 24 }
    }

    /// Prefix and the address of a host in it, for both families.
    pub(crate) fn places(self, node: Node) -> [Place; 2] {
        let number = self.number_of(node);
        [
            Place {
                address: self.address_of(number).into(),
                network: self.address_of(0).into(),
                length: self.length(),
            },
            Place { address: self.address6_of(number).into(), network: self.address6_of(0).into(), length: 64 },
        ]
    }
}

/// A host's place in a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) address: IpAddr,
    pub(crate) network: IpAddr,
    pub(crate) length: u8,
}

impl Place {
    /// The network in CIDR notation.
    pub(crate) fn prefix(self) -> String {
        format!("{}/{}", self.network, self.length)
    }
}

const LANS_SECOND: u8 = 80;
const FAR_THIRD: u8 = 16;
const LANS6_SUBNET: u16 = 0x1000;
const FAR6_SUBNET: u16 = 2;
/// All lans, as seen from the gateway and the server.
pub(crate) const LANS: [&str; 2] = ["10.80.0.0/14", "fd77:0:0:1000::/52"];

/// Where an IP packet goes that enters the far link at the gateway. Only what the gateway routes to the link gets here, so an
/// address outside the plan is one that somebody has put behind the first terminal by hand.
// Called by the driver for every packet from the gateway.
pub(crate) fn destination(packet: &[u8]) -> Destination {
    let first = Destination::Terminal(0);
    match packet.first().map(|first| first >> 4) {
        Some(4) => packet.get(16..20).and_then(|bytes| bytes.try_into().ok()).map_or(first, destination4),
        Some(6) => packet.get(24..40).and_then(|bytes| bytes.try_into().ok()).map_or(first, destination6),
        _ => first,
    }
}

fn destination4(address: [u8; 4]) -> Destination {
    match address {
        [224..=239, ..] | [255, 255, 255, 255] => Destination::All,
        [10, block @ LANS_SECOND..=83, lan, _] => Destination::Terminal(u16::from_be_bytes([block - LANS_SECOND, lan])),
        [10, 77, high @ FAR_THIRD..=31, low] => {
            Destination::Terminal(u16::from_be_bytes([high - FAR_THIRD, low]).wrapping_sub(2))
        }
        _ => Destination::Terminal(0),
    }
}

fn destination6(address: [u8; 16]) -> Destination {
    let segments = Ipv6Addr::from(address).segments();
    match segments {
        [0xff00..=0xffff, ..] => Destination::All,
        [0xfd77, 0, 0, subnet @ LANS6_SUBNET..=0x1fff, ..] => Destination::Terminal(subnet - LANS6_SUBNET),
        [0xfd77, 0, 0, FAR6_SUBNET, .., number] => Destination::Terminal(number.wrapping_sub(2)),
        _ => Destination::Terminal(0),
    }
}

/// The hosts file of a testbed; `machine` is the outer host name, which keeps resolving.
pub(crate) fn hosts_file(machine: &str, terminals: u16) -> String {
    let mut text = format!("127.0.0.1 localhost {machine}\n::1 localhost\n");
    for node in Node::all(terminals) {
        text.push_str(&format!("{} {node}\n{} {node}\n", node.address(), node.address6()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_an_address_of_its_own_host_and_no_two_hosts_share_one() {
        let mut seen = BTreeSet::new();
        for net in Net::all(MAX_TERMINALS) {
            for node in net.terminal_sides(MAX_TERMINALS).into_iter().chain([net.gateway_side()]) {
                assert!(net.has(node));
                for place in net.places(node) {
                    assert!(seen.insert(place.address), "{} twice", place.address);
                }
            }
        }
        for node in Node::all(MAX_TERMINALS) {
            assert!(seen.contains(&node.address().into()) && seen.contains(&node.address6().into()), "{node}");
        }
    }

    #[test]
    fn places_in_arrays_are_those_of_the_list() {
        assert!(Node::all(7).enumerate().all(|(place, node)| node.index() == place));
        assert_eq!(Node::Client(127).to_string(), "client-128");
        assert_eq!(Node::Terminal(0).to_string(), Host::Terminal.name());
    }

    /// The first bytes of a packet to an address.
    fn packet(to: IpAddr) -> Vec<u8> {
        match to {
            IpAddr::V4(address) => [&[0x45][..], &[0; 15], &address.octets()].concat(),
            IpAddr::V6(address) => [&[0x60][..], &[0; 23], &address.octets()].concat(),
        }
    }

    #[test]
    fn a_packet_goes_to_the_terminal_that_has_or_serves_its_address() {
        for number in (0..MAX_TERMINALS).step_by(37).chain([255, 256, MAX_TERMINALS - 1]) {
            for (net, node) in [
                (Net::Lan(number), Node::Client(number)),
                (Net::Lan(number), Node::Terminal(number)),
                (Net::Far, Node::Terminal(number)),
            ] {
                for place in net.places(node) {
                    assert_eq!(destination(&packet(place.address)), Destination::Terminal(number), "{place:?}");
                }
            }
        }
    }

    #[test]
    fn multicast_goes_to_all() {
        for group in ["224.0.0.251", "239.255.0.1", "255.255.255.255", "ff02::fb", "ff3e::1"] {
            assert_eq!(destination(&packet(group.parse().expect("an address"))), Destination::All, "{group}");
        }
    }

    #[test]
    fn what_is_no_packet_and_what_is_elsewhere_goes_somewhere() {
        for bytes in [&[][..], &[0x45], &[0x60; 39], &[0xff; 60]] {
            assert_eq!(destination(bytes), Destination::Terminal(0));
        }
        assert_eq!(destination(&packet("192.0.2.1".parse().expect("an address"))), Destination::Terminal(0));
    }

    #[test]
    fn lans_are_what_the_gateway_believes() {
        assert_eq!(LANS[0], format!("{}/14", Net::Lan(0).address_of(0)));
        assert_eq!(LANS[1], format!("{}/52", Net::Lan(0).address6_of(0)));
    }

    #[test]
    fn names_resolve_to_both_families_the_old_one_first() {
        let text = hosts_file("box", 2);
        assert!(text.contains("10.77.3.1 server\nfd77:0:0:3::1 server\n"), "{text}");
        assert!(text.contains("10.80.1.2 client-2\nfd77:0:0:1001::2 client-2\n"), "{text}");
    }
}
