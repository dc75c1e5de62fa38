//! A running testbed: its hosts, the networks between them, one driver thread.

use crate::clock::Clock;
use crate::control::{self, Control, TimedChange};
use crate::device::{Device, DeviceKind};
use crate::driver::{Driver, Ends, Files, Memory, Remote, Segment};
use crate::host::{Host, MAX_TERMINALS, Net, Node};
use crate::hosts::Hosts;
use crate::instance::{self, Instance};
use crate::kernel_tcp::CongestionChoice;
use crate::namespace::Namespace;
use crate::nat::Nat;
use crate::network::{self, Wire, Wires};
use crate::options::{Options, Recording};
use crate::record::{EmulationRecord, LinkStatus};
use crate::shutdown::{self, Registered};
use crate::wakefulness::Wakefulness;
use crate::window::Windows;
use crate::{EmuError, availability, doctor, etc, kernel_tcp, window};
use farhop_link::ChannelConfig;
use farhop_scenario::seeds::{self, ChannelName};
use farhop_scenario::{Scenario, TcpConfig};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// Clients – terminals ~link~ gateway – server, ready for programs to run in. Dropping it removes everything, as does the end
/// of the process by SIGINT, SIGTERM or SIGHUP; after a SIGKILL the next start does.
#[derive(Debug)]
pub struct Testbed {
    _control: Control,
    driver: Driver,
    hosts: Hosts,
    congestion: CongestionChoice,
    windows: Windows,
    clock: Clock,
    nat: Option<Nat>,
    offload: bool,
    /// Goes after the links and whatever uses them.
    instance: Registered,
    _wakefulness: Option<Wakefulness>,
}

impl Testbed {
    /// Builds the testbed of a scenario: its links, its kernel TCP. Removes what killed emulators left behind first.
    ///
    /// # Errors
    /// Something is missing ([`availability`]), or the scenario asks for a TCP that Linux does not speak or for more terminals
    /// than there are addresses.
    pub fn start(scenario: &Scenario) -> Result<Self, EmuError> {
        Self::start_with(scenario, &Options::default())
    }

    /// As [`Testbed::start`], with more than the scenario says.
    ///
    /// # Errors
    /// As [`Testbed::start`].
    pub fn start_with(scenario: &Scenario, options: &Options) -> Result<Self, EmuError> {
        kernel_tcp::check(&scenario.tcp)?;
        let timetable = control::check_timetable(&scenario.link, options.offload, &options.live)?;
        check_terminals(scenario.link.terminals)?;
        // What is missing explains better than the call that failed for it; asking first would triple the time of a start.
        Self::try_start(scenario, options, timetable).map_err(|error| availability().err().unwrap_or(error))
    }

    fn try_start(scenario: &Scenario, options: &Options, timetable: Vec<TimedChange>) -> Result<Self, EmuError> {
        instance::cleanup_stale()?;
        let instance = shutdown::register(|| Instance::allocate(scenario.link.terminals))?;
        Self::build(scenario, options, timetable, instance)
    }

    fn build(
        scenario: &Scenario,
        options: &Options,
        timetable: Vec<TimedChange>,
        instance: Registered,
    ) -> Result<Self, EmuError> {
        let hosts = Hosts::create(&instance.instance(), scenario.link.terminals)?;
        let wires = wires(scenario);
        let links = join_hosts(wires, &hosts, options.offload)?;
        let congestion = network::configure(&scenario.tcp, wires, &hosts)?;
        let windows = establish_windows(&scenario.tcp, &hosts, &links)?;
        let nat = options.nat.then(|| Nat::open(&instance.instance(), &hosts)).transpose()?;
        let clock = Clock::start();
        let segments = links.into_iter().map(|(net, ends)| {
            let memory = if net == Net::Far { memory(options) } else { Memory::default() };
            Segment::new(channel_of(scenario, net).clone(), seed_of(scenario, net), ends, clock, &memory)
        });
        let driver = Driver::start(segments.collect::<Result<_, _>>()?, clock);
        let driver = driver.map_err(EmuError::system(START_DRIVER))?;
        let (link, offload) = ((scenario.link.clone(), options.offload), options.offload);
        let socket = instance.instance().path("sock");
        let control =
            instance.instance().make(|| Control::start(&socket, (driver.remote(), FAR), link, timetable, clock))?;
        let _wakefulness = Wakefulness::ask();
        Ok(Self { _control: control, driver, hosts, congestion, windows, clock, nat, offload, instance, _wakefulness })
    }

