//! The way out of a testbed: the server's second network card, which leads to the network that the emulator was started in.
//!
//! ```text
//! clients … gateway ── wan ── server ── uplink ══ farhop<number> ── the host's network
//! ```
//!
//! Addresses are translated twice. At the server, whatever leaves by `uplink` gets its address (the outside knows nothing of
//! the networks inside, which are the same in every testbed); outside, the server's address becomes that of the device by which
//! packets leave. So nothing outside but this one small network needs to be free, and testbeds within testbeds work alike.
//! Names are resolved by a [`Relay`] at the server.
//!
//! Left out: firewalls outside that drop what is forwarded (Docker sets one up) also drop this, as [`doctor`](crate::doctor())
//! says; connections from outside to the inside.

use crate::dns_relay::Relay;
use crate::host::Node;
use crate::hosts::Hosts;
use crate::instance::Instance;
use crate::netfilter::{Masquerade, Table};
use crate::outside::{self, Changes};
use crate::{EmuError, etc, network, user_namespace};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The server's device towards the outside.
const UPLINK: &str = "uplink";

/// A way out, open as long as this lives; [`outside::restore`] removes its traces.
#[derive(Debug)]
pub(crate) struct Nat {
    _tables: [Table; 2],
    relay: Relay,
}

impl Nat {
    /// Opens the way out of an instance's network to that of the calling thread.
    pub(crate) fn open(instance: &Instance, hosts: &Hosts) -> Result<Self, EmuError> {
        if user_namespace::is_entered() {
            return Err(EmuError::Unavailable {
                needs: "root for the way out (--nat)",
                problem: "in a user namespace there is no network to go out by".to_owned(),
                remedy: "run it with sudo",
            });
        }
        let (cable, outer) = instance.make(|| Self::change_outside(instance, hosts))?;
        let tables = [outer, hosts[Node::Server].run(translate_at_server)?];
        let relay = Relay::start(&hosts[Node::Server], cable.ends[1].into())?;
        etc::set_resolvers(instance, &[relay.address().ip()])?;
        Ok(Self { _tables: tables, relay })
    }

    fn change_outside(instance: &Instance, hosts: &Hosts) -> Result<(Cable, Table), EmuError> {
        let changes = Changes::begin(instance)?;
        let cable = Cable::plan(instance)?;
        cable.lay(hosts)?;
        let_pass(&changes, cable.ends6.is_some())?;
        let table = cable.translate_outside()?;
        Ok((cable, table))
    }

    /// Where programs inside reach the resolvers outside.
    pub(crate) fn dns(&self) -> SocketAddr {
        self.relay.address()
    }
}

/// The cable between server and outside: names and addresses, the outer end's first.
#[derive(Debug)]
struct Cable {
    device: String,
    table: String,
    ends: [Ipv4Addr; 2],
    /// Only if the outside has a way on for IPv6.
    ends6: Option<[Ipv6Addr; 2]>,
}

impl Cable {
    fn plan(instance: &Instance) -> Result<Self, EmuError> {
        let routes = fs::read_to_string("/proc/net/route").map_err(EmuError::system("read /proc/net/route"))?;
        let ends = free_network(&routes, instance.number()).ok_or_else(|| EmuError::Unavailable {
            needs: "a free network of four addresses for the way out (--nat)",
            problem: "10.78.0.0/16, 172.31.0.0/16 and 192.168.0.0/16 are all in use".to_owned(),
            remedy: "free one of them",
        })?;
        let routes6 = fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default();
        // The instance's number alone tells these networks apart: a private prefix is not used outside but by chance.
        let subnet = u16::try_from(instance.number()).unwrap_or(u16::MAX);
        let ends6 = [1, 2].map(|host| Ipv6Addr::new(0xfd78, 0, 0, subnet, 0, 0, 0, host));
        Ok(Self {
            device: outside::device(instance),
            table: outside::table(instance),
            ends,
            ends6: has_default_route6(&routes6).then_some(ends6),
        })
    }

    /// Connects the ends and gives them their addresses.
    fn lay(&self, hosts: &Hosts) -> Result<(), EmuError> {
        let (device, mac, server) = (&self.device, network::MAC, hosts[Node::Server].net_path());
        let mut outer = format!(
            "link add {device} address {mac} type veth peer name {UPLINK} netns {server} address {mac}\n\
             link set {device} addrgenmode none arp off up\n"
        );
        let mut inner = format!("link set {UPLINK} arp off up\n");
        let both = [
            Some((self.ends.map(IpAddr::V4), 30, "default", "")),
            self.ends6.map(|ends| (ends.map(IpAddr::V6), 64, "::/0", " nodad")),
        ];
        for ([outside, inside], length, everything, unchecked) in both.into_iter().flatten() {
            outer.push_str(&format!("address add {outside}/{length} dev {device}{unchecked}\n"));
            inner.push_str(&format!(
                "address add {inside}/{length} dev {UPLINK}{unchecked}\nroute add {everything} via {outside} dev {UPLINK}\n"
            ));
        }
        network::ip(device, &outer)?;
        hosts[Node::Server].run(move || network::ip("the way out", &inner))
    }

    fn translate_outside(&self) -> Result<Table, EmuError> {
        let server6 = self.ends6.map(|ends| Masquerade::From(ends[1].into()));
        let rules: Vec<_> = [Masquerade::From(self.ends[1].into())].into_iter().chain(server6).collect();
        Table::create(&self.table, &rules).map_err(EmuError::system(TRANSLATE))
    }
}

