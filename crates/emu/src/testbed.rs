//! A running testbed: four hosts, three networks, one driver thread.

use crate::clock::Clock;
use crate::driver::{Driver, Ends, Segment};
use crate::host::{Host, Net};
use crate::instance::{self, Instance};
use crate::kernel_tcp::CongestionChoice;
use crate::lateness::Lateness;
use crate::namespace::{Mounts, Namespace};
use crate::network::{self, Wire};
use crate::record::EmulationRecord;
use crate::shutdown::{self, Registered};
use crate::tun::Tun;
use crate::wakefulness::Wakefulness;
use crate::{EmuError, availability, kernel_tcp, window};
use farhop_link::ChannelConfig;
use farhop_scenario::{Scenario, TcpConfig};
use nix::sched::{CloneFlags, unshare};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

/// Client – terminal ~link~ gateway – server, ready for programs to run in. Dropping it removes everything, as does the end
/// of the process by SIGINT, SIGTERM or SIGHUP; after a SIGKILL the next start does.
#[derive(Debug)]
pub struct Testbed {
    driver: Driver,
    /// Place of the far link among the driver's segments.
    far: Option<usize>,
    hosts: [Namespace; 4],
    congestion: CongestionChoice,
    clock: Clock,
    /// Goes after the links and whatever uses them.
    _instance: Registered,
    _wakefulness: Option<Wakefulness>,
}

/// Whether every packet of the far link is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// About 100 bytes of memory per packet, for as long as the testbed runs.
    Packets,
    /// Only counts and lateness.
    Totals,
}

impl Testbed {
    /// Builds the testbed of a scenario: its links, its kernel TCP. Removes what killed emulators left behind first.
    ///
    /// # Errors
    /// Something is missing ([`availability`]), or the scenario asks for a TCP that Linux does not speak.
    pub fn start(scenario: &Scenario) -> Result<Self, EmuError> {
        Self::start_with(scenario, Recording::Packets)
    }

    /// As [`Testbed::start`], with a choice of what to remember.
    ///
    /// # Errors
    /// As [`Testbed::start`].
    pub fn start_with(scenario: &Scenario, recording: Recording) -> Result<Self, EmuError> {
        kernel_tcp::check(&scenario.tcp)?;
        // What is missing explains better than the call that failed for it; asking first would triple the time of a start.
        Self::try_start(scenario, recording).map_err(|error| availability().err().unwrap_or(error))
    }

    fn try_start(scenario: &Scenario, recording: Recording) -> Result<Self, EmuError> {
        instance::cleanup_stale()?;
        Self::build(scenario, recording, shutdown::register(Instance::allocate()?)?)
    }

    fn build(scenario: &Scenario, recording: Recording, instance: Registered) -> Result<Self, EmuError> {
        let hosts = create_hosts(instance.instance())?;
        let links = join_hosts(scenario, &hosts)?;
        let congestion = pin_tcp(&scenario.tcp, &hosts)?;
        network::configure(&scenario.tcp, congestion, links.each_ref().map(wire), &hosts)?;
        limit_window(&scenario.tcp, &hosts, &links)?;
        let clock = Clock::start();
        let segments = Net::ALL.into_iter().zip(links).filter_map(|(net, ends)| {
            let recorded = net == Net::Far && recording == Recording::Packets;
            Some(Segment::new(channel_of(scenario, net).clone(), seed_of(scenario, net), ends?, recorded))
        });
        let driver = Driver::start(segments.collect(), clock).map_err(EmuError::system(START_DRIVER))?;
        Ok(Self {
            driver,
            far: place_of_far(scenario),
            hosts,
            congestion,
            clock,
            _instance: instance,
            _wakefulness: Wakefulness::ask(),
        })
    }

    /// A host, as a place to run things in.
    pub fn host(&self, host: Host) -> &Namespace {
        &self.hosts[host.index()]
    }

    /// The address that a host's name resolves to inside.
    pub fn address(&self, host: Host) -> Ipv4Addr {
        host.address()
    }

    /// The clock of the packet log.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Forgets what the hosts' TCP has learned of the paths, so that the next connection starts as the first did.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn flush_route_metrics(&self) -> Result<(), EmuError> {
        Host::ALL.into_iter().try_for_each(|host| network::flush_route_metrics(host, self.host(host)))
    }

    /// The kernel TCP settings in force at the server (the other hosts have the same), by their `sysctl` names, and the
    /// server's route to the others, to which initial window, segment size and sometimes congestion control (`congctl`) belong.
    ///
    /// # Errors
    /// A setting cannot be read.
    pub fn tcp_settings(&self) -> Result<Vec<(String, String)>, EmuError> {
        let (server, congestion) = (self.host(Host::Server), self.congestion);
        let mut settings = server.run(move || kernel_tcp::read_back(congestion))?;
        settings.push(("route".to_owned(), network::default_route(Host::Server, server)?));
        Ok(settings)
    }

    /// Stops the links, ends what still runs inside and removes everything.
    ///
    /// # Errors
    /// None today; the signature leaves room for a record that cannot be had.
    pub fn stop(mut self) -> Result<EmulationRecord, EmuError> {
        let mut segments = self.driver.stop().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut lateness = Lateness::default();
        for segment in &segments {
            lateness.merge(&segment.lateness);
        }
        let far = self.far.map(|place| segments.swap_remove(place));
        let (dropped, link) = far.map_or((0, None), |far| (far.dropped, far.log));
        Ok(EmulationRecord { quality: lateness.quality(), lateness, dropped, link })
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        // A panic of the links' thread is for `stop` to pass on; here everything must go.
        let _ = self.driver.stop();
    }
}

