//! Address translation rules, given to the kernel's nf_tables over netlink (linux/netfilter/nf_tables.h).
//!
//! Directly, not through the program `nft`, which many machines lack, and because only so a table can belong to this process
//! (`NFT_TABLE_F_OWNER`, since Linux 5.12): the kernel removes it when the process ends, of whatever cause. On an older kernel
//! the table stays until it is deleted by name.
//!
//! A table here is of the family `inet` (both IPv4 and IPv6), with one chain, in which sources are translated after routing
//! (type nat, hook postrouting, priority 100), and rules that masquerade.

use crate::netlink::{GENERAL, Message, ask, attributes, open, transact};
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// Which packets get the address of the device that they leave by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Masquerade<'a> {
    /// Those that leave by this device.
    Leaving(&'a str),
    /// Those from this address.
    From(IpAddr),
}

/// A table of the calling thread's network. Goes with this value or with the process.
#[derive(Debug)]
pub(crate) struct Table {
    /// The table's owner, to the kernel.
    _owner: OwnedFd,
}

impl Table {
    /// Creates a table; one of the same name, left by a killed process, goes first.
    pub(crate) fn create(name: &str, rules: &[Masquerade<'_>]) -> io::Result<Self> {
        delete(name)?;
        let owner = open()?;
        match transact(&owner, &table(name, rules, true)) {
            // The flag is not known.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) => {
                transact(&owner, &table(name, rules, false))?;
            }
            answer => answer?,
        }
        Ok(Self { _owner: owner })
    }
}

/// Deletes a table of the calling thread's network that belongs to nobody, if there is one.
pub(crate) fn delete(name: &str) -> io::Result<()> {
    let mut deletion = message(NFT_MSG_DELTABLE, 0);
    deletion.text(NFTA_TABLE_NAME, name);
    match transact(&open()?, &[deletion]) {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        answer => answer,
    }
}

/// The chains in the calling thread's network that drop whatever is forwarded and none of their rules accepts: families, tables
/// and names.
pub(crate) fn chains_that_drop() -> io::Result<Vec<String>> {
    let mut chains = Vec::new();
    let all = Message::new(NFT_MSG_GETCHAIN, 0, libc::NLM_F_DUMP);
    ask(&open()?, &all, |answer| chains.extend(dropping(answer)))?;
    Ok(chains)
}

/// The name of a chain, as the kernel describes it, if it drops what is forwarded.
fn dropping(chain: &[u8]) -> Option<String> {
    let (general, described) = chain.split_at_checked(GENERAL)?;
    let find = |kind| attributes(described).find(|(found, _)| *found == kind).map(|(_, payload)| payload);
    let number = |bytes: &[u8]| bytes.try_into().map(u32::from_be_bytes).ok();
    let hook = attributes(find(NFTA_CHAIN_HOOK)?).find(|(kind, _)| *kind == NFTA_HOOK_HOOKNUM)?.1;
    if number(hook)? != NF_INET_FORWARD || number(find(NFTA_CHAIN_POLICY)?)? != NF_DROP {
        return None;
    }
    let family = match general[0] {
        NFPROTO_INET => "inet",
        NFPROTO_IPV4 => "ip",
        NFPROTO_IPV6 => "ip6",
        _ => return None,
    };
    let text = |kind| find(kind).map(|bytes| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned());
    Some(format!("{family} {} {}", text(NFTA_CHAIN_TABLE)?, text(NFTA_CHAIN_NAME)?))
}

const CHAIN: &str = "postrouting";

/// A message about something of the family that tables here have, to be acknowledged.
fn message(kind: u16, flags: libc::c_int) -> Message {
    Message::new(kind, NFPROTO_INET, flags | libc::NLM_F_ACK)
}

fn table(name: &str, rules: &[Masquerade<'_>], owned: bool) -> Vec<Message> {
    let mut table = message(NFT_MSG_NEWTABLE, libc::NLM_F_CREATE);
    table.text(NFTA_TABLE_NAME, name);
    if owned {
        table.number(NFTA_TABLE_FLAGS, NFT_TABLE_F_OWNER);
    }
    let mut chain = message(NFT_MSG_NEWCHAIN, libc::NLM_F_CREATE);
    chain.text(NFTA_CHAIN_TABLE, name);
    chain.text(NFTA_CHAIN_NAME, CHAIN);
    chain.text(NFTA_CHAIN_TYPE, "nat");
    chain.nested(NFTA_CHAIN_HOOK, |hook| {
        hook.number(NFTA_HOOK_HOOKNUM, NF_INET_POST_ROUTING);
        hook.number(NFTA_HOOK_PRIORITY, NF_IP_PRI_NAT_SRC);
    });
    let rules = rules.iter().map(|rule| {
        let mut described = message(NFT_MSG_NEWRULE, libc::NLM_F_CREATE | libc::NLM_F_APPEND);
        described.text(NFTA_RULE_TABLE, name);
        described.text(NFTA_RULE_CHAIN, CHAIN);
        described.nested(NFTA_RULE_EXPRESSIONS, |list| rule.write(list));
        described
    });
    [table, chain].into_iter().chain(rules).collect()
}

impl Masquerade<'_> {
    fn write(self, list: &mut Message) {
        match self {
            Self::Leaving(device) => {
                let mut name = [0; libc::IFNAMSIZ];
                name.iter_mut().zip(device.bytes().take(libc::IFNAMSIZ - 1)).for_each(|(to, from)| *to = from);
                list.meta_is(NFT_META_OIFNAME, &name);
            }
            Self::From(IpAddr::V4(address)) => {
                list.meta_is(NFT_META_NFPROTO, &[NFPROTO_IPV4]);
                list.header_is(12, &address.octets());
            }
            Self::From(IpAddr::V6(address)) => {
                list.meta_is(NFT_META_NFPROTO, &[NFPROTO_IPV6]);
                list.header_is(8, &address.octets());
            }
        }
        list.expression("masq", |_| ());
    }
}
/// Expressions: what a rule looks at and does.
impl Message {
    fn expression(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.nested(NFTA_LIST_ELEM, |element| {
            element.text(NFTA_EXPR_NAME, name);
            element.nested(NFTA_EXPR_DATA, write);
        });
    }

