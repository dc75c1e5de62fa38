//! What works on this machine, and what to do about what does not.
//!
//! Everything is found out by trying, on threads and in namespaces that end with the trial.

use crate::device::{Device, DeviceKind};
use crate::instance::{self, NETNS, STATE};
use crate::netfilter::{self, Masquerade, Table};
use crate::preemption::Preemption;
use crate::real_time::{self, Priority};
use crate::tun::TUN_CONTROL;
use crate::user_namespace::{self, Rights};
use crate::wakefulness::Wakefulness;
use crate::{EmuError, enter_user_namespace, kernel_tcp};
use farhop_units::counted;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::Pid;
use nix::unistd::{AccessFlags, access};
use std::fs;
use std::process::{Command, Stdio};
use std::thread;

/// Something that emulating needs or can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was tried.
    pub what: &'static str,
    /// Whether it is as it should be.
    pub works: bool,
    /// Whether nothing can be emulated without it.
    pub required: bool,
    /// What was found.
    pub detail: String,
    /// What to do about it, unless it works.
    pub remedy: Option<String>,
}

impl Finding {
    fn of(what: &'static str, required: bool, found: Result<String, EmuError>) -> Self {
        match found {
            Ok(detail) => Self { what, works: true, required, detail, remedy: None },
            Err(EmuError::Unavailable { problem, remedy, .. }) => {
                Self { what, works: false, required, detail: problem, remedy: Some(remedy.to_owned()) }
            }
            Err(error) => Self { what, works: false, required, detail: error.to_string(), remedy: None },
        }
    }
}

/// Tries everything. Without root it enters a user namespace to try the rest in, as [`enter_user_namespace`] does: then the
/// process must have a single thread, and is not good for much else afterwards.
pub fn doctor() -> Vec<Finding> {
    // From inside a user namespace they could not be seen.
    let leftovers = leftovers();
    let rights = enter_user_namespace();
    let may = rights.is_ok();
    let mut findings = vec![Finding::of("rights", true, rights.map(told))];
    if may {
        let tun = Finding::of("TUN devices", false, devices(DeviceKind::Tun));
        let packet = Finding::of("packet sockets", !tun.works, devices(DeviceKind::Packet));
        findings.extend([tun, packet]);
        findings.push(Finding::of("network settings", true, settings()));
        findings.push(Finding::of("state", true, state().map(|()| format!("{STATE} and {NETNS} can be written"))));
        findings.push(Finding::of("way out (--nat)", false, way_out()));
    }
    findings.push(Finding::of("ip", true, ip()));
    findings.push(congestion_controls());
    findings.push(Finding::of("real-time priority", false, real_time()));
    findings.push(Finding::of("preemption", false, preemption()));
    findings.push(Finding::of("processors kept awake", false, awake()));
    findings.push(leftovers);
    findings
}

/// Says in one line what emulating needs, when something is missing.
///
/// # Errors
/// [`EmuError::Unavailable`] with the need, the problem and the remedy.
pub fn availability() -> Result<(), EmuError> {
    rights()?;
    ip()?;
    devices(DeviceKind::Tun).or_else(|error| devices(DeviceKind::Packet).map_err(|_| error))?;
    settings()?;
    state()
}

/// What the ends of emulated links are made of here: TUN devices where they may be had.
pub(crate) fn device_kind() -> DeviceKind {
    if devices(DeviceKind::Tun).is_ok() { DeviceKind::Tun } else { DeviceKind::Packet }
}

fn told(rights: Rights) -> String {
    match rights {
        Rights::Root => "root's",
        Rights::UserNamespace => {
            "root's in a user namespace: all but real-time priority, processors kept awake, and --nat"
        }
    }
    .to_owned()
}

/// Whether this process may make namespaces as it is.
fn rights() -> Result<(), EmuError> {
    in_a_network(|| Ok(()))
}

/// Tries in a network and with mounts that end with the trial.
fn in_a_network<T: Send>(trial: impl FnOnce() -> Result<T, EmuError> + Send) -> Result<T, EmuError> {
    let tried = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).map_err(|error| EmuError::Unavailable {
                needs: "root, or a user namespace, for network namespaces",
                problem: format!("unshare: {}", error.desc().to_lowercase()),
                remedy: "run it with sudo",
            })?;
            trial()
        });
        thread.join()
    });
    tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn devices(kind: DeviceKind) -> Result<String, EmuError> {
    let (needs, detail, remedy) = match kind {
        DeviceKind::Tun => (
            "TUN devices or packet sockets",
            format!("{TUN_CONTROL} can be used"),
            "load the driver with `modprobe tun`, or give the container that device",
        ),
        DeviceKind::Packet => (
            "packet sockets where there are no TUN devices",
            "can be used in place of TUN devices, for some microseconds per packet".to_owned(),
            "give the container CAP_NET_RAW",
        ),
    };
    in_a_network(|| Device::create("probe", kind).map(drop))
        .map_err(|error| EmuError::Unavailable { needs, problem: error.to_string(), remedy })
        .map(|()| detail)
}

fn settings() -> Result<String, EmuError> {
    let tried = in_a_network(|| kernel_tcp::prepare_host().and_then(|()| kernel_tcp::forward()));
    let unwritable = |error: EmuError| EmuError::Unavailable {
        needs: "network settings that can be written",
        problem: error.to_string(),
        remedy: "give the container a writable /proc/sys",
    };
    let families = if kernel_tcp::has_ipv6() { "IPv4 and IPv6" } else { "IPv4; this kernel has no IPv6" };
    tried.map_err(unwritable).map(|()| families.to_owned())
}

