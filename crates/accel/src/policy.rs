//! Which addresses the gateway may connect to on behalf of others.
//!
//! A gateway stands inside somebody's network; without a rule, whoever can use the terminal could reach what is meant for that network
//! only (server-side request forgery, CWE-918). So only globally reachable addresses are allowed, by the special-purpose registries
//! (RFC 6890, as updated by IANA), unless the operator names a network. The check is on the address about to be connected to, not on
//! the name, so that a name cannot be pointed elsewhere in between.

use farhop_units::ParseError;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An IP network, `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

const ACCEPTED: &str = "a network such as \"10.0.0.0/8\", \"fd00::/8\" or a single address";

impl FromStr for Network {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refuse = |problem: String| ParseError { problem, accepted: ACCEPTED.to_owned() };
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| refuse(format!("no IP address in \"{text}\"")))?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix =
            prefix.map_or(Ok(longest), str::parse).map_err(|_| refuse(format!("no prefix length in \"{text}\"")))?;
        if prefix > longest {
            return Err(refuse(format!("prefix length above {longest} in \"{text}\"")));
        }
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl Network {
    const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Self {
        Self { address: IpAddr::V4(Ipv4Addr::new(a, b, c, 0)), prefix }
    }

    const fn v6(a: u16, b: u16, prefix: u8) -> Self {
        Self { address: IpAddr::V6(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0)), prefix }
    }

    /// Whether `address` lies in this network.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let differs = network.to_bits() ^ address.to_bits();
                differs.checked_shr(32 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let differs = network.to_bits() ^ address.to_bits();
                differs.checked_shr(128 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// Networks that are not globally reachable (IANA special-purpose address registries), multicast and reserved ones included.
const SPECIAL: &[Network] = &[
    Network::v4(0, 0, 0, 8),
    Network::v4(10, 0, 0, 8),
    Network::v4(100, 64, 0, 10),
    Network::v4(127, 0, 0, 8),
    Network::v4(169, 254, 0, 16),
    Network::v4(172, 16, 0, 12),
    Network::v4(192, 0, 0, 24),
    Network::v4(192, 0, 2, 24),
    Network::v4(192, 168, 0, 16),
    Network::v4(198, 18, 0, 15),
    Network::v4(198, 51, 100, 24),
    Network::v4(203, 0, 113, 24),
    Network::v4(224, 0, 0, 3),
    Network::v6(0, 0, 16),
    // NAT64's local-use prefix; the well-known prefix is looked into instead (see `embedded`).
    Network { address: IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0)), prefix: 48 },
    Network::v6(0x100, 0, 64),
    Network::v6(0x2001, 0, 23),
    Network::v6(0x2001, 0xdb8, 32),
    Network::v6(0x3fff, 0, 20),
    Network::v6(0x5f00, 0, 16),
    Network::v6(0xfc00, 0, 7),
    Network::v6(0xfe80, 0, 10),
    Network::v6(0xfec0, 0, 10),
    Network::v6(0xff00, 0, 8),
];

/// Where the gateway may connect to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Destinations {
    /// Networks allowed besides all globally reachable addresses.
    pub allow: Vec<Network>,
}

impl Destinations {
    /// Whether a connection to `address` may be made.
    pub fn permit(&self, address: IpAddr) -> bool {
        let address = embedded(address);
        let is_special = SPECIAL.iter().any(|network| network.contains(address));
        !is_special || self.allow.iter().any(|network| network.contains(address))
    }
}

/// The IPv4 address that a packet to `address` ends at, if the IPv6 address is only a wrapping: mapped (RFC 4291 §2.5.5.2), NAT64
/// (RFC 6052 §2.1), 6to4 (RFC 3056).
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let ipv4 = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => ipv4(high, low),
        [0x2002, high, low, ..] => ipv4(high, low),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permitted(allow: &[&str], address: &str) -> bool {
        let allow = allow.iter().map(|network| network.parse().unwrap()).collect();
        Destinations { allow }.permit(address.parse().unwrap())
    }

    #[test]
    fn only_global_addresses_are_permitted() {
        for global in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1", "::ffff:8.8.8.8", "64:ff9b::808:808"] {
            assert!(permitted(&[], global), "{global}");
        }
        for special in [
            "127.0.0.1",
            "10.1.2.3",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "100.64.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::1",
        ] {
            assert!(!permitted(&[], special), "{special}");
        }
    }

    #[test]
    fn a_named_network_is_permitted_and_no_other() {
        assert!(permitted(&["10.0.0.0/8"], "10.1.2.3"));
        assert!(permitted(&["10.0.0.0/8"], "::ffff:10.1.2.3"));
        assert!(!permitted(&["10.0.0.0/8"], "192.168.1.1"));
        assert!(permitted(&["127.0.0.1"], "127.0.0.1") && !permitted(&["127.0.0.1"], "127.0.0.2"));
        assert!(permitted(&["::/0"], "fe80::1") && !permitted(&["::/0"], "10.0.0.1"));
        assert!(permitted(&["0.0.0.0/0"], "10.0.0.1"));
    }

    #[test]
    fn a_wrong_network_says_what_is_wrong() {
        let problem = |text: &str| text.parse::<Network>().unwrap_err().problem;
        assert_eq!(problem("10.0.0/8"), "no IP address in \"10.0.0/8\"");
        assert_eq!(problem("10.0.0.0/33"), "prefix length above 32 in \"10.0.0.0/33\"");
        assert_eq!(problem("10.0.0.0/x"), "no prefix length in \"10.0.0.0/x\"");
    }
}
