//! The hosts of a site: their names, the ports they listen on, where they are.

use crate::error::OriginError;
use crate::request::Scheme;
use farhop_emu::Host as Machine;
use hickory_proto::rr::Name;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use url::Url;

/// More hosts than any page speaks to; each takes listening sockets for each of its ports.
const MAX_HOSTS: usize = 1000;

/// Where a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the testbed's server.
    Server,
    /// At an address that is given to it.
    Assigned,
    /// At the address by which it was recorded.
    Literal(IpAddr),
}

/// A host of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) place: Place,
    /// What is spoken on which port.
    pub(crate) ports: BTreeMap<u16, Scheme>,
}

/// The hosts of a site by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hosts(BTreeMap<String, Host>);

impl Hosts {
    /// The host of a directory.
    pub(super) fn only_server() -> Self {
        Self(BTreeMap::from([(Machine::Server.name().to_owned(), Host::new(Place::Server))]))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Host)> {
        self.0.iter().map(|(name, host)| (name.as_str(), host))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Adds a host's port.
    pub(super) fn add(&mut self, located: Located) {
        let host = self.0.entry(located.name).or_insert_with(|| Host::new(located.place));
        host.ports.insert(located.port, located.scheme);
    }

    pub(super) fn check_count(&self) -> Result<(), OriginError> {
        let count = self.len();
        if count > MAX_HOSTS { Err(OriginError::TooManyHosts { count, most: MAX_HOSTS }) } else { Ok(()) }
    }
}

impl Host {
    /// With HTTP's own ports: clients try what was not recorded.
    fn new(place: Place) -> Self {
        let ports = [Scheme::Http, Scheme::Https].map(|scheme| (scheme.default_port(), scheme));
        Self { place, ports: BTreeMap::from(ports) }
    }
}

/// A port of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located {
    name: String,
    place: Place,
    port: u16,
    scheme: Scheme,
}

impl Located {
    /// The server of `url`, or why there cannot be one.
    pub(super) fn new(url: &Url) -> Result<Self, String> {
        let (Some(scheme), Some(port)) = (Scheme::of(url.scheme()), url.port_or_known_default()) else {
            return Err(format!("{}: only http and https are served", url.scheme()));
        };
        let (name, place) = match url.host() {
            Some(url::Host::Domain(name)) => (usable_name(name)?, Place::Assigned),
            Some(url::Host::Ipv4(address)) => literal(address.into(), is_free_v4(address))?,
            Some(url::Host::Ipv6(address)) => literal(address.into(), is_free_v6(address))?,
            None => return Err(format!("{url}: has no host")),
        };
        if port == 0 {
            Err(format!("{name}: nothing listens on port 0"))
        } else {
            Ok(Self { name, place, port, scheme })
        }
    }
}

/// A name that DNS can give an address, as requests have it.
fn usable_name(name: &str) -> Result<String, String> {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    if is_in_hosts_file(&name) {
        return Err(format!("{name}: the name means a machine of the testbed there"));
    }
    // Underscores are no letters of host names (RFC 952), but of names in use.
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_spelled = name.split('.').all(|label| !label.is_empty() && label.bytes().all(is_letter));
    if is_spelled && Name::from_ascii(&name).is_ok() {
        Ok(name)
    } else {
        Err(format!("{name:?}: not a name of a server"))
    }
}

/// Whether a name means a machine of the testbed (`client`, `client-2`, …) or the machine itself, before DNS is asked.
fn is_in_hosts_file(name: &str) -> bool {
    let is_machines = |machine: Machine| {
        let number = name.strip_prefix(machine.name()).map(|rest| rest.strip_prefix('-').unwrap_or(rest));
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    name == "localhost" || name.ends_with(".localhost") || Machine::ALL.into_iter().any(is_machines)
}

fn literal(address: IpAddr, is_free: bool) -> Result<(String, Place), String> {
    let name = address.to_string();
    if is_free {
        Ok((name, Place::Literal(address)))
    } else {
        Err(format!("{name}: cannot be a server's address in the testbed"))
    }
}

/// Second byte of the testbed's addresses in 10.0.0.0/8: its hosts', those of its way out, and those of sites.
const OURS: RangeInclusive<u8> = 77..=79;

/// Whether an address can be added to the server: neither special (RFC 6890) nor used by the testbed.
fn is_free_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    let is_local = address.is_loopback() || address.is_link_local() || first == 0;
    let is_group = address.is_multicast() || first >= 240;
    let is_ours = first == 10 && OURS.contains(&second);
    !(is_local || is_group || is_ours)
}

fn is_free_v6(address: Ipv6Addr) -> bool {
    let is_local = address.is_loopback() || address.is_unspecified() || address.is_unicast_link_local();
    let is_v4 = address.to_ipv4().is_some();
    let is_ours = (0xfd77..=0xfd79).contains(&address.segments()[0]);
    !(is_local || is_v4 || is_ours || address.is_multicast())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(url: &str) -> Result<Hosts, String> {
        let mut hosts = Hosts::default();
        hosts.add(Located::new(&Url::parse(url).unwrap())?);
        Ok(hosts)
    }

    #[test]
    fn hosts_listen_on_the_usual_ports_and_on_recorded_ones() {
        let hosts = added("https://WWW.Example.test:8443/x").unwrap();
        let (name, host) = hosts.iter().next().unwrap();
        assert_eq!((name, host.place), ("www.example.test", Place::Assigned));
        let ports = BTreeMap::from([(80, Scheme::Http), (443, Scheme::Https), (8443, Scheme::Https)]);
        assert_eq!(host.ports, ports);
    }

    #[test]
    fn addresses_are_served_where_they_were_recorded_unless_they_are_the_testbeds() {
        let place = |url| added(url).unwrap().iter().next().unwrap().1.place;
        assert_eq!(place("http://192.0.2.7/"), Place::Literal("192.0.2.7".parse().unwrap()));
        assert_eq!(place("http://[2001:db8::7]/"), Place::Literal("2001:db8::7".parse().unwrap()));
        for refused in
            ["127.0.0.1", "10.77.3.1", "10.79.0.1", "0.0.0.0", "224.0.0.1", "[::1]", "[::ffff:10.77.3.1]", "[fd79::1]"]
        {
            assert!(added(&format!("http://{refused}/")).is_err(), "{refused}");
        }
        for refused in ["server", "localhost", "a.localhost", "client.", "terminal-12"] {
            assert!(added(&format!("http://{refused}/")).is_err(), "{refused}");
        }
        assert!(added("http://server.example/").is_ok() && added("http://clients/").is_ok());
        assert!(added("wss://a.test/").is_err());
        assert!(added("data:text/plain,x").is_err());
        assert!(added("http://./").is_err() && added("http://a..test/").is_err() && added("http://*.test/").is_err());
        assert!(added("http://a_b.test/").is_ok());
        assert!(added(&format!("http://{}.test/", "a".repeat(64))).is_err());
    }
}