    /// What the far link has done so far; `None` if it has stopped.
    pub fn status(&self) -> Option<LinkStatus> {
        self.remote().status(FAR)
    }

    /// What may be asked of the links while they run.
    pub(crate) fn remote(&self) -> Remote {
        self.driver.remote()
    }

    /// A host, as a place to run things in; with several terminals, the first one's.
    pub fn host(&self, host: Host) -> &Namespace {
        &self.hosts[host.node()]
    }

    /// Number of terminals, each with its client.
    pub fn terminals(&self) -> u16 {
        self.hosts.terminals()
    }

    /// The client of a terminal, counted from 0.
    pub fn client(&self, number: u16) -> Option<&Namespace> {
        (number < self.terminals()).then(|| &self.hosts[Node::Client(number)])
    }

    /// A terminal, counted from 0.
    pub fn terminal(&self, number: u16) -> Option<&Namespace> {
        (number < self.terminals()).then(|| &self.hosts[Node::Terminal(number)])
    }

    /// The IPv4 address that a host's name resolves to inside.
    pub fn address(&self, host: Host) -> Ipv4Addr {
        host.address()
    }

    /// The IPv6 address that a host's name resolves to inside.
    pub fn address6(&self, host: Host) -> Ipv6Addr {
        host.address6()
    }

    /// A host's addresses, of the families that this system has.
    pub fn addresses(&self, host: Host) -> Vec<IpAddr> {
        let v6 = kernel_tcp::has_ipv6().then(|| self.address6(host).into());
        [self.address(host).into()].into_iter().chain(v6).collect()
    }

    /// The addresses of a client, counted from 0.
    pub fn client_addresses(&self, number: u16) -> Option<(Ipv4Addr, Ipv6Addr)> {
        let client = Node::Client(number);
        (number < self.terminals()).then(|| (client.address(), client.address6()))
    }

    /// The resolvers that programs inside ask from now on (`/etc/resolv.conf`). From the start that is the server, or with
    /// [`Options::nat`] the relay to the resolvers outside.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_resolvers(&self, resolvers: &[IpAddr]) -> Result<(), EmuError> {
        etc::set_resolvers(&self.instance.instance(), resolvers)
    }

    /// Where programs inside reach the resolvers outside; only with [`Options::nat`].
    pub fn outer_dns(&self) -> Option<SocketAddr> {
        self.nat.as_ref().map(Nat::dns)
    }

    /// Where a file of this testbed can be written that goes with it, whatever ends this process. `kind` is its name's end, with an
    /// extension and without slashes.
    pub fn file(&self, kind: &str) -> PathBuf {
        self.instance.instance().path(kind)
    }

    /// The clock of the packet log.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The kernel TCP settings in force at the server (the other hosts have the same), by their `sysctl` names, and the
    /// server's route to the clients, to which initial window, segment size and sometimes congestion control (`congctl`) belong;
    /// then the windows that came of them ([`Testbed::windows`]).
    ///
    /// # Errors
    /// A setting cannot be read.
    pub fn tcp_settings(&self) -> Result<Vec<(String, String)>, EmuError> {
        let (server, congestion) = (self.host(Host::Server), self.congestion);
        let mut settings = server.run(move || kernel_tcp::read_back(congestion))?;
        settings.push(("route".to_owned(), network::route_to_clients(&self.hosts)?));
        let Windows { initial, segment, advertised } = self.windows;
        settings.push(("measured initial window".to_owned(), format!("{initial} segments of {} B", segment.get())));
        let advertised = advertised.map(|window| ("measured receive window".to_owned(), format!("{} B", window.get())));
        settings.extend(advertised);
        Ok(settings)
    }

    /// The windows in force, as measured when the testbed started.
    pub fn windows(&self) -> Windows {
        self.windows
    }

    /// Stops the links, ends what still runs inside and removes everything.
    ///
    /// # Errors
    /// None today; the signature leaves room for a record that cannot be had.
    pub fn stop(mut self) -> Result<EmulationRecord, EmuError> {
        let mut segments = self.driver.stop().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let far = segments.remove(FAR);
        Ok(EmulationRecord::new(far, &segments, self.offload))
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        // A panic of the links' thread is for `stop` to pass on; here everything must go.
        let _ = self.driver.stop();
    }
}