    /// Goes on only if what the kernel knows of the packet under `key` is `value`.
    fn meta_is(&mut self, key: u32, value: &[u8]) {
        self.expression("meta", |meta| {
            meta.number(NFTA_META_DREG, NFT_REG_1);
            meta.number(NFTA_META_KEY, key);
        });
        self.register_is(value);
    }

    /// Goes on only if the IP header has `value` at `offset`.
    fn header_is(&mut self, offset: u32, value: &[u8]) {
        self.expression("payload", |payload| {
            payload.number(NFTA_PAYLOAD_DREG, NFT_REG_1);
            payload.number(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
            payload.number(NFTA_PAYLOAD_OFFSET, offset);
            payload.number(NFTA_PAYLOAD_LEN, value.len() as u32);
        });
        self.register_is(value);
    }

    fn register_is(&mut self, value: &[u8]) {
        self.expression("cmp", |cmp| {
            cmp.number(NFTA_CMP_SREG, NFT_REG_1);
            cmp.number(NFTA_CMP_OP, NFT_CMP_EQ);
            cmp.nested(NFTA_CMP_DATA, |data| data.attribute(NFTA_DATA_VALUE, value));
        });
    }
}

// linux/netfilter/nf_tables.h, linux/netfilter.h
const NFT_MSG_NEWTABLE: u16 = 0;
const NFT_MSG_DELTABLE: u16 = 2;
const NFT_MSG_NEWCHAIN: u16 = 3;
const NFT_MSG_GETCHAIN: u16 = 4;
const NFT_MSG_NEWRULE: u16 = 6;
const NFTA_TABLE_NAME: u16 = 1;
const NFTA_TABLE_FLAGS: u16 = 2;
const NFT_TABLE_F_OWNER: u32 = 2;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
const NFTA_CHAIN_POLICY: u16 = 5;
const NFTA_CHAIN_TYPE: u16 = 7;
const NFTA_HOOK_HOOKNUM: u16 = 1;
const NFTA_HOOK_PRIORITY: u16 = 2;
const NF_INET_FORWARD: u32 = 2;
const NF_INET_POST_ROUTING: u32 = 4;
const NF_DROP: u32 = 0;
const NF_IP_PRI_NAT_SRC: u32 = 100;
const NFTA_RULE_TABLE: u16 = 1;
const NFTA_RULE_CHAIN: u16 = 2;
const NFTA_RULE_EXPRESSIONS: u16 = 4;
const NFTA_LIST_ELEM: u16 = 1;
const NFTA_EXPR_NAME: u16 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFT_REG_1: u32 = 1;
const NFTA_META_DREG: u16 = 1;
const NFTA_META_KEY: u16 = 2;
const NFT_META_OIFNAME: u32 = 7;
const NFT_META_NFPROTO: u32 = 15;
const NFTA_PAYLOAD_DREG: u16 = 1;
const NFTA_PAYLOAD_BASE: u16 = 2;
const NFTA_PAYLOAD_OFFSET: u16 = 3;
const NFTA_PAYLOAD_LEN: u16 = 4;
const NFT_PAYLOAD_NETWORK_HEADER: u32 = 1;
const NFTA_CMP_SREG: u16 = 1;
const NFTA_CMP_OP: u16 = 2;
const NFTA_CMP_DATA: u16 = 3;
const NFT_CMP_EQ: u32 = 0;
const NFTA_DATA_VALUE: u16 = 1;
const NFPROTO_INET: u8 = 1;
const NFPROTO_IPV4: u8 = 2;
const NFPROTO_IPV6: u8 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_that_drop_what_is_forwarded_are_found() {
        if crate::availability().is_err() {
            return;
        }
        let asked = std::thread::spawn(|| {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("permitted");
            assert_eq!(chains_that_drop().expect("an answer"), [""; 0]);
            let mut table = message(NFT_MSG_NEWTABLE, libc::NLM_F_CREATE);
            table.text(NFTA_TABLE_NAME, "filter");
            let mut chain = message(NFT_MSG_NEWCHAIN, libc::NLM_F_CREATE);
            chain.text(NFTA_CHAIN_TABLE, "filter");
            chain.text(NFTA_CHAIN_NAME, "FORWARD");
            chain.text(NFTA_CHAIN_TYPE, "filter");
            chain.nested(NFTA_CHAIN_HOOK, |hook| {
                hook.number(NFTA_HOOK_HOOKNUM, NF_INET_FORWARD);
                hook.number(NFTA_HOOK_PRIORITY, 0);
            });
            chain.number(NFTA_CHAIN_POLICY, NF_DROP);
            transact(&open().expect("a socket"), &[table, chain]).expect("a chain");
            chains_that_drop().expect("an answer")
        });
        assert_eq!(asked.join().expect("no panic"), ["inet filter FORWARD"]);
    }
}
