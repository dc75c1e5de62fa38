//! What programs inside read instead of the system's own configuration: names, resolvers and how both are used.
//!
//! | file                 | says                                                                                          |
//! |----------------------|-----------------------------------------------------------------------------------------------|
//! | `/etc/hosts`         | the hosts' names                                                                              |
//! | `/etc/resolv.conf`   | the testbed's resolver: the server, until somebody says otherwise                             |
//! | `/etc/gai.conf`      | IPv4 before IPv6 (RFC 6724 §10.3): glibc would prefer private IPv6 addresses                   |
//! | `/etc/nsswitch.conf` | names come from the two first files, never from a daemon outside (systemd-resolved, sssd, mDNS) |
//!
//! Each is a file of the instance, mounted over the system's in the hosts' mount namespace. A system that has no such file
//! keeps none (a mount needs something to cover); only `/etc/hosts` must be there. A cache of names that runs outside (nscd) is
//! hidden.

use crate::EmuError;
use crate::host::{Host, hosts_file};
use crate::instance::Instance;
use nix::mount::{MsFlags, mount};
use std::fmt::Write as _;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

const HOSTS: &str = "hosts";
const RESOLV: &str = "resolv.conf";
const GAI: &str = "gai.conf";
const NSSWITCH: &str = "nsswitch.conf";
/// Where glibc finds nscd, which it would ask before it reads any file.
const NAME_CACHE: &str = "/var/run/nscd";
const ALL: [&str; 4] = [HOSTS, RESOLV, GAI, NSSWITCH];

/// Writes an instance's files.
pub(crate) fn write(instance: &Instance, terminals: u16) -> Result<(), EmuError> {
    let machine = nix::unistd::gethostname().unwrap_or_default();
    write_file(instance, HOSTS, &hosts_file(&machine.to_string_lossy(), terminals))?;
    set_resolvers(instance, &[Host::Server.address().into(), Host::Server.address6().into()])?;
    write_file(instance, GAI, "precedence ::ffff:0:0/96 100\n")?;
    write_file(instance, NSSWITCH, &nsswitch(&fs::read_to_string(outside(NSSWITCH)).unwrap_or_default()))
}

/// Says which resolvers programs inside ask, from their next question on.
pub(crate) fn set_resolvers(instance: &Instance, resolvers: &[IpAddr]) -> Result<(), EmuError> {
    let mut text = String::new();
    for resolver in resolvers {
        let _ = writeln!(text, "nameserver {resolver}");
    }
    // A question and its answer may meet a link that takes seconds, and its losses.
    text.push_str("options timeout:10 attempts:3\n");
    write_file(instance, RESOLV, &text)
}

/// The system's way to find names, with that for hosts replaced.
fn nsswitch(outside: &str) -> String {
    let mut text = String::from("hosts: files dns\n");
    for line in outside.lines().filter(|line| !line.trim_start().starts_with("hosts:")) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn outside(name: &str) -> String {
    format!("/etc/{name}")
}

fn write_file(instance: &Instance, name: &str, text: &str) -> Result<(), EmuError> {
    let path = instance.path(name);
    instance.make(|| fs::write(&path, text).map_err(EmuError::system(format!("write {}", path.display()))))
}

/// Makes mounts of the calling thread its own and puts the instance's files over the system's.
pub(crate) fn mount_over(instance: &Instance) -> Result<(), EmuError> {
    let none = None::<&str>;
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).map_err(EmuError::system("create a mount namespace"))?;
    // Unmounting outside must reach here, or this copy would keep other instances' namespaces alive.
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)
        .map_err(EmuError::system("detach the mount namespace (in a changed root, / must be a mount point)"))?;
    for name in ALL {
        let target = outside(name);
        if name == HOSTS || Path::new(&target).exists() {
            mount(Some(&instance.path(name)), target.as_str(), none, MsFlags::MS_BIND, none)
                .map_err(EmuError::system(format!("mount {target}")))?;
        }
    }
    if Path::new(NAME_CACHE).exists() {
        mount(Some("tmpfs"), NAME_CACHE, Some("tmpfs"), MsFlags::empty(), none)
            .map_err(EmuError::system(format!("hide {NAME_CACHE}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_come_from_a_daemon() {
        let text = nsswitch("passwd: files systemd\nhosts: mymachines resolve [!UNAVAIL=return] files\n");
        assert_eq!(text, "hosts: files dns\npasswd: files systemd\n");
    }
}