const TRANSLATE: &str = "translate addresses (the kernel needs nf_tables with masquerading)";

fn translate_at_server() -> Result<Table, EmuError> {
    Table::create("farhop", &[Masquerade::Leaving(UPLINK)]).map_err(EmuError::system(TRANSLATE))
}

/// Lets packets pass between the devices outside.
///
/// IPv4 asks the device by which a packet comes. So does IPv6 since Linux 6.17 (`force_forwarding`); before, only the setting
/// for all devices lets anything pass, which also stops them from listening to routers unless told to (`accept_ra` 2).
fn let_pass(changes: &Changes, with_ipv6: bool) -> Result<(), EmuError> {
    for device in devices("/proc/sys/net/ipv4/conf") {
        changes.set(&device.join("forwarding"), "1")?;
    }
    if !with_ipv6 {
        return Ok(());
    }
    let devices = devices("/proc/sys/net/ipv6/conf");
    if devices.iter().all(|device| device.join("force_forwarding").exists()) {
        return devices.iter().try_for_each(|device| changes.set(&device.join("force_forwarding"), "1"));
    }
    for device in devices {
        let listens = fs::read_to_string(device.join("accept_ra")).is_ok_and(|value| value.trim() == "1");
        if listens {
            changes.set(&device.join("accept_ra"), "2")?;
        }
        changes.set(&device.join("forwarding"), "1")?;
    }
    changes.set(Path::new("/proc/sys/net/ipv6/conf/all/forwarding"), "1")
}

/// The settings of every device of the calling thread's network.
fn devices(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let no_device = |name: &str| ["all", "default", "lo"].contains(&name);
    entries.filter(|entry| !no_device(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect()
}

/// The two addresses of a network that no route leads to, given `/proc/net/route`; `number` is where the search begins.
fn free_network(routes: &str, number: u32) -> Option<[Ipv4Addr; 2]> {
    const PLACES: [Ipv4Addr; 3] =
        [Ipv4Addr::new(10, 78, 0, 0), Ipv4Addr::new(172, 31, 0, 0), Ipv4Addr::new(192, 168, 0, 0)];
    const NETWORKS: u32 = 1 << 14;
    let taken: Vec<(u32, u32)> = routes.lines().filter_map(route).collect();
    let candidates = PLACES
        .iter()
        .flat_map(|place| (0..NETWORKS).map(move |offset| place.to_bits() + ((number + offset) % NETWORKS) * 4));
    let is_free = |network: &u32| !taken.iter().any(|(destination, mask)| network & mask == destination & (mask & !3));
    candidates.filter(is_free).map(|network| [1, 2].map(|host| Ipv4Addr::from_bits(network + host))).next()
}

/// Destination and mask of a line of `/proc/net/route`, but for the default route.
fn route(line: &str) -> Option<(u32, u32)> {
    // The kernel prints addresses as they lie in memory.
    let mut fields = line.split_whitespace().map(|field| u32::from_str_radix(field, 16).ok().map(u32::from_be));
    let (destination, mask) = (fields.nth(1)??, fields.nth(5)??);
    (mask != 0).then_some((destination, mask))
}

/// Whether `/proc/net/ipv6_route` has a default route that leads anywhere.
fn has_default_route6(routes: &str) -> bool {
    routes.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.first().is_some_and(|destination| destination.bytes().all(|digit| digit == b'0'))
            && fields.get(1) == Some(&"00")
            && fields.last() != Some(&"lo")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";
    const DEFAULT: &str = "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";

    /// A line for `network` with `mask`, in the machine's byte order.
    fn line(network: [u8; 4], mask: [u8; 4]) -> String {
        let [network, mask] = [network, mask].map(u32::from_ne_bytes);
        format!("eth0\t{network:08X}\t00000000\t0001\t0\t0\t0\t{mask:08X}\t0\t0\t0\n")
    }

    #[test]
    fn the_first_network_that_nobody_uses_is_taken() {
        let ends = |routes: &str| free_network(&format!("{HEAD}{DEFAULT}{routes}"), 3).map(|ends| ends[0].to_string());
        assert_eq!(ends("").as_deref(), Some("10.78.0.13"));
        assert_eq!(ends(&line([10, 78, 0, 12], [255, 255, 255, 252])).as_deref(), Some("10.78.0.17"));
        assert_eq!(ends(&line([10, 78, 0, 14], [255; 4])).as_deref(), Some("10.78.0.17"), "one host of it");
        let all_of_10 = line([10, 0, 0, 0], [255, 0, 0, 0]);
        assert_eq!(ends(&all_of_10).as_deref(), Some("172.31.0.13"));
        let private = all_of_10 + &line([172, 16, 0, 0], [255, 240, 0, 0]) + &line([192, 168, 0, 0], [255, 255, 0, 0]);
        assert_eq!(ends(&private), None);
    }

    #[test]
    fn a_default_route_to_nowhere_is_none() {
        let zeros = "0".repeat(32);
        let route =
            |device: &str| format!("{zeros} 00 {zeros} 00 {zeros} 00000400 00000001 00000000 00000003 {device}\n");
        assert!(has_default_route6(&route("    eth0")));
        assert!(!has_default_route6(&route("      lo")));
        assert!(!has_default_route6(""));
    }
}