fn channel_of(scenario: &Scenario, net: Net) -> &ChannelConfig {
    match net {
        Net::Lan => &scenario.lan,
        Net::Far => &scenario.link,
        Net::Wan => &scenario.wan,
    }
}

/// Place of the far link among the emulated ones.
fn place_of_far(scenario: &Scenario) -> Option<usize> {
    let mut emulated = Net::ALL.into_iter().filter(|&net| !channel_of(scenario, net).is_transparent());
    emulated.position(|net| net == Net::Far)
}

/// The far link has the scenario's seed, the others one of their own.
fn seed_of(scenario: &Scenario, net: Net) -> u64 {
    let offset = match net {
        Net::Far => 0,
        Net::Lan => 1,
        Net::Wan => 2,
    };
    scenario.run.seed.wrapping_add(offset)
}

/// Creates the namespaces on a thread of their own, which ends outside the caller's.
fn create_hosts(instance: Arc<Instance>) -> Result<[Namespace; 4], EmuError> {
    let thread = thread::Builder::new().name("farhop-hosts".to_owned()).spawn(move || {
        let mut networks = Vec::new();
        for host in Host::ALL {
            unshare(CloneFlags::CLONE_NEWNET).map_err(EmuError::system("create a network namespace"))?;
            instance.publish(host)?;
            kernel_tcp::prepare_host()?;
            networks.push((instance.namespace(host), own("net")?));
        }
        instance::mount_hosts(&instance.hosts_path())?;
        let root = File::open("/").map_err(EmuError::system("open /"))?.into();
        let mounts = Arc::new(Mounts { namespace: own("mnt")?, root });
        let hosts: Vec<_> =
            networks.into_iter().map(|(name, net)| Namespace::new(name, net, Arc::clone(&mounts))).collect();
        Ok(hosts.try_into().expect("one namespace per host"))
    });
    match thread.map_err(EmuError::system("start a thread"))?.join() {
        Ok(hosts) => hosts,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A handle to one of the calling thread's namespaces.
fn own(kind: &str) -> Result<OwnedFd, EmuError> {
    let path = format!("/proc/thread-self/ns/{kind}");
    Ok(File::open(&path).map_err(EmuError::system(format!("open {path}")))?.into())
}

/// Joins neighbours: with devices for a channel where the scenario has one (then its ends are given), else with a wire.
fn join_hosts(scenario: &Scenario, hosts: &[Namespace; 4]) -> Result<[Option<Ends>; 3], EmuError> {
    let mut links = [const { None }; 3];
    for (net, link) in Net::ALL.into_iter().zip(&mut links) {
        let (one, other) = net.ends();
        if channel_of(scenario, net).is_transparent() {
            network::connect(one, &hosts[one.index()], &hosts[other.index()], net)?;
        } else {
            let device = |host: Host| hosts[host.index()].run(move || Tun::create(net.device()).map(Arc::new));
            *link = Some(Ends { gateway_side: device(one)?, terminal_side: device(other)? });
        }
    }
    Ok(links)
}

fn wire(ends: &Option<Ends>) -> Wire {
    if ends.is_some() { Wire::Emulated } else { Wire::Plain }
}

/// Gives every host the scenario's TCP, as far as it is a property of hosts.
fn pin_tcp(tcp: &TcpConfig, hosts: &[Namespace; 4]) -> Result<CongestionChoice, EmuError> {
    let congestion = tcp.congestion;
    // All four are equal in what they may choose.
    hosts.iter().try_fold(CongestionChoice::Host, |_, host| host.run(move || kernel_tcp::pin(congestion)))
}

/// Imposes the scenario's window. What buffer it takes is measured over links that do not delay yet.
fn limit_window(tcp: &TcpConfig, hosts: &[Namespace; 4], links: &[Option<Ends>; 3]) -> Result<(), EmuError> {
    let Some(max_window) = tcp.max_window else { return Ok(()) };
    let wires = links.iter().flatten().map(|ends| Segment::new(ChannelConfig::default(), 0, ends.clone(), false));
    let mut driver = Driver::start(wires.collect(), Clock::start()).map_err(EmuError::system(START_DRIVER))?;
    let limited = window::limit(max_window, hosts);
    driver.stop().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    limited
}

const START_DRIVER: &str = "start the link's thread";