fn state() -> Result<(), EmuError> {
    let writable = |folder| fs::create_dir_all(folder).and_then(|()| Ok(access(folder, AccessFlags::W_OK)?));
    [STATE, NETNS].into_iter().try_for_each(|folder| {
        writable(folder).map_err(|error| EmuError::Unavailable {
            needs: "a folder for what must be removed if it is killed",
            problem: format!("{folder}: {error}"),
            remedy: "make /run writable",
        })
    })
}

fn way_out() -> Result<String, EmuError> {
    if user_namespace::is_entered() {
        return Err(EmuError::Unavailable {
            needs: "root for the way out",
            problem: "in a user namespace there is no network to go out by".to_owned(),
            remedy: "run it with sudo",
        });
    }
    let tried = in_a_network(|| {
        Table::create("farhop", &[Masquerade::Leaving("probe")]).map_err(EmuError::system("translate addresses"))
    });
    tried.map_err(|error| EmuError::Unavailable {
        needs: "nf_tables with masquerading",
        problem: error.to_string(),
        remedy: "load it with `modprobe nft_masq`",
    })?;
    let firewall = netfilter::chains_that_drop().unwrap_or_default();
    if firewall.is_empty() {
        return Ok("the kernel translates addresses".to_owned());
    }
    Err(EmuError::Unavailable {
        needs: "a firewall that lets packets pass",
        problem: format!("a firewall drops what it does not know: {}", firewall.join(", ")),
        remedy: "let it accept what comes from and goes to devices `farhop*`; with Docker: sudo iptables -I DOCKER-USER \
                 -i farhop+ -j ACCEPT; sudo iptables -I DOCKER-USER -o farhop+ -j ACCEPT",
    })
}

fn ip() -> Result<String, EmuError> {
    let missing = |problem: String| EmuError::Unavailable {
        needs: "the program `ip`",
        problem,
        remedy: "install the package iproute2",
    };
    let ran = Command::new("ip").arg("-Version").stdin(Stdio::null()).output();
    let output = ran.map_err(|error| missing(error.to_string()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Those that scenarios can ask for: what the kernel has is enough, since routes may choose what hosts may not.
fn congestion_controls() -> Finding {
    const WANTED: [&str; 3] = ["reno", "cubic", "bbr"];
    let available = kernel_tcp::available_congestion_controls();
    let missing: Vec<_> =
        WANTED.into_iter().filter(|wanted| !available.split_whitespace().any(|name| name == *wanted)).collect();
    let remedy = (!missing.is_empty()).then(|| {
        let modules: Vec<_> = missing.iter().map(|name| format!("tcp_{name}")).collect();
        format!("sudo modprobe -a {}, or do without", modules.join(" "))
    });
    Finding {
        what: "congestion controls",
        works: missing.is_empty(),
        required: false,
        detail: format!("this kernel has {available}"),
        remedy,
    }
}

fn real_time() -> Result<String, EmuError> {
    let try_it = || real_time::give(Pid::from_raw(0), Priority::Host);
    let tried = thread::scope(|scope| scope.spawn(try_it).join());
    tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(|error| EmuError::Unavailable {
        needs: "real-time priority",
        problem: format!("{}: packets are late when the machine is busy", error.desc().to_lowercase()),
        remedy: "run it with sudo, or give the container CAP_SYS_NICE",
    })?;
    Ok("the link's thread comes before all others".to_owned())
}

fn preemption() -> Result<String, EmuError> {
    let waits = |mode: &str| {
        Err(EmuError::Unavailable {
            needs: "a kernel that preempts",
            problem: format!("preempt={mode}: beside busy programs packets wait until a system call has ended"),
            remedy: "start the kernel with `preempt=full`; with two processors this matters most",
        })
    };
    match Preemption::find() {
        Some(Preemption::None) => waits("none"),
        Some(Preemption::Voluntary) => waits("voluntary"),
        Some(Preemption::Full) => Ok("programs' system calls are interrupted for the link's thread".to_owned()),
        None => Ok("this kernel does not tell".to_owned()),
    }
}

fn awake() -> Result<String, EmuError> {
    Wakefulness::ask().map(|_| "idle processors answer at once".to_owned()).ok_or_else(|| EmuError::Unavailable {
        needs: "/dev/cpu_dma_latency",
        problem: "/dev/cpu_dma_latency cannot be written: an idle processor takes some 0.1 ms to answer".to_owned(),
        remedy: "run it with sudo",
    })
}

fn leftovers() -> Finding {
    let (what, required) = ("leftovers of killed emulators", false);
    match instance::stale() {
        Ok(stale) if stale.is_empty() => {
            Finding { what, works: true, required, detail: "none".to_owned(), remedy: None }
        }
        Ok(stale) => Finding {
            what,
            works: false,
            required,
            detail: format!("left by {}", counted(stale.len(), "killed emulator")),
            remedy: Some("farhop doctor --clean, or start the next emulator".to_owned()),
        },
        Err(error) => Finding::of(what, required, Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_can_emulate_has_everything_that_is_required() {
        if availability().is_ok() {
            let missing: Vec<_> = doctor().into_iter().filter(|finding| finding.required && !finding.works).collect();
            assert_eq!(missing, []);
        }
    }

    #[test]
    fn what_does_not_work_has_a_remedy() {
        let error = EmuError::Unavailable { needs: "a", problem: "b".to_owned(), remedy: "c" };
        let finding = Finding::of("thing", true, Err(error));
        assert_eq!((finding.works, &*finding.detail, finding.remedy.as_deref()), (false, "b", Some("c")));
    }
}
