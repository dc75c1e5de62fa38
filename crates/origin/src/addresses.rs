//! The addresses of a site's hosts, at the testbed's server.
//!
//! Each host of a recording has an IPv4 and an IPv6 address of its own, so that clients open the connections that they would. The
//! ranges are 10.79.0.0/16 and fd79::/64: whatever the testbed does not have itself, its routes lead to the server, where no device but the
//! loopback device has addresses of these.

use crate::error::OriginError;
use crate::site::{Hosts, Place};
use core::fmt;
use farhop_emu::Namespace;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Stdio;

/// A host of the site, by its name inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name, or the address by which the host was recorded.
    pub name: String,
    /// Where it is; nowhere, if it was recorded by an address of a family that this system does not have.
    pub addresses: Vec<IpAddr>,
}

impl fmt::Display for Name {
    /// As in a hosts file, with all addresses on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.addresses.iter().try_for_each(|address| write!(f, "{address} "))?;
        f.write_str(&self.name)
    }
}

/// Gives every host its addresses, in the order of names. `server` are the testbed's server's own.
pub(crate) fn assign(hosts: &Hosts, server: &[IpAddr]) -> Vec<Name> {
    let has_v6 = server.iter().any(IpAddr::is_ipv6);
    let assigned = hosts.iter().enumerate().map(|(number, (name, host))| {
        let addresses = match host.place {
            Place::Server => server.to_vec(),
            Place::Literal(address) => Vec::from_iter(Some(address).filter(|address| has_v6 || address.is_ipv4())),
            Place::Assigned => {
                let number = u16::try_from(number).expect("hosts are fewer than addresses");
                let v6 = has_v6.then_some(IpAddr::from(assigned_v6(number)));
                std::iter::once(IpAddr::from(assigned_v4(number))).chain(v6).collect()
            }
        };
        Name { name: name.to_owned(), addresses }
    });
    assigned.collect()
}

fn assigned_v4(number: u16) -> Ipv4Addr {
    // None ends in 0 or 255, which some programs take for networks and broadcasts.
    const PER_BLOCK: u16 = 250;
    Ipv4Addr::new(10, 79, (number / PER_BLOCK) as u8, (number % PER_BLOCK) as u8 + 1)
}

fn assigned_v6(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd79, 0, 0, 0, 0, 0, 0, number + 1)
}

/// Addresses that the server has for as long as this lives.
#[derive(Debug)]
pub(crate) struct Added {
    server: Namespace,
    addresses: Vec<IpAddr>,
}

impl Added {
    /// Gives the server what it does not have of the names' addresses.
    pub(crate) fn new(server: &Namespace, names: &[Name], own: &[IpAddr]) -> Result<Self, OriginError> {
        let all = names.iter().flat_map(|name| &name.addresses);
        let mut addresses: Vec<IpAddr> = all.copied().filter(|address| !own.contains(address)).collect();
        addresses.sort_unstable();
        addresses.dedup();
        // Made first, so that what was added before an error goes, too.
        let added = Self { server: server.clone(), addresses };
        added.ip("add")?;
        Ok(added)
    }

    fn ip(&self, action: &str) -> Result<(), OriginError> {
        let lines = self.addresses.iter().map(|address| match address {
            IpAddr::V4(_) => format!("address {action} {address}/32 dev lo\n"),
            // Nobody else can have it: detecting duplicates would delay its use by a second.
            IpAddr::V6(_) => {
                format!("address {action} {address}/128 dev lo{}\n", if action == "add" { " nodad" } else { "" })
            }
        });
        let doing = || OriginError::io(format!("running `ip` to {action} addresses"));
        let mut command = self.server.command("ip");
        command.args(["-force", "-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(doing())?;
        let mut input = child.stdin.take().expect("it is piped");
        let written = input.write_all(lines.collect::<String>().as_bytes());
        drop(input);
        let output = child.wait_with_output().map_err(doing())?;
        if !output.status.success() {
            return Err(OriginError::Addresses(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        written.map_err(doing())
    }
}

impl Drop for Added {
    fn drop(&mut self) {
        if let Err(error) = self.ip("delete") {
            tracing::debug!("{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_system_without_ipv6_has_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let entry = |host: &str| {
            format!(r#"{{"request": {{"method": "GET", "url": "http://{host}/"}}, "response": {{"status": 200}}}}"#)
        };
        let entries = ["a.test", "[2001:db8::7]"].map(entry).join(",");
        std::fs::write(file.path(), format!(r#"{{"log": {{"entries": [{entries}]}}}}"#)).unwrap();
        let site = crate::Site::open(file.path()).unwrap();
        let v4 = "10.77.3.1".parse().unwrap();
        let assigned =
            |server: &[IpAddr]| assign(site.hosts(), server).into_iter().map(|name| name.addresses).collect::<Vec<_>>();
        assert_eq!(assigned(&[v4]), [vec![], vec![IpAddr::from([10, 79, 0, 2])]]);
        let both = assigned(&[v4, "fd77::1".parse().unwrap()]);
        assert_eq!(both[0], ["2001:db8::7".parse::<IpAddr>().unwrap()]);
        assert_eq!(both[1].len(), 2);
    }

    #[test]
    fn addresses_differ_and_stay_in_their_ranges() {
        let v4: BTreeSet<_> = (0..1000).map(assigned_v4).collect();
        assert_eq!(v4.len(), 1000);
        assert!(v4.iter().all(|address| address.octets()[..2] == [10, 79] && (1..255).contains(&address.octets()[3])));
        assert_eq!((assigned_v4(0), assigned_v6(0)), (Ipv4Addr::new(10, 79, 0, 1), "fd79::1".parse().unwrap()));
    }
}
