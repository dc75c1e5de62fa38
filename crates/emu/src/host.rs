//! The four hosts and their private addresses.
//!
//! ```text
//! client ── lan ── terminal ══ far ══ gateway ── wan ── server
//!  10.77.1.2   .1        10.77.2.2     .1    10.77.3.2   .1
//! ```
//!
//! The addresses live in namespaces of their own that reach nothing outside, so that every testbed can use the same ones.

use core::fmt;
use std::net::Ipv4Addr;

/// A host of the testbed.
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

    /// The address its name resolves to: the terminal's towards the client, the gateway's towards the terminal.
    pub const fn address(self) -> Ipv4Addr {
        match self {
            Self::Client => Net::Lan.terminal_side(),
            Self::Terminal => Net::Lan.gateway_side(),
            Self::Gateway => Net::Far.gateway_side(),
            Self::Server => Net::Wan.gateway_side(),
        }
    }

    /// Place in arrays of hosts.
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One of the three networks between neighbours; its name is also that of the devices at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Net {
    /// Client – terminal.
    Lan,
    /// Terminal – gateway.
    Far,
    /// Gateway – server.
    Wan,
}

impl Net {
    pub(crate) const ALL: [Self; 3] = [Self::Lan, Self::Far, Self::Wan];

    pub(crate) const fn device(self) -> &'static str {
        match self {
            Self::Lan => "lan",
            Self::Far => "far",
            Self::Wan => "wan",
        }
    }

    /// The two hosts it joins, in the words of the channel between them: (gateway side, terminal side). A channel's `down`
    /// leads from the first to the second: terminal → client, gateway → terminal, server → gateway (as scenarios define it).
    pub(crate) const fn ends(self) -> (Host, Host) {
        match self {
            Self::Lan => (Host::Terminal, Host::Client),
            Self::Far => (Host::Gateway, Host::Terminal),
            Self::Wan => (Host::Server, Host::Gateway),
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Lan => 1,
            Self::Far => 2,
            Self::Wan => 3,
        }
    }

    /// The network in CIDR notation.
    pub(crate) fn prefix(self) -> String {
        format!("10.77.{}.0/{}", self.number(), Self::PREFIX_LENGTH)
    }

    pub(crate) const PREFIX_LENGTH: u8 = 24;

    const fn gateway_side(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.number(), 1)
    }

    const fn terminal_side(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.number(), 2)
    }

    /// The address of `host` in this network, if it is at one of its ends.
    pub(crate) fn address(self, host: Host) -> Option<Ipv4Addr> {
        let (gateway_side, terminal_side) = self.ends();
        if host == gateway_side {
            Some(self.gateway_side())
        } else if host == terminal_side {
            Some(self.terminal_side())
        } else {
            None
        }
    }
}

/// The hosts file of the testbed; `machine` is the outer host name, which keeps resolving.
pub(crate) fn hosts_file(machine: &str) -> String {
    let mut text = format!("127.0.0.1 localhost {machine}\n");
    for host in Host::ALL {
        text.push_str(&format!("{} {host}\n", host.address()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_an_address_of_its_own_host() {
        for host in Host::ALL {
            assert!(Net::ALL.iter().any(|net| net.address(host) == Some(host.address())), "{host}");
        }
        assert!(hosts_file("box").contains("10.77.3.1 server\n"));
    }
}