/// What to remember of the far link.
fn memory(options: &Options) -> Memory {
    let files = Files { log: options.log.clone(), pcap: options.pcap.clone() };
    Memory { packets: options.recording == Recording::Packets, files }
}

fn check_terminals(terminals: u16) -> Result<(), EmuError> {
    if (1..=MAX_TERMINALS).contains(&terminals) { Ok(()) } else { Err(EmuError::Terminals { wanted: terminals }) }
}

fn channel_of(scenario: &Scenario, net: Net) -> &ChannelConfig {
    match net {
        Net::Lan(_) => &scenario.lan,
        Net::Far => &scenario.link,
        Net::Wan => &scenario.wan,
    }
}

fn wires(scenario: &Scenario) -> Wires {
    let wire = |channel: &ChannelConfig| if channel.is_transparent() { Wire::Plain } else { Wire::Emulated };
    Wires { lan: wire(&scenario.lan), wan: wire(&scenario.wan) }
}

fn seed_of(scenario: &Scenario, net: Net) -> u64 {
    let channel = match net {
        Net::Far => ChannelName::Link,
        Net::Lan(number) => ChannelName::Lan(number.into()),
        Net::Wan => ChannelName::Wan(0),
    };
    seeds::of_channel(scenario.run.seed, channel)
}

/// Place of the far link among the emulated ones.
pub(crate) const FAR: usize = 0;

/// Joins the hosts: with wires where the scenario constrains nothing, else with devices for a channel, whose ends are given,
/// those of the far link first.
fn join_hosts(wires: Wires, hosts: &Hosts, offload: bool) -> Result<Vec<(Net, Ends)>, EmuError> {
    network::connect(wires, hosts)?;
    let kind = doctor::device_kind();
    let others = Net::all(hosts.terminals()).filter(|net| *net != Net::Far && wires.of(*net) == Wire::Emulated);
    [Net::Far]
        .into_iter()
        .chain(others)
        .map(|net| Ok((net, create_ends(net, kind, offload && net == Net::Far, hosts)?)))
        .collect()
}

fn create_ends(net: Net, kind: DeviceKind, offload: bool, hosts: &Hosts) -> Result<Ends, EmuError> {
    let nodes: Vec<Node> = [net.gateway_side()].into_iter().chain(net.terminal_sides(hosts.terminals())).collect();
    let create = |name| if offload { Device::create_bundling(name) } else { Device::create(name, kind) };
    let mut devices = hosts.run_in(&nodes, |_| create(net.device()).map(Arc::new))?;
    Ok(Ends { gateway: devices.remove(0), terminals: devices })
}

/// Imposes and measures the scenario's windows, over links that do not delay yet.
fn establish_windows(tcp: &TcpConfig, hosts: &Hosts, links: &[(Net, Ends)]) -> Result<Windows, EmuError> {
    let clock = Clock::start();
    let wires = links.iter().map(|(_, ends)| {
        let terminals = u16::try_from(ends.terminals.len()).unwrap_or(MAX_TERMINALS);
        let undelayed = ChannelConfig { terminals, ..ChannelConfig::default() };
        Segment::new(undelayed, 0, ends.clone(), clock, &Memory::default())
    });
    let driver = Driver::start(wires.collect::<Result<_, _>>()?, clock);
    let mut driver = driver.map_err(EmuError::system(START_DRIVER))?;
    let windows = window::establish(tcp.max_window, hosts);
    driver.stop().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    windows
}

const START_DRIVER: &str = "start the link's thread";
